//! The table of workloads, with their targets. Other files make the workloads over partitions
//! (partitions.rs), with cliffs (cliffs.rs), of sysbench (sysbench.rs), of plans (planning.rs), with
//! inserts of many rows (inserts.rs), of functions (functions.rs), and of triggers and foreign keys
//! (triggers.rs).
//!
//! A workload that writes to a table of its own finds it empty at every measurement. After the last
//! one the tables are compared with the rows that pgbench or COPY wrote: a fast wrong answer is no
//! result.

use std::borrow::Cow;

use super::beside::Beside;
use super::inserts::Protocol;
use super::partitions::{Leaves, Statement};

/// One line of the table.
#[derive(Debug, Clone)]
pub(super) struct Workload {
    /// For the command line.
    pub(super) name: String,
    /// For the report.
    pub(super) title: String,
    pub(super) load: Load,
    pub(super) data: Data,
    pub(super) clients: u32,
    /// The target for Steppe's rate, as a multiple of PostgreSQL's.
    pub(super) target_to_postgresql: Option<f64>,
    /// The same as a multiple of the do-nothing server's rate, if that supports the workload.
    pub(super) target_to_noop: Option<f64>,
    pub(super) section: Section,
    /// Workloads of one group are measured in turn.
    pub(super) group: String,
    /// The workload that it is compared with on the same server.
    pub(super) flat: Option<Flat>,
    pub(super) conditions: Conditions,
}

/// The part of the report that a workload belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// Servers compared with each other.
    Servers,
    /// The cost of partitions for each server.
    Partitions,
    /// The cost of contention and similar conditions for each server.
    Cliffs,
    /// The workloads of sysbench.
    Sysbench,
    /// Plans that are made and not run.
    Planning,
    /// Many rows in one statement.
    Inserts,
    /// Functions.
    Functions,
    /// Triggers and foreign keys.
    Triggers,
}

/// The workload without partitions or without contention that another is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flat {
    /// Its name.
    pub(super) name: String,
    /// The target for Steppe's rate, relative to its rate there.
    pub(super) target: f64,
}

