//! DROP and TRUNCATE (dropcmds.c, dependency.c in small).
//!
//! A dependent of a dropped object refuses the drop (2BP01) unless CASCADE is
//! written: see `depend`.

use super::depend;
use super::open::system_catalog;
use super::{
    DdlContext, cast, create_statistics, distribution, drop_column, extension, files_of,
    foreign_key, function, on_nodes, operator, partition, trigger, types,
};
use std::sync::Arc;
use steppe_catalog::objects::{Object, kind_word};
use steppe_catalog::trigger::Trigger;
use steppe_catalog::{ObjectId, RelKind, Relation, Statistics};
use steppe_sql::ast::{
    DropBehavior, DropStmt, ObjectKind, ObjectName, ObjectRef, RangeVar, TruncateStmt,
};
use steppe_txn::{LeavesLockMode, RelationLockMode};
use steppe_types::oid::is_domain;
use steppe_types::{Error, Oid, Result, SqlState};

/// DROP of any kind; returns the command tag.
pub(crate) fn drop_objects(ctx: &mut DdlContext<'_>, drop: &DropStmt) -> Result<&'static str> {
    let (kind, tag) = match drop.kind {
        ObjectKind::Table => (RelKind::Table, "DROP TABLE"),
        ObjectKind::Index => (RelKind::Index, "DROP INDEX"),
        ObjectKind::Sequence => (RelKind::Sequence, "DROP SEQUENCE"),
        ObjectKind::View => (RelKind::View, "DROP VIEW"),
        ObjectKind::Schema => return drop_schemas(ctx, drop).map(|()| "DROP SCHEMA"),
        ObjectKind::Type | ObjectKind::Domain => return types::drop_types(ctx, drop),
        ObjectKind::Extension => {
            return extension::drop_extensions(ctx, drop).map(|()| "DROP EXTENSION");
        }
        ObjectKind::Statistics => {
            return create_statistics::drop_statistics(ctx, drop).map(|()| "DROP STATISTICS");
        }
        ObjectKind::Cast => return cast::drop_casts(ctx, drop).map(|()| "DROP CAST"),
        ObjectKind::Operator => {
            return operator::drop_operators(ctx, drop).map(|()| "DROP OPERATOR");
        }
        ObjectKind::Trigger => {
            return trigger::drop_triggers(ctx, drop).map(|()| "DROP TRIGGER");
        }
        ObjectKind::Function
        | ObjectKind::Procedure
        | ObjectKind::Routine
        | ObjectKind::Aggregate => {
            return function::drop_functions(ctx, drop);
        }
        other => return Err(Error::not_supported(format!("DROP {}", other.as_str()))),
    };
    let refused = |message: String| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    if drop.concurrently && drop.objects.len() > 1 {
        return refused(
            "DROP INDEX CONCURRENTLY does not support dropping multiple objects".into(),
        );
    }
    if drop.concurrently && drop.behavior == DropBehavior::Cascade {
        return refused("DROP INDEX CONCURRENTLY does not support CASCADE".into());
    }
    let mut doomed: Vec<Arc<Relation>> = Vec::new();
    for object in &drop.objects {
        let name = range_var(object)?;
        let Some(relation) = find_to_drop(ctx, &name, kind, drop.if_exists)? else { continue };
        if drop.concurrently {
            distribution::refuse_index(ctx, &relation, "DROP INDEX CONCURRENTLY")?;
        }
        // Only this session uses temporary files, so they are freed at once.
        if drop.concurrently
            && relation.kind == RelKind::PartitionedIndex
            && !ctx.catalog().is_temporary(&relation)
        {
            let name = &relation.name;
            return refused(format!("cannot drop partitioned index \"{name}\" concurrently"));
        }
        if !doomed.iter().any(|d| d.oid == relation.oid) {
            doomed.push(relation);
        }
    }
    let roots: Vec<Object> = doomed.iter().map(|r| Object::Relation(r.oid)).collect();
    let dependents = depend::dependents(ctx, &roots, drop.behavior)?;
    drop_dependents(ctx, &dependents)?;
    for relation in doomed {
        drop_relation(ctx, relation)?;
    }
    Ok(tag)
}

fn range_var(object: &ObjectRef) -> Result<RangeVar> {
    match object {
        ObjectRef::Relation(name) => Ok(name.clone()),
        ObjectRef::Name(name) => Ok(relation_name(name)),
        _ => Err(Error::internal("DROP of something that is no relation's name")),
    }
}

/// A plain name as a relation's.
pub(crate) fn relation_name(name: &ObjectName) -> RangeVar {
    RangeVar {
        catalog: name.parts().iter().rev().nth(2).cloned(),
        schema: name.schema().map(str::to_string),
        name: name.name().to_string(),
        inherit: true,
        persistence: Default::default(),
        alias: None,
        location: Default::default(),
    }
}

fn find_to_drop(
    ctx: &mut DdlContext<'_>,
    name: &RangeVar,
    kind: RelKind,
    if_exists: bool,
) -> Result<Option<Arc<Relation>>> {
    let word = kind_word(kind);
    let article = if kind == RelKind::Index { "an" } else { "a" };
    lock_above(ctx, name)?;
    let Some(relation) = ctx.try_open(name, RelationLockMode::AccessExclusive)? else {
        let shown = name.object_name();
        let missing = match &name.schema {
            Some(schema) if ctx.catalog().schema_in(schema, &ctx.search_path).is_none() => {
                (SqlState::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"))
            }
            _ => {
                let shown =
                    if kind == RelKind::Table { shown.to_string() } else { name.name.clone() };
                let code = match kind {
                    RelKind::Index => SqlState::UNDEFINED_OBJECT,
                    _ => SqlState::UNDEFINED_TABLE,
                };
                (code, format!("{word} \"{shown}\" does not exist"))
            }
        };
        ctx.skip_missing(if_exists, Error::new(missing.0, missing.1))?;
        return Ok(None);
    };
    if relation.is_system() {
        return Err(system_catalog(&relation));
    }
    if !is_of_kind(&relation, kind) {
        let hint = match relation.kind {
            RelKind::Index | RelKind::PartitionedIndex => "Use DROP INDEX to remove an index.",
            RelKind::Sequence => "Use DROP SEQUENCE to remove a sequence.",
            RelKind::View => "Use DROP VIEW to remove a view.",
            RelKind::Composite => "Use DROP TYPE to remove a type.",
            _ => "Use DROP TABLE to remove a table.",
        };
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not {article} {word}", relation.name),
        )
        .hint(hint));
    }
    check_internal_dependency(ctx, &relation)?;
    extension::check_member(ctx, &relation)?;
    if let Some(of) = &relation.partition_of
        && relation.index.is_none()
    {
        // Its parent's map changes, and it may have come there just now.
        ctx.lock(of.parent, RelationLockMode::AccessExclusive)?;
    }
    Ok(Some(relation))
}

