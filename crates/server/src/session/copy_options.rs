//! COPY's options (ProcessCopyOptions in src/backend/commands/copy.c).

use steppe_sql::ast::{DefElem, DefValue};
use steppe_types::{Error, Result, SqlState};
use steppe_wire::copy::{CopyFormat, CopyOptions, Header};

use steppe_exec::explain::{option_boolean as boolean, option_text as text};

/// The parsed options. The caller resolves the columns' names.
pub(super) struct ParsedOptions {
    pub(super) options: CopyOptions,
    pub(super) force_quote: Columns,
    pub(super) force_not_null: Columns,
    pub(super) force_null: Columns,
    /// FREEZE. Rows need no freezing here.
    pub(super) freeze: bool,
    pub(super) on_error: OnError,
}

/// ON_ERROR: the treatment of a row with a field that is not valid for its column's type.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnError {
    /// The row is skipped.
    pub(super) ignore: bool,
    /// The most rows that may be skipped; 0 is any number.
    pub(super) reject_limit: i64,
    pub(super) verbosity: Verbosity,
}

/// LOG_VERBOSITY: the notices about skipped rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verbosity {
    Silent,
    /// Their number.
    #[default]
    Default,
    /// A notice for each row.
    Verbose,
}

/// A list of columns in an option.
#[derive(Clone, Debug, Default)]
pub(super) enum Columns {
    #[default]
    None,
    All,
    Named(Vec<String>),
}

impl Columns {
    /// One flag for each of the copied columns.
    pub(super) fn flags(&self, option: &str, copied: &[&str]) -> Result<Vec<bool>> {
        let named = match self {
            Columns::None => return Ok(Vec::new()),
            Columns::All => return Ok(vec![true; copied.len()]),
            Columns::Named(named) => named,
        };
        if let Some(stranger) = named.iter().find(|name| !copied.contains(&name.as_str())) {
            let message = format!("{option} column \"{stranger}\" not referenced by COPY");
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(copied.iter().map(|column| named.iter().any(|name| name == column)).collect())
    }
}

fn syntax(message: impl Into<String>) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

fn unsupported(message: impl Into<String>) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Reads the options.
pub(super) fn parse(list: &[DefElem], is_from: bool, source: &str) -> Result<ParsedOptions> {
    check_redundant(list, source)?;
    let given = |name: &str| list.iter().find(|option| option.name == name);
    let format = format(given("format"), source)?;
    let mut parsed = ParsedOptions {
        options: CopyOptions::new(format),
        force_quote: Columns::None,
        force_not_null: Columns::None,
        force_null: Columns::None,
        freeze: false,
        on_error: OnError::default(),
    };
    let is_csv = format == CopyFormat::Csv;
    for option in list {
        let value = || text(option).unwrap_or_default();
        let options = &mut parsed.options;
        match option.name.as_str() {
            "format" => {}
            "freeze" => parsed.freeze = boolean(option)?,
            "oids" => {
                boolean(option)?;
            }
            "delimiter" => {
                not_in_binary("DELIMITER", format)?;
                options.delimiter = CopyOptions::single_byte("delimiter", &value())?;
            }
            "null" => {
                not_in_binary("NULL", format)?;
                options.null = value();
            }
            "default" => {
                not_in_binary("DEFAULT", format)?;
                if !is_from {
                    return Err(unsupported("COPY DEFAULT cannot be used with COPY TO"));
                }
                options.default = Some(value());
            }
            "header" => options.header = header(option, is_from, format)?,
            "quote" => {
                only_csv("QUOTE", is_csv)?;
                options.quote = CopyOptions::single_byte("quote", &value())?;
                if given("escape").is_none() {
                    options.escape = options.quote;
                }
            }
            "escape" => {
                only_csv("ESCAPE", is_csv)?;
                options.escape = CopyOptions::single_byte("escape", &value())?;
            }
            "force_quote" => {
                parsed.force_quote = forced(option, is_csv, !is_from, "COPY FROM")?;
            }
            "force_not_null" => {
                parsed.force_not_null = forced(option, is_csv, is_from, "COPY TO")?;
            }
            "force_null" => parsed.force_null = forced(option, is_csv, is_from, "COPY TO")?,
            "encoding" => encoding(&value())?,
            "on_error" => parsed.on_error.ignore = ignores_errors(option, is_from, source)?,
            "log_verbosity" => parsed.on_error.verbosity = verbosity(option, source)?,
            "reject_limit" => parsed.on_error.reject_limit = reject_limit(option)?,
            other => {
                return Err(syntax(format!("option \"{other}\" not recognized"))
                    .at(option.location.position(source)));
            }
        }
    }
    parsed.options.check()?;
    check_on_error(&parsed)?;
    Ok(parsed)
}

/// The columns of a FORCE_ option, which COPY in the `other` direction does not have.
fn forced(option: &DefElem, is_csv: bool, is_its: bool, other: &str) -> Result<Columns> {
    let name = option.name.to_ascii_uppercase();
    only_csv(&name, is_csv)?;
    direction(&name, is_its, other)?;
    columns(option)
}

fn ignores_errors(option: &DefElem, is_from: bool, source: &str) -> Result<bool> {
    if !is_from {
        return Err(misdirected("ON_ERROR", "COPY TO").at(option.location.position(source)));
    }
    choice(option, &[("stop", false), ("ignore", true)], source)
}

fn verbosity(option: &DefElem, source: &str) -> Result<Verbosity> {
    let choices = &[
        ("silent", Verbosity::Silent),
        ("default", Verbosity::Default),
        ("verbose", Verbosity::Verbose),
    ];
    choice(option, choices, source)
}

fn check_on_error(parsed: &ParsedOptions) -> Result<()> {
    let OnError { ignore, reject_limit, .. } = parsed.on_error;
    if ignore && parsed.options.format == CopyFormat::Binary {
        return Err(syntax("only ON_ERROR STOP is allowed in BINARY mode"));
    }
    if reject_limit > 0 && !ignore {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE",
        ));
    }
    Ok(())
}

