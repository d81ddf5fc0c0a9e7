//! The settings that have an effect, as typed values. They are derived once after each change, so
//! that statements read them without look-ups.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use steppe_exec::explain::ExplainOptions;
use steppe_sql::planner::{ConstraintExclusion, CostParameters, ParallelSettings, PlannerSettings};
use steppe_storage::usage::Timing;
use steppe_types::datetime::{DateTimeConfig, IntervalStyle, TimeZone};
use steppe_types::error::Severity;
use steppe_types::io::{ByteaOutput, IoContext};

use super::check;
use super::store::SessionSettings;
use super::value::Value;
use crate::auto_explain::{AutoExplain, Level, format_of};
use crate::function_counts::Tracked;

/// An isolation level as settings name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED, which is the same as READ COMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl Isolation {
    /// The level as SHOW prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }

    /// Reads the word that [`Isolation::as_str`] prints.
    pub fn of(text: &str) -> Option<Isolation> {
        [
            Isolation::ReadUncommitted,
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
            Isolation::Serializable,
        ]
        .into_iter()
        .find(|level| level.as_str().eq_ignore_ascii_case(text))
    }
}

/// plan_cache_mode
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanCacheMode {
    /// PostgreSQL chooses between custom and generic plans. Here the values select a variant.
    Auto,
    /// The generic plan.
    Generic,
    /// A custom plan each time.
    Custom,
}

/// log_statement
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoggedStatements {
    /// Statements are not logged.
    None,
    /// DDL.
    Ddl,
    /// DDL, and statements that change rows.
    Mod,
    /// Every statement.
    All,
}

impl LoggedStatements {
    fn of(word: &str) -> LoggedStatements {
        match word {
            "ddl" => LoggedStatements::Ddl,
            "mod" => LoggedStatements::Mod,
            "all" => LoggedStatements::All,
            _ => LoggedStatements::None,
        }
    }
}

/// Typed values of a session's settings.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    /// The [`SessionSettings::generation`] that this was derived from.
    pub generation: u64,
    /// statement_timeout
    pub statement_timeout: Option<Duration>,
    /// lock_timeout
    pub lock_timeout: Option<Duration>,
    /// deadlock_timeout
    pub deadlock_timeout: Duration,
    /// idle_in_transaction_session_timeout
    pub idle_in_transaction_timeout: Option<Duration>,
    /// idle_session_timeout
    pub idle_session_timeout: Option<Duration>,
    /// transaction_timeout
    pub transaction_timeout: Option<Duration>,
    /// client_connection_check_interval
    pub client_check_interval: Option<Duration>,
    /// synchronous_commit is not off.
    pub synchronous_commit: bool,
    /// default_transaction_isolation
    pub default_isolation: Isolation,
    /// default_transaction_read_only
    pub default_read_only: bool,
    /// default_transaction_deferrable
    pub default_deferrable: bool,
    /// client_min_messages, as a rank ([`message_rank`]).
    pub client_min_messages: u8,
    /// application_name
    pub application_name: Arc<str>,
    /// track_functions
    pub(crate) tracked_functions: Tracked,
    /// log_statement
    pub log_statement: LoggedStatements,
    /// log_min_duration_statement; `None` logs no durations.
    pub log_min_duration: Option<Duration>,
    /// Either of the two may log something.
    pub logs_statements: bool,
    /// log_disconnections
    pub log_disconnections: bool,
    /// compute_query_id is on: statements have a query identifier even if they are not counted.
    pub shows_query_id: bool,
    /// plan_cache_mode. By default, classes of the values select a variant of the plan. EXPLAIN
    /// EXECUTE shows either kind, and constants fail as they do in either.
    pub plan_cache_mode: PlanCacheMode,
    /// pg_stat_statements.track is not none, nor compute_query_id off.
    pub tracks_statements: bool,
    /// Statements that are counted, are counted within functions, too: pg_stat_statements.track is all.
    pub tracks_nested: bool,
    /// The planning of statements that are counted is counted: pg_stat_statements.track_planning.
    pub tracks_planning: bool,
    /// The same, and pg_stat_statements.track_utility is on.
    pub tracks_utility: bool,
    /// auto_explain, if it logs anything.
    pub(crate) auto_explain: Option<Arc<AutoExplain>>,
    /// work_mem
    pub work_mem_bytes: usize,
    /// temp_file_limit, in kilobytes; `None` is no limit.
    pub temp_file_limit: Option<u64>,
    /// maintenance_work_mem
    pub maintenance_work_mem_bytes: usize,
    /// default_statistics_target
    pub statistics_target: usize,
    /// search_path as it was set.
    pub search_path: Arc<[String]>,
    /// The settings of text input and output.
    pub io: Arc<IoContext>,
    /// The settings of the planner. The session fills in the search path's OIDs.
    pub planner: Arc<PlannerSettings>,
    /// track_io_timing and track_wal_io_timing
    pub io_timing: Timing,
    /// A hash of all settings that a cached plan depends on.
    pub fingerprint: u64,
}

