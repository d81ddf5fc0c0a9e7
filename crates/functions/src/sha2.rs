//! The SHA-2 family (FIPS 180-4): sha224, sha256, sha384 and sha512.
//!
//! Both widths run the same compression over words of 32 or 64 bits. The constants
//! are the fractional parts of cube and square roots of the first primes, computed
//! once by integer roots instead of being listed.

use std::sync::OnceLock;

use steppe_types::{Result, interrupt};

/// Blocks between two checks for interrupts.
const BLOCKS_UNCHECKED: usize = 4096;

/// A member of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sha2 {
    /// 28 bytes.
    Sha224,
    /// 32 bytes.
    Sha256,
    /// 48 bytes.
    Sha384,
    /// 64 bytes.
    Sha512,
}

/// The digest of a byte string.
pub fn digest(algorithm: Sha2, bytes: &[u8]) -> Result<Vec<u8>> {
    let tables = tables();
    let (wide, start, size) = match algorithm {
        // The second 32 bits of sha384's initial values.
        Sha2::Sha224 => (false, tables.later.map(|v| v & 0xFFFF_FFFF), 28),
        Sha2::Sha256 => (false, tables.first.map(|v| v >> 32), 32),
        Sha2::Sha384 => (true, tables.later, 48),
        Sha2::Sha512 => (true, tables.first, 64),
    };
    let mut out = if wide { run::<true>(start, bytes)? } else { run::<false>(start, bytes)? };
    out.truncate(size);
    Ok(out)
}

struct Tables {
    /// Cube roots of the first 80 primes.
    rounds: [u64; 80],
    /// Square roots of the first 8 primes.
    first: [u64; 8],
    /// Square roots of the 9th to 16th primes.
    later: [u64; 8],
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let is_prime = |n: &u64| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
        let primes: Vec<u64> = (2..).filter(is_prime).take(80).collect();
        Tables {
            rounds: std::array::from_fn(|i| root_fraction(primes[i], 3)),
            first: std::array::from_fn(|i| root_fraction(primes[i], 2)),
            later: std::array::from_fn(|i| root_fraction(primes[i + 8], 2)),
        }
    })
}

/// The first 64 bits of the fraction of `n`'s `degree`-th root: the greatest x with
/// (x / 2^64) ^ degree <= n, found bit by bit in wide arithmetic.
fn root_fraction(n: u64, degree: u32) -> u64 {
    let fits = |x: u128| {
        let mut product = vec![1u32];
        for _ in 0..degree {
            product = multiply(&product, x);
        }
        // n * 2^(64 * degree)
        let mut bound = vec![0; 2 * degree as usize];
        bound.push(n as u32);
        compare(&product, &bound) != std::cmp::Ordering::Greater
    };
    let mut x = 0u128;
    for bit in (0..72).rev() {
        if fits(x | 1 << bit) {
            x |= 1 << bit;
        }
    }
    x as u64
}

/// A little-endian number of 32-bit digits times a number below 2^96.
fn multiply(digits: &[u32], factor: u128) -> Vec<u32> {
    let mut out = vec![0u32; digits.len() + 3];
    for (i, digit) in digits.iter().enumerate() {
        let mut carry = u128::from(*digit) * factor;
        for slot in &mut out[i..] {
            let sum = u128::from(*slot) + (carry & 0xFFFF_FFFF);
            *slot = sum as u32;
            carry = (carry >> 32) + (sum >> 32);
        }
    }
    out
}

fn compare(a: &[u32], b: &[u32]) -> std::cmp::Ordering {
    let digit = |digits: &[u32], i: usize| digits.get(i).copied().unwrap_or(0);
    (0..a.len().max(b.len()))
        .rev()
        .map(|i| digit(a, i).cmp(&digit(b, i)))
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

/// Pads, compresses block by block and writes the state out.
fn run<const WIDE: bool>(start: [u64; 8], bytes: &[u8]) -> Result<Vec<u8>> {
    let word = if WIDE { 8 } else { 4 };
    interrupt::reserve(bytes.len())?;
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    // The length in bits takes the block's last two words.
    while padded.len() % (16 * word) != 14 * word {
        padded.push(0);
    }
    padded.resize(padded.len() + 2 * word - 8, 0);
    padded.extend_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    let mut state = start;
    for (i, block) in padded.chunks_exact(16 * word).enumerate() {
        if i % BLOCKS_UNCHECKED == BLOCKS_UNCHECKED - 1 {
            interrupt::check()?;
        }
        compress::<WIDE>(&mut state, block);
    }
    let out = |v: &u64| v.to_be_bytes()[8 - word..].to_vec();
    Ok(state.iter().flat_map(out).collect())
}

fn rotate<const WIDE: bool>(v: u64, count: u32) -> u64 {
    if WIDE { v.rotate_right(count) } else { u64::from((v as u32).rotate_right(count)) }
}

fn add<const WIDE: bool>(values: &[u64]) -> u64 {
    let sum = values.iter().fold(0u64, |sum, v| sum.wrapping_add(*v));
    if WIDE { sum } else { sum & 0xFFFF_FFFF }
}

fn compress<const WIDE: bool>(state: &mut [u64; 8], block: &[u8]) {
    let (rounds, word) = if WIDE { (80, 8) } else { (64, 4) };
    let mix = |v: u64, [a, b, c]: [u32; 3]| {
        rotate::<WIDE>(v, a) ^ rotate::<WIDE>(v, b) ^ rotate::<WIDE>(v, c)
    };
    let shift = |v: u64, [a, b, c]: [u32; 3]| rotate::<WIDE>(v, a) ^ rotate::<WIDE>(v, b) ^ v >> c;
    let [big0, big1, small0, small1] = if WIDE {
        [[28, 34, 39], [14, 18, 41], [1, 8, 7], [19, 61, 6]]
    } else {
        [[2, 13, 22], [6, 11, 25], [7, 18, 3], [17, 19, 10]]
    };
    let mut schedule: Vec<u64> = block
        .chunks_exact(word)
        .map(|bytes| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
        .collect();
    for i in 16..rounds {
        let (w15, w2) = (schedule[i - 15], schedule[i - 2]);
        let parts = [schedule[i - 16], shift(w15, small0), schedule[i - 7], shift(w2, small1)];
        schedule.push(add::<WIDE>(&parts));
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (i, w) in schedule.iter().enumerate() {
        let constant = tables().rounds[i] >> if WIDE { 0 } else { 32 };
        let choice = e & f ^ !e & g;
        let majority = a & b ^ a & c ^ b & c;
        let t1 = add::<WIDE>(&[h, mix(e, big1), choice, constant, *w]);
        let t2 = add::<WIDE>(&[mix(a, big0), majority]);
        (h, g, f, e) = (g, f, e, add::<WIDE>(&[d, t1]));
        (d, c, b, a) = (c, b, a, add::<WIDE>(&[t1, t2]));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *old = add::<WIDE>(&[*old, new]);
    }
}
