//! Turns measurements into the report: medians, ratios, verdicts, and what is needed to
//! judge how far to trust them.

use std::fmt::Write;

use super::machine::Machine;
use super::options::Options;
use super::procfs::Usage;
use super::server::Kind;
use super::workload::Workload;

/// One measurement of a workload on a server.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// Transactions or rows.
    pub(super) items: u64,
    pub(super) items_per_second: f64,
    pub(super) latency_ms: Option<f64>,
    /// Processor time during the run.
    pub(super) usage: Usage,
    pub(super) elapsed_seconds: f64,
}

impl Sample {
    /// Microseconds of processor time for each item: the server's and the client's.
    pub(super) fn cpu_us(&self) -> (f64, f64) {
        let items = (self.items as f64).max(1.0);
        (self.usage.server * 1e6 / items, self.usage.client * 1e6 / items)
    }

    /// The part of the machine that neither server nor client used, but something did.
    pub(super) fn others_share(&self, processors: usize) -> f64 {
        self.usage.others() / (self.elapsed_seconds * processors as f64).max(1e-9)
    }
}

/// All measurements of a workload on a server.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) kind: Kind,
    pub(super) label: String,
    pub(super) samples: Vec<Sample>,
    /// What the server held afterwards is not what it was told.
    pub(super) is_wrong: bool,
}

impl Series {
    fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.items_per_second).collect()
    }

    fn median_of(&self, what: impl Fn(&Sample) -> f64) -> Option<f64> {
        median(&self.samples.iter().map(what).collect::<Vec<_>>())
    }

    /// The distance between the best and the worst rate, relative to the median.
    fn spread(&self) -> f64 {
        let rates = self.rates();
        let worst = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let best = rates.iter().copied().fold(0.0, f64::max);
        median(&rates).map_or(0.0, |median| (best - worst) / median.max(1e-9))
    }
}

/// A workload's line of the table.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) workload: &'static Workload,
    pub(super) series: Vec<Series>,
}

impl Outcome {
    fn series(&self, kind: Kind) -> Option<&Series> {
        self.series.iter().find(|series| series.kind == kind && !series.samples.is_empty())
    }

    fn rate(&self, kind: Kind) -> Option<f64> {
        median(&self.series(kind)?.rates())
    }

    fn ratio_to(&self, other: Kind) -> Option<f64> {
        Some(self.rate(Kind::Steppe)? / self.rate(other).filter(|rate| *rate > 0.0)?)
    }

    fn verdict(&self) -> &'static str {
        let Some(steppe) = self.series(Kind::Steppe) else { return "not measured" };
        if steppe.is_wrong {
            return "WRONG DATA";
        }
        let mut verdict = "reached";
        for (other, target) in [
            (Kind::PostgreSql, Some(self.workload.target_to_postgresql)),
            (Kind::Noop, self.workload.target_to_noop),
        ] {
            let Some(target) = target else { continue };
            match self.ratio_to(other) {
                Some(ratio) if ratio < target => return "falls short",
                Some(_) => {}
                None => verdict = "not compared",
            }
        }
        verdict
    }
}

/// Everything that the report is made of.
pub(super) struct Report<'a> {
    pub(super) options: &'a Options,
    pub(super) machine: &'a Machine,
    pub(super) load_before: String,
    pub(super) load_after: String,
    /// PostgreSQL with its version, if it took part.
    pub(super) postgresql: Option<String>,
    pub(super) outcomes: &'a [Outcome],
    pub(super) notes: &'a [String],
}

/// Beyond these a figure is called noisy.
const SPREAD_MAX: f64 = 0.15;
const OTHERS_SHARE_MAX: f64 = 0.10;

