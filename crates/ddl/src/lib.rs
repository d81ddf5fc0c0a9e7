//! DDL: statements that change the catalog.
//!
//! A DDL statement locks what it changes, makes new versions of the objects, and
//! creates or drops their storage, in the session's transaction. Its end
//! ([`DdlContext::run`]) writes them through [`CatalogStore`]. Others see the
//! result when the transaction commits; a rollback undoes objects and storage alike.
//!
//! Statements run to their end in the calling thread. Locks are waited for in place
//! ([`SessionHost::block_on`]), and rows are read so (scan.rs): what [`is_brief`] holds up
//! nobody. With others the caller sees to that.
//!
//! Sources: PostgreSQL's src/backend/commands (tablecmds.c, indexcmds.c,
//! sequence.c, dropcmds.c), parser/parse_utilcmd.c.

mod add_column;
mod alter;
mod analyze;
mod auto_analyze;
mod build;
mod cluster;
mod column_hints;
mod comment;
mod constraint;
mod context;
mod create_statistics;
mod create_view;
pub(crate) mod depend;
mod drop;
mod drop_column;
mod extension;
mod generated;
mod identity;
mod index;
mod inherit;
mod like;
mod misc;
mod not_null;
pub mod of_function;
mod partition;
mod persistence;
mod reloptions;
mod reservoir;
mod retype;
mod sample;
mod scan;
mod schema;
mod sequence;
mod set_schema;
mod statistics;
mod table;
mod temporary;
mod vacuum_options;
mod validate;
mod view;

pub use auto_analyze::{AutoAnalyzed, auto_analyze};
pub use context::Origin;
pub use index::reindexes_many;
pub use partition::{Detaching, begin_detach, convert, detaches_concurrently, finish_detach};
pub use table::{create_table_as, fill, is_made};
pub use temporary::{discard_temporary, drop_temporary_schemas, on_commit};

use std::sync::Arc;
use steppe_catalog::{
    Catalog, CatalogChanges, CatalogStore, NAME_BYTES_MAX, PG_CATALOG, RelKind, Relation,
    TEMPORARY_SCHEMA, object_name,
};
use steppe_counting::progress::Progress;
use steppe_functions::{FnContext, SessionHost};
use steppe_spill::TempSpace;
use steppe_sql::ast::{self, Location, RangeVar, Statement, TypeName};
use steppe_sql::bind::BindContext;
use steppe_sql::bind::typename::{TypeNames, reduced_precision};
use steppe_sql::expr::TypeRef;
use steppe_txn::{RelFileNumber, RelationLockMode, Txn};
use steppe_types::error::Severity;
use steppe_types::io::IoContext;
use steppe_types::{Error, Oid, Result, SqlState};

/// What a DDL statement runs with.
pub struct DdlContext<'a> {
    /// The stored catalog.
    pub store: &'a CatalogStore,
    /// The session's transaction.
    pub txn: &'a mut Txn,
    /// The transaction's catalog changes so far.
    pub pending: &'a mut Option<CatalogChanges>,
    /// Schemas of the search path, in order (pg_catalog included).
    pub search_path: Vec<Oid>,
    /// Schema that unqualified new objects go to.
    pub creation_schema: Option<Oid>,
    /// What the session's schema of temporary objects is called, whether or not it exists.
    pub temporary_schema: Arc<str>,
    /// Unqualified new objects go there.
    pub creates_temporary: bool,
    /// Settings that literals depend on.
    pub io: Arc<IoContext>,
    /// The statement's text, for error positions.
    pub source: &'a str,
    /// The session: notices and the like.
    pub session: Arc<dyn SessionHost>,
    /// maintenance_work_mem in bytes: what the build of an index may keep in memory.
    pub maintenance_work_mem_bytes: usize,
    /// default_statistics_target: how many values of a column, and bounds between them, ANALYZE
    /// keeps at most.
    pub statistics_target: usize,
    /// Where the rest of it goes.
    pub temp: Arc<TempSpace>,
    /// The lock on a partitioned table under which partitions are added to it.
    pub parent_lock: RelationLockMode,
    /// That of an index which is being created on partitions: what is built for them is part of it.
    pub spreading: Option<Arc<Progress>>,
    /// What the session's open cursors read.
    pub in_use: Vec<Oid>,
    /// The tables with keys that are checked when the transaction ends.
    pub pending_checks: Vec<Oid>,
}

