//! DDL: statements that change the catalog.
//!
//! A DDL statement locks what it changes, makes new versions of the objects, and creates or drops
//! their storage, in the session's transaction. Its end ([`DdlContext::run`]) writes them through
//! [`steppe_catalog::CatalogStore`]. Others see the result when the transaction commits; a rollback
//! undoes objects and storage.
//!
//! Statements run to their end in the calling thread. A statement waits for locks in its own thread
//! ([`steppe_functions::SessionHost::block_on`]) and reads rows there (scan.rs). A statement that
//! [`is_brief`] is short enough to run on the session's worker; for others the caller frees the
//! worker first.
//!
//! Sources: PostgreSQL's src/backend/commands (tablecmds.c, indexcmds.c,
//! sequence.c, dropcmds.c), parser/parse_utilcmd.c.

mod add_column;
mod alter;
mod analyze;
mod auto_analyze;
mod build;
mod cast;
mod cluster;
mod column_hints;
mod comment;
mod constraint;
mod context;
mod create_statistics;
mod create_view;
mod def_values;
pub(crate) mod depend;
mod direct;
pub mod distribute;
mod distribution;
mod drop;
mod drop_column;
mod drop_constraint;
mod expressions;
mod extension;
mod foreign_key;
mod function;
mod generated;
mod identity;
mod index;
mod inherit;
mod like;
mod meanings;
mod names;
mod node;
mod not_null;
mod notices;
pub mod of_function;
mod on_nodes;
mod open;
mod operator;
mod owner;
mod partition;
mod persistence;
mod redistribute;
mod references;
mod reloptions;
mod rename;
mod reservoir;
mod restricted;
mod retype;
mod sample;
mod scan;
mod schema;
mod sequence;
mod set_schema;
mod statistics;
mod table;
mod table_change;
mod tablespace;
mod temporary;
mod trigger;
mod types;
mod vacuum_options;
mod validate;
mod view;

pub use auto_analyze::{AutoAnalyzed, auto_analyze};
pub use context::{DdlContext, Origin};
pub use drop::truncated;
pub use index::reindexes_many;
pub use partition::{Detaching, begin_detach, convert, detaches_concurrently, finish_detach};
pub use table::{create_table_as, fill, is_made};
pub use temporary::{discard_temporary, drop_temporary_schemas, on_commit};

pub(crate) use names::{NameParts, relation_exists, truncate_name};

use steppe_catalog::Relation;
use steppe_sql::ast::{self, DiscardTarget, SetStmt, Statement};
use steppe_txn::FileId;
use steppe_types::{Error, Result};

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
            | Statement::CreateTrigger(_)
            | Statement::CreateFunction(_)
            | Statement::Define(_)
            | Statement::CreateCast(_)
            | Statement::AlterFunction(_)
            | Statement::AlterOperator(_)
            | Statement::CreateEnum(_)
            | Statement::AlterEnum(_)
            | Statement::CreateNode(_)
            | Statement::AlterNode(_)
            | Statement::DropNode(_)
            | Statement::CreateNodeGroup(_)
            | Statement::DropNodeGroup(_)
            | Statement::CreateDomain(_)
            | Statement::CreateComposite(_)
            | Statement::AlterDomain(_)
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

/// Whether the statement is short: it creates an object without rows, or drops objects whose
/// storage is freed later. It checks for interrupts between objects.
pub fn is_brief(statement: &Statement) -> bool {
    use ast::ObjectKind::{Index, Sequence, Table, View};
    match statement {
        Statement::CreateTable(_)
        | Statement::CreateSequence(_)
        | Statement::CreateView(_)
        | Statement::CreateEnum(_)
        | Statement::AlterEnum(_)
        | Statement::CreateSchema(_) => true,
        Statement::Drop(drop) => {
            !drop.concurrently && matches!(drop.kind, Index | Sequence | Table | View)
        }
        _ => false,
    }
}

