//! ALTER TABLE (tablecmds.c).

use super::build::build;
use super::constraint::{self, PendingConstraints};
use super::depend::{self, Object};
use super::index;
use super::misc::system_catalog;
use super::scan::{RowEvaluator, scan_batches};
use super::table::{
    add_column, bind_column_default, create_storage, default_text, storage_options,
};
use super::{DdlContext, drop, files_of, partition, sequence};
use super::{generated, identity};
use crate::access::TableAccess;
use std::sync::Arc;
use steppe_catalog::system::definitions::visible_name;
use steppe_catalog::{Column, Constraint, ConstraintKind, RelKind, Relation};
use steppe_sql::ast::{
    AlterTableCommand as Command, AlterTableStmt, ColumnDef, ConstraintKind as AstConstraint,
    DropBehavior, ObjectKind,
};
use steppe_sql::bind::{ExprPlace, bind_assigned_expr, parse_expression};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_txn::{NewRows, RelationLockMode, RowId};
use steppe_types::{Datum, Error, Result, SqlState, text_io};

/// ALTER TABLE and its like; returns the command tag.
pub(crate) fn alter_table(ctx: &mut DdlContext<'_>, stmt: &AlterTableStmt) -> Result<&'static str> {
    let tag = match stmt.kind {
        ObjectKind::Index => "ALTER INDEX",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::View => "ALTER VIEW",
        _ => "ALTER TABLE",
    };
    let attaches = |c: &Command| matches!(c, Command::AttachPartition { .. });
    let mode = match stmt.commands.iter().all(attaches) {
        true => RelationLockMode::ShareUpdateExclusive,
        false => RelationLockMode::AccessExclusive,
    };
    let Some(relation) = ctx.try_open(&stmt.relation, mode)? else {
        let message = format!("relation \"{}\" does not exist", stmt.relation.object_name());
        if stmt.if_exists {
            ctx.notice(format!("{message}, skipping"));
            return Ok(tag);
        }
        return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
    };
    if relation.is_system() {
        return Err(system_catalog(&relation));
    }
    for command in &stmt.commands {
        let catalog = ctx.catalog();
        let relation = catalog
            .relation(relation.oid)
            .ok_or_else(|| Error::internal("the table being altered has gone"))?;
        let scope = Scope { only: !stmt.relation.inherit, recursing: false };
        let done = run(ctx, (**relation).clone(), command, scope);
        ctx.naming(relation, done)?;
    }
    Ok(tag)
}

/// How far an ALTER TABLE goes.
#[derive(Clone, Copy)]
struct Scope {
    /// ONLY was written.
    only: bool,
    /// The command comes from the parent.
    recursing: bool,
}

fn run(ctx: &mut DdlContext<'_>, table: Relation, command: &Command, scope: Scope) -> Result<()> {
    match command {
        Command::AttachPartition { partition, bound: Some(bound) } => {
            partition::require_partitioned(&table, "ATTACH PARTITION")?;
            return partition::attach(ctx, table, partition, bound);
        }
        Command::AttachPartition { partition, bound: None } => {
            return partition::attach_index(ctx, &table, partition);
        }
        Command::DetachPartition { partition, concurrently: false, finalize: false } => {
            partition::require_partitioned(&table, "DETACH PARTITION")?;
            return partition::detach(ctx, &table, partition);
        }
        _ => {}
    }
    if !matches!(table.kind, RelKind::Table | RelKind::PartitionedTable)
        && !matches!(
            command,
            Command::ChangeOwner(_) | Command::SetOptions(_) | Command::ResetOptions(_)
        )
    {
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("ALTER action cannot be performed on relation \"{}\"", table.name),
        ));
    }
    check_lineage(ctx, &table, command, scope)?;
    let (oid, kind) = (table.oid, table.kind);
    run_here(ctx, table, command)?;
    if kind != RelKind::PartitionedTable || scope.only || !recurses(command) {
        return Ok(());
    }
    for child in partition::children(ctx, oid)? {
        ctx.txn.lock_relation_blocking(child.oid, RelationLockMode::AccessExclusive)?;
        run(ctx, (*child).clone(), command, Scope { only: false, recursing: true })?;
    }
    Ok(())
}

