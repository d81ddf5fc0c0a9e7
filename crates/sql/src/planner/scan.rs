//! Access paths of one base relation: sequential scan, index scans
//! (indxpath.c, plancat.c).

use super::cost::{self, Estimator, strip};
use super::{ColumnId, Planner, Rel, RteSet, and_all, node, rtes_of, to_slots};
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::plan::*;
use crate::query::{OrderBy, Rte, Target};
use std::sync::Arc;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Oid, Result, oid};

/// Conditions of an index scan, taken from a list of conjuncts.
#[derive(Default)]
struct IndexMatch {
    equal: Vec<Expr>,
    equal_is_null: Vec<bool>,
    any: Option<Expr>,
    lower: Option<(Expr, bool)>,
    upper: Option<(Expr, bool)>,
    /// Positions of the conjuncts that the index decides fully.
    used: Vec<usize>,
}

impl IndexMatch {
    fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}

/// A scan to build: a relation with what the query wants from it.
pub(crate) struct ScanRequest<'q> {
    pub(crate) rtes: &'q [Rte],
    pub(crate) rte: usize,
    pub(crate) relation: &'q Arc<Relation>,
    pub(crate) columns: &'q [ColumnId],
    /// Conditions over this relation alone (constants, parameters and exec params besides).
    pub(crate) conditions: &'q [Expr],
}

