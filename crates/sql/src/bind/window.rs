//! Window functions and the WINDOW clause (parse_agg.c's transformWindowFuncCall,
//! parse_clause.c's transformWindowDefinitions).
//!
//! A call names its window by number: a named one of the WINDOW clause, or one that an OVER clause
//! defines. Definitions are bound after the calls, so that they can be looked up by name in any
//! order. Equal definitions become one window.

use super::coerce::can_coerce;
use super::group::MOVE_TO_LATERAL;
use super::{Binder, ExprPlace};
use crate::ast::{self, Location};
use crate::expr::{Expr, Place, SortKey, TypeRef, WindowCall};
use crate::query::*;
use steppe_catalog::builtin::CastContext;
use steppe_catalog::objects::Function;
use steppe_catalog::{FunctionRef, builtin};
use steppe_types::{Result, SqlState, oid};

impl Binder<'_> {
    /// `f(…) OVER …`, with the function found and its arguments coerced.
    pub(crate) fn window_call(
        &mut self,
        call: &ast::FuncCall,
        over: &ast::WindowDef,
        proc: FunctionRef,
        (args, ty): (Vec<Expr>, TypeRef),
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let name = call.name.name();
        let aggregate = proc.is_aggregate();
        if let Some((sqlstate, message)) = refused(call, &proc, name) {
            return Err(self.error(sqlstate, message, location));
        }
        let allowed =
            matches!(place, ExprPlace::Targets | ExprPlace::OrderBy | ExprPlace::DistinctOn);
        if !allowed {
            return Err(self.misplaced("window functions", place, location));
        }
        let filter = match &call.filter {
            Some(e) => Some(self.condition(e, "FILTER", ExprPlace::Filter)?),
            None => None,
        };
        if let Some(at) = args.iter().chain(&filter).find_map(inner_window) {
            return Err(self.error(
                SqlState::WINDOWING_ERROR,
                "window function calls cannot be nested",
                at.0,
            ));
        }
        let window = self.window_of(over)?;
        let star = call.star;
        let at = Place(location);
        let call = WindowCall { func: proc, args, star, filter, aggregate, window, ty, at };
        Ok(Expr::Window(Box::new(call)))
    }

    /// The number of an OVER clause's window.
    fn window_of(&mut self, over: &ast::WindowDef) -> Result<usize> {
        let defined = &self.scope().window_defs;
        if let Some(name) = &over.name {
            let named = |d: &ast::WindowDef| d.name.as_ref() == Some(name);
            return match defined.iter().position(named) {
                Some(index) => Ok(index),
                None => Err(self.error(
                    SqlState::UNDEFINED_OBJECT,
                    format!("window \"{name}\" does not exist"),
                    over.location,
                )),
            };
        }
        self.scope().window_defs.push(over.clone());
        Ok(self.scope().window_defs.len() - 1)
    }

    /// Binds the windows that calls refer to, and the windows that the WINDOW clause defines. Calls
    /// over equal windows then refer to the first of them.
    pub(crate) fn window_clauses(&mut self, query: &mut Query) -> Result<()> {
        let mut bound: Vec<WindowClause> = Vec::new();
        let mut next = 0;
        while let Some(def) = self.scope().window_defs.get(next).cloned() {
            let clause = self.window_clause(&def, &bound)?;
            bound.push(clause);
            next += 1;
        }
        let first: Vec<usize> =
            bound.iter().map(|w| bound.iter().position(|f| f.same(w)).unwrap_or(0)).collect();
        for target in &mut query.targets {
            refer_to(&mut target.expr, &first);
        }
        query.windows = bound;
        Ok(())
    }

    fn window_clause(
        &mut self,
        def: &ast::WindowDef,
        bound: &[WindowClause],
    ) -> Result<WindowClause> {
        let named = |name: &String| bound.iter().find(|w| w.name.as_deref() == Some(name.as_str()));
        if let Some(name) = &def.name
            && named(name).is_some()
        {
            return Err(self.error(
                SqlState::WINDOWING_ERROR,
                format!("window \"{name}\" is already defined"),
                def.location,
            ));
        }
        let base = match &def.refname {
            None => None,
            Some(name) => Some(named(name).ok_or_else(|| {
                self.error(
                    SqlState::UNDEFINED_OBJECT,
                    format!("window \"{name}\" does not exist"),
                    def.location,
                )
            })?),
        };
        if let Some(base) = base {
            self.check_copied(def, base)?;
        }
        let mut order_by = Vec::with_capacity(def.order_by.len());
        for item in &def.order_by {
            order_by.push(self.window_key(item)?);
        }
        let mut partition_by = Vec::with_capacity(def.partition_by.len());
        for expr in &def.partition_by {
            let bound = self.expr(expr, ExprPlace::WindowPartition)?;
            partition_by.push(self.settle_unknown(bound)?);
        }
        if let Some(base) = base {
            partition_by.clone_from(&base.partition_by);
            if order_by.is_empty() {
                order_by.clone_from(&base.order_by);
            }
        }
        let frame = self.frame(def, &order_by)?;
        let name = def.name.as_deref().map(Into::into);
        Ok(WindowClause { name, partition_by, order_by, frame, run_conditions: Vec::new() })
    }

    /// Checks the clauses that a window adds to the one it copies.
    fn check_copied(&self, def: &ast::WindowDef, base: &WindowClause) -> Result<()> {
        let name = base.name.as_deref().unwrap_or_default();
        let refused =
            |message: String| Err(self.error(SqlState::WINDOWING_ERROR, message, def.location));
        if !def.partition_by.is_empty() {
            return refused(format!("cannot override PARTITION BY clause of window \"{name}\""));
        }
        if !def.order_by.is_empty() && !base.order_by.is_empty() {
            return refused(format!("cannot override ORDER BY clause of window \"{name}\""));
        }
        if base.frame.explicit {
            let error = self.error(
                SqlState::WINDOWING_ERROR,
                format!("cannot copy window \"{name}\" because it has a frame clause"),
                def.location,
            );
            let bare = def.name.is_none() && def.order_by.is_empty() && !def.frame.explicit;
            return Err(match bare {
                true => error.hint("Omit the parentheses in this OVER clause."),
                false => error,
            });
        }
        Ok(())
    }

    /// An ORDER BY item of a window: always an expression, never an output column's name.
    fn window_key(&mut self, item: &ast::SortBy) -> Result<SortKey> {
        let bound = self.expr(&item.expr, ExprPlace::WindowOrder)?;
        let expr = self.settle_unknown(bound)?;
        let ty = expr.ty().oid;
        self.check_ordering(ty, item.expr.location)?;
        let descending = match &item.direction {
            ast::SortDirection::Default | ast::SortDirection::Asc => false,
            ast::SortDirection::Desc => true,
            ast::SortDirection::Using(op) => self.sorts_descending(op, ty, item.location)?,
        };
        let nulls_first = match item.nulls {
            ast::NullsOrder::Default => descending,
            ast::NullsOrder::First => true,
            ast::NullsOrder::Last => false,
        };
        Ok(SortKey { expr, descending, nulls_first })
    }

    fn settle_unknown(&mut self, expr: Expr) -> Result<Expr> {
        match expr.ty().oid {
            oid::UNKNOWN => self.coerce_implicit(expr, TypeRef::plain(oid::TEXT)),
            _ => Ok(expr),
        }
    }

    fn frame(&mut self, def: &ast::WindowDef, order_by: &[SortKey]) -> Result<Frame> {
        let frame = &def.frame;
        let mode = frame.mode;
        let has_offset = |b: &ast::FrameBound| {
            matches!(b, ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_))
        };
        let offsets = has_offset(&frame.start) || has_offset(&frame.end);
        if mode == FrameMode::Range && offsets && order_by.len() != 1 {
            return Err(self.error(
                SqlState::WINDOWING_ERROR,
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                def.location,
            ));
        }
        if mode == FrameMode::Groups && order_by.is_empty() {
            return Err(self.error(
                SqlState::WINDOWING_ERROR,
                "GROUPS mode requires an ORDER BY clause",
                def.location,
            ));
        }
        let start = self.frame_bound(&frame.start, mode, order_by)?;
        let end = self.frame_bound(&frame.end, mode, order_by)?;
        Ok(Frame {
            explicit: frame.explicit,
            between: frame.between,
            mode,
            start,
            end,
            exclusion: frame.exclusion,
        })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::FrameBound,
        mode: FrameMode,
        order_by: &[SortKey],
    ) -> Result<FrameBound> {
        let (offset, preceding) = match bound {
            ast::FrameBound::UnboundedPreceding => return Ok(FrameBound::UnboundedPreceding),
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::UnboundedFollowing => return Ok(FrameBound::UnboundedFollowing),
            ast::FrameBound::Preceding(offset) => (offset, true),
            ast::FrameBound::Following(offset) => (offset, false),
        };
        let (place, construct) = match mode {
            FrameMode::Rows => (ExprPlace::WindowRows, "ROWS"),
            FrameMode::Range => (ExprPlace::WindowRange, "RANGE"),
            FrameMode::Groups => (ExprPlace::WindowGroups, "GROUPS"),
        };
        let value = self.expr(offset, place)?;
        if super::expr::has_var(&value) {
            return Err(self.error(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!("argument of {construct} must not contain variables"),
                offset.location,
            ));
        }
        let (value, in_range) = match (mode, order_by.first()) {
            (FrameMode::Range, Some(key)) => {
                let (value, func) = self.range_offset(value, key, offset.location)?;
                (value, Some(func))
            }
            _ => (self.coerce_bigint(value, construct, offset.location)?, None),
        };
        let offset = FrameOffset { value, in_range };
        Ok(match preceding {
            true => FrameBound::Preceding(offset),
            false => FrameBound::Following(offset),
        })
    }

    /// The in_range function for a sort column and an offset, which is coerced to its type.
    fn range_offset(
        &mut self,
        value: Expr,
        key: &SortKey,
        location: Location,
    ) -> Result<(Expr, FunctionRef)> {
        let (column, given) = (key.expr.ty().oid, value.ty().oid);
        let column = if column == oid::VARCHAR { oid::TEXT } else { column };
        let functions: Vec<FunctionRef> =
            builtin::functions_named("in_range").filter(|p| p.args[0] == column).collect();
        let types = self.ctx.catalog;
        let fitting: Vec<&FunctionRef> = functions
            .iter()
            .filter(|p| can_coerce(types, &[given], &p.args[2..3], CastContext::Implicit))
            .collect();
        let preferred = if given == oid::UNKNOWN { column } else { given };
        let exact = fitting.iter().find(|p| p.args[2] == preferred);
        let name = self.format_type(key.expr.ty().oid, -1);
        let refused = |what: String, hint: Option<&str>| {
            let message = format!("RANGE with offset PRECEDING/FOLLOWING {what}");
            let error = self.error(SqlState::FEATURE_NOT_SUPPORTED, message, location);
            match hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        };
        let chosen = match (exact, fitting.as_slice()) {
            (Some(exact), _) => (*exact).clone(),
            (None, [only]) => (*only).clone(),
            (None, []) if functions.is_empty() => {
                return Err(refused(format!("is not supported for column type {name}"), None));
            }
            (None, []) => {
                let types = format!(
                    "is not supported for column type {name} and offset type {}",
                    self.format_type(given, -1)
                );
                return Err(refused(types, Some("Cast the offset value to an appropriate type.")));
            }
            (None, _) => {
                let types = format!(
                    "has multiple interpretations for column type {name} and offset type {}",
                    self.format_type(given, -1)
                );
                let hint = "Cast the offset value to the exact intended type.";
                return Err(refused(types, Some(hint)));
            }
        };
        let to = TypeRef::plain(chosen.args[2]);
        Ok((self.coerce_implicit(value, to)?, chosen))
    }
}

