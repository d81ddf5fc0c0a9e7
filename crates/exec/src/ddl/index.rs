//! CREATE INDEX and the build of an index over existing rows (indexcmds.c).

use super::scan::scan_rows;
use super::{DdlContext, storage_ref, truncate_name};
use crate::access::{IndexAccess, TableAccess};
use std::sync::Arc;
use steppe_catalog::{ConstraintKind, IndexInfo, IndexKey, RelKind, Relation};
use steppe_sql::ast::{self, CreateIndexStmt, IndexElem, ReindexStmt, ReindexTarget};
use steppe_txn::{IndexEntry, IndexInsert, IndexStore, RelationLockMode, RowId};
use steppe_types::{Datum, Error, Oid, Result, SqlState, text_io};

/// Entries sorted and inserted at once: bounds the memory of a build.
const BUILD_BATCH: usize = 500_000;
/// PostgreSQL's INDEX_MAX_KEYS.
const KEYS_MAX: usize = 32;

/// An index to create.
pub(crate) struct NewIndex {
    pub(crate) name: String,
    pub(crate) keys: Vec<IndexKey>,
    pub(crate) include: Vec<i16>,
    pub(crate) unique: bool,
    pub(crate) primary: bool,
    pub(crate) nulls_not_distinct: bool,
    pub(crate) options: Vec<(Arc<str>, Arc<str>)>,
}

/// CREATE INDEX.
pub(crate) fn create_index(ctx: &mut DdlContext<'_>, create: &CreateIndexStmt) -> Result<()> {
    if create.where_clause.is_some() {
        return Err(Error::not_supported("partial indexes"));
    }
    if create.access_method != "btree" {
        let known = ["hash", "gist", "gin", "spgist", "brin"].contains(&&*create.access_method);
        return Err(match known {
            true => Error::not_supported(format!("access method \"{}\"", create.access_method)),
            false => Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("access method \"{}\" does not exist", create.access_method),
            ),
        });
    }
    let table = ctx.open_table(&create.relation, RelationLockMode::Share)?;
    let keys = create.elements.iter().map(|e| index_key(&table, e)).collect::<Result<Vec<_>>>()?;
    if keys.len() > KEYS_MAX {
        return Err(Error::new(
            SqlState::TOO_MANY_COLUMNS,
            format!("cannot use more than {KEYS_MAX} columns in an index"),
        ));
    }
    let included: Vec<String> = create
        .include
        .iter()
        .map(|e| match &e.key {
            ast::IndexKey::Column(name) => Ok(name.clone()),
            ast::IndexKey::Expr(_) => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "expressions are not supported in included columns",
            )),
        })
        .collect::<Result<_>>()?;
    let include = include_columns(&table, &included)?;
    let name = match &create.name {
        Some(name) => {
            let short = truncate_name(name).to_string();
            ctx.store.lock_name(ctx.txn, table.schema, &short)?;
            if ctx.catalog().relation_named(table.schema, &short).is_some() {
                if create.if_not_exists {
                    ctx.notice_of(
                        SqlState::DUPLICATE_TABLE,
                        format!("relation \"{short}\" already exists, skipping"),
                    );
                    return Ok(());
                }
                return Err(Error::new(
                    SqlState::DUPLICATE_TABLE,
                    format!("relation \"{short}\" already exists"),
                ));
            }
            short
        }
        None => {
            let names: Vec<&str> =
                keys.iter().map(|k| &*table.columns[k.attnum as usize - 1].name).collect();
            ctx.choose_name(table.schema, &table.name, &names.join("_"), "idx", &[])?
        }
    };
    let new = NewIndex {
        name,
        keys,
        include,
        unique: create.unique,
        primary: false,
        nulls_not_distinct: create.nulls_not_distinct,
        options: super::table::storage_options(&create.options)?,
    };
    self::create(ctx, (*table).clone(), new).map(|_| ())
}

