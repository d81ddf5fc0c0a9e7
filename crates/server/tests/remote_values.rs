//! Statements of distributed tables that one node runs as a whole mean the same there: the session's
//! settings, users' operators, the clock and what the node's database has of its own change no answer.

mod support;

use support::both::{Both, answer};
use support::{Random, rows_of as rows, run};

/// A distributed table's definition, and where its rows are.
const TABLES: [(&str, &str); 11] = [
    (
        "items (id int PRIMARY KEY, f4 float4, f8 float8, fa float8[], iv interval, d date, \
         ts timestamp, tz timestamptz, tt timetz, t text, v varchar(10), b bytea, n numeric, \
         arr int[], ia interval[], da date[])",
        "HASH (id)",
    ),
    ("a (k int PRIMARY KEY, x int, t text)", "HASH (k)"),
    ("m (k int, x int, t text)", "HASH (k)"),
    ("r (k int PRIMARY KEY, x int)", "REPLICATION"),
    ("by_text (k text, x int)", "HASH (k)"),
    ("by_varchar (k varchar(20), x int)", "HASH (k)"),
    ("by_char (k char(10), x int)", "HASH (k)"),
    ("by_int2 (k int2, x int)", "HASH (k)"),
    ("by_int8 (k int8, x int)", "HASH (k)"),
    ("by_numeric (k numeric, x int)", "HASH (k)"),
    ("by_timestamp (k timestamp, x int)", "HASH (k)"),
];

impl Both {
    /// Whether one node would run it as a whole.
    async fn is_whole(&self, sql: &str) -> bool {
        let plan = answer(&self.steppe, &format!("EXPLAIN {sql}")).await;
        plan[0].contains("Remote Fast Query Execution")
    }

    /// One node runs it as a whole, and it has PostgreSQL's answer.
    async fn whole(&self, sql: &str) {
        assert!(self.is_whole(sql).await, "{sql}: {:?}", answer(&self.steppe, sql).await);
        self.same(sql).await;
    }

    /// It is refused, or has PostgreSQL's answer. True: it has.
    async fn right_or_refused(&self, sql: &str) -> bool {
        let found = answer(&self.steppe, sql).await;
        if found[0].starts_with("ERROR 0A000") {
            return false;
        }
        let expected = answer(&self.plain, sql).await;
        // PostgreSQL has features that it lacks, too.
        if expected[0].starts_with("ERROR 0A000") {
            return false;
        }
        assert_eq!(found, expected, "{sql}");
        true
    }

    /// The statement is not one that a node runs as a whole. It is refused, or has PostgreSQL's answer.
    async fn not_whole(&self, sql: &str) {
        assert!(!self.is_whole(sql).await, "{sql}");
        self.right_or_refused(sql).await;
    }

    /// Runs a statement on both.
    async fn both(&self, sql: &str) {
        for client in [&self.steppe, &self.plain] {
            rows(client, sql).await;
        }
    }
}

const VALUES: [&str; 6] = [
    "0.1, 0.30000000000000004, '{0.1, NULL, -1e-300}', '-1 year 2 mons -3 days 04:05:06', '2026-02-03', \
     '2026-02-03 04:05:06.789', '2026-07-03 04:05:06.789+02', '04:05:06+05:30', 'back\\slash '' x', \
     'n', '\\x00ff5c27', 1e20, '{1, 2}', '{-1 day +01:00, 1 year}', '{2026-02-03, NULL}'",
    "'NaN', '-Infinity', '{}', '1 day -00:00:01', '0044-03-15 BC', 'infinity', '-infinity', \
     '23:59:60-12', E'tab\\tnl\\n', 'NULL', '\\x', 'NaN', '{NULL}', '{}', '{infinity}'",
    "1.1754944e-38, 1.7976931348623157e308, '{NaN, Infinity}', '-00:00:00.000001', 'epoch', \
     '0001-01-01 00:00:00 BC', '2026-11-01 01:30:00 America/New_York', '00:00:00+00', '', '', \
     '\\x5c5c', -0.000, '[0:1]={7,8}', '{-2 mons 3 days}', '{-infinity, 0044-03-15 BC}'",
    "3.4028235e38, 5e-324, '{{1,2},{3,4}}', '-2 mons', '9999-12-31', '2026-03-29 02:30:00', \
     '2026-03-29 01:30:00+00', '12:00:00.5-03:30', '$1 $$ -- /*', '\"', '\\xe28692', 0.1000, '{}', \
     '{NULL}', '{}'",
    "-0.0, -0.0, '{-0}', '1 mon -1 day 1 sec', '1999-01-08', '1999-01-08 04:05:06', \
     '1999-01-08 04:05:06 -8:00', '04:05:06 PST', '→ ünï', 'ü', 'abc', 12345678901234567890.123456789, \
     '{{1},{2}}', '{-1 year -2 mons}', '{1999-01-08}'",
    "16777216, 9007199254740993, NULL, '-1 year -2 mons +3 days -04:05:06.5', NULL, NULL, NULL, NULL, \
     NULL, NULL, NULL, NULL, NULL, NULL, NULL",
];

