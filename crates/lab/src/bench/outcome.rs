//! The measurements of a workload, and how they are judged.

use super::procfs::Usage;
use super::server::Kind;
use super::workload::{Flat, Workload};

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
    /// Bytes that the server's log has grown by, where that matters.
    pub(super) logged: i64,
}

impl Sample {
    /// A sample without resource usage, which is filled in later.
    pub(super) fn new(items: u64, items_per_second: f64, latency_ms: Option<f64>) -> Sample {
        let (usage, elapsed_seconds, logged) = (Usage::default(), 0.0, 0);
        Sample { items, items_per_second, latency_ms, usage, elapsed_seconds, logged }
    }

    /// Microseconds of processor time for each item: the server's and the client's.
    pub(super) fn cpu_us(&self) -> (f64, f64) {
        let items = (self.items as f64).max(1.0);
        (self.usage.server * 1e6 / items, self.usage.client * 1e6 / items)
    }

    /// The share of the machine that other programs than server and client used.
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
    /// The tables did not hold what the clients had written.
    pub(super) is_wrong: bool,
}

impl Series {
    pub(super) fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.items_per_second).collect()
    }

    pub(super) fn median_of(&self, what: impl Fn(&Sample) -> f64) -> Option<f64> {
        median(&self.samples.iter().map(what).collect::<Vec<_>>())
    }

    /// The distance between the best and the worst rate, relative to the median.
    pub(super) fn spread(&self) -> f64 {
        let rates = self.rates();
        let worst = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let best = rates.iter().copied().fold(0.0, f64::max);
        median(&rates).map_or(0.0, |median| (best - worst) / median.max(1e-9))
    }
}

/// A workload's line of the table.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) workload: Workload,
    pub(super) series: Vec<Series>,
}

impl Outcome {
    pub(super) fn series(&self, kind: Kind) -> Option<&Series> {
        self.series.iter().find(|series| series.kind == kind && !series.samples.is_empty())
    }

    pub(super) fn rate(&self, kind: Kind) -> Option<f64> {
        median(&self.series(kind)?.rates())
    }

    pub(super) fn ratio_to(&self, other: Kind) -> Option<f64> {
        Some(self.rate(Kind::Steppe)? / self.rate(other).filter(|rate| *rate > 0.0)?)
    }

    /// A server's rate as a part of its rate in the flat case: the median over the rounds,
    /// in each of which the two were measured in turn.
    pub(super) fn ratio_to_flat(&self, flat: &Outcome, kind: Kind) -> Option<f64> {
        let (own, flat) = (self.series(kind)?.rates(), flat.series(kind)?.rates());
        let ratios: Vec<f64> = own
            .iter()
            .zip(&flat)
            .filter(|(_, flat)| **flat > 0.0)
            .map(|(own, flat)| own / flat)
            .collect();
        median(&ratios)
    }

    /// Whether Steppe reached its targets; `flat` is the flat case.
    pub(super) fn verdict(&self, flat: Option<&Outcome>) -> &'static str {
        let Some(steppe) = self.series(Kind::Steppe) else { return "not measured" };
        if steppe.is_wrong {
            return "WRONG DATA";
        }
        let Workload { target_to_postgresql, target_to_noop, flat: of_flat, .. } = &self.workload;
        let target_to_flat = of_flat.as_ref().map(|Flat { target, .. }| *target);
        let mut verdict = "reached";
        for (ratio, target) in [
            (self.ratio_to(Kind::PostgreSql), *target_to_postgresql),
            (self.ratio_to(Kind::Noop), *target_to_noop),
            (flat.and_then(|flat| self.ratio_to_flat(flat, Kind::Steppe)), target_to_flat),
        ] {
            let Some(target) = target else { continue };
            match ratio {
                Some(ratio) if ratio < target => return "falls short",
                Some(_) => {}
                None => verdict = "not compared",
            }
        }
        verdict
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

#[cfg(test)]
mod tests {
    use super::super::{partitions, workload};
    use super::*;

    fn series(kind: Kind, rates: &[f64]) -> Series {
        let sample = |&items_per_second: &f64| Sample {
            items: 1000,
            items_per_second,
            latency_ms: None,
            usage: Usage { server: 0.01, client: 0.02, machine: 0.13 },
            elapsed_seconds: 1.0,
            logged: 0,
        };
        let samples = rates.iter().map(sample).collect();
        Series { kind, label: format!("{kind:?}"), samples, is_wrong: false }
    }

    /// Targets of the first workload: 1.9 to PostgreSQL, 0.65 to the do-nothing server.
    fn outcome(postgresql: &[f64], steppe: &[f64], noop: &[f64]) -> Outcome {
        Outcome {
            workload: workload::of_servers().swap_remove(0),
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
    fn both_targets_must_be_reached() {
        let ceiling = [200.0];
        assert_eq!(outcome(&[100.0, 1.0, 70.0], &[133.0], &ceiling).verdict(None), "reached");
        assert_eq!(outcome(&[71.0], &[133.0], &ceiling).verdict(None), "falls short");
        assert_eq!(outcome(&[50.0], &[129.0], &ceiling).verdict(None), "falls short");
        assert_eq!(outcome(&[70.0], &[133.0], &[]).verdict(None), "not compared");
        assert_eq!(outcome(&[71.0], &[133.0], &[]).verdict(None), "falls short");
        assert_eq!(outcome(&[70.0], &[], &ceiling).verdict(None), "not measured");
        let mut wrong = outcome(&[70.0], &[133.0], &ceiling);
        wrong.series[1].is_wrong = true;
        assert_eq!(wrong.verdict(None), "WRONG DATA");
    }

    #[test]
    fn processor_time_is_per_item_and_the_rest_is_noise() {
        let series = series(Kind::Steppe, &[1000.0]);
        let (server, client) = series.samples[0].cpu_us();
        assert!((server - 10.0).abs() < 1e-9 && (client - 20.0).abs() < 1e-9);
        assert!((series.samples[0].others_share(2) - 0.05).abs() < 1e-9);
    }

    /// The target is 0.95 of the plain table's rate, round by round.
    #[test]
    fn a_partitioned_table_is_compared_with_the_plain_one() {
        let all = partitions::workloads(&[100]);
        let of = |name: &str, rates: &[f64]| Outcome {
            workload: all.iter().find(|workload| workload.name == name).unwrap().clone(),
            series: vec![series(Kind::Steppe, rates)],
        };
        let plain = of("partitions-select-simple-0", &[100.0, 50.0, 80.0]);
        assert_eq!(plain.verdict(None), "reached");
        let slow = of("partitions-select-simple-100", &[90.0, 49.0, 75.0]);
        assert_eq!(slow.verdict(Some(&plain)), "falls short");
        let fast = of("partitions-select-simple-100", &[60.0, 49.0, 80.0]);
        assert_eq!(fast.ratio_to_flat(&plain, Kind::Steppe), Some(0.98));
        assert_eq!(fast.verdict(Some(&plain)), "reached");
        assert_eq!(fast.verdict(None), "not compared");
    }
}
