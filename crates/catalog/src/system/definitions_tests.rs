//! The expected texts come from a live PostgreSQL 18 with the same objects.

use super::super::testing;
use super::*;

fn named<'c>(catalog: &'c Catalog, name: &str) -> &'c Relation {
    catalog.relation_named(PUBLIC, name).expect("made by the fixture")
}

#[test]
fn names_are_quoted_where_needed() {
    for (name, quoted) in [
        ("acc", "acc"),
        ("_x1", "_x1"),
        ("1x", "\"1x\""),
        ("Name", "\"Name\""),
        ("table", "\"table\""),
        ("name", "name"),
        ("a\"b", "\"a\"\"b\""),
        ("é", "\"é\""),
        ("", "\"\""),
    ] {
        assert_eq!(quote_identifier(name), quoted);
    }
    assert_eq!(simple_quote_literal("it's"), "'it''s'");
    assert_eq!(simple_quote_literal("a\\b"), "'a\\b'");
}

#[test]
fn indexes() {
    let catalog = testing::accounts();
    let define = |name: &str, style| {
        index_definition(&catalog, named(&catalog, name), style).expect("an index")
    };
    assert_eq!(
        define("acc_pkey", Style::PLAIN),
        "CREATE UNIQUE INDEX acc_pkey ON public.acc USING btree (id)"
    );
    assert_eq!(
        define("acc_expr", Style::PLAIN),
        "CREATE INDEX acc_expr ON public.acc USING btree (lower(note), ((a + b)) DESC, \
         b NULLS FIRST, note text_pattern_ops DESC NULLS LAST) INCLUDE (ts) \
         WHERE ((balance > (10)::numeric) AND (a IS NOT NULL))"
    );
    assert_eq!(
        define("acc_expr", Style::PRETTY),
        "CREATE INDEX acc_expr ON acc USING btree (lower(note), (a + b) DESC, \
         b NULLS FIRST, note text_pattern_ops DESC NULLS LAST) INCLUDE (ts) \
         WHERE balance > 10::numeric AND a IS NOT NULL"
    );
    assert_eq!(
        define("acc_nnd", Style::PLAIN),
        "CREATE UNIQUE INDEX acc_nnd ON public.acc USING btree (a) NULLS NOT DISTINCT \
         WITH (fillfactor='70')"
    );
}

#[test]
fn index_columns() {
    let catalog = testing::accounts();
    let index = named(&catalog, "acc_expr");
    let column = |n, style| index_column_definition(&catalog, index, n, style).expect("an index");
    assert_eq!(column(1, Style::PLAIN), "lower(note)");
    assert_eq!(column(2, Style::PLAIN), "((a + b))");
    assert_eq!(column(2, Style::PRETTY), "(a + b)");
    assert_eq!(column(3, Style::PLAIN), "b");
    assert_eq!(column(5, Style::PLAIN), "ts");
    assert_eq!(column(9, Style::PLAIN), "");
    assert_eq!(index_column_definition(&catalog, named(&catalog, "acc"), 1, Style::PLAIN), None);
}

#[test]
fn constraints() {
    let catalog = testing::accounts();
    let table = named(&catalog, "acc");
    let define = |name: &str, style| {
        let constraint = table.constraints.iter().find(|c| &*c.name == name).expect("a constraint");
        constraint_definition(&catalog, table, constraint, style)
    };
    assert_eq!(define("acc_pkey", Style::PLAIN), "PRIMARY KEY (id)");
    assert_eq!(define("acc_a_b_key", Style::PLAIN), "UNIQUE (a, b)");
    assert_eq!(define("acc_balance_check", Style::PLAIN), "CHECK ((balance > (0)::numeric))");
    assert_eq!(define("acc_balance_check", Style::PRETTY), "CHECK (balance > 0::numeric)");
    assert_eq!(define("acc_Name_not_null", Style::PLAIN), "NOT NULL \"Name\"");
    let oid = table.constraints[0].oid;
    assert_eq!(find_constraint(&catalog, oid).expect("found").0.oid, table.oid);
}

#[test]
fn views_and_names() {
    let catalog = testing::accounts();
    let view = named(&catalog, "v");
    assert_eq!(visible_name(&catalog, view, &[PUBLIC]), "v");
    assert_eq!(visible_name(&catalog, view, &[PG_CATALOG]), "public.v");
    let table = named(&catalog, "acc");
    assert_eq!(owned_sequence(&catalog, table.oid, 1).expect("serial").name.as_ref(), "acc_id_seq");
}
