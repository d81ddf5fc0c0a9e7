//! The bound query tree, which the binder hands to the planner (PostgreSQL's `Query`,
//! src/include/nodes/parsenodes.h).

pub use crate::ast::{FrameExclusion, FrameMode, Overriding};
use crate::expr::{Expr, Place, SortKey, TypeRef};
use std::fmt;
use std::sync::Arc;
use steppe_catalog::system::definitions::{OpclassId, quote_identifier};
use steppe_catalog::{FunctionRef, Relation};
use steppe_types::{Oid, oid};

/// The kind of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Command {
    /// SELECT, VALUES, set operations
    #[default]
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

/// The cursor of WHERE CURRENT OF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorName {
    /// The one of this name.
    Given(Arc<str>),
    /// The one whose name is the value of a function's variable of type refcursor.
    Variable {
        /// The variable's place among the values that a run of the function's statement is given.
        number: usize,
        /// The parameter of the plan that it is.
        param: usize,
    },
}

impl fmt::Display for CursorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CursorName::Given(name) => write!(f, "CURRENT OF {}", quote_identifier(name)),
            CursorName::Variable { number, .. } => write!(f, "CURRENT OF ${}", number + 1),
        }
    }
}

/// A bound SELECT, INSERT, UPDATE or DELETE. Two are equal if they have the same parts, wherever
/// they were written (GROUP BY recognises a repeated sub-select by it).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Its kind.
    pub command: Command,
    /// Range table; [`Expr::Var`]s index it.
    pub rtes: Vec<Rte>,
    /// FROM, joined by cross product. `Var`s inside refer to `rtes`.
    pub from: Vec<FromItem>,
    /// WHERE
    pub filter: Option<Expr>,
    /// The target list. SELECT: the output columns. INSERT: the full row in column order, unless it
    /// is to be printed. UPDATE: see `assignments`.
    pub targets: Vec<Target>,
    /// GROUP BY expressions.
    pub group_by: Vec<Expr>,
    /// GROUPING SETS and its kin: the sets, each as positions in `group_by`.
    pub grouping_sets: Option<Vec<Vec<usize>>>,
    /// Whether there is any aggregate, GROUP BY or HAVING.
    pub has_aggregates: bool,
    /// The primary keys by which columns may stand beside aggregates that are not grouped: OIDs
    /// of the constraints.
    pub determining_keys: Vec<Oid>,
    /// HAVING
    pub having: Option<Expr>,
    /// Each node computes it over its own rows, and the rows are those of all. The planner has made it.
    pub on_nodes: bool,
    /// DISTINCT
    pub distinct: Distinct,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// Windows that the targets' calls refer to.
    pub windows: Vec<WindowClause>,
    /// LIMIT (bigint; NULL means none)
    pub limit: Option<Expr>,
    /// OFFSET (bigint)
    pub offset: Option<Expr>,
    /// WITH TIES
    pub with_ties: bool,
    /// FOR UPDATE and its kin.
    pub row_locks: Vec<RowLockClause>,
    /// UNION/INTERSECT/EXCEPT: `from`, `filter`, grouping are then empty and `targets` are the
    /// output columns over the first leaf.
    pub set_operation: Option<SetOperation>,
    /// VALUES lists: rows of equal width (`rtes` may be referred to by lateral use).
    pub ctes: Vec<Cte>,
    /// Target relation of INSERT/UPDATE/DELETE: an index into `rtes`.
    pub result_relation: Option<usize>,
    /// UPDATE and DELETE: the cursor of WHERE CURRENT OF.
    pub current_of: Option<CursorName>,
    /// UPDATE, and an INSERT that is to be printed: (column index 0-based, new value over the range
    /// table).
    pub assignments: Vec<(usize, Expr)>,
    /// INSERT: OVERRIDING.
    pub overriding: Overriding,
    /// WITH CHECK OPTION of views that the target is reached through: name, and a condition on
    /// the new row.
    pub view_checks: Vec<(Arc<str>, Expr)>,
    /// INSERT … ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING
    pub returning: Vec<Target>,
    /// The row's versions, if RETURNING names one.
    pub returning_versions: Option<ReturningVersions>,
}

/// The entries, over the target's columns, of the row before and after its change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturningVersions {
    /// `old`, unless the name means something else.
    pub old: Option<usize>,
    /// `new`, unless the name means something else.
    pub new: Option<usize>,
}

impl ReturningVersions {
    /// Both entries.
    pub fn entries(&self) -> impl Iterator<Item = usize> + use<> {
        self.old.into_iter().chain(self.new)
    }
}

impl Query {
    /// The columns that it yields: a data-modifying statement's are those of RETURNING.
    pub fn output(&self) -> &[Target] {
        match self.command {
            Command::Select => &self.targets,
            _ => &self.returning,
        }
    }

