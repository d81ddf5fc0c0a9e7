//! CREATE INDEX and REINDEX (indexcmds.c).

use super::build::{build, build_for};
use super::reloptions::{self, Owner};
use super::{
    DdlContext, NameParts, distribution, generated, on_nodes, partition, relation_exists,
    truncate_name,
};
use std::sync::Arc;
use steppe_catalog::system::definitions::{self, OpclassMethod};
use steppe_catalog::{
    Column, ConstraintKind, Deferral, IndexInfo, IndexKey, PG_CATALOG, PartitionOf, RareText,
    RelKind, Relation,
};
use steppe_exec::constants::check_stored;
use steppe_sql::ast::{self, CreateIndexStmt, IndexElem, ReindexStmt, ReindexTarget};
use steppe_sql::bind::index::{IndexExprs, columns_of, is_mutable};
use steppe_sql::bind::typename::format_type;
use steppe_sql::bind::{
    ExprPlace, bind_table_condition, bind_table_expr, collation, figure_column_name,
    is_system_column,
};
use steppe_sql::deparse;
use steppe_sql::expr::Expr;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// PostgreSQL's INDEX_MAX_KEYS.
const KEYS_MAX: usize = 32;

/// The word for the objects of CREATE INDEX in errors.
const INDEXES: &str = "indexes";

/// An index before it is in the catalog.
pub(crate) struct IndexBuilder {
    pub(crate) name: String,
    pub(crate) keys: Vec<IndexKey>,
    /// The names of the keys' columns.
    pub(crate) key_names: Vec<String>,
    pub(crate) include: Vec<i16>,
    pub(crate) unique: bool,
    pub(crate) primary: bool,
    pub(crate) nulls_not_distinct: bool,
    pub(crate) deferral: Deferral,
    pub(crate) predicate: Option<Arc<str>>,
    pub(crate) options: Vec<(Arc<str>, Arc<str>)>,
    /// The index of the partitioned parent that it belongs to.
    pub(crate) parent: Option<Oid>,
    pub(crate) comment: Option<RareText>,
}

/// CREATE INDEX.
pub(crate) fn create_index(ctx: &mut DdlContext<'_>, create: &CreateIndexStmt) -> Result<()> {
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
    let table = ctx.lock_to_index(table.oid)?;
    if create.concurrently {
        table.refuse_distributed("CREATE INDEX CONCURRENTLY")?;
    }
    ctx.check_not_in_use(&table, "CREATE INDEX")?;
    if create.concurrently && table.kind == RelKind::PartitionedTable {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("cannot create index on partitioned table \"{}\" concurrently", table.name),
        ));
    }
    create.tablespace.as_deref().map_or(Ok(()), super::tablespace::check)?;
    if create.elements.len() > KEYS_MAX {
        return Err(Error::new(
            SqlState::TOO_MANY_COLUMNS,
            format!("cannot use more than {KEYS_MAX} columns in an index"),
        ));
    }
    let predicate = match &create.where_clause {
        Some(condition) => Some(index_predicate(ctx, &table, condition)?),
        None => None,
    };
    let keys = create.elements.iter().map(|e| index_key(ctx, &table, e));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let key_names = column_names(&table, &keys, &create.elements);
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
    let attnums = keys.iter().map(|key| key.attnum).chain(include.iter().copied());
    generated::check_indexed(&table, attnums, INDEXES)?;
    let name = match &create.name {
        Some(name) => {
            let short = truncate_name(name).to_string();
            ctx.lock_name(table.schema, &short)?;
            if ctx.catalog().relation_named(table.schema, &short).is_some() {
                return ctx.skip_present(create.if_not_exists, relation_exists(&short));
            }
            short
        }
        None => {
            // Included columns name it, too.
            let names: Vec<&str> = key_names.iter().chain(&included).map(String::as_str).collect();
            let columns = &names.join("_");
            let parts = NameParts { table: &table.name, columns, label: "idx" };
            ctx.choose_name(table.schema, parts)?
        }
    };
    let new = IndexBuilder {
        name,
        keys,
        key_names,
        include,
        predicate,
        unique: create.unique,
        primary: false,
        nulls_not_distinct: create.nulls_not_distinct,
        deferral: Deferral::NotDeferrable,
        options: reloptions::of_new(Owner::Index, &create.options)?,
        parent: None,
        comment: None,
    };
    if new.unique {
        let attnums: Vec<i16> = new.keys.iter().map(|key| key.attnum).collect();
        partition::check_unique_covers_key(&table, &attnums, "UNIQUE")?;
    }
    let mut table = (*table).clone();
    let oid = new.finish(ctx, &mut table)?;
    ctx.put(table.clone())?;
    match create.relation.inherit {
        true => partition::spread_index(ctx, &table, oid),
        false => Ok(()),
    }
}

