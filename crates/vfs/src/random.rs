//! Randomness: the operating system's for secrets and identities, a seeded
//! generator for everything that a test must be able to repeat.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// A source of random bytes.
pub trait Random: Send + Sync {
    /// Fills `buffer` with random bytes.
    fn fill(&self, buffer: &mut [u8]) -> Result<()>;

    /// A random number, uniform over all of `u64`.
    fn next_u64(&self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

const URANDOM: &str = "/dev/urandom";

/// The operating system's cryptographic generator.
#[derive(Debug)]
pub struct RealRandom {
    urandom: File,
}

impl RealRandom {
    /// Opens the generator.
    pub fn new() -> Result<RealRandom> {
        let path = Path::new(URANDOM);
        let urandom = File::open(path).map_err(|e| Error::from_io("open", path, e))?;
        Ok(RealRandom { urandom })
    }
}

impl Random for RealRandom {
    fn fill(&self, buffer: &mut [u8]) -> Result<()> {
        (&self.urandom)
            .read_exact(buffer)
            .map_err(|e| Error::from_io("read", Path::new(URANDOM), e))
    }
}

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): small, seedable, good enough for everything but secrets.
#[derive(Debug)]
pub struct SeededRandom {
    state: AtomicU64,
}

impl SeededRandom {
    /// The generator with this seed.
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom { state: AtomicU64::new(seed) }
    }

    /// The next number of the sequence.
    pub fn next(&self) -> u64 {
        const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0. The bias of at most
    /// bound / 2^64 does not matter to a test.
    pub fn below(&self, bound: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(bound);
        u64::try_from(product >> 64).expect("the high half of a 128-bit product fits 64 bits")
    }

    /// True with probability `numerator` / `denominator`.
    pub fn chance(&self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

impl Random for SeededRandom {
    fn fill(&self, buffer: &mut [u8]) -> Result<()> {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_sequences_repeat_and_differ_by_seed() {
        let take = |seed| (0..8).scan(SeededRandom::new(seed), |r, _| Some(r.next()));
        assert!(take(1).eq(take(1)));
        assert!(!take(1).eq(take(2)));
        // The reference value of SplitMix64 for seed 0.
        assert_eq!(SeededRandom::new(0).next(), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        let random = SeededRandom::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[usize::try_from(random.below(5)).expect("below 5")] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn real_random_fills() {
        let random = RealRandom::new().expect("/dev/urandom opens");
        let mut bytes = [0; 64];
        random.fill(&mut bytes).expect("fills");
        assert_ne!(bytes, [0; 64]);
    }
}
