//! The services of a session for the functions that its statements call.
//!
//! The session is lent out while the executor runs. So the state that functions may use is here,
//! shared and behind short locks: settings, notices, sequences, the catalog in use.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Waker;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_catalog::objects::{Function, Node, Text};
use steppe_catalog::system::kind_of_relations;
use steppe_catalog::{Catalog, CatalogStore, NameSpace, PG_CATALOG, RelKind, Relation, Sequences};
use steppe_cluster::pool::replay::Settings as NodeSettings;
use steppe_cluster::transaction::Participants;
use steppe_counting::RelationStatistics;
use steppe_counting::progress::Progress;
use steppe_ddl::of_function;
use steppe_exec::routine::SessionRoutines;
use steppe_exec::watch::Watch;
use steppe_functions::{
    CountedCall, Frame, Host, Identity, SessionHost, TransitionRows, TransitionTable, UtilityCall,
};
use steppe_spill::TempSpace;
use steppe_sql::ast::{DiscardTarget, IntoClause, SetStmt, Statement};
use steppe_sql::plan::ResultColumn;
use steppe_txn::{LockWait, Lsn, RelationLockMode, RowId, SessionHandle};
use steppe_types::interrupt::Interrupts;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

use crate::autovacuum::pace;
use crate::function_counts::FunctionCounts;
use crate::function_settings::FunctionLevels;
use crate::log;
use crate::memory::StatementMemory;
use crate::namespace::{NamespaceCell, SessionNamespace};
use crate::nested::NestedStatements;
use crate::processors;
use crate::running_triggers::RunningTriggers;
use crate::server::{Server, SessionControl};
use crate::session::{NamedPortals, NamedStatements, Replayed, ServerFiles, set};
use crate::settings::SessionSettings;
use crate::system_views::session::ShownCursor;
use crate::transaction_modes::SharedModes;
use crate::workers;

/// The values that this session has taken from sequences.
#[derive(Default)]
struct SequenceValues {
    last_by_sequence: HashMap<Oid, i64, foldhash::fast::RandomState>,
    last: Option<Oid>,
}

/// The part of a session that functions reach.
pub(crate) struct SharedSession {
    /// The server.
    pub server: Arc<Server>,
    /// The engine's side of the session.
    pub handle: SessionHandle,
    /// The session's state that other sessions see.
    pub control: Arc<SessionControl>,
    /// The session's user, database and process id.
    pub identity: Arc<Identity>,
    /// Its settings.
    pub settings: Mutex<SessionSettings>,
    /// The nesting level of SET: 1 in a transaction, more in savepoints.
    pub level: AtomicU32,
    /// Notices to send.
    pub notices: Mutex<Vec<Error>>,
    /// The log must be durable up to here before the client gets an answer.
    pub flush_to: AtomicU64,
    /// The session's portal without a name, stored for the system views.
    pub unnamed_portal: Mutex<Option<ShownCursor>>,
    /// The session's prepared statements with names.
    pub statements: NamedStatements,
    /// The session's portals with names.
    pub portals: NamedPortals,
    /// The memory of the threads that run its statement.
    pub memory: StatementMemory,
    /// The catalog and search path of the session's functions.
    pub namespace: NamespaceCell,
    /// The space for spill files.
    temp: Arc<TempSpace>,
    sequences: Mutex<SequenceValues>,
    /// The number of snapshots that the transaction has exported.
    pub exported: AtomicU32,
    /// The transaction's isolation level and modes.
    pub modes: SharedModes,
    /// The calls of users' functions in its transaction.
    pub function_counts: FunctionCounts,
    /// The settings of functions that are running.
    pub function_levels: Mutex<FunctionLevels>,
    /// The functions of users that it has compiled.
    pub routines: SessionRoutines,
    /// Counts the statements of its functions.
    pub nested: Arc<NestedStatements>,
    /// The state of random(), seeded from the system.
    random: Mutex<u64>,
    /// The triggers that are being called, one within the other.
    triggers: RunningTriggers,
    /// The settings that its sessions on nodes get.
    pub replayed: Replayed,
}

