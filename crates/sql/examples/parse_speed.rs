//! Prints the cost of a statement before it is bound: parsing it, against lifting its literals and
//! finding its shape. `cargo run --release --example parse_speed`

use std::hint::black_box;
use std::time::Instant;

use steppe_sql::parser::literals::Lifter;
use steppe_sql::parser::parse;

const STATEMENTS: &[(&str, &str)] = &[
    ("pgbench select", "SELECT abalance FROM pgbench_accounts WHERE aid = 1234567;"),
    (
        "pgbench update",
        "UPDATE pgbench_accounts SET abalance = abalance + -4321 WHERE aid = 1234567;",
    ),
    (
        "pgbench insert",
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
         VALUES (17, 4, 1234567, -4321, CURRENT_TIMESTAMP);",
    ),
    (
        "join",
        "SELECT o.id, c.name, sum(l.price * l.qty) FROM orders o JOIN customers c ON \
         c.id = o.customer_id LEFT JOIN lines l USING (order_id) WHERE o.day BETWEEN \
         '2024-01-01' AND '2024-12-31' AND c.country IN ('de', 'fr') LIMIT 10",
    ),
];

/// Nanoseconds a call: the least of many rounds that are short enough to run
/// undisturbed on a busy machine.
fn nanoseconds(mut step: impl FnMut()) -> f64 {
    const CALLS: u32 = 500;
    let round = || {
        let start = Instant::now();
        (0..CALLS).for_each(|_| step());
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    std::iter::repeat_with(round).take(400).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!("{:<16} {:>10} {:>10}", "statement", "lift ns", "parse ns");
    for (name, sql) in STATEMENTS {
        let mut lifter = Lifter::new();
        let lift = nanoseconds(|| assert!(lifter.lift(black_box(sql))));
        let parse = nanoseconds(|| assert!(black_box(parse(black_box(sql))).is_ok()));
        println!("{name:<16} {lift:>10.0} {parse:>10.0}");
    }
}
