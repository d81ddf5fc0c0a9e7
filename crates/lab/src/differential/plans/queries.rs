//! Whole queries.

use super::super::generate::Statement;
use super::Plans;

impl Plans {
    pub(super) fn query(&mut self) -> Statement {
        let (sql, ordered) = match self.number(23) {
            20.. => (self.prepared(), false),
            0..=5 => (self.summed_up(), false),
            6..=10 => self.grouped(),
            11..=15 => self.ordered(),
            16 => (self.sets(), false),
            17 => (self.windowed(), true),
            18 => (self.latest(), true),
            _ => (self.change(), false),
        };
        Statement { sql, ordered }
    }

    /// FROM and WHERE of up to `most` tables, and their aliases.
    fn source(&mut self, most: u64) -> (String, Vec<String>) {
        let count = 1 + self.number(most);
        let (mut from, aliases) = match self.chance(25) {
            true => self.comma_list(count),
            false => {
                let (from, aliases) = self.join_tree(count);
                (format!("{from} WHERE true"), aliases)
            }
        };
        for _ in 0..self.pick(&[0, 0, 1, 1, 2]) {
            let alias = self.one_of(&aliases);
            from += &format!(" AND {}", self.condition(&alias));
        }
        for _ in 0..self.pick(&[0, 0, 0, 1, 1]) {
            let alias = self.one_of(&aliases);
            from += &format!(" AND {}", self.sub_select(&alias));
        }
        (from, aliases)
    }

    fn one_of(&self, aliases: &[String]) -> String {
        aliases[self.number(aliases.len() as u64) as usize].clone()
    }

    fn comma_list(&mut self, count: u64) -> (String, Vec<String>) {
        let aliases: Vec<String> = (0..count).map(|_| self.alias()).collect();
        let items: Vec<String> =
            aliases.iter().map(|alias| format!("{} AS {alias}", self.table())).collect();
        let mut conditions = vec!["true".to_owned()];
        for later in 1..aliases.len() {
            let earlier = self.number(later as u64) as usize;
            conditions.push(self.between(&aliases[earlier], &aliases[later]));
        }
        (format!("{} WHERE {}", items.join(", "), conditions.join(" AND ")), aliases)
    }

    fn join_tree(&mut self, count: u64) -> (String, Vec<String>) {
        if count == 1 {
            let (table, alias) = (self.table(), self.alias());
            if self.chance(12) {
                return (self.derived(&table, &alias), vec![alias]);
            }
            return (format!("{table} AS {alias}"), vec![alias]);
        }
        let of_left = if self.chance(60) { count - 1 } else { 1 + self.number(count - 1) };
        let (left, mut aliases) = self.join_tree(of_left);
        let (right, of_right) = self.join_tree(count - of_left);
        let kind = self.pick(&[
            "JOIN",
            "JOIN",
            "JOIN",
            "LEFT JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "FULL JOIN",
        ]);
        let (x, y) = (self.one_of(&aliases), self.one_of(&of_right));
        let on = match kind {
            // PostgreSQL wants one that it can hash or merge.
            "FULL JOIN" => format!("{x}.b = {y}.b"),
            _ => self.between(&x, &y),
        };
        let right = if of_right.len() > 1 { format!("({right})") } else { right };
        aliases.extend(of_right);
        (format!("{left} {kind} {right} ON {on}"), aliases)
    }

    /// A sub-select in FROM that has the columns of a table.
    fn derived(&self, table: &str, alias: &str) -> String {
        let query = match self.number(4) {
            0 => format!("SELECT * FROM {table} WHERE a < 3"),
            1 => format!(
                "SELECT min(id) AS id, a, b, sum(n) AS n, max(c) AS c, min(d) AS d FROM {table} GROUP BY a, b"
            ),
            2 => format!("SELECT DISTINCT id, a, b, n, c, d FROM {table}"),
            _ => format!("SELECT * FROM {table} ORDER BY b, id LIMIT 30"),
        };
        format!("({query}) AS {alias}")
    }

    /// An aggregate whose result does not depend on the order of its rows.
    fn aggregate(&self, x: &str) -> String {
        let only = match self.chance(15) {
            true => format!(" FILTER (WHERE {})", self.condition(x)),
            false => String::new(),
        };
        match self.number(13) {
            0 => format!("count(*){only}"),
            1 => format!("count({x}.{}){only}", self.pick(&["a", "b", "c"])),
            2 => format!("sum({x}.{}){only}", self.pick(&["id", "a", "b", "n"])),
            3 => format!("min({x}.{}){only}", self.pick(&["id", "b", "n", "c", "d"])),
            4 => format!("max({x}.{}){only}", self.pick(&["id", "b", "n", "c", "d"])),
            // Equal averages may have other numbers of digits, and an ORDER BY sees them as equal.
            5 => format!("round(avg({x}.{}){only}, 9)", self.pick(&["id", "b", "n"])),
            6 => format!("count(DISTINCT {x}.{}){only}", self.pick(&["a", "b", "c", "d"])),
            7 => format!("bool_or({x}.a > 2){only}"),
            8 => format!("sum({x}.n * {x}.a + 1){only}"),
            9 => format!("string_agg({x}.a::text, ',' ORDER BY {x}.a){only}"),
            10 => format!("sum(DISTINCT {x}.a){only}"),
            11 => format!("sum(CASE WHEN {} THEN 1 ELSE 0 END)", self.condition(x)),
            _ => format!("max({x}.d){only}"),
        }
    }

