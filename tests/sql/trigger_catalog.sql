-- Triggers as the catalogs, \d and pg_get_triggerdef show them.
CREATE SCHEMA sch;
CREATE TABLE sch.t (id int PRIMARY KEY, "Odd Name" text, v int);
CREATE TABLE other (id int PRIMARY KEY);
CREATE VIEW vw AS SELECT id, v FROM sch.t;
CREATE TRIGGER b_row BEFORE INSERT OR DELETE OR UPDATE OF v, "Odd Name" ON sch.t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE TRIGGER "A quoted" AFTER UPDATE ON sch.t FOR EACH ROW WHEN (old.v <> new.v OR new."Odd Name" LIKE 'a%') EXECUTE FUNCTION suppress_redundant_updates_trigger('one', 'two''s', '');
CREATE TRIGGER c_stmt AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON sch.t EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE TRIGGER d_trans AFTER UPDATE ON sch.t REFERENCING NEW TABLE AS newtab OLD TABLE AS "Old tab" FOR EACH STATEMENT EXECUTE PROCEDURE suppress_redundant_updates_trigger();
CREATE CONSTRAINT TRIGGER e_con AFTER UPDATE ON sch.t FROM other DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE CONSTRAINT TRIGGER f_con AFTER DELETE ON sch.t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE CONSTRAINT TRIGGER g_con AFTER DELETE ON sch.t FOR EACH ROW WHEN (old.v > 3) EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE TRIGGER i_view INSTEAD OF INSERT OR UPDATE ON vw FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE sch.t DISABLE TRIGGER c_stmt;
ALTER TABLE sch.t ENABLE ALWAYS TRIGGER d_trans;
ALTER TABLE sch.t ENABLE REPLICA TRIGGER b_row;
COMMENT ON TRIGGER b_row ON sch.t IS 'the first';
\d sch.t
\d vw
\d other
\dd
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger ORDER BY tgname;
SET search_path = sch, public;
SELECT pg_get_triggerdef(oid, true), pg_get_triggerdef(oid, false) FROM pg_trigger WHERE tgname ~ '_con' ORDER BY tgname;
RESET search_path;
SELECT pg_get_triggerdef(0), pg_get_triggerdef(NULL);
SELECT tgname, tgrelid::regclass, tgparentid, tgfoid::regproc, tgtype, tgenabled, tgisinternal, tgconstrrelid::regclass, tgconstrindid, tgconstraint <> 0 AS con, tgdeferrable, tginitdeferred, tgnargs, tgattr, tgargs, tgoldtable, tgnewtable FROM pg_trigger ORDER BY tgname;
SELECT conname, contype, condeferrable, condeferred, convalidated, conrelid::regclass, conkey, conislocal, coninhcount, connoinherit, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 't' ORDER BY conname;
SELECT relname, relhastriggers FROM pg_class WHERE relname IN ('t', 'other', 'vw') ORDER BY relname;
SELECT tablename, hastriggers FROM pg_tables WHERE tablename IN ('t', 'other') ORDER BY 1;
SELECT trigger_schema, trigger_name, event_manipulation, event_object_schema, event_object_table, action_order, action_condition, action_statement, action_orientation, action_timing, action_reference_old_table, action_reference_new_table FROM information_schema.triggers ORDER BY trigger_name, event_manipulation;
SELECT trigger_name, event_object_table, event_object_column FROM information_schema.triggered_update_columns ORDER BY 1, 3;
SELECT table_name, is_updatable, is_insertable_into, is_trigger_updatable, is_trigger_deletable, is_trigger_insertable_into FROM information_schema.views WHERE table_name = 'vw';
SELECT pg_relation_is_updatable('vw', false), pg_relation_is_updatable('vw', true), pg_relation_is_updatable('sch.t', true);
SELECT obj_description(oid), obj_description(oid, 'pg_trigger'), obj_description(oid, 'pg_class') FROM pg_trigger WHERE tgname = 'b_row';
SELECT t.tgname, d.refclassid::regclass, d.deptype, count(*) FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid WHERE d.classid = 'pg_trigger'::regclass AND t.tgqual IS NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
ALTER TABLE sch.t DROP CONSTRAINT e_con;
DROP TABLE other;
SELECT count(*) FROM pg_trigger WHERE tgname = 'e_con';
ALTER TABLE sch.t RENAME TO renamed;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'g_con';
DROP VIEW vw;
DROP SCHEMA sch CASCADE;
SELECT count(*) FROM pg_trigger;
SELECT count(*) FROM pg_constraint WHERE contype = 't';
