//! Overload resolution of functions and operators (parse_func.c, parse_oper.c).

use super::candidate::{Call, Candidate, Selection, select_candidate, settle_equal};
use super::coerce::{self, can_coerce, category, is_polymorphic};
use super::{BindContext, Binder, ExprPlace};
use crate::ast::{self, Location, ObjectName};
use crate::expr::{CallSyntax, Expr, TypeRef};
use steppe_catalog::builtin::{self, CastContext};
use steppe_catalog::type_spelling::{Spelled, spelled};
use steppe_catalog::{Function, FunctionRef, Operator, OperatorRef, PG_CATALOG, operator_spelling};
use steppe_types::io::IoContext;
use steppe_types::{Error, Oid, Result, SqlState, oid};

impl Binder<'_> {
    /// Resolves `left op right` (or a prefix operator: no left side) and builds the call.
    pub(crate) fn operator(
        &mut self,
        name: &ObjectName,
        left: Option<Expr>,
        right: Expr,
        location: Location,
    ) -> Result<Expr> {
        let given = (left.as_ref().map_or(0, |left| left.ty().oid), right.ty().oid);
        if let Some(operator) = self.operator_of_domains(name, given) {
            return self.call_operator(operator, left, right, location);
        }
        let left = left.map(|left| self.to_base(left));
        let right = self.to_base(right);
        let left_type = left.as_ref().map_or(0, |e| e.ty().oid);
        let operator = self.resolve_operator(name, left_type, right.ty().oid, location)?;
        self.call_operator(operator, left, right, location)
    }

    /// A user's operator over a domain itself. Any other operator takes the values as of the type below
    /// the domain.
    fn operator_of_domains(
        &self,
        name: &ObjectName,
        (left, right): (Oid, Oid),
    ) -> Option<OperatorRef> {
        let catalog = self.ctx.catalog;
        let may_be_one = (oid::is_domain(left) || oid::is_domain(right))
            && !catalog.stored::<Operator>().is_empty();
        let path = self.ctx.search_path;
        let found = || catalog.operator_in(name.schema(), name.name(), (left, right), path);
        may_be_one.then(found).flatten().filter(|operator| !operator.is_shell())
    }

    /// Builds the call of a resolved operator, coercing its operands.
    pub(crate) fn call_operator(
        &mut self,
        operator: OperatorRef,
        left: Option<Expr>,
        right: Expr,
        location: Location,
    ) -> Result<Expr> {
        let inputs: Vec<Oid> = left.iter().chain([&right]).map(|e| e.ty().oid).collect();
        let declared: Vec<Oid> = match left {
            Some(_) => vec![operator.left, operator.right],
            None => vec![operator.right],
        };
        let (actual, result) = self.actual_types(&inputs, &declared, operator.result)?;
        let args = left.into_iter().chain([right]).zip(&actual);
        let args = args
            .map(|(arg, ty)| self.coerce_implicit(arg, TypeRef::plain(*ty)))
            .collect::<Result<Vec<_>>>()?;
        let func = self.operator_function(&operator)?;
        if func.retset {
            return Err(self.unsupported("an operator whose function returns a set", location));
        }
        self.check_collation(&func, &args)?;
        if let [left, right] = args.as_slice() {
            self.check_record_columns(&operator, left, right)?;
        }
        let syntax = CallSyntax::Operator(operator);
        Ok(Expr::Func { func, args, ty: TypeRef::plain(result), syntax })
    }

    /// The function that computes an operator.
    pub(super) fn operator_function(&self, operator: &OperatorRef) -> Result<FunctionRef> {
        let lost = || Error::internal(format!("operator {operator:?} has lost its function"));
        self.ctx.catalog.function(operator.func).ok_or_else(lost)
    }

    /// Finds the operator for two operand types: 42883, 42725. A stored text names a user's operator
    /// itself.
    pub(crate) fn resolve_operator(
        &self,
        name: &ObjectName,
        left: Oid,
        right: Oid,
        location: Location,
    ) -> Result<OperatorRef> {
        let spelled = name.schema().and_then(operator_spelling::spelled);
        if let Some(operator) = spelled.and_then(|oid| self.ctx.catalog.operator(oid)) {
            return Ok(operator);
        }
        let operator = self.find_operator(name, left, right, location)?;
        if operator.is_shell() {
            let shown = self.applied(name, operator.left, operator.right);
            let message = format!("operator is only a shell: {shown}");
            return Err(self.error(SqlState::UNDEFINED_FUNCTION, message, location));
        }
        Ok(operator)
    }

    /// An operator with its operands' types, for messages (op_signature_string).
    fn applied(&self, name: &ObjectName, left: Oid, right: Oid) -> String {
        let right = self.format_type(right, -1);
        match left {
            0 => format!("{name} {right}"),
            left => format!("{} {name} {right}", self.format_type(left, -1)),
        }
    }

    fn find_operator(
        &self,
        name: &ObjectName,
        left: Oid,
        right: Oid,
        location: Location,
    ) -> Result<OperatorRef> {
        self.check_schema(name, location)?;
        let candidates = self.operators(name, left == 0);
        if let Some(exact) = exact_operator(&candidates, left, right) {
            return Ok(exact);
        }
        let prefix = left == 0;
        let inputs: Vec<Oid> = if prefix { vec![right] } else { vec![left, right] };
        let declared = |o: &OperatorRef| if prefix { vec![o.right] } else { vec![o.left, o.right] };
        let types = self.ctx.catalog;
        let matching: Vec<(Vec<Oid>, OperatorRef)> = candidates
            .into_iter()
            .map(|o| (declared(&o), o))
            .filter(|(args, _)| can_coerce(types, &inputs, args, CastContext::Implicit))
            .collect();
        let shown = self.applied(name, left, right);
        match select_candidate(types, &inputs, matching) {
            Selection::One(operator) => Ok(operator),
            Selection::Ambiguous => Err(self
                .error(
                    SqlState::AMBIGUOUS_FUNCTION,
                    format!("operator is not unique: {shown}"),
                    location,
                )
                .hint(
                    "Could not choose a best candidate operator. You might need to add explicit \
                     type casts.",
                )),
            Selection::None => {
                let hint = if prefix {
                    "No operator matches the given name and argument type. You might need to add \
                     an explicit type cast."
                } else {
                    "No operator matches the given name and argument types. You might need to add \
                     explicit type casts."
                };
                Err(self
                    .error(
                        SqlState::UNDEFINED_FUNCTION,
                        format!("operator does not exist: {shown}"),
                        location,
                    )
                    .hint(hint))
            }
        }
    }

    /// The operators that a name can mean, prefix operators or others; of those over the same types
    /// the one that comes first in the search path.
    fn operators(&self, name: &ObjectName, is_prefix: bool) -> Vec<OperatorRef> {
        let mut found: Vec<OperatorRef> = Vec::new();
        // Operators that are found in another place than the first.
        let mut elsewhere: Vec<(usize, OperatorRef)> = Vec::new();
        let mut first = None;
        let (schema, path) = (name.schema(), self.ctx.search_path);
        self.ctx.catalog.operators_in(schema, name.name(), path, &mut |place, operator| {
            if (operator.left == 0) != is_prefix {
                return;
            }
            match *first.get_or_insert(place) == place {
                true => found.push(operator),
                false => elsewhere.push((place, operator)),
            }
        });
        elsewhere.sort_by_key(|(place, _)| *place);
        for (place, operator) in elsewhere {
            let takes_the_same =
                |o: &OperatorRef| (o.left, o.right) == (operator.left, operator.right);
            match found.iter().position(takes_the_same) {
                Some(hidden) if first.is_some_and(|first| place < first) => {
                    found[hidden] = operator;
                }
                Some(_) => {}
                None => found.push(operator),
            }
        }
        found
    }

    /// Actual argument and result types of a call (enforce_generic_type_consistency).
    fn actual_types(
        &self,
        inputs: &[Oid],
        declared: &[Oid],
        result: Oid,
    ) -> Result<(Vec<Oid>, Oid)> {
        if !is_polymorphic(result) && !declared.iter().any(|t| is_polymorphic(*t)) {
            return Ok((declared.to_vec(), result));
        }
        let failed = || {
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                "could not determine polymorphic type because input has type unknown",
            )
        };
        let poly =
            coerce::resolve_polymorphic(self.ctx.catalog, inputs, declared).ok_or_else(failed)?;
        // An array-valued pseudo-type column (anyarray in pg_stats) is passed through.
        let args = declared
            .iter()
            .zip(inputs)
            .map(|(d, i)| match poly.actual(*d) {
                Some(oid::ANY) => Ok(*i),
                Some(t) => Ok(t),
                None if *i != oid::UNKNOWN => Ok(*i),
                None => Err(failed()),
            })
            .collect::<Result<_>>()?;
        let result = poly.actual(result).ok_or_else(failed)?;
        Ok((args, result))
    }

    /// A function call by name with bound arguments: resolves, coerces, builds.
    pub(crate) fn function(
        &mut self,
        name: &ObjectName,
        mut args: Vec<Expr>,
        arg_names: &[Option<String>],
        variadic: bool,
        location: Location,
    ) -> Result<(FunctionRef, Vec<Expr>, TypeRef)> {
        // Drivers declare a call's OUT parameters as void: they are not arguments.
        if arg_names.iter().all(Option::is_none) {
            args.retain(|arg| !matches!(arg, Expr::Param { ty, .. } if ty.oid == oid::VOID));
        }
        let called = self.resolve_function(name, &args, arg_names, variadic, location)?;
        let (proc, variadic_from) = (called.proc.clone(), called.variadic_from);
        let (args, declared) = self.complete(called, args)?;
        let inputs: Vec<Oid> = args
            .iter()
            .zip(&declared)
            .map(|(arg, declared)| match is_polymorphic(*declared) {
                true => self.base_of(arg.ty().oid),
                false => arg.ty().oid,
            })
            .collect();
        let (actual, result) = self.actual_types(&inputs, &declared, proc.ret)?;
        let mut coerced = Vec::with_capacity(args.len());
        for (arg, ty) in args.into_iter().zip(&actual) {
            coerced.push(self.coerce_implicit(arg, TypeRef::plain(*ty))?);
        }
        self.check_collation(&proc, &coerced)?;
        if let Some(from) = variadic_from {
            let elements: Vec<Expr> = coerced.split_off(from);
            let element = elements.first().map_or(proc.variadic, |e| e.ty().oid);
            // VARIADIC "any" functions take their arguments as they are.
            if proc.variadic == oid::ANY {
                coerced.extend(elements);
            } else {
                let array = self.ctx.catalog.ty(element).map_or(0, |t| t.array);
                let ty = TypeRef::plain(array);
                coerced.push(Expr::Array { elements, element, multidim: false, ty });
            }
        }
        Ok((proc, coerced, TypeRef::plain(result)))
    }

    /// The arguments in the order of the parameters, with defaults where the call has none, and the
    /// declared types.
    fn complete(&mut self, called: Candidate, args: Vec<Expr>) -> Result<(Vec<Expr>, Vec<Oid>)> {
        let Candidate { proc, args: types, numbers, variadic_from, .. } = called;
        self.left_out = 0;
        if variadic_from.is_some() {
            return Ok((args, types));
        }
        let mut placed: Vec<Option<Expr>> = vec![None; proc.args.len()];
        for (i, arg) in args.into_iter().enumerate() {
            let at = numbers.as_ref().map_or(i, |numbers| numbers[i]);
            placed[at] = Some(arg);
        }
        let mut complete = Vec::with_capacity(placed.len());
        for (number, arg) in placed.into_iter().enumerate() {
            complete.push(match (arg, proc.default_of(number + 1)) {
                (Some(arg), _) => arg,
                (None, Some(text)) => {
                    self.left_out |= 1 << number;
                    self.default_argument(text)?
                }
                (None, None) => return Err(Error::internal("an argument has no default")),
            });
        }
        Ok((complete, proc.args.to_vec()))
    }

    /// A default, which is stored with qualified names.
    fn default_argument(&self, text: &str) -> Result<Expr> {
        let io = IoContext::default();
        let ctx = BindContext {
            catalog: self.ctx.catalog,
            search_path: &[PG_CATALOG],
            io: &io,
            source: text,
        };
        super::bind_table_expr(
            &ctx,
            None,
            &super::parse_expression(text)?,
            ExprPlace::FunctionDefault,
        )
    }

    fn resolve_function(
        &self,
        name: &ObjectName,
        args: &[Expr],
        arg_names: &[Option<String>],
        variadic: bool,
        location: Location,
    ) -> Result<Candidate> {
        self.check_schema(name, location)?;
        let call = Call { given: args.len(), names: arg_names, variadic };
        let mut candidates: Vec<Candidate> = Vec::new();
        self.each_function(name, &mut |place, function| {
            candidates.extend(call.candidate(function, place));
        });
        settle_equal(&mut candidates);
        let inputs: Vec<Oid> = args.iter().map(|e| e.ty().oid).collect();
        let types = self.ctx.catalog;
        let chosen = match candidates.iter().position(|c| c.args == inputs) {
            Some(exact) => Selection::One(candidates.swap_remove(exact)),
            None => {
                let inputs: Vec<Oid> = inputs.iter().map(|ty| self.base_of(*ty)).collect();
                let fitting = candidates
                    .into_iter()
                    .filter(|c| can_coerce(types, &inputs, &c.args, CastContext::Implicit))
                    .map(|c| (c.args.clone(), c));
                select_candidate(types, &inputs, fitting.collect())
            }
        };
        let signature = || format!("{name}({})", self.named_signature(&inputs, arg_names));
        let kind = if self.calls_procedure { "procedure" } else { "function" };
        match chosen {
            Selection::One(candidate) if !candidate.is_ambiguous => Ok(candidate),
            Selection::One(_) | Selection::Ambiguous => Err(self
                .error(
                    SqlState::AMBIGUOUS_FUNCTION,
                    format!("{kind} {} is not unique", signature()),
                    location,
                )
                .hint(format!(
                    "Could not choose a best candidate {kind}. You might need to add explicit \
                     type casts."
                ))),
            Selection::None => Err(self
                .error(
                    SqlState::UNDEFINED_FUNCTION,
                    format!("{kind} {} does not exist", signature()),
                    location,
                )
                .hint(format!(
                    "No {kind} matches the given name and argument types. You might need to add \
                     explicit type casts."
                ))),
        }
    }

    /// Calls `f` with each function that a name can mean, and with its place in the search path.
    pub(super) fn each_function(&self, name: &ObjectName, f: &mut dyn FnMut(usize, FunctionRef)) {
        self.looked_up.borrow_mut().push(steppe_catalog::function_name(name.name()));
        let mut f = |place, function| f(place, self.as_called(function));
        self.ctx.catalog.functions_in(name.schema(), name.name(), self.ctx.search_path, &mut f);
    }

    /// A function with the arguments that a call gives it.
    fn as_called(&self, function: FunctionRef) -> FunctionRef {
        match self.calls_procedure {
            true => super::call::with_all_arguments(function),
            false => function,
        }
    }

    /// Whether one of the functions that a name can mean is so.
    pub(super) fn is_any_function(
        &self,
        name: &ObjectName,
        is_so: impl Fn(&Function) -> bool,
    ) -> bool {
        let mut is_any = false;
        self.each_function(name, &mut |_, function| is_any = is_any || is_so(&function));
        is_any
    }

    /// 3F000 for a qualified function's or operator's schema that is not there.
    fn check_schema(&self, name: &ObjectName, location: Location) -> Result<()> {
        match name.schema() {
            Some(schema) if self.ctx.catalog.schema_in(schema, self.ctx.search_path).is_none() => {
                Err(self.error(
                    SqlState::INVALID_SCHEMA_NAME,
                    format!("schema \"{schema}\" does not exist"),
                    location,
                ))
            }
            _ => Ok(()),
        }
    }

    /// A signature for messages, with the names of arguments that have them.
    pub(super) fn named_signature(&self, types: &[Oid], names: &[Option<String>]) -> String {
        if names.iter().all(Option::is_none) {
            return self.format_signature(types);
        }
        let named = |(i, ty): (usize, &Oid)| match names.get(i).and_then(Option::as_ref) {
            Some(name) => format!("{name} => {}", self.format_type(*ty, -1)),
            None => self.format_type(*ty, -1),
        };
        types.iter().enumerate().map(named).collect::<Vec<_>>().join(", ")
    }

    /// `type(x)` and `typename 'literal'` written as a function: a cast if the name is a type.
    pub(crate) fn function_as_cast(
        &mut self,
        name: &ObjectName,
        args: &[Expr],
        location: Location,
    ) -> Result<Option<Expr>> {
        let ([arg], None | Some("pg_catalog")) = (args, name.schema()) else { return Ok(None) };
        if let (Some(_), Some(Spelled::Cast(cast))) = (name.schema(), spelled(name.name())) {
            return self.spelled_cast(cast, arg.clone()).map(Some);
        }
        let named = builtin::type_named(name.name());
        let Some(ty) = named.filter(|ty| ty.kind != b'c') else { return Ok(None) };
        let from = arg.ty().oid;
        let castable = from == oid::UNKNOWN
            || match coerce::pathway(self.ctx.catalog, from, ty.oid, CastContext::Explicit) {
                Some(coerce::Pathway::Relabel) => true,
                Some(coerce::Pathway::Io) => ty.category == b'S' || category(from) == b'S',
                _ => false,
            };
        if !castable {
            return Ok(None);
        }
        self.coerce_explicit(arg.clone(), TypeRef::plain(ty.oid), location).map(Some)
    }
}

