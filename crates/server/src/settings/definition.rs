//! The settings: PostgreSQL 18's from the extracted pg_settings, with the flags that the extract
//! lacks (src/backend/utils/misc/guc_tables.c).

use std::sync::OnceLock;

use hashbrown::HashMap;
use steppe_catalog::builtin;

use super::value::Value;

/// When a setting may be changed (guc.h's GucContext).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// It cannot be changed.
    Internal,
    /// At server start.
    Postmaster,
    /// In the configuration file.
    Sighup,
    /// At connection start (superusers).
    SuperuserBackend,
    /// At connection start.
    Backend,
    /// Any time (superusers).
    Superuser,
    /// Any time.
    User,
}

impl Context {
    /// pg_settings.context.
    pub fn as_str(self) -> &'static str {
        match self {
            Context::Internal => "internal",
            Context::Postmaster => "postmaster",
            Context::Sighup => "sighup",
            Context::SuperuserBackend => "superuser-backend",
            Context::Backend => "backend",
            Context::Superuser => "superuser",
            Context::User => "user",
        }
    }

    fn of(name: &str) -> Context {
        [
            Context::Postmaster,
            Context::Sighup,
            Context::SuperuserBackend,
            Context::Backend,
            Context::Superuser,
            Context::User,
        ]
        .into_iter()
        .find(|context| context.as_str() == name)
        .unwrap_or(Context::Internal)
    }
}

/// A setting's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// bool
    Bool,
    /// integer
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// real
    Real {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// enum
    Enum(Vec<&'static str>),
    /// string
    Text,
}

impl Kind {
    /// pg_settings.vartype.
    pub fn as_str(&self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Int { .. } => "integer",
            Kind::Real { .. } => "real",
            Kind::Enum(_) => "enum",
            Kind::Text => "string",
        }
    }
}

/// One setting.
#[derive(Debug)]
pub struct Definition {
    /// Its name, in PostgreSQL's spelling.
    pub name: &'static str,
    /// The base unit of a number.
    pub unit: Option<&'static str>,
    /// pg_settings.category.
    pub category: &'static str,
    /// When it may be changed.
    pub context: Context,
    /// Its type.
    pub kind: Kind,
    /// The value that is compiled in.
    pub boot: Value,
    /// Changes are reported to the client (GUC_REPORT).
    pub reported: bool,
    /// Takes a comma-separated list (GUC_LIST_INPUT).
    pub list: bool,
    /// The list's elements are identifiers (GUC_LIST_QUOTE).
    pub quoted: bool,
    /// SHOW ALL and pg_settings leave it out (GUC_NO_SHOW_ALL).
    pub hidden: bool,
    /// RESET ALL does not reset it (GUC_NO_RESET_ALL).
    pub keeps: bool,
    /// EXPLAIN (SETTINGS) shows it (GUC_EXPLAIN).
    pub explained: bool,
}

const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "scram_iterations",
    "search_path",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

const LISTS: &[&str] = &[
    "createrole_self_grant",
    "DateStyle",
    "debug_io_direct",
    "listen_addresses",
    "log_connections",
    "log_destination",
    "oauth_validator_libraries",
    "restrict_nonsystem_relation_kind",
    "synchronized_standby_slots",
    "synchronous_standby_names",
    "unix_socket_directories",
    "wal_consistency_checking",
];

const QUOTED_LISTS: &[&str] = &[
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
];

const KEEPS: &[&str] =
    &["transaction_deferrable", "transaction_isolation", "transaction_read_only"];

/// GUC_EXPLAIN, besides all of enable_…, geqo…, jit… and …_cost.
const EXPLAINED: &[&str] = &[
    "constraint_exclusion",
    "cursor_tuple_fraction",
    "debug_parallel_query",
    "effective_cache_size",
    "effective_io_concurrency",
    "from_collapse_limit",
    "hash_mem_multiplier",
    "join_collapse_limit",
    "maintenance_io_concurrency",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "min_parallel_index_scan_size",
    "min_parallel_table_scan_size",
    "parallel_leader_participation",
    "plan_cache_mode",
    "recursive_worktable_factor",
    "search_path",
    "temp_buffers",
    "work_mem",
];

