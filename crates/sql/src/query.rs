//! The bound query tree: what the binder hands to the planner
//! (PostgreSQL's `Query`, src/include/nodes/parsenodes.h).

use crate::expr::{Expr, TypeRef};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::Oid;

/// What a query does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// SELECT, VALUES, set operations
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

/// A bound SELECT, INSERT, UPDATE or DELETE.
#[derive(Clone, Debug)]
pub struct Query {
    /// What it does.
    pub command: Command,
    /// Range table; [`Expr::Var`]s index it.
    pub rtes: Vec<Rte>,
    /// FROM: joined by cross product; `Var`s inside refer to `rtes`.
    pub from: Vec<FromItem>,
    /// WHERE
    pub filter: Option<Expr>,
    /// The target list: for SELECT the output columns; for INSERT the full row in column order;
    /// for UPDATE see `assignments`.
    pub targets: Vec<Target>,
    /// GROUP BY expressions.
    pub group_by: Vec<Expr>,
    /// Whether there is any aggregate, GROUP BY or HAVING.
    pub has_aggregates: bool,
    /// HAVING
    pub having: Option<Expr>,
    /// DISTINCT
    pub distinct: Distinct,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
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
    /// UPDATE: (column index 0-based, new value over the range table).
    pub assignments: Vec<(usize, Expr)>,
    /// INSERT … ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING
    pub returning: Vec<Target>,
}

/// Sub-selects are equal only if they are the same one: volatile parts must not be merged.
impl PartialEq for Query {
    fn eq(&self, other: &Query) -> bool {
        std::ptr::eq(self, other)
    }
}

/// One output column.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its value.
    pub expr: Expr,
    /// Its name.
    pub name: Arc<str>,
    /// Resjunk: computed for ORDER BY/GROUP BY only, not sent.
    pub hidden: bool,
    /// Table OID and attribute number for RowDescription, if it is a plain column.
    pub origin: Option<(Oid, i16)>,
}

/// DISTINCT
#[derive(Clone, Debug)]
pub enum Distinct {
    /// None.
    No,
    /// DISTINCT over all visible targets.
    All,
    /// DISTINCT ON: indices of targets.
    On(Vec<usize>),
}

/// One ORDER BY item: refers to a target.
#[derive(Clone, Debug)]
pub struct OrderBy {
    /// Index into `targets`.
    pub target: usize,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// A range-table entry.
#[derive(Clone, Debug)]
pub struct Rte {
    /// Alias or relation name, as error texts and EXPLAIN show it.
    pub alias: Arc<str>,
    /// Whether the alias was written by the user.
    pub has_alias: bool,
    /// What it ranges over.
    pub kind: RteKind,
    /// Column names and types as seen from outside.
    pub columns: Vec<RteColumn>,
}

/// A column of a range-table entry.
#[derive(Clone, Debug)]
pub struct RteColumn {
    /// Name (after column aliases).
    pub name: Arc<str>,
    /// Type.
    pub ty: TypeRef,
    /// Dropped columns stay in place so that positions equal attribute numbers - 1.
    pub dropped: bool,
}

/// What a range-table entry ranges over.
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
#[derive(Clone, Debug)]
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
    },
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
}

/// A set operation over two queries.
#[derive(Clone, Debug)]
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

/// Which set operation.
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
#[derive(Clone, Debug)]
pub struct Cte {
    /// Name.
    pub name: Arc<str>,
    /// Body; for a recursive one, the set operation whose right side refers to the CTE.
    pub query: Box<Query>,
    /// WITH RECURSIVE and self-referring.
    pub recursive: bool,
    /// MATERIALIZED / NOT MATERIALIZED as written.
    pub materialized: Option<bool>,
    /// How often it is referred to.
    pub references: usize,
}

/// FOR UPDATE | NO KEY UPDATE | SHARE | KEY SHARE.
#[derive(Clone, Debug)]
pub struct RowLockClause {
    /// Range-table entries to lock.
    pub rtes: Vec<usize>,
    /// Strength.
    pub strength: LockStrength,
    /// Wait policy.
    pub wait: WaitPolicy,
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

/// What to do when a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// INSERT … ON CONFLICT.
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// Arbiter index OIDs; empty: any unique index (DO NOTHING only).
    pub arbiters: Vec<Oid>,
    /// DO UPDATE assignments (column, value over target row = rte `result_relation` and the
    /// `excluded` rte); `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// The range-table entry named `excluded`.
    pub excluded: usize,
}