impl Report<'_> {
    /// The report in Markdown that reads well as plain text too.
    pub(super) fn render(&self) -> String {
        let mut text = String::from("# Benchmark\n\n");
        text.push_str(&self.summary_table());
        text.push_str("\n## Each server\n\n");
        text.push_str(&self.detail_table());
        text.push_str(
            "\nCPU is processor time for one transaction (or row) in µs: of all the server's \
             processes, and of\nthe client. \"Others\" is the part of the machine that neither \
             used but something did (the kernel's\nown threads, which write and sync for the \
             servers, among it).\n",
        );
        text.push_str("\n## How far to trust this\n\n");
        for line in self.conditions() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "- {line}");
        }
        text
    }

    fn summary_table(&self) -> String {
        let postgresql = self.postgresql.as_deref().unwrap_or("PostgreSQL");
        let mut rows = vec![
            [
                "workload",
                "unit",
                postgresql,
                "Steppe",
                "do-nothing",
                "to PostgreSQL",
                "target",
                "to do-nothing",
                "target",
                "verdict",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        for outcome in self.outcomes {
            let rate = |kind| outcome.rate(kind).map_or_else(|| "–".to_owned(), grouped);
            let ratio =
                |kind| outcome.ratio_to(kind).map_or_else(|| "–".to_owned(), |r| format!("{r:.2}"));
            let target =
                |target: Option<f64>| target.map_or(String::new(), |target| format!("≥ {target}"));
            rows.push(vec![
                outcome.workload.title.to_owned(),
                outcome.workload.unit().to_owned(),
                rate(Kind::PostgreSql),
                rate(Kind::Steppe),
                rate(Kind::Noop),
                ratio(Kind::PostgreSql),
                target(Some(outcome.workload.target_to_postgresql)),
                ratio(Kind::Noop),
                target(outcome.workload.target_to_noop),
                outcome.verdict().to_owned(),
            ]);
        }
        table(&rows)
    }

    fn detail_table(&self) -> String {
        let mut rows = vec![
            [
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
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        for outcome in self.outcomes {
            for series in outcome.series.iter().filter(|series| !series.samples.is_empty()) {
                rows.push(self.detail_row(outcome.workload, series));
            }
        }
        table(&rows)
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
            workload.name.to_owned(),
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

    /// Whether something else kept half of the processors busy when we came.
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

/// The middle value, or the mean of the two in the middle.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted.get(middle).copied()
    } else {
        Some((sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0)
    }
}

/// A whole number with its thousands set apart.
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
    use super::super::workload::WORKLOADS;
    use super::*;

    fn series(kind: Kind, rates: &[f64]) -> Series {
        let sample = |&items_per_second: &f64| Sample {
            items: 1000,
            items_per_second,
            latency_ms: None,
            usage: Usage { server: 0.01, client: 0.02, machine: 0.13 },
            elapsed_seconds: 1.0,
        };
        let samples = rates.iter().map(sample).collect();
        Series { kind, label: format!("{kind:?}"), samples, is_wrong: false }
    }

    /// Targets of the first workload: 1.9 to PostgreSQL, 0.65 to the do-nothing server.
    fn outcome(postgresql: &[f64], steppe: &[f64], noop: &[f64]) -> Outcome {
        Outcome {
            workload: &WORKLOADS[0],
            series: vec![
                series(Kind::PostgreSql, postgresql),
                series(Kind::Steppe, steppe),
                series(Kind::Noop, noop),
            ],
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0.4, 999.0, 1000.0, 1_234_567.8, -123_456.0].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,568", "-123,456"]);
    }

    #[test]
    fn both_targets_must_be_reached() {
        let ceiling = [200.0];
        assert_eq!(outcome(&[100.0, 1.0, 70.0], &[133.0], &ceiling).verdict(), "reached");
        assert_eq!(outcome(&[71.0], &[133.0], &ceiling).verdict(), "falls short");
        assert_eq!(outcome(&[50.0], &[129.0], &ceiling).verdict(), "falls short");
        assert_eq!(outcome(&[70.0], &[133.0], &[]).verdict(), "not compared");
        assert_eq!(outcome(&[71.0], &[133.0], &[]).verdict(), "falls short");
        assert_eq!(outcome(&[70.0], &[], &ceiling).verdict(), "not measured");
        let mut wrong = outcome(&[70.0], &[133.0], &ceiling);
        wrong.series[1].is_wrong = true;
        assert_eq!(wrong.verdict(), "WRONG DATA");
    }

    #[test]
    fn processor_time_is_per_item_and_the_rest_is_noise() {
        let series = series(Kind::Steppe, &[1000.0]);
        let (server, client) = series.samples[0].cpu_us();
        assert!((server - 10.0).abs() < 1e-9 && (client - 20.0).abs() < 1e-9);
        assert!((series.samples[0].others_share(2) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [["α", "b"], ["long", "ü"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "| α    | b   |\n|------|-----|\n| long | ü   |\n");
    }
}
