//! Statements by kind.

use steppe_types::SqlState;
use steppe_types::error::Severity;

use crate::conditions::Condition;
use crate::tree::{Scroll, SlotId, Sql};

/// The kind of thing that has a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A block.
    Block,
    /// A loop.
    Loop,
    /// The function itself, or a cursor's arguments.
    Other,
}

/// A statement and its line in the body.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its line, from 1; 0 for the RETURN that the parser adds to the end of a body.
    pub line: u32,
    /// Its kind.
    pub kind: StatementKind,
}

/// A statement's kind and parts.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A block in the block.
    Block(Box<Block>),
    /// `target := expression`: the SQL holds both sides, the slot is the variable of the left.
    Assign {
        /// The variable.
        slot: SlotId,
        /// The SQL.
        sql: Sql,
    },
    /// IF with its ELSIFs and its ELSE.
    If {
        /// IF and the ELSIFs.
        branches: Vec<Branch>,
        /// The ELSE; empty without one.
        otherwise: Vec<Statement>,
    },
    /// CASE.
    Case(Box<Case>),
    /// LOOP.
    Loop {
        /// Its label.
        label: Option<String>,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// WHILE.
    While {
        /// Its label.
        label: Option<String>,
        /// The condition.
        condition: Sql,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// FOR over integers.
    ForInteger(Box<ForInteger>),
    /// FOR over the rows of a query, of a dynamic one, or of a cursor.
    ForRows(Box<ForRows>),
    /// FOREACH over an array.
    ForEach(Box<ForEach>),
    /// EXIT or CONTINUE.
    Exit {
        /// EXIT, not CONTINUE.
        exit: bool,
        /// Its label.
        label: Option<String>,
        /// The condition.
        condition: Option<Sql>,
    },
    /// RETURN.
    Return(Returned),
    /// RETURN NEXT.
    ReturnNext(Returned),
    /// RETURN QUERY.
    ReturnQuery(Query),
    /// RAISE.
    Raise(Box<Raise>),
    /// ASSERT.
    Assert {
        /// The condition.
        condition: Sql,
        /// The error's message.
        message: Option<Sql>,
    },
    /// Any statement of SQL, with INTO or without.
    Execute {
        /// The SQL.
        sql: Sql,
        /// The target of the first row.
        into: Option<IntoClause>,
    },
    /// EXECUTE.
    ExecuteDynamic {
        /// The query.
        query: Sql,
        /// The target of the first row.
        into: Option<IntoClause>,
        /// The values of its parameters.
        parameters: Vec<Sql>,
    },
    /// PERFORM: its SQL is a SELECT.
    Perform(Sql),
    /// CALL or DO.
    Call {
        /// The SQL.
        sql: Sql,
        /// CALL, not DO.
        call: bool,
    },
    /// GET DIAGNOSTICS.
    GetDiagnostics {
        /// STACKED: the error at hand is asked about.
        stacked: bool,
        /// Each variable and what it gets.
        items: Vec<(SlotId, DiagnosticsItem)>,
    },
    /// OPEN.
    Open {
        /// The cursor.
        cursor: SlotId,
        /// The query.
        query: OpenQuery,
    },
    /// FETCH or MOVE.
    Fetch(Box<Fetch>),
    /// CLOSE.
    Close(SlotId),
    /// COMMIT or ROLLBACK.
    EndTransaction {
        /// COMMIT, not ROLLBACK.
        commit: bool,
        /// AND CHAIN: a transaction like it begins.
        chain: bool,
    },
}

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The line of its BEGIN.
    pub line: u32,
    /// Its label.
    pub label: Option<String>,
    /// The variables that it declares: they get their defaults when it is entered.
    pub declared: Vec<SlotId>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// Its exception section.
    pub exceptions: Option<Exceptions>,
}

/// An exception section.
#[derive(Clone, Debug)]
pub struct Exceptions {
    /// `SQLSTATE`.
    pub sqlstate: SlotId,
    /// `SQLERRM`.
    pub sqlerrm: SlotId,
    /// Its handlers, in order.
    pub handlers: Vec<Handler>,
}

/// `WHEN condition OR … THEN statements`
#[derive(Clone, Debug)]
pub struct Handler {
    /// Its line.
    pub line: u32,
    /// The conditions, any of which it catches.
    pub conditions: Vec<Condition>,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// Statements under a condition.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its line.
    pub line: u32,
    /// The condition.
    pub condition: Sql,
    /// The statements.
    pub body: Vec<Statement>,
}