/// Whether a statement is DDL that [`execute`] runs.
pub fn is_ddl(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateTable(_)
            | Statement::CreateIndex(_)
            | Statement::CreateSequence(_)
            | Statement::CreateView(_)
            | Statement::CreateSchema(_)
            | Statement::CreateExtension(_)
            | Statement::CreateStatistics(_)
            | Statement::AlterTable(_)
            | Statement::AlterSequence(_)
            | Statement::AlterStatistics(_)
            | Statement::AlterOwner(_)
            | Statement::AlterSchema(_)
            | Statement::Rename(_)
            | Statement::Drop(_)
            | Statement::Truncate(_)
            | Statement::Comment(_)
            | Statement::Vacuum(_)
            | Statement::Reindex(_)
    )
}

/// Whether a statement does nothing that takes long but what it does in place: it makes an object
/// that has no rows yet, or takes objects away, whose storage goes later, and asks for interrupts
/// between many of them.
pub fn is_brief(statement: &Statement) -> bool {
    use ast::ObjectKind::{Index, Sequence, Table, View};
    match statement {
        Statement::CreateTable(_)
        | Statement::CreateSequence(_)
        | Statement::CreateView(_)
        | Statement::CreateSchema(_) => true,
        Statement::Drop(drop) => {
            !drop.concurrently && matches!(drop.kind, Index | Sequence | Table | View)
        }
        _ => false,
    }
}

/// What a DDL statement is called in messages.
pub fn command_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::CreateView(_) => "CREATE VIEW",
        Statement::CreateSchema(_) => "CREATE SCHEMA",
        Statement::CreateExtension(_) => "CREATE EXTENSION",
        Statement::CreateStatistics(_) => "CREATE STATISTICS",
        Statement::AlterTable(_)
        | Statement::Rename(_)
        | Statement::AlterOwner(_)
        | Statement::AlterSchema(_) => "ALTER TABLE",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::AlterStatistics(_) => "ALTER STATISTICS",
        Statement::Drop(drop) => match drop.kind {
            ast::ObjectKind::Index => "DROP INDEX",
            ast::ObjectKind::Sequence => "DROP SEQUENCE",
            ast::ObjectKind::View => "DROP VIEW",
            ast::ObjectKind::Schema => "DROP SCHEMA",
            ast::ObjectKind::Extension => "DROP EXTENSION",
            ast::ObjectKind::Statistics => "DROP STATISTICS",
            _ => "DROP TABLE",
        },
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Comment(_) => "COMMENT",
        Statement::Reindex(_) => "REINDEX",
        _ => "VACUUM",
    }
}

