//! SELECT and its clauses.

use super::{Alias, Expr, FuncCall, Location, OperatorName, Persistence, RangeVar, TypeName};

/// SELECT, VALUES, TABLE, or a set operation over them, with the clauses that can
/// follow any of the three.
#[derive(Debug, PartialEq)]
pub struct SelectStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// The source of the rows.
    pub body: SelectBody,
    /// ORDER BY.
    pub order_by: Vec<SortBy>,
    /// OFFSET.
    pub offset: Option<Box<Expr>>,
    /// LIMIT or FETCH FIRST; LIMIT ALL is a NULL constant.
    pub limit: Option<Box<Expr>>,
    /// FETCH FIRST … WITH TIES.
    pub with_ties: bool,
    /// FOR UPDATE and its like.
    pub locking: Vec<LockingClause>,
}

impl SelectStmt {
    /// Whether it makes a table: SELECT INTO. With set operations INTO stands in the first of them.
    pub fn has_into(&self) -> bool {
        match &self.body {
            SelectBody::Select(core) => core.into.is_some(),
            SelectBody::SetOp(operation) => operation.left.has_into(),
            SelectBody::Values(_) => false,
        }
    }
}

impl Clone for SelectStmt {
    /// Every deep tree repeats this node or another with such a clone.
    fn clone(&self) -> SelectStmt {
        super::deeper(|| SelectStmt {
            with: self.with.clone(),
            body: self.body.clone(),
            order_by: self.order_by.clone(),
            offset: self.offset.clone(),
            limit: self.limit.clone(),
            with_ties: self.with_ties,
            locking: self.locking.clone(),
        })
    }
}

/// The source of the rows of a [`SelectStmt`].
#[derive(Clone, Debug, PartialEq)]
pub enum SelectBody {
    /// SELECT … FROM ….
    Select(Box<SelectCore>),
    /// VALUES (…), (…).
    Values(Vec<Vec<Expr>>),
    /// UNION, INTERSECT, EXCEPT.
    SetOp(Box<SetOperation>),
}

/// A set operation.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOperation {
    /// The operator.
    pub op: SetOperator,
    /// ALL.
    pub all: bool,
    /// Left operand.
    pub left: SelectStmt,
    /// Right operand.
    pub right: SelectStmt,
}

/// The set operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// UNION.
    Union,
    /// INTERSECT.
    Intersect,
    /// EXCEPT.
    Except,
}

/// A simple SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectCore {
    /// DISTINCT.
    pub distinct: Distinct,
    /// The select list; may be empty.
    pub targets: Vec<ResTarget>,
    /// SELECT INTO's table.
    pub into: Option<IntoClause>,
    /// FROM.
    pub from: Vec<FromItem>,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<GroupItem>,
    /// GROUP BY DISTINCT.
    pub group_distinct: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<WindowDef>,
}

/// The DISTINCT clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    /// `SELECT` without DISTINCT.
    No,
    /// DISTINCT.
    Rows,
    /// DISTINCT ON (…).
    On(Vec<Expr>),
}

/// An output column of SELECT or RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct ResTarget {
    /// AS name.
    pub name: Option<String>,
    /// The value; a star is a column reference that ends in one.
    pub value: Expr,
    /// Its place.
    pub location: Location,
}

/// SELECT INTO's and CREATE TABLE AS's target.
#[derive(Clone, Debug, PartialEq)]
pub struct IntoClause {
    /// The new table.
    pub relation: RangeVar,
    /// Column names; empty when not given.
    pub columns: Vec<String>,
    /// USING access method.
    pub access_method: Option<String>,
    /// WITH (…).
    pub options: Vec<super::DefElem>,
    /// ON COMMIT.
    pub on_commit: super::OnCommit,
    /// TABLESPACE.
    pub tablespace: Option<String>,
    /// DISTRIBUTE BY, TO.
    pub distribution: Option<Box<super::Distribution>>,
}

impl IntoClause {
    /// Persistence of the new table.
    pub fn persistence(&self) -> Persistence {
        self.relation.persistence
    }
}

/// WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct WithClause {
    /// RECURSIVE.
    pub recursive: bool,
    /// The queries, in order.
    pub ctes: Vec<CommonTableExpr>,
    /// The place of WITH.
    pub location: Location,
}