/// Whether a command on a partitioned table is repeated on its partitions. (Constraints that are
/// added or dropped see to that themselves.)
fn recurses(command: &Command) -> bool {
    matches!(
        command,
        Command::AddColumn { .. }
            | Command::DropColumn { .. }
            | Command::ColumnDefault { .. }
            | Command::AlterColumnType { .. }
            | Command::DropNotNull(_)
    )
}

/// What a partition may not do by itself, and a parent not alone: 42P16.
fn check_lineage(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    command: &Command,
    scope: Scope,
) -> Result<()> {
    let invalid = |message: String| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
    if table.partition_of.is_some() && !scope.recursing {
        match command {
            Command::AddColumn { .. } => {
                let message = "cannot add column to a partition";
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            Command::DropColumn { name, .. } if table.column_index(name).is_some() => {
                return invalid(format!("cannot drop inherited column \"{name}\""));
            }
            Command::AlterColumnType { name, .. } if table.column_index(name).is_some() => {
                return invalid(format!("cannot alter inherited column \"{name}\""));
            }
            _ => {}
        }
    }
    let has_children = ctx.catalog().children(table.oid).next().is_some();
    if scope.only && has_children {
        match command {
            Command::AddColumn { .. } => {
                return invalid("column must be added to child tables too".into());
            }
            Command::AddConstraint(c) if matches!(c.kind, AstConstraint::Check(_)) => {
                return invalid("constraint must be added to child tables too".into());
            }
            _ => {}
        }
    }
    let verb = match command {
        Command::DropColumn { .. } => "drop",
        Command::AlterColumnType { .. } => "alter",
        _ => return Ok(()),
    };
    let (Command::DropColumn { name, .. } | Command::AlterColumnType { name, .. }) = command else {
        return Ok(());
    };
    let Some(position) = table.column_index(name) else { return Ok(()) };
    if partition::key_reads(ctx, table, position as i16 + 1)? {
        return invalid(format!(
            "cannot {verb} column \"{name}\" because it is part of the partition key of relation \
             \"{}\"",
            table.name
        ));
    }
    Ok(())
}

fn run_here(ctx: &mut DdlContext<'_>, table: Relation, command: &Command) -> Result<()> {
    match command {
        Command::AddColumn { column, if_not_exists } => add(ctx, table, column, *if_not_exists),
        Command::DropColumn { name, behavior, if_exists } => {
            drop_column(ctx, table, name, *behavior, *if_exists)
        }
        Command::AddConstraint(c) => {
            let mut pending = PendingConstraints::default();
            pending.add_table_constraint(c)?;
            constraint::add_all(ctx, table, pending)
        }
        Command::DropConstraint { name, if_exists, .. } => {
            drop_constraint(ctx, table, name, *if_exists, false)
        }
        Command::ColumnDefault { name, default } => {
            let position = column_position(&table, name)?;
            if table.columns[position].generated {
                let instead = if default.is_some() { "SET" } else { "DROP" };
                let column = &table.columns[position];
                return Err(generated::refuse_default(&table, column, instead));
            }
            let mut table = table;
            table.columns[position].default = match default {
                Some(expr) => default_text(ctx, &table.columns[position].clone(), expr)?,
                None => None,
            };
            ctx.put(table)
        }
        Command::SetNotNull(name) => {
            let position = column_position(&table, name)?;
            constraint::set_not_null(ctx, table, &[position as i16 + 1]).map(|_| ())
        }
        Command::DropNotNull(name) => drop_not_null(ctx, table, name),
        Command::DropExpression { name, if_exists } => {
            let position = column_position(&table, name)?;
            generated::drop_expression(ctx, table, position, *if_exists)
        }
        Command::AddIdentity { name, constraint } => {
            let position = column_position(&table, name)?;
            identity::add(ctx, table, position, &constraint.kind)
        }
        Command::SetIdentity { name, options } => {
            let position = column_position(&table, name)?;
            identity::set(ctx, table, position, options)
        }
        Command::DropIdentity { name, if_exists } => {
            let position = column_position(&table, name)?;
            identity::drop(ctx, table, position, *if_exists)
        }
        Command::ValidateConstraint(name) => validate_constraint(&table, name),
        Command::AlterColumnType { name, type_name, collation, using } => {
            if collation.is_some() {
                return Err(Error::not_supported("ALTER COLUMN TYPE with COLLATE"));
            }
            let ty = steppe_sql::bind::typename::resolve_type_name(type_name)?;
            alter_type(ctx, table, name, ty, using.as_ref())
        }
        Command::SetOptions(options) => {
            let mut table = table;
            for (name, value) in storage_options(options)? {
                table.options.retain(|(n, _)| *n != name);
                table.options.push((name, value));
            }
            ctx.put(table)
        }
        Command::ResetOptions(options) => {
            let mut table = table;
            table.options.retain(|(n, _)| !options.iter().any(|o| *o.name == **n));
            ctx.put(table)
        }
        // One role owns everything in this version; statistics targets and storage hints have no
        // effect on results.
        Command::ChangeOwner(_) | Command::SetStatistics { .. } | Command::SetStorage { .. } => {
            Ok(())
        }
        other => Err(Error::not_supported(format!("ALTER TABLE … {}", describe(other)))),
    }
}

/// A subcommand's name for the 0A000 message.
fn describe(command: &Command) -> &'static str {
    match command {
        Command::AttachPartition { .. } => "ATTACH PARTITION",
        Command::DetachPartition { .. } => "DETACH PARTITION",
        Command::Inherit(_) | Command::NoInherit(_) => "INHERIT",
        Command::AlterConstraint { .. } => "ALTER CONSTRAINT",
        Command::SetLogged(_) => "SET LOGGED",
        Command::RowSecurity(_) => "ROW LEVEL SECURITY",
        Command::ReplicaIdentity(_) => "REPLICA IDENTITY",
        Command::Trigger { .. } => "TRIGGER",
        Command::SetTablespace(_) => "SET TABLESPACE",
        Command::ClusterOn(_) | Command::DropCluster => "CLUSTER",
        _ => "this action",
    }
}

