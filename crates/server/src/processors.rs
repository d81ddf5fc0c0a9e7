//! Which processor the calling thread runs on, how often it had to leave one to others, and having
//! it go to another or give way.

#![allow(unsafe_code)]

use std::mem::{MaybeUninit, size_of};

/// The nice value of threads that give way: a tenth of the weight of others.
const GIVES_WAY: libc::c_int = 10;

/// The processor that the calling thread runs on just now.
pub(crate) fn current() -> Option<usize> {
    // SAFETY: it takes and changes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Has the calling thread go on on a processor, where it stays until the kernel moves it; false if
/// it may not run there.
pub(crate) fn go_to(cpu: usize) -> bool {
    let Some(allowed) = affinity() else { return false };
    // SAFETY: the set is initialized, and bounds are checked by the macros' functions.
    let only = unsafe {
        if !libc::CPU_ISSET(cpu, &allowed) {
            return false;
        }
        let mut only: libc::cpu_set_t = MaybeUninit::zeroed().assume_init();
        libc::CPU_SET(cpu, &mut only);
        only
    };
    let went = set_affinity(&only);
    set_affinity(&allowed) && went
}

/// How often the calling thread had more to do and another was let run in its place.
pub(crate) fn times_interrupted() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure; all zeros are one, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

/// Has the calling thread run, from now on, when those leave a processor idle that run short
/// statements, and some of the time besides.
pub(crate) fn give_way() {
    // SAFETY: it takes numbers; 0 is the calling thread, of which Linux keeps the priority apart.
    // (Where it may not, the thread goes on as it is.)
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, GIVES_WAY) };
}

fn affinity() -> Option<libc::cpu_set_t> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the kernel writes at most the size that it is told; all zeros are a set, too.
    unsafe {
        let got = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
        (got == 0).then(|| set.assume_init())
    }
}

fn set_affinity(set: &libc::cpu_set_t) -> bool {
    // SAFETY: the kernel reads the set, which is as long as it is told.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_goes_to_each_processor_and_is_not_bound_to_it() {
        let allowed = affinity().expect("it is known");
        // SAFETY: the set is initialized.
        let is_allowed = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &allowed) };
        for cpu in (0..libc::CPU_SETSIZE as usize).filter(is_allowed) {
            // It may be moved on at any time, but hardly ever is.
            assert!((0..100).any(|_| go_to(cpu) && current() == Some(cpu)));
        }
        let now = affinity().expect("it is known");
        // SAFETY: both sets are initialized.
        assert!(unsafe { libc::CPU_EQUAL(&now, &allowed) });
        let other = (0..libc::CPU_SETSIZE as usize).find(|cpu| !is_allowed(cpu));
        assert!(!other.is_some_and(go_to));
    }
}
