//! A client that reads and writes, and its results.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};

use super::{ACCOUNTS, Allowed, BALANCE, REGIONS, Result, Shared, broken};
use crate::failure::Failure;
use crate::ledger::Transfer;
use steppe_vfs::SeededRandom;

/// The results of a client, as acknowledged by the server.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) client: i32,
    /// Acknowledged transfers by the number of their entry.
    pub(super) transfers: Vec<(i64, Transfer)>,
    pub(super) moves: u64,
    pub(super) sums: u64,
    pub(super) refused: Vec<Allowed>,
}

/// A statement's text, prepared if this client prepares.
struct Prepared {
    sql: &'static str,
    statement: Option<Statement>,
}

pub(super) struct LoadClient {
    client: Client,
    random: SeededRandom,
    shared: Arc<Shared>,
    done: Done,
    next_entry: i64,
}

struct Statements {
    pay: Prepared,
    enter: Prepared,
    relocate: Prepared,
    find: Prepared,
    lock: Prepared,
    sum: Prepared,
    regions: Prepared,
}

const PAY: &str = "UPDATE accounts SET balance = balance + $1::bigint WHERE id = $2::integer";
const ENTER: &str = "INSERT INTO entries VALUES ($1::integer, $2::bigint, $3::bigint)";
const RELOCATE: &str = "UPDATE accounts SET region = $1::integer WHERE id = $2::integer";
const FIND: &str = "SELECT region, balance FROM accounts WHERE id = $1::integer";
const LOCK: &str = "SELECT id FROM accounts WHERE id = $1::integer FOR UPDATE";
const SUM: &str = "SELECT count(*), sum(balance)::bigint FROM accounts";
const REGIONS_SUM: &str = "SELECT sum(n)::bigint, sum(s)::bigint FROM \
    (SELECT count(*) AS n, sum(balance) AS s FROM accounts WHERE region < $1::integer \
     UNION ALL SELECT count(*), sum(balance) FROM accounts WHERE region >= $1::integer) parts";

impl LoadClient {
    pub(super) fn new(
        client: Client,
        number: i32,
        random: SeededRandom,
        shared: Arc<Shared>,
    ) -> LoadClient {
        let done = Done { client: number, ..Done::default() };
        LoadClient { client, random, shared, done, next_entry: 0 }
    }

    pub(super) async fn run(mut self) -> Result<Done> {
        let prepares = self.done.client % 2 == 0;
        let statements = Statements {
            pay: self.prepare(PAY, prepares).await?,
            enter: self.prepare(ENTER, prepares).await?,
            relocate: self.prepare(RELOCATE, prepares).await?,
            find: self.prepare(FIND, prepares).await?,
            lock: self.prepare(LOCK, prepares).await?,
            sum: self.prepare(SUM, prepares).await?,
            regions: self.prepare(REGIONS_SUM, prepares).await?,
        };
        while !self.shared.is_over() {
            let ended = match self.random.below(10) {
                0..=4 => self.transfer(&statements).await,
                5 | 6 => self.relocate(&statements).await,
                7 => self.find(&statements).await,
                _ => self.sum(&statements).await,
            };
            if let Err(failure) = ended {
                self.refused(failure).await?;
            }
        }
        Ok(self.done)
    }

    async fn prepare(&self, sql: &'static str, prepares: bool) -> Result<Prepared> {
        let statement = match prepares {
            true => Some(self.client.prepare(sql).await?),
            false => None,
        };
        Ok(Prepared { sql, statement })
    }

    /// Goes on after an error that PostgreSQL gives as well.
    async fn refused(&mut self, failure: Failure) -> Result<()> {
        let allowed = match &failure {
            Failure::Sql(error) => Allowed::of(error),
            _ => None,
        };
        let Some(allowed) = allowed else { return Err(failure) };
        self.done.refused.push(allowed);
        Ok(self.client.batch_execute("ROLLBACK").await?)
    }

    async fn query(&self, what: &Prepared, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        Ok(match &what.statement {
            Some(statement) => self.client.query(statement, values).await?,
            None => self.client.query(what.sql, values).await?,
        })
    }

