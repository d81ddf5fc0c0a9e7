//! Pruned = unpruned = PostgreSQL, over random partitioned tables.
//!
//! A *world* is a set of tables from a seed ([`tables`]) and some statements about them
//! ([`predicate`]). Each statement is run three times: by Steppe, by Steppe with
//! `enable_partition_pruning` off, and by PostgreSQL, with it off as well, because the rows of its
//! partitions are the measure and not its pruning. (PostgreSQL 18.4 loses the rows of the default
//! partition for `k >= ANY (array) AND k IS NOT NULL`.) Every row comes with its leaf, by tableoid.
//! A change is compared by what it returns and by what all leaves hold afterwards. Between
//! statements leaves are detached and attached again, under cached plans.
//!
//! Before the first world come two [`sessions`] on one row, in all their interleavings.

mod predicate;
mod sessions;
mod tables;
mod values;

use std::net::SocketAddr;

use tokio_postgres::Client;

use super::answer::{Answer, ask, ask_prepared, connect};
use super::{Failure, Options, Report, throw_switches};
use predicate::{Case, Statements};
use sessions::{Interleaving, Sessions};
use steppe_vfs::SeededRandom;
use tables::Tables;

/// Statements about one set of tables.
const STATEMENTS_PER_WORLD: u64 = 60;
/// How often a leaf is detached and attached again meanwhile.
const DETACH_PERCENT: u64 = 4;

/// A server's address and the database there.
pub(super) type Place<'a> = (SocketAddr, &'a str);

/// Both servers, and what has come out.
struct Comparison<'a, R> {
    steppe: &'a Client,
    postgres: &'a Client,
    report: R,
    total: Report,
    /// The world's statements so far, to be shown with the first difference.
    script: Vec<String>,
}

/// Compares world after world, the first of which is the seed's.
pub(super) async fn compare_all(
    options: &Options,
    (steppe, postgres): (Place<'_>, Place<'_>),
    report: impl FnMut(&str),
) -> Result<Report, Failure> {
    let total = Report::default();
    let pairs = (
        Sessions::connect(steppe.0, steppe.1).await?,
        Sessions::connect(postgres.0, postgres.1).await?,
    );
    let (steppe, postgres) =
        (connect(steppe.0, steppe.1).await?, connect(postgres.0, postgres.1).await?);
    let mut comparison =
        Comparison { steppe: &steppe, postgres: &postgres, report, total, script: Vec::new() };
    comparison.interleavings(pairs).await?;
    let mut seed = options.seed;
    let mut left = options.statements.unwrap_or(u64::MAX);
    while left > 0 {
        let statements = left.min(STATEMENTS_PER_WORLD);
        comparison.world(seed, statements).await?;
        seed = seed.wrapping_add(1);
        left -= statements;
    }
    Ok(comparison.total)
}

