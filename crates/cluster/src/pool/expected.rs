//! Whether a session has reached the node that its coordinator means.
//!
//! A node is a database with an identity, which CREATE NODE has stored in it. Behind the same address there may
//! be another database later: a server was restored from an old backup, a name points elsewhere. Or a
//! standby, whose data are behind. Then statements would read and write the wrong rows, and recovery would
//! take a transaction for ended. So each new connection asks, in one round trip, before it is used.
//!
//! The database's texts must be UTF-8 and ordered by code points, as those of the coordinator are. Otherwise
//! ranges, ORDER BY, max() and unique indexes differ between nodes.

use steppe_types::{Error, Result, SqlState};

use super::OpenFailure;
use crate::NodeId;

/// The state of a database, in the order of [`DatabaseState`]'s fields.
const STATE: &str = "pg_catalog.pg_is_in_recovery(), d.datlocprovider::text, d.datcollate, \
     pg_catalog.pg_encoding_to_char(d.encoding) FROM pg_catalog.pg_database d \
     WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

/// libc's locales that order by code points (glibc's C.UTF-8 does so).
const BY_CODE_POINT: [&str; 5] = ["C", "POSIX", "C.UTF-8", "C.utf8", "C.UTF8"];

/// A value of a row; `None` is NULL.
type Value = Option<Vec<u8>>;

/// The properties of a node's database that the coordinator depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseState {
    /// The server is a standby.
    pub is_standby: bool,
    provider: String,
    collation: String,
    encoding: String,
}

impl DatabaseState {
    /// The statement that asks for it.
    pub fn question() -> String {
        format!("SELECT {STATE}")
    }

    /// Reads the answer. `None`: it is none.
    pub fn read(row: &[Value]) -> Option<DatabaseState> {
        let [is_standby, provider, collation, encoding] = row else { return None };
        let text = |value: &Value| Some(String::from_utf8_lossy(value.as_deref()?).into_owned());
        Some(DatabaseState {
            is_standby: is_standby.as_deref() == Some(b"t"),
            provider: text(provider)?,
            collation: text(collation)?,
            encoding: text(encoding)?,
        })
    }

    /// 55000 if the database's texts are not those of the coordinator.
    pub fn check_texts(&self) -> Result<()> {
        if self.encoding != "UTF8" {
            return Err(unlike(format!("Its encoding is {}, and not UTF8.", self.encoding)));
        }
        let is_by_code_point = match self.provider.as_str() {
            // All of its locales are.
            "b" => true,
            "c" => BY_CODE_POINT.contains(&self.collation.as_str()),
            _ => false,
        };
        match (is_by_code_point, self.provider.as_str()) {
            (true, _) => Ok(()),
            (false, "i") => Err(unlike("It orders texts by a locale of ICU.".to_owned())),
            (false, _) => {
                Err(unlike(format!("It orders texts by the locale \"{}\".", self.collation)))
            }
        }
    }
}

#[cold]
fn unlike(detail: String) -> Error {
    let message = "the database does not order texts as this server does";
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).detail(detail).hint(
        "Make a database with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'.",
    )
}

/// The database that the sessions of a node must reach.
#[derive(Clone, Debug)]
pub struct Expected {
    name: Box<str>,
    identity: NodeId,
}

impl Expected {
    /// The database with this identity, which is the node `name`.
    pub fn new(name: &str, identity: NodeId) -> Expected {
        Expected { name: name.into(), identity }
    }

    /// The statement that asks a new session.
    pub(crate) fn question() -> String {
        format!("SELECT (SELECT identity FROM steppe_cluster.node)::text, {STATE}")
    }

    /// Judges the first row of the answer, or the node's error. Errors: 08006 it is another database, or a
    /// standby, which may become the right server by itself. 55000 if its texts are not ordered as here
    /// ([`DatabaseState::check_texts`]). Other errors are the node's own.
    pub(crate) fn judge(&self, answer: Result<Option<&[Value]>>) -> Result<(), OpenFailure> {
        let row = match answer {
            Ok(row) => row,
            Err(error) if is_missing(error.sqlstate()) => return Err(self.another()),
            Err(error) => return Err(OpenFailure::Refused(error)),
        };
        let (identity, state) = row.and_then(<[Value]>::split_first).ok_or_else(no_answer)?;
        let identity = identity.as_deref().and_then(|text| std::str::from_utf8(text).ok());
        let identity = identity.and_then(|text| text.parse::<i64>().ok());
        if identity.map(i64::cast_unsigned) != Some(self.identity.0) {
            return Err(self.another());
        }
        let state = DatabaseState::read(state).ok_or_else(no_answer)?;
        if state.is_standby {
            let error = Error::new(SqlState::CONNECTION_FAILURE, "the server is a standby");
            return Err(OpenFailure::Down(error));
        }
        state.check_texts().map_err(OpenFailure::Refused)
    }

    #[cold]
    fn another(&self) -> OpenFailure {
        let message =
            format!("node \"{}\" is another database than the one it was made for", self.name);
        let error = Error::new(SqlState::CONNECTION_FAILURE, message);
        OpenFailure::Refused(error.hint("Use ALTER NODE if the node has moved."))
    }
}

#[cold]
fn no_answer() -> OpenFailure {
    let message = "the node has not said what it is";
    OpenFailure::Refused(Error::new(SqlState::PROTOCOL_VIOLATION, message))
}

/// The table of the identity, or its schema, is not there.
fn is_missing(state: SqlState) -> bool {
    matches!(state, SqlState::UNDEFINED_TABLE | SqlState::INVALID_SCHEMA_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(failure: OpenFailure) -> String {
        let (kind, error) = match failure {
            OpenFailure::Down(error) => ("down", error),
            OpenFailure::Refused(error) => ("refused", error),
            other => panic!("{other:?}"),
        };
        format!("{kind} {} {}", error.sqlstate().as_str(), error.message())
    }

    fn judged(row: &[Option<&str>]) -> String {
        let row: Vec<Value> = row.iter().map(|value| value.map(|text| text.into())).collect();
        let judged = Expected::new("dn1", NodeId(u64::MAX)).judge(Ok(Some(&row)));
        judged.err().map_or_else(String::new, text)
    }

    #[test]
    fn only_the_node_itself_is_accepted() {
        let right = [Some("-1"), Some("f"), Some("c"), Some("C"), Some("UTF8")];
        assert_eq!(judged(&right), "");
        let with = |at: usize, value| {
            let mut row = right;
            row[at] = value;
            judged(&row)
        };
        let another = "refused 08006 node \"dn1\" is another database than the one it was made for";
        assert_eq!(with(0, Some("1")), another);
        assert_eq!(with(0, None), another);
        assert_eq!(with(1, Some("t")), "down 08006 the server is a standby");
        let unlike = "refused 55000 the database does not order texts as this server does";
        assert_eq!(with(2, Some("i")), unlike);
        assert_eq!(with(3, Some("en_US.UTF-8")), unlike);
        assert_eq!(with(4, Some("LATIN1")), unlike);
        assert_eq!(with(3, Some("C.UTF-8")), "");
        assert_eq!(with(2, Some("b")), "");
        assert!(judged(&right[..3]).starts_with("refused 08P01"));
        assert!(judged(&[]).starts_with("refused 08P01"));
    }

    #[test]
    fn a_database_without_an_identity_is_another_one() {
        let missing = Err(Error::new(SqlState::UNDEFINED_TABLE, "relation does not exist"));
        let failure = Expected::new("dn1", NodeId(1)).judge(missing).unwrap_err();
        assert!(text(failure).starts_with("refused 08006 node \"dn1\" is another database"));
    }
}
