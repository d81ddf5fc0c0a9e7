-- COPY in and out: text and CSV.
CREATE TABLE t (a integer, b text, c numeric, d date);
COPY t FROM stdin;
1	one	1.5	2026-01-31
2	\N	\N	\N
3	tab\there\nand newline\\	0	epoch
\.
SELECT * FROM t ORDER BY a;
COPY t TO stdout;
COPY t TO stdout WITH (FORMAT csv, HEADER);
COPY t (b, a) TO stdout (DELIMITER '|', NULL 'none');
COPY (SELECT a, b FROM t WHERE a < 3 ORDER BY a DESC) TO stdout;
COPY (VALUES (1, 'a"b'), (2, 'x,y'), (3, ''), (4, NULL)) TO stdout (FORMAT csv);
COPY (VALUES (1, 'a"b'), (2, 'x,y')) TO stdout (FORMAT csv, FORCE_QUOTE *, QUOTE '''', DELIMITER ';');
COPY (SELECT 'true'::boolean, '\x00ff'::bytea, ARRAY[1, 2], E'\b\f\r') TO stdout;

TRUNCATE t;
\copy t (a, b) FROM 'data/quoted.csv' (FORMAT csv)
SELECT a, b, b IS NULL AS is_null FROM t ORDER BY a;
\copy t FROM 'data/header.csv' (FORMAT csv, HEADER, NULL 'nil')
\copy t FROM 'data/wrong_header.csv' (FORMAT csv, HEADER match)
\copy t FROM 'data/header.csv' (FORMAT csv, HEADER match, NULL 'nil')
COPY t (a, b) FROM stdin (DELIMITER ',', NULL '-');
8,-
9,x\,y
\.
SELECT a, b, c, d FROM t WHERE a >= 6 ORDER BY a;

-- What is refused, with the line.
COPY t FROM stdin;
20	ok	1	2026-01-01
x	bad	1	2026-01-01
\.
COPY t FROM stdin;
21	too few
\.
COPY t FROM stdin;
22	too	1	2026-01-01	many
\.
COPY t FROM stdin;
23	bad date	1	someday
\.
\copy t (a, b) FROM 'data/unterminated.csv' (FORMAT csv)
\copy t (a, b) FROM 'data/odd_quotes.csv' (FORMAT csv)
SELECT count(*) FROM t WHERE a >= 20;
COPY nope FROM stdin;
COPY t (nope) FROM stdin;
COPY t (a, a) FROM stdin;
COPY nope TO stdout;
COPY t TO stdout (FORMAT nope);
COPY t TO stdout (DELIMITER 'ab');
COPY t TO stdout (NOPE);
COPY (SELECT nope) TO stdout;

-- Constraints and defaults.
CREATE TABLE k (id integer PRIMARY KEY, v integer CHECK (v > 0), w text DEFAULT 'dflt', x integer NOT NULL);
COPY k (id, v, x) FROM stdin;
1	1	1
2	2	2
\.
COPY k (id, v, x) FROM stdin;
3	3	3
1	1	1
\.
COPY k (id, v, x) FROM stdin;
4	-4	4
\.
COPY k (id, v, x) FROM stdin;
5	5	\N
\.
COPY k (id, v) FROM stdin;
6	6
\.
SELECT * FROM k ORDER BY id;
-- Inside a transaction.
BEGIN;
COPY k (id, v, x) FROM stdin;
10	1	1
11	1	1
\.
SELECT count(*) FROM k;
ROLLBACK;
SELECT count(*) FROM k;
BEGIN;
COPY k (id, v, x) FROM stdin;
12	bad	1
\.
SELECT 1;
ROLLBACK;
-- Old spellings, \copy, empty input.
COPY k (id) TO stdout DELIMITERS ',';
COPY k (id, w) TO stdout CSV HEADER;
\copy (SELECT id FROM k ORDER BY id) TO stdout
COPY k FROM stdin;
\.
INSERT INTO k SELECT n, n, 'row', n FROM generate_series(100, 3000) AS n;
COPY (SELECT count(*), sum(v) FROM k) TO stdout;