/// One query of a WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonTableExpr {
    /// Its name.
    pub name: String,
    /// Column aliases.
    pub columns: Vec<String>,
    /// `Some(true)` is MATERIALIZED, `Some(false)` is NOT MATERIALIZED.
    pub materialized: Option<bool>,
    /// SELECT, INSERT, UPDATE, DELETE or MERGE.
    pub query: Box<super::Statement>,
    /// SEARCH … SET.
    pub search: Option<CteSearch>,
    /// CYCLE … SET.
    pub cycle: Option<Box<CteCycle>>,
    /// The place of the name.
    pub location: Location,
}

/// SEARCH DEPTH|BREADTH FIRST BY columns SET column.
#[derive(Clone, Debug, PartialEq)]
pub struct CteSearch {
    /// BY.
    pub columns: Vec<String>,
    /// BREADTH rather than DEPTH.
    pub breadth_first: bool,
    /// SET.
    pub set_column: String,
    /// Its place.
    pub location: Location,
}

/// CYCLE columns SET mark TO value DEFAULT default USING path.
#[derive(Clone, Debug, PartialEq)]
pub struct CteCycle {
    /// The columns watched.
    pub columns: Vec<String>,
    /// SET.
    pub mark_column: String,
    /// TO.
    pub mark_value: Expr,
    /// DEFAULT.
    pub mark_default: Expr,
    /// USING.
    pub path_column: String,
    /// Its place.
    pub location: Location,
}

/// An item of FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    /// A table, view or CTE.
    Table(RangeVar),
    /// A subquery.
    Subquery(Box<RangeSubselect>),
    /// A function, or ROWS FROM (…).
    Function(Box<RangeFunction>),
    /// A join.
    Join(Box<JoinExpr>),
}

/// A subquery in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeSubselect {
    /// LATERAL.
    pub lateral: bool,
    /// The query.
    pub query: SelectStmt,
    /// AS alias; optional since PostgreSQL 16.
    pub alias: Option<Alias>,
}

/// Functions in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeFunction {
    /// LATERAL.
    pub lateral: bool,
    /// WITH ORDINALITY.
    pub ordinality: bool,
    /// ROWS FROM (…).
    pub rows_from: bool,
    /// The functions; one unless `rows_from`.
    pub functions: Vec<RangeFunctionItem>,
    /// AS alias.
    pub alias: Option<Alias>,
    /// AS (column type, …) for a function that returns record.
    pub column_defs: Vec<ColumnDefItem>,
}

/// One function of a [`RangeFunction`].
#[derive(Clone, Debug, PartialEq)]
pub struct RangeFunctionItem {
    /// The call: a [`FuncCall`], or another call-like expression that the grammar
    /// lets stand here (CURRENT_DATE, CAST …, COALESCE …).
    pub call: Expr,
    /// AS (column type, …) inside ROWS FROM.
    pub column_defs: Vec<ColumnDefItem>,
}

impl RangeFunctionItem {
    /// The call, when it is an ordinary one.
    pub fn func_call(&self) -> Option<&FuncCall> {
        match &self.call.kind {
            super::ExprKind::FuncCall(call) => Some(call),
            _ => None,
        }
    }
}

/// A column of a column definition list in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefItem {
    /// Name.
    pub name: String,
    /// Type.
    pub type_name: TypeName,
    /// COLLATE.
    pub collation: Option<super::ObjectName>,
    /// The place of the name.
    pub location: Location,
}

/// A join.
#[derive(Debug, PartialEq)]
pub struct JoinExpr {
    /// INNER (also CROSS), LEFT, FULL, RIGHT.
    pub kind: JoinKind,
    /// Left side.
    pub left: FromItem,
    /// Right side.
    pub right: FromItem,
    /// The join condition.
    pub condition: JoinCondition,
    /// Alias of the join as a whole.
    pub alias: Option<Alias>,
}

impl Clone for JoinExpr {
    /// Every deep tree repeats this node or another with such a clone.
    fn clone(&self) -> JoinExpr {
        super::deeper(|| JoinExpr {
            kind: self.kind,
            left: self.left.clone(),
            right: self.right.clone(),
            condition: self.condition.clone(),
            alias: self.alias.clone(),
        })
    }
}

