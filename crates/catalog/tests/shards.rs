//! A node computes the shard of a row as the coordinator does.

use std::path::{Path, PathBuf};
use steppe_catalog::distribution::shards;
use steppe_catalog::{Distribution, DistributionMethod, builtin};
use steppe_types::{Datum, io::IoContext, oid, text_io};

#[path = "../../server/tests/support/postgres.rs"]
#[allow(dead_code, unreachable_pub, missing_docs)] // A part of it is used.
mod postgres;

use postgres::{BINARIES, Postgres};

/// A directory that is removed with its files.
struct TestDir(PathBuf);

impl TestDir {
    fn new() -> TestDir {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("steppe-shards-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory in the temporary directory");
        TestDir(path)
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How many shards the tables have.
const COUNT: usize = 97;
/// Values of each type.
const VALUES: usize = 200;

/// Types, and expressions that make a random value of each from the random numbers `r` and `i`.
const TYPES: &[(u32, &str)] = &[
    (oid::BOOL, "r < 0.5"),
    (oid::CHAR, "chr(32 + (r * 90)::int)::\"char\""),
    (oid::INT2, "((r - 0.5) * 65534)::int2"),
    (oid::INT4, "((r - 0.5) * 4294967294)::int4"),
    (oid::INT8, "((r - 0.5) * 1.8e19)::int8"),
    (oid::OID, "((r * 4294967294)::int8)::oid"),
    (
        oid::FLOAT4,
        "CASE i WHEN 1 THEN '-0' WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' ELSE (r - 0.5) * 1e9 END::float4",
    ),
    (
        oid::FLOAT8,
        "CASE i WHEN 1 THEN '-0' WHEN 2 THEN 'NaN' WHEN 3 THEN 'Infinity' ELSE (r - 0.5) * 1e90 END::float8",
    ),
    (
        oid::NUMERIC,
        "CASE i WHEN 1 THEN 'NaN' WHEN 2 THEN '0.000' WHEN 3 THEN '-Infinity' ELSE round(((r - 0.5) * 1e12)::numeric, i % 9) END::numeric",
    ),
    (oid::TEXT, "repeat(md5(r::text), i % 4) || chr(300 + i)"),
    (oid::VARCHAR, "substr(md5(r::text), 1, i % 32)::varchar"),
    (oid::BPCHAR, "substr(md5(r::text), 1, i % 12)::char(12)"),
    (oid::NAME, "md5(r::text)::name"),
    (oid::BYTEA, "decode(md5(r::text), 'hex')"),
    (oid::UUID, "md5(r::text)::uuid"),
    (
        oid::DATE,
        "CASE i WHEN 1 THEN 'infinity' ELSE date '2000-01-01' + ((r - 0.5) * 900000)::int END::date",
    ),
    (oid::TIME, "time '00:00' + r * interval '24 h'"),
    (
        oid::TIMETZ,
        "(time '00:00' + r * interval '24 h')::time AT TIME ZONE make_interval(hours => i % 12)",
    ),
    (
        oid::TIMESTAMP,
        "CASE i WHEN 1 THEN '-infinity' ELSE timestamp '2000-01-01' + (r - 0.5) * interval '900 years' END::timestamp",
    ),
    (oid::TIMESTAMPTZ, "timestamptz '2000-01-01 UTC' + (r - 0.5) * interval '900 years'"),
    (oid::INTERVAL, "(r - 0.5) * interval '1000 days' + make_interval(months => i - 100)"),
    (
        1007,
        "CASE i WHEN 1 THEN '{}' WHEN 2 THEN '{NULL,1}' ELSE ARRAY[i, (r * 1e9)::int] END::int4[]",
    ),
    (1009, "ARRAY[md5(r::text), i::text, NULL]"),
];

/// A distribution in which each shard is on a node of its own: its place is its shard.
fn distribution() -> Distribution {
    let nodes: Vec<u32> = (1..=COUNT as u32).collect();
    let all = Distribution::new(DistributionMethod::Hash, 1, nodes);
    Distribution { shards: shards::Shards::even(COUNT, COUNT), ..all }
}

/// Asks the node, for random values and NULL, in which shard it finds each.
fn check(node: &Postgres) {
    let of = distribution();
    let io = IoContext::default();
    let numbers: Vec<usize> = (0..COUNT).collect();
    for (type_oid, expression) in TYPES {
        let name = builtin::ty(*type_oid).expect("a type").name;
        let whens: Vec<String> = numbers
            .iter()
            .map(|shard| {
                let within = shards::condition(&of.shards, &[*shard], "k", *type_oid);
                format!("WHEN {} THEN {shard}", within.expect("a node has its hash"))
            })
            .collect();
        // The condition must be one that an index takes: it is immutable.
        let third: Vec<usize> = numbers.iter().copied().step_by(3).collect();
        let third = shards::condition(&of.shards, &third, "k", *type_oid).expect("a condition");
        let sql = format!(
            "CREATE TABLE t AS SELECT i, {expression} AS k FROM (SELECT i, random() AS r FROM \
             generate_series(1, {VALUES}) i) s UNION ALL SELECT 0, NULL::{name}; CREATE INDEX ON t (i) \
             WHERE {third}; SELECT (k IS NULL)::int || ':' || (CASE {} END) || ':' || \
             ({third})::int || ':' || {token} || ':' || coalesce(k::text, '') FROM t",
            whens.join(" "),
            token = shards::token_text("k", *type_oid).expect("a node has its hash"),
            name = if *type_oid == oid::CHAR { "\"char\"" } else { name },
        );
        let answer = node.query(&format!("{sql}; DROP TABLE t"));
        let mut rows = 0;
        for row in answer.lines() {
            let mut fields = row.splitn(5, ':');
            let mut field = || fields.next().unwrap_or_default();
            let (is_null, shard, in_third) = (field(), field(), field());
            let (token, text) = (field(), field());
            let value = match is_null {
                "1" => Datum::Null,
                _ => text_io::input(*type_oid, -1, text, &io).expect(text),
            };
            let own = shards::token(*type_oid, &value).expect("it has a hash");
            assert_eq!(token, own.to_string(), "{name} {text}");
            let place = of.place(*type_oid, &value).expect("it has a hash").expect("a place");
            assert_eq!(shard, place.to_string(), "{name} {text}");
            assert_eq!(in_third == "1", place.is_multiple_of(3), "{name} {text}");
            assert_eq!(of.shard(*type_oid, &value).expect("it has a hash"), Some(place));
            rows += 1;
        }
        assert_eq!(rows, VALUES + 1, "{name}: {answer}");
    }
    let rows_of = shards::condition(&of.shards, &[1, 5], "k", oid::TEXT).expect("a condition");
    node.query("CREATE TABLE moved (k text COLLATE \"C\" PRIMARY KEY)");
    node.query(&format!("CREATE PUBLICATION p FOR TABLE moved WHERE ({rows_of})"));
}

#[test]
fn a_node_finds_the_shard_of_a_row() {
    if let Some(node) = Postgres::start(&[]) {
        check(&node);
    }
}

/// The newest PostgreSQL, if tools/pg18.sh has fetched it.
#[test]
fn the_newest_postgresql_finds_the_same() {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.oracle/pg18/bin");
    let binaries = std::env::var("STEPPE_PG18").map_or(fetched, Into::into);
    assert_ne!(binaries, Path::new(BINARIES));
    if let Some(node) = Postgres::start_of(&binaries, &[]) {
        check(&node);
    }
}

/// All types that DISTRIBUTE BY HASH takes have a hash.
#[test]
fn types_that_are_taken_have_a_hash() {
    let of = distribution();
    for (type_oid, _) in TYPES {
        assert!(of.method.takes(*type_oid), "{type_oid}");
    }
}
