//! The labels of an enum: rows of pg_enum.
//!
//! A value of the type holds its label's place in the order ([`steppe_types::Datum::Enum`]), which
//! is PostgreSQL's enumsortorder in double precision. A new label between two others gets the place
//! in their middle. A label never changes its place, so indexes and stored rows stay as they are.
//! (PostgreSQL renumbers the labels when two neighbors have no number between them. Here a gap has
//! room for more than 50 labels, and a label that finds no room is refused with 0A000.)

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::{Error, Oid, Result, SqlState};

/// A label of an enum (a row of pg_enum).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnumLabel {
    /// OID.
    pub oid: Oid,
    /// The label.
    pub name: Arc<str>,
    /// enumsortorder
    pub order: f64,
    /// Whether the transaction that has added the label still runs, and the type is older than it.
    /// A session may not make values of such a label, because a rollback would leave them without
    /// their label.
    #[serde(skip)]
    pub uncommitted: bool,
}

/// The labels of an enum, in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EnumLabels(pub Box<[EnumLabel]>);

impl EnumLabels {
    /// A label by its name.
    pub fn named(&self, name: &str) -> Option<&EnumLabel> {
        self.0.iter().find(|label| *label.name == *name)
    }

    /// The label of a place.
    pub fn at(&self, order: f64) -> Option<&EnumLabel> {
        let found = self.0.binary_search_by(|label| label.order.total_cmp(&order));
        found.ok().map(|at| &self.0[at])
    }

    /// The place of a new label at a position in the list: 0A000 if there is none.
    pub fn place_for(&self, position: usize) -> Result<f64> {
        let before = position.checked_sub(1).and_then(|at| self.0.get(at)).map(|l| l.order);
        let after = self.0.get(position).map(|l| l.order);
        let place = match (before, after) {
            (None, None) => 1.0,
            (Some(last), None) => last + 1.0,
            (None, Some(first)) => first - 1.0,
            (Some(before), Some(after)) => before + (after - before) / 2.0,
        };
        if Some(place) == before || Some(place) == after {
            return Err(Error::not_supported("more labels between two labels of an enum"));
        }
        Ok(place)
    }

    /// The same labels, all marked as committed; `None` if all are so already.
    pub(super) fn committed(&self) -> Option<EnumLabels> {
        let is_any = self.0.iter().any(|label| label.uncommitted);
        let label = |label: &EnumLabel| EnumLabel { uncommitted: false, ..label.clone() };
        is_any.then(|| EnumLabels(self.0.iter().map(label).collect()))
    }
}

impl EnumLabel {
    /// 55P04 if values of the label may not be made yet; `type_name` is the type's.
    pub fn check_safe(&self, type_name: &str) -> Result<()> {
        if !self.uncommitted {
            return Ok(());
        }
        let message = format!("unsafe use of new value \"{}\" of enum type {type_name}", self.name);
        Err(Error::new(SqlState::UNSAFE_NEW_ENUM_VALUE_USAGE, message)
            .hint("New enum values must be committed before they can be used."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(places: &[f64]) -> EnumLabels {
        let label = |order: &f64| EnumLabel {
            oid: 1,
            name: format!("at {order}").into(),
            order: *order,
            uncommitted: false,
        };
        EnumLabels(places.iter().map(label).collect())
    }

    #[test]
    fn new_labels_lie_between_their_neighbours() {
        assert_eq!(labels(&[]).place_for(0).expect("a place"), 1.0);
        let two = labels(&[1.0, 2.0]);
        assert_eq!([0, 1, 2].map(|at| two.place_for(at).expect("a place")), [0.0, 1.5, 3.0]);
        assert_eq!(two.at(2.0).map(|label| &*label.name), Some("at 2"));
        assert!(two.at(1.5).is_none());
    }

    #[test]
    fn a_full_gap_takes_no_more() {
        let mut gap = vec![1.0, 2.0];
        while let Ok(place) = labels(&gap).place_for(1) {
            assert!(gap[0] < place && place < gap[1]);
            gap.insert(1, place);
        }
        assert!(gap.len() > 50);
    }
}