impl SharedSession {
    /// The services of a new session.
    pub(crate) fn new(
        server: Arc<Server>,
        handle: SessionHandle,
        control: Arc<SessionControl>,
        identity: Identity,
        temp: Arc<TempSpace>,
    ) -> SharedSession {
        let mut seed = [0; 8];
        // Without the system's randomness random() starts from the clock.
        if server.random.fill(&mut seed).is_err() {
            seed = (now_micros() as u64).to_le_bytes();
        }
        let nested = Arc::new(NestedStatements::new(Arc::clone(&server), Arc::clone(&control)));
        let portals = NamedPortals::default();
        let statements = NamedStatements::default();
        SharedSession {
            routines: SessionRoutines::watched_by(
                Arc::clone(&nested) as Arc<dyn Watch>,
                &server.function_plans,
                Arc::new(portals.clone()),
                Arc::new(statements.clone()),
                Arc::new(ServerFiles::new(&server, &control)),
            ),
            nested,
            settings: Mutex::new(SessionSettings::new(server.settings.current())),
            namespace: NamespaceCell::new(server.catalog.published()),
            server,
            handle,
            control,
            identity: Arc::new(identity),
            level: AtomicU32::new(1),
            notices: Mutex::default(),
            flush_to: AtomicU64::new(0),
            unnamed_portal: Mutex::default(),
            statements,
            portals,
            memory: StatementMemory::default(),
            temp,
            sequences: Mutex::default(),
            exported: AtomicU32::new(0),
            modes: SharedModes::default(),
            function_counts: FunctionCounts::default(),
            function_levels: Mutex::default(),
            random: Mutex::new(u64::from_le_bytes(seed)),
            triggers: RunningTriggers::default(),
            replayed: Replayed::default(),
        }
    }

    /// Resolves the session's search path in a catalog version.
    pub(crate) fn resolve(&self, catalog: Arc<Catalog>, search_path: &[String]) -> NameSpace {
        let Identity { user, temporary_schema, .. } = &*self.identity;
        NameSpace::resolve(catalog, search_path, user, temporary_schema)
    }

    /// The catalog and search path that functions see.
    pub(crate) fn names(&self) -> NameSpace {
        self.namespace.get().names.clone()
    }

    /// The settings and names with which functions plan and run statements, and read and show
    /// values.
    pub(crate) fn frame_of(&self, namespace: &SessionNamespace, io: Arc<IoContext>) -> Frame {
        let settings = &namespace.settings;
        Frame {
            names: namespace.names.clone(),
            io,
            planner: Arc::clone(&settings.planner),
            older: namespace.older.clone(),
            engine: Arc::clone(&self.server.engine),
            temp: Arc::clone(&self.temp),
            maintenance_work_mem_bytes: settings.maintenance_work_mem_bytes,
            statistics_target: settings.statistics_target,
        }
    }

    /// DISCARD SEQUENCES.
    pub(crate) fn forget_sequences(&self) {
        *self.sequences.lock() = SequenceValues::default();
    }

    /// 25006 if a READ ONLY transaction would change a sequence that is not temporary.
    fn check_sequence_writable(&self, sequence: &Relation, function: &str) -> Result<()> {
        if !self.modes.is_read_only() || self.namespace.get().names.catalog.is_temporary(sequence) {
            return Ok(());
        }
        let message = format!("cannot execute {function} in a read-only transaction");
        Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }

    /// A sequence as of now. It locks it against changes of its definition until the transaction
    /// ends (lock_and_open_sequence).
    fn sequence(&self, oid: Oid) -> Result<Arc<Relation>> {
        let missing = || Error::internal(format!("could not open relation with OID {oid}"));
        let namespace = self.namespace.get();
        let catalog = &namespace.names.catalog;
        let (relation, epoch) = (catalog.relation(oid).cloned(), catalog.epoch);
        let relation = relation.ok_or_else(missing)?;
        if relation.kind != RelKind::Sequence {
            let message = format!("cannot open relation \"{}\"", relation.name);
            let kind = kind_of_relations(&relation);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .detail(format!("This operation is not supported for {kind}.")));
        }
        let wait = self.handle.lock_relation(oid, RelationLockMode::RowExclusive)?;
        let waited = wait.is_some();
        if let Some(wait) = wait {
            self.wait_in_place(wait)?;
        }
        let catalogs = &self.server.catalog;
        // The transaction's own changes of the sequence are visible to it alone, and it holds their
        // lock.
        let has_changed = || {
            use RelationLockMode::{AccessExclusive, ShareRowExclusive};
            [ShareRowExclusive, AccessExclusive].iter().any(|m| self.handle.holds_relation(oid, *m))
        };
        if catalogs.published_epoch() == epoch || has_changed() {
            return Ok(relation);
        }
        match catalogs.published().relation(oid) {
            Some(now) => Ok(Arc::clone(now)),
            None if waited => Err(missing()),
            // The transaction has created it.
            None => Ok(relation),
        }
    }

    /// The client's next answer must wait until the records written so far are durable.
    fn flush_written(&self) {
        let position = self.server.engine.wal().insert_position();
        self.flush_to.fetch_max(position.0, Ordering::AcqRel);
    }

    /// Waits for a lock on the session's thread.
    pub(crate) fn wait_in_place(&self, wait: LockWait) -> Result<()> {
        tokio::task::block_in_place(|| wait.wait_blocking())
    }
}

