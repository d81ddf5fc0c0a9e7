//! aclitem and aclitem[] (src/backend/utils/adt/acl.c): their privileges, and the default ones.

use super::args::{boolean, oid, text};
use super::{CallInfo, Entry, SetRows, arg, scalar, series, set};
use crate::FnContext;
use steppe_types::acl::{self, AclItem};
use steppe_types::{Datum, Error, Result, SqlState};

/// Functions about access control lists by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("acldefault_sql", scalar(default)),
    ("aclexplode", set(explode)),
    ("aclcontains", scalar(contains)),
    ("aclitem_eq", scalar(equal)),
    ("makeaclitem", scalar(make)),
    ("aclinsert", scalar(|_, _| Err(gone("aclinsert")))),
    ("aclremove", scalar(|_, _| Err(gone("aclremove")))),
];

/// `acldefault(kind of object, owner)`
fn default(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let &Datum::Char(object) = arg(args, 0)? else {
        return Err(Error::internal("acldefault needs a \"char\""));
    };
    let items = acl::default_privileges(object, oid(args, 1)?).ok_or_else(|| {
        let message = format!("unrecognized object type abbreviation: {}", char::from(object));
        Error::new(SqlState::INTERNAL_ERROR, message)
    })?;
    Ok(acl::array(items))
}

fn items(datum: &Datum) -> Result<Vec<AclItem>> {
    let array = datum.as_array()?;
    if array.dimensions.len() != 1 {
        let message = "ACL arrays must be one-dimensional";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    if array.elements.iter().any(Datum::is_null) {
        let message = "ACL arrays must not contain null values";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    array.elements.iter().map(AclItem::of).collect()
}

/// `aclexplode(acl)`: grantor, grantee, privilege_type, is_grantable.
fn explode(args: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let mut rows = Vec::new();
    for item in items(arg(args, 0)?)? {
        rows.extend(item.granted().map(|(privilege, grantable)| {
            vec![
                Datum::Oid(item.grantor),
                Datum::Oid(item.grantee),
                Datum::text(privilege),
                Datum::Bool(grantable),
            ]
        }));
    }
    Ok(series::rows(rows))
}

/// `aclitem[] @> aclitem`
fn contains(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let wanted = AclItem::of(arg(args, 1)?)?;
    Ok(Datum::Bool(items(arg(args, 0)?)?.iter().any(|item| item.contains(wanted))))
}

fn equal(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Bool(AclItem::of(arg(args, 0)?)? == AclItem::of(arg(args, 1)?)?))
}

/// `makeaclitem(grantee, grantor, privileges, grantable)`
fn make(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let mut privileges = 0;
    for word in text(args, 2)?.split(',').map(str::trim) {
        privileges |= acl::privilege(word).ok_or_else(|| {
            let message = format!("unrecognized privilege type: \"{word}\"");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })?;
    }
    if boolean(args, 3)? {
        privileges |= acl::options(privileges);
    }
    Ok(AclItem { grantee: oid(args, 0)?, grantor: oid(args, 1)?, privileges }.datum())
}

/// Functions that PostgreSQL keeps in order to refuse them.
#[cold]
fn gone(function: &str) -> Error {
    let message = format!("{function} is no longer supported");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}
