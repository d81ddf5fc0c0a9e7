-- The composite type that every table and view has in pg_type, and the array type over it.
-- PostgreSQL 15 differs: it has no pg_basetype
CREATE TABLE t (a integer, b text);
CREATE VIEW v AS SELECT a FROM t;
CREATE TABLE p (k integer) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE SEQUENCE s;
CREATE INDEX t_a ON t (a);
CREATE TEMPORARY TABLE passing (x integer);
CREATE SCHEMA apart;
CREATE TABLE apart.t (c integer);
CREATE TABLE apart."Odd one" (c integer);

-- Who has one
SELECT c.relname, c.relkind, c.reltype <> 0 AS has_type,
  t.typname, t.typtype, t.typcategory, t.typrelid = c.oid AS is_own, t.typelem, a.typname AS array_type
FROM pg_class c LEFT JOIN pg_type t ON t.oid = c.reltype LEFT JOIN pg_type a ON a.oid = t.typarray
WHERE c.relnamespace IN ('public'::regnamespace, 'apart'::regnamespace) ORDER BY c.relnamespace::regnamespace::text, 1;
SELECT t.* FROM (SELECT typname, typnamespace::regnamespace, typlen, typbyval, typtype, typcategory, typispreferred,
  typisdefined, typdelim, typsubscript, typelem = 't'::regtype AS of_t, typinput, typoutput, typreceive, typsend,
  typmodin, typmodout, typanalyze, typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation,
  typdefault, typacl FROM pg_type WHERE oid IN ('t'::regtype, 't[]'::regtype) ORDER BY typname) t;
SELECT relname, reltype::regtype, (SELECT typarray::regtype FROM pg_type WHERE oid = reltype)
FROM pg_class WHERE relname IN ('pg_class', 'pg_type', 'tables') ORDER BY 1;

-- Names
SELECT 't'::regtype, 't[]'::regtype, '_t'::regtype, 'apart.t'::regtype, 'apart._t'::regtype,
  'apart."Odd one"'::regtype, 'public.v'::regtype, 'p'::regtype, 'p1'::regtype;
SELECT 'pg_class'::regtype, 'pg_catalog.pg_class'::regtype, '_pg_class'::regtype, 83::regtype, 273::regtype,
  'information_schema.tables'::regtype, 'information_schema.sql_identifier'::regtype;
SELECT 'passing'::regtype, 'pg_temp.passing'::regtype, to_regtype('pg_temp.passing') = 'passing'::regtype AS same;
SELECT 's'::regtype;
SELECT 't_a'::regtype;
SELECT '_t[]'::regtype;
SELECT 'tables'::regtype;
SELECT 'apart.v'::regtype;
SELECT 'nowhere.t'::regtype;
SELECT 't(3)'::regtype;
SELECT to_regtype('t'), to_regtype('s'), to_regtype('apart.t[]'), to_regtype('nowhere.t');
SELECT format_type(reltype, NULL), format_type(reltype, -1), pg_type_is_visible(reltype), to_regtype(format_type(reltype, -1)) = reltype,
  pg_describe_object('pg_type'::regclass, reltype, 0)
FROM pg_class WHERE oid IN ('t'::regclass, 'apart.t'::regclass) ORDER BY oid;
SET search_path = apart, public;
SELECT 't'::regtype, 'public.t'::regtype, 'v'::regtype, to_regtype('"Odd one"');
RESET search_path;
SELECT pg_basetype('t'::regtype), format_type(2000000000, NULL), pg_basetype(2000000000);

-- A name of one's own is looked up behind pg_catalog's
CREATE TABLE point (x integer);
SELECT 'point'::regtype, 'public.point'::regtype;
DROP TABLE point;

-- An array type gives way to a table
CREATE TABLE _t (x integer);
SELECT typname <> '_t' AS renamed, typelem::regtype FROM pg_type WHERE typelem = 't'::regtype;
SELECT '_t'::regtype, 't[]'::regtype, '_t[]'::regtype;
DROP TABLE _t;
CREATE TABLE abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij123 (x integer);
SELECT typname FROM pg_type WHERE typname LIKE '%abcdefghij%' ORDER BY 1;
DROP TABLE abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij123;

-- It goes with its relation
SELECT 't'::regtype::oid AS t_type \gset
ALTER TABLE t RENAME TO u;
SELECT :t_type::regtype, 'u'::regtype = :t_type AS same, to_regtype('t');
ALTER TABLE u SET SCHEMA apart;
ALTER TABLE apart.u RENAME TO t;
ALTER TABLE apart.t RENAME TO w;
SELECT :t_type::regtype, typname, typnamespace::regnamespace FROM pg_type WHERE oid = :t_type;
BEGIN;
DROP VIEW v;
DROP TABLE apart.u;
SELECT count(*) FROM pg_type WHERE oid = :t_type;
SELECT :t_type::regtype::text = :t_type::text AS is_number, format_type(:t_type, NULL);
ROLLBACK;
SELECT :t_type::regtype;

-- Types are no other objects: a name is taken once
CREATE VIEW p AS SELECT 1;
CREATE TABLE v (x integer);

-- Nothing refers to a type that is not there
SELECT 'pg_proc' AS at, oid::regprocedure::text, x FROM pg_proc, unnest(proargtypes::oid[] || coalesce(proallargtypes, '{}') || prorettype) x
  WHERE x NOT IN (SELECT oid FROM pg_type)
UNION ALL SELECT 'pg_attribute', attrelid::regclass::text, atttypid FROM pg_attribute WHERE atttypid <> 0 AND atttypid NOT IN (SELECT oid FROM pg_type)
UNION ALL SELECT 'pg_operator', oprname, x FROM pg_operator, unnest(ARRAY[oprleft, oprright, oprresult]) x
  WHERE x <> 0 AND x NOT IN (SELECT oid FROM pg_type)
UNION ALL SELECT 'pg_cast', oid::text, x FROM pg_cast, unnest(ARRAY[castsource, casttarget]) x WHERE x NOT IN (SELECT oid FROM pg_type)
UNION ALL SELECT 'pg_type', typname, x FROM pg_type, unnest(ARRAY[typelem, typarray, typbasetype]) x
  WHERE x <> 0 AND x NOT IN (SELECT oid FROM pg_type)
UNION ALL SELECT 'pg_class', relname, reltype FROM pg_class WHERE reltype <> 0 AND reltype NOT IN (SELECT oid FROM pg_type);
SELECT count(*) FROM pg_type WHERE typrelid <> 0 AND typrelid NOT IN (SELECT oid FROM pg_class);
SELECT count(*) FROM pg_type GROUP BY oid HAVING count(*) > 1;
SELECT count(*) FROM pg_type GROUP BY typnamespace, typname HAVING count(*) > 1;
SELECT proname, proargtypes::regtype[] FROM pg_proc WHERE proname LIKE '\_pg\_truetyp%' ORDER BY 1;
