//! Materialize: keeps its input's rows for re-scans.

use super::{BoxedNode, CNode, CPlan, Node, start as start_node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Versions};
use crate::expr::Row;
use crate::tuplestore::{StoreReader, TupleStore};
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

struct MaterializeNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    kept: Option<(Versions, TupleStore)>,
    reader: StoreReader,
    child_finished: bool,
    incoming: RowBatch,
    scratch: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Materialize(child) = &plan.kind else { unreachable!("started as a materialize") };
    let (width, child) = (child.width, start_node(child, cx));
    Box::new(MaterializeNode {
        plan,
        child,
        kept: None,
        reader: StoreReader::default(),
        child_finished: false,
        incoming: RowBatch::new(width),
        scratch: Vec::new(),
    })
}

impl Node for MaterializeNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let width = self.incoming.width();
        if self.kept.is_none() {
            let versions = cx.versions(&self.plan.dependencies);
            self.kept = Some((versions, cx.new_store(width)));
        }
        let Some((_, store)) = &mut self.kept else {
            return Err(Error::internal("materialize has no store"));
        };
        loop {
            self.scratch.clear();
            while !out.is_full() && store.read_one(&mut self.reader, &mut self.scratch)? {
                self.plan.emit_owned(cx, &mut self.scratch, out)?;
                self.scratch.clear();
            }
            if !out.is_empty() || self.child_finished {
                return Ok(());
            }
            self.incoming.clear();
            self.incoming.wanted = out.wanted;
            self.child.next(cx, &mut self.incoming)?;
            self.child_finished = self.incoming.is_empty();
            for row in self.incoming.iter() {
                store.push(Row::of(row))?;
            }
        }
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.reader.rewind();
        if self.kept.as_ref().is_some_and(|(versions, _)| versions.current(cx)) {
            return Ok(());
        }
        self.kept = None;
        self.child_finished = false;
        self.child.rescan(cx)
    }
}