    async fn execute(&self, what: &Prepared, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        Ok(match &what.statement {
            Some(statement) => self.client.execute(statement, values).await?,
            None => self.client.execute(what.sql, values).await?,
        })
    }

    fn account(&self) -> i32 {
        1 + self.below(ACCOUNTS)
    }

    fn below(&self, bound: i32) -> i32 {
        i32::try_from(self.random.below(bound.unsigned_abs().into())).unwrap_or(0)
    }

    async fn transfer(&mut self, statements: &Statements) -> Result<()> {
        let transfer = Transfer {
            source: self.account(),
            target: self.account(),
            amount: i64::from(self.below(100)),
        };
        let Transfer { source, target, amount } = transfer;
        let number = self.next_entry;
        self.client.batch_execute("BEGIN").await?;
        // Rows are changed in the order of the accounts, so that no deadlock arises.
        if self.random.chance(1, 5) {
            one(self.query(&statements.lock, &[&source.min(target)]).await?.len() as u64, LOCK)?;
        }
        let mut halves = [(-amount, source), (amount, target)];
        halves.sort_by_key(|(_, account)| *account);
        for (amount, account) in halves {
            one(self.execute(&statements.pay, &[&amount, &account]).await?, PAY)?;
        }
        self.execute(&statements.enter, &[&self.done.client, &number, &amount]).await?;
        if self.random.chance(1, 10) {
            return Ok(self.client.batch_execute("ROLLBACK").await?);
        }
        self.client.batch_execute("COMMIT").await?;
        self.done.transfers.push((number, transfer));
        self.next_entry += 1;
        self.shared.newest_entry.fetch_max(number, Ordering::Relaxed);
        Ok(())
    }

    /// Moves an account to another region, hence mostly to another leaf.
    async fn relocate(&mut self, statements: &Statements) -> Result<()> {
        let (region, account) = (self.below(REGIONS), self.account());
        one(self.execute(&statements.relocate, &[&region, &account]).await?, RELOCATE)?;
        self.done.moves += 1;
        Ok(())
    }

    async fn find(&mut self, statements: &Statements) -> Result<()> {
        let account = self.account();
        one(self.query(&statements.find, &[&account]).await?.len() as u64, FIND)
    }

    async fn sum(&mut self, statements: &Statements) -> Result<()> {
        let region = self.below(REGIONS);
        let (rows, sql) = match self.random.below(3) {
            0 => (self.query(&statements.regions, &[&region]).await?, REGIONS_SUM),
            1 => return self.simple_sum().await,
            _ => (self.query(&statements.sum, &[]).await?, SUM),
        };
        for row in &rows {
            self.done.sums += 1;
            let (count, sum): (i64, i64) = (row.get(0), row.get(1));
            if (count, sum) != (ACCOUNTS.into(), BALANCE * i64::from(ACCOUNTS)) {
                return broken(format!("{count} accounts with {sum} in all: {sql}"));
            }
        }
        Ok(())
    }

    /// By the simple protocol, row by row.
    async fn simple_sum(&mut self) -> Result<()> {
        let sql = "SELECT id, balance FROM accounts";
        let (mut count, mut sum) = (0, 0);
        for message in self.client.simple_query(sql).await? {
            if let SimpleQueryMessage::Row(row) = message {
                let Some(balance) = row.get(1).and_then(|text| text.parse::<i64>().ok()) else {
                    return broken(format!("a balance is {:?}", row.get(1)));
                };
                count += 1;
                sum += balance;
            }
        }
        self.done.sums += 1;
        if (count, sum) != (i64::from(ACCOUNTS), BALANCE * i64::from(ACCOUNTS)) {
            return broken(format!("{count} accounts with {sum} in all: {sql}"));
        }
        Ok(())
    }
}

/// The account is there all the time.
fn one(rows: u64, sql: &str) -> Result<()> {
    if rows == 1 {
        return Ok(());
    }
    broken(format!("an account is there {rows} times: {sql}"))
}
