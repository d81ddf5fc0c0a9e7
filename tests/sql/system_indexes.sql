-- Indexes and constraints of the system catalogs.
-- PostgreSQL 15 differs: it has no constraints for NOT NULL
SELECT indexrelid::regclass, indrelid::regclass, indisunique, indisprimary, indkey, indcollation, indclass, indoption FROM pg_index WHERE indexrelid < 16384 AND indrelid NOT IN (SELECT oid FROM pg_class WHERE relkind = 't') ORDER BY indexrelid;
SELECT conname, contype, conrelid::regclass, conindid::regclass, conkey, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid > 0 AND conrelid < 16384 AND conrelid::regclass::text !~ '^pgxc_' ORDER BY oid;
SELECT relname, relkind, relnatts, relam FROM pg_class WHERE relkind = 'i' AND oid < 16384 AND relname !~ '^pg_toast' ORDER BY oid;
SELECT attname, atttypid::regtype, attcollation FROM pg_attribute WHERE attrelid = 'pg_class_relname_nsp_index'::regclass ORDER BY attnum;
DROP INDEX pg_class_oid_index;
ALTER INDEX pg_class_oid_index RENAME TO x;
SELECT * FROM pg_class_oid_index;
SELECT relname FROM pg_class WHERE oid = 1259;
SELECT min(oid) FROM pg_type;
\d pg_namespace
\d pg_class_relname_nsp_index
