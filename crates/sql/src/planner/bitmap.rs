//! Bitmap scans: the choice of indexes, and the combination of their bitmaps (choose_bitmap_and and
//! generate_bitmap_or_paths in indxpath.c).
//!
//! A conjunct with an index is a bitmap. So is `a OR b` if each arm is one, perhaps together with
//! conjuncts beside it. Bitmaps of conjuncts are intersected as long as that makes the scan
//! cheaper, the cheapest first; two that use the same conjunct are not. Only the combination that is
//! the cheapest way to read the table is made a plan.

use super::index::CandidateIndex;
use super::index_match::IndexMatch;
use super::index_path::{IndexPath, index_range, key_first};
use super::path_cost::{Charge, TableSize};
use super::scan::{ScanRequest, attributes, clamp_rows};
use super::{Planner, Rel, and_all, conjuncts, node, to_slots};
use crate::expr::Expr;
use crate::plan::*;
use std::rc::Rc;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Result, interrupt};

/// A bitmap, as far as it is weighed against others.
struct Bitmap {
    made_of: MadeOf,
    charge: Charge,
    /// Rows that it names.
    rows: f64,
    /// The number of rechecked conditions.
    rechecks: usize,
    /// The positions of the conjuncts that it takes into account, and of the conjuncts that it
    /// decides.
    uses: Vec<usize>,
    settles: Vec<usize>,
}

enum MadeOf {
    Index(Arc<Relation>, Rc<IndexMatch>),
    /// Each with the conditions that it is found by.
    Arms(Vec<(Vec<Expr>, Bitmap)>),
    All(Vec<Bitmap>),
}

