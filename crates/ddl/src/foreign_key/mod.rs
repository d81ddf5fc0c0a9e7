//! Definitions of foreign keys (ATAddForeignKeyConstraint and its kin in tablecmds.c).
//!
//! A foreign key is a constraint of the referencing table. When one is added, the referenced table
//! is put into the catalog anew, so that sessions make their plans over it again. A statement adds
//! foreign keys last, because a table may refer to itself.
//!
//! | file | subject |
//! |---|---|
//! | `referenced` | the unique index that is referred to, and the operators |
//! | `partitions` | a partitioned table's foreign keys on its partitions |
//! | `rows` | whether the rows that are there have their keys |
//! | `alter` | ALTER CONSTRAINT, and changes of tables that are referred to |

mod alter;
mod partitions;
mod referenced;
mod rows;

pub(super) use alter::{
    Changes, alter, check_logged, deferral_of, dependents, remove, retyped, truncated,
};
pub(super) use partitions::{attach, check_detached, clone_to_partition};
pub(super) use rows::validate;

use super::alter::Reach;
use super::open::system_catalog;
use super::{DdlContext, partition, truncate_name};
use referenced::ReferencedKey;
use std::sync::Arc;
use steppe_catalog::{
    Constraint, ConstraintKind, Deferral, ForeignKey, ReferentialAction, RelKind, Relation,
};
use steppe_sql::ast;
use steppe_sql::bind::is_system_column;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// The most columns of a key (INDEX_MAX_KEYS).
const COLUMNS_MAX: usize = 32;

/// A foreign key that a statement adds.
pub(super) struct PendingForeignKey {
    pub(super) name: Option<String>,
    pub(super) columns: Vec<String>,
    pub(super) key: ast::ForeignKey,
    pub(super) deferral: Deferral,
    pub(super) enforced: bool,
    /// The existing rows are not checked.
    pub(super) not_valid: bool,
    /// The table is new, so it has no rows to check.
    pub(super) is_new: bool,
}

/// 42804, 42830 and others unless the clause can be a foreign key at all.
pub(super) fn check_clause(key: &ast::ForeignKey) -> Result<()> {
    if key.with_period {
        return Err(Error::not_supported("foreign keys with PERIOD"));
    }
    match key.match_type {
        ast::MatchType::Partial => {
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented"))
        }
        _ => Ok(()),
    }
}

/// Adds a foreign key to a table that is in the catalog, and puts it.
pub(super) fn add(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    pending: &PendingForeignKey,
    reach: Reach,
) -> Result<()> {
    let name = constraint_name(ctx, table, pending)?;
    let written = &pending.key;
    let referenced = open_referenced(ctx, table, &written.references, reach)?;
    table.refuse_distributed("FOREIGN KEY")?;
    referenced.refuse_distributed("REFERENCES")?;
    check_persistence(ctx, table, &referenced)?;
    let columns = column_list(table, &pending.columns)?;
    let set_columns = set_columns(table, &columns, &written.on_delete_columns)?;
    let found = ReferencedKey::find(ctx, &referenced, &written.referenced_columns)?;
    let (on_update, on_delete) = (written.on_update, written.on_delete);
    check_generated(table, &columns, (on_update, on_delete))?;
    if columns.len() != found.columns.len() {
        let message = "number of referencing and referenced columns for foreign key disagree";
        return Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message));
    }
    let catalog = ctx.catalog();
    let operators = found.operators(table, &columns, (&referenced, &name), &catalog)?;
    let key = ForeignKey {
        table: referenced.oid,
        index: found.index,
        columns: found.columns.into(),
        operators,
        match_full: written.match_type == ast::MatchType::Full,
        on_update,
        on_delete,
        set_columns: set_columns.into(),
        deferral: pending.deferral,
        not_enforced: !pending.enforced,
    };
    let is_valid = pending.enforced && (pending.is_new || !pending.not_valid);
    let kind = ConstraintKind::ForeignKey(Arc::new(key));
    let own = Constraint::new(ctx.store.new_oid()?, name, kind, columns);
    let key_triggers = Some(new_triggers(ctx)?);
    let own = Constraint { not_valid: !is_valid, key_triggers, ..own };
    table.constraints.push(own.clone());
    ctx.put(table.clone())?;
    if referenced.oid != table.oid {
        // Sessions make their plans over the referenced table again, with the foreign key.
        ctx.put(referenced)?;
    }
    let below = partitions::add_below(ctx, table, &own)?;
    if is_valid && !pending.is_new {
        rows::check(ctx, &Arc::new(table.clone()), &own)?;
        for (partition, constraint) in below {
            rows::check(ctx, &partition, &constraint)?;
        }
    }
    Ok(())
}

/// OIDs for the internal triggers that pg_trigger shows of a foreign key.
fn new_triggers(ctx: &mut DdlContext<'_>) -> Result<Box<[Oid; 4]>> {
    let mut oids = Box::new([0; 4]);
    for oid in oids.iter_mut() {
        *oid = ctx.store.new_oid()?;
    }
    Ok(oids)
}

