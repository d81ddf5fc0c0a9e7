//! Errors with positions, and what a client is told besides: notices, warnings, debug messages.

use super::DdlContext;
use steppe_sql::ast::{self, Location};
use steppe_sql::bind::typename::reduced_precision;
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

impl DdlContext<'_> {
    /// An error at a place in the statement.
    pub(crate) fn error(
        &self,
        sqlstate: SqlState,
        message: impl Into<String>,
        location: Location,
    ) -> Error {
        Error::new(sqlstate, message).at(location.position(self.source))
    }

    /// Sends a notice.
    pub(crate) fn notice(&self, message: String) {
        self.tell(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message);
    }

    /// Tells how the statement is carried out (DEBUG1).
    pub(crate) fn debug(&self, message: String) {
        self.tell(Severity::Debug, SqlState::SUCCESSFUL_COMPLETION, message);
    }

    /// Sends a warning.
    pub(crate) fn warn(&self, sqlstate: SqlState, message: String) {
        self.tell(Severity::Warning, sqlstate, message);
    }

    /// Warns of a precision that is reduced; with a place while the statement is looked at, and
    /// once more when it is done, as PostgreSQL does.
    pub(crate) fn warn_of_precision(&self, name: &ast::TypeName, at: Location) {
        if let Some(warning) = reduced_precision(name) {
            self.session.notice(warning.at(at.position(self.source)));
        }
    }

    /// Sends a notice with a detail.
    pub(crate) fn notice_with(&self, message: String, detail: String) {
        let notice = Error::new(SqlState::SUCCESSFUL_COMPLETION, message).detail(detail);
        self.session.notice(notice.severity(Severity::Notice));
    }

    /// The error that something is missing, or the notice in its place if IF EXISTS was said.
    pub(crate) fn skip_missing(&self, if_exists: bool, missing: Error) -> Result<()> {
        if !if_exists {
            return Err(missing);
        }
        self.notice(format!("{}, skipping", missing.message()));
        Ok(())
    }

    /// The error that something is there already, or the notice in its place, of the same SQLSTATE,
    /// if IF NOT EXISTS was said.
    pub(crate) fn skip_present(&self, if_not_exists: bool, present: Error) -> Result<()> {
        if !if_not_exists {
            return Err(present);
        }
        let message = format!("{}, skipping", present.message());
        self.tell(Severity::Notice, present.sqlstate(), message);
        Ok(())
    }

    fn tell(&self, severity: Severity, sqlstate: SqlState, message: String) {
        self.session.notice(Error::new(sqlstate, message).severity(severity));
    }
}
