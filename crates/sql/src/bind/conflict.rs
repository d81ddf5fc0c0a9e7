//! ON CONFLICT: the indexes that decide whether a row is in the way (transformOnConflictClause in
//! parse_clause.c, infer_arbiter_indexes in plancat.c).

use super::index::IndexExprs;
use super::{Binder, ExprPlace, collation, settled};
use crate::ast::{self, Location};
use crate::expr::Expr;
use crate::implies::{equivalent, implied_by};
use crate::query::{Arbiters, ConflictElement, ConflictUpdate, OnConflict, Query};
use std::sync::Arc;
use steppe_catalog::system::definitions::{OpclassMethod, btree_opclass, btree_opclass_of_key};
use steppe_catalog::{IndexInfo, IndexKey, Relation};
use steppe_types::{Error, Oid, Result, SqlState};

/// The message of 42P10 where no index has the elements of ON CONFLICT.
const NO_ARBITER: &str =
    "there is no unique or exclusion constraint matching the ON CONFLICT specification";

/// Whether a statement was refused because no index has the elements of its ON CONFLICT. PostgreSQL
/// finds this out when it plans the statement.
pub fn has_no_arbiter(error: &Error) -> bool {
    error.sqlstate() == SqlState::INVALID_COLUMN_REFERENCE && error.fields().message == NO_ARBITER
}

impl ConflictElement {
    /// The number of the column, unless it is an expression.
    fn column(&self) -> Option<i16> {
        match self.key {
            Expr::Var { column, .. } => Some(column as i16 + 1),
            _ => None,
        }
    }

    /// Whether a key of an index, whose expression is `computed`, is of the same values.
    fn is_of_key(&self, key: &IndexKey, computed: Option<&Expr>) -> bool {
        match computed {
            None => self.column() == Some(key.attnum),
            Some(computed) => equivalent(computed, &self.key),
        }
    }

    /// Whether it is the key that is meant (infer_collation_opclass_match).
    fn is_key(&self, table: &Relation, key: &IndexKey, computed: Option<&Expr>) -> bool {
        self.is_of_key(key, computed)
            && self.collation.is_none_or(|collation| collation == key.collation(table))
            && self.opclass.is_none_or(|class| btree_opclass_of_key(key) == Some(class))
    }
}

