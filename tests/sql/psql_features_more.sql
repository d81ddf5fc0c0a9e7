-- What psql asks about kinds of objects that are not there, and about functions and sizes.
-- PostgreSQL 15 differs: there is no error for the size of an OID that is none
\dc nosuch
\dc+ nosuch
\dF nosuch
\dF+ nosuch
\dFd nosuch
\dFd+ nosuch
\dFp nosuch
\dFp+ nosuch
\dFt nosuch
\dFt+ nosuch
\dDS
SELECT count(*) FROM pg_conversion WHERE conname = 'nosuch';
\sf lower(text)
\sf+ generate_series(integer, integer)
\sf row_number
\sf overlay(text, text, integer)
\sf pg_catalog.pg_stat_get_activity
\sf txid_current
\sf sum(integer)
\sf nosuch
SELECT pg_get_functiondef(0);
SELECT pg_get_functiondef('pg_stat_file(text)'::regprocedure);
SELECT pg_get_functiondef('jsonb_path_query(jsonb, jsonpath, jsonb, boolean)'::regprocedure);
SELECT n.nspname, t.typname, pg_type_is_visible(t.oid)
    FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace
    WHERE typname IN ('yes_or_no', 'cardinal_number', 'int4') ORDER BY 2;
SELECT n.nspname, proname, pg_function_is_visible(p.oid)
    FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
    WHERE proname IN ('_pg_truetypid', 'lower') ORDER BY 2, p.oid;
SELECT pg_database_size(current_database()) > 0, pg_tablespace_size('pg_default') > 0,
    pg_tablespace_size('pg_global') >= 0;
SELECT pg_database_size(d.oid) > 0 FROM pg_database d WHERE datname = current_database();
SELECT pg_tablespace_size(oid) >= 0 FROM pg_tablespace ORDER BY oid;
SELECT pg_database_size('nosuch');
SELECT pg_database_size(99::oid);
SELECT pg_tablespace_size('nosuch');
SELECT pg_tablespace_size(99::oid);
