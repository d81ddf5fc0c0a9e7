//! Facts taken from PostgreSQL 18, and properties.

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

/// Calls a function on text arguments and writes its result; "NULL" for NULL.
fn call(function: &str, args: &[&str]) -> Result<Vec<u8>> {
    let config = config("ISO, MDY", "postgres", "America/New_York");
    let zone = &config.time_zone;
    let ts = |s: &str| timestamp_in(s, -1, &config, NOW);
    let tstz = |s: &str| timestamptz_in(s, -1, &config, NOW);
    let iv = |s: &str| interval_in(s, -1, &config);
    let float = |s: &str| s.parse::<f64>().unwrap();
    let int = |i: usize| args[i].parse::<i32>().unwrap();
    let null = || "NULL".to_string();
    let opt = |v: Result<Option<String>>| Ok(v?.unwrap_or_else(null).into_bytes());
    let num = |v: Result<Option<crate::numeric::Numeric>>| {
        Ok(v?.map_or_else(null, |n| n.to_string()).into_bytes())
    };
    let mut out = Vec::new();
    match function {
        "num_to_char" => {
            return format::numeric_to_char(&args[0].parse()?, args[1]).map(String::into_bytes);
        }
        "float_to_char" => {
            let shown = format::float_to_char(float(args[0]), f64::DIGITS, args[1]);
            return shown.map(String::into_bytes);
        }
        "ts_to_char" => return opt(format::timestamp_to_char(ts(args[0])?, args[1])),
        "tstz_to_char" => return opt(format::timestamptz_to_char(tstz(args[0])?, args[1], zone)),
        "iv_to_char" => return opt(format::interval_to_char(&iv(args[0])?, args[1])),
        "extract_ts" => return num(fields::extract_timestamp(args[0], ts(args[1])?)),
        "extract_tstz" => return num(fields::extract_timestamptz(args[0], tstz(args[1])?, zone)),
        "extract_date" => {
            return num(fields::extract_date(args[0], date_in(args[1], &config, NOW)?));
        }
        "extract_time" => {
            return num(fields::extract_time(args[0], time_in(args[1], -1, &config, NOW)?));
        }
        "extract_timetz" => {
            let (time, west) = timetz_in(args[1], -1, &config, NOW)?;
            return num(fields::extract_timetz(args[0], time, west));
        }
        "extract_iv" => return num(fields::extract_interval(args[0], &iv(args[1])?)),
        "to_date" => {
            date_out(format::to_date(args[0], args[1], &config.time_zone)?, &config, &mut out)
        }
        "to_timestamp" => {
            timestamptz_out(format::to_timestamp(args[0], args[1], zone)?, &config, &mut out);
        }
        "ts+iv" => {
            let sum = timestamp_plus_interval(ts(args[0])?, &iv(args[1])?)?;
            timestamp_out(sum, &config, &mut out);
        }
        "tstz+iv" => {
            let sum = timestamptz_plus_interval(tstz(args[0])?, &iv(args[1])?, zone)?;
            timestamptz_out(sum, &config, &mut out);
        }
        "trunc_ts" => {
            timestamp_out(fields::trunc_timestamp(args[0], ts(args[1])?)?, &config, &mut out);
        }
        "trunc_tstz" => {
            let cut = fields::trunc_timestamptz(args[0], tstz(args[1])?, zone)?;
            timestamptz_out(cut, &config, &mut out);
        }
        "bin" => {
            let bin = fields::bin_timestamp(&iv(args[0])?, ts(args[1])?, ts(args[2])?)?;
            timestamp_out(bin, &config, &mut out);
        }
        "make_date" => date_out(make_date(int(0), int(1), int(2))?, &config, &mut out),
        "make_time" => time_out(make_time(int(0), int(1), float(args[2]))?, &mut out),
        _ => {
            let span = match function {
                "ts-ts" => timestamp_minus_timestamp(ts(args[0])?, ts(args[1])?)?,
                "age" => timestamp_age(ts(args[0])?, ts(args[1])?)?,
                "trunc_iv" => fields::trunc_interval(args[0], &iv(args[1])?)?,
                "iv*" => iv(args[0])?.mul(float(args[1]))?,
                "iv/" => iv(args[0])?.div(float(args[1]))?,
                "justify_days" => iv(args[0])?.justify_days()?,
                "justify_hours" => iv(args[0])?.justify_hours()?,
                "justify_interval" => iv(args[0])?.justify()?,
                other => panic!("{other}"),
            };
            interval_out(&span, &config, &mut out);
        }
    }
    Ok(out)
}

