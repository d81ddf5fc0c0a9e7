-- date, time, timestamp, timestamptz: input, output, limits.
-- PostgreSQL 15 differs: hints spell DateStyle in lower case
SELECT '2026-01-31'::date, 'January 8, 1999'::date, '1/8/1999'::date, '19990108'::date, '1999.008'::date, '08-Jan-99'::date, 'Jan-08-1999'::date;
SELECT '2024-02-29'::date, '4713-11-24 BC'::date, '5874897-12-31'::date, 'infinity'::date, '-infinity'::date, 'epoch'::date;
SELECT '2026-02-29'::date;
SELECT '2026-13-01'::date;
SELECT '2026-00-01'::date;
SELECT '5874898-01-01'::date;
SELECT '4714-01-01 BC'::date;
SELECT 'tomorrowish'::date;
SELECT ''::date;
SELECT '2026-01-01 25:00'::timestamp;
SELECT '12:34:56.789'::time, '12:34'::time, '24:00'::time, '3:04 PM'::time, '040506'::time, '23:59:60'::time, '00:00:00.0000005'::time, 'allballs'::time;
SELECT '24:01'::time;
SELECT '12:61'::time;
SELECT '12:34:56.789'::time(1), '12:34:56.95'::time(1), '12:00:00+02'::timetz, '12:00'::time with time zone;
SELECT '2026-01-31 12:34:56.123456'::timestamp, '2026-01-31T12:34'::timestamp, '2026-01-31'::timestamp, '20260131T123456'::timestamp, '2026-01-31 12:34:56.1234567'::timestamp;
SELECT '2026-01-31 12:34:56.789'::timestamp(0), '2026-01-31 12:34:56.789'::timestamp(2), '2026-12-31 23:59:59.9'::timestamp(0);
SELECT '294276-12-31 23:59:59.999999'::timestamp, '4713-11-24 00:00:00 BC'::timestamp, 'infinity'::timestamp;
SELECT '294277-01-01'::timestamp;
SELECT '2026-01-31 12:00+02'::timestamptz, '2026-01-31 12:00 Europe/Berlin'::timestamptz, '2026-07-31 12:00 Europe/Berlin'::timestamptz, '2026-01-31 12:00 EST'::timestamptz, '2026-01-31 12:00Z'::timestamptz, '2026-01-31 12:00'::timestamptz;
SELECT '2026-01-31 12:00 Nowhere/City'::timestamptz;
SELECT '2026-01-31 12:00+02'::timestamp;
SELECT date '2026-01-31', time '12:00', timestamp '2026-01-31 01:02:03', timestamptz '2026-01-31 01:02:03+00';

-- Zones.
SET TimeZone = 'America/New_York';
SELECT '2026-01-31 12:00+00'::timestamptz, '2026-07-31 12:00+00'::timestamptz, '2026-03-08 02:30'::timestamptz, '2026-11-01 01:30'::timestamptz;
SELECT '2026-01-31 12:00'::timestamp::timestamptz, '2026-01-31 12:00+00'::timestamptz::timestamp, '2026-01-31 23:00+00'::timestamptz::date;
SELECT timestamp '2026-01-31 12:00' AT TIME ZONE 'Asia/Tokyo', timestamptz '2026-01-31 12:00+00' AT TIME ZONE 'Asia/Tokyo', timestamptz '2026-01-31 12:00+00' AT TIME ZONE '+03:30', timestamptz '2026-01-31 12:00+00' AT TIME ZONE interval '-2 hours';
SET TimeZone = 'Asia/Kolkata';
SELECT '2026-01-31 12:00+00'::timestamptz, '1890-01-01 00:00+00'::timestamptz;
SET TimeZone = '-5';
SHOW TimeZone;
SELECT '2026-01-31 12:00+00'::timestamptz;
SET TimeZone = 'Nowhere/City';
SET TimeZone = 'UTC';

-- Styles.
SET DateStyle = 'SQL, DMY';
SELECT '2026-01-31'::date, '2026-01-31 12:34:56'::timestamp, '2026-01-31 12:34:56+00'::timestamptz, '8/1/1999'::date;
SET DateStyle = 'German';
SELECT '2026-01-31'::date, '2026-01-31 12:34:56.5'::timestamp;
SET DateStyle = 'Postgres, MDY';
SELECT '2026-01-31'::date, '2026-01-31 12:34:56'::timestamp, '2026-01-31 12:34:56+00'::timestamptz;
SET DateStyle = 'ISO, YMD';
SELECT '01/02/03'::date, '13/01/1999'::date;
SET DateStyle = 'Nonsense';
SET DateStyle = 'ISO, MDY';
SELECT '31/01/2026'::date;

-- Comparison and order.
SELECT '2026-01-31'::date = '2026-01-31 00:00'::timestamp, '2026-01-31'::date < '2026-01-31 00:01'::timestamp, '2026-01-31 00:00'::timestamp = '2026-01-31 00:00+00'::timestamptz, date 'infinity' > date '5874897-12-31';
SELECT d FROM (VALUES ('2026-01-31'::date), ('0044-03-15 BC'), ('infinity'), (NULL), ('-infinity'), ('1970-01-01')) AS v (d) ORDER BY d;
CREATE TABLE event (id integer PRIMARY KEY, d date, t time, ts timestamp(3), tz timestamptz);
INSERT INTO event VALUES (1, '2026-01-31', '12:00', '2026-01-31 12:00:00.12345', '2026-01-31 12:00+05'), (2, NULL, NULL, NULL, NULL), (3, 'infinity', '23:59:59.999999', '-infinity', 'epoch');
INSERT INTO event VALUES (4, 'yesterdayish', NULL, NULL, NULL);
SELECT * FROM event ORDER BY id;
SELECT id FROM event WHERE d > '2026-01-01' ORDER BY id;
SELECT id FROM event WHERE ts BETWEEN '2026-01-31' AND '2026-02-01';
SELECT id, isfinite(d), isfinite(ts) FROM event ORDER BY id;
