//! A coordinator over two data nodes, and the same statements sent straight to the node that has
//! their rows.
//!
//! The nodes are PostgreSQL servers; the coordinator is Steppe. The forms are those of
//! [`super::functions`]. The tables are distributed by the remainder of their key, so that the load
//! generator knows the keys of one node: straight at a node it draws only those. Both runs of a
//! form alternate, and use the same tables. All servers and the load generator share the machine, so
//! that the processor time of each process is given, too.

use std::fs;
use std::path::Path;

use super::client::Client;
use super::figure::{Figure, Limit};
use super::functions::{FAMILIES, FUNCTIONS, Family};
use super::options::Options;
use super::outcome::median;
use super::pgbench;
use super::server::{Kind, Server};
use super::workload::{Conditions, Data, Load, Script, Section, Workload};
use super::{Failure, Result, interrupt, note, procfs};

/// For the command line.
pub(super) const NAME: &str = "cluster";
pub(super) const TITLE: &str = "a coordinator over two PostgreSQL nodes, and a node alone";

/// Accounts of both nodes; with --check, a hundredth.
const ACCOUNTS: u32 = 1_000_000;
const CLIENTS: u32 = 32;
/// The least rate through the coordinator, relative to the node's own.
const TO_NODE: f64 = 0.5;
/// The greatest processor time of the coordinator, relative to that of the nodes.
const PROCESSOR: f64 = 0.6;
/// The least rate of a statement in a function, relative to the bare statement.
const TO_BARE: f64 = 0.9;

/// Measures all forms.
pub(super) fn measure(
    options: &Options,
    scratch: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Figure>> {
    let folder = scratch.join(NAME);
    fs::create_dir(&folder)?;
    let mut cluster = Cluster::start(options, &folder)?;
    cluster.load()?;
    let mut figures = Vec::new();
    for mode in ["simple", "prepared"] {
        for family in &FAMILIES {
            match cluster.family(family, mode) {
                Ok(measured) => figures.extend(measured),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => {
                    note(notes, format!("{NAME}, {}, {mode}: {failure}", family.word));
                }
            }
        }
    }
    Ok(figures)
}

struct Cluster<'a> {
    options: &'a Options,
    folder: &'a Path,
    nodes: [Server; 2],
    coordinator: Server,
    accounts: u32,
}

/// One run of a form.
#[derive(Clone, Copy)]
struct Run {
    per_second: f64,
    /// Processor seconds of the coordinator, and of the nodes.
    processor: (f64, f64),
}

