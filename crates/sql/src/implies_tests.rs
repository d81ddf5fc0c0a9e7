use super::*;
use crate::bind::index::IndexExprs;
use steppe_catalog::{Catalog, Column, IndexInfo, PUBLIC, RelKind, Relation};

/// A condition over `t(a int, b text, c numeric, ok boolean, v varchar)`.
pub(crate) fn condition(text: &str) -> Expr {
    let mut table = Relation::new(20000, PUBLIC, "t", RelKind::Table);
    table.columns = vec![
        Column::new("a", oid::INT4, -1),
        Column::new("b", oid::TEXT, -1),
        Column::new("c", oid::NUMERIC, -1),
        Column::new("ok", oid::BOOL, -1),
        Column::new("v", oid::VARCHAR, -1),
    ]
    .into();
    let info = IndexInfo {
        table: 20000,
        keys: Default::default(),
        include: Default::default(),
        unique: false,
        primary: false,
        clustered: false,
        deferral: Default::default(),
        nulls_not_distinct: false,
        predicate: Some(text.into()),
    };
    let bound = IndexExprs::bind(&Catalog::default(), &table.into(), &info);
    bound.unwrap_or_else(|e| panic!("{text}: {e}")).predicate.expect("it was given")
}

/// Compares with PostgreSQL 18's predicate_implied_by, seen by whether a partial index is used.
#[test]
fn answers_as_postgresql_does() {
    for (given, wanted, expected) in [
        ("a > 10", "a > 5", true),
        ("a > 5", "a > 10", false),
        ("a >= 10", "a > 10", false),
        ("a > 10", "a >= 10", true),
        ("10 < a", "a > 9", true),
        ("a = 7", "a > 5", true),
        ("a = 7", "a <> 5", true),
        ("a <> 5", "a <> 5", true),
        ("a < 5", "a <> 5", true),
        ("a <= 5", "a <> 5", false),
        ("a = 7::bigint", "a > 5", true),
        ("a = 3::bigint", "a > 5", false),
        ("c > 20", "c > 10", true),
        ("c > 10.5", "c > 10", true),
        ("b = 'open'", "b = 'open'", true),
        ("v = 'open'", "v = 'open'", true),
        ("b = 'shut'", "b = 'open'", false),
        ("b > 'b'", "b >= 'a'", true),
        ("a > 3", "a IS NOT NULL", true),
        ("lower(b) = 'x'", "b IS NOT NULL", true),
        ("coalesce(b, '') = 'x'", "b IS NOT NULL", false),
        ("a IS NULL", "a IS NOT NULL", false),
        ("a IN (1, 2)", "a < 3", true),
        ("a IN (1, 5)", "a < 3", false),
        ("a IN (1, 2)", "a IN (1, 2, 3)", true),
        ("a IN (1, 4)", "a IN (1, 2, 3)", false),
        ("a = 2", "a IN (1, 2, 3)", true),
        ("a = 1 OR a = 2", "a < 3", true),
        ("a = 1 OR b = 'x'", "a < 3", false),
        ("a = 1 AND b = 'x'", "a < 3", true),
        ("a > 5 AND b = 'x'", "a > 5 AND b = 'x'", true),
        ("a > 5", "a > 5 AND b = 'x'", false),
        ("a > 5", "a > 1 OR b = 'x'", true),
        ("ok", "ok", true),
        ("ok", "ok IS TRUE", true),
        ("NOT ok", "ok", false),
        ("ok", "ok IS NOT NULL", true),
    ] {
        let answer = implied_by(&condition(wanted), &[condition(given)]);
        assert_eq!(answer, expected, "{given} implies {wanted}");
    }
}
