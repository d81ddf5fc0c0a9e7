//! Type names: from the parser's to OIDs, and back to SQL names.

use super::{BindContext, Binder};
use crate::ast::{self, ExprKind, Literal, TypeName};
use crate::expr::TypeRef;
use steppe_catalog::builtin::Type;
use steppe_catalog::type_spelling::{Spelled, is_spelled, spelled, spelling};
use steppe_catalog::{Catalog, PG_CATALOG, builtin};
use steppe_types::error::Severity;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// Offset that varchar, bpchar and numeric modifiers carry (VARHDRSZ).
const VARHDRSZ: i32 = 4;
/// The types of bit strings, which have no values here.
const BIT: Oid = 1560;
const VARBIT: Oid = 1562;
/// Digits of a second that types of dates and times have (MAX_TIMESTAMP_PRECISION).
const PRECISION_MAX: i32 = 6;
/// numeric's greatest precision.
const NUMERIC_MAX_PRECISION: i32 = 1000;
/// interval's "all fields" range and "full precision" (src/include/utils/timestamp.h).
const INTERVAL_FULL_RANGE: i32 = 0x7FFF;
const INTERVAL_FULL_PRECISION: i32 = 0xFFFF;

/// The catalog and the search path for names of types.
#[derive(Clone, Copy)]
pub struct TypeNames<'a> {
    /// The relations whose row types there are.
    pub catalog: &'a Catalog,
    /// Schemas searched for unqualified names, in order (pg_catalog included).
    pub path: &'a [Oid],
}

impl<'a> BindContext<'a> {
    /// The types of the catalog, by its search path.
    pub fn types(&self) -> TypeNames<'a> {
        TypeNames { catalog: self.catalog, path: self.search_path }
    }
}

impl Binder<'_> {
    /// Resolves a type name with its modifier.
    pub(crate) fn type_name(&mut self, name: &TypeName) -> Result<TypeRef> {
        let resolved = self.ctx.types().resolve(name);
        let resolved = resolved.map_err(|error| error.at(self.position(name.location)))?;
        match self.ctx.catalog.ty(resolved.oid) {
            // Their values are held as those of the types that they are over.
            Some(ty) if ty.kind == b'd' && !oid::is_domain(ty.oid) => {
                Err(self.unsupported("domains", name.location))
            }
            _ => Ok(resolved),
        }
    }

    /// The SQL name of a type, for messages.
    pub(crate) fn format_type(&self, type_oid: Oid, typmod: i32) -> String {
        self.ctx.types().format(type_oid, typmod)
    }

    /// The names of types, separated by commas: a signature for messages.
    pub(crate) fn format_signature(&self, types: &[Oid]) -> String {
        types.iter().map(|t| self.format_type(*t, -1)).collect::<Vec<_>>().join(", ")
    }
}

impl TypeNames<'_> {
    /// Resolves a type name with its modifier. The error is 42704 for an unknown type, and 3F000
    /// for an unknown schema.
    pub fn resolve(&self, name: &TypeName) -> Result<TypeRef> {
        if name.percent_type {
            return Err(Error::not_supported("%TYPE references"));
        }
        let undefined = |brackets: &str| {
            let message = format!("type \"{}{brackets}\" does not exist", name.name);
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        let brackets = if name.array_bounds.is_empty() { "" } else { "[]" };
        let ty = self.find(name)?.ok_or_else(|| undefined(brackets))?;
        let typmod = type_modifier(ty.oid, &name.typmods, || self.format(ty.oid, -1))?;
        match (name.array_bounds.is_empty(), ty.array) {
            (true, _) => Ok(TypeRef { oid: ty.oid, typmod }),
            (false, 0) => Err(undefined("[]")),
            (false, array) => Ok(TypeRef { oid: array, typmod }),
        }
    }

    /// The type that a name means, without its brackets.
    fn find(&self, name: &TypeName) -> Result<Option<Type>> {
        Ok(match name.name.parts() {
            [schema, ty] if schema == "pg_catalog" && ty.starts_with('#') => {
                let (Some(Spelled::Type(oid)) | Some(Spelled::Place(oid))) = spelled(ty) else {
                    return Ok(None);
                };
                self.catalog.ty(oid).filter(|ty| self.catalog.has_type(ty.oid))
            }
            [schema, ty] => {
                let schema = self.catalog.schema_in(schema, self.path).ok_or_else(|| {
                    let message = format!("schema \"{schema}\" does not exist");
                    Error::new(SqlState::INVALID_SCHEMA_NAME, message)
                })?;
                self.catalog.type_named(schema.oid, ty)
            }
            [ty] => self.by_path(ty),
            _ => None,
        })
    }

    /// The type that a bare name means.
    fn by_path(&self, name: &str) -> Option<Type> {
        self.path.iter().find_map(|schema| self.catalog.type_named(*schema, name))
    }

    /// Whether a type's bare name finds it (TypeIsVisible).
    pub fn is_visible(&self, type_oid: Oid, name: &str) -> bool {
        self.by_path(name).is_some_and(|found| found.oid == type_oid)
    }

    /// The SQL name of a type, with its modifier unless that is -1 (format_type_be): a row type's
    /// with the schema, where the search path would not find it.
    pub fn format(&self, type_oid: Oid, typmod: i32) -> String {
        let Some(ty) = builtin::ty(type_oid) else { return format_type(type_oid, typmod) };
        let element = if ty.is_true_array() { ty.element } else { type_oid };
        match self.catalog.own_type_name(element) {
            Some(_) => {
                let name = self.catalog.shown_type_name(element, self.path);
                if element == type_oid { name } else { format!("{name}[]") }
            }
            None if !self.catalog.has_type(type_oid) => "???".to_owned(),
            None => format_type(type_oid, typmod),
        }
    }

    /// [`Self::format`], as [`format_type_with_typmod`].
    pub fn format_with_typmod(&self, type_oid: Oid, typmod: i32) -> String {
        match format_type_with_typmod(type_oid, typmod) {
            name if name == format_type(type_oid, typmod) => self.format(type_oid, typmod),
            name => name,
        }
    }
}