/// Runs a DDL statement; returns its command tag.
pub fn execute(statement: &Statement, ctx: &mut DdlContext<'_>) -> Result<&'static str> {
    match statement {
        Statement::CreateTable(create) => table::create_table(ctx, create).map(|()| "CREATE TABLE"),
        Statement::CreateIndex(create) => index::create_index(ctx, create).map(|()| "CREATE INDEX"),
        Statement::CreateSequence(create) => {
            sequence::create_sequence(ctx, create).map(|()| "CREATE SEQUENCE")
        }
        Statement::CreateView(create) => {
            create_view::create_view(ctx, create).map(|()| "CREATE VIEW")
        }
        Statement::CreateSchema(create) => {
            schema::create_schema(ctx, create).map(|()| "CREATE SCHEMA")
        }
        Statement::CreateExtension(create) => {
            extension::create_extension(ctx, create).map(|()| "CREATE EXTENSION")
        }
        Statement::CreateStatistics(create) => {
            create_statistics::create_statistics(ctx, create).map(|()| "CREATE STATISTICS")
        }
        Statement::AlterTable(stmt) => alter::alter_table(ctx, stmt),
        Statement::AlterSequence(stmt) => {
            sequence::alter_sequence(ctx, stmt).map(|()| "ALTER SEQUENCE")
        }
        Statement::AlterStatistics(stmt) => {
            create_statistics::set_target(ctx, stmt).map(|()| "ALTER STATISTICS")
        }
        Statement::AlterOwner(stmt) => misc::alter_owner(ctx, stmt),
        Statement::AlterSchema(stmt) => set_schema::set_schema(ctx, stmt),
        Statement::Rename(rename) => misc::rename(ctx, rename),
        Statement::Drop(stmt) => drop::drop_objects(ctx, stmt),
        Statement::Truncate(truncate) => drop::truncate(ctx, truncate).map(|()| "TRUNCATE TABLE"),
        Statement::Comment(comment) => comment::comment(ctx, comment).map(|()| "COMMENT"),
        Statement::Vacuum(vacuum) => analyze::vacuum(ctx, vacuum),
        Statement::Reindex(reindex) => index::reindex(ctx, reindex).map(|()| "REINDEX"),
        _ => Err(Error::internal("statement is no DDL")),
    }
}

impl DdlContext<'_> {
    /// The transaction's catalog version, on top of the newest published one.
    pub fn catalog(&mut self) -> Arc<Catalog> {
        self.store.changes(self.pending).catalog().clone()
    }

    /// A relation, locked, as it is by now: this statement may have changed it on another way down.
    pub(crate) fn lock_current(
        &mut self,
        oid: Oid,
        mode: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        self.lock(oid, mode)?;
        let found = self.catalog().relation(oid).cloned();
        found.ok_or_else(|| Error::internal("a relation has gone"))
    }

    /// A table that gets an index, locked, as it is by now. SHARE lets others make indexes of it at
    /// the same time; the table's object has the list of them, which one changes after the other.
    pub(crate) fn lock_to_index(&mut self, oid: Oid) -> Result<Arc<Relation>> {
        self.lock(oid, RelationLockMode::Share)?;
        if let Some(wait) = self.store.lock_object(self.txn, oid)? {
            self.session.block_on(wait)?;
        }
        self.lock_current(oid, RelationLockMode::Share)
    }

    /// 55006 if a cursor of the session reads a relation that is about to be changed under it
    /// (CheckTableNotInUse). Those of other sessions hold locks.
    pub(crate) fn check_not_in_use(&self, relation: &Relation, command: &str) -> Result<()> {
        let why = if self.in_use.contains(&relation.oid) {
            "it is being used by active queries in this session"
        } else if self.pending_checks.contains(&relation.oid) {
            "it has pending trigger events"
        } else {
            return Ok(());
        };
        let message = format!("cannot {command} \"{}\" because {why}", relation.name);
        Err(Error::new(SqlState::OBJECT_IN_USE, message))
    }

    /// Adds or replaces a relation.
    pub fn put(&mut self, relation: impl Into<Arc<Relation>>) -> Result<()> {
        let relation = relation.into();
        if let Some(old) = self.catalog().relation(relation.oid) {
            self.session.relation_statistics().replaced(self.store.database(), old, &relation)?;
        }
        self.store.put_relation(self.store.changes(self.pending), relation);
        Ok(())
    }

    /// Removes a relation.
    pub(crate) fn remove(&mut self, oid: Oid) -> Result<()> {
        self.store.remove_relation(self.store.changes(self.pending), oid);
        Ok(())
    }

    /// Locks a relation, waiting in place.
    pub fn lock(&self, oid: Oid, mode: RelationLockMode) -> Result<()> {
        match self.txn.lock_relation(oid, mode)? {
            Some(wait) => self.session.block_on(wait),
            None => Ok(()),
        }
    }

    /// Keeps other transactions from using a name that is free, until this one ends.
    pub(crate) fn lock_name(&self, schema: Oid, name: &str) -> Result<()> {
        match self.store.lock_name(self.txn, schema, name)? {
            Some(wait) => self.session.block_on(wait),
            None => Ok(()),
        }
    }

    /// Runs a statement, and writes what it has changed.
    pub fn run<T>(&mut self, statement: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let done = statement(self)?;
        if let Some(changes) = self.pending {
            self.store.write(self.txn, changes)?;
        }
        Ok(done)
    }

    /// An error at a place in the statement.
    pub(crate) fn error(
        &self,
        sqlstate: SqlState,
        message: impl Into<String>,
        location: Location,
    ) -> Error {
        Error::new(sqlstate, message).at(location.position(self.source))
    }

    /// Sends a notice.
    pub(crate) fn notice(&self, message: String) {
        self.tell(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message);
    }

    /// Tells how the statement is carried out (DEBUG1).
    pub(crate) fn debug(&self, message: String) {
        self.tell(Severity::Debug, SqlState::SUCCESSFUL_COMPLETION, message);
    }

    /// Sends a warning.
    pub(crate) fn warn(&self, sqlstate: SqlState, message: String) {
        self.tell(Severity::Warning, sqlstate, message);
    }

    /// Warns of a precision that is reduced; with a place while the statement is looked at, and
    /// once more when it is done, as PostgreSQL does.
    pub(crate) fn warn_of_precision(&self, name: &ast::TypeName, at: Location) {
        if let Some(warning) = reduced_precision(name) {
            self.session.notice(warning.at(at.position(self.source)));
        }
    }

    /// Sends a notice with a detail.
    pub(crate) fn notice_with(&self, message: String, detail: String) {
        let notice = Error::new(SqlState::SUCCESSFUL_COMPLETION, message).detail(detail);
        self.session.notice(notice.severity(Severity::Notice));
    }

    /// The error that something is missing, or the notice in its place if IF EXISTS was said.
    pub(crate) fn skip_missing(&self, if_exists: bool, missing: Error) -> Result<()> {
        if !if_exists {
            return Err(missing);
        }
        self.notice(format!("{}, skipping", missing.message()));
        Ok(())
    }

    /// The error that something is there already, or the notice in its place, of the same SQLSTATE,
    /// if IF NOT EXISTS was said.
    pub(crate) fn skip_present(&self, if_not_exists: bool, present: Error) -> Result<()> {
        if !if_not_exists {
            return Err(present);
        }
        let message = format!("{}, skipping", present.message());
        self.tell(Severity::Notice, present.sqlstate(), message);
        Ok(())
    }

    fn tell(&self, severity: Severity, sqlstate: SqlState, message: String) {
        self.session.notice(Error::new(sqlstate, message).severity(severity));
    }

    /// The schema a new object goes to: named, or the first of the search path.
    pub(crate) fn target_schema(&mut self, name: &RangeVar) -> Result<Oid> {
        name.check_database()?;
        let temporary = name.persistence == ast::Persistence::Temporary;
        let own =
            |schema: &String| *schema == TEMPORARY_SCHEMA || **schema == *self.temporary_schema;
        match &name.schema {
            Some(schema) if own(schema) && name.persistence == ast::Persistence::Unlogged => {
                Err(self.error(
                    SqlState::INVALID_TABLE_DEFINITION,
                    "only temporary relations may be created in temporary schemas",
                    name.location,
                ))
            }
            Some(schema) if own(schema) => self.own_temporary_schema(),
            None if temporary || self.creates_temporary => self.own_temporary_schema(),
            Some(_) if temporary => Err(self.error(
                SqlState::INVALID_TABLE_DEFINITION,
                "cannot create temporary relation in non-temporary schema",
                name.location,
            )),
            Some(schema) => {
                let found = self.catalog().schema_named(schema).map(|s| s.oid);
                let oid = found.ok_or_else(|| {
                    self.error(
                        SqlState::INVALID_SCHEMA_NAME,
                        format!("schema \"{schema}\" does not exist"),
                        name.location,
                    )
                })?;
                if oid == PG_CATALOG {
                    return Err(Error::new(
                        SqlState::INSUFFICIENT_PRIVILEGE,
                        format!("permission denied to create \"pg_catalog.{}\"", name.name),
                    )
                    .detail("System catalog modifications are currently disallowed."));
                }
                Ok(oid)
            }
            None => self.creation_schema.ok_or_else(|| {
                self.error(
                    SqlState::INVALID_SCHEMA_NAME,
                    "no schema has been selected to create in",
                    name.location,
                )
            }),
        }
    }

    /// Reserves a new relation's name; `None`: it exists and `if_not_exists` says that's fine.
    pub(crate) fn new_name(
        &mut self,
        name: &RangeVar,
        if_not_exists: bool,
    ) -> Result<Option<(Oid, String)>> {
        let schema = self.target_schema(name)?;
        let short = truncate_name(&name.name).to_string();
        self.lock_name(schema, &short)?;
        if self.catalog().relation_named(schema, &short).is_none() {
            return Ok(Some((schema, short)));
        }
        self.skip_present(if_not_exists, relation_exists(&short))?;
        Ok(None)
    }

    /// A free name made of parts, as PostgreSQL's ChooseRelationName: `t_a_key`, `t_a_key1` ….
    pub(crate) fn choose_name(&mut self, schema: Oid, parts: (&str, &str, &str)) -> Result<String> {
        self.choose_free_name(schema, parts, false)
    }

    /// As [`DdlContext::choose_name`], for the index of a constraint that is called the same.
    pub(crate) fn choose_key_name(
        &mut self,
        schema: Oid,
        parts: (&str, &str, &str),
    ) -> Result<String> {
        self.choose_free_name(schema, parts, true)
    }

    fn choose_free_name(
        &mut self,
        schema: Oid,
        (first, second, label): (&str, &str, &str),
        is_key: bool,
    ) -> Result<String> {
        for pass in 0u32.. {
            let label = match pass {
                0 => label.to_string(),
                n => format!("{label}{n}"),
            };
            let name = object_name(first, second, &label);
            self.lock_name(schema, &name)?;
            let catalog = self.catalog();
            let is_free = match is_key {
                true => catalog.is_free_for_key(schema, &name),
                false => catalog.relation_named(schema, &name).is_none(),
            };
            if is_free {
                return Ok(name);
            }
        }
        Err(Error::internal("no free name was found"))
    }

    /// A type by its name as written: 42704.
    pub(crate) fn resolve_type(&mut self, name: &TypeName) -> Result<TypeRef> {
        let catalog = self.catalog();
        TypeNames { catalog: &catalog, path: &self.search_path }.resolve(name)
    }

    /// The SQL name of a type, for messages.
    pub(crate) fn format_type(&mut self, type_oid: Oid) -> String {
        let catalog = self.catalog();
        TypeNames { catalog: &catalog, path: &self.search_path }.format(type_oid, -1)
    }

    /// Finds a relation by name along the search path.
    pub(crate) fn find(&mut self, name: &RangeVar) -> Result<Option<Arc<Relation>>> {
        name.check_database()?;
        let catalog = self.catalog();
        Ok(catalog.relation_in(name.schema.as_deref(), &name.name, &self.search_path).cloned())
    }

    /// Finds and locks a relation: 42P01. After a wait it is looked up again, since it may have
    /// been dropped, renamed or changed meanwhile.
    pub(crate) fn open(
        &mut self,
        name: &RangeVar,
        mode: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        self.try_open(name, mode)?.ok_or_else(|| name.undefined())
    }

    /// As [`DdlContext::open`]; `None` if there is no such relation.
    pub(crate) fn try_open(
        &mut self,
        name: &RangeVar,
        mode: RelationLockMode,
    ) -> Result<Option<Arc<Relation>>> {
        loop {
            let Some(found) = self.find(name)? else { return Ok(None) };
            self.lock(found.oid, mode)?;
            match self.find(name)? {
                Some(now) if now.oid == found.oid => return Ok(Some(now)),
                _ => continue,
            }
        }
    }

    /// Finds and locks a table that can be changed: 42809 for other kinds.
    pub(crate) fn open_table(
        &mut self,
        name: &RangeVar,
        mode: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        let relation = self.open(name, mode)?;
        match relation.kind {
            RelKind::Table | RelKind::PartitionedTable => Ok(relation),
            RelKind::Virtual => Err(misc::system_catalog(&relation)),
            _ => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a table", relation.name),
            )),
        }
    }

    /// Names the table in an integrity violation (class 23) that its rows caused.
    pub(crate) fn naming<T>(&mut self, table: &Relation, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            let violation = error.sqlstate().as_str().starts_with("23");
            if !violation || error.fields().table.is_some() {
                return error;
            }
            let catalog = self.catalog();
            let schema = catalog.schema(table.schema).map_or("public", |s| &s.name);
            error.table(schema, &table.name)
        })
    }

    /// What functions see.
    pub(crate) fn functions(&mut self) -> FnContext {
        let now = self.session.clock_timestamp();
        FnContext {
            session: self.session.clone(),
            io: self.io.clone(),
            catalog: self.catalog(),
            statement_timestamp: now,
            transaction_timestamp: now,
        }
    }

    /// Runs `f` with a binding context over the current catalog.
    pub(crate) fn binding<T>(
        &mut self,
        f: impl FnOnce(&BindContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let catalog = self.catalog();
        let ctx = BindContext {
            catalog: &catalog,
            search_path: &self.search_path,
            io: &self.io,
            source: self.source,
        };
        f(&ctx)
    }
}

/// Names are cut to 63 bytes, at a character's start.
pub(crate) fn truncate_name(name: &str) -> &str {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let end = (0..=NAME_BYTES_MAX).rev().find(|i| name.is_char_boundary(*i)).unwrap_or(0);
    &name[..end]
}

/// The files that belong to a relation.
pub(crate) fn files_of(relation: &Relation) -> Vec<RelFileNumber> {
    relation.storage.into_iter().chain(relation.overflow).collect()
}

/// 42P07: a relation has the name already.
pub(crate) fn relation_exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}