impl Planner<'_> {
    /// The cheapest scan of a base relation. A whole unique key is always looked up in its index:
    /// that is one row without looking at any other, however small the table, and the executor's
    /// point path, which waits for a locked row without holding a thread.
    pub(crate) fn base_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        let indexes = self.usable_indexes(request.relation);
        if let Some(unique) = indexes.iter().find(|i| self.matches_whole_key(request, i))
            && let Some(rel) = self.index_scan(request, unique, false, false)?
        {
            return Ok(rel);
        }
        let mut best = self.seq_scan(request)?;
        if !self.ctx.settings.seqscan {
            best.plan.cost.total += 1e10;
        }
        for index in indexes {
            if let Some(rel) = self.index_scan(request, &index, false, false)?
                && rel.plan.cost.total < best.plan.cost.total
            {
                best = rel;
            }
        }
        Ok(best)
    }

    /// Whether the conditions bind every key of a unique index by equality.
    fn matches_whole_key(&self, request: &ScanRequest<'_>, index: &Relation) -> bool {
        let Some(info) = index.index.as_ref().filter(|i| i.unique) else { return false };
        let found = self.match_index(request, index);
        found.equal.len() == info.keys.len() && !found.equal_is_null.contains(&true)
    }

    /// An index scan that yields the wanted order (and so saves a sort), if there is one.
    pub(crate) fn ordered_scan(
        &mut self,
        request: &ScanRequest<'_>,
        targets: &[Target],
        order_by: &[OrderBy],
    ) -> Result<Option<Rel>> {
        for index in self.usable_indexes(request.relation) {
            let Some(backward) = self.provides_order(request, &index, targets, order_by) else {
                continue;
            };
            if let Some(rel) = self.index_scan(request, &index, true, backward)? {
                return Ok(Some(rel));
            }
        }
        Ok(None)
    }

    fn usable_indexes(&self, relation: &Relation) -> Vec<Arc<Relation>> {
        if !self.ctx.settings.indexscan {
            return Vec::new();
        }
        let usable = |i: &&Arc<Relation>| {
            i.index.as_ref().is_some_and(|info| {
                info.predicate.is_none() && info.keys.iter().all(|k| k.attnum > 0)
            })
        };
        self.ctx.catalog.indexes_of(relation).filter(usable).cloned().collect()
    }

    /// Whether an index yields the order: `Some(backward)`. Columns bound by equality count as
    /// sorted already.
    fn provides_order(
        &self,
        request: &ScanRequest<'_>,
        index: &Relation,
        targets: &[Target],
        order_by: &[OrderBy],
    ) -> Option<bool> {
        let info = index.index.as_ref()?;
        let fixed = self.match_index(request, index);
        let mut keys = info.keys.iter().skip(fixed.equal.len());
        let mut backward = None;
        for order in order_by {
            let Expr::Var { rte, column, levels_up: 0, .. } = strip(&targets[order.target].expr)
            else {
                return None;
            };
            if *rte != request.rte || *column < 0 {
                return None;
            }
            let attnum = *column as i16 + 1;
            if info.keys.iter().take(fixed.equal.len()).any(|k| k.attnum == attnum) {
                continue;
            }
            let key = keys.next()?;
            if key.attnum != attnum {
                return None;
            }
            let not_null = request.relation.columns[*column as usize].not_null;
            let same_nulls = key.nulls_first == order.nulls_first || not_null;
            let opposite_nulls = key.nulls_first != order.nulls_first || not_null;
            let direction = match key.descending == order.descending {
                true if same_nulls => false,
                false if opposite_nulls => true,
                _ => return None,
            };
            if *backward.get_or_insert(direction) != direction {
                return None;
            }
        }
        fixed.any.is_none().then_some(backward.unwrap_or(false))
    }

    fn seq_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        let relation = request.relation;
        let (rows, pages) = self.table_size(relation);
        let estimator = Estimator { rtes: request.rtes, io: self.ctx.io };
        let selected = rows * estimator.selectivity(request.conditions);
        let per_row = cost::CPU_TUPLE + cost::CPU_OPERATOR * request.conditions.len() as f64;
        let cost = Cost {
            startup: 0.0,
            total: pages * cost::SEQ_PAGE + rows * per_row,
            rows: clamp_rows(selected),
            width: self.row_width(request),
        };
        let columns = attributes(request.columns);
        let scan = PlanNode::SeqScan { rel: self.scan_relation(request), columns };
        self.finish_scan(request, scan, cost, request.conditions.to_vec())
    }

    /// An index scan over the conditions it can use; without any only if `ordered`.
    fn index_scan(
        &mut self,
        request: &ScanRequest<'_>,
        index: &Arc<Relation>,
        ordered: bool,
        backward: bool,
    ) -> Result<Option<Rel>> {
        let found = self.match_index(request, index);
        if found.is_empty() && !ordered {
            return Ok(None);
        }
        let Some(info) = index.index.as_ref() else { return Ok(None) };
        let rest: Vec<Expr> = request
            .conditions
            .iter()
            .enumerate()
            .filter(|(i, _)| !found.used.contains(i))
            .map(|(_, c)| c.clone())
            .collect();
        let used: Vec<Expr> = found.used.iter().map(|i| request.conditions[*i].clone()).collect();
        let key_attributes: Vec<i16> = info.keys.iter().map(|k| k.attnum).collect();
        let index_only = self.ctx.settings.indexonlyscan
            && request.columns.iter().all(|(_, a)| key_attributes.contains(a))
            && info.keys.iter().all(|k| steppe_types::key::is_exact(k.type_oid));

        let (rows, pages) = self.table_size(request.relation);
        let estimator = Estimator { rtes: request.rtes, io: self.ctx.io };
        let full_key = info.unique && found.equal.len() == info.keys.len();
        let probed = if full_key { 1.0 } else { rows * estimator.selectivity(&used) };
        let selected = probed * estimator.selectivity(&rest);
        // Row fetches: pages of a B+tree by row id; clustered access touches each page once.
        let index_pages = (pages * 0.2).max(1.0);
        let fraction = (probed / rows.max(1.0)).min(1.0);
        let heap = if index_only {
            0.0
        } else {
            (probed * cost::RANDOM_PAGE).min(pages * cost::RANDOM_PAGE)
        };
        let descent = cost::log2(rows) * cost::CPU_OPERATOR + 50.0 * cost::CPU_OPERATOR;
        let cost = Cost {
            startup: descent,
            total: descent
                + (index_pages * fraction * cost::SEQ_PAGE).max(cost::RANDOM_PAGE)
                + heap
                + probed * (cost::CPU_INDEX_TUPLE + cost::CPU_TUPLE)
                + probed * cost::CPU_OPERATOR * rest.len() as f64,
            rows: clamp_rows(selected),
            width: self.row_width(request),
        };
        let all_columns: Vec<ColumnId> =
            (1..=request.relation.columns.len() as i16).map(|a| (request.rte, a)).collect();
        let conditions =
            used.into_iter().map(|c| to_slots(c, &all_columns)).collect::<Result<_>>()?;
        let range = IndexRange {
            equal: found.equal,
            equal_is_null: found.equal_is_null,
            any: found.any,
            lower: found.lower,
            upper: found.upper,
            conditions,
        };
        let scan = PlanNode::IndexScan {
            rel: self.scan_relation(request),
            index: index.clone(),
            range,
            backward,
            index_only,
            columns: attributes(request.columns),
        };
        self.finish_scan(request, scan, cost, rest).map(Some)
    }

    fn finish_scan(
        &mut self,
        request: &ScanRequest<'_>,
        scan: PlanNode,
        cost: Cost,
        filter: Vec<Expr>,
    ) -> Result<Rel> {
        let entry = &request.rtes[request.rte];
        let column = |id: &ColumnId| match id.1 {
            ROW_ID => (TypeRef::plain(oid::INT8), "ctid".to_string()),
            a if a < 0 => {
                let system = crate::bind::system_column(a.into());
                (
                    TypeRef::plain(system.map_or(oid::OID, |s| s.1)),
                    system.map_or("?", |s| s.0).into(),
                )
            }
            a => {
                let c = &entry.columns[a as usize - 1];
                (c.ty, c.name.to_string())
            }
        };
        let (types, names): (Vec<TypeRef>, Vec<String>) =
            request.columns.iter().map(column).unzip();
        let qualify = |n: String| -> Arc<str> { format!("{}.{n}", entry.alias).into() };
        let names: Arc<[Arc<str>]> = names.into_iter().map(qualify).collect();
        let mut plan = node(scan, types, names, cost);
        plan.filter = match and_all(filter) {
            Some(filter) => Some(to_slots(filter, request.columns)?),
            None => None,
        };
        if request.relation.kind != RelKind::Virtual {
            self.use_relation(request.relation.oid, RelationLock::AccessShare);
        }
        Ok(Rel { plan, layout: request.columns.to_vec(), rtes: RteSet::one(request.rte) })
    }

    fn scan_relation(&self, request: &ScanRequest<'_>) -> ScanRelation {
        let alias = request.rtes[request.rte].alias.clone();
        ScanRelation { relation: request.relation.clone(), alias }
    }

    pub(crate) fn table_size(&self, relation: &Relation) -> (f64, f64) {
        let (rows, pages) = self.ctx.sizes.size(relation);
        (rows.max(1.0), pages.max(1.0))
    }

    fn row_width(&self, request: &ScanRequest<'_>) -> u32 {
        let entry = &request.rtes[request.rte];
        let width = |id: &ColumnId| match usize::try_from(id.1 - 1) {
            Ok(i) if i < entry.columns.len() => {
                let stats = request.relation.statistics.as_ref().and_then(|s| s.columns.get(i));
                stats.map_or_else(|| type_width(entry.columns[i].ty), |s| s.width)
            }
            _ => 8,
        };
        request.columns.iter().map(width).sum()
    }

    /// Which conjuncts an index can use, by its key columns in order.
    fn match_index(&self, request: &ScanRequest<'_>, index: &Relation) -> IndexMatch {
        let mut found = IndexMatch::default();
        let Some(info) = &index.index else { return found };
        for key in &info.keys {
            let before = found.equal.len();
            for (i, condition) in request.conditions.iter().enumerate() {
                if found.used.contains(&i) {
                    continue;
                }
                if let Some(value) =
                    self.equality_on(condition, request.rte, key.attnum, key.type_oid)
                {
                    found.equal.push(value);
                    found.equal_is_null.push(false);
                    found.used.push(i);
                    break;
                }
                if is_null_on(condition, request.rte, key.attnum) {
                    let null = Expr::Const(steppe_types::Datum::Null, TypeRef::plain(key.type_oid));
                    found.equal.push(null);
                    found.equal_is_null.push(true);
                    found.used.push(i);
                    break;
                }
            }
            if found.equal.len() == before {
                self.match_range(request, key.attnum, key.type_oid, &mut found);
                break;
            }
        }
        found
    }

    fn match_range(&self, request: &ScanRequest<'_>, attnum: i16, ty: Oid, found: &mut IndexMatch) {
        for (i, condition) in request.conditions.iter().enumerate() {
            if found.used.contains(&i) || found.any.is_some() {
                continue;
            }
            if found.lower.is_none()
                && found.upper.is_none()
                && let Some(array) = self.any_on(condition, request.rte, attnum, ty)
            {
                found.any = Some(array);
                found.used.push(i);
                continue;
            }
            let Some((strategy, value)) = self.comparison_on(condition, request.rte, attnum, ty)
            else {
                continue;
            };
            match strategy {
                Strategy::Less | Strategy::LessEqual if found.upper.is_none() => {
                    found.upper = Some((value, strategy == Strategy::LessEqual));
                    found.used.push(i);
                }
                Strategy::Greater | Strategy::GreaterEqual if found.lower.is_none() => {
                    found.lower = Some((value, strategy == Strategy::GreaterEqual));
                    found.used.push(i);
                }
                _ => {}
            }
        }
    }

    /// `column op value` or `value op column`, as (strategy from the column's side, value).
    fn comparison_on(
        &self,
        condition: &Expr,
        rte: usize,
        attnum: i16,
        ty: Oid,
    ) -> Option<(Strategy, Expr)> {
        let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else {
            return None;
        };
        let [left, right] = args.as_slice() else { return None };
        let (value, op) = if is_column(left, rte, attnum) {
            (right, *op)
        } else if is_column(right, rte, attnum) {
            (left, self.builtins.operator(*op)?.commutator)
        } else {
            return None;
        };
        let operator = self.builtins.operator(op)?;
        let comparable =
            same_ordering(operator.left, operator.right) && same_ordering(ty, operator.left);
        let usable = comparable && rtes_of(value).is_empty() && !super::is_volatile(value);
        usable.then_some((self.builtins.strategy(op)?, value.clone()))
    }

    fn equality_on(&self, condition: &Expr, rte: usize, attnum: i16, ty: Oid) -> Option<Expr> {
        // A bare boolean column is `column = true`.
        if ty == oid::BOOL && is_column(condition, rte, attnum) {
            return Some(Expr::boolean(true));
        }
        if let Expr::Not(arg) = condition
            && ty == oid::BOOL
            && is_column(arg, rte, attnum)
        {
            return Some(Expr::boolean(false));
        }
        match self.comparison_on(condition, rte, attnum, ty)? {
            (Strategy::Equal, value) => Some(value),
            _ => None,
        }
    }

    fn any_on(&self, condition: &Expr, rte: usize, attnum: i16, ty: Oid) -> Option<Expr> {
        let Expr::ScalarArrayOp {
            all: false, left, array, syntax: CallSyntax::Operator(op), ..
        } = condition
        else {
            return None;
        };
        let operator = self.builtins.operator(*op)?;
        let usable = is_column(left, rte, attnum)
            && self.builtins.strategy(*op) == Some(Strategy::Equal)
            && same_ordering(operator.left, operator.right)
            && same_ordering(ty, operator.left)
            && rtes_of(array).is_empty()
            && !super::is_volatile(array);
        usable.then(|| (**array).clone())
    }
}

