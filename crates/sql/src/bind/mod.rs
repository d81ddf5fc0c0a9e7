//! The binder: names, types, overloads and coercions of a parsed statement.
//!
//! ```text
//!   ast::SelectStmt ──► Binder ──► query::Query
//!                        │ scopes: one per query level, innermost last
//!                        ├ from      FROM items and the namespaces they make
//!                        ├ names     column look-up
//!                        ├ misspelt  what a name that is not found could have meant
//!                        ├ expr      expressions
//!                        ├ row       row values: comparison, fields, expansion
//!                        ├ row_types coercions between rows, and rows from text
//!                        ├ variables names that are parameters; answers
//!                        ├ sublink   sub-selects in expressions
//!                        ├ func      calls of functions and operators
//!                        ├ candidate overloads, and the choice among them
//!                        ├ coerce    coercions and common types
//!                        ├ select    SELECT, VALUES, set operations, WITH
//!                        ├ group     aggregates and GROUP BY rules; grouping_sets, window
//!                        ├ lock      FOR UPDATE
//!                        ├ view      changes through views
//!                        ├ instead   changes of views by INSTEAD OF triggers
//!                        ├ trigger   WHEN of CREATE TRIGGER
//!                        └ dml       INSERT, UPDATE, DELETE; set_clauses
//! ```
//!
//! The rules are PostgreSQL's: src/backend/parser (parse_expr.c, parse_func.c,
//! parse_oper.c, parse_coerce.c, parse_relation.c, parse_agg.c, analyze.c).
//! Binding reads one catalog version and has no side effect, except that an
//! untyped parameter (`$1`) gets the type of the place where it stands.

mod aggregate;
mod answers;
mod call;
mod candidate;
mod coerce;
mod collation;
mod conflict;
mod dml;
mod domains;
mod element;
mod expr;
mod from;
mod func;
mod group;
mod grouping_sets;
pub mod index;
mod instead;
mod lock;
mod misspelt;
mod names;
mod ordered_set;
mod positions;
mod returning;
mod row;
mod row_types;
mod search_cycle;
mod select;
mod set_clauses;
pub mod sql_function;
mod stored;
mod sublink;
pub mod trigger;
pub mod typename;
mod variables;
mod view;
mod window;
mod with;
mod written;

use crate::ast::{self, Location};
use crate::deparse::unnamed::check_named;
use crate::expr::{Expr, Place, TypeRef};
use crate::plan::{Positions, RelationLock};
use crate::query::{Cte, Query, Rte};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use steppe_catalog::{Catalog, PG_CATALOG, Relation};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, interrupt, oid};

pub use aggregate::{
    AggregateCalls, SupportFunction, aggregate_calls, find_support_function, is_binary_coercible,
    literal_of,
};
pub use answers::Answers;
pub use call::{ProcedureCall, bind_call};
pub use coerce::CoercionContext;
pub(crate) use coerce::is_row;
pub use collation::collation;
pub use conflict::has_no_arbiter;
pub(crate) use domains::without_domains;
pub use domains::{bind_domain_condition, stored_condition};
pub(crate) use from::UNNAMED_JOIN;
pub use func::figure_column_name;
pub(crate) use names::relation_of;
pub use row::result_columns;
pub use row_types::{is_own, own_element, read_label, read_of_domain, read_row};
pub(crate) use set_clauses::SOURCE_OF_SEVERAL;
pub use stored::{
    generated_value, of_stored, statistics_exprs, stored_checks, stored_expr, stored_generated,
    stored_key, stored_never_null, virtual_value,
};
pub use variables::{Conflict, RecordColumns, Variable, Variables};
pub use view::{
    CHECK_OPTION, SECURITY_BARRIER, SECURITY_INVOKER, stored_view_update_refusal,
    updatable_columns, view_update_refusal,
};

