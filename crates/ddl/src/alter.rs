//! ALTER TABLE (tablecmds.c).

use super::cluster;
use super::column_hints;
use super::constraint::{self, PendingConstraints};
use super::drop_column::{self, DropColumn};
use super::drop_constraint::{DropConstraint, drop_constraint, drop_dependents_of};
use super::inherit::{self, Inheritor, invalid_table};
use super::open::system_catalog;
use super::reloptions::{self, Owner};
use super::table::default_text;
use super::table_change::TableChange;
use super::{
    DdlContext, add_column, create_view, distribution, foreign_key, not_null, partition,
    redistribute, tablespace, trigger, types,
};
use super::{generated, identity, persistence, retype, validate};
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::{
    AlterTableCommand as Command, AlterTableStmt, ConstraintKind as AstConstraint, DefElem, Expr,
    ObjectKind, RangeVar,
};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// ALTER TABLE and its like; returns the command tag.
pub(crate) fn alter_table(ctx: &mut DdlContext<'_>, stmt: &AlterTableStmt) -> Result<&'static str> {
    if stmt.kind == ObjectKind::Type {
        return types::alter_composite(ctx, stmt).map(|()| "ALTER TYPE");
    }
    let tag = match stmt.kind {
        ObjectKind::Index => "ALTER INDEX",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::View => "ALTER VIEW",
        _ => "ALTER TABLE",
    };
    let is_redistributed = redistribute::is_asked(&stmt.commands)?;
    let is_light = |c: &Command| {
        matches!(
            c,
            Command::AttachPartition { .. }
                | Command::DetachPartition { finalize: true, .. }
                | Command::ValidateConstraint(_)
                // Only planning, ANALYZE and the filling of pages read these.
                | Command::SetStatistics { .. }
                | Command::SetColumnOptions { .. }
                | Command::ResetColumnOptions { .. }
                | Command::ClusterOn(_)
                | Command::DropCluster
        ) || matches!(c, Command::SetOptions(options) | Command::ResetOptions(options)
            if !options.iter().any(|option| reloptions::changes_queries(&option.name)))
    };
    let mode = |command: &Command| match command {
        command if is_light(command) => RelationLockMode::ShareUpdateExclusive,
        Command::AlterConstraint { .. } | Command::Trigger { .. } => {
            RelationLockMode::ShareRowExclusive
        }
        Command::AddConstraint(c) if matches!(c.kind, AstConstraint::ForeignKey(_)) => {
            RelationLockMode::ShareRowExclusive
        }
        _ => RelationLockMode::AccessExclusive,
    };
    let mode = stmt.commands.iter().map(mode).max().unwrap_or(RelationLockMode::AccessExclusive);
    let Some(relation) = open_altered(ctx, stmt, mode)? else { return Ok(tag) };
    distribution::check_actions(ctx, &relation, &stmt.commands)?;
    ctx.check_not_in_use(&relation, "ALTER TABLE")?;
    partition::check_not_detaching(&relation)?;
    if is_redistributed {
        return redistribute::alter(ctx, &relation, &stmt.commands).map(|()| tag);
    }
    persistence::check(ctx, &relation, &stmt.commands)?;
    let read = retype::columns_read(ctx, &relation, &stmt.commands);
    let mut commands: Vec<&Command> = stmt.commands.iter().collect();
    let made: Vec<&str> = commands.iter().filter_map(|command| has_made(command)).collect();
    commands.sort_by_key(|command| pass(command, &read, &made));
    let mut change = TableChange::open(ctx, relation.oid)?;
    for group in commands.chunk_by(|a, b| is_type_change(a) && is_type_change(b)) {
        change.renew(ctx)?;
        let done = run(ctx, &mut change, group, Reach::of(&stmt.relation));
        ctx.naming(change.before(), done)?;
    }
    change.put(ctx).map(|()| tag)
}

/// The relation that is altered, locked. `None`: there is none, and IF EXISTS says that's fine.
pub(super) fn open_altered(
    ctx: &mut DdlContext<'_>,
    stmt: &AlterTableStmt,
    mode: RelationLockMode,
) -> Result<Option<Arc<Relation>>> {
    let Some(relation) = ctx.try_open(&stmt.relation, mode)? else {
        ctx.skip_missing(stmt.if_exists, stmt.relation.undefined())?;
        return Ok(None);
    };
    check_kind(stmt.kind, &relation)?;
    if relation.kind == RelKind::Composite {
        let message = format!("\"{}\" is a composite type", relation.name);
        return Err(
            Error::new(SqlState::WRONG_OBJECT_TYPE, message).hint("Use ALTER TYPE instead.")
        );
    }
    match relation.is_system() {
        true => Err(system_catalog(&relation)),
        false => Ok(Some(relation)),
    }
}

/// 42809 unless the relation is what the command's name says; ALTER TABLE is for all
/// (RangeVarCallbackForAlterRelation).
pub(super) fn check_kind(named: ObjectKind, relation: &Relation) -> Result<()> {
    let (fits, what) = match named {
        ObjectKind::View => (relation.kind == RelKind::View, "a view"),
        ObjectKind::Sequence => (relation.kind == RelKind::Sequence, "a sequence"),
        ObjectKind::Index => {
            (matches!(relation.kind, RelKind::Index | RelKind::PartitionedIndex), "an index")
        }
        ObjectKind::MaterializedView => (false, "a materialized view"),
        ObjectKind::ForeignTable => (false, "a foreign table"),
        _ => return Ok(()),
    };
    match fits {
        true => Ok(()),
        false => {
            let message = format!("\"{}\" is not {what}", relation.name);
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
        }
    }
}

fn is_type_change(command: &Command) -> bool {
    matches!(command, Command::AlterColumnType { .. })
}

/// The column that a part makes an identity column, or may.
fn has_made(command: &Command) -> Option<&str> {
    match command {
        Command::AddColumn { column, .. } => Some(&column.name),
        Command::AddIdentity { name, .. } => Some(name),
        _ => None,
    }
}

/// The passes of ALTER TABLE (AlterTablePass). They run in this order, not in the statement's:
/// drops, types, new columns, column properties, the rest. A column that is dropped is still there
/// for the USING that reads it; a sequence restarts before the values of new columns ask it
/// (PostgreSQL computes those when all parts are done).
fn pass(command: &Command, read: &[Arc<str>], made: &[&str]) -> u8 {
    match command {
        Command::SetIdentity { name, .. } if !made.contains(&name.as_str()) => 2,
        Command::DropColumn { name, .. } if read.iter().any(|column| **column == *name) => 2,
        Command::DropColumn { .. }
        | Command::DropConstraint { .. }
        | Command::DropNotNull(_)
        | Command::DropExpression { .. }
        | Command::DropIdentity { .. }
        | Command::ColumnDefault { default: None, .. } => 0,
        Command::AlterColumnType { .. } => 1,
        Command::AddColumn { .. } => 3,
        Command::SetExpression { .. } => 4,
        Command::SetNotNull(_) => 5,
        Command::AddConstraint(c) => match c.kind {
            AstConstraint::NotNull { .. } => 5,
            AstConstraint::Check(_) | AstConstraint::ForeignKey(_) => 7,
            _ => 6,
        },
        Command::ColumnDefault { .. } | Command::AddIdentity { .. } => 7,
        _ => 8,
    }
}

/// Runs a command, or several that change types: those are one change of the table.
fn run(
    ctx: &mut DdlContext<'_>,
    change: &mut TableChange,
    group: &[&Command],
    reach: Reach,
) -> Result<()> {
    let Some(command) = group.first().copied() else { return Ok(()) };
    if matches!(
        command,
        Command::AttachPartition { .. } | Command::DetachPartition { concurrently: false, .. }
    ) {
        return change.replace(ctx, |ctx, table| change_partitions(ctx, table, command));
    }
    check_fits(change.table(), command)?;
    for command in group {
        check_lineage(ctx, change.table(), command, reach)?;
    }
    if sees_to_children(command) {
        return change.replace(ctx, |ctx, table| run_with_children(ctx, table, group, reach));
    }
    let below = match goes_down(command) && !reach.is_only() {
        true => inherit::inheritors(ctx, change.table().oid)?,
        false => Vec::new(),
    };
    run_here(ctx, change, command)?;
    for Inheritor { table, .. } in below {
        let mut below = TableChange::open(ctx, table.oid)?;
        let done = run_here(ctx, &mut below, command).and_then(|()| below.put(ctx));
        ctx.naming(&table, done)?;
    }
    Ok(())
}

/// ATTACH and DETACH PARTITION.
fn change_partitions(ctx: &mut DdlContext<'_>, table: Relation, command: &Command) -> Result<()> {
    match command {
        Command::AttachPartition { bound: Some(_), .. }
            if table.kind == RelKind::PartitionedIndex =>
        {
            let message = format!("\"{}\" is not a partitioned table", table.name);
            Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message))
        }
        Command::AttachPartition { partition, bound: Some(bound) } => {
            partition::require_partitioned(&table, "ATTACH PARTITION")?;
            partition::attach(ctx, table, partition, bound)
        }
        Command::AttachPartition { partition, bound: None } => {
            partition::attach_index(ctx, &table, partition)
        }
        Command::DetachPartition { partition, finalize, .. } => {
            partition::require_partitioned(&table, "DETACH PARTITION")?;
            match finalize {
                true => partition::finalize(ctx, &table, partition),
                false => partition::detach(ctx, &table, partition),
            }
        }
        _ => Err(Error::internal("a command that changes no partitions")),
    }
}

