//! The pages of docs/sql: what users read about Steppe's SQL is what the code does.
//!
//! ```text
//!   tables in the code: settings, pg_proc and what is attached to it, …  ─┐
//!   statements.txt: an example for each clause ──▶ a running server ──────┼─▶ docs/sql/NAME.md
//!   words: chapters.txt, relations.txt, settings.txt, types.txt ──────────┘
//!   docs/sql/limits.md, differences.md: examples and outcomes ──▶ a running server
//! ```
//!
//! What it guarantees: a page that is written here is what would be written now, and every example
//! of a page that is written by hand comes to what the page says. Where that is not so, the test
//! fails and names the command that writes the pages anew, `make docs`: it sets the variable
//! `STEPPE_REWRITE`.

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
