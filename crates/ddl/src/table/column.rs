//! Columns of tables that are made or get columns, and the clauses of their definitions.

use super::super::not_null::{self, NotNullPlace, PendingNotNull};
use super::super::sequence::SequenceOptions;
use super::super::{DdlContext, column_hints, generated, identity, inherit, truncate_name};
use super::TableParts;
use steppe_catalog::{Relation, is_row_type};
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

impl TableParts {
    /// Adds a column, and notes what the clauses of its definition ask for.
    pub(crate) fn add_column(&mut self, ctx: &mut DdlContext<'_>, def: &ColumnDef) -> Result<()> {
        let name = truncate_name(&def.name).to_string();
        check_column_name(&self.table, &name)?;
        check_columns(self.table.columns.len() + 1)?;
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
        generated::check_clauses(ctx, &self.table, def, serial.is_some())?;
        let position = self.table.columns.len();
        let mut column = ctx.catalog().column(name.as_str(), ty.oid, ty.typmod);
        if let Some(clause) = &def.collation {
            column.collation = written_collation(ctx, clause, ty.oid)?;
        }
        column_hints::of_definition(&mut column, def)?;
        if serial.is_some() {
            self.constraints.add_not_null(PendingNotNull::implied(&name, NotNullPlace::Column));
            self.sequences.push(SequenceOptions::serial(position, ty.oid));
        }
        self.table.columns.push(column);
        self.add_clauses(ctx, def, position, serial.is_some())
    }

    /// Adds what PARTITION OF says about a column that comes from the parent.
    pub(super) fn refine_column(&mut self, ctx: &DdlContext<'_>, def: &ColumnDef) -> Result<()> {
        let name = truncate_name(&def.name);
        let Some(position) = self.table.column_index(name) else {
            return Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" does not exist"),
            ));
        };
        let has =
            |wanted: fn(&ConstraintKind) -> bool| def.constraints.iter().any(|c| wanted(&c.kind));
        if has(|kind| matches!(kind, ConstraintKind::Identity { .. })) {
            let message = "identity columns are not supported on partitions";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let column = &mut self.table.columns[position];
        inherit::check_generation(column, def)?;
        if has(|kind| matches!(kind, ConstraintKind::Default(_))) {
            column.default = None;
        }
        self.add_clauses(ctx, def, position, false)
    }

    fn add_clauses(
        &mut self,
        ctx: &DdlContext<'_>,
        def: &ColumnDef,
        position: usize,
        is_serial: bool,
    ) -> Result<()> {
        let constraints = &def.constraints;
        let clauses = ColumnClauses { table: &self.table, position, is_serial, constraints };
        clauses.check_nullness(ctx)?;
        clauses.check_one_default(ctx)?;
        constraints.iter().try_for_each(|c| self.add_clause(position, c))
    }

    fn add_clause(&mut self, position: usize, c: &ast::Constraint) -> Result<()> {
        let column = &mut self.table.columns[position];
        let name = column.name.to_string();
        match &c.kind {
            ConstraintKind::Null => {}
            ConstraintKind::NotNull { .. } => {
                not_null::check_partitioned(&self.table, c.no_inherit)?;
                let not_null = PendingNotNull::written(&name, c, NotNullPlace::Column);
                self.constraints.add_not_null(not_null);
            }
            // Bound when all columns are known.
            ConstraintKind::Default(_) => {}
            ConstraintKind::Identity { always, options } => {
                let not_null = PendingNotNull::implied(&name, NotNullPlace::Column);
                self.constraints.add_not_null(not_null);
                column.identity = Some(if *always { 'a' } else { 'd' });
                let ty = column.type_oid;
                identity::check_type(ty)?;
                self.sequences.push(SequenceOptions::identity(position, ty, options)?);
            }
            // Bound when all columns are known.
            ConstraintKind::Generated { stored, .. } => {
                (column.generated, column.is_virtual) = (true, !stored);
            }
            ConstraintKind::PrimaryKey(_) => {
                let not_null = PendingNotNull::implied(&name, NotNullPlace::Column);
                self.constraints.add_not_null(not_null);
                self.constraints.add_column_constraint(&name, c)?;
            }
            ConstraintKind::Check(_)
            | ConstraintKind::Unique { .. }
            | ConstraintKind::ForeignKey(_) => {
                self.constraints.add_column_constraint(&name, c)?;
            }
            ConstraintKind::Exclude(_) => {
                return Err(Error::not_supported("exclusion constraints"));
            }
        }
        Ok(())
    }
}

/// A column of a table and the clauses of its definition.
struct ColumnClauses<'a> {
    table: &'a Relation,
    position: usize,
    /// Its type is serial, which stands for NOT NULL and a default.
    is_serial: bool,
    constraints: &'a [ast::Constraint],
}

impl ColumnClauses<'_> {
    /// A column has one identity, or one DEFAULT: 42601.
    fn check_one_default(&self, ctx: &DdlContext<'_>) -> Result<()> {
        let (mut default, mut identity) = (self.is_serial, false);
        for c in self.constraints {
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
                // The default of a serial column has no position in the statement.
                let location = if self.is_serial { Location::NONE } else { c.location };
                return Err(self.conflict(ctx, what, location));
            }
            identity |= is_identity;
            default |= matches!(c.kind, ConstraintKind::Default(_));
        }
        Ok(())
    }

    /// NULL and NOT NULL exclude each other; serial and identity mean NOT NULL.
    fn check_nullness(&self, ctx: &DdlContext<'_>) -> Result<()> {
        let (mut null, mut not_null) = (false, self.is_serial);
        for c in self.constraints {
            match &c.kind {
                ConstraintKind::Null => null = true,
                ConstraintKind::NotNull { .. } | ConstraintKind::Identity { .. } => not_null = true,
                _ => continue,
            }
            if null && not_null {
                let what = "conflicting NULL/NOT NULL declarations";
                return Err(self.conflict(ctx, what, c.location));
            }
        }
        Ok(())
    }

    /// 42601 for clauses that contradict each other.
    fn conflict(&self, ctx: &DdlContext<'_>, what: &str, location: Location) -> Error {
        let (column, table) = (&self.table.columns[self.position].name, &self.table.name);
        let message = format!("{what} for column \"{column}\" of table \"{table}\"");
        ctx.error(SqlState::SYNTAX_ERROR, message, location)
    }
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

/// Fails for a column of a pseudo-type, or of a row type.
pub(crate) fn check_column_type(ctx: &mut DdlContext<'_>, name: &str, ty: Oid) -> Result<()> {
    let pseudo =
        steppe_catalog::builtin::ty(ty).is_none_or(|t| t.kind == b'p') || ty == oid::UNKNOWN;
    if pseudo {
        return Err(Error::new(
            SqlState::INVALID_TABLE_DEFINITION,
            format!("column \"{name}\" has pseudo-type {}", format_type(ty, -1)),
        ));
    }
    let held = ctx.catalog().held_type(ty).oid;
    let element = steppe_sql::bind::own_element(held).unwrap_or(held);
    let is_own = oid::is_enum_type(element) || is_row_type(element);
    if Physical::of(held) == Physical::Any && !is_own {
        return Err(Error::not_supported(format!("columns of type {}", ctx.format_type(ty))));
    }
    Ok(())
}

/// 54011 if a table or a view has more than [`COLUMNS_MAX`] columns.
pub(crate) fn check_columns(columns: usize) -> Result<()> {
    if columns > COLUMNS_MAX {
        return Err(Error::new(
            SqlState::TOO_MANY_COLUMNS,
            format!("tables can have at most {COLUMNS_MAX} columns"),
        ));
    }
    Ok(())
}
