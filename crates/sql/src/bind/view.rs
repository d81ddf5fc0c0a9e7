//! Views whose rows can be changed (rewriteHandler.c: view_query_is_auto_updatable,
//! rewriteTargetView).
//!
//! INSERT, UPDATE and DELETE on a simple view are statements on the table below it:
//!
//! - the target is the table. The view's columns are expressions over it, under which names in the
//!   statement are looked up;
//! - the view's WHERE is one more condition of UPDATE and DELETE;
//! - the view's defaults stand before the table's;
//! - WITH CHECK OPTION makes it a condition on the new rows.
//!
//! A view over a view is resolved down to the table, with all conditions on the way.

use super::instead::has_instead_of;
use super::window::contains_window;
use super::{BindContext, Binder, ExprPlace, Params};
use crate::ast::{self, Location, RangeVar};
use crate::expr::Expr;
use crate::plan::RelationLock;
use crate::query::*;
use crate::walk;
use std::rc::Rc;
use std::sync::Arc;
use steppe_catalog::{Catalog, PG_CATALOG, RelKind, Relation};
use steppe_types::io::IoContext;
use steppe_types::{Error, Result, SqlState};

/// Option under which a view keeps its CHECK OPTION (pg_class.reloptions).
pub const CHECK_OPTION: &str = "check_option";
/// Option of a view whose conditions are evaluated before those of the query around.
pub const SECURITY_BARRIER: &str = "security_barrier";
/// Option of a view that is read with the rights of its reader: there is but one role.
pub const SECURITY_INVOKER: &str = "security_invoker";

/// The entry of the target table in the range table of a changing statement: always the first.
pub(super) const TARGET: usize = 0;

/// A view as a way to change a table.
#[derive(Clone)]
pub(crate) struct ViewTarget {
    /// The view's name.
    pub(crate) name: Arc<str>,
    /// The entry by whose columns the statement refers to the view.
    pub(crate) rte: usize,
    /// The view's columns over the table.
    pub(crate) columns: Vec<(Arc<str>, Expr)>,
    /// The kind of the change, for errors.
    action: ViewAction,
}

/// The kind of change that a statement makes to a view.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewAction {
    Insert,
    Update,
    Delete,
}

impl ViewAction {
    fn verb(self) -> &'static str {
        match self {
            ViewAction::Insert => "insert into",
            ViewAction::Update => "update",
            ViewAction::Delete => "delete from",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            ViewAction::Insert => {
                "To enable inserting into the view, provide an INSTEAD OF INSERT trigger or an \
                 unconditional ON INSERT DO INSTEAD rule."
            }
            ViewAction::Update => {
                "To enable updating the view, provide an INSTEAD OF UPDATE trigger or an \
                 unconditional ON UPDATE DO INSTEAD rule."
            }
            ViewAction::Delete => {
                "To enable deleting from the view, provide an INSTEAD OF DELETE trigger or an \
                 unconditional ON DELETE DO INSTEAD rule."
            }
        }
    }
}

/// A view resolved down to its table; expressions are over [`TARGET`].
struct Resolved {
    table: Arc<Relation>,
    /// The view reads it without ONLY.
    inherit: bool,
    columns: Vec<(Arc<str>, Expr)>,
    conditions: Vec<Expr>,
    /// CHECK OPTION: views with their conditions, innermost first.
    checks: Vec<(Arc<str>, Expr)>,
}

/// The SELECT in the stored text of a view.
pub(super) fn stored_select(text: &str) -> Result<ast::SelectStmt> {
    match crate::parser::parse(text)?.pop().map(|parsed| parsed.statement) {
        Some(ast::Statement::Select(select)) => Ok(*select),
        _ => Err(Error::internal("a view's definition is no SELECT")),
    }
}

/// Why rows of a view, with this stored text, cannot be changed; `None` if they can.
pub fn stored_view_update_refusal(catalog: &Catalog, text: &str) -> Result<Option<&'static str>> {
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    view_update_refusal(&ctx, &stored_select(text)?)
}

