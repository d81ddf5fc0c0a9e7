//! ALTER COLUMN TYPE, and what else writes all of a table's rows anew.
//!
//! All types that one ALTER TABLE changes are changed at once, so that every USING reads the old
//! row. Defaults, CHECK constraints and indexes follow, or refuse; the new rows must satisfy what
//! the table demands.

use super::alter::{Reach, column_position};
use super::build::build;
use super::inherit::{self, Inheritor, invalid_table};
use super::scan::{evaluator, scan_batches, with_functions};
use super::table::{check_column_type, create_storage, default_text, written_collation};
use super::{
    DdlContext, create_statistics, depend, files_of, foreign_key, generated, identity, index,
    partition, trigger, types, validate,
};
use std::sync::Arc;
use steppe_catalog::system::definitions::visible_name;
use steppe_catalog::{RelKind, Relation};
use steppe_exec::stored::{TableAccess, TableWriter};
use steppe_sql::ast::{AlterTableCommand as Command, Location};
use steppe_sql::bind::index::columns_of;
use steppe_sql::bind::{ExprPlace, bind_assigned_expr, of_stored, parse_expression};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_txn::{NewRows, Persistence};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The columns that a statement's USING expressions read; what cannot be bound is reported later.
pub(super) fn columns_read(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    commands: &[Command],
) -> Vec<Arc<str>> {
    let mut read = Vec::new();
    for command in commands {
        let Command::AlterColumnType { name, type_name, using: Some(using), .. } = command else {
            continue;
        };
        let Ok(ty) = ctx.resolve_type(type_name) else { continue };
        let place = ExprPlace::AlterType;
        let bound = ctx.binding(|b| bind_assigned_expr(b, Some(table), using, place, ty, name));
        for attnum in bound.iter().flat_map(columns_of) {
            read.push(table.columns[attnum as usize - 1].name.clone());
        }
    }
    read
}

/// ALTER COLUMN TYPE, of one column or several at once, here and in what inherits.
pub(super) fn change(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    commands: &[&Command],
    reach: Reach,
) -> Result<()> {
    let below = match reach.is_only() {
        true => Vec::new(),
        false => inherit::inheritors(ctx, table.oid)?,
    };
    for command in commands {
        check_inheritors(&below, command)?;
    }
    change_here(ctx, table, commands)?;
    for Inheritor { table, .. } in below {
        let catalog = ctx.catalog();
        let current = catalog.relation(table.oid);
        let current = current.ok_or_else(|| Error::internal("a child has gone"))?;
        let done = change_here(ctx, (**current).clone(), commands);
        ctx.naming(&table, done)?;
    }
    Ok(())
}

/// Rewrites a table, every new value from the old row.
fn change_here(ctx: &mut DdlContext<'_>, table: Relation, commands: &[&Command]) -> Result<()> {
    types::check_not_stored(ctx, &table)?;
    let mut new = table.clone();
    let (mut changed, mut values): (Vec<usize>, Vec<(usize, Expr)>) = (Vec::new(), Vec::new());
    for command in commands {
        let Command::AlterColumnType { name, type_name, collation, using, location } = command
        else {
            return Err(Error::internal("a command that changes no type"));
        };
        let ty = ctx.resolve_type(type_name)?;
        for at in [type_name.location, Location::NONE] {
            ctx.warn_of_precision(type_name, at);
        }
        check_key(ctx, &table, name, *location)?;
        let collation = match collation {
            Some(clause) => written_collation(ctx, clause, ty.oid)?,
            None => ctx.catalog().column("", ty.oid, ty.typmod).collation,
        };
        let position = column_position(&table, name)?;
        check_column_type(ctx, name, ty.oid)?;
        if changed.contains(&position) {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot alter type of column \"{name}\" twice"),
            ));
        }
        if using.is_some() {
            generated::refuse_using(ctx, &table.columns[position], *location)?;
        }
        check_readers(ctx, &table, position)?;
        changed.push(position);
        // Rows have room for a virtual column, but no value.
        if !table.columns[position].is_virtual {
            values.push((position, changed_value(ctx, &table, position, ty, using.as_ref())?));
        }
        retype(ctx, &mut new, position, NewType { ty, collation })?;
    }
    let attnums: Vec<i16> = changed.iter().map(|position| *position as i16 + 1).collect();
    validate::retype_checks(ctx, &mut new, &attnums)?;
    let oid = new.oid;
    rewrite(ctx, table, new, values)?;
    let catalog = ctx.catalog();
    match catalog.relation(oid) {
        Some(new) => {
            validate::retyped(ctx, new, &attnums)?;
            foreign_key::retyped(ctx, oid, &attnums)
        }
        None => Err(Error::internal("the table being altered has gone")),
    }
}