/// Locks what statements lock before what is dropped, which would else deadlock with them: the
/// parent of a partition, and the table of an index with its partitions.
fn lock_above(ctx: &mut DdlContext<'_>, name: &RangeVar) -> Result<()> {
    let Some(found) = ctx.find(name)?.filter(|found| !found.is_system()) else { return Ok(()) };
    match (&found.index, &found.partition_of) {
        (Some(info), _) => lock_tree(ctx, info.table),
        (None, Some(of)) => ctx.lock(of.parent, RelationLockMode::AccessExclusive),
        (None, None) => Ok(()),
    }
}

fn lock_tree(ctx: &mut DdlContext<'_>, table: Oid) -> Result<()> {
    ctx.lock(table, RelationLockMode::AccessExclusive)?;
    for child in partition::all_children(ctx, table)? {
        lock_tree(ctx, child.oid)?;
    }
    Ok(())
}

/// Whether a DROP of a kind may name the relation.
fn is_of_kind(relation: &Relation, kind: RelKind) -> bool {
    match relation.kind {
        RelKind::PartitionedTable => kind == RelKind::Table,
        RelKind::PartitionedIndex => kind == RelKind::Index,
        other => other == kind,
    }
}

/// An index that serves a constraint is dropped with the constraint only, and an identity column's
/// sequence with the column only.
fn check_internal_dependency(ctx: &mut DdlContext<'_>, relation: &Relation) -> Result<()> {
    let catalog = ctx.catalog();
    if let Some(of) = &relation.partition_of
        && relation.index.is_some()
        && let Some(parent) = catalog.relation(of.parent)
    {
        let what = format!("index {}", parent.name);
        return Err(Error::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop index {} because {what} requires it", relation.name),
        )
        .hint(format!("You can drop {what} instead.")));
    }
    if let Some(info) = &relation.index
        && let Some(table) = catalog.relation(info.table)
        && let Some(constraint) = super::index::constraint_of(table, relation.oid)
    {
        let what = format!("constraint {constraint} on table {}", table.name);
        return Err(Error::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop index {} because {what} requires it", relation.name),
        )
        .hint(format!("You can drop {what} instead.")));
    }
    if let Some((table, attnum)) = relation.sequence.as_ref().and_then(|s| s.owned_by)
        && let Some(table) = catalog.relation(table)
        && table.columns[attnum as usize - 1].identity.is_some()
    {
        let column = &table.columns[attnum as usize - 1].name;
        let what = format!("column {column} of table {}", table.name);
        return Err(Error::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop sequence {} because {what} requires it", relation.name),
        )
        .hint(format!("You can drop {what} instead.")));
    }
    Ok(())
}

