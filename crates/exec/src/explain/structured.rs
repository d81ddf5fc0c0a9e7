//! EXPLAIN's JSON, XML and YAML formats (explain_format.c).

use super::document::{Item, Node, Value};
use super::{ExplainOptions, Format, Surroundings, milliseconds};
use std::fmt::Write;
use steppe_functions::escape_json;

/// Prints a plan and its surroundings.
pub(super) fn print(
    root: &Node,
    around: &Surroundings,
    options: ExplainOptions,
    format: Format,
) -> String {
    let is_list = around.query.is_none();
    let mut out = Writer { format, out: String::new(), indent: 0, started: Vec::new() };
    out.begin(is_list);
    match &around.query {
        None => out.open("Query", None, true),
        Some(query) => {
            out.value("Query Text", &Value::Text(query.text.clone()));
            if let Some(values) = &query.parameters {
                out.value("Query Parameters", &Value::Text(values.clone()));
            }
        }
    }
    out.open("Plan", Some("Plan"), true);
    node(root, &mut out);
    out.close("Plan", true);
    surroundings(around, options, &mut out);
    if is_list {
        out.close("Query", true);
    }
    out.end(is_list);
    out.out
}

fn node(node: &Node, out: &mut Writer) {
    for item in &node.items {
        match item {
            Item::Property(label, value) | Item::Detail(label, value) => out.value(label, value),
            Item::Line(_) => {}
        }
    }
    if node.children.is_empty() {
        return;
    }
    out.open("Plans", Some("Plans"), false);
    for child in &node.children {
        out.open("Plan", None, true);
        self::node(child, out);
        out.close("Plan", true);
    }
    out.close("Plans", false);
}

fn surroundings(around: &Surroundings, options: ExplainOptions, out: &mut Writer) {
    if let Some(settings) = &around.settings {
        out.open("Settings", Some("Settings"), true);
        for (name, value) in settings {
            out.value(name, &Value::Text(value.clone()));
        }
        out.close("Settings", true);
    }
    if let Some(id) = around.query_id {
        out.value("Query Identifier", &Value::Number(id.to_string()));
    }
    if let Some(buffers) = around.planning_buffers() {
        out.open("Planning", Some("Planning"), true);
        for (label, count) in buffers.details() {
            out.value(label, &Value::from(count));
        }
        for (label, time) in buffers.times_details() {
            out.value(label, &time);
        }
        out.close("Planning", true);
    }
    if let Some(time) = around.planning_time {
        out.value("Planning Time", &Value::Number(milliseconds(time)));
    }
    if options.analyze {
        around.triggers.write(out);
    }
    if let Some(done) = &around.serialization {
        out.open("Serialization", Some("Serialization"), true);
        if let Some(time) = done.time {
            out.value("Time", &Value::Number(milliseconds(time)));
        }
        out.value("Output Volume", &Value::from(done.bytes.div_ceil(1024)));
        out.value("Format", &Value::from(done.format));
        out.close("Serialization", true);
    }
    if let Some(time) = around.execution_time {
        out.value("Execution Time", &Value::Number(milliseconds(time)));
    }
}

/// Writes groups and values in one of the formats.
pub(super) struct Writer {
    format: Format,
    out: String,
    indent: usize,
    /// Whether each open group has content. Then JSON needs a comma, and YAML a new line.
    started: Vec<bool>,
}

impl Writer {
    fn begin(&mut self, is_list: bool) {
        match self.format {
            Format::Json => {
                self.out.push(if is_list { '[' } else { '{' });
                self.started.push(false);
                self.indent += 1;
            }
            Format::Xml => {
                self.out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n");
                self.indent += 1;
            }
            Format::Yaml => self.started.push(false),
            Format::Text => {}
        }
    }

    fn end(&mut self, is_list: bool) {
        match self.format {
            Format::Json => self.out.push_str(if is_list { "\n]" } else { "\n}" }),
            Format::Xml => self.out.push_str("</explain>"),
            Format::Yaml | Format::Text => {}
        }
    }

    /// Opens a group: with named values in it (`labelled`), or a list.
    pub(super) fn open(&mut self, kind: &str, label: Option<&str>, labelled: bool) {
        match self.format {
            Format::Json => {
                self.next();
                if let Some(label) = label {
                    escape_json(label, &mut self.out);
                    self.out.push_str(": ");
                }
                self.out.push(if labelled { '{' } else { '[' });
                self.started.push(false);
            }
            Format::Xml => {
                self.spaces();
                let _ = writeln!(self.out, "<{}>", tag(kind));
            }
            Format::Yaml => {
                self.next();
                match label {
                    Some(label) => {
                        let _ = write!(self.out, "{label}: ");
                        self.started.push(true);
                    }
                    None => {
                        self.out.push_str("- ");
                        self.started.push(false);
                    }
                }
            }
            Format::Text => {}
        }
        self.indent += 1;
    }

