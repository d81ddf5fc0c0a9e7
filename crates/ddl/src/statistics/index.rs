//! Statistics of indexes (analyze.c, `compute_index_stats`). The values of an index's expressions
//! over the table's sample give statistics, which are kept with the index as those of its columns.
//! The number of rows of a partial index is estimated, too.

use super::column::{Wanted, column_statistics};
use super::{Subject, distinct_told};
use crate::DdlContext;
use crate::analyze::pages_of_table;
use crate::sample::Sample;
use crate::scan::{evaluator, with_functions};
use std::sync::Arc;
use steppe_catalog::{ColumnStatistics, Relation, Statistics};
use steppe_sql::bind::of_stored;
use steppe_sql::expr::Expr;
use steppe_sql::planner::index_exprs;
use steppe_types::{Datum, Result};

/// The indexes of a table that have expressions or a predicate.
pub(crate) fn computing_indexes(ctx: &mut DdlContext<'_>, table: &Relation) -> Vec<Arc<Relation>> {
    let computes = |index: &&Arc<Relation>| {
        let info = index.index.as_deref().filter(|_| index.storage.is_some());
        info.is_some_and(|info| {
            info.predicate.is_some() || info.keys.iter().any(|key| key.expression.is_some())
        })
    };
    ctx.catalog().indexes_of(table).filter(computes).cloned().collect()
}

/// The columns of an index that are expressions.
pub(crate) fn subject(ctx: &DdlContext<'_>, index: &Arc<Relation>) -> Subject {
    let mut subject = Subject::of(ctx, index, &[]);
    let keys = index.index.iter().flat_map(|info| &*info.keys).collect::<Vec<_>>();
    let is_expression = |(position, _): &(usize, usize)| {
        keys.get(*position).is_some_and(|key| key.expression.is_some())
    };
    subject.columns.retain(is_expression);
    subject
}

/// Stores the statistics of an index of a table from the table's sample.
pub(crate) fn analyze_index(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    index: &Arc<Relation>,
    sample: &Sample,
) -> Result<()> {
    if sample.sampled.is_empty() {
        return Ok(());
    }
    let rows = index_rows(ctx, table, index, &sample.sampled)?;
    let share = rows.len() as f64 / sample.sampled.len() as f64;
    let total = (share * sample.rows as f64).ceil();
    let mut found = index.statistics.as_deref().cloned().unwrap_or_default();
    found.columns.resize(index.columns.len(), ColumnStatistics::default());
    for (position, target) in subject(ctx, index).columns {
        let column = &index.columns[position];
        let distinct = distinct_told(column, false);
        let wanted = Wanted { type_oid: column.type_oid, target, distinct, computed: true };
        let values: Vec<&Datum> = rows.iter().map(|row| &row[position]).collect();
        if !values.is_empty() {
            found.columns[position] = column_statistics(wanted, &values, total)?;
        }
    }
    let pages = pages_of_table(ctx.store.engine(), index)?;
    let mut analyzed = (**index).clone();
    analyzed.statistics = Some(Arc::new(Statistics { rows: total, pages, ..found }));
    ctx.put(analyzed)
}

/// The keys that an index has for some of its table's rows, with NULL in place of plain columns.
fn index_rows(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    index: &Relation,
    rows: &[Vec<Datum>],
) -> Result<Vec<Vec<Datum>>> {
    let Some(info) = index.index.as_deref() else { return Ok(Vec::new()) };
    let catalog = ctx.catalog();
    let bound = index_exprs(&catalog, table, info)?;
    let condition = bound.predicate.into_iter().collect::<Vec<Expr>>();
    let (at, keys): (Vec<usize>, Vec<Expr>) = bound
        .keys
        .into_iter()
        .enumerate()
        .filter_map(|(position, key)| Some((position, key?)))
        .unzip();
    let mut evaluator = |exprs: Vec<Expr>| {
        let exprs = exprs.into_iter().map(|expr| of_stored(&catalog, table, expr));
        evaluator(ctx, &exprs.collect::<Result<Vec<_>>>()?)
    };
    let (mut condition, mut keys) = (evaluator(condition)?, evaluator(keys)?);
    let session = Arc::clone(&ctx.session);
    let mut found = Vec::new();
    with_functions(ctx, || {
        for row in rows {
            session.check_interrupts()?;
            if !condition.evaluate(row)?.iter().all(|held| matches!(held, Datum::Bool(true))) {
                continue;
            }
            let mut values = vec![Datum::Null; info.keys.len()];
            for (position, value) in at.iter().zip(keys.evaluate(row)?) {
                values[*position] = value.clone();
            }
            found.push(values);
        }
        Ok(found)
    })
}
