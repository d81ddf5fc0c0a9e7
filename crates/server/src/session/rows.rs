//! INSERT of many rows in one statement: the plan of one row, run for each.
//!
//! [`steppe_sql::parser::rows`] reads the rows from the text as values. The rest is a statement of
//! one row with parameters. It is planned once: other numbers of rows have the same plan. The types
//! of the values are those of its parameters. If the text, its rows or its values have any form
//! that this does not cover, the general way takes the whole text, and finds errors with their
//! positions. The plan is that of one row, so errors at run time and their order are the same:
//! first the values' casts, where PostgreSQL folds them, then row by row.

use std::sync::Arc;

use steppe_exec::prepare::parse_one;
use steppe_sql::bind::Params;
use steppe_sql::expr::Expr;
use steppe_sql::parser::literals::LiftedLiteral;
use steppe_sql::parser::rows::{Cell, CellColumn, Cells, ColumnKind, ManyRows, many_rows};
use steppe_sql::plan::PlanNode;
use steppe_types::{Datum, Error, Oid, Result, interrupt, oid};

use super::Session;
use super::plan::{BoundPlan, Wanted};
use crate::plan_cache::{Cached, CachedPlan, ROWS_KEY};

/// A shorter text takes hardly any time to parse.
const TEXT_BYTES_MIN: usize = 1024;
/// With more parameters, the plan is not worth the memory of their types.
const PARAMS_MAX: usize = 4096;
/// Rows whose values are read between two checks for interrupts.
const ROWS_READ: usize = 1024;

impl Session {
    /// The plan of a Query message that inserts many rows of literals, with their values.
    pub(super) fn rows_of_literals(&mut self, text: &str) -> Result<Option<BoundPlan>> {
        if !self.may_share() || text.len() < TEXT_BYTES_MIN {
            return Ok(None);
        }
        let Some(rows) = many_rows(text)? else { return Ok(None) };
        let Cells::Literals { cells, columns } = &rows.cells else { return Ok(None) };
        let declared: Vec<Oid> = columns.iter().map(|column| declared(*column)).collect();
        // Statements with other numbers of rows are counted separately.
        let counted = self.numbers_plans().then_some((rows.rows, text));
        let mixed = columns.iter().map(|column| column.mixed);
        let key = key_of(&rows, counted.map(|(rows, _)| rows), &declared, mixed.clone());
        let Some(plan) = self.plan_of_rows(&key, &rows.sql, 1, &declared, counted)? else {
            return Ok(None);
        };
        let is_sure = mixed.enumerate().all(|(i, mixed)| !mixed || takes_any_number(&plan, i));
        let values = if is_sure { self.values_of(cells, &plan, text)? } else { None };
        Ok(values.map(|values| (plan, values)))
    }

    /// The plan of a statement to be prepared that inserts many rows of parameters.
    pub(super) fn rows_of_params(
        &mut self,
        text: &str,
        declared: &[Oid],
    ) -> Result<Option<Arc<CachedPlan>>> {
        if !self.may_share() || text.len() < TEXT_BYTES_MIN {
            return Ok(None);
        }
        let Some(rows) = many_rows(text)? else { return Ok(None) };
        let count = rows.rows * rows.width;
        let (Cells::Params, true) = (&rows.cells, count <= usize::from(u16::MAX)) else {
            return Ok(None);
        };
        // Parameters after the last declared one have no declared type.
        let of_first = |i: usize| declared.get(i).copied().unwrap_or(0);
        if (0..count).any(|i| of_first(i) != of_first(i % rows.width)) || declared.len() > count {
            return Ok(None);
        }
        let declared: Vec<Oid> = (0..rows.width).map(of_first).collect();
        let key = key_of(&rows, Some(rows.rows), &declared, std::iter::empty());
        self.plan_of_rows(&key, &rows.sql, rows.rows, &declared, Some((rows.rows, text)))
    }

    /// The plan of the rows, from the cache or new, with `repeated` times the parameters of one
    /// row. `counted` is the number of rows and the text that is listed.
    fn plan_of_rows(
        &mut self,
        key: &str,
        sql: &str,
        repeated: usize,
        declared: &[Oid],
        counted: Option<(usize, &str)>,
    ) -> Result<Option<Arc<CachedPlan>>> {
        self.refresh_names();
        let hash = self.core.server.plans.hash(key, self.fingerprint);
        match self.cached(hash, key) {
            Some(Cached::Plan(plan)) => return Ok(Some(plan)),
            Some(Cached::NotLiftable { .. }) => return Ok(None),
            None => {}
        }
        let planned = parse_one(sql).and_then(|parsed| {
            let statement = Arc::new(parsed.statement);
            let wanted = Wanted { key, for_cursor: false, values: &[] };
            self.plan_as(&statement, &Arc::from(sql), Params::variable(declared), wanted)
        });
        let fits = |plan: &CachedPlan| {
            plan.param_types().len() == declared.len() && !plan.depends_on_literals
        };
        let plan = match planned.ok().filter(fits) {
            Some(one) => self.for_each_row(one, repeated, counted.map(|(_, text)| text))?,
            None => None,
        };
        if repeated * declared.len() <= PARAMS_MAX {
            let epoch = self.namespace.names.catalog.epoch;
            let cached = plan.clone().map_or(Cached::NotLiftable { epoch }, Cached::Plan);
            self.remember(hash, key, cached);
        }
        Ok(plan)
    }