const SETTINGS: [&str; 8] = [
    "SELECT 1",
    "SET DateStyle = 'German'",
    "SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'",
    "SET DateStyle = 'Postgres, MDY'; SET TimeZone = 'America/New_York'; SET bytea_output = 'escape'",
    "SET IntervalStyle = 'iso_8601'; SET TimeZone = 'Asia/Kolkata'; SET extra_float_digits = 0",
    "SET IntervalStyle = 'postgres_verbose'; SET extra_float_digits = -10",
    "SET extra_float_digits = 3; SET DateStyle = 'ISO, DMY'; SET TimeZone = 'America/St_Johns'",
    "SET TimeZone = '<+0545>-5:45'; SET extra_float_digits = -15",
];

#[test]
fn values_arrive_whole_under_all_settings() {
    run(async {
        let Some(both) = Both::of(&TABLES).await else { return };
        let mut id = 0;
        for setting in SETTINGS {
            both.both(setting).await;
            for values in VALUES {
                id += 1;
                both.same(&format!("INSERT INTO items VALUES ({id}, {values})")).await;
                both.whole(&format!("SELECT * FROM items WHERE id = {id}")).await;
                // The session's own form, from its own values: as literals, as parameters.
                both.both("PREPARE up (int, float8, interval, timestamptz, float8[], bytea) AS UPDATE items \
                           SET f8 = $2, iv = $3, tz = $4, fa = $5, b = $6 WHERE id = $1")
                    .await;
                both.same(&format!(
                    "EXECUTE up ({id}, 0.1::float8 * 3, '-1 day +2 hours', '2026-05-06 07:08:09.5', \
                     '{{0.30000000000000004}}', '\\x27')"
                ))
                .await;
                both.whole(&format!(
                    "SELECT f8, iv, tz, fa, b, f8 = 0.1::float8 * 3, iv = interval '-1 day +2 hours', \
                     tz = '2026-05-06 07:08:09.5', d = '2026-02-03' FROM items WHERE id = {id}"
                ))
                .await;
                both.whole(&format!(
                    "UPDATE items SET f4 = 0.1::float4, f8 = 1::float8 / 3, tz = timestamptz \
                     '2026-10-25 02:30:00', iv = interval '-1-2', fa = ARRAY[1::float8 / 3], da = '{{2026-01-02}}' \
                     WHERE id = {id} RETURNING f4, f8, tz, iv, fa, da"
                ))
                .await;
                both.both("DEALLOCATE up").await;
            }
            both.both("RESET ALL").await;
        }
        for id in 1..=id {
            both.whole(&format!("SELECT *, f8 = 1::float8 / 3 FROM items WHERE id = {id}")).await;
        }
    });
}