impl LiveSettings {
    /// Derives the typed values.
    pub fn derive(settings: &SessionSettings) -> LiveSettings {
        let reader = Reader(settings);
        let path = reader.text("search_path");
        // SET has checked the value.
        let search_path = check::split_identifiers(&path).unwrap_or_default();
        let planner = reader.planner();
        let io = reader.io();
        let log_statement = LoggedStatements::of(&reader.word("log_statement"));
        let log_min_duration =
            u64::try_from(reader.int("log_min_duration_statement")).ok().map(Duration::from_millis);
        let query_id = reader.word("compute_query_id");
        let tracked = reader.word("pg_stat_statements.track");
        let tracks_statements = tracked != "none" && query_id != "off";
        let mut live = LiveSettings {
            generation: settings.generation(),
            statement_timeout: reader.timeout("statement_timeout"),
            lock_timeout: reader.timeout("lock_timeout"),
            deadlock_timeout: reader.timeout("deadlock_timeout").unwrap_or_default(),
            idle_in_transaction_timeout: reader.timeout("idle_in_transaction_session_timeout"),
            idle_session_timeout: reader.timeout("idle_session_timeout"),
            transaction_timeout: reader.timeout("transaction_timeout"),
            client_check_interval: reader.timeout("client_connection_check_interval"),
            synchronous_commit: reader.word("synchronous_commit") != "off",
            default_isolation: Isolation::of(&reader.word("default_transaction_isolation"))
                .unwrap_or(Isolation::ReadCommitted),
            default_read_only: reader.bool("default_transaction_read_only"),
            default_deferrable: reader.bool("default_transaction_deferrable"),
            client_min_messages: message_rank(&reader.word("client_min_messages")),
            application_name: reader.text("application_name").into(),
            tracked_functions: Tracked::of(&reader.word("track_functions")),
            log_statement,
            log_min_duration,
            logs_statements: log_statement != LoggedStatements::None || log_min_duration.is_some(),
            log_disconnections: reader.bool("log_disconnections"),
            shows_query_id: query_id == "on",
            plan_cache_mode: match &*reader.word("plan_cache_mode") {
                "force_generic_plan" => PlanCacheMode::Generic,
                "force_custom_plan" => PlanCacheMode::Custom,
                _ => PlanCacheMode::Auto,
            },
            tracks_statements,
            tracks_nested: tracks_statements && tracked == "all",
            tracks_planning: tracks_statements && reader.bool("pg_stat_statements.track_planning"),
            tracks_utility: tracks_statements && reader.bool("pg_stat_statements.track_utility"),
            auto_explain: reader.auto_explain().map(Arc::new),
            work_mem_bytes: reader.bytes("work_mem", 1024),
            temp_file_limit: u64::try_from(reader.int("temp_file_limit")).ok(),
            maintenance_work_mem_bytes: reader.bytes("maintenance_work_mem", 1024),
            statistics_target: reader.bytes("default_statistics_target", 1),
            search_path: search_path.into(),
            io: Arc::new(io),
            planner: Arc::new(planner),
            io_timing: Timing {
                pages: reader.bool("track_io_timing"),
                log: reader.bool("track_wal_io_timing"),
            },
            fingerprint: 0,
        };
        live.fingerprint = live.fingerprint();
        live
    }

