//! The physical plan, which the planner hands to the executor.
//!
//! A plan is immutable and shared between sessions (the plan cache holds it in
//! an `Arc`). It names relations by OID and storage, never by open handles, and
//! is valid for one catalog epoch.
//!
//! Every node computes `project` (if any) over its *input row* after `filter`:
//!
//! ```text
//!   scan:  input row = the relation's columns listed in `columns`
//!   join:  input row = outer row ‖ inner row
//!   agg:   input row = group keys ‖ aggregate results
//!   other: input row = the child's output row
//! ```
//!
//! The node's output row is `project`, or the input row where it is `None`.

mod again;
mod rows;
mod walk;

pub use again::{goes_backward, has_fixed_rows, locks_rows, reads_nodes};
pub use rows::{IndexRange, KeyCheck, KeyEnd, KeySearch, TidBound, TidRows, TidValues};
pub(crate) use walk::for_each_child_mut;
pub use walk::{for_each_child, for_each_expr, for_each_shown_expr, is_dealt_out};

use crate::expr::{Aggregate, ExecParamId, Expr, SortKey, TypeRef, WindowCall};
use crate::partners::MatchedLeaves;
use crate::query::{
    Command, ConflictUpdate, CursorName, Frame, JoinKind, LockStrength, SetOp, WaitPolicy,
};
use std::sync::Arc;
use steppe_catalog::{Distribution, FunctionRef, Relation};
use steppe_types::{Datum, Error, Oid};

/// The attribute number for the hidden row id, as a bigint.
pub const ROW_ID: i16 = -100;
/// Attribute number of `ctid`.
pub const CTID: i16 = -1;
/// Attribute number of `tableoid`.
pub const TABLE_OID: i16 = -6;
/// The stored form of a column's value, which a scan returns under attribute numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredForm {
    /// The bytes that it takes, in PostgreSQL's form: an integer.
    Size,
    /// The compression method: a text, or NULL.
    Compression,
}

/// Below this the attribute numbers of [`StoredForm`]s begin, two for each column.
const STORED_FORMS: i16 = -1000;

impl StoredForm {
    /// The attribute number of this form of a column, given the column's.
    pub fn attribute(self, column: i16) -> i16 {
        STORED_FORMS - 2 * column - self as i16
    }

    /// The form and the column that such an attribute number stands for.
    pub fn of(attribute: i16) -> Option<(StoredForm, i16)> {
        let number = STORED_FORMS.checked_sub(attribute).filter(|number| *number >= 2)?;
        let form = if number % 2 == 0 { StoredForm::Size } else { StoredForm::Compression };
        Some((form, number / 2))
    }

    /// The attribute number of this form of the column that replaces another one.
    pub fn moved<E>(attribute: i16, column: impl FnOnce(i16) -> Result<i16, E>) -> Result<i16, E> {
        match StoredForm::of(attribute) {
            Some((form, of)) => Ok(form.attribute(column(of)?)),
            None => Ok(attribute),
        }
    }
}

/// Attribute number that the binder gives a column that is NULL only where an outer join has no
/// row of the entry. The planner replaces it by one that the entry has.
pub const ROW_MARK: i16 = -101;

/// The tables that the rows of a cursor are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// The tables, each with whether its inheritance children count.
    pub tables: Vec<(Oid, bool)>,
    /// They are the tables whose rows it locks.
    pub locks: bool,
}

/// A planned statement.
#[derive(Clone, Debug)]
pub struct PlannedStmt {
    /// SELECT, INSERT, …: decides the command tag.
    pub command: Command,
    /// The plan's root.
    pub plan: Plan,
    /// Sub-plans and init plans, referred to by [`crate::expr::SubPlan::plan`].
    pub subplans: Vec<Plan>,
    /// For a cursor: the tables whose rows' positions are in the last columns of the output. These
    /// are two a table (`tableoid` and row id) and are not sent to the client.
    pub positions: Option<Positions>,
    /// Number of run-time parameter slots.
    pub exec_params: usize,
    /// Types of `$1 …`.
    pub param_types: Vec<Oid>,
    /// Where parameters are the variables of a function: the variable of each parameter.
    pub variables: Vec<usize>,
    /// Columns sent to the client; empty for a statement that returns no rows.
    pub columns: Vec<ResultColumn>,
    /// Relations to lock before execution, and how.
    pub relations: Vec<(Oid, RelationLock)>,
    /// With other constants in the statement's text the best plan might be another one that
    /// parameters cannot stand for (a partial index): do not lift literals.
    pub depends_on_literals: bool,
    /// The constants that a run of the plan evaluates first.
    pub constants: Arc<Constants>,
    /// The scans that other values of the parameters would make longer or shorter.
    pub sensitive: Arc<[crate::planner::Sensitive]>,
    /// The relations that its names stand for, and those it reads or changes.
    pub mentions: Vec<Oid>,
    /// The names of functions that were looked up ([`steppe_catalog::function_name`]).
    pub functions: Vec<u64>,
}

