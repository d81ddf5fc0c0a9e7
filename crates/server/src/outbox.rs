//! Answers that leave together: a worker collects the answers of its sessions in one round and
//! sends them by one system call.
//!
//! An answer that is sent wakes its client. The client may share the worker's processor and have
//! taken less of it than the server. Then the kernel runs the client at once: it reads that one
//! answer, sends its next message and sleeps again, and the server continues with the next session.
//! This costs two changes of threads for each message. If all answers arrive before the client
//! runs, it costs two for all of them (docs/decisions/2026-11-24-answers-leave-together.md).
//!
//! ```text
//!   session ── put ──┐
//!   session ── put ──┼─► Outbox ── the worker has nothing left to run ──► one io_uring_enter
//!   session ── put ──┘      └───── a session has more to do than a short statement
//! ```
//!
//! The guarantees:
//!
//! - Every answer in the outbox is sent. Only the thread that has emptied the outbox last may add
//!   answers. The thread that runs the worker's sessions empties it before it sleeps. So either
//!   both are the same thread, which empties it again, or the sessions have moved to another thread
//!   (`block_in_place`). That thread has not slept since, and empties the outbox before it does.
//! - A client's answers are sent in order, each once: a session has at most one answer in the
//!   outbox. The session has it sent before it uses its socket in any other way
//!   ([`Queued::settle`], also when dropped). So the descriptor stays open while its answer is in
//!   the outbox.
//! - Sending never waits: the bytes that a socket has no room for are returned to the session.
//!
//! Without io_uring (it may be turned off, or denied) the outbox takes no answers, and sessions
//! write themselves.

#![allow(unsafe_code)]

use std::cell::{OnceCell, RefCell};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::{IoUring, Probe, opcode, types};
use parking_lot::Mutex;

use crate::server::SessionControl;

/// A longer answer is not worth a copy.
const ANSWER_BYTES_MAX: usize = 4096;

/// The size of the ring. A full outbox is sent at once.
const ANSWERS_MAX: usize = 32;

const SEND_FLAGS: i32 = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

thread_local! {
    /// The outbox of the worker whose sessions this thread may run.
    static OWN: OnceCell<Arc<Outbox>> = const { OnceCell::new() };
    /// Its address identifies the thread.
    static THREAD: RefCell<u8> = const { RefCell::new(0) };
}

fn this_thread() -> usize {
    THREAD.with(|mark| std::ptr::from_ref(mark).addr())
}

/// The answers of one worker's sessions.
pub(crate) struct Outbox(Mutex<Content>);

struct Content {
    ring: Option<IoUring>,
    /// The thread that has emptied it last before a sleep.
    emptied_by: usize,
    /// The answers, one after the other.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The result of each entry.
    results: Vec<i32>,
}

/// One answer.
struct Entry {
    socket: RawFd,
    bytes: Range<usize>,
    delivery: Arc<Delivery>,
}

/// The state that a session and the outbox share.
struct Delivery {
    /// An answer is in the outbox.
    is_queued: AtomicBool,
    /// There is something in `returned`.
    has_returned: AtomicBool,
    returned: Mutex<Option<Returned>>,
    /// The session to wake.
    control: Arc<SessionControl>,
}

/// The reason why an answer was not sent whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Returned {
    /// The socket had no room for these bytes.
    Rest(Vec<u8>),
    /// The connection has failed.
    Lost,
}

impl Outbox {
    /// The outbox of a new worker; `None` where the process may not use io_uring.
    pub(crate) fn new() -> Option<Arc<Outbox>> {
        let ring = IoUring::builder().dontfork().build(ANSWERS_MAX as u32).ok()?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).ok()?;
        probe.is_supported(opcode::Send::CODE).then(|| Arc::new(Outbox::with(Some(ring))))
    }

    fn with(ring: Option<IoUring>) -> Outbox {
        Outbox(Mutex::new(Content {
            ring,
            emptied_by: 0,
            bytes: Vec::new(),
            entries: Vec::new(),
            results: Vec::new(),
        }))
    }

    /// The calling thread runs sessions of this worker.
    pub(crate) fn enter(self: &Arc<Outbox>) {
        OWN.with(|own| own.set(Arc::clone(self)).ok());
    }

    /// The calling thread has nothing left to run, and is about to sleep.
    pub(crate) fn empty_before_sleep(&self) {
        let mut content = self.0.lock();
        content.emptied_by = this_thread();
        content.send();
    }
}

