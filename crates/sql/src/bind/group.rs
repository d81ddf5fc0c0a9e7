//! Function calls that are aggregates, and the rules of GROUP BY (parse_agg.c).

use super::window::inner_window;
use super::{ARGUMENTS_MAX, Binder, ExprPlace};
use crate::ast::{self, Location};
use crate::expr::{Aggregate, CallSyntax, Expr, Place, SortKey, TypeRef};
use crate::plan::ROW_MARK;
use crate::query::{Query, RteKind, WindowClause};
use crate::walk::visit_levels;
use steppe_catalog::objects::FunctionKind;
use steppe_catalog::{ConstraintKind, Function, FunctionRef};
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The hint where a set-returning function is out of place.
pub(crate) const MOVE_TO_LATERAL: &str =
    "You might be able to move the set-returning function into a LATERAL FROM item.";

impl Binder<'_> {
    /// A function call: plain, aggregate, or a cast written as one.
    pub(crate) fn func_call(
        &mut self,
        call: &ast::FuncCall,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let sorted_by = if call.within_group { call.order_by.len() } else { 0 };
        if call.args.len() + sorted_by > ARGUMENTS_MAX {
            let message = format!("cannot pass more than {ARGUMENTS_MAX} arguments to a function");
            return Err(self.error(SqlState::TOO_MANY_ARGUMENTS, message, location));
        }
        if call.within_group && call.over.is_none() {
            return self.ordered_set(call, place, location);
        }
        let name = &call.name;
        let is_aggregate_name = self.is_any_function(name, Function::is_aggregate);
        let bind = |b: &mut Self| {
            call.args.iter().map(|a| b.expr(&a.value, place)).collect::<Result<Vec<_>>>()
        };
        let args = match (is_aggregate_name, place) {
            _ if call.over.is_some() => super::window::bind_args(self, call, place)?,
            (true, _) => self.without_sets(
                bind,
                "aggregate function calls cannot contain set-returning function calls",
                Some(MOVE_TO_LATERAL),
            )?,
            (false, ExprPlace::FromFunction) => self.without_sets(
                bind,
                "set-returning functions must appear at top level of FROM",
                None,
            )?,
            _ => bind(self)?,
        };
        let plain =
            !call.star && !call.distinct && call.order_by.is_empty() && call.filter.is_none();
        let plain = plain && call.over.is_none();
        if plain && let Some(cast) = self.function_as_cast(name, &args, location)? {
            let from = args[0].ty().oid;
            let exact = self.is_any_function(name, |f| *f.args == [from]);
            if !exact {
                return Ok(cast);
            }
        }
        let names: Vec<Option<String>> = call.args.iter().map(|a| a.name.clone()).collect();
        let given: Vec<Oid> = args.iter().map(|arg| arg.ty().oid).collect();
        let (proc, args, ty) = self.function(name, args, &names, call.variadic, location)?;
        if let Some(over) = &call.over {
            return self.window_call(call, over, proc, (args, ty), place, location);
        }
        match &proc.kind {
            FunctionKind::Procedure => {
                let signature = self.named_signature(&given, &names);
                let message = format!("{name}({signature}) is a procedure");
                let error = self.error(SqlState::WRONG_OBJECT_TYPE, message, location);
                Err(error.hint("To call a procedure, use CALL."))
            }
            FunctionKind::Aggregate(_) => {
                self.aggregate(call, proc, (args, Vec::new()), ty, place, location)
            }
            FunctionKind::Window => Err(self.error(
                SqlState::WRONG_OBJECT_TYPE,
                format!("window function {} requires an OVER clause", name.name()),
                location,
            )),
            _ if call.star => Err(self.error(
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "{}(*) specified, but {} is not an aggregate function",
                    name.name(),
                    name.name()
                ),
                location,
            )),
            _ if call.distinct || !call.order_by.is_empty() || call.filter.is_some() => {
                let what = if call.distinct {
                    "DISTINCT"
                } else if call.within_group {
                    "WITHIN GROUP"
                } else if !call.order_by.is_empty() {
                    "ORDER BY"
                } else {
                    "FILTER"
                };
                Err(self.error(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("{what} specified, but {} is not an aggregate function", name.name()),
                    location,
                ))
            }
            _ => {
                let set_allowed = matches!(
                    place,
                    ExprPlace::Targets
                        | ExprPlace::FromFunction
                        | ExprPlace::OrderBy
                        | ExprPlace::GroupBy
                        | ExprPlace::DistinctOn
                        | ExprPlace::InsertTargets
                        | ExprPlace::WindowPartition
                        | ExprPlace::WindowOrder
                );
                if proc.retset && !set_allowed {
                    return Err(self.misplaced("set-returning functions", place, location));
                }
                if proc.retset {
                    self.last_set = Some(location);
                }
                let ty = if proc.ret == oid::RECORD { TypeRef::plain(oid::RECORD) } else { ty };
                let spreads = call.variadic && proc.variadic == oid::ANY;
                let syntax = match call.sql_syntax {
                    true => CallSyntax::Sql,
                    false if spreads => CallSyntax::Variadic,
                    false if self.left_out != 0 => CallSyntax::Defaulted(self.left_out),
                    false => CallSyntax::Function,
                };
                if spreads {
                    self.check_variadic(call, &args)?;
                }
                Ok(Expr::Func { func: proc, args, ty, syntax })
            }
        }
    }

    /// Checks that the value which VARIADIC spreads over arguments of any type is an array.
    fn check_variadic(&self, call: &ast::FuncCall, args: &[Expr]) -> Result<()> {
        let is_array =
            args.last().is_some_and(|array| super::coerce::element_of(array.ty().oid).is_some());
        if is_array {
            return Ok(());
        }
        let location = call.args.last().map_or(Location::NONE, |arg| arg.value.location);
        let message = "VARIADIC argument must be an array";
        Err(self.error(SqlState::DATATYPE_MISMATCH, message, location))
    }

    /// Binds an expression that must not contain a set-returning function.
    pub(crate) fn without_sets<T>(
        &mut self,
        bind: impl FnOnce(&mut Self) -> Result<T>,
        message: &str,
        hint: Option<&str>,
    ) -> Result<T> {
        let before = self.last_set.take();
        let bound = bind(self)?;
        if let Some(location) = self.last_set {
            let error = self.error(SqlState::FEATURE_NOT_SUPPORTED, message, location);
            return Err(match hint {
                Some(hint) => error.hint(hint),
                None => error,
            });
        }
        self.last_set = before;
        Ok(bound)
    }

    /// An aggregate call; the sort keys are those of WITHIN GROUP, bound already.
    pub(super) fn aggregate(
        &mut self,
        call: &ast::FuncCall,
        func: FunctionRef,
        (args, within_group): (Vec<Expr>, Vec<SortKey>),
        ty: TypeRef,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        if let Some(at) = args.iter().find_map(super::window::inner_window) {
            return Err(self.error(
                SqlState::GROUPING_ERROR,
                "aggregate function calls cannot contain window function calls",
                at.0,
            ));
        }
        if call.args.is_empty() && !call.star && !call.within_group {
            return Err(self.error(
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "{}(*) must be used to call a parameterless aggregate function",
                    call.name.name()
                ),
                location,
            ));
        }
        if func.is_ordered_set() && !call.within_group {
            let name = call.name.name();
            return Err(self.error(
                SqlState::WRONG_OBJECT_TYPE,
                format!("WITHIN GROUP is required for ordered-set aggregate {name}"),
                location,
            ));
        }
        let mut order_by = within_group;
        let items = if call.within_group { &[][..] } else { &call.order_by };
        for item in items {
            let expr = self.expr(&item.expr, ExprPlace::OrderBy)?;
            let same = |arg: &&Expr| **arg == expr || *arg.without_implicit_cast() == expr;
            let expr = match args.iter().find(same) {
                Some(arg) => arg.clone(),
                None if call.distinct => {
                    return Err(self.error(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
                        item.expr.leftmost(),
                    ));
                }
                None => expr,
            };
            self.check_ordering(expr.ty().oid, item.expr.leftmost())?;
            order_by.push(sort_key(item, expr));
        }
        if call.distinct {
            for (arg, written) in args.iter().zip(&call.args) {
                let sorted = self.check_sorted(arg.ty().oid, written.value.leftmost());
                sorted.map_err(|error| {
                    error.detail("Aggregates with DISTINCT must be able to sort their inputs.")
                })?;
            }
        }
        let filter = match &call.filter {
            Some(e) => Some(self.condition(e, "FILTER", ExprPlace::Filter)?),
            None => None,
        };
        let sorted = order_by.iter().map(|key| &key.expr);
        let exprs: Vec<&Expr> = args.iter().chain(sorted).chain(&filter).collect();
        let levels_up = self.aggregate_level(&exprs, place, location)?;
        let index = self.scopes.len() - 1 - levels_up;
        self.scopes[index].has_aggregates = true;
        let distinct = call.distinct;
        let star = call.star;
        Ok(Expr::Aggregate(Box::new(Aggregate {
            func,
            args,
            distinct,
            order_by,
            filter,
            star,
            levels_up,
            ty,
            at: Place(location),
        })))
    }

    /// The number of query levels out at which an aggregate belongs: the innermost one that its
    /// arguments' columns are from. It must stand where that level allows aggregates, and not in
    /// another of the same level (check_agglevels_and_constraints).
    fn aggregate_level(
        &self,
        exprs: &[&Expr],
        place: ExprPlace,
        location: Location,
    ) -> Result<usize> {
        let (mut columns, mut nested): (Option<usize>, Option<(usize, Place)>) = (None, None);
        for expr in exprs {
            visit_levels(expr, 0, &mut |node, depth| {
                let mut call_found = |levels_up: usize, at: Place| {
                    if let Some(level) = levels_up.checked_sub(depth)
                        && nested.is_none_or(|(least, _)| level < least)
                    {
                        nested = Some((level, at));
                    }
                };
                match node {
                    Expr::Var { levels_up, .. } => {
                        if let Some(level) = levels_up.checked_sub(depth) {
                            columns = Some(columns.map_or(level, |least| least.min(level)));
                        }
                    }
                    Expr::Aggregate(inner) => call_found(inner.levels_up, inner.at),
                    Expr::Grouping { levels_up, at, .. } => call_found(*levels_up, *at),
                    _ => {}
                }
                true
            });
        }
        let inner_level = nested.map(|(level, _)| level);
        let level = match (columns, inner_level) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(0),
        };
        if let Some((_, at)) = nested.filter(|(nested, _)| *nested == level) {
            return Err(self.error(
                SqlState::GROUPING_ERROR,
                "aggregate function calls cannot be nested",
                at.0,
            ));
        }
        self.check_aggregate_place(level, place, location)?;
        Ok(level)
    }

    fn check_aggregate_place(
        &self,
        level: usize,
        place: ExprPlace,
        location: Location,
    ) -> Result<()> {
        let place = match level {
            0 => Some(place),
            _ => self.scopes[self.scopes.len() - 1 - level].sub_select_place,
        };
        use ExprPlace::{DistinctOn, Having, OrderBy, Targets, WindowOrder, WindowPartition};
        match place {
            Some(Targets | Having | OrderBy | DistinctOn | WindowPartition | WindowOrder) => Ok(()),
            Some(place) => Err(self.misplaced("aggregate functions", place, location)),
            None => Err(self.error(
                SqlState::GROUPING_ERROR,
                "aggregate functions are not allowed in FROM clause of their own query level",
                location,
            )),
        }
    }

    /// Every column outside aggregates must be grouped (42803), directly or through a primary key.
    pub(crate) fn check_grouping(&mut self, query: &mut Query) -> Result<()> {
        if let Some(at) = query.group_by.iter().find_map(own_aggregate) {
            return Err(self.error(
                SqlState::GROUPING_ERROR,
                "aggregate functions are not allowed in GROUP BY",
                at.0,
            ));
        }
        // By its number, a target that has one.
        if let Some(at) = query.group_by.iter().find_map(inner_window) {
            return Err(self.error(
                SqlState::WINDOWING_ERROR,
                "window functions are not allowed in GROUP BY",
                at.0,
            ));
        }
        self.check_grouping_args(query)?;
        // A column depends on keys that every grouping set has.
        let in_all = |i: &usize| query.grouping_sets.iter().flatten().all(|s| s.contains(i));
        let determining: Vec<Expr> =
            (0..query.group_by.len()).filter(in_all).map(|i| query.group_by[i].clone()).collect();
        let windows = query.windows.iter().flat_map(WindowClause::keys);
        let exprs: Vec<Expr> = query
            .targets
            .iter()
            .map(|t| &t.expr)
            .chain(&query.having)
            .chain(windows)
            .cloned()
            .collect();
        for expr in &exprs {
            self.check_grouped(expr, &query.group_by, &determining, 0)?;
        }
        query.determining_keys = std::mem::take(&mut self.determining_keys);
        Ok(())
    }

    /// `determining`: the keys of which other columns of their table are functions.
    fn check_grouped(
        &mut self,
        expr: &Expr,
        keys: &[Expr],
        determining: &[Expr],
        depth: usize,
    ) -> Result<()> {
        let mut checked = Ok(());
        visit_levels(expr, depth, &mut |node, depth| {
            if checked.is_err() || (depth == 0 && keys.contains(node)) {
                return false;
            }
            match node {
                Expr::Grouping { .. } => return false,
                // Direct arguments are the same for a whole group.
                Expr::Aggregate(call) if call.levels_up == depth && call.is_ordered_set() => {
                    let mut args = call.args.iter();
                    let direct =
                        args.try_for_each(|arg| self.check_grouped(arg, keys, determining, depth));
                    checked = direct.map_err(|e| {
                        e.detail(
                            "Direct arguments of an ordered-set aggregate must use only grouped \
                             columns.",
                        )
                    });
                    return false;
                }
                Expr::Aggregate(call) => return call.levels_up < depth,
                Expr::Var { rte, column, levels_up, at, .. } if *levels_up == depth => {
                    let grouped = depth > 0 && keys.iter().any(|k| same_column(k, *rte, *column));
                    if !grouped && !self.functionally_dependent(*rte, determining) {
                        checked = Err(self.ungrouped(*rte, *column, depth, *at));
                    }
                }
                _ => {}
            }
            true
        });
        checked
    }

    /// All columns of a table depend on its primary key.
    fn functionally_dependent(&mut self, rte: usize, keys: &[Expr]) -> bool {
        let RteKind::Relation(relation) = &self.scope().rtes[rte].kind else { return false };
        let Some(primary) =
            relation.constraints.iter().find(|c| matches!(c.kind, ConstraintKind::Primary { .. }))
        else {
            return false;
        };
        let is_grouped = |n: &i16| keys.iter().any(|k| same_column(k, rte, i32::from(*n) - 1));
        if !primary.columns.iter().all(is_grouped) {
            return false;
        }
        let key = primary.oid;
        if !self.determining_keys.contains(&key) {
            self.determining_keys.push(key);
        }
        true
    }

    fn ungrouped(&mut self, rte: usize, column: i32, depth: usize, at: Place) -> Error {
        let entry = &self.scope().rtes[rte];
        let name = match usize::try_from(column) {
            Ok(i) => entry.columns[i].name.to_string(),
            Err(_) if column == i32::from(ROW_MARK) => "*".to_owned(),
            Err(_) => super::system_column(column).map_or("?", |(name, _)| name).to_string(),
        };
        let alias = entry.alias.clone();
        let message = if depth == 0 {
            format!(
                "column \"{alias}.{name}\" must appear in the GROUP BY clause or be used in an \
                 aggregate function"
            )
        } else {
            format!("subquery uses ungrouped column \"{alias}.{name}\" from outer query")
        };
        self.error(SqlState::GROUPING_ERROR, message, at.0)
    }
}

