-- What the catalogs, their functions and psql say about partitions.
create table k1(a int, b int, c text) partition by range((b+1), lower(c), a);
create table k2(a int, b int, c text) partition by list(lower(c));
create table k3(a int, b int, c text) partition by hash(a, c text_ops);
create table k4(a int, b int, c text) partition by list((b+1));
create table k5(a int, c text) partition by range(c);
create table k6(a int, c text) partition by range(c collate "C", a);
create table k1a partition of k1 for values from (1,'a',2) to (1,'b',maxvalue);
create table k1b partition of k1 for values from (2,'a',2) to (3,'b',7);
create table k2a partition of k2 for values in ('x',null);
create table k2b partition of k2 for values in ('y');
create table k2d partition of k2 default;
create table k3a partition of k3 for values with (modulus 3, remainder 1);
create table k4a partition of k4 for values in (4, 5) partition by list (a);
create table k4aa partition of k4a for values in (1);
create table k4d partition of k4 default;
create table k5a partition of k5 for values from (minvalue) to ('m');
create table k5b partition of k5 for values from ('m') to (maxvalue);
create table k5d partition of k5 default;
create index on k4 (a, lower(c));
create unique index on k5 (c);
select c.relname, pg_get_partkeydef(c.oid), pg_get_expr(relpartbound, c.oid), relkind, relispartition, relhassubclass, relam,
    regexp_replace(pg_get_partition_constraintdef(c.oid), '''\d+''::oid', 'oid')
    from pg_class c where relname ~ '^k\d' order by 1;
select inhrelid::regclass, inhparent::regclass, inhseqno, inhdetachpending from pg_inherits
    where inhrelid::regclass::text like 'k%' order by inhrelid::regclass::text;
select partrelid::regclass, partstrat, partnatts, partdefid::regclass, partattrs, partclass, partcollation, pg_get_expr(partexprs, partrelid)
    from pg_partitioned_table where partrelid::regclass::text like 'k%' order by partrelid::regclass::text;
select * from pg_partition_tree('k4'), pg_partition_root('k4aa');
select * from pg_partition_ancestors('k4aa');
select pg_partition_root('pg_class'), (select count(*) from pg_partition_tree('pg_class')), (select count(*) from pg_partition_ancestors('pg_class'));
select attname, attislocal, attinhcount from pg_attribute where attrelid='k4a'::regclass and attnum>0;
alter table k3 add check (a > 0);
select conrelid::regclass, conname, conislocal, coninhcount, connoinherit from pg_constraint where conrelid in ('k3'::regclass, 'k3a'::regclass) order by 1;
select satisfies_hash_partition('k3'::regclass, 3, 1, 5, 'x'::text), satisfies_hash_partition('k3'::regclass, 3, 0, 5, 'x'::text), satisfies_hash_partition('k3'::regclass, 3, 2, 5, 'x'::text);
select satisfies_hash_partition('k3'::regclass, 3, 2, 5);
select satisfies_hash_partition('k3'::regclass, 3, 2, 5, 6);
select satisfies_hash_partition('k3'::regclass, 3, 3, 5, 'x'::text);
select satisfies_hash_partition('k4'::regclass, 3, 1, 5);
select indexrelid::regclass, indisvalid, pg_get_indexdef(indexrelid) from pg_index where indexrelid::regclass::text ~ '^k\d' order by indexrelid::regclass::text;
\d
\d k4
\d+ k4
\d k4a
\d+ k4a
\d+ k4aa
\d k5
\d+ k5b
\d+ k5d
\d+ k5_c_idx
\d+ k5a_c_idx
\dP
\dPi
drop table k1, k2, k3, k4, k5, k6;
-- The standard's views have partitioned tables, too, and functions take them for tables.
create schema shown;
create table shown.tree(a int, b text default 'x') partition by list(a);
create table shown.leaf partition of shown.tree for values in (1);
create table shown.twig partition of shown.tree for values in (2) partition by list(b);
select table_name, table_type, is_insertable_into from information_schema.tables where table_schema = 'shown' order by 1;
select table_name, column_name, column_default, is_updatable from information_schema.columns where table_schema = 'shown' order by 1, 2;
select relname, pg_relation_is_updatable(oid, false), pg_column_is_updatable(oid, 1::int2, false), pg_relation_filenode(oid) is null, pg_relation_is_publishable(oid)
from pg_class where relnamespace = 'shown'::regnamespace order by relname;
-- Values of a hash key as an array.
create table shown.hashed(a int, b int) partition by hash(a, b);
create table shown.mixed(a int, b text) partition by hash(a, b);
select satisfies_hash_partition('shown.hashed'::regclass, 4, r, variadic array[1, 2]), satisfies_hash_partition('shown.hashed'::regclass, 4, r, 1, 2)
from generate_series(0, 3) r;
select satisfies_hash_partition('shown.hashed'::regclass, 4, 0, variadic array[1]);
select satisfies_hash_partition('shown.hashed'::regclass, 4, 0, variadic array['a', 'b']);
select satisfies_hash_partition('shown.mixed'::regclass, 4, 0, variadic array[1, 2]);
select satisfies_hash_partition('shown.hashed'::regclass, 4, 0, 1, 'b'::text);
select satisfies_hash_partition(0, 4, 0, 1);
