//! Bound expressions back to SQL text, as PostgreSQL's ruleutils.c prints them
//! (parentheses around every operator, casts as `::type`): for EXPLAIN, for
//! pg_get_expr and its kin, and for storing defaults and checks.
//!
//! The name of a leaf depends on the caller, which passes its [`Names`].

mod changes;
mod clauses;
mod from_clause;
pub mod function_body;
mod kept;
mod layout;
mod levels;
pub mod query;
mod row_types;
mod sql_syntax;
pub mod unnamed;
mod user_types;

pub(crate) use self::changes::has_fixed_name;
use self::clauses::is_call;
use self::user_types::type_text;
use crate::bind::trigger;
use crate::expr::{Aggregate, BoolTest, CallSyntax, Expr, RowCompareOp, TypeRef, WindowCall};
use std::borrow::Cow;
use steppe_catalog::system::definitions;
pub use steppe_catalog::system::definitions::simple_quote_literal;
use steppe_catalog::type_spelling::{ShownCast, SpelledCast, is_named_behind};
use steppe_catalog::{Catalog, Function, OperatorRef, Relation, builtin, operator_spelling};
use steppe_types::io::IoContext;
use steppe_types::{Datum, oid, text_io};

/// Names for the leaves that only the caller can name: columns, slots, parameters, sub-plans.
/// `None`: the default name.
pub type Names<'a> = dyn Fn(&Expr) -> Option<String> + 'a;

/// The name that a call of a function is printed with. `None`: the function's name alone.
pub type FunctionNames<'a> = dyn Fn(&Function) -> Option<String> + 'a;

/// The text of an expression.
pub fn expression(expr: &Expr, names: &Names<'_>) -> String {
    shown_expression(expr, names, &IoContext::default())
}

/// As [`expression`], with constants as a session's settings show them.
pub fn shown_expression(expr: &Expr, names: &Names<'_>, io: &IoContext) -> String {
    printed(expr, names, &|_| None, io)
}

/// As [`shown_expression`], with other names of functions.
fn printed(
    expr: &Expr,
    names: &Names<'_>,
    functions: &FunctionNames<'_>,
    io: &IoContext,
) -> String {
    let mut out = String::new();
    Deparser { names, functions, io }.expr(expr, &mut out);
    out
}

/// As [`printed`], with the expression's own implicit cast.
fn printed_argument(
    expr: &Expr,
    names: &Names<'_>,
    functions: &FunctionNames<'_>,
    io: &IoContext,
) -> String {
    let mut out = String::new();
    Deparser { names, functions, io }.arg(expr, &mut out);
    out
}

/// An expression as the catalog keeps it: functions that are not in pg_catalog are named by OID or
/// with their schemas, so that it means the same under any search path.
pub fn kept_expression(expr: &Expr, names: &Names<'_>, catalog: &Catalog) -> String {
    let functions = |function: &Function| definitions::kept_function_name(catalog, function);
    printed(expr, names, &functions, &IoContext::default())
}

/// The text of a window call without its OVER clause: windows have names only in a plan.
pub fn window_call(call: &WindowCall, names: &Names<'_>, io: &IoContext) -> String {
    printed_window_call(call, names, &|_| None, io)
}

/// As [`window_call`], with other names of functions.
fn printed_window_call(
    call: &WindowCall,
    names: &Names<'_>,
    functions: &FunctionNames<'_>,
    io: &IoContext,
) -> String {
    let mut out = String::new();
    Deparser { names, functions, io }.window(call, &mut out);
    out
}

/// The text of an expression over one table's columns (`Var`s or `Slot`s in attribute order), as
/// stored for CHECK and DEFAULT.
pub fn table_expression(expr: &Expr, relation: Option<&Relation>, catalog: &Catalog) -> String {
    let column = |index: usize| {
        relation.and_then(|r| r.columns.get(index)).map(|c| quote_identifier(&c.name))
    };
    let names = |e: &Expr| match e {
        Expr::Var { column: c, levels_up: 0, .. } => match usize::try_from(*c) {
            Ok(index) => column(index),
            Err(_) => crate::bind::system_column(*c).map(|s| s.0.to_string()),
        },
        Expr::Slot { index, .. } => column(*index),
        _ => None,
    };
    kept_expression(expr, &names, catalog)
}