fn is_explained(name: &str) -> bool {
    let planner = ["enable_", "geqo"].iter().any(|prefix| name.starts_with(prefix));
    planner || name == "jit" || name.ends_with("_cost") || EXPLAINED.contains(&name)
}

/// Steppe's built-in values that differ from those of the extract.
const BOOT: &[(&str, &str)] = &[
    ("client_encoding", "UTF8"),
    ("server_encoding", "UTF8"),
    ("server_version", crate::SERVER_VERSION),
    ("port", "5433"),
    ("max_stack_depth", "2048"),
    ("data_checksums", "on"),
    ("full_page_writes", "off"),
    ("jit", "off"),
    ("ssl_library", ""),
    ("lc_messages", steppe_catalog::LOCALE),
    ("lc_monetary", steppe_catalog::LOCALE),
    ("lc_numeric", steppe_catalog::LOCALE),
    ("lc_time", steppe_catalog::LOCALE),
    ("huge_pages", "off"),
    ("huge_pages_status", "off"),
    ("default_toast_compression", "pglz"),
];

/// All settings, sorted as in SHOW ALL (ignoring case).
pub fn all() -> &'static [Definition] {
    &registry().definitions
}

/// A setting by name, in any case. An old name returns its successor.
pub fn find(name: &str) -> Option<&'static Definition> {
    index_of(name).map(|index| &all()[index])
}

/// A setting's position in [`all`].
pub fn index_of(name: &str) -> Option<usize> {
    let mut lower = name.to_ascii_lowercase();
    if let Some((_, new)) = OLD_NAMES.iter().find(|(old, _)| *old == lower) {
        lower = (*new).to_owned();
    }
    registry().by_name.get(lower.as_str()).copied()
}

/// guc.c's map_old_guc_names.
const OLD_NAMES: &[(&str, &str)] = &[
    ("sort_mem", "work_mem"),
    ("vacuum_mem", "maintenance_work_mem"),
    ("ssl_ecdh_curve", "ssl_groups"),
];

struct Registry {
    definitions: Vec<Definition>,
    by_name: HashMap<String, usize, foldhash::fast::RandomState>,
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut definitions = extracted();
        definitions.extend(unlisted());
        definitions.extend(of_modules());
        definitions.extend(of_plpgsql());
        definitions.sort_by_key(|definition| definition.name.to_ascii_lowercase());
        let names = definitions.iter().map(|definition| definition.name.to_ascii_lowercase());
        let by_name = names.enumerate().map(|(index, name)| (name, index)).collect();
        Registry { definitions, by_name }
    })
}

fn extracted() -> Vec<Definition> {
    let Some(table) = builtin::table("pg_settings") else { return Vec::new() };
    let rows = table.rows();
    rows.filter_map(|row| {
        let name = row.get("name")?;
        let kind =
            kind(row.get("vartype")?, row.get("min_val"), row.get("max_val"), row.get("enumvals"));
        let context = Context::of(row.get("context")?);
        let boot = row.get("boot_val").unwrap_or_default();
        let category = row.get("category").unwrap_or_default();
        Some(definition(name, row.get("unit"), category, context, kind, boot))
    })
    .collect()
}

