//! CREATE TABLE (tablecmds.c, parse_utilcmd.c).

use super::constraint::{self, PendingConstraints};
use super::not_null::{self, NotNullPlace, PendingNotNull};
use super::reloptions::{self, Owner};
use super::retype::write_rows;
use super::sequence::{self, SequenceOptions};
use super::{DdlContext, inherit, like, partition, truncate_name};
use super::{column_hints, generated, identity};
use std::sync::Arc;
use steppe_catalog::{Column, OnCommit, RelKind, Relation};
use steppe_counting::accesses;
use steppe_exec::stored::TableAccess;
use steppe_sql::ast::{
    self, ColumnDef, ConstraintKind, CreateTableStmt, DefElem, DefValue, IntoClause, Location,
    RangeVar, TableElement,
};
use steppe_sql::bind::typename::format_type;
use steppe_sql::bind::{ExprPlace, bind_assigned_expr, collation};
use steppe_sql::deparse;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_sql::plan::ResultColumn;
use steppe_txn::{OverflowStore, Persistence, RelationLockMode, TableStore};
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// PostgreSQL's MaxHeapAttributeNumber.
const COLUMNS_MAX: usize = 1600;

/// CREATE TABLE.
pub(crate) fn create_table(ctx: &mut DdlContext<'_>, create: &CreateTableStmt) -> Result<()> {
    refuse_unsupported(create)?;
    let name = &create.relation;
    name.check_database().map_err(|e| e.at(name.location.position(ctx.source)))?;
    let Some((schema, name)) = ctx.new_name(&create.relation, create.if_not_exists)? else {
        return Ok(());
    };
    let oid = ctx.store.new_oid()?;
    let kind = match create.partition_by {
        Some(_) if create.relation.persistence == ast::Persistence::Unlogged => {
            let message = "partitioned tables cannot be unlogged";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Some(_) => RelKind::PartitionedTable,
        None => RelKind::Table,
    };
    let mut relation = Relation::new(oid, schema, name, kind);
    relation.on_commit = on_commit(ctx, &relation, create.on_commit)?;
    partition::check_options(&relation, &create.options)?;
    relation.options = reloptions::of_new(Owner::Table, &create.options)?.into();
    let parent = partition::parent_of_new(ctx, create, &relation)?;
    let mut parents = inherit::parents_of_new(ctx, create, &relation)?;
    relation.inherits = parents.iter().map(|parent| parent.oid).collect();
    parents.extend(parent.clone());
    inherit::check_written_once(ctx, &create.elements)?;
    let mut merged = inherit::Merged::new(ctx, &parents, &mut relation, parent.is_some())?;
    let mut pending = PendingConstraints::of_new_table();
    let (mut serials, mut copied) = (Vec::new(), Vec::new());
    for element in &create.elements {
        if let TableElement::Column(column) = element
            && let Some(ty) = &column.type_name
        {
            ctx.warn_of_precision(ty, ty.location);
        }
    }
    for element in &create.elements {
        match element {
            TableElement::Column(column) if parent.is_some() => {
                refine_column(ctx, &mut relation, column, &mut pending, &mut serials)?;
            }
            TableElement::Column(column) => {
                let parts = (&mut pending, &mut serials);
                if !merged.merge_written(ctx, &mut relation, column, parts)? {
                    add_column(ctx, &mut relation, column, &mut pending, &mut serials)?;
                }
            }
            TableElement::Constraint(c) => {
                let is_not_null = matches!(c.kind, ConstraintKind::NotNull { .. });
                not_null::check_partitioned(&relation, is_not_null && c.no_inherit)?;
                pending.add_table_constraint(c)?;
            }
            TableElement::Like(like) => {
                let parts = (&mut pending, &mut serials);
                copied.extend(like::copy(ctx, &mut relation, like, parts, &mut merged)?);
            }
        }
    }
    merged.check_defaults(&relation)?;
    check_columns(relation.columns.len())?;
    if let (Some(parent), Some(bound)) = (&parent, &create.partition_bound) {
        relation.partition_of = Some(partition::partition_of(ctx, parent, &relation, bound)?);
    }
    if let Some(spec) = &create.partition_by {
        let table = Arc::new(relation.clone());
        relation.partition_key = Some(Arc::new(partition::partition_key(ctx, &table, spec)?));
    }
    if relation.kind == RelKind::Table {
        let persistence = persistence_of_new(ctx, &create.relation, schema);
        create_storage(ctx, &mut relation, persistence)?;
    }
    // Nobody else can see it before the commit, but its own later statements lock it as usual.
    ctx.lock(oid, RelationLockMode::AccessExclusive)?;
    for serial in serials {
        sequence::create_owned(ctx, &mut relation, serial)?;
    }
    bind_defaults(ctx, &mut relation, &create.elements)?;
    inherit::merge_checks(ctx, &parents, &mut relation)?;
    not_null::create(ctx, &mut relation, &parents, &mut pending)?;
    ctx.put(relation.clone())?;
    if let Some(parent) = &parent {
        partition::check_default_partition(ctx, parent, |default, _| default)?;
        // Its own constraints come on top of these, and take none of them for their own.
        partition::inherit_indexes(ctx, parent, oid)?;
        relation = ctx.catalog().relation(oid).map_or(relation, |made| (**made).clone());
    }
    constraint::add_all(ctx, relation, pending)?;
    like::create_indexes(ctx, oid, copied)
}

/// The table of CREATE TABLE AS and SELECT INTO, without its rows: a column for each of the
/// query's. `None`: it is there already, and IF NOT EXISTS says that's fine.
pub fn create_table_as(
    ctx: &mut DdlContext<'_>,
    into: &IntoClause,
    columns: &[ResultColumn],
    if_not_exists: bool,
) -> Result<Option<Arc<Relation>>> {
    refuse_placement(into.access_method.as_deref(), into.tablespace.as_deref())?;
    let Some((schema, name)) = ctx.new_name(&into.relation, if_not_exists)? else {
        return Ok(None);
    };
    if into.columns.len() > columns.len() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
    }
    let oid = ctx.store.new_oid()?;
    let mut relation = Relation::new(oid, schema, name, RelKind::Table);
    relation.on_commit = on_commit(ctx, &relation, into.on_commit)?;
    relation.options = reloptions::of_new(Owner::Table, &into.options)?.into();
    for (i, column) in columns.iter().enumerate() {
        let name = into.columns.get(i).map_or(&*column.name, String::as_str);
        let name = truncate_name(name);
        check_column_name(&relation, name)?;
        check_column_type(ctx, name, column.ty.oid)?;
        relation.columns.push(Column::new(name, column.ty.oid, column.ty.typmod));
    }
    check_columns(relation.columns.len())?;
    let persistence = persistence_of_new(ctx, &into.relation, schema);
    create_storage(ctx, &mut relation, persistence)?;
    ctx.lock(oid, RelationLockMode::AccessExclusive)?;
    let relation = Arc::new(relation);
    ctx.put(relation.clone())?;
    Ok(Some(relation))
}

