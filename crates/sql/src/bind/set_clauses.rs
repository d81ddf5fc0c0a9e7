//! SET of UPDATE and of ON CONFLICT: the values of columns, and of parts of them (parse_target.c,
//! transformUpdateTargetList).

use super::element::{Assigned, is_of_part};
use super::written::{written, written_row};
use super::{Binder, ExprPlace};
use crate::ast::{self, ExprKind, Location};
use crate::expr::{Expr, SubLinkKind, TypeRef};
use crate::query::*;
use std::sync::Arc;
use steppe_catalog::{Column, Relation};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// The name of the entry with the row of `(a, b) = (SELECT …)`.
pub(crate) const SOURCE_OF_SEVERAL: &str = "*MULTI*";

impl Binder<'_> {
    /// SET: new values by column, and the entries of sub-selects that give several at once.
    pub(super) fn set_clauses(
        &mut self,
        relation: &Arc<Relation>,
        clauses: &[ast::SetClause],
    ) -> Result<(Assignments, Vec<usize>)> {
        let mut assignments: Vec<(usize, Expr)> = Vec::new();
        let mut sources = Vec::new();
        for clause in clauses {
            match clause {
                ast::SetClause::Single { target, value } => {
                    let target = self.set_target(relation, target)?;
                    let value = self.set_value(relation, &target, value)?;
                    self.add_assignment(&mut assignments, relation, target, value)?;
                }
                ast::SetClause::Multi { targets, source } => {
                    let columns = targets
                        .iter()
                        .map(|target| self.set_target(relation, target))
                        .collect::<Result<Vec<_>>>()?;
                    let values = self.set_row(relation, &columns, source, &mut sources)?;
                    for (target, value) in columns.into_iter().zip(values) {
                        self.add_assignment(&mut assignments, relation, target, value)?;
                    }
                }
            }
        }
        // DEFAULT, which is all that a generated column may be set to, leaves it to be generated
        // from the others if those change (rewriteTargetListIU).
        if !self.to_print {
            assignments.retain(|(column, _)| !relation.columns[*column].generated);
        }
        Ok((assignments, sources))
    }

    /// The values of `(a, b) = ROW(…)` and `(a, b) = (SELECT …)`.
    fn set_row(
        &mut self,
        relation: &Arc<Relation>,
        columns: &[Assigned],
        source: &ast::Expr,
        sources: &mut Vec<usize>,
    ) -> Result<Vec<Expr>> {
        let width = |b: &Self, given: usize| match given == columns.len() {
            true => Ok(()),
            false => Err(b.error(
                SqlState::SYNTAX_ERROR,
                "number of columns does not match number of values",
                source.location,
            )),
        };
        match &source.kind {
            ExprKind::Row { fields, .. } => {
                // `x.*` among the fields stands for several.
                let mut values = Vec::with_capacity(fields.len());
                for field in fields {
                    match self.expand(field, ExprPlace::UpdateSource)? {
                        None => values.push((None, field)),
                        Some(expanded) => {
                            values.extend(expanded.into_iter().map(|t| (Some(t.expr), field)));
                        }
                    }
                }
                width(self, values.len())?;
                let mut assigned = Vec::with_capacity(values.len());
                for (target, (bound, field)) in columns.iter().zip(values) {
                    assigned.push(match bound {
                        None => self.set_value(relation, target, field)?,
                        Some(bound) => {
                            let column = &relation.columns[target.column];
                            self.check_updatable(column)?;
                            self.assign_to(bound, column, target, field.leftmost())?
                        }
                    });
                }
                Ok(assigned)
            }
            ExprKind::SubLink(link) if link.kind == ast::SubLinkKind::Expr => {
                // What ON CONFLICT does reads no FROM: there the sub-select stands in place.
                let in_place = self.scope().excluded.is_some();
                let levels = match (self.to_print, in_place) {
                    (true, _) => 0,
                    (false, in_place) => {
                        if in_place {
                            1
                        } else {
                            2
                        }
                    }
                };
                let (query, types) = self.row_select(&link.query, source.location, levels)?;
                width(self, types.len())?;
                let row = if self.to_print {
                    written_row(query)
                } else if in_place {
                    one_row(query)?
                } else {
                    sources.push(self.row_source(query)?);
                    Expr::var(sources[sources.len() - 1], 0, TypeRef::plain(oid::RECORD))
                };
                let mut values = Vec::with_capacity(columns.len());
                for (index, (target, ty)) in columns.iter().zip(types).enumerate() {
                    let column = &relation.columns[target.column];
                    self.check_updatable(column)?;
                    let arg = Box::new(row.clone());
                    let value = Expr::Field { arg, index, ty };
                    values.push(self.assign_to(value, column, target, source.location)?);
                }
                Ok(values)
            }
            _ => Err(self.error(
                SqlState::FEATURE_NOT_SUPPORTED,
                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
                source.location,
            )),
        }
    }

    /// A sub-select that will stand some levels further in: two for [`Self::row_source`].
    fn row_select(
        &mut self,
        select: &ast::SelectStmt,
        location: Location,
        levels: usize,
    ) -> Result<(Query, Vec<TypeRef>)> {
        self.scope().sub_select_place = Some(ExprPlace::UpdateSource);
        (0..levels).for_each(|_| self.push_scope());
        let bound = self.sub_select(select, ExprPlace::UpdateSource, location);
        for _ in 0..levels {
            self.pop_scope();
        }
        self.scope().sub_select_place = None;
        bound
    }

    /// A lateral entry of one row and one column, the sub-select's row (NULL if it has none), so
    /// that the sub-select runs once for each row that is changed:
    /// `SELECT (SELECT ROW(columns) FROM query)`.
    fn row_source(&mut self, query: Query) -> Result<usize> {
        let row = row_of(query);
        let mut outer = Query::new(Command::Select);
        outer.targets.push(Target::plain(row, "row".into()));
        // The planner merges no sub-select that has one.
        let bigint = TypeRef::plain(oid::INT8);
        outer.offset = Some(Expr::Const(Datum::Int8(0), bigint));
        let alias = ast::Alias { name: SOURCE_OF_SEVERAL.into(), columns: Vec::new() };
        let kind = RteKind::Subquery { query: Box::new(outer), lateral: true, view: None };
        self.add_derived_rte(&alias, false, kind, Vec::new())
    }

    /// The column, or the part of one, that SET names.
    fn set_target(&mut self, relation: &Relation, target: &ast::SetTarget) -> Result<Assigned> {
        if super::is_system_column(&target.name) {
            let message = format!("cannot assign to system column \"{}\"", target.name);
            return Err(self.error(SqlState::FEATURE_NOT_SUPPORTED, message, target.location));
        }
        let column = self.target_column(relation, &target.name, target.location);
        match column {
            Ok(column) => {
                let (place, location) = (ExprPlace::UpdateSource, target.location);
                let named = &relation.columns[column];
                let part = self.assigned_part(named, &target.indirection, place, location)?;
                Ok(Assigned { column, part, location })
            }
            Err(error)
                if !target.indirection.is_empty()
                    && self.target_alias() == Some(target.name.as_str()) =>
            {
                Err(error.hint("SET target columns cannot be qualified with the relation name."))
            }
            Err(error) => Err(error),
        }
    }

    /// The name of the changed table, which is always the level's first entry.
    fn target_alias(&self) -> Option<&str> {
        self.scopes.last()?.rtes.first().map(|rte| &*rte.alias)
    }

    fn set_value(
        &mut self,
        relation: &Relation,
        target: &Assigned,
        value: &ast::Expr,
    ) -> Result<Expr> {
        let column = &relation.columns[target.column];
        if matches!(value.kind, ExprKind::Default) {
            self.check_whole(target)?;
            return self.column_default(relation, column);
        }
        self.check_updatable(column)?;
        let bound = self.expr(value, ExprPlace::UpdateSource)?;
        self.assign_to(bound, column, target, value.leftmost())
    }

    fn add_assignment(
        &self,
        assignments: &mut Assignments,
        relation: &Relation,
        target: Assigned,
        value: Expr,
    ) -> Result<()> {
        match self.to_print {
            true => assignments.push(written(relation, target, value)),
            false => add_assignment(assignments, relation, target, value)?,
        }
        Ok(())
    }

    /// GENERATED ALWAYS columns take no value but DEFAULT.
    fn check_updatable(&self, column: &Column) -> Result<()> {
        let what = match column.identity {
            _ if column.generated => "a generated column",
            Some('a') => "an identity column defined as GENERATED ALWAYS",
            _ => return Ok(()),
        };
        Err(Error::new(
            SqlState::GENERATED_ALWAYS,
            format!("column \"{}\" can only be updated to DEFAULT", column.name),
        )
        .detail(format!("Column \"{}\" is {what}.", column.name)))
    }
}

