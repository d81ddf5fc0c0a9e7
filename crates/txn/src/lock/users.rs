//! Waiting until nobody who uses a relation now does so any more, without keeping anybody from
//! using it (PostgreSQL's WaitForLockers).
//!
//! A request for a strong lock would do, but those that come after it would queue behind it. So the
//! transactions that have the relation in their lists of locks are noted, and the end of each is
//! waited for, as the end of a row's writer is: through a lock that is entered on its behalf.
//! Transactions that begin later are nobody's concern.

use std::sync::Arc;

use super::manager::{Acquire, LockManager};
use super::{LockTag, SharedMode};
use crate::session::SessionShared;

/// Transactions that use a relation.
#[derive(Debug, Default)]
pub struct RelationUsers(Vec<User>);

/// A session, and how many of its transactions had ended.
#[derive(Debug, Clone, Copy)]
struct User {
    pid: u32,
    ended: u64,
}

impl LockManager {
    /// The transactions of other sessions that have or want a lock on a relation of the session's
    /// database.
    pub(crate) fn users_of(&self, session: &SessionShared, oid: u32) -> RelationUsers {
        let relation = LockTag::Relation { database: session.database(), oid };
        let others = self.sessions().all().into_iter().filter(|s| s.pid() != session.pid());
        let user = |other: Arc<SessionShared>| {
            let held = other.held_locks();
            let uses = held.order.iter().any(|(tag, _)| *tag == relation);
            uses.then_some(User { pid: other.pid(), ended: held.ended })
        };
        let mut users: Vec<User> = others.filter_map(user).collect();
        // The registry has no order; which one is waited for first should not be chance.
        users.sort_by_key(|user| user.pid);
        RelationUsers(users)
    }

    /// Waits for the end of the transaction that another session runs now.
    pub(crate) fn wait_for_end(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        pid: u32,
    ) -> Acquire {
        let Some(other) = self.sessions().find(pid) else { return Acquire::Granted };
        let ended = other.held_locks().ended;
        self.wait_for_users(session, &mut RelationUsers(vec![User { pid, ended }]))
    }

    /// Waits for the end of one of `users`, or for its ROLLBACK TO SAVEPOINT: ask again until
    /// the answer is [`Acquire::Granted`], which says that all have ended.
    pub(crate) fn wait_for_users(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        users: &mut RelationUsers,
    ) -> Acquire {
        while let Some(user) = users.0.last() {
            let tag = LockTag::Session(user.pid);
            if self.enter_end(*user, tag)
                && let Acquire::Wait(wait) =
                    self.acquire(session, tag, SharedMode::Shared as u8, false, true)
            {
                return Acquire::Wait(wait);
            }
            let user = users.0.pop();
            // If that is no end, but a preparation, there is somebody else to wait for.
            users.0.extend(user.and_then(|user| self.stand_in_for(user)));
        }
        Acquire::Granted
    }

    /// What stands for the transaction that a user ran then, if that is prepared.
    fn stand_in_for(&self, user: User) -> Option<User> {
        let mut stand_ins = self.sessions().all().into_iter().filter(|s| s.is_stand_in());
        stand_ins.find_map(|stand_in| {
            let held = stand_in.held_locks();
            let found = held.stands_for == Some((user.pid, user.ended));
            found.then_some(User { pid: stand_in.pid(), ended: held.ended })
        })
    }

    /// Enters the lock that a user's end releases; false if it has ended. Both are under the
    /// latch of its list, so one of the two is seen.
    fn enter_end(&self, user: User, tag: LockTag) -> bool {
        let Some(owner) = self.sessions().find(user.pid) else { return false };
        let mut held = owner.held_locks();
        if held.ended != user.ended {
            return false;
        }
        held.order.push((tag, SharedMode::Exclusive as u8));
        self.enter(user.pid, tag, SharedMode::Exclusive as u8);
        true
    }
}
