//! Coercions: which type may become which, and how (parse_coerce.c).

use super::{Binder, ExprPlace};
use crate::ast::Location;
use crate::expr::{CallSyntax, Expr, Place, TypeRef};
use steppe_catalog::builtin::{CastContext, CastMethod};
use steppe_catalog::type_spelling::{ShownCast, SpelledCast, spelled_function_name};
use steppe_catalog::{Catalog, Function, FunctionRef, builtin, function_name, is_row_type};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, text_io};

/// The context of a coercion.
pub use steppe_catalog::builtin::CastContext as CoercionContext;

/// The hint of 42804 where a value is assigned.
const REWRITE_OR_CAST: &str = "You will need to rewrite or cast the expression.";

/// The way from one type to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pathway {
    /// Same representation.
    Relabel,
    /// Call this function.
    Function(Oid),
    /// Text output and input.
    Io,
    /// Each element of an array.
    ArrayElements,
}

/// typcategory of a type, `X` for unknown types.
pub(crate) fn category(ty: Oid) -> u8 {
    builtin::ty(ty).map_or(b'X', |t| t.category)
}

/// Whether it is its category's preferred type.
pub(crate) fn is_preferred(ty: Oid) -> bool {
    builtin::ty(ty).is_some_and(|t| t.preferred)
}

/// The element type of a true array, as the vectors are (IsTrueArrayType).
pub(crate) fn element_of(ty: Oid) -> Option<Oid> {
    builtin::ty(ty).filter(|t| t.is_true_array()).map(|t| t.element)
}

/// Whether values of a type are rows.
pub(crate) fn is_row(ty: Oid) -> bool {
    ty == oid::RECORD || is_row_type(ty)
}

/// Whether values of a type are arrays of rows.
pub(crate) fn is_row_array(ty: Oid) -> bool {
    element_of(ty).is_some_and(is_row)
}

/// Polymorphic pseudo-types.
pub(crate) fn is_polymorphic(ty: Oid) -> bool {
    matches!(
        ty,
        oid::ANYELEMENT
            | oid::ANYARRAY
            | oid::ANYNONARRAY
            | oid::ANYENUM
            | oid::ANYRANGE
            | oid::ANYCOMPATIBLE
            | oid::ANYCOMPATIBLEARRAY
            | oid::ANYCOMPATIBLENONARRAY
            | oid::ANYMULTIRANGE
            | oid::ANYCOMPATIBLERANGE
            | oid::ANYCOMPATIBLEMULTIRANGE
    )
}

/// The way from `from` to `to`, if the context allows it (find_coercion_pathway).
pub(crate) fn pathway(
    types: &Catalog,
    from: Oid,
    to: Oid,
    context: CastContext,
) -> Option<Pathway> {
    if from == to {
        return Some(Pathway::Relabel);
    }
    let [from, to] = [from, to].map(|ty| types.base_type(ty).oid);
    if from == to {
        return Some(Pathway::Relabel);
    }
    if let Some(cast) = types.cast(from, to) {
        return (context >= cast.context).then_some(match cast.method {
            CastMethod::Function(func) => Pathway::Function(func),
            CastMethod::InOut => Pathway::Io,
            CastMethod::Binary => Pathway::Relabel,
        });
    }
    // The vector types have elements too, but no array becomes one.
    let to_vector = oid::vector_element_type(to).is_some();
    if let (Some(from_element), Some(to_element), false) =
        (element_of(from), element_of(to), to_vector)
    {
        let is_checked = oid::is_domain(to_element) && from_element != to_element;
        return pathway(types, from_element, to_element, context).map(|p| match p {
            Pathway::Relabel if !is_checked => Pathway::Relabel,
            _ => Pathway::ArrayElements,
        });
    }
    // Text conversion: to a string type in assignments, from one only when written.
    if context >= CastContext::Assignment && category(to) == b'S' {
        return Some(Pathway::Io);
    }
    if context >= CastContext::Explicit && category(from) == b'S' {
        return Some(Pathway::Io);
    }
    None
}