    /// A new plan, for the number of rows that the parameters make.
    fn for_each_row(
        &self,
        mut one: CachedPlan,
        repeated: usize,
        text: Option<&str>,
    ) -> Result<Option<Arc<CachedPlan>>> {
        let engine = &self.core.server.engine;
        let compiled = one.compiled.of_rows(repeated, &self.namespace.names.catalog, engine)?;
        let Some(compiled) = compiled else { return Ok(None) };
        one.prepared.compiled = Arc::new(compiled);
        if let Some(text) = text {
            one.text = Arc::from(text);
        }
        self.count_planning(&one);
        Ok(Some(Arc::new(one)))
    }

    /// The same plan for the current catalog.
    pub(super) fn rows_again(&mut self, old: &Arc<CachedPlan>) -> Result<Arc<CachedPlan>> {
        let types = old.param_types();
        let width = old.compiled.row_params().unwrap_or(types.len());
        let params = Params::fixed(types.get(..width).unwrap_or(types));
        let wanted = Wanted { key: "", for_cursor: false, values: &[] };
        let one = self.plan_as(&old.statement, &old.source, params, wanted)?;
        match self.for_each_row(one, types.len() / width.max(1), Some(&old.text))? {
            Some(plan) => Ok(plan),
            None => Err(Error::internal("an INSERT of many rows has become another statement")),
        }
    }

    /// The rows' values; `None` if one is not valid for its type.
    fn values_of(
        &self,
        cells: &[Cell],
        plan: &CachedPlan,
        text: &str,
    ) -> Result<Option<Arc<[Datum]>>> {
        let types = plan.param_types();
        let mut values = Vec::with_capacity(cells.len());
        for rows in interrupt::pieces(cells, types.len() * ROWS_READ) {
            for row in rows?.chunks(types.len()) {
                for (cell, ty) in row.iter().zip(types) {
                    let Some(value) = self.cell(cell, *ty, text) else { return Ok(None) };
                    values.push(value);
                }
            }
        }
        Ok(Some(values.into()))
    }

    fn cell(&self, cell: &Cell, type_oid: Oid, text: &str) -> Option<Datum> {
        Some(match (cell, type_oid) {
            (Cell::Null, _) => Datum::Null,
            (Cell::Bool(value), oid::BOOL) => Datum::Bool(*value),
            (Cell::Bool(_), _) => return None,
            (Cell::Literal(LiftedLiteral::Int4(value)), oid::INT8) => {
                Datum::Int8(i64::from(*value))
            }
            (Cell::Literal(LiftedLiteral::Int4(value)), oid::NUMERIC) => {
                Datum::Numeric((*value).into())
            }
            (Cell::Literal(LiftedLiteral::Int8(value)), oid::NUMERIC) => {
                Datum::Numeric((*value).into())
            }
            (Cell::Literal(literal), _) => return self.literal(literal, type_oid, text),
        })
    }
}

/// The type of a column's cells, as a parameter.
fn declared(column: CellColumn) -> Oid {
    match column.kind {
        ColumnKind::Unknown => 0,
        ColumnKind::Int4 => oid::INT4,
        ColumnKind::Int8 => oid::INT8,
        ColumnKind::Numeric => oid::NUMERIC,
        ColumnKind::Bool => oid::BOOL,
    }
}

/// The plan's key in the cache.
fn key_of(
    rows: &ManyRows,
    counted: Option<usize>,
    declared: &[Oid],
    mixed: impl Iterator<Item = bool>,
) -> String {
    let mut key = String::with_capacity(rows.sql.len() + 8 * declared.len() + 8);
    key.push(ROWS_KEY);
    if let Some(rows) = counted {
        key.push_str(&rows.to_string());
    }
    key.push(ROWS_KEY);
    key.push_str(&rows.sql);
    for ty in declared {
        key.push_str(&format!("\u{1}{ty}"));
    }
    key.push('\0');
    key.extend(mixed.map(|mixed| if mixed { 'm' } else { '-' }));
    key
}

/// Whether a parameter's column takes a literal of any numeric type in the same way, and gets it
/// unchanged.
fn takes_any_number(plan: &CachedPlan, index: usize) -> bool {
    fn has_param(expr: &Expr, index: usize) -> bool {
        let mut found = matches!(expr, Expr::Param { index: own, .. } if *own == index);
        expr.for_each_child(&mut |child| found |= has_param(child, index));
        found
    }
    let PlanNode::Modify(modify) = &plan.compiled.planned().plan.node else { return false };
    let mut columns = modify.child.project.iter().flatten();
    columns.find(|expr| has_param(expr, index)).is_some_and(|expr| {
        matches!(
            expr.ty().oid,
            oid::INT2
                | oid::INT4
                | oid::INT8
                | oid::FLOAT4
                | oid::FLOAT8
                | oid::NUMERIC
                | oid::TEXT
                | oid::VARCHAR
                | oid::BPCHAR
        )
    })
}
