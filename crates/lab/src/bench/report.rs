//! Turns measurements into the report: medians, ratios, verdicts, and the data to judge their
//! reliability.

use std::fmt::Write;

use super::figure::{Chapter, Figure, Limit};
use super::machine::Machine;
use super::options::Options;
use super::outcome::{Outcome, Series, median};
use super::server::Kind;
use super::workload::{Section, Workload};

/// Everything that the report is made of.
pub(super) struct Report<'a> {
    pub(super) options: &'a Options,
    pub(super) machine: &'a Machine,
    pub(super) load_before: String,
    pub(super) load_after: String,
    /// PostgreSQL with its version, if it took part.
    pub(super) postgresql: Option<String>,
    pub(super) outcomes: &'a [Outcome],
    pub(super) figures: &'a [Figure],
    pub(super) chapters: &'a [Chapter],
    pub(super) notes: &'a [String],
}

/// Beyond these a figure is called noisy.
const SPREAD_MAX: f64 = 0.15;
const OTHERS_SHARE_MAX: f64 = 0.10;

impl Report<'_> {
    /// The report in Markdown that reads well as plain text too.
    pub(super) fn render(&self) -> String {
        let mut text = String::from("# Benchmark\n\n");
        for (title, rows) in [
            ("", self.servers_table()),
            ("## Partitions\n\n", self.flat_table(Section::Partitions)),
            ("## Cliffs\n\n", self.flat_table(Section::Cliffs)),
            ("## sysbench\n\n", self.compared_table(Section::Sysbench)),
            ("## Planning\n\n", self.compared_table(Section::Planning)),
            ("## Many rows in one statement\n\n", self.compared_table(Section::Inserts)),
            ("## Functions\n\n", self.flat_table(Section::Functions)),
            ("## Triggers and foreign keys\n\n", self.flat_table(Section::Triggers)),
            ("## Measured once\n\n", self.figures_table(self.figures)),
        ] {
            // The head alone is no table.
            if rows.len() > 1 {
                text.push_str(title);
                text.push_str(&table(&rows));
                text.push('\n');
            }
        }
        for Chapter { title, figures, .. } in self.chapters {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "## {title}\n\n{}", table(&self.figures_table(figures)));
        }
        let details = self.detail_table();
        if details.len() > 1 {
            text.push_str("## Each server\n\n");
            text.push_str(&table(&details));
            text.push_str(
                "\nCPU is processor time for one transaction (or row) in µs: of all the server's \
                 processes, and of\nthe client. \"Others\" is the part of the machine that neither \
                 used but something did (the kernel's\nown threads, which write and sync for the \
                 servers, among it).\n\n",
            );
        }
        text.push_str("## How far to trust this\n\n");
        for line in self.conditions() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "- {line}");
        }
        text
    }

    /// Whether PostgreSQL and Steppe, as far as they are wanted, were measured in all workloads,
    /// with correct answers and tables.
    pub(super) fn is_whole(&self) -> bool {
        let wanted = || {
            let both = [Kind::PostgreSql, Kind::Steppe].into_iter();
            both.filter(|kind| self.options.wants(*kind))
        };
        let is_measured = |o: &Outcome| {
            wanted().all(|kind| o.series(kind).is_some_and(|series| !series.is_wrong))
        };
        let is_answered = |chapter: &Chapter| {
            let compared = chapter.figures.iter().filter(|figure| figure.is_compared());
            chapter.wrong == 0
                && compared.into_iter().all(|f| wanted().all(|kind| f.value(kind).is_some()))
        };
        self.outcomes.iter().all(is_measured) && self.chapters.iter().all(is_answered)
    }

    /// The rates of the servers, and how they compare.
    fn servers_table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![words([
            "workload",
            "unit",
            self.postgresql(),
            "Steppe",
            "do-nothing",
            "to PostgreSQL",
            "target",
            "to do-nothing",
            "target",
            "verdict",
        ])];
        let compared = |o: &&Outcome| o.workload.section == Section::Servers;
        for outcome in self.outcomes.iter().filter(compared) {
            let workload = &outcome.workload;
            rows.push(vec![
                workload.title.clone(),
                workload.unit().to_owned(),
                whole(outcome.rate(Kind::PostgreSql)),
                whole(outcome.rate(Kind::Steppe)),
                whole(outcome.rate(Kind::Noop)),
                ratio(outcome.ratio_to(Kind::PostgreSql)),
                at_least(workload.target_to_postgresql),
                ratio(outcome.ratio_to(Kind::Noop)),
                at_least(workload.target_to_noop),
                outcome.verdict(None).to_owned(),
            ]);
        }
        rows
    }

    /// The cost of partitions or contention for each server: its rate relative to the flat case,
    /// which is the plain table or the workload without contention.
    fn flat_table(&self, section: Section) -> Vec<Vec<String>> {
        let mut rows = vec![words([
            "workload",
            self.postgresql(),
            "to its flat case",
            "Steppe",
            "to its flat case",
            "target",
            "to PostgreSQL",
            "target",
            "verdict",
        ])];
        for outcome in self.outcomes.iter().filter(|o| o.workload.section == section) {
            let workload = &outcome.workload;
            let target = workload.flat.as_ref().map(|flat| flat.target);
            let flat = workload.flat.as_ref().and_then(|flat| {
                self.outcomes.iter().find(|outcome| outcome.workload.name == flat.name)
            });
            let to_flat = |kind| flat.and_then(|flat| outcome.ratio_to_flat(flat, kind));
            rows.push(vec![
                workload.title.clone(),
                whole(outcome.rate(Kind::PostgreSql)),
                ratio(to_flat(Kind::PostgreSql)),
                whole(outcome.rate(Kind::Steppe)),
                ratio(to_flat(Kind::Steppe)),
                at_least(target),
                ratio(outcome.ratio_to(Kind::PostgreSql)),
                at_least(workload.target_to_postgresql),
                outcome.verdict(flat).to_owned(),
            ]);
        }
        rows
    }

    /// Steppe beside PostgreSQL, with no other server.
    fn compared_table(&self, section: Section) -> Vec<Vec<String>> {
        let mut rows = vec![words([
            "workload",
            "unit",
            self.postgresql(),
            "Steppe",
            "to PostgreSQL",
            "target",
            "verdict",
        ])];
        for outcome in self.outcomes.iter().filter(|o| o.workload.section == section) {
            let workload = &outcome.workload;
            rows.push(vec![
                workload.title.clone(),
                workload.unit().to_owned(),
                whole(outcome.rate(Kind::PostgreSql)),
                whole(outcome.rate(Kind::Steppe)),
                ratio(outcome.ratio_to(Kind::PostgreSql)),
                at_least(workload.target_to_postgresql),
                outcome.verdict(None).to_owned(),
            ]);
        }
        rows
    }

    /// The measurements that are not rates.
    fn figures_table(&self, figures: &[Figure]) -> Vec<Vec<String>> {
        let mut rows = vec![words([
            "figure",
            "unit",
            self.postgresql(),
            "Steppe",
            "limit",
            "PostgreSQL to it",
            "target",
            "verdict",
        ])];
        for figure in figures {
            let value = |kind| {
                let value = figure.value(kind);
                value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
            };
            rows.push(vec![
                figure.title.clone(),
                figure.unit.to_owned(),
                value(Kind::PostgreSql),
                value(Kind::Steppe),
                match figure.limit {
                    None => String::new(),
                    Some(Limit::AtMost(limit)) => format!("≤ {limit}"),
                    Some(Limit::AtLeast(limit)) => format!("≥ {limit}"),
                },
                ratio(figure.ratio_to_postgresql()),
                at_least(figure.target_to_postgresql),
                figure.verdict().to_owned(),
            ]);
        }
        rows
    }

    fn postgresql(&self) -> &str {
        self.postgresql.as_deref().unwrap_or("PostgreSQL")
    }

    fn detail_table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![words([
            "workload",
            "server",
            "median",
            "min",
            "max",
            "spread",
            "latency ms",
            "server CPU µs",
            "client CPU µs",
            "others",
            "",
        ])];
        for outcome in self.outcomes {
            for series in outcome.series.iter().filter(|series| !series.samples.is_empty()) {
                rows.push(self.detail_row(&outcome.workload, series));
            }
        }
        rows
    }

    fn detail_row(&self, workload: &Workload, series: &Series) -> Vec<String> {
        let number = |value: Option<f64>, decimals: usize| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let rates = series.rates();
        let latency = series.median_of(|sample| sample.latency_ms.unwrap_or(f64::NAN));
        let others = series.median_of(|sample| sample.others_share(self.machine.processors));
        let is_noisy = series.spread() > SPREAD_MAX || others.unwrap_or(0.0) > OTHERS_SHARE_MAX;
        vec![
            workload.name.clone(),
            series.label.clone(),
            median(&rates).map_or_else(String::new, grouped),
            grouped(rates.iter().copied().fold(f64::INFINITY, f64::min)),
            grouped(rates.iter().copied().fold(0.0, f64::max)),
            format!("{:.0}%", series.spread() * 100.0),
            number(latency.filter(|latency| latency.is_finite()), 3),
            number(series.median_of(|sample| sample.cpu_us().0), 2),
            number(series.median_of(|sample| sample.cpu_us().1), 2),
            format!("{:.0}%", others.unwrap_or(0.0) * 100.0),
            if is_noisy { "noisy" } else { "" }.to_owned(),
        ]
    }

    /// Whether other programs kept half of the processors busy at the start.
    fn was_busy(&self) -> bool {
        let last_minute = self.load_before.split(' ').next().and_then(|load| load.parse().ok());
        last_minute.unwrap_or(0.0) > 0.5 * self.machine.processors as f64
    }

    fn conditions(&self) -> Vec<String> {
        let Options { rounds, seconds, scale, copy_rows, shared_buffers, .. } = self.options;
        let machine = self.machine;
        let mut lines = vec![
            format!("{}, commit {}", machine.date, machine.commit),
            machine.description.clone(),
            format!(
                "data on {}; one fdatasync of 8 KiB takes {} µs (median)",
                machine.file_system,
                machine.sync_us.map_or_else(|| "?".to_owned(), |us| format!("{us:.0}"))
            ),
            format!(
                "load average (1, 5, 15 minutes) before: {}; after: {}",
                self.load_before, self.load_after
            ),
            format!(
                "medians of {rounds} round(s), servers in turn in each; a pgbench run is {seconds} s \
                 after one of {} s without measurement; scale {scale}; COPY of {} rows",
                self.options.warm_up_seconds(),
                grouped(*copy_rows as f64)
            ),
            format!(
                "clients and servers share the machine, over TCP on loopback; fsync and \
                 synchronous_commit on, shared_buffers {shared_buffers}, other settings default"
            ),
            format!(
                "noisy: rounds differ by more than {:.0}% of the median, or others took more \
                 than {:.0}% of the machine",
                SPREAD_MAX * 100.0,
                OTHERS_SHARE_MAX * 100.0
            ),
        ];
        if self.postgresql.as_ref().is_some_and(|label| !label.starts_with("PostgreSQL 18")) {
            lines.push(
                "the targets are meant for PostgreSQL 18, which was not to be had".to_owned(),
            );
        }
        if self.was_busy() {
            lines.push("THE MACHINE WAS BUSY before the benchmark began: measure again".to_owned());
        }
        if machine.syncs_to_memory() {
            lines.push("THE DATA IS IN MEMORY: figures for writes mean nothing".to_owned());
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), grouped)
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn at_least(target: Option<f64>) -> String {
    target.map_or(String::new(), |target| format!("≥ {target}"))
}

/// A whole number with separators between the thousands.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 && text != "-" {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A Markdown table with its columns aligned: the first row is the head.
fn table(rows: &[Vec<String>]) -> String {
    let width_of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width_of).collect();
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text.push_str("|\n");
        if i == 0 {
            for width in &widths {
                let _ = write!(text, "|{:-<1$}", "", width + 2);
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0.4, 999.0, 1000.0, 1_234_567.8, -123_456.0].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,568", "-123,456"]);
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [["α", "b"], ["long", "ü"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "| α    | b   |\n|------|-----|\n| long | ü   |\n");
    }
}
