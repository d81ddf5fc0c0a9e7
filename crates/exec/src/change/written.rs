//! The columns that an UPDATE writes, and the consequences.
//!
//! The columns are the statement's assigned ones, and the generated columns that depend on them
//! (PostgreSQL's ExecGetAllUpdatedCols). They are computed when the statement is compiled, and for
//! a leaf when the leaf is compiled. So unwritten columns are never compared row by row.

use super::target::TargetRules;
use crate::access::IndexAccess;
use steppe_sql::plan::ModifyTable;

/// The columns that an UPDATE writes in a target's rows; empty for another statement.
#[derive(Default)]
pub(crate) struct Written {
    /// Whether each of the target's columns is written.
    columns: Box<[bool]>,
    /// Any column may be written, even if the statement does not assign to it.
    any: bool,
    /// The positions of the generated columns that are computed again. The others stay unchanged.
    pub(super) generated: Box<[usize]>,
    /// The positions of the indexes whose keys may change.
    pub(super) indexes: Box<[usize]>,
    /// A column of a key that foreign keys may refer to is written, perhaps with its old value. The
    /// row lock is in mode UPDATE (PostgreSQL's ExecUpdateLockMode).
    pub(crate) is_key: bool,
    /// A column is written that decides the row's partition.
    pub(crate) moves: bool,
}

impl Written {
    /// `assigned`: the columns that the statement assigns to, from [`Written::assigned_by`]. `any`:
    /// a BEFORE ROW trigger sees each new version, so that any other column may be written, too
    /// (PostgreSQL's ExecInitGenerated).
    pub(super) fn new(
        assigned: &[usize],
        rules: &TargetRules,
        indexes: &[IndexAccess],
        any: bool,
    ) -> Written {
        let set: Vec<usize> = match &rules.columns {
            None => assigned.to_vec(),
            Some(map) => assigned.iter().filter_map(|column| map.in_leaf(*column).ok()).collect(),
        };
        let generated = rules.generated.iter().enumerate();
        let generated: Box<[usize]> = generated
            .filter(|(_, generated)| {
                any || set.iter().any(|column| generated.reads.contains(column))
            })
            .map(|(at, _)| at)
            .collect();
        let computed = generated.iter().map(|at| rules.generated[*at].column);
        let all: Vec<usize> = set.iter().copied().chain(computed).collect();
        let mut columns = vec![false; all.iter().max().map_or(0, |last| last + 1)];
        all.iter().for_each(|column| columns[*column] = true);
        let reads = |index: &IndexAccess| all.iter().any(|column| index.reads(*column));
        let indexes_read = indexes.iter().enumerate().filter(|(_, index)| any || reads(index));
        let mut keys = indexes.iter().flat_map(|index| index.referable_columns());
        let decides = |column: &usize| rules.partition.as_ref().is_some_and(|p| p.reads(*column));
        Written {
            is_key: keys.any(|(column, _)| all.contains(&column)),
            moves: rules.partition.is_some() && (any || all.iter().any(decides)),
            any,
            indexes: indexes_read.map(|(at, _)| at).collect(),
            columns: columns.into(),
            generated,
        }
    }

    /// The columns that an UPDATE or ON CONFLICT DO UPDATE assigns to, numbered as in the table
    /// that the statement names.
    pub(crate) fn assigned_by(modify: &ModifyTable) -> Box<[usize]> {
        let of_conflict = modify.on_conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
        let of_conflict = of_conflict.into_iter().flat_map(|(assignments, _)| assignments);
        modify.assignments.iter().chain(of_conflict).map(|(column, _)| *column).collect()
    }

    /// Whether a column may be written.
    pub(super) fn has(&self, column: usize) -> bool {
        self.any || self.assigns(column)
    }

    /// Whether the statement itself writes a column.
    pub(super) fn assigns(&self, column: usize) -> bool {
        self.columns.get(column).copied().unwrap_or(false)
    }
}
