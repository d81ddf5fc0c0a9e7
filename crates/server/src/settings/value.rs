//! Values of settings: reads them with PostgreSQL's units, and formats them as SHOW does
//! (parse_int, convert_to_base_unit, ShowGUCOption in src/backend/utils/misc/guc.c).

use std::sync::Arc;

use steppe_types::{Error, Result, SqlState, setting_number};

use super::definition::{Definition, Kind};

/// The value of a setting, in its base unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// bool
    Bool(bool),
    /// integer
    Int(i64),
    /// real
    Real(f64),
    /// enum: one of the definition's words
    Enum(&'static str),
    /// string
    Text(Arc<str>),
}

impl Value {
    /// Reads a value of a setting; 22023 with PostgreSQL's message if it is invalid.
    pub fn parse(definition: &Definition, text: &str) -> Result<Value> {
        match &definition.kind {
            Kind::Bool => match steppe_types::text_io::parse_bool(text) {
                Ok(value) => Ok(Value::Bool(value)),
                Err(_) => Err(invalid(format!(
                    "parameter \"{}\" requires a Boolean value",
                    definition.name
                ))),
            },
            Kind::Int { min, max } => parse_int(definition, text, *min, *max).map(Value::Int),
            Kind::Real { min, max } => parse_real(definition, text, *min, *max).map(Value::Real),
            Kind::Enum(words) => parse_enum(definition, words, text).map(Value::Enum),
            Kind::Text => Ok(Value::Text(text.into())),
        }
    }

    /// The value as SHOW prints it, with the largest unit that fits.
    pub fn show(&self, definition: &Definition) -> String {
        match self {
            Value::Int(value) if *value > 0 => match Unit::of(definition.unit) {
                Some(unit) => unit.show_int(*value),
                None => show_plain_int(definition, *value),
            },
            Value::Int(value) => show_plain_int(definition, *value),
            Value::Real(value) if *value > 0.0 => match Unit::of(definition.unit) {
                Some(unit) => unit.show_real(*value),
                None => format_g(*value),
            },
            _ => self.setting(),
        }
    }

    /// The value as pg_settings prints it, in the base unit and without its name.
    pub fn setting(&self) -> String {
        match self {
            Value::Bool(true) => "on".to_owned(),
            Value::Bool(false) => "off".to_owned(),
            Value::Int(value) => value.to_string(),
            Value::Real(value) => format_g(*value),
            Value::Enum(word) => (*word).to_owned(),
            Value::Text(text) => text.to_string(),
        }
    }
}

/// File modes are shown in octal (show_data_directory_mode and its kin).
fn show_plain_int(definition: &Definition, value: i64) -> String {
    match definition.name {
        "data_directory_mode" | "log_file_mode" | "unix_socket_permissions" => {
            format!("{value:04o}")
        }
        _ => value.to_string(),
    }
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// 22023 for an invalid value of a setting.
#[cold]
pub(crate) fn invalid_value(name: &str, text: &str) -> Error {
    invalid(format!("invalid value for parameter \"{name}\": \"{text}\""))
}

const MEMORY_HINT: &str =
    "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
const TIME_HINT: &str =
    "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";

/// Units by descending size, in bytes and in microseconds.
const MEMORY: &[(&str, f64)] =
    &[("TB", 1099511627776.0), ("GB", 1073741824.0), ("MB", 1048576.0), ("kB", 1024.0), ("B", 1.0)];
const TIME: &[(&str, f64)] = &[
    ("d", 86_400_000_000.0),
    ("h", 3_600_000_000.0),
    ("min", 60_000_000.0),
    ("s", 1_000_000.0),
    ("ms", 1000.0),
    ("us", 1.0),
];

/// A base unit: its table and its size in the table's smallest unit.
struct Unit {
    table: &'static [(&'static str, f64)],
    size: f64,
    hint: &'static str,
}

impl Unit {
    fn of(name: Option<&str>) -> Option<Unit> {
        let memory = |size| Unit { table: MEMORY, size, hint: MEMORY_HINT };
        let time = |size| Unit { table: TIME, size, hint: TIME_HINT };
        Some(match name? {
            "B" => memory(1.0),
            "kB" => memory(1024.0),
            "8kB" => memory(8192.0),
            "MB" => memory(1048576.0),
            "ms" => time(1000.0),
            "s" => time(1_000_000.0),
            "min" => time(60_000_000.0),
            _ => return None,
        })
    }

    /// A number with this unit in the base unit; a fraction is rounded to the next
    /// smaller unit, so that `30.1GB` means a whole number of MB.
    fn to_base(&self, value: f64, unit: &str) -> Option<f64> {
        let at = self.table.iter().position(|entry| entry.0 == unit)?;
        let converted = value * (self.table[at].1 / self.size);
        Some(match self.table.get(at + 1) {
            Some(next) => {
                let step = next.1 / self.size;
                (converted / step).round_ties_even() * step
            }
            None => converted,
        })
    }

    fn show_int(&self, value: i64) -> String {
        for (name, size) in self.table {
            let multiple = size / self.size;
            if multiple <= 1.0 || value % (multiple as i64) == 0 {
                return format!("{}{name}", (value as f64 / multiple).round_ties_even());
            }
        }
        value.to_string()
    }

    fn show_real(&self, value: f64) -> String {
        let mut shown = (value, "");
        for (name, size) in self.table {
            shown = (value / (size / self.size), name);
            if shown.0 > 0.0 && ((shown.0.round_ties_even() / shown.0) - 1.0).abs() <= 1e-8 {
                break;
            }
        }
        format!("{}{}", format_g(shown.0), shown.1)
    }
}

