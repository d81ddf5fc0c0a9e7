//! The time at which expressions may be evaluated: constants that fail, in places that a row may
//! never reach.
//!
//! Expressions are random over constants (some of which fail, each with a SQLSTATE of its own),
//! NULLs, parameters and columns; queries over tables without rows and with some. A constant must
//! fail on both servers or on neither, and with the same SQLSTATE if several could fail. Only
//! constants fail: a failure that depended on a row would depend on the plan. All rows of a table
//! are equal, so that it does not matter which of them a LIMIT leaves.
//!
//! Mostly the constants of a statement fail in the same way, so that their order does not matter.
//! In simpler statements they fail in several ways, and it does.
//!
//! About one statement of 2,000 differs for two known reasons. Steppe folds conditions before
//! sub-selects become joins (a constant beside `x IN (SELECT …)` leaves that out). And a plan
//! shared with other literals may evaluate at run time, where there is a row, what PostgreSQL has
//! folded. So the tests have a seed of their own.
//!
//! Some statements are sent alone, others after another one in the same message, with EXPLAIN (only
//! its error counts), or in a block that is rolled back. Others are prepared and executed with
//! several lists of parameters, under a random plan_cache_mode.

use tokio_postgres::Client;

use super::answer::{Answer, ask};
use super::{Failure, Options, Report, throw_switches};
use steppe_vfs::SeededRandom;

/// The tables: none, one and three rows.
const SCHEMA: &str = "DROP TABLE IF EXISTS none, one, three; \
    CREATE TABLE none (a integer, b integer); CREATE TABLE one (a integer, b integer); \
    CREATE TABLE three (a integer, b integer); INSERT INTO one VALUES (1, NULL); \
    INSERT INTO three VALUES (2, 0), (2, 0), (2, 0)";
const TABLES: &[&str] = &["none", "none", "one", "three"];

/// Constants that fail: 22012, 2201F, 22003, 22P02 and 22023 or 54000.
const FAILING: &[&str] =
    &["1 / 0", "sqrt(-1)::integer", "(2147483647 + 1)", "'x'::text::integer", "ascii(chr(-1))"];
/// Executions of a prepared statement: PostgreSQL begins to compare costs after five.
const EXECUTIONS: u64 = 5;

/// Compares statement after statement.
pub(super) async fn compare_all(
    options: &Options,
    (steppe, postgres): (&Client, &Client),
    report: &mut impl FnMut(&str),
) -> Result<Report, Failure> {
    let mut total = Report::default();
    steppe.batch_execute(SCHEMA).await?;
    postgres.batch_execute(SCHEMA).await?;
    for number in 0..options.statements.unwrap_or(u64::MAX) {
        let random = SeededRandom::new(options.seed.wrapping_add(number.wrapping_mul(0x9E37)));
        let setting = throw_switches(&random);
        let texts = Generator {
            random,
            aliases: 0,
            scope: Vec::new(),
            params: None,
            failing: None,
            may_fail: true,
            has_nulls: true,
        }
        .texts();
        steppe.batch_execute(&setting).await?;
        let mut agree = true;
        for text in &texts {
            if !agree {
                // The remaining texts would only differ as a consequence. The block is ended.
                steppe.batch_execute("ROLLBACK").await?;
                postgres.batch_execute("ROLLBACK").await?;
                break;
            }
            let ours = comparable(text, ask(steppe, text).await?);
            let theirs = comparable(text, ask(postgres, text).await?);
            match (&ours, &theirs) {
                (Answer::Error(code, _), _) | (_, Answer::Error(code, _)) if code == "57014" => {
                    total.slow += 1;
                }
                (Answer::Error(code, message), _) if code == "0A000" => {
                    total.unsupported += 1;
                    report(&format!("not supported: {message}\n    {text}"));
                }
                _ if !ours.agrees(&theirs) => {
                    agree = false;
                    total.different += 1;
                    report(&format!(
                        "DIFFERENT, --seed {} statement {number}:\n    {}\n    with {setting}\n    \
                         Steppe:     {}\n    PostgreSQL: {}",
                        options.seed,
                        texts.join(";\n    "),
                        ours.shown(),
                        theirs.shown()
                    ));
                }
                (Answer::Error(..), _) => total.refused += 1,
                _ => total.equal += 1,
            }
        }
    }
    Ok(total)
}

