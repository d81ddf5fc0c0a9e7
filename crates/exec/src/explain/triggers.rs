//! The triggers of an analyzed execution: how often each was called, and for how long
//! (report_triggers in explain.c).

use super::document::Value;
use super::milliseconds;
use super::structured::Writer;
use std::sync::Arc;
use std::time::Duration;
use steppe_catalog::Relation;
use steppe_sql::plan::{PlannedStmt, RelationLock};
use steppe_types::Oid;

/// The calls of one trigger in an analyzed execution.
#[derive(Clone, Debug)]
pub struct TriggerRun {
    /// The trigger.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Whether it is a constraint trigger, whose constraint has the same name.
    pub is_constraint: bool,
    /// The table that has it.
    pub relation: Arc<Relation>,
    /// Its calls.
    pub calls: u64,
    /// The time of all calls.
    pub time: Duration,
}

/// The triggers as EXPLAIN reports them.
#[derive(Clone, Debug, Default)]
pub struct TriggerRuns {
    runs: Vec<TriggerRun>,
    /// Whether several tables may have been changed.
    names_tables: bool,
    /// TIMING
    timing: bool,
    verbose: bool,
}

impl TriggerRuns {
    /// The triggers that a statement has called, by table and name.
    pub fn new(
        runs: &[TriggerRun],
        stmt: &PlannedStmt,
        options: super::ExplainOptions,
    ) -> TriggerRuns {
        let changed = stmt.relations.iter().filter(|(_, lock)| *lock == RelationLock::RowExclusive);
        let has_leaves = |run: &TriggerRun| {
            run.relation.partition_of.is_some() || run.relation.partition_key.is_some()
        };
        let names_tables = changed.count() > 1 || runs.iter().any(has_leaves);
        let mut tables: Vec<Oid> = Vec::new();
        for run in runs {
            if !tables.contains(&run.relation.oid) {
                tables.push(run.relation.oid);
            }
        }
        let mut runs = runs.to_vec();
        let place = |run: &TriggerRun| tables.iter().position(|oid| *oid == run.relation.oid);
        runs.sort_by(|a, b| {
            let key = |run: &TriggerRun| (run.relation.partition_of.is_some(), place(run));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        TriggerRuns { runs, names_tables, timing: options.timing, verbose: options.verbose }
    }

    /// A line for each.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.runs.iter().map(|run| {
            let mut line = "Trigger".to_owned();
            if self.verbose || !run.is_constraint {
                line.push_str(&format!(" {}", run.name));
            }
            if run.is_constraint {
                line.push_str(&format!(" for constraint {}", run.name));
            }
            if self.names_tables {
                line.push_str(&format!(" on {}", run.relation.name));
            }
            match self.timing {
                true => format!("{line}: time={} calls={}", milliseconds(run.time), run.calls),
                false => format!("{line}: calls={}", run.calls),
            }
        })
    }

    /// A group for each.
    pub(super) fn write(&self, out: &mut Writer) {
        out.open("Triggers", Some("Triggers"), false);
        for run in &self.runs {
            out.open("Trigger", None, true);
            out.value("Trigger Name", &Value::Text(run.name.to_string()));
            if run.is_constraint {
                out.value("Constraint Name", &Value::Text(run.name.to_string()));
            }
            out.value("Relation", &Value::Text(run.relation.name.to_string()));
            if self.timing {
                out.value("Time", &Value::Number(milliseconds(run.time)));
            }
            out.value("Calls", &Value::from(run.calls));
            out.close("Trigger", true);
        }
        out.close("Triggers", false);
    }
}
