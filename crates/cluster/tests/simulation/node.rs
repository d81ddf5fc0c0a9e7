//! A model of a PostgreSQL server: transactions, prepared transactions, waits for unique keys, and
//! crashes that keep what was committed or prepared.

use std::collections::{BTreeMap, BTreeSet};

use steppe_cluster::NodeId;
use steppe_cluster::commit::{
    Answer, Decision, Gid, Life, Listing, PreparedPart, PreparedRow, Request, TransactionKey,
    XactStatus, Xid,
};
#[cfg(feature = "planted-bugs")]
use steppe_cluster::commit::{PlantedBug, is_planted};
use steppe_types::{Error, SqlState};

/// Names a transaction of the simulation. Writing is leaving this mark on a node.
pub(crate) type Mark = usize;

pub(crate) type SessionId = u64;

#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// BEGIN, and a change. Without a mark: a read.
    Write(Option<Mark>),
    /// Takes a snapshot, and returns the marks in it.
    Bind,
    Request(Request),
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Answer(Answer),
    Seen(BTreeSet<Mark>),
}

/// A commit record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// `None`: a fence.
    parts: Option<Vec<PreparedPart>>,
    xid: u64,
}

#[derive(Debug, Default)]
struct Session {
    is_open: bool,
    has_failed: bool,
    xid: Option<u64>,
    mark: Option<Mark>,
    record: Option<(TransactionKey, Record)>,
    /// A coordinator's registration that it has locked FOR SHARE.
    shares: Option<u64>,
}

pub(crate) struct Prepared {
    pub(crate) xid: u64,
    pub(crate) mark: Option<Mark>,
}

pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) is_up: bool,
    life: i64,
    next_xid: u64,
    /// Smaller numbers are in the log on disk.
    durable_xid: u64,
    committed_xids: BTreeSet<u64>,
    pub(crate) committed: BTreeSet<Mark>,
    /// By identifiers, foreign ones included.
    pub(crate) prepared: BTreeMap<String, Prepared>,
    pub(crate) records: BTreeMap<TransactionKey, Record>,
    coordinators: BTreeMap<u64, u64>,
    sessions: BTreeMap<SessionId, Session>,
}

/// A message is executed in steps, between which other sessions run.
pub(crate) enum Step {
    Blocked,
    Continues,
    Replies(Reply),
}

fn done() -> Step {
    Step::Replies(Reply::Answer(Answer::Done))
}

fn answer(answer: Answer) -> Step {
    Step::Replies(Reply::Answer(answer))
}

fn refused(state: SqlState) -> Step {
    answer(Answer::Refused(Error::new(state, "refused by the model")))
}

