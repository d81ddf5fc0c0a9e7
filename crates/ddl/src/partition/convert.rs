//! A plain table becomes a partitioned one, and back.
//!
//! PostgreSQL has no statement for it: extensions' functions ask for it. The table stays what it
//! is (its OID, columns, constraints, views over it); its rows stay where they are, in a
//! table of their own that the caller moves them out of by ordinary statements.
//!
//! ```text
//!   t (rows, indexes)  ──make_partitioned──▶  t (no rows, partitioned indexes)   t_rows (rows)
//!   t (no partitions)  ──make_plain────────▶  t (no rows, indexes)
//! ```

use super::super::{DdlContext, NameParts, build, drop, files_of, table};
use super::{check_unique_covers_key, partition_key};
use std::sync::Arc;
use steppe_catalog::system::definitions::{Style, constraint_definition};
use steppe_catalog::{KeptByExtension, PartitionKey, RelKind, Relation};
use steppe_sql::ast::PartitionSpec;
use steppe_sql::bind::index::columns_of;
use steppe_sql::bind::stored_key;
use steppe_txn::{Persistence, RelationLockMode};
use steppe_types::{Error, Oid, Result, SqlState};

/// Locks a plain table that is to be partitioned, and binds the key: every column that it reads
/// must be NOT NULL.
pub fn check_convertible(
    ctx: &mut DdlContext<'_>,
    oid: Oid,
    spec: &PartitionSpec,
) -> Result<PartitionKey> {
    let relation = lock_table(ctx, oid)?;
    let is_referring = relation.foreign_keys().next().is_some();
    if is_referring || ctx.catalog().is_referenced(oid) {
        return Err(Error::not_supported("partitioning a table that has foreign keys"));
    }
    let key = partition_key(ctx, &relation, spec)?;
    for expr in stored_key(&ctx.catalog(), &relation, &relation, &key)? {
        for attnum in columns_of(&expr) {
            let position = attnum as usize - 1;
            let column = &relation.columns[position];
            if !relation.is_never_null(position) {
                return Err(Error::new(
                    SqlState::NOT_NULL_VIOLATION,
                    format!("column \"{}\" should be marked NOT NULL", column.name),
                ));
            }
        }
    }
    Ok(key)
}

/// The table, locked against everybody.
fn lock_table(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<Arc<Relation>> {
    ctx.lock(oid, RelationLockMode::AccessExclusive)?;
    let relation = ctx.catalog().relation(oid).cloned();
    relation.ok_or_else(|| {
        Error::new(SqlState::UNDEFINED_TABLE, format!("relation with OID {oid} does not exist"))
    })
}

/// Makes a table partitioned that [`check_convertible`] has accepted. Its rows are those of a new
/// table, whose OID is answered.
///
/// A partitioned table cannot have unique constraints that do not cover the key, so these are
/// dropped. `keep` is given their definitions, as ALTER TABLE … ADD takes them, and says what the
/// extension keeps.
pub fn make_partitioned(
    ctx: &mut DdlContext<'_>,
    oid: Oid,
    key: PartitionKey,
    keep: impl FnOnce(Vec<Arc<str>>) -> Result<KeptByExtension>,
) -> Result<Oid> {
    let plain = lock_table(ctx, oid)?;
    let mut relation = Relation { partition_key: Some(Arc::new(key)), ..(*plain).clone() };
    let given_up = give_up_constraints(ctx, &mut relation)?;
    let rows = keep_rows(ctx, &plain)?;
    relation.kind = RelKind::PartitionedTable;
    (relation.storage, relation.overflow) = (None, None);
    relation.statistics = None;
    relation.kept = Some(Arc::new(keep(given_up)?));
    let indexes = relation.indexes.clone();
    ctx.put(relation)?;
    for index in &indexes {
        let index = ctx.catalog().relation(*index).cloned();
        let index = index.ok_or_else(|| Error::internal("a table's index has gone"))?;
        ctx.txn.drop_files_at_commit(&files_of(&index));
        let kind = RelKind::PartitionedIndex;
        ctx.put(Relation { kind, storage: None, overflow: None, ..(*index).clone() })?;
    }
    Ok(rows)
}

/// A new table with the rows of one that gives them up.
pub(crate) fn keep_rows(ctx: &mut DdlContext<'_>, plain: &Relation) -> Result<Oid> {
    let parts = NameParts { table: &plain.name, columns: "", label: "rows" };
    let name = ctx.choose_name(plain.schema, parts)?;
    let mut rows = Relation::new(ctx.store.new_oid()?, plain.schema, name, RelKind::Table);
    rows.columns = plain.columns.clone();
    for column in &mut rows.columns {
        (column.default, column.identity) = (None, None);
        (column.generated, column.is_virtual) = (false, false);
        column.not_null = false;
    }
    (rows.storage, rows.overflow) = (plain.storage, plain.overflow);
    let oid = rows.oid;
    ctx.lock(oid, RelationLockMode::AccessExclusive)?;
    ctx.put(rows)?;
    Ok(oid)
}

/// Takes the unique constraints that do not cover the key away, with their indexes; their
/// definitions.
fn give_up_constraints(ctx: &mut DdlContext<'_>, relation: &mut Relation) -> Result<Vec<Arc<str>>> {
    let catalog = ctx.catalog();
    let (mut definitions, mut given_up) = (Vec::new(), Vec::new());
    for constraint in &relation.constraints {
        let Some(index) = constraint.index() else { continue };
        if check_unique_covers_key(relation, &constraint.columns, "UNIQUE").is_err() {
            let text = constraint_definition(&catalog, relation, constraint, Style::PLAIN);
            definitions.push(Arc::from(text));
            given_up.push(index);
        }
    }
    relation
        .constraints
        .retain(|constraint| constraint.index().is_none_or(|index| !given_up.contains(&index)));
    for index in &given_up {
        let index = catalog.relation(*index).cloned();
        drop::drop_relation(ctx, index.ok_or_else(|| Error::internal("index has gone"))?)?;
    }
    relation.indexes.retain(|index| !given_up.contains(index));
    // A unique index that serves no constraint has no definition that a partition could take.
    for index in catalog.indexes_of(relation) {
        if let Some(info) = index.index.as_ref().filter(|info| info.unique) {
            let attnums: Vec<i16> = info.keys.iter().map(|key| key.attnum).collect();
            check_unique_covers_key(relation, &attnums, "UNIQUE")?;
        }
    }
    Ok(definitions)
}

/// Makes a partitioned table without partitions a plain one, without rows.
pub fn make_plain(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<()> {
    let partitioned = lock_table(ctx, oid)?;
    if ctx.catalog().children(oid).next().is_some() {
        return Err(Error::internal("a table with partitions cannot become a plain one"));
    }
    let mut plain = (*partitioned).clone();
    plain.kind = RelKind::Table;
    (plain.partition_key, plain.kept) = (None, None);
    table::create_storage(ctx, &mut plain, Persistence::Logged)?;
    ctx.put(plain.clone())?;
    for index in &plain.indexes {
        let index = ctx.catalog().relation(*index).cloned();
        let index = index.ok_or_else(|| Error::internal("a table's index has gone"))?;
        let mut index = Relation { kind: RelKind::Index, ..(*index).clone() };
        build::build(ctx, &plain, &mut index)?;
        ctx.put(index)?;
    }
    Ok(())
}