/// A key of CREATE INDEX: a column, or an expression as text.
fn index_key(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    elem: &IndexElem,
) -> Result<IndexKey> {
    let place = ExprPlace::IndexExpression;
    let (attnum, expression, type_oid) = match &elem.key {
        ast::IndexKey::Column(name) => match table.column_index(name) {
            Some(position) => (position as i16 + 1, None, table.columns[position].type_oid),
            None if is_system_column(name) => return Err(over_system_column()),
            None => {
                return Err(Error::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" does not exist"),
                ));
            }
        },
        ast::IndexKey::Expr(expr) => {
            match ctx.binding(|b| bind_table_expr(b, Some(table), expr, place))? {
                // Parentheses around a column make no expression of it.
                Expr::Var { column, .. } if column < 0 => return Err(over_system_column()),
                Expr::Var { column, ty, .. } => (column as i16 + 1, None, ty.oid),
                bound => {
                    check_stored(&bound, &ctx.catalog())?;
                    check_expression(&bound, elem)?;
                    let columns = columns_of(&bound).into_iter();
                    generated::check_indexed(table, columns, INDEXES)?;
                    let text = deparse::table_expression(&bound, Some(table), &ctx.catalog());
                    (0, Some(Arc::from(text)), bound.ty().oid)
                }
            }
        }
    };
    if steppe_catalog::builtin::ordering(type_oid).is_none() {
        let ty = format_type(type_oid, -1);
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("data type {ty} has no default operator class for access method \"btree\""),
        )
        .hint(
            "You must specify an operator class for the index or define a default operator class \
             for the data type.",
        ));
    }
    let collation = match &elem.collation {
        Some(name) => Some(collation(&ctx.catalog(), name, type_oid)?),
        None => None,
    };
    let descending = elem.direction == ast::SortDirection::Desc;
    let nulls_first = match elem.nulls {
        ast::NullsOrder::Default => descending,
        ast::NullsOrder::First => true,
        ast::NullsOrder::Last => false,
    };
    let opclass = elem.opclass.as_ref().map(|o| o.name());
    if let Some(name) = opclass {
        check_opclass(OpclassMethod::Btree, name, type_oid)?;
        if !elem.opclass_options.is_empty() {
            let message = format!("operator class {name} has no options");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    }
    let mut key = IndexKey {
        attnum,
        expression,
        type_oid,
        descending,
        nulls_first,
        opclass: opclass.map(Arc::from),
        collation: None,
    };
    key.collation = collation.filter(|collation| *collation != key.source_collation(table));
    Ok(key)
}

fn over_system_column() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "index creation on system columns is not supported")
}

/// 42704 for an operator class that there is not, 42804 for one that is not for the type.
pub(super) fn check_opclass(method: OpclassMethod, name: &str, type_oid: Oid) -> Result<()> {
    match definitions::opclass_accepts(method, name, type_oid) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "operator class \"{name}\" does not accept data type {}",
                format_type(type_oid, -1)
            ),
        )),
        None => Err(method.has_no_opclass(name)),
    }
}

/// Refuses an expression as the key of an index if its value may change, or if its type is a
/// pseudo-type or a row.
fn check_expression(bound: &Expr, elem: &IndexElem) -> Result<()> {
    if is_mutable(bound) {
        return Err(not_immutable("expression"));
    }
    let ty = bound.ty().oid;
    let kind = steppe_catalog::builtin::ty(ty).map(|t| t.kind);
    let is_row = steppe_catalog::is_row_type;
    if is_row(ty) || steppe_sql::bind::own_element(ty).is_some_and(is_row) {
        return Err(Error::not_supported("an index over whole rows"));
    }
    if kind == Some(b'p') && ty != steppe_types::oid::UNKNOWN {
        let name = match &elem.key {
            ast::IndexKey::Expr(expr) => expression_name(expr),
            ast::IndexKey::Column(name) => name.clone(),
        };
        return Err(Error::new(
            SqlState::INVALID_TABLE_DEFINITION,
            format!("column \"{name}\" has pseudo-type {}", format_type(ty, -1)),
        ));
    }
    Ok(())
}

