//! PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED
//! (src/backend/access/transam/twophase.c), and pg_prepared_xacts.
//!
//! The engine keeps a prepared transaction, with a note for pg_prepared_xacts that outlives the
//! server. Its catalog changes stay with it in memory. After a restart they are read from its rows
//! of the catalog, once it has committed.
//!
//! There is one database, and every session has all rights: a session that knows the identifier may
//! end the transaction.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::{BOOTSTRAP_SUPERUSER, CatalogChanges};
use steppe_cluster::commit::{Answer, Gid, Request, Xid};
use steppe_cluster::transaction::LocalPart;
use steppe_txn::{Attached, HeldPrepared, Txn};
use steppe_types::{Datum, Error, Result, SqlState};

use super::tag::CommandTag;
use super::{Identity, Session};
use crate::activity::SessionCounts;
use crate::server::{Phase, Server};
use crate::services::now_micros;

/// Microseconds from the Unix epoch to 2000-01-01 UTC.
const UNIX_TO_2000_MICROS: i64 = 946_684_800_000_000;

/// The data kept with a prepared transaction.
#[derive(Debug, Default, PartialEq, Eq)]
struct Note {
    /// Microseconds since 2000-01-01 UTC.
    prepared_at: i64,
    changes_catalog: bool,
    owner: String,
    database: String,
}

impl Note {
    /// The note of a transaction that is prepared now.
    fn of(identity: &Identity, changes: Option<&CatalogChanges>) -> Note {
        Note {
            prepared_at: now_micros(),
            changes_catalog: changes.is_some(),
            owner: identity.user.to_string(),
            database: identity.database.to_string(),
        }
    }

    /// Encodes the time, a flag, the owner, a zero byte, and the database.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.prepared_at.to_le_bytes().to_vec();
        bytes.push(u8::from(self.changes_catalog));
        bytes.extend_from_slice(self.owner.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.database.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Note> {
        let read = || {
            let (time, rest) = bytes.split_first_chunk::<8>()?;
            let (flag, names) = rest.split_first()?;
            let (owner, database) = std::str::from_utf8(names).ok()?.split_once('\0')?;
            Some(Note {
                prepared_at: i64::from_le_bytes(*time),
                changes_catalog: *flag != 0,
                owner: owner.to_owned(),
                database: database.to_owned(),
            })
        };
        read().ok_or_else(|| Error::internal("unreadable note of a prepared transaction"))
    }
}

/// The rows of pg_prepared_xacts.
pub(crate) fn rows(server: &Server) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_prepared_xacts")?;
    for prepared in server.engine.prepared_transactions() {
        let note = Note::decode(&prepared.note)?;
        builder.row([
            ("transaction", Datum::Oid(prepared.xid as u32)),
            ("gid", Datum::text(&*prepared.gid)),
            ("prepared", Datum::TimestampTz(note.prepared_at)),
            ("owner", Datum::text(&*note.owner)),
            ("database", Datum::text(&*note.database)),
        ]);
    }
    builder.finish()
}

/// The rows of pg_prepared_xact(), with the OIDs of the role and the database.
pub(crate) fn shown(server: &Server) -> Result<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for prepared in server.engine.prepared_transactions() {
        let note = Note::decode(&prepared.note)?;
        rows.push(vec![
            Datum::Oid(prepared.xid as u32),
            Datum::text(&*prepared.gid),
            Datum::TimestampTz(note.prepared_at),
            Datum::Oid(BOOTSTRAP_SUPERUSER),
            Datum::Oid(POSTGRES_DATABASE),
        ]);
    }
    Ok(rows)
}

const HOLDS: &str = "cannot PREPARE a transaction that has created a cursor WITH HOLD";

