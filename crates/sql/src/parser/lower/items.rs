//! Lists that the binding types as lists of one kind of node.
//!
//! The binding reads the kind from comments in PostgreSQL's headers, which are not exact. CREATE
//! STATISTICS' "list of RangeVar" holds any item of FROM. The binding panics on a node of another
//! kind. [`items`] checks each node first and refuses such a statement.

#![allow(unsafe_code)]

use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::{Node, nodes};

use super::{Lowered, unsupported};
use crate::ast::Location;

/// A kind of node that a typed list may hold.
pub(super) trait Item: Sized {
    /// The node, if it is of this kind.
    fn of(node: Node<'_>) -> Option<&Self>;
}

macro_rules! items_of {
    ($($kind:ident)*) => {
        $(impl Item for nodes::$kind {
            fn of(node: Node<'_>) -> Option<&Self> {
                match node {
                    Node::$kind(item) => Some(item),
                    _ => None,
                }
            }
        })*
    };
}

items_of! {
    AccessPriv ColumnDef CommonTableExpr Constraint DefElem FunctionParameter IndexElem
    LockingClause MergeWhenClause PartitionElem RangeVar ResTarget ReturningOption RoleSpec
    SortBy String TypeName VacuumRelation
}

/// The nodes of a typed list; one of another kind makes the statement unsupported.
pub(super) fn items<T: Item>(list: &CastNodeList<T>) -> impl ExactSizeIterator<Item = Lowered<&T>> {
    const { assert!(size_of::<CastNodeList<T>>() == size_of::<NodeList>()) };
    // SAFETY: the binding (whose version is pinned) declares `CastNodeList<T>` as
    // `#[repr(transparent)]` over `NodeList`, and makes one by casting the other's reference.
    let nodes = unsafe { &*std::ptr::from_ref(list).cast::<NodeList>() };
    nodes.iter().map(|node| {
        T::of(node).ok_or_else(|| unsupported("this form of the statement", Location::NONE))
    })
}
