-- Skewed and correlated data for the report on row estimates (crates/lab, q_error).
CREATE TABLE region (id int PRIMARY KEY, name text, zone text);
INSERT INTO region SELECT i, 'region ' || i, 'zone ' || i % 4 FROM generate_series(1, 20) i;
-- Two thirds live in three regions; a city is in one region.
CREATE TABLE customer (id int PRIMARY KEY, region_id int, city text, segment text, since date, score numeric);
INSERT INTO customer
    SELECT i, r, 'city ' || r * 10 + i % 10, CASE WHEN i % 50 = 0 THEN 'gold' WHEN i % 7 = 0 THEN 'silver' END,
        date '2010-01-01' + i * i % 5000, (i * 37 % 1000) / 10.0
    FROM (SELECT i, CASE i % 6 WHEN 0 THEN 1 WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 3 ELSE 1 + i % 20 END AS r
        FROM generate_series(1, 3000) i) c;
-- A few customers have most of the orders; what is old is closed.
CREATE TABLE orders (id int PRIMARY KEY, customer_id int, placed timestamp, status text, total int, note text);
INSERT INTO orders
    SELECT i, 1 + (i::bigint * i % 3001 * (i % 1009) / 1009)::int % 3000, timestamp '2020-01-01' + i * interval '1 hour',
        CASE WHEN i < 18000 THEN 'closed' WHEN i % 3 = 0 THEN 'open' ELSE 'sent' END,
        (i * 7919 % 1000) * (i * 104729 % 1000) / 100, CASE WHEN i % 9 = 0 THEN NULL ELSE 'note ' || i % 700 END
    FROM generate_series(1, 20000) i;
CREATE INDEX ON orders (customer_id);
CREATE INDEX ON orders (placed);
CREATE TABLE line (order_id int, product int, quantity int, price int, tags int[], PRIMARY KEY (order_id, product));
INSERT INTO line
    SELECT o, (o * 31 + n * n * 17) % 500 + 1 + n * 500 * (o % 2), 1 + o * n % 12, (o * 31 + n * n * 17) % 500 * 3, ARRAY[o % 3, n, o % 40]
    FROM generate_series(1, 20000) o, generate_series(0, 1) n;
CREATE INDEX ON line (product);
ANALYZE;
