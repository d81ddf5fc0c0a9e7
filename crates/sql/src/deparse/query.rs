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
//! The catalog keeps a view as such a text with every relation qualified, so that
//! it means the same under any search path; bound again it can be printed with
//! what its tables and columns are called now. The printer notes each relation and
//! column that it prints: those are what the view depends on.
//!
//! A query with a part that this printer does not know is refused ([`print`] says
//! why), never printed wrongly: every field of [`Query`] is looked at by name.

use super::{expression, quote_identifier};
use crate::expr::{CallSyntax, Expr, SubLinkKind};
use crate::query::*;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use steppe_catalog::system::definitions::{self, Style};
use steppe_catalog::{Builtins, Relation};
use steppe_types::{Datum, Error, Oid, Result, oid};

/// ruleutils' PRETTYINDENT_STD, PRETTYINDENT_JOIN and PRETTYINDENT_VAR.
const INDENT: i32 = 8;
const INDENT_JOIN: usize = 4;
const INDENT_LIST: usize = 4;
/// WHEN below CASE.
const INDENT_CASE: i32 = 4;
/// Stands for a line break inside an expression, which takes the blanks before it away. (A text
/// with this character in a literal does not read back, and so is not kept.)
const LINE_BREAK: char = '\u{1}';

/// How to print a query.
pub struct QueryStyle<'a> {
    /// A relation as it is called now: for a rename another version than the query was bound to.
    pub current: &'a dyn Fn(&Arc<Relation>) -> Arc<Relation>,
    /// A relation's name in FROM and in `'…'::regclass`.
    pub relation_name: &'a dyn Fn(&Relation) -> String,
    /// A relation by OID, for `regclass` constants.
    pub relation: &'a dyn Fn(Oid) -> Option<Arc<Relation>>,
    /// The schema of a function that is in none of the built-in ones: quoted.
    pub function_schema: &'a dyn Fn(Oid) -> Option<String>,
    /// Without parentheses that the reader does not need.
    pub pretty: bool,
    /// USING joins are printed as such; otherwise by their condition, which names every column.
    pub using: bool,
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
    let printer = Printer {
        style,
        levels: RefCell::default(),
        reads: RefCell::default(),
        indent: Cell::new(0),
        unknown: RefCell::default(),
    };
    let mut out = Layout { text: String::new(), indent: 0 };
    printer.query(query, names, true, &mut out);
    if let Some(what) = printer.unknown.into_inner() {
        return Err(Error::not_supported(format!("printing of {what}")));
    }
    let mut reads = printer.reads.into_inner();
    reads.sort_unstable();
    reads.dedup();
    Ok(PrintedQuery { text: out.text, reads })
}

/// Text under construction with the indentation in force.
struct Layout {
    text: String,
    indent: i32,
}

impl Layout {
    /// Starts a line with a keyword (appendContextKeyword).
    fn line(&mut self, keyword: &str, before: i32, after: i32, plus: usize) {
        self.indent += before;
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
        let spaces = usize::try_from(self.indent.max(0)).unwrap_or(0) + plus;
        self.text.extend(std::iter::repeat_n(' ', spaces));
        self.text.push_str(keyword);
        self.indent = (self.indent + after).max(0);
    }

    /// A clause of a SELECT.
    fn clause(&mut self, keyword: &str, plus: usize) {
        self.line(keyword, -INDENT, INDENT, plus);
    }

    fn push(&mut self, text: &str) {
        for (i, part) in text.split(LINE_BREAK).enumerate() {
            if i > 0 {
                self.text.truncate(self.text.trim_end_matches(' ').len());
                self.text.push('\n');
            }
            self.text.push_str(part);
        }
    }
}

/// One query level: its range table and what the entries are called in the text.
#[derive(Clone)]
struct Level {
    entries: Arc<[Entry]>,
    ctes: Arc<[Arc<str>]>,
    /// Columns are written with their entry's name.
    prefix: bool,
}

struct Entry {
    name: String,
    columns: Vec<Arc<str>>,
    /// The relation or view behind it.
    relation: Option<Oid>,
    /// A join's merged columns.
    merged: Vec<Expr>,
}