fn column_position(table: &Relation, name: &str) -> Result<usize> {
    if let Some(position) = table.column_index(name) {
        return Ok(position);
    }
    if steppe_sql::bind::is_system_column(name) {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("cannot alter system column \"{name}\""),
        ));
    }
    Err(Error::new(
        SqlState::UNDEFINED_COLUMN,
        format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
    ))
}

/// ADD COLUMN. A constant default is stored as the missing value of old rows; a volatile one
/// rewrites the table.
fn add(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    def: &ColumnDef,
    if_not_exists: bool,
) -> Result<()> {
    if table.column_index(&def.name).is_some() {
        let message =
            format!("column \"{}\" of relation \"{}\" already exists", def.name, table.name);
        if if_not_exists {
            ctx.notice_of(SqlState::DUPLICATE_COLUMN, format!("{message}, skipping"));
            return Ok(());
        }
        return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
    }
    let mut table = table;
    let (oid, position) = (table.oid, table.columns.len());
    let (mut pending, mut serials) = (PendingConstraints::default(), Vec::new());
    add_column(ctx, &mut table, def, &mut pending, &mut serials)?;
    for serial in serials {
        sequence::create_owned(ctx, &mut table, serial)?;
    }
    bind_column_default(ctx, &mut table, position, def)?;
    generated::bind_expression(ctx, &mut table, position, def)?;
    let is_generated = table.columns[position].generated;
    let default = match is_generated {
        true => generated::expression(ctx, &Arc::new(table.clone()), position)?,
        false => bound_default(ctx, &table.columns[position])?,
    };
    let not_null = std::mem::replace(&mut table.columns[position].not_null, false);
    match &default {
        None => ctx.put(table.clone())?,
        Some(expr) if !is_generated && is_stable(expr) => {
            let value = evaluate_once(ctx, &table, expr)?;
            table.columns[position].missing = match value {
                Datum::Null => None,
                value => {
                    let ty = table.columns[position].type_oid;
                    Some(text_io::output_string(ty, &value, &Default::default())?.into())
                }
            };
            ctx.put(table.clone())?;
        }
        Some(expr) => {
            let new = table.clone();
            rewrite(ctx, table, new, position, expr.clone())?;
        }
    }
    let catalog = ctx.catalog();
    let current = catalog.relation(oid).ok_or_else(|| Error::internal("table has gone"))?;
    let mut table = (**current).clone();
    if not_null {
        table = constraint::set_not_null(ctx, table, &[position as i16 + 1])?;
    }
    constraint::add_all(ctx, table, pending)
}

