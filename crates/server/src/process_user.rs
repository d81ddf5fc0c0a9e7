//! The operating system's user that the server runs as, and the owner of its data directory.
//!
//! The guarantees, as of PostgreSQL's `checkDataDir` and `initdb`:
//!
//! - A new data directory is readable by its owner only (0700, its files 0600).
//! - A server does not open a data directory of another user, nor one that others may write to
//!   or may read beyond the owner's group.
//!
//! PostgreSQL refuses to run as root. Steppe runs, since containers often have no other user. But
//! COPY then accesses no file of the machine (`session/copy_file.rs`): otherwise any client could
//! read and replace every file. `--user` drops root's rights before the data directory is opened.

use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use nix::unistd::{self, Uid, User};

use crate::data_dir;

/// The mode of a new data directory.
const PRIVATE: u32 = 0o700;
/// Rights that only the owner may have. The group may read, as PostgreSQL allows for backups.
const NOT_FOR_OTHERS: u32 = 0o027;

/// Whether the server has root's rights.
pub(crate) fn is_root() -> bool {
    unistd::geteuid().is_root()
}

/// Becomes the user `name` for good. A new data directory becomes that user's. The caller must not
/// have started threads yet. The error is for the operator.
pub fn run_as(name: &str, data_dir: &Path) -> Result<(), String> {
    let user =
        User::from_name(name).map_err(|error| format!("could not look up users: {error}"))?;
    let user = user.ok_or_else(|| format!("there is no operating-system user \"{name}\""))?;
    if user.uid == unistd::geteuid() {
        return Ok(());
    }
    if !is_root() {
        return Err(format!("only root can become another user: --user {name} is not possible"));
    }
    if names_in(data_dir)?.is_empty() {
        let failed = |error| format!("could not create data directory: {error}");
        DirBuilder::new().recursive(true).mode(PRIVATE).create(data_dir).map_err(failed)?;
        std::os::unix::fs::chown(data_dir, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
            .map_err(|error| format!("could not give the data directory to {name}: {error}"))?;
    }
    let failed = |error| format!("could not become user {name}: {error}");
    let c_name = std::ffi::CString::new(name).map_err(|error| error.to_string())?;
    // The user last, because an unprivileged user cannot change its groups.
    unistd::initgroups(&c_name, user.gid).map_err(failed)?;
    unistd::setgid(user.gid).map_err(failed)?;
    unistd::setuid(user.uid).map_err(failed)
}

/// Makes a new data directory private. Refuses a directory of another user, or with rights for
/// others. The error is for the operator.
pub(crate) fn check_data_dir(path: &Path) -> Result<(), String> {
    if !path.exists() {
        // It will be created as a private directory.
        return Ok(());
    }
    let shown = path.display();
    let found = fs::metadata(path)
        .map_err(|error| format!("could not look at data directory \"{shown}\": {error}"))?;
    let owner = Uid::from_raw(found.uid());
    if owner != unistd::geteuid() {
        let user = User::from_uid(owner).ok().flatten();
        let user = user.map_or_else(|| owner.to_string(), |user| user.name);
        return Err(format!(
            "data directory \"{shown}\" has wrong ownership\n\
             HINT:  The server must be started by the user that owns the data directory: \
             steppe serve --user {user}"
        ));
    }
    if data_dir::is_new(&names_in(path)?) {
        return fs::set_permissions(path, Permissions::from_mode(PRIVATE))
            .map_err(|error| format!("could not change permissions of \"{shown}\": {error}"));
    }
    let is_ours = path.join(data_dir::MARKER).exists();
    if is_ours && found.mode() & NOT_FOR_OTHERS != 0 {
        return Err(format!(
            "data directory \"{shown}\" has invalid permissions\n\
             DETAIL:  Permissions should be u=rwx (0700) or u=rwx,g=rx (0750).\n\
             HINT:  chmod 0700 \"{shown}\""
        ));
    }
    Ok(())
}

/// The names in a directory; empty if there is no directory.
fn names_in(path: &Path) -> Result<Vec<String>, String> {
    let failed = |error| format!("could not read data directory \"{}\": {error}", path.display());
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let name = |entry: std::io::Result<fs::DirEntry>| -> std::io::Result<String> {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect::<std::io::Result<_>>().map_err(failed)
}
