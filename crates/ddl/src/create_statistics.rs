//! CREATE, ALTER and DROP STATISTICS, and COMMENT ON STATISTICS (statscmds.c).
//!
//! A statistics object is kept with its table; ANALYZE fills it (`statistics/extended.rs`). It is
//! dropped with its table, or with one of its columns. Its schema may be another than the table's.
//! It stays there when the table moves, and DROP SCHEMA of that schema drops it (`depend.rs`).

use super::{DdlContext, column_hints, set_schema, truncate_name};
use std::sync::Arc;
use steppe_catalog::system::extended_statistics::{
    statistics_object_in_path, statistics_object_named,
};
use steppe_catalog::{
    Catalog, ExtendedStatistics, RareText, RelKind, Relation, StatisticsExpression, StatisticsKind,
    TEMPORARY_SCHEMA, object_name,
};
use steppe_exec::constants::check_stored;
use steppe_sql::ast::{
    AlterStatisticsStmt, CreateStatisticsStmt, DropStmt, IndexKey, ObjectName, ObjectRef,
};
use steppe_sql::bind::index::columns_of;
use steppe_sql::bind::typename::format_type;
use steppe_sql::bind::{ExprPlace, bind_table_expr, is_system_column, statistics_exprs};
use steppe_sql::deparse;
use steppe_sql::expr::Expr;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// The most columns of an object (STATS_MAX_DIMENSIONS).
const COLUMNS_MAX: usize = 8;

/// CREATE STATISTICS.
pub(super) fn create_statistics(
    ctx: &mut DdlContext<'_>,
    stmt: &CreateStatisticsStmt,
) -> Result<()> {
    let [relation] = &stmt.relations[..] else {
        return Err(refused("only a single relation is allowed in CREATE STATISTICS"));
    };
    let mode = RelationLockMode::ShareUpdateExclusive;
    let table = ctx.try_open(relation, mode)?.ok_or_else(|| relation.undefined())?;
    check_table(&table)?;
    table.refuse_distributed("CREATE STATISTICS")?;
    let named = match &stmt.name {
        Some(name) => Some(named(ctx, &table, name)?),
        None => None,
    };
    if let Some((schema, name)) = &named
        && is_taken(ctx, *schema, name)
    {
        let message = format!("statistics object \"{name}\" already exists");
        let present = Error::new(SqlState::DUPLICATE_OBJECT, message);
        return ctx.skip_present(stmt.if_not_exists, present);
    }
    let (mut columns, expressions) = members(ctx, &table, &stmt.elements)?;
    let mut kinds = kinds(&stmt.kinds)?;
    if let ([], [_]) = (&columns[..], &expressions[..]) {
        if !stmt.kinds.is_empty() {
            return Err(refused(
                "when building statistics on a single expression, statistics kinds may not be \
                 specified",
            ));
        }
        kinds.clear();
    }
    check_members(&mut columns, &expressions)?;
    let (schema, name) = match named {
        Some(named) => named,
        None => {
            let names = stmt.elements.iter().map(|element| match element {
                IndexKey::Column(name) => name.as_str(),
                IndexKey::Expr(_) => "expr",
            });
            (table.schema, free_name(ctx, &table, &names.collect::<Vec<_>>().join("_"))?)
        }
    };
    let oid = ctx.store.new_oid()?;
    let (name, found) = (name.into(), Vec::new());
    let object = ExtendedStatistics {
        oid,
        schema,
        name,
        columns,
        expressions,
        kinds,
        target: None,
        comment: None,
        found,
    };
    let mut table = (*table).clone();
    table.extended.push(object);
    ctx.put(table)
}

