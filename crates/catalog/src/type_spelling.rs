//! How stored texts name users' types and functions: by OID. So a text stays valid when the object,
//! or a label of an enum, is renamed, and when the object moves to another schema. A function that
//! is made later never takes a call over. Code that shows a text to users replaces the OIDs by names
//! ([`Catalog::with_names`]). Stored texts name relations in the same manner, as `'OID'::regclass`.
//!
//! ```text
//!   pg_catalog."#2147500000"            the type with this OID
//!   '1.5'::pg_catalog."##2147500000"    the value of an enum at this place of its order
//!   '{1,2}'::pg_catalog."##2147500000"[]   an array of such values
//!   pg_catalog."#16384()"(1, 'x')       a call of the function with this OID
//! ```

use crate::Catalog;
use crate::objects::Function;
use crate::system::definitions::{qualified_function_name, quote_identifier, simple_quote_literal};
use std::borrow::Cow;
use steppe_types::datum::one_dimensional;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, oid, text_io};

const START: &str = "pg_catalog.\"#";

/// A name that stands for a type or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelled {
    /// The type with this OID.
    Type(Oid),
    /// An enum; the literal before it is a place in its order.
    Place(Oid),
    /// The function with this OID.
    Function(Oid),
}

/// A user's type as stored texts name it.
pub fn spelling(type_oid: Oid) -> String {
    format!("{START}{type_oid}\"")
}

/// A user's function as stored texts name it.
pub fn function_spelling(function: Oid) -> String {
    format!("pg_catalog.{}", quote_identifier(&spelled_function_name(function)))
}

/// The same without the schema, as the binder looks it up.
pub fn spelled_function_name(function: Oid) -> String {
    format!("#{function}()")
}

/// A value of an enum as stored texts contain it.
pub fn place_spelling(type_oid: Oid, order: f64) -> String {
    format!("'{order}'::{START}#{type_oid}\"")
}

/// An array of values of an enum as stored texts contain it.
pub fn places_spelling(type_oid: Oid, places: &[f64]) -> String {
    let places: Vec<String> = places.iter().map(f64::to_string).collect();
    format!("'{{{}}}'::{START}#{type_oid}\"[]", places.join(","))
}

/// The places in the literal of such an array; `None` if it is none.
pub fn read_places(literal: &str) -> Option<Vec<f64>> {
    let list = literal.strip_prefix('{')?.strip_suffix('}')?;
    list.split(',').map(|place| place.parse().ok()).collect()
}

/// Whether a type is named by its OID in stored texts.
pub fn is_spelled(type_oid: Oid) -> bool {
    oid::is_enum_type(type_oid) || oid::is_domain(type_oid)
}

/// The meaning of a name in pg_catalog.
pub fn spelled(name: &str) -> Option<Spelled> {
    let number = name.strip_prefix('#')?;
    if let Some(number) = number.strip_suffix("()") {
        return number.parse().ok().map(Spelled::Function);
    }
    match number.strip_prefix('#') {
        Some(number) => number.parse().ok().map(Spelled::Place),
        None => number.parse().ok().map(Spelled::Type),
    }
}

/// The types that a stored text names.
pub fn mentioned(text: &str) -> impl Iterator<Item = Oid> {
    all_spelled(text).filter_map(|spelled| match spelled {
        Spelled::Type(ty) | Spelled::Place(ty) => Some(ty),
        Spelled::Function(_) => None,
    })
}

/// The functions that a stored text calls by OID.
pub fn called_functions(text: &str) -> impl Iterator<Item = Oid> {
    all_spelled(text).filter_map(|spelled| match spelled {
        Spelled::Function(function) => Some(function),
        Spelled::Type(_) | Spelled::Place(_) => None,
    })
}

fn all_spelled(text: &str) -> impl Iterator<Item = Spelled> {
    text.match_indices(START).filter_map(|(at, _)| {
        let name = &text[at + START.len() - 1..];
        spelled(&name[..name.find('"')?])
    })
}