#[test]
fn functions_are_postgresqls() {
    let mut wrong = Vec::new();
    for line in include_str!("function_facts.txt").lines().filter(|l| !l.starts_with('#')) {
        let parts: Vec<&str> = line.split('\t').collect();
        let (function, args, expected) = match parts[..] {
            [function, ref args @ .., expected] => (function, args, expected),
            _ => panic!("{line}"),
        };
        let got = shown(call(function, args));
        if got != expected {
            wrong.push(format!("{line}\n    got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

proptest! {
    #[test]
    fn julian_days_round_trip(jd in 0i32..2_147_483_493) {
        let (year, month, day) = j2date(jd);
        prop_assert_eq!(date2j(year, month, day), jd);
        prop_assert!((1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day));
    }

    #[test]
    fn timestamps_round_trip_in_every_style(
        micros in MIN_TIMESTAMP..END_TIMESTAMP,
        style in 0usize..5,
        zone in 0usize..4,
    ) {
        let style = ["ISO, MDY", "SQL, DMY", "SQL, MDY", "Postgres, MDY", "German, DMY"][style];
        let zone = ["UTC", "+3", "America/New_York", "Asia/Kolkata"][zone];
        let config = config(style, "postgres", zone);
        let mut out = Vec::new();
        timestamp_out(micros, &config, &mut out);
        let text = std::str::from_utf8(&out).unwrap();
        prop_assert_eq!(timestamp_in(text, -1, &config, NOW).unwrap(), micros, "{}", text);
        // Only ISO names the offset exactly.
        if style.starts_with("ISO") && micros.abs() < END_TIMESTAMP - USECS_PER_DAY {
            out.clear();
            timestamptz_out(micros, &config, &mut out);
            let text = std::str::from_utf8(&out).unwrap();
            if let Ok(read) = timestamptz_in(text, -1, &config, NOW) {
                prop_assert_eq!(read, micros, "{}", text);
            }
        }
    }

    #[test]
    fn intervals_round_trip_in_every_style(months: i32, days: i32, micros: i64, style in 0usize..4) {
        // Fields large enough to overflow a sum of seconds aren't readable either way.
        let span = Interval::new(months / 2, days / 2, micros / 4);
        let style = ["postgres", "postgres_verbose", "sql_standard", "iso_8601"][style];
        let config = config("ISO", style, "UTC");
        let mut out = Vec::new();
        interval_out(&span, &config, &mut out);
        let text = std::str::from_utf8(&out).unwrap();
        let read = interval_in(text, -1, &config);
        if style == "iso_8601" || micros.abs() / 4 < 7_000_000_000_000_000 {
            prop_assert_eq!(read.unwrap(), span, "{}", text);
        }
        out.clear();
        interval_send(&span, &mut out);
        prop_assert_eq!(interval_recv(&out, -1).unwrap(), span);
    }

    #[test]
    fn garbage_never_panics(
        text in "[-+0-9a-zT:./ ]{0,24}",
        picture in "[-A-Za-z0-9 \"\\\\,]{0,16}",
        number_picture in "[09.,DGSVPRMILFB ]{0,12}",
        micros: i64,
    ) {
        let config = config("ISO, DMY", "postgres", "America/New_York");
        let _ = date_in(&text, &config, NOW);
        let _ = timetz_in(&text, -1, &config, NOW);
        let _ = timestamptz_in(&text, -1, &config, NOW);
        let _ = interval_in(&text, -1, &config);
        let _ = format::to_timestamp(&text, &picture, &config.time_zone);
        let _ = format::interval_to_char(&Interval::new(-7, 5, micros), &picture);
        let number = crate::numeric::Numeric::from_i128_scaled(micros as i128, 5);
        let _ = format::numeric_to_char(&number, &picture);
        let _ = format::numeric_to_char(&number, &number_picture);
        let _ = format::to_number(&text, &number_picture);
        let _ = format::float_to_char(micros as f64 / 1e3, f64::DIGITS, &number_picture);
        let _ = TimeZone::by_name(&text);
    }
}
