//! The answers of nodes to the statements of the protocol.
//!
//! An error tells that a COMMIT has not happened, if its severity is ERROR: after its commit record a
//! transaction cannot fail any more (xact.c, CommitTransaction), but its session can end with FATAL
//! (SyncRepWaitForLSN). A command tag is compared, too: COMMIT and PREPARE TRANSACTION of a failed
//! transaction succeed with the tag ROLLBACK. A reply that is none of the expected ones counts as
//! lost, so that the question is asked again.

use steppe_types::error::Severity;
use steppe_types::{Error, SqlState};

use super::gid::{Gid, TransactionKey};
use super::record::{Decision, PreparedPart, Xid, read_parts};
use super::request::Request;

/// The values of a row, `None` for NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// The reply to one statement of a simple query.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Its rows, in text format.
    pub rows: Vec<Row>,
    /// Its command tag, such as `COMMIT PREPARED`.
    pub tag: String,
}

/// A time from one crash of a server to the next; see [`Request::sql`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life(pub Option<i64>);

/// The state of a transaction, as pg_xact_status has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XactStatus {
    /// It is running or prepared, or its COMMIT waits for a standby.
    InProgress,
    /// It has committed.
    Committed,
    /// It has rolled back, or a crash has ended it.
    Aborted,
    /// The node no longer knows, or is a standby, which may be behind.
    Unknown,
}

/// A prepared transaction on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedRow {
    /// Its identifier.
    pub gid: Gid,
    /// Its number on the node.
    pub xid: Xid,
    /// The role that may end it, besides superusers.
    pub owner: String,
    /// When it was prepared, by the node's clock: microseconds since 1970.
    pub since: i64,
}

/// The transactions of Steppe that a node knows of. Foreign ones are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The prepared transactions.
    pub prepared: Vec<PreparedRow>,
    /// Commits that it has decided.
    pub records: Vec<(TransactionKey, Vec<PreparedPart>)>,
}

/// An answer to a [`Request`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// The request was carried out.
    Done,
    /// To [`Request::AskXid`].
    Xid(Option<Xid>, Life),
    /// To [`Request::Prepare`].
    Prepared(Xid),
    /// To [`Request::Fence`].
    Decision(Decision),
    /// To [`Request::Fence`] and [`Request::Register`]: a later generation of the coordinator is
    /// registered. The one that asked must end.
    Superseded,
    /// To [`Request::Finish`]: no such prepared transaction exists. This says nothing about its end.
    Missing,
    /// To [`Request::Status`].
    Status(XactStatus, Life),
    /// To [`Request::List`].
    Listed(Listing),
    /// The node refused. The request was not carried out.
    Refused(Error),
    /// The connection broke, or what came was no answer. Whether the request was, or will be, carried
    /// out is unknown. The session must not be used again.
    Lost,
}

impl Request {
    /// The answer that an error is. A broken connection is [`Answer::Lost`], which the caller knows.
    pub fn failed(&self, error: Error) -> Answer {
        if matches!(error.fields().severity, Severity::Fatal | Severity::Panic) {
            return Answer::Lost;
        }
        let is_finish = matches!(self, Request::Finish { .. });
        match is_finish && error.sqlstate() == SqlState::UNDEFINED_OBJECT {
            true => Answer::Missing,
            false => Answer::Refused(error),
        }
    }

    /// The answer that the replies to the request's statements are.
    pub fn answered(&self, replies: &[Reply]) -> Answer {
        self.read(replies).unwrap_or(Answer::Lost)
    }

