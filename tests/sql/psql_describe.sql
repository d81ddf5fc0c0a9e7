-- What psql asks the catalogs for: \d and its relatives.
-- PostgreSQL 15 differs: views name columns with their tables
CREATE TABLE customer (
    id serial PRIMARY KEY,
    email varchar(80) NOT NULL UNIQUE,
    name text DEFAULT 'nobody'::text,
    balance numeric(12, 2) NOT NULL DEFAULT 0 CHECK (balance >= 0),
    created timestamptz DEFAULT now(),
    born date,
    tags text[],
    code character(3),
    token uuid
);
CREATE INDEX customer_name ON customer (name DESC NULLS LAST, born);
CREATE UNIQUE INDEX customer_lower_email ON customer (lower(email));
CREATE SEQUENCE counter;
CREATE VIEW rich AS SELECT id, name FROM customer WHERE balance > 1000;
\d
\d customer
\d+ customer
\d customer_name
\d customer_lower_email
\d customer_id_seq
\d counter
\d rich
\d+ rich
\dt
\dt cust*
\dt nope
\d nope
\di
\ds
\dv
\dn
\df abs
\dC integer
\du postgres
\db
\dp customer
\d pg_am
\dt pg_catalog.pg_am
SELECT relname, relkind, relnatts, relhasindex FROM pg_class WHERE relname LIKE 'customer%' ORDER BY relname;
SELECT attname, attnum, atttypid::regtype, atttypmod, attnotnull, atthasdef FROM pg_attribute WHERE attrelid = 'customer'::regclass AND attnum > 0 ORDER BY attnum;
SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'customer'::regclass AND contype <> 'n' ORDER BY conname;
SELECT indexrelid::regclass, indisunique, indisprimary, indkey, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'customer'::regclass ORDER BY indexrelid::regclass::text;
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'customer'::regclass ORDER BY adnum;
SELECT tablename, indexname, indexdef FROM pg_indexes WHERE tablename = 'customer' ORDER BY indexname;
SELECT schemaname, tablename, hasindexes FROM pg_tables WHERE schemaname = 'public';
SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1;
SELECT column_name, data_type, is_nullable, column_default, character_maximum_length, numeric_precision, numeric_scale FROM information_schema.columns WHERE table_name = 'customer' ORDER BY ordinal_position;
SELECT typname, typlen, typcategory, oid FROM pg_type WHERE typname IN ('int4', 'text', 'numeric', 'timestamptz', 'bool') ORDER BY oid;
SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('pg_catalog', 'public') ORDER BY oid;
SELECT current_schema(), current_schemas(true), current_user, session_user, user;
SELECT pg_table_is_visible('customer'::regclass), pg_get_userbyid(10), has_table_privilege('customer', 'select'), obj_description('customer'::regclass, 'pg_class');
SELECT to_regclass('customer') IS NOT NULL, pg_relation_size('customer') >= 0, pg_backend_pid() > 0, version() LIKE 'PostgreSQL%';
SELECT relpersistence, relispartition, relreplident FROM pg_class WHERE oid = 'customer'::regclass;
COMMENT ON TABLE customer IS 'who buys';
COMMENT ON COLUMN customer.email IS 'where to write';
\dt+ nope
SELECT obj_description('customer'::regclass), col_description('customer'::regclass, 2);
\dd
\sf abs
\encoding
\echo :SERVER_VERSION_NUM
