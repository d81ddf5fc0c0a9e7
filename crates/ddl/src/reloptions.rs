//! Storage parameters: WITH (…), SET (…), RESET (…) (reloptions.c).
//!
//! They are checked like PostgreSQL's, name, kind and range, and kept as they were written, for
//! pg_class.reloptions and for copies of the schema; those of a column, for
//! pg_attribute.attoptions. Those of a table's TOAST table are kept with the table, their namespace
//! before their names.
//!
//! A list is what was there before, without what is set or reset, then what is set. All of it is
//! looked through in that order, so that the first that is wrong is the one that is told.

use std::sync::Arc;
use steppe_sql::ast::{DefElem, DefValue};
use steppe_sql::bind::{CHECK_OPTION, SECURITY_BARRIER, SECURITY_INVOKER};
use steppe_types::text_io::parse_bool;
use steppe_types::{Error, Result, SqlState, setting_number};

/// Names and values, as they are kept.
pub(crate) type Options = Vec<(Arc<str>, Arc<str>)>;

/// The kind of object that has the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Table,
    Index,
    View,
    Column,
}

/// The values that a parameter takes.
enum Kind {
    Boolean,
    Integer(i32, i32),
    Float(f64, f64),
    /// One of these, or of those that PostgreSQL takes for them besides.
    Enum {
        words: &'static [&'static str],
        also: &'static [&'static str],
        detail: &'static str,
    },
}

/// A parameter: its name, the kinds of objects that have it, whether a TOAST table has it, and its
/// values.
struct Parameter {
    name: &'static str,
    owners: &'static [Owner],
    of_toast: bool,
    kind: Kind,
}

const TOAST: &str = "toast";
const USER_CATALOG_TABLE: &str = "user_catalog_table";

const fn table(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, owners: &[Owner::Table], of_toast: false, kind }
}

const fn heap(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, owners: &[Owner::Table], of_toast: true, kind }
}

const fn view(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, owners: &[Owner::View], of_toast: false, kind }
}

const fn column(name: &'static str) -> Parameter {
    let kind = Kind::Float(-1.0, f64::MAX);
    Parameter { name, owners: &[Owner::Column], of_toast: false, kind }
}

const ON_OFF_AUTO: Kind = Kind::Enum {
    words: &["auto", "on", "off"],
    also: &["true", "false", "yes", "no", "1", "0"],
    detail: "Valid values are \"on\", \"off\", and \"auto\".",
};

const LOCAL_CASCADED: Kind = Kind::Enum {
    words: &["local", "cascaded"],
    also: &[],
    detail: "Valid values are \"local\" and \"cascaded\".",
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "fillfactor",
        owners: &[Owner::Table, Owner::Index],
        of_toast: false,
        kind: Kind::Integer(10, 100),
    },
    Parameter {
        name: "deduplicate_items",
        owners: &[Owner::Index],
        of_toast: false,
        kind: Kind::Boolean,
    },
    table("toast_tuple_target", Kind::Integer(128, 8160)),
    table("parallel_workers", Kind::Integer(0, 1024)),
    table(USER_CATALOG_TABLE, Kind::Boolean),
    table("autovacuum_analyze_threshold", Kind::Integer(0, i32::MAX)),
    table("autovacuum_analyze_scale_factor", Kind::Float(0.0, 100.0)),
    heap("autovacuum_enabled", Kind::Boolean),
    heap("autovacuum_vacuum_threshold", Kind::Integer(0, i32::MAX)),
    heap("autovacuum_vacuum_max_threshold", Kind::Integer(-1, i32::MAX)),
    heap("autovacuum_vacuum_insert_threshold", Kind::Integer(-1, i32::MAX)),
    heap("autovacuum_vacuum_scale_factor", Kind::Float(0.0, 100.0)),
    heap("autovacuum_vacuum_insert_scale_factor", Kind::Float(0.0, 100.0)),
    heap("autovacuum_vacuum_cost_delay", Kind::Float(0.0, 100.0)),
    heap("autovacuum_vacuum_cost_limit", Kind::Integer(1, 10_000)),
    heap("autovacuum_freeze_min_age", Kind::Integer(0, 1_000_000_000)),
    heap("autovacuum_freeze_max_age", Kind::Integer(100_000, 2_000_000_000)),
    heap("autovacuum_freeze_table_age", Kind::Integer(0, 2_000_000_000)),
    heap("autovacuum_multixact_freeze_min_age", Kind::Integer(0, 1_000_000_000)),
    heap("autovacuum_multixact_freeze_max_age", Kind::Integer(10_000, 2_000_000_000)),
    heap("autovacuum_multixact_freeze_table_age", Kind::Integer(0, 2_000_000_000)),
    heap("log_autovacuum_min_duration", Kind::Integer(-1, i32::MAX)),
    heap("vacuum_index_cleanup", ON_OFF_AUTO),
    heap("vacuum_truncate", Kind::Boolean),
    heap("vacuum_max_eager_freeze_failure_rate", Kind::Float(0.0, 1.0)),
    view(SECURITY_BARRIER, Kind::Boolean),
    view(SECURITY_INVOKER, Kind::Boolean),
    view(CHECK_OPTION, LOCAL_CASCADED),
    column("n_distinct"),
    column("n_distinct_inherited"),
];

