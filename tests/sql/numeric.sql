-- numeric: scale, rounding, limits, NaN and infinities.
SELECT 1.10, 1.1 + 1.90, 0.1 + 0.2, 1.0 / 3, 2.0 / 3.0, 10 / 4.0, 1 / 3::numeric;
SELECT 1.1 * 1.1, 100 * 0.01, 1e3, 1.5e-5, 1E+2, .5, 5.;
SELECT 1e20 / 3, 1 / 1e20, 12345678901234567890.123456789 * 987654321.987654321;
SELECT 7.5 % 2, -7.5 % 2, 7.5 % -2, mod(7.5, 0.7);
SELECT 1.0 / 0;
SELECT 1.0 % 0;
SELECT 'NaN'::numeric, 'Infinity'::numeric, '-inf'::numeric, 'nan'::numeric = 'NaN', 'NaN'::numeric > 'Infinity';
SELECT 'Infinity'::numeric + 1, 'Infinity'::numeric - 'Infinity', 'Infinity'::numeric * -2, 1 / 'Infinity'::numeric, 'Infinity'::numeric / 0;
SELECT 'Infinity'::numeric / 'Infinity', 0 * 'Infinity'::numeric, - 'Infinity'::numeric, abs('-Infinity'::numeric);

SELECT 123.456::numeric(5, 2), 123.455::numeric(5, 2), -123.455::numeric(5, 2), 0.005::numeric(3, 2), 99.994::numeric(4, 2);
SELECT 99.995::numeric(4, 2);
SELECT 1000::numeric(3);
SELECT 12345::numeric(3, -2), 0.000123::numeric(3, 5), 0.12::numeric(3, 5);
SELECT 'NaN'::numeric(3, 1), 'Infinity'::numeric(3, 1);
SELECT 1::numeric(0);
SELECT 1::numeric(1001);
SELECT 1::numeric(5, 2000);
SELECT ''::numeric;
SELECT 'abc'::numeric;
SELECT '1.2.3'::numeric;
SELECT '1e'::numeric;
SELECT '1e200000'::numeric;

SELECT round(2.5), round(-2.5), round(3.5), round(1234.5678, 2), round(1234.5678, -2), round(0.5), round(-0.4);
SELECT trunc(2.9), trunc(-2.9), trunc(1234.5678, 2), trunc(1234.5678, -2), ceil(2.1), ceil(-2.1), floor(2.9), floor(-2.1);
SELECT sign(-1.5), sign(0.0), abs(-1.50), -(-1.5), + 1.5, @ -1.5;
SELECT sqrt(2.0), sqrt(4.0), sqrt(0.0), sqrt(123456789.0);
SELECT sqrt(-1.0);
SELECT power(0.0, -1);
SELECT power(-2.0, 0.5);
SELECT exp(1.0), exp(0.0), ln(2.0), ln(10.0), log(100.0), log(2.0, 64.0), log10(1000.0);
SELECT ln(0.0);
SELECT ln(-1.0);
SELECT scale(1.230), min_scale(1.230), trim_scale(1.230), div(7.5, 2), gcd(12.0, 18.0), lcm(4.0, 6.0);
SELECT factorial(25), 1.5::integer, 2.5::bigint, 123.9::smallint;
SELECT 1e30::bigint;
SELECT 40000.5::smallint;

SELECT 1.0 = 1.00, 1.0 < 1.01, 1.50::text, 1.500 = 1.5, 0.0 = -0.0, 1.0 IS DISTINCT FROM 1.00;
SELECT 1.5 + 1, pg_typeof(1.5 + 1), pg_typeof(1.5 + 1::float8), pg_typeof(1.5::numeric + 1::real), 1.5 + 1.5::float8;
SELECT 0.1::float8::numeric, 1e15::float8::numeric, 1.1::real::numeric, 'Infinity'::float8::numeric;
SELECT max(n), min(n), sum(n), avg(n) FROM (VALUES (1.5), (-2.25), (1e10)) AS v (n);
SELECT n FROM (VALUES ('NaN'::numeric), (1), ('-Infinity'), ('Infinity'), (NULL), (-1)) AS v (n) ORDER BY n;
SELECT width_bucket(5.35, 0.024, 10.06, 5), to_char(1234.5, '9,999.99'), to_char(-0.5, 'FM0.00'), to_number('1,234.5', '9,999.9');

CREATE TABLE money_like (id integer PRIMARY KEY, amount numeric(12, 2), free numeric);
INSERT INTO money_like VALUES (1, 12.345, 12.345), (2, -0.001, -0.001), (3, 9999999999.99, 1e40), (4, NULL, NULL);
INSERT INTO money_like VALUES (5, 99999999999.99, 0);
SELECT * FROM money_like ORDER BY id;
SELECT sum(amount), sum(free), avg(amount) FROM money_like;
UPDATE money_like SET amount = amount / 7, free = free * 1.0000 WHERE id = 1 RETURNING *;
SELECT id FROM money_like WHERE amount = 0;
SELECT id FROM money_like WHERE free > 1e39 ORDER BY id;
SELECT 123456789012345678901234567890.123456789 + 0.000000001, 99999999999999999999 + 1, 0.00000000001 * 0.00000000001;