/// The name, as written or a free one: 42710.
fn constraint_name(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    pending: &PendingForeignKey,
) -> Result<String> {
    let Some(name) = &pending.name else {
        return Ok(free_name(ctx, table, &pending.columns.join("_")));
    };
    match table.constraints.iter().any(|own| *own.name == *name) {
        true => Err(Error::new(
            SqlState::DUPLICATE_OBJECT,
            format!("constraint \"{name}\" for relation \"{}\" already exists", table.name),
        )),
        false => Ok(name.clone()),
    }
}

fn free_name(ctx: &mut DdlContext<'_>, table: &Relation, columns: &str) -> String {
    let own: Vec<&str> = table.constraints.iter().map(|own| &*own.name).collect();
    ctx.catalog().free_constraint_name(table.schema, (&table.name, columns, "fkey"), &own)
}

/// The referenced table, locked: 42P01, 42809.
fn open_referenced(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    name: &ast::RangeVar,
    reach: Reach,
) -> Result<Arc<Relation>> {
    let referenced =
        ctx.open(name, RelationLockMode::ShareRowExclusive).map_err(Error::without_position)?;
    if reach.is_only() && table.kind == RelKind::PartitionedTable {
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!(
                "cannot use ONLY for foreign key on partitioned table \"{}\" referencing relation \
                 \"{}\"",
                table.name, referenced.name
            ),
        ));
    }
    match referenced.kind {
        RelKind::Table | RelKind::PartitionedTable => Ok(referenced),
        RelKind::Virtual => Err(system_catalog(&referenced)),
        _ => Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("referenced relation \"{}\" is not a table", referenced.name),
        )),
    }
}

/// 42P16 if the persistence of the two tables does not allow the reference. A permanent table, for
/// instance, may not refer to a temporary one, which loses its rows.
fn check_persistence(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    referenced: &Relation,
) -> Result<()> {
    let catalog = ctx.catalog();
    let is_temporary = |relation: &Relation| catalog.is_temporary(relation);
    let only = match (is_temporary(table), table.is_unlogged()) {
        (true, _) if !is_temporary(referenced) => {
            "constraints on temporary tables may reference only temporary tables"
        }
        (true, _) if referenced.schema != table.schema => {
            "constraints on temporary tables must involve temporary tables of this session"
        }
        (true, _) => return Ok(()),
        (false, true) if is_temporary(referenced) => {
            "constraints on unlogged tables may reference only permanent or unlogged tables"
        }
        (false, false) if is_temporary(referenced) || referenced.is_unlogged() => {
            "constraints on permanent tables may reference only permanent tables"
        }
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, only))
}

/// Attribute numbers of columns that a foreign key names (transformColumnNameList).
fn column_list(table: &Relation, names: &[String]) -> Result<Vec<i16>> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let name = truncate_name(name);
        let Some(position) = table.column_index(name) else {
            if is_system_column(name) {
                let message = "system columns cannot be used in foreign keys";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            return Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" referenced in foreign key constraint does not exist"),
            ));
        };
        if columns.len() == COLUMNS_MAX {
            let message = format!("cannot have more than {COLUMNS_MAX} keys in a foreign key");
            return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        columns.push(position as i16 + 1);
    }
    Ok(columns)
}

/// ON DELETE SET NULL (columns): 42P10 for a column that is not in the key.
fn set_columns(table: &Relation, columns: &[i16], names: &[String]) -> Result<Vec<i16>> {
    let mut set = Vec::new();
    for attnum in column_list(table, names)? {
        if !columns.contains(&attnum) {
            let name = &table.columns[attnum as usize - 1].name;
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "column \"{name}\" referenced in ON DELETE SET action must be part of foreign \
                     key"
                ),
            ));
        }
        if !set.contains(&attnum) {
            set.push(attnum);
        }
    }
    Ok(set)
}

/// Actions that would write a generated column: 42601.
fn check_generated(
    table: &Relation,
    columns: &[i16],
    (on_update, on_delete): (ReferentialAction, ReferentialAction),
) -> Result<()> {
    use ReferentialAction::{Cascade, SetDefault, SetNull};
    let generated = columns.iter().map(|attnum| &table.columns[*attnum as usize - 1]);
    for column in generated.filter(|column| column.generated) {
        if column.is_virtual {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "foreign key constraints on virtual generated columns are not supported",
            ));
        }
        let event = match (on_update, on_delete) {
            (SetNull | SetDefault | Cascade, _) => "ON UPDATE",
            (_, SetNull | SetDefault) => "ON DELETE",
            _ => continue,
        };
        let message = format!(
            "invalid {event} action for foreign key constraint containing generated column"
        );
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    Ok(())
}

/// A parent's foreign key as a partition has it.
fn for_partition(
    partition: &Relation,
    parent: &Relation,
    constraint: &Constraint,
) -> Result<(Vec<i16>, Arc<ForeignKey>)> {
    let of = |attnum: &i16| partition::attnum_in(partition, parent, *attnum as usize - 1);
    let columns = constraint.columns.iter().map(of).collect::<Result<Vec<_>>>()?;
    let key = constraint.foreign_key().ok_or_else(|| Error::internal("no foreign key"))?;
    if key.set_columns.is_empty() {
        return Ok((columns, Arc::clone(key)));
    }
    let set_columns = key.set_columns.iter().map(of).collect::<Result<_>>()?;
    Ok((columns, Arc::new(ForeignKey { set_columns, ..(**key).clone() })))
}