const UNIX_TO_POSTGRES_SECONDS: i64 = 946_684_800;

/// The present time in microseconds since 2000-01-01 UTC.
pub(crate) fn now_micros() -> i64 {
    micros_of(now_nanos())
}

/// The present time in nanoseconds since the Unix epoch.
pub(crate) fn now_nanos() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a time of the system's clock to microseconds since 2000-01-01 UTC.
pub(crate) fn micros_at(moment: SystemTime) -> i64 {
    micros_since_2000(moment.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Converts nanoseconds since the Unix epoch to microseconds since 2000-01-01 UTC.
pub(crate) fn micros_of(nanos: u64) -> i64 {
    micros_since_2000(Duration::from_nanos(nanos))
}

/// Converts microseconds since the Unix epoch to microseconds since 2000-01-01 UTC.
pub(crate) fn micros_at_epoch(micros: i64) -> i64 {
    micros.saturating_sub(UNIX_TO_POSTGRES_SECONDS * 1_000_000)
}

/// Converts a time since the Unix epoch to microseconds since 2000-01-01 UTC.
pub(crate) fn micros_since_2000(since_epoch: Duration) -> i64 {
    micros_at_epoch(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
}

impl Interrupts for SharedSession {
    fn check(&self) -> Result<()> {
        self.check_interrupts()
    }

    fn reserve(&self, bytes: usize) -> Result<()> {
        self.server.statement_memory.reserve(bytes, &self.memory)?;
        self.check_interrupts()
    }

    fn wake_by(&self, waker: Option<Waker>) -> bool {
        self.handle.shared().wake_by(waker);
        true
    }

    fn wait(&self, wait: &mut dyn FnMut()) {
        tokio::task::block_in_place(wait);
    }
}

impl Host for SharedSession {
    fn check_interrupts(&self) -> Result<()> {
        pace::nap_if_due();
        workers::unblock_if_long();
        self.server.statement_memory.check(&self.memory)?;
        self.handle.check_interrupts()
    }

    fn notice(&self, notice: Error) {
        self.notices.lock().push(notice);
    }

    fn log(&self, message: Error) {
        let (pid, sqlstate) = (self.handle.pid(), message.sqlstate());
        let fields: [(&str, &dyn std::fmt::Display); 3] =
            [("pid", &pid), ("sqlstate", &sqlstate), ("message", &message.message())];
        log::write(log::Level::Log, &fields);
    }

    fn identity(&self) -> Arc<Identity> {
        Arc::clone(&self.identity)
    }

    fn setting(&self, name: &str) -> Result<Option<String>> {
        match self.modes.show(name) {
            Some(shown) => Ok(Some(shown.to_owned())),
            None => Ok(self.settings.lock().show(name)),
        }
    }

    fn search_path(&self, include_implicit: bool) -> Vec<Arc<str>> {
        let names = &self.namespace.get().names;
        let explicit_catalog = self.settings.lock().show("search_path").unwrap_or_default();
        let named = explicit_catalog.contains("pg_catalog");
        let implicit = |oid: Oid| {
            let temporary = names.catalog.schema(oid).is_some_and(|schema| schema.is_temporary());
            (oid == PG_CATALOG && !named) || (temporary && Some(oid) != names.creation)
        };
        let shown = names.path.iter().filter(|oid| include_implicit || !implicit(**oid));
        shown.filter_map(|oid| Some(Arc::clone(&names.catalog.schema(*oid)?.name))).collect()
    }

    fn clock_timestamp(&self) -> i64 {
        now_micros()
    }

    fn random(&self) -> f64 {
        // SplitMix64; 53 bits make a double in [0, 1).
        let mut state = self.random.lock();
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn set_seed(&self, seed: f64) -> Result<()> {
        *self.random.lock() = seed.to_bits();
        Ok(())
    }

    fn random_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        if self.server.random.fill(&mut bytes).is_err() {
            for half in bytes.chunks_exact_mut(8) {
                half.copy_from_slice(&self.random().to_bits().to_le_bytes());
            }
        }
        bytes
    }

    fn nextval(&self, oid: Oid) -> Result<i64> {
        let sequence = self.sequence(oid)?;
        self.check_sequence_writable(&sequence, "nextval()")?;
        let state = self.server.sequences.get(&self.server.engine, &sequence)?;
        let value = state.next(&self.server.engine, &sequence)?;
        self.flush_written();
        let mut values = self.sequences.lock();
        values.last_by_sequence.insert(oid, value);
        values.last = Some(oid);
        Ok(value)
    }

    fn currval(&self, oid: Oid) -> Result<i64> {
        let sequence = self.sequence(oid)?;
        self.sequences.lock().last_by_sequence.get(&oid).copied().ok_or_else(|| {
            Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "currval of sequence \"{}\" is not yet defined in this session",
                    sequence.name
                ),
            )
        })
    }

    fn lastval(&self) -> Result<i64> {
        let values = self.sequences.lock();
        // The sequence may have been dropped since.
        let is_there = |oid: &Oid| self.namespace.get().names.catalog.relation(*oid).is_some();
        let last = values.last.filter(is_there);
        let last = last.and_then(|oid| values.last_by_sequence.get(&oid).copied());
        last.ok_or_else(|| {
            Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            )
        })
    }

    fn trigger_depth(&self) -> i32 {
        self.triggers.depth()
    }

    fn setval(&self, oid: Oid, value: i64, is_called: bool) -> Result<i64> {
        let sequence = self.sequence(oid)?;
        self.check_sequence_writable(&sequence, "setval()")?;
        let state = self.server.sequences.get(&self.server.engine, &sequence)?;
        state.set(&self.server.engine, &sequence, value, is_called)?;
        self.flush_written();
        if is_called {
            self.sequences.lock().last_by_sequence.insert(oid, value);
        }
        Ok(value)
    }
}

