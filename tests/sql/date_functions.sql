-- Arithmetic with dates and times, EXTRACT, date_trunc, to_char and friends.
SELECT date '2026-01-31' + 1, date '2026-01-31' - 31, date '2026-03-01' - date '2026-02-01', date '2026-01-31' + time '12:00', date '2026-01-31' + interval '1 month';
SELECT timestamp '2026-01-31 12:00' + interval '1 month', timestamp '2024-02-29' + interval '1 year', timestamp '2026-03-31' - interval '1 month', timestamp '2026-01-31' + interval '1 day 2 hours';
SELECT timestamp '2026-01-31 12:00' - timestamp '2026-01-01', timestamp '2026-01-31' - timestamp '2026-02-01 06:00', time '12:00' + interval '13 hours', time '12:00' - time '13:30', time '01:00' - interval '2 hours';
SELECT date '5874897-12-31' + 1;
SELECT timestamp '294276-12-31' + interval '1 year';
SELECT date 'infinity' - 1, date 'infinity' - date '2026-01-01';
SELECT timestamptz '2026-03-08 00:00 America/New_York' + interval '1 day', timestamptz '2026-03-08 00:00 America/New_York' + interval '24 hours';

SELECT extract(year FROM date '2026-01-31'), extract(month FROM date '2026-01-31'), extract(day FROM date '2026-01-31'), extract(dow FROM date '2026-01-31'), extract(isodow FROM date '2026-02-01'), extract(doy FROM date '2026-12-31'), extract(week FROM date '2027-01-01'), extract(isoyear FROM date '2027-01-01'), extract(quarter FROM date '2026-05-01');
SELECT extract(century FROM date '2001-01-01'), extract(decade FROM date '1999-01-01'), extract(millennium FROM date '2001-01-01'), extract(julian FROM date '2026-01-31'), extract(epoch FROM date '2026-01-31'), extract(year FROM date '0044-03-15 BC');
SELECT extract(hour FROM timestamp '2026-01-31 12:34:56.789'), extract(minute FROM time '12:34'), extract(second FROM timestamp '2026-01-31 12:34:56.789'), extract(milliseconds FROM time '00:00:56.789'), extract(microseconds FROM time '00:00:56.789'), extract(epoch FROM timestamptz '2026-01-31 12:34:56.789+00');
SELECT extract(timezone FROM timestamptz '2026-01-31 12:00+05'), extract(epoch FROM interval '1 month 1 day 1 hour'), extract(day FROM interval '40 days 5 hours'), extract(hour FROM interval '40 hours'), date_part('year', timestamp '2026-01-31');
SELECT extract(hour FROM date '2026-01-31');
SELECT extract(nope FROM timestamp '2026-01-31');
SELECT extract(year FROM date 'infinity'), extract(day FROM date 'infinity'), pg_typeof(extract(year FROM date '2026-01-31')), pg_typeof(date_part('year', date '2026-01-31'));

SELECT date_trunc('month', timestamp '2026-05-17 12:34:56'), date_trunc('week', timestamp '2026-01-01'), date_trunc('quarter', date '2026-05-17'), date_trunc('century', timestamp '2026-01-01'), date_trunc('second', timestamp '2026-01-01 00:00:01.999'), date_trunc('hour', interval '2 days 3:45:00');
SELECT date_trunc('day', timestamptz '2026-01-31 23:00+00', 'Asia/Tokyo');
SELECT date_trunc('nope', timestamp '2026-01-01');
SELECT date_bin('15 minutes', timestamp '2026-01-31 12:34:56', timestamp '2026-01-01'), date_bin('1 month', timestamp '2026-01-31', timestamp '2026-01-01');
SELECT age(timestamp '2026-03-01', timestamp '2024-02-29'), age(date '2026-01-31', date '2026-02-28'), justify_days(interval '35 days'), justify_hours(interval '27 hours'), justify_interval(interval '1 month -1 hour');
SELECT make_date(2026, 1, 31), make_time(12, 34, 56.7), make_timestamp(2026, 1, 31, 12, 34, 56.789), make_interval(days => 5, hours => 3), make_timestamptz(2026, 1, 31, 12, 0, 0, 'Asia/Tokyo');
SELECT make_date(2026, 2, 30);
SELECT make_time(25, 0, 0);

SELECT to_char(timestamp '2026-01-31 15:04:05.678', 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(timestamp '2026-01-31 15:04:05', 'Dy DD Mon YYYY HH12:MI AM'), to_char(timestamp '2026-01-31', 'Day, FMMonth FMDD"th" IYYY-IW-ID Q DDD J'), to_char(date '2026-01-31', 'DD.MM.YY');
SELECT to_char(timestamptz '2026-01-31 12:00+00', 'HH24:MI TZ OF'), to_char(interval '3 days 04:05:06', 'DD HH24:MI:SS'), to_char(time '12:34', 'HH12:MI');
SELECT to_date('31 Jan 2026', 'DD Mon YYYY'), to_date('20260131', 'YYYYMMDD'), to_timestamp('2026-01-31 12:34', 'YYYY-MM-DD HH24:MI'), to_timestamp(1769817600), to_timestamp(0.5);
SELECT to_date('2026-02-30', 'YYYY-MM-DD');
SELECT to_date('abc', 'YYYY');

SELECT (date '2026-01-01', date '2026-02-01') OVERLAPS (date '2026-01-15', date '2026-03-01'), (date '2026-01-01', interval '1 month') OVERLAPS (date '2026-03-01', interval '1 day');
SELECT g::date FROM generate_series(timestamp '2026-01-30', timestamp '2026-02-02', interval '1 day') AS g;
SELECT g FROM generate_series(timestamp '2026-01-31', timestamp '2026-05-31', interval '1 month') AS g;
SELECT generate_series(timestamp '2026-01-01', timestamp '2026-01-02', interval '0');
SELECT now() = transaction_timestamp(), now() = current_timestamp, current_date = now()::date, clock_timestamp() >= now(), statement_timestamp() >= now(), localtimestamp = now()::timestamp, pg_typeof(now()), pg_typeof(current_time), pg_typeof(localtime);
BEGIN;
SELECT now() = now() AS same_statement;
SELECT count(DISTINCT n) FROM (SELECT now() AS n UNION ALL SELECT statement_timestamp() - (statement_timestamp() - now())) AS q;
COMMIT;
SELECT date '2026-01-31' > '2026-01-30', date '2026-01-31' + '1 day'::interval > timestamp '2026-01-31 23:00';
SELECT 'now'::timestamp - now()::timestamp < interval '1 second', 'today'::date = current_date, 'tomorrow'::date - 'yesterday'::date;
SELECT isfinite(date 'infinity'), date_part('epoch', 'infinity'::timestamp), greatest(date '2026-01-01', date 'infinity');