/// Whether each input type can become its target (can_coerce_type).
pub(crate) fn can_coerce(
    types: &Catalog,
    inputs: &[Oid],
    targets: &[Oid],
    context: CastContext,
) -> bool {
    let mut polymorphic = false;
    for (&input, &target) in inputs.iter().zip(targets) {
        if input == target || target == oid::ANY {
            continue;
        }
        if is_polymorphic(target) {
            polymorphic = true;
            continue;
        }
        if input == oid::UNKNOWN || pathway(types, input, target, context).is_some() {
            continue;
        }
        // Any row is a record, which may turn out to have the columns of another.
        if is_row(input) && is_row(target) && (input == oid::RECORD || target == oid::RECORD)
            || target == oid::RECORD_ARRAY && is_row_array(input)
        {
            continue;
        }
        return false;
    }
    !polymorphic || resolve_polymorphic(types, inputs, targets).is_some()
}

/// Arguments of a cast function: value, and if it takes them typmod and "is explicit".
fn cast_args(func: &Function, expr: Expr, typmod: i32, syntax: &CallSyntax) -> Vec<Expr> {
    let mut args = vec![expr];
    if func.args.len() >= 2 {
        args.push(Expr::Const(Datum::Int4(typmod), TypeRef::plain(oid::INT4)));
    }
    if func.args.len() >= 3 {
        args.push(Expr::boolean(*syntax != CallSyntax::ImplicitCast));
    }
    args
}

/// The types that the polymorphic pseudo-types of a signature stand for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Polymorphic {
    element: Option<Oid>,
    /// The type of `anyarray`, if an argument is one: a vector stays one.
    array: Option<Oid>,
    compatible: Option<Oid>,
    /// The family of anyrange and anymultirange, and of their compatible forms.
    range: Option<RangeFamily>,
    compatible_range: Option<RangeFamily>,
}

/// A range type, the multirange type over it and its subtype (pg_range).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RangeFamily {
    range: Oid,
    multirange: Oid,
    subtype: Oid,
}

const RANGE_FAMILIES: [RangeFamily; 6] = [
    RangeFamily { range: 3904, multirange: 4451, subtype: oid::INT4 },
    RangeFamily { range: 3906, multirange: 4532, subtype: oid::NUMERIC },
    RangeFamily { range: 3908, multirange: 4533, subtype: oid::TIMESTAMP },
    RangeFamily { range: 3910, multirange: 4534, subtype: oid::TIMESTAMPTZ },
    RangeFamily { range: 3912, multirange: 4535, subtype: oid::DATE },
    RangeFamily { range: 3926, multirange: 4536, subtype: oid::INT8 },
];

/// The family of a range type, or of a multirange type, as the pseudo-type wants it.
fn range_family(ty: Oid, pseudo: Oid) -> Option<RangeFamily> {
    let wants_range = matches!(pseudo, oid::ANYRANGE | oid::ANYCOMPATIBLERANGE);
    let is_it = |f: &&RangeFamily| ty == if wants_range { f.range } else { f.multirange };
    RANGE_FAMILIES.iter().find(is_it).copied()
}

impl Polymorphic {
    /// The actual type in place of a pseudo-type.
    pub(crate) fn actual(&self, ty: Oid) -> Option<Oid> {
        let array = |e: Oid| builtin::ty(e).map(|t| t.array).filter(|a| *a != 0);
        match ty {
            oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYENUM => self.element,
            oid::ANYARRAY => self.array.or_else(|| self.element.and_then(array)),
            oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY => self.compatible,
            oid::ANYCOMPATIBLEARRAY => self.compatible.and_then(array),
            oid::ANYRANGE => self.range.map(|f| f.range),
            oid::ANYMULTIRANGE => self.range.map(|f| f.multirange),
            oid::ANYCOMPATIBLERANGE => self.compatible_range.map(|f| f.range),
            oid::ANYCOMPATIBLEMULTIRANGE => self.compatible_range.map(|f| f.multirange),
            _ => Some(ty),
        }
    }
}

