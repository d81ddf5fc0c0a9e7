//! Reserves disk space without writing it, and frees space without cutting the file. This is the
//! only module of this crate with `unsafe` code: the standard library has no counterpart of
//! fallocate.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Has the file system promise space for the bytes from the file's end to `len`, and extends the
/// file to `len`; the bytes read as zeros. Returns false, with nothing done, if the file system
/// does not support it.
pub(crate) fn reserve(file: &File, from: u64, len: u64) -> io::Result<bool> {
    fallocate(file, 0, from, len - from)
}

/// Gives the space of bytes back; they read as zeros. Returns false, with nothing done, if the file
/// system does not support it.
pub(crate) fn punch_hole(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    if len == 0 {
        return Ok(true);
    }
    fallocate(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, len)
}

/// Has the file system promise space for bytes that may have none, within the file or not; they
/// read as before. Returns false, with nothing done, if the file system does not support it.
pub(crate) fn fill_hole(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    fallocate(file, libc::FALLOC_FL_KEEP_SIZE, offset, len)
}

fn fallocate(file: &File, mode: libc::c_int, offset: u64, len: u64) -> io::Result<bool> {
    let past_any_file = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let offset = libc::off_t::try_from(offset).map_err(past_any_file)?;
    let count = libc::off_t::try_from(len).map_err(past_any_file)?;
    loop {
        // SAFETY: the call takes no pointers, and the descriptor is open as long as `file` is.
        if unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, count) } == 0 {
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