/// The error for a clause that a window call must not have.
fn refused(call: &ast::FuncCall, proc: &Function, name: &str) -> Option<(SqlState, String)> {
    let unsupported = |message: &str| Some((SqlState::FEATURE_NOT_SUPPORTED, message.to_string()));
    match (proc.is_aggregate(), proc.is_window()) {
        (true, _) if call.within_group => Some((
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("OVER is not supported for ordered-set aggregate {name}"),
        )),
        (true, _) if call.args.is_empty() && !call.star => Some((
            SqlState::WRONG_OBJECT_TYPE,
            format!("{name}(*) must be used to call a parameterless aggregate function"),
        )),
        (true, _) | (_, true) if call.distinct => {
            unsupported("DISTINCT is not implemented for window functions")
        }
        (true, _) | (_, true) if !call.order_by.is_empty() => {
            unsupported("aggregate ORDER BY is not implemented for window functions")
        }
        (_, true) if call.filter.is_some() => {
            unsupported("FILTER is not implemented for non-aggregate window functions")
        }
        (_, true) if call.star => Some((
            SqlState::WRONG_OBJECT_TYPE,
            format!("{name}(*) specified, but {name} is not an aggregate function"),
        )),
        (true, _) | (_, true) => None,
        (false, false) => Some((
            SqlState::WRONG_OBJECT_TYPE,
            format!(
                "OVER specified, but {name} is not a window function nor an aggregate function"
            ),
        )),
    }
}

/// Binds the arguments of a window call: they hold no sets.
pub(crate) fn bind_args(
    binder: &mut Binder<'_>,
    call: &ast::FuncCall,
    place: ExprPlace,
) -> Result<Vec<Expr>> {
    binder.without_sets(
        |b| call.args.iter().map(|a| b.expr(&a.value, place)).collect(),
        "window function calls cannot contain set-returning function calls",
        Some(MOVE_TO_LATERAL),
    )
}

/// Moves calls to the first window that is like theirs.
fn refer_to(expr: &mut Expr, first: &[usize]) {
    if let Expr::Window(call) = expr {
        call.window = first.get(call.window).copied().unwrap_or(call.window);
    }
    let visited: std::result::Result<(), std::convert::Infallible> =
        expr.for_each_child_mut(&mut |child| {
            refer_to(child, first);
            Ok(())
        });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Whether a window call occurs.
pub(crate) fn contains_window(expr: &Expr) -> bool {
    inner_window(expr).is_some()
}

/// The place of a window function's call in an expression.
pub(crate) fn inner_window(expr: &Expr) -> Option<Place> {
    match expr {
        Expr::Window(call) => Some(call.at),
        other => other.children().into_iter().find_map(inner_window),
    }
}
