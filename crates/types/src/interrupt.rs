//! Ends a long computation when its statement is to end: PostgreSQL's CHECK_FOR_INTERRUPTS for code
//! that knows no session.
//!
//! A session registers its interrupts with its thread ([`during`]). Computations there check them
//! now and then ([`check`]). A loop that cannot return an error ends by unwinding
//! ([`check_unwinding`]), like PostgreSQL's longjmp and without a panic's message. [`catching`]
//! turns that into the error again, at the latest where the session runs its message. Only loops
//! over values that they own may end in this way, so that no shared state is left half-changed.
//!
//! A check costs about as much as a call, so that loops make one for each 10 µs of work or so.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Waker;

use crate::error::Severity;
use crate::{Error, Result, SqlState};

/// The interrupts of a statement: requests to end it (a cancel, a timeout), and its memory limit.
pub trait Interrupts: Send + Sync {
    /// An error if the statement is to end.
    fn check(&self) -> Result<()>;

    /// An error if `bytes` more would exceed the statement's memory.
    fn reserve(&self, bytes: usize) -> Result<()>;

    /// From now on `waker` is called when the statement is to end; `None` ends that. The waiter
    /// checks once more behind this call, since the request may have come before it. False: no
    /// waker is called, and the waiter must check now and then.
    fn wake_by(&self, _waker: Option<Waker>) -> bool {
        false
    }

    /// Calls `wait`, which keeps the thread waiting: the session hands over the thread's other
    /// work first.
    fn wait(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}

/// Bytes that a function goes through between two checks.
pub const CHECK_EVERY_BYTES: usize = 1 << 20;

/// Characters, fields or elements that a function goes through between two checks.
pub const CHECK_EVERY_ITEMS: usize = 65_536;

thread_local! {
    /// It is empty again before the thread ends ([`during`]). Without a destructor the access is
    /// cheaper.
    static CURRENT: Cell<Current> = const { Cell::new(Current::new(None)) };
}

type Current = ManuallyDrop<Option<Arc<dyn Interrupts>>>;

/// The payload of the panic that unwinds.
struct Interrupted(Error);

/// Runs `work`, in which `interrupts` are checked. They are returned for the next time.
pub fn during<T>(interrupts: &mut Option<Arc<dyn Interrupts>>, work: impl FnOnce() -> T) -> T {
    /// Also when `work` unwinds.
    struct Restore<'a>(&'a mut Option<Arc<dyn Interrupts>>, Option<Arc<dyn Interrupts>>);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            *self.0 = replace(self.1.take());
        }
    }
    let before = replace(interrupts.take());
    let _restore = Restore(interrupts, before);
    work()
}

fn replace(interrupts: Option<Arc<dyn Interrupts>>) -> Option<Arc<dyn Interrupts>> {
    ManuallyDrop::into_inner(CURRENT.replace(Current::new(interrupts)))
}

/// The interrupts of the statement that this thread runs, for another thread that works on it.
pub fn current() -> Option<Arc<dyn Interrupts>> {
    let current = replace(None);
    replace(current.clone());
    current
}

/// An error if the statement that this thread runs is to end.
pub fn check() -> Result<()> {
    let Some(current) = replace(None) else { return Ok(()) };
    let checked = current.check();
    replace(Some(current));
    checked
}

/// An error if the statement that this thread runs may not take `bytes` more. Call it before a
/// value is made in one piece, which no check can stop half-way.
pub fn reserve(bytes: usize) -> Result<()> {
    if bytes < CHECK_EVERY_BYTES {
        return Ok(());
    }
    let Some(current) = replace(None) else { return Ok(()) };
    let reserved = current.reserve(bytes);
    replace(Some(current));
    reserved
}

/// The same for code that cannot return an error.
pub fn check_unwinding() {
    if let Err(error) = check() {
        resume_unwind(Box::new(Interrupted(error)));
    }
}

/// Unwinds with an error that ends the statement (a cancel or FATAL). Callers that defer other
/// errors use it, because such an error is reported only once.
pub fn pass_on(error: &Error) {
    if error.sqlstate() == SqlState::QUERY_CANCELED || error.fields().severity == Severity::Fatal {
        resume_unwind(Box::new(Interrupted(error.clone())));
    }
}

/// Runs work that may end by [`check_unwinding`] or [`pass_on`].
pub fn catching<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(panic) => Err(error_of(panic).unwrap_or_else(|panic| resume_unwind(panic))),
    }
}

/// The error that unwinding carries, if it was an interrupt.
pub fn error_of(
    panic: Box<dyn std::any::Any + Send>,
) -> std::result::Result<Error, Box<dyn std::any::Any + Send>> {
    panic.downcast::<Interrupted>().map(|interrupted| interrupted.0)
}

/// The same items, with a check now and then: for a caller that catches it ([`catching`]).
pub fn interruptible<I: Iterator>(items: I) -> impl Iterator<Item = I::Item> {
    items.enumerate().map(|(i, item)| {
        if i % CHECK_EVERY_ITEMS == CHECK_EVERY_ITEMS - 1 {
            check_unwinding();
        }
        item
    })
}

/// Pieces of a long list, with a check before each but the first.
pub fn pieces<T>(items: &[T], of: usize) -> impl Iterator<Item = Result<&[T]>> {
    items.chunks(of).enumerate().map(|(i, piece)| {
        if i > 0 {
            check()?;
        }
        Ok(piece)
    })
}

/// Copies of items, however many there are.
pub fn cloned<T: Clone>(items: &[T]) -> Result<Vec<T>> {
    let mut copies = Vec::with_capacity(items.len());
    for piece in pieces(items, CHECK_EVERY_ITEMS) {
        copies.extend_from_slice(piece?);
    }
    Ok(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always;

    impl Interrupts for Always {
        fn check(&self) -> Result<()> {
            Err(Error::new(SqlState::QUERY_CANCELED, "as asked"))
        }

        fn reserve(&self, bytes: usize) -> Result<()> {
            Err(Error::new(SqlState::OUT_OF_MEMORY, format!("{bytes} bytes")))
        }
    }

    #[test]
    fn who_asks_learns_it_while_the_session_runs() {
        let mut interrupts: Option<Arc<dyn Interrupts>> = Some(Arc::new(Always));
        assert!(check().is_ok());
        assert!(during(&mut interrupts, check).is_err());
        assert!(during(&mut interrupts, || reserve(CHECK_EVERY_BYTES)).is_err());
        assert!(during(&mut interrupts, || reserve(1)).is_ok());
        assert!(check().is_ok());
        let caught = during(&mut interrupts, || {
            catching(|| {
                check_unwinding();
                Ok(())
            })
        });
        assert_eq!(caught.unwrap_err().sqlstate(), SqlState::QUERY_CANCELED);
        assert!(during(&mut interrupts, || cloned(&[7; CHECK_EVERY_ITEMS + 1])).is_err());
        assert!(during(&mut interrupts, || cloned(&[7; CHECK_EVERY_ITEMS])).is_ok());
        let unwound = catch_unwind(AssertUnwindSafe(|| during(&mut interrupts, check_unwinding)));
        assert!(unwound.is_err_and(|panic| error_of(panic).is_ok()));
        assert!(interrupts.is_some() && check().is_ok());
        let ended = catching(|| {
            pass_on(&Error::new(SqlState::DIVISION_BY_ZERO, "may be left to later"));
            pass_on(&Error::new(SqlState::QUERY_CANCELED, "may not"));
            Ok(())
        });
        assert_eq!(ended.unwrap_err().sqlstate(), SqlState::QUERY_CANCELED);
    }
}
