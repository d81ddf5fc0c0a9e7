//! Logical backups: pg_restore and psql restore pg_dump's output of one server into another.
//!
//! ```text
//!   schema.sql ─► PostgreSQL ── pg_dump, each format ──► Steppe       described and read alike?
//!   schema.sql ─► Steppe ────── pg_dump, many options ─► the text that PostgreSQL's dump has?
//!                    └───────── pg_dump, each format ──► Steppe, PostgreSQL: dumped alike again?
//! ```
//!
//! pg_dump refuses a server that is newer than itself, PostgreSQL or Steppe: with an older one than
//! [`EXPECTED_MAJOR`] only the first line is tested. All tools are those beside PostgreSQL's
//! server.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::golden::EXPECTED_MAJOR;
use crate::oracle::Oracle;
use crate::process::{ServerOptions, ServerProcess, TempDir};

const SERVER_TIMEOUT: Duration = Duration::from_secs(60);
/// A tool is ended after this long.
const TOOL_SECONDS: &str = "120";
/// The forms of a dump: pg_dump's letter, whether pg_restore may use several connections.
const FORMATS: [(&str, bool); 4] = [("p", false), ("c", true), ("d", true), ("t", false)];
/// Lines with the time and the program of a dump.
const HEADERS: [&str; 4] = ["-- Dumped from", "-- Dumped by", "\\restrict", "\\unrestrict"];

/// pg_dump's options under which Steppe's dump is PostgreSQL's.
const VARIANTS: &[&[&str]] = &[
    &[],
    &["--inserts"],
    &["--column-inserts", "--rows-per-insert=3", "--on-conflict-do-nothing"],
    &["--schema-only"],
    &["--data-only"],
    &["-n", "s"],
    &["-N", "s"],
    &["-t", "s.plain"],
    &["-t", "s.rng*", "--clean", "--if-exists"],
    &["-T", "s.plain", "--exclude-table-data=s.rng*"],
    &["--section=pre-data"],
    &["--section=post-data"],
    &["--no-owner", "--no-privileges", "--no-comments"],
    &["--load-via-partition-root", "--disable-triggers", "--serializable-deferrable"],
    &["-Z", "0", "--enable-row-security", "--no-sync"],
];

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binary `steppe`.
    pub server: PathBuf,
    /// The directory of PostgreSQL's binaries.
    pub postgres: PathBuf,
    /// The directory of the schemas.
    pub schemas: PathBuf,
}

/// A database on a server.
#[derive(Clone, Copy)]
struct Place<'a> {
    address: SocketAddr,
    database: &'a str,
}

/// A fresh Steppe, which ends with its data directory.
struct Steppe {
    server: ServerProcess,
    address: SocketAddr,
    _directory: TempDir,
}

impl Steppe {
    fn start(binary: &Path) -> Result<Steppe> {
        let directory = TempDir::new("steppe-dumps")?;
        let options = ServerOptions {
            binary: binary.to_owned(),
            data_dir: directory.path().join("data"),
            settings: vec!["shared_buffers=16MB".to_owned()],
        };
        let (server, address) = ServerProcess::start(&options, SERVER_TIMEOUT)?;
        Ok(Steppe { server, address, _directory: directory })
    }

    fn place(&self) -> Place<'static> {
        Place { address: self.address, database: "postgres" }
    }

    fn stop(self) -> Result<()> {
        Ok(self.server.stop(SERVER_TIMEOUT)?)
    }
}

/// The tools and where they write.
struct Bench<'a> {
    options: &'a Options,
    oracle: Oracle,
    scratch: TempDir,
}

