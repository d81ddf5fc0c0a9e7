-- PostgreSQL 15 differs: it has no infinite intervals
-- Frames that reach to infinity.
SELECT x, d, sum(x) OVER (ORDER BY d RANGE BETWEEN INTERVAL 'infinity' PRECEDING
    AND INTERVAL 'infinity' FOLLOWING)
  FROM (VALUES (1, timestamp '2020-01-01'), (2, 'infinity'), (3, '-infinity')) v(x, d) ORDER BY d;
SELECT x, d, sum(x) OVER (ORDER BY d DESC RANGE BETWEEN INTERVAL '1 day' PRECEDING
    AND INTERVAL 'infinity' FOLLOWING)
  FROM (VALUES (1, interval '1 day'), (2, 'infinity'), (3, '-infinity')) v(x, d) ORDER BY d;
SELECT x, d, sum(x) OVER (ORDER BY d RANGE BETWEEN INTERVAL 'infinity' FOLLOWING
    AND INTERVAL 'infinity' FOLLOWING)
  FROM (VALUES (1, timestamptz '2020-01-01 00:00+00'), (2, 'infinity'), (3, '-infinity')) v(x, d)
 ORDER BY x;
SELECT x, sum(x) OVER (ORDER BY d RANGE BETWEEN INTERVAL 'infinity' PRECEDING
    AND INTERVAL 'infinity' PRECEDING)
  FROM (VALUES (1, date '2020-01-01'), (2, 'infinity'), (3, '-infinity')) v(x, d) ORDER BY x;