    /// The entries that FROM joins, from left to right.
    pub(crate) fn entries_of_from(&self) -> Vec<usize> {
        self.from.iter().flat_map(FromItem::entries).collect()
    }

    /// [`Self::output`], to be changed.
    pub fn output_mut(&mut self) -> &mut Vec<Target> {
        match self.command {
            Command::Select => &mut self.targets,
            _ => &mut self.returning,
        }
    }
}

/// One output column.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its value.
    pub expr: Expr,
    /// Its name.
    pub name: Arc<str>,
    /// Resjunk: computed for ORDER BY/GROUP BY only, not sent.
    pub hidden: bool,
    /// Table OID and attribute number for RowDescription, if it is a plain column.
    pub origin: Option<(Oid, i16)>,
    /// The place of its value.
    pub at: Place,
}

impl Target {
    /// A visible output column that comes from no table in particular.
    pub fn plain(expr: Expr, name: Arc<str>) -> Target {
        Target { expr, name, hidden: false, origin: None, at: Place::NONE }
    }
}

/// DISTINCT
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Distinct {
    /// `SELECT` without DISTINCT.
    #[default]
    No,
    /// DISTINCT over all visible targets.
    All,
    /// DISTINCT ON: indices of targets.
    On(Vec<usize>),
}

/// One ORDER BY item: refers to a target.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    /// Index into `targets`.
    pub target: usize,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// A window: how rows are parted and ordered, and which of them a call sees.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowClause {
    /// Its name in the WINDOW clause.
    pub name: Option<Arc<str>>,
    /// PARTITION BY
    pub partition_by: Vec<Expr>,
    /// ORDER BY
    pub order_by: Vec<SortKey>,
    /// The frame.
    pub frame: Frame,
    /// Conditions of the query around: the rows of a partition are of no use from the first on for
    /// which one is not true.
    pub run_conditions: Vec<Expr>,
}

impl WindowClause {
    /// The expressions it parts and orders by.
    pub fn keys(&self) -> impl Iterator<Item = &Expr> {
        self.partition_by.iter().chain(self.order_by.iter().map(|k| &k.expr))
    }

    /// All its expressions, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.partition_by
            .iter_mut()
            .chain(self.order_by.iter_mut().map(|k| &mut k.expr))
            .chain(self.frame.start.offset_mut())
            .chain(self.frame.end.offset_mut())
            .chain(&mut self.run_conditions)
    }

    /// Whether another window's calls could as well be over this one.
    pub fn same(&self, other: &WindowClause) -> bool {
        self.partition_by == other.partition_by
            && self.order_by == other.order_by
            && self.frame == other.frame
    }
}

/// A window frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// A frame was written.
    pub explicit: bool,
    /// With BETWEEN, for printing.
    pub between: bool,
    /// The unit of the bounds.
    pub mode: FrameMode,
    /// First row.
    pub start: FrameBound,
    /// Last row.
    pub end: FrameBound,
    /// EXCLUDE
    pub exclusion: FrameExclusion,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING
    Preceding(FrameOffset),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING
    Following(FrameOffset),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

impl FrameBound {
    /// The offset, if it has one.
    pub fn offset(&self) -> Option<&Expr> {
        match self {
            FrameBound::Preceding(o) | FrameBound::Following(o) => Some(&o.value),
            _ => None,
        }
    }

    /// The offset, to be changed.
    pub fn offset_mut(&mut self) -> Option<&mut Expr> {
        match self {
            FrameBound::Preceding(o) | FrameBound::Following(o) => Some(&mut o.value),
            _ => None,
        }
    }
}

/// The distance of a frame's end from the current row.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameOffset {
    /// bigint, or for RANGE the value added to the sort column's type; over no columns.
    pub value: Expr,
    /// RANGE: the in_range function of the types.
    pub in_range: Option<FunctionRef>,
}

/// A range-table entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Rte {
    /// Alias or relation name, as error texts and EXPLAIN show it.
    pub alias: Arc<str>,
    /// Whether the alias was written by the user.
    pub has_alias: bool,
    /// The relation or query that it ranges over.
    pub kind: RteKind,
    /// For a table: its rows include those of its inheritance children or partitions. With ONLY, it
    /// does not.
    pub inherit: bool,
    /// Column names and types as seen from outside.
    pub columns: Vec<RteColumn>,
}

/// A column of a range-table entry.
#[derive(Clone, Debug, PartialEq)]
pub struct RteColumn {
    /// Name (after column aliases).
    pub name: Arc<str>,
    /// Type.
    pub ty: TypeRef,
    /// Dropped columns stay in place so that positions equal attribute numbers - 1.
    pub dropped: bool,
}

