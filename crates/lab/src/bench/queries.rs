//! Suites of queries. PostgreSQL and Steppe run each query in turn, on servers of their own that
//! hold the same tables, and must give the same answer.
//!
//! A query is first run once on each server without measurement; those are the answers that are
//! compared. One that fails or takes too long is named in the notes and counted, since a mean of
//! what is left would say too much.

use std::path::Path;
use std::time::Instant;

use super::client::{Client, Row};
use super::figure::{Chapter, Figure, Limit, merge};
use super::options::Options;
use super::outcome::median;
use super::server::{Kind, Server};
use super::{Failure, Found, Result, interrupt, joins, note, tpch};

/// A suite of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suite {
    /// The decision support benchmark of the TPC.
    Tpch,
    /// Joins of many tables.
    Joins,
}

/// One query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
}

/// The queries of files below tests/.
macro_rules! queries {
    ($folder:literal: $($name:literal)*) => {
        &[$(Query {
            name: $name,
            sql: include_str!(concat!("../../../../tests/", $folder, "/", $name, ".sql")),
        }),*]
    };
}
pub(super) use queries;

/// How many times as fast as PostgreSQL Steppe has to be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aims {
    /// In the geometric mean over the queries.
    pub(super) mean: Option<f64>,
    /// In the sum of all times.
    pub(super) total: Option<f64>,
    /// In each query.
    pub(super) least: f64,
}

/// The statement_timeout of a query; it is less than the time a client waits.
const QUERY_LIMIT: &str = "100s";

/// A server that holds the tables.
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) client: Client,
    server: Server,
}

impl Place {
    pub(super) fn port(&self) -> u16 {
        self.server.port
    }
}

impl Suite {
    pub(super) const ALL: [Suite; 2] = [Suite::Tpch, Suite::Joins];

    /// For the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Suite::Tpch => "tpch",
            Suite::Joins => "joins",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Suite::Tpch => "the 22 queries of TPC-H, without and with parallelism",
            Suite::Joins => "forty joins of 5 to 12 skewed and correlated tables",
        }
    }

    /// Measures PostgreSQL and Steppe, as far as they are wanted and available.
    pub(super) fn measure(
        self,
        options: &Options,
        folder: &Path,
        found: &mut Found,
    ) -> Result<Vec<Chapter>> {
        let mut places = Vec::new();
        for kind in [Kind::PostgreSql, Kind::Steppe].into_iter().filter(|kind| options.wants(*kind))
        {
            match self.start(kind, options, folder, found) {
                Ok(place) => places.push(place),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => {
                    let text = format!("{}, {}: {failure}", self.name(), kind.title());
                    note(&mut found.notes, text);
                }
            }
        }
        match self {
            Suite::Tpch => tpch::measure(options, &mut places, &mut found.notes),
            Suite::Joins => joins::measure(options, &mut places, &mut found.notes),
        }
    }

    fn start(
        self,
        kind: Kind,
        options: &Options,
        folder: &Path,
        found: &mut Found,
    ) -> Result<Place> {
        let server = Server::start(kind, options, folder)?;
        if kind == Kind::PostgreSql {
            found.postgresql = Some(server.label.clone());
        }
        let mut client = Client::connect(server.port)?;
        let started = Instant::now();
        match self {
            Suite::Tpch => tpch::load(&mut client, options)?,
            Suite::Joins => joins::load(&mut client, options)?,
        }
        let seconds = started.elapsed().as_secs_f64();
        let label = &server.label;
        note(
            &mut found.notes,
            format!("{}: {label} made the tables in {seconds:.1} s", self.name()),
        );
        server.settle()?;
        client.query(&format!("SET statement_timeout = '{QUERY_LIMIT}'"))?;
        Ok(Place { kind, client, server })
    }
}

/// Runs all queries under a setting, and judges the results.
pub(super) fn compare(
    title: String,
    queries: &[Query],
    setting: &str,
    aims: Aims,
    places: &mut [Place],
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Chapter> {
    for place in &mut *places {
        place.client.query(setting)?;
    }
    let mut all = Compared { aims, ..Compared::default() };
    for query in queries {
        let answers = answers(query, places, notes)?;
        all.wrong += u32::from(answers.is_none());
        let times = times(query, places, options.rounds, notes)?;
        let shown: Vec<String> =
            times.iter().map(|(kind, ms)| format!("{kind:?} {ms:.1} ms")).collect();
        eprintln!("{title}: {}: {}", query.name, shown.join(", "));
        all.add(query.name, &times);
    }
    Ok(Chapter { title, wrong: all.wrong, figures: all.figures() })
}

/// The rows that all servers return for a query; `None` if one fails or the rows differ.
fn answers(
    query: &Query,
    places: &mut [Place],
    notes: &mut Vec<String>,
) -> Result<Option<Vec<Row>>> {
    let mut agreed: Option<Vec<Row>> = None;
    let mut is_wrong = false;
    for place in places {
        let rows = match place.client.rows(query.sql) {
            Ok(rows) => rows,
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                note(notes, format!("{}, {}: {failure}", query.name, place.kind.title()));
                is_wrong = true;
                continue;
            }
        };
        match &agreed {
            None => agreed = Some(rows),
            Some(others) => {
                if let Some(difference) = difference(others, &rows) {
                    let kind = place.kind.title();
                    note(notes, format!("WRONG ANSWER: {}, {kind}: {difference}", query.name));
                    is_wrong = true;
                }
            }
        }
    }
    Ok(agreed.filter(|_| !is_wrong))
}

