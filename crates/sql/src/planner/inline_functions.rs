//! Calls of simple functions in SQL become what the functions compute (inline_function and
//! inline_set_returning_function in clauses.c).
//!
//! ```text
//!   WHERE add_one(n) = 3          ──▶  WHERE n + 1 = 3              an index over n + 1 may serve
//!   FROM cheap_parts(3)           ──▶  FROM (SELECT …) cheap_parts  planned with the query
//! ```
//!
//! A function in FROM is a single SELECT that may see what the calling query sees, so it is not
//! VOLATILE. A function in an expression is a SELECT of one expression without FROM. The expression
//! takes the place of the call, and the arguments that of the parameters. So an argument that is
//! used more than once must be cheap and not volatile, and an expression in place of a STRICT
//! function must itself be NULL where an argument is.
//!
//! The plan records the names of functions that an inlined body looks up, as it records the names
//! in the query itself.

use super::is_volatile;
use crate::bind::index::{IndexExprs, is_mutable};
use crate::bind::sql_function::{Arguments, Returned, composite_result, parse_body};
use crate::bind::{BindContext, Params, bind_query, is_row};
use crate::expr::Expr;
use crate::plan::RelationLock;
use crate::query::{Command, Distinct, Query, RteKind};
use crate::walk;
use std::sync::Arc;
use steppe_catalog::objects::{Body, Function, FunctionKind};
use steppe_catalog::{Catalog, FunctionRef, IndexInfo, PG_CATALOG, Relation, function_name};
use steppe_types::io::IoContext;
use steppe_types::{Error, Oid, Result, oid};

/// The most operators of an argument that is used more than once.
const CHEAP_OPERATORS: usize = 10;

/// The objects that a plan depends on besides those of its query.
#[derive(Default)]
pub(super) struct Inlined {
    /// The relations that inlined queries name.
    pub(super) relations: Vec<Oid>,
    /// The names of functions that were looked up.
    pub(super) functions: Vec<u64>,
    /// Views that were opened, and how they are locked.
    pub(super) views: Vec<(Oid, RelationLock)>,
}

/// Inlines the calls in a query.
pub(super) fn inline(ctx: &BindContext<'_>, query: &mut Query) -> Result<Inlined> {
    let mut inliner = Inliner { ctx, active: Vec::new(), found: Inlined::default() };
    if !ctx.catalog.stored::<Function>().is_empty() {
        inliner.query(query)?;
    }
    Ok(inliner.found)
}

/// The expressions of an index, with the calls in them inlined as those in a query are. The names in
/// their functions' bodies are looked up in pg_catalog only.
pub fn index_exprs(
    catalog: &Catalog,
    table: &Arc<Relation>,
    info: &IndexInfo,
) -> Result<IndexExprs> {
    let mut exprs = IndexExprs::bind(catalog, table, info)?;
    let all = exprs.keys.iter_mut().flatten().chain(&mut exprs.predicate);
    inline_stored(catalog, &[PG_CATALOG], all)?;
    Ok(exprs)
}

/// Inlines the calls in stored expressions. The names in their functions' bodies are looked up along
/// a search path.
pub fn inline_stored<'e>(
    catalog: &Catalog,
    search_path: &[Oid],
    mut exprs: impl Iterator<Item = &'e mut Expr>,
) -> Result<()> {
    if catalog.stored::<Function>().is_empty() {
        return Ok(());
    }
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path, io: &io, source: "" };
    let mut inliner = Inliner { ctx: &ctx, active: Vec::new(), found: Inlined::default() };
    exprs.try_for_each(|expr| inliner.root(expr))
}

struct Inliner<'a, 'c> {
    ctx: &'a BindContext<'c>,
    /// The functions whose bodies are being inlined: a function does not become part of itself.
    active: Vec<Oid>,
    found: Inlined,
}

