//! Settings with checks beyond their type (guc.c's check hooks), and lists of names.

use steppe_types::datetime;
use steppe_types::{Error, Result, SqlState};

use super::definition::{Definition, Kind};
use super::value::{Value, invalid_value};

/// Values that are not implemented, so SET refuses them.
const REFUSED: &[(&str, &str)] = &[
    ("standard_conforming_strings", "off"),
    ("transform_null_equals", "on"),
    ("track_cost_delay_timing", "on"),
];

/// Reads a value and brings it into the form that SHOW prints. DateStyle may keep a half of
/// `current`, the present value.
pub fn check(definition: &Definition, text: &str, current: &Value) -> Result<Value> {
    if definition.kind != Kind::Text {
        let value = Value::parse(definition, text)?;
        let shown = value.show(definition);
        if (definition.name, &*shown) == ("default_with_oids", "on") {
            let message = "tables declared WITH OIDS are not supported";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if REFUSED.contains(&(definition.name, &shown)) {
            return Err(Error::not_supported(format!("{} = {shown}", definition.name)));
        }
        return Ok(value);
    }
    let canonical = match definition.name {
        "client_encoding" => client_encoding(text)?,
        "DateStyle" => date_style(text, current)?,
        "TimeZone" | "log_timezone" => time_zone(definition.name, text)?,
        "application_name" | "cluster_name" => clean_ascii(text),
        "search_path" | "temp_tablespaces" => {
            split_identifiers(text).ok_or_else(|| {
                invalid_value(definition.name, text).detail("List syntax is invalid.")
            })?;
            text.to_owned()
        }
        "plpgsql.extra_errors" | "plpgsql.extra_warnings" => {
            extra_checks(definition.name, text)?;
            text.to_owned()
        }
        _ => text.to_owned(),
    };
    Ok(Value::Text(canonical.into()))
}

/// The words for PL/pgSQL's extra checks (plpgsql_extra_checks_check_hook in pl_handler.c).
fn extra_checks(name: &'static str, text: &str) -> Result<()> {
    const CHECKS: [&str; 3] = ["shadowed_variables", "too_many_rows", "strict_multi_assignment"];
    if matches!(text.to_ascii_lowercase().as_str(), "all" | "none") {
        return Ok(());
    }
    let refused = |detail: String| Err(invalid_value(name, text).detail(detail));
    let Some(words) = split_identifiers(text) else {
        return refused("List syntax is invalid.".to_owned());
    };
    for word in words {
        let lower = word.to_ascii_lowercase();
        if matches!(lower.as_str(), "all" | "none") {
            return refused(format!(
                "Key word \"{word}\" cannot be combined with other key words."
            ));
        }
        if !CHECKS.contains(&lower.as_str()) {
            return refused(format!("Unrecognized key word: \"{word}\"."));
        }
    }
    Ok(())
}

/// UTF-8 is the only encoding here; SQL_ASCII means "as it is", which is the same.
fn client_encoding(text: &str) -> Result<String> {
    let folded: String =
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match folded.as_str() {
        "utf8" | "unicode" => return Ok("UTF8".to_owned()),
        "sqlascii" => return Ok("SQL_ASCII".to_owned()),
        _ => {}
    }
    let known = ENCODINGS.iter().find(|(name, aliases)| {
        name.replace('_', "").eq_ignore_ascii_case(&folded) || aliases.contains(&folded.as_str())
    });
    match known {
        Some((name, _)) => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("conversion between {name} and UTF8 is not supported"),
        )),
        None => Err(invalid_value("client_encoding", text)),
    }
}

/// PostgreSQL's other encodings, with their common aliases.
const ENCODINGS: &[(&str, &[&str])] = &[
    ("LATIN1", &["iso88591"]),
    ("LATIN2", &["iso88592"]),
    ("LATIN3", &["iso88593"]),
    ("LATIN4", &["iso88594"]),
    ("LATIN5", &["iso88599"]),
    ("LATIN6", &["iso885910"]),
    ("LATIN7", &["iso885913"]),
    ("LATIN8", &["iso885914"]),
    ("LATIN9", &["iso885915"]),
    ("LATIN10", &["iso885916"]),
    ("ISO_8859_5", &[]),
    ("ISO_8859_6", &[]),
    ("ISO_8859_7", &[]),
    ("ISO_8859_8", &[]),
    ("WIN866", &["alt"]),
    ("WIN874", &["windows874"]),
    ("WIN1250", &["windows1250"]),
    ("WIN1251", &["windows1251", "win"]),
    ("WIN1252", &["windows1252"]),
    ("WIN1253", &["windows1253"]),
    ("WIN1254", &["windows1254"]),
    ("WIN1255", &["windows1255"]),
    ("WIN1256", &["windows1256"]),
    ("WIN1257", &["windows1257"]),
    ("WIN1258", &["windows1258", "vscii", "abc", "tcvn"]),
    ("KOI8R", &["koi8"]),
    ("KOI8U", &[]),
    ("EUC_CN", &[]),
    ("EUC_JP", &[]),
    ("EUC_KR", &[]),
    ("EUC_TW", &[]),
    ("EUC_JIS_2004", &[]),
    ("SJIS", &["mskanji", "shiftjis", "win932", "windows932"]),
    ("BIG5", &["win950", "windows950"]),
    ("GBK", &["win936", "windows936"]),
    ("GB18030", &[]),
    ("UHC", &["win949", "windows949"]),
    ("JOHAB", &[]),
    ("SHIFT_JIS_2004", &["shiftjis2004"]),
    ("MULE_INTERNAL", &[]),
];