/// 0A000 for a column that a view or a generated column is over.
fn check_readers(ctx: &mut DdlContext<'_>, table: &Relation, position: usize) -> Result<()> {
    let catalog = ctx.catalog();
    if let Some(view) = depend::readers(&catalog, table.oid, position as i16 + 1).next() {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used by a view or rule",
        )
        .detail(format!(
            "rule _RETURN on view {} depends on column \"{}\"",
            visible_name(&catalog, view, &ctx.search_path),
            table.columns[position].name
        )));
    }
    trigger::check_retype(ctx, table, position)?;
    generated::check_retype(ctx, table, position)
}

/// The new value of a column whose type changes, as an expression over the old row.
fn changed_value(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
    ty: TypeRef,
    using: Option<&steppe_sql::ast::Expr>,
) -> Result<Expr> {
    let name = &*table.columns[position].name;
    if table.columns[position].identity.is_some() && table.partition_of.is_none() {
        identity::retype_sequence(ctx, table, position, ty.oid)?;
    }
    let shared = Arc::new(table.clone());
    let place = ExprPlace::AlterType;
    let column_ref = parse_expression(&steppe_sql::deparse::quote_identifier(name))?;
    let source = using.unwrap_or(&column_ref);
    let bound = ctx.binding(|b| bind_assigned_expr(b, Some(&shared), source, place, ty, name));
    bound.map_err(|error| {
        if error.sqlstate() != SqlState::DATATYPE_MISMATCH {
            return error;
        }
        let shown = steppe_sql::bind::typename::format_type(ty.oid, ty.typmod);
        let (what, hint) = match using {
            None => (
                format!("column \"{name}\""),
                format!("You might need to specify \"USING {name}::{shown}\"."),
            ),
            Some(_) => (
                format!("result of USING clause for column \"{name}\""),
                "You might need to add an explicit cast.".into(),
            ),
        };
        let message = format!("{what} cannot be cast automatically to type {shown}");
        Error::new(SqlState::DATATYPE_MISMATCH, message).hint(hint)
    })
}

/// The type that a column gets, with its collation.
#[derive(Clone, Copy)]
struct NewType {
    ty: TypeRef,
    collation: Oid,
}

/// Gives a column another type. Its default is cast to the type: 42804 if that is not possible.
fn retype(
    ctx: &mut DdlContext<'_>,
    new: &mut Relation,
    position: usize,
    NewType { ty, collation }: NewType,
) -> Result<()> {
    let attnum = position as i16 + 1;
    let column = &mut new.columns[position];
    let old_default = column.default.take();
    let made = ctx.catalog().column(column.name.clone(), ty.oid, ty.typmod);
    (column.type_oid, column.typmod, column.domain) = (made.type_oid, made.typmod, made.domain);
    (column.collation, column.missing) = (collation, None);
    (column.storage, column.compression) = (None, None);
    if !new.extended.is_empty() {
        let shared = Arc::new(new.clone());
        let catalog = ctx.catalog();
        for object in new.extended.iter_mut() {
            if create_statistics::depends_on(&catalog, &shared, object, attnum)? {
                object.found.clear();
            }
        }
        create_statistics::reprint(ctx, &shared, new)?;
    }
    if let Some(known) = &mut new.statistics {
        Arc::make_mut(known).forget(position);
    }
    let Some(text) = old_default else { return Ok(()) };
    let parsed = parse_expression(&text)?;
    let column = new.columns[position].clone();
    let (text, what) = match column.generated {
        true => (generated::cast(ctx, new, position, &parsed), "generation expression"),
        false => (default_text(ctx, &column, &parsed), "default"),
    };
    new.columns[position].default = text.map_err(|_| {
        let shown = steppe_sql::bind::typename::format_type(ty.oid, ty.typmod);
        let name = &column.name;
        let message = format!("{what} for column \"{name}\" cannot be cast automatically to type");
        Error::new(SqlState::DATATYPE_MISMATCH, format!("{message} {shown}"))
    })?;
    Ok(())
}