/// Whether a new relation's name is taken and IF NOT EXISTS allows that; without it: 42P07.
pub fn is_made(ctx: &mut DdlContext<'_>, name: &RangeVar, if_not_exists: bool) -> Result<bool> {
    let new = ctx.new_name(name, if_not_exists).map_err(Error::without_position)?;
    Ok(new.is_none())
}

/// Stores rows in the new table of a query.
pub fn fill(ctx: &mut DdlContext<'_>, table: &Arc<Relation>, rows: &[Box<[Datum]>]) -> Result<()> {
    let database = ctx.store.database().clone();
    let target = TableAccess::open(&database, table)?;
    accesses::count_apart();
    write_rows(ctx, &target, rows)?;
    accesses::inserted(table.oid, rows.len() as u64);
    Ok(())
}

/// ON COMMIT as the catalog keeps it: only temporary tables have it.
fn on_commit(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    written: ast::OnCommit,
) -> Result<OnCommit> {
    let kept = match written {
        ast::OnCommit::Noop => return Ok(OnCommit::PreserveRows),
        ast::OnCommit::PreserveRows => OnCommit::PreserveRows,
        ast::OnCommit::DeleteRows => OnCommit::DeleteRows,
        ast::OnCommit::Drop => OnCommit::Drop,
    };
    if ctx.catalog().is_temporary(relation) {
        return Ok(kept);
    }
    Err(Error::new(
        SqlState::INVALID_TABLE_DEFINITION,
        "ON COMMIT can only be used on temporary tables",
    ))
}

fn refuse_unsupported(create: &CreateTableStmt) -> Result<()> {
    if create.of_type.is_some() {
        return Err(Error::not_supported("CREATE TABLE OF"));
    }
    refuse_placement(create.access_method.as_deref(), create.tablespace.as_deref())
}