/// Runs the test; `report` gets a line for each part that passed.
pub fn run(options: &Options, report: impl Fn(&str)) -> Result<()> {
    let place = options.postgres.to_string_lossy();
    let oracle = Oracle::open(&place)?;
    let bench = Bench { options, oracle, scratch: TempDir::new("steppe-dumps-of")? };
    let source = bench.postgres("dumps_source")?;
    bench.load(source)?;
    bench.postgres_to_steppe(source)?;
    report("dumps of PostgreSQL restore into Steppe");
    if bench.oracle.major() < EXPECTED_MAJOR {
        report(&format!("pg_dump {} dumps no newer server", bench.oracle.major()));
        return Ok(());
    }
    let steppe = Steppe::start(&options.server)?;
    bench.load(steppe.place())?;
    bench.same_dumps(source, steppe.place())?;
    report("Steppe's dumps are PostgreSQL's");
    bench.there_and_back(steppe.place())?;
    report("dumps of Steppe restore into both, and are dumped alike again");
    steppe.stop()
}

impl Bench<'_> {
    /// An empty database of PostgreSQL's.
    fn postgres<'n>(&self, name: &'n str) -> Result<Place<'n>> {
        self.oracle.create_database(name)?;
        Ok(Place { address: self.oracle.address(), database: name })
    }

    /// The schemas that PostgreSQL's version knows.
    fn load(&self, place: Place<'_>) -> Result<()> {
        let versions: &[&str] = match self.oracle.major() {
            EXPECTED_MAJOR.. => &["schema.sql", "routines.sql", "schema_18.sql"],
            _ => &["schema.sql", "routines.sql"],
        };
        for file in versions {
            self.psql(place, &self.options.schemas.join(file))?;
        }
        Ok(())
    }

    fn postgres_to_steppe(&self, source: Place<'_>) -> Result<()> {
        let expected = self.described(source)?;
        for (format, _) in FORMATS {
            let dump = self.dump(source, format)?;
            let steppe = Steppe::start(&self.options.server)?;
            self.restore(steppe.place(), format, &dump)?;
            let found = self.described(steppe.place())?;
            let what = format!("restored from pg_dump -F{format}");
            self.check_equal(&what, &expected, &found)?;
            steppe.stop()?;
        }
        Ok(())
    }

    fn same_dumps(&self, source: Place<'_>, steppe: Place<'_>) -> Result<()> {
        for variant in VARIANTS {
            let what = format!("pg_dump {}", variant.join(" "));
            let expected = self.dumped(source, variant)?;
            self.check_equal(&what, &expected, &self.dumped(steppe, variant)?)?;
        }
        let globals = |place: Place<'_>| self.tool("pg_dumpall", place, ["-g"]);
        let expected = without_headers(&globals(source)?);
        self.check_equal("pg_dumpall -g", &expected, &without_headers(&globals(steppe)?))
    }

    fn there_and_back(&self, steppe: Place<'_>) -> Result<()> {
        let expected = self.dumped(steppe, &[])?;
        for (format, _) in FORMATS {
            let dump = self.dump(steppe, format)?;
            let again = Steppe::start(&self.options.server)?;
            let postgres = self.postgres("dumps_target")?;
            for (whose, place) in [("Steppe", again.place()), ("PostgreSQL", postgres)] {
                self.restore(place, format, &dump)?;
                let what = format!("{whose} restored from pg_dump -F{format}");
                self.check_equal(&what, &expected, &self.dumped(place, &[])?)?;
            }
            again.stop()?;
        }
        Ok(())
    }

    /// The text of a dump without its header lines.
    fn dumped(&self, place: Place<'_>, options: &[&str]) -> Result<String> {
        Ok(without_headers(&self.tool("pg_dump", place, options)?))
    }

    /// Writes a dump in a format; returns its path.
    fn dump(&self, place: Place<'_>, format: &str) -> Result<PathBuf> {
        let path = self.scratch.path().join(format!("{}.{format}", place.database));
        let _ = fs::remove_dir_all(&path);
        let mut options = vec![format!("-F{format}"), format!("-f{}", path.display())];
        options.extend((format == "d").then(|| "-j2".to_owned()));
        self.tool("pg_dump", place, options)?;
        Ok(path)
    }

    fn restore(&self, place: Place<'_>, format: &str, dump: &Path) -> Result<()> {
        if format == "p" {
            return self.psql(place, dump);
        }
        let parallel = FORMATS.iter().any(|(letter, parallel)| *letter == format && *parallel);
        let mut options = vec!["--exit-on-error".to_owned()];
        options.extend(parallel.then(|| "-j2".to_owned()));
        options.push(dump.display().to_string());
        self.tool("pg_restore", place, options).map(|_| ())
    }

    fn psql(&self, place: Place<'_>, script: &Path) -> Result<()> {
        let script = script.display().to_string();
        let options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f", &script];
        self.tool("psql", place, options).map(|_| ())
    }

    /// The tables, indexes and sequences as psql describes them, the other objects as the catalog
    /// does, and all rows.
    fn described(&self, place: Place<'_>) -> Result<String> {
        let names = self.tool("psql", place, ["-X", "-A", "-t", "-q", "-c", DESCRIBED])?;
        let describe = names.lines().map(|name| format!("\\d+ {name}\n"));
        let script = self.scratch.path().join("describe.sql");
        fs::write(&script, describe.collect::<String>() + OBJECTS + CONTENTS)
            .map_err(Failure::Io)?;
        let script = script.display().to_string();
        let text = self.tool("psql", place, ["-X", "-q", "-f", &script])?;
        Ok(text.lines().map(without_oid).fold(String::new(), |all, line| all + &line + "\n"))
    }

    /// Runs a tool to its end; returns its output.
    fn tool(
        &self,
        name: &str,
        place: Place<'_>,
        options: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<String> {
        let database = if name == "pg_dumpall" { "-l" } else { "-d" };
        let mut command = Command::new("timeout");
        command
            .args(["-k", "5", TOOL_SECONDS])
            .arg(self.options.postgres.join(name))
            .args(["-U", "postgres", "-h", &place.address.ip().to_string()])
            .args(["-p", &place.address.port().to_string(), database, place.database])
            .args(options)
            .env("LC_ALL", "C")
            .env("PGTZ", "UTC")
            .env_remove("PGOPTIONS")
            .stdin(Stdio::null());
        let output = command.output().map_err(Failure::Io)?;
        answer(&format!("{name} of {}", place.database), &output)
    }

    fn check_equal(&self, what: &str, expected: &str, found: &str) -> Result<()> {
        if expected == found {
            return Ok(());
        }
        let [want, have] = ["expected", "found"].map(|name| self.scratch.path().join(name));
        fs::write(&want, expected).and_then(|()| fs::write(&have, found)).map_err(Failure::Io)?;
        let difference = Command::new("diff").arg("-u").arg(want).arg(have).output();
        let difference = difference.map_err(Failure::Io)?;
        let text = String::from_utf8_lossy(&difference.stdout);
        let shown: Vec<&str> = text.lines().take(60).collect();
        Err(Failure::Broken(format!("{what}: not as expected\n{}", shown.join("\n"))))
    }
}

