//! The state of a REPEATABLE READ transaction: the rows of its snapshot, in the current tables.
//!
//! DDL is of the moment, as in PostgreSQL: a table that others have emptied or written anew since
//! has no rows for an older snapshot, one that is new is there without rows. Only a partition that
//! others have marked as being detached since is in its place still.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use steppe_catalog::{Catalog, PUBLIC, Relation};

use crate::model::{Key, Kind, Op, Row, State, Table};

/// The moment of a transaction's snapshot.
pub(crate) struct Snapshot {
    pub(crate) state: State,
    pub(crate) catalog: Arc<Catalog>,
    /// How many commits there had been in this life.
    pub(crate) commits: usize,
}

/// What a transaction sees that has done this since its snapshot was taken. `published` is what
/// others have committed, `own` the transaction's catalog.
pub(crate) fn seen(
    snapshot: &Snapshot,
    (committed, published): (&State, &Catalog),
    ops: &[Op],
    own: &Catalog,
) -> State {
    let mut now = committed.clone();
    ops.iter().for_each(|op| op.apply(&mut now));
    let mut state = committed.clone();
    for (name, table) in &mut state.tables {
        let committed = relation(published, name);
        // It changes all rows there are of what it has written anew, those that came since among them.
        let is_own =
            own.relation(committed.oid).is_some_and(|own| own.storage != committed.storage);
        if table.rows().is_some() && !is_own {
            let rows = rows_then(snapshot, committed, table);
            Rc::make_mut(table).kind = Kind::Rows(rows);
        }
    }
    for (name, table) in &mut state.keyed {
        let now = relation(published, name);
        let then = snapshot.catalog.relation(now.oid).filter(|then| then.storage == now.storage);
        let then = then.and_then(|then| snapshot.state.keyed.get(&*then.name));
        *table = table.as_of(then.map(|then| &**then)).into();
    }
    ops.iter().for_each(|op| op.apply(&mut state));
    for (name, table) in &mut state.tables {
        let relation = relation(own, name);
        let then = snapshot.catalog.relation(relation.oid);
        if table.detaching
            && then.is_some_and(|then| then.partition_of.is_some() && !then.is_detaching())
        {
            Rc::make_mut(table).detaching = false;
        }
        // What the transaction has written anew itself are all rows that there were.
        let is_own = published.relation(relation.oid).is_none_or(|p| p.storage != relation.storage);
        if is_own && table.rows().is_some() {
            Rc::make_mut(table).kind = now.table(name).kind.clone();
        }
    }
    state
}

fn relation<'c>(catalog: &'c Catalog, name: &str) -> &'c Relation {
    catalog.relation_named(PUBLIC, name).unwrap_or_else(|| panic!("no table {name}"))
}

/// The rows that a table of now had at the snapshot, with the columns of now.
fn rows_then(snapshot: &Snapshot, now: &Relation, table: &Table) -> BTreeMap<Key, Row> {
    let Some(then) = snapshot.catalog.relation(now.oid).filter(|r| r.storage == now.storage) else {
        return BTreeMap::new();
    };
    let rows = snapshot.state.table(&then.name).rows().into_iter().flatten();
    let rows = rows.map(|(key, row)| {
        let value = |(column, default): (&String, &Option<i32>)| {
            let is_old = then.column_index(column) == now.column_index(column);
            let old = row.added.get(column).filter(|_| is_old);
            (column.clone(), old.copied().unwrap_or(*default))
        };
        (*key, Row { added: table.added.iter().map(value).collect(), ..row.clone() })
    });
    rows.collect()
}
