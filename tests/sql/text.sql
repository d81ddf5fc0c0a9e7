-- text, varchar, char: literals, functions, patterns.
SELECT 'it''s', E'tab\tnew\\line', E'\x41\u00e9\U0001F600', U&'\0061\+000062', $$dollar 'quoted'$$, $tag$a $$ b$tag$;
SELECT 'one'
    'two', 'a' || 'b' || 1 || true, 'x' || NULL, 1 || 'x';
SELECT length('häß'), char_length('日本語'), octet_length('日本語'), bit_length('abc'), length(''), length('a  ');
SELECT upper('abc'), lower('ABC'), initcap('hello wORLD foo-bar'), reverse('abc'), repeat('ab', 3), repeat('x', -1);
SELECT substring('abcdef' FROM 2 FOR 3), substring('abcdef', 3), substring('abcdef' FROM 0 FOR 3), substring('abcdef' FROM -2), substr('abc', 2, 100), left('abcdef', 2), left('abcdef', -2), right('abcdef', 2), right('abcdef', -2);
SELECT substring('abc' FROM 1 FOR -1);
SELECT position('c' IN 'abcabc'), strpos('abc', 'z'), position('' IN 'abc'), overlay('abcdef' PLACING 'XX' FROM 3 FOR 2);
SELECT trim('  x  ') || '|', ltrim('  x  ') || '|', rtrim('  x  ') || '|', trim(BOTH 'xy' FROM 'xyaxy'), trim(LEADING 'x' FROM 'xxa'), btrim('--a--', '-');
SELECT lpad('7', 3, '0'), rpad('7', 3, 'ab'), lpad('abcdef', 3), rpad('a', 0) || '|', lpad('x', 5, '');
SELECT replace('aXbXc', 'X', '--'), translate('12345', '143', 'ax'), split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), split_part('a', ',', 5) || '|';
SELECT split_part('a,b', ',', 0);
SELECT concat('a', NULL, 1, true), concat_ws('-', 'a', NULL, 'b'), concat_ws(NULL, 'a', 'b'), concat();
SELECT chr(65), chr(8364), ascii('A'), ascii('€'), ascii('');
SELECT chr(0);
SELECT md5('abc'), encode('abc', 'hex'), encode('abc', 'base64'), decode('616263', 'hex'), to_hex(10);
SELECT quote_ident('a b'), quote_ident('abc'), quote_ident('select'), quote_literal('it''s'), quote_literal(E'a\\b'), quote_nullable(NULL);
SELECT format('%s is %I and %L, %s%%', 'x', 'a b', 'it''s', 5), format('%2$s %1$s', 'a', 'b'), format('|%5s|%-5s|', 'a', 'b'), format('%s', NULL), format('%L', NULL);
SELECT format('%s');
SELECT format('%d', 1);
SELECT starts_with('abc', 'ab'), 'abc' ^@ 'b', string_to_array('a,b,,c', ','), string_to_array('abc', NULL), array_to_string(ARRAY['a', NULL, 'b'], ',', '*');
SELECT regexp_replace('foobar', 'o+', 'X'), regexp_replace('aaa', 'a', 'b', 'g'), regexp_replace('abc', '(b)(c)', '\2\1'), regexp_match('foobar', '(o+)(b)'), regexp_count('abcabc', 'b');
SELECT regexp_matches('a1b2', '[a-z]\d', 'g');
SELECT regexp_split_to_array('a1b22c', '\d+'), substring('foobar' FROM 'o(.)b'), 'abc' ~ '^a', 'ABC' ~* 'b', 'abc' !~ 'x', 'abc' !~* 'B';
SELECT 'abc' ~ '(';
SELECT string_to_table('a-b-c', '-');

-- LIKE.
SELECT 'abc' LIKE 'abc', 'abc' LIKE 'a%', 'abc' LIKE '_b_', 'abc' LIKE 'c', 'abc' LIKE '%', '' LIKE '', 'ABC' ILIKE 'a%', 'abc' NOT LIKE 'a%';
SELECT 'a%c' LIKE 'a\%c', 'abc' LIKE 'a\%c', 'a%c' LIKE 'a!%c' ESCAPE '!', 'a\c' LIKE 'a\\c', 'häß' LIKE 'h_ß';
SELECT 'abc' LIKE 'abc\';
SELECT 'abc' LIKE 'a' ESCAPE 'xx';
SELECT 'abc' SIMILAR TO 'a(b|x)c', 'abc' SIMILAR TO '%b%', 'abc' SIMILAR TO 'b';

-- Order and comparison are by bytes in the C locale.
SELECT 'a' < 'b', 'B' < 'a', 'a' < 'aa', '' < 'a', 'ä' > 'z', 'abc' = 'abc ';
SELECT t FROM (VALUES ('b'), ('B'), ('a'), ('ä'), ('_'), ('1'), (''), (NULL)) AS v (t) ORDER BY t;

-- varchar(n) and char(n).
SELECT 'abcdef'::varchar(3), 'ab'::char(4) || '|', length('ab'::char(4)), octet_length('ab'::char(4)), 'ab'::char(4) = 'ab', 'ab  '::char(4)::text || '|';
SELECT 'abc'::char, 'abc'::varchar, cast('abc' AS character varying (2)), ''::char(2) || '|';
SELECT 'ab '::varchar(5) = 'ab', 'ab '::char(5) = 'ab'::char(3), 'x'::char(2) LIKE 'x', 'x'::char(2) LIKE 'x ';
CREATE TABLE texts (v varchar(4), c char(4), t text, n name);
INSERT INTO texts VALUES ('abcd', 'ab', 'ab', 'a name');
INSERT INTO texts VALUES ('abcde', 'x', 'x', 'x');
INSERT INTO texts VALUES ('x', 'abcde', 'x', 'x');
INSERT INTO texts VALUES ('abcd    ', 'abcd    ', 'x  ', 'y');
INSERT INTO texts VALUES ('äöüß', 'äöüß', 'äöüß', 'äöüß');
SELECT v || '|', c || '|', t || '|', n, length(v), length(c), octet_length(c) FROM texts ORDER BY n;
SELECT count(*) FROM texts WHERE c = 'ab' AND c = 'ab    ';
SELECT count(*) FROM texts WHERE t = 'x';
SELECT 'a'::varchar(0);
SELECT pg_typeof('x'), pg_typeof('x'::text || 'y'), pg_typeof(upper('x')), pg_typeof('x'::varchar || 'y'::varchar);

-- Long values survive.
CREATE TABLE long (id integer PRIMARY KEY, body text);
INSERT INTO long SELECT n, repeat(chr(96 + n), n * 5000) FROM generate_series(1, 6) AS n;
INSERT INTO long SELECT 7, string_agg(md5(n::text), '') FROM generate_series(1, 4000) AS n;
SELECT id, length(body), md5(body), left(body, 3), right(body, 3) FROM long ORDER BY id;
UPDATE long SET body = body || 'end' WHERE id = 7;
SELECT length(body), right(body, 5) FROM long WHERE id = 7;
UPDATE long SET body = 'short' WHERE id = 6;
SELECT id, length(body) FROM long WHERE body LIKE '%end' OR body = 'short' ORDER BY id;
BEGIN; UPDATE long SET body = repeat('z', 100000); ROLLBACK;
SELECT sum(length(body)) FROM long;