impl Planner<'_> {
    /// The cheapest scan of a relation by bitmaps, if it costs less than `below`. `paths` has the
    /// index ranges that scans read, by the conditions that they can use.
    pub(super) fn bitmap_scan(
        &mut self,
        request: &ScanRequest<'_>,
        indexes: &[CandidateIndex],
        (paths, size): (&[Option<IndexPath>], TableSize),
        below: f64,
    ) -> Result<Option<Rel>> {
        if !self.ctx.settings.bitmapscan || indexes.is_empty() {
            return Ok(None);
        }
        let bitmap = self.cheapest_bitmap(request, indexes, (paths, size))?;
        let Some(bitmap) = bitmap.filter(|bitmap| bitmap.rechecks > 0) else { return Ok(None) };
        let rest = (0..request.conditions.len()).filter(|i| !bitmap.settles.contains(i));
        let rest: Vec<usize> = rest.collect();
        let costs = &self.ctx.settings.costs;
        let asked = self.operators_of(rest.iter().map(|i| &request.conditions[*i]));
        let operators = bitmap.rechecks as f64 + asked;
        let charge = costs.bitmap_rows(bitmap.charge, bitmap.rows, size, operators);
        if charge.total >= below {
            return Ok(None);
        }
        let estimator = super::selectivity::Estimator::new(self.ctx, request.rtes);
        let rows = size.rows * estimator.selectivity(request.conditions);
        let cost = charge.for_rows(clamp_rows(rows.min(bitmap.rows)), self.row_width(request));
        let (bitmap, decided) = self.build_bitmap(request, bitmap)?;
        let Some(recheck) = and_all(decided) else { return Ok(None) };
        let scan = PlanNode::BitmapScan {
            rel: self.scan_relation(request),
            bitmap: Box::new(bitmap),
            recheck: to_slots(recheck, request.columns)?,
            columns: attributes(request.columns),
        };
        let rest = rest.into_iter().map(|i| request.conditions[i].clone()).collect();
        self.finish_scan(request, scan, cost, rest).map(Some)
    }

    /// The bitmap of some of the conjuncts by which the rows are read at the least cost.
    fn cheapest_bitmap(
        &self,
        request: &ScanRequest<'_>,
        indexes: &[CandidateIndex],
        (paths, size): (&[Option<IndexPath>], TableSize),
    ) -> Result<Option<Bitmap>> {
        interrupt::check_unwinding();
        let mut bitmaps = Vec::new();
        for (index, path) in indexes.iter().zip(paths) {
            bitmaps.extend(path.as_ref().and_then(|p| self.bitmap_of_index(request, index, p)));
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
        path: &IndexPath,
    ) -> Option<Bitmap> {
        let charge = self.ctx.settings.costs.bitmap_of_index(&path.reads);
        let rows = path.reads.found.max(1.0);
        // The conditions that a partial index's predicate decides are rechecked as well.
        let mut rest = path.rest.iter().copied().peekable();
        let places = 0..request.conditions.len();
        let settles: Vec<usize> = places.filter(|i| rest.next_if_eq(i).is_none()).collect();
        let rechecks = settles.len() + path.found.derived.len();
        let uses = settles.iter().chain(&path.found.bounding).copied().collect();
        let made_of = MadeOf::Index(index.relation.clone(), path.found.clone());
        (rechecks > 0).then_some(Bitmap { made_of, charge, rows, rechecks, uses, settles })
    }

    /// `a OR b`: the arms' bitmaps united. An arm may use conditions beside the OR, which are not
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
        let (mut bitmaps, mut is_exact) = (Vec::with_capacity(arms.len()), true);
        let mut uses = vec![position];
        for arm in arms {
            let mut conditions = Vec::new();
            conjuncts(arm.clone(), &mut conditions);
            let own = conditions.len();
            conditions.extend(beside.iter().cloned());
            let of_arm = ScanRequest { conditions: &conditions, ..*request };
            let paths = indexes.iter().map(|index| self.index_path(&of_arm, index, size, false));
            let paths = paths.collect::<Result<Vec<_>>>()?;
            let Some(bitmap) = self.cheapest_bitmap(&of_arm, indexes, (&paths, size))? else {
                return Ok(None);
            };
            // Conditions beside the OR alone would be redundant (build_paths_for_OR).
            if !bitmap.uses.iter().any(|i| *i < own) {
                return Ok(None);
            }
            uses.extend(bitmap.uses.iter().filter_map(|i| places.get(i.checked_sub(own)?)));
            is_exact &= (0..own).all(|i| bitmap.settles.contains(&i));
            bitmaps.push((conditions, bitmap));
        }
        let rows = bitmaps.iter().map(|(_, bitmap)| bitmap.rows).sum::<f64>().min(size.rows);
        let charges: Vec<Charge> = bitmaps.iter().map(|(_, bitmap)| bitmap.charge).collect();
        Ok(Some(Bitmap {
            made_of: MadeOf::Arms(bitmaps),
            charge: self.ctx.settings.costs.combined_bitmaps(&charges),
            rows,
            rechecks: 1,
            uses,
            settles: if is_exact { vec![position] } else { Vec::new() },
        }))
    }

    /// Some of the bitmaps intersected, or one.
    fn intersection(&self, mut bitmaps: Vec<Bitmap>, size: TableSize) -> Option<Bitmap> {
        let costs = &self.ctx.settings.costs;
        let total = |charge: Charge, rows: f64| costs.bitmap_rows(charge, rows, size, 0.0).total;
        bitmaps.sort_by(|a, b| total(a.charge, a.rows).total_cmp(&total(b.charge, b.rows)));
        let mut bitmaps = bitmaps.into_iter();
        let mut best = bitmaps.next()?;
        let mut charges = vec![best.charge];
        for other in bitmaps {
            if other.uses.iter().any(|i| best.uses.contains(i)) {
                continue;
            }
            charges.push(other.charge);
            let charge = costs.combined_bitmaps(&charges);
            let rows = (best.rows * (other.rows / size.rows).min(1.0)).max(1.0);
            if total(charge, rows) < total(best.charge, best.rows) {
                best = best.intersected(other, charge, rows);
            } else {
                charges.pop();
            }
        }
        Some(best)
    }

    /// The plan of a bitmap, and the conditions that it decides.
    fn build_bitmap(&self, request: &ScanRequest<'_>, bitmap: Bitmap) -> Result<(Plan, Vec<Expr>)> {
        let mut decided = Vec::new();
        let node = match bitmap.made_of {
            MadeOf::Index(index, found) => {
                let settled = bitmap.settles.iter().map(|i| request.conditions[*i].clone());
                decided.extend(settled.map(key_first).chain(found.derived.iter().cloned()));
                let rel = self.scan_relation(request);
                PlanNode::BitmapIndexScan { rel, index, range: index_range(request, &found)? }
            }
            MadeOf::Arms(arms) => {
                let (mut inputs, mut any) = (Vec::with_capacity(arms.len()), Vec::new());
                for (conditions, arm) in arms {
                    let of_arm = ScanRequest { conditions: &conditions, ..*request };
                    let (plan, decided) = self.build_bitmap(&of_arm, arm)?;
                    any.extend(and_all(decided));
                    match plan.node {
                        PlanNode::BitmapOr(nested) => inputs.extend(nested),
                        _ => inputs.push(plan),
                    }
                }
                decided.push(Expr::Or(any));
                PlanNode::BitmapOr(inputs)
            }
            MadeOf::All(all) => {
                let mut inputs = Vec::with_capacity(all.len());
                for one in all {
                    let (plan, by_one) = self.build_bitmap(request, one)?;
                    inputs.push(plan);
                    decided.extend(by_one);
                }
                PlanNode::BitmapAnd(inputs)
            }
        };
        Ok((bitmap_node(node, bitmap.charge, bitmap.rows), decided))
    }
}

impl Bitmap {
    fn intersected(self, other: Bitmap, charge: Charge, rows: f64) -> Bitmap {
        let both = |a: &[usize], b: &[usize]| [a, b].concat();
        let (uses, settles) = (both(&self.uses, &other.uses), both(&self.settles, &other.settles));
        let rechecks = self.rechecks + other.rechecks;
        let all = match self.made_of {
            MadeOf::All(mut all) => {
                all.push(other);
                all
            }
            _ => vec![self, other],
        };
        Bitmap { made_of: MadeOf::All(all), charge, rows, rechecks, uses, settles }
    }
}

fn bitmap_node(scan: PlanNode, charge: Charge, rows: f64) -> Plan {
    node(scan, Vec::new(), Vec::new().into(), charge.for_rows(clamp_rows(rows), 0))
}
