//! Types that users make (typecmds.c): enums, domains, composite types.
//!
//! | file | subject |
//! |---|---|
//! | `enums` | CREATE TYPE … AS ENUM, ALTER TYPE … ADD and RENAME VALUE |
//! | `composite` | CREATE TYPE … AS (…), ALTER TYPE … ATTRIBUTE |
//! | `domains` | CREATE DOMAIN, ALTER DOMAIN |
//! | `domain_rows` | values in tables under a new condition of a domain |
//! | `alter` | what is changed in the same manner of each type: name, schema, owner, comment |
//! | `drop` | DROP TYPE and DROP DOMAIN |
//!
//! An enum or a domain is an object of its own ([`steppe_catalog::objects::UserType`]). Stored texts
//! name it by its OID ([`steppe_catalog::type_spelling`]), so that they need no change when it is
//! renamed.

mod alter;
mod composite;
mod domain_rows;
mod domains;
mod drop;
mod enums;

pub(super) use alter::{alter_owner, comment, rename, set_schema};
pub(super) use composite::{
    alter_composite, check_not_in_itself, check_not_stored, create_composite, rename_attribute,
};
pub(super) use domains::{alter_domain, create_domain, remove_check, rename_constraint};
pub(super) use drop::{check_name_is_free, drop_types, remove};
pub(super) use enums::{alter_enum, create_enum};

use super::{DdlContext, create_statistics, truncate_name};
use std::sync::Arc;
use steppe_catalog::objects::{TypeDefinition, UserType};
use steppe_catalog::{ObjectId, Relation};
use steppe_sql::ast::{ObjectName, ObjectRef, TypeName};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// A type that a statement changes or drops.
pub(super) enum Found {
    /// An enum or a domain.
    Own(Arc<UserType>),
    /// The row type of a relation.
    Row(Arc<Relation>),
    /// The array type over one of those.
    Array(Oid),
    /// A type that PostgreSQL has built in.
    BuiltIn(Oid),
}

impl DdlContext<'_> {
    /// The schema of a new type and the type's name: 42710 if a type has the name. Locks the name,
    /// so that other transactions do not make a type of that name meanwhile.
    fn new_type_name(&mut self, name: &ObjectName) -> Result<(Oid, Arc<str>)> {
        let schema = create_statistics::creation_schema(self, name)?;
        let name = truncate_name(name.name());
        self.lock_name(schema, name)?;
        check_name_is_free(self, schema, name)?;
        Ok((schema, name.into()))
    }

    /// Adds or replaces a type.
    fn put_type(&mut self, ty: UserType) {
        self.store.put::<UserType>(self.store.changes(self.pending), Arc::new(ty));
    }

    /// The type of a name: 42704 if there is none.
    fn find_type(&mut self, name: &TypeName) -> Result<Found> {
        let resolved = self.resolve_type(name).map_err(|e| e.at(None))?;
        let catalog = self.catalog();
        if let Some(own) = catalog.user_type(resolved.oid) {
            let own = own.clone();
            return self.lock_type(own);
        }
        if let Some(relation) = catalog.relation_of_row_type(resolved.oid) {
            return Ok(Found::Row(relation.clone()));
        }
        let element = steppe_catalog::builtin::ty(resolved.oid).map_or(0, |ty| ty.element);
        Ok(match catalog.own_type_name(element) {
            Some(_) => Found::Array(resolved.oid),
            None => Found::BuiltIn(resolved.oid),
        })
    }

    /// Keeps other transactions from changing a type or referring to it anew. The type is then as the last of them has left it.
    fn lock_type(&mut self, ty: Arc<UserType>) -> Result<Found> {
        self.lock_object(ObjectId::Type(ty.oid), RelationLockMode::AccessExclusive)?;
        match self.catalog().user_type(ty.oid) {
            Some(now) => Ok(Found::Own(now.clone())),
            None => Err(undefined(&ty.name)),
        }
    }
}

/// 42710 if a type has the name of a new relation, which has a row type of its name.
pub(super) fn check_row_type_name(ctx: &mut DdlContext<'_>, schema: Oid, name: &str) -> Result<()> {
    let hint = "A relation has an associated type of the same name, so you must use a name that \
                doesn't conflict with any existing type.";
    check_name_is_free(ctx, schema, name).map_err(|error| error.hint(hint))
}

/// The name of a type in a statement's object.
pub(super) fn type_name(object: &ObjectRef) -> Result<TypeName> {
    match object {
        ObjectRef::Type(name) => Ok(name.clone()),
        ObjectRef::Name(name) => Ok(plain(name)),
        _ => Err(Error::internal("a type without a name")),
    }
}

/// A name as a type's.
fn plain(name: &ObjectName) -> TypeName {
    TypeName {
        name: name.clone(),
        setof: false,
        percent_type: false,
        typmods: Vec::new(),
        array_bounds: Vec::new(),
        location: Default::default(),
    }
}

/// 42704
fn undefined(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// 42809: the statement is for another kind of type.
fn not_a(what: &str, shown: &str) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{shown} is not {what}"))
}

/// A new type object.
fn object(
    ctx: &mut DdlContext<'_>,
    (schema, name): (Oid, Arc<str>),
    place: Oid,
    definition: TypeDefinition,
) -> Result<UserType> {
    let oid = place + ctx.store.new_oid()?;
    Ok(UserType::new(oid, schema, name, definition))
}
