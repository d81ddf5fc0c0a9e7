//! The settings of a coordinator's sessions on a node.
//!
//! Some are the same in all sessions ([`FIXED`]): the coordinator prints statements and reads values in one
//! way, and ends what takes too long by itself. They are in the start-up packet.
//!
//! Others are those of the coordinator's session. A connection remembers the settings that it was brought to,
//! so that its next user sends only the difference, and mostly nothing. These are sent outside of a
//! transaction: a rollback would take them back unnoticed. Settings that change within a transaction
//! precede its next statement, as local ones ([`Settings::changes`]).

use std::fmt::Write;
use std::sync::Arc;

/// The settings of every session on a node, in words that PostgreSQL 15 to 18 know.
///
/// Texts of floating-point numbers have all digits. Texts of other values depend on no locale. Names without a
/// schema are those of pg_catalog. The coordinator has time-outs of its own, so those of the node are off.
pub const FIXED: [(&str, &str); 17] = [
    ("extra_float_digits", "3"),
    ("search_path", "pg_catalog, pg_temp"),
    ("standard_conforming_strings", "on"),
    ("array_nulls", "on"),
    ("transform_null_equals", "off"),
    ("lc_monetary", "C"),
    ("lc_numeric", "C"),
    ("lc_time", "C"),
    ("timezone_abbreviations", "Default"),
    ("xmlbinary", "base64"),
    ("xmloption", "content"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "off"),
    ("default_transaction_deferrable", "off"),
    ("statement_timeout", "0"),
    ("idle_in_transaction_session_timeout", "0"),
    ("idle_session_timeout", "0"),
];

/// The statement that changes one setting until the end of the transaction.
pub(crate) const SET_LOCALLY: &str = "SELECT pg_catalog.set_config($1, $2, true)";

/// Names and values of settings, ordered by name, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Arc<[(String, String)]>);

impl Settings {
    /// The settings with these names and values.
    pub fn of(mut values: Vec<(String, String)>) -> Settings {
        values.sort();
        values.dedup_by(|later, first| later.0 == first.0);
        Settings(values.into())
    }

    fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// Whether these are the same values in one place: comparing them costs nothing.
    pub fn is_same(&self, other: &Settings) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The settings of `wanted` that have other values here.
    pub fn changes<'a>(
        &'a self,
        wanted: &'a Settings,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        let is_new = |(name, value): &&(String, String)| self.get(name) != Some(value);
        wanted.0.iter().filter(is_new).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The statement that brings a session with these settings to others; `None` if it has them.
    pub fn difference(&self, wanted: &Settings) -> Option<String> {
        if self.is_same(wanted) {
            return None;
        }
        let mut sql = String::new();
        for (name, _) in self.0.iter().filter(|(name, _)| wanted.get(name).is_none()) {
            let _ = write!(sql, "RESET {}; ", identifier(name));
        }
        for (i, (name, value)) in self.changes(wanted).enumerate() {
            let before = if i == 0 { "SELECT " } else { ", " };
            let (name, value) = (literal(name), literal(value));
            let _ = write!(sql, "{before}pg_catalog.set_config({name}, {value}, false)");
        }
        Some(sql).filter(|sql| !sql.is_empty())
    }
}

/// A name in double quotes; the parts of a name with a dot each.
fn identifier(name: &str) -> String {
    let quoted = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    name.split('.').map(quoted).collect::<Vec<_>>().join(".")
}

/// A literal that standard_conforming_strings does not change (PQescapeLiteral).
fn literal(value: &str) -> String {
    let doubled = value.replace('\'', "''");
    match doubled.contains('\\') {
        true => format!(" E'{}'", doubled.replace('\\', "\\\\")),
        false => format!("'{doubled}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> Settings {
        Settings::of(values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    #[test]
    fn only_the_difference_is_sent() {
        let none = Settings::default();
        let first = settings(&[("TimeZone", "UTC"), ("DateStyle", "ISO, MDY")]);
        assert_eq!(none.difference(&none), None);
        assert_eq!(first.difference(&first.clone()), None);
        assert_eq!(
            none.difference(&first).unwrap(),
            "SELECT pg_catalog.set_config('DateStyle', 'ISO, MDY', false), \
             pg_catalog.set_config('TimeZone', 'UTC', false)"
        );
        let second = settings(&[("TimeZone", "UTC"), ("search_path", r#""a'b\c", public"#)]);
        assert_eq!(
            first.difference(&second).unwrap(),
            r#"RESET "DateStyle"; SELECT pg_catalog.set_config('search_path',  E'"a''b\\c", public', false)"#
        );
        assert_eq!(
            settings(&[("my.own", "1")]).difference(&none).unwrap(),
            "RESET \"my\".\"own\"; "
        );
        assert_eq!(settings(&[("a", "1")]).difference(&settings(&[("a", "1")])), None);
    }
}