fn refuse_placement(access_method: Option<&str>, tablespace: Option<&str>) -> Result<()> {
    if let Some(method) = access_method.filter(|m| *m != "heap") {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("access method \"{method}\" does not exist"),
        ));
    }
    if tablespace.is_some_and(|t| t != "pg_default") {
        return Err(Error::not_supported("TABLESPACE"));
    }
    Ok(())
}

/// 0A000 for `oids`, unless it says that there shall be none, as older dumps do
/// (interpretOidsOption).
/// 0A000 for WITH OIDS.
pub(super) fn refuse_oids(option: &DefElem) -> Result<()> {
    let value = def_text(option).unwrap_or_else(|| "true".into());
    match steppe_types::text_io::parse_bool(&value) {
        Ok(false) => Ok(()),
        _ => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "tables declared WITH OIDS are not supported",
        )),
    }
}

/// The value of `name = value` as text.
pub(crate) fn def_text(option: &DefElem) -> Option<String> {
    Some(match option.value.as_ref()? {
        DefValue::Integer(n) => n.to_string(),
        DefValue::Float(text) | DefValue::String(text) => text.clone(),
        DefValue::Boolean(b) => b.to_string(),
        DefValue::TypeName(name) => name.name.to_string(),
        _ => return None,
    })
}

/// serial types stand for an integer type with a sequence.
fn serial_type(name: &ast::TypeName) -> Option<Oid> {
    if !name.array_bounds.is_empty() || name.name.parts().len() != 1 {
        return None;
    }
    match name.name.name() {
        "smallserial" | "serial2" => Some(oid::INT2),
        "serial" | "serial4" => Some(oid::INT4),
        "bigserial" | "serial8" => Some(oid::INT8),
        _ => None,
    }
}

/// Adds a column with what its constraints say; key constraints go to `pending`, sequences to
/// `serials` (they need the table's OID first).
pub(crate) fn add_column(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    def: &ColumnDef,
    pending: &mut PendingConstraints,
    serials: &mut Vec<SequenceOptions>,
) -> Result<()> {
    let name = truncate_name(&def.name).to_string();
    check_column_name(relation, &name)?;
    check_columns(relation.columns.len() + 1)?;
    let type_name = def
        .type_name
        .as_ref()
        .ok_or_else(|| Error::internal("column definition without a type"))?;
    let serial = serial_type(type_name);
    let ty = match serial {
        Some(oid) => TypeRef::plain(oid),
        None => ctx
            .resolve_type(type_name)
            .map_err(|e| e.at(type_name.location.position(ctx.source)))?,
    };
    ctx.warn_of_precision(type_name, Location::NONE);
    check_column_type(ctx, &name, ty.oid)?;
    generated::check_clauses(ctx, relation, def, serial.is_some())?;
    let position = relation.columns.len();
    let mut column = Column::new(name.as_str(), ty.oid, ty.typmod);
    if let Some(clause) = &def.collation {
        column.collation = written_collation(ctx, clause, ty.oid)?;
    }
    column_hints::of_definition(&mut column, def)?;
    if serial.is_some() {
        pending.add_not_null(PendingNotNull::implied(&name, NotNullPlace::Column));
        serials.push(SequenceOptions::serial(position, ty.oid));
    }
    relation.columns.push(column);
    check_nullness(ctx, relation, position, serial.is_some(), &def.constraints)?;
    check_one_default(ctx, relation, position, serial.is_some(), &def.constraints)?;
    for c in &def.constraints {
        column_constraint(relation, position, c, pending, serials)?;
    }
    Ok(())
}

/// The collation that COLLATE gives a column of this type.
pub(super) fn written_collation(
    ctx: &mut DdlContext<'_>,
    clause: &ast::CollateClause,
    type_oid: Oid,
) -> Result<Oid> {
    let found = collation(&ctx.catalog(), &clause.name, type_oid);
    found.map_err(|error| error.at(clause.location.position(ctx.source)))
}

/// What PARTITION OF says about a column that comes from the parent.
fn refine_column(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    def: &ColumnDef,
    pending: &mut PendingConstraints,
    serials: &mut Vec<SequenceOptions>,
) -> Result<()> {
    let name = truncate_name(&def.name);
    let Some(position) = relation.column_index(name) else {
        return Err(Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{name}\" does not exist"),
        ));
    };
    let has = |wanted: fn(&ConstraintKind) -> bool| def.constraints.iter().any(|c| wanted(&c.kind));
    if has(|kind| matches!(kind, ConstraintKind::Identity { .. })) {
        let message = "identity columns are not supported on partitions";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let defaults = has(|kind| matches!(kind, ConstraintKind::Default(_)));
    inherit::check_generation(&relation.columns[position], def)?;
    if defaults {
        relation.columns[position].default = None;
    }
    check_nullness(ctx, relation, position, false, &def.constraints)?;
    check_one_default(ctx, relation, position, false, &def.constraints)?;
    for c in &def.constraints {
        column_constraint(relation, position, c, pending, serials)?;
    }
    Ok(())
}

