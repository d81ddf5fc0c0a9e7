//! Random statements over the tables of [`super::tables`], their predicates first of all.

use steppe_vfs::SeededRandom;

use super::tables::Tables;
use super::values::{Kind, quoted};

/// How deep AND, OR and NOT nest.
const DEPTH: u32 = 3;
/// The executions of a statement with parameters.
const EXECUTIONS: u64 = 3;

/// A statement and how to ask it.
pub(super) enum Case {
    /// A query without parameters.
    Query(String),
    /// One whose rows are in order.
    Ordered(String),
    /// A query with parameters, of which each execution has its own; all its columns are texts.
    Prepared(String, Vec<Vec<Option<String>>>),
    /// UPDATE or DELETE.
    Change(String),
}

/// A parameter's values are those of a type, or arrays of them.
struct Parameter {
    kind: &'static Kind,
    array: bool,
}

/// Makes statements.
pub(super) struct Statements<'a> {
    pub(super) random: &'a SeededRandom,
    pub(super) tables: &'a Tables,
    /// Values may be these parameters.
    parameters: Option<Vec<Parameter>>,
    /// Values may be columns of this table, which is outside.
    outer: Option<&'static str>,
}

impl<'a> Statements<'a> {
    pub(super) fn new(random: &'a SeededRandom, tables: &'a Tables) -> Statements<'a> {
        Statements { random, tables, parameters: None, outer: None }
    }

    fn chance(&self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    fn pick<'t>(&self, choices: &[&'t str]) -> &'t str {
        choices[self.random.below(choices.len() as u64) as usize]
    }

    /// The next statement.
    pub(super) fn next(&mut self) -> Case {
        self.parameters = None;
        self.outer = None;
        match self.random.below(20) {
            0..=8 => Case::Query(self.plain()),
            9 | 10 => self.ordered(),
            11 | 12 => Case::Query(self.joined()),
            13 | 14 => Case::Query(self.by_leaf()),
            15 | 16 => self.prepared(),
            _ => Case::Change(self.change()),
        }
    }

    /// `p`, or seldom something below it.
    fn target(&self) -> &str {
        let below = &self.tables.partitions;
        match below.is_empty() || self.chance(88) {
            true => "p",
            false => &below[self.random.below(below.len() as u64) as usize].1,
        }
    }

    fn keys(&self, prefix: &str) -> String {
        let keys = (0..self.tables.columns.len()).map(|nth| format!("{prefix}k{nth}"));
        keys.collect::<Vec<_>>().join(", ")
    }

    fn plain(&mut self) -> String {
        let (keys, table) = (self.keys("p."), self.target().to_owned());
        let predicate = self.predicate(DEPTH);
        format!("SELECT p.tableoid::regclass, p.id, {keys}, p.v FROM {table} p WHERE {predicate}")
    }

    /// In the order of columns, as far as they tell; aggregates and the ends of columns.
    fn ordered(&mut self) -> Case {
        let table = self.target().to_owned();
        let first = self.random.below(self.tables.columns.len() as u64) as usize;
        let filter = match self.chance(60) {
            true => format!(" WHERE {}", self.predicate(1)),
            false => String::new(),
        };
        // Equal numbers may look different, and it is chance which of them is shown; there is
        // neither min(boolean) nor, before PostgreSQL 18, min(uuid).
        let name = self.tables.columns[first].name;
        let looks_alike = !matches!(name, "numeric" | "double precision");
        if self.chance(30) && looks_alike && !matches!(name, "boolean" | "uuid") {
            let ends = format!("min(k{first}), max(k{first}), count(*)");
            return Case::Query(format!("SELECT {ends} FROM {table} p{filter}"));
        }
        if self.chance(20) && looks_alike {
            let grouped = format!("k{first}, count(*), sum(v) FROM {table} p{filter}");
            return Case::Query(format!("SELECT {grouped} GROUP BY k{first}"));
        }
        let way = self.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
        let limit = self.random.below(10);
        Case::Ordered(format!(
            "SELECT id FROM {table} p{filter} ORDER BY k{first}{way}, id LIMIT {limit}"
        ))
    }

    /// The inner side is pruned by the outer side's values.
    fn joined(&mut self) -> String {
        let keys = self.keys("p.");
        let shown = format!("o.id, p.tableoid::regclass, p.id, {keys}");
        self.outer = Some("o");
        let depth = self.random.below(2) as u32;
        let predicate = match self.chance(60) {
            true => {
                let nth = self.random.below(self.tables.columns.len() as u64);
                format!("p.k{nth} = o.k{nth}")
            }
            false => self.predicate(depth),
        };
        let more = self.predicate(1);
        match self.random.below(6) {
            0 | 1 => format!("SELECT {shown} FROM o JOIN p ON {predicate} WHERE {more}"),
            2 => format!("SELECT {shown} FROM o LEFT JOIN p ON {predicate} AND {more}"),
            3 => format!(
                "SELECT {shown} FROM o LEFT JOIN LATERAL \
                 (SELECT p.*, p.tableoid FROM p WHERE {predicate} AND {more}) p ON true"
            ),
            4 => {
                format!("SELECT o.id, (SELECT count(*) FROM p WHERE {predicate} AND {more}) FROM o")
            }
            _ => format!(
                "SELECT o.id FROM o WHERE {}EXISTS (SELECT 1 FROM p WHERE {predicate} AND {more})",
                self.pick(&["", "NOT "])
            ),
        }
    }

    /// Leaf by leaf, if the keys are the partition key, the bounds match and the planner may.
    fn by_leaf(&mut self) -> String {
        let width = self.tables.columns.len() as u64;
        let first = self.random.below(width);
        let second = self.random.below(width);
        let kind = self.pick(&["JOIN", "LEFT JOIN", "FULL JOIN"]);
        let on = format!("p.k{first} = q.k{first} AND p.k{second} = q.k{second}");
        let predicate = self.predicate(1);
        let (left, right) = (self.pick(&["p", "p", "s"]), self.pick(&["p", "s", "s"]));
        let from = format!("FROM {left} p {kind} {right} q ON {on}");
        match self.random.below(4) {
            0 | 1 => format!(
                "SELECT p.tableoid::regclass, p.id, q.tableoid::regclass, q.id \
                 {from} WHERE {predicate}"
            ),
            2 => format!("SELECT q.id, count(*), sum(p.v) {from} WHERE {predicate} GROUP BY q.id"),
            _ => {
                let third =
                    format!("JOIN s r ON p.k{first} = r.k{first} AND q.k{second} = r.k{second}");
                format!("SELECT p.id, q.id, r.id {from} {third} WHERE {predicate}")
            }
        }
    }

    fn prepared(&mut self) -> Case {
        self.parameters = Some(Vec::new());
        let predicate = self.predicate(2);
        let parameters = self.parameters.take().unwrap_or_default();
        let columns = 0..self.tables.columns.len();
        let shown: Vec<String> = columns.map(|nth| format!("p.k{nth}::text")).collect();
        let sql = format!(
            "SELECT p.tableoid::regclass::text, p.id::text, {} FROM p WHERE {predicate}",
            shown.join(", ")
        );
        let value = |parameter: &Parameter| match parameter.array {
            true if self.chance(8) => None,
            true => Some(parameter.kind.array(self.random)),
            false => parameter.kind.value_or_null(self.random).map(str::to_owned),
        };
        let execution = |_| parameters.iter().map(value).collect();
        Case::Prepared(sql, (0..EXECUTIONS).map(execution).collect())
    }

    /// UPDATE, which may move rows, or DELETE, RETURNING what became of the rows.
    fn change(&mut self) -> String {
        let (keys, table) = (self.keys("p."), self.target().to_owned());
        let predicate = self.predicate(2);
        let returning = format!("RETURNING p.tableoid::regclass, p.id, {keys}, p.v");
        if self.chance(35) {
            return format!("DELETE FROM {table} p WHERE {predicate} {returning}");
        }
        let nth = self.random.below(self.tables.columns.len() as u64) as usize;
        let kind = self.tables.columns[nth];
        if self.chance(20) {
            let value = format!("(SELECT max(v) FROM {table})");
            return format!("UPDATE {table} p SET v = {value} WHERE {predicate} {returning}");
        }
        if self.chance(20) && self.tables.outer[nth].name == kind.name {
            // Each row meets one other at most, or it would be chance which of them.
            let source = format!("(SELECT min(id) AS id, k{nth} FROM o GROUP BY k{nth}) o");
            return format!(
                "UPDATE {table} p SET v = o.id FROM {source} \
                 WHERE p.k{nth} = o.k{nth} AND {predicate} {returning}"
            );
        }
        let value = match kind.name {
            "smallint" | "integer" | "bigint" if self.chance(40) => format!("k{nth} % 6 + 1"),
            "boolean" if self.chance(40) => format!("NOT k{nth}"),
            _ => quoted(kind.value_or_null(self.random)),
        };
        format!("UPDATE {table} p SET k{nth} = {value}, v = v + 1 WHERE {predicate} {returning}")
    }

    fn predicate(&mut self, depth: u32) -> String {
        if depth > 0 && self.chance(55) {
            if self.chance(12) {
                return format!("NOT ({})", self.predicate(depth - 1));
            }
            let count = 2 + self.random.below(2);
            let parts: Vec<String> = (0..count).map(|_| self.predicate(depth - 1)).collect();
            return format!("({})", parts.join(self.pick(&[" AND ", " OR "])));
        }
        if self.chance(12) && self.tables.columns.len() > 1 {
            return self.row_comparison();
        }
        let nth = self.random.below(self.tables.columns.len() as u64) as usize;
        let (column, kind) = match self.tables.expressions.len() {
            some @ 1.. if self.chance(20) => {
                let (text, kind) =
                    &self.tables.expressions[self.random.below(some as u64) as usize];
                return self.comparison(&qualified(text), kind, None);
            }
            _ => (format!("p.k{nth}"), self.tables.columns[nth]),
        };
        self.comparison(&column, kind, Some(nth))
    }

    fn operator(&self) -> &'static str {
        self.pick(&["=", "=", "=", "<", "<=", ">", ">=", "<>"])
    }

    /// An operand to compare a column with: a value, perhaps of another type, a parameter, a column
    /// of the outer table, a sub-select or a stable function.
    fn operand(&mut self, kind: &'static Kind, nth: Option<usize>) -> String {
        if let (Some(outer), Some(nth)) = (self.outer, nth)
            && self.chance(50)
        {
            return format!("{outer}.k{nth}");
        }
        let other = kind.other(self.random);
        if let Some(parameters) = &mut self.parameters
            && self.random.chance(7, 10)
        {
            parameters.push(Parameter { kind: other, array: false });
            return format!("${}::{}", parameters.len(), other.name);
        }
        match (nth, kind.name) {
            (Some(nth), _) if self.chance(5) && self.tables.outer[nth].name == kind.name => {
                let id = self.random.below(6);
                format!("(SELECT i.k{nth} FROM o i WHERE i.id = {id})")
            }
            (_, "date" | "timestamp" | "timestamptz") if self.chance(10) => {
                self.pick(&["now()", "current_date", "now() - interval '9000 days'"]).to_owned()
            }
            (_, "text" | "varchar") if self.chance(8) => "lower('AB')".to_owned(),
            _ if other.name == kind.name => kind.literal(self.random),
            _ => format!("{}::{}", quoted(other.value_or_null(self.random)), other.name),
        }
    }

    /// An array of values, perhaps as a parameter.
    fn array(&mut self, kind: &'static Kind) -> String {
        if let Some(parameters) = &mut self.parameters
            && self.random.chance(7, 10)
        {
            parameters.push(Parameter { kind, array: true });
            return format!("${}::{}[]", parameters.len(), kind.name);
        }
        format!("{}::{}[]", quoted(Some(&kind.array(self.random))), kind.name)
    }

    fn comparison(&mut self, column: &str, kind: &'static Kind, nth: Option<usize>) -> String {
        if kind.name == "boolean" && self.chance(50) {
            return match self.random.below(4) {
                0 => column.to_owned(),
                1 => format!("NOT {column}"),
                2 => format!("{column} IS {}", self.pick(&["TRUE", "FALSE", "UNKNOWN"])),
                _ => format!("{column} IS NOT {}", self.pick(&["TRUE", "FALSE", "UNKNOWN"])),
            };
        }
        let operator = self.operator();
        match self.random.below(16) {
            0..=5 => format!("{column} {operator} {}", self.operand(kind, nth)),
            6 => format!("{} {operator} {column}", self.operand(kind, nth)),
            7 => format!(
                "{column} {}BETWEEN {} AND {}",
                self.pick(&["", "", "NOT ", ""]),
                self.operand(kind, nth),
                self.operand(kind, nth)
            ),
            8 | 9 => {
                let list = (0..=self.random.below(3)).map(|_| self.operand(kind, nth));
                let list: Vec<String> = list.collect();
                format!("{column} {}IN ({})", self.pick(&["", "", "NOT "]), list.join(", "))
            }
            10 | 11 => format!("{column} = ANY ({})", self.array(kind)),
            12 => {
                let quantifier = self.pick(&["ANY", "ALL"]);
                format!("{column} {operator} {quantifier} ({})", self.array(kind))
            }
            13 => format!("{column} IS {}NULL", self.pick(&["", "NOT "])),
            14 => {
                let not = self.pick(&["", "NOT "]);
                format!("{column} IS {not}DISTINCT FROM {}", self.operand(kind, nth))
            }
            _ if matches!(kind.name, "smallint" | "integer" | "bigint") => {
                let cast = self.pick(&["bigint", "numeric"]);
                format!("{column}::{cast} {operator} {}", self.operand(kind, None))
            }
            _ => format!("{column}::text {operator} {}", quoted(Some(kind.value(self.random)))),
        }
    }

    fn row_comparison(&mut self) -> String {
        let width = self.tables.columns.len();
        let count = 2 + self.random.below(width as u64 - 1) as usize;
        let first = self.random.below(width as u64) as usize;
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for nth in (0..count).map(|n| (first + n) % width) {
            let kind = self.tables.columns[nth];
            left.push(format!("p.k{nth}"));
            right.push(self.operand(kind, Some(nth)));
        }
        format!("({}) {} ({})", left.join(", "), self.operator(), right.join(", "))
    }
}

/// A key's expression with its columns as those of `p`.
fn qualified(expression: &str) -> String {
    let digit = |at: usize| expression.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
    let mut out = String::new();
    for (at, c) in expression.char_indices() {
        if c == 'k' && digit(at) {
            out.push_str("p.");
        }
        out.push(c);
    }
    out
}
