//! The options of CREATE NODE and ALTER NODE: Postgres-XL's own (check_node_options in nodemgr.c),
//! and libpq's words for the connection.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::objects::{Node, NodeKind};
use steppe_sql::ast::NodeOption;
use steppe_types::{Error, Result, SqlState};

/// libpq's words that a node may have besides host and port, with the values that a word may have
/// if these are few.
const WORDS: &[(&str, &[&str])] = &[
    ("connect_timeout", &[]),
    ("dbname", &[]),
    ("options", &[]),
    ("passfile", &[]),
    ("password", &[]),
    ("sslmode", &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]),
    (
        "target_session_attrs",
        &["any", "read-write", "read-only", "primary", "standby", "prefer-standby"],
    ),
    ("user", &[]),
];

/// The properties that a statement gives to a node.
#[derive(Default)]
pub(super) struct Properties<'a> {
    pub(super) kind: Option<NodeKind>,
    pub(super) host: Option<Arc<str>>,
    pub(super) port: Option<u16>,
    primary: Option<bool>,
    preferred: Option<bool>,
    connection: Vec<(&'a str, &'a str)>,
}

impl<'a> Properties<'a> {
    /// Reads the options: 42601 for one that is unknown, is there twice or has no value, 22003 for a
    /// port and 22023 for another value that cannot be.
    pub(super) fn read(ctx: &DdlContext<'_>, options: &'a [NodeOption]) -> Result<Properties<'a>> {
        if options.is_empty() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "No options specified"));
        }
        let mut read = Properties::default();
        for (position, option) in options.iter().enumerate() {
            let is_twice = options[..position].iter().any(|other| other.name == option.name);
            let added = match is_twice {
                true => Err(syntax("conflicting or redundant options".to_owned())),
                false => read.add(option),
            };
            added.map_err(|error| error.at(option.location.position(ctx.source)))?;
        }
        Ok(read)
    }

    fn add(&mut self, option: &'a NodeOption) -> Result<()> {
        match &*option.name {
            "type" => self.kind = Some(kind(text(option)?)?),
            "host" => self.host = Some(host(text(option)?)?.into()),
            "port" => self.port = Some(port(text(option)?)?),
            "primary" => self.primary = Some(boolean(option)?),
            "preferred" => self.preferred = Some(boolean(option)?),
            word => {
                let Some((word, values)) = WORDS.iter().find(|(own, _)| *own == word) else {
                    return Err(syntax(format!("incorrect option: {word}")));
                };
                let value = text(option)?;
                if !values.is_empty() && !values.contains(&value) {
                    return Err(invalid(format!("invalid {word} value: \"{value}\"")));
                }
                if *word == "connect_timeout" && value.parse::<i32>().is_err() {
                    let message = format!(
                        "invalid integer value \"{value}\" for connection option \"{word}\""
                    );
                    return Err(invalid(message));
                }
                self.connection.push((word, value));
            }
        }
        Ok(())
    }

    /// Gives a node what is written; what is not stays.
    pub(super) fn put_into(self, node: &mut Node) {
        node.host = self.host.unwrap_or_else(|| Arc::clone(&node.host));
        node.port = self.port.unwrap_or(node.port);
        node.primary = self.primary.unwrap_or(node.primary);
        node.preferred = self.preferred.unwrap_or(node.preferred);
        for (word, value) in self.connection {
            node.connection.set(word, value);
        }
    }
}

fn syntax(message: String) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// defGetString
fn text(option: &NodeOption) -> Result<&str> {
    let value = option.value.as_deref();
    value.ok_or_else(|| syntax(format!("{} requires a parameter", option.name)))
}

/// defGetBoolean
fn boolean(option: &NodeOption) -> Result<bool> {
    match option.value.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => Err(syntax(format!("{} requires a Boolean value", option.name))),
    }
}

fn kind(value: &str) -> Result<NodeKind> {
    match &*value.to_ascii_lowercase() {
        "coordinator" => Ok(NodeKind::Coordinator),
        "datanode" => Ok(NodeKind::DataNode),
        _ => {
            let message = "type value is incorrect, specify 'coordinator' or 'datanode'";
            Err(invalid(message.to_owned()))
        }
    }
}

fn host(value: &str) -> Result<&str> {
    match value.split(',').any(|host| host.trim().is_empty()) {
        true => Err(invalid(format!("invalid host value: \"{value}\""))),
        false => Ok(value),
    }
}

fn port(value: &str) -> Result<u16> {
    let number: i64 =
        value.trim().parse().map_err(|_| syntax("port requires an integer value".to_owned()))?;
    u16::try_from(number).ok().filter(|port| *port > 0).ok_or_else(|| {
        Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "port value is out of range")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_they_may_be() {
        assert_eq!(kind("DataNode").ok(), Some(NodeKind::DataNode));
        assert!(kind("node").is_err());
        assert_eq!(port("65535").ok(), Some(65535));
        for (value, sqlstate) in
            [("0", "22003"), ("65536", "22003"), ("-1", "22003"), ("x", "42601")]
        {
            assert_eq!(port(value).unwrap_err().sqlstate().as_str(), sqlstate, "{value}");
        }
        assert!(host("a,b").is_ok() && host("a,,b").is_err() && host("").is_err());
    }
}
