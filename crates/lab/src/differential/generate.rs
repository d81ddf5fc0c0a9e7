//! Random tables and statements whose answer does not depend on the plan.
//!
//! All tables have the same columns (`id`, `a`, `b` integer, `c` text) with few different values,
//! some NULL, so that joins find rows and set operations fit. Generated expressions fail for no row
//! (there is no division and no cast), because otherwise the plan would decide which row fails
//! first. A LIMIT always has an ORDER BY of all columns. In one table `b` is generated: it is
//! [`STORED`] in PostgreSQL, virtual in Steppe.

mod joins;

use super::statements::Source;
use super::throw_switches;
use steppe_vfs::SeededRandom;

/// Tables t0 … t3.
const TABLES: u64 = 4;
/// The table whose `b` is generated.
const GENERATED: &str = "t3";
/// The word that makes it stored.
pub(super) const STORED: &str = "STORED";
/// Sub-selects nest so deep.
const DEPTH: u32 = 2;

/// A statement.
pub(super) struct Statement {
    /// Its text.
    pub(super) sql: String,
    /// The order of the answer's rows is part of the answer.
    pub(super) ordered: bool,
}

/// Makes statements from a seed.
pub(super) struct Generator {
    random: SeededRandom,
    aliases: u32,
    /// Aliases that expressions may name, innermost last.
    scope: Vec<String>,
    next_id: u64,
}

impl Source for Generator {
    fn new(seed: u64) -> Generator {
        let random = SeededRandom::new(seed);
        Generator { random, aliases: 0, scope: Vec::new(), next_id: 1000 }
    }

    fn schema(&self) -> Vec<String> {
        self.tables()
    }

    fn statement(&mut self) -> Statement {
        self.next()
    }

    fn settings(random: &SeededRandom) -> String {
        throw_switches(random)
    }
}