/// The maximum number of columns of a row that is not stored (MaxTupleAttributeNumber).
const TARGETS_MAX: usize = 1664;
/// The maximum number of arguments of a call (FUNC_MAX_ARGS).
const ARGUMENTS_MAX: usize = 100;

/// Name and type of a system column by its (negative) attribute number.
pub fn system_column(number: i32) -> Option<(&'static str, Oid)> {
    names::SYSTEM_COLUMNS.iter().find(|(_, n, _)| *n == number).map(|(name, _, ty)| (*name, *ty))
}

/// The session's state that the binder needs.
pub struct BindContext<'a> {
    /// The catalog version to resolve names in.
    pub catalog: &'a Catalog,
    /// Schemas searched for unqualified names, in order (pg_catalog included).
    pub search_path: &'a [Oid],
    /// Settings that literal input depends on.
    pub io: &'a IoContext,
    /// The statement's text, for error positions.
    pub source: &'a str,
}

/// Types of `$n`, declared or found out while binding.
#[derive(Clone, Debug, Default)]
pub struct Params {
    types: Vec<Oid>,
    /// The type modifiers that their values fit. Parameters after the last have none.
    typmods: Vec<i32>,
    /// Undeclared parameters may appear (extended protocol, PREPARE).
    variable: bool,
    /// The names that are parameters.
    scope: Option<variables::InScope>,
}

/// The highest parameter that PostgreSQL makes room for (MaxAllocSize), though a Bind has fewer.
const PARAMS_MAX: usize = 0x3fff_ffff / size_of::<Oid>();

impl Params {
    /// Disallows parameters (simple protocol).
    pub fn none() -> Params {
        Params::default()
    }

    /// The declared types, where 0 or UNKNOWN is to be inferred; more may appear.
    pub fn variable(declared: &[Oid]) -> Params {
        Params { types: declared.to_vec(), variable: true, ..Params::default() }
    }

    /// Whether the statement may have more parameters than the declared ones.
    pub fn may_grow(&self) -> bool {
        self.variable
    }

    /// Exactly these types.
    pub fn fixed(types: &[Oid]) -> Params {
        Params { types: types.to_vec(), ..Params::default() }
    }

    /// Exactly these types, whose values have been read with these lengths, precisions and
    /// scales: they go into columns of the same type as they are.
    pub fn fitted(types: &[TypeRef]) -> Params {
        Params {
            types: types.iter().map(|ty| ty.oid).collect(),
            typmods: types.iter().map(|ty| ty.typmod).collect(),
            ..Params::default()
        }
    }
}

/// A bound query with the parameter types it found.
#[derive(Debug)]
pub struct Bound {
    /// The query.
    pub query: Query,
    /// Types of `$1 …`.
    pub param_types: Vec<Oid>,
    /// Where parameters are the variables of a function: the variable of each parameter.
    pub variables: Vec<usize>,
    /// The relations that its names stand for.
    pub mentioned: Vec<Oid>,
    /// The names of functions that were looked up ([`steppe_catalog::function_name`]).
    pub functions: Vec<u64>,
    /// The views that were opened on the way to its tables, and how they are to be locked.
    pub views: Vec<(Oid, RelationLock)>,
    /// For a cursor: the tables whose row positions [`Bound::add_positions`] has added.
    pub positions: Option<Positions>,
}

/// Why a query was not bound.
#[derive(Debug)]
pub struct Unbound {
    /// The error.
    pub error: Error,
    /// The relations that its names were resolved to before the error.
    pub mentioned: Vec<Oid>,
}

impl From<Error> for Unbound {
    fn from(error: Error) -> Unbound {
        Unbound { error, mentioned: Vec::new() }
    }
}

impl From<Unbound> for Error {
    fn from(unbound: Unbound) -> Error {
        unbound.error
    }
}

/// Binds a SELECT, INSERT, UPDATE or DELETE to be planned.
pub fn bind_query(
    ctx: &BindContext<'_>,
    statement: &ast::Statement,
    params: Params,
) -> Result<Bound, Unbound> {
    bind_whole(ctx, statement, params, false, drop_collation)
}