/// The conditions under which a workload is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    /// Sessions that stay open meanwhile.
    pub(super) beside: Option<Beside>,
    /// Milliseconds that each sync takes longer.
    pub(super) sync_delay_ms: u32,
    /// The server may not write a byte to its log.
    pub(super) writes_nothing: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Load {
    Pgbench {
        script: Script,
        /// pgbench's -M.
        mode: &'static str,
        rows_per_transaction: u64,
    },
    Copy,
    /// One of sysbench's scripts.
    Sysbench(&'static str),
    /// INSERT of many rows, again and again.
    Inserts(Protocol),
}

#[derive(Debug, Clone)]
pub(super) enum Script {
    Builtin(&'static str),
    /// The text of a script file.
    Custom(Cow<'static, str>),
}

/// The tables that a workload uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    /// Those of pgbench -i, only read.
    PgbenchRead,
    /// Those of pgbench -i, changed.
    PgbenchChanged,
    /// One of its own, with the statements that make it.
    Own { table: &'static str, create: String },
    /// Those of the experiment with many leaves.
    Leaves(Leaves),
    /// One that several workloads change.
    Kept(Kept),
    /// Those of sysbench.
    Sysbench,
    /// Tables and functions that are made once: a name, the statements that make them, how many leaves
    /// a table has, and the statements that bring them back into the state in which each run of a
    /// workload must find them.
    Made { name: &'static str, create: String, leaves: u32, refill: Option<String> },
}

/// A table that several workloads share.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) table: &'static str,
    /// The statements that make and fill it.
    pub(super) create: String,
    /// The query for the number of items that were written to it.
    pub(super) told: &'static str,
}

impl Data {
    /// The name under which the tables are kept for the next workload, if they are.
    pub(super) fn kept(&self) -> Option<String> {
        match self {
            Data::PgbenchRead | Data::PgbenchChanged => Some("pgbench".to_owned()),
            Data::Leaves(leaves) => Some(leaves.schema()),
            Data::Kept(kept) => Some(kept.table.to_owned()),
            Data::Sysbench => Some("sysbench".to_owned()),
            Data::Made { name, .. } => Some((*name).to_owned()),
            Data::Own { .. } => None,
        }
    }

    /// Whether each item of a workload is counted there.
    pub(super) fn is_told(&self) -> bool {
        match self {
            Data::Leaves(leaves) => leaves.statement == Statement::Insert,
            Data::Kept(_) => true,
            Data::PgbenchRead | Data::PgbenchChanged | Data::Own { .. } => false,
            Data::Sysbench | Data::Made { .. } => false,
        }
    }

    /// The query for the number of items that were counted.
    pub(super) fn held(&self) -> Option<String> {
        match self {
            Data::Leaves(leaves) => Some(leaves.history()),
            Data::Kept(kept) => Some(kept.told.to_owned()),
            Data::PgbenchRead | Data::PgbenchChanged | Data::Own { .. } => None,
            Data::Sysbench | Data::Made { .. } => None,
        }
    }
}

impl Workload {
    /// Whether a client accepts the do-nothing server's answers to this.
    pub(super) fn suits_noop(&self) -> bool {
        match &self.load {
            _ if self.section != Section::Servers => false,
            Load::Pgbench { rows_per_transaction, .. } => *rows_per_transaction == 1,
            Load::Copy | Load::Sysbench(_) | Load::Inserts(_) => false,
        }
    }

    /// Rows, transactions or plans: what a rate of this workload counts.
    pub(super) fn unit(&self) -> &'static str {
        match &self.load {
            _ if self.section == Section::Planning => "plans/s",
            Load::Pgbench { rows_per_transaction: 1, .. } | Load::Sysbench(_) => "TPS",
            Load::Pgbench { .. } | Load::Copy | Load::Inserts(_) => "rows/s",
        }
    }
}

fn select_only(
    name: &str,
    title: &str,
    mode: &'static str,
    clients: u32,
    target_to_postgresql: f64,
    target_to_noop: f64,
) -> Workload {
    Workload {
        group: name.to_owned(),
        name: name.to_owned(),
        title: title.to_owned(),
        load: Load::Pgbench {
            script: Script::Builtin("select-only"),
            mode,
            rows_per_transaction: 1,
        },
        data: Data::PgbenchRead,
        clients,
        target_to_postgresql: Some(target_to_postgresql),
        target_to_noop: Some(target_to_noop),
        section: Section::Servers,
        flat: None,
        conditions: Conditions::default(),
    }
}

fn copy(name: &str, title: &str, table: &'static str, clients: u32) -> Workload {
    let columns = "id bigint NOT NULL, a integer, b text, c timestamp";
    Workload {
        group: name.to_owned(),
        name: name.to_owned(),
        title: title.to_owned(),
        load: Load::Copy,
        data: Data::Own { table, create: format!("CREATE TABLE {table} ({columns})") },
        clients,
        target_to_postgresql: Some(2.0),
        target_to_noop: None,
        section: Section::Servers,
        flat: None,
        conditions: Conditions::default(),
    }
}

/// The workloads that compare servers, in the order in which they run: read-only ones first.
pub(super) fn of_servers() -> Vec<Workload> {
    vec![
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
        tpcb_like(),
        insert_one_row(),
        insert_series(),
        copy("copy-1", "COPY in, 1 client", "bench_copy_1", 1),
        copy("copy-4", "COPY in, 4 clients", "bench_copy_4", 4),
    ]
}

fn tpcb_like() -> Workload {
    Workload {
        group: "tpcb-prepared-32".to_owned(),
        name: "tpcb-prepared-32".to_owned(),
        title: "tpcb-like, prepared, 32 clients".to_owned(),
        load: Load::Pgbench {
            script: Script::Builtin("tpcb-like"),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data: Data::PgbenchChanged,
        clients: 32,
        target_to_postgresql: Some(3.0),
        target_to_noop: Some(0.45),
        section: Section::Servers,
        flat: None,
        conditions: Conditions::default(),
    }
}

fn insert_one_row() -> Workload {
    let script = "\\set a random(1, 1000000)\n\
                  INSERT INTO bench_insert (a, b) VALUES (:a, 'one row of the benchmark');\n";
    let columns = "id bigserial PRIMARY KEY, a integer, b text";
    Workload {
        group: "insert-prepared-32".to_owned(),
        name: "insert-prepared-32".to_owned(),
        title: "one-row insert, prepared, 32 clients".to_owned(),
        load: Load::Pgbench {
            script: Script::Custom(script.into()),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data: Data::Own {
            table: "bench_insert",
            create: format!("CREATE TABLE bench_insert ({columns})"),
        },
        clients: 32,
        target_to_postgresql: Some(2.5),
        target_to_noop: None,
        section: Section::Servers,
        flat: None,
        conditions: Conditions::default(),
    }
}

fn insert_series() -> Workload {
    let script = "INSERT INTO bench_series SELECT generate_series(1,100000);\n";
    Workload {
        group: "insert-series-4".to_owned(),
        name: "insert-series-4".to_owned(),
        title: "insert … select generate_series(1,100000), 4 clients".to_owned(),
        load: Load::Pgbench {
            script: Script::Custom(script.into()),
            mode: "simple",
            rows_per_transaction: 100_000,
        },
        data: Data::Own {
            table: "bench_series",
            create: "CREATE TABLE bench_series (n integer)".to_owned(),
        },
        clients: 4,
        target_to_postgresql: Some(3.0),
        target_to_noop: None,
        section: Section::Servers,
        flat: None,
        conditions: Conditions::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_to_the_ceiling_needs_a_ceiling() {
        for workload in of_servers() {
            assert!(workload.target_to_noop.is_none() || workload.suits_noop());
        }
    }
}
