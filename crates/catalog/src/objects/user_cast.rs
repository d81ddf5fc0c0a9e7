//! Casts that users create: rows of pg_cast.

use super::stored::{Objects, StoredKind};
use crate::builtin::{CastContext, CastMethod};
use crate::object_id::ObjectId;
use crate::{Catalog, RareText};
use serde::{Deserialize, Serialize};
use steppe_types::Oid;

/// A user's cast. It has no name: it is found by its two types.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserCast {
    /// OID.
    pub oid: Oid,
    /// The type that it casts from.
    pub source: Oid,
    /// The type that it casts to.
    pub target: Oid,
    /// Where it applies.
    pub context: CastContext,
    /// How it is computed.
    pub method: CastMethod,
    /// COMMENT ON CAST.
    pub comment: Option<RareText>,
    /// The types, as the index of names has them.
    key: Box<str>,
}

/// The key of a cast in the index of names.
fn key(source: Oid, target: Oid) -> String {
    format!("{source} {target}")
}

impl UserCast {
    /// A cast without a comment.
    pub fn new(
        oid: Oid,
        (source, target): (Oid, Oid),
        context: CastContext,
        method: CastMethod,
    ) -> UserCast {
        UserCast {
            oid,
            source,
            target,
            context,
            method,
            comment: None,
            key: key(source, target).into(),
        }
    }

    /// The function that computes it.
    pub fn function(&self) -> Option<Oid> {
        match self.method {
            CastMethod::Function(function) => Some(function),
            CastMethod::InOut | CastMethod::Binary => None,
        }
    }

    /// The user's cast from one type to another.
    pub fn find(catalog: &Catalog, source: Oid, target: Oid) -> Option<&UserCast> {
        let casts = catalog.stored::<UserCast>();
        if casts.is_empty() {
            return None;
        }
        let key = key(source, target);
        let found = casts.named(0, &key).next().map(|cast| cast.oid)?;
        casts.get(found).map(|cast| &**cast)
    }
}

impl StoredKind for UserCast {
    fn oid(&self) -> Oid {
        self.oid
    }

    fn schema(&self) -> Oid {
        0
    }

    fn name(&self) -> &str {
        &self.key
    }

    fn id(oid: Oid) -> ObjectId {
        ObjectId::Cast(oid)
    }

    fn of(catalog: &Catalog) -> &Objects<UserCast> {
        &catalog.casts
    }

    fn of_mut(catalog: &mut Catalog) -> &mut Objects<UserCast> {
        &mut catalog.casts
    }
}
