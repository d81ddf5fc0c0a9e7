-- COPY into columns of a length, a precision and a scale: input functions see to them.
select :'scratch' || '/lengths' as file \gset
CREATE TABLE fitted (
    id int, c char(4), v varchar(3), b "char", n numeric(6, 2), t timestamp(1), tz timestamptz(0),
    ti time(2), iv interval(1), ivd interval day to second(0), ca char(3)[], va varchar(2)[], na numeric(4,1)[], d date);
COPY fitted FROM stdin;
1	ab	abc	x	1.005	2026-01-02 03:04:05.678	2026-01-02 03:04:05.678+00	03:04:05.678	1 day 00:00:01.26	2 days 00:00:01.5	{a,bc}	{xy,z}	{1.25,2}	2026-02-03
2	abcd   	abc  	y	\N	infinity	\N	\N	\N	\N	\N	{}	\N	infinity
3			\N	-9999.994	2026-01-02 23:59:59.99	2026-01-02 23:59:59.5+00	23:59:59.999	-1 day	-00:00:00.5	{}	{"xy "}	{99.94}	\N
4	öäü	öäü	ö	0	\N	\N	\N	\N	\N	{"öäü  "}	\N	\N	\N
\.
SELECT id, '[' || c::text || ']' c, length(c), octet_length(c), '[' || v || ']' v, b, n, t, tz, ti, iv, ivd, ca, va, na, d FROM fitted ORDER BY id;
SELECT id FROM fitted WHERE c = 'ab' OR c = '' ORDER BY id;
-- Too long, each by its column's name.
COPY fitted (id, c) FROM stdin;
5	abcde
\.
COPY fitted (id, v) FROM stdin;
5	abc
6	abc d
\.
COPY fitted (id, n) FROM stdin;
5	9999.996
\.
COPY fitted (id, va) FROM stdin;
5	{abc}
\.
COPY fitted (id, ca) FROM stdin;
5	{abcd}
\.
COPY fitted (id, na) FROM stdin;
5	{999.95}
\.
SELECT count(*) FROM fitted;
-- The first field in COPY's order that is wrong, before what is missing after it.
COPY fitted (n, id) FROM stdin;
x	y
\.
COPY fitted (n, id) FROM stdin;
x
\.
COPY fitted (n, id) FROM stdin;
1
\.
COPY fitted (n, id) FROM stdin;
x	1	2
\.
-- A long one goes out of line all the same, blanks and all.
CREATE TABLE padded (id int PRIMARY KEY, c char(20000) NOT NULL, v varchar(20000));
COPY padded FROM stdin;
1	x	y
2		
\.
COPY padded FROM stdin;
3	\N	y
\.
SELECT id, octet_length(c), length(c), octet_length(v) FROM padded ORDER BY id;
COPY fitted (c, v, n) TO :'file' (FORMAT binary);
CREATE TABLE shorter (c char(3), v varchar(3), n numeric(5,1));
COPY shorter FROM :'file' (FORMAT binary);
CREATE TABLE longer (c char(6), v varchar(3), n numeric(5,1));
COPY longer FROM :'file' (FORMAT binary);
SELECT octet_length(c), v, n FROM longer ORDER BY n;
-- Rows that are checked are held as values.
CREATE TABLE checked (c char(4) CHECK (c <> 'no'), v varchar(2) DEFAULT 'ab');
COPY checked FROM stdin;
yes	a
no	b
\.
COPY checked FROM stdin;
yes	abc
\.
COPY checked (c) FROM stdin;
yes
\.
SELECT * FROM checked;