/// Removes what [`depend::dependents`] found.
pub(super) fn drop_dependents(ctx: &mut DdlContext<'_>, dependents: &[Object]) -> Result<()> {
    for dependent in dependents {
        let catalog = ctx.catalog();
        match dependent {
            Object::Relation(oid) => {
                // It may have gone with another one already.
                if let Some(relation) = catalog.relation(*oid) {
                    drop_relation(ctx, relation.clone())?;
                }
            }
            Object::Default(table, attnum) => {
                if let Some(table) = catalog.relation(*table) {
                    let mut table = (**table).clone();
                    table.columns[*attnum as usize - 1].default = None;
                    ctx.put(table)?;
                }
            }
            Object::Column(table, attnum) => drop_column::remove(ctx, *table, *attnum)?,
            Object::Statistics(table, object) => {
                create_statistics::remove(ctx, *table, *object)?;
            }
            Object::Trigger(table, object) => trigger::remove(ctx, *table, *object)?,
            Object::Constraint(domain, oid) if is_domain(*domain) => {
                types::remove_check(ctx, *domain, *oid);
            }
            Object::Constraint(table, oid) => foreign_key::remove(ctx, *table, *oid)?,
            Object::Function(oid) => function::remove(ctx, *oid),
            Object::Type(oid) => types::remove(ctx, *oid),
            Object::Cast(oid) => cast::remove(ctx, *oid),
            Object::Operator(oid) => operator::remove(ctx, *oid)?,
            Object::Schema(_) | Object::Node(_) | Object::NodeGroup(_) => {
                return Err(Error::internal("a schema or a node does not go with others"));
            }
        }
    }
    Ok(())
}