/// CASE.
#[derive(Clone, Debug)]
pub struct Case {
    /// The value that is compared, and the variable that holds it. Each condition is then
    /// `"variable" IN (values)`. The variable is declared as an integer and takes the type of
    /// the value when it runs.
    pub subject: Option<(Sql, SlotId)>,
    /// The WHENs.
    pub branches: Vec<Branch>,
    /// The ELSE, which may be empty. Without one it is an error that no WHEN holds.
    pub otherwise: Option<Vec<Statement>>,
}

/// FOR over integers.
#[derive(Clone, Debug)]
pub struct ForInteger {
    /// The loop's label.
    pub label: Option<String>,
    /// Its variable.
    pub variable: SlotId,
    /// Whether it counts down.
    pub reverse: bool,
    /// The first value.
    pub first: Sql,
    /// The last value.
    pub last: Sql,
    /// The step.
    pub step: Option<Sql>,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// FOR over rows.
#[derive(Clone, Debug)]
pub struct ForRows {
    /// The loop's label.
    pub label: Option<String>,
    /// The record, or the row of scalars, that takes each row.
    pub target: SlotId,
    /// Where the rows are from.
    pub source: RowSource,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// Where the rows of a loop are from.
#[derive(Clone, Debug)]
pub enum RowSource {
    /// A query.
    Query(Query),
    /// A bound cursor and its arguments.
    Cursor {
        /// The cursor.
        cursor: SlotId,
        /// The cursor's arguments.
        arguments: Option<Sql>,
    },
}

/// FOREACH.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// The loop's label.
    pub label: Option<String>,
    /// The variable, record or row that takes each element.
    pub target: SlotId,
    /// The number of dimensions of each slice; 0 for single elements.
    pub slice: i32,
    /// The array.
    pub array: Sql,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// The result of a RETURN.
#[derive(Clone, Debug)]
pub enum Returned {
    /// A RETURN alone.
    Nothing,
    /// The value of a variable, or of the OUT arguments.
    Variable(SlotId),
    /// The value of an expression.
    Expression(Sql),
}

/// A query, written or made.
#[derive(Clone, Debug)]
pub enum Query {
    /// A query.
    Static(Sql),
    /// The text of a query, and its parameters.
    Dynamic {
        /// The text.
        text: Sql,
        /// The values of its parameters.
        parameters: Vec<Sql>,
    },
}

/// An INTO clause.
#[derive(Clone, Copy, Debug)]
pub struct IntoClause {
    /// The record, or the row of scalars.
    pub target: SlotId,
    /// Whether there has to be exactly one row.
    pub strict: bool,
}

/// RAISE.
#[derive(Clone, Debug)]
pub struct Raise {
    /// The level. `Error` for EXCEPTION and for none.
    pub level: RaiseLevel,
    /// The condition that was named, and its code.
    pub condition: Option<(String, SqlState)>,
    /// The format of the message.
    pub format: Option<String>,
    /// The value for each `%` of the format.
    pub parameters: Vec<Sql>,
    /// The USING options.
    pub options: Vec<(RaiseOption, Sql)>,
}

impl Raise {
    /// Whether it is a bare RAISE, which raises the error at hand again.
    pub fn is_again(&self) -> bool {
        self.condition.is_none() && self.format.is_none() && self.options.is_empty()
    }
}

/// A level of RAISE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseLevel {
    /// To the client, or an error.
    Client(Severity),
    /// LOG: to the server's log.
    Log,
}

/// An option of RAISE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RaiseOption {
    Errcode,
    Message,
    Detail,
    Hint,
    Column,
    Constraint,
    Datatype,
    Table,
    Schema,
}

/// An item of GET DIAGNOSTICS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DiagnosticsItem {
    RowCount,
    RoutineOid,
    Context,
    ExceptionContext,
    ExceptionDetail,
    ExceptionHint,
    ReturnedSqlstate,
    ColumnName,
    ConstraintName,
    DatatypeName,
    MessageText,
    TableName,
    SchemaName,
}