/// Parts of one column are assigned one after the other, the first to the column's value.
fn add_assignment(
    assignments: &mut Assignments,
    relation: &Relation,
    target: Assigned,
    value: Expr,
) -> Result<()> {
    let column = &relation.columns[target.column];
    let ty = TypeRef::of(column);
    let before = assignments.iter_mut().find(|(known, _)| *known == target.column);
    match (before, target.part) {
        (None, None) => assignments.push((target.column, value)),
        (None, Some(part)) => {
            // The changed table is its level's first entry.
            let old = Expr::var(0, target.column, ty);
            assignments.push((target.column, part.set(old, ty, value)));
        }
        (Some((_, before)), Some(part)) if is_of_part(before, target.column) => {
            let array = std::mem::replace(before, Expr::Default(ty));
            *before = part.set(array, ty, value);
        }
        _ => {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("multiple assignments to same column \"{}\"", column.name),
            ));
        }
    }
    Ok(())
}

/// A sub-select's row as a value, NULL if it has none.
fn row_of(query: Query) -> Expr {
    let record = TypeRef::plain(oid::RECORD);
    let columns = super::from::output_columns(&query);
    let mut inner = Query::new(Command::Select);
    let fields = columns.iter().enumerate().map(|(i, c)| Expr::var(0, i, c.ty)).collect();
    inner.targets.push(Target::plain(Expr::Row(fields, oid::RECORD), "row".into()));
    inner.from.push(FromItem::Rte(0));
    inner.rtes.push(Rte {
        alias: "unnamed_subquery".into(),
        has_alias: false,
        kind: RteKind::Subquery { query: Box::new(query), lateral: false, view: None },
        inherit: false,
        columns,
    });
    Expr::SubLink { kind: SubLinkKind::Scalar, test: None, query: Box::new(inner), ty: record }
}

/// [`row_of`] a sub-select that is evaluated for each of its columns: each time its result has to
/// be the same.
fn one_row(query: Query) -> Result<Expr> {
    let row = row_of(query);
    let mut is_volatile = false;
    crate::walk::visit_levels(&row, 0, &mut |node, _| {
        if let Expr::Func { func, .. } = node {
            is_volatile |= func.is_volatile();
        }
        !is_volatile
    });
    match is_volatile {
        true => Err(Error::not_supported(
            "assignment of a volatile sub-select to several columns in ON CONFLICT",
        )),
        false => Ok(row),
    }
}
