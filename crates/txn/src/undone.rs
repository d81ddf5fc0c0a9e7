//! What rollbacks take back, summed up for the layer that counts changes: n_live_tup is what was
//! inserted less what was deleted, less what neither of it lasted.

use steppe_storage::TreeId;

use crate::engine::Engine;
use crate::files::{DatabaseId, FileId};

/// Changes of a table's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted, or moved to another table.
    pub deleted: u64,
}

impl RowChanges {
    /// Adds others.
    pub fn add(&mut self, other: &RowChanges) {
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

/// What was taken back, for a counter of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// Changes of rows that were made through stores of this owner in this database
    /// ([`TableStore::open_counted`](crate::TableStore::open_counted)).
    Rows(DatabaseId, u32, RowChanges),
    /// A new file is gone; its rows, each of them an insertion, have been told before.
    File(FileId),
}

/// What taking one change back did to rows.
pub(crate) enum Undone {
    /// Nothing.
    Nothing,
    /// Changes of a table's rows are gone.
    Rows(TreeId, RowChanges),
    /// A file is gone.
    File(FileId),
}

/// Sums up what is undone until it is told. A few trees at a time: a rollback may be large.
#[derive(Default)]
pub(crate) struct UndoneSum(Vec<(TreeId, Owner, RowChanges)>);

/// The database and the owner that changes are counted for, if they are.
type Owner = Option<(DatabaseId, u32)>;

impl UndoneSum {
    const TREES_MAX: usize = 64;

    pub(crate) fn add(&mut self, engine: &Engine, undone: Undone) {
        match undone {
            Undone::Nothing => {}
            Undone::Rows(tree, changes) => self.add_rows(engine, tree, &changes),
            Undone::File(file) => {
                self.tell(engine);
                if let Some(tell) = &engine.options.on_taken_back {
                    tell(TakenBack::File(file));
                }
            }
        }
    }

    fn add_rows(&mut self, engine: &Engine, tree: TreeId, changes: &RowChanges) {
        if let Some((.., sum)) = self.0.iter_mut().rev().find(|(known, ..)| *known == tree) {
            return sum.add(changes);
        }
        if self.0.len() == UndoneSum::TREES_MAX {
            self.tell(engine);
        }
        // Now: when the tree is gone nobody knows whose it was.
        self.0.push((tree, engine.files.owner_of(tree), *changes));
    }

    /// Tells the sums, and begins anew.
    pub(crate) fn tell(&mut self, engine: &Engine) {
        let sums = self.0.drain(..).filter_map(|(_, owner, changes)| Some((owner?, changes)));
        if let Some(tell) = &engine.options.on_taken_back {
            sums.for_each(|((database, owner), changes)| {
                tell(TakenBack::Rows(database, owner, changes));
            });
        }
    }
}
