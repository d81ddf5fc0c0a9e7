//! RETURNING (transformReturningClause in analyze.c).
//!
//! The list may name the changed table, which means the row as it was stored (for DELETE as it
//! was). It may also name the row's versions: `old` and `new`, or the names in `WITH (OLD AS o)`.
//! Each is an entry of the range table over the target's columns that no FROM item stands for; a
//! query that names neither does not have them. A version that there is not (`old` of an INSERT)
//! has NULL in all columns, and is NULL as a whole.

use super::names::unless_null;
use super::{Binder, ExprPlace, TARGETS_MAX};
use crate::ast::{self, Location, ReturningAlias};
use crate::expr::{Expr, Place, TypeRef};
use crate::plan::TABLE_OID;
use crate::query::{Query, ReturningVersions};
use crate::walk::for_each_level;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Error, Result, SqlState, oid};

impl Binder<'_> {
    /// Binds the list over the names in sight and the row's versions.
    pub(super) fn returning(
        &mut self,
        query: &mut Query,
        relation: &Arc<Relation>,
        returning: &ast::Returning,
    ) -> Result<()> {
        let others = self.scope().rtes.len();
        let mut versions = ReturningVersions { old: None, new: None };
        let mut written = [
            (&returning.old_alias, "old", &mut versions.old),
            (&returning.new_alias, "new", &mut versions.new),
        ];
        // Names that are given come first, in the order of the text.
        written.sort_by_key(|(alias, ..)| {
            alias.as_ref().map_or(usize::MAX, |a| a.location.offset().unwrap_or(0))
        });
        for (alias, default, version) in written {
            *version = self.version(relation, alias.as_ref(), default)?;
        }
        query.returning = self.targets(&returning.targets, ExprPlace::Returning)?;
        if query.returning.len() > TARGETS_MAX {
            let columns = query.returning.len();
            let message = format!("number of columns ({columns}) exceeds limit ({TARGETS_MAX})");
            return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        let mut is_used = false;
        for target in &mut query.returning {
            for_each_level(&mut target.expr, 0, &mut |e, depth| {
                if let Expr::Var { rte, levels_up, .. } = e {
                    is_used |=
                        *levels_up == depth && versions.entries().any(|version| version == *rte);
                }
            });
        }
        let is_named = returning.old_alias.is_some() || returning.new_alias.is_some();
        if is_used || (self.to_print && is_named) {
            query.returning_versions = Some(versions);
        } else {
            self.scope().rtes.truncate(others);
        }
        Ok(())
    }

    /// Adds a version's entry, unless its default name means something else; 42712 if a given
    /// name does.
    fn version(
        &mut self,
        relation: &Arc<Relation>,
        alias: Option<&ReturningAlias>,
        default: &str,
    ) -> Result<Option<usize>> {
        let name = alias.map_or(default, |alias| &alias.name);
        if self.names_item(name)? {
            let Some(alias) = alias else { return Ok(None) };
            let message = format!("table name \"{name}\" specified more than once");
            return Err(self.error(SqlState::DUPLICATE_ALIAS, message, alias.location));
        }
        let alias = ast::Alias { name: name.into(), columns: Vec::new() };
        let version = self.add_relation_rte(relation.clone(), Some(&alias), false)?;
        let shown = match self.scope().target_view.clone() {
            Some(view) => self.view_version(&view, version, &alias, |column| match column {
                Expr::Var { .. } => column,
                computed => if_version(version, 0, computed, Place::NONE),
            })?,
            None => version,
        };
        self.scope().returning_versions.push((shown, version));
        self.make_visible(shown);
        // Unqualified names mean the target table.
        if let Some(item) = self.scope().namespace.last_mut() {
            item.columns_visible = false;
        }
        Ok(Some(version))
    }

    /// Whether a name means a FROM item of this level.
    fn names_item(&mut self, name: &str) -> Result<bool> {
        let found = self.find_relation(None, name, Location::NONE)?;
        Ok(found.is_some_and(|found| found.levels == 0))
    }
}

/// A value that is NULL where there is no such version of the row.
pub(super) fn if_version(version: usize, levels_up: usize, value: Expr, at: Place) -> Expr {
    let ty = TypeRef::plain(oid::OID);
    let column = TABLE_OID.into();
    unless_null(std::iter::once(Expr::Var { rte: version, column, levels_up, ty, at }), value)
}