    /// A hash of the settings for reading literals and for planning.
    fn fingerprint(&self) -> u64 {
        let mut hasher = foldhash::quality::FixedState::default().build_hasher();
        self.search_path.hash(&mut hasher);
        format!("{:?}{:?}", self.io.datetime, self.planner).hash(&mut hasher);
        let io = &self.io;
        (io.bytea_output as u8, io.extra_float_digits, io.array_nulls).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the client gets messages of this severity.
    pub fn shows(&self, severity: Severity) -> bool {
        let rank = match severity {
            // INFO is always sent to the client.
            Severity::Info => return true,
            Severity::Debug => message_rank("debug1"),
            Severity::Notice => message_rank("notice"),
            Severity::Warning => message_rank("warning"),
            Severity::Error | Severity::Fatal | Severity::Panic => return true,
        };
        rank >= self.client_min_messages
    }
}

/// The order of message levels for the client (LOG ranks below NOTICE there).
pub fn message_rank(word: &str) -> u8 {
    const ORDER: &[&str] = &[
        "debug5", "debug4", "debug3", "debug2", "debug1", "log", "info", "notice", "warning",
        "error", "fatal", "panic",
    ];
    ORDER.iter().position(|level| *level == word).unwrap_or(0) as u8
}

struct Reader<'a>(&'a SessionSettings);

