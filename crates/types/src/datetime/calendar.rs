//! The proleptic Gregorian calendar by Julian day number (datetime.c's date2j and
//! j2date), from 4713-11-24 BC on.

/// Julian day of 2000-01-01, day 0 of dates and timestamps.
pub const POSTGRES_EPOCH_JDATE: i32 = 2_451_545;
/// Julian day of 1970-01-01.
pub const UNIX_EPOCH_JDATE: i32 = 2_440_588;
/// Julian day after the last valid date (5874898-06-03).
const DATE_END_JULIAN: i64 = 2_147_483_494;

/// Microseconds in a second.
pub const USECS_PER_SEC: i64 = 1_000_000;
/// Microseconds in a minute.
pub const USECS_PER_MINUTE: i64 = 60 * USECS_PER_SEC;
/// Microseconds in an hour.
pub const USECS_PER_HOUR: i64 = 3600 * USECS_PER_SEC;
/// Microseconds in a day.
pub const USECS_PER_DAY: i64 = 86_400 * USECS_PER_SEC;
/// Seconds in a day.
pub const SECS_PER_DAY: i64 = 86_400;

/// The earliest timestamp, 4713-11-24 00:00 BC.
pub const MIN_TIMESTAMP: i64 = -211_813_488_000_000_000;
/// The first instant after the last timestamp, 294277-01-01 00:00.
pub const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;

/// Full month names.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Full day names, from Sunday.
pub(crate) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The Julian day of a date. Year 0 is 1 BC, -1 is 2 BC. Months past 12 are not
/// carried; days may be any number.
pub fn date2j(year: i32, month: i32, day: i32) -> i32 {
    let (mut y, mut m) = (year as i64, month as i64);
    // March begins the year, so that the leap day comes last.
    if m > 2 {
        m += 1;
        y += 4800;
    } else {
        m += 13;
        y += 4799;
    }
    let century = y.div_euclid(100);
    let mut julian = y * 365 - 32167;
    julian += y.div_euclid(4) - century + century.div_euclid(4);
    julian += 7834 * m / 256 + day as i64;
    julian as i32
}

/// The (year, month, day) of a Julian day.
pub fn j2date(jd: i32) -> (i32, i32, i32) {
    let mut julian = (jd as u32).wrapping_add(32044);
    let mut quad = julian / 146_097;
    let extra = (julian - quad * 146_097) * 4 + 3;
    julian = julian.wrapping_add(60 + quad * 3 + extra / 146_097);
    quad = julian / 1461;
    julian -= quad * 1461;
    let mut y = (julian * 4 / 1461) as i32;
    julian = if y != 0 { (julian + 305) % 365 } else { (julian + 306) % 366 } + 123;
    y += (quad * 4) as i32;
    let quad = julian * 2141 / 65536;
    let day = julian - 7834 * quad / 256;
    let month = (quad + 10) % 12 + 1;
    (y - 4800, month as i32, day as i32)
}

/// Day of the week of a Julian day: 0 is Sunday.
pub fn j2day(jd: i32) -> i32 {
    ((jd as i64 + 1).rem_euclid(7)) as i32
}

/// Whether a year (0 is 1 BC) has a leap day.
pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in a month, 1..=12.
pub fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Whether date2j gives the right answer (IS_VALID_JULIAN).
pub fn is_valid_julian(year: i32, month: i32) -> bool {
    (year > -4713 || (year == -4713 && month >= 11))
        && (year < 5_874_898 || (year == 5_874_898 && month < 6))
}

/// Whether a finite date is in range (IS_VALID_DATE).
pub fn is_valid_date(date: i64) -> bool {
    let epoch = POSTGRES_EPOCH_JDATE as i64;
    (-epoch..DATE_END_JULIAN - epoch).contains(&date)
}

/// Whether a finite timestamp is in range (IS_VALID_TIMESTAMP).
pub fn is_valid_timestamp(micros: i64) -> bool {
    (MIN_TIMESTAMP..END_TIMESTAMP).contains(&micros)
}