impl Catalog {
    /// A stored text with the names of types, functions and operators as this search path finds them.
    pub fn with_names<'t>(&self, text: &'t str, path: &[Oid]) -> Cow<'t, str> {
        match self.with_operator_names(text, path) {
            Some(named) => Cow::Owned(self.with_other_names(&named, path).into_owned()),
            None => self.with_other_names(text, path),
        }
    }

    fn with_other_names<'t>(&self, text: &'t str, path: &[Oid]) -> Cow<'t, str> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(START) {
            let (before, after) = rest.split_at(at);
            let end = after[START.len()..].find('"').map_or(after.len(), |end| START.len() + end);
            match spelled(&after[START.len() - 1..end]) {
                Some(Spelled::Type(ty)) => {
                    out.push_str(before);
                    out.push_str(&self.shown_type_name(ty, path));
                }
                Some(Spelled::Place(ty)) => {
                    out.push_str(&self.with_label(before, ty));
                    out.push_str(&self.shown_type_name(ty, path));
                }
                Some(Spelled::Function(function)) => {
                    out.push_str(before);
                    out.push_str(&self.shown_function_name(function, path));
                }
                None => out.push_str(&rest[..(at + end + 1).min(rest.len())]),
            }
            rest = after.get(end + 1..).unwrap_or("");
        }
        if out.is_empty() {
            return Cow::Borrowed(text);
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    /// `before` ends with `'place'::`: the same with the label.
    fn with_label(&self, before: &str, ty: Oid) -> String {
        let label = before.strip_suffix("'::").and_then(|literal| {
            let start = literal.rfind('\'')?;
            let (before, written) = (&literal[..start], &literal[start + 1..]);
            let labels = self.enum_labels(ty)?;
            let name = |order: f64| labels.at(order).map(|label| &*label.name);
            let shown = match read_places(written) {
                Some(places) => {
                    let names: Option<Vec<&str>> = places.into_iter().map(name).collect();
                    text_of_array(&names?)
                }
                None => name(written.parse().ok()?)?.to_owned(),
            };
            Some(format!("{before}{}::", simple_quote_literal(&shown)))
        });
        label.unwrap_or_else(|| before.to_owned())
    }

    /// The name of a type of a user, with its schema where the search path would not find it; `???`
    /// if there is no such type.
    pub fn shown_type_name(&self, type_oid: Oid, path: &[Oid]) -> String {
        let Some((schema, name)) = self.own_type_name(type_oid) else { return "???".to_owned() };
        let quoted = quote_identifier(&name);
        let found = path.iter().find_map(|schema| self.type_named(*schema, &name));
        if found.is_some_and(|found| found.oid == type_oid) {
            return quoted.into_owned();
        }
        match self.schema(schema) {
            Some(schema) => format!("{}.{quoted}", quote_identifier(&schema.name)),
            None => quoted.into_owned(),
        }
    }

    /// The name that a call of a user's function has to a session with this search path
    /// (generate_function_name); `???` if there is no such function.
    fn shown_function_name(&self, function: Oid, path: &[Oid]) -> String {
        let Some(function) = self.stored::<Function>().get(function) else {
            return "???".to_owned();
        };
        match self.function_is_visible(function, path) {
            true => quote_identifier(&function.name).into_owned(),
            false => qualified_function_name(self, function)
                .unwrap_or_else(|| quote_identifier(&function.name).into_owned()),
        }
    }
}

/// The text of an array of labels (array_out).
fn text_of_array(labels: &[&str]) -> String {
    let elements = labels.iter().map(|label| Datum::text(*label)).collect();
    let array = one_dimensional(oid::TEXT, elements);
    text_io::output_string(1009, &array, &IoContext::default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_read() {
        let name = |text: String| {
            let start = text.find('#').expect("a name");
            text[start..].trim_end_matches('"').to_owned()
        };
        assert_eq!(spelled(&name(spelling(7))), Some(Spelled::Type(7)));
        assert_eq!(spelled(&name(place_spelling(7, 1.5))), Some(Spelled::Place(7)));
        assert_eq!(spelled("int4"), None);
        let named = format!("{} {}", place_spelling(7, 1.5), spelling(77));
        assert_eq!(mentioned(&named).collect::<Vec<_>>(), [7, 77]);
        assert_eq!(spelled(&spelled_function_name(7)), Some(Spelled::Function(7)));
        let call = format!("({}(1) + {}(2))", function_spelling(7), function_spelling(8));
        assert_eq!(called_functions(&call).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(mentioned(&call).next(), None);
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let catalog = Catalog::default();
        for text in ["(a > 1)", "pg_catalog.\"#x\"", "'pg_catalog.\"#"] {
            assert_eq!(catalog.with_names(text, &[]), text);
        }
        assert_eq!(catalog.with_names("a::pg_catalog.\"#7\"[])", &[]), "a::???[])");
    }
}
