//! The cost of partitions: two published experiments, and the tables they use.
//!
//! * One row into 128 partitions by range and by list (of a hash of a text) with 64
//!   clients, beside the same table without partitions.
//! * SELECT, UPDATE, DELETE and INSERT of one leaf, simple and prepared, with 16 clients,
//!   against more and more leaves. Every number of leaves has a schema of its own with
//!   the same tables and rows:
//!
//! ```text
//!   leaves_800.accounts          (aid PRIMARY KEY, …)          by range of aid
//!   leaves_800.accounts_history  (PRIMARY KEY (id, aid), …)    by range of aid
//!   leaves_0.…                   the same without partitions: what is compared with
//! ```
//!
//! The rows that DELETE takes away are put back before the next measurement. PostgreSQL
//! takes minutes to make thousands of leaves, and seconds in each session to plan with
//! them: it takes part up to a number of leaves that the command line sets.

use std::fmt::Write;

use super::client::Client;
use super::workload::{Conditions, Data, Flat, Load, Script, Section, Workload};
use super::{Failure, Result, interrupt};

/// A workload of the second experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Leaves {
    /// The number of leaves; 0 stands for a plain table.
    pub(super) count: u32,
    pub(super) statement: Statement,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Statement {
    Select,
    Update,
    Delete,
    Insert,
}

/// Accounts: as many as the most leaves of the published experiment.
const ACCOUNTS: u32 = 6400;
/// Statements sent at once when tables are made.
const STATEMENTS_AT_ONCE: usize = 1000;
/// Leaves between two lines of progress.
pub(super) const LEAVES_A_LINE: usize = 20_000;

/// All workloads over partitions, for these numbers of leaves.
pub(super) fn workloads(leaves: &[u32]) -> Vec<Workload> {
    let mut all = insert_into_128();
    for (statement, word) in [
        (Statement::Select, "select"),
        (Statement::Update, "update"),
        (Statement::Delete, "delete"),
        (Statement::Insert, "insert"),
    ] {
        for mode in ["simple", "prepared"] {
            let name = |count| format!("partitions-{word}-{mode}-{count}");
            for count in std::iter::once(0).chain(leaves.iter().copied()) {
                let leaves = Leaves { count, statement };
                all.push(one_leaf(name(count), name(0), mode, leaves));
            }
        }
    }
    all
}

fn one_leaf(name: String, plain: String, mode: &'static str, leaves: Leaves) -> Workload {
    let Leaves { count, statement } = leaves;
    let table = match count {
        0 => "a plain table".to_owned(),
        count => format!("{count} leaves"),
    };
    let target = match count {
        0 => None,
        1..=6400 => Some(0.95),
        _ => Some(0.90),
    };
    Workload {
        name,
        title: format!("{statement:?} of one leaf, {mode}, 16 clients: {table}"),
        load: Load::Pgbench {
            script: Script::Custom(leaves.script().into()),
            mode,
            rows_per_transaction: 1,
        },
        data: Data::Leaves(leaves),
        clients: 16,
        target_to_postgresql: None,
        target_to_noop: None,
        section: Section::Partitions,
        group: plain.clone(),
        flat: target.map(|target| Flat { name: plain, target }),
        conditions: Conditions::default(),
    }
}