impl PlannedStmt {
    /// A statement with no plan, for compiling expressions that stand alone.
    pub fn nothing() -> PlannedStmt {
        let plan = Plan {
            node: PlanNode::Result { one_time_filter: None, child: None },
            filter: None,
            project: None,
            types: Vec::new(),
            slot_names: Arc::new([]),
            cost: Cost::default(),
        };
        PlannedStmt {
            command: Command::Select,
            plan,
            subplans: Vec::new(),
            positions: None,
            exec_params: 0,
            param_types: Vec::new(),
            variables: Vec::new(),
            columns: Vec::new(),
            relations: Vec::new(),
            depends_on_literals: false,
            constants: Arc::default(),
            sensitive: Arc::default(),
            mentions: Vec::new(),
            functions: Vec::new(),
        }
    }
}

/// The expressions whose constants and parameters may fail when they are evaluated.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    /// The expressions of the statement.
    pub statement: PlannedLevel,
    /// The expressions of sub-selects in expressions, if they have any. Only the sub-selects are
    /// planned that are left in an expression once its constants have been evaluated.
    pub sub_selects: Vec<(crate::expr::SubPlanId, PlannedLevel)>,
}

/// One query of [`Constants`], in the order in which it is planned.
#[derive(Clone, Debug, Default)]
pub struct PlannedLevel {
    /// Its WITH queries.
    pub with: Vec<PlannedLevel>,
    /// Its clauses.
    pub clauses: Vec<PlannedClause>,
    /// WHERE and HAVING of a query over one sub-select: unless they may be true, that is not
    /// planned.
    pub conditions: Vec<Expr>,
    /// Its sub-selects in FROM, or the queries that it unites.
    pub from: Vec<PlannedLevel>,
}

/// A clause of [`PlannedLevel`]: all its expressions come before the sub-selects in any of them.
#[derive(Clone, Debug)]
pub struct PlannedClause {
    /// The expressions.
    pub exprs: Vec<Expr>,
    /// It lets rows through if it is true: NULL is as good as false.
    pub is_condition: bool,
}

impl PlannedLevel {
    /// Whether it has no expression that may fail.
    pub fn is_empty(&self) -> bool {
        self.with.is_empty() && self.clauses.is_empty() && self.from.is_empty()
    }
}

/// Relation lock a statement takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelationLock {
    /// SELECT
    AccessShare,
    /// SELECT FOR UPDATE/SHARE
    RowShare,
    /// INSERT, UPDATE, DELETE
    RowExclusive,
    /// Changes of all copies of a replicated table that depend on its rows.
    ShareRowExclusive,
}

/// A column of the result, as in RowDescription.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultColumn {
    /// Name.
    pub name: Arc<str>,
    /// Type.
    pub ty: TypeRef,
    /// The domain, or the array type over one, that the values are of; 0 for any other type.
    pub domain: Oid,
    /// Table OID and attribute number, or zeros.
    pub origin: (Oid, i16),
}

impl ResultColumn {
    /// The type with its domain.
    pub fn declared_type(&self) -> TypeRef {
        if self.domain == 0 { self.ty } else { TypeRef::plain(self.domain) }
    }
}

/// A plan node with the parts common to all nodes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The node.
    pub node: PlanNode,
    /// Rows that do not satisfy it are dropped (over the input row).
    pub filter: Option<Expr>,
    /// Output expressions over the input row; `None` hands the input row up as it is.
    pub project: Option<Vec<Expr>>,
    /// Types of the output row.
    pub types: Vec<TypeRef>,
    /// Names of the *input* row's slots as EXPLAIN prints them (`t.a`, `(count(*))`).
    pub slot_names: Arc<[Arc<str>]>,
    /// The optimiser's estimate.
    pub cost: Cost,
}