#[test]
fn texts_that_depend_on_the_server_are_not_made_on_a_node() {
    run(async {
        let Some(both) = Both::of(&TABLES).await else { return };
        for (id, values) in VALUES.iter().enumerate() {
            both.same(&format!("INSERT INTO items VALUES ({id}, {values})")).await;
        }
        for setting in ["SELECT 1", "SET extra_float_digits = 0", "SET extra_float_digits = -10"] {
            both.both(setting).await;
            for value in [
                "f8::text",
                "'x' || f8",
                "f4::varchar(20)",
                "concat(f8, 1)",
                "format('%s', fa)",
                "quote_literal(f8)",
                "array_to_string(fa, ',')",
                "fa::text",
                "string_agg(f8::text, ',')",
                "ROW(f8, 1)::text",
                "concat(items)",
                "items::text",
                "to_json(f8)",
                "CASE WHEN id > 0 THEN f8::text END",
            ] {
                both.not_whole(&format!(
                    "SELECT {value} FROM items WHERE id = 0 {}",
                    if value.contains("agg") { "" } else { "ORDER BY 1" }
                ))
                .await;
            }
        }
        both.both("RESET ALL").await;
        for value in [
            "n::text",
            "id::text || t",
            "d::text",
            "tz::text",
            "iv::text",
            "concat(d, id)",
            "b::text",
            "to_char(tz, 'YYYY-MM-DD HH24:MI')",
            "to_char(id, '999D99')",
            "to_char(d, 'TMDay')",
            "date_trunc('day', tz)",
            "tz::date",
            "tz AT TIME ZONE 'Asia/Kolkata'",
            "f8::numeric",
            "f8::int",
        ] {
            for setting in SETTINGS {
                both.both(setting).await;
                both.whole(&format!("SELECT {value} FROM items WHERE id = 0")).await;
            }
            both.both("RESET ALL").await;
        }
        // These depend on the clock, or on the session.
        rows(&both.steppe, "SET statement_timeout = 0").await;
        for value in [
            "age(tz)",
            "age(ts)",
            "tt AT TIME ZONE 'America/New_York'",
            "t::date",
            "v::timestamptz",
            "t::time",
            "t::timetz",
            "ts::time::timetz",
            "'2026-01-01'::date = t::date",
            "current_setting(t)",
            "pg_typeof(id)",
        ] {
            assert!(
                !both.is_whole(&format!("SELECT {value} FROM items WHERE id = 0")).await,
                "{value}"
            );
        }
        // Over no column, the coordinator computes it.
        for value in [
            "f8 || (0.1::float8 * 3)::text",
            "n + age(date '2020-01-01', date '2019-01-01') IS NULL",
        ] {
            both.right_or_refused(&format!("SELECT {value} FROM items WHERE id = 0")).await;
        }
        both.both("SET extra_float_digits = 0").await;
        both.whole("SELECT (0.1::float8 * 3)::text, t FROM items WHERE id = 0").await;
        both.whole("SELECT t = concat('x', 0.1::float8 * 3) FROM items WHERE id = 0").await;
    });
}

#[test]
fn users_operators_are_not_a_nodes() {
    run(async {
        let Some(both) = Both::of(&TABLES).await else { return };
        for k in 1..=12 {
            both.same(&format!("INSERT INTO a VALUES ({k}, {}, 't{k}')", k % 4)).await;
            both.same(&format!("INSERT INTO m VALUES ({k}, {}, 'T{k}')", k % 3)).await;
        }
        both.both(
            "CREATE FUNCTION like_it(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE \
             STRICT AS 'BEGIN RETURN $1 % 5 OPERATOR(pg_catalog.=) $2 % 5; END'; \
             CREATE OPERATOR public.= (LEFTARG = int, RIGHTARG = int, FUNCTION = like_it); \
             CREATE OPERATOR public.<> (LEFTARG = int, RIGHTARG = int, FUNCTION = like_it); \
             CREATE FUNCTION upper(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN ''mine''; END'",
        )
        .await;
        both.both("SET search_path = public, pg_catalog").await;
        for sql in [
            "SELECT k FROM a WHERE k = 3 ORDER BY k",
            "SELECT k FROM a JOIN m USING (k) WHERE a.k = 3 ORDER BY 1",
            "SELECT NULLIF(k, 8) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k IS DISTINCT FROM 8 FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k IS NOT DISTINCT FROM 8 FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k IN (8, 9) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k IN (x + 5) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k = ANY ('{8}') FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k <> ALL ('{8}') FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT (k, x) = (8, 8) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT CASE k WHEN 8 THEN 1 ELSE 2 END FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k IN (SELECT x FROM r) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k = (SELECT 8) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT (k, x) IN (SELECT 8, 3) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT count(*) FILTER (WHERE k = 8) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT upper(t) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT k FROM a WHERE k OPERATOR(pg_catalog.=) 3 ORDER BY upper(t)",
            "SELECT DISTINCT ON (upper(t)) k FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "SELECT max(upper(t)) FROM a WHERE k OPERATOR(pg_catalog.=) 3 GROUP BY t HAVING upper(t) > ''",
            "SELECT rank() OVER (PARTITION BY upper(t) ORDER BY k = 8) FROM a WHERE k OPERATOR(pg_catalog.=) 3",
            "UPDATE a SET x = 9 WHERE k OPERATOR(pg_catalog.=) 3 AND k IN (8)",
            "DELETE FROM a WHERE k OPERATOR(pg_catalog.=) 3 AND k IS DISTINCT FROM 9",
        ] {
            both.not_whole(sql).await;
        }
        // Over no column it is the coordinator's.
        both.whole("SELECT upper('x'), t FROM a WHERE k OPERATOR(pg_catalog.=) 3").await;
        both.whole("SELECT NULLIF(3, 8), 3 IN (8), t FROM a WHERE k OPERATOR(pg_catalog.=) 3")
            .await;
        // A sort in the order of a user's operator.
        both.not_whole("SELECT array_agg(k ORDER BY k USING <) FROM a WHERE k = 3").await;
    });
}

