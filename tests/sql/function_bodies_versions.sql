-- OLD and NEW of RETURNING in BEGIN ATOMIC.
-- PostgreSQL 15 differs: it has no OLD and NEW there.
CREATE TABLE fbv (id int PRIMARY KEY, a int);
INSERT INTO fbv VALUES (1, 10);
CREATE FUNCTION fbv_change(n int) RETURNS TABLE (was int, is_now int) BEGIN ATOMIC
  UPDATE fbv SET a = a + n RETURNING old.a, new.a;
END;
CREATE FUNCTION fbv_named(n int) RETURNS SETOF int BEGIN ATOMIC
  WITH d AS (DELETE FROM fbv RETURNING old.*, new.a AS b)
    INSERT INTO fbv SELECT id, n FROM d RETURNING WITH (OLD AS o, NEW AS nn) nn.a + COALESCE(o.a, 0);
END;
SELECT pg_get_functiondef('fbv_change'::regproc);
SELECT pg_get_functiondef('fbv_named'::regproc);
SELECT * FROM fbv_change(5);
SELECT * FROM fbv_named(3);
ALTER TABLE fbv RENAME a TO aa;
SELECT pg_get_functiondef('fbv_named'::regproc);
SELECT * FROM fbv_named(4);
DROP TABLE fbv CASCADE;
