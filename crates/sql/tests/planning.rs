//! From text to plan over a small schema: valid statements are planned, and others are refused with
//! PostgreSQL's SQLSTATE and message.

use steppe_catalog::{
    Catalog, Column, Constraint, ConstraintKind, IndexInfo, IndexKey, PG_CATALOG, PUBLIC, RelKind,
    Relation,
};
use steppe_sql::ast::Statement;
use steppe_sql::bind::{BindContext, Params, bind_query};
use steppe_sql::plan::{Plan, PlanNode, PlannedStmt};
use steppe_sql::planner::{PlannerContext, PlannerSettings, TableSizes, plan};
use steppe_types::io::IoContext;
use steppe_types::{Error, Result, oid};

/// Table `t(a int primary key, b text, c numeric(10,2))`, index on b; table `u(x int, y text)`.
fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let mut t = Relation::new(20000, PUBLIC, "t", RelKind::Table);
    t.columns = vec![
        Column::new("a", oid::INT4, -1),
        Column::new("b", oid::TEXT, -1),
        Column::new("c", oid::NUMERIC, (10 << 16 | 2) + 4),
    ]
    .into();
    t.columns[0].not_null = true;
    t.indexes = vec![20001, 20002].into();
    let key = ConstraintKind::Primary { index: 20001 };
    t.constraints = vec![Constraint::new(20003, "t_pkey", key, vec![1])];
    for (index, name, attnum, type_oid, primary) in
        [(20001, "t_pkey", 1, oid::INT4, true), (20002, "t_b_idx", 2, oid::TEXT, false)]
    {
        let mut relation = Relation::new(index, PUBLIC, name, RelKind::Index);
        relation.index = Some(Box::new(IndexInfo {
            table: 20000,
            keys: vec![IndexKey::ascending(attnum, type_oid)].into(),
            include: Default::default(),
            unique: primary,
            primary,
            clustered: false,
            deferral: Default::default(),
            nulls_not_distinct: false,
            predicate: None,
        }));
        catalog.put_relation(relation);
    }
    catalog.put_relation(t);
    let mut u = Relation::new(20010, PUBLIC, "u", RelKind::Table);
    u.columns = vec![Column::new("x", oid::INT4, -1), Column::new("y", oid::TEXT, -1)].into();
    catalog.put_relation(u);
    catalog
}

struct Sizes;

impl TableSizes for Sizes {
    fn size(&self, relation: &Relation) -> (f64, f64) {
        if &*relation.name == "t" { (100_000.0, 1_000.0) } else { (100.0, 1.0) }
    }
}

fn planned(sql: &str) -> Result<PlannedStmt> {
    let catalog = catalog();
    let io = IoContext::default();
    let search_path = [PG_CATALOG, PUBLIC];
    let mut statements = steppe_sql::parser::parse(sql)?;
    let statement: Statement =
        statements.pop().ok_or_else(|| Error::internal("no statement"))?.statement;
    let ctx = BindContext { catalog: &catalog, search_path: &search_path, io: &io, source: sql };
    let bound = bind_query(&ctx, &statement, Params::variable(&[]))?;
    let settings = PlannerSettings::default();
    let ctx = PlannerContext {
        older: None,
        catalog: &catalog,
        search_path: &search_path,
        settings: &settings,
        sizes: &Sizes,
        io: &io,
        interrupts: &|| Ok(()),
        may_fail: &|_| false,
        values: &[],
    };
    plan(&ctx, bound)
}

