//! The processor of the calling thread, its involuntary switches, moves to another processor, and
//! its priority.
//!
//! Two numbers decide when Linux runs a woken thread where another one runs (its scheduler is
//! EEVDF, by Stoica and Abdel-Wahab, 1995). The *weight* decides how soon a thread has had its
//! share. Ten steps of the nice value take nine tenths of it. The *slice* is the time that a thread
//! runs at a stretch. A thread with a shorter slice need not wait for the end of a longer one (from
//! Linux 6.12 on; older ones ignore it). Raising a lowered weight again needs a right.

#![allow(unsafe_code)]

use std::mem::{MaybeUninit, size_of};
use std::time::Duration;

/// Threads of low priority have this much higher a nice value: a tenth of the others' weight.
const GIVES_WAY: libc::c_int = 10;
/// The highest nice value.
const NICE_MAX: libc::c_int = 19;

/// The slice of threads of low priority: several times the system's, which is at most 3 ms.
const LONG_SLICE: Duration = Duration::from_millis(20);

/// The processor that the calling thread runs on now.
pub(crate) fn current() -> Option<usize> {
    // SAFETY: it takes and changes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves the calling thread to a processor. The kernel may move it again later. Returns false if
/// the thread may not run there.
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

/// How often the kernel has replaced the calling thread while it had more to do.
pub(crate) fn times_interrupted() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure. All zeros are valid, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

/// Lowers the calling thread's priority from now on. It then runs when threads with short
/// statements leave a processor idle, and some of the other time.
pub(crate) fn give_way() {
    // The process's number is that of its first thread, which keeps its priority. The parent of the
    // calling thread may have a low priority already.
    let nice = (nice_of(std::process::id()) + GIVES_WAY).min(NICE_MAX);
    // SAFETY: it takes numbers. 0 is the calling thread, since Linux has a priority for each
    // thread. (If this is not permitted, the thread keeps its priority.)
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    take_long_slices(nice);
}

/// The argument of sched_setattr.
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Sets long slices for the calling thread, which has this nice value.
fn take_long_slices(nice: libc::c_int) {
    // SAFETY: it takes a number. 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    if policy != libc::SCHED_OTHER && policy != libc::SCHED_BATCH {
        return;
    }
    let attributes = SchedulingAttributes {
        size: size_of::<SchedulingAttributes>() as u32,
        policy: policy.unsigned_abs(),
        nice,
        runtime: u64::try_from(LONG_SLICE.as_nanos()).unwrap_or(0),
        ..SchedulingAttributes::default()
    };
    // SAFETY: the kernel reads `size` bytes. 0 is the calling thread. (If this is not permitted,
    // the thread keeps its slices.)
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// A thread's nice value. 0 is the calling thread.
fn nice_of(thread: u32) -> libc::c_int {
    // SAFETY: it takes numbers.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, thread) }
}

fn affinity() -> Option<libc::cpu_set_t> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the kernel writes at most the given size. All zeros are a valid set, too.
    unsafe {
        let got = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
        (got == 0).then(|| set.assume_init())
    }
}

fn set_affinity(set: &libc::cpu_set_t) -> bool {
    // SAFETY: the kernel reads the set, which has the given size.
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
            // The kernel may move it at any time, but hardly ever does.
            assert!((0..100).any(|_| go_to(cpu) && current() == Some(cpu)));
        }
        let now = affinity().expect("it is known");
        // SAFETY: both sets are initialized.
        assert!(unsafe { libc::CPU_EQUAL(&now, &allowed) });
        let other = (0..libc::CPU_SETSIZE as usize).find(|cpu| !is_allowed(cpu));
        assert!(!other.is_some_and(go_to));
    }

    /// The slice of the calling thread; 0 where the system does not report it.
    fn slice() -> Duration {
        let mut attributes = SchedulingAttributes::default();
        let size = size_of::<SchedulingAttributes>();
        // SAFETY: the kernel writes at most `size` bytes.
        unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        Duration::from_nanos(attributes.runtime)
    }

    #[test]
    fn who_gives_way_has_a_low_priority_and_long_slices() {
        std::thread::spawn(|| {
            let nice = nice_of(0);
            let is_known = !slice().is_zero();
            assert_eq!(nice, nice_of(std::process::id()));
            for _ in 0..2 {
                give_way();
                assert_eq!(nice_of(0), (nice_of(std::process::id()) + GIVES_WAY).min(NICE_MAX));
                assert!(!is_known || slice() == LONG_SLICE);
            }
        })
        .join()
        .expect("it holds");
    }
}
