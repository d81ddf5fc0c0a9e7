//! The data directory: its owner, its lock, and its configuration file.
//!
//! ```text
//! DIR/STEPPE_VERSION   made last at initialisation: the directory is Steppe's, and whole
//! DIR/steppe.lock      locked while a server runs
//! DIR/steppe.conf      settings
//! DIR/coordinator      the server's identity as a coordinator of nodes, and its generation
//! DIR/statistics.json  the counters at the server's stop, for the next start
//! DIR/base/            the storage engine's files
//! DIR/tmp/             spill files, removed at start
//! ```
//!
//! A directory with the version but without a database is refused. Most likely, the volume of
//! `base` is not mounted. A new, empty database would look like a loss of all data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use steppe_cluster::commit::Coordinator;
use steppe_storage::Store;
use steppe_vfs::{ErrorKind, FileLock, OpenMode, Random, Vfs};

use crate::settings::conf;

/// The file that marks a data directory.
pub(crate) const MARKER: &str = "STEPPE_VERSION";
const LOCK: &str = "steppe.lock";
const CONF: &str = "steppe.conf";
const STATISTICS: &str = "statistics.json";
const COORDINATOR: &str = "coordinator";
const NEW_COORDINATOR: &str = "coordinator.new";
/// The format of the directory. The server refuses any other.
const FORMAT: &str = "1\n";

/// An opened data directory, locked until dropped.
pub struct DataDir {
    path: PathBuf,
    vfs: Arc<dyn Vfs>,
    _lock: FileLock,
}

impl DataDir {
    /// Opens a data directory, or makes a new one where it is empty. The error is for the operator.
    pub fn open(vfs: Arc<dyn Vfs>, path: &Path) -> Result<DataDir, String> {
        let shown = path.display();
        let io = |what: &str, error: steppe_vfs::Error| format!("could not {what}: {error}");
        vfs.create_dir_all(path).map_err(|e| io("create data directory", e))?;
        let names = vfs.list_dir(path).map_err(|e| io("read data directory", e))?;
        if !is_new(&names) && !names.iter().any(|name| name == MARKER) && !is_half_made(&names) {
            return Err(format!(
                "directory \"{shown}\" is not empty and not a Steppe data directory"
            ));
        }
        let lock = vfs.lock_file(&path.join(LOCK)).map_err(|error| match error.kind() {
            ErrorKind::Locked => {
                format!("data directory \"{shown}\" is in use by another Steppe server")
            }
            _ => io("lock data directory", error),
        })?;
        let dir = DataDir { path: path.to_owned(), vfs, _lock: lock };
        dir.check_or_prepare()?;
        dir.clear_temporary_files()?;
        Ok(dir)
    }

    fn check_or_prepare(&self) -> Result<(), String> {
        let marker = self.path.join(MARKER);
        match self.read(&marker)? {
            Some(text) if text == FORMAT => self.check_has_database(),
            Some(text) => Err(format!(
                "data directory \"{}\" has format {}, this server reads format {}",
                self.path.display(),
                text.trim(),
                FORMAT.trim()
            )),
            None => {
                if self.read(&self.path.join(CONF))?.is_none() {
                    self.write(&self.path.join(CONF), &initial_conf())?;
                }
                self.make_dir("base")?;
                self.make_dir("tmp")?;
                Ok(())
            }
        }
    }

    fn check_has_database(&self) -> Result<(), String> {
        let base = self.base();
        if Store::exists(&*self.vfs, &base).map_err(|e| e.to_string())? {
            return Ok(());
        }
        Err(format!(
            "there is no database in \"{}\", although \"{}\" was initialised\n\
             HINT:  Is the volume that it is on mounted? If the data are to be made anew, empty the \
             whole data directory first.",
            base.display(),
            self.path.display()
        ))
    }