fn not_immutable(what: &str) -> Error {
    Error::new(
        SqlState::INVALID_OBJECT_DEFINITION,
        format!("functions in index {what} must be marked IMMUTABLE"),
    )
}

/// A partial index's condition as text.
fn index_predicate(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    condition: &ast::Expr,
) -> Result<Arc<str>> {
    let place = ExprPlace::IndexPredicate;
    let bound = ctx.binding(|b| bind_table_condition(b, table, condition, "WHERE", place))?;
    check_stored(&bound, &ctx.catalog())?;
    if is_mutable(&bound) {
        return Err(not_immutable("predicate"));
    }
    generated::check_indexed(table, columns_of(&bound).into_iter(), INDEXES)?;
    Ok(deparse::table_expression(&bound, Some(table), &ctx.catalog()).into())
}

fn expression_name(expr: &ast::Expr) -> String {
    match figure_column_name(expr) {
        name if name == "?column?" => "expr".to_string(),
        name => name,
    }
}

/// The names of an index's columns: the table's, or names after the expressions, with a number
/// where a name is taken (ChooseIndexColumnNames).
fn column_names(table: &Relation, keys: &[IndexKey], elements: &[IndexElem]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(keys.len());
    for (key, element) in keys.iter().zip(elements) {
        let wanted = match &element.key {
            ast::IndexKey::Expr(expr) if key.attnum == 0 => expression_name(expr),
            _ => table.columns[key.attnum as usize - 1].name.to_string(),
        };
        let numbered = |n: u32| match n {
            0 => wanted.clone(),
            n => format!("{wanted}{n}"),
        };
        let free = (0..).map(numbered).find(|name| !names.contains(name));
        names.push(free.unwrap_or(wanted));
    }
    names
}

/// Writes the texts of an index's expressions and predicate again after its table's columns were
/// renamed or got other types: bound over the table as it `was`, printed over it as it `is`.
pub(crate) fn reprint(
    ctx: &mut DdlContext<'_>,
    was: &Arc<Relation>,
    is: &Relation,
    index: &mut Relation,
) -> Result<()> {
    let catalog = ctx.catalog();
    let Some(info) = &mut index.index else { return Ok(()) };
    let bound = IndexExprs::bind(&catalog, was, info)?;
    let text = |e: &Expr| Some(Arc::from(deparse::table_expression(e, Some(is), &catalog)));
    for (position, (key, expr)) in info.keys.iter_mut().zip(&bound.keys).enumerate() {
        let Some(expr) = expr else { continue };
        key.expression = text(expr);
        if key.type_oid == expr.ty().oid {
            continue;
        }
        key.type_oid = expr.ty().oid;
        if let Some(column) = index.columns.get_mut(position) {
            (column.type_oid, column.collation) = (key.type_oid, key.collation(is));
        }
        if let Some(known) = &mut index.statistics {
            Arc::make_mut(known).forget(position);
        }
    }
    info.predicate = bound.predicate.as_ref().and_then(text);
    Ok(())
}

/// Whether an index depends on a column: as a key, included, or in an expression or predicate.
pub(crate) fn depends_on(
    catalog: &steppe_catalog::Catalog,
    table: &Arc<Relation>,
    index: &Relation,
    attnum: i16,
) -> Result<bool> {
    let Some(info) = &index.index else { return Ok(false) };
    let plain = info.keys.iter().any(|k| k.attnum == attnum) || info.include.contains(&attnum);
    Ok(plain || IndexExprs::bind(catalog, table, info)?.columns().contains(&attnum))
}

/// Attribute numbers of INCLUDE columns.
pub(crate) fn include_columns(table: &Relation, names: &[String]) -> Result<Vec<i16>> {
    names
        .iter()
        .map(|name| match table.column_index(name) {
            Some(position) => Ok(position as i16 + 1),
            None => Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" does not exist"),
            )),
        })
        .collect()
}