/// Whether an option changes what queries mean (AlterTableGetRelOptionsLockLevel).
pub(super) fn changes_queries(option: &str) -> bool {
    [CHECK_OPTION, SECURITY_BARRIER, SECURITY_INVOKER, USER_CATALOG_TABLE].contains(&option)
}

/// 22023.
pub(super) fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// WITH (…) of something new.
pub(crate) fn of_new(owner: Owner, given: &[DefElem]) -> Result<Options> {
    let mut options = Options::new();
    for option in given {
        if owner == Owner::Table && option.namespace.is_none() && option.name == "oids" {
            refuse_oids(option)?;
            continue;
        }
        options.push(kept(owner, option)?);
    }
    check(owner, &options)?;
    Ok(options)
}

/// 0A000 for `oids`, unless it says that there shall be none, as older dumps do
/// (interpretOidsOption).
fn refuse_oids(option: &DefElem) -> Result<()> {
    let value = def_text(option).unwrap_or_else(|| "true".into());
    match parse_bool(&value) {
        Ok(false) => Ok(()),
        _ => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "tables declared WITH OIDS are not supported",
        )),
    }
}

/// The value of `name = value` as text.
pub(crate) fn def_text(option: &DefElem) -> Option<String> {
    Some(match option.value.as_ref()? {
        DefValue::Integer(n) => n.to_string(),
        DefValue::Float(text) | DefValue::String(text) => text.clone(),
        DefValue::Boolean(b) => b.to_string(),
        DefValue::TypeName(name) => name.name.to_string(),
        _ => return None,
    })
}