impl SessionHost for SharedSession {
    fn begin_helping(&self) {
        processors::give_way();
        self.server.relation_statistics.enter();
        StatementMemory::begin_helping();
    }

    fn end_helping(&self) {
        self.memory.end_helping();
    }

    fn relation_statistics(&self) -> Arc<RelationStatistics> {
        Arc::clone(&self.server.relation_statistics)
    }

    fn begin_progress(&self, progress: Progress) -> Arc<Progress> {
        self.control.activity.begin_progress(progress)
    }

    fn block_on(&self, wait: LockWait) -> Result<()> {
        self.wait_in_place(wait)
    }

    fn in_place(&self, work: &mut dyn FnMut()) {
        tokio::task::block_in_place(work);
    }

    fn see_catalog(&self, catalog: &Arc<Catalog>) {
        self.see_own_catalog(catalog);
    }

    fn forget_catalog(&self) {
        self.forget_own_catalog();
    }

    fn introduce_node(&self, node: &Node) -> Result<u64> {
        self.introduced_node(node)
    }

    fn run_on_node(&self, node: &Node, text: &str) -> Result<Option<String>> {
        self.ran_on_node(node, text)
    }

    fn participants(&self) -> Result<Participants> {
        self.new_participants()
    }

    fn node_settings(&self) -> NodeSettings {
        self.statement_settings()
    }

    fn newer_catalog(&self, planned: &Arc<Catalog>) -> Option<Arc<Catalog>> {
        self.catalog_unlike(planned)
    }

    fn cursor_row(
        &self,
        cursor: &str,
        table: &Relation,
        catalog: &Catalog,
    ) -> Result<Option<RowId>> {
        let place = match self.routines.cursor_place(cursor) {
            Some(place) => place?,
            None => self.portals.place(cursor)?,
        };
        place.row(cursor, table, catalog)
    }

    fn frame(&self) -> Result<Frame> {
        let mut frame = self.current_frame();
        self.triggers.show_tables(&mut frame.names);
        Ok(frame)
    }