pub(super) fn check_column_name(relation: &Relation, name: &str) -> Result<()> {
    if relation.column_index(name).is_some() {
        return Err(Error::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column \"{name}\" specified more than once"),
        ));
    }
    if steppe_sql::bind::is_system_column(name) {
        return Err(Error::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column name \"{name}\" conflicts with a system column name"),
        ));
    }
    Ok(())
}

/// What a column may not be of: a pseudo-type, and here whole rows.
pub(super) fn check_column_type(ctx: &mut DdlContext<'_>, name: &str, ty: Oid) -> Result<()> {
    let builtins = steppe_catalog::Builtins::get();
    let pseudo = builtins.ty(ty).is_none_or(|t| t.kind == b'p') || ty == oid::UNKNOWN;
    if pseudo {
        return Err(Error::new(
            SqlState::INVALID_TABLE_DEFINITION,
            format!("column \"{name}\" has pseudo-type {}", format_type(ty, -1)),
        ));
    }
    if Physical::of(ty) == Physical::Any {
        return Err(Error::not_supported(format!("columns of type {}", ctx.format_type(ty))));
    }
    Ok(())
}

/// 42601 for what a column's definition says twice, or against itself.
fn conflict(
    ctx: &DdlContext<'_>,
    what: &str,
    (relation, position): (&Relation, usize),
    location: ast::Location,
) -> Error {
    let column = &relation.columns[position].name;
    let message = format!("{what} for column \"{column}\" of table \"{}\"", relation.name);
    ctx.error(SqlState::SYNTAX_ERROR, message, location)
}

/// A column has one identity, or one DEFAULT: 42601.
fn check_one_default(
    ctx: &DdlContext<'_>,
    relation: &Relation,
    position: usize,
    serial: bool,
    constraints: &[ast::Constraint],
) -> Result<()> {
    let (mut default, mut identity) = (serial, false);
    for c in constraints {
        let is_identity = matches!(c.kind, ConstraintKind::Identity { .. });
        let what = match (&c.kind, identity) {
            (ConstraintKind::Identity { .. }, true) => Some("multiple identity specifications"),
            (ConstraintKind::Identity { .. }, false) if default => {
                Some("both default and identity specified")
            }
            (ConstraintKind::Default(_), true) => Some("both default and identity specified"),
            _ => None,
        };
        if let Some(what) = what {
            // A serial column's default is nowhere to be pointed at.
            let location = if serial { ast::Location::NONE } else { c.location };
            return Err(conflict(ctx, what, (relation, position), location));
        }
        identity |= is_identity;
        default |= matches!(c.kind, ConstraintKind::Default(_));
    }
    Ok(())
}

/// NULL and NOT NULL exclude each other; serial and identity mean NOT NULL.
fn check_nullness(
    ctx: &DdlContext<'_>,
    relation: &Relation,
    position: usize,
    serial: bool,
    constraints: &[ast::Constraint],
) -> Result<()> {
    let (mut null, mut not_null) = (false, serial);
    for c in constraints {
        match &c.kind {
            ConstraintKind::Null => null = true,
            ConstraintKind::NotNull { .. } | ConstraintKind::Identity { .. } => not_null = true,
            _ => continue,
        }
        if null && not_null {
            let what = "conflicting NULL/NOT NULL declarations";
            return Err(conflict(ctx, what, (relation, position), c.location));
        }
    }
    Ok(())
}

