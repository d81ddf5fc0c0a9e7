-- FROM of UPDATE and USING of DELETE may not refer to the table that the statement changes.
-- PostgreSQL 15 differs: it says in a HINT what is a DETAIL since 16.
CREATE TABLE target (x integer, y integer);
CREATE TABLE source (z integer);
INSERT INTO target VALUES (1, 1), (2, 2);
INSERT INTO source VALUES (1), (7);
UPDATE target SET y = z FROM (SELECT * FROM source WHERE z = x) s;
UPDATE target SET y = z FROM (SELECT * FROM source WHERE z = target.x) s;
UPDATE target SET y = z FROM LATERAL (SELECT * FROM source WHERE z = x) s;
UPDATE target AS t SET y = z FROM LATERAL (SELECT * FROM source WHERE z = t.x) s;
UPDATE target SET y = g FROM generate_series(1, x) g;
UPDATE target SET y = 1 FROM source JOIN source other ON source.z = x;
UPDATE target SET y = 1 FROM source JOIN source other ON source.z = target.x;
UPDATE target SET y = 1 FROM LATERAL (SELECT target) s;
UPDATE target SET y = 1 FROM LATERAL (SELECT 1 FROM (SELECT x) q) s;
DELETE FROM target USING (SELECT * FROM source WHERE z = x) s;
DELETE FROM target USING LATERAL (SELECT * FROM source WHERE z = target.x) s;
UPDATE target SET y = 1 FROM source RIGHT JOIN LATERAL (SELECT source.z) s ON true;
UPDATE target SET y = (SELECT max(z) FROM source WHERE z > x) FROM source s, LATERAL (SELECT s.z + 1 AS w) l WHERE l.w = x + 1 RETURNING x, y, w;
DROP TABLE target, source;
