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
//!   pg_catalog."#16384:23:-1:e"(a)::integer   a user's cast by that function to a type with this OID
//!                                       and modifier: explicit, shown as `(a)::integer`
//! ```

use crate::Catalog;
use crate::objects::Function;
use crate::system::definitions::{qualified_function_name, quote_identifier, simple_quote_literal};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_types::datum::Array;
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
    /// A cast by a function.
    Cast(SpelledCast),
}

/// A user's cast by a function, in the place of the function's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpelledCast {
    /// The function.
    pub function: Oid,
    /// The type that it gives, and the modifier.
    pub target: (Oid, i32),
    /// How it is shown.
    pub shown: ShownCast,
}

/// How a cast is shown to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownCast {
    /// `x::type`, as it was written.
    Explicit,
    /// `x::type`, although it was not written.
    Implicit,
    /// `x`: an implicit cast at the top.
    Hidden,
}

impl SpelledCast {
    /// The name as stored texts have it. A type behind the call is a part of it only where the cast
    /// is shown.
    pub fn spelling(&self) -> String {
        let (target, modifier) = self.target;
        let shown = match self.shown {
            ShownCast::Explicit => 'e',
            ShownCast::Implicit => 'i',
            ShownCast::Hidden => 'h',
        };
        format!("{START}{}:{target}:{modifier}:{shown}\"", self.function)
    }

    fn read(text: &str) -> Option<SpelledCast> {
        let mut parts = text.split(':');
        let mut next = || parts.next();
        let function = next()?.parse().ok()?;
        let target = (next()?.parse().ok()?, next()?.parse().ok()?);
        let shown = match (next()?, next()) {
            ("e", None) => ShownCast::Explicit,
            ("i", None) => ShownCast::Implicit,
            ("h", None) => ShownCast::Hidden,
            _ => return None,
        };
        Some(SpelledCast { function, target, shown })
    }
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

/// An array of values of an enum as stored texts contain it. `None`: it is no such array.
pub fn places_spelling(array: &Array) -> Option<String> {
    let place = |value: &Datum| match value {
        Datum::Enum(_, order) => Some(Datum::Float8(*order)),
        _ => None,
    };
    let places = text_of_array(with_elements(array, oid::FLOAT8, place)?)?;
    Some(format!("'{places}'::{START}#{}\"[]", array.element_type))
}

/// The places in the literal of such an array; `None` if it is none.
pub fn read_places(literal: &str) -> Option<Arc<Array>> {
    literal.starts_with(['{', '[']).then_some(())?;
    let ty = oid::array_type_of(oid::FLOAT8)?;
    match text_io::input(ty, -1, literal, &IoContext::default()).ok()? {
        Datum::Array(array) => Some(array),
        _ => None,
    }
}

/// An array with another element in place of each that is not NULL. `None` if `of` has none.
pub fn with_elements(
    array: &Array,
    element_type: Oid,
    mut of: impl FnMut(&Datum) -> Option<Datum>,
) -> Option<Array> {
    let elements = array.elements.iter().map(|element| match element {
        Datum::Null => Some(Datum::Null),
        value => of(value),
    });
    let elements = elements.collect::<Option<Vec<Datum>>>()?;
    Some(Array { element_type, dimensions: array.dimensions.clone(), elements })
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
    if number.contains(':') {
        return SpelledCast::read(number).map(Spelled::Cast);
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
        Spelled::Function(_) | Spelled::Cast(_) => None,
    })
}

/// The functions that a stored text calls by OID.
pub fn called_functions(text: &str) -> impl Iterator<Item = Oid> {
    all_spelled(text).filter_map(|spelled| match spelled {
        Spelled::Function(function) => Some(function),
        Spelled::Cast(cast) => Some(cast.function),
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
                Some(Spelled::Cast(cast)) => {
                    out.push_str(before);
                    let operand = after.get(end + 1..).unwrap_or("");
                    let (operand, behind) = operand.split_at(group_len(operand));
                    out.push_str(&self.shown_cast(cast, operand, path));
                    rest = behind;
                    continue;
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

    /// A cast of an operand that stands in parentheses. The type follows, unless it is a row type.
    fn shown_cast(&self, cast: SpelledCast, operand: &str, path: &[Oid]) -> String {
        let shown = self.with_other_names(operand, path);
        let inner = shown.strip_prefix('(').and_then(|shown| shown.strip_suffix(')'));
        match cast.shown {
            ShownCast::Hidden => inner.unwrap_or(&shown).to_owned(),
            _ if is_named_behind(cast.target.0) => shown.into_owned(),
            _ => format!("{shown}::{}", self.shown_type_name(cast.target.0, path)),
        }
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
                    let label = |place: &Datum| match place {
                        Datum::Float8(order) => name(*order).map(Datum::text),
                        _ => None,
                    };
                    let labels = with_elements(&places, oid::TEXT, label)?;
                    text_of_array(labels)?
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

/// Whether stored texts can name a type behind `::`. They cannot name row types.
pub fn is_named_behind(type_oid: Oid) -> bool {
    !crate::is_row_type(type_oid)
}

/// The length of the group in parentheses that a text begins with, if it does.
fn group_len(text: &str) -> usize {
    if !text.starts_with('(') {
        return 0;
    }
    let (mut depth, mut quote) = (0, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 && quote.is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// The text of an array (array_out).
fn text_of_array(array: Array) -> Option<String> {
    let ty = oid::array_type_of(array.element_type)?;
    text_io::output_string(ty, &Datum::Array(Arc::new(array)), &IoContext::default()).ok()
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
    fn casts_are_read_and_shown() {
        let cast = |shown| SpelledCast { function: 7, target: (23, -1), shown };
        let (explicit, hidden) = (cast(ShownCast::Explicit), cast(ShownCast::Hidden));
        assert_eq!(spelled("#7:23:-1:e"), Some(Spelled::Cast(explicit)));
        assert_eq!(
            (spelled("#7:23:-1:x"), spelled("#7:23:e"), spelled("#:::")),
            (None, None, None)
        );
        let text = format!(
            "({}(({}('a)'::text) || b))::integer > 1)",
            explicit.spelling(),
            hidden.spelling()
        );
        assert_eq!(called_functions(&text).collect::<Vec<_>>(), [7, 7]);
        let shown = Catalog::default().with_names(&text, &[]).into_owned();
        assert_eq!(shown, "((('a)'::text || b))::integer > 1)");
        for cut in 0..text.len() {
            Catalog::default().with_names(&text[..cut], &[]);
        }
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
