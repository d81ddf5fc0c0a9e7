-- The hash support functions give PostgreSQL's values: hash partitions are chosen by them.
-- PostgreSQL 15 differs: hashbool, hashbytea, hashdate, hashxid and hashcid came later.
SELECT hashbool(true), hashboolextended(false, 7), hashchar('a'), hashcharextended('a', 7);
SELECT hashint2(2::int2), hashint2extended(-1::int2, 7), hashint4(42), hashint4extended(42, 7);
SELECT hashint8(123456789012345), hashint8extended(-5, 7), hashint8(42) = hashint4(42) AS one_family;
SELECT hashoid(4000000000), hashoidextended(1, 7), hashoidvector('1 2 3'), hashoidvectorextended('1 2 3', 7);
SELECT hashfloat4(1.5), hashfloat4extended(-0.0, 7), hashfloat8(1.5), hashfloat8extended('NaN', 7);
SELECT hash_numeric(1.50), hash_numeric(1.5), hash_numeric(0), hash_numeric_extended(12345678.9, 7);
SELECT hash_numeric('NaN'), hash_numeric_extended('-Infinity', 7);
SELECT hashname('pg_class'), hashnameextended('pg_class', 7);
SELECT hashtext('hello world, how are you'), hashtext(''), hashtextextended('größer', 7);
SELECT hashbpchar('ab  '), hashbpcharextended('ab'::char(5), 7);
SELECT hashbytea('\xdeadbeef'), hashbyteaextended('\x', 7);
SELECT uuid_hash('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), uuid_hash_extended('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 7);
SELECT hashdate('2000-01-01'), hashdateextended('infinity', 7);
SELECT time_hash('23:59:59.999999'), time_hash_extended('24:00', 7);
SELECT timetz_hash('12:00+02'), timetz_hash_extended('12:00+02', 7);
SELECT timestamp_hash('1969-07-20 20:17:40.5'), timestamp_hash_extended('-infinity', 7);
SELECT timestamptz_hash('2024-02-29 12:00+00'), timestamptz_hash_extended('2024-02-29 12:00+00', 7);
SELECT interval_hash('1 mon 2 days'), interval_hash_extended('24:00', 7), interval_hash('1 day') = interval_hash('24:00') AS equal;
SELECT hashtid('(70000,3)'), hashtidextended('(70000,3)', 7), hashxid8('18446744073709551615'), hashxid8extended('1', 7);
SELECT hashxid('700'), hashxidextended('700', 7), hashcid('7'), hashcidextended('7', 7);
SELECT hash_array(ARRAY[1, NULL, 3]), hash_array_extended('{{a,b},{c,d}}'::text[], 7);
SELECT hash_record(ROW(1, 'a'::text)), hash_record_extended(ROW(1, NULL::int), 7);
-- NULL in, NULL out; the seed has no default.
SELECT hashtext(NULL), hashint4extended(NULL, 7), hashint4extended(1, NULL);
SELECT hashint4extended(1);
SELECT mod(hashtext(info), 128) FROM (VALUES ('a'), ('b'), (NULL)) AS t (info);
-- What identifies a value is what counts: 1.0 and 1, -0 and 0, blanks at the end of char(n).
SELECT hash_numeric(1.0) = hash_numeric(1), hashfloat8(-0.0) = hashfloat8(0), hashbpchar('a ') = hashbpchar('a');
