-- Making JSON, as catalog queries of drivers do.
-- PostgreSQL 15 differs: the error about a NULL key
SELECT json_build_object('a', 1, 'b', true, 'c', NULL, 'd', E'x"y\\z\n', 'e', 1.50, 'f', 2.5::float8);
SELECT json_build_object('date', date '2020-01-02', 'ts', timestamp '2020-01-02 03:04:05.25', 'inf', date 'infinity');
SELECT json_build_object('nan', 'NaN'::float8, 'inf', '-Infinity'::float8, 'num', 'NaN'::numeric);
SELECT json_build_array(1, 'x', ARRAY[[1, 2], [3, 4]], ARRAY['a', NULL], '{}'::integer[]), json_build_array();
SELECT json_build_object(1, 2, true, 'x', date '2020-01-02', 3), json_build_object();
SELECT to_json('x'::text), to_json(5), to_json(NULL::integer), to_json(json_build_array(1));
SET timezone = 'UTC';
SELECT to_json(timestamptz '2020-01-02 03:04:05+00'), to_json(timestamptz 'infinity');
SET timezone = 'Asia/Kolkata';
SET datestyle = 'SQL, DMY';
SELECT to_json(timestamptz '2020-01-02 03:04:05+00'), to_json(date '2020-12-31');
SELECT json_build_object('a');
SELECT json_build_object(NULL, 1);
SELECT json_build_object(ARRAY[1], 1);
SELECT json_build_object(timestamp '2020-01-02 03:04:05', 1);
