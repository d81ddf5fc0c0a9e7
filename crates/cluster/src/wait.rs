//! Waiting in place for sockets: poll(2) with a deadline, which also ends with the statement.
//!
//! A waiter sleeps until one of its descriptors is ready, its deadline passes, or the statement that
//! its thread runs is to end (a cancel, a time-out; [`steppe_types::interrupt`]). The last is
//! noticed at once: the waiter lends the session a waker that writes to an eventfd, and poll(2)
//! watches this eventfd, too.
//!
//! A wake-up is never lost. The waiter lends its waker, then checks for an interrupt, then sleeps. An
//! interrupter sets the interrupt, then takes the waker. Either the check sees the interrupt, or
//! the interrupter finds the waker and makes the eventfd readable, which no sleep can miss. A late
//! call of a waker only costs one more round.
//!
//! Where interrupts take no waker (the helper threads of a parallel scan), the waiter checks
//! every [`SLICE`].

use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result, SqlState};

/// The longest sleep between two checks for interrupts that cannot wake the waiter.
const SLICE: Duration = Duration::from_millis(10);

/// The operations that a descriptor must be ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read, or the end of the stream.
    Read,
    /// Room to write.
    Write,
    /// One of the two.
    Both,
}

impl Interest {
    fn flags(self) -> PollFlags {
        match self {
            Interest::Read => PollFlags::POLLIN,
            Interest::Write => PollFlags::POLLOUT,
            Interest::Both => PollFlags::POLLIN | PollFlags::POLLOUT,
        }
    }
}

/// A descriptor that is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'fd> {
    /// The descriptor.
    pub descriptor: BorrowedFd<'fd>,
    /// The operations that it must be ready for.
    pub interest: Interest,
    /// Whether it was ready when the wait ended. An error of the descriptor counts, too.
    pub is_ready: bool,
}

impl<'fd> Watched<'fd> {
    /// A descriptor to wait for.
    pub fn new(descriptor: BorrowedFd<'fd>, interest: Interest) -> Watched<'fd> {
        Watched { descriptor, interest, is_ready: false }
    }
}

/// Which interrupts end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heed {
    /// Those of the statement that the thread runs.
    Statement,
    /// A wait that is part of ending a statement heeds none, and has a deadline of its own.
    Nothing,
}

/// Waits until a descriptor is ready: true. False after the deadline. An error is the statement's
/// interrupt, or 58030 if the system cannot wait.
pub fn any(watched: &mut [Watched<'_>], deadline: Option<Instant>, heed: Heed) -> Result<bool> {
    let interrupts = match heed {
        Heed::Statement => interrupt::current(),
        Heed::Nothing => None,
    };
    let Some(interrupts) = interrupts else { return sleep(watched, deadline, None) };
    let mut ended = Ok(false);
    interrupts.wait(&mut || ended = sleep_interruptibly(watched, deadline, &*interrupts));
    ended
}

/// [`any`] for one descriptor.
pub fn one(
    descriptor: BorrowedFd<'_>,
    interest: Interest,
    deadline: Option<Instant>,
    heed: Heed,
) -> Result<bool> {
    any(&mut [Watched::new(descriptor, interest)], deadline, heed)
}

fn sleep_interruptibly(
    watched: &mut [Watched<'_>],
    deadline: Option<Instant>,
    interrupts: &dyn Interrupts,
) -> Result<bool> {
    /// The waker is taken back however the wait ends.
    struct Lent<'a>(&'a dyn Interrupts);
    impl Drop for Lent<'_> {
        fn drop(&mut self) {
            self.0.wake_by(None);
        }
    }
    let bell = Bell::of_this_thread()?;
    let is_woken = interrupts.wake_by(Some(Waker::from(Arc::clone(&bell))));
    let _lent = Lent(interrupts);
    sleep(watched, deadline, Some(&Interrupter { interrupts, bell: &bell, is_woken }))
}

/// The interrupts that a sleep heeds.
struct Interrupter<'a> {
    interrupts: &'a dyn Interrupts,
    bell: &'a Bell,
    /// They ring the bell.
    is_woken: bool,
}

