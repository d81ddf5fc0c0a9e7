//! pg_timezone_abbrevs: the time zone abbreviations that input accepts in the session's zone.

use hashbrown::HashSet;
use steppe_catalog::system::RowsBuilder;
use steppe_types::datetime::TimeZone;
use steppe_types::interval::Interval;
use steppe_types::{Datum, Result};

use crate::services::{SharedSession, now_micros};

const MICROS: i64 = 1_000_000;

/// The abbreviations that the session's zone has used, then those of timezone_abbreviations.
pub(super) fn abbreviations(core: &SharedSession) -> Result<Vec<Vec<Datum>>> {
    let zone = core.settings.lock().show("TimeZone").unwrap_or_default();
    let (zone, now) = (TimeZone::from_setting(&zone).unwrap_or_default(), now_micros());
    let own = zone.own_abbrevs_at(now);
    let known: HashSet<&str> = own.iter().map(|shown| &*shown.abbrev).collect();
    let others = TimeZone::abbrevs_at(now);
    let others = others.into_iter().filter(|shown| !known.contains(&*shown.abbrev));
    let mut all: Vec<_> = own.iter().cloned().chain(others).collect();
    all.sort_by(|a, b| a.abbrev.cmp(&b.abbrev));
    let mut builder = RowsBuilder::new("pg_timezone_abbrevs")?;
    for shown in all {
        let offset = Interval { months: 0, days: 0, micros: i64::from(shown.offset) * MICROS };
        builder.row([
            ("abbrev", Datum::text(shown.abbrev)),
            ("utc_offset", Datum::Interval(offset.into())),
            ("is_dst", Datum::Bool(shown.is_dst)),
        ]);
    }
    builder.finish()
}