struct Printer<'a> {
    style: &'a QueryStyle<'a>,
    /// Outermost first.
    levels: RefCell<Vec<Level>>,
    reads: RefCell<Vec<(Oid, i16)>>,
    /// The indentation in force, for what is laid out inside expressions.
    indent: Cell<i32>,
    unknown: RefCell<Option<&'static str>>,
}

impl Printer<'_> {
    fn unknown(&self, what: &'static str) {
        self.unknown.borrow_mut().get_or_insert(what);
    }

    fn note(&self, relation: Oid, attnum: i16) {
        self.reads.borrow_mut().push((relation, attnum));
    }

    // ----- names -----

    fn level(&self, query: &Query) -> Level {
        let levels = self.levels.borrow();
        let taken = |name: &str, here: &[Entry]| {
            here.iter().any(|e| e.name == name)
                || levels.iter().any(|l| l.entries.iter().any(|e| e.name == name))
        };
        let mut entries: Vec<Entry> = Vec::with_capacity(query.rtes.len());
        for rte in &query.rtes {
            let relation = relation_of(rte).map(self.style.current);
            let wanted = match &relation {
                Some(relation) if !rte.has_alias => relation.name.to_string(),
                _ => rte.alias.to_string(),
            };
            let unnamed = matches!(rte.kind, RteKind::Join { .. }) && !rte.has_alias;
            let numbered = |n: u32| match n {
                0 => wanted.clone(),
                n => format!("{wanted}_{n}"),
            };
            let name = match unnamed {
                true => String::new(),
                false => (0..).map(numbered).find(|n| !taken(n, &entries)).unwrap_or_default(),
            };
            entries.push(Entry {
                name,
                columns: column_names(rte, relation.as_deref()),
                relation: relation.map(|r| r.oid),
                merged: match &rte.kind {
                    RteKind::Join { columns } if !rte.has_alias => columns.clone(),
                    _ => Vec::new(),
                },
            });
        }
        Level {
            prefix: !levels.is_empty() || entries.len() != 1,
            entries: entries.into(),
            ctes: query.ctes.iter().map(|c| c.name.clone()).collect(),
        }
    }

    /// The entry and column that a variable names; `None` for what the query does not have.
    fn var(&self, rte: usize, column: i32, levels_up: usize) -> Option<String> {
        // Whether names are qualified is the innermost query's affair.
        let (level, prefix) = {
            let levels = self.levels.borrow();
            let at = levels.len().checked_sub(levels_up + 1)?;
            (levels[at].clone(), levels.last()?.prefix)
        };
        let entry = level.entries.get(rte)?;
        let Ok(at) = usize::try_from(column) else {
            if let Some(relation) = entry.relation {
                self.note(relation, 0);
            }
            let name = crate::bind::system_column(column)?.0;
            return Some(format!("{}.{name}", quote_identifier(&entry.name)));
        };
        if let Some(merged) = entry.merged.get(at) {
            // The merged column is an expression over entries of the same level.
            if levels_up > 0 {
                self.unknown("an outer join's merged column");
            }
            return Some(self.arg(merged));
        }
        if let Some(relation) = entry.relation {
            self.note(relation, at as i16 + 1);
        }
        let name = quote_identifier(entry.columns.get(at)?);
        Some(match prefix {
            true => format!("{}.{name}", quote_identifier(&entry.name)),
            false => name,
        })
    }

    // ----- expressions -----

    /// An expression, its own implicit cast hidden.
    fn expr(&self, expr: &Expr) -> String {
        if !self.style.pretty {
            return expression(expr, &|e| self.leaf(e));
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
            e if has_sub_select(e) => self.arg(e),
            e => {
                let text = expression(e, &|e| self.leaf(e));
                definitions::expression_definition(&text, Style::PRETTY)
            }
        }
    }

    /// An expression as part of another one.
    fn arg(&self, expr: &Expr) -> String {
        expression(expr, &|e| self.leaf(e))
    }

    fn leaf(&self, expr: &Expr) -> Option<String> {
        match expr {
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
            Expr::Func { func, args, syntax: CallSyntax::Function, .. } => {
                let schema = (self.style.function_schema)(*func)?;
                let name = Builtins::get().proc(*func).map_or("?", |p| p.name);
                let args: Vec<String> = args.iter().map(|e| self.arg(e)).collect();
                Some(format!("{schema}.{}({})", quote_identifier(name), args.join(", ")))
            }
            Expr::SubLink { kind, test, query, .. } => {
                Some(self.sub_link(*kind, test.as_deref(), query))
            }
            Expr::Case { operand, whens, otherwise, .. } => {
                Some(self.case(operand.as_deref(), whens, otherwise))
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
            out.push_str(&format!("WHEN {} THEN {}", self.expr(shown), self.expr(then)));
        }
        out.push_str(&line(indent + INDENT_CASE));
        out.push_str(&format!("ELSE {}", self.expr(otherwise)));
        self.indent.set(indent);
        out + &line(indent) + "END"
    }

    fn sub_link(&self, kind: SubLinkKind, test: Option<&Expr>, query: &Query) -> String {
        let mut out = Layout { text: String::new(), indent: self.indent.get() };
        out.push(if kind == SubLinkKind::Array { "ARRAY(" } else { "(" });
        let mut wrapped = true;
        match (kind, test) {
            (SubLinkKind::Exists, _) => out.push("EXISTS ("),
            (SubLinkKind::Scalar | SubLinkKind::Array, _) => wrapped = false,
            (_, Some(Expr::Func { args, syntax: CallSyntax::Operator(op), .. }))
                if args.len() == 2 =>
            {
                let symbol = Builtins::get().operator(*op).map_or("?", |o| o.name);
                out.push(&self.arg(&args[0]));
                match (kind, symbol) {
                    (SubLinkKind::Any, "=") => out.push(" IN ("),
                    (SubLinkKind::Any, symbol) => out.push(&format!(" {symbol} ANY (")),
                    (_, symbol) => out.push(&format!(" {symbol} ALL (")),
                }
            }
            _ => self.unknown("a comparison of rows with a sub-select"),
        }
        self.query(query, None, false, &mut out);
        out.push(if wrapped { "))" } else { ")" });
        out.text
    }

    // ----- queries -----

    /// A query on a level of its own. `named`: its output columns' names matter.
    fn query(&self, query: &Query, names: Option<&[Arc<str>]>, named: bool, out: &mut Layout) {
        let (indent, outer) = (out.indent, self.indent.get());
        let level = self.level(query);
        self.levels.borrow_mut().push(level);
        self.reads.borrow_mut().extend(query.determining_keys.iter().map(|key| (*key, 0)));
        // Expressions stand in clauses, one step further in.
        self.indent.set(indent + INDENT);
        self.query_body(query, names, named, out);
        self.levels.borrow_mut().pop();
        self.indent.set(outer);
        out.indent = indent;
    }

    fn query_body(&self, query: &Query, names: Option<&[Arc<str>]>, named: bool, out: &mut Layout) {
        let Query {
            command,
            rtes: _,
            determining_keys: _,
            from: _,
            filter: _,
            targets,
            group_by: _,
            grouping_sets,
            has_aggregates: _,
            having: _,
            distinct: _,
            order_by,
            windows,
            limit,
            offset,
            with_ties,
            row_locks,
            set_operation,
            ctes,
            result_relation: _,
            current_of: _,
            assignments: _,
            view_checks: _,
            on_conflict: _,
            returning: _,
            returning_versions: _,
        } = query;
        if *command != Command::Select {
            return self.unknown("a data-modifying statement");
        }
        if !row_locks.is_empty() {
            return self.unknown("FOR UPDATE");
        }
        if !windows.is_empty() {
            return self.unknown("window functions");
        }
        if grouping_sets.is_some() {
            return self.unknown("GROUPING SETS");
        }
        self.with_clause(ctes, out);
        match set_operation {
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
                None => out.push(&self.sort_expr(&targets[order.target].expr)),
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
    }

    /// An expression of ORDER BY, GROUP BY or DISTINCT ON.
    fn sort_expr(&self, expr: &Expr) -> String {
        let text = self.arg(expr);
        let text = match self.style.pretty && !has_sub_select(expr) {
            true => definitions::expression_definition(&text, Style::PRETTY),
            false => text,
        };
        let bare = matches!(expr, Expr::Var { .. } | Expr::Const(..));
        use CallSyntax::{Function, Sql};
        let call = matches!(expr, Expr::Func { syntax: Function | Sql, .. } | Expr::Aggregate(_));
        if !bare && (self.style.pretty || call) { format!("({text})") } else { text }
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
            if cte.recursive {
                out.push(&format!("({})", list(&output_names(&cte.query))));
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
        }
        out.indent -= INDENT;
        out.line("", 0, 0, 0);
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
        self.operand(&operation.right, right_paren, None, false, out);
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
        self.target_list(query, names, named, out);
        for (i, item) in query.from.iter().enumerate() {
            match i {
                0 => out.clause(" FROM ", 2),
                _ => {
                    out.push(", ");
                    out.clause("", INDENT_LIST);
                }
            }
            self.item(query, item, out);
        }
        if let Some(filter) = &query.filter {
            out.clause(" WHERE ", 1);
            out.push(&self.expr(filter));
        }
        for (i, key) in query.group_by.iter().enumerate() {
            match i {
                0 => out.clause(" GROUP BY ", 1),
                _ => out.push(", "),
            }
            out.push(&self.sort_expr(key));
        }
        if let Some(having) = &query.having {
            out.clause(" HAVING ", 0);
            out.push(&self.expr(having));
        }
    }

    fn target_list(
        &self,
        query: &Query,
        names: Option<&[Arc<str>]>,
        named: bool,
        out: &mut Layout,
    ) {
        let visible = query.targets.iter().filter(|t| !t.hidden);
        for (i, target) in visible.enumerate() {
            let text = self.expr(&target.expr);
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
            let own = match &target.expr {
                Expr::Var { .. } => text == shown || text.ends_with(&format!(".{shown}")),
                _ => !named && &**name == "?column?",
            };
            out.push(&text);
            if !own {
                out.push(&format!(" AS {shown}"));
            }
        }
    }

    fn values(&self, lists: &[Vec<Expr>], out: &mut Layout) {
        out.push("VALUES ");
        for (i, row) in lists.iter().enumerate() {
            let row: Vec<String> = row.iter().map(|e| self.expr(e)).collect();
            out.push(if i == 0 { "(" } else { ", (" });
            out.push(&row.join(","));
            out.push(")");
        }
    }

    // ----- FROM -----

    fn item(&self, query: &Query, item: &FromItem, out: &mut Layout) {
        match item {
            FromItem::Rte(rte) => self.entry(query, *rte, out),
            FromItem::Join { kind, left, right, on, using } => {
                let paren = !self.style.pretty;
                if paren {
                    out.push("(");
                }
                self.item(query, left, out);
                let word = match (kind, on) {
                    (JoinKind::Inner, None) if using.is_empty() => " CROSS JOIN ",
                    (JoinKind::Inner, _) => " JOIN ",
                    (JoinKind::Left, _) => " LEFT JOIN ",
                    (JoinKind::Right, _) => " RIGHT JOIN ",
                    (JoinKind::Full, _) => " FULL JOIN ",
                    (JoinKind::Semi | JoinKind::Anti, _) => return self.unknown("a semi-join"),
                };
                out.clause(word, INDENT_JOIN);
                let right_paren = self.style.pretty && matches!(**right, FromItem::Join { .. });
                if right_paren {
                    out.push("(");
                }
                self.item(query, right, out);
                if right_paren {
                    out.push(")");
                }
                self.join_condition(*kind, on.as_ref(), using, out);
                if paren {
                    out.push(")");
                }
            }
        }
    }

    fn join_condition(
        &self,
        kind: JoinKind,
        on: Option<&Expr>,
        using: &[Arc<str>],
        out: &mut Layout,
    ) {
        match on {
            Some(_) if self.style.using && !using.is_empty() => {
                out.push(&format!(" USING ({})", list(using)));
            }
            Some(on) if self.style.pretty => out.push(&format!(" ON {}", self.expr(on))),
            Some(on) => out.push(&format!(" ON ({})", self.expr(on))),
            None if kind != JoinKind::Inner => out.push(" ON TRUE"),
            None => {}
        }
    }

    fn entry(&self, query: &Query, rte: usize, out: &mut Layout) {
        let entry = &query.rtes[rte];
        let name = {
            let levels = self.levels.borrow();
            levels.last().map_or(String::new(), |l| l.entries[rte].name.clone())
        };
        // The name that it has without an alias.
        let own = match &entry.kind {
            RteKind::Relation(relation) | RteKind::Subquery { view: Some(relation), .. } => {
                let relation = (self.style.current)(relation);
                self.note(relation.oid, 0);
                if !entry.inherit && matches!(entry.kind, RteKind::Relation(_)) {
                    out.push("ONLY ");
                }
                out.push(&(self.style.relation_name)(&relation));
                Some(relation.name.to_string())
            }
            RteKind::Subquery { query, lateral, view: None } => {
                out.push(if *lateral { "LATERAL (" } else { "(" });
                self.query(query, None, true, out);
                out.push(")");
                None
            }
            // Always with an alias: what a function's columns are called depends on it.
            RteKind::Function { calls, ordinality } => {
                self.function(calls, *ordinality, out);
                None
            }
            RteKind::Values(lists) => {
                out.push("(");
                self.values(lists, out);
                out.push(")");
                None
            }
            RteKind::Cte { index, levels_up } => {
                let levels = self.levels.borrow();
                let level = levels.len().checked_sub(levels_up + 1).map(|at| &levels[at]);
                let Some(cte) = level.and_then(|l| l.ctes.get(*index)) else {
                    return self.unknown("a reference to WITH");
                };
                out.push(&quote_identifier(cte));
                Some(cte.to_string())
            }
            RteKind::Join { .. } => return self.unknown("an alias of a join"),
        };
        if entry.has_alias || own.as_ref() != Some(&name) {
            out.push(&format!(" {}", quote_identifier(&name)));
        }
        if let Some(columns) = self.column_aliases(entry) {
            out.push(&format!("({})", list(&columns)));
        }
    }

    fn function(&self, calls: &[(Expr, usize)], ordinality: bool, out: &mut Layout) {
        match calls {
            [(call, _)] => out.push(&self.expr(call)),
            _ => {
                let calls: Vec<String> = calls.iter().map(|(call, _)| self.expr(call)).collect();
                out.push(&format!("ROWS FROM({})", calls.join(", ")));
            }
        }
        if ordinality {
            out.push(" WITH ORDINALITY");
        }
    }

    /// The column aliases to print behind an entry's name.
    fn column_aliases(&self, entry: &Rte) -> Option<Vec<Arc<str>>> {
        let names: Vec<Arc<str>> =
            entry.columns.iter().filter(|c| !c.dropped).map(|c| c.name.clone()).collect();
        let own: Vec<Arc<str>> = match &entry.kind {
            RteKind::Relation(r) | RteKind::Subquery { view: Some(r), .. } => {
                r.columns.iter().filter(|c| !c.dropped).map(|c| c.name.clone()).collect()
            }
            RteKind::Subquery { query, view: None, .. } => output_names(query),
            // Names of VALUES and function columns are always spelled out.
            RteKind::Values(_) | RteKind::Function { .. } => return Some(names),
            RteKind::Cte { .. } | RteKind::Join { .. } => return None,
        };
        (own != names).then_some(names)
    }
}

/// The table, or the view, that an entry stands for.
fn relation_of(rte: &Rte) -> Option<&Arc<Relation>> {
    match &rte.kind {
        RteKind::Relation(relation) => Some(relation),
        RteKind::Subquery { view, .. } => view.as_ref(),
        _ => None,
    }
}

/// What the columns of an entry are called: a relation's as they are called now, unless the
/// query gave them names of its own.
fn column_names(rte: &Rte, current: Option<&Relation>) -> Vec<Arc<str>> {
    let bound = relation_of(rte);
    let name = |(i, column): (usize, &RteColumn)| {
        let was = bound.and_then(|r| r.columns.get(i));
        match (was, current.and_then(|r| r.columns.get(i))) {
            (Some(was), Some(is)) if was.name == column.name => is.name.clone(),
            _ => column.name.clone(),
        }
    };
    rte.columns.iter().enumerate().map(name).collect()
}

fn output_names(query: &Query) -> Vec<Arc<str>> {
    query.targets.iter().filter(|t| !t.hidden).map(|t| t.name.clone()).collect()
}

fn list(names: &[Arc<str>]) -> String {
    names.iter().map(|n| quote_identifier(n)).collect::<Vec<_>>().join(", ")
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

fn has_sub_select(expr: &Expr) -> bool {
    matches!(expr, Expr::SubLink { .. }) || expr.children().into_iter().any(has_sub_select)
}
