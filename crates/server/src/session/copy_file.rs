//! COPY's files on the server.
//!
//! The server reads and writes them with the rights of its process. Every client may use them, as a
//! superuser may in PostgreSQL. A file to write must have an absolute name, so that it cannot
//! overwrite a file of the data directory by accident. A file to read may be relative to that
//! directory.
//!
//! A server that runs as root accesses no files: otherwise every client would be root on the
//! machine's files.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use steppe_types::{Error, Result, SqlState};
use tokio::task::block_in_place;

use crate::process_user;

/// 42501 if the server runs as root. Like PostgreSQL's check of roles, it comes first.
pub(super) fn check_allowed(is_from: bool) -> Result<()> {
    if !process_user::is_root() {
        return Ok(());
    }
    let direction = if is_from { "from" } else { "to" };
    let message = format!("permission denied to COPY {direction} a file");
    Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
        .detail("The server runs as root, for whom no file of the machine is protected.")
        .hint(
            "Start it as another user (steppe serve --user NAME). Anyone can COPY to stdout or from \
             stdin. psql's \\copy command also works for anyone.",
        ))
}

/// Bytes read at a time.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// A file that COPY FROM reads.
pub(super) struct SourceFile {
    file: File,
    chunk: Vec<u8>,
    /// Its size when it was opened.
    pub(super) bytes: u64,
}

impl SourceFile {
    /// Opens it. Relative names begin at `data_dir`.
    pub(super) fn open(name: &str, data_dir: &Path) -> Result<SourceFile> {
        let opened = block_in_place(|| File::open(data_dir.join(name)));
        let file = opened.map_err(|error| {
            let doing = format!("could not open file \"{name}\" for reading");
            with_hint(failure(&doing, &error), &error, "FROM", "read")
        })?;
        let bytes = size_of(&file, name)?;
        Ok(SourceFile { file, chunk: vec![0; CHUNK_BYTES], bytes })
    }

    /// The next bytes; none at the end.
    pub(super) fn read(&mut self) -> Result<&[u8]> {
        loop {
            match block_in_place(|| self.file.read(&mut self.chunk)) {
                Ok(count) => return Ok(&self.chunk[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure("could not read from COPY file", &error)),
            }
        }
    }
}

/// A file that COPY TO writes.
pub(super) struct TargetFile {
    file: File,
    /// The bytes that are not written yet.
    pub(super) pending: Vec<u8>,
}

impl TargetFile {
    /// Creates or empties it.
    pub(super) fn create(name: &str) -> Result<TargetFile> {
        if !Path::new(name).is_absolute() {
            let message = "relative path not allowed for COPY to file";
            return Err(Error::new(SqlState::INVALID_NAME, message));
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o644);
        let file = block_in_place(|| options.open(name)).map_err(|error| {
            let doing = format!("could not open file \"{name}\" for writing");
            with_hint(failure(&doing, &error), &error, "TO", "write")
        })?;
        size_of(&file, name)?;
        Ok(TargetFile { file, pending: Vec::new() })
    }

    /// Writes the pending bytes.
    pub(super) fn write(&mut self) -> Result<()> {
        self.write_pending().map_err(|error| failure("could not write to COPY file", &error))
    }

    /// Writes the rest. An error is then an error of closing, as with a buffering library.
    pub(super) fn finish(mut self, name: &str) -> Result<()> {
        let closed = self.write_pending();
        closed.map_err(|error| failure(&format!("could not close file \"{name}\""), &error))
    }

    fn write_pending(&mut self) -> io::Result<()> {
        block_in_place(|| self.file.write_all(&self.pending))?;
        self.pending.clear();
        Ok(())
    }
}

/// The size of an open file; 42809 for a directory.
fn size_of(file: &File, name: &str) -> Result<u64> {
    let about = block_in_place(|| file.metadata())
        .map_err(|error| failure(&format!("could not stat file \"{name}\""), &error))?;
    if about.is_dir() {
        let message = format!("\"{name}\" is a directory");
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    Ok(about.len())
}

/// An error with the failed operation and its cause.
fn failure(doing: &str, cause: &io::Error) -> Error {
    Error::new(sqlstate(cause), format!("{doing}: {}", text(cause)))
}

fn with_hint(error: Error, cause: &io::Error, direction: &str, verb: &str) -> Error {
    if !matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) {
        return error;
    }
    error.hint(format!(
        "COPY {direction} instructs the PostgreSQL server process to {verb} a file. You may want a \
         client-side facility such as psql's \\copy."
    ))
}

/// The system's message, without its number.
fn text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The SQLSTATE of a failure to access a file (errcode_for_file_access).
fn sqlstate(error: &io::Error) -> SqlState {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            SqlState::INSUFFICIENT_PRIVILEGE
        }
        ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        ErrorKind::NotADirectory | ErrorKind::IsADirectory => SqlState::WRONG_OBJECT_TYPE,
        ErrorKind::StorageFull => SqlState::DISK_FULL,
        ErrorKind::OutOfMemory => SqlState::OUT_OF_MEMORY,
        ErrorKind::InvalidFilename => SqlState::NAME_TOO_LONG,
        _ => match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => SqlState::INSUFFICIENT_RESOURCES,
            Some(libc::EIO) => SqlState::IO_ERROR,
            _ => SqlState::INTERNAL_ERROR,
        },
    }
}