/// The bound DEFAULT of a column.
fn bound_default(ctx: &mut DdlContext<'_>, column: &Column) -> Result<Option<Expr>> {
    let Some(text) = &column.default else { return Ok(None) };
    let parsed = parse_expression(text)?;
    let to = TypeRef { oid: column.type_oid, typmod: column.typmod };
    let (name, place) = (column.name.clone(), ExprPlace::ColumnDefault);
    ctx.binding(|b| bind_assigned_expr(b, None, &parsed, place, to, &name)).map(Some)
}

/// Whether all rows get the same value: no volatile function.
fn is_stable(expr: &Expr) -> bool {
    let here = match expr {
        Expr::Func { func, .. } => {
            steppe_catalog::Builtins::get().proc(*func).is_some_and(|p| p.volatility != b'v')
        }
        _ => true,
    };
    here && expr.children().into_iter().all(is_stable)
}

fn evaluate_once(ctx: &mut DdlContext<'_>, table: &Relation, expr: &Expr) -> Result<Datum> {
    let mut evaluator = RowEvaluator::new(ctx, std::slice::from_ref(expr))?;
    let row = vec![Datum::Null; table.columns.len()];
    Ok(evaluator.evaluate(&row)?.first().cloned().unwrap_or_default())
}

/// Writes every row into new trees, with the column at `position` computed by `expr` over the old
/// row; rebuilds the indexes. Rows pass through in batches of a page.
fn rewrite(
    ctx: &mut DdlContext<'_>,
    old: Relation,
    new: Relation,
    position: usize,
    expr: Expr,
) -> Result<()> {
    if old.kind == RelKind::PartitionedTable {
        return retype_indexes(ctx, new);
    }
    let mut doomed = files_of(&old);
    let mut new = new;
    create_storage(ctx, &mut new)?;
    let database = ctx.store.database().clone();
    let mut source = old;
    source.columns.truncate(new.columns.len());
    let source = TableAccess::open(&database, &Arc::new(source))?;
    let target = TableAccess::open(&database, &Arc::new(new.clone()))?;
    let mut evaluator = RowEvaluator::new(ctx, &[expr])?;
    scan_batches(ctx, &source, &mut |ctx, mut rows| {
        for row in &mut rows {
            let value = evaluator.evaluate(row)?.first().cloned().unwrap_or_default();
            row[position] = value;
        }
        write_rows(ctx, &target, &rows)
    })?;
    ctx.put(new.clone())?;
    let catalog = ctx.catalog();
    let shared = Arc::new(new.clone());
    for index in catalog.indexes_of(&new) {
        doomed.extend(files_of(index));
        let mut index = (**index).clone();
        refresh_key_types(&new, &mut index);
        index::reprint(ctx, &shared, &new, &mut index)?;
        build(ctx, &new, &mut index)?;
        ctx.put(index)?;
    }
    ctx.txn.drop_files_at_commit(&doomed);
    Ok(())
}

