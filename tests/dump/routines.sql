-- Functions, aggregates, types of users, triggers and foreign keys of all kinds that PostgreSQL 15 has, too.
CREATE TYPE s.mood AS ENUM ('sad', 'it''s ok', 'happy');
ALTER TYPE s.mood ADD VALUE 'calm' BEFORE 'happy';
COMMENT ON TYPE s.mood IS 'mood';
CREATE TYPE s.pair AS (x integer, "Y" text COLLATE "C", m s.mood[]);
COMMENT ON COLUMN s.pair.x IS 'x';
CREATE TYPE s.nothing AS ();

-- Functions in SQL.
CREATE FUNCTION s.is_small(n integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT n < 1000';
CREATE FUNCTION s.plus_one(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN $1 + 1;
CREATE FUNCTION s.atomic(a integer, b integer DEFAULT 5, VARIADIC rest integer[] DEFAULT '{}'::integer[]) RETURNS bigint
    LANGUAGE sql STABLE COST 7 BEGIN ATOMIC SELECT count(*) FROM s.parent; SELECT a + b + coalesce(array_length(rest, 1), 0); END;
CREATE FUNCTION s.outs(IN i integer, OUT a integer, INOUT t text, OUT "Quoted Out" numeric) LANGUAGE sql AS $$ SELECT i, t || $q$'$q$, 1.5 $$;
CREATE FUNCTION s.rows_of(lowest integer) RETURNS SETOF s.pair LANGUAGE sql ROWS 7 AS 'SELECT i, i::text, NULL::s.mood[] FROM generate_series(lowest, 3) i';
CREATE FUNCTION s.tabular(n integer) RETURNS TABLE(k integer, v text) LANGUAGE sql LEAKPROOF AS $$ SELECT n, 'v' $$;
CREATE FUNCTION s.poly(a anyelement, b anyarray) RETURNS anyelement LANGUAGE sql AS 'SELECT coalesce(b[1], a)';
CREATE FUNCTION s.nothing_at_all() RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION s."Odd name; --"("select" integer) RETURNS integer LANGUAGE sql AS 'SELECT "select"';
COMMENT ON FUNCTION s.atomic(integer, integer, integer[]) IS 'function';

-- Functions in PL/pgSQL, and procedures.
CREATE FUNCTION s.body(p s.pair, INOUT q integer DEFAULT NULL) LANGUAGE plpgsql SECURITY DEFINER
    SET work_mem = '1MB' SET search_path = s, "$user", pg_temp SET "DateStyle" = 'ISO, MDY' AS $body$
DECLARE
    r record; -- a comment with $$ and 'quotes'
BEGIN
    FOR r IN SELECT * FROM generate_series(1, p.x) n LOOP
        q := coalesce(q, 0) + r.n;
    END LOOP;
EXCEPTION WHEN division_by_zero THEN
    RAISE NOTICE E'tab\t%', q;
END
$body$;
CREATE FUNCTION s.many(VARIADIC anyarray) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
CREATE PROCEDURE s.work(INOUT n integer, m integer DEFAULT 1 + 2) LANGUAGE plpgsql AS $$ BEGIN n := n + m; END $$;
CREATE PROCEDURE s.sql_work(n integer) BEGIN ATOMIC SELECT s.plus_one(n); SELECT count(*) FROM s.parent WHERE a = n; END;
CREATE FUNCTION s.early() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN s.aaa_late(); END $$;
CREATE FUNCTION s.aaa_late() RETURNS integer LANGUAGE sql AS 'SELECT 42';
COMMENT ON PROCEDURE s.work(integer, integer) IS 'procedure';

-- Aggregates.
CREATE FUNCTION s.add_state(bigint, integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, 0) + coalesce($2, 0)';
CREATE FUNCTION s.doubled(bigint) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ($1 * 2)::text';
CREATE AGGREGATE s.total(integer) (SFUNC = s.add_state, STYPE = bigint, FINALFUNC = s.doubled, INITCOND = '7', PARALLEL = SAFE);
CREATE FUNCTION s.append_all(integer[], VARIADIC integer[]) RETURNS integer[] LANGUAGE sql AS 'SELECT $1 || $2';
CREATE AGGREGATE s.joined(VARIADIC integer[]) (SFUNC = s.append_all, STYPE = integer[]);
COMMENT ON AGGREGATE s.total(integer) IS 'aggregate';

-- Domains over functions, and what uses types and functions.
CREATE DOMAIN s.small AS integer DEFAULT s.plus_one(1) CONSTRAINT is_small CHECK (s.is_small(VALUE)) CHECK (VALUE > -5);
CREATE DOMAIN s.moods AS s.mood[] NOT NULL;
ALTER DOMAIN s.small ADD CONSTRAINT later CHECK (VALUE <> 13) NOT VALID;
COMMENT ON DOMAIN s.small IS 'domain';
CREATE TABLE s.uses (id integer PRIMARY KEY DEFAULT s.plus_one(0), p s.pair, m s.mood DEFAULT 'calm', sm s.small, ps s.pair[],
    g integer GENERATED ALWAYS AS (s.plus_one(id)) STORED, CHECK (s.is_small(id)));
CREATE INDEX uses_f ON s.uses (s.plus_one(id)) WHERE s.is_small(id);
INSERT INTO s.uses (id, p, m, sm, ps) VALUES
    (1, '(1,"a ""quoted"" text","{sad,""it''s ok""}")', 'sad', 5, '{"(1,a,)","(,,{})"}'), (2, NULL, 'it''s ok', NULL, NULL);
CREATE VIEW s.by_functions AS SELECT id, s.plus_one(id) AS next, (SELECT count(*) FROM s.rows_of(1)) AS n, s.total(id) OVER () AS t FROM s.uses;

-- Triggers.
CREATE TABLE s.log (n serial PRIMARY KEY, what text);
CREATE FUNCTION s.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'ROW' AND TG_WHEN = 'BEFORE' AND TG_OP <> 'DELETE' THEN RETURN NEW; END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION s.count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO s.log (what) SELECT TG_OP || count(*) FROM newer;
    RETURN NULL;
END $$;
CREATE TABLE s.triggered (id integer PRIMARY KEY, a text, "B" integer);
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OF a, "B" ON s.triggered FOR EACH ROW WHEN (NEW.id > 0 AND NEW.a IS DISTINCT FROM 'x') EXECUTE FUNCTION s.note('one', 'it''s', '2');
CREATE TRIGGER after_row AFTER UPDATE ON s.triggered FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION s.note();
CREATE TRIGGER statement AFTER DELETE OR TRUNCATE ON s.triggered EXECUTE FUNCTION s.note();
CREATE TRIGGER tables AFTER UPDATE ON s.triggered REFERENCING OLD TABLE AS older NEW TABLE AS newer EXECUTE FUNCTION s.count_rows();
CREATE TRIGGER "Tables of insert" AFTER INSERT ON s.triggered REFERENCING NEW TABLE AS newer FOR EACH ROW EXECUTE FUNCTION s.count_rows();
CREATE CONSTRAINT TRIGGER checked AFTER INSERT OR UPDATE ON s.triggered DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION s.note();
CREATE CONSTRAINT TRIGGER checked_from AFTER INSERT ON s.triggered FROM s.parent NOT DEFERRABLE FOR EACH ROW WHEN (NEW.id <> 3) EXECUTE FUNCTION s.note();
CREATE TRIGGER off BEFORE DELETE ON s.triggered FOR EACH ROW EXECUTE FUNCTION s.note();
CREATE TRIGGER on_replica BEFORE DELETE ON s.triggered FOR EACH ROW EXECUTE FUNCTION s.note();
CREATE TRIGGER always BEFORE DELETE ON s.triggered FOR EACH ROW EXECUTE FUNCTION s.note();
ALTER TABLE s.triggered DISABLE TRIGGER off;
ALTER TABLE s.triggered ENABLE REPLICA TRIGGER on_replica;
ALTER TABLE s.triggered ENABLE ALWAYS TRIGGER always;
COMMENT ON TRIGGER off ON s.triggered IS 'trigger';
CREATE VIEW s.changed AS SELECT id, a FROM s.triggered;
CREATE TRIGGER instead INSTEAD OF INSERT OR UPDATE OR DELETE ON s.changed FOR EACH ROW EXECUTE FUNCTION s.note();
CREATE TRIGGER of_view AFTER UPDATE ON s.changed EXECUTE FUNCTION s.note();
CREATE TRIGGER of_partitions AFTER INSERT ON s.rng FOR EACH ROW EXECUTE FUNCTION s.note();
CREATE TRIGGER one_off AFTER UPDATE ON s.rng FOR EACH ROW EXECUTE FUNCTION s.note();
-- (Of a partition below another one pg_dump restores this in parallel before there is a trigger.)
ALTER TABLE s.rng_1 DISABLE TRIGGER one_off;
CREATE TRIGGER own_of_partition BEFORE UPDATE ON s.rng_1 FOR EACH ROW EXECUTE FUNCTION s.note();
INSERT INTO s.triggered VALUES (1, 'a', 2), (2, NULL, NULL);

-- Foreign keys.
CREATE TABLE s.fk_from (id integer PRIMARY KEY, x integer DEFAULT 1, y integer DEFAULT 2, u integer REFERENCES s.uses DEFERRABLE,
    self integer REFERENCES s.fk_from ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT two FOREIGN KEY (y, x) REFERENCES s.fk_to MATCH FULL ON DELETE SET DEFAULT ON UPDATE RESTRICT,
    CONSTRAINT some_null FOREIGN KEY (y, x) REFERENCES s.fk_to (b, a) ON DELETE SET NULL (x) ON UPDATE SET NULL);
INSERT INTO s.fk_from (id, x, y, self) VALUES (1, 1, 2, 2), (2, 1, 2, 1), (3, 1, 2, NULL);
ALTER TABLE s.fk_from ADD CONSTRAINT unchecked FOREIGN KEY (x) REFERENCES s.parent NOT VALID;
ALTER TABLE s.fk_from ADD CONSTRAINT to_parts FOREIGN KEY (y, x) REFERENCES s.pk_part (b, a) NOT VALID;
COMMENT ON CONSTRAINT two ON s.fk_from IS 'foreign key';
CREATE TABLE s.fk_parts (k integer, pa integer, pb integer, r integer REFERENCES s.uses ON DELETE CASCADE,
    FOREIGN KEY (pb, pa) REFERENCES s.pk_part ON UPDATE CASCADE) PARTITION BY LIST (k);
CREATE TABLE s.fk_parts_1 PARTITION OF s.fk_parts FOR VALUES IN (1);
CREATE TABLE s.fk_parts_2 (k integer, pb integer, pa integer, r integer, CONSTRAINT own_key FOREIGN KEY (r) REFERENCES s.uses ON DELETE CASCADE);
ALTER TABLE s.fk_parts ATTACH PARTITION s.fk_parts_2 FOR VALUES IN (2) ;
CREATE TABLE s.fk_parts_rest PARTITION OF s.fk_parts DEFAULT PARTITION BY HASH (pa);
CREATE TABLE s.fk_parts_rest_0 PARTITION OF s.fk_parts_rest FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO s.fk_parts VALUES (1, 1, 2, 1), (2, 1, 2, NULL), (3, NULL, NULL, 2);
CREATE TABLE s.fk_a (id integer PRIMARY KEY, b integer);
CREATE TABLE s.fk_b (id integer PRIMARY KEY REFERENCES s.fk_a DEFERRABLE INITIALLY DEFERRED);
INSERT INTO s.fk_a VALUES (1, 1); INSERT INTO s.fk_b VALUES (1);
ALTER TABLE s.fk_a ADD FOREIGN KEY (b) REFERENCES s.fk_b DEFERRABLE;