/// The part of an answer that is compared: the text of a plan is left out.
fn comparable(text: &str, answer: Answer) -> Answer {
    match answer {
        Answer::Rows(_) if text.starts_with("EXPLAIN") => Answer::Rows(Vec::new()),
        other => other.sorted(),
    }
}

/// The use of parameters in a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Params {
    /// Anything.
    Any,
    /// Only where no value makes an expression fail: with a generic plan, the failure would depend
    /// on the rows.
    Harmless,
}

struct Generator {
    random: SeededRandom,
    aliases: u32,
    /// Aliases that expressions may name, innermost last.
    scope: Vec<String>,
    /// `$1` and `$2` may occur.
    params: Option<Params>,
    /// The one constant that fails; `None` stands for any of [`FAILING`].
    failing: Option<&'static str>,
    /// Constants may fail where the generator is.
    may_fail: bool,
    /// NULL may occur. Then a sub-select in FROM has no columns that fail: whether an expression
    /// with a NULL needs its other operands is decided before such columns are put into it.
    has_nulls: bool,
}

impl Generator {
    fn chance(&self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    fn pick(&self, choices: &[&'static str]) -> &'static str {
        choices[self.random.below(choices.len() as u64) as usize]
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    /// The messages to send, in order.
    fn texts(&mut self) -> Vec<String> {
        let is_simple = self.chance(30);
        let depth = if is_simple { 0 } else { 1 };
        self.has_nulls = self.chance(60);
        if !is_simple {
            self.failing = Some(self.pick(FAILING));
        }
        match self.random.below(10) {
            0 => vec![format!("SELECT 7; {}", self.query(depth))],
            1 => vec![format!("EXPLAIN (COSTS OFF) {}", self.query(depth))],
            2 => vec![format!("BEGIN; {}; ROLLBACK", self.change(depth)), "ROLLBACK".into()],
            3 | 4 => self.prepared(depth),
            _ => vec![self.query(depth)],
        }
    }

    /// A prepared statement and its executions.
    fn prepared(&mut self, depth: u32) -> Vec<String> {
        let mode = self.pick(&["auto", "force_custom_plan", "force_generic_plan"]);
        let is_generic = mode == "force_generic_plan";
        self.params = Some(if is_generic { Params::Harmless } else { Params::Any });
        let query = self.query(depth);
        let mut texts = vec![
            "DEALLOCATE ALL".to_owned(),
            format!("SET plan_cache_mode = {mode}"),
            format!("PREPARE p (integer, integer) AS {query}"),
        ];
        for _ in 0..1 + self.random.below(EXECUTIONS) {
            let explain = if self.chance(10) { "EXPLAIN (COSTS OFF) " } else { "" };
            let value = |g: &Generator| g.pick(&["0", "1", "2", "NULL"]).to_owned();
            texts.push(format!("{explain}EXECUTE p ({}, {})", value(self), value(self)));
        }
        texts
    }

    /// Whether a division, which may fail, is in place.
    fn may_divide(&self) -> bool {
        let is_alike = self.failing.is_none_or(|one| one == FAILING[0]);
        self.params != Some(Params::Harmless) && self.may_fail && is_alike
    }

    /// An integer of constants and parameters.
    fn constant(&mut self, size: u32) -> String {
        if size == 0 || self.chance(30) {
            return match self.params {
                Some(_) if self.chance(40) => self.pick(&["$1", "$2"]).to_owned(),
                _ if self.may_fail && self.chance(14) => match self.failing {
                    Some(failing) => failing.to_owned(),
                    None => self.pick(FAILING).to_owned(),
                },
                _ if self.has_nulls && self.chance(25) => "NULL::integer".to_owned(),
                _ => self.pick(&["0", "1", "2"]).to_owned(),
            };
        }
        let size = size - 1;
        let (one, other) = (self.constant(size), self.constant(size));
        match self.random.below(9) {
            0 if self.may_divide() => format!("({one} / {other})"),
            0 | 1 => format!("({one} + {other})"),
            2 => format!("coalesce({one}, {other}, {})", self.constant(size)),
            3 => format!("nullif({one}, {other})"),
            4 => format!("greatest({one}, {other})"),
            5 => format!("(ARRAY[{one}, {other}])[{}]", self.constant(0)),
            6 => format!("abs({one})"),
            7 => format!("CASE {} WHEN {one} THEN {other} ELSE 2 END", self.constant(size)),
            _ => format!("CASE WHEN {} THEN {one} ELSE {other} END", self.truth(size)),
        }
    }

    /// A boolean of constants and parameters.
    fn truth(&mut self, size: u32) -> String {
        if size > 0 && self.chance(50) {
            let (one, other) = (self.truth(size - 1), self.truth(size - 1));
            let operator = self.pick(&["AND", "OR", "AND", "OR", "IS DISTINCT FROM", "="]);
            return format!("({one} {operator} {other})");
        }
        match self.random.below(6) {
            0 => self.pick(&["true", "false", "NULL::boolean"]).to_owned(),
            1 => format!("({} IS NULL)", self.constant(size)),
            2 => format!("(NOT {})", self.pick(&["true", "false"])),
            _ => format!("({} {} {})", self.constant(size), self.comparison(), self.constant(0)),
        }
    }

    fn comparison(&self) -> &'static str {
        self.pick(&["=", "<>", "<=", ">"])
    }

    fn column(&self) -> String {
        let Some(last) = self.scope.len().checked_sub(1) else { return "1".into() };
        let near = last.saturating_sub(self.random.below(3) as usize);
        format!("{}.{}", self.scope[near], self.pick(&["a", "b"]))
    }

    fn integer(&mut self, size: u32, depth: u32) -> String {
        if size == 0 || self.chance(35) {
            return if self.chance(60) { self.column() } else { self.constant(1) };
        }
        let size = size - 1;
        match self.random.below(9) {
            0 | 1 => self.constant(size + 1),
            2 => format!("({} + {})", self.integer(size, depth), self.integer(size, depth)),
            3 => format!("coalesce({}, {})", self.integer(size, depth), self.integer(size, depth)),
            4 => format!("nullif({}, {})", self.integer(size, depth), self.integer(size, depth)),
            5 => format!("greatest({}, {})", self.integer(size, depth), self.constant(size)),
            6 if depth > 0 => {
                format!("({} LIMIT 1)", self.plain(1, depth - 1))
            }
            _ => format!(
                "CASE WHEN {} THEN {} WHEN {} THEN {} END",
                self.boolean(size, depth),
                self.integer(size, depth),
                self.boolean(size, 0),
                self.integer(size, depth)
            ),
        }
    }

    fn boolean(&mut self, size: u32, depth: u32) -> String {
        if size > 0 && self.chance(45) {
            let (one, other) = (self.boolean(size - 1, depth), self.boolean(size - 1, depth));
            return match self.random.below(5) {
                0 => format!("(NOT {one})"),
                1 | 2 => format!("({one} OR {other})"),
                _ => format!("({one} AND {other})"),
            };
        }
        match self.random.below(10) {
            0 | 1 => self.truth(1),
            2 => "(random() < 2)".into(),
            3 => format!("({} IN ({}, {}))", self.column(), self.constant(1), self.constant(0)),
            4 => format!("({} IS NULL)", self.integer(1, 0)),
            5 if depth > 0 => format!("EXISTS ({})", self.uncorrelated(depth - 1)),
            6 if depth > 0 => format!("({} IN ({}))", self.column(), self.uncorrelated(depth - 1)),
            _ => format!("({} {} {})", self.integer(1, depth), self.comparison(), self.column()),
        }
    }

    /// A statement that gives rows.
    fn query(&mut self, depth: u32) -> String {
        let columns = 1 + self.random.below(2) as usize;
        match self.random.below(14) {
            0 if depth > 0 => {
                let (one, other) = (self.plain(columns, depth), self.plain(columns, depth));
                format!("{one} UNION ALL {other}")
            }
            1 => format!("VALUES ({}), ({})", self.constant(2), self.constant(1)),
            2 | 3 => self.grouped(depth),
            4 => {
                let (target, table) = (self.constant(2), self.pick(TABLES));
                let (limit, offset) = (self.constant(1), self.constant(1));
                format!("SELECT {target} FROM {table} LIMIT {limit} OFFSET {offset}")
            }
            5 if depth > 0 => {
                let with = format!("WITH c AS MATERIALIZED ({})", self.columns());
                self.scope = vec!["c".into()];
                let target = self.integer(1, 0);
                self.scope.clear();
                format!("{with} SELECT {target} FROM c")
            }
            _ => self.plain(columns, depth),
        }
    }

    /// A SELECT of `columns` columns.
    fn plain(&mut self, columns: usize, depth: u32) -> String {
        let outside = self.scope.len();
        let from = self.from(depth);
        let targets: Vec<String> = (0..columns).map(|_| self.integer(2, depth)).collect();
        let filter = self.filter(depth);
        self.scope.truncate(outside);
        format!("SELECT {} FROM {from}{filter}", targets.join(", "))
    }

    /// A SELECT without columns of the outer query, which stays a sub-select: one with such columns
    /// may become a join.
    fn uncorrelated(&mut self, depth: u32) -> String {
        let outside = std::mem::take(&mut self.scope);
        let query = self.plain(1, depth);
        self.scope = outside;
        query
    }

    fn filter(&mut self, depth: u32) -> String {
        match self.chance(60) {
            true => format!(" WHERE {}", self.boolean(2, depth)),
            false => String::new(),
        }
    }

    /// Two columns, for a sub-select in FROM.
    fn columns(&mut self) -> String {
        let outside = std::mem::take(&mut self.scope);
        let (table, alias) = (self.pick(TABLES), self.alias());
        self.scope.push(alias.clone());
        self.may_fail = !self.has_nulls;
        let (a, b) = (self.integer(1, 0), self.integer(2, 0));
        self.may_fail = true;
        // The condition is no constant: pulled up into the outer query, a constant would decide
        // that query's WHERE.
        let filter = match self.chance(40) {
            true => format!(" WHERE ({alias}.a < 9 OR {})", self.boolean(1, 0)),
            false => String::new(),
        };
        self.scope = outside;
        format!("SELECT {a} AS a, {b} AS b FROM {table} AS {alias}{filter}")
    }

    /// Aggregates, with and without groups.
    fn grouped(&mut self, depth: u32) -> String {
        let from = self.from(depth);
        let filter = self.filter(0);
        let function = self.pick(&["count", "min", "max"]);
        let aggregate = format!("{function}({})", self.integer(1, 0));
        let only = match self.chance(30) {
            true => format!(" FILTER (WHERE {})", self.boolean(1, 0)),
            false => String::new(),
        };
        let group = match self.chance(40) {
            true => format!(" GROUP BY {}", self.column()),
            false => String::new(),
        };
        let having = match self.chance(50) {
            true if self.chance(50) => format!(" HAVING {}", self.truth(2)),
            true => format!(" HAVING count(*) {} {}", self.comparison(), self.constant(2)),
            false => String::new(),
        };
        self.scope.clear();
        format!("SELECT {aggregate}{only} FROM {from}{filter}{group}{having}")
    }

    /// A FROM clause; what it names is added to the scope.
    fn from(&mut self, depth: u32) -> String {
        let first = self.source(depth);
        if !self.chance(25) {
            return first;
        }
        let (kind, second) = match self.chance(40) {
            // A LEFT JOIN to a table without a key cannot be removed.
            true => ("LEFT JOIN", self.source(0)),
            false => ("JOIN", self.source(depth)),
        };
        let outside = self.scope.split_off(self.scope.len() - 2);
        let before = std::mem::replace(&mut self.scope, outside);
        let on = self.boolean(1, 0);
        let own = std::mem::replace(&mut self.scope, before);
        self.scope.extend(own);
        format!("{first} {kind} {second} ON {on}")
    }

    fn source(&mut self, depth: u32) -> String {
        let source = match depth > 0 && self.chance(30) {
            true => format!("({})", self.columns()),
            false => self.pick(TABLES).to_owned(),
        };
        let alias = self.alias();
        self.scope.push(alias.clone());
        format!("{source} AS {alias}")
    }

    /// INSERT, UPDATE or DELETE.
    fn change(&mut self, depth: u32) -> String {
        let table = self.pick(TABLES);
        if self.chance(30) {
            let row = format!("({}, {})", self.constant(2), self.constant(1));
            let more = match self.chance(30) {
                true => format!(", ({}, 1)", self.constant(1)),
                false => String::new(),
            };
            return format!(
                "INSERT INTO {table} VALUES {row}{more} RETURNING {}",
                self.constant(1)
            );
        }
        if self.chance(20) {
            return format!("INSERT INTO {table} {} RETURNING a, b", self.columns());
        }
        self.scope.push(table.into());
        let (value, filter) = (self.integer(2, depth), self.filter(depth));
        let returning = self.integer(1, 0);
        self.scope.clear();
        match self.chance(60) {
            true => format!("UPDATE {table} SET a = {value}{filter} RETURNING {returning}"),
            false => format!("DELETE FROM {table}{filter} RETURNING {returning}"),
        }
    }
}