fn refused(message: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn check_table(table: &Relation) -> Result<()> {
    if table.is_system() {
        let message = format!("permission denied: \"{}\" is a system catalog", table.name);
        return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    let kind = match table.kind {
        RelKind::Table | RelKind::PartitionedTable => return Ok(()),
        RelKind::Index => "indexes",
        RelKind::PartitionedIndex => "partitioned indexes",
        RelKind::Sequence => "sequences",
        RelKind::View | RelKind::Virtual => "views",
        RelKind::Composite => "composite types",
    };
    let message = format!("cannot define statistics for relation \"{}\"", table.name);
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        .detail(format!("This operation is not supported for {kind}.")))
}

/// The schema and the name that a statement gives, of which no other transaction makes one
/// meanwhile.
fn named(ctx: &mut DdlContext<'_>, table: &Relation, name: &ObjectName) -> Result<(Oid, String)> {
    let schema = creation_schema(ctx, name)?;
    let is_temporary = ctx.catalog().schema(schema).is_some_and(|schema| schema.is_temporary());
    if is_temporary && schema != table.schema {
        // The end of the session would drop the object, but not the table.
        let what = "a statistics object in a temporary schema whose table is in another";
        return Err(Error::not_supported(what));
    }
    let name = truncate_name(name.name()).to_string();
    ctx.lock_name(schema, &name)?;
    Ok((schema, name))
}

/// Where an object of a name is made (QualifiedNameGetCreationNamespace).
pub(super) fn creation_schema(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Oid> {
    loop {
        let schema = find_creation_schema(ctx, name)?;
        if ctx.lock_schema(schema)? {
            return Ok(schema);
        }
    }
}

fn find_creation_schema(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Oid> {
    let invalid = |message| Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
    match name.schema() {
        Some(schema) if schema == TEMPORARY_SCHEMA => ctx.own_temporary_schema(),
        Some(schema) => match ctx.catalog().schema_named(schema) {
            Some(found) => Ok(found.oid),
            None => invalid(format!("schema \"{schema}\" does not exist")),
        },
        None if ctx.creates_temporary => ctx.own_temporary_schema(),
        None => match ctx.creation_schema {
            Some(schema) => Ok(schema),
            None => invalid("no schema has been selected to create in".to_string()),
        },
    }
}

/// Whether an object of a name is in a schema.
fn is_taken(ctx: &mut DdlContext<'_>, schema: Oid, name: &str) -> bool {
    statistics_object_named(&ctx.catalog(), schema, name).is_some()
}

/// The columns and the expressions that an object is about.
fn members(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    elements: &[IndexKey],
) -> Result<(Vec<i16>, Vec<StatisticsExpression>)> {
    if elements.len() > COLUMNS_MAX {
        let message = format!("cannot have more than {COLUMNS_MAX} columns in statistics");
        return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
    }
    let (mut columns, mut expressions) = (Vec::new(), Vec::new());
    for element in elements {
        match element {
            IndexKey::Column(name) => columns.push(column(table, name)?),
            IndexKey::Expr(expr) => {
                let place = ExprPlace::StatisticsExpression;
                match ctx.binding(|b| bind_table_expr(b, Some(table), expr, place))? {
                    // Parentheses around a column make no expression of it.
                    Expr::Var { column: position, .. } if position >= 0 => {
                        columns.push(usable(table, position as usize)?);
                    }
                    bound => {
                        expressions.push(expression(ctx, table, &bound, elements.len() > 1)?);
                    }
                }
            }
        }
    }
    Ok((columns, expressions))
}

fn check_members(columns: &mut [i16], expressions: &[StatisticsExpression]) -> Result<()> {
    let invalid = |code, message| Err(Error::new(code, message));
    if columns.len() < 2 && expressions.is_empty() {
        let message = "extended statistics require at least 2 columns";
        return invalid(SqlState::INVALID_OBJECT_DEFINITION, message);
    }
    columns.sort_unstable();
    if columns.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "duplicate column name in statistics definition";
        return invalid(SqlState::DUPLICATE_COLUMN, message);
    }
    let is_again = |(at, expr)| expressions[..at].contains(expr);
    if expressions.iter().enumerate().any(is_again) {
        let message = "duplicate expression in statistics definition";
        return invalid(SqlState::DUPLICATE_COLUMN, message);
    }
    Ok(())
}

fn over_system_column() -> Error {
    refused("statistics creation on system columns is not supported")
}

/// An expression. `is_beside`: of several members.
fn expression(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    bound: &Expr,
    is_beside: bool,
) -> Result<StatisticsExpression> {
    if names_system_column(bound) {
        return Err(over_system_column());
    }
    let mut read = columns_of(bound).into_iter();
    if read.any(|attnum| table.columns[attnum as usize - 1].is_virtual) {
        return Err(over_virtual_column());
    }
    check_stored(bound, &ctx.catalog())?;
    let type_oid = bound.ty().oid;
    if is_beside && steppe_catalog::builtin::ordering(type_oid).is_none() {
        return Err(refused(&format!(
            "expression cannot be used in multivariate statistics because its type {} has no \
             default btree operator class",
            format_type(type_oid, -1)
        )));
    }
    let text = deparse::table_expression(bound, Some(table), &ctx.catalog()).into();
    Ok(StatisticsExpression { text, type_oid })
}

fn names_system_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { column, .. } if *column < 0)
        || expr.children().into_iter().any(names_system_column)
}

