//! COLLATE: which collation a name means, and which of them are followed (parse_collate.c).
//!
//! Text is compared by its bytes, which is the order of code points. The database's own locale and
//! the collations "C", "POSIX", ucs_basic and pg_c_utf8 sort that way. Other collations are
//! refused.
//!
//! An expression's collation matters to functions that distinguish upper case from lower or classes
//! of characters. The binder derives it from the arguments of each call. It refuses a call with
//! collation "C", "POSIX" or ucs_basic that would give another result for non-ASCII text.

use super::Binder;
use super::typename::format_type;
use crate::ast::{Location, ObjectName};
use crate::expr::Expr;
use crate::query::{Query, Rte, RteKind};
use steppe_catalog::builtin::{self, sorts_by_code_point};
use steppe_catalog::{Catalog, DEFAULT_COLLATION, Function, PG_CATALOG};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// The collation that values of a type have under COLLATE. The error is 42804 where the type has
/// none, 42704 (or 3F000) for an unknown name, and 0A000 for an unsupported collation.
pub fn collation(catalog: &Catalog, name: &ObjectName, type_oid: Oid) -> Result<Oid> {
    if builtin::collation_of(type_oid) == 0 {
        let ty = format_type(type_oid, -1);
        let message = format!("collations are not supported by type {ty}");
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let schema = match name.schema() {
        None => PG_CATALOG,
        Some(schema) => match catalog.schema_named(schema) {
            Some(schema) => schema.oid,
            None => {
                let message = format!("schema \"{schema}\" does not exist");
                return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
            }
        },
    };
    let found = builtin::collation_named(name.name()).filter(|_| schema == PG_CATALOG);
    match found {
        Some(collation) if sorts_by_code_point(collation) => Ok(collation),
        None if !(schema == PG_CATALOG && is_elsewhere(name.name())) => {
            let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
        _ => Err(Error::not_supported(format!("collation \"{}\"", name.name()))),
    }
}

/// Whether PostgreSQL has a collation of this name that is missing here.
fn is_elsewhere(name: &str) -> bool {
    name.ends_with("-x-icu") || name == "pg_unicode_fast"
}

/// The collation of an expression's values, as it is derived from its parts.
#[derive(Clone, Copy)]
enum Derived {
    /// The type has no collation.
    None,
    /// A column's, or the type's default.
    Implicit(Oid),
    /// Columns of different collations meet.
    Conflict,
    /// By COLLATE, there.
    Explicit(Oid, Location),
}

/// The use that a function makes of its collation.
enum Use {
    /// Compares: any collation here gives the same result.
    Compares,
    /// Tells upper case from lower.
    Case,
    /// Matches a regular expression, the second argument.
    Regex,
}

impl Binder<'_> {
    /// Checks the collation that a call's arguments give it. It reports 42P21 where COLLATE
    /// contradicts itself, and 42P22 where columns of different collations meet and one is needed.
    /// It reports 0A000 where non-ASCII text would be treated otherwise than under the database's
    /// own collation.
    ///
    /// PostgreSQL finds 42P22 at the first row.
    pub(crate) fn check_collation(&self, proc: &Function, args: &[Expr]) -> Result<()> {
        let textual = |ty: &Oid| matches!(*ty, oid::TEXT | oid::VARCHAR | oid::BPCHAR);
        let used = proc
            .args
            .first()
            .filter(|ty| textual(ty))
            .and_then(|_| proc.built_in_name().and_then(use_of));
        if used.is_none() && !self.collates {
            return Ok(());
        }
        let levels: Vec<&[Rte]> = self.scopes.iter().map(|scope| &scope.rtes[..]).collect();
        let derived = self.merged(args, &levels)?;
        let Some((used, what)) = used else { return Ok(()) };
        let collation = match derived {
            Derived::None => return Ok(()),
            Derived::Implicit(collation) | Derived::Explicit(collation, _) => collation,
            Derived::Conflict => {
                let message = format!("could not determine which collation to use for {what}");
                return Err(Error::new(SqlState::INDETERMINATE_COLLATION, message)
                    .hint("Use the COLLATE clause to set the collation explicitly."));
            }
        };
        let differs = match used {
            Use::Compares => false,
            Use::Case => true,
            Use::Regex => !is_plain_pattern(&proc.name, &args[1..]),
        };
        if !differs || is_utf8(collation) {
            return Ok(());
        }
        let name = builtin::collation_name(collation).unwrap_or_default();
        Err(Error::not_supported(format!("{what} under the collation \"{name}\"")))
    }

    /// The collation that several expressions have in common.
    fn merged<'e>(
        &self,
        parts: impl IntoIterator<Item = &'e Expr>,
        levels: &[&[Rte]],
    ) -> Result<Derived> {
        let mut merged = Derived::None;
        for part in parts {
            merged = self.merge(merged, self.derived(part, levels)?)?;
        }
        Ok(merged)
    }

    /// The collation that two have in common: 42P21 for two that COLLATE has given.
    fn merge(&self, one: Derived, other: Derived) -> Result<Derived> {
        Ok(match (one, other) {
            (Derived::Explicit(one, _), Derived::Explicit(other, at)) if one != other => {
                return Err(self.mismatch("explicit", one, other, at));
            }
            (known, Derived::None) => known,
            (Derived::None, known) => known,
            (known @ Derived::Explicit(..), _) | (_, known @ Derived::Explicit(..)) => known,
            (Derived::Implicit(one), Derived::Implicit(other)) => match (one, other) {
                _ if one == other => Derived::Implicit(one),
                // What is no default beats the default.
                (DEFAULT_COLLATION, other) => Derived::Implicit(other),
                (one, DEFAULT_COLLATION) => Derived::Implicit(one),
                _ => Derived::Conflict,
            },
            _ => Derived::Conflict,
        })
    }

    /// 42P21: two collations of a kind.
    fn mismatch(&self, kind: &str, one: Oid, other: Oid, at: Location) -> Error {
        let name = |of| builtin::collation_name(of).unwrap_or_default();
        let message = format!(
            "collation mismatch between {kind} collations \"{}\" and \"{}\"",
            name(one),
            name(other)
        );
        self.error(SqlState::COLLATION_MISMATCH, message, at)
    }

    /// Reports 42P21 where the inputs of a set operation have columns of different collations, by
    /// COLLATE or, if it has to distinguish rows, otherwise.
    pub(crate) fn check_set_collations(
        &self,
        left: &Query,
        right: &Query,
        keeps_all: bool,
    ) -> Result<()> {
        if !self.collates && keeps_all {
            return Ok(());
        }
        let targets = right.targets.iter().filter(|target| !target.hidden);
        for (i, target) in targets.enumerate() {
            let (one, other) = (self.of_input(left, i)?, self.of_input(right, i)?);
            let merged = self.merge(one, other)?;
            if let (Derived::Conflict, Derived::Implicit(one), Derived::Implicit(other), false) =
                (merged, one, other, keeps_all)
            {
                return Err(self.mismatch("implicit", one, other, target.at.0).hint(
                    "You can choose the collation by applying the COLLATE clause to one or \
                         both expressions.",
                ));
            }
        }
        Ok(())
    }

    /// The collation of a column of a set operation's input; COLLATE counts as long as that is no
    /// set operation itself.
    fn of_input(&self, query: &Query, column: usize) -> Result<Derived> {
        let derived = self.of_output(query, column)?;
        Ok(if query.set_operation.is_some() { implicit(derived) } else { derived })
    }

    /// The collation of an expression; `levels` are the range tables of the queries around it.
    fn derived(&self, expr: &Expr, levels: &[&[Rte]]) -> Result<Derived> {
        let is_collatable = builtin::collation_of(expr.ty().oid) != 0;
        let derived = match expr {
            Expr::Collate { arg, collation, at } => {
                self.derived(arg, levels)?;
                return Ok(Derived::Explicit(*collation, at.0));
            }
            _ if !is_collatable => return Ok(Derived::None),
            Expr::Var { rte, column, levels_up, .. } => {
                let level = levels.len().checked_sub(levels_up + 1);
                let position = usize::try_from(*column).ok();
                match level.zip(position) {
                    Some((level, position)) => self.of_column(&levels[..=level], *rte, position)?,
                    None => Derived::None,
                }
            }
            Expr::Func { args, .. }
            | Expr::Coalesce { args, .. }
            | Expr::MinMax { args, .. }
            | Expr::Array { elements: args, .. } => self.merged(args, levels)?,
            Expr::NullIf { left, right, .. } => self.merged([&**left, &**right], levels)?,
            Expr::Aggregate(call) => self.merged(&call.args, levels)?,
            Expr::Window(call) => self.merged(&call.args, levels)?,
            Expr::Case { whens, otherwise, .. } => {
                let results = whens.iter().map(|(_, result)| result);
                self.merged(results.chain([&**otherwise]), levels)?
            }
            Expr::Relabel { arg, .. }
            | Expr::CoerceViaIo { arg, .. }
            | Expr::ArrayCoerce { arg, .. }
            | Expr::Subscript { array: arg, .. } => self.derived(arg, levels)?,
            _ => Derived::None,
        };
        Ok(match derived {
            Derived::None => Derived::Implicit(DEFAULT_COLLATION),
            derived => derived,
        })
    }

    /// The collations of a query's columns, 0 for a type that has none.
    pub(crate) fn output_collations(&self, query: &Query) -> Result<Vec<Oid>> {
        let shown = query.output().iter().filter(|target| !target.hidden).enumerate();
        shown
            .map(|(i, target)| {
                let own = builtin::collation_of(target.expr.ty().oid);
                match self.of_output(query, i)? {
                    _ if own == 0 => Ok(0),
                    Derived::None => Ok(own),
                    Derived::Implicit(collation) | Derived::Explicit(collation, _) => Ok(collation),
                    Derived::Conflict => {
                        let message = format!(
                            "could not determine which collation to use for view column \"{}\"",
                            target.name
                        );
                        Err(Error::new(SqlState::INDETERMINATE_COLLATION, message)
                            .hint("Use the COLLATE clause to set the collation explicitly."))
                    }
                }
            })
            .collect()
    }

    /// The collation of a column of a query.
    fn of_output(&self, query: &Query, column: usize) -> Result<Derived> {
        if let Some(operation) = &query.set_operation {
            let left = self.of_input(&operation.left, column)?;
            return self.merge(left, self.of_input(&operation.right, column)?);
        }
        match query.output().iter().filter(|target| !target.hidden).nth(column) {
            Some(target) => self.derived(&target.expr, &[&query.rtes]),
            None => Ok(Derived::None),
        }
    }

    /// The collation of a column of the innermost of `levels`.
    fn of_column(&self, levels: &[&[Rte]], rte: usize, column: usize) -> Result<Derived> {
        let Some(rte) = levels.last().and_then(|rtes| rtes.get(rte)) else {
            return Ok(Derived::None);
        };
        Ok(match &rte.kind {
            // Names of the system's own objects are matched as the database's text is.
            RteKind::Relation(table) if !table.is_system() => match table.columns.get(column) {
                Some(column) if column.type_oid != oid::NAME => Derived::Implicit(column.collation),
                _ => Derived::None,
            },
            RteKind::Subquery { query, .. } => implicit(self.of_output(query, column)?),
            RteKind::Join { columns } => match columns.get(column) {
                Some(merged) => implicit(self.derived(merged, levels)?),
                None => Derived::None,
            },
            _ => Derived::None,
        })
    }
}

