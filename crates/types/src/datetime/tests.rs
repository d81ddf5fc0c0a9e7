//! Facts taken from PostgreSQL 15, and properties.

use super::arith::*;
use super::calendar::*;
use super::io::*;
use super::*;
use crate::error::Result;
use crate::interval::{Interval, IntervalFields};
use proptest::prelude::*;

/// 2021-06-15 12:34:56.789 UTC, the moment of these tests.
const NOW: i64 = 677_075_696_789_000;

fn config(date_style: &str, interval_style: &str, zone: &str) -> DateTimeConfig {
    let default = (DateStyle::Iso, DateOrder::Mdy);
    let (date_style, date_order) = parse_date_style(date_style, default, default).unwrap();
    DateTimeConfig {
        date_style,
        date_order,
        interval_style: parse_interval_style(interval_style).unwrap(),
        time_zone: TimeZone::from_setting(zone).unwrap(),
    }
}

fn shown(result: Result<Vec<u8>>) -> String {
    match result {
        Ok(text) => String::from_utf8(text).unwrap(),
        Err(e) => {
            let hint = e.fields().hint.as_deref().map_or(String::new(), |h| format!(" / {h}"));
            format!("{}: {}{hint}", e.sqlstate(), e.message())
        }
    }
}

/// The type modifier of an interval type's name.
fn interval_typmod(ty: &str) -> i32 {
    use IntervalFields as F;
    let (fields, precision) = match ty {
        "interval" => return -1,
        "interval(1)" => (F::ALL, 1),
        "interval year" => (F::YEAR, 0xFFFF),
        "interval month" => (F::MONTH, 0xFFFF),
        "interval day" => (F::DAY, 0xFFFF),
        "interval hour" => (F::HOUR, 0xFFFF),
        "interval year to month" => (F::YEAR.with(F::MONTH), 0xFFFF),
        "interval minute to second" => (F::MINUTE.with(F::SECOND), 0xFFFF),
        "interval day to second" => (F::DAY.with(F::HOUR).with(F::MINUTE).with(F::SECOND), 0xFFFF),
        "interval second(2)" => (F::SECOND, 2),
        other => panic!("{other}"),
    };
    (fields.0 as i32) << 16 | precision
}

/// Reads and writes a value of a type.
fn cast(ty: &str, input: &str, config: &DateTimeConfig) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    match ty {
        "date" => date_out(date_in(input, config, NOW)?, config, &mut out),
        "time" => time_out(time_in(input, -1, config, NOW)?, &mut out),
        "time(2)" => time_out(time_in(input, 2, config, NOW)?, &mut out),
        "timetz" => {
            let (time, west) = timetz_in(input, -1, config, NOW)?;
            timetz_out(time, west, &mut out);
        }
        "timestamp" => timestamp_out(timestamp_in(input, -1, config, NOW)?, config, &mut out),
        "timestamp(0)" => timestamp_out(timestamp_in(input, 0, config, NOW)?, config, &mut out),
        "timestamptz" => {
            timestamptz_out(timestamptz_in(input, -1, config, NOW)?, config, &mut out);
        }
        "timestamptz(3)" => {
            timestamptz_out(timestamptz_in(input, 3, config, NOW)?, config, &mut out);
        }
        _ => interval_out(&interval_in(input, interval_typmod(ty), config)?, config, &mut out),
    }
    Ok(out)
}

#[test]
fn text_forms_are_postgresqls() {
    let mut wrong = Vec::new();
    for line in include_str!("facts.txt").lines().filter(|l| !l.starts_with('#')) {
        let parts: Vec<&str> = line.splitn(6, '|').collect();
        let [ty, date_style, interval_style, zone, input, expected] = parts[..] else {
            panic!("{line}")
        };
        let config = config(date_style, interval_style, zone);
        let got = shown(cast(ty, input, &config));
        if got != expected {
            wrong.push(format!("{line}\n    got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