/// Removes a relation with the objects that belong to it. The commit frees its storage.
///
/// Do not hold a catalog version here: each removal would then copy the shared nodes of its maps.
pub(crate) fn drop_relation(ctx: &mut DdlContext<'_>, relation: Arc<Relation>) -> Result<()> {
    // It may have gone with another one already.
    let Some(relation) = ctx.catalog().relation(relation.oid).cloned() else { return Ok(()) };
    ctx.session.check_interrupts()?;
    if relation.kind == RelKind::Table {
        ctx.check_not_in_use(&relation, "DROP TABLE")?;
    }
    for (_, key) in relation.foreign_keys().filter(|(own, _)| own.parent == 0) {
        // Changes of the referenced table run statements on this one.
        ctx.lock(key.table, RelationLockMode::AccessExclusive)?;
    }
    let children = partition::all_children(ctx, relation.oid)?;
    // Its children are dropped separately.
    for child in children.into_iter().filter(|child| child.partition_of.is_some()) {
        ctx.lock(child.oid, RelationLockMode::AccessExclusive)?;
        drop_relation(ctx, child)?;
    }
    if let Some(info) = &relation.index {
        ctx.lock(info.table, RelationLockMode::AccessExclusive)?;
        if let Some(table) = ctx.catalog().relation(info.table).cloned() {
            let mut table = (*table).clone();
            table.indexes.retain(|i| *i != relation.oid);
            ctx.put(table)?;
        }
    }
    for index in &relation.indexes {
        remove_with_storage(ctx, *index)?;
    }
    let is_owned = |r: &&Arc<Relation>| {
        r.sequence.as_ref().and_then(|s| s.owned_by).is_some_and(|(t, _)| t == relation.oid)
    };
    let owned: Vec<Oid> =
        ctx.catalog().referrers(relation.oid).filter(is_owned).map(|r| r.oid).collect();
    for sequence in owned {
        ctx.lock(sequence, RelationLockMode::AccessExclusive)?;
        remove_with_storage(ctx, sequence)?;
    }
    let is_about = |r: &&Arc<Relation>| from_here(r, relation.oid).next().is_some();
    let others: Vec<Arc<Relation>> =
        ctx.catalog().referrers(relation.oid).filter(is_about).cloned().collect();
    for other in others.iter().filter(|other| other.oid != relation.oid) {
        for constraint in from_here(other, relation.oid) {
            trigger::remove(ctx, other.oid, constraint)?;
        }
    }
    remove_with_storage(ctx, relation.oid)
}

/// A relation's constraint triggers that are about another table, too.
fn from_here(relation: &Relation, table: Oid) -> impl Iterator<Item = Oid> {
    let is_from = move |t: &&Trigger| t.constraint.is_some_and(|c| c.from == table);
    relation.triggers.iter().filter(is_from).map(|trigger| trigger.oid)
}

fn remove_with_storage(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<()> {
    let Some(relation) = ctx.catalog().relation(oid).cloned() else { return Ok(()) };
    let files = files_of(&relation);
    if !files.is_empty() {
        ctx.txn.drop_files_at_commit(&files);
    }
    ctx.remove(oid)
}

fn drop_schemas(ctx: &mut DdlContext<'_>, drop: &DropStmt) -> Result<()> {
    let mut doomed: Vec<Oid> = Vec::new();
    for object in &drop.objects {
        let ObjectRef::Name(name) = object else {
            return Err(Error::internal("DROP SCHEMA without a name"));
        };
        let name = name.name();
        let Some(schema) = ctx.catalog().schema_named(name).cloned() else {
            let message = format!("schema \"{name}\" does not exist");
            let missing = Error::new(SqlState::INVALID_SCHEMA_NAME, message);
            ctx.skip_missing(drop.if_exists, missing)?;
            continue;
        };
        if schema.oid == steppe_catalog::PG_CATALOG
            || schema.oid == steppe_catalog::INFORMATION_SCHEMA
        {
            return Err(Error::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop schema {name} because it is required by the database system"),
            ));
        }
        ctx.lock_object(ObjectId::Schema(schema.oid), RelationLockMode::AccessExclusive)?;
        // Another session may have dropped it meanwhile.
        if ctx.catalog().schema(schema.oid).is_none() {
            let message = format!("schema \"{name}\" does not exist");
            let missing = Error::new(SqlState::INVALID_SCHEMA_NAME, message);
            ctx.skip_missing(drop.if_exists, missing)?;
            continue;
        }
        doomed.push(schema.oid);
    }
    let roots: Vec<Object> = doomed.iter().map(|oid| Object::Schema(*oid)).collect();
    let dependents = depend::dependents(ctx, &roots, drop.behavior)?;
    drop_dependents(ctx, &dependents)?;
    for schema in doomed {
        extension::drop_with_schema(ctx, schema)?;
        ctx.store.remove_schema(ctx.store.changes(ctx.pending), schema);
    }
    Ok(())
}