/// Sends the answers in the calling worker's outbox: the next step may take a while.
pub(crate) fn send_now() {
    OWN.with(|own| {
        if let Some(outbox) = own.get() {
            outbox.0.lock().send();
        }
    });
}

impl Content {
    /// Sends everything.
    fn send(&mut self) {
        match &self.entries[..] {
            [] => return,
            [entry] => {
                let result = send_alone(entry, &self.bytes);
                self.results.push(result);
            }
            _ => self.send_together(),
        }
        debug_assert_eq!(self.results.len(), self.entries.len());
        for (entry, result) in self.entries.drain(..).zip(self.results.drain(..)) {
            entry.delivery.sent(result, &self.bytes[entry.bytes]);
        }
        self.bytes.clear();
    }

    fn send_together(&mut self) {
        self.results.resize(self.entries.len(), i32::MIN);
        let ran = match &mut self.ring {
            Some(ring) => run(ring, &self.entries, &self.bytes, &mut self.results),
            None => Ok(()),
        };
        if ran.is_err() {
            // It worked when the worker started, so it has been denied since: the ring is not tried
            // again.
            self.ring = None;
        }
        for (entry, result) in self.entries.iter().zip(&mut self.results) {
            if *result == i32::MIN {
                *result = send_alone(entry, &self.bytes);
            }
        }
    }
}

