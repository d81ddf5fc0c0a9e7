//! Binding of expressions (parse_expr.c).

use super::coerce::{element_of, is_row};
use super::group::MOVE_TO_LATERAL;
use super::{Binder, ExprPlace};
use crate::ast::{self, ExprKind, Literal, Location, ObjectName, SqlValueFunction};
use crate::expr::{BoolTest, CallSyntax, Expr, Place, TypeRef};
use std::sync::Arc;
use steppe_catalog::type_spelling::{Spelled, read_places, spelled, with_elements};
use steppe_catalog::{FunctionRef, is_row_type};
use steppe_types::{Datum, Error, Oid, Result, SqlState, interrupt, oid};

/// IS DISTINCT FROM in messages.
const IS_DISTINCT: &str = "IS DISTINCT FROM";

impl Binder<'_> {
    /// Binds an expression. Trees may be thousands of levels deep: the stack grows with them.
    pub(crate) fn expr(&mut self, expr: &ast::Expr, place: ExprPlace) -> Result<Expr> {
        ast::deeper(|| self.expr_node(expr, place))
    }

    fn expr_node(&mut self, expr: &ast::Expr, place: ExprPlace) -> Result<Expr> {
        interrupt::check()?;
        let location = expr.location;
        match &expr.kind {
            ExprKind::ColumnRef(column) => self.column_ref(column, place, location),
            ExprKind::Param(number) => self.param(*number, location),
            ExprKind::Const(literal) => self.constant(literal, location),
            ExprKind::Cast { arg, type_name } => self.cast(arg, type_name, place, location),
            ExprKind::Unary { op, arg } => {
                let bound = self.expr(arg, place)?;
                self.operator(op, None, bound, location)
            }
            ExprKind::Binary { op, left, right } => self.binary(op, left, right, place, location),
            ExprKind::ArrayOp { op, quantifier, left, right } => {
                let all = *quantifier == ast::Quantifier::All;
                let (left, right) = (self.expr(left, place)?, self.expr(right, place)?);
                self.scalar_array(op, all, left, right, location)
            }
            ExprKind::And(args) => self.conditions(args, "AND", place).map(Expr::And),
            ExprKind::Or(args) => self.conditions(args, "OR", place).map(Expr::Or),
            ExprKind::Not(arg) => self.condition(arg, "NOT", place).map(|e| Expr::Not(Box::new(e))),
            ExprKind::NullTest { arg, negated } => {
                let arg = Box::new(self.expr(arg, place)?);
                Ok(Expr::IsNull { arg, negated: *negated })
            }
            ExprKind::BooleanTest { arg, test, negated } => {
                let (test, name) = boolean_test(*test, *negated);
                let bound = self.expr(arg, place)?;
                let arg = Box::new(self.coerce_boolean(bound, name, arg.leftmost())?);
                Ok(Expr::BoolTest { arg, test })
            }
            ExprKind::Distinct { left, right, negated } => {
                self.distinct(left, right, *negated, place, location)
            }
            ExprKind::NullIf { left, right } => {
                let (left, right) = (self.expr(left, place)?, self.expr(right, place)?);
                let (func, mut args) = self.equality_args(left, right, "NULLIF", location)?;
                let right = Box::new(args.pop().ok_or_else(lost_operand)?);
                let left = Box::new(args.pop().ok_or_else(lost_operand)?);
                let ty = left.ty();
                Ok(Expr::NullIf { eq: func, left, right, ty })
            }
            ExprKind::In { arg, list, negated } => {
                self.in_list(arg, list, *negated, place, location)
            }
            ExprKind::Between { arg, low, high, symmetric, negated } => {
                self.between(arg, low, high, *symmetric, *negated, place, location)
            }
            ExprKind::Like { kind, negated, arg, pattern } => {
                let (arg, pattern) = (self.expr(arg, place)?, self.expr(pattern, place)?);
                let op = ObjectName::from(kind.operator(*negated));
                self.operator(&op, Some(arg), pattern, location)
            }
            ExprKind::FuncCall(call) => self.func_call(call, place, location),
            ExprKind::Case { arg, whens, default } => self.without_sets(
                |b| b.case(arg.as_deref(), whens, default.as_deref(), place),
                "set-returning functions are not allowed in CASE",
                Some(MOVE_TO_LATERAL),
            ),
            ExprKind::Coalesce(args) => {
                let (args, ty) = self.without_sets(
                    |b| b.common_args(args, "COALESCE", place),
                    "set-returning functions are not allowed in COALESCE",
                    Some(MOVE_TO_LATERAL),
                )?;
                Ok(Expr::Coalesce { args, ty })
            }
            ExprKind::Greatest(args) => {
                let (args, ty) = self.common_args(args, "GREATEST", place)?;
                Ok(Expr::MinMax { greatest: true, args, ty })
            }
            ExprKind::Least(args) => {
                let (args, ty) = self.common_args(args, "LEAST", place)?;
                Ok(Expr::MinMax { greatest: false, args, ty })
            }
            ExprKind::Array(elements) => self.array(elements, None, place, location),
            ExprKind::Row { fields, .. } => {
                let fields = self.row_fields(fields, place, location)?;
                Ok(Expr::Row(fields, oid::RECORD))
            }
            ExprKind::SubLink(link) => self.sub_link(link, place, location),
            ExprKind::Indirection { arg, path } => self.indirection(arg, path, place, location),
            ExprKind::Collate { arg, collation } => self.collate(arg, collation, place, location),
            ExprKind::SqlValueFunction { function, precision } => {
                self.sql_value(*function, *precision)
            }
            ExprKind::Default => Err(self.error(
                SqlState::SYNTAX_ERROR,
                "DEFAULT is not allowed in this context",
                location,
            )),
            ExprKind::CurrentOf(_) => Err(self.unsupported("WHERE CURRENT OF", location)),
            ExprKind::Grouping(args) => self.grouping_call(args, place, location),
            ExprKind::MergeAction => Err(self.unsupported("merge_action()", location)),
        }
    }

    fn constant(&mut self, literal: &Literal, location: Location) -> Result<Expr> {
        let constant = |value, ty| Expr::Const(value, TypeRef::plain(ty));
        Ok(match literal {
            Literal::Integer(n) => constant(Datum::Int4(*n), oid::INT4),
            Literal::Float(text) => match text.parse::<i64>() {
                // -2147483648 comes as a sign and a number too long for an integer.
                Ok(n) => match i32::try_from(n) {
                    Ok(n) => constant(Datum::Int4(n), oid::INT4),
                    Err(_) => constant(Datum::Int8(n), oid::INT8),
                },
                Err(_) => {
                    let value = steppe_types::text_io::input(oid::NUMERIC, -1, text, self.ctx.io)
                        .map_err(|e| e.at(self.position(location)))?;
                    constant(value, oid::NUMERIC)
                }
            },
            Literal::String(text) => {
                Expr::Untyped { value: Datum::text(text.as_str()), at: Place(location) }
            }
            Literal::BitString(_) => return Err(self.unsupported("bit strings", location)),
            Literal::Boolean(b) => constant(Datum::Bool(*b), oid::BOOL),
            Literal::Null => Expr::Untyped { value: Datum::Null, at: Place(location) },
        })
    }

    fn cast(
        &mut self,
        arg: &ast::Expr,
        type_name: &ast::TypeName,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let to = self.type_name(type_name)?;
        if let Some(value) = self.spelled_place(arg, type_name)? {
            return Ok(value);
        }
        let kept = is_kept_by_relation(place);
        if kept && (is_row_type(to.oid) || element_of(to.oid).is_some_and(is_row_type)) {
            return Err(self.unsupported("row types in expressions of tables", location));
        }
        // ARRAY[…]::type[] gives its elements the type at once, so that ARRAY[]::int[] works.
        if let (ExprKind::Array(elements), Some(element)) = (&arg.kind, element_of(to.oid)) {
            let array = self.array(elements, Some(element), place, arg.location)?;
            return self.coerce_explicit(array, to, location);
        }
        let bound = self.expr(arg, place)?;
        let at = if location.offset().is_some() { location } else { type_name.location };
        self.coerce_explicit(bound, to, at)
    }

    /// A value of an enum in a stored text, by its place in the type's order.
    fn spelled_place(&self, arg: &ast::Expr, ty: &ast::TypeName) -> Result<Option<Expr>> {
        let (ExprKind::Const(Literal::String(place)), [_, name]) = (&arg.kind, ty.name.parts())
        else {
            return Ok(None);
        };
        let Some(Spelled::Place(oid)) = spelled(name) else { return Ok(None) };
        let labels = self.ctx.catalog.enum_labels(oid);
        let is_there = |order: &f64| labels.is_some_and(|labels| labels.at(*order).is_some());
        let lost = || Error::internal(format!("an enum has no label at the place {place}"));
        if ty.array_bounds.is_empty() {
            let order = place.parse().ok().filter(is_there).ok_or_else(lost)?;
            return Ok(Some(Expr::Const(Datum::Enum(oid, order), TypeRef::plain(oid))));
        }
        let value = |order: &Datum| match order {
            Datum::Float8(order) if is_there(order) => Some(Datum::Enum(oid, *order)),
            _ => None,
        };
        let values = read_places(place).and_then(|places| with_elements(&places, oid, value));
        let values = Datum::Array(Arc::new(values.ok_or_else(lost)?));
        let array = self.ctx.catalog.ty(oid).map_or(0, |ty| ty.array);
        Ok(Some(Expr::Const(values, TypeRef::plain(array))))
    }

    /// A boolean operand of AND, OR, NOT, WHERE ….
    pub(crate) fn condition(
        &mut self,
        expr: &ast::Expr,
        construct: &str,
        place: ExprPlace,
    ) -> Result<Expr> {
        let bound = self.expr(expr, place)?;
        self.coerce_boolean(bound, construct, expr.leftmost())
    }

    fn conditions(
        &mut self,
        args: &[ast::Expr],
        construct: &str,
        place: ExprPlace,
    ) -> Result<Vec<Expr>> {
        args.iter().map(|a| self.condition(a, construct, place)).collect()
    }

    fn binary(
        &mut self,
        op: &ObjectName,
        left: &ast::Expr,
        right: &ast::Expr,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        if let ExprKind::Row { fields, .. } = &left.kind {
            match &right.kind {
                ExprKind::Row { fields: others, .. } => {
                    let l = self.row_fields(fields, place, left.location)?;
                    let r = self.row_fields(others, place, right.location)?;
                    return self.row_compare(op, l, r, location);
                }
                ExprKind::SubLink(link) if link.kind == ast::SubLinkKind::Expr => {
                    return self.row_compare_sub_select(op, fields, &link.query, place, location);
                }
                _ => {}
            }
        }
        let (left, right) = (self.expr(left, place)?, self.expr(right, place)?);
        self.operator(op, Some(left), right, location)
    }

    fn distinct(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        // x IS DISTINCT FROM NULL is a null test.
        let is_null = |e: &ast::Expr| matches!(e.kind, ExprKind::Const(Literal::Null));
        if is_null(right) || is_null(left) {
            let tested = if is_null(right) { left } else { right };
            let left = Box::new(self.expr(tested, place)?);
            let ty = left.ty();
            // This is not so for a row: IS NULL checks the columns.
            if !is_row(ty.oid) {
                return Ok(Expr::IsNull { arg: left, negated: !negated });
            }
            let null = || Expr::Const(Datum::Null, ty);
            let (eq, _) = self.equality_args(null(), null(), IS_DISTINCT, location)?;
            return Ok(Expr::Distinct { eq, left, right: Box::new(null()), negated });
        }
        if let (ExprKind::Row { fields: l, .. }, ExprKind::Row { fields: r, .. }) =
            (&left.kind, &right.kind)
        {
            if l.len() != r.len() {
                return Err(self.error(
                    SqlState::SYNTAX_ERROR,
                    "unequal number of entries in row expressions",
                    location,
                ));
            }
            let columns = l
                .iter()
                .zip(r)
                .map(|(a, b)| self.distinct(a, b, negated, place, location))
                .collect::<Result<_>>()?;
            return Ok(if negated { Expr::And(columns) } else { Expr::Or(columns) });
        }
        let (left, right) = (self.expr(left, place)?, self.expr(right, place)?);
        let (eq, mut args) = self.equality_args(left, right, IS_DISTINCT, location)?;
        let right = Box::new(args.pop().ok_or_else(lost_operand)?);
        let left = Box::new(args.pop().ok_or_else(lost_operand)?);
        Ok(Expr::Distinct { eq, left, right, negated })
    }

    /// The equality function of two operands, with them coerced to its argument types.
    fn equality_args(
        &mut self,
        left: Expr,
        right: Expr,
        construct: &str,
        location: Location,
    ) -> Result<(FunctionRef, Vec<Expr>)> {
        match self.operator(&ObjectName::from("="), Some(left), right, location)? {
            Expr::Func { ty, .. } if ty.oid != oid::BOOL => {
                let message = format!("{construct} requires = operator to yield boolean");
                Err(self.error(SqlState::DATATYPE_MISMATCH, message, location))
            }
            Expr::Func { func, args, .. } => Ok((func, args)),
            _ => Err(Error::internal("equality did not bind to a function")),
        }
    }

    /// `left op ANY (array)`.
    fn scalar_array(
        &mut self,
        op: &ObjectName,
        all: bool,
        left: Expr,
        array: Expr,
        location: Location,
    ) -> Result<Expr> {
        let (left, array) = (self.to_base(left), self.to_base(array));
        let array_type = array.ty().oid;
        let element = match array_type {
            oid::UNKNOWN => left.ty().oid,
            ty => match element_of(ty) {
                Some(element) => element,
                None => {
                    return Err(self.error(
                        SqlState::WRONG_OBJECT_TYPE,
                        "op ANY/ALL (array) requires array on right side",
                        location,
                    ));
                }
            },
        };
        let element = self.base_of(element);
        let operator = self.resolve_operator(op, left.ty().oid, element, location)?;
        if operator.result != oid::BOOL {
            return Err(self.error(
                SqlState::WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires operator to yield boolean",
                location,
            ));
        }
        // An anyarray-style operator (array = ANY(array of arrays)) does not occur: no such types.
        let wanted = match operator.right {
            oid::ANYARRAY | oid::ANYELEMENT | oid::ANYENUM => element,
            ty => ty,
        };
        let wanted_array = self.ctx.catalog.ty(wanted).map_or(0, |t| t.array);
        let left_type = match operator.left {
            oid::ANYARRAY | oid::ANYELEMENT | oid::ANYENUM if left.ty().oid == oid::UNKNOWN => {
                TypeRef::plain(element)
            }
            oid::ANYARRAY | oid::ANYELEMENT | oid::ANYENUM => left.ty(),
            ty => TypeRef::plain(ty),
        };
        let left = Box::new(self.coerce_implicit(left, left_type)?);
        let array = match oid::vector_element_type(array_type) {
            Some(e) if e == wanted => Box::new(array),
            _ => Box::new(self.coerce_implicit(array, TypeRef::plain(wanted_array))?),
        };
        self.check_record_columns(&operator, &left, &array)?;
        let func = self.operator_function(&operator)?;
        if func.retset {
            let message = "op ANY/ALL (array) requires operator not to return a set";
            return Err(self.error(SqlState::WRONG_OBJECT_TYPE, message, location));
        }
        let syntax = CallSyntax::Operator(operator);
        Ok(Expr::ScalarArrayOp { func, all, left, array, syntax })
    }

    /// `x [NOT] IN (list)`: one array probe where the types allow, else OR of equalities.
    fn in_list(
        &mut self,
        arg: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let op = ObjectName::from(if negated { "<>" } else { "=" });
        if let ExprKind::Row { fields, .. } = &arg.kind {
            return self.row_in_list(fields, list, negated, place, location);
        }
        let left = self.expr(arg, place)?;
        let items = list.iter().map(|i| self.expr(i, place)).collect::<Result<Vec<_>>>()?;
        // The first type counts more than the others (transformAExprIn).
        let types: Vec<Oid> = std::iter::once(&left).chain(&items).map(|e| e.ty().oid).collect();
        let common = super::coerce::common_type(self.ctx.catalog, &types).filter(|t| {
            items.len() > 1 && !is_row(*t) && self.ctx.catalog.ty(*t).is_some_and(|t| t.array != 0)
        });
        let no_vars = items.iter().all(|e| !has_var(e));
        if let (Some(common), true) = (common, no_vars) {
            let element = TypeRef::plain(common);
            let elements = items
                .into_iter()
                .map(|item| self.coerce_implicit(item, element))
                .collect::<Result<_>>()?;
            let ty = TypeRef::plain(self.ctx.catalog.ty(common).map_or(0, |t| t.array));
            let array = Expr::Array { elements, element: common, multidim: false, ty };
            return self.scalar_array(&op, negated, left, array, location);
        }
        let comparisons = items
            .into_iter()
            .map(|item| {
                let comparison = self.operator(&op, Some(left.clone()), item, location)?;
                self.coerce_boolean(comparison, "IN", location)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(any_or_all(comparisons, negated))
    }

    #[allow(clippy::too_many_arguments)]
    fn between(
        &mut self,
        arg: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        symmetric: bool,
        negated: bool,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let range = |b: &mut Self, low: &ast::Expr, high: &ast::Expr| -> Result<Expr> {
            let (ge, le) = if negated { ("<", ">") } else { (">=", "<=") };
            let word = if negated { "OR" } else { "AND" };
            let lower = b.binary(&ObjectName::from(ge), arg, low, place, location)?;
            let lower = b.coerce_boolean(lower, word, location)?;
            let upper = b.binary(&ObjectName::from(le), arg, high, place, location)?;
            let upper = b.coerce_boolean(upper, word, location)?;
            Ok(any_or_all_pair(lower, upper, negated))
        };
        let forward = range(self, low, high)?;
        if !symmetric {
            return Ok(forward);
        }
        let swapped = range(self, high, low)?;
        Ok(any_or_all_pair(forward, swapped, !negated))
    }

    fn case(
        &mut self,
        arg: Option<&ast::Expr>,
        whens: &[ast::CaseWhen],
        default: Option<&ast::Expr>,
        place: ExprPlace,
    ) -> Result<Expr> {
        let mut operand = match arg {
            Some(arg) => Some(self.expr(arg, place)?),
            None => None,
        };
        if let Some(o) = operand.take() {
            // An untyped operand is text, so that CASE 'a' WHEN 'a' works.
            let text = TypeRef::plain(oid::TEXT);
            operand = Some(match o.ty().oid {
                oid::UNKNOWN => self.coerce_implicit(o, text)?,
                _ => o,
            });
        }
        let mut conditions = Vec::with_capacity(whens.len());
        let mut results = Vec::with_capacity(whens.len() + 1);
        let mut locations = Vec::with_capacity(whens.len() + 1);
        for when in whens {
            conditions.push(match &operand {
                Some(o) => {
                    let value = self.expr(&when.condition, place)?;
                    let left = Expr::CaseOperand(o.ty());
                    let equal = ObjectName::from("=");
                    let condition = self.operator(&equal, Some(left), value, when.location)?;
                    self.coerce_boolean(condition, "CASE/WHEN", when.location)?
                }
                None => self.condition(&when.condition, "CASE/WHEN", place)?,
            });
            results.push(self.expr(&when.result, place)?);
            locations.push(when.result.leftmost());
        }
        // PostgreSQL resolves the ELSE type first.
        let otherwise = match default {
            Some(e) => self.expr(e, place)?,
            None => Expr::Untyped { value: Datum::Null, at: Place::NONE },
        };
        results.insert(0, otherwise);
        locations.insert(0, default.map_or(Location::NONE, ast::Expr::leftmost));
        let ty = self.coerce_common(&mut results, "CASE", &locations)?;
        let otherwise = Box::new(results.remove(0));
        let whens = conditions.into_iter().zip(results).collect();
        Ok(Expr::Case { operand: operand.map(Box::new), whens, otherwise, ty })
    }

    fn common_args(
        &mut self,
        args: &[ast::Expr],
        construct: &str,
        place: ExprPlace,
    ) -> Result<(Vec<Expr>, TypeRef)> {
        let mut bound = args.iter().map(|a| self.expr(a, place)).collect::<Result<Vec<_>>>()?;
        let locations: Vec<Location> = args.iter().map(ast::Expr::leftmost).collect();
        let ty = self.coerce_common(&mut bound, construct, &locations)?;
        Ok((bound, ty))
    }

    /// `ARRAY[…]`, of elements of `wanted` type under a cast to an array.
    fn array(
        &mut self,
        elements: &[ast::Expr],
        wanted: Option<Oid>,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let mut bound = Vec::with_capacity(elements.len());
        let mut multidim = false;
        for element in elements {
            bound.push(match &element.kind {
                ExprKind::Array(inner) => {
                    multidim = true;
                    self.array(inner, wanted, place, element.location)?
                }
                _ => self.expr(element, place)?,
            });
        }
        // What a vector type promises of its values does not fit a dimension of an array.
        let is_array = |e: &Expr| {
            element_of(e.ty().oid).is_some() && oid::vector_element_type(e.ty().oid).is_none()
        };
        multidim |= bound.first().is_some_and(is_array);
        if multidim {
            let locations: Vec<Location> = elements.iter().map(ast::Expr::leftmost).collect();
            let ty = self.coerce_common(&mut bound, "ARRAY", &locations)?;
            let Some(element) = element_of(ty.oid) else {
                return Err(self.error(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    "multidimensional arrays must have array expressions with matching dimensions",
                    location,
                ));
            };
            return Ok(Expr::Array { elements: bound, element, multidim, ty });
        }
        let (element, typmod) = match wanted {
            Some(element) => {
                let to = TypeRef::plain(element);
                for (bound, source) in bound.iter_mut().zip(elements) {
                    let taken = std::mem::replace(bound, Expr::Default(to));
                    *bound = self.coerce_explicit(taken, to, source.leftmost())?;
                }
                (element, -1)
            }
            None if bound.is_empty() => {
                return Err(self
                    .error(
                        SqlState::INDETERMINATE_DATATYPE,
                        "cannot determine type of empty array",
                        location,
                    )
                    .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
            }
            None => {
                let locations: Vec<Location> = elements.iter().map(ast::Expr::leftmost).collect();
                let common = self.coerce_common(&mut bound, "ARRAY", &locations)?;
                (common.oid, common.typmod)
            }
        };
        let array = self.ctx.catalog.ty(element).map_or(0, |t| t.array);
        if array == 0 {
            return Err(self.error(
                SqlState::UNDEFINED_OBJECT,
                format!(
                    "could not find array type for data type {}",
                    self.format_type(element, -1)
                ),
                location,
            ));
        }
        let ty = TypeRef { oid: array, typmod };
        Ok(Expr::Array { elements: bound, element, multidim: false, ty })
    }

    fn collate(
        &mut self,
        arg: &ast::Expr,
        collation: &ObjectName,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let bound = self.expr(arg, place)?;
        let bound = match bound.ty().oid {
            oid::UNKNOWN => self.coerce_implicit(bound, TypeRef::plain(oid::TEXT))?,
            _ => bound,
        };
        let found = super::collation::collation(self.ctx.catalog, collation, bound.ty().oid);
        let collation = found.map_err(|error| error.at(location.position(self.ctx.source)))?;
        self.collates = true;
        Ok(Expr::Collate { arg: Box::new(bound), collation, at: Place(location) })
    }

    fn sql_value(&mut self, function: SqlValueFunction, precision: Option<i32>) -> Result<Expr> {
        use SqlValueFunction as F;
        let call = |b: &mut Self, name: &str| -> Result<Expr> {
            let name = ObjectName(vec!["pg_catalog".into(), name.into()]);
            let (proc, args, ty) = b.function(&name, Vec::new(), &[], false, Location::NONE)?;
            Ok(Expr::Func { func: proc, args, ty, syntax: CallSyntax::Function })
        };
        let (inner, to, shown) = match function {
            F::CurrentDate => ("now", Some(oid::DATE), "CURRENT_DATE"),
            F::CurrentTime => ("now", Some(oid::TIMETZ), "CURRENT_TIME"),
            F::CurrentTimestamp => ("now", Some(oid::TIMESTAMPTZ), "CURRENT_TIMESTAMP"),
            F::LocalTime => ("now", Some(oid::TIME), "LOCALTIME"),
            F::LocalTimestamp => ("now", Some(oid::TIMESTAMP), "LOCALTIMESTAMP"),
            F::CurrentRole => ("current_user", None, "CURRENT_ROLE"),
            F::CurrentUser => ("current_user", None, "CURRENT_USER"),
            F::User => ("current_user", None, "USER"),
            F::SessionUser => ("session_user", None, "SESSION_USER"),
            F::CurrentCatalog => ("current_database", None, "CURRENT_CATALOG"),
            F::CurrentSchema => ("current_schema", None, "CURRENT_SCHEMA"),
        };
        let value = call(self, inner)?;
        let mut value = match to {
            Some(to) => {
                let typmod = precision.map_or(-1, |p| p.clamp(0, 6));
                self.coerce_explicit(value, TypeRef { oid: to, typmod }, Location::NONE)?
            }
            None => value,
        };
        if let Expr::Func { syntax, .. } = &mut value {
            *syntax = CallSyntax::SqlValue(shown);
        }
        Ok(value)
    }
}

pub(super) fn lost_operand() -> Error {
    Error::internal("a bound operator has lost an operand")
}

fn boolean_test(value: ast::TruthValue, negated: bool) -> (BoolTest, &'static str) {
    use ast::TruthValue::*;
    match (value, negated) {
        (True, false) => (BoolTest::True, "IS TRUE"),
        (True, true) => (BoolTest::NotTrue, "IS NOT TRUE"),
        (False, false) => (BoolTest::False, "IS FALSE"),
        (False, true) => (BoolTest::NotFalse, "IS NOT FALSE"),
        (Unknown, false) => (BoolTest::Unknown, "IS UNKNOWN"),
        (Unknown, true) => (BoolTest::NotUnknown, "IS NOT UNKNOWN"),
    }
}

pub(super) fn any_or_all(mut comparisons: Vec<Expr>, all: bool) -> Expr {
    if comparisons.len() == 1 {
        return comparisons.remove(0);
    }
    if all { Expr::And(comparisons) } else { Expr::Or(comparisons) }
}

fn any_or_all_pair(a: Expr, b: Expr, any: bool) -> Expr {
    if any { Expr::Or(vec![a, b]) } else { Expr::And(vec![a, b]) }
}

/// Whether a column occurs.
pub(crate) fn has_var(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { .. }) || expr.any_child(has_var)
}

/// Whether an expression at this place is stored with a relation, to be bound again: names of types
/// that may change are not kept.
pub(super) fn is_kept_by_relation(place: ExprPlace) -> bool {
    use ExprPlace as P;
    matches!(
        place,
        P::Check
            | P::ColumnDefault
            | P::FunctionDefault
            | P::GeneratedColumn
            | P::PartitionKey
            | P::PartitionBound
            | P::IndexExpression
            | P::IndexPredicate
            | P::StatisticsExpression
    )
}
