//! The statements.

use super::*;

/// A statement. Large ones are boxed so that the enum stays small.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE.
    Select(Box<SelectStmt>),
    /// INSERT.
    Insert(Box<InsertStmt>),
    /// UPDATE.
    Update(Box<UpdateStmt>),
    /// DELETE.
    Delete(Box<DeleteStmt>),
    /// MERGE.
    Merge(Box<MergeStmt>),
    /// COPY.
    Copy(Box<CopyStmt>),
    /// CALL.
    Call(Box<CallStmt>),
    /// DO.
    Do(DoStmt),
    /// BEGIN, COMMIT, ROLLBACK, SAVEPOINT ….
    Transaction(TransactionStmt),
    /// SET, RESET.
    Set(Box<SetStmt>),
    /// SHOW name; `all` is SHOW ALL.
    Show(String),
    /// SET CONSTRAINTS.
    SetConstraints(SetConstraintsStmt),
    /// DISCARD.
    Discard(DiscardTarget),
    /// PREPARE.
    Prepare(Box<PrepareStmt>),
    /// EXECUTE.
    Execute(Box<ExecuteStmt>),
    /// DEALLOCATE.
    Deallocate(DeallocateStmt),
    /// DECLARE CURSOR.
    DeclareCursor(Box<DeclareCursorStmt>),
    /// FETCH, MOVE.
    Fetch(FetchStmt),
    /// CLOSE; `None` is ALL.
    Close(Option<String>),
    /// EXPLAIN.
    Explain(Box<ExplainStmt>),
    /// VACUUM, ANALYZE.
    Vacuum(Box<VacuumStmt>),
    /// CLUSTER.
    Cluster(Box<ClusterStmt>),
    /// REINDEX.
    Reindex(Box<ReindexStmt>),
    /// CHECKPOINT.
    Checkpoint,
    /// LOCK TABLE.
    Lock(Box<LockStmt>),
    /// LISTEN.
    Listen(String),
    /// UNLISTEN; `None` is `*`.
    Unlisten(Option<String>),
    /// NOTIFY.
    Notify(NotifyStmt),
    /// LOAD.
    Load(String),
    /// CREATE TABLE.
    CreateTable(Box<CreateTableStmt>),
    /// CREATE TABLE AS, CREATE MATERIALIZED VIEW. (SELECT INTO stays a SELECT
    /// with [`SelectCore::into`].)
    CreateTableAs(Box<CreateTableAsStmt>),
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndexStmt>),
    /// CREATE VIEW.
    CreateView(Box<CreateViewStmt>),
    /// CREATE SEQUENCE.
    CreateSequence(Box<CreateSequenceStmt>),
    /// CREATE SCHEMA.
    CreateSchema(Box<CreateSchemaStmt>),
    /// CREATE FUNCTION, CREATE PROCEDURE.
    CreateFunction(Box<CreateFunctionStmt>),
    /// CREATE TRIGGER.
    CreateTrigger(Box<CreateTriggerStmt>),
    /// CREATE TYPE AS ENUM.
    CreateEnum(CreateEnumStmt),
    /// CREATE TYPE AS (…).
    CreateComposite(Box<CreateCompositeStmt>),
    /// CREATE TYPE AS RANGE.
    CreateRange(Box<CreateRangeStmt>),
    /// CREATE AGGREGATE, OPERATOR, TYPE, COLLATION ….
    Define(Box<DefineStmt>),
    /// ALTER OPERATOR.
    AlterOperator(Box<AlterOperatorStmt>),
    /// CREATE CAST.
    CreateCast(Box<CreateCastStmt>),
    /// CREATE DOMAIN.
    CreateDomain(Box<CreateDomainStmt>),
    /// CREATE ROLE, USER, GROUP.
    CreateRole(Box<CreateRoleStmt>),
    /// CREATE DATABASE.
    CreateDatabase(Box<CreateDatabaseStmt>),
    /// CREATE EXTENSION.
    CreateExtension(Box<CreateExtensionStmt>),
    /// CREATE STATISTICS.
    CreateStatistics(Box<CreateStatisticsStmt>),
    /// CREATE SERVER.
    CreateServer(Box<CreateServerStmt>),
    /// CREATE USER MAPPING, ALTER USER MAPPING.
    UserMapping(Box<UserMappingStmt>),
    /// CREATE NODE.
    CreateNode(Box<CreateNodeStmt>),
    /// ALTER NODE.
    AlterNode(Box<AlterNodeStmt>),
    /// DROP NODE.
    DropNode(DropNodeStmt),
    /// CREATE NODE GROUP.
    CreateNodeGroup(CreateNodeGroupStmt),
    /// DROP NODE GROUP.
    DropNodeGroup(DropNodeGroupStmt),
    /// EXECUTE DIRECT.
    ExecuteDirect(Box<ExecuteDirectStmt>),
    /// REFRESH MATERIALIZED VIEW.
    RefreshMatView(Box<RefreshMatViewStmt>),
    /// ALTER TABLE and its like.
    AlterTable(Box<AlterTableStmt>),
    /// ALTER SEQUENCE.
    AlterSequence(Box<AlterSequenceStmt>),
    /// ALTER DOMAIN.
    AlterDomain(Box<AlterDomainStmt>),
    /// ALTER TYPE … ADD VALUE.
    AlterEnum(AlterEnumStmt),
    /// ALTER FUNCTION.
    AlterFunction(Box<AlterFunctionStmt>),
    /// ALTER STATISTICS … SET STATISTICS.
    AlterStatistics(Box<AlterStatisticsStmt>),
    /// ALTER … RENAME.
    Rename(Box<RenameStmt>),
    /// ALTER … OWNER TO.
    AlterOwner(Box<AlterOwnerStmt>),
    /// ALTER … SET SCHEMA.
    AlterSchema(Box<AlterSchemaStmt>),
    /// ALTER ROLE.
    AlterRole(Box<AlterRoleStmt>),
    /// ALTER ROLE … SET, ALTER DATABASE … SET.
    AlterRoleSet(Box<AlterRoleSetStmt>),
    /// ALTER DATABASE.
    AlterDatabase(Box<AlterDatabaseStmt>),
    /// ALTER SYSTEM.
    AlterSystem(Box<AlterSystemStmt>),
    /// DROP.
    Drop(Box<DropStmt>),
    /// DROP ROLE.
    DropRole(DropRoleStmt),
    /// DROP DATABASE.
    DropDatabase(Box<DropDatabaseStmt>),
    /// DROP OWNED.
    DropOwned(DropOwnedStmt),
    /// REASSIGN OWNED.
    ReassignOwned(ReassignOwnedStmt),
    /// TRUNCATE.
    Truncate(Box<TruncateStmt>),
    /// COMMENT.
    Comment(Box<CommentStmt>),
    /// GRANT, REVOKE on objects.
    Grant(Box<GrantStmt>),
    /// GRANT role, REVOKE role.
    GrantRole(Box<GrantRoleStmt>),
    /// Any other statement: it raises 0A000 when it is run.
    Unsupported(UnsupportedStmt),
}
