//! Heavyweight locks: relations, rows, transactions and advisory keys.
//!
//! One table serves all of them, because a deadlock may run through all of
//! them. A lock is named by a [`LockTag`]; each class of tags has its own modes
//! and its own conflict table, both PostgreSQL's (src/backend/storage/lmgr/lock.c
//! and src/backend/access/heap/README.tuplock). Latches (on pages, shards) are
//! another thing: they are held for microseconds, and nobody ever waits for a
//! lock while holding one.
//!
//! What holds:
//!
//! 1. Two granted modes of one tag never conflict, unless one session has both.
//! 2. First in, first out: a request waits behind the earlier requests that it
//!    conflicts with, unless its session already holds something they wait for,
//!    or a cycle of waits is dissolved by its going ahead. For a row only those
//!    queue that conflict with a holder: as in PostgreSQL, one that shares it or its
//!    key goes ahead of an exclusive request that waits for others who share it.
//! 3. Release hands the lock over: the next waiter *is* the holder before it is
//!    woken, so that no newcomer can slip in between.
//! 4. Every cycle of waits is found by the last session to join it, once its
//!    `deadlock_timeout` has passed; it fails with 40P01 if no other order of the
//!    queues helps.
//!
//! The owner of a lock is a session (its pid), which runs one transaction at a
//! time. Order of latches: a session's own lock list, then a shard of the table,
//! then the map of waiters, then one waiter.

mod deadlock;
mod fastpath;
mod hand_over;
mod manager;
mod monitor;
mod near;
mod report;
mod sharers;
mod table;
mod users;
mod wait;

#[cfg(test)]
mod sharers_model;
#[cfg(test)]
mod tests;

pub(crate) use fastpath::FastLocks;
pub(crate) use manager::{Acquire, LockPosition, RowOwner};
pub use manager::{AdvisoryScope, LockManager, LockOptions};
pub use report::LockReport;
pub(crate) use sharers::{SharedRows, Sharing};
pub use users::RelationUsers;
pub use wait::LockWait;
pub(crate) use wait::Waiter;

use std::fmt;

use crate::files::DatabaseId;

/// What a lock is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockTag {
    /// A relation.
    Relation {
        /// Its database, or [`DatabaseId::SHARED`].
        database: DatabaseId,
        /// Its OID.
        oid: u32,
    },
    /// The files of a partitioned table's leaves.
    Leaves {
        /// The table's database.
        database: DatabaseId,
        /// The table's OID.
        oid: u32,
    },
    /// An object of the catalog.
    Object {
        /// Its database, or [`DatabaseId::SHARED`].
        database: DatabaseId,
        /// The OID of the catalog that it is in (pg_class.oid).
        class: u32,
        /// Its OID.
        oid: u32,
    },
    /// A name that is about to be taken.
    Name {
        /// The database in which it is taken.
        database: DatabaseId,
        /// A hash of the name and of what it is a name of.
        hash: u64,
    },
    /// A row: the root page of its table's tree, and its row id.
    Row(u64, u64),
    /// The end of a transaction.
    Transaction(u64),
    /// The end of what a session's transaction does, by its process id: a transaction that has
    /// written nothing has no number.
    Session(u32),
    /// What applications agree on.
    Advisory {
        /// The database of the sessions that agree on it.
        database: DatabaseId,
        /// The key.
        key: AdvisoryKey,
    },
}

// A session's list has one for each row that it has locked.
const _: () = assert!(size_of::<LockTag>() == 24);

/// A key of advisory locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisoryKey {
    /// One `bigint`.
    Big(i64),
    /// Two `integer`s, another name space than the above.
    Pair(i32, i32),
}

/// PostgreSQL's eight relation lock modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RelationLockMode {
    /// SELECT.
    AccessShare = 0,
    /// SELECT FOR UPDATE and its kin.
    RowShare = 1,
    /// INSERT, UPDATE, DELETE.
    RowExclusive = 2,
    /// VACUUM, ANALYZE, CREATE INDEX CONCURRENTLY.
    ShareUpdateExclusive = 3,
    /// CREATE INDEX.
    Share = 4,
    /// CREATE TRIGGER and some ALTER TABLE.
    ShareRowExclusive = 5,
    /// REFRESH MATERIALIZED VIEW CONCURRENTLY.
    Exclusive = 6,
    /// DROP, TRUNCATE, most ALTER TABLE, LOCK TABLE.
    AccessExclusive = 7,
}

/// The four row lock modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RowLockMode {
    /// FOR KEY SHARE: the key stays; what a foreign key check takes.
    KeyShare = 0,
    /// FOR SHARE: the row stays.
    Share = 1,
    /// FOR NO KEY UPDATE: what an UPDATE that leaves the key alone takes.
    NoKeyUpdate = 2,
    /// FOR UPDATE: what DELETE and an UPDATE of the key take.
    Update = 3,
}

