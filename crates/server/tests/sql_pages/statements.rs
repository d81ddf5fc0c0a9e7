//! docs/sql/statements.md: the supported parts of each statement. An example tests each clause.

use crate::ask::Asker;
use crate::page::Page;
use crate::words;

const EXAMPLES: &str = include_str!("statements.txt");

const NOT_YET: &str = "0A000";

/// The chapter of statements and clauses that PostgreSQL does not have.
const NOT_POSTGRESQLS: &str = "Nodes";

/// A heading of the page.
struct Chapter {
    title: &'static str,
    statements: Vec<Statement>,
}

struct Statement {
    name: &'static str,
    clauses: Vec<Clause>,
}

struct Clause {
    what: &'static str,
    example: &'static str,
    in_transaction: bool,
    /// The SQLSTATE if the example fails.
    failed: Option<String>,
}

#[test]
fn statements_page() {
    let (fixture, mut chapters) = read();
    let mut asker = Asker::start();
    for sql in fixture {
        asker.must(sql);
    }
    let statements = chapters.iter_mut().flat_map(|chapter| &mut chapter.statements);
    for clause in statements.flat_map(|statement| &mut statement.clauses) {
        clause.failed = asker.outcome(clause.example, clause.in_transaction);
    }
    let mut page = Page::new("statements.md", "Statements");
    introduce(&mut page, &chapters);
    for chapter in &chapters {
        page.heading(chapter.title);
        summarise(&mut page, chapter);
    }
    page.heading("The examples");
    page.paragraph(
        "Each clause above was tried with one of these, each in a transaction that was rolled back. \
         The tables and views are the ones that the first block makes. A comment names the SQLSTATE \
         of an example that fails.",
    );
    let (fixture, _) = read();
    page.sql(&fixture.iter().map(|sql| format!("{sql};")).collect::<Vec<_>>());
    for chapter in &chapters {
        page.sql(&chapter.statements.iter().flat_map(Statement::shown).collect::<Vec<_>>());
    }
    page.compare();
}

/// The statements that prepare the examples, and the examples.
fn read() -> (Vec<&'static str>, Vec<Chapter>) {
    let (mut fixture, mut chapters) = (Vec::new(), Vec::<Chapter>::new());
    for line in words::lines(EXAMPLES) {
        if let Some(title) = line.strip_prefix("## ") {
            chapters.push(Chapter { title, statements: Vec::new() });
        } else if let Some(name) = line.strip_prefix("= ") {
            let chapter = chapters.last_mut().expect("a heading before the first statement");
            chapter.statements.push(Statement { name, clauses: Vec::new() });
        } else {
            let (what, example) = line.split_once(" :: ").expect("a clause and an example");
            if what == "fixture" {
                fixture.push(example);
                continue;
            }
            let (example, in_transaction) = match example.strip_prefix("! ") {
                Some(example) => (example, false),
                None => (example, true),
            };
            let statement = chapters.last_mut().and_then(|chapter| chapter.statements.last_mut());
            let clauses = &mut statement.expect("a statement before its first clause").clauses;
            clauses.push(Clause { what, example, in_transaction, failed: None });
        }
    }
    (fixture, chapters)
}

fn introduce(page: &mut Page, chapters: &[Chapter]) {
    let postgresqls = || chapters.iter().filter(|chapter| chapter.title != NOT_POSTGRESQLS);
    let statements = || postgresqls().flat_map(|chapter| &chapter.statements);
    let supported = statements().filter(|statement| !statement.is_missing()).count();
    page.paragraph(&format!(
        "Steppe reads all of PostgreSQL 18's SQL with PostgreSQL's own grammar. Of its {} statements \
         {supported} are supported, wholly or in part. What is not supported fails with SQLSTATE 0A000, \
         \"not supported yet\", and changes nothing. The words of a row are the clauses that were \
         tried; the SQLSTATE of a clause that fails otherwise stands behind it. The last chapter's \
         statements and clauses are Postgres-XL's.",
        statements().count(),
    ));
}

fn summarise(page: &mut Page, chapter: &Chapter) {
    let (missing, there): (Vec<_>, Vec<_>) =
        chapter.statements.iter().partition(|statement| statement.is_missing());
    let rows: Vec<_> =
        there.iter().map(|s| [s.name.to_owned(), s.clauses(false), s.clauses(true)]).collect();
    page.table(["Statement", "Supported", "Not yet (0A000)"], &rows);
    if !missing.is_empty() {
        let names = missing.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        page.paragraph(&format!("Not yet, in any form (0A000): {names}."));
    }
}

impl Statement {
    /// Whether every clause is unsupported.
    fn is_missing(&self) -> bool {
        self.clauses.iter().all(|clause| clause.failed.as_deref() == Some(NOT_YET))
    }

    /// The clauses that fail, or the others.
    fn clauses(&self, failing: bool) -> String {
        let of = self.clauses.iter().filter(|clause| clause.failed.is_some() == failing);
        let words = of.map(|clause| {
            let what = clause.what.strip_prefix("plain").map_or(clause.what, |more| {
                if more.is_empty() { "yes" } else { more.trim_start() }
            });
            match clause.failed.as_deref() {
                None | Some(NOT_YET) => what.to_owned(),
                Some(sqlstate) => format!("{what} ({sqlstate})"),
            }
        });
        words.collect::<Vec<_>>().join("; ")
    }

    fn shown(&self) -> impl Iterator<Item = String> {
        self.clauses.iter().map(|clause| match &clause.failed {
            None => format!("{};", clause.example),
            Some(sqlstate) => format!("{}; -- {sqlstate}", clause.example),
        })
    }
}