/// Resolves the name of a built-in type. The error is 42704 for an unknown one.
pub fn resolve_built_in(name: &TypeName) -> Result<TypeRef> {
    TypeNames { catalog: &Catalog::default(), path: &[PG_CATALOG] }.resolve(name)
}

/// The warning about a precision that is more than a type of dates and times has: it counts as
/// the largest there is.
pub fn reduced_precision(name: &TypeName) -> Option<Error> {
    let ty = match name.name.parts() {
        [ty] => ty,
        [schema, ty] if schema == "pg_catalog" => ty,
        _ => return None,
    };
    let precision = match name.typmods.last().map(|modifier| &modifier.kind) {
        Some(ExprKind::Const(Literal::Integer(precision))) if *precision > PRECISION_MAX => {
            precision
        }
        _ => return None,
    };
    let shown = match ty.as_str() {
        "time" => format!("TIME({precision})"),
        "timetz" => format!("TIME({precision}) WITH TIME ZONE"),
        "timestamp" => format!("TIMESTAMP({precision})"),
        "timestamptz" => format!("TIMESTAMP({precision}) WITH TIME ZONE"),
        "interval" if name.typmods.len() == 2 => format!("INTERVAL({precision})"),
        _ => return None,
    };
    let message = format!("{shown} precision reduced to maximum allowed, {PRECISION_MAX}");
    Some(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).severity(Severity::Warning))
}

/// Packs `(n)` or `(p, s)` as the type's typmodin function does; `shown` is the type's name.
fn type_modifier(ty: Oid, modifiers: &[ast::Expr], shown: impl Fn() -> String) -> Result<i32> {
    if modifiers.is_empty() {
        return Ok(-1);
    }
    let invalid = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let mut values = Vec::with_capacity(modifiers.len());
    for modifier in modifiers {
        match &modifier.kind {
            ExprKind::Const(Literal::Integer(n)) => values.push(*n),
            ExprKind::Const(Literal::String(s)) if s.parse::<i32>().is_ok() => {
                values.push(s.parse().unwrap_or(-1));
            }
            _ => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "type modifiers must be simple constants or identifiers",
                ));
            }
        }
    }
    match (ty, values.as_slice()) {
        (oid::VARCHAR | oid::BPCHAR, [n]) => {
            let shown = if ty == oid::VARCHAR { "varchar" } else { "char" };
            match *n {
                n if n < 1 => Err(invalid(format!("length for type {shown} must be at least 1"))),
                n if n > 10_485_760 => {
                    Err(invalid(format!("length for type {shown} cannot exceed 10485760")))
                }
                n => Ok(n + VARHDRSZ),
            }
        }
        (oid::NUMERIC, [precision, rest @ ..]) if rest.len() <= 1 => {
            let scale = rest.first().copied().unwrap_or(0);
            if !(1..=NUMERIC_MAX_PRECISION).contains(precision) {
                return Err(invalid(format!(
                    "NUMERIC precision {precision} must be between 1 and {NUMERIC_MAX_PRECISION}"
                )));
            }
            if !(-1000..=1000).contains(&scale) {
                return Err(invalid(format!(
                    "NUMERIC scale {scale} must be between -1000 and 1000"
                )));
            }
            Ok(((precision << 16) | (scale & 0x7FF)) + VARHDRSZ)
        }
        (oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ, [precision]) => {
            let (kind, zone) = match ty {
                oid::TIME => ("TIME", ""),
                oid::TIMETZ => ("TIME", " WITH TIME ZONE"),
                oid::TIMESTAMP => ("TIMESTAMP", ""),
                _ => ("TIMESTAMP", " WITH TIME ZONE"),
            };
            if *precision < 0 {
                return Err(invalid(format!(
                    "{kind}({precision}){zone} precision must not be negative"
                )));
            }
            Ok((*precision).min(PRECISION_MAX))
        }
        (oid::INTERVAL, [range]) => {
            let range = if *range == INTERVAL_FULL_RANGE { return Ok(-1) } else { *range };
            Ok((range << 16) | INTERVAL_FULL_PRECISION)
        }
        (oid::INTERVAL, [range, precision]) => {
            if *precision < 0 {
                return Err(invalid(format!(
                    "INTERVAL({precision}) precision must not be negative"
                )));
            }
            Ok((range << 16) | (*precision).min(PRECISION_MAX))
        }
        (oid::NUMERIC, _) => Err(invalid("invalid NUMERIC type modifier".into())),
        (oid::VARCHAR | oid::BPCHAR, _) => Err(invalid("invalid type modifier".into())),
        (BIT | VARBIT, _) => Err(Error::not_supported(format!("type {}", format_type(ty, -1)))),
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("type modifier is not allowed for type \"{}\"", shown()),
        )),
    }
}

