//! Bound queries back to SQL text, laid out as ruleutils.c does for pg_get_viewdef
//! (get_query_def with PRETTYFLAG_INDENT).
//!
//! ```text
//!  SELECT t.a,
//!     u.b
//!    FROM t
//!      JOIN u ON t.a = u.a
//!   WHERE u.b > 1;
//! ```
//!
//! The catalog keeps a view as such a text with every relation qualified, so that it means the same
//! under any search path. Bound again, it can be printed with the current names of its tables and
//! columns. The printer notes each relation and column that it prints: the view depends on these.
//!
//! A query with an unsupported part is refused, never printed wrongly ([`print`] has the cases).
//! For that, every field of [`Query`] is read by name.

use super::layout::{INDENT, LINE_BREAK, Layout};
use super::levels::{Level, cte_columns, list};
use super::{operator_text, printed, printed_argument, quote_identifier, without_hidden_cast};
use crate::expr::{CallSyntax, Expr, SubLinkKind};
use crate::query::*;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use steppe_catalog::system::definitions;
use steppe_catalog::{Function, Relation};
use steppe_types::io::IoContext;
use steppe_types::text_io::is_reg_type;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// ruleutils' PRETTYINDENT_VAR.
pub(super) const INDENT_LIST: usize = 4;
/// WHEN below CASE.
const INDENT_CASE: i32 = 4;

/// The options for printing a query.
pub struct QueryStyle<'a> {
    /// A relation as it is called now: for a rename another version than the query was bound to.
    pub current: &'a dyn Fn(&Arc<Relation>) -> Arc<Relation>,
    /// A relation's name in FROM and in `'…'::regclass`.
    pub relation_name: &'a dyn Fn(&Relation) -> String,
    /// A relation by OID, for `regclass` constants.
    pub relation: &'a dyn Fn(Oid) -> Option<Arc<Relation>>,
    /// The name of a function in a call, if it is not its name alone.
    pub function_name: &'a dyn Fn(&Function) -> Option<String>,
    /// A parameter by its index, if the query has some; qualified where a column might have its
    /// name.
    pub parameter: Option<&'a dyn Fn(usize, bool) -> String>,
    /// Without parentheses that the reader does not need.
    pub pretty: bool,
    /// Read again, also where PostgreSQL prints text that its grammar does not take: CYCLE's marks.
    pub kept: bool,
    /// USING joins are printed as such; otherwise by their condition, which names every column.
    pub using: bool,
    /// The settings by which constants are shown.
    pub io: &'a IoContext,
}

/// A printed query.
#[derive(Debug)]
pub struct PrintedQuery {
    /// The text, without a semicolon.
    pub text: String,
    /// Relations (column 0) and columns of them that occur: (OID, attribute number). Also the
    /// primary keys that grouping depends on (OID, 0).
    pub reads: Vec<(Oid, i16)>,
}

/// Prints a SELECT; `names` are its output columns' if they are not as in the query.
pub fn print(
    query: &Query,
    names: Option<&[Arc<str>]>,
    style: &QueryStyle<'_>,
) -> Result<PrintedQuery> {
    print_at(query, names, (true, 0), style)
}

/// Prints a statement of a function's body, `indent` steps in.
pub fn print_statement(query: &Query, style: &QueryStyle<'_>, indent: i32) -> Result<PrintedQuery> {
    print_at(query, None, (false, indent), style)
}

/// `named`: columns without a name of their own are named.
fn print_at(
    query: &Query,
    names: Option<&[Arc<str>]>,
    (named, indent): (bool, i32),
    style: &QueryStyle<'_>,
) -> Result<PrintedQuery> {
    let printer = Printer {
        style,
        levels: RefCell::default(),
        inside: RefCell::default(),
        reads: RefCell::default(),
        indent: Cell::new(0),
        windows: RefCell::default(),
        unknown: RefCell::default(),
    };
    let mut out = Layout { text: String::new(), indent };
    printer.query(query, names, named, &mut out);
    if let Some(what) = printer.unknown.into_inner() {
        return Err(Error::not_supported(format!("printing of {what}")));
    }
    let mut reads = printer.reads.into_inner();
    reads.sort_unstable();
    reads.dedup();
    Ok(PrintedQuery { text: out.text, reads })
}

/// A window's name, and OVER's text in parentheses.
pub(super) type PrintedWindow = (Option<Arc<str>>, String);