#[test]
fn keys_of_other_types_find_their_rows() {
    run(async {
        let Some(both) = Both::of(&TABLES).await else { return };
        for n in 1..=16 {
            for table in ["by_text", "by_varchar", "by_char"] {
                both.same(&format!("INSERT INTO {table} VALUES ('key {n}', {n})")).await;
            }
            for table in ["by_int2", "by_int8", "by_numeric"] {
                both.same(&format!("INSERT INTO {table} VALUES ({n}, {n})")).await;
            }
            both.same(&format!("INSERT INTO by_timestamp VALUES ('2026-01-{n}', {n})")).await;
        }
        let mut whole = 0;
        for n in 1..=16 {
            for key in [
                format!("by_text WHERE k = 'key {n}'"),
                format!("by_text WHERE k = 'key {n}'::varchar"),
                format!("by_text WHERE k = 'key {n}  '::char(10)"),
                format!("by_text WHERE k = 'key {n}'::name"),
                "by_text WHERE k::varchar(3) = 'key'".to_owned(),
                format!("by_varchar WHERE k = 'key {n}'"),
                format!("by_varchar WHERE k = 'key {n}'::text"),
                format!("by_varchar WHERE k = 'key {n}'::char(12)"),
                format!("by_varchar WHERE k::char(10) = 'key {n}   '"),
                format!("by_char WHERE k = 'key {n}'"),
                format!("by_char WHERE k = 'key {n}   '"),
                format!("by_char WHERE k = 'key {n}'::char(20)"),
                format!("by_char WHERE k = 'key {n}'::text"),
                format!("by_char WHERE k = 'key {n}'::varchar"),
                format!("by_int2 WHERE k = {n}"),
                format!("by_int2 WHERE k = {n}::int8"),
                format!("by_int2 WHERE k = {n}.0"),
                format!("by_int2 WHERE k = {n}::int2"),
                format!("by_int8 WHERE k = {n}"),
                format!("by_int8 WHERE k = {n}::int2"),
                format!("by_int8 WHERE k = {n}::float8"),
                format!("by_int8 WHERE k = -{n} + 2 * {n}"),
                format!("by_numeric WHERE k = {n}"),
                format!("by_numeric WHERE k = {n}.000"),
                format!("by_numeric WHERE k = {n}::float8"),
                format!("by_timestamp WHERE k = '2026-01-{n}'"),
                format!("by_timestamp WHERE k = date '2026-01-{n}'"),
                format!("by_timestamp WHERE k = timestamptz '2026-01-{n}'"),
                format!("by_timestamp WHERE k = date '2026-01-01' + {} ", n - 1),
                format!("by_timestamp t, by_int8 i WHERE t.k = date '2026-01-{n}' AND i.k = t.x"),
            ] {
                let sql = format!("SELECT * FROM {key} ORDER BY 1, 2");
                both.right_or_refused(&sql).await;
                whole += usize::from(both.is_whole(&sql).await);
            }
            for join in [
                "by_text a JOIN by_varchar b ON a.k = b.k WHERE a.k",
                "by_text a JOIN by_char b ON a.k = b.k WHERE a.k",
                "by_varchar a LEFT JOIN by_text b ON a.k = b.k WHERE a.k",
                "by_char a JOIN by_char b ON a.k = b.k WHERE a.k",
            ] {
                both.right_or_refused(&format!("SELECT * FROM {join} = 'key {n}' ORDER BY 1"))
                    .await;
            }
            for join in [
                "by_int2 a JOIN by_int8 b ON a.k = b.k WHERE a.k",
                "by_int8 a JOIN by_int2 b ON a.k = b.k WHERE a.k",
                "by_int8 a JOIN by_numeric b ON a.k = b.k WHERE b.k",
                "by_int8 a JOIN by_numeric b ON a.k = b.k AND b.k = a.x WHERE a.k",
            ] {
                both.right_or_refused(&format!("SELECT * FROM {join} = {n} ORDER BY 1")).await;
            }
        }
        assert!(whole >= 200, "{whole} whole statements");
    });
}

