-- interval: input, output styles, arithmetic.
-- PostgreSQL 15 differs: it has no infinite intervals
SELECT '1 year 2 months 3 days 04:05:06.7'::interval, '1-2'::interval, '3 4:05:06'::interval, 'P1Y2M3DT4H5M6S'::interval, 'P0001-02-03T04:05:06'::interval, '1.5 days'::interval, '1 week'::interval, '-1 day +2 hours'::interval, '1 day ago'::interval;
SELECT '1.5 years'::interval, '0.5 months'::interval, '1 mon -1 sec'::interval, '90 minutes'::interval, '1 century'::interval, '2 decades'::interval, '1e3 seconds'::interval, '100 microseconds'::interval, 'infinity'::interval, '-infinity'::interval;
SELECT interval '1' year, interval '1-2' year to month, interval '10' hour, interval '1:30' minute to second, interval '5.678' second(1), '1 day 2:03'::interval(0), interval '1 12:34' day to minute;
SELECT ''::interval;
SELECT '1 fortnight'::interval;
SELECT 'abc'::interval;
SELECT '1 day 1 day'::interval;
SELECT '200000000 years'::interval;
SELECT '10000000000000000000 seconds'::interval;
SELECT '-0.5 seconds'::interval, '00:00:00'::interval, '-1 year'::interval, '24:00'::interval, '1 day -25:00'::interval;

SET IntervalStyle = 'sql_standard';
SELECT '1 year 2 months 3 days 04:05:06'::interval, '-1 day'::interval, '0'::interval, '1-2'::interval, '1 day -2 hours'::interval;
SET IntervalStyle = 'postgres_verbose';
SELECT '1 year 2 months 3 days 04:05:06.7'::interval, '-1 day'::interval, '0'::interval;
SET IntervalStyle = 'iso_8601';
SELECT '1 year 2 months 3 days 04:05:06.7'::interval, '-1 day'::interval, '0'::interval, '-1.5 seconds'::interval;
SET IntervalStyle = 'nonsense';
RESET IntervalStyle;

SELECT interval '1 day' + interval '2 hours', interval '1 month' - interval '1 day', interval '1 day' * 2.5, 3 * interval '1 month', interval '1 month' / 3, interval '7 days' / 2, - interval '1 day 1 hour';
SELECT interval '1 month' * 1.5, interval '1 year' / 7, interval '10 seconds' * 0.1;
SELECT interval '1 day' / 0;
SELECT interval '100000000 years' * 10;
SELECT interval 'infinity' - interval 'infinity';
SELECT interval 'infinity' + interval '1 day', interval '-infinity' * -1, date '2026-01-01' + interval 'infinity';

-- Comparison takes a month as 30 days and a day as 24 hours.
SELECT interval '1 month' = interval '30 days', interval '1 day' = interval '24 hours', interval '1 month' > interval '29 days', interval '1 year' = interval '360 days', interval '-1 day' < interval '0';
SELECT i FROM (VALUES (interval '1 month'), ('29 days'), ('31 days'), ('-1 year'), (NULL), ('720 hours 1 second'), ('infinity')) AS v (i) ORDER BY i;
SELECT count(DISTINCT i) FROM (VALUES (interval '1 month'), ('30 days'), ('720 hours')) AS v (i);
SELECT extract(month FROM interval '14 months'), extract(year FROM interval '14 months'), extract(second FROM interval '61.5 seconds'), extract(epoch FROM interval '1 year'), extract(decade FROM interval '25 years'), extract(week FROM interval '20 days');
SELECT interval '1 day'::text, '1 day'::interval::time, time '04:05'::interval, interval '1 day 04:05:06'::time;
SELECT sum(i), min(i), max(i), avg(i) FROM (VALUES (interval '1 hour'), ('2 hours'), ('1 day')) AS v (i);
CREATE TABLE spans (i interval PRIMARY KEY, j interval(0));
INSERT INTO spans VALUES ('1 day', '1.6 seconds'), ('2 hours', '0.4 seconds');
INSERT INTO spans VALUES ('24 hours', NULL);
INSERT INTO spans VALUES ('1 lifetime', NULL);
SELECT * FROM spans ORDER BY i;
SELECT * FROM spans WHERE i > '3 hours';
