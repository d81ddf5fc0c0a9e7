//! Random programs: PL/pgSQL ([`programs`]), triggers ([`triggers`]) and foreign keys ([`keys`]).
//!
//! A *program* is a list of statements from a seed, which run in an empty schema. Every answer is
//! compared in full: rows, notices with their texts and contexts, and of an error the SQLSTATE,
//! message, detail, hint, context and the names of what it is about ([`witness`]). The first
//! difference ends a program, since afterwards the tables may differ.
//!
//! Programs are trees of [`Piece`]s, so that one with a difference can be made small: pieces are
//! left out, one after the other, as long as the two servers still differ in the same way. The
//! report has the smallest program found. (The idea is delta debugging, Zeller and Hildebrandt,
//! "Simplifying and Isolating Failure-Inducing Input", 2002.)

mod computing;
mod expressions;
mod keys;
mod pieces;
mod programs;
mod triggers;
mod witness;

use super::partitions::Place;
use super::{Failure, Options, Report, Subject};
use pieces::{Piece, Step};
use steppe_vfs::SeededRandom;
use witness::{Testimony, Witness};

/// How many times a program is run to make it small.
const REDUCTIONS: usize = 400;
/// The number of differences after which a run ends.
const ENOUGH: u64 = 12;

/// Both servers.
struct Pair {
    steppe: Witness,
    postgres: Witness,
}

/// Where and how the servers differ.
struct Difference {
    statement: String,
    ours: Testimony,
    theirs: Testimony,
}

impl Difference {
    /// The part that stays the same while the program is made small: the SQLSTATE of each server,
    /// and whether the rows and notices before it are equal.
    fn kind(&self) -> (Option<&str>, Option<&str>, bool) {
        (self.ours.code(), self.theirs.code(), self.ours.lines == self.theirs.lines)
    }
}

/// The result of a program.
#[derive(Default)]
struct Outcome {
    equal: u64,
    refused: u64,
    slow: bool,
    unsupported: Option<String>,
    difference: Option<Difference>,
}

/// Compares program after program, the first of which is the seed's, until `options.statements`
/// statements have been answered. `major` is the version of PostgreSQL.
pub(super) async fn compare_all(
    options: &Options,
    (steppe, postgres): (Place<'_>, Place<'_>),
    major: u32,
    report: &mut impl FnMut(&str),
) -> Result<Report, Failure> {
    let pair = Pair {
        steppe: Witness::connect(steppe.0, steppe.1).await?,
        postgres: Witness::connect(postgres.0, postgres.1).await?,
    };
    let mut total = Report::default();
    let mut seed = options.seed;
    let asked = options.statements.unwrap_or(u64::MAX);
    while total.equal + total.refused < asked && total.different < ENOUGH {
        let random = SeededRandom::new(seed);
        let program = match options.subject {
            Subject::Triggers => triggers::program(&random),
            Subject::Keys => keys::program(&random, major),
            _ => programs::program(&random),
        };
        let outcome = pair.run(&program).await?;
        total.equal += outcome.equal;
        total.refused += outcome.refused;
        total.slow += u64::from(outcome.slow);
        if let Some(message) = outcome.unsupported {
            total.unsupported += 1;
            report(&format!("not supported, --seed {seed}: {message}"));
        }
        if let Some(difference) = outcome.difference {
            total.different += 1;
            let (program, difference) = pair.reduced(program, difference).await?;
            report(&shown(seed, &program, &difference));
        }
        seed = seed.wrapping_add(1);
    }
    Ok(total)
}

impl Pair {
    /// Runs a program in an empty schema on both servers, up to the first difference.
    async fn run(&self, program: &[Piece]) -> Result<Outcome, Failure> {
        let begin = "ROLLBACK; SET client_min_messages = error; DROP SCHEMA IF EXISTS world \
                     CASCADE; CREATE SCHEMA world; SET search_path = world; \
                     RESET client_min_messages; SET enable_seqscan = off; \
                     SET enable_bitmapscan = off";
        self.steppe.prepare(begin).await?;
        self.postgres.prepare(begin).await?;
        let mut outcome = Outcome::default();
        for Step { sql, ordered } in program.iter().map(Piece::step) {
            let mut ours = self.steppe.ask(&sql).await?;
            let mut theirs = self.postgres.ask(&sql).await?;
            if !ordered {
                (ours, theirs) = (ours.without_order(), theirs.without_order());
            }
            let either = |code| ours.code() == Some(code) || theirs.code() == Some(code);
            if either("57014") || ours.is_cut || theirs.is_cut {
                outcome.slow = true;
                return Ok(outcome);
            }
            if ours == theirs {
                match ours.error {
                    Some(_) => outcome.refused += 1,
                    None => outcome.equal += 1,
                }
                continue;
            }
            match ours.error {
                Some((code, message)) if code == "0A000" && theirs.code() != Some("0A000") => {
                    outcome.unsupported = Some(format!("{message}\n    {sql}"));
                }
                _ => outcome.difference = Some(Difference { statement: sql, ours, theirs }),
            }
            return Ok(outcome);
        }
        Ok(outcome)
    }

    /// The program without all pieces that the difference does not need.
    async fn reduced(
        &self,
        mut program: Vec<Piece>,
        mut difference: Difference,
    ) -> Result<(Vec<Piece>, Difference), Failure> {
        let (mut at, mut was_reduced) = (0, false);
        for _ in 0..REDUCTIONS {
            let Some(smaller) = pieces::without(&program, at) else {
                // All pieces have been tried. A piece may be of no use now, without others.
                if !std::mem::take(&mut was_reduced) {
                    break;
                }
                at = 0;
                continue;
            };
            let outcome = self.run(&smaller).await?;
            match outcome.difference {
                Some(found) if found.kind() == difference.kind() => {
                    (program, difference, was_reduced) = (smaller, found, true);
                }
                _ => at += 1,
            }
        }
        Ok((program, difference))
    }
}

fn shown(seed: u64, program: &[Piece], difference: &Difference) -> String {
    let script: Vec<String> = program.iter().map(|piece| piece.step().sql + ";").collect();
    format!(
        "DIFFERENT, --seed {seed}, made small:\n{}\n    at: {}\n    Steppe: {}\n    PostgreSQL: {}",
        script.join("\n"),
        difference.statement.lines().next().unwrap_or_default(),
        difference.ours.shown(&difference.theirs),
        difference.theirs.shown(&difference.ours),
    )
}
