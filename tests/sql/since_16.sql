-- What PostgreSQL has only since 16 to 18.
-- PostgreSQL 15 differs: it does not have this
SELECT pg_input_is_valid('12', 'integer'), pg_input_is_valid('x', 'integer');
SELECT * FROM (SELECT 1);
SELECT 1 AS a UNION SELECT 2 AS b ORDER BY b;
SELECT timestamp 'infinity' - timestamp 'infinity';
SELECT ' 12.50 '::numeric, '-.5'::numeric, '1_000.5'::numeric, '0x1F'::numeric, '1e-3'::numeric;
SELECT '0x1F'::integer, '0b101'::integer, '0o17'::integer, '1_000'::integer, 0x1F, 1_000_000;
SELECT 0x;
SELECT random() BETWEEN 0 AND 1, random() <> random(), random(1, 1);
SELECT name, parameter_types, result_types FROM pg_prepared_statements ORDER BY name;
SELECT 0b11, 0o17, 0xFF_FF, 1_0.5, '1_0.5'::float8;
PREPARE p (integer) AS SELECT $1 AS x;
SELECT name, result_types FROM pg_prepared_statements;
CREATE TABLE k (id integer PRIMARY KEY, w text DEFAULT 'dflt');
COPY k FROM stdin (DEFAULT '\D');
7	\D
\.
SELECT * FROM k;
SELECT array_sample(ARRAY[1], 1), any_value(x) FROM (VALUES (5), (5)) AS v (x) GROUP BY x;
SELECT uuid_extract_version(gen_random_uuid()), length(uuidv7()::text), casefold('ABC'), array_sort(ARRAY[3, 1, 2]), array_reverse(ARRAY[1, 2]), crc32('abc'), gamma(5), reverse('\x0102'::bytea);
UPDATE k SET w = w || '!' RETURNING old.w, new.w;
DELETE FROM k RETURNING old.w, new.w;
SELECT length((10::numeric ^ 1000)::text), (10::numeric ^ -20);
SELECT to_bin(5), to_oct(8);
SELECT outer_o.id FROM k AS outer_o, (SELECT id FROM k WHERE id = outer_o.id) AS q;
COPY k TO stdout (QUOTE '"');
SELECT power(2.0, 10), power(2.0, 0.5), power(2.5, -2), power(0.0, 0), 2.0 ^ 3;
-- NOT NULL as a table constraint.
create table nn (x int, y int);
alter table nn add constraint nx not null x;
alter table nn add constraint nx2 not null x;
alter table nn add not null y;
alter table nn add constraint ny not null z;
insert into nn values (1, null);
create table np (x int, constraint bx not null x, not null x);
create table nc () inherits (np);
insert into nc values (null);
alter table only np add constraint bxx not null x;
alter table np alter x drop not null;
alter table only np add constraint bxx not null x;
insert into nc values (null);
alter table np add constraint bxx not null x;
create table nq (a int not null no inherit) partition by list (a);
-- Constants fail in a plan for any parameters as well, calls of parameters do not.
CREATE TABLE constants (a integer);
EXPLAIN (GENERIC_PLAN, COSTS OFF) SELECT CASE WHEN a > $1 THEN 1 / $2 END FROM constants;
EXPLAIN (GENERIC_PLAN, COSTS OFF) SELECT CASE WHEN a > $1 THEN 1 / 0 END FROM constants;

-- What is no sequence.
CREATE TABLE no_sequence (a int PRIMARY KEY);
CREATE VIEW no_sequence_view AS SELECT 1 AS a;
SELECT nextval('no_sequence'::regclass);
SELECT currval('no_sequence_view'::regclass);
SELECT setval('no_sequence_pkey'::regclass, 1);
SELECT nextval('pg_class'::regclass);
SELECT nextval('pg_views'::regclass);
DROP VIEW no_sequence_view;
DROP TABLE no_sequence;