/// The first difference between two answers.
fn difference(one: &[Row], other: &[Row]) -> Option<String> {
    if one.len() != other.len() {
        return Some(format!("{} rows instead of {}", other.len(), one.len()));
    }
    let place = one.iter().zip(other).position(|(one, other)| one != other)?;
    Some(format!("row {} is {:?} instead of {:?}", place + 1, other[place], one[place]))
}

/// The median milliseconds of each server that answers a query.
fn times(
    query: &Query,
    places: &mut [Place],
    rounds: u32,
    notes: &mut Vec<String>,
) -> Result<Vec<(Kind, f64)>> {
    let mut times: Vec<(Kind, Vec<f64>)> =
        places.iter().map(|place| (place.kind, Vec::new())).collect();
    for _ in 0..rounds {
        for (place, (_, times)) in places.iter_mut().zip(&mut times) {
            interrupt::check()?;
            let started = Instant::now();
            match place.client.rows(query.sql) {
                Ok(_) => times.push(started.elapsed().as_secs_f64() * 1e3),
                Err(failure) => {
                    note(notes, format!("{}, {}: {failure}", query.name, place.kind.title()));
                }
            }
        }
    }
    // A server that failed once has no figure.
    times.retain(|(_, times)| times.len() == rounds as usize);
    Ok(times.into_iter().filter_map(|(kind, times)| Some((kind, median(&times)?))).collect())
}

/// The queries that were compared so far.
#[derive(Debug, Default)]
struct Compared {
    aims: Aims,
    figures: Vec<Figure>,
    /// The sums of times.
    totals: Vec<(Kind, f64)>,
    /// PostgreSQL's time over Steppe's, of queries that both answer.
    ratios: Vec<f64>,
    wrong: u32,
}

impl Compared {
    fn add(&mut self, name: &str, times: &[(Kind, f64)]) {
        for &(kind, ms) in times {
            let figure = Figure::new(kind, name.to_owned(), "ms", ms, None);
            let figure = figure.against_postgresql(Some(self.aims.least));
            merge(&mut self.figures, vec![figure]);
            match self.totals.iter_mut().find(|(of, _)| *of == kind) {
                Some((_, total)) => *total += ms,
                None => self.totals.push((kind, ms)),
            }
        }
        let time_of = |kind| times.iter().find(|(of, _)| *of == kind).map(|(_, ms)| *ms);
        if let (Some(theirs), Some(ours)) = (time_of(Kind::PostgreSql), time_of(Kind::Steppe)) {
            self.ratios.push(theirs / ours);
        }
    }

    fn figures(mut self) -> Vec<Figure> {
        for (kind, total) in self.totals {
            let figure = Figure::new(kind, "all together".to_owned(), "ms", total, None);
            merge(&mut self.figures, vec![figure.against_postgresql(self.aims.total)]);
        }
        let mut of_all = |title: &str, value, limit: Option<Limit>| {
            let title = title.to_owned();
            self.figures.push(Figure::new(Kind::Steppe, title, "", value, limit));
        };
        if !self.ratios.is_empty() {
            let limit = self.aims.mean.map(Limit::AtLeast);
            of_all("PostgreSQL to Steppe, geometric mean", mean(&self.ratios), limit);
            let least = self.ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let limit = Some(Limit::AtLeast(self.aims.least));
            of_all("PostgreSQL to Steppe, smallest", least, limit);
        }
        let wrong = f64::from(self.wrong);
        of_all("queries without an answer or with another", wrong, Some(Limit::AtMost(0.0)));
        self.figures
    }
}

/// The geometric mean.
fn mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(all: &[(&str, f64, f64)], wrong: u32) -> Vec<Figure> {
        let aims = Aims { mean: Some(2.0), total: None, least: 0.8 };
        let mut compared = Compared { aims, wrong, ..Compared::default() };
        for (name, theirs, ours) in all {
            compared.add(name, &[(Kind::PostgreSql, *theirs), (Kind::Steppe, *ours)]);
        }
        compared.figures()
    }

    fn verdicts(figures: &[Figure]) -> Vec<&'static str> {
        figures.iter().map(Figure::verdict).collect()
    }

    #[test]
    fn mean_and_smallest_are_of_ratios() {
        let figures = compared(&[("a", 9.0, 1.0), ("b", 4.0, 4.0)], 0);
        assert_eq!(figures[2].value(Kind::PostgreSql), Some(13.0));
        assert!((figures[3].value(Kind::Steppe).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(figures[4].value(Kind::Steppe), Some(1.0));
        assert_eq!(verdicts(&figures[3..]), ["reached"; 3]);
    }

    #[test]
    fn one_slow_query_or_one_wrong_answer_falls_short() {
        let figures = compared(&[("a", 90.0, 1.0), ("b", 0.7, 1.0)], 1);
        assert_eq!(figures[1].verdict(), "falls short");
        assert_eq!(verdicts(&figures[3..]), ["reached", "falls short", "falls short"]);
    }

    #[test]
    fn answers_are_compared_row_by_row() {
        let row = |text: &str| vec![Some(text.to_owned()), None];
        let (one, other) = (vec![row("1.0"), row("2")], vec![row("1.00"), row("2")]);
        assert_eq!(difference(&one, &one), None);
        assert!(difference(&one, &other).unwrap().starts_with("row 1 is"));
        assert_eq!(difference(&one, &one[..1]).unwrap(), "1 rows instead of 2");
    }
}
