//! The names of conditions (`unique_violation`) and the SQLSTATEs that they stand for.
//!
//! `data/conditions.tsv` is PostgreSQL's list of error codes, in its order, extracted by
//! `tools/extract-conditions.sh`. A name may stand for two codes.

use steppe_types::{Error, Result, SqlState};

const LIST: &str = include_str!("../data/conditions.tsv");

/// An error or errors that a WHEN of an exception section catches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `OTHERS`: all errors but `query_canceled` and `assert_failure`.
    Others,
    /// One SQLSTATE. One that ends in `000` stands for its whole class.
    SqlState(SqlState),
}

impl Condition {
    /// Whether an error of this SQLSTATE is caught.
    pub fn catches(self, raised: SqlState) -> bool {
        match self {
            // query_canceled and assert_failure have to be named.
            Condition::Others => !matches!(&raised.0, b"57014" | b"P0004"),
            Condition::SqlState(state) => {
                state == raised || (&state.0[2..] == b"000" && state.0[..2] == raised.0[..2])
            }
        }
    }
}

/// The SQLSTATEs of a name, in PostgreSQL's order.
fn states(name: &str) -> impl Iterator<Item = SqlState> {
    LIST.lines().filter_map(move |line| {
        let (listed, code) = line.split_once('\t')?;
        (listed == name).then(|| code.as_bytes().try_into().map(SqlState).ok()).flatten()
    })
}

/// The conditions of a name in a WHEN.
pub(crate) fn named(name: &str) -> Result<Vec<Condition>> {
    if name == "others" {
        return Ok(vec![Condition::Others]);
    }
    let found: Vec<Condition> = states(name).map(Condition::SqlState).collect();
    if found.is_empty() { Err(unrecognized(name)) } else { Ok(found) }
}

/// The SQLSTATE that RAISE gives an error: of a condition's name, or spelt as a code.
pub fn raised(text: &str) -> Result<SqlState> {
    code(text).or_else(|| states(text).next()).ok_or_else(|| unrecognized(text))
}

/// The SQLSTATE of a condition's name alone.
pub(crate) fn of_name(name: &str) -> Result<SqlState> {
    states(name).next().ok_or_else(|| unrecognized(name))
}

/// A SQLSTATE spelt as its five characters.
pub(crate) fn code(text: &str) -> Option<SqlState> {
    let code: [u8; 5] = text.as_bytes().try_into().ok()?;
    let valid = code.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    valid.then_some(SqlState(code))
}

fn unrecognized(name: &str) -> Error {
    let message = format!("unrecognized exception condition \"{name}\"");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_classes() {
        let division = named("division_by_zero").unwrap_or_default();
        assert_eq!(division, [Condition::SqlState(SqlState::DIVISION_BY_ZERO)]);
        assert!(Condition::SqlState(SqlState(*b"22000")).catches(SqlState::DIVISION_BY_ZERO));
        assert!(!Condition::SqlState(SqlState(*b"22012")).catches(SqlState(*b"22000")));
        assert!(!Condition::Others.catches(SqlState::QUERY_CANCELED));
        assert!(Condition::Others.catches(SqlState::DIVISION_BY_ZERO));
        // Two codes have one name.
        assert_eq!(named("string_data_right_truncation").unwrap_or_default().len(), 1);
        assert_eq!(named("modifying_sql_data_not_permitted").unwrap_or_default().len(), 2);
        assert!(named("no_such").is_err());
    }
}