/// 42809 for a command that is not for such a kind of relation.
fn check_fits(table: &Relation, command: &Command) -> Result<()> {
    let fits = match command {
        Command::ChangeOwner(_) => true,
        // A relation without pages has no storage parameters.
        Command::SetOptions(_) | Command::ResetOptions(_) => {
            !matches!(table.kind, RelKind::PartitionedIndex | RelKind::Sequence)
        }
        Command::SetLogged(_) => matches!(table.kind, RelKind::Table | RelKind::Sequence),
        Command::ColumnDefault { .. } if table.kind == RelKind::View => true,
        _ => matches!(table.kind, RelKind::Table | RelKind::PartitionedTable),
    };
    let is_index = matches!(table.kind, RelKind::Index | RelKind::PartitionedIndex);
    let of_indexes = matches!(command, Command::SetStatistics { .. } | Command::SetTablespace(_));
    match fits || (is_index && of_indexes) {
        true => Ok(()),
        false => Err(partition::wrong_kind(table, describe(command))),
    }
}

/// Whether a command changes the table's children by itself, and puts all of them.
fn sees_to_children(command: &Command) -> bool {
    matches!(
        command,
        Command::AlterColumnType { .. }
            | Command::AddColumn { .. }
            | Command::DropColumn { .. }
            | Command::DropConstraint { .. }
            | Command::AddConstraint(_)
            | Command::SetNotNull(_)
            | Command::DropNotNull(_)
            | Command::ValidateConstraint(_)
            | Command::AlterConstraint { .. }
            | Command::Inherit(_)
            | Command::NoInherit(_)
            | Command::Trigger { rule: false, .. }
    )
}

