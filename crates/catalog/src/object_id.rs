//! The kinds of objects that the store keeps, and how one is read from a version of the catalog and
//! put into another.

use crate::extended_statistics::complete_schemas;
use crate::extension::Extension;
use crate::objects::{Function, Node, NodeGroup, Operator, StoredKind, UserCast, UserType};
use crate::relation::Relation;
use crate::snapshot::{Catalog, Schema};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;

/// Identity of a stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectId {
    /// A schema.
    Schema(Oid),
    /// A relation.
    Relation(Oid),
    /// An extension.
    Extension(Oid),
    /// A user's function, procedure or aggregate.
    Function(Oid),
    /// A user's type.
    Type(Oid),
    /// A user's cast.
    Cast(Oid),
    /// A user's operator.
    Operator(Oid),
    /// A node of the cluster.
    Node(Oid),
    /// A group of nodes.
    NodeGroup(Oid),
}

impl ObjectId {
    /// The OID of the system catalog that the object is in, and the object's OID. A lock of an
    /// object is taken under both.
    pub(crate) fn address(self) -> (Oid, Oid) {
        match self {
            ObjectId::Schema(oid) => (2615, oid),
            ObjectId::Relation(oid) => (1259, oid),
            ObjectId::Extension(oid) => (3079, oid),
            ObjectId::Function(oid) => (1255, oid),
            ObjectId::Type(oid) => (1247, oid),
            ObjectId::Cast(oid) => (2605, oid),
            ObjectId::Operator(oid) => (2617, oid),
            ObjectId::Node(oid) => (9015, oid),
            ObjectId::NodeGroup(oid) => (9014, oid),
        }
    }
}

/// An object as stored.
#[derive(Serialize, Deserialize)]
pub(crate) enum StoredObject {
    Schema(Schema),
    Relation(Arc<Relation>),
    Extension(Extension),
    Function(Arc<Function>),
    Type(Arc<UserType>),
    Cast(Arc<UserCast>),
    Operator(Arc<Operator>),
    Node(Arc<Node>),
    NodeGroup(Arc<NodeGroup>),
}

/// An object as it is stored, if it is there.
pub(crate) fn stored_object(catalog: &Catalog, id: ObjectId) -> Option<StoredObject> {
    match id {
        ObjectId::Schema(oid) => Some(StoredObject::Schema((**catalog.schema(oid)?).clone())),
        ObjectId::Relation(oid) => Some(StoredObject::Relation(catalog.relation(oid)?.clone())),
        ObjectId::Extension(oid) => {
            Some(StoredObject::Extension((**catalog.extension(oid)?).clone()))
        }
        ObjectId::Function(oid) => {
            Some(StoredObject::Function(catalog.stored::<Function>().get(oid)?.clone()))
        }
        ObjectId::Type(oid) => {
            Some(StoredObject::Type(catalog.stored::<UserType>().get(oid)?.clone()))
        }
        ObjectId::Cast(oid) => {
            Some(StoredObject::Cast(catalog.stored::<UserCast>().get(oid)?.clone()))
        }
        ObjectId::Operator(oid) => {
            Some(StoredObject::Operator(catalog.stored::<Operator>().get(oid)?.clone()))
        }
        ObjectId::Node(oid) => Some(StoredObject::Node(catalog.stored::<Node>().get(oid)?.clone())),
        ObjectId::NodeGroup(oid) => {
            Some(StoredObject::NodeGroup(catalog.stored::<NodeGroup>().get(oid)?.clone()))
        }
    }
}

pub(crate) fn is_there(catalog: &Catalog, id: ObjectId) -> bool {
    match id {
        ObjectId::Schema(oid) => catalog.schema(oid).is_some(),
        ObjectId::Relation(oid) => catalog.relation(oid).is_some(),
        ObjectId::Extension(oid) => catalog.extension(oid).is_some(),
        ObjectId::Function(oid) => catalog.stored::<Function>().get(oid).is_some(),
        ObjectId::Type(oid) => catalog.stored::<UserType>().get(oid).is_some(),
        ObjectId::Cast(oid) => catalog.stored::<UserCast>().get(oid).is_some(),
        ObjectId::Operator(oid) => catalog.stored::<Operator>().get(oid).is_some(),
        ObjectId::Node(oid) => catalog.stored::<Node>().get(oid).is_some(),
        ObjectId::NodeGroup(oid) => catalog.stored::<NodeGroup>().get(oid).is_some(),
    }
}

/// Copies an object (or its absence) from one version to another.
pub(crate) fn transfer(from: &Catalog, to: &mut Catalog, id: ObjectId) {
    match id {
        ObjectId::Schema(oid) => match from.schema(oid) {
            Some(schema) => to.put_schema((**schema).clone()),
            None => to.remove_schema(oid),
        },
        ObjectId::Extension(oid) => match from.extension(oid) {
            Some(extension) => to.put_extension((**extension).clone()),
            None => to.remove_extension(oid),
        },
        ObjectId::Relation(oid) => match from.relation(oid) {
            Some(relation) => to.put_relation(relation.clone()),
            None => {
                to.remove_relation(oid);
            }
        },
        ObjectId::Function(oid) => transfer_stored::<Function>(from, to, oid),
        ObjectId::Type(oid) => transfer_stored::<UserType>(from, to, oid),
        ObjectId::Cast(oid) => transfer_stored::<UserCast>(from, to, oid),
        ObjectId::Operator(oid) => transfer_stored::<Operator>(from, to, oid),
        ObjectId::Node(oid) => transfer_stored::<Node>(from, to, oid),
        ObjectId::NodeGroup(oid) => transfer_stored::<NodeGroup>(from, to, oid),
    }
}

fn transfer_stored<T: StoredKind>(from: &Catalog, to: &mut Catalog, oid: Oid) {
    match from.stored::<T>().get(oid) {
        Some(object) => T::of_mut(to).put(object.clone()),
        None => T::of_mut(to).remove(oid),
    }
}

fn install_stored<T: StoredKind>(catalog: &mut Catalog, object: Arc<T>) -> ObjectId {
    let id = T::id(object.oid());
    T::of_mut(catalog).put(object);
    id
}

pub(crate) fn install(catalog: &mut Catalog, object: StoredObject) -> ObjectId {
    match object {
        StoredObject::Schema(schema) => {
            let id = ObjectId::Schema(schema.oid);
            catalog.put_schema(schema);
            id
        }
        StoredObject::Extension(extension) => {
            let id = ObjectId::Extension(extension.oid);
            catalog.put_extension(extension);
            id
        }
        StoredObject::Relation(mut relation) => {
            let id = ObjectId::Relation(relation.oid);
            complete_schemas(&mut relation);
            catalog.put_relation(relation);
            id
        }
        StoredObject::Function(function) => install_stored(catalog, function),
        StoredObject::Type(ty) => install_stored(catalog, ty),
        StoredObject::Cast(cast) => install_stored(catalog, cast),
        StoredObject::Operator(operator) => install_stored(catalog, operator),
        StoredObject::Node(node) => install_stored(catalog, node),
        StoredObject::NodeGroup(group) => install_stored(catalog, group),
    }
}
