-- pg_describe_object, default_with_oids, and functions that psql's commands and old dumps ask for.
CREATE SCHEMA "Sch";
CREATE TABLE "Sch".t (a integer PRIMARY KEY, b serial);
CREATE VIEW v AS SELECT a FROM "Sch".t;
SELECT pg_describe_object('pg_class'::regclass, '"Sch".t'::regclass, 0), pg_describe_object('pg_class'::regclass, '"Sch".t'::regclass, 2);
SELECT pg_describe_object('pg_class'::regclass, 'v'::regclass, 0), pg_describe_object('pg_class'::regclass, '"Sch".t_pkey'::regclass, 0), pg_describe_object('pg_class'::regclass, '"Sch".t_b_seq'::regclass, 0);
SELECT pg_describe_object('pg_namespace'::regclass, '"Sch"'::regnamespace, 0), pg_describe_object('pg_type'::regclass, 'integer'::regtype, 0);
SELECT pg_describe_object('pg_proc'::regclass, 'lower(text)'::regprocedure, 0);
SELECT pg_describe_object('pg_constraint'::regclass, oid, 0) FROM pg_constraint WHERE conname = 't_pkey';
SELECT pg_describe_object(0, 0, 0), pg_describe_object('pg_class'::regclass, 1, 0), pg_describe_object('pg_class'::regclass, '"Sch".t'::regclass, 7);
SET default_with_oids = false;
SHOW default_with_oids;
SET default_with_oids = true;
RESET default_with_oids;
SELECT count(*) FROM pg_settings WHERE name = 'default_with_oids';
SELECT count(*) FROM pg_ls_tmpdir();
SELECT count(*) FROM pg_ls_tmpdir(1664);
SELECT pg_ls_tmpdir(1);
SELECT pg_typeof(name), pg_typeof(default_version), pg_typeof(comment) FROM pg_available_extensions() LIMIT 1;