fn column(table: &Relation, name: &str) -> Result<i16> {
    match table.column_index(name) {
        Some(position) => usable(table, position),
        None if is_system_column(name) => Err(over_system_column()),
        None => {
            let message = format!("column \"{name}\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
        }
    }
}

fn over_virtual_column() -> Error {
    refused("statistics creation on virtual generated columns is not supported")
}

/// The number of a column of which there can be statistics.
fn usable(table: &Relation, position: usize) -> Result<i16> {
    let column = &table.columns[position];
    if column.is_virtual {
        return Err(over_virtual_column());
    }
    if steppe_catalog::builtin::ordering(column.type_oid).is_none() {
        return Err(refused(&format!(
            "column \"{}\" cannot be used in statistics because its type {} has no default btree \
             operator class",
            column.name,
            format_type(column.type_oid, -1)
        )));
    }
    Ok(position as i16 + 1)
}

fn kinds(names: &[String]) -> Result<Vec<StatisticsKind>> {
    let mut kinds = Vec::new();
    for name in names {
        let kind = StatisticsKind::ALL.into_iter().find(|kind| kind.name() == name);
        kinds.push(kind.ok_or_else(|| {
            let message = format!("unrecognized statistics kind \"{name}\"");
            Error::new(SqlState::SYNTAX_ERROR, message)
        })?);
    }
    if kinds.is_empty() {
        kinds = StatisticsKind::ALL.to_vec();
    }
    kinds.sort_unstable();
    kinds.dedup();
    Ok(kinds)
}

/// A name made of the table's and the columns' (ChooseExtendedStatisticName).
fn free_name(ctx: &mut DdlContext<'_>, table: &Relation, columns: &str) -> Result<String> {
    let mut label = "stat".to_string();
    for pass in 1u32.. {
        let name = object_name(&table.name, columns, &label);
        ctx.lock_name(table.schema, &name)?;
        let is_own = |own: &ExtendedStatistics| own.schema == table.schema && *own.name == *name;
        if !table.extended.iter().any(is_own) && !is_taken(ctx, table.schema, &name) {
            return Ok(name);
        }
        label = format!("stat{pass}");
    }
    Err(Error::internal("no name is free"))
}

/// CREATE TABLE (LIKE … INCLUDING STATISTICS): the objects of another table for one that is being
/// made and has its columns.
pub(super) fn copy(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    model: &Relation,
    with_comments: bool,
) -> Result<()> {
    for object in model.extended.iter() {
        let names = object.columns.iter().map(|attnum| &*model.columns[*attnum as usize - 1].name);
        let mut names: Vec<&str> = names.collect();
        let positions = names.iter().map(|name| table.column_index(name));
        let mut columns: Vec<i16> = positions.flatten().map(|at| at as i16 + 1).collect();
        columns.sort_unstable();
        names.extend(object.expressions.iter().map(|_| "expr"));
        let name = free_name(ctx, table, &names.join("_"))?.into();
        // The columns that they name have their names here as well.
        let expressions = object.expressions.clone();
        let comment = object.comment.clone().filter(|_| with_comments);
        let (oid, kinds) = (ctx.store.new_oid()?, object.kinds.clone());
        let schema = table.schema;
        table.extended.push(ExtendedStatistics {
            oid,
            schema,
            name,
            columns,
            expressions,
            kinds,
            target: None,
            comment,
            found: Vec::new(),
        });
    }
    Ok(())
}

/// Whether an object is about a column, by itself or in an expression.
pub(super) fn depends_on(
    catalog: &Catalog,
    table: &Arc<Relation>,
    object: &ExtendedStatistics,
    attnum: i16,
) -> Result<bool> {
    let exprs = statistics_exprs(catalog, table, object)?;
    Ok(object.columns.contains(&attnum) || exprs.iter().any(|e| columns_of(e).contains(&attnum)))
}

/// Writes the texts of expressions again after columns were renamed or got other types: bound
/// over the table as it `was`, printed over it as it `is`.
pub(super) fn reprint(
    ctx: &mut DdlContext<'_>,
    was: &Arc<Relation>,
    is: &mut Relation,
) -> Result<()> {
    let catalog = ctx.catalog();
    let mut objects = is.extended.clone();
    for object in objects.iter_mut().filter(|object| !object.expressions.is_empty()) {
        let exprs = statistics_exprs(&catalog, was, object)?;
        for (kept, expr) in object.expressions.iter_mut().zip(&exprs) {
            kept.text = deparse::table_expression(expr, Some(is), &catalog).into();
            kept.type_oid = expr.ty().oid;
        }
    }
    is.extended = objects;
    Ok(())
}

/// The table of a named object, locked, and the object's position there. `None` if no object has
/// the name.
fn open(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Option<(Arc<Relation>, usize)>> {
    let catalog = ctx.catalog();
    let found = match name.schema() {
        Some(schema) => {
            let schema = catalog.schema_in(schema, &ctx.search_path);
            schema.and_then(|schema| statistics_object_named(&catalog, schema.oid, name.name()))
        }
        None => statistics_object_in_path(&catalog, name.name(), &ctx.search_path),
    };
    match found {
        Some((table, object)) => open_of(ctx, table.oid, object.oid),
        None => Ok(None),
    }
}

/// The same by the OIDs of table and object.
fn open_of(
    ctx: &mut DdlContext<'_>,
    table: Oid,
    object: Oid,
) -> Result<Option<(Arc<Relation>, usize)>> {
    ctx.lock(table, RelationLockMode::ShareUpdateExclusive)?;
    let Some(table) = ctx.catalog().relation(table).cloned() else { return Ok(None) };
    let at = table.extended.iter().position(|own| own.oid == object);
    Ok(at.map(|at| (table, at)))
}

/// The same, where there must be one.
fn open_existing(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<(Arc<Relation>, usize)> {
    match open(ctx, name)? {
        Some(found) => Ok(found),
        None => Err(missing(ctx, name)),
    }
}

/// 42704 for the object, or 3F000 for its schema.
fn missing(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Error {
    match name.schema() {
        Some(schema) if ctx.catalog().schema_in(schema, &ctx.search_path).is_none() => {
            let message = format!("schema \"{schema}\" does not exist");
            Error::new(SqlState::INVALID_SCHEMA_NAME, message)
        }
        _ => undefined(name),
    }
}

fn undefined(name: &ObjectName) -> Error {
    let message = format!("statistics object \"{name}\" does not exist");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// ALTER STATISTICS … SET STATISTICS.
pub(super) fn set_target(ctx: &mut DdlContext<'_>, stmt: &AlterStatisticsStmt) -> Result<()> {
    let target = column_hints::statistics_target(ctx, stmt.target)?;
    let Some((table, at)) = open(ctx, &stmt.name)? else {
        // IF EXISTS does not look for the schema.
        let error = if stmt.if_exists { undefined(&stmt.name) } else { missing(ctx, &stmt.name) };
        return ctx.skip_missing(stmt.if_exists, error);
    };
    let mut table = (*table).clone();
    table.extended[at].target = target;
    ctx.put(table)
}

/// ALTER STATISTICS … RENAME TO.
pub(super) fn rename(ctx: &mut DdlContext<'_>, name: &ObjectName, new: String) -> Result<()> {
    let (table, at) = open_existing(ctx, name)?;
    let schema = table.extended[at].schema;
    reserve(ctx, schema, &new)?;
    let mut table = (*table).clone();
    table.extended[at].name = new.into();
    ctx.put(table)
}

/// ALTER STATISTICS … SET SCHEMA.
pub(super) fn set_schema(ctx: &mut DdlContext<'_>, name: &ObjectName, new: &str) -> Result<()> {
    let (table, at) = open_existing(ctx, name)?;
    let object = &table.extended[at];
    let schema = set_schema::new_schema(ctx, object.schema, new)?;
    if schema == object.schema {
        return Ok(());
    }
    reserve(ctx, schema, &object.name)?;
    let mut table = (*table).clone();
    table.extended[at].schema = schema;
    ctx.put(table)
}

/// 42710 if an object of a name is in a schema; no other transaction makes one meanwhile.
fn reserve(ctx: &mut DdlContext<'_>, schema: Oid, name: &str) -> Result<()> {
    ctx.lock_name(schema, name)?;
    if !is_taken(ctx, schema, name) {
        return Ok(());
    }
    let catalog = ctx.catalog();
    let schema = catalog.schema(schema).map_or("?", |schema| &*schema.name);
    let message = format!("statistics object \"{name}\" already exists in schema \"{schema}\"");
    Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
}

/// ALTER STATISTICS … OWNER TO: one role owns everything in this version.
pub(super) fn check_exists(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<()> {
    open_existing(ctx, name).map(|_| ())
}

/// DROP STATISTICS: all objects are looked up before the first one is dropped.
pub(super) fn drop_statistics(ctx: &mut DdlContext<'_>, stmt: &DropStmt) -> Result<()> {
    let mut doomed = Vec::new();
    for object in &stmt.objects {
        let ObjectRef::Name(name) = object else {
            return Err(Error::internal("a statistics object without a name"));
        };
        match open(ctx, name)? {
            Some((table, at)) => doomed.push((table.oid, table.extended[at].oid)),
            None => {
                let missing = missing(ctx, name);
                ctx.skip_missing(stmt.if_exists, missing)?;
            }
        }
    }
    doomed.into_iter().try_for_each(|(table, object)| remove(ctx, table, object))
}

/// Removes an object. Does nothing if it does not exist any more.
pub(super) fn remove(ctx: &mut DdlContext<'_>, table: Oid, object: Oid) -> Result<()> {
    let Some((table, at)) = open_of(ctx, table, object)? else { return Ok(()) };
    let mut table = (*table).clone();
    table.extended.remove(at);
    ctx.put(table)
}

/// COMMENT ON STATISTICS.
pub(super) fn comment(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    text: Option<RareText>,
) -> Result<()> {
    let (table, at) = open_existing(ctx, name)?;
    let mut table = (*table).clone();
    table.extended[at].comment = text;
    ctx.put(table)
}
