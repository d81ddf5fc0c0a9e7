//! A page: its text, its tables, and its comparison with the file.

use std::path::{Path, PathBuf};

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the pages.
pub(crate) fn folder() -> PathBuf {
    root().join("docs/sql")
}

/// A page that is being written.
pub(crate) struct Page {
    name: &'static str,
    text: String,
}

impl Page {
    pub(crate) fn new(name: &'static str, title: &str) -> Page {
        let text =
            format!("<!-- `make docs` writes this page; a test compares it. -->\n\n# {title}\n");
        Page { name, text }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.text.push_str(&format!("\n## {text}\n"));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.text.push('\n');
        for line in wrapped(text, 120) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// A block of SQL.
    pub(crate) fn sql(&mut self, lines: &[String]) {
        self.text.push_str(&format!("\n```sql\n{}\n```\n", lines.join("\n")));
    }

    /// A table, unless it has no rows.
    pub(crate) fn table<const N: usize>(&mut self, columns: [&str; N], rows: &[[String; N]]) {
        if rows.is_empty() {
            return;
        }
        self.text.push('\n');
        let mut line = |cells: &[String]| {
            let cells = cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>();
            self.text.push_str(&format!("| {} |\n", cells.join(" | ")));
        };
        line(&columns.map(str::to_owned));
        line(&columns.map(|_| "---".to_owned()));
        for row in rows {
            line(row);
        }
    }

    /// Panics if the file differs. With `STEPPE_REWRITE`, it writes the file.
    pub(crate) fn compare(self) {
        let path = folder().join(self.name);
        if std::env::var_os("STEPPE_REWRITE").is_some() {
            std::fs::write(&path, &self.text).expect("the page can be written");
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        if there == self.text {
            return;
        }
        let now = self.text.lines().map(Some).chain([None]);
        let differs =
            there.lines().map(Some).chain([None]).zip(now).find(|(then, now)| then != now);
        let (then, now) = differs.unwrap_or_default();
        panic!(
            "docs/sql/{} is not what the code says:\n  there {}\n  now   {}\n`make docs` writes it anew",
            self.name,
            then.unwrap_or("it ends"),
            now.unwrap_or("it ends")
        );
    }
}

/// A text in lines of at most `width` characters, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Code within a line.
pub(crate) fn code(text: &str) -> String {
    format!("`{text}`")
}