pub(super) struct Printer<'a> {
    pub(super) style: &'a QueryStyle<'a>,
    /// Outermost first.
    pub(super) levels: RefCell<Vec<Level>>,
    /// The joins with an alias that are being printed: level and entry.
    pub(super) inside: RefCell<Vec<(usize, usize)>>,
    reads: RefCell<Vec<(Oid, i16)>>,
    /// The current indentation, for layout inside expressions.
    indent: Cell<i32>,
    /// The windows of each level: name, and OVER's text in parentheses.
    pub(super) windows: RefCell<Vec<Vec<PrintedWindow>>>,
    unknown: RefCell<Option<&'static str>>,
}

impl Printer<'_> {
    pub(super) fn unknown(&self, what: &'static str) {
        self.unknown.borrow_mut().get_or_insert(what);
    }

    pub(super) fn note(&self, relation: Oid, attnum: i16) {
        self.reads.borrow_mut().push((relation, attnum));
    }

    // ----- expressions -----

    pub(super) fn printed(&self, expr: &Expr) -> String {
        printed(expr, &|e| self.leaf(e), &|f| self.function_name(f), self.style.io)
    }

    /// The name of a function that is printed; the query depends on a user's function.
    pub(super) fn function_name(&self, function: &Function) -> Option<String> {
        if !function.is_built_in() && function.brought_by.is_none() {
            self.note(function.oid, 0);
        }
        (self.style.function_name)(function)
    }

    /// An expression, its own implicit cast hidden.
    pub(super) fn expr(&self, expr: &Expr) -> String {
        // An implicit cast is part of a merged column.
        if let Some(name) = self.merged(expr) {
            return name;
        }
        if !self.style.pretty {
            return self.printed(expr);
        }
        match expr {
            // What stands in sub-selects is laid out already.
            Expr::And(args) if has_sub_select(expr) => {
                let operand = |e: &Expr| match e {
                    Expr::Or(_) => format!("({})", self.expr(e)),
                    e => self.expr(e),
                };
                args.iter().map(operand).collect::<Vec<_>>().join(" AND ")
            }
            Expr::Or(args) if has_sub_select(expr) => {
                args.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(" OR ")
            }
            Expr::Not(arg) if has_sub_select(arg) => match **arg {
                Expr::SubLink { .. } => format!("NOT {}", self.expr(arg)),
                _ => self.printed(expr),
            },
            e if has_sub_select(e) => self.printed(e),
            e => {
                let text = self.printed(e);
                definitions::pretty_definition(&text)
            }
        }
    }

    /// An expression as part of another one, its own implicit cast shown.
    pub(super) fn arg(&self, expr: &Expr) -> String {
        printed_argument(expr, &|e| self.leaf(e), &|f| self.function_name(f), self.style.io)
    }

    pub(super) fn leaf(&self, expr: &Expr) -> Option<String> {
        let whole = self.merged(expr).or_else(|| self.row(expr, false));
        if let Some(name) = whole.or_else(|| self.typed_row(expr)) {
            return Some(name);
        }
        if let Some(text) = self.kept_form(expr) {
            return Some(text);
        }
        match expr {
            Expr::Field { arg, index, .. } => {
                let name = self.field_name(arg, *index);
                if name.is_none() {
                    self.unknown("a row's column");
                }
                Some(format!("({}).{}", self.arg(arg), quote_identifier(&name?)))
            }
            Expr::Window(call) => Some(self.window_call(call)),
            Expr::Var { rte, column, levels_up, .. } => {
                let name = self.var(*rte, *column, *levels_up);
                if name.is_none() {
                    self.unknown("a column");
                }
                name
            }
            Expr::Const(Datum::Oid(value), ty) if ty.oid == oid::REGCLASS => {
                let relation = (self.style.relation)(*value)?;
                self.note(*value, 0);
                let name = (self.style.relation_name)(&relation);
                Some(format!("{}::regclass", super::simple_quote_literal(&name)))
            }
            // A name of another kind of object is its number where it is kept.
            Expr::Const(Datum::Oid(value), ty) if is_reg_type(ty.oid) => {
                if *value >= oid::FIRST_NORMAL_OID {
                    self.note(*value, 0);
                }
                None
            }
            Expr::SubLink { kind, test, query, .. } => {
                Some(self.sub_link(*kind, test.as_deref(), query))
            }
            Expr::Case { operand, whens, otherwise, .. } => {
                Some(self.case(operand.as_deref(), whens, otherwise))
            }
            Expr::Param { index, .. } if self.style.parameter.is_some() => {
                let is_qualified = self.levels.borrow().iter().any(|l| !l.entries.is_empty());
                self.style.parameter.map(|name| name(*index, is_qualified))
            }
            Expr::Param { .. } | Expr::ExecParam { .. } | Expr::Slot { .. } | Expr::SubPlan(_) => {
                self.unknown("a parameter");
                None
            }
            _ => None,
        }
    }

    /// CASE on lines of its own.
    fn case(&self, operand: Option<&Expr>, whens: &[(Expr, Expr)], otherwise: &Expr) -> String {
        let indent = self.indent.get();
        let line = |indent: i32| {
            let spaces = usize::try_from(indent.max(0)).unwrap_or(0);
            format!("{LINE_BREAK}{}", " ".repeat(spaces))
        };
        let mut out = line(indent) + "CASE";
        if let Some(operand) = operand {
            out.push(' ');
            out.push_str(&self.expr(operand));
        }
        self.indent.set(indent + INDENT_CASE);
        for (when, then) in whens {
            // `CASE x WHEN v` is bound as `x = v`.
            let shown = match (operand, when) {
                (Some(_), Expr::Func { args, .. }) if args.len() == 2 => &args[1],
                _ => when,
            };
            out.push_str(&line(indent + INDENT_CASE));
            out.push_str(&format!("WHEN {} THEN {}", self.expr(shown), self.result(then)));
        }
        out.push_str(&line(indent + INDENT_CASE));
        out.push_str(&format!("ELSE {}", self.result(otherwise)));
        self.indent.set(indent);
        out + &line(indent) + "END"
    }

    /// A result of CASE, an implicit cast to the common type shown.
    fn result(&self, expr: &Expr) -> String {
        let text = self.arg(expr);
        match self.style.pretty && !has_sub_select(expr) {
            true => definitions::pretty_definition(&text),
            false => text,
        }
    }

    pub(super) fn sub_link(&self, kind: SubLinkKind, test: Option<&Expr>, query: &Query) -> String {
        let mut out = Layout { text: String::new(), indent: self.indent.get() };
        out.push(if kind == SubLinkKind::Array { "ARRAY(" } else { "(" });
        let mut wrapped = true;
        match (kind, test) {
            (SubLinkKind::Exists, _) => out.push("EXISTS ("),
            (SubLinkKind::Scalar | SubLinkKind::Array, _) => wrapped = false,
            (_, Some(test)) => match self.comparison(test) {
                Some((left, symbol)) => {
                    out.push(&left);
                    match kind {
                        SubLinkKind::Any if symbol == "=" => out.push(" IN ("),
                        SubLinkKind::Any => out.push(&format!(" {symbol} ANY (")),
                        SubLinkKind::Row => out.push(&format!(" {symbol} (")),
                        _ => out.push(&format!(" {symbol} ALL (")),
                    }
                }
                None => self.unknown("a comparison with a sub-select"),
            },
            (_, None) => self.unknown("a sub-select"),
        }
        self.query(query, None, false, &mut out);
        out.push(if wrapped { "))" } else { ")" });
        out.text
    }

    /// The left side of a comparison with a sub-select's columns, and the operator.
    fn comparison(&self, test: &Expr) -> Option<(String, Cow<'static, str>)> {
        let row = |fields: Vec<String>| format!("({})", fields.join(", "));
        match test {
            Expr::Func { args, syntax: CallSyntax::Operator(op), .. } if args.len() == 2 => {
                Some((self.arg(&args[0]), operator_text(op, self.style.io)))
            }
            Expr::And(columns) | Expr::Or(columns) => {
                let mut operator = None;
                let left = columns.iter().map(|column| match column {
                    Expr::Func { args, syntax: CallSyntax::Operator(op), .. } => {
                        operator = Some(operator_text(op, self.style.io));
                        args.first().map(|left| self.arg(left))
                    }
                    _ => None,
                });
                let left = row(left.collect::<Option<Vec<String>>>()?);
                Some((left, operator?))
            }
            Expr::RowCompare { op, left, .. } => {
                let left = row(left.iter().map(|field| self.arg(field)).collect());
                Some((left, super::row_symbol(*op).into()))
            }
            _ => None,
        }
    }

    // ----- queries -----

    /// A query on a level of its own. `named`: its output columns' names matter.
    pub(super) fn query(
        &self,
        query: &Query,
        names: Option<&[Arc<str>]>,
        named: bool,
        out: &mut Layout,
    ) {
        let (indent, outer) = (out.indent, self.indent.get());
        let level = self.level(query, names);
        self.levels.borrow_mut().push(level);
        self.reads.borrow_mut().extend(query.determining_keys.iter().map(|key| (*key, 0)));
        // Expressions stand in clauses, one step further in.
        self.indent.set(indent + INDENT);
        let windows = query.windows.iter().map(|w| (w.name.clone(), self.window(w))).collect();
        self.windows.borrow_mut().push(windows);
        self.query_body(query, names, named, out);
        self.windows.borrow_mut().pop();
        self.levels.borrow_mut().pop();
        self.indent.set(outer);
        out.indent = indent;
    }

    fn query_body(&self, query: &Query, names: Option<&[Arc<str>]>, named: bool, out: &mut Layout) {
        let Query {
            command,
            rtes: _,
            determining_keys: _,
            on_nodes: _,
            from: _,
            filter: _,
            targets,
            group_by: _,
            grouping_sets: _,
            has_aggregates: _,
            having: _,
            distinct: _,
            order_by,
            windows: _,
            limit,
            offset,
            with_ties,
            row_locks,
            set_operation,
            ctes,
            result_relation: _,
            current_of: _,
            assignments: _,
            overriding: _,
            view_checks: _,
            on_conflict: _,
            returning: _,
            returning_versions: _,
        } = query;
        self.with_clause(ctes, out);
        match set_operation {
            _ if *command != Command::Select => return self.change(query, named, out),
            Some(operation) => self.set_operation(operation, targets, names, named, out),
            None => self.plain_select(query, names, named, out),
        }
        for (i, order) in order_by.iter().enumerate() {
            match i {
                0 => out.clause(" ORDER BY ", 1),
                _ => out.push(", "),
            }
            match set_operation {
                Some(_) => out.push(&(order.target + 1).to_string()),
                None => out.push(&self.order_expr(&targets[order.target].expr)),
            }
            out.push(super::sort_suffix(order.descending, order.nulls_first));
        }
        if let Some(offset) = offset {
            out.clause(" OFFSET ", 0);
            out.push(&self.expr(offset));
        }
        match limit {
            Some(limit) if *with_ties => {
                out.clause(" FETCH FIRST ", 0);
                out.push(&format!("({}) ROWS WITH TIES", self.expr(limit)));
            }
            Some(Expr::Const(Datum::Null, _)) => out.clause(" LIMIT ALL", 0),
            Some(limit) => {
                out.clause(" LIMIT ", 0);
                out.push(&self.expr(limit));
            }
            None => {}
        }
        self.row_locks(row_locks, out);
    }

    /// An expression of ORDER BY. A bare name there is an output column's first.
    fn order_expr(&self, expr: &Expr) -> String {
        let text = self.sort_expr(expr);
        match matches!(expr, Expr::Var { .. }) && self.is_output_of_another(expr, &text) {
            true => self.qualified(expr, text),
            false => text,
        }
    }

    /// An expression of ORDER BY, GROUP BY or DISTINCT ON.
    pub(super) fn sort_expr(&self, expr: &Expr) -> String {
        let text = self.arg(expr);
        let text = match self.style.pretty && !has_sub_select(expr) {
            true => definitions::pretty_definition(&text),
            false => text,
        };
        match expr {
            // A bare number would be an output column's.
            Expr::Const(value, ty) if !value.is_null() => {
                super::typed_constant(*ty, text, self.style.io)
            }
            Expr::Var { .. } | Expr::Const(..) => text,
            _ if text.ends_with(".*") || self.merged(expr).is_some() => text,
            _ if self.style.pretty || super::is_call(expr) => format!("({text})"),
            _ => text,
        }
    }

    fn with_clause(&self, ctes: &[Cte], out: &mut Layout) {
        if ctes.is_empty() {
            return;
        }
        out.indent += INDENT;
        let recursive = ctes.iter().any(|c| c.recursive);
        out.push(if recursive { " WITH RECURSIVE " } else { " WITH " });
        for (i, cte) in ctes.iter().enumerate() {
            if i > 0 {
                out.push(", ");
            }
            out.push(&quote_identifier(&cte.name));
            if !cte.columns.is_empty() {
                out.push(&format!("({})", list(&cte.columns)));
            }
            out.push(match cte.materialized {
                None => " AS (",
                Some(true) => " AS MATERIALIZED (",
                Some(false) => " AS NOT MATERIALIZED (",
            });
            out.line("", 0, 0, 0);
            self.query(&cte.query, None, true, out);
            out.line("", 0, 0, 0);
            out.push(")");
            self.search_and_cycle(cte, out);
        }
        out.indent -= INDENT;
        out.line("", 0, 0, 0);
    }

    fn search_and_cycle(&self, cte: &Cte, out: &mut Layout) {
        let names = cte_columns(cte);
        let named = |columns: &[usize]| {
            let columns: Vec<Arc<str>> = columns.iter().map(|c| names[*c].clone()).collect();
            list(&columns)
        };
        if let Some(search) = &cte.search {
            let order = if search.breadth_first { "BREADTH" } else { "DEPTH" };
            let (by, set) = (named(&search.columns), quote_identifier(&search.set_column));
            out.push(&format!(" SEARCH {order} FIRST BY {by} SET {set}"));
        }
        let Some(cycle) = &cte.cycle else { return };
        let (columns, mark) = (named(&cycle.columns), quote_identifier(&cycle.mark_column));
        out.push(&format!(" CYCLE {columns} SET {mark}"));
        let (value, default) = (&cycle.mark_value, &cycle.mark_default);
        if (value, default) != (&Expr::boolean(true), &Expr::boolean(false)) {
            let (value, default) = (self.mark(value), self.mark(default));
            out.push(&format!(" TO {value} DEFAULT {default}"));
        }
        out.push(&format!(" USING {}", quote_identifier(&cycle.path_column)));
    }

    /// A mark of CYCLE, for which the grammar has `type 'literal'` but no cast.
    fn mark(&self, mark: &Expr) -> String {
        let shown = self.expr(mark);
        match shown.rsplit_once("'::") {
            Some((literal, ty)) if self.style.kept => format!("{ty} {literal}'"),
            _ => shown,
        }
    }

    fn set_operation(
        &self,
        operation: &SetOperation,
        targets: &[Target],
        names: Option<&[Arc<str>]>,
        named: bool,
        out: &mut Layout,
    ) {
        let own: Vec<Arc<str>> = targets.iter().map(|t| t.name.clone()).collect();
        let nested = |q: &Query| q.set_operation.as_ref().filter(|_| !is_wrapped(q)).is_some();
        let same = operation.left.set_operation.as_ref().is_some_and(|left| {
            left.op == operation.op && left.all == operation.all && nested(&operation.left)
        });
        let left_paren = nested(&operation.left) && !same;
        self.operand(&operation.left, left_paren, Some(names.unwrap_or(&own)), named, out);
        match left_paren {
            true => {
                out.indent -= INDENT;
                out.line(") ", 0, 0, 0);
            }
            false => out.line("", 0, 0, 0),
        }
        out.push(match operation.op {
            SetOp::Union => "UNION ",
            SetOp::Intersect => "INTERSECT ",
            SetOp::Except => "EXCEPT ",
        });
        if operation.all {
            out.push("ALL ");
        }
        let right_paren = nested(&operation.right);
        if !right_paren {
            out.line("", 0, 0, 0);
        }
        self.operand(&operation.right, right_paren, names, false, out);
        if right_paren {
            out.indent -= INDENT;
            out.line(")", 0, 0, 0);
        }
    }

    /// One side of a set operation. With `paren` the caller closes it on a line of its own.
    fn operand(
        &self,
        query: &Query,
        paren: bool,
        names: Option<&[Arc<str>]>,
        named: bool,
        out: &mut Layout,
    ) {
        if paren {
            out.push("(");
            out.indent += INDENT;
            out.line("", 0, 0, 0);
        }
        let wrapped = is_wrapped(query);
        if wrapped {
            out.push("(");
        }
        self.query(query, names, named, out);
        if wrapped {
            out.push(")");
        }
    }

    fn plain_select(
        &self,
        query: &Query,
        names: Option<&[Arc<str>]>,
        named: bool,
        out: &mut Layout,
    ) {
        out.indent += INDENT;
        out.push(" ");
        if let Some(lists) = simple_values(query, names) {
            return self.values(lists, out);
        }
        out.push("SELECT");
        match &query.distinct {
            Distinct::No => {}
            Distinct::All => out.push(" DISTINCT"),
            Distinct::On(targets) => {
                let keys = targets.iter().map(|t| self.sort_expr(&query.targets[*t].expr));
                out.push(&format!(" DISTINCT ON ({})", keys.collect::<Vec<_>>().join(", ")));
            }
        }
        self.target_list(&query.targets, names, named, out);
        self.print_from(query, &query.from, " FROM ", out);
        if let Some(filter) = &query.filter {
            out.clause(" WHERE ", 1);
            out.push(&self.expr(filter));
        }
        self.group_by(query, out);
        if let Some(having) = &query.having {
            out.clause(" HAVING ", 0);
            out.push(&self.expr(having));
        }
        self.window_clause(&query.windows, out);
    }

    pub(super) fn target_list(
        &self,
        targets: &[Target],
        names: Option<&[Arc<str>]>,
        named: bool,
        out: &mut Layout,
    ) {
        let visible = targets.iter().filter(|t| !t.hidden);
        for (i, target) in visible.enumerate() {
            // Columns of a set operation's sides are cast to the common type.
            let expr = match self.merged(&target.expr) {
                Some(_) => &target.expr,
                None => without_hidden_cast(&target.expr, self.style.io),
            };
            let text = self.row(expr, true).unwrap_or_else(|| self.expr(expr));
            match i {
                0 => out.push(" "),
                _ => out.push(", "),
            }
            // What starts a line by itself needs no other one.
            if i > 0 && !text.starts_with(LINE_BREAK) {
                out.clause("", INDENT_LIST);
            }
            let name = names.and_then(|n| n.get(i)).unwrap_or(&target.name);
            let shown = quote_identifier(name);
            // A column is called as it is; anything else is given its name.
            let own = match expr {
                Expr::Var { .. } => text == shown || text.ends_with(&format!(".{shown}")),
                // What is printed by a merged column's name.
                _ if self.merged(expr).is_some() => {
                    text == shown || text.ends_with(&format!(".{shown}"))
                }
                // (Read again, a cast would be named after its type.)
                _ => !named && !self.style.kept && &**name == "?column?",
            };
            out.push(&text);
            if !own {
                out.push(&format!(" AS {shown}"));
            }
        }
    }

    pub(super) fn values(&self, lists: &[Vec<Expr>], out: &mut Layout) {
        out.push("VALUES ");
        for (i, row) in lists.iter().enumerate() {
            let row: Vec<String> = row.iter().map(|e| self.expr(e)).collect();
            out.push(if i == 0 { "(" } else { ", (" });
            out.push(&row.join(","));
            out.push(")");
        }
    }
}