fn index_key(table: &Relation, elem: &IndexElem) -> Result<IndexKey> {
    let ast::IndexKey::Column(name) = &elem.key else {
        return Err(Error::not_supported("indexes on expressions"));
    };
    let Some(position) = table.column_index(name) else {
        return Err(Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{name}\" does not exist"),
        ));
    };
    let column = &table.columns[position];
    if steppe_catalog::Builtins::get().ordering(column.type_oid).is_none() {
        let ty = steppe_sql::bind::typename::format_type(column.type_oid, -1);
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("data type {ty} has no default operator class for access method \"btree\""),
        )
        .hint(
            "You must specify an operator class for the index or define a default operator class \
             for the data type.",
        ));
    }
    if let Some(collation) = &elem.collation
        && !matches!(collation.name(), "C" | "POSIX" | "default" | "ucs_basic")
    {
        return Err(Error::not_supported(format!("collation \"{}\"", collation.name())));
    }
    let descending = elem.direction == ast::SortDirection::Desc;
    let nulls_first = match elem.nulls {
        ast::NullsOrder::Default => descending,
        ast::NullsOrder::First => true,
        ast::NullsOrder::Last => false,
    };
    Ok(IndexKey {
        attnum: position as i16 + 1,
        expression: None,
        type_oid: column.type_oid,
        descending,
        nulls_first,
        opclass: elem.opclass.as_ref().map(|o| o.name().into()),
    })
}

/// Attribute numbers of INCLUDE columns.
pub(crate) fn include_columns(table: &Relation, names: &[String]) -> Result<Vec<i16>> {
    names
        .iter()
        .map(|name| match table.column_index(name) {
            Some(position) => Ok(position as i16 + 1),
            None => Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" named in key does not exist"),
            )),
        })
        .collect()
}

/// Creates an index with its entries and enters it in its table; returns the table's new version
/// and the index's OID.
pub(crate) fn create(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    new: NewIndex,
) -> Result<(Relation, Oid)> {
    let mut table = table;
    let oid = ctx.store.new_oid()?;
    let mut index = Relation::new(oid, table.schema, new.name, RelKind::Index);
    index.columns = new
        .keys
        .iter()
        .map(|k| k.attnum)
        .chain(new.include.iter().copied())
        .map(|a| {
            let source = &table.columns[a as usize - 1];
            let mut column =
                steppe_catalog::Column::new(source.name.clone(), source.type_oid, source.typmod);
            column.collation = source.collation;
            column
        })
        .collect();
    index.options = new.options;
    index.index = Some(IndexInfo {
        table: table.oid,
        keys: new.keys,
        include: new.include,
        unique: new.unique,
        primary: new.primary,
        nulls_not_distinct: new.nulls_not_distinct,
        predicate: None,
    });
    let built = build(ctx, &table, &mut index);
    ctx.naming(&table, built)?;
    ctx.put(index)?;
    if new.primary {
        table.indexes.insert(0, oid);
    } else {
        table.indexes.push(oid);
    }
    ctx.put(table.clone())?;
    Ok((table, oid))
}

/// Makes an index's tree and fills it from the table's rows.
pub(crate) fn build(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    index: &mut Relation,
) -> Result<()> {
    let unique = index.index.as_ref().is_some_and(|i| i.unique);
    let store = IndexStore::create(ctx.txn, unique)?;
    index.storage = Some(storage_ref(store.tree_id()));
    let database = ctx.store.database().clone();
    let rows = TableAccess::open(&database, &Arc::new(table.clone()))?;
    let access = IndexAccess::open(&database, &Arc::new(index.clone()))?;
    // Rows are read through a snapshot of their own while entries are written below, so the
    // entries of one batch at a time are held back.
    let mut entries: Vec<(Vec<u8>, bool, RowId)> = Vec::new();
    let mut batches: Vec<Vec<(Vec<u8>, bool, RowId)>> = Vec::new();
    scan_rows(ctx, &rows, &mut |id, values| {
        let mut key = Vec::new();
        let has_null = access.key_of(values, &mut key)?;
        entries.push((key, has_null, id));
        if entries.len() == BUILD_BATCH {
            batches.push(std::mem::take(&mut entries));
        }
        Ok(())
    })?;
    batches.push(entries);
    for batch in batches {
        insert_sorted(ctx, &rows, &access, batch)?;
    }
    Ok(())
}