/// Why rows of a view of this query cannot be changed; `None` if they can.
pub fn view_update_refusal(
    ctx: &BindContext<'_>,
    select: &ast::SelectStmt,
) -> Result<Option<&'static str>> {
    let mut binder = Binder::new(ctx, Params::none());
    match binder.simple_view(select)? {
        Err(reason) => Ok(Some(reason)),
        Ok((core, from)) => {
            let view = Relation::new(0, 0, "", RelKind::View);
            binder.push_scope();
            Ok(binder.view_columns(&view, core, from, ViewAction::Update, false)?.err())
        }
    }
}

/// Whether each column of a view can be assigned to. `None` if its rows cannot be changed
/// (relation_is_updatable).
pub fn updatable_columns(ctx: &BindContext<'_>, view: &Arc<Relation>) -> Option<Vec<bool>> {
    let binder = Binder::new(ctx, Params::none());
    let resolved = binder.resolve_view(view, ViewAction::Delete, false).ok()?;
    let updatable = |(_, e): &(Arc<str>, Expr)| matches!(e, Expr::Var { column: 0.., .. });
    Some(resolved.columns.iter().map(updatable).collect())
}

impl Binder<'_> {
    /// Makes the view the target of a statement. Returns the table's entry and the table.
    pub(crate) fn view_target(
        &mut self,
        view: &Arc<Relation>,
        range_var: &RangeVar,
        action: ViewAction,
        query: &mut Query,
    ) -> Result<Arc<Relation>> {
        let resolved = self.resolve_view(view, action, false)?;
        let inherit = resolved.inherit && action != ViewAction::Insert;
        let target = self.add_relation_rte(resolved.table.clone(), None, inherit)?;
        debug_assert_eq!(target, TARGET);
        query.result_relation = Some(target);
        let alias = range_var.alias.clone().unwrap_or_else(|| default_alias(&view.name));
        let has_alias = range_var.alias.is_some();
        let rte = self.column_entry(&resolved.columns, &alias, has_alias)?;
        if action != ViewAction::Insert {
            query.filter = crate::planner::and_all(resolved.conditions);
        }
        if action != ViewAction::Delete {
            query.view_checks = resolved.checks;
        }
        let name = view.name.clone();
        let columns = resolved.columns;
        self.scope().target_view = Some(ViewTarget { name, rte, columns, action });
        Ok(resolved.table)
    }

    /// An entry whose columns are expressions over others.
    fn column_entry(
        &mut self,
        columns: &[(Arc<str>, Expr)],
        alias: &ast::Alias,
        has_alias: bool,
    ) -> Result<usize> {
        let shown = |(name, e): &(Arc<str>, Expr)| RteColumn {
            name: name.clone(),
            ty: e.ty(),
            dropped: false,
        };
        let outside = columns.iter().map(shown).collect();
        let kind = RteKind::Join { columns: columns.iter().map(|(_, e)| e.clone()).collect() };
        self.add_derived_rte(alias, has_alias, kind, outside)
    }

    /// An entry with the view's columns over another entry of its table, as `shown` has them:
    /// `excluded` of ON CONFLICT, `old` and `new` of RETURNING.
    pub(crate) fn view_version(
        &mut self,
        view: &ViewTarget,
        version: usize,
        alias: &ast::Alias,
        shown: impl Fn(Expr) -> Expr,
    ) -> Result<usize> {
        let over =
            |(name, e): &(Arc<str>, Expr)| (name.clone(), shown(moved_to(e.clone(), version)));
        let columns: Vec<_> = view.columns.iter().map(over).collect();
        self.column_entry(&columns, alias, false)
    }

    /// The position in the table of a view's column that is assigned to.
    pub(crate) fn view_column(
        &self,
        view: &ViewTarget,
        name: &str,
        location: Location,
    ) -> Result<usize> {
        let Some((_, expr)) = view.columns.iter().find(|(n, _)| **n == *name) else {
            return Err(self.error(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" of relation \"{}\" does not exist", view.name),
                location,
            ));
        };
        let refused = |detail: &str| {
            let verb = view.action.verb();
            let message = format!("cannot {verb} column \"{name}\" of view \"{}\"", view.name);
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail))
        };
        match expr {
            Expr::Var { column, .. } => match usize::try_from(*column) {
                Ok(position) => Ok(position),
                Err(_) => refused("View columns that refer to system columns are not updatable."),
            },
            Expr::Row(..) => {
                refused("View columns that return whole-row references are not updatable.")
            }
            _ => refused(
                "View columns that are not columns of their base relation are not updatable.",
            ),
        }
    }

    /// A binder for the text of a view; 42P17 for a view whose query comes back to it
    /// (CREATE OR REPLACE can make one).
    pub(crate) fn inside_view<'v>(
        &self,
        view: &Relation,
        lock: RelationLock,
        ctx: &'v BindContext<'v>,
    ) -> Result<Binder<'v>> {
        if self.around.contains(&view.oid) {
            let message =
                format!("infinite recursion detected in rules for relation \"{}\"", view.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        self.views.borrow_mut().push((view.oid, lock));
        let mut binder = Binder::new(ctx, Params::none());
        binder.views = Rc::clone(&self.views);
        binder.around = self.around.clone();
        binder.around.push(view.oid);
        Ok(binder)
    }

    /// `cascaded`: a view above has WITH CASCADED CHECK OPTION.
    fn resolve_view(
        &self,
        view: &Arc<Relation>,
        action: ViewAction,
        cascaded: bool,
    ) -> Result<Resolved> {
        let text = view.view.as_deref().map_or("", String::as_str);
        let (select, io) = (stored_select(text)?, IoContext::default());
        let refused = |reason: &str| {
            let message = format!("cannot {} view \"{}\"", action.verb(), view.name);
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail(reason)
                .hint(action.hint())
        };
        let catalog = self.ctx.catalog;
        let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
        let mut binder = self.inside_view(view, RelationLock::RowExclusive, &ctx)?;
        let (core, from) = match binder.simple_view(&select)? {
            Ok(parts) => parts,
            Err(reason) => return Err(refused(reason)),
        };
        binder.push_scope();
        match binder.view_columns(view, core, from, action, cascaded)? {
            Ok(resolved) => Ok(resolved),
            Err(reason) => Err(refused(reason)),
        }
    }

    /// The parts of a SELECT whose text is simple enough.
    #[allow(clippy::type_complexity)]
    fn simple_view<'q>(
        &self,
        select: &'q ast::SelectStmt,
    ) -> Result<std::result::Result<(&'q ast::SelectCore, &'q RangeVar), &'static str>> {
        const NOT_SINGLE: &str =
            "Views that do not select from a single table or view are not automatically updatable.";
        let core = match &select.body {
            ast::SelectBody::Select(core) => core,
            ast::SelectBody::SetOp(_) => {
                return Ok(Err("Views containing UNION, INTERSECT, or EXCEPT are not \
                               automatically updatable."));
            }
            ast::SelectBody::Values(_) => return Ok(Err(NOT_SINGLE)),
        };
        let refused = [
            (
                core.distinct != ast::Distinct::No,
                "Views containing DISTINCT are not automatically updatable.",
            ),
            (
                !core.group_by.is_empty(),
                "Views containing GROUP BY are not automatically updatable.",
            ),
            (core.having.is_some(), "Views containing HAVING are not automatically updatable."),
            (select.with.is_some(), "Views containing WITH are not automatically updatable."),
            (
                select.limit.is_some() || select.offset.is_some(),
                "Views containing LIMIT or OFFSET are not automatically updatable.",
            ),
        ];
        if let Some((_, reason)) = refused.iter().find(|(bad, _)| *bad) {
            return Ok(Err(reason));
        }
        let [ast::FromItem::Table(from)] = core.from.as_slice() else {
            return Ok(Err(NOT_SINGLE));
        };
        match self.relation(from)?.kind {
            RelKind::Table | RelKind::PartitionedTable | RelKind::View => Ok(Ok((core, from))),
            _ => Ok(Err(NOT_SINGLE)),
        }
    }

    /// Binds a simple view's columns and condition over the table at its bottom.
    fn view_columns(
        &mut self,
        view: &Relation,
        core: &ast::SelectCore,
        from: &RangeVar,
        action: ViewAction,
        cascaded: bool,
    ) -> Result<std::result::Result<Resolved, &'static str>> {
        let option = view.options.iter().find(|(n, _)| &**n == CHECK_OPTION).map(|(_, v)| &**v);
        let cascaded = cascaded || option.is_some_and(|o| o.eq_ignore_ascii_case("cascaded"));
        let base = self.relation(from)?;
        let mut resolved = match base.kind {
            RelKind::View if has_instead_of(&base, action) => {
                let what = "changes through a view over one with INSTEAD OF triggers";
                return Err(Error::not_supported(what));
            }
            RelKind::View => {
                let below = self.resolve_view(&base, action, cascaded)?;
                self.add_relation_rte(below.table.clone(), None, false)?;
                let alias = from.alias.clone().unwrap_or_else(|| default_alias(&base.name));
                let rte = self.column_entry(&below.columns, &alias, from.alias.is_some())?;
                self.make_visible(rte);
                below
            }
            _ => {
                let alias = from.alias.as_ref();
                let rte = self.add_relation_rte(base.clone(), alias, false)?;
                self.make_visible(rte);
                let (conditions, checks) = (Vec::new(), Vec::new());
                let inherit = from.inherit;
                Resolved { table: base, inherit, columns: Vec::new(), conditions, checks }
            }
        };
        let targets = self.targets(&core.targets, ExprPlace::Targets)?;
        let condition = match &core.where_clause {
            Some(e) => Some(self.condition(e, "WHERE", ExprPlace::Where)?),
            None => None,
        };
        if let Some(reason) = self.refused_targets(&targets, action) {
            return Ok(Err(reason));
        }
        if let Some(refused) = overlay_defaults(&mut resolved.table, view, &targets, action) {
            return Err(refused);
        }
        let name = |(i, t): (usize, Target)| {
            (view.columns.get(i).map_or_else(|| t.name.clone(), |c| c.name.clone()), t.expr)
        };
        resolved.columns = targets.into_iter().enumerate().map(name).collect();
        if let Some(condition) = condition {
            if cascaded || option.is_some() {
                resolved.checks.push((view.name.clone(), condition.clone()));
            }
            resolved.conditions.push(condition);
        }
        Ok(Ok(resolved))
    }

    fn refused_targets(&mut self, targets: &[Target], action: ViewAction) -> Option<&'static str> {
        if self.scope().has_aggregates {
            return Some("Views that return aggregate functions are not automatically updatable.");
        }
        if targets.iter().any(|t| contains_window(&t.expr)) {
            return Some("Views that return window functions are not automatically updatable.");
        }
        if targets.iter().any(|t| crate::planner::returns_set(&t.expr)) {
            return Some(
                "Views that return set-returning functions are not automatically updatable.",
            );
        }
        let updatable = |t: &Target| matches!(t.expr, Expr::Var { column: 0.., .. });
        (action != ViewAction::Delete && !targets.iter().any(updatable))
            .then_some("Views that have no updatable columns are not automatically updatable.")
    }
}

