//! FETCH, MOVE and CLOSE of cursors that functions have opened (refcursor).
//!
//! Such a cursor belongs to the executor ([`steppe_exec::SpiCursor`]), which keeps it with the
//! session's routines until the transaction ends; one WITH HOLD stays.

use steppe_exec::RowSink;
use steppe_exec::spi::with_spi;
use steppe_sql::ast::FetchStmt;
use steppe_sql::plan::ResultColumn;
use steppe_types::{Datum, Result};

use super::Session;
use super::plan::put_description;
use super::sink::{ResultFormats, WireSink};
use super::tag::CommandTag;

/// Drops the rows of a MOVE.
struct Unwanted;

impl RowSink for Unwanted {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        Ok(())
    }
}

impl Session {
    /// Whether a function of the transaction has opened a cursor of this name.
    pub(super) fn is_functions_cursor(&self, name: &str) -> bool {
        self.core.routines.has_cursor(name)
    }

    /// The columns of such a cursor.
    pub(super) fn functions_cursor_columns(&mut self, name: &str) -> Result<Vec<ResultColumn>> {
        let env = self.statement.env.clone();
        with_spi(&env, &mut self.transaction.txn, |spi| {
            spi.with_cursor(name, |cursor, _| Ok(cursor.columns().to_vec()))
        })
    }

    /// FETCH and MOVE.
    pub(super) fn fetch_functions_cursor(
        &mut self,
        fetch: &FetchStmt,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<CommandTag> {
        let columns = self.functions_cursor_columns(&fetch.cursor)?;
        let portal = self.core.routines.open_cursor(&fetch.cursor);
        let is_binary = portal.is_some_and(|portal| portal.is_binary());
        let formats = if is_binary { &ResultFormats::Binary } else { formats };
        if describe && !fetch.is_move {
            put_description(&mut self.wire.out, &columns, formats)?;
        }
        let env = self.statement.env.clone();
        self.start_statement()?;
        let mut txn = self.transaction.txn.take();
        let mut wire = WireSink {
            out: &mut self.wire.out,
            columns: &columns,
            formats,
            io: &self.statement.env.io,
            rows_at: None,
        };
        let mut unwanted = Unwanted;
        let sink: &mut dyn RowSink = if fetch.is_move { &mut unwanted } else { &mut wire };
        let fetched = with_spi(&env, &mut txn, |spi| {
            spi.with_cursor(&fetch.cursor, |cursor, spi| {
                cursor.fetch_direction(spi, fetch.direction, fetch.count, sink)
            })
        });
        self.transaction.txn = txn;
        self.end_statement();
        Ok(CommandTag::Rows(if fetch.is_move { "MOVE" } else { "FETCH" }, fetched?))
    }

    /// ROLLBACK TO closes the cursors that were opened after the one of this number.
    pub(super) fn close_functions_cursors_since(&mut self, last: u64) -> Result<()> {
        if self.core.routines.last_opened_cursor() == last {
            return Ok(());
        }
        let env = self.statement.env.clone();
        with_spi(&env, &mut self.transaction.txn, |spi| spi.close_cursors_since(last))
    }

    /// CLOSE.
    pub(super) fn close_functions_cursor(&mut self, name: &str) -> Result<CommandTag> {
        let env = self.statement.env.clone();
        let closed = with_spi(&env, &mut self.transaction.txn, |spi| spi.close_cursor(name));
        closed.map(|()| CommandTag::Plain("CLOSE CURSOR"))
    }
}