fn insert_sorted(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    index: &IndexAccess,
    mut batch: Vec<(Vec<u8>, bool, RowId)>,
) -> Result<()> {
    batch.sort_unstable();
    for chunk in batch.chunks(4096) {
        ctx.services.check_interrupts()?;
        let entries: Vec<IndexEntry<'_>> = chunk
            .iter()
            .map(|(key, has_null, row)| IndexEntry { key, has_null: *has_null, row: *row })
            .collect();
        let done = index.store.insert_batch(ctx.txn, &entries)?;
        match done.stopped {
            IndexInsert::Done => {}
            IndexInsert::Duplicate(_) => {
                let row = chunk[done.consumed].2;
                return Err(not_unique(ctx, table, index, row)?);
            }
            IndexInsert::MustWait(_) => {
                return Err(Error::internal("a new index is in another transaction's hands"));
            }
        }
    }
    Ok(())
}

/// 23505 `could not create unique index`.
fn not_unique(
    ctx: &mut DdlContext<'_>,
    table: &TableAccess,
    index: &IndexAccess,
    row: RowId,
) -> Result<Error> {
    let name = &index.relation.name;
    let error =
        Error::new(SqlState::UNIQUE_VIOLATION, format!("could not create unique index \"{name}\""))
            .constraint(name);
    let mut buffer = steppe_txn::RowBuf::new();
    let Some(rows) = table.rows() else { return Ok(error) };
    if rows.get(&ctx.txn.view(), row, &mut buffer)?.is_none() {
        return Ok(error);
    }
    let mut values = Vec::new();
    table.decode_all(buffer.row(), &mut values)?;
    let (mut names, mut shown) = (Vec::new(), Vec::new());
    for at in &index.columns {
        let column = &table.relation.columns[*at];
        names.push(column.name.to_string());
        shown.push(match &values[*at] {
            Datum::Null => "null".to_string(),
            value => text_io::output_string(column.type_oid, value, &ctx.io)?,
        });
    }
    let (names, shown) = (names.join(", "), shown.join(", "));
    Ok(error.detail(format!("Key ({names})=({shown}) is duplicated.")))
}

/// REINDEX: builds the indexes anew.
pub(crate) fn reindex(ctx: &mut DdlContext<'_>, reindex: &ReindexStmt) -> Result<()> {
    match &reindex.target {
        ReindexTarget::Index(name) => {
            let index = ctx.open(name, RelationLockMode::AccessExclusive)?;
            let Some(info) = &index.index else {
                return Err(Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("\"{}\" is not an index", index.name),
                ));
            };
            let table = info.table;
            ctx.txn.lock_relation_blocking(table, RelationLockMode::Share)?;
            rebuild(ctx, index.oid)
        }
        ReindexTarget::Table(name) => {
            let table = ctx.open_table(name, RelationLockMode::Share)?;
            for index in table.indexes.clone() {
                ctx.txn.lock_relation_blocking(index, RelationLockMode::AccessExclusive)?;
                rebuild(ctx, index)?;
            }
            Ok(())
        }
        _ => Err(Error::not_supported("REINDEX of a whole schema or database")),
    }
}

/// Builds one index anew in a new tree; the old one goes at commit.
pub(crate) fn rebuild(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<()> {
    let catalog = ctx.catalog();
    let index = catalog.relation(oid).ok_or_else(|| Error::internal("index has gone"))?;
    let table = index
        .index
        .as_ref()
        .and_then(|i| catalog.relation(i.table))
        .ok_or_else(|| Error::internal("index without a table"))?;
    let old = super::trees_of(index);
    let mut index = (**index).clone();
    build(ctx, table, &mut index)?;
    ctx.txn.drop_store_at_commit(&old);
    ctx.put(index)
}

/// The constraint that an index serves, if any.
pub(crate) fn constraint_of(table: &Relation, index: Oid) -> Option<&Arc<str>> {
    table.constraints.iter().find_map(|c| match c.kind {
        ConstraintKind::Primary { index: i } | ConstraintKind::Unique { index: i }
            if i == index =>
        {
            Some(&c.name)
        }
        _ => None,
    })
}
