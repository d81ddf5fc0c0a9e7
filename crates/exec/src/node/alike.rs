//! A plan over leaves in the place of the leaves that it was compiled for, with the same definitions.
//!
//! ```text
//!   plan for t_1 ── its expressions, keys and columns, shared ─┐
//!                   handles of t_2 ────────────────────────────┴─▶ plan for t_2
//! ```
//!
//! Compiled expressions name no table, and equal definitions ([`Definition::is_like`]) have equal
//! layouts, keys and rules. So the copy is the plan that compiling would make, except for its
//! handles. A node that holds more of a table than handles has no copy: it must be compiled.

use super::nest_loop::NestLoopPlan;
use super::seq_scan::SeqScanPlan;
use super::{CNode, CPlan, IndexPlan};
use crate::access::{IndexAccess, TableAccess};
use crate::partition::Definition;
use std::sync::Arc;
use steppe_txn::Engine;
use steppe_types::Result;

/// Leaves in the place of others, each with the same definition.
pub(crate) struct Exchange<'a> {
    pub(crate) from: &'a [Definition],
    pub(crate) to: &'a [Definition],
    pub(crate) engine: &'a Engine,
}

impl Exchange<'_> {
    /// The leaf in the place of another, and that one.
    pub(crate) fn leaf(&self, table: &TableAccess) -> Option<(&Definition, &Definition)> {
        let mut pairs = self.from.iter().zip(self.to);
        pairs.find(|(from, _)| from.table.oid == table.oid)
    }

    fn table(&self, table: &TableAccess) -> Option<Result<TableAccess>> {
        let (_, to) = self.leaf(table)?;
        Some(table.open_alike(self.engine, &to.table))
    }

    fn index(&self, table: &TableAccess, index: &IndexAccess) -> Option<Result<IndexAccess>> {
        let (from, to) = self.leaf(table)?;
        let mut pairs = from.indexes.iter().zip(&to.indexes);
        let (_, relation) = pairs.find(|(its, _)| its.oid == index.oid)?;
        Some(index.open_alike(self.engine, relation))
    }
}

impl CPlan {
    /// The plan over other leaves. `None`: it must be compiled for them.
    pub(crate) fn over(&self, leaves: &Exchange<'_>) -> Result<Option<Arc<CPlan>>> {
        let Some(kind) = self.kind.over(leaves)? else { return Ok(None) };
        Ok(Some(Arc::new(CPlan {
            id: self.id,
            filter: self.filter.clone(),
            project: self.project.clone(),
            columns: self.columns.clone(),
            width: self.width,
            dependencies: Arc::clone(&self.dependencies),
            kind,
        })))
    }
}

impl CNode {
    fn over(&self, leaves: &Exchange<'_>) -> Result<Option<CNode>> {
        Ok(match self {
            CNode::IndexScan(scan) => {
                scan.over(leaves)?.map(|scan| CNode::IndexScan(Box::new(scan)))
            }
            CNode::SeqScan(scan) => scan.over(leaves)?.map(CNode::SeqScan),
            CNode::NestLoop(join) => join.over(leaves)?.map(CNode::NestLoop),
            CNode::Modify(modify) => {
                modify.over(leaves)?.map(|modify| CNode::Modify(Box::new(modify)))
            }
            _ => None,
        })
    }
}

impl IndexPlan {
    fn over(&self, leaves: &Exchange<'_>) -> Result<Option<IndexPlan>> {
        let index = leaves.index(&self.table, &self.index).transpose()?;
        let table = leaves.table(&self.table).transpose()?;
        let Some((table, index)) = table.zip(index) else { return Ok(None) };
        Ok(Some(IndexPlan {
            table,
            index,
            range: Arc::clone(&self.range),
            backward: self.backward,
            key_columns: self.key_columns.clone(),
            columns: Arc::clone(&self.columns),
        }))
    }
}

impl SeqScanPlan {
    fn over(&self, leaves: &Exchange<'_>) -> Result<Option<SeqScanPlan>> {
        let table = leaves.table(&self.table).transpose()?;
        Ok(table.map(|table| SeqScanPlan {
            table,
            columns: Arc::clone(&self.columns),
            is_virtual: self.is_virtual,
            cursor: self.cursor.clone(),
            shared_as: self.shared_as,
        }))
    }
}

impl NestLoopPlan {
    fn over(&self, leaves: &Exchange<'_>) -> Result<Option<NestLoopPlan>> {
        let sides = self.outer.over(leaves)?.zip(self.inner.over(leaves)?);
        Ok(sides.map(|(outer, inner)| NestLoopPlan {
            kind: self.kind,
            outer,
            inner,
            params: Arc::clone(&self.params),
            on: self.on.clone(),
            columns: self.columns.clone(),
        }))
    }
}
