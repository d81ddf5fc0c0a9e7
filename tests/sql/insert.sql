-- INSERT: VALUES, SELECT, defaults, RETURNING, ON CONFLICT.
CREATE TABLE item (id integer PRIMARY KEY, name text NOT NULL, price numeric(10, 2) DEFAULT 0);
INSERT INTO item VALUES (1, 'ant', 1.5);
INSERT INTO item VALUES (2, 'bee', 2.25), (3, 'cat', 100), (4, 'dog', DEFAULT);
INSERT INTO item (name, id) VALUES ('eel', 5);
SELECT * FROM item ORDER BY id;

-- RETURNING.
INSERT INTO item VALUES (6, 'fox', 6) RETURNING *;
INSERT INTO item VALUES (7, 'gnu', 7), (8, 'hen', 8) RETURNING id, upper(name) AS loud, price * 2;
INSERT INTO item VALUES (9, 'ibis', 9) RETURNING id + 1, item.name;
INSERT INTO item VALUES (10, 'jay', 1) RETURNING nope;

-- From a query.
INSERT INTO item SELECT id + 100, name || '!', price FROM item WHERE id <= 3;
INSERT INTO item (id, name) SELECT n, 'n' || n FROM generate_series(200, 203) AS n;
SELECT * FROM item WHERE id >= 100 ORDER BY id;
INSERT INTO item (id, name) SELECT 1;
INSERT INTO item SELECT 300, 'x', 1, 2;
WITH source AS (SELECT 400 AS id, 'with' AS name) INSERT INTO item SELECT * FROM source RETURNING id, name;

-- A statement that fails leaves nothing behind.
INSERT INTO item VALUES (500, 'first'), (1, 'again'), (501, 'third');
SELECT count(*) FROM item WHERE id >= 500;
INSERT INTO item SELECT n, 'x' FROM generate_series(600, 500, -1) AS n UNION ALL SELECT 1, 'x';
SELECT count(*) FROM item WHERE id >= 500;
INSERT INTO item VALUES (700, NULL);
INSERT INTO item (id) VALUES (700);
INSERT INTO item VALUES ('abc', 'x');
INSERT INTO item VALUES (700, 'x', 'abc');
INSERT INTO item VALUES (700, 'x', 123456789);
INSERT INTO item VALUES (3000000000, 'x');
INSERT INTO item VALUES (1.5, 'x') RETURNING id;
INSERT INTO item VALUES (2.5, 'y') RETURNING id;
INSERT INTO item VALUES (true, 'x');
INSERT INTO nope VALUES (1);
INSERT INTO item VALUES (1, 'x', 1, 1);

-- ON CONFLICT.
INSERT INTO item VALUES (1, 'other') ON CONFLICT DO NOTHING;
INSERT INTO item VALUES (1, 'other') ON CONFLICT (id) DO NOTHING RETURNING *;
INSERT INTO item VALUES (1, 'ape', 11) ON CONFLICT (id) DO UPDATE SET name = excluded.name, price = item.price + excluded.price RETURNING *;
INSERT INTO item VALUES (1, 'x', 11) ON CONFLICT (id) DO UPDATE SET price = 0 WHERE item.price > 1000 RETURNING *;
INSERT INTO item VALUES (800, 'new', 8) ON CONFLICT (id) DO UPDATE SET price = 0 RETURNING *;
INSERT INTO item VALUES (1, 'x') ON CONFLICT (name) DO NOTHING;
INSERT INTO item VALUES (1, 'x') ON CONFLICT ON CONSTRAINT item_pkey DO NOTHING;
INSERT INTO item VALUES (1, 'x') ON CONFLICT ON CONSTRAINT nope DO NOTHING;
INSERT INTO item VALUES (801, 'a'), (801, 'b') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
INSERT INTO item VALUES (801, 'a'), (801, 'b') ON CONFLICT (id) DO NOTHING;
SELECT * FROM item WHERE id IN (1, 800, 801) ORDER BY id;

-- Many rows.
CREATE TABLE many (n integer PRIMARY KEY, square bigint);
INSERT INTO many SELECT n, n::bigint * n FROM generate_series(1, 20000) AS n;
SELECT count(*), sum(n), sum(square), min(n), max(n) FROM many;
INSERT INTO many SELECT n, 0 FROM generate_series(19990, 20010) AS n ON CONFLICT DO NOTHING;
SELECT count(*) FROM many;
SELECT * FROM many WHERE n > 19998 ORDER BY n LIMIT 4;
