//! The time to plan 2, 6 and 12 relations: EXPLAIN without ANALYZE from one client, with statistics
//! and indexes to consider.
//!
//! One message carries several plans, so that the round trip counts little. Each has a column name
//! of its own, so that no plan comes from the plan cache.

use std::borrow::Cow;
use std::fmt::Write;

use super::workload::{Conditions, Data, Load, Script, Section, Workload};

const RELATIONS: [u32; 3] = [2, 6, 12];
/// Plans in one message.
const TOGETHER: u32 = 10;

/// One for each number of relations.
pub(super) fn workloads() -> Vec<Workload> {
    let workload = |relations| Workload {
        name: format!("planning-{relations}"),
        title: format!("planning {relations} relations, 1 client"),
        load: Load::Pgbench {
            script: Script::Custom(Cow::Owned(script(relations))),
            mode: "simple",
            rows_per_transaction: u64::from(TOGETHER),
        },
        data: Data::Made { name: "planning", create: tables(), leaves: 0, refill: None },
        clients: 1,
        target_to_postgresql: Some(1.0),
        target_to_noop: None,
        section: Section::Planning,
        group: format!("planning-{relations}"),
        flat: None,
        conditions: Conditions::default(),
    };
    RELATIONS.into_iter().map(workload).collect()
}

/// Tables that each refer to the one before and to the first.
fn tables() -> String {
    let mut script = String::new();
    for n in 1..=RELATIONS[RELATIONS.len() - 1] {
        let rows = 200 * n;
        // Writing to a String cannot fail.
        let _ = write!(
            script,
            "CREATE TABLE plan_{n} (id integer PRIMARY KEY, before integer, first integer, \
             amount integer, name text);\n\
             INSERT INTO plan_{n} SELECT i, 1 + i % 200, 1 + i * 7 % 200, i % 50, 'name ' || i % 20 \
             FROM generate_series(1, {rows}) AS i;\n\
             CREATE INDEX ON plan_{n} (before);\n\
             CREATE INDEX ON plan_{n} (first, amount);\n\
             ANALYZE plan_{n};\n"
        );
    }
    script
}

fn script(relations: u32) -> String {
    let tables: Vec<String> = (1..=relations).map(|n| format!("plan_{n} AS p{n}")).collect();
    let mut conditions = vec![format!("p1.amount < 20 AND p{relations}.name = 'name 7'")];
    conditions.extend((2..=relations).map(|n| match n % 3 {
        0 => format!("p{n}.first = p1.id AND p{n}.amount BETWEEN 3 AND 40"),
        _ => format!("p{n}.before = p{}.id", n - 1),
    }));
    let (tables, conditions) = (tables.join(", "), conditions.join(" AND "));
    let plans: Vec<String> = (0..TOGETHER)
        .map(|n| {
            format!(
                "EXPLAIN SELECT p1.amount AS \"x:x {n}\", count(*) FROM {tables} \
                 WHERE {conditions} GROUP BY p1.amount ORDER BY 2 DESC"
            )
        })
        .collect();
    format!("\\set x random(1, 1000000000)\n{};\n", plans.join(" \\;\n"))
}