/// Seen from outside of a sub-select.
fn implicit(derived: Derived) -> Derived {
    match derived {
        Derived::Explicit(collation, _) => Derived::Implicit(collation),
        derived => derived,
    }
}

/// Whether a collation classifies all Unicode letters, as the database's own does.
fn is_utf8(collation: Oid) -> bool {
    collation == DEFAULT_COLLATION || builtin::collation_name(collation) == Some("pg_c_utf8")
}

/// The use that a function of text makes of its collation, and its name in errors.
fn use_of(name: &str) -> Option<(Use, &'static str)> {
    Some(match name {
        "lower" => (Use::Case, "lower() function"),
        "upper" => (Use::Case, "upper() function"),
        "initcap" => (Use::Case, "initcap() function"),
        "casefold" => (Use::Case, "lower() function"),
        "texticlike" | "texticnlike" | "bpchariclike" | "bpcharicnlike" => (Use::Case, "ILIKE"),
        "texticregexeq" | "texticregexne" | "bpcharicregexeq" | "bpcharicregexne" => {
            (Use::Case, "regular expression")
        }
        "textregexeq" | "textregexne" | "bpcharregexeq" | "bpcharregexne" => {
            (Use::Regex, "regular expression")
        }
        "substring" => (Use::Regex, "regular expression"),
        _ if name.starts_with("regexp_") => (Use::Regex, "regular expression"),
        "textlike" | "textnlike" | "bpcharlike" | "bpcharnlike" => (Use::Compares, "LIKE"),
        "texteq" | "textne" | "text_lt" | "text_le" | "text_gt" | "text_ge" | "bpchareq"
        | "bpcharne" | "bpcharlt" | "bpcharle" | "bpchargt" | "bpcharge" | "text_larger"
        | "text_smaller" => (Use::Compares, "string comparison"),
        _ => return None,
    })
}

/// Whether a regular expression means the same under any collation: a constant that names no
/// class of characters and heeds case.
fn is_plain_pattern(name: &str, args: &[Expr]) -> bool {
    let constant = |expr: &Expr| match expr {
        Expr::Const(Datum::Text(text), _) => Some(text.to_string()),
        _ => None,
    };
    let Some(pattern) = args.first() else { return true };
    if !matches!(pattern.ty().oid, oid::TEXT | oid::VARCHAR) {
        return true;
    }
    // regexp_replace's third argument is the replacement.
    let flags = args[1..].iter().skip(usize::from(name == "regexp_replace"));
    let mut flags = flags.filter(|arg| arg.ty().oid == oid::TEXT);
    constant(pattern).is_some_and(|text| {
        !text.contains("[:")
            && !text.contains('\\')
            && !text.starts_with("***")
            && !text.starts_with("(?")
    }) && flags.all(|arg| constant(arg).is_some_and(|text| !text.contains('i')))
}
