//! EXPLAIN (src/backend/commands/explain.c).
//!
//! ```text
//!   PlannedStmt, counters ──plan──► document::Node ──┬─ text         what people read
//!                          names, nodes              └─ structured   JSON, XML, YAML
//! ```
//!
//! EXPLAIN prints the plan that runs. A node, condition or figure that Steppe's executor does not
//! have is not made up to look like PostgreSQL's. The layout is exactly PostgreSQL 18's, so that
//! tools that read its plans can read these.

mod decimals;
mod document;
mod names;
mod nodes;
mod partitions;
mod plan;
mod remote;
mod settings;
mod structured;
mod text;
mod triggers;

pub use settings::{
    ExplainSettings, WireFormat, described_column, explain_settings, explained_column,
    option_boolean, option_text,
};
pub use triggers::{TriggerRun, TriggerRuns};

use crate::context::{Instrument, LeafRun};
use crate::statement::ExecEnv;
use std::time::Duration;
use steppe_catalog::Catalog;
use steppe_sql::plan::PlannedStmt;
use steppe_storage::Usage;
use steppe_types::Datum;

/// The format of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// JSON
    Json,
    /// XML
    Xml,
    /// YAML
    Yaml,
}

/// Options of EXPLAIN that decide which parts of a plan are shown.
#[derive(Clone, Copy, Debug)]
pub struct ExplainOptions {
    /// ANALYZE
    pub analyze: bool,
    /// VERBOSE
    pub verbose: bool,
    /// COSTS
    pub costs: bool,
    /// TIMING
    pub timing: bool,
    /// BUFFERS
    pub buffers: bool,
    /// WAL
    pub wal: bool,
    /// FORMAT
    pub format: Format,
}

impl Default for ExplainOptions {
    fn default() -> ExplainOptions {
        ExplainOptions {
            analyze: false,
            verbose: false,
            costs: true,
            timing: true,
            buffers: false,
            wal: false,
            format: Format::Text,
        }
    }
}

/// The statement to explain.
#[derive(Clone, Copy)]
pub struct Explained<'a> {
    /// The plan.
    pub stmt: &'a PlannedStmt,
    /// The catalog version it was made for.
    pub catalog: &'a Catalog,
    /// The environment that gives the values of stable functions.
    pub env: &'a ExecEnv,
    /// Values of `$1 …`, shown in their place. Missing ones show as parameters.
    pub params: &'a [Datum],
    /// The plan is generic: parameters show as such, and pruning waits until execution starts.
    pub is_generic: bool,
    /// With ANALYZE: the counters of each node.
    pub instruments: &'a [Instrument],
    /// With ANALYZE: the leaves of partitioned tables that were touched.
    pub leaf_runs: &'a [LeafRun],
}

/// A statement as its author has written it.
#[derive(Clone, Debug)]
pub struct QueryText {
    /// Its text.
    pub text: String,
    /// The values of its parameters.
    pub parameters: Option<String>,
}

/// Facts besides the plan. A `None` is not shown.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The statement. The plan is then an object, not the only one in a list.
    pub query: Option<QueryText>,
    /// SETTINGS: the settings that planning depends on and that differ from their built-in value.
    pub settings: Option<Vec<(String, String)>>,
    /// VERBOSE with compute_query_id: the statement's identifier in pg_stat_statements.
    pub query_id: Option<i64>,
    /// BUFFERS: the pages used by planning.
    pub planning: Option<Usage>,
    /// SUMMARY: the planning time.
    pub planning_time: Option<Duration>,
    /// With ANALYZE: the triggers that were called.
    pub triggers: TriggerRuns,
    /// SERIALIZE
    pub serialization: Option<Serialization>,
    /// SUMMARY with ANALYZE: the execution time.
    pub execution_time: Option<Duration>,
}

impl Surroundings {
    fn planning_buffers(&self) -> Option<document::Buffers> {
        self.planning.map(|shared| document::Buffers { shared, temp: (0, 0) })
    }
}

/// The cost of making the rows' wire form.
#[derive(Clone, Copy, Debug)]
pub struct Serialization {
    /// With TIMING.
    pub time: Option<Duration>,
    /// Bytes made.
    pub bytes: u64,
    /// `text` or `binary`.
    pub format: &'static str,
}

/// The whole of EXPLAIN's output.
pub fn explain(explained: Explained<'_>, options: ExplainOptions, around: &Surroundings) -> String {
    let root = plan::document(explained, options);
    match options.format {
        Format::Text => text::print(&root, around),
        format => structured::print(&root, around, options, format),
    }
}

/// The explanation of a CREATE TABLE AS that IF NOT EXISTS skips (ExplainDummyGroup).
pub fn explain_nothing(format: Format) -> String {
    match format {
        Format::Text => "",
        Format::Json => "[\n  \"CREATE TABLE AS\"\n]",
        Format::Yaml => "- \"CREATE TABLE AS\"",
        Format::Xml => {
            "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <CREATE-TABLE-AS />\n\
             </explain>"
        }
    }
    .to_owned()
}

/// Milliseconds to the microsecond.
fn milliseconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1000.0)
}
