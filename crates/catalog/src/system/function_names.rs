//! Names of users' functions in stored expressions. An expression is stored with each of them
//! qualified, and shown without the schema where the search path finds the function
//! (generate_function_name).

use crate::objects::Function;
use crate::snapshot::Catalog;
use std::borrow::Cow;
use steppe_types::Oid;

/// A stored expression as it is shown to a session with this search path.
pub(super) fn shown<'t>(catalog: &Catalog, text: &'t str, path: &[Oid]) -> Cow<'t, str> {
    if path.is_empty() || catalog.stored::<Function>().is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((schema, after_schema)) = identifier(rest) {
            let call = after_schema.strip_prefix('.').and_then(identifier);
            let name = call.filter(|(_, after)| after.starts_with('('));
            rest = match name {
                Some((name, after)) if is_visible(catalog, &schema, &name, path) => {
                    out.push_str(&after_schema[1..after_schema.len() - after.len()]);
                    after
                }
                _ => {
                    out.push_str(&rest[..rest.len() - after_schema.len()]);
                    after_schema
                }
            };
            continue;
        }
        let end = end_of_token(rest);
        out.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Cow::Owned(out)
}

/// Whether the search path finds each function of a name in a schema.
fn is_visible(catalog: &Catalog, schema: &str, name: &str, path: &[Oid]) -> bool {
    let Some(schema) = catalog.schema_named(schema) else { return false };
    let mut named = catalog.stored::<Function>().named(schema.oid, name).peekable();
    named.peek().is_some() && named.all(|function| catalog.function_is_visible(function, path))
}

/// The identifier that a text begins with, and what follows it.
fn identifier(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut name = String::new();
        let mut chars = quoted.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if chars.next_if(|(_, next)| *next == '"').is_some() => name.push('"'),
                '"' => return Some((name, &quoted[at + 1..])),
                c => name.push(c),
            }
        }
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    (end > 0 && !text.starts_with(|c: char| c.is_ascii_digit() || c == '$'))
        .then(|| (text[..end].to_owned(), &text[end..]))
}

/// The end of a string or a number, or of one other character.
fn end_of_token(text: &str) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    match text.as_bytes().first() {
        Some(b'\'') => text[1..].find('\'').map_or(text.len(), |at| at + 2),
        Some(c) if c.is_ascii_digit() => {
            text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len())
        }
        _ => first,
    }
}
