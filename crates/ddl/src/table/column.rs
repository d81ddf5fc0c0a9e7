//! Columns of tables that are made or get columns: what their definitions say.

use super::super::constraint::PendingConstraints;
use super::super::not_null::{self, NotNullPlace, PendingNotNull};
use super::super::sequence::SequenceOptions;
use super::super::{DdlContext, column_hints, generated, identity, inherit, truncate_name};
use steppe_catalog::{Column, Relation};
use steppe_sql::ast::{self, ColumnDef, ConstraintKind, Location};
use steppe_sql::bind::collation;
use steppe_sql::bind::typename::format_type;
use steppe_sql::expr::TypeRef;
use steppe_types::physical::Physical;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// PostgreSQL's MaxHeapAttributeNumber.
const COLUMNS_MAX: usize = 1600;

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
pub(crate) fn written_collation(
    ctx: &mut DdlContext<'_>,
    clause: &ast::CollateClause,
    type_oid: Oid,
) -> Result<Oid> {
    let found = collation(&ctx.catalog(), &clause.name, type_oid);
    found.map_err(|error| error.at(clause.location.position(ctx.source)))
}

/// What PARTITION OF says about a column that comes from the parent.
pub(super) fn refine_column(
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

pub(crate) fn check_column_name(relation: &Relation, name: &str) -> Result<()> {
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
pub(crate) fn check_column_type(ctx: &mut DdlContext<'_>, name: &str, ty: Oid) -> Result<()> {
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
pub(crate) fn check_columns(columns: usize) -> Result<()> {
    if columns > COLUMNS_MAX {
        return Err(Error::new(
            SqlState::TOO_MANY_COLUMNS,
            format!("tables can have at most {COLUMNS_MAX} columns"),
        ));
    }
    Ok(())
}
