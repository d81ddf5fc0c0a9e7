//! Writes messages in place: the type byte, and a length word that is patched at the end. An
//! unfinished message leaves nothing behind.

use steppe_types::Result;

use crate::{MAX_ALLOC_SIZE, too_large};

/// A message that is being appended to `buf`. If it is dropped unfinished, it is removed from
/// `buf`.
pub(crate) struct Message<'b> {
    pub(crate) buf: &'b mut Vec<u8>,
    /// The beginning of the message, so that it can be removed.
    start: usize,
    /// Where its length word is.
    length_at: usize,
    open: bool,
}

impl<'b> Message<'b> {
    #[inline]
    pub(crate) fn begin(buf: &'b mut Vec<u8>, tag: u8) -> Message<'b> {
        let start = buf.len();
        buf.extend_from_slice(&[tag, 0, 0, 0, 0]);
        Message { buf, start, length_at: start + 1, open: true }
    }

    /// A start-up packet: it has no type byte.
    pub(crate) fn begin_untyped(buf: &'b mut Vec<u8>) -> Message<'b> {
        let start = buf.len();
        buf.extend_from_slice(&[0; 4]);
        Message { buf, start, length_at: start, open: true }
    }

    pub(crate) fn u8(&mut self, v: u8) -> &mut Self {
        self.buf.push(v);
        self
    }

    pub(crate) fn i16(&mut self, v: i16) -> &mut Self {
        self.buf.extend_from_slice(&v.to_be_bytes());
        self
    }

    pub(crate) fn u16(&mut self, v: u16) -> &mut Self {
        self.buf.extend_from_slice(&v.to_be_bytes());
        self
    }

    pub(crate) fn i32(&mut self, v: i32) -> &mut Self {
        self.buf.extend_from_slice(&v.to_be_bytes());
        self
    }

    pub(crate) fn u32(&mut self, v: u32) -> &mut Self {
        self.buf.extend_from_slice(&v.to_be_bytes());
        self
    }

    pub(crate) fn bytes(&mut self, v: &[u8]) -> &mut Self {
        self.buf.extend_from_slice(v);
        self
    }

    pub(crate) fn str(&mut self, v: &str) -> &mut Self {
        put_str(self.buf, v);
        self
    }

    /// A nullable value behind its length word.
    pub(crate) fn value(&mut self, v: Option<&[u8]>) -> Result<&mut Self> {
        match v {
            None => self.i32(-1),
            Some(bytes) => {
                if bytes.len() > MAX_ALLOC_SIZE {
                    return Err(too_large(self.body_len(), bytes.len()));
                }
                // The check above makes the length fit.
                self.u32(bytes.len() as u32).bytes(bytes)
            }
        };
        Ok(self)
    }

    fn body_len(&self) -> usize {
        self.buf.len() - self.length_at
    }

    /// Patches the length word. Past PostgreSQL's limit it removes the message and returns 54000.
    #[inline]
    pub(crate) fn finish(mut self) -> Result<()> {
        let len = self.body_len();
        if len > MAX_ALLOC_SIZE {
            return Err(too_large(len, 0));
        }
        self.patch(len);
        Ok(())
    }

    /// [`finish`](Self::finish) for messages made of identifiers and numbers,
    /// which cannot come near the limit.
    #[inline]
    pub(crate) fn finish_small(mut self) {
        let len = self.body_len();
        debug_assert!(len <= MAX_ALLOC_SIZE, "a message of bounded parts grew past the limit");
        self.patch(len);
    }

    #[inline]
    fn patch(&mut self, len: usize) {
        let at = self.length_at;
        self.buf[at..at + 4].copy_from_slice(&(len as u32).to_be_bytes());
        self.open = false;
    }
}

impl Drop for Message<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.open {
            self.buf.truncate(self.start);
        }
    }
}

/// Appends a NUL-terminated string. An embedded NUL ends it early, so that the rest is not read as
/// the message's next field.
pub(crate) fn put_str(buf: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let end = if bytes.contains(&0) {
        bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len())
    } else {
        bytes.len()
    };
    buf.extend_from_slice(&bytes[..end]);
    buf.push(0);
}
