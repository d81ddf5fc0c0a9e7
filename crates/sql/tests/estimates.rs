//! Row estimates are the ones of PostgreSQL 18's EXPLAIN for the same data after ANALYZE:
//!
//! ```sql
//! CREATE TABLE t (id int UNIQUE, b int);
//! INSERT INTO t SELECT i, CASE WHEN i % 10 < 5 THEN 1 WHEN i % 10 < 8 THEN 2 ELSE i END
//!     FROM generate_series(1, 9000) i;
//! CREATE TABLE u (k int UNIQUE, w int);
//! INSERT INTO u SELECT i, CASE WHEN i % 2 = 0 THEN 7 ELSE i % 40 END
//!     FROM generate_series(1, 4000) i;
//! ```

use steppe_catalog::{
    Catalog, Column, ColumnStatistics, IndexInfo, IndexKey, PG_CATALOG, PUBLIC, RelKind, Relation,
    Statistics,
};
use steppe_sql::bind::{BindContext, Params, bind_query};
use steppe_sql::planner::{PlannerContext, PlannerSettings, TableSizes, plan};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, oid};

const ROWS: i32 = 9000;
const OTHER_ROWS: i32 = 4000;

/// 101 bounds of ascending values, as ANALYZE takes them.
fn histogram(values: &[i32]) -> Vec<Datum> {
    (0..=100).map(|i| Datum::Int4(values[i * (values.len() - 1) / 100])).collect()
}

fn frequencies(common: &[(i32, f32)]) -> Vec<(Datum, f64)> {
    common.iter().map(|(value, share)| (Datum::Int4(*value), f64::from(*share))).collect()
}

fn found(distinct: f64, common: &[(i32, f32)], rest: &[i32]) -> ColumnStatistics {
    ColumnStatistics {
        width: 4,
        distinct,
        most_common: frequencies(common),
        histogram: if rest.is_empty() { Vec::new() } else { histogram(rest) },
        ..Default::default()
    }
}

/// A table of two int columns, the first unique.
fn add_table(
    catalog: &mut Catalog,
    (oid, name): (Oid, &str),
    columns: [&str; 2],
    rows: i32,
    second: ColumnStatistics,
) {
    let mut table = Relation::new(oid, PUBLIC, name, RelKind::Table);
    table.columns = columns.map(|name| Column::new(name, oid::INT4, -1)).to_vec().into();
    table.indexes = vec![oid + 1].into();
    let all: Vec<i32> = (1..=rows).collect();
    let columns = vec![found(-1.0, &[], &all), second];
    let statistics = Statistics { rows: rows.into(), pages: 50, columns, tree: Vec::new() };
    table.statistics = Some(statistics.into());
    let mut index = Relation::new(oid + 1, PUBLIC, format!("{name}_key"), RelKind::Index);
    index.index = Some(Box::new(IndexInfo {
        table: oid,
        keys: vec![IndexKey::ascending(1, oid::INT4)].into(),
        include: Default::default(),
        unique: true,
        primary: false,
        clustered: false,
        deferral: Default::default(),
        nulls_not_distinct: false,
        predicate: None,
    }));
    catalog.put_relation(index);
    catalog.put_relation(table);
}

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let rare: Vec<i32> = (1..=ROWS).filter(|i| i % 10 >= 8).collect();
    let b = found(-0.200_222_22, &[(1, 0.5), (2, 0.3)], &rare);
    add_table(&mut catalog, (20000, "t"), ["id", "b"], ROWS, b);
    let odd = (1..40).step_by(2).filter(|w| *w != 7).map(|w| (w, 0.025));
    let common: Vec<(i32, f32)> = std::iter::once((7, 0.525)).chain(odd).collect();
    add_table(&mut catalog, (20010, "u"), ["k", "w"], OTHER_ROWS, found(20.0, &common, &[]));
    catalog
}

struct Sizes;

impl TableSizes for Sizes {
    fn size(&self, relation: &Relation) -> (f64, f64) {
        let rows = if &*relation.name == "t" { ROWS } else { OTHER_ROWS };
        (rows.into(), 50.0)
    }

