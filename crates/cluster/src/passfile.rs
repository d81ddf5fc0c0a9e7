//! Passwords by host, port, database and role: libpq's password file.
//!
//! The format, the rule about its permissions and the texts are those of passwordFromFile
//! (src/interfaces/libpq/fe-connect.c). A file that others could read is not used. The reason is
//! returned as a warning, since libpq would print it: a node that needs the password then refuses
//! the connection.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::{self, User};
use steppe_types::error::Severity;
use steppe_types::{Error, SqlState};

use crate::conninfo::Secret;

/// The longest file that is read. A line of one server takes about 100 bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The fields by which a line is found.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// The host's name as configured.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// The database.
    pub database: &'a str,
    /// The role.
    pub user: &'a str,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// The password of the first line that matches.
    pub password: Option<Secret>,
    /// Why the file was not used.
    pub warning: Option<Error>,
}

/// `~/.pgpass` of the server's own user.
pub fn default_path() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = home.or_else(|| User::from_uid(unistd::geteuid()).ok()?.map(|user| user.dir));
    home.map(|home| home.join(".pgpass"))
}

/// Searches the file. A file that is missing or unreadable has no passwords.
pub fn search(path: &Path, key: Key<'_>) -> Found {
    match read(path) {
        Ok(text) => Found { password: password_in(&text, key), warning: None },
        Err(warning) => Found { password: None, warning },
    }
}

/// The file's bytes, or the warning if there is something to say.
fn read(path: &Path) -> Result<Vec<u8>, Option<Error>> {
    let warning = |what: &str| {
        let message = format!("password file \"{}\" {what}", path.display());
        let warning = Error::new(SqlState::WARNING, message).severity(Severity::Warning);
        Err(Some(warning))
    };
    // Opening a named pipe would wait for its writer.
    let Ok(metadata) = std::fs::metadata(path) else { return Err(None) };
    if !metadata.is_file() {
        return warning("is not a plain file");
    }
    let Ok(file) = File::open(path) else { return Err(None) };
    let Ok(metadata) = file.metadata() else { return Err(None) };
    if metadata.permissions().mode() & 0o077 != 0 {
        return warning("has group or world access; permissions should be u=rw (0600) or less");
    }
    let mut text = Vec::new();
    match file.take(MAX_BYTES + 1).read_to_end(&mut text) {
        Ok(read) if read as u64 > MAX_BYTES => warning("is too large"),
        Ok(_) => Ok(text),
        Err(_) => Err(None),
    }
}

/// The password of the first line of `text` that matches.
pub fn password_in(text: &[u8], key: Key<'_>) -> Option<Secret> {
    let host = if key.host.is_empty() { "localhost" } else { key.host };
    let port = key.port.to_string();
    text.split(|&byte| byte == b'\n').find_map(|line| {
        let end = line.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
        let line = &line[..end];
        if line.starts_with(b"#") {
            return None;
        }
        let rest = after_field(line, host)?;
        let rest = after_field(rest, &port)?;
        let rest = after_field(rest, key.database)?;
        let rest = after_field(rest, key.user)?;
        String::from_utf8(unescaped(rest)).ok().map(Secret)
    })
}

/// The rest of the line behind a field that is `*` or `value`.
fn after_field<'a>(line: &'a [u8], value: &str) -> Option<&'a [u8]> {
    if let Some(rest) = line.strip_prefix(b"*:") {
        return Some(rest);
    }
    let (mut line, mut value) = (line, value.as_bytes());
    loop {
        let (&first, rest) = line.split_first()?;
        if first == b':' && value.is_empty() {
            return Some(rest);
        }
        let (&taken, rest) = if first == b'\\' { rest.split_first()? } else { (&first, rest) };
        let (&expected, others) = value.split_first()?;
        if taken != expected {
            return None;
        }
        (line, value) = (rest, others);
    }
}

/// The last field: up to a colon, a backslash before any byte dropped.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut password = Vec::with_capacity(field.len());
    let mut bytes = field.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b':' => break,
            b'\\' => password.push(bytes.next().unwrap_or(b'\\')),
            byte => password.push(byte),
        }
    }
    password
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    const KEY: Key<'_> = Key { host: "db1", port: 5432, database: "shop", user: "ann" };

    fn find(text: &str) -> Option<String> {
        password_in(text.as_bytes(), KEY).map(|secret| secret.0)
    }

    #[test]
    fn finds_the_first_line_that_matches() {
        assert_eq!(find("db1:5432:shop:ann:right\ndb1:5432:shop:ann:late"), Some("right".into()));
        assert_eq!(find("db1:5432:shop:bob:no\n*:*:*:ann:any\r\n"), Some("any".into()));
        assert_eq!(find("#db1:5432:shop:ann:no\n\n*:*:*:*:a\n"), Some("a".into()));
        assert_eq!(find("db1:5433:*:*:no"), None);
        assert_eq!(find("db:5432:*:*:no"), None);
        assert_eq!(find("db12:5432:*:*:no"), None);
        assert_eq!(find("*"), None);
        assert_eq!(find("db1:5432:shop:ann"), None);
        assert_eq!(find("db1:5432:shop:ann:"), Some(String::new()));
        // A star matches everything only where it is the whole field.
        assert_eq!(find("*b1:*:*:*:no"), None);
    }

    #[test]
    fn a_backslash_takes_the_next_byte() {
        assert_eq!(find(r"d\b1:5432:shop:ann:a\:b\\c:rest"), Some(r"a:b\c".into()));
        assert_eq!(find(r"db1:5432:shop:ann:a\"), Some(r"a\".into()));
        assert_eq!(find(r"\"), None);
        let key = Key { host: "::1", ..KEY };
        let found = password_in(br"\:\:1:5432:shop:ann:six", key);
        assert_eq!(found, Some(Secret("six".into())));
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let path = std::env::temp_dir().join(format!("steppe-passfile-{}", std::process::id()));
        let write = |mode| {
            let _ = fs::remove_file(&path);
            let mut options = fs::OpenOptions::new();
            let file = options.write(true).create_new(true).mode(mode).open(&path).unwrap();
            file.set_permissions(fs::Permissions::from_mode(mode)).unwrap();
            fs::write(&path, "*:*:*:*:secret\n").unwrap();
            search(&path, KEY)
        };
        let found = write(0o600);
        assert_eq!(found.password, Some(Secret("secret".into())));
        assert!(found.warning.is_none());
        for mode in [0o640, 0o604, 0o660] {
            let found = write(mode);
            assert_eq!(found.password, None);
            let expected = format!(
                "password file \"{}\" has group or world access; \
                 permissions should be u=rw (0600) or less",
                path.display()
            );
            assert_eq!(found.warning.unwrap().message(), expected);
        }
        fs::remove_file(&path).unwrap();
        assert!(search(&path, KEY).warning.is_none());
        let directory = search(&std::env::temp_dir(), KEY).warning.unwrap();
        assert!(directory.message().ends_with("is not a plain file"));
        assert_eq!(format!("{:?}", Secret("x".into())), "(secret)");
    }
}