impl IndexBuilder {
    /// Makes the index with its entries, and puts it. Adds it to its table's list; the caller puts
    /// the table.
    pub(crate) fn finish(self, ctx: &mut DdlContext<'_>, table: &mut Relation) -> Result<Oid> {
        if self.unique {
            let attnums: Vec<i16> = self.keys.iter().map(|key| key.attnum).collect();
            distribution::check_key(table, &attnums)?;
        }
        let oid = ctx.store.new_oid()?;
        let kind = match table.kind {
            RelKind::PartitionedTable => RelKind::PartitionedIndex,
            _ => RelKind::Index,
        };
        let mut index = Relation::new(oid, table.schema, self.name, kind);
        index.partition_of =
            self.parent.map(|parent| PartitionOf { parent, bound: None, detach_pending: false });
        let key_column = |(key, name): (&IndexKey, String)| match key.attnum {
            0 => Column { collation: key.collation(table), ..Column::new(name, key.type_oid, -1) },
            attnum => Column {
                collation: key.collation(table),
                ..column_like(&table.columns[attnum as usize - 1], name)
            },
        };
        index.columns = self.keys.iter().zip(self.key_names).map(key_column).collect();
        for attnum in &self.include {
            let source = &table.columns[*attnum as usize - 1];
            index.columns.push(column_like(source, source.name.to_string()));
        }
        index.options = self.options.into();
        index.comment = self.comment;
        index.index = Some(Box::new(IndexInfo {
            table: table.oid,
            keys: self.keys.into(),
            include: self.include.into(),
            unique: self.unique,
            primary: self.primary,
            nulls_not_distinct: self.nulls_not_distinct,
            clustered: false,
            deferral: self.deferral,
            predicate: self.predicate,
        }));
        if kind == RelKind::Index {
            let built = build(ctx, table, &mut index);
            ctx.naming(table, built)?;
        }
        ctx.put(index)?;
        if self.primary {
            table.indexes.push_front(oid);
        } else {
            table.indexes.push(oid);
        }
        Ok(oid)
    }
}

fn column_like(source: &Column, name: String) -> Column {
    let mut column = Column::new(name, source.type_oid, source.typmod);
    column.collation = source.collation;
    column
}

/// The name of a REINDEX that cannot run inside a transaction block: the command, and the
/// partitioned table or index if that is the reason. `None`: it can.
pub fn reindexes_many(
    ctx: &mut DdlContext<'_>,
    reindex: &ReindexStmt,
) -> Result<Option<(&'static str, Option<String>)>> {
    if is_concurrent(reindex) {
        return Ok(Some(("REINDEX CONCURRENTLY", None)));
    }
    let (command, name) = match &reindex.target {
        ReindexTarget::Schema(_) => return Ok(Some(("REINDEX SCHEMA", None))),
        ReindexTarget::System(_) => return Ok(Some(("REINDEX SYSTEM", None))),
        ReindexTarget::Database(_) => return Ok(Some(("REINDEX DATABASE", None))),
        ReindexTarget::Index(name) => ("REINDEX INDEX", name),
        ReindexTarget::Table(name) => ("REINDEX TABLE", name),
    };
    let Some(relation) = ctx.find(name)? else { return Ok(None) };
    let what = match relation.kind {
        RelKind::PartitionedTable => "table",
        RelKind::PartitionedIndex => "index",
        _ => return Ok(None),
    };
    let catalog = ctx.catalog();
    let schema = catalog.schema(relation.schema).map_or("public", |schema| &schema.name);
    let which = format!("while reindexing partitioned {what} \"{schema}.{}\"", relation.name);
    Ok(Some((command, Some(which))))
}

fn is_concurrent(reindex: &ReindexStmt) -> bool {
    reindex.options.iter().any(|option| option.name == "concurrently")
}

