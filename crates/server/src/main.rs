//! The program `steppe`.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use steppe_server::cli::{self, Command};
use steppe_server::server::Server;
use steppe_server::{Config, Running, log, process_user};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    match cli::parse(std::env::args().skip(1)) {
        Ok(Command::Print(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Command::Serve(config)) => serve(&config),
        Err(message) => {
            eprintln!("steppe: {message}");
            ExitCode::from(2)
        }
    }
}

fn serve(config: &Config) -> ExitCode {
    log::panics_to_log();
    let user = config.user.as_deref().map(|user| process_user::run_as(user, &config.data_dir));
    let running = match user.unwrap_or(Ok(())).and_then(|()| Running::start(config)) {
        Ok(running) => running,
        Err(message) => {
            eprintln!("steppe: {message}");
            return ExitCode::FAILURE;
        }
    };
    println!("ready: listening on {}", running.address());
    // The reader of the line may have closed the pipe.
    let _ = std::io::stdout().flush();
    running.spawn(reload_at_hangup(Arc::clone(running.server())));
    running.block_on(running.until(stop_signal()));
    log::info("stopping");
    running.spawn(second_signal());
    match running.stop() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("steppe: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Completes at the first SIGTERM or SIGINT.
async fn stop_signal() {
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    match (terminate, interrupt) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        // Without handlers, the signals end the process by themselves.
        _ => std::future::pending().await,
    }
}

/// SIGHUP reloads steppe.conf.
async fn reload_at_hangup(server: Arc<Server>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        server.reload();
    }
}

/// A second signal stops the process at once. The next start recovers.
async fn second_signal() {
    stop_signal().await;
    std::process::exit(1);
}
