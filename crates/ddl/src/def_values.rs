//! The values of attributes in definitions such as CREATE AGGREGATE's and CREATE OPERATOR's (define.c).

use steppe_sql::ast::{DefElem, DefValue, ObjectName, TypeName};
use steppe_types::{Error, Result, SqlState};

/// A name, which may be qualified: defGetQualifiedName.
pub(crate) fn name(elem: &DefElem) -> Result<ObjectName> {
    match &elem.value {
        Some(DefValue::TypeName(name)) => Ok(name.name.clone()),
        Some(DefValue::String(word)) => Ok(ObjectName::from(word.clone())),
        Some(DefValue::List(parts)) => {
            let part = |part: &DefValue| match part {
                DefValue::String(part) => Ok(part.clone()),
                _ => Err(wrong(elem, "must be a name")),
            };
            parts.iter().map(part).collect::<Result<_>>().map(ObjectName)
        }
        None => Err(wrong(elem, "requires a parameter")),
        _ => Err(wrong(elem, "must be a name")),
    }
}

/// A type: defGetTypeName.
pub(crate) fn type_name(elem: &DefElem) -> Result<TypeName> {
    match &elem.value {
        Some(DefValue::TypeName(name)) => Ok((**name).clone()),
        Some(DefValue::String(word)) => Ok(TypeName {
            name: ObjectName::from(word.clone()),
            setof: false,
            percent_type: false,
            typmods: Vec::new(),
            array_bounds: Vec::new(),
            location: Default::default(),
        }),
        None => Err(wrong(elem, "requires a parameter")),
        _ => Err(wrong(elem, "must be a type name")),
    }
}

/// 42601 for a value of the wrong kind, or none (define.c).
pub(crate) fn wrong(elem: &DefElem, why: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("{} {why}", elem.name))
}
