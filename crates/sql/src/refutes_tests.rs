use super::*;
use crate::implies::tests::condition;

/// Compares with PostgreSQL 18's predicate_refuted_by, seen by whether a table is left out.
#[test]
fn answers_as_postgresql_does() {
    for (given, check, expected) in [
        ("a = 5", "a >= 10", true),
        ("a = 5", "a >= 5", false),
        ("a = 5", "a > 5", true),
        ("a = 5", "a < 5", true),
        ("a = 5", "a <= 5", false),
        ("a = 5", "a <= 4", true),
        ("a = 5", "a <> 5", true),
        ("a <> 5", "a = 5", true),
        ("a <> 5", "a <> 5", false),
        ("a < 5", "a >= 5", true),
        ("a < 5", "a > 4", false),
        ("a <= 5", "a >= 5", false),
        ("a <= 5", "a > 5", true),
        ("a > 5", "a < 5", true),
        ("a > 5", "a <= 6", false),
        ("a >= 5", "a < 5", true),
        ("a >= 5", "a <= 5", false),
        ("a > 5", "a > 100", false),
        ("5 = a", "a BETWEEN 10 AND 20", true),
        ("a = 15", "a BETWEEN 10 AND 20", false),
        ("a = 5::bigint", "a >= 10", true),
        ("a IN (1, 2)", "a > 2", true),
        ("a IN (1, 30)", "a BETWEEN 10 AND 20", true),
        ("a IN (1, 15)", "a BETWEEN 10 AND 20", false),
        ("a IN (1, 3)", "a > 2", false),
        ("a = 5", "a IN (1, 2)", true),
        ("a = 2", "a IN (1, 2)", false),
        ("a = 5", "a IN (1, NULL)", false),
        ("a = 5 OR a = 6", "a < 5", true),
        ("a = 5 OR a = 4", "a < 5", false),
        ("a = 5", "a < 0 OR a > 10", true),
        ("a = 5", "a < 0 OR a = 5", false),
        ("a = 5 AND b = 'x'", "b = 'y'", true),
        ("a = 5", "b = 'y'", false),
        ("b = 'x'", "b IS NULL", true),
        ("b IS NULL", "b IS NOT NULL", true),
        ("b IS NULL", "b = 'y'", false),
        ("b IS NOT NULL", "b IS NULL", true),
        ("ok", "NOT ok", true),
        ("NOT ok", "ok", true),
        ("ok IS FALSE", "ok", true),
        ("ok IS NOT TRUE", "ok", false),
        ("a > 10", "NOT (a > 5)", true),
        ("a > 5", "NOT (a > 10)", false),
        ("c > 2.5", "c < 2", true),
    ] {
        let found = refuted_by(&[condition(check)], &[condition(given)], Strength::False);
        assert_eq!(found, expected, "CHECK ({check}) where {given}");
    }
}

/// Conditions of one WHERE that no row satisfies.
#[test]
fn conditions_that_contradict_each_other() {
    for (conditions, expected) in [
        (["a = 5", "a = 6"], true),
        (["a > 5", "a < 5"], true),
        (["a > 5", "a < 7"], false),
        (["a IS NULL", "a = 5"], true),
        (["a IS NULL", "b = 'x'"], false),
        (["ok IS NOT TRUE", "ok"], true),
        (["a = 5", "a IN (6, NULL)"], true),
    ] {
        let conditions = conditions.map(condition);
        let found = refuted_by(&conditions, &conditions, Strength::NotTrue);
        assert_eq!(found, expected, "{conditions:?}");
    }
}