/// Binds the SELECT of a view, with its COLLATE clauses, to be printed.
pub fn bind_view_query(ctx: &BindContext<'_>, select: &ast::Statement) -> Result<Bound, Unbound> {
    bind_whole(ctx, select, Params::none(), true, |_| ())
}

/// The same for a statement of a function's body, over the function's arguments. One that changes
/// rows names what it changes as it was written ([`written`]).
pub fn bind_function_query(
    ctx: &BindContext<'_>,
    statement: &ast::Statement,
    params: Params,
) -> Result<Bound, Unbound> {
    bind_whole(ctx, statement, params, true, |_| ())
}

/// The collations that the columns of a view's query have. The error is 42P16 for a row of no
/// declared type, and 42P22 where no collation can be derived.
pub fn view_collations(ctx: &BindContext<'_>, query: &Query) -> Result<Vec<Oid>> {
    let binder = Binder::new(ctx, Params::none());
    if let Some((name, ty)) = binder.record_column(query) {
        let ty = binder.format_type(ty, -1);
        let message = format!("column \"{name}\" has pseudo-type {ty}");
        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    binder.output_collations(query)
}

/// `finish` processes each bound expression.
fn bind_whole(
    ctx: &BindContext<'_>,
    statement: &ast::Statement,
    params: Params,
    to_print: bool,
    finish: fn(&mut Expr),
) -> Result<Bound, Unbound> {
    let mut binder = Binder::new(ctx, params);
    binder.to_print = to_print;
    let bound = binder.whole(statement);
    let variables = binder.params.used();
    let mentioned = binder.mentioned.into_inner();
    let functions = binder.looked_up.into_inner();
    match bound {
        Ok((mut query, param_types)) => {
            crate::walk::for_each_expr(&mut query, &mut |expr| {
                finish(expr);
                settle(expr, &param_types);
            });
            let views = binder.views.take();
            let positions = None;
            Ok(Bound { query, param_types, variables, mentioned, functions, views, positions })
        }
        Err(error) => Err(Unbound { error, mentioned }),
    }
}

/// Binds the stored text of a view, which means the same under any search path and settings.
pub fn bind_view(catalog: &Catalog, text: &str) -> Result<Query> {
    let statement = ast::Statement::Select(Box::new(view::stored_select(text)?));
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    Ok(bind_view_query(&ctx, &statement)?.query)
}

/// Binds an expression over the columns of one table (CHECK, index expressions,
/// column defaults with no table). Columns are `Var { rte: 0, .. }`.
pub fn bind_table_expr(
    ctx: &BindContext<'_>,
    relation: Option<&Arc<Relation>>,
    expr: &ast::Expr,
    place: ExprPlace,
) -> Result<Expr> {
    let bound = Binder::new(ctx, Params::none()).table_expr(relation, expr, place)?;
    row_types::check_kept(&bound, place)?;
    Ok(settled(bound))
}

/// Binds a condition over the columns of one table (CHECK, index predicates); `construct` names it
/// in the error for anything but a boolean.
pub fn bind_table_condition(
    ctx: &BindContext<'_>,
    relation: &Arc<Relation>,
    expr: &ast::Expr,
    construct: &str,
    place: ExprPlace,
) -> Result<Expr> {
    let mut binder = Binder::new(ctx, Params::none());
    let bound = binder.table_expr(Some(relation), expr, place)?;
    let bound = binder.coerce_boolean(bound, construct, expr.leftmost())?;
    row_types::check_kept(&bound, place)?;
    Ok(settled(bound))
}

/// Binds a table expression and coerces it to a type as an assignment to `column` would.
pub fn bind_assigned_expr(
    ctx: &BindContext<'_>,
    relation: Option<&Arc<Relation>>,
    expr: &ast::Expr,
    place: ExprPlace,
    target: TypeRef,
    column: &str,
) -> Result<Expr> {
    let mut binder = Binder::new(ctx, Params::none());
    let bound = binder.table_expr(relation, expr, place)?;
    // PostgreSQL gives no position for a DEFAULT of another type.
    let location = match place {
        ExprPlace::ColumnDefault | ExprPlace::GeneratedColumn => Location::NONE,
        _ => expr.leftmost(),
    };
    let bound = binder.coerce_assignment(bound, target, column, location, place)?;
    row_types::check_kept(&bound, place)?;
    Ok(settled(bound))
}

/// Binds the default of a function's parameter and coerces it to the parameter's type.
pub fn bind_parameter_default(
    ctx: &BindContext<'_>,
    expr: &ast::Expr,
    target: Oid,
) -> Result<Expr> {
    let mut binder = Binder::new(ctx, Params::none());
    let bound = binder.table_expr(None, expr, ExprPlace::FunctionDefault)?;
    check_named(&bound)?;
    if coerce::is_polymorphic(target) {
        return Ok(settled(bound));
    }
    let to = TypeRef::plain(target);
    binder.coerce_argument(bound, to, "DEFAULT", expr.leftmost()).map(settled)
}

/// [`settle`] over an expression without parameters.
fn settled(expr: Expr) -> Expr {
    let settled: std::result::Result<Expr, std::convert::Infallible> =
        expr.transform(&mut |mut e| {
            drop_collation(&mut e);
            settle(&mut e, &[]);
            Ok(e)
        });
    match settled {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

/// Whether a name is a system column's.
pub fn is_system_column(name: &str) -> bool {
    names::SYSTEM_COLUMNS.iter().any(|(n, ..)| *n == name)
}

/// Turns an expression bound over one table into one over the table's row: columns become slots.
pub fn over_row(expr: Expr) -> Result<Expr> {
    expr.transform(&mut |e| match e {
        Expr::Var { column, levels_up: 0, ty, .. } => match usize::try_from(column) {
            Ok(index) => Ok(Expr::Slot { index, ty }),
            Err(_) => Err(Error::not_supported("system columns in a stored expression")),
        },
        other => Ok(other),
    })
}

/// Binds the arguments of EXECUTE: constants coerced to the parameter types.
pub fn bind_execute_args(
    ctx: &BindContext<'_>,
    args: &[ast::Expr],
    types: &[Oid],
) -> Result<Vec<Expr>> {
    let mut binder = Binder::new(ctx, Params::none());
    binder.push_scope();
    let mut values = Vec::with_capacity(args.len());
    for (i, (arg, ty)) in args.iter().zip(types).enumerate() {
        let bound = binder.expr(arg, ExprPlace::ExecuteParameter)?;
        let to = TypeRef::plain(*ty);
        let value = binder.coerce_parameter(bound, i + 1, to, arg.leftmost())?;
        values.push(settled(value));
    }
    Ok(values)
}

/// Parses the stored text of an expression (a default, a check, an index expression).
pub fn parse_expression(text: &str) -> Result<ast::Expr> {
    let broken = || Error::internal(format!("stored expression is not one: {text}"));
    let mut statements = crate::parser::parse(&format!("SELECT {text}"))?;
    let Some(ast::Statement::Select(select)) = statements.pop().map(|s| s.statement) else {
        return Err(broken());
    };
    match select.body {
        ast::SelectBody::Select(mut core) if core.targets.len() == 1 => {
            core.targets.pop().map(|t| t.value).ok_or_else(broken)
        }
        _ => Err(broken()),
    }
}

/// The place of an expression. It decides which constructs are allowed, and how errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprPlace {
    /// SELECT list.
    Targets,
    /// WHERE.
    Where,
    /// FILTER.
    Filter,
    /// JOIN … ON.
    JoinOn,
    /// HAVING.
    Having,
    /// GROUP BY.
    GroupBy,
    /// ORDER BY.
    OrderBy,
    /// DISTINCT ON.
    DistinctOn,
    /// LIMIT.
    Limit,
    /// OFFSET.
    Offset,
    /// RETURNING.
    Returning,
    /// VALUES lists.
    Values,
    /// INSERT … VALUES with one row.
    InsertTargets,
    /// UPDATE … SET.
    UpdateSource,
    /// Function in FROM.
    FromFunction,
    /// CHECK.
    Check,
    /// DEFAULT.
    ColumnDefault,
    /// DEFAULT of a function's parameter.
    FunctionDefault,
    /// GENERATED AS.
    GeneratedColumn,
    /// PARTITION BY.
    PartitionKey,
    /// FOR VALUES of a partition.
    PartitionBound,
    /// Index expression.
    IndexExpression,
    /// Index predicate.
    IndexPredicate,
    /// Expression of a statistics object.
    StatisticsExpression,
    /// EXECUTE's arguments.
    ExecuteParameter,
    /// ALTER COLUMN TYPE … USING.
    AlterType,
    /// COPY … WHERE.
    CopyWhere,
    /// CALL's arguments.
    CallArgument,
    /// WHEN of CREATE TRIGGER.
    TriggerWhen,
    /// PARTITION BY of a window.
    WindowPartition,
    /// ORDER BY of a window.
    WindowOrder,
    /// Offsets of a ROWS frame.
    WindowRows,
    /// Offsets of a RANGE frame.
    WindowRange,
    /// Offsets of a GROUPS frame.
    WindowGroups,
    /// The marks of CYCLE.
    CycleMark,
}

impl ExprPlace {
    /// The name of the place in PostgreSQL's messages (ParseExprKindName).
    pub(crate) fn name(self) -> &'static str {
        match self {
            ExprPlace::Targets => "SELECT",
            ExprPlace::Where => "WHERE",
            ExprPlace::Filter => "FILTER",
            ExprPlace::JoinOn => "JOIN/ON",
            ExprPlace::Having => "HAVING",
            ExprPlace::GroupBy => "GROUP BY",
            ExprPlace::OrderBy => "ORDER BY",
            ExprPlace::DistinctOn => "DISTINCT ON",
            ExprPlace::Limit => "LIMIT",
            ExprPlace::Offset => "OFFSET",
            ExprPlace::Returning => "RETURNING",
            ExprPlace::Values => "VALUES",
            ExprPlace::InsertTargets => "INSERT",
            ExprPlace::UpdateSource => "UPDATE",
            ExprPlace::FromFunction => "function in FROM",
            ExprPlace::Check => "CHECK",
            ExprPlace::ColumnDefault | ExprPlace::FunctionDefault => "DEFAULT",
            ExprPlace::GeneratedColumn => "GENERATED AS",
            ExprPlace::PartitionKey => "PARTITION BY",
            ExprPlace::PartitionBound => "partition bound",
            ExprPlace::IndexExpression => "index expressions",
            ExprPlace::IndexPredicate => "index predicates",
            ExprPlace::StatisticsExpression => "statistics expressions",
            ExprPlace::ExecuteParameter => "EXECUTE",
            ExprPlace::AlterType => "USING",
            ExprPlace::CopyWhere => "WHERE",
            ExprPlace::CallArgument => "CALL",
            ExprPlace::TriggerWhen => "WHEN",
            ExprPlace::CycleMark => "CYCLE",
            ExprPlace::WindowPartition => "window PARTITION BY",
            ExprPlace::WindowOrder => "window ORDER BY",
            ExprPlace::WindowRows => "window ROWS",
            ExprPlace::WindowRange => "window RANGE",
            ExprPlace::WindowGroups => "window GROUPS",
        }
    }
}

impl ExprPlace {
    /// The name of the place in refusals of aggregates and set-returning functions.
    pub(crate) fn phrase(self) -> &'static str {
        match self {
            ExprPlace::JoinOn => "JOIN conditions",
            ExprPlace::FromFunction => "functions in FROM",
            ExprPlace::Check => "check constraints",
            ExprPlace::ColumnDefault | ExprPlace::FunctionDefault => "DEFAULT expressions",
            ExprPlace::GeneratedColumn => "column generation expressions",
            ExprPlace::PartitionKey => "partition key expressions",
            ExprPlace::AlterType => "transform expressions",
            ExprPlace::ExecuteParameter => "EXECUTE parameters",
            ExprPlace::CopyWhere => "COPY FROM WHERE conditions",
            ExprPlace::CallArgument => "CALL arguments",
            ExprPlace::TriggerWhen => "trigger WHEN conditions",
            other => other.name(),
        }
    }
}

