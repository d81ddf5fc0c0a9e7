//! ANALYZE of one table as the background analyzer does it (autovacuum.c, analyze.c).
//!
//! It never waits: a table that is locked is skipped and analyzed later. For a partitioned table it
//! computes only the table's own statistics, because its leaves are analyzed separately. Each leaf
//! gives rows to the sample by its share of the pages (acquire_inherited_sample_rows). The leaves
//! are only read, under the lock that a SELECT takes.
//!
//! A snapshot is held only while a sample is taken with it.

use super::analyze::{analyze_at_once, pages_of_table, put_statistics};
use super::sample::Sample;
use super::statistics::Subject;
use super::{DdlContext, partition};
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_exec::stored::ColumnMap;
use steppe_txn::RelationLockMode;
use steppe_types::{Oid, Result};

/// The result of [`auto_analyze`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoAnalyzed {
    /// It has new statistics.
    Done,
    /// Another session has locked the table or one of its leaves.
    Locked,
    /// It is not there any more.
    Gone,
}

/// Analyzes a table, unless another session has locked it.
pub fn auto_analyze(ctx: &mut DdlContext<'_>, table: Oid) -> Result<AutoAnalyzed> {
    if !ctx.txn.try_lock_relation(table, RelationLockMode::ShareUpdateExclusive)? {
        return Ok(AutoAnalyzed::Locked);
    }
    let Some(table) = ctx.catalog().relation(table).cloned() else { return Ok(AutoAnalyzed::Gone) };
    let analyzed = match table.kind {
        RelKind::Table => analyze_at_once(ctx, &table).map(|all| match all {
            true => AutoAnalyzed::Done,
            false => AutoAnalyzed::Locked,
        }),
        RelKind::PartitionedTable => analyze_parent(ctx, &table),
        _ => Ok(AutoAnalyzed::Gone),
    };
    ctx.txn.end_statement();
    analyzed
}

fn analyze_parent(ctx: &mut DdlContext<'_>, table: &Arc<Relation>) -> Result<AutoAnalyzed> {
    let begun = ctx.session.relation_statistics().mark(table, ctx.session.clock_timestamp());
    let mut leaves = Vec::new();
    for leaf in partition::leaves(ctx, table)? {
        if !ctx.txn.try_lock_relation(leaf.oid, RelationLockMode::AccessShare)? {
            return Ok(AutoAnalyzed::Locked);
        }
        if let Some(leaf) = ctx.catalog().relation(leaf.oid).cloned() {
            let pages = pages_of_table(ctx.store.engine(), &leaf)?;
            leaves.push((leaf, pages));
        }
        ctx.session.check_interrupts()?;
    }
    let wanted = Subject::of(ctx, table, &[]).sample_rows();
    let session = Arc::clone(&ctx.session);
    let all_pages = leaves.iter().map(|(_, pages)| pages).sum::<u64>().max(1);
    let mut all = Sample::default();
    for (leaf, pages) in leaves {
        let share = (wanted as f64 * pages as f64 / all_pages as f64).ceil() as usize;
        let sample = Sample::of_table(ctx, &leaf, pages, share)?;
        ctx.txn.end_statement();
        let columns = ColumnMap::new(table, &leaf)?;
        all.add_leaf(wanted, sample, columns.as_ref(), &*session);
    }
    put_statistics(ctx, table, &[], &all)?;
    ctx.session.relation_statistics().analyzed(table, 0, &begun, ctx.session.clock_timestamp());
    Ok(AutoAnalyzed::Done)
}