impl<R: FnMut(&str)> Comparison<'_, R> {
    async fn interleavings(
        &mut self,
        (steppe, postgres): (Sessions, Sessions),
    ) -> Result<(), Failure> {
        for case in Interleaving::all() {
            let ([ours, our_rows], [theirs, their_rows]) =
                (steppe.run(case).await?, postgres.run(case).await?);
            let shown = case.shown();
            self.judge(&shown, &[("Steppe", &ours)], &theirs, ours == theirs);
            let shown = format!("the table after {shown}");
            self.judge(&shown, &[("Steppe", &our_rows)], &their_rows, our_rows == their_rows);
        }
        Ok(())
    }

    async fn world(&mut self, seed: u64, statements: u64) -> Result<(), Failure> {
        let random = SeededRandom::new(seed);
        let zone = ["UTC", "America/New_York", "Pacific/Apia"][random.below(3) as usize];
        let begin = format!(
            "DROP SCHEMA IF EXISTS world CASCADE; CREATE SCHEMA world; SET search_path = world; \
             SET TimeZone = '{zone}'; SET enable_partition_pruning = off"
        );
        self.steppe.batch_execute(&begin).await?;
        self.postgres.batch_execute(&begin).await?;
        self.script = vec![format!("SET TimeZone = '{zone}'")];
        let different = self.total.different;
        let tables = Tables::random(&random);
        for statement in &tables.script {
            self.both(statement).await?;
        }
        let mut cases = Statements::new(&random, &tables);
        for _ in 0..statements {
            if random.chance(DETACH_PERCENT, 100) {
                self.detach_and_attach(&tables, &random, &mut cases).await?;
            }
            self.case(cases.next(), &random).await?;
        }
        if self.total.different > different {
            let script = self.script.join(";\n    ");
            (self.report)(&format!(
                "replay: --of partitions --seed {seed} --statements {statements}\n    {script};"
            ));
        }
        Ok(())
    }

    /// A statement that both must accept or refuse, with the same message.
    async fn both(&mut self, sql: &str) -> Result<bool, Failure> {
        let (ours, theirs) = (ask(self.steppe, sql).await?, ask(self.postgres, sql).await?);
        let accepted = ours.code().is_none();
        if accepted {
            self.script.push(sql.to_owned());
        }
        self.judge(sql, &[("Steppe", &ours)], &theirs, ours == theirs);
        Ok(accepted)
    }

    /// A statement while one of the partitions is away.
    async fn detach_and_attach(
        &mut self,
        tables: &Tables,
        random: &SeededRandom,
        cases: &mut Statements<'_>,
    ) -> Result<(), Failure> {
        let nth = random.below(tables.partitions.len() as u64) as usize;
        let Some((parent, child, bound)) = tables.partitions.get(nth) else { return Ok(()) };
        let detached = self.both(&format!("ALTER TABLE {parent} DETACH PARTITION {child}")).await?;
        self.case(cases.next(), random).await?;
        if detached {
            // Rows that were put elsewhere meanwhile may be in the way, for both.
            self.both(&format!("ALTER TABLE {parent} ATTACH PARTITION {child} {bound}")).await?;
        }
        Ok(())
    }

    async fn case(&mut self, case: Case, random: &SeededRandom) -> Result<(), Failure> {
        let switches = throw_switches(random);
        self.steppe.batch_execute(&switches).await?;
        match case {
            Case::Query(sql) => {
                let [pruned, whole, theirs] = self.query(&sql).await?.map(Answer::sorted);
                self.three(&format!("{switches}; {sql}"), &pruned, &whole, &theirs);
            }
            Case::Ordered(sql) => {
                let [pruned, whole, theirs] = self.query(&sql).await?;
                self.three(&format!("{switches}; {sql}"), &pruned, &whole, &theirs);
            }
            Case::Prepared(sql, executions) => {
                self.prune(true).await?;
                let pruned = ask_prepared(self.steppe, &sql, &executions).await?.sorted();
                self.prune(false).await?;
                let whole = ask_prepared(self.steppe, &sql, &executions).await?.sorted();
                let theirs = ask_prepared(self.postgres, &sql, &executions).await?.sorted();
                let shown = format!("{switches}; {sql} with {executions:?}");
                self.three(&shown, &pruned, &whole, &theirs);
            }
            Case::Change(sql) => {
                // Seldom: else the tables would soon be empty.
                let keep = random.chance(1, 8);
                self.prune(false).await?;
                let whole = change(self.steppe, &sql, false).await?;
                self.prune(true).await?;
                let pruned = change(self.steppe, &sql, keep).await?;
                let theirs = change(self.postgres, &sql, keep).await?;
                self.three(&format!("{switches}; {sql}"), &pruned, &whole, &theirs);
                if keep && theirs.code().is_none() {
                    self.script.push(sql);
                }
            }
        }
        Ok(())
    }

    /// Pruned, not pruned, PostgreSQL.
    async fn query(&self, sql: &str) -> Result<[Answer; 3], Failure> {
        self.prune(true).await?;
        let pruned = ask(self.steppe, sql).await?;
        self.prune(false).await?;
        let whole = ask(self.steppe, sql).await?;
        Ok([pruned, whole, ask(self.postgres, sql).await?])
    }

    async fn prune(&self, on: bool) -> Result<(), Failure> {
        let to = if on { "on" } else { "off" };
        Ok(self.steppe.batch_execute(&format!("SET enable_partition_pruning = {to}")).await?)
    }

    fn three(&mut self, sql: &str, pruned: &Answer, whole: &Answer, theirs: &Answer) {
        let same = pruned.agrees(theirs) && whole.agrees(theirs);
        self.judge(sql, &[("pruned", pruned), ("unpruned", whole)], theirs, same);
    }

    fn judge(&mut self, sql: &str, ours: &[(&str, &Answer)], theirs: &Answer, same: bool) {
        let coded = |code: &str| ours.iter().find(|(_, answer)| answer.code() == Some(code));
        let total = &mut self.total;
        if same && theirs.code().is_none() {
            total.equal += 1;
        } else if same {
            total.refused += 1;
        } else if coded("57014").is_some() || theirs.code() == Some("57014") {
            total.slow += 1;
            (self.report)(&format!("too slow: {sql}"));
        } else if let Some((_, answer)) = coded("0A000") {
            total.unsupported += 1;
            (self.report)(&format!("not supported: {}\n    {sql}", answer.shown()));
        } else {
            total.different += 1;
            let mut lines = format!("DIFFERENT: {sql}");
            for (who, answer) in ours.iter().chain(&[("PostgreSQL", theirs)]) {
                lines.push_str(&format!("\n    {who}: {}", answer.shown()));
            }
            (self.report)(&lines);
        }
    }
}

/// Makes a change in a transaction: what it returned, and the rows of all leaves after it.
async fn change(client: &Client, sql: &str, keep: bool) -> Result<Answer, Failure> {
    client.batch_execute("BEGIN").await?;
    let answer = ask(client, sql).await?.sorted();
    let Answer::Rows(mut rows) = answer else {
        client.batch_execute("ROLLBACK").await?;
        return Ok(answer);
    };
    if let Answer::Rows(all) = ask(client, "SELECT tableoid::regclass, * FROM p").await?.sorted() {
        rows.push(vec![Some("afterwards".into())]);
        rows.extend(all);
    }
    client.batch_execute(if keep { "COMMIT" } else { "ROLLBACK" }).await?;
    Ok(Answer::Rows(rows))
}