fn run_with_children(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    group: &[&Command],
    reach: Reach,
) -> Result<()> {
    let Some(command) = group.first().copied() else { return Ok(()) };
    match command {
        Command::AlterColumnType { .. } => retype::change(ctx, table, group, reach),
        Command::AddColumn { column, if_not_exists } => {
            add_column::add(ctx, table, column, *if_not_exists)
        }
        Command::DropColumn { name, behavior, if_exists } => {
            let scope = Scope { reach, recursing: false };
            let column = DropColumn { name, behavior: *behavior, if_exists: *if_exists };
            drop_column::drop_column(ctx, table, column, scope)
        }
        Command::DropConstraint { name, if_exists, behavior } => {
            let scope = Scope { reach, recursing: false };
            drop_dependents_of(ctx, &table, name, *behavior)?;
            let constraint = DropConstraint { name, if_exists: *if_exists };
            drop_constraint(ctx, table, constraint, scope)
        }
        Command::AddConstraint(c) => {
            let mut pending = PendingConstraints::default();
            pending.add_table_constraint(c)?;
            pending.reach = reach;
            constraint::add_all(ctx, &mut table, pending)
        }
        Command::SetNotNull(name) => {
            let position = column_position(&table, name)?;
            not_null::set(ctx, &mut table, position, reach)
        }
        Command::DropNotNull(name) => not_null::drop(ctx, table, name, reach),
        Command::ValidateConstraint(name) => validate::constraint(ctx, &mut table, name, reach),
        Command::AlterConstraint { name, deferrable, initially_deferred, enforced, no_inherit } => {
            let at = table.constraints.iter().position(|own| *own.name == *name);
            let at = at.filter(|at| table.constraints[*at].foreign_key().is_some());
            if let Some(at) = at.filter(|_| no_inherit.is_none()) {
                let deferral = foreign_key::deferral_of(*deferrable, *initially_deferred);
                let changes = foreign_key::Changes { deferral, enforced: *enforced };
                return foreign_key::alter(ctx, table, at, changes);
            }
            let (deferrability, enforceability) = (deferrable.is_some(), enforced.is_some());
            let no_inherit = *no_inherit;
            let changes = not_null::Changes { deferrability, enforceability, no_inherit };
            not_null::alter_constraint(ctx, table, name, changes)
        }
        Command::Inherit(parent) => inherit::add_parent(ctx, table, parent),
        Command::NoInherit(parent) => inherit::remove_parent(ctx, table, parent),
        Command::Trigger { rule: false, which, firing } => {
            trigger::switch(ctx, &table, which, *firing, !reach.is_only())
        }
        other => Err(Error::internal(format!("{} does not see to children", describe(other)))),
    }
}