/// The modes for the files of a partitioned table's leaves: each goes together with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LeavesLockMode {
    /// Leaves are read that are not locked yet.
    Read = 0,
    /// A leaf gets a new file.
    Replace = 1,
}

/// Two modes, for transactions and advisory keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SharedMode {
    /// Together with other shared holders.
    Shared = 0,
    /// Alone.
    Exclusive = 1,
}

/// A mode as a number below 8, whatever its class; bit `1 << mode` in masks.
pub(crate) type Mode = u8;

const fn mask(modes: &[RelationLockMode]) -> u8 {
    let mut bits = 0;
    let mut i = 0;
    while i < modes.len() {
        bits |= 1 << modes[i] as u8;
        i += 1;
    }
    bits
}

/// Modes that each relation mode conflicts with (PostgreSQL's table 13.2).
const RELATION_CONFLICTS: [u8; 8] = {
    use RelationLockMode::*;
    [
        mask(&[AccessExclusive]),
        mask(&[Exclusive, AccessExclusive]),
        mask(&[Share, ShareRowExclusive, Exclusive, AccessExclusive]),
        mask(&[ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive]),
        mask(&[RowExclusive, ShareUpdateExclusive, ShareRowExclusive, Exclusive, AccessExclusive]),
        mask(&[
            RowExclusive,
            ShareUpdateExclusive,
            Share,
            ShareRowExclusive,
            Exclusive,
            AccessExclusive,
        ]),
        0xFE,
        0xFF,
    ]
};

/// Modes that each row mode conflicts with (PostgreSQL's table 13.3).
const ROW_CONFLICTS: [u8; 4] = [0b1000, 0b1100, 0b1110, 0b1111];

const SHARED_CONFLICTS: [u8; 2] = [0b10, 0b11];

const LEAVES_CONFLICTS: [u8; 2] = [0b10, 0b01];

impl LockTag {
    /// The mask of modes that `mode` conflicts with.
    pub(crate) fn conflicts(&self, mode: Mode) -> u8 {
        let mode = usize::from(mode);
        match self {
            LockTag::Relation { .. } | LockTag::Object { .. } | LockTag::Name { .. } => {
                RELATION_CONFLICTS[mode & 7]
            }
            LockTag::Leaves { .. } => LEAVES_CONFLICTS[mode & 1],
            LockTag::Row(..) => ROW_CONFLICTS[mode & 3],
            _ => SHARED_CONFLICTS[mode & 1],
        }
    }

    /// PostgreSQL's name of a mode, as error details spell it.
    pub(crate) fn mode_name(&self, mode: Mode) -> &'static str {
        const RELATION: [&str; 8] = [
            "AccessShareLock",
            "RowShareLock",
            "RowExclusiveLock",
            "ShareUpdateExclusiveLock",
            "ShareLock",
            "ShareRowExclusiveLock",
            "ExclusiveLock",
            "AccessExclusiveLock",
        ];
        // lock.c's tupleLockExtraInfo: the heavyweight mode behind each row mode.
        const ROW: [&str; 4] =
            ["AccessShareLock", "RowShareLock", "ExclusiveLock", "AccessExclusiveLock"];
        let mode = usize::from(mode);
        match self {
            LockTag::Relation { .. } | LockTag::Object { .. } | LockTag::Name { .. } => {
                RELATION[mode & 7]
            }
            LockTag::Leaves { .. } => ["ShareLock", "RowExclusiveLock"][mode & 1],
            LockTag::Row(..) => ROW[mode & 3],
            _ => ["ShareLock", "ExclusiveLock"][mode & 1],
        }
    }
}

/// A tag as PostgreSQL's DescribeLockTag words it, for a session of a database.
pub(crate) struct Described(pub(crate) LockTag, pub(crate) DatabaseId);

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            LockTag::Relation { database, oid } => {
                write!(f, "relation {oid} of database {}", database.0)
            }
            LockTag::Leaves { database, oid } => {
                write!(f, "partitions of relation {oid} of database {}", database.0)
            }
            LockTag::Object { database, class, oid } => {
                write!(f, "object {oid} of class {class} of database {}", database.0)
            }
            LockTag::Name { database, hash } => {
                write!(f, "name {hash} of database {}", database.0)
            }
            LockTag::Row(root, row) => {
                write!(f, "tuple {row} of tree {root} of database {}", self.1.0)
            }
            LockTag::Transaction(xid) => write!(f, "transaction {xid}"),
            LockTag::Session(pid) => write!(f, "virtual transaction {pid}/0"),
            LockTag::Advisory { database, key: AdvisoryKey::Big(key) } => {
                let (high, low) = ((key >> 32) as u32, key as u32);
                write!(f, "advisory lock [{},{high},{low},1]", database.0)
            }
            LockTag::Advisory { database, key: AdvisoryKey::Pair(a, b) } => {
                write!(f, "advisory lock [{},{},{},2]", database.0, a as u32, b as u32)
            }
        }
    }
}