/// REINDEX: builds the indexes anew.
pub(crate) fn reindex(ctx: &mut DdlContext<'_>, reindex: &ReindexStmt) -> Result<()> {
    match &reindex.target {
        ReindexTarget::Index(name) => {
            // Its table first, as DROP INDEX does.
            if let Some(info) = ctx.find(name)?.and_then(|found| found.index.clone()) {
                ctx.lock(info.table, RelationLockMode::Share)?;
            }
            let index = ctx.open(name, RelationLockMode::AccessExclusive)?;
            let Some(info) = &index.index else {
                return Err(Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("\"{}\" is not an index", index.name),
                ));
            };
            ctx.lock(info.table, RelationLockMode::Share)?;
            let parts = ctx.catalog().descendants(&index);
            parts.iter().filter(|part| part.kind == RelKind::Index).try_for_each(|part| {
                let table = part.index.as_ref().map(|info| info.table);
                let table = table.ok_or_else(|| Error::internal("a part is no index"))?;
                ctx.lock(table, RelationLockMode::Share)?;
                lock_and_rebuild(ctx, part.oid)
            })
        }
        ReindexTarget::Table(name) => {
            // A table without indexes needs no lock.
            let has_none =
                |table: &Relation| table.kind == RelKind::Table && table.indexes.is_empty();
            if is_concurrent(reindex) {
                let table = ctx.open_table(name, RelationLockMode::ShareUpdateExclusive)?;
                if has_none(&table) {
                    let name = &table.name;
                    ctx.notice(format!(
                        "table \"{name}\" has no indexes that can be reindexed concurrently"
                    ));
                    return Ok(());
                }
            }
            let table = ctx.open_table(name, RelationLockMode::Share)?;
            if has_none(&table) {
                ctx.notice(format!("table \"{}\" has no indexes to reindex", table.name));
            }
            for leaf in partition::leaves(ctx, &table)? {
                ctx.lock(leaf.oid, RelationLockMode::Share)?;
                // Which indexes it has is known from now on, and whether it is there still.
                let Some(leaf) = ctx.catalog().relation(leaf.oid).cloned() else { continue };
                leaf.indexes.iter().try_for_each(|index| lock_and_rebuild(ctx, *index))?;
            }
            Ok(())
        }
        ReindexTarget::Schema(name) => {
            let schema = ctx.catalog().schema_named(name).map(|schema| schema.oid);
            let schema = schema.ok_or_else(|| {
                let message = format!("schema \"{name}\" does not exist");
                Error::new(SqlState::INVALID_SCHEMA_NAME, message)
            })?;
            reindex_tables(ctx, is_concurrent(reindex), Some(schema))
        }
        ReindexTarget::Database(name) | ReindexTarget::System(name) => {
            let is_system = matches!(reindex.target, ReindexTarget::System(_));
            let refused = |message| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            if is_system && is_concurrent(reindex) {
                return refused("cannot reindex system catalogs concurrently");
            }
            if name.as_ref().is_some_and(|name| **name != *ctx.session.identity().database) {
                return refused("can only reindex the currently open database");
            }
            match is_system {
                // The indexes of system catalogs have no storage.
                true => Ok(()),
                false => reindex_tables(ctx, is_concurrent(reindex), None),
            }
        }
    }
}

/// Builds the indexes of all tables anew, or of those of a schema (ReindexMultipleTables).
fn reindex_tables(ctx: &mut DdlContext<'_>, concurrently: bool, schema: Option<Oid>) -> Result<()> {
    if concurrently && schema == Some(PG_CATALOG) {
        let message = "cannot reindex system catalogs concurrently, skipping all";
        ctx.warn(SqlState::FEATURE_NOT_SUPPORTED, message.to_owned());
    }
    let catalog = ctx.catalog();
    let is_meant = |table: &&Arc<Relation>| {
        let is_there = schema.is_none_or(|schema| table.schema == schema);
        let is_ours = !catalog.is_of_other_session(table, &ctx.search_path);
        is_there && table.kind == RelKind::Table && is_ours
    };
    let tables: Vec<Oid> = catalog.relations().filter(is_meant).map(|table| table.oid).collect();
    for table in tables {
        ctx.lock(table, RelationLockMode::Share)?;
        // Another transaction may have dropped it before it was locked.
        let Some(table) = ctx.catalog().relation(table).cloned() else { continue };
        table.indexes.iter().try_for_each(|index| lock_and_rebuild(ctx, *index))?;
    }
    Ok(())
}

/// Rebuilds an index of a locked table, unless it was dropped before the table was locked.
fn lock_and_rebuild(ctx: &mut DdlContext<'_>, index: Oid) -> Result<()> {
    ctx.lock(index, RelationLockMode::AccessExclusive)?;
    match ctx.catalog().relation(index).is_some() {
        true => rebuild(ctx, index),
        false => Ok(()),
    }
}

/// Builds one index anew in a new tree. The commit frees the old one.
pub(crate) fn rebuild(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<()> {
    let catalog = ctx.catalog();
    let index = catalog.relation(oid).ok_or_else(|| Error::internal("index has gone"))?;
    let table = index
        .index
        .as_ref()
        .and_then(|i| catalog.relation(i.table))
        .ok_or_else(|| Error::internal("index without a table"))?;
    if table.is_distributed() {
        return on_nodes::index_command(ctx, (table, index), "REINDEX INDEX");
    }
    let old = super::files_of(index);
    let mut index = (**index).clone();
    build_for(ctx, table, &mut index, "REINDEX")?;
    ctx.txn.drop_files_at_commit(&old);
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
