//! CREATE VIEW: what it checks, its options, and ALTER VIEW's (view.c).
//!
//! [`super::view`] decides what the view keeps of its query.

use super::DdlContext;
use super::reloptions::{self, Options, Owner};
use super::table_change::TableChange;
use std::sync::Arc;
use steppe_catalog::{Catalog, Column, RelKind, Relation, builtin};
use steppe_sql::ast::Persistence::{Temporary, Unlogged};
use steppe_sql::ast::{CreateViewStmt, DefElem, SelectBody, Statement, ViewCheckOption};
use steppe_sql::bind::{
    CHECK_OPTION, bind_view_query, stored_view_update_refusal, view_collations, view_update_refusal,
};
use steppe_sql::deparse::unnamed::check_all_named;
use steppe_sql::query::{Command, Query, Rte, RteKind};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// CREATE [OR REPLACE] VIEW.
pub(crate) fn create_view(ctx: &mut DdlContext<'_>, create: &CreateViewStmt) -> Result<()> {
    if has_into(&create.query.body) {
        let message = "views must not contain SELECT INTO";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    if create.relation.persistence == Unlogged {
        let message = "views cannot be unlogged because they do not have storage";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    let options = reloptions::of_new(Owner::View, &create.options)?;
    let statement = Statement::Select(Box::new(create.query.clone()));
    let query = bound_locked(ctx, &statement)?;
    if query.ctes.iter().any(|c| c.query.command != Command::Select) {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "views must not contain data-modifying statements in WITH",
        ));
    }
    check_all_named(&query)?;
    let mut columns = columns_of(ctx, create, &query)?;
    let existing = match create.replace {
        true => ctx.try_open(&create.relation, RelationLockMode::AccessExclusive)?,
        false => None,
    };
    let mut view = match existing {
        Some(old) if old.kind != RelKind::View => {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a view", old.name),
            ));
        }
        Some(old) => {
            check_replacement(&old, &columns)?;
            for (column, old) in columns.iter_mut().zip(old.columns.iter()) {
                column.default.clone_from(&old.default);
            }
            (*old).clone()
        }
        None => {
            let mut name = create.relation.clone();
            let catalog = ctx.catalog();
            let reads_temporary = reads_temporary(&catalog, &query);
            if reads_temporary && name.schema.is_none() && name.persistence != Temporary {
                name.persistence = Temporary;
                ctx.notice(format!("view \"{}\" will be a temporary view", name.name));
            }
            let Some((schema, name)) = ctx.new_name(&name, false)? else {
                return Ok(());
            };
            super::types::check_row_type_name(ctx, schema, &name)?;
            Relation::new(ctx.store.new_oid()?, schema, name, RelKind::View)
        }
    };
    view.columns = columns.into();
    view.options = with_check_option(ctx, create, options)?.into_iter().collect();
    super::view::keep(ctx, &mut view, &query)?;
    ctx.put(view)
}

/// The query, bound to what it names as that is under its locks: parse analysis takes ACCESS SHARE
/// locks and has what it waited for. So does a query that cannot be bound yet.
fn bound_locked(ctx: &mut DdlContext<'_>, statement: &Statement) -> Result<Query> {
    loop {
        let epoch = ctx.catalog().epoch;
        let bound = ctx.binding(|b| Ok(bind_view_query(b, statement)))?;
        let named = match &bound {
            Ok(bound) => &bound.mentioned,
            Err(unbound) => &unbound.mentioned,
        };
        named.iter().try_for_each(|oid| ctx.lock(*oid, RelationLockMode::AccessShare))?;
        if ctx.catalog().epoch == epoch {
            return Ok(bound?.query);
        }
    }
}

/// The view's columns, with the types and collations of the query, and the given names.
fn columns_of(
    ctx: &mut DdlContext<'_>,
    create: &CreateViewStmt,
    query: &Query,
) -> Result<Vec<Column>> {
    let collations = ctx.binding(|b| view_collations(b, query))?;
    let targets: Vec<_> = query.targets.iter().filter(|t| !t.hidden).collect();
    if create.columns.len() > targets.len() {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            "CREATE VIEW specifies more column names than columns",
        ));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(targets.len());
    for (i, target) in targets.iter().enumerate() {
        let name = create.columns.get(i).map_or(&*target.name, String::as_str);
        let ty = target.expr.ty();
        let column = ctx.catalog().column(name, ty.oid, ty.typmod);
        columns.push(Column { collation: collations[i], ..column });
    }
    super::table::check_columns(columns.len())?;
    let repeated =
        (0..columns.len()).find(|i| columns[i + 1..].iter().any(|c| c.name == columns[*i].name));
    if let Some(repeated) = repeated {
        let message = format!("column \"{}\" specified more than once", columns[repeated].name);
        return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
    }
    Ok(columns)
}

