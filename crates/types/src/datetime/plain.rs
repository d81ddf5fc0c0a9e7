//! Reads `YYYY-MM-DD`, `YYYY-MM-DD HH:MM:SS[.ffffff]` and the same with a numeric zone without the
//! general decoder, under any DateStyle. Clients, pg_dump and COPY write this form.
//!
//! Any other text (more digits, named zones, years beyond four digits, fields out of range) is
//! `None`: the decoder reads it or fails.

use super::calendar::{POSTGRES_EPOCH_JDATE, USECS_PER_DAY, USECS_PER_SEC, date2j, days_in_month};

/// The number that ASCII digits spell.
fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0i32, |n, d| d.is_ascii_digit().then(|| n * 10 + i32::from(d - b'0')))
}

/// Days since 2000-01-01 of `YYYY-MM-DD`.
pub(super) fn date(text: &[u8]) -> Option<i32> {
    let [_, _, _, _, b'-', _, _, b'-', _, _] = text else { return None };
    let (year, month) = (number(&text[..4])?, number(&text[5..7])?);
    let day = number(&text[8..])?;
    let valid =
        year > 0 && (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    valid.then(|| date2j(year, month, day) - POSTGRES_EPOCH_JDATE)
}

/// Microseconds since 2000-01-01 of `YYYY-MM-DD HH:MM:SS[.ffffff]`.
pub(super) fn timestamp(text: &[u8]) -> Option<i64> {
    let (day, time) = text.split_at_checked(10)?;
    let (time, fraction) = time.split_at_checked(9)?;
    let [b' ' | b'T', _, _, b':', _, _, b':', _, _] = time else { return None };
    let (hour, minute) = (number(&time[1..3])?, number(&time[4..6])?);
    let second = number(&time[7..])?;
    // The decoder reads 24:00:00 and second 60.
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from((hour * 60 + minute) * 60 + second);
    let micros = seconds * USECS_PER_SEC + micros(fraction)?;
    Some(i64::from(date(day)?) * USECS_PER_DAY + micros)
}

/// Microseconds of nothing or of a point and one to six digits.
fn micros(fraction: &[u8]) -> Option<i64> {
    match fraction {
        [] => Some(0),
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            Some(i64::from(number(digits)?) * 10_i64.pow(6 - digits.len() as u32))
        }
        _ => None,
    }
}

/// The instant of a timestamp with the zone `±HH` or `±HH:MM` behind it.
pub(super) fn timestamptz(text: &[u8]) -> Option<i64> {
    // The date has signs of its own; no zone begins before the minutes.
    let at = text.iter().skip(16).position(|byte| matches!(byte, b'+' | b'-'))? + 16;
    let (local, zone) = text.split_at(at);
    let (hours, minutes) = match zone {
        [_, hours @ ..] if hours.len() == 2 => (number(hours)?, 0),
        [_, h, h2, b':', m, m2] => (number(&[*h, *h2])?, number(&[*m, *m2])?),
        _ => return None,
    };
    // The decoder refuses zones with larger offsets.
    if hours > 15 || minutes > 59 {
        return None;
    }
    let east = i64::from(hours * 60 + minutes) * 60 * USECS_PER_SEC;
    Some(timestamp(local)? - if zone[0] == b'-' { -east } else { east })
}

#[cfg(test)]
mod tests {
    use super::super::config::DateTimeConfig;
    use super::super::io::{date_in, timestamp_in, timestamptz_in};
    use super::*;

    /// With a blank in front the general decoder reads the text.
    fn general(text: &str) -> Option<i64> {
        timestamp_in(&format!(" {text}"), -1, &DateTimeConfig::default(), 0).ok()
    }

    fn general_tz(text: &str) -> Option<i64> {
        timestamptz_in(&format!(" {text}"), -1, &DateTimeConfig::default(), 0).ok()
    }

    #[test]
    fn precision_rounds_what_is_read_here() {
        let config = DateTimeConfig::default();
        for digits in 0..=6 {
            for text in ["2026-01-01 00:00:00.45", "2025-12-31 23:59:59.999999"] {
                let read = timestamp_in(text, digits, &config, 0).expect("a timestamp");
                let general = timestamp_in(&format!(" {text}"), digits, &config, 0).ok();
                assert_eq!(Some(read), general, "{text}, {digits} digits");
            }
        }
    }

    #[test]
    fn what_is_read_here_is_what_the_decoder_reads() {
        for year in [1, 4, 99, 100, 1582, 1900, 1970, 1999, 2000, 2024, 2026, 9999] {
            for (month, day) in [(1, 1), (2, 28), (2, 29), (2, 30), (4, 31), (12, 31), (13, 1)] {
                for time in ["00:00:00", "12:34:56.7", "23:59:59.999999", "01:02:03.040506"] {
                    let text = format!("{year:04}-{month:02}-{day:02} {time}");
                    assert_eq!(timestamp(text.as_bytes()), general(&text), "{text}");
                    for zone in ["+00", "-08", "+05:30", "-15:59"] {
                        let text = format!("{text}{zone}");
                        assert_eq!(timestamptz(text.as_bytes()), general_tz(&text), "{text}");
                    }
                    let days = date_in(&text[..10], &DateTimeConfig::default(), 0).ok();
                    assert_eq!(date(&text.as_bytes()[..10]), days, "{text}");
                }
            }
        }
    }

    #[test]
    fn other_zones_are_left_to_the_decoder() {
        for zone in ["", "Z", "+1", "+16", "+0530", "+05:3", "+05:60", "+05:30:15", " UTC"] {
            let text = format!("2026-01-01 12:00:00{zone}");
            assert_eq!(timestamptz(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn other_forms_are_left_to_the_decoder() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01 24:00:00",
            "2026-01-01 12:00:60",
            "2026-01-01 12:00:00Z",
            "0000-01-01 00:00:00",
            "2026-1-01  12:00:00",
            "2026-01-01 12:00:0x",
            "2026/01/01 12:00:00",
            "2026-01-01 12:00:00.",
            "2026-01-01 12:00:00.1234567",
            "2026-01-01 12:00:00.12 ",
        ] {
            assert_eq!(timestamp(text.as_bytes()), None, "{text}");
        }
    }
}
