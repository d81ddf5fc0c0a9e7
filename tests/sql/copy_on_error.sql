-- COPY FROM with ON_ERROR ignore.
-- PostgreSQL 15 differs: it has no ON_ERROR.
\set SHOW_CONTEXT always
CREATE TABLE ce (a int, b text, g int GENERATED ALWAYS AS (a * 2) STORED);
COPY ce FROM STDIN (ON_ERROR 'foo');
COPY ce TO STDOUT (ON_ERROR 'ignore');
COPY ce FROM STDIN (ON_ERROR ignore, FORMAT binary);
COPY ce FROM STDIN (REJECT_LIMIT 3);
COPY ce FROM STDIN (REJECT_LIMIT 0, ON_ERROR ignore);
COPY ce FROM STDIN (REJECT_LIMIT, ON_ERROR ignore);
COPY ce FROM STDIN (REJECT_LIMIT 'x', ON_ERROR ignore);
COPY ce FROM STDIN (REJECT_LIMIT 1.5, ON_ERROR ignore);
COPY ce FROM STDIN (REJECT_LIMIT 3, ON_ERROR stop);
COPY ce FROM STDIN (LOG_VERBOSITY foo);
COPY ce TO STDOUT (LOG_VERBOSITY verbose);
COPY ce TO STDOUT (REJECT_LIMIT 3);
COPY ce FROM STDIN (ON_ERROR ignore, ON_ERROR ignore);
COPY ce FROM STDIN (ON_ERROR);
COPY ce FROM STDIN (LOG_VERBOSITY);
COPY ce (a, b) FROM STDIN (ON_ERROR ignore, LOG_VERBOSITY verbose);
1	x
y	x
2147483648	a
3	b
0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789more	x
\.
COPY ce (a, b) FROM STDIN (ON_ERROR ignore, REJECT_LIMIT 1);
1	x
y	x
zzz	a
3	b
\.
COPY ce (a, b) FROM STDIN (ON_ERROR ignore, REJECT_LIMIT '1', LOG_VERBOSITY verbose);
1	x
y	x
zzz	a
\.
COPY ce (a, b) FROM STDIN (ON_ERROR ignore);
4	x
y	x
\.
-- A bad field before a missing one; a missing one; one too many.
COPY ce (a, b) FROM STDIN (ON_ERROR IGNORE, LOG_VERBOSITY silent);
5	x
y
\.
COPY ce (a, b) FROM STDIN (ON_ERROR ignore);
6	x
2
\.
COPY ce (a, b) FROM STDIN (ON_ERROR ignore);
6	x
z	x	y
\.
COPY ce (a, b) FROM STDIN (ON_ERROR stop);
6	x
z	x
\.
-- What constraints refuse is not ignored.
ALTER TABLE ce ADD PRIMARY KEY (a);
CREATE TABLE cn (a int NOT NULL, b varchar(3), d date, n numeric(4, 2), r int[]);
COPY cn FROM STDIN (ON_ERROR ignore, LOG_VERBOSITY verbose, NULL 'null');
1	abcd	2020-01-01	1	{1}
2	abc	2020-13-01	1	{1}
3	abc	2020-01-01	100	{1}
4	abc	2020-01-01	x	{1}
5	abc	2020-01-01	1	{1
6	abc	2020-01-01	1	{1}
\.
COPY cn (a) FROM STDIN (ON_ERROR ignore);
7
\N
\.
-- With WHERE, which a skipped row does not reach.
COPY ce (a, b) FROM STDIN (DELIMITER ',', ON_ERROR ignore) WHERE a > 100;
101,x
102x,x
50,x
\.
COPY ce (a, b) FROM STDIN WHERE g > 1;
SELECT * FROM ce ORDER BY a, b;
SELECT * FROM cn ORDER BY a;
-- Defaults asked for, and WHERE.
CREATE TABLE cd (a int, b text DEFAULT 'dflt', c int);
COPY cd FROM STDIN (DEFAULT '\D') WHERE b LIKE 'd%' AND a IN (40, 41);
40	\D	1
41	other	1
42	\D	1
\.
SELECT * FROM cd ORDER BY a;
DROP TABLE ce, cn, cd;
