//! Statements about the session, transactions, cursors and upkeep.

use super::{DefElem, DropBehavior, Expr, Location, RangeVar, Statement, TypeName};

/// BEGIN, COMMIT and their kin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStmt {
    /// BEGIN, START TRANSACTION.
    Begin {
        /// Its modes.
        modes: TransactionModes,
        /// START TRANSACTION was written: it is the command tag then.
        start: bool,
    },
    /// COMMIT, END.
    Commit {
        /// AND CHAIN.
        chain: bool,
    },
    /// ROLLBACK, ABORT.
    Rollback {
        /// AND CHAIN.
        chain: bool,
    },
    /// SAVEPOINT.
    Savepoint(String),
    /// RELEASE SAVEPOINT.
    Release(String),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(String),
    /// PREPARE TRANSACTION.
    Prepare(String),
    /// COMMIT PREPARED.
    CommitPrepared(String),
    /// ROLLBACK PREPARED.
    RollbackPrepared(String),
}

/// Transaction modes; an absent one is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY, READ WRITE.
    pub read_only: Option<bool>,
    /// \[NOT\] DEFERRABLE.
    pub deferrable: Option<bool>,
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    /// READ UNCOMMITTED: behaves as READ COMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// SET and RESET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetStmt {
    /// SET name = values; SET TIME ZONE and SET NAMES too.
    Value {
        /// The setting.
        name: String,
        /// Its values.
        values: Vec<SetValue>,
        /// LOCAL.
        local: bool,
    },
    /// SET name TO DEFAULT.
    Default {
        /// The setting.
        name: String,
        /// LOCAL.
        local: bool,
    },
    /// SET name FROM CURRENT, in CREATE FUNCTION.
    Current {
        /// The setting.
        name: String,
    },
    /// SET TRANSACTION.
    Transaction(TransactionModes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SessionCharacteristics(TransactionModes),
    /// SET TRANSACTION SNAPSHOT.
    TransactionSnapshot(String),
    /// RESET name.
    Reset(String),
    /// RESET ALL.
    ResetAll,
}

/// A value of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// An integer.
    Integer(i32),
    /// Any other number.
    Float(String),
    /// A string or a word; booleans come as words.
    String(String),
    /// SET TIME ZONE INTERVAL '…' with its type modifiers.
    Interval {
        /// The literal.
        value: String,
        /// INTERVAL with its fields.
        type_name: Box<TypeName>,
    },
}

impl SetValue {
    /// The value as SHOW's list syntax writes it.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            SetValue::Integer(value) => value.to_string().into(),
            SetValue::Float(value) | SetValue::String(value) => value.as_str().into(),
            SetValue::Interval { value, .. } => value.as_str().into(),
        }
    }
}

/// SET CONSTRAINTS.
#[derive(Clone, Debug, PartialEq)]
pub struct SetConstraintsStmt {
    /// The constraints; empty is ALL.
    pub constraints: Vec<RangeVar>,
    /// DEFERRED rather than IMMEDIATE.
    pub deferred: bool,
}

/// DISCARD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiscardTarget {
    /// ALL.
    All,
    /// PLANS.
    Plans,
    /// SEQUENCES.
    Sequences,
    /// TEMP.
    Temp,
}

/// PREPARE.
#[derive(Clone, Debug, PartialEq)]
pub struct PrepareStmt {
    /// Its name.
    pub name: String,
    /// Parameter types.
    pub arg_types: Vec<TypeName>,
    /// The statement.
    pub query: Box<Statement>,
}

/// EXECUTE.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteStmt {
    /// The prepared statement.
    pub name: String,
    /// Its parameters.
    pub args: Vec<Expr>,
}

/// DECLARE CURSOR.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursorStmt {
    /// The cursor.
    pub name: String,
    /// BINARY.
    pub binary: bool,
    /// `Some(true)` is SCROLL, `Some(false)` is NO SCROLL.
    pub scroll: Option<bool>,
    /// ASENSITIVE, INSENSITIVE.
    pub sensitivity: CursorSensitivity,
    /// WITH HOLD.
    pub hold: bool,
    /// FOR.
    pub query: Box<Statement>,
}

/// Whether a cursor sees later changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CursorSensitivity {
    /// The default.
    #[default]
    Default,
    /// INSENSITIVE.
    Insensitive,
    /// ASENSITIVE.
    Asensitive,
}

