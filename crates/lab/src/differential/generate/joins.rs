//! Nested joins: inner, outer, semi and anti joins, whose order the planner may choose as far as
//! their conditions allow. Conditions accept and reject NULLs, name both sides, one, or several
//! tables of one.

use super::Generator;

impl Generator {
    /// Counts and sums over a tree of joins.
    pub(super) fn joined(&mut self) -> String {
        let count = 2 + self.random.below(4);
        let (from, aliases) = self.join_tree(count);
        let mut conditions = Vec::new();
        for _ in 0..self.random.below(3) {
            let of = self.one_of(&aliases);
            let condition = match self.random.below(6) {
                0 => format!("{of} IS NULL"),
                1 => format!("coalesce({of}, 1) < 4"),
                2 => format!("{of} < 6"),
                _ => self.exists(&aliases),
            };
            conditions.push(condition);
        }
        let filter = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        let sums: Vec<String> = aliases.iter().map(|alias| format!("sum({alias}.id)")).collect();
        format!("SELECT count(*), {} FROM {from}{filter}", sums.join(", "))
    }

    /// A FROM item of `count` tables, and their aliases.
    fn join_tree(&mut self, count: u64) -> (String, Vec<String>) {
        if count == 1 {
            let (table, alias) = (self.table(), self.alias());
            return (format!("{table} AS {alias}"), vec![alias]);
        }
        let of_left = if self.chance(50) { count - 1 } else { 1 + self.random.below(count - 1) };
        let left = self.join_tree(of_left);
        let right = self.join_tree(count - of_left);
        let kind =
            self.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let on = match kind {
            "FULL JOIN" => format!("{} = {}", self.one_of(&left.1), self.one_of(&right.1)),
            _ => {
                let conditions: Vec<String> =
                    (0..=self.random.below(2)).map(|_| self.between(&left.1, &right.1)).collect();
                conditions.join(" AND ")
            }
        };
        let inner = if right.1.len() > 1 { format!("({})", right.0) } else { right.0 };
        (format!("{} {kind} {inner} ON {on}", left.0), [left.1, right.1].concat())
    }

    fn one_of(&self, aliases: &[String]) -> String {
        let alias = &aliases[self.random.below(aliases.len() as u64) as usize];
        format!("{alias}.{}", self.pick(&["a", "b", "id"]))
    }

    /// A condition of ON.
    fn between(&self, left: &[String], right: &[String]) -> String {
        let (a, b) = (self.one_of(left), self.one_of(right));
        match self.random.below(10) {
            0 => format!("coalesce({a}, 2) = {b}"),
            1 => format!("{a} = coalesce({b}, 2)"),
            2 => format!("({a} = {b} OR {a} IS NULL)"),
            3 => format!("{b} > 2"),
            4 => format!("{a} + {b} = {}", self.one_of(right)),
            _ => format!("{a} = {b}"),
        }
    }

    /// EXISTS or NOT EXISTS of one table or two.
    fn exists(&mut self, outer: &[String]) -> String {
        let not = self.pick(&["", "NOT "]);
        let count = 1 + self.random.below(2);
        let (from, inside) = self.join_tree(count);
        let more = match self.random.below(3) {
            0 => format!(" AND {} <> {}", self.one_of(&inside), self.one_of(outer)),
            _ => String::new(),
        };
        let on = format!("{} = {}", self.one_of(&inside), self.one_of(outer));
        format!("{not}EXISTS (SELECT FROM {from} WHERE {on}{more})")
    }
}
