//! track_io_timing and track_wal_io_timing of a session. Any thread that continues the session
//! times I/O by the session's settings. It also keeps the session's separate transaction counts.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use steppe_counting::accesses::Apart;
use steppe_storage::usage::{Timing, time_io, time_io_by_default};

use crate::settings::SharedSettings;

const PAGES: u8 = 1;
const LOG: u8 = 2;

/// The kinds of I/O that a session times.
#[derive(Clone, Debug)]
pub(crate) struct IoTiming(Arc<AtomicU8>);

impl IoTiming {
    pub(crate) fn new(timing: Timing) -> IoTiming {
        let new = IoTiming(Arc::default());
        new.0.store(bits(timing), Ordering::Relaxed);
        new
    }

    /// Sets the kinds. The running thread follows immediately.
    pub(crate) fn set(&self, timing: Timing) {
        self.0.store(bits(timing), Ordering::Relaxed);
        time_io(Some(timing));
    }

    fn get(&self) -> Timing {
        let bits = self.0.load(Ordering::Relaxed);
        Timing { pages: bits & PAGES != 0, log: bits & LOG != 0 }
    }

    /// Runs the session's work, which any thread may continue.
    pub(crate) async fn during<T>(self, work: impl Future<Output = T>) -> T {
        let (mut work, mut counted) = (pin!(work), Apart::default());
        poll_fn(|cx| {
            time_io(Some(self.get()));
            let polled = counted.during(|| work.as_mut().poll(cx));
            time_io(None);
            polled
        })
        .await
    }
}

fn bits(timing: Timing) -> u8 {
    u8::from(timing.pages) * PAGES + u8::from(timing.log) * LOG
}

/// The server's own threads time I/O by the server's settings.
pub(crate) fn follow(settings: &SharedSettings) {
    time_io_by_default(Timing {
        pages: settings.is_on("track_io_timing"),
        log: settings.is_on("track_wal_io_timing"),
    });
}
