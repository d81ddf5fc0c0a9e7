-- A LIMIT that is a parameter: how many rows it asks for decides how they are read.
CREATE TABLE items (id int PRIMARY KEY, kind int, at int);
INSERT INTO items SELECT i, i % 10, i * 7919 % 50000 FROM generate_series(1, 50000) AS i;
CREATE INDEX items_at ON items (at);
CREATE INDEX items_kind ON items (kind);
ANALYZE items;

PREPARE first_ones(int, bigint) AS SELECT id FROM items WHERE kind = $1 ORDER BY at LIMIT $2;
EXPLAIN (COSTS OFF) EXECUTE first_ones(1, 1);
EXPLAIN (COSTS OFF) EXECUTE first_ones(1, 4800);
EXPLAIN (COSTS OFF) EXECUTE first_ones(1, 2);
EXECUTE first_ones(1, 3);
EXECUTE first_ones(1, 0);
EXECUTE first_ones(1, -1);
SELECT count(*) FROM (SELECT 1 FROM items WHERE kind = 2 ORDER BY at LIMIT 4800) AS most;

-- OFFSET is read past.
PREPARE page(int, int) AS SELECT id FROM items WHERE kind = 3 ORDER BY at LIMIT $1 OFFSET $2;
EXPLAIN (COSTS OFF) EXECUTE page(5, 10);
EXPLAIN (COSTS OFF) EXECUTE page(5, 4800);
EXECUTE page(3, 2);
EXECUTE page(3, 4998);
EXECUTE page(NULL, 4997);
EXECUTE page(1, NULL);
EXECUTE page(1, -1);

-- The plan for values that are not known serves all of them.
SET plan_cache_mode = force_generic_plan;
EXECUTE first_ones(1, 3);
EXECUTE page(3, 2);
RESET plan_cache_mode;

DROP TABLE items;