/// One of the words that an option takes.
fn choice<T: Copy>(option: &DefElem, choices: &[(&str, T)], source: &str) -> Result<T> {
    let word = match text(option) {
        Some(word) => word,
        None => return Err(syntax(format!("{} requires a parameter", option.name))),
    };
    let found = choices.iter().find(|(choice, _)| choice.eq_ignore_ascii_case(&word));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let name = option.name.to_ascii_uppercase();
        let message = format!("COPY {name} \"{word}\" not recognized");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(option.location.position(source))
    })
}

fn reject_limit(option: &DefElem) -> Result<i64> {
    let Some(text) = text(option) else {
        return Err(syntax(format!("{} requires a numeric value", option.name)));
    };
    let io = steppe_types::io::IoContext::default();
    let value = steppe_types::text_io::input(steppe_types::oid::INT8, -1, &text, &io)?;
    let steppe_types::Datum::Int8(limit) = value else {
        return Err(Error::internal("a bigint is none"));
    };
    if limit <= 0 {
        let message = format!("REJECT_LIMIT ({limit}) must be greater than zero");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    Ok(limit)
}

fn check_redundant(list: &[DefElem], source: &str) -> Result<()> {
    for (i, option) in list.iter().enumerate() {
        if list[..i].iter().any(|earlier| earlier.name == option.name) {
            return Err(
                syntax("conflicting or redundant options").at(option.location.position(source))
            );
        }
    }
    Ok(())
}

fn format(option: Option<&DefElem>, source: &str) -> Result<CopyFormat> {
    let Some(option) = option else { return Ok(CopyFormat::Text) };
    let word = text(option).unwrap_or_default();
    match word.as_str() {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => Ok(CopyFormat::Binary),
        _ => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("COPY format \"{word}\" not recognized"),
        )
        .at(option.location.position(source))),
    }
}

fn header(option: &DefElem, is_from: bool, format: CopyFormat) -> Result<Header> {
    let is_match = text(option).is_some_and(|word| word.eq_ignore_ascii_case("match"));
    let header = match (is_match, is_from) {
        (true, false) => {
            let message = "cannot use \"match\" with HEADER in COPY TO";
            return Err(unsupported(message));
        }
        // The caller fills in the names when the columns are known.
        (true, true) => Header::Match(Vec::new()),
        (false, _) => {
            let wanted = boolean(option)
                .map_err(|_| syntax("header requires a Boolean value or \"match\""))?;
            if wanted { Header::Names } else { Header::None }
        }
    };
    if header != Header::None && format == CopyFormat::Binary {
        return Err(unsupported("cannot specify HEADER in BINARY mode"));
    }
    Ok(header)
}

fn columns(option: &DefElem) -> Result<Columns> {
    match &option.value {
        Some(DefValue::Star) => Ok(Columns::All),
        Some(DefValue::List(names)) => {
            let names = names.iter().map(|name| match name {
                DefValue::String(name) => Ok(name.clone()),
                _ => Err(bad_columns(option)),
            });
            Ok(Columns::Named(names.collect::<Result<_>>()?))
        }
        _ => Err(bad_columns(option)),
    }
}

fn bad_columns(option: &DefElem) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("argument to option \"{}\" must be a list of column names", option.name),
    )
}

fn encoding(name: &str) -> Result<()> {
    let folded: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match folded.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => Err(Error::not_supported(format!("COPY in the encoding \"{name}\""))),
    }
}

fn not_in_binary(option: &str, format: CopyFormat) -> Result<()> {
    if format != CopyFormat::Binary {
        return Ok(());
    }
    Err(syntax(format!("cannot specify {option} in BINARY mode")))
}

fn only_csv(option: &str, is_csv: bool) -> Result<()> {
    if is_csv {
        return Ok(());
    }
    Err(unsupported(format!("COPY {option} requires CSV mode")))
}

fn direction(option: &str, fits: bool, other: &str) -> Result<()> {
    if fits {
        return Ok(());
    }
    Err(misdirected(option, other))
}

fn misdirected(option: &str, other: &str) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("COPY {option} cannot be used with {other}"),
    )
}