/// The query of an OPEN.
#[derive(Clone, Debug)]
pub enum OpenQuery {
    /// The bound query, with the cursor's arguments.
    Bound {
        /// The cursor's arguments.
        arguments: Option<Sql>,
    },
    /// A query given here.
    Given {
        /// Whether it can move backward.
        scroll: Scroll,
        /// The query.
        query: Query,
    },
}

/// FETCH or MOVE.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The cursor.
    pub cursor: SlotId,
    /// The row's target; `None` for MOVE.
    pub target: Option<SlotId>,
    /// The direction.
    pub direction: Direction,
    /// How far.
    pub count: FetchCount,
}

/// A direction of FETCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// FORWARD, NEXT and none.
    Forward,
    /// BACKWARD, PRIOR.
    Backward,
    /// ABSOLUTE, FIRST, LAST.
    Absolute,
    /// RELATIVE.
    Relative,
}

/// How far FETCH moves.
#[derive(Clone, Debug)]
pub enum FetchCount {
    /// This number of rows.
    Number(i64),
    /// All rows.
    All,
    /// As many as an expression says.
    Expression(Sql),
}

impl StatementKind {
    /// The name of the statement in a CONTEXT line.
    pub fn name(&self) -> &'static str {
        match self {
            StatementKind::Block(_) => "statement block",
            StatementKind::Assign { .. } => "assignment",
            StatementKind::If { .. } => "IF",
            StatementKind::Case(_) => "CASE",
            StatementKind::Loop { .. } => "LOOP",
            StatementKind::While { .. } => "WHILE",
            StatementKind::ForInteger(_) => "FOR with integer loop variable",
            StatementKind::ForRows(rows) => match &rows.source {
                RowSource::Query(Query::Static(_)) => "FOR over SELECT rows",
                RowSource::Query(Query::Dynamic { .. }) => "FOR over EXECUTE statement",
                RowSource::Cursor { .. } => "FOR over cursor",
            },
            StatementKind::ForEach(_) => "FOREACH over array",
            StatementKind::Exit { exit: true, .. } => "EXIT",
            StatementKind::Exit { exit: false, .. } => "CONTINUE",
            StatementKind::Return(_) => "RETURN",
            StatementKind::ReturnNext(_) => "RETURN NEXT",
            StatementKind::ReturnQuery(_) => "RETURN QUERY",
            StatementKind::Raise(_) => "RAISE",
            StatementKind::Assert { .. } => "ASSERT",
            StatementKind::Execute { .. } => "SQL statement",
            StatementKind::ExecuteDynamic { .. } => "EXECUTE",
            StatementKind::Perform(_) => "PERFORM",
            StatementKind::Call { call: true, .. } => "CALL",
            StatementKind::Call { call: false, .. } => "DO",
            StatementKind::GetDiagnostics { stacked: true, .. } => "GET STACKED DIAGNOSTICS",
            StatementKind::GetDiagnostics { stacked: false, .. } => "GET DIAGNOSTICS",
            StatementKind::Open { .. } => "OPEN",
            StatementKind::Fetch(fetch) if fetch.target.is_none() => "MOVE",
            StatementKind::Fetch(_) => "FETCH",
            StatementKind::Close(_) => "CLOSE",
            StatementKind::EndTransaction { commit: true, .. } => "COMMIT",
            StatementKind::EndTransaction { commit: false, .. } => "ROLLBACK",
        }
    }
}

impl DiagnosticsItem {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            DiagnosticsItem::RowCount => "ROW_COUNT",
            DiagnosticsItem::RoutineOid => "PG_ROUTINE_OID",
            DiagnosticsItem::Context => "PG_CONTEXT",
            DiagnosticsItem::ExceptionContext => "PG_EXCEPTION_CONTEXT",
            DiagnosticsItem::ExceptionDetail => "PG_EXCEPTION_DETAIL",
            DiagnosticsItem::ExceptionHint => "PG_EXCEPTION_HINT",
            DiagnosticsItem::ReturnedSqlstate => "RETURNED_SQLSTATE",
            DiagnosticsItem::ColumnName => "COLUMN_NAME",
            DiagnosticsItem::ConstraintName => "CONSTRAINT_NAME",
            DiagnosticsItem::DatatypeName => "PG_DATATYPE_NAME",
            DiagnosticsItem::MessageText => "MESSAGE_TEXT",
            DiagnosticsItem::TableName => "TABLE_NAME",
            DiagnosticsItem::SchemaName => "SCHEMA_NAME",
        }
    }
}