    /// Marks the directory as initialised, once it has a database.
    pub fn mark_initialised(&self) -> Result<(), String> {
        let marker = self.path.join(MARKER);
        match self.read(&marker)? {
            Some(_) => Ok(()),
            None => self.write(&marker, FORMAT),
        }
    }

    fn make_dir(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path.join(name);
        self.vfs.create_dir_all(&path).map_err(|e| format!("could not create directory: {e}"))?;
        Ok(path)
    }

    /// Removes the spill files of a server that was killed between creating and unlinking one.
    fn clear_temporary_files(&self) -> Result<(), String> {
        let tmp = self.make_dir("tmp")?;
        let names =
            self.vfs.list_dir(&tmp).map_err(|e| format!("could not read directory: {e}"))?;
        for name in names {
            let removed = self.vfs.remove(&tmp.join(name));
            removed.map_err(|e| format!("could not remove temporary file: {e}"))?;
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        if !self.vfs.exists(path).map_err(|e| e.to_string())? {
            return Ok(None);
        }
        let failed = |e: steppe_vfs::Error| format!("could not read \"{}\": {e}", path.display());
        let file = self.vfs.open(path, OpenMode::READ).map_err(failed)?;
        let length = usize::try_from(file.len().map_err(failed)?).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| format!("\"{}\" is not UTF-8", path.display()))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        let failed = |e: steppe_vfs::Error| format!("could not write \"{}\": {e}", path.display());
        let file = self.vfs.open(path, OpenMode::TRUNCATE).map_err(failed)?;
        file.write_at(text.as_bytes(), 0).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        self.vfs.sync_dir(&self.path).map_err(failed)
    }

    /// The path of steppe.conf.
    pub fn configuration_path(&self) -> PathBuf {
        self.path.join(CONF)
    }

    /// The settings of steppe.conf; none if the file is missing.
    pub fn configuration(&self) -> Result<Vec<conf::Entry>, String> {
        let path = self.path.join(CONF);
        let Some(text) = self.read(&path)? else { return Ok(Vec::new()) };
        conf::parse(&text).map_err(|error| format!("\"{}\": {error}", path.display()))
    }

    /// Reads and removes the statistics that the last server has saved.
    pub(crate) fn take_statistics(&self) -> Result<Option<String>, String> {
        let path = self.path.join(STATISTICS);
        let text = self.read(&path)?;
        if text.is_some() {
            self.vfs.remove(&path).map_err(|e| format!("could not remove statistics: {e}"))?;
        }
        Ok(text)
    }

    /// Saves statistics for the next server.
    pub(crate) fn leave_statistics(&self, text: &str) -> Result<(), String> {
        self.write(&self.path.join(STATISTICS), text)
    }

    /// Begins the next life of this coordinator: its identity, which is drawn once, and a generation
    /// that no life of it has had. It is on disk when this returns.
    pub(crate) fn next_coordinator(&self, random: &dyn Random) -> Result<Coordinator, String> {
        let path = self.path.join(COORDINATOR);
        let next = match self.read(&path)? {
            Some(text) => {
                let Coordinator { id, generation } = read_coordinator(&text)
                    .ok_or_else(|| format!("\"{}\" is damaged", path.display()))?;
                Coordinator { id, generation: generation + 1 }
            }
            None => {
                let id = random.next_u64().map_err(|e| format!("no randomness: {e}"))?;
                Coordinator { id, generation: 1 }
            }
        };
        let Coordinator { id, generation } = next;
        let new = self.path.join(NEW_COORDINATOR);
        self.write(&new, &format!("{id:016x} {generation}\n"))?;
        let failed = |e| format!("could not write \"{}\": {e}", path.display());
        self.vfs.rename(&new, &path).map_err(failed)?;
        self.vfs.sync_dir(&self.path).map_err(failed)?;
        Ok(next)
    }

    /// The directory of the storage engine's files.
    pub fn base(&self) -> PathBuf {
        self.path.join("base")
    }