/// The SQL name of a type as it is written in a cast, and as pg_catalog.format_type() gives
/// it with a modifier: `character` without a length would be one of length 1.
pub fn format_type_with_typmod(type_oid: Oid, typmod: i32) -> String {
    match type_oid {
        oid::BPCHAR if typmod == -1 => "bpchar".into(),
        _ if typmod == -1 && oid::element_type_of(type_oid) == Some(oid::BPCHAR) => {
            "bpchar[]".into()
        }
        _ => format_type(type_oid, typmod),
    }
}

/// The SQL name of a built-in type, with its modifier unless that is -1; for a type of a user, its
/// name in stored texts. [`TypeNames::format`] has the others.
pub fn format_type(type_oid: Oid, typmod: i32) -> String {
    let Some(ty) = builtin::ty(type_oid) else {
        return if type_oid == 0 { "-".into() } else { "???".into() };
    };
    // The vectors are arrays, but types of their own, with their own names.
    if ty.is_true_array() && oid::vector_element_type(type_oid).is_none() {
        return format!("{}[]", format_type(ty.element, typmod));
    }
    if is_spelled(type_oid) {
        return spelling(type_oid);
    }
    let length = |name: &str| match typmod {
        n if n > VARHDRSZ => format!("{name}({})", n - VARHDRSZ),
        _ => name.to_string(),
    };
    let precision = |name: &str, zone: &str| match typmod {
        n if n >= 0 => format!("{name}({n}){zone}"),
        _ => format!("{name}{zone}"),
    };
    match type_oid {
        oid::BOOL => "boolean".into(),
        oid::INT2 => "smallint".into(),
        oid::INT4 => "integer".into(),
        oid::INT8 => "bigint".into(),
        oid::FLOAT4 => "real".into(),
        oid::FLOAT8 => "double precision".into(),
        oid::CHAR => "\"char\"".into(),
        oid::BPCHAR => length("character"),
        oid::VARCHAR => length("character varying"),
        oid::NUMERIC if typmod >= VARHDRSZ => {
            let packed = typmod - VARHDRSZ;
            let scale = ((packed & 0x7FF) ^ 1024) - 1024;
            format!("numeric({},{scale})", (packed >> 16) & 0xFFFF)
        }
        oid::NUMERIC => "numeric".into(),
        oid::TIME => precision("time", " without time zone"),
        oid::TIMETZ => precision("time", " with time zone"),
        oid::TIMESTAMP => precision("timestamp", " without time zone"),
        oid::TIMESTAMPTZ => precision("timestamp", " with time zone"),
        oid::INTERVAL => format!("interval{}", interval_modifier(typmod)),
        oid::ANY => "\"any\"".into(),
        BIT => "bit".into(),
        VARBIT => "bit varying".into(),
        _ if ty.in_information_schema => format!("information_schema.{}", ty.name),
        _ => ty.name.to_string(),
    }
}

/// ` year to month` and the like (intervaltypmodout).
fn interval_modifier(typmod: i32) -> String {
    if typmod < 0 {
        return String::new();
    }
    let (range, precision) = ((typmod >> 16) & INTERVAL_FULL_RANGE, typmod & 0xFFFF);
    let bit = |n: i32| 1 << n;
    let (month, year, day, hour, minute, second) =
        (bit(1), bit(2), bit(3), bit(10), bit(11), bit(12));
    let fields = match range {
        r if r == year => " year",
        r if r == month => " month",
        r if r == day => " day",
        r if r == hour => " hour",
        r if r == minute => " minute",
        r if r == second => " second",
        r if r == year | month => " year to month",
        r if r == day | hour => " day to hour",
        r if r == day | hour | minute => " day to minute",
        r if r == day | hour | minute | second => " day to second",
        r if r == hour | minute => " hour to minute",
        r if r == hour | minute | second => " hour to second",
        r if r == minute | second => " minute to second",
        _ => "",
    };
    match precision {
        INTERVAL_FULL_PRECISION => fields.to_string(),
        p => format!("{fields}({p})"),
    }
}
