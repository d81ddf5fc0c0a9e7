//! How stored texts name users' types: by OID. So a text stays valid when the type, or a label of
//! an enum, is renamed, and when the type moves to another schema. Code that shows a text to users
//! replaces the OIDs by names ([`Catalog::with_type_names`]). Stored texts name relations in the
//! same manner, as `'OID'::regclass`.
//!
//! ```text
//!   pg_catalog."#2147500000"            the type with this OID
//!   '1.5'::pg_catalog."##2147500000"    the value of an enum at this place of its order
//!   '{1,2}'::pg_catalog."##2147500000"[]   an array of such values
//! ```

use crate::Catalog;
use crate::system::definitions::{quote_identifier, simple_quote_literal};
use std::borrow::Cow;
use steppe_types::datum::one_dimensional;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, oid, text_io};

const START: &str = "pg_catalog.\"#";

/// A name that stands for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelled {
    /// The type with this OID.
    Type(Oid),
    /// An enum; the literal before it is a place in its order.
    Place(Oid),
}

/// A user's type as stored texts name it.
pub fn spelling(type_oid: Oid) -> String {
    format!("{START}{type_oid}\"")
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
    match number.strip_prefix('#') {
        Some(number) => number.parse().ok().map(Spelled::Place),
        None => number.parse().ok().map(Spelled::Type),
    }
}

/// Whether a stored text names a type.
pub fn mentions(text: &str, type_oid: Oid) -> bool {
    let number = format!("#{type_oid}\"");
    text.contains(START) && text.contains(&number)
}

/// The types that a stored text names.
pub fn mentioned(text: &str) -> impl Iterator<Item = Oid> {
    text.match_indices(START).filter_map(|(at, _)| {
        let name = &text[at + START.len() - 1..];
        match spelled(&name[..name.find('"')?])? {
            Spelled::Type(ty) | Spelled::Place(ty) => Some(ty),
        }
    })
}

impl Catalog {
    /// A stored text with the names of types as this search path finds them.
    pub fn with_type_names<'t>(&self, text: &'t str, path: &[Oid]) -> Cow<'t, str> {
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
        assert!(mentions(&place_spelling(7, 1.5), 7) && !mentions(&spelling(77), 7));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let catalog = Catalog::default();
        for text in ["(a > 1)", "pg_catalog.\"#x\"", "'pg_catalog.\"#"] {
            assert_eq!(catalog.with_type_names(text, &[]), text);
        }
        assert_eq!(catalog.with_type_names("a::pg_catalog.\"#7\"[])", &[]), "a::???[])");
    }
}
