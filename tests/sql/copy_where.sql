-- COPY FROM with WHERE.
CREATE TABLE cw (a int, b text DEFAULT 'dflt', c int CHECK (c < 100));
COPY cw FROM STDIN WHERE a > 1;
1	x	1
2	y	2
\N	z	3
3	\N	4
\.
COPY cw (a) FROM STDIN WHERE b = 'dflt' AND a % 2 = 0;
10
11
12
\.
COPY cw FROM STDIN (DELIMITER ',', NULL '') WHERE cw.c IS NOT NULL AND length(b) > 1;
20,ab,99
21,a,100
22,abc,
23,abc,98
\.
-- A row that is left out is not checked; one that is taken is.
COPY cw FROM STDIN (DELIMITER ',') WHERE a <> 30;
30,ab,1000
31,ab,1000
\.
SELECT * FROM cw ORDER BY a;
-- Nothing taken.
COPY cw FROM STDIN WHERE false;
50	x	1
\.
-- Errors of the condition name the line; those of a line before come first.
COPY cw (a) FROM STDIN WHERE 10 / (a - 5) > 0;
6
5
x
\.
COPY cw (a) FROM STDIN WHERE 10 / (a - 5) > 0;
6
x
5
\.
COPY cw FROM STDIN WHERE a;
COPY cw FROM STDIN WHERE nothing > 1;
COPY cw FROM STDIN WHERE other.a > 1;
COPY cw FROM STDIN WHERE (SELECT true);
COPY cw FROM STDIN WHERE count(*) > 1;
COPY cw FROM STDIN WHERE row_number() OVER () > 1;
COPY cw FROM STDIN WHERE generate_series(1, 2) > 1;
COPY cw FROM STDIN WHERE a > $1;
COPY cw TO STDOUT WHERE a > 1;
-- Partitions.
CREATE TABLE cwp (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE cwp1 PARTITION OF cwp FOR VALUES FROM (0) TO (10);
CREATE TABLE cwp2 (b text, a int);
ALTER TABLE cwp ATTACH PARTITION cwp2 FOR VALUES FROM (10) TO (20);
COPY cwp FROM STDIN WHERE a BETWEEN 5 AND 15 AND b <> 'no';
4	a
5	b
11	no
12	c
99	nowhere
\.
SELECT tableoid::regclass, * FROM cwp ORDER BY a;
DROP TABLE cw, cwp;