/// The name of a DDL statement in messages.
pub fn command_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::CreateView(_) => "CREATE VIEW",
        Statement::CreateSchema(_) => "CREATE SCHEMA",
        Statement::CreateExtension(_) => "CREATE EXTENSION",
        Statement::CreateStatistics(_) => "CREATE STATISTICS",
        Statement::CreateTrigger(_) => "CREATE TRIGGER",
        Statement::CreateFunction(create) => match create.is_procedure {
            true => "CREATE PROCEDURE",
            false => "CREATE FUNCTION",
        },
        Statement::Define(define) => match define.kind {
            ast::ObjectKind::Aggregate => "CREATE AGGREGATE",
            _ => "CREATE OPERATOR",
        },
        Statement::CreateCast(_) => "CREATE CAST",
        Statement::AlterFunction(_) => "ALTER FUNCTION",
        Statement::AlterOperator(_) => "ALTER OPERATOR",
        Statement::CreateEnum(_) | Statement::CreateComposite(_) => "CREATE TYPE",
        Statement::AlterEnum(_) => "ALTER TYPE",
        Statement::CreateDomain(_) => "CREATE DOMAIN",
        Statement::CreateNode(_) => "CREATE NODE",
        Statement::AlterNode(_) => "ALTER NODE",
        Statement::DropNode(_) => "DROP NODE",
        Statement::CreateNodeGroup(_) => "CREATE NODE GROUP",
        Statement::DropNodeGroup(_) => "DROP NODE GROUP",
        Statement::AlterDomain(_) => "ALTER DOMAIN",
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
            ast::ObjectKind::Trigger => "DROP TRIGGER",
            ast::ObjectKind::Function => "DROP FUNCTION",
            ast::ObjectKind::Procedure => "DROP PROCEDURE",
            ast::ObjectKind::Routine => "DROP ROUTINE",
            ast::ObjectKind::Aggregate => "DROP AGGREGATE",
            ast::ObjectKind::Cast => "DROP CAST",
            ast::ObjectKind::Operator => "DROP OPERATOR",
            ast::ObjectKind::Type => "DROP TYPE",
            ast::ObjectKind::Domain => "DROP DOMAIN",
            _ => "DROP TABLE",
        },
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Comment(_) => "COMMENT",
        Statement::Reindex(_) => "REINDEX",
        Statement::Vacuum(vacuum) if !vacuum.is_vacuum => "ANALYZE",
        Statement::Vacuum(_) => "VACUUM",
        other => utility_name(other),
    }
}

