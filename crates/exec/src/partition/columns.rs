//! The places of a table's columns in a leaf.
//!
//! A leaf (a partition, or a table that inherits) has its parent's columns by name, perhaps in
//! another order or with dropped ones between; one that inherits may have more of its own.
//! Statements are written against the parent: its rows go to and fro.

use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_sql::plan::StoredForm;
use steppe_types::{Datum, Error, Result};

/// Converts between a parent's rows and those of a leaf whose columns are in other places.
pub struct ColumnMap {
    /// The table that the statement names.
    pub(crate) parent: Arc<Relation>,
    /// For each of its columns the position in the leaf; `None` for dropped ones.
    to_leaf: Box<[Option<usize>]>,
    /// Positions of the columns that only the leaf has.
    own: Box<[usize]>,
    leaf_width: usize,
}

impl ColumnMap {
    /// `None`: the columns have the same places.
    pub fn new(parent: &Arc<Relation>, leaf: &Relation) -> Result<Option<ColumnMap>> {
        let position = |(i, column): (usize, &steppe_catalog::Column)| {
            if column.dropped {
                return Ok(None);
            }
            let same = leaf.columns.get(i).filter(|c| !c.dropped && c.name == column.name);
            let found = same.map(|_| i).or_else(|| leaf.column_index(&column.name));
            found.map(Some).ok_or_else(|| {
                Error::internal(format!(
                    "partition \"{}\" has no column \"{}\"",
                    leaf.name, column.name
                ))
            })
        };
        let to_leaf = parent.columns.iter().enumerate().map(position);
        let to_leaf = to_leaf.collect::<Result<Box<[_]>>>()?;
        let same = to_leaf.iter().enumerate().all(|(i, at)| at.is_none_or(|at| at == i));
        if same && parent.columns.len() == leaf.columns.len() {
            return Ok(None);
        }
        let leaf_width = leaf.columns.len();
        let is_own = |at: &usize| !leaf.columns[*at].dropped && !to_leaf.contains(&Some(*at));
        let own = (0..leaf_width).filter(is_own).collect();
        Ok(Some(ColumnMap { parent: parent.clone(), to_leaf, own, leaf_width }))
    }

    /// The positions of the columns that only the leaf has.
    pub(crate) fn own(&self) -> &[usize] {
        &self.own
    }

    /// A column's position in the leaf.
    pub fn in_leaf(&self, column: usize) -> Result<usize> {
        let found = self.to_leaf.get(column).copied().flatten();
        found.ok_or_else(|| Error::internal("a dropped column is asked of a partition"))
    }

    /// The attribute number in the leaf; system columns keep theirs.
    pub(crate) fn attribute(&self, attribute: i16) -> Result<i16> {
        match usize::try_from(attribute - 1) {
            Ok(column) => Ok(self.in_leaf(column)? as i16 + 1),
            Err(_) => StoredForm::moved(attribute, |column| self.attribute(column)),
        }
    }

    /// The parent's row as the leaf has it.
    pub(crate) fn row_in_leaf(&self, row: &[Datum]) -> Vec<Datum> {
        let mut out = vec![Datum::Null; self.leaf_width];
        for (value, at) in row.iter().zip(&self.to_leaf) {
            if let Some(place) = at.and_then(|at| out.get_mut(at)) {
                *place = value.clone();
            }
        }
        out
    }

    /// The leaf's row as the parent has it.
    pub fn row_in_parent(&self, row: &[Datum]) -> Vec<Datum> {
        let value = |at: &Option<usize>| at.and_then(|at| row.get(at).cloned());
        self.to_leaf.iter().map(|at| value(at).unwrap_or(Datum::Null)).collect()
    }
}