/// Julian day of the Monday that begins ISO week 1 of a year.
fn iso_year_start(year: i32) -> i32 {
    let fourth = date2j(year, 1, 4);
    fourth - j2day(fourth - 1)
}

/// Julian day of the Monday of an ISO week (isoweek2j).
pub fn isoweek2j(year: i32, week: i32) -> i32 {
    iso_year_start(year).wrapping_add((week - 1).wrapping_mul(7))
}

/// ISO week and ISO year of a date (date2isoweek, date2isoyear).
pub fn iso_week(year: i32, month: i32, day: i32) -> (i32, i32) {
    let jd = date2j(year, month, day);
    let iso_year = if jd >= iso_year_start(year + 1) {
        year + 1
    } else if jd < iso_year_start(year) {
        year - 1
    } else {
        year
    };
    ((jd - iso_year_start(iso_year)) / 7 + 1, iso_year)
}

/// Day of the ISO year, from 1.
pub fn iso_year_day(year: i32, month: i32, day: i32) -> i32 {
    let (_, iso_year) = iso_week(year, month, day);
    date2j(year, month, day) - iso_year_start(iso_year) + 1
}

/// A broken-down date and time (struct pg_tm). Year 0 is 1 BC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tm {
    /// Year; 0 is 1 BC.
    pub year: i32,
    /// Month, from 1.
    pub month: i32,
    /// Day of the month, from 1.
    pub day: i32,
    /// Hour.
    pub hour: i32,
    /// Minute.
    pub minute: i32,
    /// Second.
    pub second: i32,
    /// Microseconds of the second.
    pub micros: i32,
}

impl Tm {
    /// Breaks a local timestamp down.
    pub fn from_timestamp(micros: i64) -> Tm {
        let days = micros.div_euclid(USECS_PER_DAY);
        let mut tm = Tm::from_time(micros.rem_euclid(USECS_PER_DAY));
        (tm.year, tm.month, tm.day) = j2date((days + POSTGRES_EPOCH_JDATE as i64) as i32);
        tm
    }

    /// Breaks a date down, at midnight.
    pub fn from_date(date: i32) -> Tm {
        let (year, month, day) = j2date(date.wrapping_add(POSTGRES_EPOCH_JDATE));
        Tm { year, month, day, ..Tm::default() }
    }

    /// Breaks a time of day down.
    pub fn from_time(time: i64) -> Tm {
        Tm {
            hour: (time / USECS_PER_HOUR) as i32,
            minute: (time / USECS_PER_MINUTE % 60) as i32,
            second: (time / USECS_PER_SEC % 60) as i32,
            micros: (time % USECS_PER_SEC) as i32,
            ..Tm::default()
        }
    }

    /// The Julian day.
    pub fn julian(&self) -> i32 {
        date2j(self.year, self.month, self.day)
    }

    /// The time of day in microseconds.
    pub fn time(&self) -> i64 {
        ((self.hour as i64 * 60 + self.minute as i64) * 60 + self.second as i64) * USECS_PER_SEC
            + self.micros as i64
    }

    /// The local timestamp; None if out of range (tm2timestamp without a zone).
    pub fn to_timestamp(&self) -> Option<i64> {
        self.to_timestamp_at(0)
    }

    /// The timestamp of this local time `offset` seconds east of UTC.
    pub fn to_timestamp_at(&self, offset: i32) -> Option<i64> {
        if !is_valid_julian(self.year, self.month) {
            return None;
        }
        let days = self.julian() as i64 - POSTGRES_EPOCH_JDATE as i64;
        let micros = days.checked_mul(USECS_PER_DAY)?.checked_add(self.time())?;
        let utc = micros.checked_sub(offset as i64 * USECS_PER_SEC)?;
        is_valid_timestamp(utc).then_some(utc)
    }

    /// The date; None if out of range.
    pub fn to_date(&self) -> Option<i32> {
        if !is_valid_julian(self.year, self.month) {
            return None;
        }
        let date = self.julian() as i64 - POSTGRES_EPOCH_JDATE as i64;
        is_valid_date(date).then_some(date as i32)
    }
}