impl Plan {
    /// The scan that finds the rows: the plan itself, or a leaf's of a partitioned table.
    pub fn scan(&self) -> &Plan {
        match &self.node {
            PlanNode::PartitionScan { template, .. } => template,
            _ => self,
        }
    }

    /// Whether rows pass through unchanged.
    pub fn is_plain(&self) -> bool {
        self.filter.is_none() && self.project.is_none()
    }
}

/// Estimated cost in PostgreSQL's units.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Before the first row.
    pub startup: f64,
    /// For all rows.
    pub total: f64,
    /// Rows.
    pub rows: f64,
    /// Bytes a row.
    pub width: u32,
}

/// A relation as a scan needs it.
#[derive(Clone, Debug)]
pub struct ScanRelation {
    /// The catalog entry, at the plan's epoch.
    pub relation: Arc<Relation>,
    /// Alias for EXPLAIN.
    pub alias: Arc<str>,
}

/// A statement that data nodes run. Its rows are the node's.
#[derive(Clone, Debug)]
pub struct RemoteQuery {
    /// Its text.
    pub text: Arc<str>,
    /// The values of its parameters, over no row. Each is evaluated once.
    pub params: Vec<Expr>,
    /// The nodes.
    pub target: RemoteTarget,
    /// The effect on them.
    pub effect: RemoteEffect,
    /// The types of its columns.
    pub columns: Vec<TypeRef>,
    /// The numbers of its parameters follow this one. Each scan of a statement has numbers of its own, so
    /// that several can be one statement.
    pub params_before: usize,
    /// It is the statement of the client, and no scan of one that runs here.
    pub is_whole: bool,
}

/// An INSERT of a plan's rows into a table on data nodes.
#[derive(Clone, Debug)]
pub struct RemoteInsert {
    /// The table.
    pub rel: ScanRelation,
    /// The rows, in the table's column order.
    pub child: Plan,
    /// The statement for a node. Its first parameters are arrays of the values of `columns`.
    pub text: Arc<str>,
    /// Positions of columns.
    pub columns: Box<[usize]>,
    /// The values of the parameters behind the arrays, over no row.
    pub params: Vec<Expr>,
    /// The fate of a row whose key is there.
    pub conflict: RemoteConflict,
}

/// ON CONFLICT of an INSERT on data nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteConflict {
    /// There is none.
    Error,
    /// DO NOTHING
    Nothing,
    /// DO UPDATE
    Update,
}

/// The key of another table of a statement, which is distributed in the same way. Whether its rows are
/// on the statement's node is known when the statement runs.
#[derive(Clone, Debug)]
pub struct OtherKey {
    /// The key, over no row.
    pub key: Expr,
    /// The type of the table's key.
    pub type_oid: Oid,
    /// The error if the rows are on another node.
    pub error: Error,
}

/// The nodes that run a statement.
#[derive(Clone, Debug)]
pub enum RemoteTarget {
    /// The node that has the rows with a key.
    Key {
        /// The distribution of the table.
        distribution: Arc<Distribution>,
        /// The key, over no row.
        key: Expr,
        /// The type of the table's key.
        type_oid: Oid,
        /// Keys of other tables, whose rows must be on the same node.
        others: Box<[OtherKey]>,
    },
    /// The same, where the key is a parameter.
    Parameter {
        /// The distribution of the table.
        distribution: Arc<Distribution>,
        /// The position of the key in [`RemoteQuery::params`].
        place: usize,
        /// The type of the table's key.
        type_oid: Oid,
        /// Keys of other tables, whose rows must be on the same node.
        others: Box<[OtherKey]>,
    },
    /// The nodes of several keys, each of which gets its own.
    Keys {
        /// The distribution of the table.
        distribution: Arc<Distribution>,
        /// The position of the keys, an array, in [`RemoteQuery::params`].
        place: usize,
        /// The type of the table's key.
        type_oid: Oid,
    },
    /// One of these nodes, any.
    Any(Box<[Oid]>),
    /// All of these nodes, each of which has the same rows.
    All(Box<[Oid]>),
    /// All of these nodes. Its rows are those of all.
    Every(Box<[Oid]>),
}

/// The effect of a statement on its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteEffect {
    /// It reads.
    Read,
    /// It changes rows, as its command tag tells.
    Rows,
    /// It may have another one: it locks rows.
    Any,
}