#[test]
fn assignments_and_rows_are_printed_right_or_refused() {
    run(async {
        let Some(both) = Both::of(&TABLES).await else { return };
        for (id, values) in VALUES.iter().enumerate() {
            both.same(&format!("INSERT INTO items VALUES ({id}, {values})")).await;
            both.same(&format!("INSERT INTO m VALUES ({id}, {id} + 1, 'm{id}')")).await;
            both.same(&format!("INSERT INTO a VALUES ({id}, {id}, 'a{id}')")).await;
        }
        for sql in [
            "UPDATE items SET arr[1] = 7 WHERE id = 0 RETURNING arr",
            "UPDATE items SET arr[2] = arr[1] + 1, arr[3] = 9, t = 'x' WHERE id = 0 RETURNING arr, t",
            "UPDATE items SET arr[1:2] = '{5,6}' WHERE id = 0 RETURNING arr",
            "UPDATE items SET arr[2:] = '{8,9}' WHERE id = 0 RETURNING arr",
            "UPDATE items SET arr[id + 1] = (SELECT max(x) FROM m WHERE m.k = items.id) WHERE id = 0 RETURNING arr",
            "UPDATE items SET arr = arr WHERE id = 0 RETURNING arr",
            "UPDATE items SET arr = arr || 1 WHERE id = 0 RETURNING arr",
            "UPDATE items AS i SET arr[1] = 4 FROM m WHERE m.k = i.id AND i.id = 0 RETURNING i.arr, m.x",
            "INSERT INTO items (id, arr[2]) VALUES (100, 5) RETURNING arr",
            "INSERT INTO items (id) VALUES (100) ON CONFLICT (id) DO UPDATE SET arr[1] = 3, arr[2] = 4 RETURNING arr",
            "UPDATE a SET (x, t) = (5, 'five') WHERE k = 0 RETURNING *",
            "UPDATE a SET (x, t) = ROW(6, 'six') WHERE k = 0 RETURNING *",
            "UPDATE a SET x = (SELECT x FROM m WHERE m.k = a.k) WHERE k = 1 RETURNING *",
        ] {
            both.same(sql).await;
        }
        for sql in [
            "UPDATE a SET (x, t) = (SELECT x, t FROM m WHERE m.k = a.k) WHERE k = 1 RETURNING *",
            "UPDATE a SET (x, t) = (SELECT 1, 't') WHERE k = 1",
            "INSERT INTO a VALUES (1) ON CONFLICT (k) DO UPDATE SET (x, t) = (SELECT x + 1, t FROM m WHERE m.k = 1)",
            "INSERT INTO a VALUES (1) ON CONFLICT (k) DO UPDATE SET (x, t) = (SELECT EXCLUDED.x, a.t)",
            "SELECT (k, x) FROM a WHERE k = 1",
            "SELECT a FROM a WHERE k = 1",
            "SELECT ROW(a.*) FROM a WHERE k = 1",
            "SELECT ARRAY[ROW(k, x)] FROM a WHERE k = 1",
            "SELECT array_agg(a) FROM a WHERE k = 1",
            "SELECT s FROM (SELECT k, x FROM a) s WHERE k = 1",
            "UPDATE a SET x = 1 WHERE k = 1 RETURNING (k, x)",
            "UPDATE a SET x = 1 WHERE k = 1 RETURNING a",
            "INSERT INTO a VALUES (50, 1) RETURNING a",
            "DELETE FROM a WHERE k = 4 RETURNING ROW(a.*)",
            "UPDATE a SET x = 1 FROM m WHERE m.k = a.k AND a.k = 1 RETURNING m",
        ] {
            both.right_or_refused(sql).await;
        }
        // The same literal twice is one value, as is the same parameter.
        for sql in [
            "SELECT * FROM a, m WHERE a.k = 3 AND m.k = 3",
            "SELECT * FROM a LEFT JOIN m ON m.k = 4 WHERE a.k = 4",
            "SELECT * FROM a WHERE k = 3 UNION ALL SELECT * FROM m WHERE k = 3",
            "SELECT (SELECT x FROM m WHERE k = 2), x FROM a WHERE k = 2",
            "DELETE FROM m WHERE k = 5 AND EXISTS (SELECT FROM a WHERE k = 5)",
        ] {
            both.whole(sql).await;
            both.whole(sql).await;
        }
        let mut answered = 0;
        both.both("PREPARE p (int, int) AS SELECT * FROM a, m WHERE a.k = $1 AND m.k = $2").await;
        both.both(
            "PREPARE d (int, int) AS UPDATE a SET x = m.x FROM m WHERE a.k = $1 AND m.k = $2",
        )
        .await;
        for (one, other) in [(3, 3), (3, 4), (1, 2), (2, 2), (0, 5)] {
            answered +=
                usize::from(both.right_or_refused(&format!("EXECUTE p ({one}, {other})")).await);
            answered +=
                usize::from(both.right_or_refused(&format!("EXECUTE d ({one}, {other})")).await);
            both.right_or_refused(&format!(
                "SELECT * FROM a, m WHERE a.k = {one} AND m.k = {other}"
            ))
            .await;
        }
        for values in ["NULL, 3", "3, NULL", "NULL, NULL"] {
            both.right_or_refused(&format!("EXECUTE p ({values})")).await;
        }
        assert!(answered >= 4, "{answered}");
    });
}

