//! The benchmark's command, against the server that does nothing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use steppe_lab::process::TempDir;

/// pgbench comes with PostgreSQL, which `make test` installs.
fn has_pgbench() -> bool {
    let found = Command::new("pgbench").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no pgbench");
    }
    found
}

fn folder() -> TempDir {
    TempDir::new("steppe-bench-command").unwrap()
}

fn bench(work_dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(["--server", "noop", "--noop-bin", env!("CARGO_BIN_EXE_noop_server")]);
    command.arg("--work-dir").arg(work_dir).args(arguments);
    command
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_short_run_reports_and_leaves_nothing_behind() {
    if !has_pgbench() {
        return;
    }
    let (work_dir, elsewhere) = (folder(), folder());
    let file = elsewhere.path().join("report.md");
    let mut command =
        bench(work_dir.path(), &["--quick", "--seconds", "1", "--only", "tpcb", "--only"]);
    command.args(["copy", "--output"]).arg(&file);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let report = std::fs::read_to_string(&file).unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains(&report));
    // The do-nothing server has a figure for transactions and none for COPY.
    let cells = |title: &str| -> Vec<String> {
        let line = report.lines().find(|line| line.contains(title)).expect(title);
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rate: f64 = cells("tpcb-like")[5].replace(',', "").parse().unwrap();
    assert!(rate > 1.0, "{report}");
    assert_eq!(cells("COPY in, 4 clients")[5], "–");
    assert!(is_empty(work_dir.path()), "its folder stayed");
}

#[test]
fn who_has_no_sysbench_is_told_where_it_comes_from() {
    let work_dir = folder();
    let mut command = bench(work_dir.path(), &["--only", "sysbench", "--sysbench", "/none"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("cannot start /none") && said.contains("apt-get install sysbench"),
        "{said}"
    );
    assert!(is_empty(work_dir.path()), "its folder stayed");
}

#[test]
fn a_check_fails_where_nothing_is_measured() {
    let work_dir = folder();
    let output = bench(work_dir.path(), &["--check", "--only", "inserts", "--server", "steppe"])
        .args(["--steppe-bin", "/none"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("something was not measured"), "{said}");
}

#[test]
fn an_interrupt_stops_everything() {
    if !has_pgbench() {
        return;
    }
    let work_dir = folder();
    let mut command = bench(work_dir.path(), &["--seconds", "600", "--only", "tpcb"]);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let ready = lines.next().unwrap().unwrap();
    let port: u16 = ready.rsplit(' ').next().unwrap().parse().expect(&ready);
    std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    // Let it get into a run of pgbench.
    std::thread::sleep(Duration::from_millis(500));
    let asked = Instant::now();
    let kill = format!("kill -s INT {}", child.id());
    let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(sent.success());
    let said: Vec<_> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    assert_eq!(said.last().map(String::as_str), Some("bench: interrupted"));
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "the server lives");
    assert!(is_empty(work_dir.path()), "its folder stayed");
}
