//! Queries that can be planned in many ways: joins of up to six tables, groups, sub-selects, sets,
//! windows, ORDER BY with LIMIT. Some are prepared, and executed with values that select much and
//! little.
//!
//! Tables have from no rows to some thousands, more than fit into the 64 kB that a sort or a hash
//! may take; some have statistics, some old ones, some none. The planner's switches are thrown at
//! random, with the bounds of its searches and `work_mem`. What joins is equal often enough to find
//! rows and seldom enough to end in time.
//!
//! An answer does not depend on the plan: a LIMIT has an ORDER BY of all columns, and floats are
//! not summed up. The stream of statements is this mode's own.

mod conditions;
mod queries;
mod tables;

use super::generate::Statement;
use super::statements::Source;
use steppe_vfs::SeededRandom;

/// Tables p0 … p5.
const TABLES: u64 = 6;

/// Switches of the planner.
const SWITCHES: &[&str] = &[
    "enable_seqscan",
    "enable_indexscan",
    "enable_indexonlyscan",
    "enable_bitmapscan",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_hashagg",
    "enable_sort",
    "enable_incremental_sort",
    "enable_material",
    "enable_memoize",
    "enable_group_by_reordering",
    "enable_distinct_reordering",
    "enable_presorted_aggregate",
    "enable_self_join_elimination",
    "enable_eager_aggregate",
];

/// Makes tables and queries from a seed.
pub(super) struct Plans {
    random: SeededRandom,
    aliases: u32,
    /// Changes made so far; rows that one inserts have ids of their own.
    inserts: u32,
}

impl Source for Plans {
    fn new(seed: u64) -> Plans {
        // This mode uses seeds of its own.
        Plans { random: SeededRandom::new(seed ^ 0x70_6c61_6e73), aliases: 0, inserts: 0 }
    }

    fn schema(&self) -> Vec<String> {
        self.tables()
    }

    fn statement(&mut self) -> Statement {
        self.aliases = 0;
        self.query()
    }

    fn settings(random: &SeededRandom) -> String {
        let mut settings: Vec<String> = SWITCHES
            .iter()
            .map(|switch| {
                let to = if random.chance(75, 100) { "on" } else { "off" };
                format!("SET {switch} = {to}")
            })
            .collect();
        for (name, values) in [
            ("work_mem", ["'64kB'", "'64kB'", "'4MB'"]),
            ("join_collapse_limit", ["1", "8", "8"]),
            ("from_collapse_limit", ["1", "8", "8"]),
            ("max_parallel_workers_per_gather", ["0", "2", "2"]),
            ("min_parallel_table_scan_size", ["0", "'8MB'", "'8MB'"]),
            ("parallel_setup_cost", ["0", "1000", "1000"]),
            ("random_page_cost", ["1", "4", "4"]),
            ("min_eager_agg_group_size", ["0", "1", "8"]),
            ("plan_cache_mode", ["auto", "auto", "force_generic_plan"]),
        ] {
            let value = values[random.below(3) as usize];
            settings.push(format!("SET {name} = {value}"));
        }
        settings.join("; ")
    }
}

impl Plans {
    fn chance(&self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    fn pick<T: Copy>(&self, choices: &[T]) -> T {
        choices[self.random.below(choices.len() as u64) as usize]
    }

    fn number(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    fn table(&self) -> String {
        format!("p{}", self.number(TABLES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(seed: u64) -> Vec<String> {
        let mut plans = Plans::new(seed);
        let tables = plans.schema();
        tables.into_iter().chain((0..300).map(|_| plans.statement().sql)).collect()
    }

    #[test]
    fn a_seed_makes_the_same_again() {
        assert_eq!(texts(3), texts(3));
        assert_ne!(texts(3), texts(4));
    }

    #[test]
    fn every_limit_has_an_order() {
        for sql in texts(5).iter().filter(|sql| sql.contains("LIMIT")) {
            assert!(sql.contains("ORDER BY"), "{sql}");
        }
        let joins_of = |sql: &String| sql.matches(" AS x").count();
        assert!(texts(5).iter().map(joins_of).max() > Some(6));
    }
}
