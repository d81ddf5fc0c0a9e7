//! Generated names, formed as in PostgreSQL.

use crate::snapshot::Catalog;
use steppe_types::Oid;

/// PostgreSQL's NAMEDATALEN - 1: longer names are cut.
pub const NAME_BYTES_MAX: usize = 63;

/// `first_second_label` within 63 bytes: the longer of the first two is cut (makeObjectName).
pub fn object_name(first: &str, second: &str, label: &str) -> String {
    let underscores = usize::from(!second.is_empty()) + usize::from(!label.is_empty());
    let available = NAME_BYTES_MAX.saturating_sub(label.len() + underscores);
    let (mut a, mut b) = (first.len(), second.len());
    while a + b > available {
        if a > b { a -= 1 } else { b -= 1 }
    }
    let cut = |s: &str, n: usize| -> String {
        let end = (0..=n).rev().find(|i| s.is_char_boundary(*i)).unwrap_or(0);
        s[..end].to_string()
    };
    let mut name = cut(first, a);
    for part in [cut(second, b), label.to_string()] {
        if !part.is_empty() {
            name.push('_');
            name.push_str(&part);
        }
    }
    name
}

impl Catalog {
    /// A name for a constraint of a table and perhaps a column. It differs from all constraints of
    /// the schema, and from the planned ones (ChooseConstraintName): `t_a_check`, `t_a_check1` ….
    pub fn free_constraint_name(
        &self,
        schema: Oid,
        (table, column, label): (&str, &str, &str),
        taken: &[&str],
    ) -> String {
        let mut name = object_name(table, column, label);
        let mut pass = 0;
        while taken.contains(&&*name) || self.has_constraint(schema, &name) {
            pass += 1;
            name = object_name(table, column, &format!("{label}{pass}"));
        }
        name
    }
}