impl Generator {
    fn chance(&self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    fn pick<'a>(&self, choices: &[&'a str]) -> &'a str {
        choices[self.random.below(choices.len() as u64) as usize]
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    fn table(&self) -> String {
        format!("t{}", self.random.below(TABLES))
    }

    /// Tables with rows, indexes on some of them, statistics on others.
    fn tables(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for table in 0..TABLES {
            let table = format!("t{table}");
            let is_generated = table == GENERATED;
            statements.push(format!("DROP TABLE IF EXISTS {table}"));
            let b = match is_generated {
                true => format!(
                    "integer GENERATED ALWAYS AS (CASE WHEN id % 3 = 0 THEN coalesce(a, 4) \
                     ELSE a - 1 END) {STORED}"
                ),
                false => "integer".to_owned(),
            };
            statements.push(format!(
                "CREATE TABLE {table} (id integer PRIMARY KEY, a integer, b {b}, c text)"
            ));
            let rows = [0, 3, 25, 120][self.random.below(4) as usize];
            let b = || if is_generated { "DEFAULT".to_owned() } else { self.small() };
            let values: Vec<String> = (0..rows)
                .map(|id| format!("({id}, {}, {}, {})", self.small(), b(), self.word()))
                .collect();
            if rows > 0 {
                statements.push(format!("INSERT INTO {table} VALUES {}", values.join(", ")));
            }
            for columns in ["a", "b DESC NULLS LAST, a", "c, b", "(a + b)"] {
                // A virtual column cannot be indexed.
                if self.chance(30) && !(is_generated && columns.contains('b')) {
                    statements.push(format!("CREATE INDEX ON {table} ({columns})"));
                }
            }
            if self.chance(20) && !is_generated {
                statements.push(format!("CREATE INDEX ON {table} (b) WHERE a > 2"));
            }
            if self.chance(60) {
                statements.push(format!("ANALYZE {table}"));
            }
        }
        statements
    }

    fn small(&self) -> String {
        if self.chance(15) { "NULL".into() } else { self.random.below(8).to_string() }
    }

    fn word(&self) -> String {
        self.pick(&["NULL", "''", "'a'", "'b'", "'ab'", "'日b'", "'b%'"]).into()
    }

    /// The next statement.
    fn next(&mut self) -> Statement {
        self.aliases = 0;
        self.scope.clear();
        if self.chance(15) {
            return Statement { sql: self.change(), ordered: false };
        }
        if self.chance(20) {
            return Statement { sql: self.joined(), ordered: false };
        }
        let columns = 1 + self.random.below(3) as usize;
        let mut sql = self.query(columns, DEPTH);
        let limited = self.chance(25);
        if limited {
            let keys: Vec<String> = (1..=columns)
                .map(|n| format!("{n}{}", self.pick(&["", " DESC", " NULLS FIRST", " ASC"])))
                .collect();
            sql = format!("{sql} ORDER BY {}", keys.join(", "));
            if self.chance(70) {
                sql = format!("{sql} LIMIT {}", self.random.below(12));
            }
            if self.chance(30) {
                sql = format!("{sql} OFFSET {}", self.random.below(5));
            }
        }
        Statement { sql, ordered: limited }
    }

    /// A query of `columns` columns: integers, the last a text if there are three.
    fn query(&mut self, columns: usize, depth: u32) -> String {
        if depth > 0 && self.chance(12) {
            let operator = self.pick(&["UNION", "INTERSECT", "EXCEPT"]);
            let all = self.pick(&["", " ALL"]);
            let (left, right) = (self.query(columns, depth - 1), self.query(columns, depth - 1));
            return format!("({left}) {operator}{all} ({right})");
        }
        let outside = self.scope.len();
        let with = if depth > 0 && self.chance(8) {
            let (name, query) = (self.alias(), self.query(3, depth - 1));
            Some((name.clone(), format!("WITH {name}(a, b, c) AS ({query}) ")))
        } else {
            None
        };
        let from = self.from(depth, with.as_ref().map(|(name, _)| name.as_str()));
        let filter = if self.chance(70) {
            format!(" WHERE {}", self.boolean(2, depth))
        } else {
            String::new()
        };
        let body = match self.random.below(10) {
            0..=2 => self.grouped(columns, &from, &filter),
            3 => self.windowed(columns, &from, &filter),
            _ => {
                let distinct = if self.chance(15) { "DISTINCT " } else { "" };
                let targets = self.targets(columns, depth);
                format!("SELECT {distinct}{targets} FROM {from}{filter}")
            }
        };
        self.scope.truncate(outside);
        with.map_or_else(String::new, |(_, with)| with) + &body
    }

    fn targets(&mut self, columns: usize, depth: u32) -> String {
        let target = |g: &mut Generator, i| if i == 2 { g.text() } else { g.integer(2, depth) };
        let targets: Vec<String> = (0..columns).map(|i| target(self, i)).collect();
        targets.join(", ")
    }

    /// GROUP BY of columns, with aggregates.
    fn grouped(&mut self, columns: usize, from: &str, filter: &str) -> String {
        let inner = self.column("ab");
        let keys: Vec<String> = (0..self.random.below(3)).map(|_| self.column("ab")).collect();
        let key = keys.first().cloned();
        let aggregate = |g: &mut Generator| {
            let value = g.integer(1, 0);
            let only = if g.chance(20) {
                format!(" FILTER (WHERE {})", g.boolean(1, 0))
            } else {
                String::new()
            };
            match g.random.below(6) {
                0 => format!("count(*){only}"),
                1 => format!("count({value}){only}"),
                2 => format!("sum({value})::integer"),
                3 => format!("min({value}){only}"),
                4 => format!("max({value})"),
                _ => format!("count(DISTINCT {inner})"),
            }
        };
        let targets: Vec<String> = (0..columns)
            .map(|i| match (&key, i) {
                (Some(key), 0) => key.clone(),
                (_, 2) => format!("max({})", self.text()),
                _ => aggregate(self),
            })
            .collect();
        let group = match keys.len() {
            0 => String::new(),
            2 if self.chance(30) => {
                let kind = self.pick(&["ROLLUP", "CUBE"]);
                format!(" GROUP BY {kind} ({})", keys.join(", "))
            }
            _ => format!(" GROUP BY {}", keys.join(", ")),
        };
        let having = if self.chance(25) {
            format!(" HAVING {} {} {}", aggregate(self), self.comparison(), self.random.below(6))
        } else {
            String::new()
        };
        format!("SELECT {} FROM {from}{filter}{group}{having}", targets.join(", "))
    }

    /// Window functions whose value does not depend on the order among peers.
    fn windowed(&mut self, columns: usize, from: &str, filter: &str) -> String {
        let targets: Vec<String> = (0..columns)
            .map(|i| {
                if i == 2 {
                    return self.text();
                }
                let (value, by, order) = (self.column("ab"), self.column("ab"), self.column("ab"));
                let function = match self.random.below(5) {
                    0 => "rank()".to_owned(),
                    1 => "dense_rank()".to_owned(),
                    2 => format!("sum({value})"),
                    3 => format!("count({value})"),
                    _ => format!("max({value})"),
                };
                format!("({function} OVER (PARTITION BY {by} ORDER BY {order}))::integer")
            })
            .collect();
        format!("SELECT {} FROM {from}{filter}", targets.join(", "))
    }

    /// A FROM clause; what it names is added to the scope.
    fn from(&mut self, depth: u32, with: Option<&str>) -> String {
        let mut from = self.source(depth, with, false);
        let leftmost = self.scope.len() - 1;
        for _ in 0..self.random.below(3) {
            let first = self.scope.len() - 1;
            if self.chance(25) {
                let lateral = self.chance(30);
                let source = self.source(depth, None, lateral);
                // A comma binds less than JOIN, and ON sees only its own join.
                from = format!("{from} CROSS JOIN {source}");
                continue;
            }
            let kind = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT JOIN"]);
            let source = self.source(depth, None, false);
            // Mostly with the one before, but also with one further left.
            let with = if self.chance(30) { leftmost } else { first };
            let (left, right) = (self.scope[with].clone(), self.scope[first + 1].clone());
            let column = |g: &Generator| g.pick(&["a", "b"]).to_owned();
            let mut on = format!("{left}.{} = {right}.{}", column(self), column(self));
            if kind != "FULL JOIN" && self.chance(40) {
                on = format!("{on} AND {}", self.boolean(1, 0));
            }
            from = format!("{from} {kind} {source} ON {on}");
        }
        from
    }

    fn source(&mut self, depth: u32, with: Option<&str>, lateral: bool) -> String {
        if let Some(name) = with {
            let alias = self.alias();
            self.scope.push(alias.clone());
            return format!("{name} AS {alias}");
        }
        if depth > 0 && self.chance(25) {
            // Only LATERAL sees what stands before it.
            let outside = std::mem::take(&mut self.scope);
            if lateral {
                self.scope.clone_from(&outside);
            }
            let query = self.query(3, depth - 1);
            self.scope = outside;
            let alias = self.alias();
            self.scope.push(alias.clone());
            let lateral = if lateral { "LATERAL " } else { "" };
            return format!("{lateral}({query}) AS {alias}(a, b, c)");
        }
        let alias = self.alias();
        self.scope.push(alias.clone());
        format!("{} AS {alias}", self.table())
    }

    fn column(&self, letters: &str) -> String {
        let names: Vec<char> = letters.chars().collect();
        let name = names[self.random.below(names.len() as u64) as usize];
        // Mostly of the innermost query.
        let last = self.scope.len().saturating_sub(1);
        let near = last.saturating_sub(self.random.below(3) as usize);
        format!("{}.{name}", self.scope[near])
    }

    fn comparison(&self) -> &'static str {
        self.pick(&["=", "<>", "<", "<=", ">", ">=", "="])
    }

    fn integer(&mut self, size: u32, depth: u32) -> String {
        if size == 0 || self.chance(45) {
            return if self.chance(75) { self.column("ab") } else { self.small() + "::integer" };
        }
        let size = size - 1;
        match self.random.below(8) {
            0..=2 => {
                let operator = self.pick(&["+", "-", "*"]);
                format!("({} {operator} {})", self.integer(size, depth), self.integer(size, depth))
            }
            3 => format!("coalesce({}, {})", self.integer(size, depth), self.integer(size, depth)),
            4 => format!("nullif({}, {})", self.integer(size, depth), self.integer(size, depth)),
            5 => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.boolean(1, 0),
                self.integer(size, depth),
                self.integer(size, depth)
            ),
            6 if depth > 0 => {
                let (alias, table) = (self.alias(), self.table());
                self.scope.push(alias.clone());
                let filter = self.boolean(1, 0);
                self.scope.pop();
                let function = self.pick(&["min", "max", "count", "sum"]);
                format!(
                    "(SELECT {function}({alias}.a)::integer FROM {table} AS {alias} WHERE {filter})"
                )
            }
            _ => format!("greatest({}, {})", self.integer(size, depth), self.small() + "::integer"),
        }
    }

    fn text(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("({} || {}::text)", self.column("c"), self.word()),
            1 => format!("upper({})", self.column("c")),
            2 => format!("coalesce({}, {}::text)", self.column("c"), self.word()),
            _ => self.column("c"),
        }
    }

    fn boolean(&mut self, size: u32, depth: u32) -> String {
        if size > 0 && self.chance(35) {
            let (left, right) = (self.boolean(size - 1, depth), self.boolean(size - 1, depth));
            return match self.random.below(5) {
                0 | 1 => format!("({left} AND {right})"),
                2 | 3 => format!("({left} OR {right})"),
                _ => format!("(NOT {left})"),
            };
        }
        match self.random.below(17) {
            // What others follow from.
            13 | 14 => format!("{} = {}::integer", self.column("ab"), self.small()),
            15 => format!("{} = {}", self.column("ab"), self.column("ab")),
            0..=3 => {
                let (left, right) = (self.integer(1, 0), self.integer(1, 0));
                format!("{left} {} {right}", self.comparison())
            }
            4 => format!("{} IS {}NULL", self.column("abc"), self.pick(&["", "NOT "])),
            5 => format!("{} IS NOT DISTINCT FROM {}", self.integer(1, 0), self.column("ab")),
            6 => format!("{} {} {}::text", self.text(), self.comparison(), self.word()),
            7 => format!("{} LIKE {}", self.text(), self.pick(&["'a%'", "'%b'", "'_'", "'b\\%'"])),
            8 => {
                let list: Vec<String> = (0..=self.random.below(3)).map(|_| self.small()).collect();
                let not = self.pick(&["", "", "NOT "]);
                format!("{} {not}IN ({})", self.column("ab"), list.join(", "))
            }
            9 => format!("{} BETWEEN 1 AND {}", self.column("ab"), self.random.below(8)),
            10 if depth > 0 => {
                let not = self.pick(&["", "NOT "]);
                let column = self.column("ab");
                format!("{column} {not}IN ({})", self.query(1, depth - 1))
            }
            11 if depth > 0 => {
                let not = self.pick(&["", "NOT "]);
                format!("{not}EXISTS ({})", self.query(1, depth - 1))
            }
            12 if depth > 0 => {
                let kind = self.pick(&["ANY", "ALL"]);
                let (column, operator) = (self.column("ab"), self.comparison());
                format!("{column} {operator} {kind} ({})", self.query(1, depth - 1))
            }
            _ => format!("{} = ANY (ARRAY[1, 3, NULL, 5])", self.column("ab")),
        }
    }

    /// INSERT, UPDATE or DELETE of a few rows, RETURNING them.
    fn change(&mut self) -> String {
        let (table, alias) = (self.table(), self.alias());
        self.scope.push(alias.clone());
        let returning = format!("RETURNING {alias}.id, {alias}.a, {alias}.b, {alias}.c");
        match self.random.below(4) {
            0 => {
                self.next_id += 1;
                let (a, mut b, c) = (self.small(), self.small(), self.word());
                let id = if self.chance(20) { self.random.below(20) } else { self.next_id };
                let mut conflict = self.pick(&[
                    "",
                    "ON CONFLICT DO NOTHING ",
                    "ON CONFLICT (id) DO UPDATE SET a = excluded.b, b = x1.b + 1 ",
                ]);
                if table == GENERATED {
                    b = "DEFAULT".to_owned();
                    let update =
                        "ON CONFLICT (id) DO UPDATE SET a = (excluded.b + x1.b) % 9, b = DEFAULT ";
                    conflict = if conflict.contains("UPDATE") { update } else { conflict };
                }
                format!(
                    "INSERT INTO {table} AS {alias} VALUES ({id}, {a}, {b}, {c}) {conflict}{returning}"
                )
            }
            1 => {
                let filter = self.boolean(1, 1);
                format!(
                    "DELETE FROM {table} AS {alias} WHERE {alias}.id % 5 = 0 AND {filter} {returning}"
                )
            }
            _ => {
                let (a, b, c) = (self.integer(2, 1), self.integer(1, 0), self.text());
                let filter = self.boolean(2, 1);
                // Values stay small, so that nothing overflows in the long run.
                let b = match table == GENERATED {
                    true => "DEFAULT".to_owned(),
                    false => format!("({b}) % 9"),
                };
                format!(
                    "UPDATE {table} AS {alias} SET a = ({a}) % 9, b = {b}, c = left({c}, 3) \
                     WHERE {filter} {returning}"
                )
            }
        }
    }
}