/// Two versions of one relation are the same one: a query is bound against one catalog.
impl PartialEq for RteKind {
    fn eq(&self, other: &RteKind) -> bool {
        use RteKind::*;
        match (self, other) {
            (Relation(a), Relation(b)) => a.oid == b.oid,
            (Subquery { query: a, lateral: x, .. }, Subquery { query: b, lateral: y, .. }) => {
                x == y && a == b
            }
            (Function { calls: a, ordinality: x }, Function { calls: b, ordinality: y }) => {
                x == y && a == b
            }
            (Values(a), Values(b)) => a == b,
            (Join { columns: a }, Join { columns: b }) => a == b,
            (Cte { index: a, levels_up: x }, Cte { index: b, levels_up: y }) => a == b && x == y,
            _ => false,
        }
    }
}

/// The relation or query that a range-table entry ranges over.
#[derive(Clone, Debug)]
pub enum RteKind {
    /// A table (also a virtual catalog table, a sequence).
    Relation(Arc<Relation>),
    /// A sub-select in FROM, or a view's query.
    Subquery {
        /// The bound sub-select.
        query: Box<Query>,
        /// LATERAL: may refer to earlier FROM items with `levels_up` = 1.
        lateral: bool,
        /// The view whose query it is.
        view: Option<Arc<Relation>>,
    },
    /// Function(s) in FROM, with WITH ORDINALITY; several are zipped (ROWS FROM).
    Function {
        /// The calls, each with the number of columns it yields.
        calls: Vec<(Expr, usize)>,
        /// WITH ORDINALITY adds a bigint column.
        ordinality: bool,
    },
    /// VALUES lists.
    Values(Vec<Vec<Expr>>),
    /// The result of a join that has an alias or USING columns: columns are expressions.
    Join {
        /// Merged columns over other entries.
        columns: Vec<Expr>,
    },
    /// A reference to the CTE `index` of the query `levels_up` out.
    Cte {
        /// Position in that query's `ctes`.
        index: usize,
        /// Query levels out.
        levels_up: usize,
    },
}

/// A node of the FROM tree.
#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    /// A leaf: index into the range table.
    Rte(usize),
    /// A join.
    Join {
        /// Kind.
        kind: JoinKind,
        /// Left.
        left: Box<FromItem>,
        /// Right.
        right: Box<FromItem>,
        /// ON (USING and NATURAL are expanded).
        on: Option<Expr>,
        /// The columns of USING and NATURAL, for printing.
        using: Vec<Arc<str>>,
        /// The entry with its merged columns, or of its alias, for printing.
        entry: Option<usize>,
    },
}

impl FromItem {
    /// The entries below it, from left to right.
    pub(crate) fn entries(&self) -> Vec<usize> {
        match self {
            FromItem::Rte(rte) => vec![*rte],
            FromItem::Join { left, right, .. } => [left.entries(), right.entries()].concat(),
        }
    }

    /// The entries that an outer join in it fills with NULLs where it has no row of theirs.
    pub(crate) fn nullable_entries(&self) -> Vec<usize> {
        let FromItem::Join { kind, left, right, .. } = self else { return Vec::new() };
        let side = |item: &FromItem, is_filled: bool| match is_filled {
            true => item.entries(),
            false => item.nullable_entries(),
        };
        let left = side(left, matches!(kind, JoinKind::Right | JoinKind::Full));
        let right = side(right, matches!(kind, JoinKind::Left | JoinKind::Full));
        [left, right].concat()
    }
}

/// Kinds of joins. Semi and Anti come from the planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// INNER and CROSS
    Inner,
    /// LEFT
    Left,
    /// RIGHT
    Right,
    /// FULL
    Full,
    /// Rows of the left with at least one match.
    Semi,
    /// Rows of the left with no match.
    Anti,
    /// Rows of the right with at least one match: of hash joins alone.
    RightSemi,
    /// Rows of the right with no match: of hash joins alone.
    RightAnti,
}

/// A set operation over two queries.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOperation {
    /// UNION, INTERSECT or EXCEPT.
    pub op: SetOp,
    /// ALL
    pub all: bool,
    /// Left input, coerced to the common column types.
    pub left: Box<Query>,
    /// Right input, coerced to the common column types.
    pub right: Box<Query>,
    /// Column types.
    pub types: Vec<TypeRef>,
}

/// The set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// WITH entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Name.
    pub name: Arc<str>,
    /// The names that were given to its first columns.
    pub columns: Vec<Arc<str>>,
    /// Body; for a recursive one, the set operation whose right side refers to the CTE.
    pub query: Box<Query>,
    /// WITH RECURSIVE and self-referring.
    pub recursive: bool,
    /// MATERIALIZED / NOT MATERIALIZED as written.
    pub materialized: Option<bool>,
    /// The number of references to it.
    pub references: usize,
    /// SEARCH
    pub search: Option<CteSearch>,
    /// CYCLE
    pub cycle: Option<Box<CteCycle>>,
}