/// Settings that pg_settings does not show. Older dumps set `default_with_oids` to `off`.
/// `enable_eager_aggregate` and `min_eager_agg_group_size` are PostgreSQL 19's. PostgreSQL does not
/// have the last four:
///
/// - `debug_sync_delay` makes each sync of a file take this much longer, as on a slow device.
/// - `undo_buffers` is the memory for old versions. Beyond it they are in a file.
/// - `xloginsert_locks`, once proposed for PostgreSQL, has no effect, since the log here has no
///   insertion lock.
/// - `statement_memory_limit` is the memory that a statement may have (0 is a quarter of the
///   machine's).
fn unlisted() -> Vec<Definition> {
    let text = |name, context, boot| definition(name, None, "", context, Kind::Text, boot);
    let mut all = vec![
        definition("default_with_oids", None, "", Context::User, Kind::Bool, "off"),
        definition("is_superuser", None, "", Context::Internal, Kind::Bool, "on"),
        text("session_authorization", Context::User, ""),
        text("role", Context::User, "none"),
        definition("seed", None, "", Context::User, Kind::Real { min: -1.0, max: 1.0 }, "0"),
    ];
    for definition in all.iter_mut().filter(|definition| definition.name != "default_with_oids") {
        definition.keeps = true;
    }
    let number = |name, unit, max, category, boot| {
        let min = if boot == "0" { 0 } else { 1 };
        definition(name, unit, category, Context::Postmaster, Kind::Int { min, max }, boot)
    };
    let planning = "Query Tuning / Planner Method Configuration";
    let least = Kind::Real { min: 0.0, max: f64::MAX };
    all.extend([
        definition("enable_eager_aggregate", None, planning, Context::User, Kind::Bool, "on"),
        definition("min_eager_agg_group_size", None, planning, Context::User, least, "8"),
        number("debug_sync_delay", Some("ms"), 1000, "Developer Options", "0"),
        number("undo_buffers", Some("MB"), 1 << 20, "Resource Usage / Memory", "256"),
        number("xloginsert_locks", None, 1000, "Write-Ahead Log / Settings", "8"),
        definition(
            "statement_memory_limit",
            Some("MB"),
            "Resource Usage / Memory",
            Context::Sighup,
            Kind::Int { min: 0, max: 1 << 24 },
            "0",
        ),
    ]);
    for definition in &mut all {
        definition.hidden = true;
    }
    all
}

/// Settings of PL/pgSQL. PostgreSQL lists them in pg_settings once a session has used the language.
fn of_plpgsql() -> Vec<Definition> {
    let of = |name, context, kind, boot| {
        let category = "Customized Options";
        let definition = definition(name, None, category, context, kind, boot);
        Definition { hidden: true, ..definition }
    };
    let conflicts = Kind::Enum(vec!["error", "use_variable", "use_column"]);
    vec![
        of("plpgsql.check_asserts", Context::User, Kind::Bool, "on"),
        of("plpgsql.extra_errors", Context::User, Kind::Text, "none"),
        of("plpgsql.extra_warnings", Context::User, Kind::Text, "none"),
        of("plpgsql.print_strict_params", Context::User, Kind::Bool, "off"),
        of("plpgsql.variable_conflict", Context::Superuser, conflicts, "error"),
    ]
}

/// Settings of the built-in modules.
fn of_modules() -> Vec<Definition> {
    let of = |name, context, kind, boot| {
        definition(name, None, "Customized Options", context, kind, boot)
    };
    let with_unit = |name, unit, max: i64| {
        let (context, kind) = (Context::Superuser, Kind::Int { min: -1, max });
        definition(name, Some(unit), "Customized Options", context, kind, "-1")
    };
    let flag = |name, boot| of(name, Context::Superuser, Kind::Bool, boot);
    let formats = Kind::Enum(vec!["text", "xml", "json", "yaml"]);
    let levels = Kind::Enum(vec![
        "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "info", "notice", "warning",
        "log",
    ]);
    let share = Kind::Real { min: 0.0, max: 1.0 };
    let int_max = i64::from(i32::MAX);
    let at_most = Kind::Int { min: 100, max: i64::from(i32::MAX / 2) };
    let which = Kind::Enum(vec!["none", "top", "all"]);
    let of_pools = |name, unit, range: std::ops::RangeInclusive<i64>, boot| {
        let kind = Kind::Int { min: *range.start(), max: *range.end() };
        definition(name, unit, "Customized Options", Context::Sighup, kind, boot)
    };
    vec![
        // Postgres-XL's, Citus' and PgBouncer's names.
        of_pools("max_pool_size", None, 1..=65_535, "25"),
        of_pools("pool_conn_keepalive", Some("s"), -1..=int_max, "600"),
        of_pools("citus.node_connection_timeout", Some("ms"), 10..=3_600_000, "30000"),
        of_pools("query_wait_timeout", Some("s"), 0..=int_max, "120"),
        flag("auto_explain.log_analyze", "off"),
        flag("auto_explain.log_buffers", "off"),
        of("auto_explain.log_format", Context::Superuser, formats, "text"),
        of("auto_explain.log_level", Context::Superuser, levels, "log"),
        with_unit("auto_explain.log_min_duration", "ms", int_max),
        flag("auto_explain.log_nested_statements", "off"),
        with_unit("auto_explain.log_parameter_max_length", "B", int_max / 2),
        flag("auto_explain.log_settings", "off"),
        flag("auto_explain.log_timing", "on"),
        flag("auto_explain.log_triggers", "off"),
        flag("auto_explain.log_verbose", "off"),
        flag("auto_explain.log_wal", "off"),
        of("auto_explain.sample_rate", Context::Superuser, share, "1"),
        of("pg_stat_statements.max", Context::Postmaster, at_most, "5000"),
        of("pg_stat_statements.save", Context::Sighup, Kind::Bool, "on"),
        of("pg_stat_statements.track", Context::Superuser, which, "top"),
        of("pg_stat_statements.track_planning", Context::Superuser, Kind::Bool, "off"),
        of("pg_stat_statements.track_utility", Context::Superuser, Kind::Bool, "on"),
    ]
}

