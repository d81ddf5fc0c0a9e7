//! The text forms of connection words: `host=a port=1`, and `postgresql://a:1/`.
//!
//! Follows conninfo_parse and conninfo_uri_parse of src/interfaces/libpq/fe-connect.c, their
//! errors included. Like there, a word may come twice: the last one counts.

use steppe_types::{Error, Result};

use super::{invalid_syntax, storable};

/// Words and their values, in the order of the text.
pub(super) type Words = Vec<(String, String)>;

/// The words of a connection string in either form.
pub(super) fn words(text: &str) -> Result<Words> {
    match ["postgresql://", "postgres://"].iter().find_map(|prefix| text.strip_prefix(prefix)) {
        Some(rest) => Uri { text, rest, words: Words::new() }.parse(),
        None => keyword_values(text),
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

fn keyword_values(text: &str) -> Result<Words> {
    let mut words = Words::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let end = rest.find(|c| c == '=' || is_space(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(value) = after.trim_start_matches(is_space).strip_prefix('=') else {
            return Err(invalid_syntax(format!(
                "missing \"=\" after \"{name}\" in connection info string"
            )));
        };
        let (value, after) = value_of(value.trim_start_matches(is_space))?;
        words.push((storable(name)?.to_owned(), value));
        rest = after.trim_start_matches(is_space);
    }
    Ok(words)
}

/// A value at the front of `text`, and the text behind it. A backslash takes the next character as
/// it is, within quotes and outside them.
fn value_of(text: &str) -> Result<(String, &str)> {
    let (quoted, body) = match text.strip_prefix('\'') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut value = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, &body[at + 1..])),
            c if !quoted && is_space(c) => return Ok((value, &body[at..])),
            c => value.push(c),
        }
    }
    match quoted {
        true => Err(invalid_syntax("unterminated quoted string in connection info string")),
        false => Ok((value, "")),
    }
}

/// A connection URI that is being read.
struct Uri<'a> {
    /// All of it, for error messages.
    text: &'a str,
    /// The part that is not read yet.
    rest: &'a str,
    words: Words,
}

impl<'a> Uri<'a> {
    fn parse(mut self) -> Result<Words> {
        self.credentials()?;
        self.hosts()?;
        if let Some(path) = self.rest.strip_prefix('/') {
            let end = path.find('?').unwrap_or(path.len());
            self.rest = &path[end..];
            self.store("dbname", &path[..end])?;
        }
        if let Some(parameters) = self.rest.strip_prefix('?') {
            self.parameters(parameters)?;
        }
        Ok(self.words)
    }

    /// Stores a word unless its value is empty.
    fn store(&mut self, name: &str, encoded: &str) -> Result<()> {
        if !encoded.is_empty() {
            self.words.push((name.to_owned(), decoded(encoded)?));
        }
        Ok(())
    }

    fn credentials(&mut self) -> Result<()> {
        let end = self.rest.find(['@', '/']).unwrap_or(self.rest.len());
        let (credentials, after) = self.rest.split_at(end);
        let Some(after) = after.strip_prefix('@') else { return Ok(()) };
        self.rest = after;
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        self.store("user", user)?;
        self.store("password", password)
    }

    /// Hosts with their ports, separated by commas.
    fn hosts(&mut self) -> Result<()> {
        let (mut hosts, mut ports) = (String::new(), String::new());
        loop {
            hosts.push_str(self.host()?);
            if let Some(port) = self.rest.strip_prefix(':') {
                let end = port.find(['/', '?', ',']).unwrap_or(port.len());
                ports.push_str(&port[..end]);
                self.rest = &port[end..];
            }
            let Some(next) = self.rest.strip_prefix(',') else { break };
            self.rest = next;
            hosts.push(',');
            ports.push(',');
        }
        self.store("host", &hosts)?;
        self.store("port", &ports)
    }

    fn host(&mut self) -> Result<&'a str> {
        let Some(address) = self.rest.strip_prefix('[') else {
            let end = self.rest.find([':', '/', '?', ',']).unwrap_or(self.rest.len());
            let (host, after) = self.rest.split_at(end);
            self.rest = after;
            return Ok(host);
        };
        let Some((address, after)) = address.split_once(']') else {
            return Err(self.invalid(
                "end of string reached when looking for matching \"]\" in IPv6 host address in URI",
            ));
        };
        if address.is_empty() {
            return Err(self.invalid("IPv6 host address may not be empty in URI"));
        }
        self.rest = after;
        match after.chars().next() {
            None | Some(':' | '/' | '?' | ',') => Ok(address),
            Some(other) => {
                let position = self.text.len() - after.len() + 1;
                Err(self.invalid(&format!(
                    "unexpected character \"{other}\" at position {position} in URI \
                     (expected \":\" or \"/\")"
                )))
            }
        }
    }

    fn invalid(&self, what: &str) -> Error {
        invalid_syntax(format!("{what}: \"{}\"", self.text))
    }

    fn parameters(&mut self, text: &str) -> Result<()> {
        // An `&` at the end separates nothing.
        for parameter in text.strip_suffix('&').unwrap_or(text).split('&') {
            if parameter.is_empty() && text.is_empty() {
                return Ok(());
            }
            let Some((name, value)) = parameter.split_once('=') else {
                return Err(invalid_syntax(format!(
                    "missing key/value separator \"=\" in URI query parameter: \"{parameter}\""
                )));
            };
            if value.contains('=') {
                return Err(invalid_syntax(format!(
                    "extra key/value separator \"=\" in URI query parameter: \"{name}\""
                )));
            }
            let (mut name, mut value) = (decoded(name)?, decoded(value)?);
            if name == "ssl" && value == "true" {
                (name, value) = ("sslmode".to_owned(), "require".to_owned());
            }
            if storable(&name).is_err() {
                let message = format!("invalid URI query parameter: \"{name}\"");
                return Err(Error::new(super::INVALID_OPTION_NAME, message));
            }
            self.words.push((name, value));
        }
        Ok(())
    }
}

/// Decodes `%xx`. Blanks around the value are dropped, and none may be within it.
fn decoded(text: &str) -> Result<String> {
    let trimmed = text.trim_matches(' ');
    if trimmed.contains(is_space) {
        return Err(invalid_syntax(format!(
            "unexpected spaces found in \"{text}\", use percent-encoded spaces (%20) instead"
        )));
    }
    let mut bytes = Vec::with_capacity(trimmed.len());
    let mut rest = trimmed.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|&d| char::from(d).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err(invalid_syntax(format!("invalid percent-encoded token: \"{text}\"")));
        };
        rest = &after[2..];
        match (high << 4 | low) as u8 {
            0 => {
                return Err(invalid_syntax(format!(
                    "forbidden value %00 in percent-encoded value: \"{text}\""
                )));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| {
        invalid_syntax(format!("percent-encoded value is not valid UTF-8: \"{text}\""))
    })
}