/// Finds the actual types behind a signature's pseudo-types (check_generic_type_consistency).
pub(crate) fn resolve_polymorphic(
    catalog: &Catalog,
    inputs: &[Oid],
    declared: &[Oid],
) -> Option<Polymorphic> {
    let mut element: Option<Oid> = None;
    let mut array: Option<Oid> = None;
    let (mut range, mut compatible_range) = (None, None);
    let mut compatible: Vec<Oid> = Vec::new();
    for (&input, &target) in inputs.iter().zip(declared) {
        let unknown = input == oid::UNKNOWN;
        match target {
            oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYENUM | oid::ANYARRAY => {
                if unknown {
                    continue;
                }
                // An array and a vector of one element type are two types.
                if target == oid::ANYARRAY && *array.get_or_insert(input) != input {
                    return None;
                }
                let input =
                    if target == oid::ANYARRAY { catalog.base_type(input).oid } else { input };
                let this = if target == oid::ANYARRAY {
                    // A bare anyarray column (pg_stats) stays as it is.
                    if input == oid::ANYARRAY { oid::ANYELEMENT } else { element_of(input)? }
                } else {
                    input
                };
                if target == oid::ANYNONARRAY && element_of(input).is_some() {
                    return None;
                }
                if target == oid::ANYENUM && catalog.type_category(input) != b'E' {
                    return None;
                }
                match element {
                    None => element = Some(this),
                    Some(e) if e == this => {}
                    Some(_) => return None,
                }
            }
            oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY => compatible.push(input),
            oid::ANYCOMPATIBLEARRAY if unknown => compatible.push(input),
            oid::ANYCOMPATIBLEARRAY => compatible.push(element_of(input)?),
            oid::ANYRANGE | oid::ANYMULTIRANGE if !unknown => {
                let family = range_family(input, target)?;
                let same_family = *range.get_or_insert(family) == family;
                if !same_family || *element.get_or_insert(family.subtype) != family.subtype {
                    return None;
                }
            }
            oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE if !unknown => {
                let family = range_family(input, target)?;
                if *compatible_range.get_or_insert(family) != family {
                    return None;
                }
                compatible.push(family.subtype);
            }
            _ => {}
        }
    }
    let compatible =
        if compatible.is_empty() { None } else { Some(compatible_type(catalog, &compatible)?) };
    // Values beside a range are of its subtype.
    if let Some(family) = compatible_range
        && compatible.is_some_and(|common| common != family.subtype)
    {
        return None;
    }
    Some(Polymorphic { element, array, compatible, range, compatible_range })
}

/// The common type of `anycompatible` arguments, which all become it
/// (verify_common_type_from_oids).
fn compatible_type(catalog: &Catalog, types: &[Oid]) -> Option<Oid> {
    let common = common_type(catalog, types)?;
    let fits = |ty: &Oid| can_coerce(catalog, &[*ty], &[common], CastContext::Implicit);
    types.iter().all(fits).then_some(common)
}

/// The common type of UNION, CASE, ARRAY, VALUES … branches (select_common_type).
/// `None`: they cannot be matched.
pub(crate) fn common_type(catalog: &Catalog, types: &[Oid]) -> Option<Oid> {
    match_types(catalog, types).ok()
}

