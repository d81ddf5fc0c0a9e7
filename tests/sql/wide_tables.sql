-- Rows with many columns and with NULLs in all places.
SELECT 'CREATE TABLE wide (' || string_agg('c' || n || CASE n % 4 WHEN 0 THEN ' integer' WHEN 1 THEN ' text' WHEN 2 THEN ' numeric' ELSE ' boolean' END, ', ' ORDER BY n) || ')' FROM generate_series(1, 300) AS n \gexec
INSERT INTO wide (c1, c2, c3, c4) VALUES ('one', 2.5, true, 4);
INSERT INTO wide (c297, c298, c299, c300) VALUES ('late', 298.5, false, 300);
INSERT INTO wide DEFAULT VALUES;
SELECT c1, c2, c3, c4, c297, c298, c299, c300 FROM wide ORDER BY c4, c300;
UPDATE wide SET c150 = 150.5, c4 = 5 WHERE c4 = 4;
SELECT c1, c4, c150, c152 FROM wide WHERE c150 IS NOT NULL;
SELECT count(*), count(c1), count(c150), count(c300) FROM wide;
ALTER TABLE wide ADD COLUMN late text DEFAULT 'added';
SELECT late, c300 FROM wide ORDER BY c300;
ALTER TABLE wide DROP COLUMN c150;
SELECT count(*) FROM wide WHERE c150 > 1;
SELECT count(late) FROM wide;
SELECT 'CREATE TABLE too_wide (' || string_agg('c' || n || ' integer', ', ') || ')' FROM generate_series(1, 1601) AS n \gexec
CREATE TABLE mixed (a smallint, b bigint, c boolean, d text, e real, f char(3), g timestamptz, h numeric, i uuid, j date, k interval, l bytea, m oid, n time, o double precision);
INSERT INTO mixed VALUES (1, 2, true, 'd', 1.5, 'f', '2026-01-31 12:00+00', 3.14, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2026-01-31', '1 day', '\x01', 7, '12:00', 2.5);
INSERT INTO mixed (a, d, h, n) VALUES (2, '', -1, '00:00');
INSERT INTO mixed (b, e, g, o) VALUES (9223372036854775807, 'NaN', 'infinity', '-Infinity');
SELECT * FROM mixed ORDER BY a;
UPDATE mixed SET d = d || repeat('x', 30), c = NOT c, b = coalesce(b, 0) + 1 WHERE a IS NOT NULL;
SELECT a, b, c, length(d) FROM mixed ORDER BY a;
UPDATE mixed SET b = b + 1 WHERE a IS NULL;
SELECT a FROM mixed WHERE b = 9223372036854775807;
SELECT * FROM mixed AS x JOIN mixed AS y USING (a) WHERE a = 2;
CREATE TABLE long_key (k text PRIMARY KEY);
INSERT INTO long_key SELECT repeat(chr(97 + n), 500) FROM generate_series(0, 25) AS n;
SELECT count(*), min(left(k, 1)), max(left(k, 1)) FROM long_key;
SELECT left(k, 2) FROM long_key WHERE k > repeat('x', 500) ORDER BY k;
INSERT INTO long_key VALUES (repeat('c', 500));
