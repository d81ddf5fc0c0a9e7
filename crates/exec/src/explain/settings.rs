//! The options of EXPLAIN (ParseExplainOptionList in explain_state.c), and the column that it
//! returns.

use super::{ExplainOptions, Format};
use steppe_sql::ast::{DefElem, DefValue, ExplainStmt};
use steppe_sql::expr::TypeRef;
use steppe_sql::plan::ResultColumn;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The options of an EXPLAIN.
#[derive(Default)]
pub struct ExplainSettings {
    /// The parts of the plan that are shown.
    pub plan: ExplainOptions,
    /// SUMMARY
    pub summary: bool,
    /// SETTINGS
    pub settings: bool,
    /// GENERIC_PLAN
    pub generic_plan: bool,
    /// SERIALIZE
    pub serialize: Option<WireFormat>,
}

/// The format of SERIALIZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// TEXT
    Text,
    /// BINARY
    Binary,
}

/// The column that EXPLAIN returns.
pub fn explained_column(format: Format) -> ResultColumn {
    /// The OID of xml in pg_type.
    const XML: u32 = 142;
    let ty = match format {
        Format::Text | Format::Yaml => return plan_column(oid::TEXT),
        Format::Json => oid::JSON,
        Format::Xml => XML,
    };
    plan_column(ty)
}

fn plan_column(ty: Oid) -> ResultColumn {
    ResultColumn { name: "QUERY PLAN".into(), ty: TypeRef::plain(ty), domain: 0, origin: (0, 0) }
}

/// The column that an EXPLAIN statement will return.
pub fn described_column(stmt: &ExplainStmt) -> ResultColumn {
    let last = stmt.options.iter().rev().find(|option| option.name == "format");
    explained_column(last.and_then(format).unwrap_or_default())
}

fn format(option: &DefElem) -> Option<Format> {
    match option_text(option)?.as_str() {
        "text" => Some(Format::Text),
        "json" => Some(Format::Json),
        "xml" => Some(Format::Xml),
        "yaml" => Some(Format::Yaml),
        _ => None,
    }
}

/// Reads the options. Options that are not given may depend on ANALYZE (ParseExplainOptionList).
pub fn explain_settings(list: &[DefElem], source: &str) -> Result<ExplainSettings> {
    let mut options = ExplainSettings::default();
    let (mut summary, mut timing, mut buffers) = (None, None, None);
    for option in list {
        let flag = || option_boolean(option);
        let unrecognized = || {
            let value = option_text(option).unwrap_or_default();
            let message =
                format!("unrecognized value for EXPLAIN option \"{}\": \"{value}\"", option.name);
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .at(option.location.position(source))
        };
        match option.name.as_str() {
            "analyze" => options.plan.analyze = flag()?,
            "verbose" => options.plan.verbose = flag()?,
            "costs" => options.plan.costs = flag()?,
            "buffers" => buffers = Some(flag()?),
            "wal" => options.plan.wal = flag()?,
            "settings" => options.settings = flag()?,
            "generic_plan" => options.generic_plan = flag()?,
            "timing" => timing = Some(flag()?),
            "summary" => summary = Some(flag()?),
            "memory" => {
                if flag()? {
                    return Err(Error::not_supported("EXPLAIN option MEMORY"));
                }
            }
            "serialize" => {
                options.serialize = match option_text(option).as_deref() {
                    Some("off" | "none") => None,
                    None | Some("text") => Some(WireFormat::Text),
                    Some("binary") => Some(WireFormat::Binary),
                    Some(_) => return Err(unrecognized()),
                }
            }
            "format" => options.plan.format = format(option).ok_or_else(unrecognized)?,
            other => {
                let message = format!("unrecognized EXPLAIN option \"{other}\"");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                    .at(option.location.position(source)));
            }
        }
    }
    let analyze = options.plan.analyze;
    let needs_analyze = [
        (options.plan.wal, "WAL"),
        (timing == Some(true), "TIMING"),
        (options.serialize.is_some(), "SERIALIZE"),
    ];
    let invalid = |message| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    if let Some((_, name)) = needs_analyze.iter().find(|(given, _)| *given && !analyze) {
        return Err(invalid(format!("EXPLAIN option {name} requires ANALYZE")));
    }
    if options.generic_plan && analyze {
        let message = "EXPLAIN options ANALYZE and GENERIC_PLAN cannot be used together";
        return Err(invalid(message.to_owned()));
    }
    options.plan.timing = timing.unwrap_or(analyze);
    options.plan.buffers = buffers.unwrap_or(analyze);
    options.summary = summary.unwrap_or(analyze);
    Ok(options)
}

/// An option's word.
pub fn option_text(option: &DefElem) -> Option<String> {
    match option.value.as_ref()? {
        DefValue::String(text) | DefValue::Float(text) => Some(text.clone()),
        DefValue::Integer(value) => Some(value.to_string()),
        DefValue::Boolean(value) => Some(if *value { "true" } else { "false" }.to_owned()),
        DefValue::TypeName(name) => Some(name.name.name().to_owned()),
        _ => None,
    }
}

/// An option's Boolean (defGetBoolean). An option without a value is true.
pub fn option_boolean(option: &DefElem) -> Result<bool> {
    if option.value.is_none() {
        return Ok(true);
    }
    let text = option_text(option).unwrap_or_default().to_ascii_lowercase();
    match text.as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("{} requires a Boolean value", option.name),
        )),
    }
}