/// The relations that psql describes. Each version of PostgreSQL qualifies views in its own way:
/// only their rows are compared.
const DESCRIBED: &str = r#"SELECT oid::regclass FROM pg_class
 WHERE relnamespace IN ('s'::regnamespace, 'public'::regnamespace)
   AND relkind IN ('r', 'p', 'S', 'i', 'I') ORDER BY relname COLLATE "C""#;

/// Functions, aggregates, types, triggers and foreign keys. Each version of PostgreSQL has its own
/// text of a body that is stored as a tree: only the results of such functions are compared. It also
/// has its own names of the copies of a foreign key for the partitions of the referenced table. Dumps leave
/// out the names of copies for the partitions of the referencing table.
const OBJECTS: &str = r#"
SELECT p.oid::regprocedure, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
       CASE WHEN prokind <> 'a' AND prosqlbody IS NULL THEN pg_get_functiondef(p.oid) END,
       prokind, prosecdef, proleakproof, proisstrict, provolatile, proparallel, procost, prorows,
       proconfig, proacl, obj_description(p.oid, 'pg_proc')
  FROM pg_proc p WHERE pronamespace = 's'::regnamespace ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT aggfnoid::regprocedure, aggtransfn, aggfinalfn, aggkind, aggnumdirectargs, aggfinalextra,
       aggtranstype::regtype, agginitval
  FROM pg_aggregate a JOIN pg_proc p ON p.oid = aggfnoid
 WHERE pronamespace = 's'::regnamespace ORDER BY proname COLLATE "C";