fn sleep(
    watched: &mut [Watched<'_>],
    deadline: Option<Instant>,
    interrupter: Option<&Interrupter<'_>>,
) -> Result<bool> {
    loop {
        if let Some(interrupter) = interrupter {
            interrupter.interrupts.check()?;
        }
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let slice = match interrupter {
            Some(Interrupter { is_woken: false, .. }) => Some(left.unwrap_or(SLICE).min(SLICE)),
            _ => left,
        };
        if poll_once(watched, interrupter.map(|interrupter| interrupter.bell), slice)? {
            return Ok(true);
        }
        if left == Some(Duration::ZERO) {
            return Ok(false);
        }
    }
}

/// One call of poll(2). False: none of the descriptors is ready.
fn poll_once(
    watched: &mut [Watched<'_>],
    bell: Option<&Bell>,
    timeout: Option<Duration>,
) -> Result<bool> {
    let rung = bell.map(|bell| (bell.0.as_fd(), PollFlags::POLLIN));
    let mut list: Vec<PollFd<'_>> = watched
        .iter()
        .map(|one| (one.descriptor, one.interest.flags()))
        .chain(rung)
        .map(|(descriptor, flags)| PollFd::new(descriptor, flags))
        .collect();
    match poll(&mut list, milliseconds(timeout)) {
        Ok(_) => {}
        // A signal of the process: the caller looks at its deadline and comes back.
        Err(Errno::EINTR) => return Ok(false),
        Err(errno) => return Err(cannot_wait(errno.into())),
    }
    let mut is_ready = list.iter().map(|polled| polled.any().unwrap_or(true));
    let mut found = false;
    for (one, is_ready) in watched.iter_mut().zip(&mut is_ready) {
        one.is_ready = is_ready;
        found |= is_ready;
    }
    if let (Some(bell), Some(true)) = (bell, is_ready.next()) {
        bell.silence();
    }
    Ok(found)
}

/// Rounded up: a wait does not end before its deadline.
fn milliseconds(timeout: Option<Duration>) -> PollTimeout {
    let Some(timeout) = timeout else { return PollTimeout::NONE };
    let milliseconds = timeout.as_micros().div_ceil(1000);
    PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
}

#[cold]
fn cannot_wait(error: io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not wait for a socket: {error}"))
}

/// The eventfd of a thread that waits.
struct Bell(EventFd);

impl Bell {
    fn of_this_thread() -> Result<Arc<Bell>> {
        thread_local! {
            static BELL: OnceCell<Arc<Bell>> = const { OnceCell::new() };
        }
        BELL.with(|cell| {
            if let Some(bell) = cell.get() {
                return Ok(Arc::clone(bell));
            }
            let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
            let bell = EventFd::from_value_and_flags(0, flags)
                .map_err(|errno| cannot_wait(errno.into()))?;
            Ok(Arc::clone(cell.get_or_init(|| Arc::new(Bell(bell)))))
        })
    }

    /// Takes back what was rung. The caller checks for interrupts behind it.
    fn silence(&self) {
        // It fails only if another round has read the counter, which is the purpose.
        let _ = self.0.read();
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Bell>) {
        // It fails only if the counter is at its maximum: the descriptor is readable then.
        let _ = self.0.write(1);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    /// Interrupts that keep the last waker, also when it is taken back.
    #[derive(Default)]
    struct Keeps {
        waker: Mutex<Option<Waker>>,
        checks: AtomicU32,
        is_pending: AtomicU32,
    }

    impl Interrupts for Keeps {
        fn check(&self) -> Result<()> {
            self.checks.fetch_add(1, Ordering::SeqCst);
            match self.is_pending.swap(0, Ordering::SeqCst) {
                0 => Ok(()),
                _ => Err(Error::new(SqlState::QUERY_CANCELED, "as asked")),
            }
        }

        fn reserve(&self, _: usize) -> Result<()> {
            Ok(())
        }

        fn wake_by(&self, waker: Option<Waker>) -> bool {
            if let Some(waker) = waker {
                *self.waker.lock().unwrap() = Some(waker);
            }
            true
        }
    }

    fn soon() -> Option<Instant> {
        Some(Instant::now() + Duration::from_millis(50))
    }

    fn later() -> Option<Instant> {
        Some(Instant::now() + Duration::from_secs(20))
    }

    #[test]
    fn the_ready_descriptor_is_told() {
        let (a, mut to_a) = UnixStream::pair().unwrap();
        let (b, _to_b) = UnixStream::pair().unwrap();
        let both =
            || [Watched::new(a.as_fd(), Interest::Read), Watched::new(b.as_fd(), Interest::Read)];
        let mut watched = both();
        let began = Instant::now();
        assert!(!any(&mut watched, soon(), Heed::Statement).unwrap());
        assert!(began.elapsed() >= Duration::from_millis(50));
        to_a.write_all(b"x").unwrap();
        assert!(any(&mut watched, later(), Heed::Statement).unwrap());
        assert!(watched[0].is_ready && !watched[1].is_ready);
        assert!(one(b.as_fd(), Interest::Both, later(), Heed::Nothing).unwrap());
        // The end of the stream is something to read.
        drop(to_a);
        let mut watched = both();
        assert!(any(&mut watched, later(), Heed::Nothing).unwrap() && watched[0].is_ready);
    }

    #[test]
    fn an_interrupt_before_the_sleep_or_during_it_ends_the_wait() {
        let (a, _to_a) = UnixStream::pair().unwrap();
        let keeps = Arc::new(Keeps::default());
        let wait = |deadline, heed| {
            let mut interrupts: Option<Arc<dyn Interrupts>> = Some(keeps.clone());
            interrupt::during(&mut interrupts, || one(a.as_fd(), Interest::Read, deadline, heed))
        };
        keeps.is_pending.store(1, Ordering::SeqCst);
        assert!(!wait(soon(), Heed::Nothing).unwrap());
        assert!(wait(later(), Heed::Statement).is_err());

        let began = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(30));
                keeps.is_pending.store(1, Ordering::SeqCst);
                keeps.waker.lock().unwrap().clone().unwrap().wake();
            });
            assert!(wait(later(), Heed::Statement).is_err());
        });
        assert!(began.elapsed() < Duration::from_secs(10));
        // A waker that is called late does not end the next wait, nor does it keep it awake.
        keeps.waker.lock().unwrap().clone().unwrap().wake();
        let before = keeps.checks.load(Ordering::SeqCst);
        let began = Instant::now();
        assert!(!wait(soon(), Heed::Statement).unwrap());
        assert!(began.elapsed() >= Duration::from_millis(50));
        assert!(keeps.checks.load(Ordering::SeqCst) - before <= 4);
    }
}
