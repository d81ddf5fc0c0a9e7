//! pg_stat_statements.save: the counts that the next start of the server continues from.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::{Counts, Statement, Statements, TEXT_BYTES_MAX};

/// All statements with their counts.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedStatements {
    statements: Vec<SavedStatement>,
    deallocations: u64,
    reset_at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedStatement {
    id: i64,
    #[serde(default = "at_top")]
    is_top_level: bool,
    text: String,
    counts: Counts,
    since: i64,
    extremes_since: i64,
}

/// Nested statements were not counted at first.
fn at_top() -> bool {
    true
}

impl Statements {
    /// The counts to save, when all sessions have ended.
    pub(crate) fn save(&self) -> SavedStatements {
        let rows = self.rows(|_| {}).into_iter();
        let statements = rows.map(|shown| SavedStatement {
            id: shown.statement.id,
            is_top_level: shown.statement.is_top_level,
            text: shown.statement.text.to_string(),
            counts: shown.counts,
            since: shown.since,
            extremes_since: shown.extremes_since,
        });
        SavedStatements {
            statements: statements.collect(),
            deallocations: self.deallocations.load(Ordering::Relaxed),
            reset_at: self.reset_at.load(Ordering::Relaxed),
        }
    }

    /// Continues from the saved counts, before any statement has run. If the limit is lower now,
    /// the statements that ran most are kept.
    pub(crate) fn restore(&self, mut saved: SavedStatements) {
        saved.statements.sort_by(|a, b| b.counts.score.total_cmp(&a.counts.score));
        let mut table = self.table.lock();
        for one in saved.statements.into_iter().take(self.max) {
            if table.text_bytes + one.text.len() > TEXT_BYTES_MAX {
                break;
            }
            let statement =
                Statement::new((one.id, one.is_top_level), one.text.into(), &self.serials);
            let generation = self.generation.load(Ordering::Relaxed);
            statement.born.store(generation, Ordering::Relaxed);
            statement.extremes_born.store(generation, Ordering::Relaxed);
            statement.since.store(one.since, Ordering::Relaxed);
            statement.extremes_since.store(one.extremes_since, Ordering::Relaxed);
            statement.is_listed.store(true, Ordering::Release);
            *statement.handed_over.lock() = one.counts;
            table.text_bytes += statement.text.len();
            table.by_key.insert(statement.key(), Arc::new(statement));
        }
        self.deallocations.store(saved.deallocations, Ordering::Relaxed);
        self.reset_at.store(saved.reset_at, Ordering::Relaxed);
    }
}