impl Session {
    /// PREPARE TRANSACTION.
    pub(super) fn prepare_transaction(&mut self, gid: &str) -> Result<CommandTag> {
        if !self.transaction.in_block() {
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
            if !self.in_block_of_any_kind() {
                self.commit()?;
                return Ok(CommandTag::Plain("ROLLBACK"));
            }
            // The changes of a message's or pipeline's earlier statements are prepared all the
            // same.
            self.start_transaction()?;
        }
        if self.transaction.is_failed() {
            self.rollback()?;
            return Ok(CommandTag::Plain("ROLLBACK"));
        }
        self.end_by_preparing(gid)?;
        Ok(CommandTag::Plain("PREPARE TRANSACTION"))
    }

    fn end_by_preparing(&mut self, gid: &str) -> Result<()> {
        // The block ends even if this fails, as after COMMIT.
        self.end_block_now();
        self.check_deferred()?;
        self.portals.try_cursors(|cursor| match cursor.is_to_be_held() {
            true => Err(cannot(HOLDS)),
            false => Ok(()),
        })?;
        if self.core.routines.has_cursors_to_hold() {
            return Err(cannot(HOLDS));
        }
        self.portals.end_transaction(&mut self.transaction);
        if self.core.exported.load(Ordering::Relaxed) != 0 {
            return Err(cannot("cannot PREPARE a transaction that has exported snapshots"));
        }
        self.check_no_temporary()?;
        if self.transaction.running()?.participants_if_any().is_some() {
            return Err(cannot(
                "cannot PREPARE a transaction that has operated on tables on nodes",
            ));
        }
        let transaction =
            self.transaction.txn.take().ok_or_else(|| Error::internal("no transaction"))?;
        let (txn, changes) = transaction.into_parts();
        // COMMIT PREPARED may publish them as they are: they are no longer the session's.
        self.namespace_version = 0;
        let note = Note::of(&self.core.identity, changes.as_ref());
        let attached = changes.map(|changes| Arc::new(changes) as _);
        tokio::task::block_in_place(|| txn.prepare(gid, &note.encode(), attached))?;
        self.forget_transaction(true);
        Ok(())
    }

    /// 0A000 if the transaction has used a temporary table, since the session's end drops it.
    pub(super) fn check_no_temporary(&mut self) -> Result<()> {
        let published = self.server().catalog.published();
        let own = self.transaction.changes().map(|changes| Arc::clone(changes.catalog()));
        let is_temporary = |oid: u32| {
            let catalogs = own.iter().chain(std::iter::once(&published));
            let mut found = catalogs.filter_map(|catalog| Some((catalog, catalog.relation(oid)?)));
            found.any(|(catalog, relation)| catalog.is_temporary(relation))
        };
        if self.transaction.txn()?.locked_relations().into_iter().any(is_temporary) {
            let what = "cannot PREPARE a transaction that has operated on temporary objects";
            return Err(cannot(what));
        }
        Ok(())
    }

    /// COMMIT PREPARED and ROLLBACK PREPARED.
    pub(super) fn end_prepared(&mut self, gid: &str, commit: bool) -> Result<CommandTag> {
        let command = if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        self.prevent_in_block(command)?;
        if Gid::parse(gid.as_bytes()).is_some() {
            let message = format!("{command} of a part of a transaction over nodes");
            return Err(Error::not_supported(message));
        }
        let server = Arc::clone(self.server());
        let wait = tokio::task::block_in_place(|| {
            let held = server.engine.hold_prepared(gid)?;
            if commit { commit_prepared(&server, held) } else { held.rollback() }
        })?;
        let counts = &self.control.activity.counts;
        SessionCounts::add(if commit { &counts.commits } else { &counts.rollbacks }, 1);
        self.core.flush_to.fetch_max(wait.lsn.0, Ordering::AcqRel);
        Ok(CommandTag::Plain(command))
    }
}

/// The local part of a transaction over nodes, while its session has it.
pub(super) struct OwnPart {
    server: Arc<Server>,
    open: Option<(Txn, Option<CatalogChanges>)>,
    note: Note,
    /// Why it cannot be prepared.
    unpreparable: Option<Error>,
}