SELECT typname, typtype, typnotnull, typdefault, obj_description(t.oid, 'pg_type'),
       (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid),
       (SELECT string_agg(conname || ' ' || pg_get_constraintdef(c.oid), ',' ORDER BY conname COLLATE "C")
          FROM pg_constraint c WHERE contypid = t.oid AND contype = 'c')
  FROM pg_type t WHERE typnamespace = 's'::regnamespace ORDER BY typname COLLATE "C";
SELECT tgrelid::regclass, tgname, CASE WHEN tgparentid = 0 THEN pg_get_triggerdef(t.oid) END, tgenabled,
       tgdeferrable, tginitdeferred, obj_description(t.oid, 'pg_trigger')
  FROM pg_trigger t WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text COLLATE "C", tgname COLLATE "C";
SELECT conrelid::regclass, CASE WHEN conparentid = 0 THEN conname END, pg_get_constraintdef(oid), convalidated, conparentid = 0 AS is_own,
       conislocal, coninhcount, obj_description(oid, 'pg_constraint')
  FROM pg_constraint c WHERE contype = 'f' AND connamespace = 's'::regnamespace
   AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid)
 ORDER BY conrelid::regclass::text COLLATE "C", 2 COLLATE "C", 3 COLLATE "C";
SELECT s.plus_one(1), s.atomic(1), s.atomic(1, 2, 3, 4), s.outs(1, 'a'), s.body('(3,,)'), s.total(1), s.early();
"#;

/// The tables and sequences as lists, and all that is in them.
const CONTENTS: &str = r#"
\dt s.*
\ds s.*
SELECT format('SELECT %L AS sequence, last_value, is_called FROM %s', oid::regclass, oid::regclass)
  FROM pg_class WHERE relkind = 'S' ORDER BY relname COLLATE "C" \gexec
SELECT format('COPY (SELECT %L, t.* FROM %s t ORDER BY t::text COLLATE "C") TO STDOUT', relname, oid::regclass)
  FROM pg_class WHERE relnamespace IN ('s'::regnamespace, 'public'::regnamespace) AND relkind IN ('r', 'v')
 ORDER BY relname COLLATE "C" \gexec
"#;

fn answer(what: &str, output: &Output) -> Result<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let status = output.status;
        return Err(Failure::Broken(format!("{what} ended with {status}:\n{errors}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn without_headers(dump: &str) -> String {
    let is_header = |line: &&str| HEADERS.iter().any(|header| line.starts_with(header));
    dump.split_inclusive('\n').filter(|line| !is_header(line)).collect()
}

/// A hash partition's condition names its parent by OID.
fn without_oid(line: &str) -> String {
    let call = "satisfies_hash_partition('";
    match line.split_once(call).and_then(|(before, after)| Some((before, after.split_once('\'')?)))
    {
        Some((before, (_, rest))) => format!("{before}{call}'{rest}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let dump = "--\n-- Dumped from database version 18\n\\restrict x\nSELECT 1;\n";
        assert_eq!(without_headers(dump), "--\nSELECT 1;\n");
        let line = "Partition constraint: satisfies_hash_partition('16539'::oid, 1, 0, a)";
        let plain = "Partition constraint: satisfies_hash_partition(''::oid, 1, 0, a)";
        assert_eq!(without_oid(line), plain);
        assert_eq!(without_oid("a"), "a");
    }
}