/// Gives the table's columns the defaults of the view columns that stand for them. An outer view's
/// defaults come later. An INSERT takes a view's default of any column that it does not give, so
/// that one of a column that is no table's is refused.
fn overlay_defaults(
    table: &mut Arc<Relation>,
    view: &Relation,
    targets: &[Target],
    action: ViewAction,
) -> Option<Error> {
    for (column, target) in view.columns.iter().zip(targets) {
        let Some(default) = &column.default else { continue };
        match target.expr {
            Expr::Var { column: at @ 0.., .. } => {
                let columns = &mut Arc::make_mut(table).columns;
                if let Some(below) = columns.get_mut(at as usize) {
                    below.default = Some(Arc::clone(default));
                }
            }
            _ if action != ViewAction::Insert => {}
            _ => {
                let (column, view) = (&column.name, &view.name);
                let message = format!("cannot insert into column \"{column}\" of view \"{view}\"");
                return Some(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(
                    "View columns that are not columns of their base relation are not updatable.",
                ));
            }
        }
    }
    None
}

fn default_alias(name: &str) -> ast::Alias {
    ast::Alias { name: name.to_owned(), columns: Vec::new() }
}

/// An expression over the target entry as one over another entry, inside sub-selects, too.
pub(super) fn moved_to(mut expr: Expr, entry: usize) -> Expr {
    walk::for_each_level(&mut expr, 0, &mut |e, depth| {
        if let Expr::Var { rte, levels_up, .. } = e
            && *rte == TARGET
            && *levels_up == depth
        {
            *rte = entry;
        }
    });
    expr
}
