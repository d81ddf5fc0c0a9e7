//! Bitmap scans: which indexes, and how their bitmaps are combined (indxpath.c:
//! choose_bitmap_and, generate_bitmap_or_paths).
//!
//! A conjunct with an index is a bitmap. So is `a OR b` if each arm is one, perhaps together with
//! conjuncts beside it. Bitmaps of conjuncts are intersected as long as that makes the scan
//! cheaper, the cheapest first; two that use the same conjunct are not.

use super::index::CandidateIndex;
use super::index_path::{index_range, key_first};
use super::path_cost::{Charge, TableSize};
use super::scan::{ScanRequest, attributes, clamp_rows};
use super::{Planner, Rel, and_all, conjuncts, node, to_slots};
use crate::expr::Expr;
use crate::plan::*;
use steppe_types::{Result, interrupt};

/// A bitmap that has been planned.
#[derive(Clone)]
struct Bitmap {
    plan: Plan,
    charge: Charge,
    /// Rows that it names.
    rows: f64,
    /// What it decides.
    decided: Vec<Expr>,
    /// The positions of the conjuncts that it takes into account, and of those that it decides.
    uses: Vec<usize>,
    settles: Vec<usize>,
}

impl Planner<'_> {
    /// The cheapest scan of a relation by bitmaps.
    pub(super) fn bitmap_scan(
        &mut self,
        request: &ScanRequest<'_>,
        indexes: &[CandidateIndex],
    ) -> Result<Option<Rel>> {
        if !self.ctx.settings.bitmapscan || indexes.is_empty() {
            return Ok(None);
        }
        let size = self.table_size(request.relation)?;
        let Some(bitmap) = self.cheapest_bitmap(request, indexes, size)? else { return Ok(None) };
        let settled = |i: &usize| bitmap.settles.contains(i);
        let rest = (0..request.conditions.len()).filter(|i| !settled(i));
        let rest: Vec<Expr> = rest.map(|i| request.conditions[i].clone()).collect();
        let costs = &self.ctx.settings.costs;
        let operators = (bitmap.decided.len() + rest.len()) as f64;
        let charge = costs.bitmap_rows(bitmap.charge, bitmap.rows, size, operators);
        let estimator = super::selectivity::Estimator::new(self.ctx, request.rtes);
        let rows = size.rows * estimator.selectivity(request.conditions);
        let cost = charge.for_rows(clamp_rows(rows.min(bitmap.rows)), self.row_width(request));
        let Some(recheck) = and_all(bitmap.decided) else { return Ok(None) };
        let scan = PlanNode::BitmapScan {
            rel: self.scan_relation(request),
            bitmap: Box::new(bitmap.plan),
            recheck: to_slots(recheck, request.columns)?,
            columns: attributes(request.columns),
        };
        self.finish_scan(request, scan, cost, rest).map(Some)
    }

    /// The bitmap of some of the conjuncts by which the rows are read at the least cost.
    fn cheapest_bitmap(
        &self,
        request: &ScanRequest<'_>,
        indexes: &[CandidateIndex],
        size: TableSize,
    ) -> Result<Option<Bitmap>> {
        interrupt::check_unwinding();
        let mut bitmaps = Vec::new();
        for index in indexes {
            bitmaps.extend(self.bitmap_of_index(request, index, size)?);
        }
        for (position, condition) in request.conditions.iter().enumerate() {
            if let Expr::Or(arms) = condition {
                bitmaps.extend(self.bitmap_of_arms(request, (position, arms), indexes, size)?);
            }
        }
        Ok(self.intersection(bitmaps, size))
    }

    fn bitmap_of_index(
        &self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
        size: TableSize,
    ) -> Result<Option<Bitmap>> {
        let Some(path) = self.index_path(request, index, size, false)? else { return Ok(None) };
        let charge = self.ctx.settings.costs.bitmap_of_index(&path.reads);
        let rows = path.reads.found.max(1.0);
        // What a partial index's predicate decides is looked at again as well.
        let left = |i: &usize| path.rest.contains(&request.conditions[*i]);
        let settles: Vec<usize> = (0..request.conditions.len()).filter(|i| !left(i)).collect();
        let decided = settles.iter().map(|i| key_first(request.conditions[*i].clone()));
        let decided: Vec<Expr> = decided.chain(path.found.derived.iter().cloned()).collect();
        if decided.is_empty() {
            return Ok(None);
        }
        let uses = settles.iter().chain(&path.found.bounding).copied().collect();
        let scan = PlanNode::BitmapIndexScan {
            rel: self.scan_relation(request),
            index: index.relation.clone(),
            range: index_range(request, path.found)?,
        };
        let plan = bitmap_node(scan, charge, rows);
        Ok(Some(Bitmap { plan, charge, rows, decided, uses, settles }))
    }

    /// `a OR b`: the arms' bitmaps united. An arm may use what stands beside the OR, which is not
    /// decided by that.
    fn bitmap_of_arms(
        &self,
        request: &ScanRequest<'_>,
        (position, arms): (usize, &[Expr]),
        indexes: &[CandidateIndex],
        size: TableSize,
    ) -> Result<Option<Bitmap>> {
        let beside = request.conditions.iter().enumerate();
        let (places, beside): (Vec<usize>, Vec<Expr>) = beside
            .filter(|(i, c)| *i != position && !matches!(c, Expr::Or(_)))
            .map(|(i, c)| (i, c.clone()))
            .unzip();
        let (mut bitmaps, mut decided, mut is_exact) = (Vec::new(), Vec::new(), true);
        let mut uses = vec![position];
        for arm in arms {
            let mut conditions = Vec::new();
            conjuncts(arm.clone(), &mut conditions);
            let own = conditions.len();
            conditions.extend(beside.iter().cloned());
            let of_arm = ScanRequest { conditions: &conditions, ..*request };
            let Some(bitmap) = self.cheapest_bitmap(&of_arm, indexes, size)? else {
                return Ok(None);
            };
            // Conditions beside the OR alone would say the same again (build_paths_for_OR).
            if !bitmap.uses.iter().any(|i| *i < own) {
                return Ok(None);
            }
            uses.extend(bitmap.uses.iter().filter_map(|i| places.get(i.checked_sub(own)?)));
            is_exact &= (0..own).all(|i| bitmap.settles.contains(&i));
            decided.extend(and_all(bitmap.decided.clone()));
            bitmaps.push(bitmap);
        }
        let rows = bitmaps.iter().map(|bitmap| bitmap.rows).sum::<f64>().min(size.rows);
        let charges: Vec<Charge> = bitmaps.iter().map(|bitmap| bitmap.charge).collect();
        let charge = self.ctx.settings.costs.combined_bitmaps(&charges);
        let mut inputs = Vec::with_capacity(bitmaps.len());
        for bitmap in bitmaps {
            match bitmap.plan.node {
                PlanNode::BitmapOr(nested) => inputs.extend(nested),
                _ => inputs.push(bitmap.plan),
            }
        }
        Ok(Some(Bitmap {
            plan: bitmap_node(PlanNode::BitmapOr(inputs), charge, rows),
            charge,
            rows,
            decided: vec![Expr::Or(decided)],
            uses,
            settles: if is_exact { vec![position] } else { Vec::new() },
        }))
    }

    /// Some of the bitmaps intersected, or one.
    fn intersection(&self, mut bitmaps: Vec<Bitmap>, size: TableSize) -> Option<Bitmap> {
        let costs = &self.ctx.settings.costs;
        let total =
            |bitmap: &Bitmap| costs.bitmap_rows(bitmap.charge, bitmap.rows, size, 0.0).total;
        bitmaps.sort_by(|a, b| total(a).total_cmp(&total(b)));
        let mut bitmaps = bitmaps.into_iter();
        let first = bitmaps.next()?;
        let (mut best, mut inputs) = (first.clone(), vec![first]);
        for other in bitmaps {
            if other.uses.iter().any(|i| best.uses.contains(i)) {
                continue;
            }
            let charges: Vec<Charge> =
                inputs.iter().chain([&other]).map(|bitmap| bitmap.charge).collect();
            let charge = costs.combined_bitmaps(&charges);
            let rows = best.rows * (other.rows / size.rows).min(1.0);
            let both = |a: &[usize], b: &[usize]| [a, b].concat();
            let candidate = Bitmap {
                plan: best.plan.clone(),
                charge,
                rows: rows.max(1.0),
                decided: best.decided.iter().chain(&other.decided).cloned().collect(),
                uses: both(&best.uses, &other.uses),
                settles: both(&best.settles, &other.settles),
            };
            if total(&candidate) < total(&best) {
                best = candidate;
                inputs.push(other);
            }
        }
        if inputs.len() > 1 {
            let plans = inputs.into_iter().map(|bitmap| bitmap.plan).collect();
            best.plan = bitmap_node(PlanNode::BitmapAnd(plans), best.charge, best.rows);
        }
        Some(best)
    }
}

fn bitmap_node(scan: PlanNode, charge: Charge, rows: f64) -> Plan {
    node(scan, Vec::new(), Vec::new().into(), charge.for_rows(clamp_rows(rows), 0))
}
