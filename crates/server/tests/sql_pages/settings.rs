//! docs/sql/settings.md: the settings, from their definitions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use steppe_server::settings::definition::{self, Context, Definition, Kind};

use crate::page::{Page, code, root};
use crate::words;

const MEANINGS: &str = include_str!("settings.txt");

/// Settings whose names the code has with another meaning, or only for the form in which a value is
/// shown.
const OTHER_WORDS: &[&str] = &[
    "data_directory_mode",
    "log_file_mode",
    "recovery_prefetch",
    "ssl",
    "unix_socket_permissions",
];

#[test]
fn settings_page() {
    let meanings = words::phrases(MEANINGS);
    check(&meanings);
    let mut page = Page::new("settings.md", "Settings");
    let there = definition::all();
    page.paragraph(&format!(
        "Steppe has all of PostgreSQL 18's settings and a few more, {} in all. Each is set, shown, checked \
         and refused as in PostgreSQL: in `steppe.conf` (PostgreSQL's syntax, read again at SIGHUP and by \
         pg_reload_conf()), by `-c name=value` on the command line, by SET, and by a client's start-up \
         options. ALTER SYSTEM, ALTER ROLE … SET and ALTER DATABASE … SET are not there yet. {} of the \
         settings mean something; the others keep what they are set to and change nothing.",
        there.len(),
        there.iter().filter(|setting| meanings.contains_key(setting.name)).count()
    ));
    page.paragraph(
        "Context says when a setting may be changed: internal, never; postmaster, at the start; sighup, in \
         the configuration file while the server runs; backend, when a connection starts; user, at any \
         time; superuser, at any time by a superuser. A default has the unit that it is shown with; the \
         bounds count the unit beside them.",
    );
    page.heading("Settings that mean something");
    for (category, settings) in by_category(|setting| meanings.contains_key(setting.name)) {
        page.paragraph(&format!("**{category}**"));
        let row = |setting: &&Definition| {
            let [name, default, range, context] = facts(setting);
            [name, default, range, context, meanings[setting.name].to_owned()]
        };
        let rows: Vec<_> = settings.iter().map(row).collect();
        page.table(["Setting", "Default", "Values", "Context", "Meaning"], &rows);
    }
    page.heading("Settings that are kept and change nothing");
    for (category, settings) in by_category(|setting| !meanings.contains_key(setting.name)) {
        page.paragraph(&format!("**{category}**"));
        let rows: Vec<_> = settings.iter().map(|setting| facts(setting)).collect();
        page.table(["Setting", "Default", "Values", "Context"], &rows);
    }
    page.compare();
}

/// The settings with an effect, by PostgreSQL's categories.
fn by_category(
    is_meant: impl Fn(&Definition) -> bool,
) -> BTreeMap<&'static str, Vec<&'static Definition>> {
    let mut categories: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
    for setting in definition::all().iter().filter(|setting| is_meant(setting)) {
        let category = match setting.category {
            "" => "Not shown by SHOW ALL",
            category => category,
        };
        categories.entry(category).or_default().push(setting);
    }
    categories
}

/// Name, default, values and context.
fn facts(setting: &Definition) -> [String; 4] {
    let shown = setting.boot.show(setting);
    let default = if shown.is_empty() { "''".to_owned() } else { shown };
    [code(setting.name), code(&default), values(setting), context(setting.context).to_owned()]
}

fn values(setting: &Definition) -> String {
    let of_unit = setting.unit.map(|unit| format!(" {unit}")).unwrap_or_default();
    match &setting.kind {
        Kind::Bool => "on, off".to_owned(),
        Kind::Int { min, max } => format!("{min} to {max}{of_unit}"),
        Kind::Real { min, max } if *max == f64::MAX => format!("from {min}{of_unit}"),
        Kind::Real { min, max } => format!("{min} to {max}{of_unit}"),
        Kind::Enum(words) => words.join(", "),
        Kind::Text if setting.list => "a list".to_owned(),
        Kind::Text => "text".to_owned(),
    }
}

fn context(context: Context) -> &'static str {
    context.as_str()
}

/// A setting has an effect if and only if the code reads it by its name.
fn check(meanings: &BTreeMap<&str, &str>) {
    let mut code = String::new();
    // Other modules of ddl have storage parameters with the names of settings.
    for sources in ["server/src", "exec/src", "ddl/src/function", "plpgsql/src"] {
        read_sources(&root().join("crates").join(sources), &mut code);
    }
    // The text between two quotes, and the code between two strings.
    let quoted: HashSet<&str> = code.split('"').collect();
    let is_read = |name: &str| quoted.contains(name) && !OTHER_WORDS.contains(&name);
    let names: BTreeSet<&str> = definition::all().iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), definition::all().len(), "a setting is defined twice");
    let unknown: Vec<_> = meanings.keys().filter(|name| !names.contains(**name)).collect();
    assert!(unknown.is_empty(), "settings.txt names what is no setting: {unknown:?}");
    let silent: Vec<_> =
        names.iter().filter(|name| is_read(name) && !meanings.contains_key(**name)).collect();
    assert!(silent.is_empty(), "settings.txt does not say what these mean: {silent:?}");
    let idle: Vec<_> = meanings.keys().filter(|name| !is_read(name)).collect();
    assert!(idle.is_empty(), "settings.txt says what these mean, and no code reads them: {idle:?}");
}

/// Appends all sources below a folder, without tests and without the lists of settings.
fn read_sources(folder: &Path, code: &mut String) {
    const LISTS: [&str; 2] = ["definition.rs", "conf.rs"];
    for entry in std::fs::read_dir(folder).expect("the sources are there").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            read_sources(&path, code);
        } else if name.ends_with(".rs") && !LISTS.contains(&&*name) {
            let text = std::fs::read_to_string(&path).expect("a source can be read");
            code.push_str(text.split("#[cfg(test)]\nmod ").next().unwrap_or_default());
        }
    }
}