fn pick<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len() as u64) as usize]
}

/// A table or sub-select with the columns `k` and `x`. `before`: an entry that LATERAL may name.
fn random_source(random: &mut Random, before: Option<&str>) -> String {
    let table = pick(random, &["a", "m"]);
    let inner = pick(random, &["", "WHERE k = 3", "WHERE k = 3", "WHERE x = 3", "WHERE k = x"]);
    let lateral = before.unwrap_or("r");
    match random.below(24) {
        0..8 => "a".to_owned(),
        8..12 => "m".to_owned(),
        12 => "r".to_owned(),
        13 => format!("(SELECT k, x FROM {table} {inner})"),
        14 => format!("(SELECT k, x FROM {table} {inner} ORDER BY k, x LIMIT 2)"),
        15 => format!("(SELECT k, x FROM {table} {inner} ORDER BY k, x OFFSET 1)"),
        16 => format!("(SELECT k, count(*)::int AS x FROM {table} {inner} GROUP BY k)"),
        17 => format!("(SELECT max(k) AS k, x FROM {table} {inner} GROUP BY x)"),
        18 => format!("(SELECT DISTINCT k, x FROM {table} {inner})"),
        19 => format!("(SELECT DISTINCT ON (x) k, x FROM {table} {inner} ORDER BY x, k)"),
        20 => {
            let set = pick(random, &["UNION ALL", "UNION", "INTERSECT", "EXCEPT"]);
            format!("(SELECT k, x FROM a {inner} {set} SELECT k, x FROM m WHERE k = 3)")
        }
        21 => {
            format!("(SELECT k, row_number() OVER (ORDER BY k, x)::int AS x FROM {table} {inner})")
        }
        22 => format!(
            "(SELECT k, (SELECT max(m.x) FROM m WHERE m.k = {table}.k) AS x FROM {table} {inner})"
        ),
        _ if before.is_some() => {
            format!("LATERAL (SELECT k, x FROM {table} WHERE {table}.k = {lateral}.k)")
        }
        _ => format!("(SELECT coalesce(k, 3) AS k, x FROM {table} {inner})"),
    }
}

