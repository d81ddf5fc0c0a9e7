//! Types that users make: rows of pg_type (CREATE TYPE, CREATE DOMAIN).

use super::StoredKind;
use super::stored::Objects;
use crate::object_id::ObjectId;
use crate::{BOOTSTRAP_SUPERUSER, Catalog, RareText, Shared};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// A type that a user has made. Row types of tables are not stored (see `row_types`).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserType {
    /// OID.
    pub oid: Oid,
    /// The schema.
    pub schema: Oid,
    /// Name.
    pub name: Arc<str>,
    /// Owner.
    pub owner: Oid,
    /// The array type over it, or 0.
    #[serde(default)]
    pub array: Oid,
    /// What it is.
    pub definition: TypeDefinition,
    /// COMMENT ON TYPE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
}

/// What a user's type is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TypeDefinition {
    /// CREATE TYPE … AS ENUM.
    Enum {
        /// The labels in their order.
        labels: Box<[EnumLabel]>,
    },
    /// CREATE TYPE … AS (…).
    Composite {
        /// The attributes; dropped ones stay in their places.
        columns: Shared<crate::Column>,
    },
    /// CREATE DOMAIN.
    Domain {
        /// The type below it.
        base: Oid,
        /// The modifier of that.
        modifier: i32,
        /// Its collation, or 0.
        collation: Oid,
        /// NOT NULL.
        not_null: bool,
        /// DEFAULT, as text.
        default: Option<Arc<str>>,
        /// CHECK constraints.
        checks: Box<[DomainCheck]>,
    },
    /// The array type over another user's type.
    Array {
        /// The type of its elements.
        element: Oid,
    },
}

/// A label of an enum (a row of pg_enum).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnumLabel {
    /// OID.
    pub oid: Oid,
    /// The label.
    pub name: Arc<str>,
    /// enumsortorder
    pub order: f32,
}

/// A CHECK constraint of a domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DomainCheck {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// The condition over VALUE, as text.
    pub expression: Arc<str>,
    /// Whether existing values are known to fulfil it.
    pub validated: bool,
}

impl UserType {
    /// A type without an array type and a comment, owned by the superuser.
    pub fn new(
        oid: Oid,
        schema: Oid,
        name: impl Into<Arc<str>>,
        definition: TypeDefinition,
    ) -> UserType {
        let name = name.into();
        let owner = BOOTSTRAP_SUPERUSER;
        UserType { oid, schema, name, owner, array: 0, definition, comment: None }
    }
}

impl StoredKind for UserType {
    fn oid(&self) -> Oid {
        self.oid
    }

    fn schema(&self) -> Oid {
        self.schema
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn id(oid: Oid) -> ObjectId {
        ObjectId::Type(oid)
    }

    fn of(catalog: &Catalog) -> &Objects<UserType> {
        &catalog.types
    }

    fn of_mut(catalog: &mut Catalog) -> &mut Objects<UserType> {
        &mut catalog.types
    }
}
