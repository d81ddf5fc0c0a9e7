//! INSERT of rows into a table, or into its leaves.
//!
//! Rows are inserted in runs. A run is a batch: its rows are checked, then stored in the table and
//! in each index together. If BEFORE ROW triggers are to see a row, the run ends before it. The row
//! is inserted alone, after the rows before it are stored. (A table without leaves has a quicker way:
//! [`super::quiet`].)
//!
//! A batch meets its errors in another order than single rows do. A duplicate key of a late row may
//! sort before that of an early one, and all rows are checked before any is stored. So the changes
//! of a batch that fails are undone, and its rows are inserted one by one, so that the first row
//! that fails decides the error (PostgreSQL's ExecInsert). Triggers have not seen any row of the
//! batch by then.

use super::deferred::BatchChecks;
use super::foreign_key::check_one;
use super::node::no_row;
use super::route::{OpenLeaves, Partitioned};
use super::{Inserter, ModifyPlan, RowCommand, Target, check_partition, check_row};
use crate::context::ExecContext;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;
use steppe_txn::RowId;
use steppe_types::{Datum, Error, Oid, Result};

/// The place of an inserted row.
pub(crate) struct Placed {
    pub(crate) leaf: Oid,
    /// The row, if the leaf has computed columns of it.
    pub(crate) row: Option<Vec<Datum>>,
    pub(crate) id: RowId,
}

impl Placed {
    fn new(target: &Target, stored: &[Datum], id: RowId) -> Placed {
        Placed { leaf: target.table.oid, row: Placed::computed(target, stored), id }
    }

    /// The row, if the leaf has computed columns of it.
    fn computed(target: &Target, stored: &[Datum]) -> Option<Vec<Datum>> {
        let is_computed = !target.generated.is_empty();
        is_computed.then(|| target.seen(stored.to_vec()))
    }
}

/// The stored rows up to the first whose leaf has BEFORE ROW triggers.
struct Run {
    /// The places of the rows; empty for a table without leaves.
    placed: Vec<Option<Placed>>,
    /// The leaf of that row.
    next: Option<Arc<Target>>,
}

/// A row for ON CONFLICT, which satisfies the constraints.
pub(super) struct Proposed {
    /// Its leaf, if the table has any.
    pub(super) leaf: Option<Arc<Target>>,
    /// The row, if triggers or the leaf have made another one of it.
    pub(super) row: Option<Vec<Datum>>,
}

/// Rows of one leaf, as it stores them.
type Group<'r> = (Arc<Target>, Vec<Cow<'r, [Datum]>>);

/// Rows by their leaves, up to the first that is not to be stored with them.
struct Gathered<'r> {
    placed: Vec<Placed>,
    groups: Vec<Group<'r>>,
    /// The group of each row, and its place there.
    members: Vec<(usize, usize)>,
    /// The error of the next row.
    failed: Option<Error>,
    /// The leaf of the next row, whose triggers are to see it.
    next: Option<Arc<Target>>,
}