/// The first experiment, as published.
fn insert_into_128() -> Vec<Workload> {
    let columns = "(id int, info text, crt_time timestamp)";
    let mut range = format!("CREATE TABLE t_range{columns} PARTITION BY RANGE (id);\n");
    let mut list =
        format!("CREATE TABLE t_list{columns} PARTITION BY LIST ( mod(hashtext(info), 128) );\n");
    for i in 0..128 {
        // Writing to a String cannot fail.
        let _ = writeln!(
            range,
            "CREATE TABLE t_range_{i} PARTITION OF t_range FOR VALUES FROM ({}) TO ({});",
            i * 100,
            (i + 1) * 100
        );
        let _ = writeln!(list, "CREATE TABLE t_list_{i} PARTITION OF t_list FOR VALUES IN ({i});");
    }
    let plain = "partitions-128-plain";
    let compared = Some(Flat { name: plain.to_owned(), target: 0.95 });
    let workload = |name: &str, table, create, ids, flat: Option<Flat>| Workload {
        name: name.to_owned(),
        title: format!("insert of one row into {table}, prepared, 64 clients"),
        load: Load::Pgbench {
            script: Script::Custom(
                format!(
                    "\\set id random(0,{ids})\n\
                     INSERT INTO {table} VALUES (:id, 'test', now());\n"
                )
                .into(),
            ),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data: Data::Own { table, create },
        clients: 64,
        target_to_postgresql: flat.is_some().then_some(2.5),
        target_to_noop: None,
        section: Section::Partitions,
        group: plain.to_owned(),
        flat,
        conditions: Conditions::default(),
    };
    vec![
        workload(plain, "t_plain", format!("CREATE TABLE t_plain{columns}"), 12_799, None),
        workload("partitions-128-range", "t_range", range, 12_799, compared.clone()),
        workload("partitions-128-list", "t_list", list, 127, compared),
    ]
}

/// The schema of the tables with this number of leaves.
fn schema(count: u32) -> String {
    format!("leaves_{count}")
}

/// The number of accounts for this number of leaves: every leaf has at least one.
pub(super) fn accounts(count: u32) -> u32 {
    ACCOUNTS.max(count)
}

impl Leaves {
    /// The schema of its tables.
    pub(super) fn schema(&self) -> String {
        schema(self.count)
    }

    fn script(&self) -> String {
        let (schema, aids) = (schema(self.count), accounts(self.count));
        let statement = match self.statement {
            Statement::Select => format!("SELECT abalance FROM {schema}.accounts WHERE aid = :aid"),
            Statement::Update => format!(
                "UPDATE {schema}.accounts SET abalance = abalance + :delta WHERE aid = :aid"
            ),
            Statement::Delete => format!("DELETE FROM {schema}.accounts where aid = :aid"),
            Statement::Insert => format!(
                "INSERT INTO {schema}.accounts_history (aid, delta, mtime) \
                 VALUES (:aid, :delta, CURRENT_TIMESTAMP)"
            ),
        };
        format!("\\set aid random(1, {aids})\n\\set delta random(-5000, 5000)\n{statement};\n")
    }

    /// Makes the tables, empty.
    pub(super) fn make(&self, client: &mut Client) -> Result<()> {
        client.query(&format!("CREATE SCHEMA {}", schema(self.count)))?;
        let statements = tables(&schema(self.count), self.count, &Table::ALL);
        let mut made = 0;
        for some in statements.chunks(STATEMENTS_AT_ONCE) {
            interrupt::check()?;
            // Sent together they are one transaction.
            client.query(&some.concat())?;
            let lines = made / LEAVES_A_LINE;
            made += some.len();
            if made / LEAVES_A_LINE > lines {
                eprintln!("{made} of {} leaves", statements.len());
            }
        }
        Ok(())
    }

    /// Puts back the deleted accounts.
    pub(super) fn refill(&self, client: &mut Client) -> Result<()> {
        refill(client, &schema(self.count), accounts(self.count))
    }

    /// The rows of the history.
    pub(super) fn history(&self) -> String {
        format!("SELECT count(*) FROM {}.accounts_history", schema(self.count))
    }
}

/// Gives every account a row that has none.
pub(super) fn refill(client: &mut Client, schema: &str, accounts: u32) -> Result<()> {
    client.query(&format!(
        "INSERT INTO {schema}.accounts (aid, bid, abalance, filler) \
         SELECT aid, 1, 0, '' FROM generate_series(1, {accounts}) AS aid \
         ON CONFLICT DO NOTHING"
    ))?;
    let count = client.query(&format!("SELECT count(*) FROM {schema}.accounts"))?;
    if count.as_deref() != Some(&*accounts.to_string()) {
        return Err(Failure::new(format!("WRONG DATA: {count:?} accounts are not {accounts}")));
    }
    Ok(())
}

/// A table of the second experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Table {
    Accounts,
    History,
}

impl Table {
    pub(super) const ALL: [Table; 2] = [Table::Accounts, Table::History];

    pub(super) fn name(self) -> &'static str {
        match self {
            Table::Accounts => "accounts",
            Table::History => "accounts_history",
        }
    }

    fn columns(self) -> &'static str {
        match self {
            Table::Accounts => {
                "aid integer PRIMARY KEY, bid integer, abalance integer, filler character(84)"
            }
            Table::History => {
                "id serial, aid integer, delta integer, mtime timestamp without time zone, \
                 PRIMARY KEY (id, aid)"
            }
        }
    }
}

/// The statements that make the given tables with `leaves` leaves, a line each.
pub(super) fn tables(schema: &str, leaves: u32, tables: &[Table]) -> Vec<String> {
    let mut statements = Vec::new();
    for table in tables {
        let (name, columns) = (table.name(), table.columns());
        let partitioned = if leaves == 0 { "" } else { " PARTITION BY RANGE (aid)" };
        statements.push(format!("CREATE TABLE {schema}.{name} ({columns}){partitioned};\n"));
        for i in 0..leaves {
            let at = |i| u64::from(i) * u64::from(accounts(leaves)) / u64::from(leaves) + 1;
            statements.push(format!(
                "CREATE TABLE {schema}.{name}_{} PARTITION OF {schema}.{name} \
                 FOR VALUES FROM ({}) TO ({});\n",
                i + 1,
                at(i),
                at(i + 1)
            ));
        }
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_cover_the_accounts() {
        for (leaves, first, last) in
            [(100, "(1) TO (65)", "(6337) TO (6401)"), (6400, "(1) TO (2)", "(6400) TO (6401)")]
        {
            let statements = tables("s", leaves, &[Table::Accounts]);
            assert_eq!(statements.len(), leaves as usize + 1);
            assert!(statements[1].contains(first), "{}", statements[1]);
            let end = statements.last().unwrap();
            assert!(end.contains(last), "{end}");
        }
    }

    #[test]
    fn each_is_compared_with_the_plain_table_of_its_group() {
        let all = workloads(&[100, 100_000]);
        for workload in &all {
            let Some(flat) = &workload.flat else { continue };
            let plain = all.iter().find(|other| other.name == flat.name).unwrap();
            assert_eq!((&plain.flat, &plain.group), (&None, &workload.group));
            assert_eq!(flat.target == 0.90, workload.name.ends_with("-100000"));
        }
        // Three in the first experiment; four statements in two modes over three tables.
        assert_eq!(all.len(), 3 + 4 * 2 * 3);
    }
}