/// The text of a trigger's condition, bound over `old` and `new` of a table, as the table's columns
/// are called in `relation`, as the catalog keeps it.
pub fn trigger_condition(condition: &Expr, relation: &Relation, catalog: &Catalog) -> String {
    let version = |rte: usize| trigger::VERSIONS.get(rte).copied().unwrap_or("?");
    let names = |e: &Expr| match e {
        Expr::Row(fields, _) => {
            let (rte, _) = trigger::whole_version(fields, relation)?;
            Some(format!("{}.*", version(rte)))
        }
        Expr::Var { rte, column, levels_up: 0, .. } => {
            let name = match usize::try_from(*column) {
                Ok(position) => quote_identifier(&relation.columns.get(position)?.name),
                Err(_) => crate::bind::system_column(*column)?.0.to_owned(),
            };
            Some(format!("{}.{name}", version(*rte)))
        }
        _ => None,
    };
    kept_expression(condition, &names, catalog)
}

/// A name as SQL writes it: quoted where it would not read back the same.
pub fn quote_identifier(name: &str) -> String {
    definitions::quote_identifier(name).into_owned()
}

/// An expression without the casts around it that the text does not show.
fn without_hidden_cast<'e>(expr: &'e Expr, io: &IoContext) -> &'e Expr {
    let mut shown = expr;
    while let Some(operand) = shown.implicit_cast_operand() {
        match shown {
            Expr::Func { func, .. } if is_kept_by_function(func, io) => break,
            _ => shown = operand,
        }
    }
    shown
}

/// Whether a cast by a function is kept with the function, so that the text means the same when the
/// user's cast is dropped, and names the function that it depends on.
fn is_kept_by_function(func: &Function, io: &IoContext) -> bool {
    io.catalog.is_none() && !func.is_built_in()
}

/// An operator in an expression, as a session's search path finds it. Where there is no session, a
/// built-in one has its symbol, and a user's is named by its OID.
fn operator_text(operator: &OperatorRef, io: &IoContext) -> Cow<'static, str> {
    match io.catalog.as_ref().and_then(|catalog| catalog.operator_name(operator.oid)) {
        Some(shown) => shown.into(),
        None if operator.is_built_in() => operator.name.clone(),
        None => operator_spelling::spelling(operator).into(),
    }
}

/// Casts that the binder put in are hidden at the top and below AND, OR and NOT. As arguments they
/// are shown, since they determine the called operator or function (ruleutils' showimplicit).
struct Deparser<'a> {
    names: &'a Names<'a>,
    functions: &'a FunctionNames<'a>,
    io: &'a IoContext,
}

