//! The tables: they have the same columns, but different rows, indexes and statistics.

use super::{Plans, TABLES};

impl Plans {
    /// The columns are `id`, an integer `a` of few values (most of them small), an integer `b` of
    /// many, a numeric `n`, a text `c` of up to 60 bytes and a date `d`. All but `id` may be NULL.
    pub(super) fn tables(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for number in 0..TABLES {
            let table = format!("p{number}");
            // Two are large, so that a join without an index ends in time.
            let rows = match number {
                0 | 1 => self.pick(&[900, 2000, 3500]),
                _ => self.pick(&[0, 4, 40, 250, 250, 600]),
            };
            statements.push(format!("DROP TABLE IF EXISTS {table}"));
            let key = self.pick(&["integer PRIMARY KEY", "integer PRIMARY KEY", "integer"]);
            statements.push(format!(
                "CREATE TABLE {table} (id {key}, a integer, b {}, n numeric(10,2), c text, d date)",
                self.pick(&["integer", "integer", "bigint"])
            ));
            let kind_of_statistics = self.number(3);
            if kind_of_statistics == 1 {
                // Old ones: of a tenth.
                statements.push(self.rows(&table, 1, rows / 10));
                statements.push(format!("ANALYZE {table}"));
                statements.push(self.rows(&table, rows / 10 + 1, rows));
            } else {
                statements.push(self.rows(&table, 1, rows));
            }
            if kind_of_statistics == 1 && self.chance(30) {
                statements.push(format!("DELETE FROM {table} WHERE id % 3 = 0"));
            }
            for columns in ["a", "b", "a, id", "b, a DESC", "c", "d, b", "n", "(a + b)", "lower(c)"]
            {
                if self.chance(25) {
                    statements.push(format!("CREATE INDEX ON {table} ({columns})"));
                }
            }
            if self.chance(20) {
                statements.push(format!("CREATE INDEX ON {table} (b) WHERE a < 3"));
            }
            if kind_of_statistics == 0 {
                statements.push(format!("{} {table}", self.pick(&["ANALYZE", "VACUUM ANALYZE"])));
            }
        }
        statements
    }

    fn rows(&self, table: &str, first: u64, last: u64) -> String {
        let prime = self.pick(&[7, 31, 101, 271]);
        let wide = (last / 3).max(2);
        let [a_null, b_null, c_null] = [(); 3].map(|()| self.pick(&[0, 3, 11]));
        let or_null = |value: &str, every: u64| match every {
            0 => value.to_owned(),
            _ => format!("CASE WHEN i % {every} > 0 THEN {value} END"),
        };
        let a = or_null(&format!("(i * {prime} % 8) * (i % 5) / 5"), a_null);
        let b = or_null(&format!("i * {prime} % {wide}"), b_null);
        let c = or_null(
            &format!("repeat(chr((97 + i * {prime} % 7)::integer), (1 + i % 60)::integer)"),
            c_null,
        );
        format!(
            "INSERT INTO {table} SELECT i, {a}, {b}, (i * {prime} % 50) / 4.0, {c}, \
             date '2024-01-01' + (i * {prime} % 90)::integer FROM generate_series({first}, {last}) AS i"
        )
    }
}