/// A partitioned table has no rows to write: its indexes follow the new types.
fn retype_indexes(ctx: &mut DdlContext<'_>, new: Relation) -> Result<()> {
    ctx.put(new.clone())?;
    let catalog = ctx.catalog();
    let shared = Arc::new(new);
    for index in catalog.indexes_of(&shared) {
        let mut index = (**index).clone();
        refresh_key_types(&shared, &mut index);
        index::reprint(ctx, &shared, &shared, &mut index)?;
        ctx.put(index)?;
    }
    Ok(())
}

fn refresh_key_types(table: &Relation, index: &mut Relation) {
    let Some(info) = &mut index.index else { return };
    for (key, column) in info.keys.iter_mut().zip(&mut index.columns) {
        if let Some(source) = key.attnum.checked_sub(1).and_then(|i| table.columns.get(i as usize))
        {
            key.type_oid = source.type_oid;
            (column.type_oid, column.typmod) = (source.type_oid, source.typmod);
        }
    }
}

fn write_rows(ctx: &mut DdlContext<'_>, target: &TableAccess, rows: &[Vec<Datum>]) -> Result<()> {
    ctx.services.check_interrupts()?;
    let mut encoded = NewRows::default();
    for row in rows {
        encoded.push_with(|out| target.append_row(ctx.txn, row, &[], out))?;
    }
    let mut ids: Vec<RowId> = Vec::with_capacity(rows.len());
    target.rows_for_write()?.insert_batch(ctx.txn, &mut encoded, &mut ids)
}

/// ALTER COLUMN TYPE: rewrites the table.
fn alter_type(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    name: &str,
    ty: TypeRef,
    using: Option<&steppe_sql::ast::Expr>,
) -> Result<()> {
    let position = column_position(&table, name)?;
    let catalog = ctx.catalog();
    if let Some(view) = depend::readers(&catalog, table.oid, position as i16 + 1).next() {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used by a view or rule",
        )
        .detail(format!(
            "rule _RETURN on view {} depends on column \"{name}\"",
            visible_name(&catalog, view, &ctx.search_path)
        )));
    }
    generated::check_retype(ctx, &table, position)?;
    let shared = Arc::new(table.clone());
    let place = ExprPlace::AlterType;
    let column_ref = parse_expression(&steppe_sql::deparse::quote_identifier(name))?;
    let source = using.unwrap_or(&column_ref);
    let bound = ctx
        .binding(|b| bind_assigned_expr(b, Some(&shared), source, place, ty, name))
        .map_err(|e| match e.sqlstate() {
            SqlState::DATATYPE_MISMATCH => {
                let shown = steppe_sql::bind::typename::format_type(ty.oid, ty.typmod);
                let error = Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!("column \"{name}\" cannot be cast automatically to type {shown}"),
                );
                match using {
                    None => {
                        error.hint(format!("You might need to specify \"USING {name}::{shown}\"."))
                    }
                    Some(_) => error,
                }
            }
            _ => e,
        })?;
    let mut new = table.clone();
    let old_default = new.columns[position].default.take();
    new.columns[position].type_oid = ty.oid;
    new.columns[position].typmod = ty.typmod;
    new.columns[position].missing = None;
    if let Some(text) = old_default {
        let parsed = parse_expression(&text)?;
        let column = new.columns[position].clone();
        new.columns[position].default = default_text(ctx, &column, &parsed).map_err(|_| {
            let shown = steppe_sql::bind::typename::format_type(ty.oid, ty.typmod);
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "default for column \"{name}\" cannot be cast automatically to type {shown}"
                ),
            )
        })?;
    }
    rewrite(ctx, table, new, position, bound)
}