/// The options with what the clause WITH CHECK OPTION says.
fn with_check_option(
    ctx: &mut DdlContext<'_>,
    create: &CreateViewStmt,
    mut options: Options,
) -> Result<Options> {
    let given = options.iter().find(|(name, _)| &**name == CHECK_OPTION).map(|(_, v)| v.clone());
    let clause: Option<Arc<str>> = match create.check_option {
        ViewCheckOption::None => None,
        ViewCheckOption::Local => Some("local".into()),
        ViewCheckOption::Cascaded => Some("cascaded".into()),
    };
    options.extend(clause.iter().map(|value| (CHECK_OPTION.into(), value.clone())));
    if given.or(clause).is_some() {
        require_updatable(ctx.binding(|b| view_update_refusal(b, &create.query))?)?;
    }
    Ok(options)
}

/// 0A000 for WITH CHECK OPTION where rows cannot be changed at all.
fn require_updatable(refusal: Option<&'static str>) -> Result<()> {
    let Some(reason) = refusal else { return Ok(()) };
    let message = "WITH CHECK OPTION is supported only on automatically updatable views";
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint(reason))
}

/// ALTER VIEW … SET (…).
pub(super) fn set_options(
    ctx: &mut DdlContext<'_>,
    change: &mut TableChange,
    given: &[DefElem],
) -> Result<()> {
    let set = reloptions::set(Owner::View, &change.table().options, given)?;
    let view = change.edit();
    view.options = set.into();
    if view.options.iter().any(|(name, _)| **name == *CHECK_OPTION) {
        let text = view.view.as_deref().map_or("", String::as_str);
        require_updatable(stored_view_update_refusal(&ctx.catalog(), text)?)?;
    }
    Ok(())
}

/// Whether SELECT INTO is written in a query.
fn has_into(body: &SelectBody) -> bool {
    match body {
        SelectBody::Select(core) => core.into.is_some(),
        SelectBody::SetOp(operation) => has_into(&operation.left.body),
        SelectBody::Values(_) => false,
    }
}

/// Whether a query reads a temporary relation, in FROM at least.
fn reads_temporary(catalog: &Catalog, query: &Query) -> bool {
    let temporary = |rte: &Rte| match &rte.kind {
        RteKind::Relation(r) | RteKind::Subquery { view: Some(r), .. } => catalog.is_temporary(r),
        RteKind::Subquery { query, .. } => reads_temporary(catalog, query),
        _ => false,
    };
    query.rtes.iter().any(temporary)
        || query.set_operation.as_ref().is_some_and(|operation| {
            reads_temporary(catalog, &operation.left) || reads_temporary(catalog, &operation.right)
        })
        || query.ctes.iter().any(|c| reads_temporary(catalog, &c.query))
}

fn check_replacement(old: &Relation, columns: &[Column]) -> Result<()> {
    let error = |m: String| Error::new(SqlState::INVALID_TABLE_DEFINITION, m);
    let invalid = |m: String| Err(error(m));
    let collation = |of| builtin::collation_name(of).unwrap_or_default();
    if columns.len() < old.columns.len() {
        return invalid("cannot drop columns from view".into());
    }
    for (was, now) in old.columns.iter().zip(columns) {
        if was.name != now.name {
            let message =
                format!("cannot change name of view column \"{}\" to \"{}\"", was.name, now.name);
            return Err(error(message).hint(
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
            ));
        }
        if (was.type_oid, was.typmod) != (now.type_oid, now.typmod) {
            let shown = steppe_sql::bind::typename::format_type_with_typmod;
            return invalid(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                was.name,
                shown(was.type_oid, was.typmod),
                shown(now.type_oid, now.typmod)
            ));
        }
        if was.collation != now.collation {
            return invalid(format!(
                "cannot change collation of view column \"{}\" from \"{}\" to \"{}\"",
                was.name,
                collation(was.collation),
                collation(now.collation)
            ));
        }
    }
    Ok(())
}
