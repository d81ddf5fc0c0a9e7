//! The text of an array that grows by one element at a time (array_out in arrayfuncs.c).

use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, Result, oid, text_io};

/// The elements so far.
#[derive(Debug, Default)]
pub(super) struct ArrayText {
    text: Vec<u8>,
    scratch: Vec<u8>,
}

impl ArrayText {
    /// Appends an element.
    pub(super) fn push(&mut self, type_oid: Oid, value: &Datum, io: &IoContext) -> Result<()> {
        self.text.push(if self.text.is_empty() { b'{' } else { b',' });
        if value.is_null() {
            self.text.extend_from_slice(b"NULL");
            return Ok(());
        }
        if is_bare(type_oid) {
            return text_io::output(type_oid, value, io, &mut self.text);
        }
        self.scratch.clear();
        text_io::output(type_oid, value, io, &mut self.scratch)?;
        self.text.push(b'"');
        for byte in &self.scratch {
            if matches!(byte, b'"' | b'\\') {
                self.text.push(b'\\');
            }
            self.text.push(*byte);
        }
        self.text.push(b'"');
        Ok(())
    }

    /// The bytes so far.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text of the array, which has at least one element. It begins again.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.text.push(b'}');
        let taken = std::mem::take(&mut self.text);
        self.text.reserve(taken.len());
        taken
    }
}

/// Types whose texts need no quotes.
fn is_bare(type_oid: Oid) -> bool {
    matches!(
        type_oid,
        oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::NUMERIC | oid::FLOAT8
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_quoted_as_array_in_reads_them() {
        let io = IoContext::default();
        let mut array = ArrayText::default();
        for value in ["", "NULL", "a,b", "{", "\\ \"x\"", "é"] {
            array.push(oid::TEXT, &Datum::Text(value.into()), &io).unwrap();
        }
        array.push(oid::TEXT, &Datum::Null, &io).unwrap();
        let text = String::from_utf8(array.take()).unwrap();
        assert_eq!(text, r#"{"","NULL","a,b","{","\\ \"x\"","é",NULL}"#);
        array.push(oid::INT4, &Datum::Int4(-5), &io).unwrap();
        assert_eq!(array.take(), b"{-5}");
    }
}
