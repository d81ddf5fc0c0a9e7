-- REINDEX of what has several indexes cannot run inside a transaction block.
-- PostgreSQL 15 differs: REINDEX DATABASE and SYSTEM want a name before 16
create schema s;
create table s.t (a int primary key, b int) partition by range (a);
create table s.t1 partition of s.t for values from (1) to (10);
create index on s.t (b);
insert into s.t values (1, 1), (2, 1);
reindex table s.t;
reindex index s.t_pkey;
begin; reindex table s.t; rollback;
begin; reindex index s.t_pkey; rollback;
reindex table s.t \; select 1;
begin; reindex table s.t1; reindex index s.t1_b_idx; commit;
begin; reindex table concurrently s.t1; rollback;
begin; reindex schema s; rollback;
begin; reindex table nowhere; rollback;
reindex table nowhere;
reindex index nowhere;
select * from s.t where b = 1 order by a;

-- Where there is nothing to do.
CREATE TABLE bare (a int);
REINDEX TABLE bare;
REINDEX TABLE CONCURRENTLY bare;
CREATE TABLE bare_parts (a int) PARTITION BY RANGE (a);
CREATE TABLE bare_part PARTITION OF bare_parts FOR VALUES FROM (0) TO (10);
REINDEX TABLE bare_parts;
DROP TABLE bare, bare_parts;

-- All tables of a schema, or of the database.
CREATE SCHEMA many;
CREATE TABLE many.a (n int PRIMARY KEY, t text);
CREATE INDEX a_t ON many.a (t);
CREATE TABLE many.b (n int);
INSERT INTO many.a SELECT i, 'x' || i FROM generate_series(1, 100) AS i;
REINDEX SCHEMA many;
REINDEX SCHEMA CONCURRENTLY many;
REINDEX SCHEMA nowhere;
REINDEX SCHEMA pg_catalog;
REINDEX SCHEMA CONCURRENTLY pg_catalog;
REINDEX DATABASE;
REINDEX DATABASE nowhere;
REINDEX SYSTEM;
REINDEX SYSTEM nowhere;
REINDEX SYSTEM CONCURRENTLY;
BEGIN; REINDEX SCHEMA many; ROLLBACK;
BEGIN; REINDEX DATABASE; ROLLBACK;
SET enable_seqscan = off;
SELECT * FROM many.a WHERE n = 7;
SELECT * FROM many.a WHERE t = 'x8';
RESET enable_seqscan;
DROP SCHEMA many CASCADE;
