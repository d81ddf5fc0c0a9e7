//! Why a whole-process test ended without success.

use std::{fmt, io};

/// Why a test ended without success.
#[derive(Debug)]
pub enum Failure {
    /// The server broke a guarantee.
    Broken(String),
    /// The test itself could not go on.
    Io(io::Error),
    /// The server refused a statement that it should run.
    Sql(tokio_postgres::Error),
}

/// The answer of a test's step.
pub type Result<T> = std::result::Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Broken(what) => f.write_str(what),
            Failure::Io(error) => error.fmt(f),
            Failure::Sql(error) => match error.as_db_error() {
                Some(answer) => write!(f, "{}: {}", answer.code().code(), answer.message()),
                None => error.fmt(f),
            },
        }
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        Failure::Sql(error)
    }
}