/// FETCH and MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchStmt {
    /// MOVE.
    pub is_move: bool,
    /// The cursor.
    pub cursor: String,
    /// The direction.
    pub direction: FetchDirection,
    /// The number of rows, or the number of the row; [`FETCH_ALL`] is ALL.
    pub count: i64,
}

/// [`FetchStmt::count`] of FETCH ALL.
pub const FETCH_ALL: i64 = i64::MAX;

/// Directions of FETCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchDirection {
    /// FORWARD, NEXT.
    Forward,
    /// BACKWARD, PRIOR.
    Backward,
    /// ABSOLUTE, FIRST, LAST (-1).
    Absolute,
    /// RELATIVE.
    Relative,
}

/// EXPLAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainStmt {
    /// The explained statement.
    pub query: Box<Statement>,
    /// `analyze`, `verbose`, `costs`, `buffers`, `format` ….
    pub options: Vec<DefElem>,
}

/// VACUUM and ANALYZE.
#[derive(Clone, Debug, PartialEq)]
pub struct VacuumStmt {
    /// VACUUM rather than ANALYZE.
    pub is_vacuum: bool,
    /// The options.
    pub options: Vec<DefElem>,
    /// The tables; empty is all.
    pub relations: Vec<VacuumRelation>,
}

/// A table of VACUUM.
#[derive(Clone, Debug, PartialEq)]
pub struct VacuumRelation {
    /// The table.
    pub relation: RangeVar,
    /// Its columns; empty is all.
    pub columns: Vec<String>,
}

/// CLUSTER.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterStmt {
    /// The table; all clustered ones when not given.
    pub relation: Option<RangeVar>,
    /// USING index.
    pub index: Option<String>,
    /// The options.
    pub options: Vec<DefElem>,
}

/// REINDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct ReindexStmt {
    /// The object.
    pub target: ReindexTarget,
    /// The options.
    pub options: Vec<DefElem>,
}

/// The object that REINDEX rebuilds.
#[derive(Clone, Debug, PartialEq)]
pub enum ReindexTarget {
    /// INDEX.
    Index(RangeVar),
    /// TABLE.
    Table(RangeVar),
    /// SCHEMA.
    Schema(String),
    /// SYSTEM.
    System(Option<String>),
    /// DATABASE.
    Database(Option<String>),
}

/// LOCK TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct LockStmt {
    /// The tables.
    pub relations: Vec<RangeVar>,
    /// IN … MODE.
    pub mode: LockMode,
    /// NOWAIT.
    pub nowait: bool,
}

/// Table-lock modes, weakest first; the numbers are PostgreSQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// ACCESS SHARE.
    AccessShare = 1,
    /// ROW SHARE.
    RowShare = 2,
    /// ROW EXCLUSIVE.
    RowExclusive = 3,
    /// SHARE UPDATE EXCLUSIVE.
    ShareUpdateExclusive = 4,
    /// SHARE.
    Share = 5,
    /// SHARE ROW EXCLUSIVE.
    ShareRowExclusive = 6,
    /// EXCLUSIVE.
    Exclusive = 7,
    /// ACCESS EXCLUSIVE.
    AccessExclusive = 8,
}

/// NOTIFY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyStmt {
    /// The channel.
    pub channel: String,
    /// The payload.
    pub payload: Option<String>,
}

/// DROP OWNED.
#[derive(Clone, Debug, PartialEq)]
pub struct DropOwnedStmt {
    /// BY.
    pub roles: Vec<super::RoleSpec>,
    /// CASCADE, RESTRICT.
    pub behavior: DropBehavior,
}

/// REASSIGN OWNED.
#[derive(Clone, Debug, PartialEq)]
pub struct ReassignOwnedStmt {
    /// BY.
    pub roles: Vec<super::RoleSpec>,
    /// TO.
    pub new_role: super::RoleSpec,
}

/// ALTER SYSTEM.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSystemStmt {
    /// The setting.
    pub setting: SetStmt,
}

/// DEALLOCATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeallocateStmt {
    /// The prepared statement; `None` is ALL.
    pub name: Option<String>,
    /// The place of the name.
    pub location: Location,
}

/// ALTER DATABASE … with options.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabaseStmt {
    /// The database.
    pub name: String,
    /// The options.
    pub options: Vec<DefElem>,
}