/// An ORDER BY item inside a call.
pub(super) fn sort_key(item: &ast::SortBy, expr: Expr) -> SortKey {
    let descending = item.direction == ast::SortDirection::Desc;
    let nulls_first = match item.nulls {
        ast::NullsOrder::Default => descending,
        ast::NullsOrder::First => true,
        ast::NullsOrder::Last => false,
    };
    SortKey { expr, descending, nulls_first }
}

fn same_column(key: &Expr, rte: usize, column: i32) -> bool {
    matches!(key, Expr::Var { rte: r, column: c, levels_up: 0, .. } if (*r, *c) == (rte, column))
}

/// The first aggregate of this query level in an expression.
fn own_aggregate(expr: &Expr) -> Option<Place> {
    let mut found = None;
    visit_levels(expr, 0, &mut |node, depth| {
        if let Expr::Aggregate(call) = node
            && call.levels_up == depth
        {
            found = found.or(Some(call.at));
        }
        true
    });
    found
}

/// The first column of this query level in an expression.
pub(super) fn own_column(expr: &Expr) -> Option<Place> {
    let mut found = None;
    visit_levels(expr, 0, &mut |node, depth| {
        if let Expr::Var { levels_up, at, .. } = node
            && *levels_up == depth
        {
            found = found.or(Some(*at));
        }
        true
    });
    found
}
