//! The coordinator's share of a statement's values, and what a node may compute.
//!
//! A node may call what gives the same on every server: immutable built-in functions, and stable ones
//! that depend on nothing but their arguments and the settings that nodes are given. Calls of other
//! stable functions over no column are computed here, once a statement, and sent as parameters. So is
//! the whole row of an INSERT, whose defaults, sequences and volatile functions are the
//! coordinator's. Anything else is refused.
//!
//! Expressions that are no calls have functions, too: the equality of `IN`, NULLIF and IS DISTINCT FROM,
//! the comparisons of rows, the bounds of a window's frame. A user's operator can be any of them.
//! Casts through text read and write texts:
//!
//! | text of | depends on | so a node |
//! |---|---|---|
//! | floating-point numbers and rows | extra_float_digits, which is fixed on nodes | does not write it |
//! | dates and times | the clock, as `'now'` and `'today'` | does not read it |
//! | others | settings that nodes are given | reads and writes it |

use super::super::subselect::contains_sublink;
use super::super::{is_volatile, returns_set};
use super::facts::is_free;
use super::{for_each_query, refused};
use crate::expr::{Expr, Place, TypeRef};
use crate::query::{Command, FrameBound, FrameOffset, Query, Target};
use crate::walk;
use hashbrown::HashMap;
use std::cell::RefCell;
use steppe_catalog::{Function, FunctionRef, Relation};
use steppe_types::oid::{self, FIRST_NORMAL_OID};
use steppe_types::text_io::is_reg_type;
use steppe_types::{Error, Oid, Result, SqlState};

/// Stable functions that depend on nothing but their arguments and the settings that nodes are given
/// (DateStyle, IntervalStyle, TimeZone, bytea_output; the locale is C everywhere). `age` of one argument
/// depends on the clock, as do `timetz` of a `time`, and a `timetz` or `time` in another time zone:
/// daylight saving time is that of today.
const SAME_EVERYWHERE: [&str; 22] = [
    "anytextcat",
    "array_to_string",
    "concat",
    "concat_ws",
    "date",
    "date_part",
    "date_trunc",
    "extract",
    "format",
    "interval_pl_timestamptz",
    "quote_literal",
    "quote_nullable",
    "textanycat",
    "timestamp",
    "timestamptz",
    "timestamptz_mi_interval",
    "timestamptz_pl_interval",
    "timezone",
    "to_char",
    "to_date",
    "to_timestamp",
    "string_to_array",
];

/// Immutable functions that look at the case or the class of characters: LC_CTYPE of a node's database may be
/// C, which knows those of ASCII only, while this server knows those of Unicode.
const BY_CHARACTER_CLASS: [&str; 34] = [
    "bpchariclike",
    "bpcharicnlike",
    "bpcharicregexeq",
    "bpcharicregexne",
    "bpcharregexeq",
    "bpcharregexne",
    "casefold",
    "initcap",
    "lower",
    "nameiclike",
    "nameicnlike",
    "nameicregexeq",
    "nameicregexne",
    "nameregexeq",
    "nameregexne",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_match",
    "regexp_matches",
    "regexp_replace",
    "regexp_split_to_array",
    "regexp_split_to_table",
    "regexp_substr",
    "similar_escape",
    "similar_to_escape",
    "texticlike",
    "texticnlike",
    "texticregexeq",
    "texticregexne",
    "textregexeq",
    "textregexne",
    "textregexsubstr",
    "upper",
];

/// The parameters of a statement for a node.
pub(super) struct Values {
    /// The number of the client's parameters.
    params: usize,
    /// The values that the coordinator computes. Their numbers follow those of the client's parameters.
    computed: Vec<Expr>,
}

impl Values {
    pub(super) fn new(params: usize) -> Values {
        Values { params, computed: Vec::new() }
    }

