//! This server's own database as a participant of transactions over nodes: parts of them that are
//! prepared in the engine.

use std::sync::{Arc, Weak};

use steppe_cluster::commit::{Answer, Gid, Life, Listing, PreparedRow, Request, XactStatus, Xid};
use steppe_cluster::transaction::LocalNode;
use steppe_txn::XidStatus;
use steppe_types::{Error, Result, SqlState};

use crate::server::Server;
use crate::session::prepared_note;

/// The prepared parts of the engine.
pub(super) struct LocalDatabase(Weak<Server>);

impl LocalDatabase {
    pub(super) fn of(server: &Arc<Server>) -> LocalDatabase {
        LocalDatabase(Arc::downgrade(server))
    }
}

impl LocalNode for LocalDatabase {
    fn answer(&self, request: &Request) -> Answer {
        let Some(server) = self.0.upgrade() else { return Answer::Lost };
        match request {
            Request::Register(_) | Request::Forget(_) | Request::ForgetFences => Answer::Done,
            Request::List => list(&server).map_or_else(Answer::Refused, Answer::Listed),
            Request::Finish { gid, commit } => finish(&server, *gid, *commit),
            Request::Status(xid) => Answer::Status(status(&server, *xid), Life(None)),
            // The deciding node is never this one, and a session ends its own transaction.
            _ => Answer::Refused(Error::internal("no request to the coordinator's database")),
        }
    }
}

fn list(server: &Server) -> Result<Listing> {
    let mut listing = Listing::default();
    for prepared in server.engine.prepared_transactions() {
        let Some(gid) = Gid::parse(prepared.gid.as_bytes()) else { continue };
        let (owner, since) = prepared_note(&prepared.note)?;
        listing.prepared.push(PreparedRow { gid, xid: Xid(prepared.xid), owner, since });
    }
    Ok(listing)
}

/// Ends a part durably. [`crate::session`] refuses to end one for a person. So a part that is missing
/// has been ended as it was decided.
fn finish(server: &Arc<Server>, gid: Gid, commit: bool) -> Answer {
    match crate::session::end_prepared_now(server, &gid.to_string(), commit) {
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_OBJECT => Answer::Done,
        Ok(()) => Answer::Done,
        Err(error) => Answer::Refused(error),
    }
}

fn status(server: &Server, xid: Xid) -> XactStatus {
    match server.engine.xid_status(xid.0) {
        Some(XidStatus::Committed) => XactStatus::Committed,
        Some(XidStatus::Aborted) => XactStatus::Aborted,
        Some(XidStatus::InProgress) => XactStatus::InProgress,
        None => XactStatus::Unknown,
    }
}
