-- The mark that ends COPY's text data, and what stands where it may not.
-- PostgreSQL 15 differs: it takes a mark behind data for the end
CREATE TABLE marks (a integer, b text);
COPY marks FROM stdin;
5	q\.
6	x
7	y
\.
COPY marks FROM stdin;
5	\.
6	x
\.
COPY marks FROM stdin;
5	x
\.z
\.
COPY marks FROM stdin;
5	q\\
6	\\.
\.
SELECT * FROM marks ORDER BY a;