impl Reader<'_> {
    fn int(&self, name: &str) -> i64 {
        match self.0.value(name) {
            Value::Int(value) => value,
            _ => 0,
        }
    }

    fn count(&self, name: &str) -> usize {
        usize::try_from(self.int(name)).unwrap_or(0)
    }

    fn real(&self, name: &str) -> f64 {
        match self.0.value(name) {
            Value::Real(value) => value,
            _ => 0.0,
        }
    }

    fn bool(&self, name: &str) -> bool {
        self.0.value(name) == Value::Bool(true)
    }

    fn word(&self, name: &str) -> String {
        self.0.value(name).setting()
    }

    fn text(&self, name: &str) -> String {
        self.0.value(name).setting()
    }

    /// A timeout in milliseconds; 0 is none.
    fn timeout(&self, name: &str) -> Option<Duration> {
        let ms = u64::try_from(self.int(name)).unwrap_or(0);
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    fn bytes(&self, name: &str, unit: usize) -> usize {
        usize::try_from(self.int(name)).unwrap_or(0).saturating_mul(unit)
    }

    fn auto_explain(&self) -> Option<AutoExplain> {
        let ms = u64::try_from(self.int("auto_explain.log_min_duration")).ok()?;
        let analyze = self.bool("auto_explain.log_analyze");
        let options = ExplainOptions {
            analyze,
            verbose: self.bool("auto_explain.log_verbose"),
            costs: true,
            timing: analyze && self.bool("auto_explain.log_timing"),
            buffers: analyze && self.bool("auto_explain.log_buffers"),
            wal: analyze && self.bool("auto_explain.log_wal"),
            format: format_of(&self.word("auto_explain.log_format")),
        };
        let settings = self.bool("auto_explain.log_settings").then(|| self.0.explained());
        Some(AutoExplain {
            min_duration: Duration::from_millis(ms),
            nested: self.bool("auto_explain.log_nested_statements"),
            sample_rate: self.real("auto_explain.sample_rate"),
            level: Level::of(&self.word("auto_explain.log_level")),
            triggers: analyze && self.bool("auto_explain.log_triggers"),
            parameter_bytes: usize::try_from(self.int("auto_explain.log_parameter_max_length"))
                .ok(),
            options,
            settings,
        })
    }

    fn planner(&self) -> PlannerSettings {
        PlannerSettings {
            seqscan: self.bool("enable_seqscan"),
            indexscan: self.bool("enable_indexscan"),
            indexonlyscan: self.bool("enable_indexonlyscan"),
            nestloop: self.bool("enable_nestloop"),
            hashjoin: self.bool("enable_hashjoin"),
            mergejoin: self.bool("enable_mergejoin"),
            hashagg: self.bool("enable_hashagg"),
            sort: self.bool("enable_sort"),
            incremental_sort: self.bool("enable_incremental_sort"),
            material: self.bool("enable_material"),
            memoize: self.bool("enable_memoize"),
            self_join_elimination: self.bool("enable_self_join_elimination"),
            eager_aggregate: self.bool("enable_eager_aggregate"),
            eager_group_rows_min: self.real("min_eager_agg_group_size"),
            partitionwise_join: self.bool("enable_partitionwise_join"),
            partitionwise_aggregate: self.bool("enable_partitionwise_aggregate"),
            partition_pruning: self.bool("enable_partition_pruning"),
            constraint_exclusion: match self.word("constraint_exclusion").as_str() {
                "on" => ConstraintExclusion::On,
                "off" => ConstraintExclusion::Off,
                _ => ConstraintExclusion::Partition,
            },
            bitmapscan: self.bool("enable_bitmapscan"),
            tidscan: self.bool("enable_tidscan"),
            work_mem_kb: u64::try_from(self.int("work_mem")).unwrap_or(0),
            hash_mem_multiplier: self.real("hash_mem_multiplier"),
            from_collapse_limit: self.count("from_collapse_limit"),
            join_collapse_limit: self.count("join_collapse_limit"),
            geqo: self.bool("geqo"),
            geqo_threshold: self.count("geqo_threshold"),
            costs: CostParameters {
                seq_page: self.real("seq_page_cost"),
                random_page: self.real("random_page_cost"),
                cpu_tuple: self.real("cpu_tuple_cost"),
                cpu_index_tuple: self.real("cpu_index_tuple_cost"),
                cpu_operator: self.real("cpu_operator_cost"),
                cache_pages: self.int("effective_cache_size") as f64,
            },
            parallel: ParallelSettings {
                workers_max: self.count("max_parallel_workers_per_gather"),
                leader_participates: self.bool("parallel_leader_participation"),
                setup_cost: self.real("parallel_setup_cost"),
                tuple_cost: self.real("parallel_tuple_cost"),
                append: self.bool("enable_parallel_append"),
                hash: self.bool("enable_parallel_hash"),
                merge: self.bool("enable_gathermerge"),
                table_pages_min: self.int("min_parallel_table_scan_size") as f64,
            },
        }
    }

    fn io(&self) -> IoContext {
        let (date_style, date_order) =
            check::parse_date_style(&self.0.value("DateStyle")).unwrap_or_default();
        let interval_style = match self.word("IntervalStyle").as_str() {
            "postgres_verbose" => IntervalStyle::PostgresVerbose,
            "sql_standard" => IntervalStyle::SqlStandard,
            "iso_8601" => IntervalStyle::Iso8601,
            _ => IntervalStyle::Postgres,
        };
        let time_zone = TimeZone::from_setting(&self.text("TimeZone")).unwrap_or_default();
        IoContext {
            datetime: DateTimeConfig { date_style, date_order, interval_style, time_zone },
            bytea_output: match self.word("bytea_output").as_str() {
                "escape" => ByteaOutput::Escape,
                _ => ByteaOutput::Hex,
            },
            extra_float_digits: self.int("extra_float_digits") as i32,
            array_nulls: self.bool("array_nulls"),
            ..IoContext::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::{Action, ServerSettings};
    use super::*;

    #[test]
    fn follows_set() {
        let mut settings = SessionSettings::new(Arc::new(ServerSettings::default()));
        let before = LiveSettings::derive(&settings);
        assert_eq!(before.statement_timeout, None);
        assert_eq!(before.work_mem_bytes, 4 << 20);
        assert_eq!(&before.search_path[..], ["$user", "public"]);
        assert!(before.shows(Severity::Notice) && before.synchronous_commit);
        let mut set = |name: &str, value: &str| {
            settings.set(name, value, Action::Set, 1, false).unwrap();
        };
        set("statement_timeout", "5s");
        set("client_min_messages", "warning");
        set("synchronous_commit", "off");
        let timed = LiveSettings::derive(&settings);
        assert_eq!(timed.statement_timeout, Some(Duration::from_secs(5)));
        assert!(!timed.shows(Severity::Notice) && timed.shows(Severity::Warning));
        assert!(!timed.synchronous_commit);
        assert_eq!(timed.fingerprint, before.fingerprint);
        settings.set("enable_seqscan", "off", Action::Set, 1, false).unwrap();
        assert_ne!(LiveSettings::derive(&settings).fingerprint, before.fingerprint);
    }
}
