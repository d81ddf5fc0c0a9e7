//! Processor time as Linux reports it in /proc: of a server with all its processes, of the
//! benchmark with the clients it ran, and of the whole machine. Their difference is what something
//! else on the machine took: the noise.

use std::collections::HashMap;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;

/// Processor seconds used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// By the server's processes, living and reaped.
    pub(super) server: f64,
    /// By this process and the clients that it ran to their end.
    pub(super) client: f64,
    /// By everything on the machine, with what the hypervisor took from it.
    pub(super) machine: f64,
}

impl Usage {
    pub(super) fn now(server_pid: u32) -> Usage {
        let ticks = ticks_per_second();
        let (server, client) = processes().map_or((0, 0), |table| {
            (tree_ticks(&table, server_pid), table.get(&std::process::id()).map_or(0, |p| p.ticks))
        });
        Usage {
            server: server as f64 / ticks,
            client: client as f64 / ticks,
            machine: machine_ticks().unwrap_or(0) as f64 / ticks,
        }
    }

    /// The processor time used since `earlier`.
    pub(super) fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            server: (self.server - earlier.server).max(0.0),
            client: (self.client - earlier.client).max(0.0),
            machine: (self.machine - earlier.machine).max(0.0),
        }
    }

    /// The processor time that neither the server nor the clients used.
    pub(super) fn others(&self) -> f64 {
        (self.machine - self.server - self.client).max(0.0)
    }
}

/// Processor seconds that a server's processes have used.
pub(super) fn tree_seconds(pid: u32) -> f64 {
    processes().map_or(0.0, |table| tree_ticks(&table, pid) as f64 / ticks_per_second())
}

/// The bytes of memory that a process has resident.
pub(super) fn resident_bytes(pid: u32) -> std::io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    parse_resident(&status).ok_or_else(|| std::io::Error::other("no VmRSS in /proc/PID/status"))
}

fn parse_resident(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = value.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Process {
    parent: u32,
    /// Its own time and that of the children it has reaped.
    ticks: u64,
}

fn processes() -> std::io::Result<HashMap<u32, Process>> {
    let mut table = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end between the listing and the reading.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        if let Some(process) = parse_stat(&stat) {
            table.insert(pid, process);
        }
    }
    Ok(table)
}

/// Reads a line of /proc/PID/stat. The second field is the program's name in
/// parentheses and may hold blanks and parentheses itself: the last one ends it.
fn parse_stat(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    // utime, stime, cutime, cstime: the 14th to the 17th field of the line.
    let mut ticks = 0u64;
    for field in fields.get(11..15)? {
        ticks += field.parse::<u64>().ok()?;
    }
    Some(Process { parent, ticks })
}

fn tree_ticks(table: &HashMap<u32, Process>, root: u32) -> u64 {
    let belongs = |mut pid: u32| {
        // Bounded: the table is not one snapshot, a reused id could close a circle.
        for _ in 0..64 {
            if pid == root {
                return true;
            }
            match table.get(&pid) {
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    table.iter().filter(|(pid, _)| belongs(**pid)).map(|(_, process)| process.ticks).sum()
}

fn machine_ticks() -> Option<u64> {
    parse_machine(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
/// (Guests' time, which follows, is in user's already.)
fn parse_machine(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let values: Vec<u64> = line.split_ascii_whitespace().map_while(|v| v.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = values.get(..8)? else {
        return None;
    };
    Some(user + nice + system + irq + softirq + steal)
}

fn ticks_per_second() -> f64 {
    static TICKS: OnceLock<f64> = OnceLock::new();
    *TICKS.get_or_init(|| {
        let answer = Command::new("getconf").arg("CLK_TCK").output().ok();
        let text = answer.and_then(|output| String::from_utf8(output.stdout).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(100.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_name_may_hold_parentheses() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 100 20 3 4 20 0 1 0 5 6 7";
        assert_eq!(parse_stat(stat), Some(Process { parent: 7, ticks: 127 }));
        assert_eq!(parse_stat("42 (cut off) S 7 42"), None);
    }

    #[test]
    fn a_tree_is_a_process_and_its_descendants() {
        let process = |parent, ticks| Process { parent, ticks };
        let table = HashMap::from([
            (1, process(0, 1000)),
            (10, process(1, 1)),
            (11, process(10, 2)),
            (12, process(11, 4)),
            (20, process(1, 8)),
            // A circle, as a torn listing could show one.
            (30, process(31, 16)),
            (31, process(30, 32)),
        ]);
        assert_eq!(tree_ticks(&table, 10), 7);
        assert_eq!(tree_ticks(&table, 99), 0);
    }

    #[test]
    fn idle_and_waiting_are_not_work() {
        let stat = "cpu  1 2 4 1000 1000 8 16 32 999 999\ncpu0 0 0 0 0 0 0 0 0 0 0\n";
        assert_eq!(parse_machine(stat), Some(63));
    }

    #[test]
    fn resident_memory_is_in_kilobytes() {
        let status = "VmPeak:\t  9 kB\nVmRSS:\t    1234 kB\nRssAnon:\t 5 kB\n";
        assert_eq!(parse_resident(status), Some(1234 * 1024));
        assert!(resident_bytes(std::process::id()).unwrap() > 100_000);
    }

    #[test]
    fn this_process_uses_time() {
        let before = Usage::now(std::process::id());
        let mut sum = 0u64;
        while Usage::now(std::process::id()).since(&before).server < 0.05 {
            sum = (0..1_000_000u64).fold(sum, |sum, i| std::hint::black_box(sum ^ i));
        }
        let used = Usage::now(std::process::id()).since(&before);
        assert!(used.client >= 0.05 && used.machine > 0.0, "{used:?}");
    }
}