/// A condition on entries `s0` to `s{count - 1}`.
fn random_term(random: &mut Random, count: u64, depth: u32) -> String {
    let one = format!("s{}", random.below(count));
    let other = format!("s{}", random.below(count));
    let value = pick(random, &["3", "3", "3", "3::bigint", "1 + 2", "4", "NULL"]);
    match random.below(22) {
        0..6 => format!("{one}.k = {value}"),
        6..10 => format!("{one}.k = {other}.k"),
        10 => format!("{value} = {one}.k"),
        11 => format!("{one}.x = {other}.k"),
        12 => format!("{one}.x = {value}"),
        13 => format!("({one}.k, {one}.x) = ({value}, {other}.x)"),
        14 => format!("{one}.k IS NOT DISTINCT FROM {other}.k"),
        15 => format!("{one}.x IS NULL"),
        16 => format!("{one}.k = {value} OR {other}.k = {value}"),
        17 => format!("NOT ({one}.k = {value})"),
        18 => format!("{one}.k IN ({value}, {value})"),
        19 if depth == 0 => {
            let on = random_term(random, count, 1);
            let not = pick(random, &["", "NOT "]);
            format!("{not}EXISTS (SELECT FROM m WHERE m.k = {one}.k AND {on})")
        }
        20 if depth == 0 => {
            let on = random_term(random, count, 1);
            let not = pick(random, &["", "NOT "]);
            format!("{one}.k {not}IN (SELECT k FROM m WHERE {on} AND m.k = {one}.k)")
        }
        21 if depth == 0 => {
            format!("{one}.x = (SELECT max(x) FROM a WHERE a.k = {other}.k)")
        }
        _ => format!("{one}.k >= {other}.x"),
    }
}

fn random_terms(random: &mut Random, count: u64) -> String {
    let terms = 1 + random.below(3);
    let terms: Vec<String> =
        (0..terms).map(|_| format!("({})", random_term(random, count, 0))).collect();
    terms.join(" AND ")
}