/// The tables that a part of an ALTER TABLE changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// ONLY was written: the table alone.
    Only,
    /// The table and all that inherit from it.
    #[default]
    WithChildren,
}

impl Reach {
    pub(crate) fn of(name: &RangeVar) -> Reach {
        match name.inherit {
            true => Reach::WithChildren,
            false => Reach::Only,
        }
    }

    pub(crate) fn is_only(self) -> bool {
        self == Reach::Only
    }
}

/// The reach of a part of an ALTER TABLE that changes the children itself.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    pub(super) reach: Reach,
    /// It comes from the parent.
    pub(super) recursing: bool,
}

/// Whether a command is repeated on what inherits from the table, each once. (Columns and
/// constraints that are added or dropped see to that themselves.)
fn goes_down(command: &Command) -> bool {
    matches!(
        command,
        Command::ColumnDefault { .. }
            | Command::DropExpression { .. }
            | Command::SetExpression { .. }
            | Command::SetStatistics { .. }
            | Command::SetStorage { .. }
    )
}

/// 42P16 for a change that a child may not make alone, and a parent not with ONLY.
fn check_lineage(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    command: &Command,
    reach: Reach,
) -> Result<()> {
    let catalog = ctx.catalog();
    let is_inherited = |name: &String| {
        table.column_index(name).is_some_and(|position| table.inherit_count(position) > 0)
    };
    match command {
        Command::AlterConstraint { .. }
            if reach.is_only() && table.kind == RelKind::PartitionedTable =>
        {
            let message = "constraint must be altered in child tables too";
            return Err(invalid_table(message).hint("Do not specify the ONLY keyword."));
        }
        Command::AddColumn { .. } if table.partition_of.is_some() => {
            let message = "cannot add column to a partition";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Command::AlterColumnType { name, location, .. } if is_inherited(name) => {
            let message = format!("cannot alter inherited column \"{name}\"");
            return Err(ctx.error(SqlState::INVALID_TABLE_DEFINITION, message, *location));
        }
        Command::AddIdentity { .. } => {
            identity::check_lineage(table, "add identity to a column", reach)?;
        }
        Command::SetIdentity { .. } => {
            identity::check_lineage(table, "change identity column", reach)?;
        }
        Command::DropIdentity { .. } => {
            identity::check_lineage(table, "drop identity from a column", reach)?;
        }
        Command::DropExpression { name, .. } if is_inherited(name) => {
            let message = "cannot drop generation expression from inherited column";
            return Err(invalid_table(message));
        }
        _ => {}
    }
    if reach.is_only() && catalog.children(table.oid).next().is_some() {
        check_only(table, command)?;
    }
    Ok(())
}

/// 42P16 for a change that a parent cannot make with ONLY.
fn check_only(table: &Relation, command: &Command) -> Result<()> {
    let is_partitioned = table.kind == RelKind::PartitionedTable;
    let hint = "Do not specify the ONLY keyword.";
    Err(match command {
        Command::AddColumn { .. } => invalid_table("column must be added to child tables too"),
        Command::AddConstraint(c) if !c.no_inherit && is_new_below(table, &c.kind) => {
            invalid_table("constraint must be added to child tables too")
        }
        Command::AlterColumnType { name, .. } => invalid_table(format!(
            "type of inherited column \"{name}\" must be changed in child tables too"
        )),
        Command::DropExpression { .. } => Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "ALTER TABLE / DROP EXPRESSION must be applied to child tables too",
        ),
        Command::DropColumn { .. } if is_partitioned => invalid_table(
            "cannot drop column from only the partitioned table when partitions exist",
        )
        .hint(hint),
        Command::SetNotNull(name) if is_partitioned && !is_not_null(table, name) => {
            invalid_table("constraint must be added to child tables too").hint(hint)
        }
        _ => return Ok(()),
    })
}

