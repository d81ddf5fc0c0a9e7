//! has_…_privilege and pg_has_role (src/backend/utils/adt/acl.c).
//!
//! There is one role, a superuser, which has all privileges. What remains are the errors about
//! objects, roles and privileges that do not exist, and NULL for an OID without an object.

use super::args::text;
use super::reg::CatalogNames;
use super::{CallInfo, Entry, arg, typed};
use crate::FnContext;
use steppe_catalog::RelKind;
use steppe_types::{Datum, Error, Result, SqlState};

/// The kind of object that the privilege is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Object {
    Table,
    Sequence,
    Schema,
    Function,
    /// Objects that are not looked up: databases, languages, types …
    Other,
}

macro_rules! privileges {
    ($($stem:literal, $object:expr, $check:ident, [$($suffix:literal),*];)*) => {
        /// Privilege functions by prosrc.
        pub(super) const TABLE: &[Entry] = &[$($(
            (
                concat!("has_", $stem, "_privilege_", $suffix),
                typed(|a, _, cx| $check(a, $suffix, $object, cx)),
            ),
        )*)*
            ("pg_has_role_name", typed(role)),
            ("pg_has_role_id", typed(role)),
            ("pg_has_role_name_name", typed(role)),
            ("pg_has_role_name_id", typed(role)),
            ("pg_has_role_id_name", typed(role)),
            ("pg_has_role_id_id", typed(role)),
            ("has_column_privilege_name_name_name", typed(column)),
            ("has_column_privilege_name_name_attnum", typed(column)),
            ("has_column_privilege_name_id_name", typed(column)),
            ("has_column_privilege_name_id_attnum", typed(column)),
            ("has_column_privilege_id_name_name", typed(column)),
            ("has_column_privilege_id_name_attnum", typed(column)),
            ("has_column_privilege_id_id_name", typed(column)),
            ("has_column_privilege_id_id_attnum", typed(column)),
            ("has_column_privilege_name_attnum", typed(column)),
            ("has_column_privilege_id_name", typed(column)),
            ("has_column_privilege_id_attnum", typed(column)),
            ("row_security_active", typed(|_, _, _| Ok(Datum::Bool(false)))),
            ("row_security_active_name", typed(|_, _, _| Ok(Datum::Bool(false)))),
        ];
    };
}

privileges! {
    "table", Object::Table, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "any_column", Object::Table, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "sequence", Object::Sequence, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "schema", Object::Schema, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "function", Object::Function, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "database", Object::Other, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "language", Object::Other, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "type", Object::Other, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
    "tablespace", Object::Other, check,
        ["name_name", "name_id", "id_name", "id_id", "name", "id"];
}

/// Privileges that an object of a kind has.
fn known(object: Object) -> &'static [&'static str] {
    match object {
        Object::Table => &[
            "select",
            "insert",
            "update",
            "delete",
            "truncate",
            "references",
            "trigger",
            "maintain",
        ],
        Object::Sequence => &["usage", "select", "update"],
        Object::Schema => &["create", "usage"],
        Object::Function => &["execute"],
        Object::Other => &["create", "connect", "temporary", "temp", "usage"],
    }
}

/// `select, update with grant option` …: 22023 for a word that is no privilege.
fn check_words(words: &str, object: Object) -> Result<()> {
    for word in words.split(',').map(str::trim) {
        let plain = word.to_ascii_lowercase();
        let plain = plain.strip_suffix(" with grant option").unwrap_or(&plain).trim();
        if !known(object).contains(&plain) {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unrecognized privilege type: \"{word}\""),
            ));
        }
    }
    Ok(())
}

#[cold]
fn no_role(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

/// 42704 for an unknown role name; an unknown OID has no privileges of its own.
fn check_role(role: &Datum, names: &CatalogNames) -> Result<()> {
    match role {
        Datum::Text(name) if &**name != "public" && names.role_named(name).is_none() => {
            Err(no_role(name))
        }
        _ => Ok(()),
    }
}

/// Checks `[role,] object, privileges`; the suffix says how they are given.
fn check(args: &[Datum], suffix: &str, object: Object, cx: &FnContext) -> Result<Datum> {
    let names = CatalogNames::of(cx);
    if suffix.contains('_') {
        check_role(arg(args, 0)?, &names)?;
    }
    check_words(text(args, args.len() - 1)?, object)?;
    exists(arg(args, args.len() - 2)?, object, &names, cx)
}

/// True; NULL for an OID without an object, an error for such a name.
fn exists(value: &Datum, object: Object, names: &CatalogNames, cx: &FnContext) -> Result<Datum> {
    let found = match (object, value) {
        (Object::Table, Datum::Text(name)) => names.existing_relation(name).map(|_| true)?,
        (Object::Table, other) => cx.catalog.relation(other.as_oid()?).is_some(),
        (Object::Sequence, value) => {
            let relation = match value {
                Datum::Text(name) => Some(names.existing_relation(name)?),
                other => cx.catalog.relation(other.as_oid()?),
            };
            if let Some(relation) = relation
                && relation.kind != RelKind::Sequence
            {
                return Err(Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("\"{}\" is not a sequence", relation.name),
                ));
            }
            relation.is_some()
        }
        (Object::Schema, Datum::Text(name)) => {
            cx.catalog.schema_named(name).map(|_| true).ok_or_else(|| {
                Error::new(
                    SqlState::INVALID_SCHEMA_NAME,
                    format!("schema \"{name}\" does not exist"),
                )
            })?
        }
        (Object::Function, Datum::Oid(function)) => cx.catalog.function(*function).is_some(),
        _ => true,
    };
    Ok(if found { Datum::Bool(true) } else { Datum::Null })
}

/// `has_column_privilege([role,] table, column, privileges)`
fn column(args: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let names = CatalogNames::of(cx);
    if args.len() > 3 {
        check_role(arg(args, 0)?, &names)?;
    }
    check_words(text(args, args.len() - 1)?, Object::Table)?;
    let relation = match arg(args, args.len() - 3)? {
        Datum::Text(name) => Some(names.existing_relation(name)?),
        other => cx.catalog.relation(other.as_oid()?),
    };
    let Some(relation) = relation else { return Ok(Datum::Null) };
    let found = match arg(args, args.len() - 2)? {
        Datum::Text(name) => relation.column_index(name).map(|_| true).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
            )
        })?,
        number => {
            let at = usize::try_from(number.as_int2()? - 1).ok();
            at.and_then(|at| relation.columns.get(at)).is_some_and(|column| !column.dropped)
        }
    };
    Ok(if found { Datum::Bool(true) } else { Datum::Null })
}

/// `pg_has_role([role,] role, privileges)`
fn role(args: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let names = CatalogNames::of(cx);
    for value in &args[..args.len() - 1] {
        if let Datum::Text(name) = value
            && names.role_named(name).is_none()
        {
            return Err(no_role(name));
        }
    }
    let words = text(args, args.len() - 1)?;
    for word in words.split(',').map(str::trim) {
        let plain = word.to_ascii_lowercase();
        let stem = plain.split(" with ").next().unwrap_or_default();
        if !matches!(stem, "member" | "usage" | "set") {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unrecognized privilege type: \"{word}\""),
            ));
        }
    }
    Ok(Datum::Bool(true))
}