impl Cte {
    /// The columns that SEARCH and CYCLE add to those of the body.
    pub fn added_columns(&self) -> Vec<RteColumn> {
        let column = |name: &Arc<str>, ty| RteColumn { name: name.clone(), ty, dropped: false };
        let path = TypeRef::plain(oid::RECORD_ARRAY);
        let search = self.search.iter().map(|search| column(&search.set_column, search.ty()));
        let cycle = self.cycle.iter().flat_map(|cycle| {
            let mark = column(&cycle.mark_column, cycle.mark_value.ty());
            [mark, column(&cycle.path_column, path)]
        });
        search.chain(cycle).collect()
    }
}

/// The entry of a recursive term through which it reads the WITH query at `index` of the level
/// around the UNION.
pub(crate) fn recursive_entry(term: &Query, index: usize) -> Option<usize> {
    let reads = |rte: &Rte| rte.kind == RteKind::Cte { index, levels_up: 2 };
    term.rtes.iter().position(reads)
}

/// SEARCH: a column to order rows by, as they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct CteSearch {
    /// The columns that distinguish rows, by position.
    pub columns: Vec<usize>,
    /// BREADTH FIRST rather than DEPTH FIRST.
    pub breadth_first: bool,
    /// The column that is added.
    pub set_column: Arc<str>,
}

impl CteSearch {
    /// The added column's type: a row with the depth, or the rows on the way.
    pub fn ty(&self) -> TypeRef {
        TypeRef::plain(if self.breadth_first { oid::RECORD } else { oid::RECORD_ARRAY })
    }
}

/// CYCLE: a mark on rows that were on the way to themselves, and that way.
#[derive(Clone, Debug, PartialEq)]
pub struct CteCycle {
    /// The columns that distinguish rows, by position.
    pub columns: Vec<usize>,
    /// The column with the mark.
    pub mark_column: Arc<str>,
    /// The mark of a row that closes a cycle.
    pub mark_value: Expr,
    /// The mark of any other row, of the same type.
    pub mark_default: Expr,
    /// `mark <> value`, with the mark as [`Expr::CaseOperand`].
    pub unmarked: Expr,
    /// The column with the rows on the way.
    pub path_column: Arc<str>,
}

/// FOR UPDATE | NO KEY UPDATE | SHARE | KEY SHARE.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLockClause {
    /// Range-table entries to lock.
    pub rtes: Vec<usize>,
    /// Strength.
    pub strength: LockStrength,
    /// Wait policy.
    pub wait: WaitPolicy,
    /// Written in a query around this one, which reads it as a sub-select.
    pub pushed_down: bool,
}

/// Tuple lock strengths, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// FOR KEY SHARE
    KeyShare,
    /// FOR SHARE
    Share,
    /// FOR NO KEY UPDATE
    NoKeyUpdate,
    /// FOR UPDATE
    Update,
}

impl LockStrength {
    /// As the clause is written.
    pub fn as_str(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

/// The reaction to a locked row. Later ones win over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitPolicy {
    /// Wait.
    Block,
    /// Skip the row.
    SkipLocked,
    /// 55P03.
    NoWait,
}

/// New values by column position.
pub type Assignments = Vec<(usize, Expr)>;
/// DO UPDATE: assignments and WHERE.
pub type ConflictUpdate = (Assignments, Option<Expr>);

/// The arbiters that ON CONFLICT's target allows.
#[derive(Clone, Debug, PartialEq)]
pub enum Arbiters {
    /// Any unique index decides.
    Any,
    /// The constraint of the name decides, by its index.
    Named {
        /// The constraint.
        constraint: Oid,
        /// Its index.
        index: Oid,
    },
    /// The indexes over these elements. A partial one needs a predicate that the condition implies.
    Inferred {
        /// Columns and expressions.
        elements: Vec<ConflictElement>,
        /// WHERE
        condition: Option<Expr>,
    },
}

/// A column or an expression that an arbiter is over.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictElement {
    /// The value.
    pub key: Expr,
    /// COLLATE, if it is written: then the index must have it.
    pub collation: Option<Oid>,
    /// The operator class, if it is written: then the index must have it.
    pub opclass: Option<OpclassId>,
    /// The operator class's name.
    pub opclass_name: Option<Arc<str>>,
}

/// INSERT … ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// Arbiter index OIDs. If empty, any unique index (DO NOTHING only).
    pub arbiters: Vec<Oid>,
    /// The arbiters as they are written, if the statement is to be printed (`arbiters` is empty then), or
    /// the table is distributed.
    pub written: Option<Box<Arbiters>>,
    /// DO UPDATE assignments (column, value over target row = rte `result_relation` and the
    /// `excluded` rte); `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// The range-table entry named `excluded`.
    pub excluded: usize,
}