fn column_constraint(
    relation: &mut Relation,
    position: usize,
    c: &ast::Constraint,
    pending: &mut PendingConstraints,
    serials: &mut Vec<SequenceOptions>,
) -> Result<()> {
    let column = relation.columns[position].name.to_string();
    match &c.kind {
        ConstraintKind::Null => {}
        ConstraintKind::NotNull { .. } => {
            not_null::check_partitioned(relation, c.no_inherit)?;
            pending.add_not_null(PendingNotNull::written(&column, c, NotNullPlace::Column));
        }
        // Bound when all columns are known.
        ConstraintKind::Default(_) => {}
        ConstraintKind::Identity { always, options } => {
            pending.add_not_null(PendingNotNull::implied(&column, NotNullPlace::Column));
            relation.columns[position].identity = Some(if *always { 'a' } else { 'd' });
            let ty = relation.columns[position].type_oid;
            identity::check_type(ty)?;
            serials.push(SequenceOptions::identity(position, ty, options)?);
        }
        // Bound when all columns are known.
        ConstraintKind::Generated { stored, .. } => {
            let column = &mut relation.columns[position];
            (column.generated, column.is_virtual) = (true, !stored);
        }
        ConstraintKind::PrimaryKey(_) => {
            pending.add_not_null(PendingNotNull::implied(&column, NotNullPlace::Column));
            pending.add_column_constraint(&column, c)?;
        }
        ConstraintKind::Check(_) | ConstraintKind::Unique { .. } => {
            pending.add_column_constraint(&column, c)?;
        }
        ConstraintKind::Exclude(_) => return Err(Error::not_supported("exclusion constraints")),
        ConstraintKind::ForeignKey(_) => return Err(Error::not_supported("foreign keys")),
    }
    Ok(())
}

/// A relation has so many columns at most, a view, too: 54011.
pub(super) fn check_columns(columns: usize) -> Result<()> {
    if columns > COLUMNS_MAX {
        return Err(Error::new(
            SqlState::TOO_MANY_COLUMNS,
            format!("tables can have at most {COLUMNS_MAX} columns"),
        ));
    }
    Ok(())
}

/// What the files of a new table or sequence are made as. Nobody misses a temporary one after a
/// crash.
pub(super) fn persistence_of_new(
    ctx: &mut DdlContext<'_>,
    name: &RangeVar,
    schema: Oid,
) -> Persistence {
    let catalog = ctx.catalog();
    let is_temporary = catalog.schema(schema).is_some_and(|schema| schema.is_temporary());
    match is_temporary || name.persistence == ast::Persistence::Unlogged {
        true => Persistence::Unlogged,
        false => Persistence::Logged,
    }
}

/// Creates the files of a table's rows and large values.
pub(crate) fn create_storage(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    persistence: Persistence,
) -> Result<()> {
    let rows = TableStore::create(ctx.txn, persistence)?;
    let overflow = OverflowStore::create(ctx.txn, persistence)?;
    relation.storage = Some(rows.file());
    relation.overflow = Some(overflow.file());
    Ok(())
}

/// Binds and stores the DEFAULT expressions of new columns.
fn bind_defaults(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    elements: &[TableElement],
) -> Result<()> {
    for element in elements {
        let TableElement::Column(def) = element else { continue };
        let Some(position) = relation.column_index(truncate_name(&def.name)) else { continue };
        bind_column_default(ctx, relation, position, def)?;
        generated::bind_expression(ctx, relation, position, def)?;
    }
    Ok(())
}

/// Binds and stores one column's DEFAULT, if it has one.
pub(crate) fn bind_column_default(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    position: usize,
    def: &ColumnDef,
) -> Result<()> {
    let mut defaults = def.constraints.iter().filter_map(|c| match &c.kind {
        ConstraintKind::Default(expr) => Some((expr, c.location)),
        _ => None,
    });
    let Some((expr, _)) = defaults.next() else { return Ok(()) };
    let name = relation.columns[position].name.clone();
    if defaults.next().is_some() || relation.columns[position].default.is_some() {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!(
                "multiple default values specified for column \"{name}\" of table \"{}\"",
                relation.name
            ),
        ));
    }
    relation.columns[position].default = default_text(ctx, &relation.columns[position], expr)?;
    Ok(())
}

/// A DEFAULT expression as stored; `None` for a plain NULL.
pub(crate) fn default_text(
    ctx: &mut DdlContext<'_>,
    column: &Column,
    expr: &ast::Expr,
) -> Result<Option<Arc<str>>> {
    let to = TypeRef { oid: column.type_oid, typmod: column.typmod };
    let name = column.name.clone();
    let place = ExprPlace::ColumnDefault;
    let bound = ctx.binding(|b| bind_assigned_expr(b, None, expr, place, to, &name))?;
    if matches!(&bound, Expr::Const(value, _) if value.is_null()) {
        return Ok(None);
    }
    let text = deparse::expression(&bound, &|e| match e {
        Expr::Const(Datum::Oid(oid), ty) if ty.oid == oid::REGCLASS => {
            Some(sequence::regclass_text(*oid))
        }
        _ => None,
    });
    Ok(Some(text.into()))
}
