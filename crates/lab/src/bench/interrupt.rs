//! Ctrl-C, a closed terminal and `kill` ask the benchmark to stop: it then stops its servers and
//! removes its files as at a normal end, because all its waits check this flag. Children are in
//! process groups of their own, so that the terminal's Ctrl-C reaches the benchmark alone and the
//! servers are stopped in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::{Failure, Result};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on the three signals set a flag instead of ending the process.
pub(super) fn watch() -> Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate, mut hangup) = {
        let _context = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        )
    };
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        ASKED.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}

/// An error once the benchmark was asked to stop.
pub(super) fn check() -> Result<()> {
    if ASKED.load(Ordering::Relaxed) { Err(Failure::Interrupted) } else { Ok(()) }
}