/// A name that column references may use.
#[derive(Clone, Debug)]
pub(crate) struct NamespaceItem {
    /// Range-table entry.
    pub(crate) rte: usize,
    /// `alias.column` may be used.
    pub(crate) relation_visible: bool,
    /// `column` may be used.
    pub(crate) columns_visible: bool,
    /// May be used only from LATERAL items for now.
    pub(crate) lateral_only: bool,
    /// Otherwise the LATERAL reference is an error.
    pub(crate) lateral_ok: bool,
    /// Inside a join: unqualified names do not find its system columns.
    pub(crate) joined: bool,
    /// Hidden columns (a USING join's inputs keep them for qualified use only).
    pub(crate) hidden_columns: Vec<usize>,
}

/// One query level being bound.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) rtes: Vec<Rte>,
    pub(crate) namespace: Vec<NamespaceItem>,
    pub(crate) ctes: Vec<Cte>,
    /// The queries of a WITH without RECURSIVE from the one that is being bound on.
    pub(crate) later_queries: Vec<String>,
    pub(crate) has_aggregates: bool,
    /// The entry whose rows the statement changes, while its FROM is bound: FROM must not refer to
    /// it.
    pub(crate) target: Option<usize>,
    /// The view that the statement changes rows through.
    pub(crate) target_view: Option<view::ViewTarget>,
    /// The entry by which UPDATE and DELETE read a view that INSTEAD OF triggers change.
    pub(crate) instead_rows: Option<usize>,
    /// ON CONFLICT's `excluded`: a row that is in no table, so without system columns.
    pub(crate) excluded: Option<usize>,
    /// RETURNING's `old` and `new`: the entry that names see, and that of the table's row.
    pub(crate) returning_versions: Vec<(usize, usize)>,
    /// Entries that an outer join fills with NULLs where it has no row of theirs.
    pub(crate) nullable: Vec<usize>,
    /// Arguments of GROUPING, which GROUP BY must have.
    pub(crate) grouping_args: Vec<(Expr, Location)>,
    /// The WINDOW clause, then the definitions of OVER clauses.
    pub(crate) window_defs: Vec<ast::WindowDef>,
    /// The place in this level of the sub-select that is being bound.
    pub(crate) sub_select_place: Option<ExprPlace>,
    /// LATERAL references are allowed while this FROM item is bound.
    pub(crate) lateral_active: bool,
}