/// A number with an optional unit, in the base unit.
fn parse_number(definition: &Definition, text: &str) -> Result<f64> {
    let invalid = || invalid_value(definition.name, text);
    let (value, rest) = setting_number::leading_number(text).ok_or_else(invalid)?;
    if value.is_nan() {
        return Err(invalid());
    }
    let unit_text = rest.trim();
    if unit_text.is_empty() {
        return Ok(value);
    }
    let unit = Unit::of(definition.unit).ok_or_else(invalid)?;
    unit.to_base(value, unit_text).ok_or_else(|| invalid().hint(unit.hint))
}

fn parse_int(definition: &Definition, text: &str, min: i64, max: i64) -> Result<i64> {
    let value = parse_number(definition, text)?.round_ties_even();
    if value > f64::from(i32::MAX) || value < f64::from(i32::MIN) {
        return Err(invalid_value(definition.name, text).hint("Value exceeds integer range."));
    }
    let value = value as i64;
    if value < min || value > max {
        let unit = definition.unit.map(|unit| format!(" {unit}")).unwrap_or_default();
        return Err(invalid(format!(
            "{value}{unit} is outside the valid range for parameter \"{}\" \
             ({min}{unit} .. {max}{unit})",
            definition.name
        )));
    }
    Ok(value)
}

fn parse_real(definition: &Definition, text: &str, min: f64, max: f64) -> Result<f64> {
    let value = parse_number(definition, text)?;
    if value < min || value > max {
        let unit = definition.unit.map(|unit| format!(" {unit}")).unwrap_or_default();
        return Err(invalid(format!(
            "{}{unit} is outside the valid range for parameter \"{}\" ({}{unit} .. {}{unit})",
            format_g(value),
            definition.name,
            format_g(min),
            format_g(max)
        )));
    }
    Ok(value)
}

fn parse_enum(definition: &Definition, words: &[&'static str], text: &str) -> Result<&'static str> {
    let find = |wanted: &str| words.iter().find(|word| word.eq_ignore_ascii_case(wanted)).copied();
    if let Some(word) = find(text) {
        return Ok(word);
    }
    // Words that PostgreSQL accepts but does not list.
    let lower = text.to_ascii_lowercase();
    let hidden = match lower.as_str() {
        "true" | "yes" | "1" => find("on"),
        "false" | "no" | "0" => find("off"),
        "debug" => find("debug2"),
        "info" if definition.name == "client_min_messages" => Some("info"),
        _ => None,
    };
    hidden.ok_or_else(|| {
        invalid_value(definition.name, text)
            .hint(format!("Available values: {}.", words.join(", ")))
    })
}

/// C's `%g`: six significant digits, no trailing zeros.
pub(crate) fn format_g(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .to_owned();
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |digits: &str| {
        if digits.contains('.') {
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            digits.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return trim(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::super::definition::find;
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Value> {
        Value::parse(find(name).expect(name), text)
    }

    fn shown(name: &str, text: &str) -> String {
        let definition = find(name).expect(name);
        Value::parse(definition, text)
            .map_or_else(|e| e.message().to_owned(), |v| v.show(definition))
    }

    #[test]
    fn numbers_have_units() {
        assert_eq!(shown("work_mem", "65536"), "64MB");
        assert_eq!(shown("work_mem", "1.5GB"), "1536MB");
        assert_eq!(shown("work_mem", "0x40"), "64kB");
        assert_eq!(shown("work_mem", " 100 kB "), "100kB");
        assert_eq!(shown("shared_buffers", "131073"), "1048584kB");
        assert_eq!(shown("statement_timeout", "90s"), "90s");
        assert_eq!(shown("statement_timeout", "1.5 min"), "90s");
        assert_eq!(shown("statement_timeout", "0"), "0");
        assert_eq!(shown("checkpoint_timeout", "1h"), "1h");
        assert_eq!(shown("random_page_cost", "1.1"), "1.1");
        assert_eq!(shown("jit_above_cost", "1e10"), "1e+10");
        assert_eq!(shown("vacuum_cost_delay", "500us"), "500us");
        assert_eq!(shown("unix_socket_permissions", "0777"), "0777");
    }

    #[test]
    fn refuses_as_postgresql_does() {
        let message = |name: &str, text: &str| parse(name, text).unwrap_err().message().to_owned();
        assert_eq!(
            message("work_mem", "32"),
            "32 kB is outside the valid range for parameter \"work_mem\" (64 kB .. 2147483647 kB)"
        );
        assert_eq!(
            message("geqo_effort", "11"),
            "11 is outside the valid range for parameter \"geqo_effort\" (1 .. 10)"
        );
        assert_eq!(message("work_mem", "x"), "invalid value for parameter \"work_mem\": \"x\"");
        assert_eq!(
            message("enable_seqscan", "maybe"),
            "parameter \"enable_seqscan\" requires a Boolean value"
        );
        let unit = parse("work_mem", "1 parsec").unwrap_err();
        assert_eq!(unit.fields().hint.as_deref(), Some(MEMORY_HINT));
        let word = parse("IntervalStyle", "x").unwrap_err();
        assert_eq!(
            word.fields().hint.as_deref(),
            Some("Available values: postgres, postgres_verbose, sql_standard, iso_8601.")
        );
        assert_eq!(parse("synchronous_commit", "false").unwrap(), Value::Enum("off"));
    }

    #[test]
    fn format_g_is_c() {
        for (value, text) in [
            (0.5, "0.5"),
            (100000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.79769e308, "1.79769e+308"),
            (0.0025, "0.0025"),
        ] {
            assert_eq!(format_g(value), text);
        }
    }
}
