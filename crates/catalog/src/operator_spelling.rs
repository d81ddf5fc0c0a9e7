//! How stored texts name users' operators: by OID, in place of the schema. So a text means the same
//! operator for ever, also when the operator moves to another schema, or when others of its symbol
//! are made. Code that shows a text to users replaces the OIDs by names (see
//! [`crate::type_spelling`], which does the same for types).
//!
//! ```text
//!   (a OPERATOR("#16400".+) b)
//! ```

use crate::Catalog;
use crate::objects::Operator;
use crate::system::definitions::quote_identifier;
use steppe_types::Oid;

const START: &str = "OPERATOR(\"#";

/// A user's operator as stored texts name it.
pub fn spelling(operator: &Operator) -> String {
    format!("{START}{}\".{})", operator.oid, operator.name)
}

/// The operator that a schema's name in a stored text stands for.
pub fn spelled(schema: &str) -> Option<Oid> {
    schema.strip_prefix('#')?.parse().ok()
}

/// The operators that a stored text names.
pub fn mentioned(text: &str) -> impl Iterator<Item = Oid> {
    text.match_indices(START).filter_map(|(at, _)| {
        let number = &text[at + START.len()..];
        number[..number.find('"')?].parse().ok()
    })
}

impl Catalog {
    /// A stored text with the names of operators as this search path finds them; `None` if it names
    /// none.
    pub(crate) fn with_operator_names(&self, text: &str, path: &[Oid]) -> Option<String> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once(START) {
            let (number, tail) = after.split_once("\".")?;
            let (symbol, tail) = tail.split_once(')')?;
            out.push_str(before);
            match number.parse().ok().and_then(|oid| self.operator(oid)) {
                Some(operator) => out.push_str(&self.operator_reference(&operator, path)),
                None => out.push_str(symbol),
            }
            rest = tail;
        }
        if rest.len() == text.len() {
            return None;
        }
        out.push_str(rest);
        Some(out)
    }

    /// An operator in an expression: its symbol, which is qualified where the search path would find
    /// another one for the operator's own types (generate_operator_name).
    pub fn operator_reference(&self, operator: &Operator, path: &[Oid]) -> String {
        match self.schema(operator.schema).filter(|_| !self.operator_is_visible(operator, path)) {
            Some(schema) => {
                format!("OPERATOR({}.{})", quote_identifier(&schema.name), operator.name)
            }
            None => operator.name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_in_texts() {
        let text = "((a OPERATOR(\"#16400\".+) b) OPERATOR(\"#7\".@@) 'OPERATOR(s.+)')";
        assert_eq!(mentioned(text).collect::<Vec<_>>(), [16400, 7]);
        assert_eq!((spelled("#16400"), spelled("s"), spelled("#x")), (Some(16400), None, None));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let catalog = Catalog::default();
        for text in ["(a > 1)", "OPERATOR(s.+)", "'OPERATOR(\"#"] {
            assert_eq!(catalog.with_operator_names(text, &[]), None);
        }
    }
}
