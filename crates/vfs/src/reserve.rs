//! Disk space without writing it: the one module of this crate with `unsafe` code, for the one
//! call that the standard library has no counterpart of.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Has the file system promise space for the bytes from the file's end to `len`, and makes the
/// file so long; they read as zeros. False, with nothing done, if it has no such thing.
pub(crate) fn reserve(file: &File, from: u64, len: u64) -> io::Result<bool> {
    let past_any_file = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let offset = libc::off_t::try_from(from).map_err(past_any_file)?;
    let count = libc::off_t::try_from(len - from).map_err(past_any_file)?;
    loop {
        // SAFETY: the call takes no pointers, and the descriptor is open as long as `file` is.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, count) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return Ok(false),
            _ => return Err(error),
        }
    }
}
