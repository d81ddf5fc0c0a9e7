SELECT * FROM customer WHERE region_id = 1
SELECT * FROM customer WHERE region_id = 17
SELECT * FROM customer WHERE region_id IN (1, 2, 17)
SELECT * FROM customer WHERE region_id = 1 AND city = 'city 13'
SELECT * FROM customer WHERE segment IS NULL
SELECT * FROM customer WHERE segment = 'gold' AND region_id = 3
SELECT * FROM customer WHERE city LIKE 'city 1%'
SELECT * FROM customer WHERE city ~ '7$'
SELECT * FROM customer WHERE since BETWEEN '2012-01-01' AND '2013-01-01'
SELECT * FROM customer WHERE since < '2011-01-01' OR score > 90
SELECT * FROM customer WHERE score BETWEEN 10 AND 12.5
SELECT * FROM orders WHERE total < 100
SELECT * FROM orders WHERE total > 9000
SELECT * FROM orders WHERE placed >= '2022-04-01'
SELECT * FROM orders WHERE placed >= '2022-04-01' AND status = 'closed'
SELECT * FROM orders WHERE status <> 'closed' AND total BETWEEN 10 AND 500
SELECT * FROM orders WHERE note LIKE 'note 12%' AND status = 'open'
SELECT * FROM orders WHERE note IS NULL OR note = 'note 5'
SELECT * FROM orders WHERE customer_id = 1
SELECT * FROM orders WHERE customer_id < 50
SELECT * FROM orders WHERE (customer_id, id) > (2900, 100)
SELECT * FROM line WHERE product = 77
SELECT * FROM line WHERE product BETWEEN 100 AND 140 AND quantity > 6
SELECT * FROM line WHERE quantity NOT IN (1, 2, 3)
SELECT * FROM customer c JOIN region r ON r.id = c.region_id
SELECT * FROM customer c JOIN region r ON r.id = c.region_id WHERE r.zone = 'zone 1'
SELECT * FROM customer c JOIN orders o ON o.customer_id = c.id
SELECT * FROM customer c JOIN orders o ON o.customer_id = c.id WHERE c.region_id = 1
SELECT * FROM customer c JOIN orders o ON o.customer_id = c.id WHERE c.segment = 'gold' AND o.status = 'open'
SELECT * FROM customer c LEFT JOIN orders o ON o.customer_id = c.id AND o.total > 5000
SELECT * FROM orders o JOIN line l ON l.order_id = o.id WHERE o.placed < '2020-02-01'
SELECT * FROM orders o JOIN line l ON l.order_id = o.id WHERE l.product = 33
SELECT * FROM orders o JOIN line l ON l.order_id = o.id AND l.price < o.total
SELECT * FROM customer a JOIN customer b ON a.city = b.city AND a.id < b.id
SELECT * FROM customer a JOIN customer b ON a.since = b.since
SELECT * FROM customer c WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id)
SELECT * FROM customer c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id)
SELECT * FROM customer c WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.status = 'open')
SELECT * FROM region WHERE id IN (SELECT region_id FROM customer WHERE segment = 'gold')
SELECT * FROM customer c JOIN orders o ON o.customer_id = c.id JOIN line l ON l.order_id = o.id WHERE c.region_id = 2 AND l.quantity = 5
SELECT * FROM region r JOIN customer c ON c.region_id = r.id JOIN orders o ON o.customer_id = c.id WHERE r.name = 'region 1' AND o.total > 5000
SELECT * FROM region r JOIN customer c ON c.region_id = r.id JOIN orders o ON o.customer_id = c.id JOIN line l ON l.order_id = o.id WHERE r.zone = 'zone 2' AND o.status = 'sent' AND l.product < 100
SELECT region_id, count(*) FROM customer GROUP BY region_id
SELECT region_id, city, count(*) FROM customer GROUP BY region_id, city
SELECT city FROM customer WHERE region_id = 5 GROUP BY city
SELECT c.region_id, o.status, sum(o.total) FROM customer c JOIN orders o ON o.customer_id = c.id GROUP BY 1, 2
SELECT customer_id, count(*) FROM orders WHERE status = 'open' GROUP BY customer_id
SELECT product, sum(quantity) FROM line WHERE price > 1000 GROUP BY product
SELECT * FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) s JOIN customer c ON c.id = s.customer_id
SELECT * FROM (SELECT region_id, city FROM customer OFFSET 0) s WHERE region_id = 3
WITH w AS MATERIALIZED (SELECT * FROM orders WHERE total > 4000) SELECT * FROM w WHERE status = 'closed'
SELECT * FROM generate_series(1, 100) g JOIN customer c ON c.id = g
SELECT * FROM line WHERE tags @> ARRAY[5]
SELECT * FROM line WHERE tags && ARRAY[38, 39]
