//! Types that users make: rows of pg_type (CREATE TYPE, CREATE DOMAIN).

use super::stored::Objects;
use super::{Domain, EnumLabels, StoredKind};
use crate::object_id::ObjectId;
use crate::{BOOTSTRAP_SUPERUSER, Catalog, RareText};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// A type that a user has made. Row types of relations, and array types, are not stored: they follow
/// from the OIDs (see `type_places`).
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
    /// Its definition.
    pub definition: TypeDefinition,
    /// COMMENT ON TYPE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
}

/// The definition of a user's type. (A composite type is a relation, whose row type it is.)
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TypeDefinition {
    /// CREATE TYPE … AS ENUM.
    Enum {
        /// The labels.
        labels: EnumLabels,
    },
    /// CREATE DOMAIN.
    Domain(Domain),
}

impl UserType {
    /// A type without a comment, owned by the superuser.
    pub fn new(
        oid: Oid,
        schema: Oid,
        name: impl Into<Arc<str>>,
        definition: TypeDefinition,
    ) -> UserType {
        let name = name.into();
        let owner = BOOTSTRAP_SUPERUSER;
        UserType { oid, schema, name, owner, definition, comment: None }
    }
}

impl UserType {
    /// The type as it is when the transaction that has added labels to it has committed; `None` if it
    /// has no such labels.
    pub(crate) fn with_committed_labels(&self) -> Option<UserType> {
        let TypeDefinition::Enum { labels } = &self.definition else { return None };
        let labels = labels.committed()?;
        Some(UserType { definition: TypeDefinition::Enum { labels }, ..self.clone() })
    }

    /// The definition of a domain; `None` for an enum.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.definition {
            TypeDefinition::Domain(domain) => Some(domain),
            TypeDefinition::Enum { .. } => None,
        }
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