/// The binder's state.
pub(crate) struct Binder<'a> {
    pub(crate) ctx: &'a BindContext<'a>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) params: Params,
    /// The place of the set-returning function that was bound last.
    pub(crate) last_set: Option<Location>,
    /// The views whose queries are being bound around this one: a view must not contain itself.
    pub(crate) around: Vec<Oid>,
    /// COLLATE was bound.
    pub(crate) collates: bool,
    /// A CALL is bound, so a name means a procedure, and the call gives all its arguments.
    pub(crate) calls_procedure: bool,
    /// The primary keys that the query whose grouping is being checked depends on.
    pub(crate) determining_keys: Vec<Oid>,
    /// The recursive terms that are being bound, innermost last.
    pub(crate) recursions: Vec<Recursion>,
    /// The relations that names were found to stand for (not in views' queries, which others bind).
    mentioned: RefCell<Vec<Oid>>,
    /// The names of functions that were looked up.
    looked_up: RefCell<Vec<u64>>,
    /// The statement is bound to be printed, not to be run ([`written`]).
    pub(crate) to_print: bool,
    /// The arguments for which the last resolved call uses defaults, a bit for each.
    left_out: u128,
    /// The views whose queries were bound, those in other views' queries included.
    views: Rc<RefCell<Vec<(Oid, RelationLock)>>>,
}