/// The common type, or the type chosen so far and the first type that has no common type with it.
fn match_types(catalog: &Catalog, types: &[Oid]) -> Result<Oid, (Oid, usize)> {
    let mut chosen = types.first().copied().unwrap_or(oid::UNKNOWN);
    if chosen != oid::UNKNOWN && types.iter().all(|t| *t == chosen) {
        return Ok(chosen);
    }
    let base = |ty: &Oid| catalog.base_type(*ty).oid;
    let types: Vec<Oid> = types.iter().map(base).collect();
    chosen = base(&chosen);
    for (i, &next) in types.iter().enumerate().skip(1) {
        if next == oid::UNKNOWN || next == chosen {
            continue;
        }
        if chosen == oid::UNKNOWN {
            chosen = next;
        } else if category(next) != category(chosen) {
            return Err((chosen, i));
        } else if !is_preferred(chosen)
            && can_coerce(catalog, &[chosen], &[next], CastContext::Implicit)
            && !can_coerce(catalog, &[next], &[chosen], CastContext::Implicit)
        {
            chosen = next;
        }
    }
    Ok(if chosen == oid::UNKNOWN { oid::TEXT } else { chosen })
}

impl Binder<'_> {
    /// Coerces where the query has no cast. The caller has checked that a cast exists.
    pub(crate) fn coerce_implicit(&mut self, expr: Expr, to: TypeRef) -> Result<Expr> {
        self.coerce(expr, to, CastContext::Implicit, CallSyntax::ImplicitCast)?.ok_or_else(|| {
            Error::internal(format!("no implicit cast to {}", self.format_type(to.oid, -1)))
        })
    }

    /// `expr::type` as written by the user: 42846 if there is no such cast.
    pub(crate) fn coerce_explicit(
        &mut self,
        expr: Expr,
        to: TypeRef,
        location: Location,
    ) -> Result<Expr> {
        let from = expr.ty().oid;
        let cast = self.coerce(expr, to, CastContext::Explicit, CallSyntax::ExplicitCast);
        // The column of a row that cannot be cast is known further down.
        let at = |error: Error| match error.sqlstate() {
            SqlState::CANNOT_COERCE => error.at(self.position(location)),
            _ => error,
        };
        cast.map_err(at)?.ok_or_else(|| {
            let (from, to) = (self.format_type(from, -1), self.format_type(to.oid, -1));
            self.error(
                SqlState::CANNOT_COERCE,
                format!("cannot cast type {from} to {to}"),
                location,
            )
        })
    }

    /// Assignment to a column: 42804 naming it if the types do not fit.
    pub(crate) fn coerce_assignment(
        &mut self,
        expr: Expr,
        to: TypeRef,
        column: &str,
        location: Location,
        place: ExprPlace,
    ) -> Result<Expr> {
        let what = match place {
            ExprPlace::ColumnDefault | ExprPlace::GeneratedColumn => "default expression",
            _ => "expression",
        };
        self.coerce_or_mismatch(expr, to, location, Some(REWRITE_OR_CAST), |from, to| {
            format!("column \"{column}\" is of type {to} but {what} is of type {from}")
        })
    }

    /// Coerces the value assigned to an element or a slice of a column.
    pub(crate) fn coerce_element_assignment(
        &mut self,
        expr: Expr,
        to: TypeRef,
        column: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_or_mismatch(expr, to, location, Some(REWRITE_OR_CAST), |from, to| {
            format!(
                "subscripted assignment to \"{column}\" requires type {to} but expression is of \
                 type {from}"
            )
        })
    }

    /// Coerces the value assigned to a field of a column's row.
    pub(crate) fn coerce_field_assignment(
        &mut self,
        expr: Expr,
        to: TypeRef,
        column: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_or_mismatch(expr, to, location, Some(REWRITE_OR_CAST), |from, to| {
            format!("subfield \"{column}\" is of type {to} but expression is of type {from}")
        })
    }

    /// The `number`th parameter of EXECUTE.
    pub(crate) fn coerce_parameter(
        &mut self,
        expr: Expr,
        number: usize,
        to: TypeRef,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_or_mismatch(expr, to, location, Some(REWRITE_OR_CAST), |from, to| {
            format!(
                "parameter ${number} of type {from} cannot be coerced to the expected type {to}"
            )
        })
    }

    /// A condition: 42804 `argument of WHERE must be type boolean, not type …`.
    pub(crate) fn coerce_boolean(
        &mut self,
        expr: Expr,
        construct: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_argument(expr, TypeRef::plain(oid::BOOL), construct, location)
    }

    /// LIMIT and OFFSET.
    pub(crate) fn coerce_bigint(
        &mut self,
        expr: Expr,
        construct: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_argument(expr, TypeRef::plain(oid::INT8), construct, location)
    }

    /// The argument of a construct that wants one type: 42804 naming both.
    pub(super) fn coerce_argument(
        &mut self,
        expr: Expr,
        to: TypeRef,
        construct: &str,
        location: Location,
    ) -> Result<Expr> {
        self.coerce_or_mismatch(expr, to, location, None, |from, to| {
            format!("argument of {construct} must be type {to}, not type {from}")
        })
    }

    /// Coerces as an assignment does, or raises 42804 with the `message` for the names of the two
    /// types.
    fn coerce_or_mismatch(
        &mut self,
        expr: Expr,
        to: TypeRef,
        location: Location,
        hint: Option<&str>,
        message: impl FnOnce(&str, &str) -> String,
    ) -> Result<Expr> {
        let from = expr.ty().oid;
        self.coerce(expr, to, CastContext::Assignment, CallSyntax::ImplicitCast)?.ok_or_else(|| {
            let message = message(&self.format_type(from, -1), &self.format_type(to.oid, -1));
            let error = self.error(SqlState::DATATYPE_MISMATCH, message, location);
            match hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        })
    }

    /// Coerces each branch to their common type: 42804 `CASE types integer and text cannot be
    /// matched`.
    pub(crate) fn coerce_common(
        &mut self,
        exprs: &mut [Expr],
        construct: &str,
        locations: &[Location],
    ) -> Result<TypeRef> {
        let types: Vec<Oid> = exprs.iter().map(|e| e.ty().oid).collect();
        let common = match_types(self.ctx.catalog, &types).map_err(|(chosen, other)| {
            let (chosen, type_of_other) =
                (self.format_type(chosen, -1), self.format_type(types[other], -1));
            self.error(
                SqlState::DATATYPE_MISMATCH,
                format!("{construct} types {chosen} and {type_of_other} cannot be matched"),
                locations.get(other).copied().unwrap_or_default(),
            )
        })?;
        let same_typmod = exprs.iter().all(|e| e.ty() == exprs[0].ty());
        let target = if same_typmod && exprs[0].ty().oid == common {
            exprs[0].ty()
        } else {
            TypeRef::plain(common)
        };
        for (i, expr) in exprs.iter_mut().enumerate() {
            let location = locations.get(i).copied().unwrap_or_default();
            let from = expr.ty().oid;
            let taken = std::mem::replace(expr, Expr::Default(target));
            *expr = self
                .coerce(taken, target, CastContext::Implicit, CallSyntax::ImplicitCast)?
                .ok_or_else(|| {
                    self.error(
                        SqlState::CANNOT_COERCE,
                        format!(
                            "{construct} could not convert type {} to {}",
                            self.format_type(from, -1),
                            self.format_type(common, -1)
                        ),
                        location,
                    )
                })?;
        }
        Ok(target)
    }

    /// Coerces if the context allows it: value, then length (coerce_to_target_type).
    pub(crate) fn coerce(
        &mut self,
        expr: Expr,
        to: TypeRef,
        context: CastContext,
        syntax: CallSyntax,
    ) -> Result<Option<Expr>> {
        let from = expr.ty();
        if from == to || from.oid == to.oid && to.typmod < 0 && syntax != CallSyntax::ExplicitCast {
            return Ok(Some(expr));
        }
        if oid::is_domain(to.oid) {
            return match from.oid == to.oid {
                true => Ok(Some(expr)),
                false => self.coerce_to_domain(expr, to.oid, context, syntax),
            };
        }
        if oid::is_domain(from.oid) && to.oid != oid::ANY && !is_polymorphic(to.oid) {
            let value = self.to_base(expr);
            return self.coerce(value, to, context, syntax);
        }
        if from.oid == to.oid && is_row(to.oid) {
            return Ok(Some(expr));
        }
        // A cast to the plain type takes its length or scale from a value's type.
        if from.oid == to.oid && to.typmod < 0 {
            return Ok(Some(Expr::Relabel { arg: Box::new(expr), ty: to, implicit: false }));
        }
        // An array of a domain is read as one of what is below, whose elements are then checked.
        let held = self.ctx.catalog.held_type(to.oid);
        if from.oid == oid::UNKNOWN && held.oid != to.oid {
            let array = TypeRef { oid: held.oid, typmod: held.modifier };
            let read = self.coerce(expr, array, context, CallSyntax::ImplicitCast)?;
            return match read {
                Some(read) => self.coerce(read, to, context, syntax),
                None => Ok(None),
            };
        }
        // A literal takes the type (and its modifier) directly: no run-time cast.
        if from.oid == oid::UNKNOWN {
            match expr {
                Expr::Untyped { value, at } => {
                    return self.literal(value, to, context, syntax, at).map(Some);
                }
                Expr::Const(value, _) => {
                    return self.literal(value, to, context, syntax, Place::NONE).map(Some);
                }
                Expr::Param { index, at, .. } => {
                    let oid = self.type_param(index, to.oid, at)?;
                    let param = Expr::Param { index, ty: TypeRef::plain(oid), at };
                    return self.coerce_length(param, to, context, syntax).map(Some);
                }
                other => {
                    let ty = TypeRef::plain(to.oid);
                    let cast = Expr::CoerceViaIo { arg: Box::new(other), ty, implicit: false };
                    return self.coerce_length(cast, to, context, syntax).map(Some);
                }
            }
        }
        if to.oid == oid::ANY || is_polymorphic(to.oid) {
            return Ok(Some(expr));
        }
        // A record is no text that could be read as something else.
        let path = pathway(self.ctx.catalog, from.oid, to.oid, context);
        let are_rows = is_row(to.oid) && is_row(from.oid);
        if are_rows && path.is_none() || is_row_array(from.oid) && to.oid == oid::RECORD_ARRAY {
            return self.coerce_row(expr, to.oid, context, syntax);
        }
        if from.oid == oid::RECORD && category(to.oid) != b'S' {
            return Ok(None);
        }
        let Some(path) = path else { return Ok(None) };
        let cast = self.apply(path, expr, to, syntax.clone())?;
        let mut sized = self.coerce_length(cast, to, context, syntax)?;
        if from.oid != to.oid && sized.ty().typmod >= 0 {
            hide_input_cast(&mut sized);
        }
        Ok(Some(sized))
    }

    fn apply(
        &mut self,
        path: Pathway,
        expr: Expr,
        to: TypeRef,
        syntax: CallSyntax,
    ) -> Result<Expr> {
        let from = expr.ty();
        let ty = TypeRef::plain(to.oid);
        let implicit = syntax == CallSyntax::ImplicitCast;
        Ok(match path {
            Pathway::Relabel if from.oid == to.oid => expr,
            Pathway::Relabel => Expr::Relabel { arg: Box::new(expr), ty, implicit },
            Pathway::Io => Expr::CoerceViaIo { arg: Box::new(expr), ty, implicit },
            Pathway::Function(func) => {
                let func = self.cast_function(func)?;
                // A function that takes the length or scale applies it (exprIsLengthCoercion).
                let ty = if func.args.len() >= 2 { to } else { ty };
                let args = cast_args(&func, expr, to.typmod, &syntax);
                Expr::Func { func, args, ty, syntax }
            }
            Pathway::ArrayElements => {
                let (Some(from_element), Some(to_element)) =
                    (element_of(from.oid), element_of(to.oid))
                else {
                    return Err(Error::internal("array cast between types that are no arrays"));
                };
                let operand = Expr::CaseOperand(TypeRef::plain(from_element));
                let target = TypeRef { oid: to_element, typmod: to.typmod };
                let element = self
                    .coerce(operand, target, CastContext::Explicit, syntax)?
                    .ok_or_else(|| Error::internal("array cast without an element cast"))?;
                Expr::ArrayCoerce { arg: Box::new(expr), element: Box::new(element), ty, implicit }
            }
        })
    }

    /// A user's cast in a stored text. It is by the same function whether the cast is still there or
    /// not.
    pub(super) fn spelled_cast(&mut self, cast: SpelledCast, arg: Expr) -> Result<Expr> {
        let func = self.cast_function(cast.function)?;
        self.looked_up.borrow_mut().push(function_name(&spelled_function_name(func.oid)));
        let syntax = match cast.shown {
            ShownCast::Explicit => CallSyntax::ExplicitCast,
            ShownCast::Implicit | ShownCast::Hidden => CallSyntax::ImplicitCast,
        };
        let taken = TypeRef::plain(func.args.first().copied().unwrap_or(oid::UNKNOWN));
        let arg = self.coerce_implicit(arg, taken)?;
        let (oid, typmod) = cast.target;
        let args = cast_args(&func, arg, typmod, &syntax);
        Ok(Expr::Func { func, args, ty: TypeRef { oid, typmod }, syntax })
    }

    fn cast_function(&self, func: Oid) -> Result<FunctionRef> {
        let lost = || Error::internal(format!("cast function {func} is lost"));
        self.ctx.catalog.function(func).ok_or_else(lost)
    }

    /// Applies `varchar(n)`, `numeric(p,s)` … (coerce_type_typmod).
    /// A value read from the text of another.
    pub(super) fn coerce_via_io(&mut self, value: Expr, to: TypeRef) -> Result<Expr> {
        let ty = TypeRef::plain(to.oid);
        let cast = Expr::CoerceViaIo { arg: Box::new(value), ty, implicit: true };
        self.coerce_length(cast, to, CastContext::Assignment, CallSyntax::ImplicitCast)
    }

    fn coerce_length(
        &mut self,
        expr: Expr,
        to: TypeRef,
        context: CastContext,
        syntax: CallSyntax,
    ) -> Result<Expr> {
        if to.typmod < 0 || expr.ty() == to {
            return Ok(expr);
        }
        let (base, is_array) = match element_of(to.oid) {
            Some(element) => (element, true),
            None => (to.oid, false),
        };
        let Some(CastMethod::Function(func)) = self.ctx.catalog.cast(base, base).map(|c| c.method)
        else {
            return Ok(expr);
        };
        let explicit = Expr::boolean(context == CastContext::Explicit);
        let implicit = syntax == CallSyntax::ImplicitCast;
        let func = self.cast_function(func)?;
        let arity = func.args.len();
        let call = |value: Expr, ty: TypeRef| {
            let typmod = Expr::Const(Datum::Int4(to.typmod), TypeRef::plain(oid::INT4));
            let mut args = vec![value, typmod];
            args.extend((arity >= 3).then_some(explicit));
            Expr::Func { func, args, ty, syntax }
        };
        if is_array {
            let operand = Expr::CaseOperand(TypeRef::plain(base));
            let element = Box::new(call(operand, TypeRef { oid: base, typmod: to.typmod }));
            return Ok(Expr::ArrayCoerce { arg: Box::new(expr), element, ty: to, implicit });
        }
        Ok(call(expr, to))
    }

    /// An untyped literal read by its target type's input function, at bind time.
    fn literal(
        &mut self,
        value: Datum,
        to: TypeRef,
        context: CastContext,
        syntax: CallSyntax,
        Place(location): Place,
    ) -> Result<Expr> {
        if to.oid == oid::ANY || is_polymorphic(to.oid) {
            return Ok(Expr::Untyped { value, at: Place(location) });
        }
        let text = match &value {
            Datum::Null => return Ok(Expr::Const(Datum::Null, to)),
            other => other.as_text()?,
        };
        let base = element_of(to.oid).unwrap_or(to.oid);
        // Names are looked up, and 'now' is read, when the statement runs: the plan may be kept.
        // What cannot be read at all is refused here, where its place is known.
        if text_io::is_reg_type(base) || reads_clock(base, text) {
            let at = |e: Error| e.at(self.position(location));
            if let Some(object) = self.reg_literal(text, to.oid).map_err(at)? {
                return Ok(object);
            }
            if text_io::is_reg_type(base)
                && base != oid::REGCLASS
                && let Some(object) = self.fixed_object(text, to.oid).map_err(at)?
            {
                return Ok(Expr::Const(object, TypeRef::plain(to.oid)));
            }
            text_io::input(to.oid, to.typmod, text, self.ctx.io).map_err(at)?;
            let plain = Expr::Const(value, TypeRef::plain(oid::UNKNOWN));
            let ty = TypeRef::plain(to.oid);
            let cast = Expr::CoerceViaIo { arg: Box::new(plain), ty, implicit: false };
            return self.coerce_length(cast, to, context, syntax);
        }
        // varchar(n) and bpchar(n) literals are read without length and cut by the cast.
        let read_typmod = if base == oid::INTERVAL { to.typmod } else { -1 };
        let read = text_io::input(to.oid, read_typmod, text, &self.io_for(base))
            .map_err(|e| e.at(self.position(location)))?;
        let constant = Expr::Const(read, TypeRef { oid: to.oid, typmod: read_typmod });
        self.coerce_length(constant, to, context, syntax)
    }

    /// The object of a literal of another reg type, or the objects of a list, for a text that is kept:
    /// names may mean other objects later. Numbers mean the same everywhere.
    fn fixed_object(&self, text: &str, ty: Oid) -> Result<Option<Datum>> {
        let of_numbers = text_io::input(ty, -1, text, &IoContext::default());
        match of_numbers {
            Ok(numbers) => Ok(Some(numbers)),
            Err(_) if self.to_print => text_io::input(ty, -1, text, self.ctx.io).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// `'pg_class'::regclass` becomes a constant at bind time: the plan is tied to this catalog
    /// version anyway.
    fn reg_literal(&self, text: &str, ty: Oid) -> Result<Option<Expr>> {
        if ty != oid::REGCLASS || text.parse::<u32>().is_ok() || text == "-" {
            return Ok(None);
        }
        let name = super::from::parse_qualified_name(text)?;
        match self.lookup_relation_parts(&name)? {
            Some(relation) => Ok(Some(Expr::Const(Datum::Oid(relation.oid), TypeRef::plain(ty)))),
            None => Err(Error::new(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{}\" does not exist", name.join(".")),
            )),
        }
    }
}

