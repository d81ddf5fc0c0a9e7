//! Which processor the calling thread runs on, how often it had to leave one to others, and having
//! it go to another or give way.
//!
//! Two things decide when Linux lets a thread run that has just been woken where another one runs
//! (its scheduler is EEVDF, by Stoica and Abdel-Wahab, 1995). By its *weight*, of which ten steps of
//! the nice value take nine tenths, a thread has had its share sooner or later. And by its *slice*,
//! the time that it is run at a stretch: one with a shorter slice need not wait for the end of a
//! longer one (Linux 6.12, which older ones take no notice of). A weight once lowered may not be
//! raised again by everyone.

#![allow(unsafe_code)]

use std::mem::{MaybeUninit, size_of};
use std::time::Duration;

/// So much higher is the nice value of threads that give way: a tenth of the weight of others.
const GIVES_WAY: libc::c_int = 10;
/// The highest one.
const NICE_MAX: libc::c_int = 19;

/// The slices of what is long: several times what the system has, 3 ms at most.
const LONG_SLICE: Duration = Duration::from_millis(20);

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
    // The process's number is that of its first thread, which never gives way. The thread that has
    // begun the calling one may do so already.
    let nice = (nice_of(std::process::id()) + GIVES_WAY).min(NICE_MAX);
    // SAFETY: it takes numbers; 0 is the calling thread, of which Linux keeps the priority apart.
    // (Where it may not, the thread goes on as it is.)
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    take_long_slices(nice);
}

/// What sched_setattr takes.
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

/// Has the calling thread, which has this nice value, take long slices from now on.
fn take_long_slices(nice: libc::c_int) {
    // SAFETY: it takes a number; 0 is the calling thread.
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
    // SAFETY: the kernel reads as many bytes as `size` says; 0 is the calling thread.
    // (Where it may not, the thread goes on as it is.)
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// A thread's nice value; 0 is the calling one.
fn nice_of(thread: u32) -> libc::c_int {
    // SAFETY: it takes numbers.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, thread) }
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

    /// How long the calling thread's slices are; 0 where the system does not say.
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