/// The recursive term of a WITH query, while it is bound.
pub(crate) struct Recursion {
    /// The query level and the position of its entry there.
    pub(crate) entry: (usize, usize),
    /// The part of the term that is being bound, if the query must not be named there.
    pub(crate) within: Option<&'static str>,
}

impl<'a> Binder<'a> {
    fn new(ctx: &'a BindContext<'a>, params: Params) -> Binder<'a> {
        Binder {
            ctx,
            scopes: Vec::new(),
            params,
            last_set: None,
            around: Vec::new(),
            collates: false,
            calls_procedure: false,
            determining_keys: Vec::new(),
            recursions: Vec::new(),
            mentioned: RefCell::default(),
            looked_up: RefCell::default(),
            to_print: false,
            left_out: 0,
            views: Rc::default(),
        }
    }

    /// An expression over the columns of one table, on a query level of its own.
    fn table_expr(
        &mut self,
        relation: Option<&Arc<Relation>>,
        expr: &ast::Expr,
        place: ExprPlace,
    ) -> Result<Expr> {
        self.push_scope();
        if let Some(relation) = relation {
            let rte = self.add_relation_rte(relation.clone(), None, false)?;
            self.make_visible(rte);
        }
        self.expr(expr, place)
    }

    /// A statement, and the types of its parameters.
    fn whole(&mut self, statement: &ast::Statement) -> Result<(Query, Vec<Oid>)> {
        let mut query = match statement {
            ast::Statement::Select(select) => self.select(select)?,
            ast::Statement::Insert(insert) => self.insert(insert)?,
            ast::Statement::Update(update) => self.update(update)?,
            ast::Statement::Delete(delete) => self.delete(delete)?,
            ast::Statement::Merge(_) => return Err(Error::not_supported("MERGE")),
            _ => return Err(Error::internal("statement is not a query")),
        };
        self.assign_to_variable(&mut query)?;
        self.settle_unknown_targets(&mut query)?;
        self.return_from_function(&mut query)?;
        let param_types = self.finish_params()?;
        Ok((query, param_types))
    }

    /// Remembers that a name stands for a relation.
    pub(crate) fn mentions(&self, relation: Oid) {
        self.mentioned.borrow_mut().push(relation);
    }

    pub(crate) fn push_scope(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(crate) fn pop_scope(&mut self) -> Scope {
        self.scopes.pop().expect("every pop_scope follows its push_scope")
    }

    pub(crate) fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a query level is open while binding")
    }

    /// The character position of a location, for errors.
    pub(crate) fn position(&self, location: Location) -> Option<u32> {
        location.position(self.ctx.source)
    }

    /// An error at a place in the statement.
    pub(crate) fn error(
        &self,
        sqlstate: SqlState,
        message: impl Into<String>,
        location: Location,
    ) -> Error {
        Error::new(sqlstate, message).at(self.position(location))
    }

    /// 0A000 at a place in the statement.
    pub(crate) fn unsupported(&self, feature: &str, location: Location) -> Error {
        Error::not_supported(feature).at(self.position(location))
    }

    /// `$number`.
    pub(crate) fn param(&mut self, number: i32, location: Location) -> Result<Expr> {
        if let Some(variable) = self.numbered_variable(number, location)? {
            return Ok(variable);
        }
        let undefined = |b: &Self| {
            b.error(
                SqlState::UNDEFINED_PARAMETER,
                format!("there is no parameter ${number}"),
                location,
            )
        };
        let Some(index) = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)) else {
            return Err(undefined(self));
        };
        if self.params.are_variables() || index >= self.params.types.len() {
            if !self.params.variable || index >= PARAMS_MAX {
                return Err(undefined(self));
            }
            interrupt::reserve((index + 1 - self.params.types.len()) * size_of::<Oid>())?;
            self.params.types.resize(index + 1, oid::UNKNOWN);
        }
        let oid = match self.params.types[index] {
            0 => oid::UNKNOWN,
            ty => ty,
        };
        let typmod = self.params.typmods.get(index).copied().unwrap_or(-1);
        let held = self.ctx.catalog.held_type(oid).oid;
        if held == oid {
            return Ok(Expr::Param { index, ty: TypeRef { oid, typmod }, at: Place(location) });
        }
        // The value that a client has sent has been read as one of the type below.
        let param = Expr::Param { index, ty: TypeRef::plain(held), at: Place(location) };
        self.coerce_implicit(param, TypeRef::plain(oid))
    }

    /// Gives an untyped parameter its type; a second, different one is an error.
    pub(crate) fn type_param(&mut self, index: usize, ty: Oid, at: Place) -> Result<Oid> {
        let slot = self.params.types[index];
        match slot {
            0 | oid::UNKNOWN => {
                self.params.types[index] = ty;
                Ok(ty)
            }
            known if known == ty => Ok(ty),
            known => Err(self
                .error(
                    SqlState::AMBIGUOUS_PARAMETER,
                    format!("inconsistent types deduced for parameter ${}", index + 1),
                    at.0,
                )
                .detail(format!(
                    "{} versus {}",
                    self.format_type(known, -1),
                    self.format_type(ty, -1)
                ))),
        }
    }

    /// All parameter types; 42P18 if one was never found out.
    fn finish_params(&mut self) -> Result<Vec<Oid>> {
        for (index, ty) in self.params.types.iter().enumerate() {
            if matches!(*ty, 0 | oid::UNKNOWN) {
                return Err(Error::new(
                    SqlState::INDETERMINATE_DATATYPE,
                    format!("could not determine data type of parameter ${}", index + 1),
                ));
            }
        }
        Ok(self.params.types.clone())
    }

    /// Output columns of unknown type become text (as PostgreSQL's resolveTargetListUnknowns).
    fn settle_unknown_targets(&mut self, query: &mut Query) -> Result<()> {
        for target in query.targets.iter_mut().chain(&mut query.returning) {
            if target.expr.ty().oid == oid::UNKNOWN {
                let taken = std::mem::replace(&mut target.expr, Expr::Default(TypeRef::plain(0)));
                target.expr = self.coerce_implicit(taken, TypeRef::plain(oid::TEXT))?;
            }
        }
        Ok(())
    }
}

/// Literals whose context gave no type stay unknown. Parameters that were met before their type was
/// inferred get it.
fn settle(expr: &mut Expr, param_types: &[Oid]) {
    match expr {
        Expr::Untyped { value, .. } => {
            let value = std::mem::replace(value, Datum::Null);
            *expr = Expr::Const(value, TypeRef::plain(oid::UNKNOWN));
        }
        Expr::Param { index, ty, .. } if ty.oid == oid::UNKNOWN => {
            ty.oid = param_types.get(*index).copied().unwrap_or(oid::UNKNOWN);
        }
        _ => {}
    }
}

/// COLLATE has done its part once an expression is bound: see [`collation`].
fn drop_collation(expr: &mut Expr) {
    while let Expr::Collate { arg, .. } = expr {
        *expr = std::mem::replace(&mut **arg, Expr::Default(TypeRef::plain(oid::UNKNOWN)));
    }
}
