//! What a session keeps, in groups. A method takes the groups that it needs, so that the borrow
//! checker says what may touch what.
//!
//! | group | what | changed by |
//! |---|---|---|
//! | [`Wire`] | the connection, and where the protocol stands | the protocol: `client`, `simple`, `extended`, `sink`, `copy_*` |
//! | [`Counters`] | what a run takes, for pg_stat_statements and the log | `counting`, `statement_log` |
//! | [`StatementState`] | the statement or message in hand | what runs statements |
//! | [`PlanningState`] | what leads from text to plans | `plan`, `locked` |
//! | [`SettingsView`] | settings as typed values | [`super::Session::refresh_settings`] |

use std::ops::Range;

use steppe_exec::ExecEnv;
use steppe_sql::parser::literals::Lifter;
use steppe_types::Oid;

use super::client::Client;
use super::copy_in::CopyIn;
use super::counting::Counting;
use super::portal::HeldRows;
use super::statement_log::StatementClock;
use super::timers::Timers;
use crate::io_timing::IoTiming;
use crate::plan_cache::LocalPlans;
use crate::settings::LiveSettings;
use crate::system_views::SessionEnd;

/// The connection, and where the protocol stands.
pub(super) struct Wire {
    pub(super) client: Option<Client>,
    /// The answer so far.
    pub(super) out: Vec<u8>,
    /// The answer so far is to go out. In the extended protocol it waits for Sync or Flush.
    pub(super) is_due: bool,
    /// How many times a part of an answer has gone out.
    pub(super) writes: u64,
    /// COPY FROM STDIN is under way.
    pub(super) copy: Option<Box<CopyIn>>,
    /// The running statement's rows are kept rather than sent: the client has asked for a part of
    /// them.
    pub(super) held_rows: Option<Box<HeldRows>>,
    /// After an error in the extended protocol: messages up to the next Sync are skipped.
    pub(super) skips_to_sync: bool,
    /// How the session ends, as far as that is known.
    pub(super) end: SessionEnd,
}

impl Wire {
    /// Before the greeting.
    pub(super) fn new() -> Wire {
        Wire {
            client: None,
            out: Vec::new(),
            is_due: true,
            writes: 0,
            copy: None,
            held_rows: None,
            skips_to_sync: false,
            end: SessionEnd::Normal,
        }
    }
}

/// What a run takes, for pg_stat_statements and the log. Moments are in nanoseconds since the Unix
/// epoch.
#[derive(Default)]
pub(super) struct Counters {
    /// What is being counted.
    pub(super) counting: Counting,
    /// When the message in hand began, until that is used or no longer tells when a statement did.
    pub(super) begun_at: Option<u64>,
    /// When the answer was sent, if nothing was waited for since.
    pub(super) answer_sent_at: Option<u64>,
    /// The statement that the log is told about.
    pub(super) statement_clock: Option<StatementClock>,
}

/// The statement or message in hand.
pub(super) struct StatementState {
    /// What it is run with.
    pub(super) env: ExecEnv,
    /// What [`super::Session::begin_message`] does is done for the message in hand.
    pub(super) has_begun: bool,
    /// Where the running statement is in its source, if that has several.
    pub(super) range: Option<Range<usize>>,
    pub(super) timers: Timers,
}

impl StatementState {
    /// Before the first message.
    pub(super) fn new(env: ExecEnv) -> StatementState {
        StatementState { env, has_begun: false, range: None, timers: Timers::default() }
    }
}

/// What leads from text to plans.
pub(super) struct PlanningState {
    pub(super) lifter: Lifter,
    pub(super) local_plans: LocalPlans,
    /// The relations that the statement had named which could not be bound last.
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
    /// What of the session's I/O is timed.
    pub(super) io_timing: IoTiming,
    /// Which of the server's settings the session's are based on.
    pub(super) server_generation: u64,
}