/// Locks the tables that a TRUNCATE empties, and returns each once: the tables that it names, and
/// their children.
pub fn truncated(ctx: &mut DdlContext<'_>, truncate: &TruncateStmt) -> Result<Vec<Arc<Relation>>> {
    all_truncated(ctx, truncate, false)
}

/// As [`truncated`], with or without notices of the tables that CASCADE adds.
fn all_truncated(
    ctx: &mut DdlContext<'_>,
    truncate: &TruncateStmt,
    notices: bool,
) -> Result<Vec<Arc<Relation>>> {
    let mut tables: Vec<Arc<Relation>> = Vec::new();
    for name in &truncate.relations {
        for table in truncated_by(ctx, name)? {
            if !tables.iter().any(|known| known.oid == table.oid) {
                tables.push(table);
            }
        }
    }
    let tables = foreign_key::truncated(ctx, tables, (truncate.behavior, notices))?;
    tables.iter().try_for_each(|table| ctx.check_not_in_use(table, "TRUNCATE"))?;
    Ok(tables)
}

/// A table that TRUNCATE names, and those below it.
fn truncated_by(ctx: &mut DdlContext<'_>, name: &RangeVar) -> Result<Vec<Arc<Relation>>> {
    replace_among_leaves(ctx, name)?;
    let table = ctx.open_table(name, RelationLockMode::AccessExclusive)?;
    if table.kind == RelKind::PartitionedTable && !name.inherit {
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            "cannot truncate only a partitioned table",
        )
        .hint(
            "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.",
        ));
    }
    let mut tables = vec![table.clone()];
    if name.inherit {
        let catalog = ctx.catalog();
        for below in catalog.descendants(&table).into_iter().skip(1) {
            if catalog.is_of_other_session(&below, &ctx.search_path) {
                continue;
            }
            ctx.lock(below.oid, RelationLockMode::AccessExclusive)?;
            tables.push(below);
        }
    }
    Ok(tables)
}

/// TRUNCATE: makes new empty trees in place of the old ones. The commit frees the old ones.
pub(crate) fn truncate(ctx: &mut DdlContext<'_>, truncate: &TruncateStmt) -> Result<()> {
    for table in all_truncated(ctx, truncate, true)? {
        if table.is_distributed() {
            on_nodes::command(ctx, &table, ("TRUNCATE TABLE ONLY", ""))?;
        } else if table.kind == RelKind::Table {
            empty_table(ctx, &table)?;
        }
        if truncate.restart_identity {
            super::sequence::restart_owned(ctx, table.oid)?;
        }
    }
    Ok(())
}

/// Waits for scans that read the parent's leaves one after the other and may reach this partition.
/// The partition is not locked yet: they would wait for that, and this for them.
fn replace_among_leaves(ctx: &mut DdlContext<'_>, name: &RangeVar) -> Result<()> {
    let mut below = ctx.find(name)?;
    while let Some(of) = below.as_ref().and_then(|table| table.partition_of.as_ref()) {
        if let Some(wait) = ctx.txn.lock_leaves(of.parent, LeavesLockMode::Replace)? {
            ctx.session.block_on(wait)?;
        }
        below = ctx.catalog().relation(of.parent).cloned();
    }
    Ok(())
}

pub(super) fn empty_table(ctx: &mut DdlContext<'_>, table: &Arc<Relation>) -> Result<()> {
    let mut old = files_of(table);
    let mut new = (**table).clone();
    super::table::create_storage(ctx, &mut new, table.persistence())?;
    ctx.session.relation_statistics().emptied(&new, table);
    // As if it had never been analyzed; what is known of its columns stays.
    new.statistics = new
        .statistics
        .as_deref()
        .map(|known| Arc::new(Statistics { rows: -1.0, pages: 0, ..known.clone() }));
    ctx.put(new.clone())?;
    let catalog = ctx.catalog();
    for index in catalog.indexes_of(&new) {
        old.extend(files_of(index));
        let mut index = (**index).clone();
        super::build::build(ctx, &new, &mut index)?;
        ctx.put(index)?;
    }
    ctx.txn.drop_files_at_commit(&old);
    Ok(())
}