/// The command of a statement without a plan that is no DDL.
fn utility_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::Copy(_) => "COPY",
        Statement::Call(_) => "CALL",
        Statement::Do(_) => "DO",
        Statement::Set(set) => match **set {
            SetStmt::Reset(_) | SetStmt::ResetAll => "RESET",
            _ => "SET",
        },
        Statement::Show(_) => "SHOW",
        Statement::SetConstraints(_) => "SET CONSTRAINTS",
        Statement::Discard(target) => match target {
            DiscardTarget::All => "DISCARD ALL",
            DiscardTarget::Plans => "DISCARD PLANS",
            DiscardTarget::Sequences => "DISCARD SEQUENCES",
            DiscardTarget::Temp => "DISCARD TEMP",
        },
        Statement::Prepare(_) => "PREPARE",
        Statement::Execute(_) => "EXECUTE",
        Statement::ExecuteDirect(_) => "EXECUTE DIRECT",
        Statement::Deallocate(_) => "DEALLOCATE",
        Statement::DeclareCursor(_) => "DECLARE CURSOR",
        Statement::Fetch(fetch) if fetch.is_move => "MOVE",
        Statement::Fetch(_) => "FETCH",
        Statement::Close(_) => "CLOSE CURSOR",
        Statement::Explain(_) => "EXPLAIN",
        Statement::Cluster(_) => "CLUSTER",
        Statement::Checkpoint => "CHECKPOINT",
        Statement::Lock(_) => "LOCK TABLE",
        Statement::Listen(_) => "LISTEN",
        Statement::Unlisten(_) => "UNLISTEN",
        Statement::Notify(_) => "NOTIFY",
        Statement::Load(_) => "LOAD",
        Statement::CreateTableAs(_) => "CREATE TABLE AS",
        Statement::Grant(_) => "GRANT",
        Statement::GrantRole(_) => "GRANT ROLE",
        _ => "this statement",
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
        Statement::CreateTrigger(create) => {
            trigger::create_trigger(ctx, create).map(|()| "CREATE TRIGGER")
        }
        Statement::CreateFunction(create) => function::create_function(ctx, create),
        Statement::Define(define) if define.kind == ast::ObjectKind::Aggregate => {
            function::create_aggregate(ctx, define)
        }
        Statement::Define(define) if define.kind == ast::ObjectKind::Operator => {
            operator::create_operator(ctx, define).map(|()| "CREATE OPERATOR")
        }
        Statement::Define(define) => {
            Err(Error::not_supported(format!("CREATE {}", define.kind.as_str())))
        }
        Statement::CreateCast(create) => cast::create_cast(ctx, create).map(|()| "CREATE CAST"),
        Statement::AlterFunction(stmt) => function::alter_function(ctx, stmt),
        Statement::AlterOperator(stmt) => {
            operator::alter_operator(ctx, stmt).map(|()| "ALTER OPERATOR")
        }
        Statement::CreateEnum(create) => types::create_enum(ctx, create).map(|()| "CREATE TYPE"),
        Statement::AlterEnum(alter) => types::alter_enum(ctx, alter).map(|()| "ALTER TYPE"),
        Statement::CreateComposite(create) => {
            types::create_composite(ctx, create).map(|()| "CREATE TYPE")
        }
        Statement::CreateDomain(create) => {
            types::create_domain(ctx, create).map(|()| "CREATE DOMAIN")
        }
        Statement::CreateNode(create) => node::create(ctx, create).map(|()| "CREATE NODE"),
        Statement::AlterNode(alter) => node::alter(ctx, alter).map(|()| "ALTER NODE"),
        Statement::DropNode(drop) => node::drop(ctx, drop).map(|()| "DROP NODE"),
        Statement::CreateNodeGroup(create) => {
            node::create_group(ctx, create).map(|()| "CREATE NODE GROUP")
        }
        Statement::DropNodeGroup(drop) => node::drop_group(ctx, drop).map(|()| "DROP NODE GROUP"),
        Statement::AlterDomain(alter) => types::alter_domain(ctx, alter).map(|()| "ALTER DOMAIN"),
        Statement::AlterTable(stmt) => alter::alter_table(ctx, stmt),
        Statement::AlterSequence(stmt) => {
            sequence::alter_sequence(ctx, stmt).map(|()| "ALTER SEQUENCE")
        }
        Statement::AlterStatistics(stmt) => {
            create_statistics::set_target(ctx, stmt).map(|()| "ALTER STATISTICS")
        }
        Statement::AlterOwner(stmt) => owner::alter_owner(ctx, stmt),
        Statement::AlterSchema(stmt) => set_schema::set_schema(ctx, stmt),
        Statement::Rename(rename) => rename::rename(ctx, rename),
        Statement::Drop(stmt) => drop::drop_objects(ctx, stmt),
        Statement::Truncate(truncate) => drop::truncate(ctx, truncate).map(|()| "TRUNCATE TABLE"),
        Statement::Comment(comment) => comment::comment(ctx, comment).map(|()| "COMMENT"),
        Statement::Vacuum(vacuum) => analyze::vacuum(ctx, vacuum),
        Statement::Reindex(reindex) => index::reindex(ctx, reindex).map(|()| "REINDEX"),
        _ => Err(Error::internal("statement is no DDL")),
    }
}

/// The files that belong to a relation.
pub(crate) fn files_of(relation: &Relation) -> Vec<FileId> {
    relation.storage.into_iter().chain(relation.overflow).collect()
}