fn definition(
    name: &'static str,
    unit: Option<&'static str>,
    category: &'static str,
    context: Context,
    kind: Kind,
    boot: &'static str,
) -> Definition {
    let boot = BOOT.iter().find(|(setting, _)| *setting == name).map_or(boot, |(_, value)| value);
    let placeholder = Value::Text("".into());
    let quoted = QUOTED_LISTS.contains(&name);
    let mut definition = Definition {
        name,
        unit,
        category,
        context,
        kind,
        boot: placeholder,
        reported: REPORTED.contains(&name),
        list: quoted || LISTS.contains(&name),
        quoted,
        hidden: false,
        keeps: KEEPS.contains(&name),
        explained: is_explained(name),
    };
    // A test reads every boot value. An unreadable number would be 0 here.
    definition.boot = Value::parse(&definition, boot).unwrap_or(match definition.kind {
        Kind::Bool => Value::Bool(false),
        Kind::Int { .. } => Value::Int(0),
        Kind::Real { .. } => Value::Real(0.0),
        Kind::Enum(_) => Value::Enum(boot),
        Kind::Text => Value::Text(boot.into()),
    });
    definition
}

fn kind(vartype: &str, min: Option<&str>, max: Option<&str>, words: Option<&'static str>) -> Kind {
    fn bound<T: std::str::FromStr>(text: Option<&str>, default: T) -> T {
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    }
    match vartype {
        "bool" => Kind::Bool,
        "integer" => Kind::Int { min: bound(min, 0), max: bound(max, i64::from(i32::MAX)) },
        // The extract's bounds have six digits. The largest means "no bound".
        "real" => Kind::Real {
            min: bound(min, 0.0),
            max: Some(bound(max, f64::MAX)).filter(|max| *max < 1e300).unwrap_or(f64::MAX),
        },
        "enum" => {
            let list = words.unwrap_or("{}").trim_start_matches('{').trim_end_matches('}');
            Kind::Enum(list.split(',').map(|word| word.trim_matches('"')).collect())
        }
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_value_is_valid() {
        for definition in all() {
            let boot = definition.boot.setting();
            let parsed = Value::parse(definition, &boot);
            assert_eq!(parsed.ok().as_ref(), Some(&definition.boot), "{}", definition.name);
        }
        assert!(all().len() > 390);
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(find("datestyle").map(|d| d.name), Some("DateStyle"));
        assert_eq!(find("SORT_MEM").map(|d| d.name), Some("work_mem"));
        assert!(find("nonsense").is_none());
        assert!(find("xloginsert_locks").is_some_and(|d| d.hidden && d.boot == Value::Int(8)));
        assert!(find("search_path").is_some_and(|d| d.list && d.quoted && d.reported));
    }
}