    /// The directory of spill files.
    pub fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// The file system.
    pub fn vfs(&self) -> &Arc<dyn Vfs> {
        &self.vfs
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads the identity and the generation of the last life.
fn read_coordinator(text: &str) -> Option<Coordinator> {
    let (id, generation) = text.strip_suffix('\n')?.split_once(' ')?;
    let id = u64::from_str_radix(id, 16).ok()?;
    let generation = generation.parse().ok().filter(|generation| *generation < i64::MAX as u64)?;
    Some(Coordinator { id, generation })
}

/// Whether a directory with these names has not been initialised.
pub(crate) fn is_new(names: &[String]) -> bool {
    names.iter().all(|name| name == LOCK || name == CONF)
}

/// Whether an initialisation was interrupted before it created the marker.
fn is_half_made(names: &[String]) -> bool {
    let ours = ["base", "tmp", CONF, LOCK];
    names.iter().any(|name| name == LOCK) && names.iter().all(|name| ours.contains(&&**name))
}

/// The commented settings, and the machine's time zone as initdb sets it.
fn initial_conf() -> String {
    let mut text = conf::default_text();
    if let Some(zone) = system_time_zone() {
        text.push_str(&format!("\n# As this machine was set up.\nTimeZone = '{zone}'\n"));
    }
    text
}

fn system_time_zone() -> Option<String> {
    let from_link = || {
        let target = std::fs::read_link("/etc/localtime").ok()?;
        let (_, name) = target.to_str()?.split_once("zoneinfo/")?;
        Some(name.to_owned())
    };
    let name = std::env::var("TZ").ok().filter(|name| !name.is_empty()).or_else(from_link)?;
    steppe_types::datetime::TimeZone::by_name(&name).map(|zone| zone.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_vfs::CrashVfs;

    #[test]
    fn makes_recognises_and_locks() {
        let vfs: Arc<dyn Vfs> = Arc::new(CrashVfs::new(1));
        let path = Path::new("/data");
        let dir = DataDir::open(vfs.clone(), path).unwrap();
        let conf = dir.configuration().unwrap();
        assert!(conf.iter().all(|entry| entry.name == "TimeZone"));
        let busy = DataDir::open(vfs.clone(), path).err().unwrap();
        assert!(busy.contains("in use by another"), "{busy}");
        drop(dir);
        assert!(DataDir::open(vfs.clone(), path).is_ok());
    }

    #[test]
    fn a_coordinator_keeps_its_identity_and_never_a_generation() {
        let disk = CrashVfs::new(1);
        let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
        let random = steppe_vfs::RealRandom::new().unwrap();
        let dir = DataDir::open(vfs, Path::new("/data")).unwrap();
        let lives: Vec<_> = (0..3).map(|_| dir.next_coordinator(&random).unwrap()).collect();
        assert!(lives.iter().all(|life| life.id == lives[0].id));
        assert_eq!(lives.iter().map(|life| life.generation).collect::<Vec<_>>(), [1, 2, 3]);
        // A damaged file is not taken for a new coordinator.
        dir.write(&dir.path.join(COORDINATOR), "").unwrap();
        let refused = dir.next_coordinator(&random).unwrap_err();
        assert!(refused.contains("is damaged"), "{refused}");
    }

    #[test]
    fn leaves_other_directories_alone() {
        let vfs: Arc<dyn Vfs> = Arc::new(CrashVfs::new(1));
        let path = Path::new("/home");
        vfs.create_dir_all(path).unwrap();
        let file = vfs.open(&path.join("thesis.txt"), OpenMode::CREATE).unwrap();
        file.write_at(b"x", 0).unwrap();
        let refused = DataDir::open(vfs.clone(), path).err().unwrap();
        assert!(refused.contains("not a Steppe data directory"), "{refused}");
        assert_eq!(vfs.list_dir(path).unwrap(), ["thesis.txt"]);
    }
}