impl<'a> Cluster<'a> {
    fn start(options: &'a Options, folder: &'a Path) -> Result<Cluster<'a>> {
        let node = |name: &str| {
            let own = folder.join(name);
            fs::create_dir(&own)?;
            Server::start_node(options, &own)
        };
        let nodes = [node("dn1")?, node("dn2")?];
        let coordinator = Server::start(Kind::Steppe, options, folder)?;
        let accounts = if options.check { ACCOUNTS / 100 } else { ACCOUNTS };
        Ok(Cluster { options, folder, nodes, coordinator, accounts })
    }

    /// Makes the tables through the coordinator, and fills each node with its own rows.
    fn load(&self) -> Result<()> {
        let mut coordinator = Client::connect(self.coordinator.port)?;
        for (i, node) in self.nodes.iter().enumerate() {
            coordinator.query(&format!(
                "CREATE NODE dn{} WITH (TYPE = 'datanode', HOST = '127.0.0.1', PORT = {}, \
                 USER = '{USER}', DBNAME = '{USER}')",
                i + 1,
                node.port,
                USER = super::client::USER,
            ))?;
        }
        coordinator.script(TABLES)?;
        coordinator.script(FUNCTIONS)?;
        for (remainder, node) in self.nodes.iter().enumerate() {
            let mut client = Client::connect(node.port)?;
            client.script(&format!(
                "INSERT INTO accounts SELECT i, 1, 0, '' \
                 FROM generate_series(1, {accounts}) AS i WHERE i % 2 = {remainder};\n\
                 {messages}\
                 ANALYZE accounts;\nANALYZE messages;\n",
                accounts = self.accounts,
                messages = self.messages(remainder),
            ))?;
            client.script(FUNCTIONS)?;
        }
        Ok(())
    }

    /// The messages of a node: 1.2 an account, as published.
    fn messages(&self, remainder: usize) -> String {
        let (accounts, messages) = (self.accounts, self.accounts / 5 * 6);
        format!(
            "INSERT INTO messages SELECT 1 + i % {accounts}, 1 + i * 7 % {accounts} \
             FROM generate_series(1, {messages}) AS i WHERE (1 + i % {accounts}) % 2 = {remainder};\n"
        )
    }

    /// The figures of a statement and of the functions that have it.
    fn family(&mut self, family: &Family, mode: &'static str) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        let bare = self.form(family, None, mode, &mut figures)?;
        for (option, _) in family.options {
            let called = self.form(family, Some(*option), mode, &mut figures)?;
            let title = format!("{}: option {option} to the bare statement, {mode}", family.word);
            figures.push(figure(title, called / bare, Limit::AtLeast(TO_BARE)));
        }
        Ok(figures)
    }

    /// Measures a form in turn through the coordinator and straight at the first node. Returns the
    /// rate through the coordinator.
    fn form(
        &mut self,
        family: &Family,
        option: Option<u32>,
        mode: &'static str,
        figures: &mut Vec<Figure>,
    ) -> Result<f64> {
        let statement = match option {
            None => family.bare.to_owned(),
            Some(option) => format!("SELECT * FROM {}, {option})", family.call),
        };
        let (mut through, mut straight) = (Vec::new(), Vec::new());
        for _ in 0..self.options.rounds {
            for (at_node, runs) in [(true, &mut straight), (false, &mut through)] {
                interrupt::check()?;
                if family.word == "delete" {
                    self.refill()?;
                }
                runs.push(self.run(&statement, at_node, mode)?);
            }
        }
        let rate = |runs: &[Run]| {
            median(&runs.iter().map(|run| run.per_second).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let used = through.iter().fold((0.0, 0.0), |(coordinator, nodes), run| {
            (coordinator + run.processor.0, nodes + run.processor.1)
        });
        let what = match option {
            None => format!("{}, {mode}", family.word),
            Some(option) => format!("{} in a function, option {option}, {mode}", family.word),
        };
        let (through, straight) = (rate(&through), rate(&straight));
        eprintln!(
            "{what}: {through:.0} through the coordinator, {straight:.0} at the node; \
             processor {:.2} of the nodes'",
            used.0 / used.1
        );
        let title = format!("{what}: coordinator to node ({through:.0} to {straight:.0} a second)");
        figures.push(figure(title, through / straight, Limit::AtLeast(TO_NODE)));
        let title = format!("{what}: processor time, coordinator to nodes");
        figures.push(figure(title, used.0 / used.1, Limit::AtMost(PROCESSOR)));
        Ok(through)
    }

    /// Puts the rows back that a DELETE has found.
    fn refill(&self) -> Result<()> {
        for (remainder, node) in self.nodes.iter().enumerate() {
            let script = format!("TRUNCATE messages;\n{}", self.messages(remainder));
            Client::connect(node.port)?.script(&script)?;
        }
        Ok(())
    }

    fn run(&self, statement: &str, at_node: bool, mode: &'static str) -> Result<Run> {
        let (server, aid) = match at_node {
            true => (&self.nodes[0], format!("2 * random(1, {})", self.accounts / 2)),
            false => (&self.coordinator, format!("random(1, {})", self.accounts)),
        };
        let script = Script::Custom(
            format!(
                "\\set aid {aid}\n\\set aid2 random(1, {})\n\\set delta random(-5000, 5000)\n\
                 {statement};\n",
                self.accounts
            )
            .into(),
        );
        let workload = workload(script.clone(), mode);
        let before = self.used();
        let seconds = self.options.seconds;
        let run =
            pgbench::run(self.options, server, self.folder, &workload, (&script, mode), seconds)?;
        let after = self.used();
        Ok(Run {
            per_second: run.transactions_per_second,
            processor: (after.0 - before.0, after.1 - before.1),
        })
    }

    /// Processor seconds of the coordinator and of the nodes so far.
    fn used(&self) -> (f64, f64) {
        let nodes = self.nodes.iter().map(|node| procfs::tree_seconds(node.pid())).sum();
        (procfs::tree_seconds(self.coordinator.pid()), nodes)
    }
}

fn figure(title: String, value: f64, limit: Limit) -> Figure {
    Figure::new(Kind::Steppe, title, "", value, Some(limit))
}

fn workload(script: Script, mode: &'static str) -> Workload {
    Workload {
        name: NAME.to_owned(),
        title: TITLE.to_owned(),
        load: Load::Pgbench { script, mode, rows_per_transaction: 1 },
        data: Data::Made { name: NAME, create: String::new(), leaves: 0, refill: None },
        clients: CLIENTS,
        target_to_postgresql: None,
        target_to_noop: None,
        section: Section::Functions,
        group: NAME.to_owned(),
        flat: None,
        conditions: Conditions::default(),
    }
}

const TABLES: &str = "\
CREATE TABLE accounts (aid integer PRIMARY KEY, bid integer, abalance integer, \
filler character(84)) DISTRIBUTE BY MODULO (aid);
CREATE TABLE messages (l_aid integer, r_aid integer, ctime timestamp DEFAULT now()) \
DISTRIBUTE BY MODULO (l_aid);
CREATE INDEX messages_l ON messages (l_aid);
CREATE INDEX messages_r ON messages (r_aid);
";
