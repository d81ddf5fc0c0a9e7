//! The settings that date/time text depends on: DateStyle, IntervalStyle, TimeZone.

use super::zone::TimeZone;

/// How dates are written (first word of DateStyle).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DateStyle {
    /// 1997-12-17 07:37:16-08
    #[default]
    Iso,
    /// 12/17/1997 07:37:16.00 PST
    Sql,
    /// Wed Dec 17 07:37:16 1997 PST
    Postgres,
    /// 17.12.1997 07:37:16.00 PST
    German,
}

/// Which order ambiguous dates are read in (second word of DateStyle).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DateOrder {
    /// month, day, year
    #[default]
    Mdy,
    /// day, month, year
    Dmy,
    /// year, month, day
    Ymd,
}

/// How intervals are written (IntervalStyle).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IntervalStyle {
    /// 1 year 2 mons 3 days 04:05:06
    #[default]
    Postgres,
    /// @ 1 year 2 mons 3 days 4 hours 5 mins 6 secs
    PostgresVerbose,
    /// +1-2 +3 +4:05:06
    SqlStandard,
    /// P1Y2M3DT4H5M6S
    Iso8601,
}

/// The settings in force for one statement. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DateTimeConfig {
    /// Output style of dates.
    pub date_style: DateStyle,
    /// Input order of dates.
    pub date_order: DateOrder,
    /// Output style of intervals.
    pub interval_style: IntervalStyle,
    /// The session's time zone.
    pub time_zone: TimeZone,
}

impl DateTimeConfig {
    /// DateStyle as SHOW prints it, e.g. `ISO, MDY`.
    pub fn show_date_style(&self) -> String {
        let style = match self.date_style {
            DateStyle::Iso => "ISO",
            DateStyle::Sql => "SQL",
            DateStyle::Postgres => "Postgres",
            DateStyle::German => "German",
        };
        let order = match self.date_order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        format!("{style}, {order}")
    }
}

/// Reads a DateStyle setting, whose words may leave one half unchanged (check_datestyle). The error
/// is the detail of the reason. `default` is the value of the word DEFAULT.
pub fn parse_date_style(
    value: &str,
    current: (DateStyle, DateOrder),
    default: (DateStyle, DateOrder),
) -> Result<(DateStyle, DateOrder), String> {
    let (mut style, mut order, mut german) = (None, None, false);
    // A half that is given twice must have the same value.
    fn set<T: PartialEq + Copy>(slot: &mut Option<T>, value: T) -> bool {
        let agrees = slot.is_none_or(|v| v == value);
        *slot = Some(value);
        agrees
    }
    for word in value.split(',') {
        let word = word.trim().trim_matches('"').to_ascii_lowercase();
        let ok = match word.as_str() {
            "iso" => set(&mut style, DateStyle::Iso),
            "sql" => set(&mut style, DateStyle::Sql),
            "german" => {
                german = true;
                set(&mut style, DateStyle::German)
            }
            "ymd" => set(&mut order, DateOrder::Ymd),
            "default" => {
                style = style.or(Some(default.0));
                order = order.or(Some(default.1));
                true
            }
            w if w.starts_with("postgres") => set(&mut style, DateStyle::Postgres),
            w if w.starts_with("us") || w.starts_with("noneuro") || w == "mdy" => {
                set(&mut order, DateOrder::Mdy)
            }
            w if w.starts_with("euro") || w == "dmy" => set(&mut order, DateOrder::Dmy),
            _ => return Err(format!("Unrecognized key word: \"{word}\".")),
        };
        if !ok {
            return Err("Conflicting \"DateStyle\" specifications.".to_string());
        }
    }
    // German implies its order unless another is given.
    let implied = if german { DateOrder::Dmy } else { current.1 };
    Ok((style.unwrap_or(current.0), order.unwrap_or(implied)))
}

/// Reads an IntervalStyle setting.
pub fn parse_interval_style(value: &str) -> Option<IntervalStyle> {
    Some(match value.to_ascii_lowercase().as_str() {
        "postgres" => IntervalStyle::Postgres,
        "postgres_verbose" => IntervalStyle::PostgresVerbose,
        "sql_standard" => IntervalStyle::SqlStandard,
        "iso_8601" => IntervalStyle::Iso8601,
        _ => return None,
    })
}

impl IntervalStyle {
    /// The setting's value as SHOW prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            IntervalStyle::Postgres => "postgres",
            IntervalStyle::PostgresVerbose => "postgres_verbose",
            IntervalStyle::SqlStandard => "sql_standard",
            IntervalStyle::Iso8601 => "iso_8601",
        }
    }
}