/// Whether adding a constraint would make one that a table's children must have.
fn is_new_below(table: &Relation, kind: &AstConstraint) -> bool {
    match kind {
        AstConstraint::Check(_) => true,
        AstConstraint::NotNull { column: Some(column) } => !is_not_null(table, column),
        _ => false,
    }
}

fn is_not_null(table: &Relation, column: &str) -> bool {
    table.column_index(column).is_some_and(|position| table.columns[position].not_null)
}

/// Runs a command on one table.
fn run_here(ctx: &mut DdlContext<'_>, change: &mut TableChange, command: &Command) -> Result<()> {
    match command {
        Command::ColumnDefault { name, default } => {
            let position = column_position(change.table(), name)?;
            set_default(ctx, change, position, default.as_ref())
        }
        Command::DropExpression { name, if_exists } => {
            let position = column_position(change.table(), name)?;
            generated::drop_expression(ctx, change, position, *if_exists)
        }
        Command::SetExpression { name, expr } => {
            let position = column_position(change.table(), name)?;
            change.replace(ctx, |ctx, table| generated::set_expression(ctx, table, position, expr))
        }
        Command::AddIdentity { name, constraint } => {
            let position = column_position(change.table(), name)?;
            change.replace(ctx, |ctx, table| identity::add(ctx, table, position, &constraint.kind))
        }
        Command::SetIdentity { name, options } => {
            let position = column_position(change.table(), name)?;
            change.replace(ctx, |ctx, table| identity::set(ctx, table, position, options))
        }
        Command::DropIdentity { name, if_exists } => {
            let position = column_position(change.table(), name)?;
            change.replace(ctx, |ctx, table| identity::drop(ctx, table, position, *if_exists))
        }
        Command::SetOptions(options) => set_options(ctx, change, options),
        Command::ResetOptions(options) => {
            let kept = reloptions::reset(&change.table().options, options)?;
            change.edit().options = kept.into();
            Ok(())
        }
        Command::SetStatistics { column, target } => {
            column_hints::set_statistics(ctx, change, column, *target)
        }
        Command::SetColumnOptions { name, options } => {
            let set = |old: &[_]| reloptions::set(Owner::Column, old, options);
            column_hints::change_options(change, name, set)
        }
        Command::ResetColumnOptions { name, options } => {
            let reset = |old: &[_]| reloptions::reset(old, options);
            column_hints::change_options(change, name, reset)
        }
        Command::SetStorage { name, storage } => column_hints::set_storage(change, name, storage),
        Command::SetCompression { name, method } => {
            column_hints::set_compression(change, name, method)
        }
        Command::SetLogged(logged) => {
            change.replace(ctx, |ctx, table| persistence::set(ctx, table, *logged))
        }
        Command::ClusterOn(index) => cluster::mark(ctx, change.table(), Some(index)),
        Command::DropCluster => cluster::mark(ctx, change.table(), None),
        // One role owns everything in this version.
        Command::ChangeOwner(_) => Ok(()),
        Command::SetTablespace(name) => tablespace::check(name),
        other => Err(Error::not_supported(format!("ALTER TABLE … {}", describe(other)))),
    }
}

