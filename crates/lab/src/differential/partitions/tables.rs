//! A random partitioned table `p`, one by the same key (`s`) and a plain one (`o`) to join it
//! with, and their rows.
//!
//! Bounds come from the values of [`super::values`], mostly in order and side by side. Now and then
//! one overlaps, is empty or has the wrong modulus, which both servers must refuse in the same way.
//! Leaves are made as partitions or attached, then with their columns in another order, sometimes
//! with a dropped one between and with rows that may not belong there.

use steppe_vfs::SeededRandom;

use super::values::{Kind, quoted};

/// The number of levels of partitions.
const LEVELS_MAX: u32 = 3;

/// The tables that both servers are asked to make.
pub(super) struct Tables {
    /// Statements; both servers must accept or refuse each.
    pub(super) script: Vec<String>,
    /// Types of the columns k0, k1 … of `p`.
    pub(super) columns: Vec<&'static Kind>,
    /// Types of the columns of those names in `o`: what can be compared with `p`'s.
    pub(super) outer: Vec<&'static Kind>,
    /// Key columns that are expressions.
    pub(super) expressions: Vec<(String, &'static Kind)>,
    /// The relations below `p`, as far as the bounds were right: parent, name, bound.
    pub(super) partitions: Vec<(String, String, String)>,
}

/// A column of a key.
struct KeyColumn {
    text: String,
    kind: &'static Kind,
}

struct Builder<'a> {
    random: &'a SeededRandom,
    tables: Tables,
}

impl Tables {
    /// The tables of a seed.
    pub(super) fn random(random: &SeededRandom) -> Tables {
        let columns: Vec<_> = (0..2 + random.below(3)).map(|_| Kind::any(random)).collect();
        let outer = columns.iter().map(|kind| kind.other(random)).collect();
        let tables = Tables {
            script: Vec::new(),
            columns,
            outer,
            expressions: Vec::new(),
            partitions: Vec::new(),
        };
        let mut builder = Builder { random, tables };
        builder.partitioned("p", None, 0);
        builder.indexes();
        builder.rows();
        builder.outer_table();
        if random.chance(1, 2) {
            builder.tables.script.push("ANALYZE p".into());
        }
        builder.tables
    }
}