    fn end(&self, index: &Relation, is_last: bool) -> Option<Datum> {
        let last = if &*index.name == "t_key" { ROWS } else { OTHER_ROWS };
        Some(Datum::Int4(if is_last { last } else { 1 }))
    }
}

fn estimate(catalog: &Catalog, sql: &str) -> f64 {
    let (io, search_path) = (IoContext::default(), [PG_CATALOG, PUBLIC]);
    let mut parsed = steppe_sql::parser::parse(sql).expect("parsed");
    let statement = parsed.pop().expect("a statement").statement;
    let context = BindContext { catalog, search_path: &search_path, io: &io, source: sql };
    let bound = bind_query(&context, &statement, Params::variable(&[])).expect("bound");
    let context = PlannerContext {
        older: None,
        catalog,
        search_path: &search_path,
        settings: &PlannerSettings::default(),
        sizes: &Sizes,
        io: &io,
        interrupts: &|| Ok(()),
        may_fail: &|_| false,
        values: &[],
    };
    plan(&context, bound).expect("planned").plan.cost.rows
}

fn check(expected: &[(&str, f64)]) {
    let catalog = catalog();
    for (sql, rows) in expected {
        assert_eq!(estimate(&catalog, sql), *rows, "{sql}");
    }
}

#[test]
fn conditions() {
    check(&[
        ("SELECT * FROM t WHERE b = 1", 4500.0),
        ("SELECT * FROM t WHERE b = 8", 1.0),
        ("SELECT * FROM t WHERE b <> 1", 4500.0),
        ("SELECT * FROM t WHERE b > 1", 4500.0),
        ("SELECT * FROM t WHERE b < 2", 4500.0),
        ("SELECT * FROM t WHERE b < 1", 1.0),
        ("SELECT * FROM t WHERE b <= 4000", 8000.0),
        ("SELECT * FROM t WHERE b < 4000", 7999.0),
        ("SELECT * FROM t WHERE b >= 8989", 3.0),
        ("SELECT * FROM t WHERE b > 20000", 1.0),
        ("SELECT * FROM t WHERE b BETWEEN 100 AND 2000", 381.0),
        ("SELECT * FROM t WHERE b BETWEEN 2000 AND 100", 45.0),
        ("SELECT * FROM t WHERE b IN (1, 2, 8, 9)", 7202.0),
        ("SELECT * FROM t WHERE b NOT IN (1, 2)", 1800.0),
        ("SELECT * FROM t WHERE b = 2 OR b > 8000", 2840.0),
        ("SELECT * FROM t WHERE NOT (b = 1 OR id < 100)", 4450.0),
        ("SELECT * FROM t WHERE id = 7", 1.0),
        ("SELECT * FROM t WHERE id < 100", 99.0),
        ("SELECT * FROM t WHERE id BETWEEN 100 AND 2000", 1901.0),
        ("SELECT * FROM t WHERE b IS NULL", 1.0),
        ("SELECT * FROM t WHERE b IS NOT DISTINCT FROM 2", 2700.0),
        ("SELECT * FROM t WHERE (b, id) > (4000, 5)", 1000.0),
        ("SELECT * FROM t WHERE b = id", 45.0),
        ("SELECT * FROM t WHERE b = $1", 5.0),
        ("SELECT * FROM t WHERE id > $1", 3000.0),
        ("SELECT * FROM t WHERE id BETWEEN $1 AND $2", 45.0),
    ]);
}

#[test]
fn joins_and_groups() {
    check(&[
        ("SELECT * FROM t JOIN u ON b = w", 453_900.0),
        ("SELECT * FROM t LEFT JOIN u ON b = w AND w = 7", 238_298.0),
        ("SELECT * FROM t JOIN u ON b < w", 12_000_000.0),
        ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE w = b)", 4547.0),
        ("SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE w = b)", 4453.0),
        ("SELECT b FROM t GROUP BY b", 1802.0),
        ("SELECT b FROM t WHERE id < 100 GROUP BY b", 97.0),
        ("SELECT b, id % 3 FROM t GROUP BY 1, 2", 9000.0),
        ("SELECT * FROM (SELECT b FROM t OFFSET 0) s WHERE b = 1", 4500.0),
        ("SELECT * FROM generate_series(1, 50, 7)", 8.0),
    ]);
}
