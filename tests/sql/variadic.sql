-- VARIADIC arguments of any type, and several arrays at once.
SELECT concat(VARIADIC ARRAY['a',NULL,'b']), concat(VARIADIC ARRAY[1,2]), concat_ws(',', VARIADIC ARRAY[1,NULL,3]), concat_ws(',', VARIADIC NULL::text[]), concat(VARIADIC NULL::text[]);
SELECT format('%s|%s|%I', VARIADIC ARRAY['a',NULL,'X y']), format('%s', VARIADIC NULL::text[]), format('%2$s %1$s', VARIADIC ARRAY[1,2]);
SELECT num_nulls(VARIADIC ARRAY[1,NULL]), num_nonnulls(VARIADIC ARRAY[1,NULL]), num_nulls(ARRAY[1,NULL]), num_nulls(NULL,1), num_nulls(VARIADIC NULL::int[]);
SELECT concat(VARIADIC 1);
SELECT concat(VARIADIC NULL);
SELECT format('x', VARIADIC 'a');
SELECT concat('a', VARIADIC ARRAY['b','c']);
SELECT * FROM unnest(ARRAY[1,2],ARRAY['a','b','c']);
SELECT * FROM unnest(ARRAY[1,2],ARRAY['a','b','c']) WITH ORDINALITY AS t(a,b,o);
SELECT * FROM ROWS FROM (unnest(ARRAY[1,2],ARRAY['a','b','c']), generate_series(1,4)) AS t;
SELECT u.* FROM unnest(ARRAY[1,2]) u;
SELECT unnest(ARRAY[1],ARRAY[2]);
SELECT least(1,VARIADIC ARRAY[1]);
SELECT num_nulls();
SELECT concat();