impl Partitioned {
    /// Inserts rows of the partitioned table.
    fn insert(
        &self,
        root: &Target,
        rows: &[&[Datum]],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Run> {
        if let [row] = rows {
            let target = self.route(root, row, open, cx)?;
            if target.before_row(RowCommand::Insert).is_some() {
                return Ok(Run { placed: Vec::new(), next: Some(target) });
            }
            let stored = checked(&target, row, cx)?;
            inserter.insert_checked(&target, &[&stored], cx)?;
            let id = inserter.ids().first().copied().ok_or_else(no_row)?;
            target.queue_keys(RowCommand::Insert, id, (None, Some(&stored)), cx)?;
            target.queue_after(RowCommand::Insert, None, Some(&stored), cx)?;
            return Ok(Run { placed: vec![Some(Placed::new(&target, &stored, id))], next: None });
        }
        let Gathered { mut placed, groups, members, failed, next } =
            self.gather(root, rows, open, cx);
        let (mut ids, mut checks) = (Vec::with_capacity(groups.len()), Vec::new());
        for (target, rows) in &groups {
            let rows: Vec<&[Datum]> = rows.iter().map(|row| &**row).collect();
            let mark = cx.event_mark();
            inserter.insert_checked(target, &rows, cx)?;
            ids.push(inserter.ids().to_vec());
            checks.push(BatchChecks::since(mark, cx));
        }
        // An error of the rows before it has precedence.
        if let Some(error) = failed {
            return Err(error);
        }
        for (placed, (group, at)) in placed.iter_mut().zip(&members) {
            let id = ids.get(*group).and_then(|ids: &Vec<RowId>| ids.get(*at));
            placed.id = *id.ok_or_else(no_row)?;
        }
        if groups.iter().any(|(target, _)| target.queues_inserted()) {
            for (group, at) in members {
                let (target, rows) = &groups[group];
                let id = *ids.get(group).and_then(|ids| ids.get(at)).ok_or_else(no_row)?;
                checks[group].queue(id, cx);
                target.queue_keys(RowCommand::Insert, id, (None, Some(&*rows[at])), cx)?;
                target.queue_after(RowCommand::Insert, None, Some(&*rows[at]), cx)?;
            }
        }
        Ok(Run { placed: placed.into_iter().map(Some).collect(), next })
    }

    fn gather<'r>(
        &self,
        root: &Target,
        rows: &[&'r [Datum]],
        open: &mut OpenLeaves,
        cx: &mut ExecContext,
    ) -> Gathered<'r> {
        let mut gathered = Gathered {
            placed: Vec::with_capacity(rows.len()),
            groups: Vec::new(),
            members: Vec::with_capacity(rows.len()),
            failed: None,
            next: None,
        };
        let mut group_of: HashMap<Oid, usize> = HashMap::new();
        for row in rows {
            let target = match self.route(root, row, open, cx) {
                Ok(target) => target,
                Err(error) => {
                    gathered.failed = Some(error);
                    break;
                }
            };
            if target.before_row(RowCommand::Insert).is_some() {
                gathered.next = Some(target);
                break;
            }
            let stored = match checked(&target, row, cx) {
                Ok(stored) => stored,
                Err(error) => {
                    gathered.failed = Some(error);
                    break;
                }
            };
            let Gathered { placed, groups, members, .. } = &mut gathered;
            // The row gets its id when its group is stored.
            placed.push(Placed::new(&target, &stored, RowId(0)));
            let group = *group_of.entry(target.table.oid).or_insert_with(|| {
                groups.push((target, Vec::new()));
                groups.len() - 1
            });
            members.push((group, groups[group].1.len()));
            groups[group].1.push(stored);
        }
        gathered
    }
}

/// A row as its leaf stores it, which takes it.
fn checked<'r>(
    target: &Target,
    row: &'r [Datum],
    cx: &mut ExecContext,
) -> Result<Cow<'r, [Datum]>> {
    let mut stored = target.stored(row);
    if !target.generated.is_empty() {
        // The leaf may have other expressions than its parent.
        target.generate(stored.to_mut(), cx)?;
    }
    check_row(target, &stored, cx)?;
    Ok(stored)
}

/// Inserts a row of the statement's table into a leaf, or into the table, behind its BEFORE ROW
/// triggers.
pub(super) fn insert_fired(
    target: &Target,
    row: &[Datum],
    inserter: &mut Inserter,
    cx: &mut ExecContext,
) -> Result<Option<Placed>> {
    cx.check_interrupts()?;
    let Some(row) = pass_insert(target, target.stored(row).into_owned(), cx)? else {
        return Ok(None);
    };
    inserter.insert_checked(target, &[&row], cx)?;
    let id = inserter.ids().first().copied().ok_or_else(no_row)?;
    target.queue_keys(RowCommand::Insert, id, (None, Some(&row)), cx)?;
    target.queue_after(RowCommand::Insert, None, Some(&row), cx)?;
    Ok(Some(Placed { leaf: target.table.oid, row: Some(target.seen(row)), id }))
}

/// Whether an error is about a row's values (classes 22, 23 and 54), and not about the statement.
pub(super) fn is_of_a_row(error: &Error) -> bool {
    matches!(&error.sqlstate().0[..2], b"22" | b"23" | b"54")
}

/// The row after its BEFORE ROW INSERT triggers: complete, and checked against the table's
/// constraints.
pub(super) fn pass_insert(
    target: &Target,
    row: Vec<Datum>,
    cx: &mut ExecContext,
) -> Result<Option<Vec<Datum>>> {
    let mut row = row;
    if let Some(triggers) = target.before_row(RowCommand::Insert) {
        match target.fire_before(triggers, None, row, cx)? {
            None => return Ok(None),
            Some(passed) => row = passed,
        }
    }
    complete(target, &mut row, cx)?;
    Ok(Some(row))
}

/// Completes a row that its triggers have let pass, and checks it.
#[inline]
pub(super) fn complete(target: &Target, row: &mut [Datum], cx: &mut ExecContext) -> Result<()> {
    target.generate(row, cx)?;
    check_row(target, row, cx)?;
    check_partition(target, row, cx)
}