/// A partitioned table that is joined leaf by leaf.
#[derive(Clone, Debug)]
pub struct PartnerTable {
    /// The table.
    pub rel: ScanRelation,
    /// The conditions on it, as on the leading table.
    pub conditions: Vec<Expr>,
    /// A leaf yields rows only if the partner's has some: the partner's conditions prune as well.
    pub is_needed: bool,
    /// FULL JOIN: a leaf yields rows even if only the partner's has some.
    pub is_full: bool,
}

/// Plan nodes. A plan has few of them, so that their size does not matter.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum PlanNode {
    /// One row with no columns (`project` computes). If `one_time_filter` is false, no row.
    Result {
        /// Evaluated once.
        one_time_filter: Option<Expr>,
        /// Child for a gating Result.
        child: Option<Box<Plan>>,
    },
    /// VALUES lists: the input row is one list.
    Values(Vec<Vec<Expr>>),
    /// A statement that data nodes run.
    RemoteQuery(Box<RemoteQuery>),
    /// An INSERT of rows into a table on data nodes.
    RemoteInsert(Box<RemoteInsert>),
    /// Functions in FROM.
    FunctionScan {
        /// Calls and how many columns each yields.
        calls: Vec<(Expr, usize)>,
        /// WITH ORDINALITY
        ordinality: bool,
        /// The columns of all calls: their names and types.
        columns: Arc<[(Arc<str>, TypeRef)]>,
        /// Alias for EXPLAIN.
        alias: Arc<str>,
    },
    /// Full scan in row-id order; virtual catalog tables too.
    SeqScan {
        /// The table.
        rel: ScanRelation,
        /// Input row: these columns. Attribute numbers start at 1; negative ones are system columns
        /// as in PostgreSQL, and [`ROW_ID`] is the hidden row id as bigint.
        columns: Vec<i16>,
        /// Only the row that this cursor is on (WHERE CURRENT OF).
        cursor: Option<CursorName>,
        /// The threads below a [`PlanNode::Gather`] share the rows.
        parallel: bool,
    },
    /// Scan of an index range, rows fetched by row id.
    IndexScan {
        /// The table.
        rel: ScanRelation,
        /// The index.
        index: Arc<Relation>,
        /// The scanned part of it.
        range: IndexRange,
        /// Scans from the end to the start.
        backward: bool,
        /// All of `columns` come out of the key (index-only scan).
        index_only: bool,
        /// Input row: these columns of the table.
        columns: Vec<i16>,
    },
    /// Rows by ctid, in row-id order.
    TidScan {
        /// The table.
        rel: ScanRelation,
        /// The rows of the scan.
        rows: TidRows,
        /// EXPLAIN's "TID Cond", over the input row.
        condition: Expr,
        /// Input row: these columns of the table.
        columns: Vec<i16>,
    },
    /// The rows that a bitmap names, in row-id order.
    BitmapScan {
        /// The table.
        rel: ScanRelation,
        /// A [`PlanNode::BitmapIndexScan`], or several that are combined.
        bitmap: Box<Plan>,
        /// The bitmap's condition over the input row. Uncertain rows are checked against it.
        recheck: Expr,
        /// Input row: these columns of the table.
        columns: Vec<i16>,
    },
    /// The entries of an index range as a bitmap of rows.
    BitmapIndexScan {
        /// The table.
        rel: ScanRelation,
        /// The index.
        index: Arc<Relation>,
        /// The scanned part of it.
        range: IndexRange,
    },
    /// The rows that all bitmaps have.
    BitmapAnd(Vec<Plan>),
    /// The rows that one of the bitmaps has.
    BitmapOr(Vec<Plan>),
    /// The leaves of a partitioned table, one after the other. The leaves are known only when the
    /// scan runs: the plan is as large for one as for a hundred thousand.
    PartitionScan {
        /// The partitioned table.
        rel: ScanRelation,
        /// The plan for a leaf: a scan written against the partitioned table, with its columns and
        /// its indexes, or a join or an aggregation over such scans.
        template: Box<Plan>,
        /// The scan's conditions over its columns (range-table entry 0), from which the leaves
        /// are found that can have rows (see `prune`).
        conditions: Vec<Expr>,
        /// The wanted order of the rows, over the same columns; empty for none. A leaf's rows come
        /// so from its scan. Leaves are read in the order of their bounds where that is it, else
        /// merged: which of the two is known when the scan starts.
        order: Vec<SortKey>,
        /// Other tables with the same bounds, or some that match one by one, whose corresponding
        /// leaves the template joins.
        partners: Vec<PartnerTable>,
        /// The leaves that the template joins, if bounds are not the same.
        matched: Option<Arc<MatchedLeaves>>,
    },
    /// Nested loop: for each outer row set `params`, then run the inner side.
    NestLoop {
        /// Kind (Right and Full never).
        kind: JoinKind,
        /// Outer.
        outer: Box<Plan>,
        /// Inner.
        inner: Box<Plan>,
        /// Values over the outer row for the inner side.
        params: Vec<(ExecParamId, Expr)>,
        /// ON condition over outer ‖ inner.
        on: Option<Expr>,
    },
    /// Hash join: the inner side is hashed.
    HashJoin {
        /// Kind.
        kind: JoinKind,
        /// Probe side.
        outer: Box<Plan>,
        /// Build side.
        inner: Box<Plan>,
        /// (outer key over the outer row, inner key over the inner row, equality function).
        keys: Vec<(Expr, Expr, FunctionRef)>,
        /// Further ON conditions over outer ‖ inner.
        on: Option<Expr>,
        /// The table's memory, in times of work_mem (hash_mem_multiplier).
        memory_factor: f64,
        /// How threads that run it below a [`PlanNode::Gather`] get the inner rows.
        inner_rows: InnerRows,
    },
    /// Merge join of two inputs sorted on the keys.
    MergeJoin {
        /// Kind.
        kind: JoinKind,
        /// Outer.
        outer: Box<Plan>,
        /// Inner.
        inner: Box<Plan>,
        /// (outer key, inner key), ascending, nulls last.
        keys: Vec<(Expr, Expr)>,
        /// Further ON conditions.
        on: Option<Expr>,
    },
    /// The rows of the child, which several threads run at once: each scans a part of the table
    /// whose scan is `parallel`.
    Gather {
        /// The plan that each of them runs.
        child: Box<Plan>,
        /// The number of workers besides the leader, which waits for the rows.
        workers: usize,
        /// Gather Merge: the order of the rows of each, and of all.
        order: Vec<SortKey>,
    },
    /// Keeps the child's rows for re-scans.
    Materialize(Box<Plan>),
    /// Keeps the child's rows for each set of the parameters that it runs with.
    Memoize {
        /// The plan whose rows are kept.
        child: Box<Plan>,
        /// The parameters.
        keys: Vec<Expr>,
        /// The child distinguishes values that are equal.
        is_binary: bool,
        /// The memory of the rows, in times of work_mem (hash_mem_multiplier).
        memory_factor: f64,
    },
    /// Sort; with `bound`, only the first `bound` rows are wanted (top-N). If rows come in the
    /// order of some of the first keys, it is an incremental one.
    Sort {
        /// Input.
        child: Box<Plan>,
        /// Keys over the child's output.
        keys: Vec<SortKey>,
        /// The number of keys that the input is in the order of.
        presorted: usize,
        /// LIMIT + OFFSET, if constant or parameter.
        bound: Option<Expr>,
    },
    /// LIMIT/OFFSET.
    Limit {
        /// Input.
        child: Box<Plan>,
        /// bigint or NULL
        limit: Option<Expr>,
        /// bigint
        offset: Option<Expr>,
        /// WITH TIES: compare these keys.
        ties: Option<Vec<SortKey>>,
    },
    /// Aggregation. Input row of filter (HAVING) and project: keys ‖ aggregates.
    Agg {
        /// Input.
        child: Box<Plan>,
        /// The strategy.
        strategy: AggStrategy,
        /// The step of the aggregation.
        mode: AggMode,
        /// Group keys over the child's output.
        keys: Vec<Expr>,
        /// Aggregates; their arguments are over the child's output. To be finalized: over the input
        /// of the partial aggregation, whose states come after the keys in the child's output.
        aggregates: Vec<Aggregate>,
        /// Keys of groups that are there even if no row comes.
        empty_groups: Vec<Vec<Datum>>,
        /// The memory of the groups, in times of work_mem (hash_mem_multiplier).
        memory_factor: f64,
    },
    /// Repeats each row once for every grouping set. The output row is child's row ‖ keys, NULL
    /// where the set has not the key ‖ the set's number ‖ GROUPING values (integers).
    Expand {
        /// Input.
        child: Box<Plan>,
        /// Group keys over the child's output.
        keys: Vec<Expr>,
        /// For each set, which keys it has.
        sets: Vec<Vec<bool>>,
        /// For each set, the values of the GROUPING calls.
        groupings: Vec<Vec<i32>>,
    },
    /// Window functions over sorted rows. The output row is child's row ‖ the calls' results.
    WindowAgg {
        /// Input, sorted by `partition_by`, then `order_by`.
        child: Box<Plan>,
        /// Name for EXPLAIN.
        name: Arc<str>,
        /// Expressions over the child's output.
        partition_by: Vec<Expr>,
        /// Keys over the child's output.
        order_by: Vec<SortKey>,
        /// The frame.
        frame: Frame,
        /// Calls; their arguments are over the child's output.
        calls: Vec<WindowCall>,
        /// Over the output row: a partition ends before the first row for which it is not true.
        run_condition: Option<Expr>,
    },
    /// Drops adjacent duplicates of the given output columns (input sorted).
    Unique {
        /// Input.
        child: Box<Plan>,
        /// Columns compared.
        columns: Vec<usize>,
    },
    /// UNION ALL, or a table and its inheritance children.
    Append(Vec<Plan>),
    /// A table and its inheritance children, each in order.
    MergeAppend {
        /// The tables' scans.
        children: Vec<Plan>,
        /// The order, over the output.
        keys: Vec<SortKey>,
    },
    /// INTERSECT/EXCEPT [ALL]; UNION is Append + Agg.
    SetOp {
        /// The operation.
        op: SetOp,
        /// ALL
        all: bool,
        /// Left.
        left: Box<Plan>,
        /// Right.
        right: Box<Plan>,
        /// The order of all columns that both sides come in. If empty, rows are counted by hash.
        order: Vec<SortKey>,
    },
    /// A sub-select in FROM kept as its own node (EXPLAIN shows it).
    SubqueryScan {
        /// Its plan.
        child: Box<Plan>,
        /// Alias for EXPLAIN.
        alias: Arc<str>,
    },
    /// Set-returning functions in the target list: `project` may hold them.
    ProjectSet(Box<Plan>),
    /// Locks each row of the child's output. If a row was changed meanwhile (READ COMMITTED), its
    /// columns are read again and `recheck` decides whether it still qualifies.
    LockRows {
        /// Input.
        child: Box<Plan>,
        /// The rows to lock.
        locks: Vec<RowLock>,
        /// The statement's conditions over the child's output.
        recheck: Option<Expr>,
        /// Outer joins below: the ON condition, and the slots that are NULL where it fails.
        outer_joins: Vec<(Expr, Vec<usize>)>,
    },
    /// Runs the CTE plan once (shared) and scans the result.
    CteScan {
        /// Sub-plan of the CTE.
        plan: crate::expr::SubPlanId,
        /// Name for EXPLAIN.
        name: Arc<str>,
    },
    /// WITH RECURSIVE.
    RecursiveUnion {
        /// Non-recursive term.
        left: Box<Plan>,
        /// Recursive term; it reads the working table through `WorkTableScan`.
        right: Box<Plan>,
        /// UNION ALL
        all: bool,
        /// Identifies the working table.
        work_table: usize,
    },
    /// Working table of a recursive union.
    WorkTableScan {
        /// Identifies the working table.
        work_table: usize,
        /// Name for EXPLAIN.
        name: Arc<str>,
    },
    /// INSERT, UPDATE, DELETE. `project` and `filter` of this node are RETURNING over
    /// target row (all columns incl. dropped ones, then tableoid/ctid as asked) ‖ child's output.
    Modify(Box<ModifyTable>),
}