impl OwnPart {
    pub(super) fn new(
        session: &Session,
        open: (Txn, Option<CatalogChanges>),
        unpreparable: Option<Error>,
    ) -> OwnPart {
        let note = Note::of(&session.core.identity, open.1.as_ref());
        OwnPart { server: Arc::clone(session.server()), open: Some(open), note, unpreparable }
    }

    fn prepare(&mut self, gid: &Gid) -> Result<Xid> {
        let (mut txn, changes) = self.open.take().ok_or_else(over)?;
        if let Some(error) = self.unpreparable.take() {
            txn.rollback()?;
            return Err(error);
        }
        let xid = txn.assign_xid();
        let attached = changes.map(|changes| Arc::new(changes) as _);
        txn.prepare_part(&gid.to_string(), &self.note.encode(), attached)?;
        Ok(Xid(xid))
    }

    fn commit(&mut self) -> Result<()> {
        let (txn, changes) = self.open.take().ok_or_else(over)?;
        let catalog = &self.server.catalog;
        let wait = match changes {
            None => txn.commit()?,
            Some(changes) => txn.commit_with(|| catalog.publish(&changes))?,
        };
        self.server.cluster.follow(&self.server);
        self.server.engine.wait_durable(wait.lsn)
    }
}

impl LocalPart for OwnPart {
    fn carry_out(&mut self, request: &Request) -> Answer {
        let done = match request {
            Request::Prepare(gid) => self.prepare(gid).map(Answer::Prepared),
            Request::Commit => self.commit().map(|()| Answer::Done),
            _ => self.open.take().map_or(Ok(()), |(txn, _)| txn.rollback()).map(|()| Answer::Done),
        };
        done.unwrap_or_else(Answer::Refused)
    }
}

#[cold]
fn over() -> Error {
    Error::internal("the local part of a transaction is over")
}

/// The owner of a prepared transaction, and when it was prepared: microseconds since 1970.
pub(crate) fn prepared_note(bytes: &[u8]) -> Result<(String, i64)> {
    let note = Note::decode(bytes)?;
    Ok((note.owner, note.prepared_at + UNIX_TO_2000_MICROS))
}

/// Ends a prepared transaction durably.
pub(crate) fn end_prepared_now(server: &Arc<Server>, gid: &str, commit: bool) -> Result<()> {
    let held = server.engine.hold_prepared(gid)?;
    let wait = if commit { commit_prepared(server, held) } else { held.rollback() }?;
    server.engine.wait_durable(wait.lsn)
}

fn commit_prepared(server: &Arc<Server>, held: HeldPrepared) -> Result<steppe_txn::CommitWait> {
    let note = Note::decode(held.note())?;
    let changes = changes_of(held.attached());
    let mut published = Ok(());
    let wait = held.commit_with(|| {
        published = match changes {
            Some(changes) => {
                server.catalog.publish(&changes);
                Ok(())
            }
            None if note.changes_catalog => server.catalog.reload(),
            None => Ok(()),
        };
    })?;
    if published.is_err() {
        // It has committed, but its changes of the catalog are not visible. Only a restart reads
        // them.
        server.phase.send_replace(Phase::Failed);
    }
    server.cluster.follow(server);
    published.map(|()| wait)
}

fn changes_of(attached: Attached) -> Option<Arc<CatalogChanges>> {
    attached?.downcast().ok()
}

fn cannot(what: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_round_trip_and_garbage_is_refused() {
        let note = Note {
            prepared_at: -5,
            changes_catalog: true,
            owner: "bob".into(),
            database: "postgres".into(),
        };
        assert_eq!(Note::decode(&note.encode()).expect("reads"), note);
        for end in 0..9 {
            assert!(Note::decode(&note.encode()[..end]).is_err());
        }
    }
}