/// `'now'`, `'today'` … mean the time of the statement's run, as PostgreSQL's parser reads them
/// at parse time of each run.
fn reads_clock(ty: Oid, text: &str) -> bool {
    if !matches!(ty, oid::DATE | oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    ["now", "today", "tomorrow", "yesterday"].iter().any(|word| lower.contains(word))
}

/// Marks a cast as implicit, so that it is not printed, because it is part of another one.
pub(super) fn hide_cast(cast: &mut Expr) {
    match cast {
        Expr::Func { syntax: syntax @ CallSyntax::ExplicitCast, .. } => {
            *syntax = CallSyntax::ImplicitCast;
        }
        Expr::Relabel { implicit, .. }
        | Expr::CoerceViaIo { implicit, .. }
        | Expr::Domain { implicit, .. }
        | Expr::ArrayCoerce { implicit, .. } => *implicit = true,
        _ => {}
    }
}

/// The cast below one to a length is not written: both stand for one `::type(n)`
/// (hide_coercion_node).
fn hide_input_cast(sized: &mut Expr) {
    let input = match sized {
        Expr::Func { args, .. } => args.first_mut(),
        Expr::ArrayCoerce { arg, .. } => Some(&mut **arg),
        _ => None,
    };
    if let Some(input) = input {
        hide_cast(input);
    }
}