/// Types whose values the index key encodes alike: the same type, integers among each other,
/// text and varchar.
fn same_ordering(a: Oid, b: Oid) -> bool {
    let class = |t: Oid| match t {
        oid::INT2 | oid::INT4 | oid::INT8 => oid::INT8,
        oid::TEXT | oid::VARCHAR => oid::TEXT,
        oid::OID
        | oid::REGCLASS
        | oid::REGTYPE
        | oid::REGPROC
        | oid::REGPROCEDURE
        | oid::REGNAMESPACE
        | oid::REGROLE
        | oid::REGOPER
        | oid::REGOPERATOR => oid::OID,
        other => other,
    };
    class(a) == class(b)
}

fn is_column(expr: &Expr, rte: usize, attnum: i16) -> bool {
    matches!(strip(expr), Expr::Var { rte: r, column, levels_up: 0, .. }
        if *r == rte && *column + 1 == i32::from(attnum))
}

fn is_null_on(condition: &Expr, rte: usize, attnum: i16) -> bool {
    matches!(condition, Expr::IsNull { arg, negated: false } if is_column(arg, rte, attnum))
}

fn attributes(columns: &[ColumnId]) -> Vec<i16> {
    columns.iter().map(|(_, a)| *a).collect()
}

/// Row estimates are at least one row and whole.
pub(crate) fn clamp_rows(rows: f64) -> f64 {
    rows.max(1.0).round()
}

/// Average width guessed from a type.
pub(crate) fn type_width(ty: TypeRef) -> u32 {
    let builtins = steppe_catalog::Builtins::get();
    match builtins.ty(ty.oid).map_or(32, |t| t.len) {
        len if len > 0 => len as u32,
        _ if matches!(ty.oid, oid::BPCHAR | oid::VARCHAR) && ty.typmod > 4 => {
            ((ty.typmod - 4) as u32).min(1000)
        }
        _ => 32,
    }
}