/// Sends the entries by one system call, and notes the results that the ring returns.
fn run(ring: &mut IoUring, entries: &[Entry], bytes: &[u8], results: &mut [i32]) -> io::Result<()> {
    for (i, entry) in entries.iter().enumerate() {
        let answer = &bytes[entry.bytes.clone()];
        let send = opcode::Send::new(types::Fd(entry.socket), answer.as_ptr(), answer.len() as u32)
            .flags(SEND_FLAGS)
            .build()
            .user_data(i as u64);
        // SAFETY: the socket and the bytes outlive the operation. This function returns only when
        // the kernel has completed every operation that it has taken.
        let pushed = unsafe { ring.submission().push(&send) };
        debug_assert!(pushed.is_ok(), "the ring has room for all answers");
    }
    let mut left = entries.len();
    while left > 0 {
        // The sends do not wait, so an operation that the kernel has taken has completed.
        let submitted = ring.submit_and_wait(left);
        for completion in ring.completion() {
            results[completion.user_data() as usize] = completion.result();
            left -= 1;
        }
        match submitted {
            // An entry without a result was not taken.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// As the ring does, returns the number of bytes sent, or an error number below zero.
fn send_alone(entry: &Entry, bytes: &[u8]) -> i32 {
    let answer = &bytes[entry.bytes.clone()];
    // SAFETY: the session has its answer sent before it closes its socket. The bytes are a slice.
    let sent =
        unsafe { libc::send(entry.socket, answer.as_ptr().cast(), answer.len(), SEND_FLAGS) };
    match sent {
        0.. => sent as i32,
        _ => -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
    }
}

impl Delivery {
    fn sent(&self, result: i32, answer: &[u8]) {
        let returned = match result {
            0.. if result as usize == answer.len() => None,
            0.. => Some(Returned::Rest(answer[result as usize..].to_vec())),
            _ if result == -libc::EAGAIN || result == -libc::EINTR => {
                Some(Returned::Rest(answer.to_vec()))
            }
            _ => Some(Returned::Lost),
        };
        let is_returned = returned.is_some();
        if is_returned {
            *self.returned.lock() = returned;
            self.has_returned.store(true, Ordering::Release);
        }
        self.is_queued.store(false, Ordering::Release);
        if is_returned {
            self.control.wake();
        }
    }
}

/// A session's part of the outbox. It sends its answer when dropped, before the socket closes.
pub(crate) struct Queued {
    outbox: Option<Arc<Outbox>>,
    delivery: Arc<Delivery>,
}

impl Queued {
    /// The part of a session of the calling thread's worker.
    pub(crate) fn new(control: &Arc<SessionControl>) -> Queued {
        Queued::with(OWN.with(|own| own.get().cloned()), control)
    }

    fn with(outbox: Option<Arc<Outbox>>, control: &Arc<SessionControl>) -> Queued {
        let delivery = Delivery {
            is_queued: AtomicBool::new(false),
            has_returned: AtomicBool::new(false),
            returned: Mutex::default(),
            control: Arc::clone(control),
        };
        Queued { outbox, delivery: Arc::new(delivery) }
    }

    /// Adds an answer, if it may leave with others. If false, the session must write it itself.
    ///
    /// The socket must stay open until this is settled or dropped.
    pub(crate) fn put(&self, socket: BorrowedFd<'_>, answer: &[u8]) -> bool {
        let Some(outbox) = self.outbox.as_ref().filter(|_| answer.len() <= ANSWER_BYTES_MAX) else {
            return false;
        };
        let mut content = outbox.0.lock();
        if content.emptied_by != this_thread() || content.ring.is_none() {
            return false;
        }
        debug_assert!(!self.is_queued(), "a session has one answer at most in here");
        let start = content.bytes.len();
        content.bytes.extend_from_slice(answer);
        let bytes = start..content.bytes.len();
        self.delivery.is_queued.store(true, Ordering::Release);
        let delivery = Arc::clone(&self.delivery);
        content.entries.push(Entry { socket: socket.as_raw_fd(), bytes, delivery });
        if content.entries.len() == ANSWERS_MAX {
            content.send();
        }
        true
    }

    fn is_queued(&self) -> bool {
        self.delivery.is_queued.load(Ordering::Acquire)
    }

    /// Has the session's answer sent, if one is in there.
    #[inline]
    pub(crate) fn settle(&self) {
        if let Some(outbox) = self.outbox.as_ref().filter(|_| self.is_queued()) {
            outbox.0.lock().send();
            debug_assert!(!self.is_queued());
        }
    }

    /// Whether bytes were returned. The session's waker is woken then.
    #[inline]
    pub(crate) fn has_returned(&self) -> bool {
        self.delivery.has_returned.load(Ordering::Acquire)
    }

    /// The returned bytes or the failure, once.
    pub(crate) fn take_returned(&self) -> Option<Returned> {
        let was_there = self.delivery.has_returned.swap(false, Ordering::AcqRel);
        was_there.then(|| self.delivery.returned.lock().take()).flatten()
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicUsize;
    use std::task::{Wake, Waker};

    /// A session, as far as the outbox knows it. A queued answer is sent before the socket closes.
    struct Session {
        queued: Queued,
        socket: UnixStream,
        woken: Arc<Woken>,
    }

    /// Counts how often its task was woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Woken>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Session {
        fn new(outbox: &Arc<Outbox>) -> (Session, UnixStream) {
            let (socket, client) = UnixStream::pair().unwrap();
            socket.set_nonblocking(true).unwrap();
            let (control, woken) = (Arc::<SessionControl>::default(), Arc::<Woken>::default());
            control.register(&Waker::from(Arc::clone(&woken)));
            let queued = Queued::with(Some(Arc::clone(outbox)), &control);
            (Session { queued, socket, woken }, client)
        }

        fn put(&self, answer: &[u8]) -> bool {
            self.queued.put(self.socket.as_fd(), answer)
        }
    }

    /// The outbox of a worker that has slept; `None` without io_uring.
    fn outbox() -> Option<Arc<Outbox>> {
        let outbox = Outbox::new();
        match &outbox {
            Some(outbox) => outbox.empty_before_sleep(),
            None => eprintln!("skipped: no io_uring"),
        }
        outbox
    }

    fn read(client: &mut UnixStream, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        client.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn has_nothing(client: &UnixStream) -> bool {
        client.set_nonblocking(true).unwrap();
        let nothing = (&mut &*client).read(&mut [0]);
        client.set_nonblocking(false).unwrap();
        nothing.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    #[test]
    fn answers_leave_together_and_each_to_its_own_client() {
        let Some(outbox) = outbox() else { return };
        for count in [1, 2, ANSWERS_MAX - 1] {
            let mut pairs: Vec<_> = (0..count).map(|_| Session::new(&outbox)).collect();
            for (i, (session, client)) in pairs.iter().enumerate() {
                assert!(session.put(&vec![i as u8; 100 + i]));
                assert!(has_nothing(client), "it waits for the others");
            }
            outbox.empty_before_sleep();
            for (i, (session, client)) in pairs.iter_mut().enumerate() {
                assert_eq!(read(client, 100 + i), vec![i as u8; 100 + i]);
                assert!(!session.queued.is_queued() && !session.queued.has_returned());
            }
        }
    }

    #[test]
    fn a_full_outbox_does_not_wait() {
        let Some(outbox) = outbox() else { return };
        let mut pairs: Vec<_> = (0..ANSWERS_MAX).map(|_| Session::new(&outbox)).collect();
        assert!(pairs.iter().all(|(session, _)| session.put(b"answer")));
        assert!(pairs.iter_mut().all(|(_, client)| read(client, 6) == b"answer"));
    }

    #[test]
    fn what_a_socket_has_no_room_for_comes_back() {
        let Some(outbox) = outbox() else { return };
        // Alone and together: a part of the answer is sent, then none of it.
        for others in [0, 2] {
            let (session, mut client) = Session::new(&outbox);
            let others: Vec<_> = (0..others).map(|_| Session::new(&outbox)).collect();
            let (mut expected, mut came_back) = (Vec::new(), 0);
            for round in 0u32.. {
                let answer: Vec<u8> = (0..ANSWER_BYTES_MAX as u32 / 4)
                    .flat_map(|i| (round << 16 | i).to_be_bytes())
                    .collect();
                assert!(session.put(&answer));
                assert!(others.iter().all(|(other, _)| other.put(b"x")));
                session.queued.settle();
                let Some(returned) = session.queued.take_returned() else {
                    expected.extend(answer);
                    continue;
                };
                let Returned::Rest(rest) = returned else { panic!("the client is there") };
                assert!(answer.ends_with(&rest), "what is returned is the end of the answer");
                expected.extend(&answer[..answer.len() - rest.len()]);
                came_back += 1;
                if came_back == 2 {
                    break;
                }
            }
            assert_eq!(session.woken.0.load(Ordering::Relaxed), came_back, "only then");
            assert_eq!(read(&mut client, expected.len()), expected);
            assert!(has_nothing(&client));
        }
    }

    #[test]
    fn an_answer_without_a_client_is_lost_and_the_others_are_not() {
        let Some(outbox) = outbox() else { return };
        let (gone, client) = Session::new(&outbox);
        let (other, mut its_client) = Session::new(&outbox);
        drop(client);
        assert!(gone.put(b"gone") && other.put(b"there"));
        outbox.empty_before_sleep();
        assert_eq!(gone.queued.take_returned(), Some(Returned::Lost));
        assert_eq!(other.queued.take_returned(), None);
        assert_eq!(read(&mut its_client, 5), b"there");
    }

    #[test]
    fn a_session_that_ends_leaves_nothing_behind() {
        let Some(outbox) = outbox() else { return };
        let (session, mut client) = Session::new(&outbox);
        assert!(session.put(b"last word"));
        drop(session);
        assert!(outbox.0.lock().entries.is_empty(), "its descriptor may be another's by now");
        assert_eq!(read(&mut client, 9), b"last word");
    }

    #[test]
    fn only_who_emptied_it_last_puts_something_in() {
        let Some(outbox) = outbox() else { return };
        let (session, _client) = Session::new(&outbox);
        let elsewhere = |outbox: &Arc<Outbox>| {
            let outbox = Arc::clone(outbox);
            std::thread::spawn(move || outbox.empty_before_sleep()).join().unwrap();
        };
        elsewhere(&outbox);
        assert!(!session.put(b"nobody would send this"));
        outbox.empty_before_sleep();
        assert!(session.put(b"this will be"));
        elsewhere(&outbox);
        assert!(!session.queued.is_queued(), "the next that sleeps sends it");
    }

    #[test]
    fn long_answers_are_not_copied() {
        let Some(outbox) = outbox() else { return };
        let (session, _client) = Session::new(&outbox);
        assert!(!session.put(&vec![0; ANSWER_BYTES_MAX + 1]));
    }

    #[test]
    fn without_the_ring_answers_are_sent_one_by_one() {
        let outbox = Arc::new(Outbox::with(None));
        let (session, mut client) = Session::new(&outbox);
        outbox.empty_before_sleep();
        assert!(!session.put(b"answer"), "sessions write themselves");
        // The ring is denied while two answers are in the outbox.
        let mut content = outbox.0.lock();
        for part in 0..2 {
            let bytes = content.bytes.len()..content.bytes.len() + 5;
            content.bytes.write_all(b"part ").unwrap();
            content.entries.push(Entry {
                socket: session.socket.as_raw_fd(),
                bytes,
                delivery: Arc::clone(&session.queued.delivery),
            });
            assert_eq!(content.entries.len(), part + 1);
        }
        content.send();
        drop(content);
        assert_eq!(read(&mut client, 10), b"part part ");
    }
}