    pub(super) fn close(&mut self, kind: &str, labelled: bool) {
        self.indent -= 1;
        match self.format {
            Format::Json => {
                self.out.push('\n');
                self.spaces();
                self.out.push(if labelled { '}' } else { ']' });
                self.started.pop();
            }
            Format::Xml => {
                self.spaces();
                let _ = writeln!(self.out, "</{}>", tag(kind));
            }
            Format::Yaml => {
                self.started.pop();
            }
            Format::Text => {}
        }
    }

    pub(super) fn value(&mut self, label: &str, value: &Value) {
        match self.format {
            Format::Json => {
                self.next();
                escape_json(label, &mut self.out);
                self.out.push_str(": ");
                match value {
                    Value::List(list) => {
                        self.out.push('[');
                        for (i, element) in list.iter().enumerate() {
                            self.out.push_str(if i == 0 { "" } else { ", " });
                            escape_json(element, &mut self.out);
                        }
                        self.out.push(']');
                    }
                    single => self.single(single),
                }
            }
            Format::Xml => self.xml_value(&tag(label), value),
            Format::Yaml => {
                self.next();
                let _ = write!(self.out, "{label}: ");
                match value {
                    Value::List(list) => {
                        for element in list {
                            self.out.push('\n');
                            self.spaces();
                            self.out.push_str("  - ");
                            escape_json(element, &mut self.out);
                        }
                    }
                    single => self.single(single),
                }
            }
            Format::Text => {}
        }
    }

    fn single(&mut self, value: &Value) {
        match value {
            Value::Text(text) => escape_json(text, &mut self.out),
            Value::Number(number) => self.out.push_str(number),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::List(_) => {}
        }
    }

    fn xml_value(&mut self, tag: &str, value: &Value) {
        self.spaces();
        let _ = match value {
            Value::List(list) => {
                let _ = writeln!(self.out, "<{tag}>");
                for element in list {
                    self.spaces();
                    let _ = writeln!(self.out, "  <Item>{}</Item>", escape_xml(element));
                }
                self.spaces();
                writeln!(self.out, "</{tag}>")
            }
            Value::Text(text) | Value::Number(text) => {
                writeln!(self.out, "<{tag}>{}</{tag}>", escape_xml(text))
            }
            Value::Bool(value) => writeln!(self.out, "<{tag}>{value}</{tag}>"),
        };
    }

    /// Separates an item from the one before it in the group (JSON, YAML).
    fn next(&mut self) {
        let first =
            self.started.last_mut().is_some_and(|started| !std::mem::replace(started, true));
        match (self.format, first) {
            (Format::Json, false) => self.out.push_str(",\n"),
            (Format::Json, true) | (Format::Yaml, false) => self.out.push('\n'),
            _ => return,
        }
        self.spaces();
    }

    fn spaces(&mut self) {
        self.out.extend(std::iter::repeat_n(' ', 2 * self.indent));
    }
}

/// A label as an XML element's name.
fn tag(label: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    label.chars().map(|c| if fits(c) { c } else { '-' }).collect()
}

fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0d;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Node {
        let mut child = Node::default();
        child.detail("Node Type", "Seq Scan");
        child.property("Filter", "(a < 'x\"&'::text)");
        let mut root = Node::default();
        root.detail("Node Type", "Sort");
        root.detail("Disabled", Value::Bool(false));
        root.property("Sort Key", Value::List(vec!["a".into(), "b".into()]));
        root.children.push(child);
        root
    }

    fn printed(format: Format) -> String {
        let around = Surroundings { settings: Some(Vec::new()), ..Surroundings::default() };
        print(&sample(), &around, ExplainOptions::default(), format)
    }

    #[test]
    fn json() {
        let expected = r#"[
  {
    "Plan": {
      "Node Type": "Sort",
      "Disabled": false,
      "Sort Key": ["a", "b"],
      "Plans": [
        {
          "Node Type": "Seq Scan",
          "Filter": "(a < 'x\"&'::text)"
        }
      ]
    },
    "Settings": {
    }
  }
]"#;
        assert_eq!(printed(Format::Json), expected);
    }

    #[test]
    fn xml() {
        let text = printed(Format::Xml);
        assert!(text.contains("\n      <Sort-Key>\n        <Item>a</Item>\n"), "{text}");
        assert!(text.contains("<Filter>(a &lt; 'x\"&amp;'::text)</Filter>"), "{text}");
        assert!(text.ends_with("  </Query>\n</explain>"), "{text}");
    }

    #[test]
    fn yaml() {
        let expected = "- Plan: \n    Node Type: \"Sort\"\n    Disabled: false\n    Sort Key: \n      \
                        - \"a\"\n      - \"b\"\n    Plans: \n      - Node Type: \"Seq Scan\"\n        \
                        Filter: \"(a < 'x\\\"&'::text)\"\n  Settings: ";
        assert_eq!(printed(Format::Yaml), expected);
    }
}