impl Deparser<'_> {
    /// An expression whose own implicit cast, if it is one, is hidden.
    fn expr(&self, expr: &Expr, out: &mut String) {
        match without_hidden_cast(expr, self.io) {
            Expr::Func { func, args, ty, syntax: CallSyntax::ImplicitCast }
                if (self.names)(expr).is_none() && is_kept_by_function(func, self.io) =>
            {
                self.kept_cast(func, args, *ty, ShownCast::Hidden, out);
            }
            shown => self.arg(shown, out),
        }
    }

    /// An expression with implicit casts shown.
    fn arg(&self, expr: &Expr, out: &mut String) {
        if let Some(name) = (self.names)(expr) {
            out.push_str(&name);
            return;
        }
        match expr {
            Expr::Const(value, ty) => constant(value, *ty, self.io, out),
            Expr::Untyped { value, .. } => {
                constant(value, TypeRef::plain(oid::UNKNOWN), self.io, out)
            }
            Expr::Param { index, .. } => out.push_str(&format!("${}", index + 1)),
            Expr::ExecParam { id, .. } => out.push_str(&format!("${id}")),
            Expr::Var { .. } | Expr::Slot { .. } => out.push('?'),
            Expr::Func { func, args, ty, syntax } => self.call(func, args, *ty, syntax, out),
            Expr::And(args) => self.joined(args, " AND ", out),
            Expr::Or(args) => self.joined(args, " OR ", out),
            Expr::Not(arg) => {
                out.push_str("(NOT ");
                self.expr(arg, out);
                out.push(')');
            }
            Expr::IsNull { arg, negated } => {
                let tail = if *negated { " IS NOT NULL)" } else { " IS NULL)" };
                self.wrapped("(", arg, tail, out);
            }
            Expr::BoolTest { arg, test } => {
                let tail = match test {
                    BoolTest::True => " IS TRUE)",
                    BoolTest::NotTrue => " IS NOT TRUE)",
                    BoolTest::False => " IS FALSE)",
                    BoolTest::NotFalse => " IS NOT FALSE)",
                    BoolTest::Unknown => " IS UNKNOWN)",
                    BoolTest::NotUnknown => " IS NOT UNKNOWN)",
                };
                self.wrapped("(", arg, tail, out);
            }
            Expr::Distinct { left, right, negated, .. } => {
                out.push_str(if *negated { "(NOT " } else { "" });
                self.infix(left, " IS DISTINCT FROM ", right, out);
                out.push_str(if *negated { ")" } else { "" });
            }
            Expr::NullIf { left, right, .. } => {
                out.push_str("NULLIF(");
                self.list([&**left, &**right], out);
                out.push(')');
            }
            Expr::Case { operand, whens, otherwise, .. } => {
                self.case(operand.as_deref(), whens, otherwise, out);
            }
            Expr::CaseOperand(_) => out.push_str("CASE_TEST_EXPR"),
            Expr::Coalesce { args, .. } => self.named_list("COALESCE(", args, ")", out),
            Expr::MinMax { greatest, args, .. } => {
                let name = if *greatest { "GREATEST(" } else { "LEAST(" };
                self.named_list(name, args, ")", out);
            }
            Expr::ScalarArrayOp { all, left, array, syntax, .. } => {
                out.push('(');
                self.arg(left, out);
                out.push_str(&format!(
                    " {} {} (",
                    self.symbol(syntax),
                    if *all { "ALL" } else { "ANY" }
                ));
                self.arg(array, out);
                out.push_str("))");
            }
            Expr::Array { elements, ty, .. } => {
                self.named_list("ARRAY[", elements, "]", out);
                if elements.is_empty() {
                    out.push_str(&format!("::{}", type_text(*ty, self.io)));
                }
            }
            Expr::Subscript { array, indices, slice, assigned, .. } => {
                match **array {
                    Expr::Var { .. } | Expr::Slot { .. } | Expr::Field { .. } => {
                        self.arg(array, out);
                    }
                    _ => self.wrapped("(", array, ")", out),
                }
                for (lower, upper) in indices {
                    out.push('[');
                    lower.iter().for_each(|lower| self.expr(lower, out));
                    out.push_str(if *slice { ":" } else { "" });
                    upper.iter().for_each(|upper| self.expr(upper, out));
                    out.push(']');
                }
                if let Some(assigned) = assigned {
                    out.push_str(" := ");
                    self.expr(assigned, out);
                }
            }
            Expr::Row(fields, _) => self.named_list("ROW(", fields, ")", out),
            Expr::RowCompare { op, left, right, .. } => {
                self.named_list("(ROW(", left, ")", out);
                self.named_list(&format!(" {} ROW(", row_symbol(*op)), right, "))", out);
            }
            Expr::Field { arg, index, .. } => {
                self.wrapped("(", arg, &format!(").f{}", index + 1), out);
            }
            Expr::Relabel { arg, ty, .. } | Expr::CoerceViaIo { arg, ty, .. } => {
                self.cast(arg, *ty, out);
            }
            Expr::Collate { arg, collation, .. } => {
                let name = builtin::collation_name(*collation).unwrap_or_default();
                self.wrapped("(", arg, &format!(" COLLATE {})", quote_identifier(name)), out);
            }
            Expr::ArrayCoerce { arg, ty, .. } => self.cast(arg, *ty, out),
            Expr::Domain { arg, checks, .. } => self.cast(arg, TypeRef::plain(checks.domain), out),
            Expr::DomainValue(_) => out.push_str("VALUE"),
            Expr::SubLink { .. } | Expr::SubPlan(_) => out.push_str("(SubPlan)"),
            Expr::SubLinkColumn { index, .. } => out.push_str(&format!("col{}", index + 1)),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate, out),
            Expr::Window(call) => {
                self.window(call, out);
                out.push_str(" OVER (?)");
            }
            Expr::Grouping { args, .. } => self.named_list("GROUPING(", args, ")", out),
            Expr::Default(_) => out.push_str("DEFAULT"),
        }
    }

    fn call(
        &self,
        func: &Function,
        args: &[Expr],
        ty: TypeRef,
        syntax: &CallSyntax,
        out: &mut String,
    ) {
        match (syntax, args) {
            (CallSyntax::Operator(_), [left, right]) => {
                self.infix(left, &format!(" {} ", self.symbol(syntax)), right, out);
            }
            (CallSyntax::Operator(_), [arg]) => {
                self.wrapped(&format!("({} ", self.symbol(syntax)), arg, ")", out);
            }
            (CallSyntax::ImplicitCast | CallSyntax::ExplicitCast, [arg, ..]) => {
                let is_implicit = *syntax == CallSyntax::ImplicitCast;
                match is_kept_by_function(func, self.io) {
                    false => self.cast(arg, ty, out),
                    true if is_implicit => {
                        self.kept_cast(func, args, ty, ShownCast::Implicit, out);
                    }
                    true => self.kept_cast(func, args, ty, ShownCast::Explicit, out),
                }
            }
            (CallSyntax::SqlValue(word), _) => {
                out.push_str(word);
                if ty.typmod >= 0 && word.contains("TIME") {
                    out.push_str(&format!("({})", ty.typmod));
                }
            }
            (CallSyntax::Defaulted(left_out), args) => {
                self.function_name(func, out);
                self.given_arguments(func, args, *left_out, out);
            }
            (CallSyntax::Variadic, [first @ .., array]) => {
                self.function_name(func, out);
                self.named_list("(", first, if first.is_empty() { "" } else { ", " }, out);
                self.wrapped("VARIADIC ", array, ")", out);
            }
            _ => {
                if *syntax == CallSyntax::Sql
                    && func.built_in_name().is_some_and(|name| self.sql_call(name, args, out))
                {
                    return;
                }
                self.function_name(func, out);
                self.named_list("(", args, ")", out);
            }
        }
    }

    /// The arguments of a call that uses defaults. Arguments after the first default are named.
    fn given_arguments(&self, func: &Function, args: &[Expr], left_out: u128, out: &mut String) {
        let mut names = func.input_names();
        let mut is_named = false;
        let mut separator = "(";
        for (number, arg) in args.iter().enumerate() {
            let name = names.next().unwrap_or_default();
            if left_out & (1 << number) != 0 {
                is_named = true;
                continue;
            }
            out.push_str(separator);
            if is_named {
                out.push_str(&format!("{} => ", quote_identifier(name)));
            }
            self.arg(arg, out);
            separator = ", ";
        }
        out.push_str(if separator == "(" { "()" } else { ")" });
    }

    fn function_name(&self, function: &Function, out: &mut String) {
        match (self.functions)(function) {
            Some(name) => out.push_str(&name),
            None => out.push_str(&quote_identifier(&function.name)),
        }
    }

    fn symbol(&self, syntax: &CallSyntax) -> Cow<'static, str> {
        match syntax {
            CallSyntax::Operator(op) => operator_text(op, self.io),
            _ => "?".into(),
        }
    }

    /// A user's cast as the catalog keeps it: by its function. The binder gives the function its other
    /// arguments again.
    fn kept_cast(
        &self,
        func: &Function,
        args: &[Expr],
        ty: TypeRef,
        shown: ShownCast,
        out: &mut String,
    ) {
        let cast = SpelledCast { function: func.oid, target: (ty.oid, ty.typmod), shown };
        out.push_str(&cast.spelling());
        out.push('(');
        args.first().into_iter().for_each(|arg| self.expr(arg, out));
        out.push(')');
        if shown != ShownCast::Hidden && is_named_behind(ty.oid) {
            out.push_str("::");
            out.push_str(&type_text(ty, self.io));
        }
    }

    fn cast(&self, arg: &Expr, ty: TypeRef, out: &mut String) {
        // A literal needs no parentheses, nor its own label of the same type (get_coercion_expr).
        match arg {
            Expr::Const(Datum::Text(text), own) if [ty.oid, oid::UNKNOWN].contains(&own.oid) => {
                out.push_str(&simple_quote_literal(text));
            }
            _ => {
                out.push('(');
                self.expr(arg, out);
                out.push(')');
            }
        }
        out.push_str("::");
        out.push_str(&type_text(ty, self.io));
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        whens: &[(Expr, Expr)],
        otherwise: &Expr,
        out: &mut String,
    ) {
        out.push_str("CASE");
        if let Some(operand) = operand {
            out.push(' ');
            self.expr(operand, out);
        }
        for (when, then) in whens {
            out.push_str(" WHEN ");
            // `CASE x WHEN v` is bound as `x = v`: show v.
            match (operand, when) {
                (Some(_), Expr::Func { args, .. }) if args.len() == 2 => self.expr(&args[1], out),
                _ => self.expr(when, out),
            }
            out.push_str(" THEN ");
            self.arg(then, out);
        }
        out.push_str(" ELSE ");
        self.arg(otherwise, out);
        out.push_str(" END");
    }

    fn aggregate(&self, aggregate: &Aggregate, out: &mut String) {
        self.function_name(&aggregate.func, out);
        out.push('(');
        if aggregate.distinct {
            out.push_str("DISTINCT ");
        }
        if aggregate.star {
            out.push('*');
        }
        self.list(&aggregate.args, out);
        let within = aggregate.is_ordered_set();
        let order = if within { ") WITHIN GROUP (ORDER BY " } else { " ORDER BY " };
        for (i, key) in aggregate.order_by.iter().enumerate() {
            out.push_str(if i == 0 { order } else { ", " });
            match is_call(&key.expr) {
                true => self.wrapped("(", &key.expr, ")", out),
                false => self.arg(&key.expr, out),
            }
            out.push_str(sort_suffix(key.descending, key.nulls_first));
        }
        out.push(')');
        if let Some(filter) = &aggregate.filter {
            self.wrapped(" FILTER (WHERE ", filter, ")", out);
        }
    }

    fn window(&self, call: &WindowCall, out: &mut String) {
        self.function_name(&call.func, out);
        out.push('(');
        if call.star {
            out.push('*');
        }
        self.list(&call.args, out);
        out.push(')');
        if let Some(filter) = &call.filter {
            self.wrapped(" FILTER (WHERE ", filter, ")", out);
        }
    }

    fn infix(&self, left: &Expr, op: &str, right: &Expr, out: &mut String) {
        out.push('(');
        self.arg(left, out);
        out.push_str(op);
        self.arg(right, out);
        out.push(')');
    }

    fn wrapped(&self, before: &str, arg: &Expr, after: &str, out: &mut String) {
        out.push_str(before);
        self.arg(arg, out);
        out.push_str(after);
    }

    fn joined(&self, args: &[Expr], separator: &str, out: &mut String) {
        out.push('(');
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                out.push_str(separator);
            }
            self.expr(arg, out);
        }
        out.push(')');
    }

    fn named_list(&self, before: &str, args: &[Expr], after: &str, out: &mut String) {
        out.push_str(before);
        self.list(args, out);
        out.push_str(after);
    }

    fn list<'e>(&self, args: impl IntoIterator<Item = &'e Expr>, out: &mut String) {
        for (i, arg) in args.into_iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            self.arg(arg, out);
        }
    }
}