    fn aggregates(&self, aliases: &[String], count: u64) -> String {
        let all: Vec<String> = (0..count).map(|_| self.aggregate(&self.one_of(aliases))).collect();
        all.join(", ")
    }

    /// One row.
    fn summed_up(&mut self) -> String {
        let (from, aliases) = self.source(6);
        let more = self.number(3);
        let more = self.aggregates(&aliases, 1 + more);
        let sums: Vec<String> = aliases.iter().map(|alias| format!("sum({alias}.id)")).collect();
        format!("SELECT count(*), {}, {more} FROM {from}", sums.join(", "))
    }

    fn grouped(&mut self) -> (String, bool) {
        let (from, aliases) = self.source(4);
        let count = 1 + self.number(3);
        let keys: Vec<String> = (0..count)
            .map(|_| {
                let x = self.one_of(&aliases);
                match self.number(9) {
                    0..=2 => format!("{x}.a"),
                    3 | 4 => format!("{x}.b"),
                    5 => format!("{x}.c"),
                    6 => format!("{x}.d"),
                    7 => format!("{x}.n"),
                    _ => format!("{x}.a + {x}.b"),
                }
            })
            .collect();
        let more = 1 + self.number(4);
        // Half of them of one table, which may be aggregated before it is joined.
        let aggregated = if self.chance(50) { vec![self.one_of(&aliases)] } else { aliases };
        let aggregates = self.aggregates(&aggregated, more);
        let group = match self.number(8) {
            0 => format!("ROLLUP ({})", keys.join(", ")),
            1 => format!("GROUPING SETS (({}), ())", keys.join(", ")),
            _ => keys.join(", "),
        };
        let having = match self.chance(20) {
            true => format!(" HAVING {} > {}", self.pick(&["count(*)", "sum(1)"]), self.number(4)),
            false => String::new(),
        };
        let sql = format!(
            "SELECT {}, {aggregates} FROM {from} GROUP BY {group}{having}",
            keys.join(", ")
        );
        match self.chance(50) {
            true => (format!("{sql} {}", self.order(count, count + more)), true),
            false => (sql, false),
        }
    }

    /// ORDER BY of all of `keys` columns and of those up to `columns`, with a LIMIT.
    fn order(&self, keys: u64, columns: u64) -> String {
        let mut order: Vec<String> = (1..=columns)
            .map(|n| format!("{n}{}", self.pick(&["", "", " DESC", " NULLS FIRST"])))
            .collect();
        let first = self.number(keys) as usize;
        order.swap(0, first);
        let mut text = format!("ORDER BY {}", order.join(", "));
        if self.chance(75) {
            text += &format!(" LIMIT {}", self.pick(&[0, 1, 5, 20, 300]));
        }
        if self.chance(25) {
            text += &format!(" OFFSET {}", self.pick(&[1, 7, 100]));
        }
        text
    }

    fn ordered(&mut self) -> (String, bool) {
        let (from, aliases) = self.source(4);
        let count = 1 + self.number(3);
        let columns: Vec<String> = (0..count)
            .map(|_| {
                let column = self.pick(&["id", "id", "a", "b", "b", "n", "c", "d"]);
                format!("{}.{column}", self.one_of(&aliases))
            })
            .collect();
        let distinct = match self.number(8) {
            0 | 1 => "DISTINCT ",
            _ => "",
        };
        let order = self.order(count, count);
        (format!("SELECT {distinct}{} FROM {from} {order}", columns.join(", ")), true)
    }

    fn sets(&mut self) -> String {
        let one = |g: &Plans| {
            let (table, x) = (g.table(), "x");
            format!("SELECT x.b, x.c, x.n FROM {table} AS x WHERE {}", g.condition(x))
        };
        let operator = self.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"]);
        let (left, right) = (one(self), one(self));
        let all = format!("({left}) {operator} ({right})");
        match self.chance(50) {
            true => format!("SELECT count(*), sum(b), min(c), sum(n) FROM ({all}) AS q"),
            false => format!("{all} ORDER BY 1, 2, 3 LIMIT {}", self.pick(&[1, 10, 200])),
        }
    }