impl Binder<'_> {
    pub(super) fn on_conflict(
        &mut self,
        relation: &Arc<Relation>,
        query: &Query,
        conflict: &ast::OnConflict,
    ) -> Result<OnConflict> {
        self.scope().namespace.clear();
        self.show_target(query);
        let alias = ast::Alias { name: "excluded".into(), columns: Vec::new() };
        let (arbiters, excluded, update) = match &conflict.action {
            ast::ConflictAction::Nothing => {
                // Its errors do not suggest columns that it cannot refer to.
                let arbiters = self.arbiters(relation, conflict)?;
                (arbiters, self.add_relation_rte(relation.clone(), Some(&alias), false)?, None)
            }
            ast::ConflictAction::Update { set, where_clause } => {
                let excluded = self.add_relation_rte(relation.clone(), Some(&alias), false)?;
                let arbiters = self.arbiters(relation, conflict)?;
                self.show_excluded(excluded, &alias)?;
                let update = self.conflict_update(relation, set, where_clause.as_ref())?;
                (arbiters, excluded, Some(update))
            }
        };
        if self.to_print {
            let written = Some(Box::new(arbiters));
            return Ok(OnConflict { arbiters: Vec::new(), written, update, excluded });
        }
        // A node is sent it as it is written.
        let written = relation.is_distributed().then(|| Box::new(arbiters.clone()));
        // Last, as PostgreSQL's planner does it: a mistake in the action comes first.
        let arbiters = self.indexes_of(relation, arbiters)?;
        Ok(OnConflict { arbiters, written, update, excluded })
    }

    fn show_excluded(&mut self, excluded: usize, alias: &ast::Alias) -> Result<()> {
        self.scope().excluded = Some(excluded);
        let shown = match self.scope().target_view.clone() {
            Some(view) => self.view_version(&view, excluded, alias, |e| e)?,
            None => excluded,
        };
        self.make_visible(shown);
        // Unqualified names mean the target table.
        if let Some(item) = self.scope().namespace.last_mut() {
            item.columns_visible = false;
        }
        Ok(())
    }

    fn conflict_update(
        &mut self,
        relation: &Arc<Relation>,
        set: &[ast::SetClause],
        where_clause: Option<&ast::Expr>,
    ) -> Result<ConflictUpdate> {
        let (assignments, _) = self.set_clauses(relation, set)?;
        let filter = match where_clause {
            Some(e) => Some(self.condition(e, "WHERE", ExprPlace::Where)?),
            None => None,
        };
        Ok((assignments, filter))
    }

    fn arbiters(
        &mut self,
        relation: &Arc<Relation>,
        conflict: &ast::OnConflict,
    ) -> Result<Arbiters> {
        let Some(target) = &conflict.target else {
            if matches!(conflict.action, ast::ConflictAction::Update { .. }) {
                return Err(self
                    .error(
                        SqlState::SYNTAX_ERROR,
                        "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                        conflict.location,
                    )
                    .hint("For example, ON CONFLICT (column_name)."));
            }
            return Ok(Arbiters::Any);
        };
        match target {
            ast::ConflictTarget::Constraint { name, location } => {
                let constraint = relation.constraints.iter().find(|c| *c.name == *name.as_str());
                use steppe_catalog::ConstraintKind::{Primary, Unique};
                match constraint.map(|c| &c.kind) {
                    Some(Primary { index } | Unique { index }) => {
                        let constraint = constraint.map_or(0, |c| c.oid);
                        Ok(Arbiters::Named { constraint, index: *index })
                    }
                    Some(_) => Err(self.error(
                        SqlState::WRONG_OBJECT_TYPE,
                        "constraint in ON CONFLICT clause has no associated index",
                        *location,
                    )),
                    None => Err(Error::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!(
                            "constraint \"{name}\" for table \"{}\" does not exist",
                            relation.name
                        ),
                    )),
                }
            }
            ast::ConflictTarget::Index { elements, where_clause, location } => {
                let elements =
                    elements.iter().map(|e| self.conflict_element(relation, e, *location));
                let elements = elements.collect::<Result<_>>()?;
                let place = ExprPlace::IndexPredicate;
                let condition = match where_clause {
                    Some(clause) => Some(self.condition(clause, "WHERE", place)?),
                    None => None,
                };
                let condition = condition.map(|condition| self.over_target(condition));
                Ok(Arbiters::Inferred { elements, condition })
            }
        }
    }

    fn conflict_element(
        &mut self,
        relation: &Arc<Relation>,
        element: &ast::IndexElem,
        location: Location,
    ) -> Result<ConflictElement> {
        let key = match &element.key {
            ast::IndexKey::Column(name) => self.conflict_column(relation, name, location)?,
            ast::IndexKey::Expr(expr) => self.expr(expr, ExprPlace::IndexExpression)?,
        };
        let key = self.over_target(key);
        let written = element.collation.as_ref();
        let collation =
            written.map(|name| collation::collation(self.ctx.catalog, name, key.ty().oid));
        let collation = collation.transpose().map_err(|e| e.at(self.position(location)))?;
        let opclass = match &element.opclass {
            None => None,
            Some(name) => {
                let found = btree_opclass(name.name());
                Some(found.ok_or_else(|| OpclassMethod::Btree.has_no_opclass(name.name()))?)
            }
        };
        let opclass_name = element.opclass.as_ref().map(|name| name.name().into());
        Ok(ConflictElement { key, collation, opclass, opclass_name })
    }

    /// A column of the table, or of the view by which it is changed.
    fn conflict_column(
        &mut self,
        relation: &Arc<Relation>,
        name: &str,
        location: Location,
    ) -> Result<Expr> {
        let found = match &self.scope().target_view {
            Some(view) => view.columns.iter().find(|(n, _)| **n == *name).map(|(_, e)| e.clone()),
            None => relation.column_index(name).map(|position| {
                let column = &relation.columns[position];
                Expr::var(0, position, crate::expr::TypeRef::plain(column.type_oid))
            }),
        };
        found.ok_or_else(|| self.missing_column(None, name, location))
    }

    /// An expression over a view as one over its table, settled so that it can be compared.
    fn over_target(&mut self, expr: Expr) -> Expr {
        if self.to_print {
            return expr;
        }
        let view = self.scope().target_view.clone();
        let moved: std::result::Result<Expr, std::convert::Infallible> = expr.transform(&mut |e| {
            Ok(match (&view, e) {
                (Some(view), Expr::Var { rte, column, levels_up: 0, .. })
                    if rte == view.rte && column >= 0 =>
                {
                    view.columns[column as usize].1.clone()
                }
                (_, other) => other,
            })
        });
        match moved {
            Ok(expr) => settled(expr),
            Err(never) => match never {},
        }
    }

    fn indexes_of(&self, relation: &Arc<Relation>, arbiters: Arbiters) -> Result<Vec<Oid>> {
        let (elements, condition) = match arbiters {
            Arbiters::Any => return Ok(Vec::new()),
            Arbiters::Named { index, .. } => return Ok(vec![index]),
            Arbiters::Inferred { elements, condition } => (elements, condition),
        };
        let conditions: Vec<Expr> = condition.into_iter().collect();
        let mut found = Vec::new();
        for index in self.ctx.catalog.indexes_of(relation) {
            let Some(info) = index.index.as_ref().filter(|i| i.unique) else { continue };
            if self.ctx.catalog.is_valid_index(index)
                && self.is_over(relation, info, &elements, &conditions)?
            {
                found.push(index.oid);
            }
        }
        if found.is_empty() {
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, NO_ARBITER));
        }
        Ok(found)
    }

    /// Whether an index has exactly these elements, and every row for which the conditions hold.
    fn is_over(
        &self,
        relation: &Arc<Relation>,
        info: &IndexInfo,
        elements: &[ConflictElement],
        conditions: &[Expr],
    ) -> Result<bool> {
        let own = IndexExprs::bind(self.ctx.catalog, relation, info)?;
        let keys = || info.keys.iter().zip(own.keys.iter().map(Option::as_ref));
        let is_wanted = |(key, computed): (&IndexKey, Option<&Expr>)| {
            elements.iter().any(|element| element.is_of_key(key, computed))
        };
        Ok(elements.iter().all(|e| keys().any(|(key, computed)| e.is_key(relation, key, computed)))
            && keys().all(is_wanted)
            && own.predicate.iter().all(|p| implied_by(p, conditions)))
    }
}
