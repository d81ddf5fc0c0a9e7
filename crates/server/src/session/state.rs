//! The state of a session, in groups. A method takes the groups that it needs, so that the borrow
//! checker checks which part uses which state.
//!
//! | group | content | changed by |
//! |---|---|---|
//! | [`Wire`] | the connection and the protocol's state | the protocol: `client`, `simple`, `extended`, `sink`, `copy_*` |
//! | [`Counters`] | the costs of runs, for pg_stat_statements and the log | `counting`, `statement_log` |
//! | [`StatementState`] | the current statement or message | runs of statements |
//! | [`PlanningState`] | the state of parsing and planning | `plan`, `locked` |
//! | [`SettingsView`] | settings as typed values | [`super::Session::refresh_settings`] |

use std::ops::Range;

use steppe_exec::ExecEnv;
use steppe_sql::parser::literals::Lifter;
use steppe_types::Oid;

use super::client::Client;
use super::copy_rows::CopyIn;
use super::counting::Counting;
use super::portal::HeldRows;
use super::statement_log::StatementClock;
use super::timers::Timers;
use crate::io_timing::IoTiming;
use crate::plan_cache::LocalPlans;
use crate::settings::LiveSettings;
use crate::system_views::SessionEnd;

/// The connection and the protocol's state.
pub(super) struct Wire {
    pub(super) client: Option<Client>,
    /// The answer so far.
    pub(super) out: Vec<u8>,
    /// The answer so far must be sent. In the extended protocol it waits for Sync or Flush.
    pub(super) is_due: bool,
    /// How many times a part of an answer was sent.
    pub(super) writes: u64,
    /// COPY FROM STDIN is under way.
    pub(super) copy: Option<Box<CopyIn>>,
    /// Keeps the running statement's rows instead of sending them: the client has asked for a part
    /// of them.
    pub(super) held_rows: Option<Box<HeldRows>>,
    /// After an error in the extended protocol, messages up to the next Sync are skipped.
    pub(super) skips_to_sync: bool,
    /// A Sync follows the current message, and has arrived.
    pub(super) sync_follows: bool,
    /// How the session ends, if known.
    pub(super) end: SessionEnd,
}

impl Wire {
    /// The state before the greeting.
    pub(super) fn new() -> Wire {
        Wire {
            client: None,
            out: Vec::new(),
            is_due: true,
            writes: 0,
            copy: None,
            held_rows: None,
            skips_to_sync: false,
            sync_follows: false,
            end: SessionEnd::Normal,
        }
    }
}

/// The costs of runs, for pg_stat_statements and the log. Times are in nanoseconds since the Unix
/// epoch.
#[derive(Default)]
pub(super) struct Counters {
    /// The statements being counted.
    pub(super) counting: Counting,
    /// When the current message began. It is cleared when a run has used it, or when it is not the
    /// time at which the next run begins.
    pub(super) begun_at: Option<u64>,
    /// When the answer was sent, if the session has not waited since.
    pub(super) answer_sent_at: Option<u64>,
    /// The statement that the log measures.
    pub(super) statement_clock: Option<StatementClock>,
}

/// The state of the current statement or message.
pub(super) struct StatementState {
    /// The environment of its execution.
    pub(super) env: ExecEnv,
    /// [`super::Session::begin_message`] has run for the current message.
    pub(super) has_begun: bool,
    /// The running statement's range in its source, if the source has several.
    pub(super) range: Option<Range<usize>>,
    pub(super) timers: Timers,
}

impl StatementState {
    /// The state before the first message.
    pub(super) fn new(env: ExecEnv) -> StatementState {
        StatementState { env, has_begun: false, range: None, timers: Timers::default() }
    }
}

/// The state of parsing and planning.
pub(super) struct PlanningState {
    pub(super) lifter: Lifter,
    pub(super) local_plans: LocalPlans,
    /// The relations that the last statement named when its binding failed.
    pub(super) unbound_relations: Vec<Oid>,
}

impl PlanningState {
    pub(super) fn new() -> PlanningState {
        PlanningState {
            lifter: Lifter::new(),
            local_plans: LocalPlans::default(),
            unbound_relations: Vec::new(),
        }
    }
}

/// The session's settings as typed values.
pub(super) struct SettingsView {
    pub(super) live: LiveSettings,
    /// The kinds of the session's I/O that are timed.
    pub(super) io_timing: IoTiming,
    /// The generation of the server's settings that the session's settings are based on.
    pub(super) server_generation: u64,
}