/// The operator of a comparison of rows.
fn row_symbol(op: RowCompareOp) -> &'static str {
    match op {
        RowCompareOp::Lt => "<",
        RowCompareOp::Le => "<=",
        RowCompareOp::Gt => ">",
        RowCompareOp::Ge => ">=",
    }
}

/// A constant's text with the type, which it has already unless it is a bare number or a boolean.
fn typed_constant(ty: TypeRef, text: String, io: &IoContext) -> String {
    match text.starts_with('\'') || ty.oid == oid::UNKNOWN {
        true => text,
        false => format!("{text}::{}", type_text(ty, io)),
    }
}

/// ` DESC`, ` NULLS FIRST` … where they differ from the default.
pub fn sort_suffix(descending: bool, nulls_first: bool) -> &'static str {
    match (descending, nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// A constant (get_const_expr): numbers bare, the rest quoted with its type.
fn constant(value: &Datum, ty: TypeRef, io: &IoContext, out: &mut String) {
    let label = |out: &mut String| {
        if ty.oid != oid::UNKNOWN {
            out.push_str("::");
            out.push_str(&type_text(ty, io));
        }
    };
    if value.is_null() {
        out.push_str("NULL");
        return label(out);
    }
    if let Some(text) = user_types::stored_constant(value, io) {
        return out.push_str(&text);
    }
    let mut bytes = Vec::new();
    if text_io::output(ty.oid, value, io, &mut bytes).is_err() {
        out.push('?');
        return;
    }
    let text = String::from_utf8_lossy(&bytes);
    let negative = text.starts_with('-');
    match ty.oid {
        oid::BOOL => out.push_str(if text == "t" { "true" } else { "false" }),
        oid::INT4 if !negative => out.push_str(&text),
        oid::NUMERIC if !negative && text.contains('.') && ty.typmod < 0 => out.push_str(&text),
        _ => {
            out.push_str(&simple_quote_literal(&text));
            label(out);
        }
    }
}