impl Inliner<'_, '_> {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        stacker::maybe_grow(256 * 1024, 4 * 1024 * 1024, || self.query_level(query))
    }

    fn query_level(&mut self, query: &mut Query) -> Result<()> {
        let mut done = Ok(());
        walk::for_each_root(query, &mut |root| {
            if done.is_ok() {
                done = self.root(root);
            }
        });
        done?;
        for rte in &mut query.rtes {
            if let RteKind::Function { calls, ordinality: false } = &rte.kind
                && let [(call, width)] = calls.as_slice()
                && let Some(inlined) = self.set(call, *width)?
            {
                rte.kind = RteKind::Subquery { query: inlined, lateral: true, view: None };
                continue;
            }
            if let RteKind::Subquery { query, .. } = &mut rte.kind {
                self.query(query)?;
            }
        }
        if let Some(operation) = &mut query.set_operation {
            self.query(&mut operation.left)?;
            self.query(&mut operation.right)?;
        }
        query.ctes.iter_mut().try_for_each(|cte| self.query(&mut cte.query))
    }

    fn root(&mut self, root: &mut Expr) -> Result<()> {
        if !calls_routine(root) {
            return Ok(());
        }
        let taken = std::mem::replace(root, Expr::Default(crate::expr::TypeRef::plain(0)));
        *root = self.expr(taken)?;
        Ok(())
    }

    fn expr(&mut self, expr: Expr) -> Result<Expr> {
        expr.transform(&mut |mut node| {
            if let Expr::SubLink { query, .. } = &mut node {
                self.query(query)?;
            }
            match self.scalar(&node)? {
                Some(inlined) => Ok(inlined),
                None => Ok(node),
            }
        })
    }

    /// The expression that takes the place of a call. `None` if the call stays.
    fn scalar(&mut self, call: &Expr) -> Result<Option<Expr>> {
        let Expr::Func { func, args, ty, .. } = call else { return Ok(None) };
        if !is_simple(func)
            || func.retset
            || func.ret == oid::RECORD
            || args.len() != func.args.len()
            || self.active.contains(&func.oid)
        {
            return Ok(None);
        }
        let Some(body) = self.body(func, args, ty.oid)? else { return Ok(None) };
        let Some(value) = only_expression(body.query, ty.oid) else { return Ok(None) };
        let is_as_steady = (!func.is_immutable() || !is_mutable(&value))
            && (func.is_volatile() || !is_volatile(&value));
        if !is_as_steady || (func.strict && !is_strict(&value)) {
            return Ok(None);
        }
        if args.iter().any(depends_on_place) || !may_substitute(&value, args, &body.variables, func)
        {
            return Ok(None);
        }
        let value = substitute(value, args, &body.variables);
        self.note(func, body.relations, body.functions, body.views);
        self.active.push(func.oid);
        let inlined = self.expr(value);
        self.active.pop();
        inlined.map(Some)
    }

    /// The sub-select that takes the place of a call in FROM.
    fn set(&mut self, call: &Expr, width: usize) -> Result<Option<Box<Query>>> {
        let Expr::Func { func, args, ty, .. } = call else { return Ok(None) };
        if !is_simple(func)
            || !func.retset
            || func.strict
            || func.is_volatile()
            || func.ret == oid::VOID
            || args.len() != func.args.len()
            || self.active.contains(&func.oid)
            || args.iter().any(|arg| is_volatile(arg) || has_sub_select(arg))
        {
            return Ok(None);
        }
        let Some(body) = self.body(func, args, ty.oid)? else { return Ok(None) };
        let mut query = body.query;
        let columns = query.targets.iter().filter(|target| !target.hidden).count();
        let is_row = func.out_columns().nth(1).is_some() || is_row(ty.oid);
        let fits = match is_row {
            // A body that returns a row as one column does not fit: FROM needs the row's columns.
            true => columns == width && !(columns == 1 && body.is_whole_value),
            false => columns == 1 && width == 1,
        };
        if query.command != Command::Select || !fits {
            return Ok(None);
        }
        let mut values = args.clone();
        // The arguments have parameters of their own, which stay.
        walk::for_each_node_up(&mut query, 0, &mut |node, depth| {
            if let Expr::Param { index, .. } = node
                && let Some(value) =
                    body.variables.get(*index).and_then(|number| values.get_mut(*number))
            {
                *node = deeper(value.clone(), depth + 1);
            }
        });
        self.note(func, body.relations, body.functions, body.views);
        self.active.push(func.oid);
        let mut query = Box::new(query);
        let inlined = self.query(&mut query);
        self.active.pop();
        inlined.map(|()| Some(query))
    }

    fn note(
        &mut self,
        function: &FunctionRef,
        relations: Vec<Oid>,
        functions: Vec<u64>,
        views: Vec<(Oid, RelationLock)>,
    ) {
        self.found.relations.extend(relations);
        self.found.functions.extend(functions);
        self.found.functions.push(function_name(&function.name));
        self.found.views.extend(views);
    }

    /// The one statement of a body, bound for these arguments. `None` if there are several, or if
    /// it has no plan.
    fn body(&self, func: &FunctionRef, args: &[Expr], ty: Oid) -> Result<Option<BoundBody>> {
        let body = parse_body(func);
        let body = body.map_err(|error| during_inlining(error, func, func.source()))?;
        let [only] = body.statements.as_slice() else { return Ok(None) };
        if !matches!(*only.statement, crate::ast::Statement::Select(_)) {
            return Ok(None);
        }
        let types: Vec<Oid> = args.iter().map(|arg| arg.ty().oid).collect();
        let columns = composite_result(func, &types, ty, self.ctx.catalog);
        let returned = Returned { ty, columns, is_procedure: false };
        let arguments = Arguments::of(func, &types, Some(returned));
        let bind = BindContext { source: &body.text, ..*self.ctx };
        let bound = bind_query(&bind, &only.statement, Params::variables(Arc::new(arguments)));
        let bound = bound.map_err(|unbound| during_inlining(unbound.error, func, &body.text))?;
        let is_whole_value = matches!(
            bound.query.targets.iter().filter(|t| !t.hidden).collect::<Vec<_>>().as_slice(),
            [one] if one.expr.ty().oid == ty
        );
        Ok(Some(BoundBody {
            query: bound.query,
            variables: bound.variables,
            relations: bound.mentioned,
            functions: bound.functions,
            views: bound.views,
            is_whole_value,
        }))
    }
}

