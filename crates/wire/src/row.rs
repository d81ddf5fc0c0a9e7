//! DataRow, built in place: each column is appended behind a length word that
//! is patched when the column is done.

use steppe_types::Result;

use crate::message::Message;
use crate::{MAX_ALLOC_SIZE, too_large, too_many_columns};

/// A DataRow that is being appended to a send buffer. If it is dropped unfinished (an output
/// function failed), it is removed from the buffer.
pub struct DataRow<'b> {
    message: Message<'b>,
    /// The place of the column count.
    count_at: usize,
    columns: u32,
}

impl<'b> DataRow<'b> {
    /// Starts a row at the end of `buf`.
    #[inline]
    pub fn begin(buf: &'b mut Vec<u8>) -> DataRow<'b> {
        let mut message = Message::begin(buf, b'D');
        let count_at = message.buf.len();
        message.u16(0);
        DataRow { message, count_at, columns: 0 }
    }

    /// A NULL.
    #[inline]
    pub fn null(&mut self) {
        self.columns += 1;
        self.message.i32(-1);
    }

    /// A value that is there already, in its text or binary form.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) -> Result<()> {
        self.columns += 1;
        self.message.value(Some(value)).map(|_| ())
    }

    /// A value that `write` appends to the buffer.
    #[inline]
    pub fn column(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.columns += 1;
        let buf = &mut *self.message.buf;
        let start = buf.len();
        buf.extend_from_slice(&[0; 4]);
        write(buf)?;
        let len = buf.len() - start - 4;
        if len > MAX_ALLOC_SIZE {
            return Err(too_large(len, 0));
        }
        buf[start..start + 4].copy_from_slice(&(len as u32).to_be_bytes());
        Ok(())
    }

    /// An integer in text form.
    #[inline]
    pub fn text_int(&mut self, value: i64) {
        self.columns += 1;
        let mut digits = [0; DIGITS];
        let digits = format_int(value, &mut digits);
        self.message.u32(digits.len() as u32).bytes(digits);
    }

    /// A value whose binary form has a fixed width (`v.to_be_bytes()`).
    #[inline]
    pub fn fixed<const N: usize>(&mut self, value: [u8; N]) {
        self.columns += 1;
        self.message.u32(N as u32).bytes(&value);
    }

    /// Ends the row; 54000 (and no row) if it is too large for the protocol.
    #[inline]
    pub fn finish(self) -> Result<()> {
        let DataRow { message, count_at, columns } = self;
        let columns = i16::try_from(columns).map_err(|_| too_many_columns(columns))?;
        message.buf[count_at..count_at + 2].copy_from_slice(&columns.to_be_bytes());
        message.finish()
    }
}

/// Room for an i64's digits and sign.
const DIGITS: usize = 20;

/// Formats `value` at the end of `room`.
fn format_int(value: i64, room: &mut [u8; DIGITS]) -> &[u8] {
    let mut rest = value.unsigned_abs();
    let mut at = DIGITS;
    loop {
        at -= 1;
        room[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        room[at] = b'-';
    }
    &room[at..]
}

/// Appends an integer's decimal digits to `buf`, without allocating.
#[inline]
pub fn put_int(buf: &mut Vec<u8>, value: i64) {
    buf.extend_from_slice(format_int(value, &mut [0; DIGITS]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::Error;

    #[test]
    fn builds_columns_in_place() {
        let mut buf = Vec::new();
        let mut row = DataRow::begin(&mut buf);
        row.null();
        row.text_int(i64::MIN);
        row.fixed(7i16.to_be_bytes());
        row.bytes(b"x").unwrap();
        row.column(|buf| {
            buf.extend_from_slice(b"abc");
            Ok(())
        })
        .unwrap();
        row.finish().unwrap();
        let expected = b"D\0\0\0\x34\0\x05\xff\xff\xff\xff\
            \0\0\0\x14-9223372036854775808\0\0\0\x02\0\x07\0\0\0\x01x\0\0\0\x03abc";
        assert_eq!(buf, expected);
    }

    #[test]
    fn a_failed_row_leaves_nothing() {
        let mut buf = b"before".to_vec();
        let mut row = DataRow::begin(&mut buf);
        row.text_int(1);
        let failed = row.column(|buf| {
            buf.push(b'x');
            Err(Error::internal("no"))
        });
        assert!(failed.is_err());
        drop(row);
        assert_eq!(buf, b"before");
    }

    #[test]
    fn integers_have_their_digits() {
        for value in [0, 9, 10, -1, 99, 100, i64::MAX, i64::MIN] {
            let mut buf = Vec::new();
            put_int(&mut buf, value);
            assert_eq!(String::from_utf8(buf).unwrap(), value.to_string());
        }
    }
}
