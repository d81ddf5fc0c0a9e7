//! Memory with the alignment that a device needs (see [`crate::OpenMode::direct`]).

/// Memory, offset and length of a write past the page cache must be multiples of this: no device in
/// use has longer blocks.
pub const DIRECT_ALIGNMENT: usize = 4096;

/// A growing run of bytes, like a [`Vec`], that begins at a multiple of [`DIRECT_ALIGNMENT`].
/// Its capacity is fixed when it is made.
#[derive(Debug)]
pub struct AlignedBuffer {
    /// Longer than the capacity, so that an aligned part of it has that size.
    memory: Box<[u8]>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// An empty buffer for up to `capacity` bytes.
    pub fn new(capacity: usize) -> AlignedBuffer {
        let memory = vec![0; capacity + DIRECT_ALIGNMENT].into_boxed_slice();
        let start = memory.as_ptr().align_offset(DIRECT_ALIGNMENT);
        assert!(start < DIRECT_ALIGNMENT, "bytes can be aligned");
        AlignedBuffer { memory, start, len: 0 }
    }

    /// Forgets the bytes.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends `bytes`.
    ///
    /// # Panics
    ///
    /// If they are more than the capacity leaves.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.grow(bytes.len()).copy_from_slice(bytes);
    }

    /// Appends zeros up to a length of `len`.
    ///
    /// # Panics
    ///
    /// If `len` is more than the capacity.
    pub fn pad_to(&mut self, len: usize) {
        self.grow(len.saturating_sub(self.len)).fill(0);
    }

    fn grow(&mut self, count: usize) -> &mut [u8] {
        let from = self.start + self.len;
        self.len += count;
        &mut self.memory[from..from + count]
    }
}

impl std::ops::Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

/// Whether a write of `bytes` at `offset` may bypass the page cache.
pub(crate) fn is_aligned(bytes: &[u8], offset: u64) -> bool {
    let memory = bytes.as_ptr().addr() | bytes.len();
    !bytes.is_empty()
        && memory.is_multiple_of(DIRECT_ALIGNMENT)
        && offset.is_multiple_of(DIRECT_ALIGNMENT as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_whatever_it_holds() {
        let mut buffer = AlignedBuffer::new(3 * DIRECT_ALIGNMENT);
        for round in 0..3_u8 {
            buffer.clear();
            assert!(buffer.is_empty());
            buffer.extend_from_slice(&[round; 5000]);
            buffer.extend_from_slice(b"end");
            assert!(!is_aligned(&buffer, 0));
            buffer.pad_to(2 * DIRECT_ALIGNMENT);
            assert_eq!((buffer[4999], &buffer[5000..5005]), (round, &b"end\0\0"[..]));
            assert_eq!(buffer.len(), 2 * DIRECT_ALIGNMENT);
            assert!(is_aligned(&buffer, 3 * DIRECT_ALIGNMENT as u64));
            assert!(!is_aligned(&buffer, 512) && !is_aligned(&buffer[512..], 0));
        }
    }
}
