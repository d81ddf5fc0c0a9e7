//! Plans by value: the conditions whose selectivity another parameter value would change.
//!
//! A plan of a statement with parameters is right for any values of them, but its speed may depend
//! on the values. While a statement is planned, the planner notes each scan of an analysed table
//! whose conditions compare a column with a parameter, and each LIMIT that is a parameter
//! ([`Sensitive`]).
//!
//! When the statement is to run, the values are looked up in the table's statistics. Each estimate
//! is reduced to a class: the power of four of its rows, and whether a pattern fixes how texts
//! begin, so that an index has them together. The number of rows of a LIMIT is a class, too. The
//! classes together ([`RowClasses`]) select the plan variant. Each variant is planned when it is
//! first met, with the values at hand as examples for its estimates. The values never become part
//! of the plan. All variants give the same result, take the same locks and raise the same errors;
//! the choice between them affects only the time.
//!
//! PostgreSQL's plancache.c instead plans for given values or for none. SQL Server 2022 has
//! parameter sensitive plans, of at most three conditions with three ranges each.

use super::like_prefix::begins_by_value;
use super::scan::{ScanRequest, clamp_rows};
use super::selectivity::Estimator;
use super::{Planner, PlannerContext, PlannerSettings, Rel, TableSizes};
use crate::expr::Expr;
use crate::plan::PlanNode;
use crate::query::{Query, Rte};
use steppe_catalog::{Catalog, Relation};
use steppe_types::Datum;
use steppe_types::io::IoContext;

/// At most this many scans and LIMITs of a statement are noted: each has a byte of [`RowClasses`].
const PLACES_MAX: usize = 8;
/// This bit marks a class whose patterns fix how texts begin. A number of rows alone leaves it
/// clear.
const WITH_BEGINNING: u8 = 0x80;
/// Smaller tables are read as fast one way as the other.
const ROWS_MIN: f64 = 100.0;

/// A scan or a LIMIT whose number of rows depends on parameters.
#[derive(Clone, Debug)]
pub enum Sensitive {
    /// A scan.
    Scan(SensitiveScan),
    /// A LIMIT with its OFFSET.
    Limit([Option<Expr>; 2]),
}

/// A scan whose number of rows depends on parameters.
#[derive(Clone, Debug)]
pub struct SensitiveScan {
    /// The scanned entry, alone.
    entry: Box<[Rte]>,
    /// The conditions on its rows, over that entry.
    conditions: Vec<Expr>,
    /// The table's rows.
    rows: f64,
}

/// The expected rows of each sensitive place of a statement, in powers of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RowClasses(u64);

impl RowClasses {
    /// The classes for values of the parameters; without any, for unknown values.
    pub fn of(
        places: &[Sensitive],
        values: &[Datum],
        (catalog, settings, io): (&Catalog, &PlannerSettings, &IoContext),
    ) -> RowClasses {
        let mut classes = 0;
        for place in places {
            let context = PlannerContext {
                catalog,
                search_path: &[],
                settings,
                sizes: &AsPlanned(place.table_rows()),
                older: None,
                io,
                interrupts: &|| Ok(()),
                may_fail: &|_| false,
                values,
            };
            classes = classes << u8::BITS | u64::from(place.class(&context));
        }
        RowClasses(classes)
    }

    /// The distance of two of them: the sum over the scans.
    pub fn distance(self, other: RowClasses) -> u32 {
        let (a, b) = (self.0.to_be_bytes(), other.0.to_be_bytes());
        a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
    }
}

/// The table's rows when the statement was planned: a run does not count them again.
struct AsPlanned(f64);

impl TableSizes for AsPlanned {
    fn size(&self, _: &Relation) -> (f64, f64) {
        (self.0, 1.0)
    }
}

impl Sensitive {
    fn table_rows(&self) -> f64 {
        match self {
            Sensitive::Scan(scan) => scan.rows,
            Sensitive::Limit(_) => 0.0,
        }
    }

