-- COPY of a table without columns: a line, or a header of a row, is a row.
CREATE TABLE none ();
COPY none FROM stdin;


\.
SELECT count(*) FROM none;
COPY none FROM stdin;
x
\.
COPY none TO stdout;
COPY none TO stdout (FORMAT csv);
COPY none TO stdout (FORMAT csv, HEADER);
COPY none FROM stdin (FORMAT csv);
x
\.
COPY (SELECT FROM none) TO stdout;
CREATE TABLE generated_only (a int GENERATED ALWAYS AS (1) STORED);
COPY generated_only FROM stdin;


\.
SELECT * FROM generated_only;
SELECT count(*) FROM none;
DROP TABLE none, generated_only;