impl Builder<'_> {
    fn chance(&self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    fn shuffle<T>(&self, items: &mut [T]) {
        let count = items.len() as u64;
        for at in 0..items.len() {
            items.swap(at, self.random.below(count) as usize);
        }
    }

    fn push(&mut self, statement: String) {
        self.tables.script.push(statement);
    }

    /// `p`, or a partition of another (its name and bound) that has partitions itself.
    fn partitioned(&mut self, name: &str, of: Option<(&str, &str)>, level: u32) {
        let strategy = ["RANGE", "RANGE", "LIST", "HASH"][self.random.below(4) as usize];
        let key = self.key(strategy);
        let texts: Vec<&str> = key.iter().map(|column| &column.text[..]).collect();
        let by = format!("PARTITION BY {strategy} ({})", texts.join(", "));
        self.table(name, of, &by);
        let bounds = match strategy {
            "RANGE" => self.ranges(&key),
            "LIST" => self.lists(key[0].kind),
            _ => self.moduli(),
        };
        if of.is_none() {
            self.similar(strategy, &key, (&by, &bounds));
        }
        for (nth, bound) in bounds.into_iter().enumerate() {
            let child = format!("{name}_{nth}");
            match level + 1 < LEVELS_MAX && self.chance(if level == 0 { 25 } else { 10 }) {
                true => self.partitioned(&child, Some((name, &bound)), level + 1),
                false => self.table(&child, Some((name, &bound)), ""),
            }
            self.tables.partitions.push((name.to_owned(), child, bound));
        }
    }

    /// `s`: some of the bounds of `p` and perhaps a default partition, or other bounds.
    fn similar(&mut self, strategy: &str, key: &[KeyColumn], (by, of_p): (&str, &[String])) {
        self.table("s", None, by);
        let mut bounds: Vec<String> = of_p.iter().filter(|_| self.chance(80)).cloned().collect();
        match strategy {
            "RANGE" if self.chance(30) => bounds = self.ranges(key),
            "LIST" if self.chance(30) => bounds = self.lists(key[0].kind),
            "RANGE" | "LIST" if self.chance(20) => bounds.push("DEFAULT".into()),
            _ => {}
        }
        for (nth, bound) in bounds.iter().enumerate() {
            self.push(format!("CREATE TABLE s_{nth} PARTITION OF s {bound}"));
        }
    }

    fn key(&mut self, strategy: &str) -> Vec<KeyColumn> {
        let width = self.tables.columns.len() as u64;
        let count = match strategy {
            "LIST" => 1,
            _ => 1 + self.random.below(3).min(self.random.below(3)),
        };
        let mut key: Vec<KeyColumn> = Vec::new();
        for _ in 0..count {
            let nth = self.random.below(width) as usize;
            let (text, kind) = (format!("k{nth}"), self.tables.columns[nth]);
            let expression = kind.expression(&text).filter(|_| self.chance(15));
            let (text, kind) = match expression {
                Some((expression, kind)) => {
                    self.tables.expressions.push((expression.clone(), kind));
                    (format!("({expression})"), kind)
                }
                None => (text, kind),
            };
            if key.iter().all(|column| column.text != text) {
                key.push(KeyColumn { text, kind });
            }
        }
        key
    }

    /// A table: of its own, as a partition, or attached as one.
    fn table(&mut self, name: &str, of: Option<(&str, &str)>, by: &str) {
        let Some((parent, bound)) = of else {
            let columns = self.columns_in_order();
            return self.push(format!("CREATE TABLE {name} ({}) {by}", columns.join(", ")));
        };
        if self.chance(60) {
            return self.push(format!("CREATE TABLE {name} PARTITION OF {parent} {bound} {by}"));
        }
        let mut columns = self.columns_in_order();
        self.shuffle(&mut columns);
        let dropped = self.chance(40);
        if dropped {
            let at = self.random.below(columns.len() as u64) as usize;
            columns.insert(at, "dropped text".into());
        }
        self.push(format!("CREATE TABLE {name} ({}) {by}", columns.join(", ")));
        if dropped {
            self.push(format!("ALTER TABLE {name} DROP COLUMN dropped"));
        }
        if by.is_empty() && self.chance(20) {
            let id = 10_000 + self.tables.script.len() as u64;
            let insert = self.insert(name, id);
            self.push(insert);
        }
        self.push(format!("ALTER TABLE {parent} ATTACH PARTITION {name} {bound}"));
    }

    fn columns_in_order(&self) -> Vec<String> {
        let keys = self.tables.columns.iter().enumerate();
        let keys = keys.map(|(nth, kind)| format!("k{nth} {}", kind.name));
        std::iter::once("id integer".to_owned())
            .chain(keys)
            .chain(std::iter::once("v integer".to_owned()))
            .collect()
    }

    /// Points of the key space in order: indexes into the values, outside them MINVALUE and
    /// MAXVALUE.
    fn points(&self, key: &[KeyColumn]) -> Vec<Vec<i64>> {
        let point = |_| {
            let mut point: Vec<i64> = Vec::new();
            for column in key {
                let values = column.kind.values.len() as i64;
                // What follows MINVALUE or MAXVALUE must be the same.
                point.push(match point.last() {
                    Some(last) if !(0..i64::MAX).contains(last) => *last,
                    _ if self.chance(8) => -1,
                    _ if self.chance(8) => i64::MAX,
                    _ => self.random.below(values as u64) as i64,
                });
            }
            point
        };
        let mut points: Vec<Vec<i64>> = (0..2 + self.random.below(6)).map(point).collect();
        points.sort();
        points.dedup();
        points
    }

    fn ranges(&self, key: &[KeyColumn]) -> Vec<String> {
        let side = |point: &[i64]| {
            let datum = |(at, column): (&i64, &KeyColumn)| match *at {
                -1 => "MINVALUE".to_owned(),
                i64::MAX => "MAXVALUE".to_owned(),
                at => quoted(column.kind.values.get(at as usize).copied()),
            };
            let data: Vec<String> = point.iter().zip(key).map(datum).collect();
            data.join(", ")
        };
        let bound = |from: &[i64], to: &[i64]| {
            format!("FOR VALUES FROM ({}) TO ({})", side(from), side(to))
        };
        let points = self.points(key);
        let mut bounds: Vec<String> = Vec::new();
        for pair in points.windows(2) {
            if self.chance(85) {
                bounds.push(bound(&pair[0], &pair[1]));
            }
        }
        if self.chance(25) {
            let any = || &points[self.random.below(points.len() as u64) as usize];
            bounds.push(bound(any(), any()));
        }
        self.with_default(bounds)
    }

    fn lists(&self, kind: &Kind) -> Vec<String> {
        let mut values: Vec<Option<&str>> = kind.values.iter().copied().map(Some).collect();
        values.push(None);
        self.shuffle(&mut values);
        if self.chance(25) {
            // Twice the same: refused.
            values.push(values[0]);
        }
        let mut bounds = Vec::new();
        while !values.is_empty() {
            let count = (1 + self.random.below(3) as usize).min(values.len());
            let taken: Vec<String> = values.drain(..count).map(quoted).collect();
            if self.chance(75) {
                bounds.push(format!("FOR VALUES IN ({})", taken.join(", ")));
            }
        }
        self.with_default(bounds)
    }

    fn with_default(&self, mut bounds: Vec<String>) -> Vec<String> {
        if self.chance(50) {
            let at = self.random.below(bounds.len() as u64 + 1) as usize;
            bounds.insert(at, "DEFAULT".to_owned());
        }
        bounds
    }

    fn moduli(&self) -> Vec<String> {
        let modulus = 1 + self.random.below(4);
        let mut bounds = Vec::new();
        let bound = |m: u64, r: u64| format!("FOR VALUES WITH (MODULUS {m}, REMAINDER {r})");
        for remainder in 0..modulus {
            match self.random.below(8) {
                0 => {}
                1 | 2 => {
                    bounds.push(bound(2 * modulus, remainder));
                    bounds.push(bound(2 * modulus, remainder + modulus));
                }
                _ => bounds.push(bound(modulus, remainder)),
            }
        }
        if self.chance(15) {
            bounds.push(bound(1 + self.random.below(6), self.random.below(3)));
        }
        bounds
    }

    fn indexes(&mut self) {
        for nth in 0..self.tables.columns.len() {
            if self.chance(30) {
                self.push(format!("CREATE INDEX ON p (k{nth})"));
            }
        }
        if self.chance(25) {
            self.push("CREATE INDEX ON p (k1 DESC, k0)".into());
        }
        if self.chance(15) {
            self.push("CREATE UNIQUE INDEX ON p (id, k0, k1)".into());
        }
    }

    fn insert(&self, table: &str, id: u64) -> String {
        let values = |kind: &&Kind| quoted(kind.value_or_null(self.random));
        let values: Vec<String> = self.tables.columns.iter().map(values).collect();
        let names: Vec<String> = (0..values.len()).map(|nth| format!("k{nth}")).collect();
        let v = self.random.below(100);
        format!(
            "INSERT INTO {table} (id, {}, v) VALUES ({id}, {}, {v})",
            names.join(", "),
            values.join(", ")
        )
    }

    fn rows(&mut self) {
        let count = [3, 25, 50, 80][self.random.below(4) as usize];
        for id in 0..count {
            let insert = self.insert("p", id);
            self.push(insert);
        }
        for id in 0..count / 2 {
            let insert = self.insert("s", 1000 + id);
            self.push(insert);
        }
    }

    fn outer_table(&mut self) {
        let columns = self.tables.outer.iter().enumerate();
        let columns: Vec<String> =
            columns.map(|(nth, kind)| format!("k{nth} {}", kind.name)).collect();
        self.push(format!("CREATE TABLE o (id integer, {})", columns.join(", ")));
        let row = |id: u64| {
            let values =
                self.tables.outer.iter().map(|kind| quoted(kind.value_or_null(self.random)));
            format!("({id}, {})", values.collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = (0..1 + self.random.below(9)).map(row).collect();
        self.push(format!("INSERT INTO o VALUES {}", rows.join(", ")));
    }
}