/// The DateStyle that a session starts with, for the word DEFAULT.
const DATE_STYLE: (datetime::DateStyle, datetime::DateOrder) =
    (datetime::DateStyle::Iso, datetime::DateOrder::Mdy);

fn date_style(text: &str, current: &Value) -> Result<String> {
    let now = parse_date_style(current).unwrap_or(DATE_STYLE);
    let (date_style, date_order) = datetime::parse_date_style(text, now, DATE_STYLE)
        .map_err(|detail| invalid_value("DateStyle", text).detail(detail))?;
    let config = datetime::DateTimeConfig { date_style, date_order, ..Default::default() };
    Ok(config.show_date_style())
}

/// The two halves of a DateStyle that has been checked.
pub fn parse_date_style(value: &Value) -> Option<(datetime::DateStyle, datetime::DateOrder)> {
    match value {
        Value::Text(text) => datetime::parse_date_style(text, DATE_STYLE, DATE_STYLE).ok(),
        _ => None,
    }
}

fn time_zone(name: &str, text: &str) -> Result<String> {
    match datetime::TimeZone::from_setting(text) {
        Ok(zone) => Ok(zone.name().to_owned()),
        Err(error) if name == "TimeZone" => Err(error),
        Err(_) => Err(invalid_value(name, text)),
    }
}

/// Shows bytes other than printable ASCII by their codes (pg_clean_ascii).
fn clean_ascii(text: &str) -> String {
    let clean = text.bytes().map(|byte| match byte {
        32..=126 => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    clean.collect()
}

/// Splits a list of identifiers, folding unquoted ones to lower case (SplitIdentifierString);
/// `None` for an invalid list.
pub fn split_identifiers(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let name;
        (name, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_identifier(quoted)?,
            None => {
                let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
                if end == 0 {
                    return None;
                }
                (rest[..end].to_ascii_lowercase(), &rest[end..])
            }
        };
        names.push(steppe_types::text_io::truncate_name(&name).to_owned());
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// The identifier after its opening quote, and the rest.
fn quoted_identifier(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::definition::find;
    use super::*;

    fn checked(name: &str, text: &str) -> String {
        let definition = find(name).unwrap();
        match check(definition, text, &definition.boot) {
            Ok(value) => value.setting(),
            Err(error) => format!("{} {}", error.sqlstate(), error.message()),
        }
    }

    #[test]
    fn values_take_their_canonical_form() {
        assert_eq!(checked("client_encoding", "utf-8"), "UTF8");
        assert_eq!(checked("client_encoding", "unicode"), "UTF8");
        assert_eq!(
            checked("client_encoding", "latin1"),
            "0A000 conversion between LATIN1 and UTF8 is not supported"
        );
        assert_eq!(
            checked("client_encoding", "klingon"),
            "22023 invalid value for parameter \"client_encoding\": \"klingon\""
        );
        assert_eq!(checked("datestyle", "dmy"), "ISO, DMY");
        assert_eq!(checked("datestyle", "german"), "German, DMY");
        assert_eq!(checked("timezone", "europe/ljubljana"), "Europe/Ljubljana");
        assert_eq!(checked("application_name", "a\u{e9}"), "a\\xc3\\xa9");
        assert_eq!(
            checked("search_path", "a,,b"),
            "22023 invalid value for parameter \"search_path\": \"a,,b\""
        );
    }

    #[test]
    fn lists_of_identifiers() {
        let split = |text| split_identifiers(text);
        assert_eq!(split("\"$user\", Public").unwrap(), ["$user", "public"]);
        assert_eq!(split("\"a\"\"b\" , c").unwrap(), ["a\"b", "c"]);
        assert_eq!(split("  ").unwrap(), Vec::<String>::new());
        assert_eq!(split("a b"), None);
        assert_eq!(split("\"a"), None);
        assert_eq!(split("a,"), None);
    }
}