    /// Replaces what the coordinator computes by parameters. Error 0A000: a node cannot compute what
    /// is left.
    pub(super) fn hoist(&mut self, query: &mut Query, table: &Relation) -> Result<()> {
        if query.command == Command::Insert {
            self.row(query, table)?;
        }
        for_each_query(query, &mut |query| {
            walk::for_each_root(query, &mut |root| self.hoist_in(root));
        });
        let mut refusal = None;
        walk::for_each_node(query, 0, &mut |expr, _| {
            if let Some(what) = refusal_of(expr) {
                refusal.get_or_insert(what);
            }
        });
        for_each_query(query, &mut |query| {
            let types = query.rtes.iter().flat_map(|rte| &rte.columns).map(|column| column.ty);
            if types.into_iter().any(|ty| ty.oid >= FIRST_NORMAL_OID) {
                refusal.get_or_insert_with(|| "a value of a user's type".to_owned());
            }
            let bounds = query.windows.iter().map(|window| &window.frame);
            let bounds = bounds.flat_map(|frame| [offset(&frame.start), offset(&frame.end)]);
            for function in bounds.flatten().filter_map(|offset| offset.in_range.as_ref()) {
                if let Some(what) = refusal_of_call(function, &[]) {
                    refusal.get_or_insert(what);
                }
            }
        });
        if query.output().iter().filter(|target| !target.hidden).any(is_row) {
            refusal.get_or_insert_with(|| "a row as a column".to_owned());
        }
        match refusal {
            None => Ok(()),
            Some(what) => {
                let name = &table.name;
                let message = format!(
                    "{what} in a statement of distributed table \"{name}\" is not supported"
                );
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }

    /// The row of an INSERT becomes parameters, one for each column that a node's table has.
    fn row(&mut self, query: &mut Query, table: &Relation) -> Result<()> {
        let mut assignments = Vec::new();
        for (at, (target, column)) in query.targets.iter().zip(&table.columns[..]).enumerate() {
            if column.dropped {
                continue;
            }
            if !is_free(&target.expr) || contains_sublink(&target.expr) {
                return Err(refused(
                    table,
                    "INSERT of a sub-select's value into distributed table",
                ));
            }
            let is_parameter = matches!(target.expr, Expr::Param { .. });
            let value = match is_parameter && target.expr.ty().oid == column.type_oid {
                true => target.expr.clone(),
                false => self.parameter(&target.expr),
            };
            assignments.push((at, value));
        }
        query.targets.clear();
        query.assignments = assignments;
        Ok(())
    }

    /// Replaces the outermost expressions that the coordinator computes. A branch of CASE or COALESCE is
    /// left as it is: it may never be evaluated.
    fn hoist_in(&mut self, expr: &mut Expr) {
        if is_hoisted(expr) {
            *expr = self.parameter(expr);
            return;
        }
        if matches!(expr, Expr::Case { .. } | Expr::Coalesce { .. }) {
            return;
        }
        let visited: Result<(), std::convert::Infallible> = expr.for_each_child_mut(&mut |child| {
            self.hoist_in(child);
            Ok(())
        });
        match visited {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// The parameter that has a value which the coordinator computes.
    pub(super) fn parameter(&mut self, value: &Expr) -> Expr {
        let place = self.computed.iter().position(|known| known == value && !is_volatile(value));
        let place = place.unwrap_or_else(|| {
            self.computed.push(value.clone());
            self.computed.len() - 1
        });
        Expr::Param { index: self.params + place, ty: value.ty(), at: Place::NONE }
    }

    /// Prints the statement with its parameters numbered in the order in which they occur, behind those
    /// `before`. Returns the
    /// text, and the parameters by their numbers here.
    pub(super) fn numbered(
        before: usize,
        print: impl FnOnce(&dyn Fn(usize, bool) -> String) -> Result<String>,
    ) -> Result<(String, Vec<usize>)> {
        let order: RefCell<(HashMap<usize, usize>, Vec<usize>)> = RefCell::default();
        let text = print(&|index, _| {
            let (numbers, all) = &mut *order.borrow_mut();
            let number = *numbers.entry(index).or_insert_with(|| {
                all.push(index);
                before + all.len()
            });
            format!("${number}")
        })?;
        Ok((text, order.into_inner().1))
    }

    /// The value of a parameter, over the client's parameters. `types` are those of the client's.
    pub(super) fn value(&self, index: usize, types: &[Oid]) -> Expr {
        match index.checked_sub(self.params).and_then(|at| self.computed.get(at)) {
            Some(computed) => computed.clone(),
            None => {
                let ty = TypeRef::plain(types.get(index).copied().unwrap_or_default());
                Expr::Param { index, ty, at: Place::NONE }
            }
        }
    }
}

/// Whether the coordinator computes an expression: it is over no column, and a node might compute
/// something else, or does not know its function or the row whose field it is.
pub(super) fn is_hoisted(expr: &Expr) -> bool {
    fn differs(expr: &Expr) -> bool {
        let is_own = match expr {
            Expr::Func { func, .. } => !is_of_arguments(func),
            Expr::Field { .. } => true,
            Expr::CoerceViaIo { arg, ty, .. } => !is_same_text(arg.ty().oid, ty.oid),
            other => !functions_of(other).all(is_of_arguments),
        };
        is_own || expr.any_child(differs)
    }
    differs(expr)
        && !is_volatile(expr)
        && !returns_set(expr)
        && is_free(expr)
        && !contains_sublink(expr)
}

/// The reason why a node may not compute an expression, not looking at its parts.
pub(super) fn refusal_of(expr: &Expr) -> Option<String> {
    let type_oid = match expr {
        Expr::Untyped { .. } | Expr::And(_) | Expr::Or(_) | Expr::Not(_) => oid::BOOL,
        Expr::Row(..) | Expr::RowCompare { .. } => oid::BOOL,
        other => other.ty().oid,
    };
    if type_oid >= FIRST_NORMAL_OID {
        return Some("a value of a user's type".to_owned());
    }
    if is_reg_type(type_oid) {
        return Some("an object identifier".to_owned());
    }
    match expr {
        Expr::Func { func, args, .. } => refusal_of_call(func, args),
        Expr::Aggregate(aggregate) => refusal_of_call(&aggregate.func, &aggregate.args),
        Expr::Window(call) => refusal_of_call(&call.func, &call.args),
        Expr::CoerceViaIo { arg, ty, .. } if !is_same_text(arg.ty().oid, ty.oid) => {
            Some("a cast through text whose result depends on the server".to_owned())
        }
        Expr::Subscript { array, assigned: Some(_), .. }
            if !matches!(**array, Expr::Default(_)) =>
        {
            Some("an assignment to a part of a value".to_owned())
        }
        Expr::Var { column, .. } if *column < 0 => Some("a system column".to_owned()),
        Expr::Domain { .. } | Expr::DomainValue(_) => Some("a value of a domain".to_owned()),
        Expr::Collate { .. } => Some("COLLATE".to_owned()),
        Expr::Field { .. } => Some("a field of a row".to_owned()),
        other => functions_of(other).find_map(|function| refusal_of_call(function, &[])),
    }
}

/// The functions that an expression calls, if it is not a call.
fn functions_of(expr: &Expr) -> impl Iterator<Item = &Function> {
    let (one, two): (&[FunctionRef], &[FunctionRef]) = match expr {
        Expr::ScalarArrayOp { func: function, .. }
        | Expr::Distinct { eq: function, .. }
        | Expr::NullIf { eq: function, .. } => (std::slice::from_ref(function), &[]),
        Expr::RowCompare { lt, eq, .. } => (lt, eq),
        _ => (&[], &[]),
    };
    one.iter().chain(two).map(|function| &**function)
}

fn offset(bound: &FrameBound) -> Option<&FrameOffset> {
    match bound {
        FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
        _ => None,
    }
}

/// Whether a built-in function gives the same for the same arguments on every server.
fn is_of_arguments(function: &Function) -> bool {
    let name = function.built_in_name();
    function.is_immutable() && name.is_some_and(|name| !BY_CHARACTER_CLASS.contains(&name))
}

fn refusal_of_call(function: &Function, args: &[Expr]) -> Option<String> {
    let Some(name) = function.built_in_name() else {
        return Some(format!("a call of function {} over columns", function.name));
    };
    let is_same = |arg: &Expr| !has_own_text(arg) && !is_time_of_day(arg);
    let is_same = is_of_arguments(function)
        || (!function.is_volatile() && SAME_EVERYWHERE.contains(&name) && args.iter().all(is_same));
    (!is_same).then(|| format!("a call of function {name}"))
}

/// Whether a cast through text gives the same on every server.
fn is_same_text(from: Oid, to: Oid) -> bool {
    let element = |ty| oid::element_type_of(ty).unwrap_or(ty);
    let reads_clock = matches!(
        element(to),
        oid::DATE | oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ
    );
    !reads_clock && !is_written_differently(from)
}

fn has_own_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Row(..)) || is_written_differently(expr.ty().oid)
}

/// Whether the text of a type's values is another one with other settings that nodes are not given.
fn is_written_differently(type_oid: Oid) -> bool {
    let element = oid::element_type_of(type_oid).unwrap_or(type_oid);
    matches!(element, oid::FLOAT4 | oid::FLOAT8 | oid::RECORD) || element >= FIRST_NORMAL_OID
}

fn is_time_of_day(expr: &Expr) -> bool {
    matches!(expr.ty().oid, oid::TIME | oid::TIMETZ)
}

/// Whether an output column is a row, which no node can send as the client gets it.
fn is_row(target: &Target) -> bool {
    let type_oid = target.expr.ty().oid;
    let element = oid::element_type_of(type_oid).unwrap_or(type_oid);
    element == oid::RECORD || type_oid >= FIRST_NORMAL_OID
}
