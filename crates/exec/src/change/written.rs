//! Which columns an UPDATE writes, and what follows from that.
//!
//! The columns are those that the statement assigns to, and those that are generated from them
//! (PostgreSQL's ExecGetAllUpdatedCols). This is worked out once: when the statement is compiled,
//! and for a leaf when the leaf is compiled. So no row is looked at for a column that stays.

use super::target::TargetRules;
use crate::access::IndexAccess;
use steppe_sql::plan::ModifyTable;

/// What an UPDATE writes of a target's rows; nothing, if the statement is none.
#[derive(Default)]
pub(crate) struct Written {
    /// By the place where the target has a column: whether it is written.
    columns: Box<[bool]>,
    /// Any column may be, whatever the statement assigns to.
    any: bool,
    /// The positions of the generated columns that are computed again; the others stay as they are.
    pub(super) generated: Box<[usize]>,
    /// The positions of the indexes whose keys may change.
    pub(super) indexes: Box<[usize]>,
    /// A column of a key that foreign keys may refer to is written, be it to what it was: the row
    /// lock is in mode UPDATE (PostgreSQL's ExecUpdateLockMode).
    pub(super) is_key: bool,
    /// A column is written that decides which partition a row belongs to.
    pub(crate) moves: bool,
}

impl Written {
    /// `assigned`: the columns that the statement assigns to, as [`Written::assigned_by`] has them.
    /// `any`: a BEFORE ROW trigger has each new version in hand, so that any column may be written
    /// besides (PostgreSQL's ExecInitGenerated).
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

    /// The columns that a statement assigns to, as the table that it names has them: UPDATE's, or
    /// those of ON CONFLICT DO UPDATE.
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