    fn class(&self, context: &PlannerContext<'_>) -> u8 {
        // At most half the exponent of a float.
        let of_rows = |rows: f64| (rows.log2() / 2.0) as u8;
        match self {
            Sensitive::Scan(SensitiveScan { entry, conditions, rows }) => {
                let estimator = Estimator::new(context, entry);
                let rows = clamp_rows(rows * estimator.selectivity(conditions));
                // An index helps to find texts with a prefix, for any number of them.
                let begins = conditions.iter().any(|c| begins_by_value(c, context.values));
                of_rows(rows) | if begins { WITH_BEGINNING } else { 0 }
            }
            Sensitive::Limit([limit, offset]) => {
                of_rows(bounded_rows(limit.as_ref(), offset.as_ref(), context.values))
            }
        }
    }
}

impl Planner<'_> {
    /// Notes a scan whose rows depend on parameters. `rel` is its plan.
    pub(super) fn note_sensitive(&mut self, request: &ScanRequest<'_>, rel: &Rel) {
        let analysed = request.relation.statistics.as_deref().filter(|s| !s.columns.is_empty());
        if analysed.is_none_or(|s| s.rows < ROWS_MIN) || self.sensitive.len() >= PLACES_MAX {
            return;
        }
        if !request.conditions.iter().any(has_param) || finds_one_row(rel) {
            return;
        }
        let (rows, _) = self.ctx.sizes.size(request.relation);
        let over_entry = |condition: &Expr| super::index::over_entry(condition.clone(), 0);
        self.sensitive.push(Sensitive::Scan(SensitiveScan {
            entry: Box::new([request.rtes[request.rte].clone()]),
            conditions: request.conditions.iter().map(over_entry).collect(),
            rows: rows.max(1.0),
        }));
    }

    /// Notes a LIMIT that depends on parameters. `rows` are expected without it.
    pub(super) fn note_limit(&mut self, query: &Query, rows: f64) {
        let bounds = [&query.limit, &query.offset];
        if rows > 1.0
            && query.limit.is_some()
            && self.sensitive.len() < PLACES_MAX
            && bounds.into_iter().flatten().any(has_param)
        {
            self.sensitive.push(Sensitive::Limit(bounds.map(Clone::clone)));
        }
    }
}

/// The number of rows that LIMIT and OFFSET let be read, as far as it is known from the parameters.
/// Where they do not, a LIMIT counts as 100 rows.
pub(super) fn bounded_rows(limit: Option<&Expr>, offset: Option<&Expr>, values: &[Datum]) -> f64 {
    let limit = limit.and_then(|limit| count(limit, values)).unwrap_or(100.0);
    (limit + offset.and_then(|offset| count(offset, values)).unwrap_or(0.0)).max(1.0)
}

fn count(expr: &Expr, values: &[Datum]) -> Option<f64> {
    let value = match expr {
        Expr::Const(value, _) => value,
        Expr::Param { index, .. } => values.get(*index)?,
        // A cast to bigint.
        Expr::Func { args, .. } => match args.as_slice() {
            [inner @ (Expr::Const(..) | Expr::Param { .. })] => return count(inner, values),
            _ => return None,
        },
        _ => return None,
    };
    match value {
        Datum::Int8(count) => Some(*count as f64),
        Datum::Int4(count) => Some(f64::from(*count)),
        _ => None,
    }
}

/// Whether a whole unique key is looked up, for any value.
fn finds_one_row(rel: &Rel) -> bool {
    let PlanNode::IndexScan { index, range, .. } = &rel.plan.scan().node else { return false };
    let Some(info) = &index.index else { return false };
    info.is_unique_now() && range.is_whole_key(info.keys.len())
}

fn has_param(expr: &Expr) -> bool {
    matches!(expr, Expr::Param { .. }) || expr.any_child(has_param)
}