    fn store(&self) -> Result<&CatalogStore> {
        Ok(&self.server.catalog)
    }

    fn frame_version(&self) -> u64 {
        self.current_frame_version()
    }

    fn routines(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&self.routines)
    }

    fn begin_function(&self, function: &Function) -> Option<CountedCall> {
        self.function_counts.begin(function)
    }

    fn end_function(&self, call: CountedCall) {
        self.function_counts.end(call);
    }

    fn enter_settings(&self, settings: &[(Text, Text)]) -> Result<u32> {
        self.enter_function_settings(settings)
    }

    fn leave_settings(&self, level: u32) {
        self.leave_function_settings(level);
    }

    fn begin_settings(&self) -> u32 {
        self.begin_settings_level()
    }

    fn end_settings(&self, level: u32, keep: bool) {
        self.end_settings_level(level, keep);
    }

    fn utility(&self, call: UtilityCall<'_>) -> Result<()> {
        of_function::check_volatile(&call)?;
        let statement = call.statement;
        match statement {
            Statement::Set(set) => self.set_in_function(set),
            Statement::Checkpoint => {
                let engine = Arc::clone(&self.server.engine);
                self.server.statistics.checkpoints_requested.fetch_add(1, Ordering::Relaxed);
                tokio::task::block_in_place(|| engine.checkpoint()).map(drop)
            }
            Statement::Load(library) => crate::session::load(library),
            Statement::Unlisten(_) => Ok(()),
            Statement::Discard(target) => discard(self, *target, call),
            Statement::Deallocate(deallocate) => {
                self.statements.deallocate(deallocate.name.as_deref())
            }
            _ if of_function::utility(call)? => Ok(()),
            _ => {
                let what = crate::session::name_of(statement);
                Err(Error::not_supported(format!("{what} in a function")))
            }
        }
    }

    fn shown_setting(&self, name: &str) -> Result<(String, String)> {
        let value = self.setting(name)?.ok_or_else(|| crate::settings::unrecognized(name))?;
        Ok((set::shown_name(name).to_owned(), value))
    }

    fn all_settings(&self) -> Result<Vec<Vec<Datum>>> {
        Ok(self.shown_settings())
    }

    fn create_table_as(
        &self,
        call: UtilityCall<'_>,
        into: &IntoClause,
        columns: &[ResultColumn],
        if_not_exists: bool,
    ) -> Result<Option<Arc<Relation>>> {
        of_function::create_table_as(call, into, columns, if_not_exists)
    }

    fn checked_setting(&self, clause: &SetStmt) -> Result<(String, String)> {
        set::checked_setting(self, clause)
    }

    fn session_apart(&self, table: Oid) -> Result<Option<SessionHandle>> {
        Ok(self.new_session_apart(table))
    }

    fn must_be_durable(&self, up_to: Lsn) {
        self.flush_to.fetch_max(up_to.0, Ordering::AcqRel);
    }

    fn enter_trigger(&self, relation: Oid, tables: Option<Arc<[TransitionTable]>>) {
        self.triggers.enter(relation, tables);
    }

    fn enter_function(&self) -> bool {
        self.triggers.enter_function()
    }

    fn leave_function(&self) {
        self.triggers.leave_function();
    }

    fn relations_in_use(&self) -> Vec<Oid> {
        self.triggers.relations()
    }

    fn leave_trigger(&self) {
        self.triggers.leave();
    }

    fn transition_rows(&self, relation: Oid) -> Option<Arc<dyn TransitionRows>> {
        self.triggers.rows(relation)
    }

    fn sequences(&self) -> Result<&Sequences> {
        Ok(&self.server.sequences)
    }

    fn virtual_rows(&self, relation: Oid) -> Result<Vec<Vec<Datum>>> {
        crate::system_views::rows(self, relation)
    }
}

/// DISCARD in a function.
fn discard(session: &SharedSession, target: DiscardTarget, call: UtilityCall<'_>) -> Result<()> {
    match target {
        DiscardTarget::All => {
            let message = "DISCARD ALL cannot be executed from a function";
            Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message))
        }
        DiscardTarget::Plans => {
            session.routines.forget();
            Ok(())
        }
        DiscardTarget::Sequences => {
            session.forget_sequences();
            Ok(())
        }
        DiscardTarget::Temp => of_function::discard_temporary(call),
    }
}