/// The Boolean value of an option (defGetBoolean). 42601 if it has another value.
pub(crate) fn def_boolean(option: &DefElem) -> Result<bool> {
    let text = match &option.value {
        None => return Ok(true),
        Some(DefValue::Integer(0)) => return Ok(false),
        Some(DefValue::Integer(1)) => return Ok(true),
        Some(DefValue::Integer(_)) => None,
        Some(_) => def_text(option),
    };
    let is = |word: &str| text.as_ref().is_some_and(|text| text.eq_ignore_ascii_case(word));
    match () {
        () if is("true") || is("on") => Ok(true),
        () if is("false") || is("off") => Ok(false),
        () => {
            let message = format!("{} requires a Boolean value", option.name);
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
    }
}

/// SET (…).
pub(crate) fn set(
    owner: Owner,
    old: &[(Arc<str>, Arc<str>)],
    given: &[DefElem],
) -> Result<Options> {
    let set: Options = given.iter().map(|option| kept(owner, option)).collect::<Result<_>>()?;
    let stays = |(name, _): &&(Arc<str>, Arc<str>)| set.iter().all(|(new, _)| new != name);
    let mut options: Options = old.iter().filter(stays).cloned().collect();
    options.extend(set);
    check(owner, &options)?;
    Ok(options)
}

/// RESET (…): of what there may not be, too.
pub(crate) fn reset(old: &[(Arc<str>, Arc<str>)], given: &[DefElem]) -> Result<Options> {
    if given.iter().any(|option| option.value.is_some()) {
        let message = "RESET must not include values for parameters";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    let stays =
        |(name, _): &&(Arc<str>, Arc<str>)| given.iter().all(|option| full_name(option) != **name);
    Ok(old.iter().filter(stays).cloned().collect())
}

fn full_name(option: &DefElem) -> String {
    match &option.namespace {
        Some(namespace) => format!("{namespace}.{}", option.name),
        None => option.name.clone(),
    }
}

/// An option as it is kept; 22023 for a namespace that is none.
fn kept(owner: Owner, option: &DefElem) -> Result<(Arc<str>, Arc<str>)> {
    match option.namespace.as_deref() {
        None => {}
        Some(TOAST) if matches!(owner, Owner::Table | Owner::View) => {}
        Some(other) => {
            return Err(invalid(format!("unrecognized parameter namespace \"{other}\"")));
        }
    }
    let value = def_text(option).unwrap_or_else(|| "true".into());
    Ok((full_name(option).into(), value.into()))
}

/// Those of the relation first, then those of its TOAST table.
fn check(owner: Owner, options: &Options) -> Result<()> {
    for of_toast in [false, true] {
        let mut seen: Vec<&str> = Vec::new();
        for (name, value) in options {
            let (toast, name) = match name.split_once('.') {
                Some((TOAST, name)) => (true, name),
                _ => (false, &**name),
            };
            // A view has no TOAST table; toast options are ignored.
            if toast != of_toast || (toast && owner != Owner::Table) {
                continue;
            }
            let known = PARAMETERS.iter().find(|parameter| {
                let fits = parameter.owners.contains(&owner) && (parameter.of_toast || !toast);
                parameter.name == name && fits
            });
            let parameter =
                known.ok_or_else(|| invalid(format!("unrecognized parameter \"{name}\"")))?;
            if seen.contains(&name) {
                return Err(invalid(format!("parameter \"{name}\" specified more than once")));
            }
            seen.push(name);
            check_value(parameter, value)?;
        }
    }
    Ok(())
}

fn check_value(parameter: &Parameter, value: &str) -> Result<()> {
    let name = parameter.name;
    let no = |kind: &str| invalid(format!("invalid value for {kind} option \"{name}\": {value}"));
    let outside = |least: String, most: String| {
        invalid(format!("value {value} out of bounds for option \"{name}\""))
            .detail(format!("Valid values are between \"{least}\" and \"{most}\"."))
    };
    match &parameter.kind {
        Kind::Boolean => parse_bool(value).map(|_| ()).map_err(|_| no("boolean")),
        Kind::Integer(least, most) => match parse_integer(value) {
            None => Err(no("integer")),
            Some(number) if (*least..=*most).contains(&number) => Ok(()),
            Some(_) => Err(outside(least.to_string(), most.to_string())),
        },
        Kind::Float(least, most) => match value.trim().parse::<f64>() {
            Ok(number) if number.is_nan() => Err(no("floating point")),
            Err(_) => Err(no("floating point")),
            Ok(number) if (*least..=*most).contains(&number) => Ok(()),
            Ok(_) => Err(outside(format!("{least:.6}"), format!("{most:.6}"))),
        },
        Kind::Enum { words, also, detail } => {
            let is_one = |word: &&&str| word.eq_ignore_ascii_case(value);
            match words.iter().chain(*also).find(is_one) {
                Some(_) => Ok(()),
                None => Err(no("enum").detail(*detail)),
            }
        }
    }
}

/// An integer as settings write it (guc.c: parse_int); no unit.
fn parse_integer(value: &str) -> Option<i32> {
    let (number, rest) = setting_number::leading_number(value)?;
    let number = number.round_ties_even();
    let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
    (fits && rest.trim().is_empty()).then_some(number as i32)
}

#[cfg(test)]
mod tests {
    use super::parse_integer;

    #[test]
    fn integers_are_read_as_settings_are() {
        for (text, expected) in [
            ("70", Some(70)),
            (" 0x20 ", Some(32)),
            ("010", Some(8)),
            ("7e1", Some(70)),
            ("70.5", Some(70)),
            ("-1", Some(-1)),
            ("-2147483648", Some(i32::MIN)),
            ("2147483648", None),
            ("99999999999", None),
            ("70kB", None),
            ("true", None),
            ("--1", None),
            ("", None),
        ] {
            assert_eq!(parse_integer(text), expected, "{text:?}");
        }
    }
}