/// An error of a body: a position counts its characters.
fn during_inlining(mut error: Error, function: &Function, body: &str) -> Error {
    error.in_query(body);
    error.within(format!("SQL function \"{}\" during inlining", function.name))
}

/// A body, and what it depends on.
struct BoundBody {
    query: Query,
    /// The argument that each parameter is.
    variables: Vec<usize>,
    relations: Vec<Oid>,
    functions: Vec<u64>,
    views: Vec<(Oid, RelationLock)>,
    /// Its one column has the type of the result.
    is_whole_value: bool,
}

/// Whether a function may be inlined as far as its declaration tells.
fn is_simple(function: &Function) -> bool {
    matches!(function.body, Body::Sql { .. } | Body::SqlStandard { .. })
        && matches!(function.kind, FunctionKind::Plain)
        && !function.is_built_in()
        && !function.security_definer
        && function.config.is_empty()
}

/// Whether a user's function is called in an expression or in a sub-select.
fn calls_routine(expr: &Expr) -> bool {
    match expr {
        Expr::Func { func, .. } if !func.is_built_in() => true,
        Expr::SubLink { .. } => true,
        _ => expr.any_child(calls_routine),
    }
}

/// The expression of `SELECT expression`, if the query is nothing more, and of the type.
fn only_expression(query: Query, ty: Oid) -> Option<Expr> {
    let is_more = query.command != Command::Select
        || query.has_aggregates
        || !query.rtes.is_empty()
        || !query.from.is_empty()
        || query.filter.is_some()
        || !query.group_by.is_empty()
        || query.grouping_sets.is_some()
        || query.having.is_some()
        || query.distinct != Distinct::No
        || !query.order_by.is_empty()
        || !query.windows.is_empty()
        || query.limit.is_some()
        || query.offset.is_some()
        || query.set_operation.is_some()
        || !query.ctes.is_empty();
    let mut targets = query.targets;
    if is_more || targets.len() != 1 {
        return None;
    }
    let value = targets.pop()?.expr;
    let is_plain = value.ty().oid == ty && !has_sub_select(&value) && !returns_set(&value);
    is_plain.then_some(value)
}

