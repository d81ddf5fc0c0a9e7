//! INSERT of many rows in one statement: the plan of one row, run for each.
//!
//! [`steppe_sql::parser::rows`] reads the rows off the text as values. What is left is a statement
//! of one row with parameters: it is planned once (other numbers of rows have the same plan), and
//! its values' types are those of its parameters. Whatever the text, its rows or its values turn
//! out to be that this does not cover, the general way takes the whole text: an error is found
//! there, with its place. The plan is the one row's, so is what fails when it runs, and the order
//! of that: the values' casts first, where PostgreSQL folds them, then row by row.

use std::sync::Arc;

use steppe_exec::prepare::parse_one;
use steppe_sql::bind::Params;
use steppe_sql::expr::Expr;
use steppe_sql::parser::literals::LiftedLiteral;
use steppe_sql::parser::rows::{Cell, CellColumn, Cells, ColumnKind, ManyRows, many_rows};
use steppe_sql::plan::PlanNode;
use steppe_types::{Datum, Error, Oid, Result, interrupt, oid};

use super::Session;
use super::plan::BoundPlan;
use crate::plan_cache::{Cached, CachedPlan, ROWS_KEY};

/// Parsing a shorter text takes no time to speak of.
const TEXT_BYTES_MIN: usize = 1024;
/// The plan of more parameters is not worth the memory that their types take.
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
        // Statements of other numbers of rows are others where they are counted.
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
        // Those behind the last one that is declared have none.
        let of_first = |i: usize| declared.get(i).copied().unwrap_or(0);
        if (0..count).any(|i| of_first(i) != of_first(i % rows.width)) || declared.len() > count {
            return Ok(None);
        }
        let declared: Vec<Oid> = (0..rows.width).map(of_first).collect();
        let key = key_of(&rows, Some(rows.rows), &declared, std::iter::empty());
        self.plan_of_rows(&key, &rows.sql, rows.rows, &declared, Some((rows.rows, text)))
    }

    /// The plan of the rows, `repeated` times whose parameters it has, which is found in the cache
    /// or made. `counted`: how many rows there are, and what it is listed as.
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
            self.plan(&statement, &Arc::from(sql), Params::variable(declared), key)
        });
        let fits = |plan: &Arc<CachedPlan>| {
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

    /// A plan that has just been made, for the rows that parameters make.
    fn for_each_row(
        &self,
        one: Arc<CachedPlan>,
        repeated: usize,
        text: Option<&str>,
    ) -> Result<Option<Arc<CachedPlan>>> {
        let database = &self.core.server.database;
        let compiled = one.compiled.of_rows(repeated, &self.namespace.names.catalog, database)?;
        let Some((compiled, mut one)) = compiled.zip(Arc::into_inner(one)) else { return Ok(None) };
        one.prepared.compiled = Arc::new(compiled);
        if let Some(text) = text {
            one.text = Arc::from(text);
        }
        Ok(Some(Arc::new(one)))
    }

    /// The same plan for the catalog in force.
    pub(super) fn rows_again(&mut self, old: &Arc<CachedPlan>) -> Result<Arc<CachedPlan>> {
        let types = old.param_types();
        let width = old.compiled.row_params().unwrap_or(types.len());
        let params = Params::fixed(types.get(..width).unwrap_or(types));
        let one = self.plan(&old.statement, &old.source, params, "")?;
        match self.for_each_row(one, types.len() / width.max(1), Some(&old.text))? {
            Some(plan) => Ok(plan),
            None => Err(Error::internal("an INSERT of many rows has become another statement")),
        }
    }

    /// The rows' values; `None`: one is none of its type.
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

/// The type that a column's cells are of, as a parameter.
fn declared(column: CellColumn) -> Oid {
    match column.kind {
        ColumnKind::Unknown => 0,
        ColumnKind::Int4 => oid::INT4,
        ColumnKind::Int8 => oid::INT8,
        ColumnKind::Numeric => oid::NUMERIC,
        ColumnKind::Bool => oid::BOOL,
    }
}

/// What the plan is found by.
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

/// Whether the column that a parameter goes to takes each number alike, whichever of the types of
/// literals it is of, and is given it as it stands.
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