impl ModifyPlan {
    /// Inserts complete rows into the target or its leaves. Returns the rows' places if the table
    /// has leaves or triggers. `None`: a trigger rejected the row.
    pub(crate) fn insert(
        &self,
        rows: &[&[Datum]],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Vec<Option<Placed>>> {
        if self.partitioned.is_none() && self.target.hooks.is_none() {
            let mark = cx.event_mark();
            inserter.insert(&self.target, rows, cx)?;
            self.target.queue_inserted(rows, inserter.ids(), mark, cx)?;
            return Ok(Vec::new());
        }
        self.insert_by(false, rows, open, inserter, cx)
    }

    /// Inserts the one row of a statement that ends with it. False: a leaf's trigger rejected it.
    pub(crate) fn insert_one(&self, row: &[Datum], cx: &mut ExecContext) -> Result<bool> {
        let inserter = &mut Inserter::default();
        if self.partitioned.is_some() || self.target.hooks.is_some() {
            let placed = self.insert(&[row], &mut OpenLeaves::default(), inserter, cx)?;
            return Ok(!matches!(&placed[..], [None]));
        }
        inserter.insert(&self.target, &[row], cx)?;
        if let Some(set) = self.target.keys_met(RowCommand::Insert, cx)? {
            let id = inserter.ids().first().copied().ok_or_else(no_row)?;
            check_one(&self.target, set, id, row, cx)?;
        }
        Ok(true)
    }

    /// [`Self::insert`] with the error of the first row that fails. Earlier changes of the
    /// statement stay.
    pub(super) fn insert_in_order(
        &self,
        rows: &[&[Datum]],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Vec<Option<Placed>>> {
        self.insert_by(true, rows, open, inserter, cx)
    }

    /// Inserts rows in runs. A row that BEFORE ROW triggers of a leaf are to see is inserted alone,
    /// after the rows before it are stored.
    fn insert_by(
        &self,
        in_order: bool,
        rows: &[&[Datum]],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Vec<Option<Placed>>> {
        if self.target.is_view() {
            return self.insert_instead(rows, cx);
        }
        if self.target.before_row(RowCommand::Insert).is_some() && self.partitioned.is_none() {
            return self.insert_behind_triggers(rows, inserter, cx);
        }
        let mut placed = Vec::new();
        loop {
            let rest = &rows[placed.len()..];
            let run = match in_order {
                true => self.insert_run_in_order(rest, open, inserter, cx),
                false => self.insert_run(rest, open, inserter, cx),
            };
            let Run { placed: done, next } = run?;
            match placed.is_empty() {
                true => placed = done,
                false => placed.extend(done),
            }
            let Some(target) = next else { return Ok(placed) };
            let row = rows.get(placed.len()).ok_or_else(no_row)?;
            placed.push(insert_fired(&target, row, inserter, cx)?);
            if placed.len() == rows.len() {
                return Ok(placed);
            }
        }
    }

    fn insert_run(
        &self,
        rows: &[&[Datum]],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Run> {
        if let Some(leaves) = &self.partitioned {
            return leaves.insert(&self.target, rows, open, inserter, cx);
        }
        let mark = cx.event_mark();
        inserter.insert(&self.target, rows, cx)?;
        self.target.queue_inserted(rows, inserter.ids(), mark, cx)?;
        Ok(Run { placed: Vec::new(), next: None })
    }

    /// Inserts a batch; if it fails, undoes it and inserts its rows one by one.
    fn insert_run_in_order(
        &self,
        rows: &[&[Datum]],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Run> {
        if rows.len() <= 1 {
            return self.insert_run(rows, open, inserter, cx);
        }
        let mark = cx.mark()?;
        let inserted = self.insert_run(rows, open, inserter, cx);
        let Err(error) = inserted else { return inserted };
        if is_of_a_row(&error) {
            cx.rollback_to(mark)?;
            for row in rows {
                cx.check_interrupts()?;
                if self.insert_run(&[row], open, inserter, cx)?.next.is_some() {
                    break;
                }
            }
        }
        Err(error)
    }

    /// A row for ON CONFLICT. `None`: a trigger rejected it.
    pub(super) fn propose(
        &self,
        row: &[Datum],
        open: &mut OpenLeaves,
        cx: &mut ExecContext,
    ) -> Result<Option<Proposed>> {
        let leaf = match &self.partitioned {
            None => None,
            Some(leaves) => Some(leaves.route(&self.target, row, open, cx)?),
        };
        let target = leaf.as_deref().unwrap_or(&self.target);
        if target.before_row(RowCommand::Insert).is_some() {
            let passed = pass_insert(target, target.stored(row).into_owned(), cx)?;
            let row = passed.map(|row| target.seen(row));
            return Ok(row.map(|row| Proposed { leaf, row: Some(row) }));
        }
        let row = match &leaf {
            None => {
                check_row(target, row, cx)?;
                check_partition(target, row, cx)?;
                None
            }
            Some(leaf) => Placed::computed(leaf, &checked(leaf, row, cx)?),
        };
        Ok(Some(Proposed { leaf, row }))
    }
}