/// SET (…) of a table, an index or a view.
fn set_options(
    ctx: &mut DdlContext<'_>,
    change: &mut TableChange,
    options: &[DefElem],
) -> Result<()> {
    let owner = match change.table().kind {
        RelKind::View => return create_view::set_options(ctx, change, options),
        RelKind::Index => Owner::Index,
        _ => Owner::Table,
    };
    partition::check_options(change.table(), options)?;
    let set = reloptions::set(owner, &change.table().options, options)?;
    change.edit().options = set.into();
    Ok(())
}

/// SET DEFAULT and DROP DEFAULT.
fn set_default(
    ctx: &mut DdlContext<'_>,
    change: &mut TableChange,
    position: usize,
    default: Option<&Expr>,
) -> Result<()> {
    let column = &change.table().columns[position];
    if column.generated {
        let instead = if default.is_some() { "SET" } else { "DROP" };
        return Err(generated::refuse_default(change.table(), column, instead));
    }
    if column.identity.is_some() {
        return Err(identity::refuse_default(change.table(), position, default.is_some()));
    }
    let text = match default {
        Some(expr) => default_text(ctx, column, expr).map_err(Error::without_position)?,
        None => None,
    };
    change.edit().columns[position].default = text;
    Ok(())
}

/// A subcommand's name in messages: of 0A000, and that it is none for a kind of relation.
fn describe(command: &Command) -> &'static str {
    match command {
        Command::AddColumn { .. } => "ADD COLUMN",
        Command::DropColumn { .. } => "DROP COLUMN",
        Command::ColumnDefault { .. } => "ALTER COLUMN ... SET DEFAULT",
        Command::SetNotNull(_) => "ALTER COLUMN ... SET NOT NULL",
        Command::DropNotNull(_) => "ALTER COLUMN ... DROP NOT NULL",
        Command::SetExpression { .. } => "ALTER COLUMN ... SET EXPRESSION",
        Command::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
        Command::SetStatistics { .. } => "ALTER COLUMN ... SET STATISTICS",
        Command::SetStorage { .. } => "ALTER COLUMN ... SET STORAGE",
        Command::AlterColumnType { .. } => "ALTER COLUMN ... SET DATA TYPE",
        Command::AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        Command::SetIdentity { .. } => "ALTER COLUMN ... SET",
        Command::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        Command::AddConstraint(_) => "ADD CONSTRAINT",
        Command::DropConstraint { .. } => "DROP CONSTRAINT",
        Command::ValidateConstraint(_) => "VALIDATE CONSTRAINT",
        Command::Inherit(_) => "INHERIT",
        Command::NoInherit(_) => "NO INHERIT",
        Command::AttachPartition { .. } => "ATTACH PARTITION",
        Command::DetachPartition { .. } => "DETACH PARTITION",
        Command::AlterConstraint { .. } => "ALTER CONSTRAINT",
        Command::SetOptions(_) => "SET",
        Command::ResetOptions(_) => "RESET",
        Command::SetLogged(true) => "SET LOGGED",
        Command::SetLogged(false) => "SET UNLOGGED",
        Command::RowSecurity(_) => "ROW LEVEL SECURITY",
        Command::ReplicaIdentity(_) => "REPLICA IDENTITY",
        Command::Trigger { rule: true, .. } => "RULE",
        Command::Trigger { which, firing, .. } => trigger::switch_name(which, *firing),
        Command::SetTablespace(_) => "SET TABLESPACE",
        Command::ClusterOn(_) => "CLUSTER ON",
        Command::DropCluster => "SET WITHOUT CLUSTER",
        Command::SetColumnOptions { .. } => "ALTER COLUMN ... SET",
        Command::ResetColumnOptions { .. } => "ALTER COLUMN ... RESET",
        Command::SetCompression { .. } => "ALTER COLUMN ... SET COMPRESSION",
        _ => "this action",
    }
}

pub(super) fn column_position(table: &Relation, name: &str) -> Result<usize> {
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

/// 42704
pub(super) fn no_constraint(table: &Relation, name: &str) -> Error {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}
