-- Letters beyond ASCII, in the locale C.UTF-8 of PostgreSQL's builtin provider.
-- PostgreSQL 15 differs: it does not have this locale
SELECT datlocprovider, datcollate, datctype, datlocale, datcollversion FROM pg_database WHERE datname = current_database();
SELECT upper('straße ǆ ﬁ ά ᾳ'), lower('İSTANBUL ΑΣ Σ'), initcap('ﬁsh ǆabc o''neil ΑΣ x²y ٣a');
SELECT casefold('Straße ΑΣς ſ İı');
SELECT 'Ärger' ILIKE 'äRGER', 'ß' ILIKE 'SS', 'ΑΣ' ILIKE 'ας', 'Ä' ~* 'ä', 'ﬁ' ILIKE 'FI';
SELECT w FROM (VALUES ('a'), ('B'), ('ä'), ('Z'), ('_'), ('é'), ('Ä'), ('ZZ')) AS v (w) ORDER BY w;
SELECT 'ä' < 'z', 'Z' < 'a', 'a' < 'ä' COLLATE "C", greatest('é', 'f');
SELECT regexp_replace('Grüße, 12 Äpfel & 3½ ٣', '\w+', '<\&>', 'g'), regexp_replace('a²b Ⓐ', '[[:punct:]]', '-', 'g');
SELECT array_agg(c ORDER BY c) FROM (SELECT chr(i) AS c FROM generate_series(160, 191) AS i) AS s WHERE c ~ '[[:alnum:]]';
SELECT (SELECT count(*) FROM generate_series(1, 6000) AS i WHERE chr(i) ~ '[[:alpha:]]') AS alpha, (SELECT count(*) FROM generate_series(1, 6000) AS i WHERE chr(i) ~ '\w') AS word, (SELECT count(*) FROM generate_series(1, 6000) AS i WHERE chr(i) ~ '[[:punct:]]') AS punct, (SELECT count(*) FROM generate_series(1, 6000) AS i WHERE chr(i) ~ '[[:graph:]]') AS graph;
SELECT md5(string_agg(upper(chr(i)) || lower(chr(i)) || initcap('x' || chr(i) || 'y') || casefold(chr(i)), '' ORDER BY i)) FROM generate_series(1, 50000) AS i;
