//! `YYYY-MM-DD` and `YYYY-MM-DD HH:MM:SS`: the form that clients, pg_dump and
//! COPY write, read without the general decoder, whatever DateStyle says.
//!
//! Anything else (fractions, zones, years beyond four digits, fields out of
//! range) is `None`: the decoder reads it, or has the error.

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

/// Microseconds since 2000-01-01 of `YYYY-MM-DD HH:MM:SS`.
pub(super) fn timestamp(text: &[u8]) -> Option<i64> {
    if text.len() != 19 {
        return None;
    }
    let (day, time) = text.split_at(10);
    let [b' ' | b'T', _, _, b':', _, _, b':', _, _] = time else { return None };
    let (hour, minute) = (number(&time[1..3])?, number(&time[4..6])?);
    let second = number(&time[7..])?;
    // 24:00:00 and second 60 are the decoder's.
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from((hour * 60 + minute) * 60 + second);
    Some(i64::from(date(day)?) * USECS_PER_DAY + seconds * USECS_PER_SEC)
}

#[cfg(test)]
mod tests {
    use super::super::config::DateTimeConfig;
    use super::super::io::{date_in, timestamp_in};
    use super::*;

    /// With a blank in front the general decoder reads the text.
    fn general(text: &str) -> Option<i64> {
        timestamp_in(&format!(" {text}"), -1, &DateTimeConfig::default(), 0).ok()
    }

    #[test]
    fn what_is_read_here_is_what_the_decoder_reads() {
        for year in [1, 4, 99, 100, 1582, 1900, 1970, 1999, 2000, 2024, 2026, 9999] {
            for (month, day) in [(1, 1), (2, 28), (2, 29), (2, 30), (4, 31), (12, 31), (13, 1)] {
                for time in ["00:00:00", "12:34:56", "23:59:59"] {
                    let text = format!("{year:04}-{month:02}-{day:02} {time}");
                    assert_eq!(timestamp(text.as_bytes()), general(&text), "{text}");
                    let days = date_in(&text[..10], &DateTimeConfig::default(), 0).ok();
                    assert_eq!(date(&text.as_bytes()[..10]), days, "{text}");
                }
            }
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
        ] {
            assert_eq!(timestamp(text.as_bytes()), None, "{text}");
        }
    }
}
