//! EXPLAIN's text format.

use super::document::{Item, Node, Value};
use super::{Surroundings, milliseconds};

/// Prints a plan and its surroundings, without a newline at the end.
pub(super) fn print(root: &Node, around: &Surroundings) -> String {
    let mut lines = Vec::new();
    if let Some(query) = &around.query {
        lines.push(format!("Query Text: {}", query.text));
        lines.extend(query.parameters.iter().map(|values| format!("Query Parameters: {values}")));
    }
    node(root, None, &mut lines);
    surroundings(around, &mut lines);
    lines.join("\n")
}

/// A node with all below it, behind an arrow at a column, or at the very start. Its properties are
/// two columns right of its headline, where its children's arrows are.
fn node(node: &Node, arrow: Option<usize>, lines: &mut Vec<String>) {
    let at = arrow.map_or(2, |column| column + 6);
    let indent = " ".repeat(at);
    lines.push(match arrow {
        None => node.headline.clone(),
        Some(column) => format!("{}->  {}", " ".repeat(column), node.headline),
    });
    for item in &node.items {
        match item {
            Item::Property(label, value) => {
                lines.push(format!("{indent}{label}: {}", shown(value)));
            }
            Item::Line(line) => lines.push(format!("{indent}{line}")),
            Item::Detail(..) => {}
        }
    }
    for child in &node.children {
        match &child.plan_name {
            None => self::node(child, Some(at), lines),
            Some(name) => {
                lines.push(format!("{indent}{name}"));
                self::node(child, Some(at + 2), lines);
            }
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Number(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::List(list) => list.join(", "),
    }
}

fn surroundings(around: &Surroundings, lines: &mut Vec<String>) {
    if let Some(settings) = around.settings.as_ref().filter(|settings| !settings.is_empty()) {
        let list: Vec<String> =
            settings.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
        lines.push(format!("Settings: {}", list.join(", ")));
    }
    if let Some(id) = around.query_id {
        lines.push(format!("Query Identifier: {id}"));
    }
    if let Some(buffers) = around.planning_buffers()
        && let Some(line) = buffers.line()
    {
        lines.push("Planning:".to_owned());
        lines.push(format!("  {line}"));
        lines.extend(buffers.times_line().map(|line| format!("  {line}")));
    }
    if let Some(time) = around.planning_time {
        lines.push(format!("Planning Time: {} ms", milliseconds(time)));
    }
    lines.extend(around.triggers.lines());
    if let Some(done) = &around.serialization {
        let time = done.time.map(|time| format!("time={} ms  ", milliseconds(time)));
        lines.push(format!(
            "Serialization: {}output={}kB  format={}",
            time.unwrap_or_default(),
            done.bytes.div_ceil(1024),
            done.format
        ));
    }
    if let Some(time) = around.execution_time {
        lines.push(format!("Execution Time: {} ms", milliseconds(time)));
    }
}
