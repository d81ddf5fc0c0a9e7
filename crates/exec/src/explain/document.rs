//! A plan as a tree of labelled values, which the text and the structured formats print.

use super::milliseconds;
use std::time::Duration;
use steppe_storage::Usage;
use steppe_storage::usage::{IoTimes, times_pages};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Quoted in JSON and YAML.
    Text(String),
    /// Printed unchanged.
    Number(String),
    Bool(bool),
    List(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number.to_string())
    }
}

/// A property of a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// In every format.
    Property(&'static str, Value),
    /// In the text format only: a whole line.
    Line(String),
    /// In the structured formats only.
    Detail(&'static str, Value),
}

/// A plan node.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// The text format's first line, figures included.
    pub(super) headline: String,
    /// `InitPlan 1`, `CTE x`: the text format has it on a line of its own.
    pub(super) plan_name: Option<String>,
    pub(super) items: Vec<Item>,
    pub(super) children: Vec<Node>,
}

impl Node {
    pub(super) fn property(&mut self, label: &'static str, value: impl Into<Value>) {
        self.items.push(Item::Property(label, value.into()));
    }

    pub(super) fn detail(&mut self, label: &'static str, value: impl Into<Value>) {
        self.items.push(Item::Detail(label, value.into()));
    }

    pub(super) fn line(&mut self, line: String) {
        self.items.push(Item::Line(line));
    }
}

fn nanos(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}

/// Pages and spill files as BUFFERS shows them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Buffers {
    pub(super) shared: Usage,
    /// Blocks of spill files read and written.
    pub(super) temp: (u64, u64),
}

impl Buffers {
    /// The text format's line; `None` if nothing was touched.
    pub(super) fn line(&self) -> Option<String> {
        let figures = |list: &[(&str, u64)]| -> String {
            let shown = list.iter().filter(|(_, count)| *count > 0);
            shown.map(|(name, count)| format!(" {name}={count}")).collect()
        };
        let shared = &self.shared;
        let shared = figures(&[
            ("hit", shared.hit),
            ("read", shared.read),
            ("dirtied", shared.dirtied),
            ("written", shared.written),
        ]);
        let temp = figures(&[("read", self.temp.0), ("written", self.temp.1)]);
        let mut groups = Vec::new();
        if !shared.is_empty() {
            groups.push(format!("shared{shared}"));
        }
        if !temp.is_empty() {
            groups.push(format!("temp{temp}"));
        }
        (!groups.is_empty()).then(|| format!("Buffers: {}", groups.join(", ")))
    }

    /// The text format's line of times; `None` if there are none.
    pub(super) fn times_line(&self) -> Option<String> {
        let figures = |name: &str, read: u64, write: u64| {
            let shown = [("read", read), ("write", write)].into_iter().filter(|(_, ns)| *ns > 0);
            let shown: String =
                shown.map(|(what, ns)| format!(" {what}={}", milliseconds(nanos(ns)))).collect();
            (!shown.is_empty()).then(|| format!("{name}{shown}"))
        };
        let IoTimes { read, write, spill_read, spill_write } = self.shared.times;
        let groups = [figures("shared", read, write), figures("temp", spill_read, spill_write)];
        let groups: Vec<String> = groups.into_iter().flatten().collect();
        (!groups.is_empty()).then(|| format!("I/O Timings: {}", groups.join(", ")))
    }

    /// The structured formats' times; none unless I/O is timed.
    pub(super) fn times_details(&self) -> Vec<(&'static str, Value)> {
        if !times_pages() {
            return Vec::new();
        }
        let time = |ns| Value::Number(milliseconds(nanos(ns)));
        vec![
            ("Shared I/O Read Time", time(self.shared.times.read)),
            ("Shared I/O Write Time", time(self.shared.times.write)),
            ("Local I/O Read Time", time(0)),
            ("Local I/O Write Time", time(0)),
            ("Temp I/O Read Time", time(self.shared.times.spill_read)),
            ("Temp I/O Write Time", time(self.shared.times.spill_write)),
        ]
    }

    /// The structured formats' properties. There are no session-local buffers.
    pub(super) fn details(&self) -> [(&'static str, u64); 10] {
        [
            ("Shared Hit Blocks", self.shared.hit),
            ("Shared Read Blocks", self.shared.read),
            ("Shared Dirtied Blocks", self.shared.dirtied),
            ("Shared Written Blocks", self.shared.written),
            ("Local Hit Blocks", 0),
            ("Local Read Blocks", 0),
            ("Local Dirtied Blocks", 0),
            ("Local Written Blocks", 0),
            ("Temp Read Blocks", self.temp.0),
            ("Temp Written Blocks", self.temp.1),
        ]
    }
}