    /// Window functions whose first rows are enough.
    fn windowed(&mut self) -> String {
        let table = self.table();
        let function = self.pick(&[
            "row_number() OVER (PARTITION BY a ORDER BY b, id)",
            "rank() OVER (PARTITION BY a ORDER BY b)",
            "dense_rank() OVER (PARTITION BY d ORDER BY a)",
            "sum(b) OVER (PARTITION BY a ORDER BY b, id)",
            "count(*) OVER (ORDER BY b)",
            "lag(b) OVER (PARTITION BY a ORDER BY id)",
        ]);
        let limit = self.pick(&["", " LIMIT 10", " LIMIT 100 OFFSET 5"]);
        let filter = self.condition("w");
        let condition = self.condition(&table);
        let few = self.number(5);
        let first = self.pick(&["w.id", "w.a", "w.n1"]);
        format!(
            "SELECT {first}, w.id, w.n1 FROM (SELECT *, {function} AS n1 FROM {table} \
             WHERE {condition}) AS w WHERE w.n1 <= {few} AND {filter} ORDER BY 1, 2, 3{limit}"
        )
    }

    /// The first row of each group, by DISTINCT ON or LATERAL.
    fn latest(&mut self) -> String {
        let (one, other) = (self.table(), self.table());
        let (filter, order) = (self.condition("x"), self.pick(&["", " DESC"]));
        match self.chance(50) {
            true => format!(
                "SELECT DISTINCT ON (x.a, x.d) x.a, x.d, x.id FROM {one} AS x WHERE {filter} \
                 ORDER BY x.a, x.d{order}, x.id"
            ),
            false => format!(
                "SELECT x.id, y.id, y.n FROM {one} AS x {} JOIN LATERAL (SELECT * FROM {other} AS z \
                 WHERE z.b = x.b ORDER BY z.id{order} LIMIT 2) AS y ON true WHERE {filter} \
                 ORDER BY 1, 2, 3 LIMIT 50",
                self.pick(&["", "LEFT"])
            ),
        }
    }

    /// A query with parameters, executed with values that select much and little.
    fn prepared(&mut self) -> String {
        let (from, aliases) = self.source(4);
        let (x, y) = (self.one_of(&aliases), self.one_of(&aliases));
        let by_parameters = match self.number(7) {
            0 => format!("{x}.a = $1 AND {y}.b < $2"),
            1 => format!("{x}.id BETWEEN $1 AND $2"),
            2 => format!("{x}.b = $1 AND {y}.a <> $2"),
            3 => format!("({x}.a = $1 OR {y}.b = $2)"),
            4 => format!("{x}.d = date '2024-01-01' + $1 AND {y}.id > $2"),
            5 => format!("{x}.b IN ($1, $2)"),
            _ => format!("({x}.a, {y}.b) > ($1, $2)"),
        };
        let more = self.aggregates(&aliases, 1);
        let sums: Vec<String> = aliases.iter().map(|alias| format!("sum({alias}.id)")).collect();
        let value = |g: &Plans| match g.number(12) {
            0 => "NULL".to_owned(),
            1 => "-1".to_owned(),
            2..=6 => g.number(8).to_string(),
            _ => g.number(g.pick(&[80, 600, 3000])).to_string(),
        };
        let executions: Vec<String> =
            (0..7).map(|_| format!("EXECUTE planned({}, {})", value(self), value(self))).collect();
        // One before it may have failed between the two.
        format!(
            "DEALLOCATE ALL; PREPARE planned(integer, integer) AS SELECT count(*), {}, {more} \
             FROM {from} AND {by_parameters}; {}",
            sums.join(", "),
            executions.join("; ")
        )
    }

    /// A change that joins, told by the rows that it returns.
    fn change(&mut self) -> String {
        let (table, other) = (self.table(), self.table());
        let (x, y) = ("x".to_owned(), "y".to_owned());
        let on = self.between(&x, &y);
        let filter = self.condition(&x);
        self.inserts += 1;
        match self.number(3) {
            0 => format!(
                "DELETE FROM {table} AS x USING {other} AS y WHERE {on} AND {filter} AND x.id % 7 = 1 \
                 RETURNING x.id"
            ),
            1 => format!(
                "UPDATE {table} AS x SET a = x.a % 5 + 1, c = left(x.c, 9) WHERE {filter} AND EXISTS \
                 (SELECT FROM {other} AS y WHERE {on}) RETURNING x.id, x.a, x.c"
            ),
            _ => format!(
                "INSERT INTO {table} SELECT id + 100000 * {}, b % 5, a, n, c, d FROM {other} AS x \
                 WHERE {filter} AND id < 100000 ON CONFLICT DO NOTHING RETURNING id, a, b",
                self.inserts
            ),
        }
    }
}
