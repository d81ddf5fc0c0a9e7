//! Describes the properties of the machine that influence the figures.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::outcome::median;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) processors: usize,
    /// One line.
    pub(super) description: String,
    pub(super) file_system: String,
    /// Median time of an fdatasync after a write of 8 KiB.
    pub(super) sync_us: Option<f64>,
    pub(super) date: String,
    pub(super) commit: String,
}

impl Machine {
    /// Looks at this machine, and at the file system under `scratch`.
    pub(super) fn look(scratch: &Path) -> Machine {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let model = line_value("/proc/cpuinfo", "model name").unwrap_or_default();
        let memory_kb = line_value("/proc/meminfo", "MemTotal")
            .and_then(|value| value.trim_end_matches("kB").trim().parse::<u64>().ok())
            .unwrap_or(0);
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let description = format!(
            "{processors} processors ({model}), {} GiB of memory, Linux {}",
            memory_kb >> 20,
            kernel.trim()
        );
        let path = scratch.to_string_lossy();
        Machine {
            processors,
            description,
            file_system: said("findmnt", &["-no", "FSTYPE", "-T", &path]).unwrap_or_default(),
            sync_us: sync_us(&scratch.join("sync")),
            date: said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default(),
            commit: said("git", &["describe", "--always", "--dirty"]).unwrap_or_default(),
        }
    }

    /// On a file system in memory a sync is free, and the figures for writes mean nothing.
    pub(super) fn syncs_to_memory(&self) -> bool {
        matches!(self.file_system.as_str(), "tmpfs" | "ramfs")
    }
}

/// The load averages over 1, 5 and 15 minutes, as the kernel prints them.
pub(super) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// The value of the first `key : value` line of a file.
fn line_value(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The output of a program, if it succeeds.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn sync_us(path: &Path) -> Option<f64> {
    let measure = || -> std::io::Result<Vec<f64>> {
        let mut file = File::create(path)?;
        let mut times = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(1);
        while times.len() < 100 && Instant::now() < deadline {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&[1; 8192])?;
            let started = Instant::now();
            file.sync_data()?;
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
        Ok(times)
    };
    let times = measure().ok();
    let _ = fs::remove_file(path);
    median(&times?)
}