fn has_sub_select(expr: &Expr) -> bool {
    matches!(expr, Expr::SubLink { .. } | Expr::SubPlan(_)) || expr.any_child(has_sub_select)
}

fn returns_set(expr: &Expr) -> bool {
    matches!(expr, Expr::Func { func, .. } if func.retset) || expr.any_child(returns_set)
}

/// Whether an expression means something else in another place (contain_context_dependent_node).
fn depends_on_place(expr: &Expr) -> bool {
    matches!(expr, Expr::CaseOperand(_)) || expr.any_child(depends_on_place)
}

/// Whether an expression is NULL where one of its parameters is (contain_nonstrict_functions).
fn is_strict(expr: &Expr) -> bool {
    let is_here = match expr {
        Expr::Func { func, .. } => func.strict,
        Expr::Const(..)
        | Expr::Param { .. }
        | Expr::ExecParam { .. }
        | Expr::Var { .. }
        | Expr::Not(_)
        | Expr::Field { .. }
        | Expr::Relabel { .. }
        | Expr::CoerceViaIo { .. }
        | Expr::Collate { .. } => true,
        Expr::ArrayCoerce { arg, .. } => return is_strict(arg),
        Expr::Subscript { assigned, .. } => assigned.is_none(),
        _ => false,
    };
    is_here && !expr.any_child(|child| !is_strict(child))
}

/// Whether each argument may stand where its parameter does, as often as that is used.
fn may_substitute(value: &Expr, args: &[Expr], variables: &[usize], func: &Function) -> bool {
    let mut uses = vec![0usize; args.len()];
    count_uses(value, variables, &mut uses);
    args.iter().zip(uses).all(|(arg, uses)| match uses {
        0 => !func.strict,
        1 => true,
        _ => !has_sub_select(arg) && operators(arg) <= CHEAP_OPERATORS && !is_volatile(arg),
    })
}

fn count_uses(expr: &Expr, variables: &[usize], uses: &mut [usize]) {
    if let Expr::Param { index, .. } = expr
        && let Some(count) = variables.get(*index).and_then(|number| uses.get_mut(*number))
    {
        *count += 1;
    }
    expr.for_each_child(&mut |child| count_uses(child, variables, uses));
}

/// The operators and functions of an expression, by their costs (cost_qual_eval).
fn operators(expr: &Expr) -> usize {
    let here = match expr {
        Expr::Func { func, .. } => func.cost.ceil() as usize,
        Expr::Distinct { .. }
        | Expr::NullIf { .. }
        | Expr::ScalarArrayOp { .. }
        | Expr::RowCompare { .. }
        | Expr::MinMax { .. } => 1,
        Expr::CoerceViaIo { .. } | Expr::ArrayCoerce { .. } => 2,
        _ => 0,
    };
    expr.children().into_iter().fold(here, |sum, child| sum.saturating_add(operators(child)))
}

fn substitute(value: Expr, args: &[Expr], variables: &[usize]) -> Expr {
    let done: Result<Expr, std::convert::Infallible> = value.transform(&mut |node| {
        Ok(match &node {
            Expr::Param { index, .. } => {
                let arg = variables.get(*index).and_then(|number| args.get(*number));
                arg.cloned().unwrap_or(node)
            }
            _ => node,
        })
    });
    match done {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// An expression, without sub-selects, `by` query levels further in.
fn deeper(mut expr: Expr, by: usize) -> Expr {
    walk::for_each_level(&mut expr, 0, &mut |node, _| match node {
        Expr::Var { levels_up, .. } | Expr::Grouping { levels_up, .. } => *levels_up += by,
        Expr::Aggregate(aggregate) => aggregate.levels_up += by,
        _ => {}
    });
    expr
}