fn random_select(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let mut from = format!("{} s0", random_source(random, None));
    for i in 1..count {
        let join =
            pick(random, &["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let before = (join == "JOIN" || join == "LEFT JOIN").then_some("s0");
        let source = random_source(random, before);
        match random.below(6) {
            0 => from = format!("{from} CROSS JOIN {source} s{i}"),
            _ => {
                let on = random_terms(random, i + 1);
                from = format!("{from} {join} {source} s{i} ON {on}");
            }
        }
    }
    let filter = match random.below(5) {
        0 => "true".to_owned(),
        _ => random_terms(random, count),
    };
    let all: Vec<String> = (0..count).map(|i| format!("s{i}.k, s{i}.x")).collect();
    let keys: Vec<String> = (1..=2 * count).map(|i| i.to_string()).collect();
    let (all, keys) = (all.join(", "), keys.join(", "));
    match random.below(8) {
        0 => format!("SELECT count(*), sum(s0.k), max(s0.x) FROM {from} WHERE {filter}"),
        1 => format!("SELECT s0.k, count(*) FROM {from} WHERE {filter} GROUP BY s0.k ORDER BY 1"),
        2 => format!(
            "SELECT s0.k, count(*) FROM {from} WHERE {filter} GROUP BY ROLLUP (s0.k) ORDER BY 1, 2"
        ),
        3 => format!("SELECT {all} FROM {from} WHERE {filter} ORDER BY {keys} LIMIT 3"),
        _ => format!("SELECT {all} FROM {from} WHERE {filter} ORDER BY {keys}"),
    }
}

fn random_statement(random: &mut Random) -> String {
    let select = random_select(random);
    match random.below(10) {
        0 => format!("WITH c AS ({select}) SELECT * FROM c ORDER BY c"),
        1 => format!("WITH c AS ({select}) SELECT count(*) FROM c one, c other"),
        2 => {
            let terms = random_terms(random, 1);
            format!("WITH s0 AS (SELECT k, x FROM a) SELECT * FROM s0 WHERE {terms} ORDER BY 1")
        }
        3 => {
            let start = pick(random, &["3", "4"]);
            format!(
                "WITH RECURSIVE w(k, n) AS (SELECT k, 0 FROM a WHERE k = {start} UNION ALL \
                 SELECT m.x, n + 1 FROM w JOIN m ON m.k = w.k AND m.k = 3 WHERE n < 4) \
                 SELECT * FROM w ORDER BY 1, 2"
            )
        }
        _ => select,
    }
}

fn random_change(random: &mut Random) -> String {
    let terms = random_terms(random, 2);
    let source = random_source(random, None);
    match random.below(3) {
        0 => format!("UPDATE m s0 SET t = 'changed' FROM {source} s1 WHERE {terms}"),
        1 => format!("DELETE FROM m s0 USING {source} s1 WHERE {terms}"),
        _ => {
            let terms = random_terms(random, 1);
            format!("DELETE FROM a s0 WHERE {terms}")
        }
    }
}

/// Random statements: each is refused, or answered as by one server. Many run as a whole on one node.
#[test]
fn random_statements_are_right_or_refused() {
    run(async {
        let Some(both) = Both::of(&TABLES).await else { return };
        let mut random = Random(41_125);
        for k in 0..12 {
            let x = if k == 5 { "NULL".to_owned() } else { (k * 5 % 7).to_string() };
            both.same(&format!("INSERT INTO a VALUES ({k}, {x}, 'a')")).await;
            both.same(&format!("INSERT INTO r VALUES ({k}, {x})")).await;
            for x in 0..=k % 4 {
                let x = if x == 3 { "NULL".to_owned() } else { x.to_string() };
                both.same(&format!("INSERT INTO m VALUES ({k}, {x}, 'm')")).await;
            }
        }
        let (mut whole, mut refused) = (0, 0);
        for _ in 0..STATEMENTS {
            let sql = random_statement(&mut random);
            let is_whole = both.is_whole(&sql).await;
            let is_right = both.right_or_refused(&sql).await;
            whole += usize::from(is_whole && is_right);
            refused += usize::from(!is_right);
        }
        let mut changes = 0;
        for _ in 0..STATEMENTS / 4 {
            let sql = random_change(&mut random);
            let is_whole = both.is_whole(&sql).await;
            both.both("BEGIN").await;
            if both.right_or_refused(&sql).await && is_whole {
                changes += 1;
                for node in
                    ["SELECT count(*) FROM a WHERE k = 3", "SELECT count(*) FROM m WHERE k = 3"]
                {
                    both.same(node).await;
                }
            }
            both.both("ROLLBACK").await;
        }
        assert!(whole * 5 >= STATEMENTS, "{whole} of {STATEMENTS} ran whole, {refused} refused");
        assert!(changes * 5 >= STATEMENTS / 4, "{changes} changes of {} ran whole", STATEMENTS / 4);
    });
}

const STATEMENTS: usize = 1200;

/// A node's database has objects that hide built-in ones where a search path names their schema.
#[test]
fn a_nodes_own_objects_hide_no_built_in_ones() {
    run(async {
        let Some(both) = Both::of(&TABLES).await else { return };
        for k in 1..=12 {
            both.same(&format!("INSERT INTO a VALUES ({k}, {}, 't{k}')", k % 4)).await;
        }
        for node in ["n1", "n2"] {
            both.cluster.on(
                node,
                "CREATE FUNCTION public.abs(int) RETURNS int LANGUAGE sql AS 'SELECT 0'; \
                 CREATE FUNCTION public.reverse(text) RETURNS text LANGUAGE sql AS 'SELECT ''theirs'''; \
                 CREATE FUNCTION public.sum_of(int, int) RETURNS int LANGUAGE sql AS 'SELECT 0'; \
                 CREATE OPERATOR public.+ (LEFTARG = int, RIGHTARG = int, FUNCTION = public.sum_of); \
                 CREATE DOMAIN public.int4 AS text; CREATE TABLE public.\"text\" (a int)",
            );
        }
        for path in ["public, pg_catalog", "public", "pg_catalog, public"] {
            both.both(&format!("SET search_path = {path}")).await;
            both.whole(
                "SELECT abs(x), reverse(t), k + x, t::varchar, x::int8::int, ARRAY[k, x]::int[], NULL::text \
                 FROM public.a WHERE k OPERATOR(pg_catalog.=) 7",
            )
            .await;
            both.whole("UPDATE a SET x = abs(x) + 1, t = reverse(t) WHERE k OPERATOR(pg_catalog.=) 7 RETURNING *")
                .await;
        }
    });
}