/// An exact operator, taking an unknown operand as of the other's type (binary_oper_exact).
fn exact_operator(candidates: &[OperatorRef], left: Oid, right: Oid) -> Option<OperatorRef> {
    let (left, right) = match (left, right) {
        (oid::UNKNOWN, r) if r != 0 && r != oid::UNKNOWN => (r, r),
        (l, oid::UNKNOWN) if l != 0 && l != oid::UNKNOWN => (l, l),
        pair => pair,
    };
    candidates.iter().find(|o| o.left == left && o.right == right).cloned()
}

/// The name of an output column without an alias (FigureColname).
pub fn figure_column_name(expr: &ast::Expr) -> String {
    figure(expr).0.unwrap_or_else(|| "?column?".into())
}

/// The name and its strength: 2 strong, 1 weak (a type name), 0 none.
fn figure(expr: &ast::Expr) -> (Option<String>, u8) {
    use ast::{ExprKind, Indirection, SqlValueFunction as F, SubLinkKind};
    match &expr.kind {
        ExprKind::ColumnRef(c) if !c.parts.is_empty() => (c.parts.last().cloned(), 2),
        ExprKind::Indirection { arg, path } => {
            let field = path.iter().rev().find_map(|p| match p {
                Indirection::Field(name) => Some(name.clone()),
                _ => None,
            });
            match field {
                Some(name) => (Some(name), 2),
                None => figure(arg),
            }
        }
        ExprKind::FuncCall(call) => (Some(call.name.name().to_string()), 2),
        ExprKind::NullIf { .. } => (Some("nullif".into()), 2),
        ExprKind::Collate { arg, .. } => figure(arg),
        ExprKind::Cast { arg, type_name } => match figure(arg) {
            (Some(name), strength) if strength > 1 => (Some(name), strength),
            _ => (Some(type_name.name.name().to_string()), 1),
        },
        ExprKind::Case { default, .. } => match default.as_deref().map(figure) {
            Some((Some(name), strength)) if strength > 1 => (Some(name), strength),
            _ => (Some("case".into()), 1),
        },
        ExprKind::Array(_) => (Some("array".into()), 2),
        ExprKind::Row { .. } => (Some("row".into()), 2),
        ExprKind::Coalesce(_) => (Some("coalesce".into()), 2),
        ExprKind::Greatest(_) => (Some("greatest".into()), 2),
        ExprKind::Least(_) => (Some("least".into()), 2),
        ExprKind::Grouping(_) => (Some("grouping".into()), 2),
        ExprKind::SubLink(link) => match link.kind {
            SubLinkKind::Exists => (Some("exists".into()), 2),
            SubLinkKind::Array => (Some("array".into()), 2),
            SubLinkKind::Expr => match &link.query.body {
                ast::SelectBody::Select(core) => match core.targets.first() {
                    Some(t) if t.name.is_some() => (t.name.clone(), 2),
                    Some(t) => figure(&t.value),
                    None => (None, 0),
                },
                ast::SelectBody::Values(_) => (Some("column1".into()), 2),
                ast::SelectBody::SetOp(_) => (None, 0),
            },
            _ => (None, 0),
        },
        ExprKind::SqlValueFunction { function, .. } => {
            let name = match function {
                F::CurrentDate => "current_date",
                F::CurrentTime => "current_time",
                F::CurrentTimestamp => "current_timestamp",
                F::LocalTime => "localtime",
                F::LocalTimestamp => "localtimestamp",
                F::CurrentRole => "current_role",
                F::CurrentUser => "current_user",
                F::User => "user",
                F::SessionUser => "session_user",
                F::CurrentCatalog => "current_catalog",
                F::CurrentSchema => "current_schema",
            };
            (Some(name.into()), 2)
        }
        _ => (None, 0),
    }
}

impl Binder<'_> {
    /// An error for a function called where sets or aggregates do not belong.
    pub(crate) fn misplaced(&self, what: &str, place: ExprPlace, location: Location) -> Error {
        let sqlstate = match what {
            "aggregate functions" => SqlState::GROUPING_ERROR,
            "window functions" => SqlState::WINDOWING_ERROR,
            _ => SqlState::FEATURE_NOT_SUPPORTED,
        };
        use ExprPlace::{WindowGroups, WindowOrder, WindowPartition, WindowRange, WindowRows};
        let shown = match place {
            WindowPartition | WindowOrder | WindowRows | WindowRange | WindowGroups
                if what == "window functions" =>
            {
                "window definitions"
            }
            place => place.phrase(),
        };
        self.error(sqlstate, format!("{what} are not allowed in {shown}"), location)
    }
}
