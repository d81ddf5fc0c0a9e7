//! ATTACH PARTITION of tables whose constraints may imply the bound. The result must be the same as
//! for a table with the same rows and without constraints, which ATTACH has to read.

mod support;

use support::{Random, Raw, TestServer, sqlstate};

const CASES: u64 = 600;
/// Values of both columns. The table has every pair of them that the constraints accept.
const DOMAIN: &str = "(SELECT generate_series(-1, 9) UNION ALL SELECT NULL)";

/// A random table.
struct Case {
    key: &'static str,
    bound: String,
    not_null: [bool; 2],
    checks: Vec<String>,
}

fn value(random: &mut Random) -> String {
    random.below(8).to_string()
}

/// A condition about one column, or several of them.
fn condition(random: &mut Random, depth: u32) -> String {
    if depth > 0 && random.below(2) == 0 {
        let (left, right) = (condition(random, depth - 1), condition(random, depth - 1));
        return match random.below(5) {
            0 => format!("({left} OR {right})"),
            1 => format!("NOT ({left} OR {right})"),
            _ => format!("({left} AND {right})"),
        };
    }
    let column = ["a", "a", "b"][random.below(3) as usize];
    let (x, y) = (value(random), value(random));
    match random.below(9) {
        0 => format!("{column} = {x}"),
        1 => format!("{column} <> {x}"),
        2 => format!("{column} < {x}"),
        3 => format!("{column} > {x}"),
        4 => format!("{x} <= {column}"),
        5 => format!("{column} BETWEEN {x} AND {y}"),
        6 => format!("{column} IN ({x}, {y})"),
        7 => format!("{column} IN ({x}, NULL)"),
        _ => format!("{column} IS {}NULL", ["", "NOT "][random.below(2) as usize]),
    }
}

/// One side of a bound of `columns` columns.
fn side(random: &mut Random, columns: u64, infinite: &str, from: u64) -> String {
    if random.below(4) == 0 {
        return vec![infinite; columns as usize].join(", ");
    }
    (0..columns).map(|_| (from + random.below(4)).to_string()).collect::<Vec<_>>().join(", ")
}

impl Case {
    fn new(random: &mut Random) -> Case {
        let kind = random.below(3);
        let key = ["RANGE (a)", "RANGE (a, b)", "LIST (a)"][kind as usize];
        let bound = match kind {
            2 => {
                let null = ["", ", NULL"][random.below(2) as usize];
                format!("IN ({}, {}, {}{null})", value(random), value(random), value(random))
            }
            _ => {
                let lower = side(random, kind + 1, "MINVALUE", 0);
                let upper = side(random, kind + 1, "MAXVALUE", 4);
                format!("FROM ({lower}) TO ({upper})")
            }
        };
        let checks = (0..1 + random.below(2)).map(|_| condition(random, 2)).collect();
        let not_null = [random.below(4) > 0, random.below(2) > 0];
        Case { key, bound, not_null, checks }
    }

    /// The statements that make a partitioned table, a table with constraints and rows, and one
    /// like it without constraints. Then the statements that attach them.
    fn statements(&self, n: u64) -> (Vec<String>, String, String) {
        let mark = |at: usize| ["", " NOT NULL"][usize::from(self.not_null[at])];
        let checks: Vec<String> = self.checks.iter().map(|c| format!(", CHECK ({c})")).collect();
        let mut lets_in: Vec<String> =
            self.checks.iter().map(|c| format!("({c}) IS NOT FALSE")).collect();
        let marked = ["a", "b"].into_iter().zip(self.not_null).filter(|(_, marked)| *marked);
        lets_in.extend(marked.map(|(column, _)| format!("{column} IS NOT NULL")));
        let made = vec![
            format!("CREATE TABLE p{n} (a int, b int) PARTITION BY {}", self.key),
            format!("CREATE TABLE q{n} (a int, b int) PARTITION BY {}", self.key),
            format!("CREATE TABLE t{n} (a int{}, b int{}{})", mark(0), mark(1), checks.concat()),
            format!(
                "INSERT INTO t{n} SELECT a, b FROM {DOMAIN} x(a), {DOMAIN} y(b) WHERE {}",
                lets_in.join(" AND ")
            ),
            format!("CREATE TABLE u{n} AS SELECT * FROM t{n}"),
        ];
        let attach = |parent, table| {
            format!("ALTER TABLE {parent}{n} ATTACH PARTITION {table}{n} FOR VALUES {}", self.bound)
        };
        (made, attach("p", "t"), attach("q", "u"))
    }
}

/// Runs a statement. Returns its SQLSTATE if it fails, and whether the constraints implied the
/// bound.
fn outcome(client: &mut Raw, statement: &str) -> (Option<String>, bool) {
    let messages = client.query(statement);
    let implied = messages.iter().any(|message| {
        message.tag == b'N'
            && message.field(b'M').is_some_and(|text| text.contains("is implied by"))
    });
    (sqlstate(&messages), implied)
}

#[test]
fn constraints_are_enough_only_where_no_row_is_outside() {
    let server = TestServer::start_with(&[("synchronous_commit", "off")]);
    let mut client = server.raw();
    let _ = client.query("SET client_min_messages = debug1");
    let mut random = Random(11);
    let (mut implied, mut refused) = (0, 0);
    for n in 0..CASES {
        let case = Case::new(&mut random);
        let (made, attach, attach_unmarked) = case.statements(n);
        for statement in &made {
            assert_eq!(outcome(&mut client, statement).0, None, "{statement}");
        }
        let (expected, from_nothing) = outcome(&mut client, &attach_unmarked);
        assert!(!from_nothing, "{attach_unmarked}");
        let (found, by_constraints) = outcome(&mut client, &attach);
        assert_eq!(found, expected, "case {n}: {}; {attach}", made[2]);
        implied += usize::from(by_constraints);
        refused += usize::from(found.is_some());
    }
    println!("{implied} of {CASES} were not read, {refused} were refused");
    assert!(implied > 30 && refused > 100, "{implied} implied, {refused} refused");
}