fn ok(sql: &str) -> PlannedStmt {
    planned(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

#[test]
fn statements_of_all_shapes_are_planned() {
    for sql in [
        "SELECT 1",
        "SELECT 1 + 2 * 3 AS x, 'a' || 'b', NULL, now(), CURRENT_DATE",
        "SELECT * FROM t",
        "SELECT t.*, u.x FROM t, u WHERE t.a = u.x",
        "SELECT a, count(*), sum(c), avg(a) FROM t GROUP BY a HAVING count(*) > 1 ORDER BY 2 DESC",
        "SELECT b, a FROM t GROUP BY a",
        "SELECT DISTINCT b FROM t ORDER BY b LIMIT 10 OFFSET 5",
        "SELECT DISTINCT ON (b) b, a FROM t ORDER BY b, a DESC",
        "SELECT * FROM t LEFT JOIN u ON t.a = u.x AND u.y = 'k' WHERE t.b IS NOT NULL",
        "SELECT * FROM t RIGHT JOIN u ON t.a = u.x",
        "SELECT * FROM t FULL JOIN u ON t.a = u.x",
        "SELECT * FROM t CROSS JOIN u",
        "SELECT * FROM u u1 JOIN u u2 USING (x)",
        "SELECT * FROM u NATURAL JOIN (SELECT 1 AS x) s",
        "SELECT * FROM t WHERE a IN (1, 2, 3)",
        "SELECT * FROM t WHERE a IN (SELECT x FROM u)",
        "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.a)",
        "SELECT (SELECT max(x) FROM u WHERE u.y = t.b) FROM t",
        "SELECT ARRAY(SELECT x FROM u), ARRAY[1,2,3], ARRAY[[1],[2]]",
        "SELECT * FROM t WHERE (a, b) < (1, 'x') OR (a, b) = (2, 'y')",
        "SELECT CASE WHEN a > 1 THEN 'x' ELSE b END FROM t",
        "SELECT CASE a WHEN 1 THEN 2 WHEN 2 THEN 3 END FROM t",
        "SELECT coalesce(b, 'none'), nullif(a, 0), greatest(a, 3), least(a, 4.5) FROM t",
        "SELECT a::text, b::varchar(3), c::int, '12'::int, '2020-01-01'::date FROM t",
        "SELECT generate_series(1, 10)",
        "SELECT * FROM generate_series(1, 10) g WHERE g > 5",
        "SELECT * FROM generate_series(1, 10) WITH ORDINALITY AS g(v, n)",
        "SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.x = t.a) s",
        "SELECT * FROM u, generate_series(1, u.x) g",
        "VALUES (1, 'a'), (2, 'b') ORDER BY 1",
        "SELECT a FROM t UNION SELECT x FROM u ORDER BY 1",
        "SELECT a FROM t UNION ALL SELECT x FROM u UNION ALL SELECT 3",
        "SELECT a FROM t INTERSECT SELECT x FROM u",
        "SELECT a FROM t EXCEPT ALL SELECT x FROM u",
        "WITH w AS (SELECT a FROM t) SELECT * FROM w JOIN w w2 USING (a)",
        "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
        "SELECT * FROM t ORDER BY a LIMIT 5",
        "SELECT * FROM t WHERE a = 5 FOR UPDATE",
        "SELECT a FROM t ORDER BY b FOR UPDATE SKIP LOCKED LIMIT 1",
        "SELECT * FROM (SELECT a, count(*) AS n FROM t GROUP BY a) s WHERE n > 1",
        "SELECT count(DISTINCT b), string_agg(b, ',' ORDER BY b), sum(a) FILTER (WHERE a > 1) FROM t",
        "SELECT extract(year FROM now()), substring('abc' FROM 2 FOR 1), trim(both 'x' FROM 'xax')",
        "SELECT b LIKE 'a%', b ~ '^a', b ILIKE 'A_', b SIMILAR TO 'a' FROM t",
        "SELECT a BETWEEN 1 AND 10, a NOT BETWEEN SYMMETRIC 10 AND 1 FROM t",
        "SELECT a IS DISTINCT FROM 1, b IS NULL, (a > 1) IS TRUE FROM t",
        "SELECT $1::int + 1, $2 || 'x'",
        "INSERT INTO t VALUES (1, 'x', 2.5), (2, DEFAULT, NULL)",
        "INSERT INTO t (b, a) SELECT y, x FROM u RETURNING *",
        "INSERT INTO t DEFAULT VALUES",
        "INSERT INTO t VALUES ($1, $2, $3) ON CONFLICT (a) DO UPDATE SET b = excluded.b WHERE t.a > 0",
        "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        "UPDATE t SET b = b || 'x', c = DEFAULT WHERE a = 1 RETURNING a, b",
        "UPDATE t SET (b, c) = ('x', 1) FROM u WHERE u.x = t.a",
        "DELETE FROM t WHERE a > 5",
        "DELETE FROM t USING u WHERE t.a = u.x RETURNING t.*, u.y",
        "SELECT a, sum(a) OVER w, rank() OVER (w ORDER BY b) FROM t WINDOW w AS (PARTITION BY c)",
        "SELECT a, b, count(*), grouping(a) FROM t GROUP BY ROLLUP (a, b)",
        "SELECT generate_series(1, generate_series(1, a)) + 1 FROM t ORDER BY b",
        "WITH w AS (DELETE FROM t RETURNING a) SELECT * FROM w",
        "SELECT * FROM t FULL JOIN u ON true",
        "SELECT max(a), min(a) FROM t",
        "SELECT t.b FROM t JOIN u ON u.x = t.a ORDER BY t.a LIMIT 3",
        "SELECT * FROM (SELECT b, sum(a) OVER (PARTITION BY b) FROM t) AS s WHERE b = 'x'",
        "SELECT * FROM (SELECT a FROM t UNION SELECT x FROM u) AS s WHERE a = 1",
        "SELECT ctid, xmin, tableoid FROM t",
        "SELECT t FROM t",
        "SELECT 't'::regclass",
    ] {
        ok(sql);
    }
}

#[test]
fn unresolvable_statements_answer_as_postgresql() {
    for (sql, state, message) in [
        ("SELECT * FROM nope", "42P01", "relation \"nope\" does not exist"),
        ("SELECT nope FROM t", "42703", "column \"nope\" does not exist"),
        ("SELECT t.nope FROM t", "42703", "column t.nope does not exist"),
        ("SELECT x.a FROM t", "42P01", "missing FROM-clause entry for table \"x\""),
        ("SELECT a FROM t, t", "42712", "table name \"t\" specified more than once"),
        ("SELECT x FROM u u1, u u2", "42702", "column reference \"x\" is ambiguous"),
        ("SELECT nope(1)", "42883", "function nope(integer) does not exist"),
        ("SELECT 1 + 'x'::text", "42883", "operator does not exist: integer + text"),
        ("SELECT 'x'::int", "22P02", "invalid input syntax for type integer: \"x\""),
        (
            "SELECT a, count(*) FROM t GROUP BY b",
            "42803",
            "column \"t.a\" must appear in the GROUP BY clause or be used in an aggregate function",
        ),
        ("SELECT count(count(*)) FROM t", "42803", "aggregate function calls cannot be nested"),
        (
            "SELECT a FROM t WHERE count(*) > 1",
            "42803",
            "aggregate functions are not allowed in WHERE",
        ),
        (
            "SELECT a FROM t UNION SELECT y FROM u",
            "42804",
            "UNION types integer and text cannot be matched",
        ),
        (
            "SELECT 1 UNION SELECT 1, 2",
            "42601",
            "each UNION query must have the same number of columns",
        ),
        (
            "SELECT CASE WHEN true THEN 1 ELSE now() END",
            "42804",
            "CASE types timestamp with time zone and integer cannot be matched",
        ),
        ("SELECT a FROM t ORDER BY 3", "42P10", "ORDER BY position 3 is not in select list"),
        (
            "SELECT * FROM t WHERE a",
            "42804",
            "argument of WHERE must be type boolean, not type integer",
        ),
        (
            "INSERT INTO t VALUES (1, 2, 3, 4)",
            "42601",
            "INSERT has more expressions than target columns",
        ),
        ("INSERT INTO t (a, a) VALUES (1, 2)", "42701", "column \"a\" specified more than once"),
        (
            "INSERT INTO t (nope) VALUES (1)",
            "42703",
            "column \"nope\" of relation \"t\" does not exist",
        ),
        (
            "INSERT INTO t VALUES (now())",
            "42804",
            "column \"a\" is of type integer but expression is of type timestamp with time zone",
        ),
        ("UPDATE t SET a = 1, a = 2", "42601", "multiple assignments to same column \"a\""),
        ("SELECT * FROM t LIMIT a", "42P10", "argument of LIMIT must not contain variables"),
        ("SELECT rank() FROM t", "42809", "window function rank requires an OVER clause"),
        (
            "SELECT a FROM t WHERE rank() OVER () = 1",
            "42P20",
            "window functions are not allowed in WHERE",
        ),
        ("SELECT sum(a) OVER w FROM t", "42704", "window \"w\" does not exist"),
        (
            "SELECT CASE WHEN true THEN generate_series(1, 2) END",
            "0A000",
            "set-returning functions are not allowed in CASE",
        ),
        (
            "SELECT * FROM t FULL JOIN u ON t.a < u.x",
            "0A000",
            "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions",
        ),
    ] {
        let error = planned(sql).err().unwrap_or_else(|| panic!("{sql}: was accepted"));
        assert_eq!((error.sqlstate().as_str(), error.message()), (state, message), "{sql}");
    }
}

/// The scan at the bottom of a chain of single-child nodes.
fn scan(plan: &Plan) -> &PlanNode {
    match &plan.node {
        PlanNode::Limit { child, .. } | PlanNode::Sort { child, .. } => scan(child),
        PlanNode::Modify(modify) => scan(&modify.child),
        node => node,
    }
}

#[test]
fn a_unique_key_is_looked_up_in_its_index() {
    for sql in [
        "SELECT b FROM t WHERE a = 7",
        "UPDATE t SET b = 'x' WHERE a = $1",
        "DELETE FROM t WHERE 7 = a",
    ] {
        let stmt = ok(sql);
        let PlanNode::IndexScan { index, range, .. } = scan(&stmt.plan) else {
            panic!("{sql}: {:?}", stmt.plan.node)
        };
        assert_eq!((&*index.name, range.keys.len()), ("t_pkey", 1), "{sql}");
    }
}

#[test]
fn a_column_set_to_itself_is_not_assigned() {
    let assigned = |sql: &str| match ok(sql).plan.node {
        PlanNode::Modify(modify) => modify.assignments.iter().map(|(c, _)| *c).collect::<Vec<_>>(),
        _ => panic!("{sql} changes rows"),
    };
    assert_eq!(assigned("update t set a = a, b = 'x' where a = 1"), [1]);
    assert_eq!(assigned("update t set a = t.a, b = b where a = 1"), [0, 1]);
    assert_eq!(assigned("update t set a = x, b = b from u where a = x"), [0]);
    assert_eq!(assigned("update t set a = a + 0, b = b where a = 1"), [0]);
}

#[test]
fn an_index_saves_the_sort_under_a_limit() {
    let stmt = ok("SELECT * FROM t ORDER BY a DESC LIMIT 3");
    assert!(matches!(scan(&stmt.plan), PlanNode::IndexScan { backward: true, .. }));
    let PlanNode::Limit { child, .. } = &stmt.plan.node else { panic!("no Limit on top") };
    assert!(!matches!(child.node, PlanNode::Sort { .. }), "sorted although the index orders");
}

#[test]
fn parameters_get_the_type_of_their_place() {
    let stmt = ok("SELECT * FROM t WHERE a = $1 AND b = $2 AND c > $3");
    assert_eq!(stmt.param_types, [oid::INT4, oid::TEXT, oid::NUMERIC]);
    assert_eq!(ok("SELECT $1").param_types, [oid::TEXT], "a lone parameter is text");
}

/// The number of occurrences of a text constant in a plan's expressions.
fn mentions(stmt: &PlannedStmt, text: &str) -> usize {
    format!("{:?}", stmt.plan).matches(&format!("Text(\"{text}\")")).count()
}

#[test]
fn no_condition_is_lost_among_outer_joins() {
    for sql in [
        "SELECT * FROM t LEFT JOIN u u1 ON t.a = u1.x LEFT JOIN u u2 ON t.a = u2.x WHERE u1.y <> 'keep'",
        "SELECT * FROM t LEFT JOIN u u1 ON t.a = u1.x WHERE u1.y <> 'keep' AND t.b = 'x'",
        "SELECT * FROM t JOIN u u1 ON t.a = u1.x LEFT JOIN u u2 ON u1.x = u2.x WHERE u2.y <> 'keep'",
        "SELECT * FROM u u1 RIGHT JOIN t ON t.a = u1.x WHERE u1.y <> 'keep'",
        "SELECT * FROM u u1 FULL JOIN t ON t.a = u1.x WHERE u1.y <> 'keep'",
        "SELECT * FROM t LEFT JOIN (u u1 LEFT JOIN u u2 ON u1.x = u2.x) ON t.a = u1.x WHERE u2.y <> 'keep'",
        "SELECT * FROM u, t LEFT JOIN u u1 ON t.a = u1.x WHERE u1.y <> 'keep' AND u.x = t.a",
    ] {
        assert_eq!(mentions(&ok(sql), "keep"), 1, "{sql}");
    }
}

/// Whether rows are aggregated before they are joined.
fn is_eager(sql: &str) -> bool {
    let plan = format!("{:?}", ok(sql).plan);
    let modes = ["mode: Partial", "mode: Finalize"].map(|mode| plan.contains(mode));
    assert_eq!(modes[0], modes[1], "{sql}");
    modes[0]
}

#[test]
fn rows_are_aggregated_before_joins_that_leave_it_so() {
    for sql in [
        "SELECT y, count(*) FROM t JOIN u ON b = y GROUP BY y",
        "SELECT y, sum(c), max(c), min(b) FROM t JOIN u ON b = y GROUP BY y HAVING count(*) > 3",
        "SELECT count(*), sum(c * c - 1) FROM t JOIN u ON b = y",
        "SELECT y, sum(c) FILTER (WHERE b > 'x') FROM t LEFT JOIN u ON b = y GROUP BY y",
        "SELECT y, count(*) FROM u RIGHT JOIN t ON b = y GROUP BY y",
        // A column's modifier puts numerics into one form.
        "SELECT y, c, count(*) FROM t JOIN u ON b = y GROUP BY y, c",
        "SELECT y, count(c) FROM t JOIN u ON b = y WHERE x > 3 GROUP BY y ORDER BY y",
    ] {
        assert!(is_eager(sql), "{sql}");
    }
}

#[test]
fn rows_are_joined_first_where_that_is_another_answer_or_dearer() {
    for sql in [
        // Padded rows count.
        "SELECT y, count(*) FROM u LEFT JOIN t ON b = y GROUP BY y",
        "SELECT y, count(*) FROM u FULL JOIN t ON b = y GROUP BY y",
        // Equal numerics may not be the same.
        "SELECT y, max(c * c) FROM t JOIN u ON b = y GROUP BY y",
        // Floats are rounded, and values come in an order.
        "SELECT y, sum(c::float8) FROM t JOIN u ON b = y GROUP BY y",
        "SELECT y, count(DISTINCT c) FROM t JOIN u ON b = y GROUP BY y",
        "SELECT y, string_agg(b, ',') FROM t JOIN u ON b = y GROUP BY y",
        // What fails, or is volatile.
        "SELECT y, sum(1 / a) FROM t JOIN u ON b = y GROUP BY y",
        "SELECT y, sum(random()) FROM t JOIN u ON b = y GROUP BY y",
        "SELECT y, count(*) FROM t JOIN u ON b = y AND random() < 0.5 GROUP BY y",
        // Both sides' columns.
        "SELECT y, sum(c), sum(x) FROM t JOIN u ON b = y GROUP BY y",
        // Each row is a group.
        "SELECT y, count(b) FROM t JOIN u ON a = x GROUP BY y",
        // Sets of groups.
        "SELECT y, count(*) FROM t JOIN u ON b = y GROUP BY ROLLUP (y)",
    ] {
        assert!(!is_eager(sql), "{sql}");
    }
}
