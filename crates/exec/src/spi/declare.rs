//! DECLARE in a function (PerformCursorOpen), and what DECLARE refuses anywhere
//! (transformDeclareCursorStmt).
//!
//! A cursor WITH HOLD reads all its rows when its transaction commits, and stays open.

use super::Spi;
use super::portals::Declared;
use super::prepared::Way;
use super::utility::Run;
use crate::routine::SessionRoutines;
use std::sync::Arc;
use steppe_sql::ast::{CursorSensitivity, DeclareCursorStmt, Statement};
use steppe_sql::bind::Params;
use steppe_types::{Error, Result, SqlState};

/// Refuses a statement that is no read-only query, and options that conflict with row locks
/// (transformDeclareCursorStmt).
pub fn check_declared(declare: &DeclareCursorStmt) -> Result<()> {
    let Statement::Select(select) = &*declare.query else {
        let message = "DECLARE CURSOR must specify a SELECT statement";
        return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message));
    };
    let mut queries = select.with.iter().flat_map(|with| &with.ctes).map(|cte| &*cte.query);
    if queries.any(|query| !matches!(query, Statement::Select(_))) {
        let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let Some(clause) = select.locking.first() else { return Ok(()) };
    let clause = clause.strength.as_str();
    let refused = |kind: &str, what: String| {
        let detail = format!("{kind} cursors must be READ ONLY.");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what).detail(detail))
    };
    if declare.hold {
        return refused(
            "Holdable",
            format!("DECLARE CURSOR WITH HOLD ... {clause} is not supported"),
        );
    }
    if declare.scroll == Some(true) {
        return refused(
            "Scrollable",
            format!("DECLARE SCROLL CURSOR ... {clause} is not supported"),
        );
    }
    if declare.sensitivity == CursorSensitivity::Insensitive {
        let message = format!("DECLARE INSENSITIVE CURSOR ... {clause} is not valid");
        return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message)
            .detail("Insensitive cursors must be READ ONLY."));
    }
    Ok(())
}

impl Spi<'_> {
    /// DECLARE.
    pub(super) fn declare_cursor(
        &mut self,
        declare: &DeclareCursorStmt,
        params: &Params,
        run: &Run<'_>,
    ) -> Result<()> {
        check_declared(declare)?;
        if self.has_cursor(&declare.name) {
            let message = format!("cursor \"{}\" already exists", declare.name);
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
        }
        let query = Arc::new((*declare.query).clone());
        let mut prepared = self.prepared_query(&query, run.source, params, Way::CURSOR)?;
        let cursor = self.open(&mut prepared, run.values, declare.scroll)?;
        let options = Declared { hold: declare.hold, binary: declare.binary };
        self.put_declared(Some(&declare.name), cursor, run.source, options).map(drop)
    }

    /// The transaction commits: the cursors WITH HOLD read all their rows.
    pub fn hold_declared(&mut self) -> Result<()> {
        for portal in SessionRoutines::of(&**self.session())?.cursors.to_hold() {
            self.with_portal(&portal, |cursor, spi| cursor.hold(spi))?;
            portal.outlives_its_transaction();
        }
        Ok(())
    }
}
