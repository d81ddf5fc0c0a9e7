-- Loaded as well where PostgreSQL is of version 18.
CREATE TABLE s.named_nn (a int CONSTRAINT a_there NOT NULL, b int CONSTRAINT b_there NOT NULL NO INHERIT, c int NOT NULL);
ALTER TABLE s.named_nn ADD COLUMN dd int;
ALTER TABLE s.named_nn DROP COLUMN c;
INSERT INTO s.named_nn VALUES (1, 2, 3);
CREATE TABLE s.nn_child (e int) INHERITS (s.named_nn);
ALTER TABLE s.named_nn ADD CONSTRAINT dd_later NOT NULL dd NOT VALID;
COMMENT ON CONSTRAINT a_there ON s.named_nn IS 'a is there';
CREATE TABLE s.virt (a int, b bigint GENERATED ALWAYS AS ((a * 2)::bigint) NOT NULL CHECK (b < 1000), c text GENERATED ALWAYS AS ('x' || a::text) VIRTUAL,
    d int GENERATED ALWAYS AS (a + 1) STORED, e numeric GENERATED ALWAYS AS (a / 3.0));
INSERT INTO s.virt VALUES (1), (2), (30);
CREATE TABLE s.virt_child (b bigint GENERATED ALWAYS AS ((a * 3)::bigint), f int) INHERITS (s.virt);
INSERT INTO s.virt_child (a, f) VALUES (4, 5);
CREATE TABLE s.virt_part (k int, v int GENERATED ALWAYS AS (k * 2)) PARTITION BY LIST (k);
CREATE TABLE s.virt_part1 PARTITION OF s.virt_part FOR VALUES IN (1);
CREATE TABLE s.virt_part2 PARTITION OF s.virt_part (v GENERATED ALWAYS AS (k * 5)) FOR VALUES IN (2);
INSERT INTO s.virt_part VALUES (1), (2);
CREATE VIEW s.virt_view AS SELECT a, b, c FROM s.virt WHERE b > 2;
ALTER TABLE s.virt ALTER d SET EXPRESSION AS (a + 5);
ALTER TABLE s.fk_from ADD CONSTRAINT not_enforced FOREIGN KEY (x) REFERENCES s.parent NOT ENFORCED;
ALTER TABLE s.fk_parts ADD CONSTRAINT not_valid FOREIGN KEY (pb) REFERENCES s.uses NOT VALID;
ALTER TABLE s.fk_parts ADD CONSTRAINT not_enforced FOREIGN KEY (pa) REFERENCES s.uses ON DELETE SET NULL NOT ENFORCED;
CREATE FUNCTION s.of_virtual(v s.virt) RETURNS bigint LANGUAGE sql STABLE RETURN v.b + v.d;
