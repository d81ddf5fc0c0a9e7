//! Types by name, and the names of types (pg_type.typname): built-in ones, row types of relations,
//! users' types, and the arrays over the last two.
//!
//! An array type over a type of a user is not stored. Its name is `_` and the element's name, with
//! a number if another type has that name (makeArrayTypeName). So, unlike in PostgreSQL, the name
//! does not depend on which of the two types was created first. Two truncated names may be equal.

use crate::builtin::{self, Type};
use crate::objects::{EnumLabels, TypeDefinition, UserType};
use crate::row_types::row_type_of;
use crate::{Catalog, INFORMATION_SCHEMA, NAME_BYTES_MAX, PG_CATALOG, Relation};
use std::sync::Arc;
use steppe_types::Oid;

impl Catalog {
    /// A type that a user has made: an enum or a domain.
    pub fn user_type(&self, type_oid: Oid) -> Option<&Arc<UserType>> {
        self.stored::<UserType>().get(type_oid)
    }

    /// The labels of an enum.
    pub fn enum_labels(&self, type_oid: Oid) -> Option<&EnumLabels> {
        match &self.user_type(type_oid)?.definition {
            TypeDefinition::Enum { labels } => Some(labels),
            TypeDefinition::Domain(_) => None,
        }
    }

    /// Whether a type with this OID exists.
    pub fn has_type(&self, type_oid: Oid) -> bool {
        let Some(ty) = builtin::ty(type_oid) else { return false };
        let own = if ty.is_true_array() { ty.element } else { type_oid };
        match builtin::ty(own) {
            Some(_) if is_built_in(own) => true,
            Some(_) => self.own_type_name(own).is_some(),
            None => false,
        }
    }

    /// A type by schema and name.
    pub fn type_named(&self, schema: Oid, name: &str) -> Option<Type> {
        match schema {
            PG_CATALOG => return builtin::type_named(name).copied(),
            INFORMATION_SCHEMA => return builtin::information_schema_type(name).copied(),
            _ => {}
        }
        if let Some(own) = self.own_type_named(schema, name) {
            return builtin::ty(own);
        }
        // The array type's name begins with the element's, unless it had to be cut.
        let bare = name.strip_prefix('_')?;
        let stem = bare.rsplit_once('_').map_or(bare, |(stem, _)| stem);
        let elements = [bare, stem].into_iter().filter_map(|element| {
            let own = self.own_type_named(schema, element)?;
            (self.array_type_name(schema, element) == name).then_some(own)
        });
        elements.into_iter().next().and_then(builtin::ty).and_then(|ty| builtin::ty(ty.array))
    }

    /// The row type or the user's type of a name.
    fn own_type_named(&self, schema: Oid, name: &str) -> Option<Oid> {
        let row_type = |relation: &Arc<Relation>| row_type_of(relation);
        self.relation_named(schema, name).and_then(row_type).or_else(|| {
            let mut types = self.stored::<UserType>().named(schema, name);
            types.next().map(|ty| ty.oid)
        })
    }

    /// The schema and the name of a row type of a user's relation, or of a user's type.
    pub fn own_type_name(&self, type_oid: Oid) -> Option<(Oid, Arc<str>)> {
        if let Some(ty) = self.user_type(type_oid) {
            return Some((ty.schema, ty.name.clone()));
        }
        let relation = self.relation_of_row_type(type_oid).filter(|r| !r.is_system())?;
        Some((relation.schema, relation.name.clone()))
    }

    /// The schema and the name of a type (pg_type.typname).
    pub(crate) fn type_name(&self, type_oid: Oid) -> Option<(Oid, String)> {
        let ty = builtin::ty(type_oid)?;
        let own = if ty.is_true_array() { ty.element } else { type_oid };
        Some(match self.own_type_name(own) {
            Some((schema, name)) if own == type_oid => (schema, name.to_string()),
            Some((schema, name)) => (schema, self.array_type_name(schema, &name)),
            None if ty.in_information_schema => (INFORMATION_SCHEMA, ty.name.to_owned()),
            None => (PG_CATALOG, ty.name.to_owned()),
        })
    }

    /// The name of the array type over a row type or a user's type of this name.
    pub(crate) fn array_type_name(&self, schema: Oid, element: &str) -> String {
        let wanted = cut(&format!("_{element}"), NAME_BYTES_MAX).to_owned();
        let is_own = |name: &str| self.own_type_named(schema, name).is_some();
        let is_taken = |name: &str| is_own(name) || name != wanted && is_own(&name[1..]);
        let numbered = |n: u32| match n {
            0 => wanted.clone(),
            n => {
                let tail = format!("_{n}");
                format!("{}{tail}", cut(&wanted, NAME_BYTES_MAX - tail.len()))
            }
        };
        (0..).map(numbered).find(|name| !is_taken(name)).unwrap_or_default()
    }
}

/// Whether PostgreSQL has a type, which is no array over a user's.
fn is_built_in(type_oid: Oid) -> bool {
    type_oid < steppe_types::oid::FIRST_NORMAL_OID
}

/// The longest beginning of a name that fits.
fn cut(name: &str, bytes: usize) -> &str {
    &name[..name.floor_char_boundary(bytes)]
}
