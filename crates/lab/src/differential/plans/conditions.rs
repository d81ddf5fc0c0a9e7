//! Conditions on one table, on two, and with sub-selects.

use super::Plans;

impl Plans {
    /// A condition on one table.
    pub(super) fn condition(&self, x: &str) -> String {
        match self.number(18) {
            0 | 1 => {
                let from = self.number(self.pick(&[100, 300, 2000]));
                format!("{x}.id BETWEEN {from} AND {}", from + self.pick(&[0, 60, 400]))
            }
            2 => format!("{x}.a = {}", self.number(7)),
            3 => format!("{x}.a IN ({}, {}, NULL)", self.number(7), self.number(7)),
            4 => format!(
                "{x}.b {} {}",
                self.pick(&["<", "<=", ">", ">=", "="]),
                self.number(self.pick(&[12, 80, 600]))
            ),
            5 => format!("{x}.b = ANY (ARRAY[{}, {}, 2, 5, 12])", self.number(20), self.number(90)),
            6 => format!("{x}.c LIKE '{}%'", self.pick(&["a", "bb", "ccc", "%d", "_e"])),
            7 => format!("{x}.d >= date '2024-01-01' + {}", self.number(90)),
            8 => format!("{x}.n {} {}.5", self.pick(&["<", ">", "="]), self.number(13)),
            9 => format!(
                "{x}.{} IS {}NULL",
                self.pick(&["a", "b", "c"]),
                self.pick(&["", "NOT ", "NOT "])
            ),
            10 => format!("({x}.a, {x}.b) > ({}, {})", self.number(5), self.number(100)),
            11 => format!("({} OR {})", self.simple(x), self.simple(x)),
            12 => format!("(({} AND {}) OR {})", self.simple(x), self.simple(x), self.simple(x)),
            13 => format!("NOT ({})", self.simple(x)),
            14 => format!("{x}.a + {x}.b < {}", self.number(300)),
            15 => format!("lower({x}.c) = '{}'", self.pick(&["a", "bb", "ccc"])),
            16 => format!("coalesce({x}.a, 3) = {}", self.number(6)),
            _ => self.simple(x),
        }
    }

    fn simple(&self, x: &str) -> String {
        match self.number(4) {
            0 => format!("{x}.id < {}", self.number(self.pick(&[100, 400, 2500]))),
            1 => format!("{x}.a = {}", self.number(6)),
            2 => format!("{x}.b > {}", self.number(self.pick(&[12, 80, 500]))),
            _ => format!("{x}.d = date '2024-02-01' + {}", self.number(20)),
        }
    }

    /// The condition of ON, by which few rows of one side meet each row of the other.
    pub(super) fn between(&self, x: &str, y: &str) -> String {
        let mut on = match self.number(13) {
            0..=2 => format!("{x}.b = {y}.b"),
            3 | 4 => format!("{x}.b = {y}.id"),
            5 => format!("{x}.id = {y}.b"),
            6 => format!("{x}.id = {y}.id"),
            7 => format!("{x}.c = {y}.c AND {x}.a = {y}.a"),
            8 => format!("{x}.d = {y}.d AND {x}.a = {y}.a"),
            9 => format!("{x}.n = {y}.n AND {x}.b = {y}.b"),
            10 => format!("({x}.id = {y}.b OR {x}.b = {y}.id)"),
            11 => format!("{x}.n = {y}.a AND {x}.b BETWEEN {y}.b AND {y}.b + 2"),
            _ => format!("{x}.a + {x}.b = {y}.a + {y}.b"),
        };
        if self.chance(20) {
            on += &format!(" AND {}", self.condition(self.pick(&[x, y])));
        }
        if self.chance(10) {
            on += &format!(" AND {x}.a {} {y}.a", self.pick(&["<", "<>", ">="]));
        }
        on
    }

    /// A sub-select that refers outward, or is looked into.
    pub(super) fn sub_select(&mut self, outer: &str) -> String {
        let (table, s) = (self.table(), self.alias());
        let filter = match self.chance(60) {
            true => format!(" AND {}", self.condition(&s)),
            false => String::new(),
        };
        let not = self.pick(&["", "", "NOT "]);
        match self.number(8) {
            0..=2 => {
                let on = self.between(&s, outer);
                format!("{not}EXISTS (SELECT FROM {table} AS {s} WHERE {on}{filter})")
            }
            3 | 4 => {
                let column = self.pick(&["id", "b", "a", "d", "c"]);
                format!(
                    "{outer}.{column} {not}IN (SELECT {s}.{column} FROM {table} AS {s} \
                     WHERE {s}.id > 2{filter})"
                )
            }
            5 => {
                let aggregate = self.pick(&["min", "max", "avg", "count"]);
                format!(
                    "{outer}.b {} (SELECT {aggregate}({s}.b) FROM {table} AS {s} \
                     WHERE {s}.a = {outer}.a{filter})",
                    self.pick(&["<", ">=", "="])
                )
            }
            6 => {
                let kind = self.pick(&["ANY", "ALL"]);
                format!(
                    "{outer}.b {} {kind} (SELECT {s}.b FROM {table} AS {s} WHERE {s}.id < 40{filter})",
                    self.pick(&["=", "<>", "<", ">="])
                )
            }
            _ => {
                let (other, t) = (self.table(), self.alias());
                let (on, with) = (self.between(&s, &t), self.between(&s, outer));
                format!(
                    "{not}EXISTS (SELECT FROM {table} AS {s} JOIN {other} AS {t} ON {on} \
                     WHERE {with}{filter})"
                )
            }
        }
    }
}