/// A set operation's side that stands in parentheses of its own.
fn is_wrapped(query: &Query) -> bool {
    !query.ctes.is_empty()
        || !query.order_by.is_empty()
        || query.limit.is_some()
        || query.offset.is_some()
}

/// The lists of a query that is just VALUES (get_simple_values_rte).
fn simple_values<'q>(query: &'q Query, names: Option<&[Arc<str>]>) -> Option<&'q [Vec<Expr>]> {
    let ([rte], [FromItem::Rte(0)]) = (query.rtes.as_slice(), query.from.as_slice()) else {
        return None;
    };
    let RteKind::Values(lists) = &rte.kind else { return None };
    let plain = query.filter.is_none() && query.group_by.is_empty() && query.having.is_none();
    let in_order = query.targets.iter().filter(|t| !t.hidden).enumerate().all(|(i, t)| {
        matches!(t.expr, Expr::Var { rte: 0, column, levels_up: 0, .. } if column == i as i32)
            && names.and_then(|n| n.get(i)).is_none_or(|n| *n == rte.columns[i].name)
    });
    (plain && in_order && matches!(query.distinct, Distinct::No)).then_some(lists)
}

pub(super) fn has_sub_select(expr: &Expr) -> bool {
    matches!(expr, Expr::SubLink { .. }) || expr.any_child(has_sub_select)
}
