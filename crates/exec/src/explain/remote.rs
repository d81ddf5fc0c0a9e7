//! The nodes of statements for data nodes.
//!
//! They are those of the values that the plan is explained with. The nodes of a value that is computed when
//! the statement runs, or of a parameter in a generic plan, are not known.

use super::document::Node;
use super::plan::Builder;
use std::collections::BTreeSet;
use steppe_catalog::Distribution;
use steppe_catalog::objects::Node as DataNode;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{RemoteQuery, RemoteTarget};
use steppe_types::{Datum, Oid};

impl Builder<'_> {
    /// The nodes that run a statement, and their number of all that have the table.
    pub(super) fn nodes_of(&self, remote: &RemoteQuery, node: &mut Node) {
        let (names, asked, all) = match &remote.target {
            RemoteTarget::Any(nodes) => {
                let names = format!("one of {}", self.names_of(nodes.iter()));
                (Some(names), "1".to_owned(), nodes.len())
            }
            RemoteTarget::All(nodes) | RemoteTarget::Every(nodes) => {
                (Some(self.names_of(nodes.iter())), nodes.len().to_string(), nodes.len())
            }
            RemoteTarget::Key { distribution, key, type_oid, .. } => {
                let place = self.value(key).and_then(|key| place(distribution, *type_oid, &key));
                (self.name_at(distribution, place), "1".to_owned(), distribution.nodes.len())
            }
            RemoteTarget::Parameter { distribution, place: at, type_oid, .. } => {
                let key = remote.params.get(*at).and_then(|key| self.value(key));
                let place = key.and_then(|key| place(distribution, *type_oid, &key));
                (self.name_at(distribution, place), "1".to_owned(), distribution.nodes.len())
            }
            RemoteTarget::Keys { distribution, place: at, type_oid } => {
                let all = distribution.nodes.len();
                let keys = remote.params.get(*at).and_then(|keys| self.elements(keys));
                let places = keys.and_then(|keys| places(distribution, *type_oid, &keys));
                match places {
                    Some(places) => {
                        let nodes =
                            places.iter().filter_map(|place| distribution.nodes.get(*place));
                        let names = self.names_of(nodes);
                        let names = if names.is_empty() { "none".to_owned() } else { names };
                        (Some(names), places.len().to_string(), all)
                    }
                    None => (None, format!("up to {all}"), all),
                }
            }
        };
        node.property("Node/s", names.unwrap_or_else(|| "by the key".to_owned()));
        node.property("Nodes", format!("{asked} of {all}"));
        if self.options.verbose {
            node.property("Remote query", remote.text.to_string());
        }
    }

    fn name_at(&self, distribution: &Distribution, place: Option<usize>) -> Option<String> {
        Some(self.names_of(std::iter::once(distribution.nodes.get(place?)?)))
    }

    pub(super) fn names_of<'n>(&self, nodes: impl Iterator<Item = &'n Oid>) -> String {
        let name = |oid: &Oid| {
            let node = self.explained.catalog.stored::<DataNode>().get(*oid);
            node.map_or_else(|| oid.to_string(), |node| node.name.to_string())
        };
        nodes.map(name).collect::<Vec<_>>().join(", ")
    }

    /// The value of an expression, if it is known.
    fn value(&self, expr: &Expr) -> Option<Datum> {
        match expr {
            Expr::Const(value, _) => Some(value.clone()),
            Expr::Param { index, .. } if !self.explained.is_generic => {
                self.explained.params.get(*index).cloned()
            }
            _ => None,
        }
    }

    fn elements(&self, array: &Expr) -> Option<Vec<Datum>> {
        match array {
            Expr::Array { elements, multidim: false, .. } => {
                elements.iter().map(|element| self.value(element)).collect()
            }
            array => match self.value(array)? {
                Datum::Array(array) => Some(array.elements.clone()),
                Datum::Null => Some(Vec::new()),
                _ => None,
            },
        }
    }
}

fn place(distribution: &Distribution, type_oid: Oid, key: &Datum) -> Option<usize> {
    distribution.place(type_oid, key).ok().flatten()
}

/// The places of keys, of which NULL has none.
fn places(distribution: &Distribution, type_oid: Oid, keys: &[Datum]) -> Option<BTreeSet<usize>> {
    let keys = keys.iter().filter(|key| !key.is_null());
    keys.map(|key| place(distribution, type_oid, key)).collect()
}
