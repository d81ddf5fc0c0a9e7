//! The statements of the protocol. A session of a node runs each as one simple query.
//!
//! Names are qualified, because a statement may run with a user's `search_path`. Literals are made
//! of digits, letters and `:`, `,`, `=`, so that no setting changes how they are read.

use super::gid::{Coordinator, Gid, TransactionKey};
use super::record::{PreparedPart, Xid, write_parts};

/// Makes the tables that the protocol needs in a node's database. Users whose transactions may be
/// decided there need USAGE of the schema and INSERT on commit_records.
pub const INSTALL: &str = "\
CREATE SCHEMA IF NOT EXISTS steppe_cluster;
CREATE TABLE IF NOT EXISTS steppe_cluster.commit_records (
    key text COLLATE \"C\" PRIMARY KEY,
    participants text,
    fence xid8,
    since timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CHECK ((participants IS NULL) <> (fence IS NULL)));
CREATE TABLE IF NOT EXISTS steppe_cluster.coordinators (
    id bigint PRIMARY KEY,
    generation bigint NOT NULL);";

/// The value that a crash of the server changes, and a pg_basebackup: a crash discards the
/// statistics (pgstat_discard_stats). A clean restart keeps it. `pg_stat_reset_shared` changes it,
/// too, which makes an outcome unknown and never wrong.
const LIFE: &str =
    "(EXTRACT(epoch FROM pg_catalog.pg_stat_get_bgwriter_stat_reset_time()) * 1000000)::bigint";

/// How many records one [`Request::List`] returns.
const RECORDS_MAX: usize = 1000;

/// A request to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Asks whether the open transaction has a number, that is, whether it has written.
    AskXid,
    /// COMMIT of the open transaction.
    Commit,
    /// ROLLBACK of the open transaction.
    Rollback,
    /// PREPARE TRANSACTION of the open transaction.
    Prepare(Gid),
    /// Writes the commit record in the open transaction, and commits it.
    Decide(TransactionKey, Vec<PreparedPart>),
    /// Reads the decision. If there is none, it is "aborted" from now on. `by` is the asking
    /// coordinator, which is the transaction's own or its successor, and is registered by this.
    Fence {
        /// The transaction.
        transaction: TransactionKey,
        /// The coordinator that asks.
        by: Coordinator,
    },
    /// COMMIT PREPARED or ROLLBACK PREPARED.
    Finish {
        /// The prepared transaction.
        gid: Gid,
        /// Whether it commits.
        commit: bool,
    },
    /// pg_xact_status.
    Status(Xid),
    /// Registers a coordinator's generation; a smaller one is superseded from now on.
    Register(Coordinator),
    /// Lists the prepared transactions of the node's database, and its records of commits.
    List,
    /// Deletes records of transactions that have committed everywhere.
    Forget(Vec<TransactionKey>),
    /// Deletes fences that no transaction can meet any more.
    ForgetFences,
}

impl Request {
    /// Whether the request belongs to the session that has the transaction open. All others run on
    /// any session that has none.
    pub fn is_in_transaction(&self) -> bool {
        use Request::*;
        matches!(self, AskXid | Commit | Rollback | Prepare(_) | Decide(..))
    }

    /// The text of the simple query.
    pub fn sql(&self) -> String {
        match self {
            Request::AskXid => {
                format!("SELECT pg_catalog.pg_current_xact_id_if_assigned()::text, {LIFE}")
            }
            Request::Commit => "COMMIT".into(),
            Request::Rollback => "ROLLBACK".into(),
            Request::Prepare(gid) => {
                format!("SELECT pg_catalog.pg_current_xact_id()::text; PREPARE TRANSACTION '{gid}'")
            }
            Request::Decide(key, parts) => decide(*key, parts),
            Request::Fence { transaction, by } => fence(*transaction, *by),
            Request::Finish { gid, commit: true } => format!("COMMIT PREPARED '{gid}'"),
            Request::Finish { gid, commit: false } => format!("ROLLBACK PREPARED '{gid}'"),
            Request::Status(xid) => format!(
                "SELECT pg_catalog.pg_xact_status('{}'::xid8), {LIFE}, \
                 pg_catalog.pg_is_in_recovery()",
                xid.0
            ),
            Request::Register(coordinator) => register(*coordinator),
            Request::List => list(),
            Request::Forget(keys) => forget(keys),
            Request::ForgetFences => "\
                DELETE FROM steppe_cluster.commit_records \
                WHERE fence < pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())"
                .into(),
        }
    }
}

/// The record must be on disk when COMMIT answers, as PREPARE and COMMIT PREPARED are in any case.
const DURABLE: &str = "SELECT pg_catalog.set_config('synchronous_commit', 'on', true) \
     WHERE pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'";

fn decide(key: TransactionKey, parts: &[PreparedPart]) -> String {
    format!(
        "{DURABLE}; INSERT INTO steppe_cluster.commit_records (key, participants) \
         VALUES ('{key}', '{}'); COMMIT",
        write_parts(parts)
    )
}

/// A default of the role or the database may be stricter.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

fn of_coordinator(by: Coordinator) -> String {
    let (id, generation) = (by.id.cast_signed(), by.generation.cast_signed());
    format!("FROM steppe_cluster.coordinators WHERE id = {id} AND generation = {generation}")
}

/// Enters the generation, if a smaller one or none is there. The row is locked only then.
fn enter(coordinator: Coordinator) -> String {
    let (id, generation) = (coordinator.id.cast_signed(), coordinator.generation.cast_signed());
    format!(
        "INSERT INTO steppe_cluster.coordinators AS known (id, generation) \
         SELECT {id}, {generation} WHERE NOT EXISTS (SELECT FROM steppe_cluster.coordinators \
         WHERE id = {id} AND generation >= {generation}) ON CONFLICT (id) DO UPDATE \
         SET generation = excluded.generation WHERE known.generation < excluded.generation"
    )
}

fn fence(transaction: TransactionKey, by: Coordinator) -> String {
    let (enter, registered) = (enter(by), of_coordinator(by));
    format!(
        "{BEGIN}; {DURABLE}; {enter}; SELECT 1 {registered} FOR SHARE; \
         INSERT INTO steppe_cluster.commit_records (key, fence) \
         SELECT '{transaction}', pg_catalog.pg_current_xact_id() {registered} \
         ON CONFLICT (key) DO NOTHING; \
         SELECT participants FROM steppe_cluster.commit_records WHERE key = '{transaction}'; COMMIT"
    )
}

fn register(coordinator: Coordinator) -> String {
    let (enter, registered) = (enter(coordinator), of_coordinator(coordinator));
    format!("{BEGIN}; {DURABLE}; {enter}; SELECT 1 {registered}; COMMIT")
}

fn list() -> String {
    format!(
        "SELECT gid, transaction::text, \
         pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text, owner::text, \
         (EXTRACT(epoch FROM prepared) * 1000000)::bigint \
         FROM pg_catalog.pg_prepared_xacts WHERE database = pg_catalog.current_database(); \
         SELECT key, participants FROM steppe_cluster.commit_records WHERE fence IS NULL \
         ORDER BY since LIMIT {RECORDS_MAX}"
    )
}

fn forget(keys: &[TransactionKey]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("'{key}'")).collect();
    format!(
        "DELETE FROM steppe_cluster.commit_records \
         WHERE fence IS NULL AND key = ANY (ARRAY[{}]::text[])",
        keys.join(", ")
    )
}
