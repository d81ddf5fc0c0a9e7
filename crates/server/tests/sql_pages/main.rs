//! The pages of docs/sql: the text for users matches the code.
//!
//! ```text
//!   tables in the code: settings, pg_proc and its implementations, …     ─┐
//!   statements.txt: an example for each clause ──▶ a running server ──────┼─▶ docs/sql/NAME.md
//!   words: chapters.txt, relations.txt, settings.txt, types.txt ──────────┘
//!   docs/sql/limits.md, differences.md: examples and outcomes ──▶ a running server
//! ```
//!
//! The test guarantees that a generated page is up to date, and that every example of a
//! hand-written page has the outcome that the page states. Otherwise it fails and names the command
//! that writes the pages, `make docs`, which sets the variable `STEPPE_REWRITE`.

#[path = "../support/mod.rs"]
mod support;

mod ask;
mod examples;
mod functions;
mod operators;
mod page;
mod relations;
mod settings;
mod statements;
mod types;
mod words;