    fn read(&self, replies: &[Reply]) -> Option<Answer> {
        let last = replies.last()?;
        let ended = |tag| match last.tag.as_str() {
            found if found == tag => Some(Answer::Done),
            "ROLLBACK" => Some(Answer::Refused(rolled_back())),
            _ => None,
        };
        match self {
            Request::AskXid => {
                let [xid, life] = values(replies.first()?.rows.first()?)?;
                let xid = xid.map(number).map_or(Some(None), |xid| xid.map(|xid| Some(Xid(xid))));
                Some(Answer::Xid(xid?, read_life(life)))
            }
            Request::Commit | Request::Decide(..) => ended("COMMIT"),
            Request::Prepare(_) => match ended("PREPARE TRANSACTION")? {
                Answer::Done => {
                    let [xid] = values(replies.first()?.rows.first()?)?;
                    Some(Answer::Prepared(Xid(number(xid?)?)))
                }
                other => Some(other),
            },
            Request::Fence { .. } => read_fence(replies),
            Request::Status(_) => read_status(values(last.rows.first()?)?),
            Request::Register(_) => match replies {
                [.., registered, _] if last.tag == "COMMIT" => Some(match registered.rows.len() {
                    0 => Answer::Superseded,
                    _ => Answer::Done,
                }),
                _ => None,
            },
            Request::List => read_list(replies).map(Answer::Listed),
            Request::Finish { commit: true, .. } => is_tag(last, "COMMIT PREPARED"),
            Request::Finish { commit: false, .. } => is_tag(last, "ROLLBACK PREPARED"),
            Request::Rollback => is_tag(last, "ROLLBACK"),
            Request::Forget(_) | Request::ForgetFences => {
                last.tag.starts_with("DELETE ").then_some(Answer::Done)
            }
        }
    }
}

fn is_tag(reply: &Reply, tag: &str) -> Option<Answer> {
    (reply.tag == tag).then_some(Answer::Done)
}

/// COMMIT of a transaction that had failed before.
fn rolled_back() -> Error {
    Error::new(SqlState::TRANSACTION_ROLLBACK, "the transaction was rolled back on a node")
}

fn values<const COUNT: usize>(row: &Row) -> Option<[Option<&[u8]>; COUNT]> {
    let values: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
    values.try_into().ok()
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn read_life(text: Option<&[u8]>) -> Life {
    Life(text.and_then(number))
}

/// The registration, the insertion, the record and COMMIT come last.
fn read_fence(replies: &[Reply]) -> Option<Answer> {
    let [.., registered, _, record, commit] = replies else { return None };
    is_tag(commit, "COMMIT")?;
    let Some(record) = record.rows.first() else {
        return registered.rows.is_empty().then_some(Answer::Superseded);
    };
    let [participants] = values(record)?;
    Some(Answer::Decision(match participants {
        Some(participants) => Decision::Committed(read_parts(participants)?),
        None => Decision::Aborted,
    }))
}

fn read_status([status, life, is_standby]: [Option<&[u8]>; 3]) -> Option<Answer> {
    let status = match status {
        _ if is_standby? != b"f" => XactStatus::Unknown,
        None => XactStatus::Unknown,
        Some(b"in progress") => XactStatus::InProgress,
        Some(b"committed") => XactStatus::Committed,
        Some(b"aborted") => XactStatus::Aborted,
        Some(_) => return None,
    };
    Some(Answer::Status(status, read_life(life)))
}

fn read_list(replies: &[Reply]) -> Option<Listing> {
    let [prepared, records] = replies else { return None };
    let mut listing = Listing::default();
    for row in &prepared.rows {
        let [gid, xid, next, owner, since] = values(row)?;
        let Some(gid) = Gid::parse(gid?) else { continue };
        let xid = Xid::widen(number(xid?)?, Xid(number(next?)?));
        let owner = String::from_utf8_lossy(owner?).into_owned();
        listing.prepared.push(PreparedRow { gid, xid, owner, since: number(since?)? });
    }
    for row in &records.rows {
        let [key, participants] = values(row)?;
        if let (Some(key), Some(parts)) = (TransactionKey::parse(key?), read_parts(participants?)) {
            listing.records.push((key, parts));
        }
    }
    Some(listing)
}