/// The kinds of joins that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// INNER, CROSS.
    Inner,
    /// LEFT OUTER.
    Left,
    /// FULL OUTER.
    Full,
    /// RIGHT OUTER.
    Right,
}

/// The kind of a join.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// CROSS JOIN.
    Cross,
    /// NATURAL.
    Natural,
    /// ON.
    On(Expr),
    /// USING (columns) AS alias.
    Using {
        /// The columns.
        columns: Vec<String>,
        /// AS alias for just these columns.
        alias: Option<String>,
    },
}

/// An item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// An expression; an implicit row `(a, b)` stands for its fields.
    Expr(Expr),
    /// `()`.
    Empty,
    /// ROLLUP (…).
    Rollup(Vec<GroupItem>, Location),
    /// CUBE (…).
    Cube(Vec<GroupItem>, Location),
    /// GROUPING SETS (…).
    Sets(Vec<GroupItem>, Location),
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortBy {
    /// The key.
    pub expr: Expr,
    /// ASC, DESC, USING.
    pub direction: SortDirection,
    /// NULLS FIRST, NULLS LAST.
    pub nulls: NullsOrder,
    /// The place of USING's operator.
    pub location: Location,
}

/// Direction of a sort key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SortDirection {
    /// The default, ascending.
    #[default]
    Default,
    /// ASC.
    Asc,
    /// DESC.
    Desc,
    /// USING operator.
    Using(OperatorName),
}

/// The place of nulls in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NullsOrder {
    /// The default: last when ascending, first when descending.
    #[default]
    Default,
    /// NULLS FIRST.
    First,
    /// NULLS LAST.
    Last,
}

/// A window: named in WINDOW, or written in OVER.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowDef {
    /// In WINDOW: the name that is defined. In `OVER name`: the name referred to.
    pub name: Option<String>,
    /// `(base …)`: the window that this one extends.
    pub refname: Option<String>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<SortBy>,
    /// The frame; [`WindowFrame::default`] if it is absent.
    pub frame: WindowFrame,
    /// Its place.
    pub location: Location,
}

/// A window's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// Whether the frame was written.
    pub explicit: bool,
    /// With BETWEEN, which names the last row, too.
    pub between: bool,
    /// RANGE, ROWS, GROUPS.
    pub mode: FrameMode,
    /// First row.
    pub start: FrameBound,
    /// Last row.
    pub end: FrameBound,
    /// EXCLUDE.
    pub exclusion: FrameExclusion,
}

impl Default for WindowFrame {
    /// RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW.
    fn default() -> WindowFrame {
        WindowFrame {
            explicit: false,
            between: false,
            mode: FrameMode::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: FrameExclusion::NoOthers,
        }
    }
}

/// The unit of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameMode {
    /// RANGE.
    Range,
    /// ROWS.
    Rows,
    /// GROUPS.
    Groups,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// offset PRECEDING.
    Preceding(Box<Expr>),
    /// CURRENT ROW.
    CurrentRow,
    /// offset FOLLOWING.
    Following(Box<Expr>),
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
}

/// Rows left out of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameExclusion {
    /// EXCLUDE NO OTHERS.
    NoOthers,
    /// EXCLUDE CURRENT ROW.
    CurrentRow,
    /// EXCLUDE GROUP.
    Group,
    /// EXCLUDE TIES.
    Ties,
}

/// FOR UPDATE and its like.
#[derive(Clone, Debug, PartialEq)]
pub struct LockingClause {
    /// `OF` tables; empty means all.
    pub of: Vec<RangeVar>,
    /// The lock's strength.
    pub strength: LockStrength,
    /// The reaction to a locked row.
    pub wait_policy: LockWaitPolicy,
}

/// Row-lock strengths, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockStrength {
    /// FOR KEY SHARE.
    KeyShare,
    /// FOR SHARE.
    Share,
    /// FOR NO KEY UPDATE.
    NoKeyUpdate,
    /// FOR UPDATE.
    Update,
}

impl LockStrength {
    /// The clause as written, for messages ("FOR UPDATE is not allowed with …").
    pub fn as_str(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

/// The reaction to a locked row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LockWaitPolicy {
    /// Wait.
    #[default]
    Block,
    /// SKIP LOCKED.
    Skip,
    /// NOWAIT.
    Error,
}