/// The way in which each thread of a hash join gets all of its inner rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerRows {
    /// It finds them by itself.
    Own,
    /// The threads find them together, each a part.
    Together,
    /// The first thread that arrives finds them, for all.
    Once,
}

/// The part of an aggregation that a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggMode {
    /// From rows to results, in one step.
    Simple,
    /// From rows to states, of which there may be several for one group.
    Partial,
    /// From states to results.
    Finalize,
}

/// The step of an aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggStrategy {
    /// One group.
    Plain,
    /// Input sorted by the keys.
    Sorted,
    /// Hash table.
    Hashed,
}

/// FOR UPDATE … on one relation.
#[derive(Clone, Debug)]
pub struct RowLock {
    /// The table.
    pub rel: ScanRelation,
    /// Column of the child's output with the row id (bigint; NULL on an outer join's empty side).
    pub row_id: usize,
    /// For a table with leaves: column of the child's output with the OID of the row's leaf.
    pub leaf: Option<usize>,
    /// The table's columns in the child's output: (slot, attribute number).
    pub columns: Vec<(usize, i16)>,
    /// Strength.
    pub strength: LockStrength,
    /// Wait policy.
    pub wait: WaitPolicy,
}

/// The work of a ModifyTable node.
#[derive(Clone, Debug)]
pub struct ModifyTable {
    /// INSERT, UPDATE or DELETE.
    pub command: Command,
    /// The table.
    pub rel: ScanRelation,
    /// Its indexes at the plan's epoch.
    pub indexes: Vec<Arc<Relation>>,
    /// Rows to insert (full rows in column order), or for UPDATE/DELETE rows whose column
    /// `row_id` is the target row's id and whose columns `new_values` are the new values.
    pub child: Plan,
    /// UPDATE/DELETE: column of the child's output with the row id.
    pub row_id: usize,
    /// UPDATE/DELETE of a table with leaves: column of the child's output with the OID of the row's
    /// leaf. For INSERT, RETURNING finds that OID after the target row.
    pub leaf: Option<usize>,
    /// UPDATE/DELETE of a table that others inherit from: it and they, as EXPLAIN names them.
    pub members: Vec<ScanRelation>,
    /// UPDATE: (attribute index 0-based, new value over *target row ‖ child's output*).
    /// When the source is only the target table (no joins), the values refer to the target row
    /// alone, so that they can be evaluated again on a newer version (READ COMMITTED).
    pub assignments: Vec<(usize, Expr)>,
    /// The statement's WHERE over *target row ‖ child's output*, checked again on a newer
    /// version (EvalPlanQual).
    pub recheck: Option<Expr>,
    /// Stored generated columns: position and expression over the new row.
    pub generated: Vec<(usize, Expr)>,
    /// Virtual generated columns that must not be NULL: position and expression over the new row.
    pub never_null: Vec<(usize, Expr)>,
    /// CHECK constraints: name and expression over the new row.
    pub checks: Vec<(Arc<str>, Expr)>,
    /// WITH CHECK OPTION: views' names and conditions over the new row.
    pub view_checks: Vec<(Arc<str>, Expr)>,
    /// ON CONFLICT.
    pub on_conflict: Option<ConflictAction>,
    /// RETURNING wanted.
    pub returning: bool,
    /// RETURNING names `old` or `new`, by these names. Both versions follow *target row ‖ child's
    /// output* (INSERT: *target row*). Each has its `tableoid` as the last column, which is NULL if
    /// there is no such version.
    pub returning_versions: Option<[Arc<str>; 2]>,
    /// UPDATE/DELETE: columns of the child's output that are system columns of the target. A newer
    /// version has others.
    pub system: Vec<(usize, i16)>,
    /// The system columns that RETURNING reads. They follow all else.
    pub returning_system: Vec<(VersionOf, i16)>,
}

/// The version of a changed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionOf {
    /// The row as RETURNING has it: the new version, of DELETE the old one.
    Target,
    /// `old`
    Old,
    /// `new`
    New,
}

/// ON CONFLICT in a plan.
#[derive(Clone, Debug)]
pub struct ConflictAction {
    /// Arbiter indexes (OIDs). If empty, any.
    pub arbiters: Vec<Oid>,
    /// DO UPDATE: assignments and WHERE over existing row ‖ excluded row ‖ `system`.
    pub update: Option<ConflictUpdate>,
    /// System columns of the existing row.
    pub system: Vec<i16>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_form_has_an_attribute_number_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for column in 1..=1600 {
            for form in [StoredForm::Size, StoredForm::Compression] {
                let attribute = form.attribute(column);
                assert_eq!(StoredForm::of(attribute), Some((form, column)));
                assert!(seen.insert(attribute));
            }
        }
        for other in [ROW_ID, CTID, TABLE_OID, ROW_MARK, 1, 1600] {
            assert_eq!(StoredForm::of(other), None);
        }
    }
}
