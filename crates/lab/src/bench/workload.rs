//! What is measured, and what has to be reached: the table of workloads.
//!
//! A workload that writes to a table of its own finds it empty at every measurement.
//! After the last one, what the server then holds is compared with what pgbench or COPY
//! was told: a fast wrong answer is no result.

/// One line of the table.
#[derive(Debug)]
pub(super) struct Workload {
    /// For the command line.
    pub(super) name: &'static str,
    /// For the report.
    pub(super) title: &'static str,
    pub(super) load: Load,
    pub(super) data: Data,
    pub(super) clients: u32,
    /// What Steppe's rate has to be, as a multiple of PostgreSQL's.
    pub(super) target_to_postgresql: f64,
    /// And of the do-nothing server's, where that can play it.
    pub(super) target_to_noop: Option<f64>,
}

#[derive(Debug)]
pub(super) enum Load {
    Pgbench {
        script: Script,
        /// pgbench's -M.
        mode: &'static str,
        rows_per_transaction: u64,
    },
    Copy,
}

#[derive(Debug)]
pub(super) enum Script {
    Builtin(&'static str),
    /// The text of a script file.
    Custom(&'static str),
}

/// The tables that a workload uses.
#[derive(Debug, PartialEq)]
pub(super) enum Data {
    /// Those of pgbench -i, only read.
    PgbenchRead,
    /// Those of pgbench -i, changed.
    PgbenchChanged,
    /// One of its own.
    Own { table: &'static str, columns: &'static str },
}

impl Workload {
    /// Whether the do-nothing server answers this in a way that a client believes.
    pub(super) fn suits_noop(&self) -> bool {
        match &self.load {
            Load::Pgbench { rows_per_transaction, .. } => *rows_per_transaction == 1,
            Load::Copy => false,
        }
    }

    /// Rows or transactions: what a rate of this workload counts.
    pub(super) fn unit(&self) -> &'static str {
        match &self.load {
            Load::Pgbench { rows_per_transaction: 1, .. } => "TPS",
            Load::Pgbench { .. } | Load::Copy => "rows/s",
        }
    }
}

const fn select_only(
    name: &'static str,
    title: &'static str,
    mode: &'static str,
    clients: u32,
    target_to_postgresql: f64,
    target_to_noop: f64,
) -> Workload {
    Workload {
        name,
        title,
        load: Load::Pgbench {
            script: Script::Builtin("select-only"),
            mode,
            rows_per_transaction: 1,
        },
        data: Data::PgbenchRead,
        clients,
        target_to_postgresql,
        target_to_noop: Some(target_to_noop),
    }
}

const fn copy(
    name: &'static str,
    title: &'static str,
    table: &'static str,
    clients: u32,
) -> Workload {
    Workload {
        name,
        title,
        load: Load::Copy,
        data: Data::Own { table, columns: "id bigint NOT NULL, a integer, b text, c timestamp" },
        clients,
        target_to_postgresql: 2.0,
        target_to_noop: None,
    }
}

/// All of them, in the order in which they run: what reads only goes first.
pub(super) const WORKLOADS: &[Workload] = &[
    select_only(
        "select-prepared-16",
        "select-only, prepared, 16 clients",
        "prepared",
        16,
        1.9,
        0.65,
    ),
    select_only(
        "select-prepared-64",
        "select-only, prepared, 64 clients",
        "prepared",
        64,
        1.9,
        0.65,
    ),
    select_only("select-simple-16", "select-only, simple, 16 clients", "simple", 16, 2.8, 0.60),
    select_only("select-simple-64", "select-only, simple, 64 clients", "simple", 64, 2.8, 0.60),
    Workload {
        name: "tpcb-prepared-32",
        title: "tpcb-like, prepared, 32 clients",
        load: Load::Pgbench {
            script: Script::Builtin("tpcb-like"),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data: Data::PgbenchChanged,
        clients: 32,
        target_to_postgresql: 3.0,
        target_to_noop: Some(0.45),
    },
    Workload {
        name: "insert-prepared-32",
        title: "one-row insert, prepared, 32 clients",
        load: Load::Pgbench {
            script: Script::Custom(
                "\\set a random(1, 1000000)\n\
                 INSERT INTO bench_insert (a, b) VALUES (:a, 'one row of the benchmark');\n",
            ),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data: Data::Own {
            table: "bench_insert",
            columns: "id bigserial PRIMARY KEY, a integer, b text",
        },
        clients: 32,
        target_to_postgresql: 2.5,
        target_to_noop: None,
    },
    Workload {
        name: "insert-series-4",
        title: "insert … select generate_series(1,100000), 4 clients",
        load: Load::Pgbench {
            script: Script::Custom("INSERT INTO bench_series SELECT generate_series(1,100000);\n"),
            mode: "simple",
            rows_per_transaction: 100_000,
        },
        data: Data::Own { table: "bench_series", columns: "n integer" },
        clients: 4,
        target_to_postgresql: 3.0,
        target_to_noop: None,
    },
    copy("copy-1", "COPY in, 1 client", "bench_copy_1", 1),
    copy("copy-4", "COPY in, 4 clients", "bench_copy_4", 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        for (i, workload) in WORKLOADS.iter().enumerate() {
            assert!(WORKLOADS[..i].iter().all(|other| other.name != workload.name));
        }
    }

    #[test]
    fn a_ratio_to_the_ceiling_needs_a_ceiling() {
        for workload in WORKLOADS {
            assert!(workload.target_to_noop.is_none() || workload.suits_noop());
        }
    }
}
