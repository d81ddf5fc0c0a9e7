//! The session whose statement this thread runs, for expressions that are evaluated without a
//! statement's context: keys of indexes.
//!
//! Such an expression is immutable and calls mostly built-in functions, which need no session. A
//! user's function needs one. It cannot run statements there (0A000).

use std::cell::RefCell;
use std::sync::Arc;
use steppe_functions::{FnContext, SessionHost};

thread_local! {
    static SESSION: RefCell<Option<Arc<dyn SessionHost>>> = const { RefCell::new(None) };
}

/// The session that was there before. It is there again at the end.
struct Before(Option<Arc<dyn SessionHost>>);

impl Drop for Before {
    fn drop(&mut self) {
        SESSION.set(self.0.take());
    }
}

/// Runs a part of a session's statement in this thread.
pub fn in_session<T>(session: &Arc<dyn SessionHost>, run: impl FnOnce() -> T) -> T {
    let _before = Before(SESSION.replace(Some(Arc::clone(session))));
    run()
}

/// A context for functions, with the session whose statement this thread runs.
pub(crate) fn with_session(functions: &FnContext) -> FnContext {
    let session = SESSION.with_borrow(Option::clone);
    match session {
        Some(session) => FnContext { session, ..functions.clone() },
        None => functions.clone(),
    }
}
