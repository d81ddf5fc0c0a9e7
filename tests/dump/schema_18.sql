-- Loaded as well where PostgreSQL is of version 18.
CREATE TABLE s.named_nn (a int CONSTRAINT a_there NOT NULL, b int CONSTRAINT b_there NOT NULL NO INHERIT, c int NOT NULL);
ALTER TABLE s.named_nn ADD COLUMN dd int;
ALTER TABLE s.named_nn DROP COLUMN c;
INSERT INTO s.named_nn VALUES (1, 2, 3);
CREATE TABLE s.nn_child (e int) INHERITS (s.named_nn);
ALTER TABLE s.named_nn ADD CONSTRAINT dd_later NOT NULL dd NOT VALID;
COMMENT ON CONSTRAINT a_there ON s.named_nn IS 'a is there';