/// A type changes for all parents of a column at once: 42P16.
fn check_inheritors(below: &[Inheritor], command: &Command) -> Result<()> {
    let Command::AlterColumnType { name, .. } = command else { return Ok(()) };
    for Inheritor { table, parents } in below {
        let position = table.column_index(name);
        if position.is_some_and(|position| table.inherit_count(position) > *parents) {
            return Err(invalid_table(format!(
                "cannot alter inherited column \"{name}\" of relation \"{}\"",
                table.name
            )));
        }
    }
    Ok(())
}

/// A partition key's columns keep their types: 42P16.
fn check_key(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    name: &str,
    location: Location,
) -> Result<()> {
    let Some(position) = table.column_index(name) else { return Ok(()) };
    if !partition::key_reads(ctx, table, position as i16 + 1)? {
        return Ok(());
    }
    let message = format!(
        "cannot alter column \"{name}\" because it is part of the partition key of relation \"{}\"",
        table.name
    );
    Err(ctx.error(SqlState::INVALID_TABLE_DEFINITION, message, location))
}

/// Writes every row into new trees, with the columns of `values` computed over the old row; rebuilds
/// the indexes. Rows pass through in batches of a page.
pub(super) fn rewrite(
    ctx: &mut DdlContext<'_>,
    old: Relation,
    new: Relation,
    values: Vec<(usize, Expr)>,
) -> Result<()> {
    if old.kind == RelKind::PartitionedTable || old.is_distributed() {
        return retype_indexes(ctx, new);
    }
    let persistence = old.persistence();
    rewrite_as(ctx, old, new, values, persistence)
}

/// As [`rewrite`], of a table that has rows, into files that are logged or not.
pub(super) fn rewrite_as(
    ctx: &mut DdlContext<'_>,
    old: Relation,
    new: Relation,
    values: Vec<(usize, Expr)>,
    persistence: Persistence,
) -> Result<()> {
    let mut doomed = files_of(&old);
    let mut new = new;
    create_storage(ctx, &mut new, persistence)?;
    let engine = ctx.store.engine().clone();
    let before = old.clone();
    let (mut source, mut copied) = (old, 0);
    source.columns.truncate(new.columns.len());
    let source = TableAccess::open(&engine, &Arc::new(source))?;
    let target = TableAccess::open(&engine, &Arc::new(new.clone()))?;
    let (positions, exprs): (Vec<usize>, Vec<Expr>) = values.into_iter().unzip();
    let (catalog, read) = (ctx.catalog(), Arc::new(before.clone()));
    let exprs = exprs.into_iter().map(|expr| of_stored(&catalog, &read, expr));
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let mut evaluator = evaluator(ctx, &exprs)?;
    scan_batches(ctx, &source, &mut |ctx, mut rows| {
        with_functions(ctx, || {
            for row in &mut rows {
                let found = evaluator.evaluate(row)?.to_vec();
                for (position, value) in positions.iter().zip(found) {
                    if value.is_null() && new.is_never_null(*position) {
                        return Err(validate::contains_nulls(&new, *position));
                    }
                    row[*position] = value;
                }
            }
            Ok(())
        })?;
        copied += rows.len() as u64;
        let mut rows = encode_rows(ctx, &target, &rows)?;
        TableWriter::new(&target).rewrite(&mut rows, ctx.txn)
    })?;
    ctx.session.relation_statistics().rewritten(&new, &before, copied);
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

/// A partitioned or distributed table has no rows to write: its indexes follow the new types.
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
            column.collation = key.collation(table);
        }
    }
}

/// Rows as a table stores them.
pub(super) fn encode_rows(
    ctx: &mut DdlContext<'_>,
    target: &TableAccess,
    rows: &[impl AsRef<[Datum]>],
) -> Result<NewRows> {
    ctx.session.check_interrupts()?;
    let mut encoded = NewRows::default();
    for row in rows.iter().map(AsRef::as_ref) {
        encoded.push_with(|out| target.append_row(ctx.txn, row, &[], out))?;
    }
    Ok(encoded)
}
