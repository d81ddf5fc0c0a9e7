-- Window functions.
CREATE TABLE w (id integer, grp text, v integer);
INSERT INTO w VALUES (1, 'a', 10), (2, 'a', 20), (3, 'a', 20), (4, 'b', 5), (5, 'b', NULL), (6, NULL, 7);
SELECT id, row_number() OVER (ORDER BY id DESC) FROM w ORDER BY id;
SELECT id, grp, row_number() OVER (PARTITION BY grp ORDER BY id), rank() OVER (PARTITION BY grp ORDER BY v), dense_rank() OVER (PARTITION BY grp ORDER BY v) FROM w ORDER BY id;
SELECT id, sum(v) OVER (ORDER BY id), sum(v) OVER (PARTITION BY grp), count(*) OVER () FROM w ORDER BY id;
SELECT id, lag(v) OVER (ORDER BY id), lead(v, 2, -1) OVER (ORDER BY id), first_value(v) OVER (ORDER BY id), last_value(v) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, sum(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM w ORDER BY id;
SELECT id, ntile(3) OVER (ORDER BY id), percent_rank() OVER (ORDER BY id), cume_dist() OVER (ORDER BY id) FROM w ORDER BY id;
SELECT grp, sum(v), rank() OVER (ORDER BY sum(v) DESC NULLS LAST) FROM w GROUP BY grp ORDER BY grp;
SELECT id, avg(v) OVER win FROM w WINDOW win AS (PARTITION BY grp) ORDER BY id;
SELECT id FROM w WHERE row_number() OVER () = 1;
SELECT row_number() FROM w;
SELECT sum(v) OVER nope FROM w;

-- GROUP BY takes none, by its number either.
SELECT rank() OVER (ORDER BY 1), count(*) FROM generate_series(1, 3) g GROUP BY 1;
SELECT count(*) FROM generate_series(1, 3) g GROUP BY rank() OVER ();