impl Node {
    pub(crate) fn new(id: NodeId) -> Node {
        Node {
            id,
            is_up: true,
            life: 1,
            next_xid: 10,
            durable_xid: 10,
            committed_xids: BTreeSet::new(),
            committed: BTreeSet::new(),
            prepared: BTreeMap::new(),
            records: BTreeMap::new(),
            coordinators: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    pub(crate) fn crash(&mut self) {
        self.is_up = false;
        self.life += 1;
        self.sessions.clear();
        self.next_xid = self.durable_xid;
    }

    /// The session has ended: its transaction is rolled back.
    pub(crate) fn disconnect(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    pub(crate) fn holds_fences(&self) -> bool {
        self.records.values().any(|record| record.parts.is_none())
    }

    pub(crate) fn commit_records(&self) -> usize {
        self.records.values().filter(|record| record.parts.is_some()).count()
    }

    /// Ends a prepared transaction. False: there is none.
    pub(crate) fn end(&mut self, gid: &str, commit: bool) -> bool {
        let Some(Prepared { xid, mark }) = self.prepared.remove(gid) else { return false };
        if commit {
            self.commit(Some(xid), mark);
        }
        self.durable_xid = self.next_xid;
        true
    }

    /// A prepared transaction of another application.
    pub(crate) fn prepare_foreign(&mut self, gid: String) {
        let xid = self.assign();
        self.durable_xid = self.next_xid;
        self.prepared.entry(gid).or_insert(Prepared { xid, mark: None });
    }

    fn assign(&mut self) -> u64 {
        self.next_xid += 1;
        self.next_xid - 1
    }

    fn commit(&mut self, xid: Option<u64>, mark: Option<Mark>) {
        self.committed.extend(mark);
        self.committed_xids.extend(xid);
        if xid.is_some() {
            self.durable_xid = self.next_xid;
        }
    }

    fn commit_session(&mut self, id: SessionId) {
        let session = self.sessions.remove(&id).unwrap_or_default();
        self.commit(session.xid, session.mark);
        self.records.extend(session.record);
    }

    /// Another session has inserted this key, and has not ended.
    fn must_wait(&self, id: SessionId, key: &TransactionKey) -> bool {
        let inserted = |session: &Session| session.record.as_ref().map(|(key, _)| *key);
        self.sessions.iter().any(|(other, session)| *other != id && inserted(session) == Some(*key))
    }

    /// Executes a step of a message.
    pub(crate) fn step(&mut self, id: SessionId, message: &Message, step: usize) -> Step {
        match message {
            Message::Write(mark) => {
                let xid = mark.map(|_| self.assign());
                let session = self.sessions.entry(id).or_default();
                (session.is_open, session.xid, session.mark) = (true, xid, *mark);
                answer(Answer::Xid(xid.map(Xid), Life(Some(self.life))))
            }
            Message::Bind => Step::Replies(Reply::Seen(self.committed.clone())),
            Message::Request(request) => self.request(id, request, step),
        }
    }

    fn request(&mut self, id: SessionId, request: &Request, step: usize) -> Step {
        let life = Life(Some(self.life));
        match request {
            Request::AskXid => {
                let xid = self.sessions.get(&id).and_then(|session| session.xid);
                answer(Answer::Xid(xid.map(Xid), life))
            }
            Request::Commit => match self.sessions.get(&id) {
                Some(session) if session.is_open && !session.has_failed => {
                    self.commit_session(id);
                    done()
                }
                _ => refused(SqlState::TRANSACTION_ROLLBACK),
            },
            Request::Rollback => {
                self.sessions.remove(&id);
                done()
            }
            Request::Prepare(gid) => self.prepare(id, *gid),
            Request::Decide(key, parts) => self.decide(id, *key, parts, step),
            Request::Fence { transaction, by } => {
                self.fence(id, *transaction, (by.id, by.generation), step)
            }
            Request::Finish { gid, commit } => match self.end(&gid.to_string(), *commit) {
                true => done(),
                false => answer(Answer::Missing),
            },
            Request::Status(xid) => answer(Answer::Status(self.status(xid.0), life)),
            Request::Register(coordinator) => {
                match self.register(coordinator.id, coordinator.generation) {
                    None => Step::Blocked,
                    Some(true) => done(),
                    Some(false) => answer(Answer::Superseded),
                }
            }
            Request::List => answer(Answer::Listed(self.list())),
            Request::Forget(keys) => {
                self.records.retain(|key, record| record.parts.is_none() || !keys.contains(key));
                done()
            }
            Request::ForgetFences => {
                let open = self.sessions.values().filter_map(|session| session.xid);
                let prepared = self.prepared.values().map(|prepared| prepared.xid);
                let xmin = open.chain(prepared).min().unwrap_or(self.next_xid);
                #[cfg(feature = "planted-bugs")]
                let xmin = match is_planted(PlantedBug::FenceDeletedEarly) {
                    true => self.next_xid,
                    false => xmin,
                };
                self.records.retain(|_, record| record.parts.is_some() || record.xid >= xmin);
                done()
            }
        }
    }

    /// Whether this generation is the newest. `None`: another session has locked the row.
    fn register(&mut self, id: u64, generation: u64) -> Option<bool> {
        let is_shared = self.sessions.values().any(|session| session.shares == Some(id));
        let known = self.coordinators.entry(id).or_default();
        if *known < generation {
            if is_shared {
                return None;
            }
            *known = generation;
        }
        Some(*known == generation)
    }

    fn prepare(&mut self, id: SessionId, gid: Gid) -> Step {
        let Some(session) = self.sessions.remove(&id).filter(|session| session.is_open) else {
            return refused(SqlState::NO_ACTIVE_SQL_TRANSACTION);
        };
        let xid = session.xid.unwrap_or_else(|| self.assign());
        let prepared = Prepared { xid, mark: session.mark };
        assert!(self.prepared.insert(gid.to_string(), prepared).is_none(), "{gid} is unique");
        self.durable_xid = self.next_xid;
        answer(Answer::Prepared(Xid(xid)))
    }

    fn decide(
        &mut self,
        id: SessionId,
        key: TransactionKey,
        parts: &[PreparedPart],
        step: usize,
    ) -> Step {
        let Some(xid) = self.sessions.get(&id).and_then(|session| session.xid) else {
            return refused(SqlState::NO_ACTIVE_SQL_TRANSACTION);
        };
        let record = Record { parts: Some(parts.to_vec()), xid };
        #[cfg(feature = "planted-bugs")]
        if is_planted(PlantedBug::RecordOutside) {
            if step == 0 {
                let session = self.sessions.get_mut(&id).expect("is open");
                let mark = session.mark.take();
                self.commit(Some(xid), mark);
                return Step::Continues;
            }
            self.sessions.remove(&id);
            self.records.entry(key).or_insert(record);
            return done();
        }
        if step > 0 && self.sessions[&id].record.is_some() {
            self.commit_session(id);
            return done();
        }
        if self.must_wait(id, &key) {
            return Step::Blocked;
        }
        let is_taken = self.records.contains_key(&key);
        let session = self.sessions.get_mut(&id).expect("is open");
        if is_taken {
            *session = Session { is_open: true, has_failed: true, ..Session::default() };
            return refused(SqlState::UNIQUE_VIOLATION);
        }
        session.record = Some((key, record));
        Step::Continues
    }

    fn decision(&self, key: &TransactionKey) -> Option<Answer> {
        let record = self.records.get(key)?;
        let decision = record.parts.clone().map_or(Decision::Aborted, Decision::Committed);
        Some(Answer::Decision(decision))
    }

    fn fence(
        &mut self,
        id: SessionId,
        key: TransactionKey,
        (by, generation): (u64, u64),
        step: usize,
    ) -> Step {
        #[cfg(feature = "planted-bugs")]
        if is_planted(PlantedBug::NoFence) {
            return answer(self.decision(&key).unwrap_or(Answer::Decision(Decision::Aborted)));
        }
        let is_open = self.sessions.contains_key(&id);
        if step == 0 || !is_open {
            match self.register(by, generation) {
                None => return Step::Blocked,
                Some(true) => {}
                Some(false) => return answer(self.decision(&key).unwrap_or(Answer::Superseded)),
            }
            let session = self.sessions.entry(id).or_default();
            (session.is_open, session.shares) = (true, Some(by));
            return Step::Continues;
        }
        if self.sessions[&id].record.is_some() {
            self.commit_session(id);
            return answer(self.decision(&key).expect("was inserted"));
        }
        if self.must_wait(id, &key) {
            return Step::Blocked;
        }
        if let Some(decision) = self.decision(&key) {
            self.sessions.remove(&id);
            return answer(decision);
        }
        let xid = self.assign();
        let session = self.sessions.get_mut(&id).expect("is open");
        session.xid = Some(xid);
        session.record = Some((key, Record { parts: None, xid }));
        Step::Continues
    }

    fn status(&self, xid: u64) -> XactStatus {
        let is_running = self.sessions.values().any(|session| session.xid == Some(xid))
            || self.prepared.values().any(|prepared| prepared.xid == xid);
        match () {
            () if xid >= self.next_xid => XactStatus::Unknown,
            () if is_running => XactStatus::InProgress,
            () if self.committed_xids.contains(&xid) => XactStatus::Committed,
            () => XactStatus::Aborted,
        }
    }

    fn list(&self) -> Listing {
        let row = |(gid, prepared): (&String, &Prepared)| {
            let gid = Gid::parse(gid.as_bytes())?;
            Some(PreparedRow { gid, xid: Xid(prepared.xid), owner: String::new(), since: 0 })
        };
        let record =
            |(key, record): (&TransactionKey, &Record)| Some((*key, record.parts.clone()?));
        Listing {
            prepared: self.prepared.iter().filter_map(row).collect(),
            records: self.records.iter().filter_map(record).collect(),
        }
    }
}