/// DROP COLUMN: the position stays, marked; indexes and constraints over it go.
fn drop_column(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    name: &str,
    behavior: DropBehavior,
    if_exists: bool,
) -> Result<()> {
    let Some(position) = table.column_index(name) else {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
        if if_exists {
            ctx.notice(format!("{message}, skipping"));
            return Ok(());
        }
        return column_position(&table, name).map(|_| ());
    };
    let attnum = position as i16 + 1;
    generated::check_drop(ctx, &table, position, behavior)?;
    let dependents = depend::dependents(ctx, &[Object::Column(table.oid, attnum)], behavior)?;
    drop::drop_dependents(ctx, &dependents)?;
    let catalog = ctx.catalog();
    let shared = Arc::new(table);
    let mut indexes: Vec<Arc<Relation>> = Vec::new();
    for index in catalog.indexes_of(&shared) {
        if index::depends_on(&catalog, &shared, index, attnum)? {
            indexes.push(index.clone());
        }
    }
    let mut table = (*shared).clone();
    table.constraints.retain(|c| !c.columns.contains(&attnum));
    let column = &mut table.columns[position];
    column.name = format!("........pg.dropped.{attnum}........").into();
    column.dropped = true;
    column.not_null = false;
    column.default = None;
    column.generated = false;
    column.identity = None;
    ctx.put(table.clone())?;
    for index in indexes {
        drop::drop_relation(ctx, index)?;
    }
    let owned: Vec<Arc<Relation>> = ctx
        .catalog()
        .referrers(table.oid)
        .filter(|r| r.sequence.as_ref().and_then(|s| s.owned_by) == Some((table.oid, attnum)))
        .cloned()
        .collect();
    for sequence in owned {
        drop::drop_relation(ctx, sequence)?;
    }
    Ok(())
}

fn drop_constraint(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    name: &str,
    if_exists: bool,
    recursing: bool,
) -> Result<()> {
    let Some(at) = table.constraints.iter().position(|c| *c.name == *name) else {
        let message =
            format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
        if if_exists {
            ctx.notice(format!("{message}, skipping"));
            return Ok(());
        }
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    };
    let mut table = table;
    let constraint = table.constraints.remove(at);
    if constraint.inherited && !recursing {
        return Err(Error::new(
            SqlState::INVALID_TABLE_DEFINITION,
            format!("cannot drop inherited constraint \"{name}\" of relation \"{}\"", table.name),
        ));
    }
    for child in partition::children(ctx, table.oid)? {
        let belongs = |c: &&Constraint| match c.parent {
            Some(parent) => parent == constraint.oid,
            None => c.inherited && c.name == constraint.name,
        };
        if let Some(own) = child.constraints.iter().find(belongs) {
            drop_constraint(ctx, (*child).clone(), &own.name, false, true)?;
        }
    }
    if let ConstraintKind::NotNull = constraint.kind {
        for attnum in &constraint.columns {
            table.columns[*attnum as usize - 1].not_null = false;
        }
    }
    ctx.put(table)?;
    if let ConstraintKind::Primary { index } | ConstraintKind::Unique { index } = constraint.kind {
        let catalog = ctx.catalog();
        if let Some(index) = catalog.relation(index) {
            drop::drop_relation(ctx, index.clone())?;
        }
    }
    Ok(())
}

/// VALIDATE CONSTRAINT: there are none that the rows do not satisfy.
fn validate_constraint(table: &Relation, name: &str) -> Result<()> {
    let Some(constraint) = table.constraints.iter().find(|c| *c.name == *name) else {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name),
        ));
    };
    match constraint.kind {
        ConstraintKind::Check { .. } | ConstraintKind::NotNull => Ok(()),
        _ => Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("cannot validate constraint \"{name}\" of relation \"{}\"", table.name),
        )
        .detail("This operation is not supported for this type of constraint.")),
    }
}

fn drop_not_null(ctx: &mut DdlContext<'_>, table: Relation, name: &str) -> Result<()> {
    let position = column_position(&table, name)?;
    let attnum = position as i16 + 1;
    if table.primary_key().is_some_and(|k| k.columns.contains(&attnum)) {
        return Err(Error::new(
            SqlState::INVALID_TABLE_DEFINITION,
            format!("column \"{name}\" is in a primary key"),
        ));
    }
    if table.columns[position].identity.is_some() {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("column \"{name}\" of relation \"{}\" is an identity column", table.name),
        ));
    }
    let mut table = table;
    table.columns[position].not_null = false;
    table.constraints.retain(|c| c.kind != ConstraintKind::NotNull || c.columns != [attnum]);
    ctx.put(table)
}
