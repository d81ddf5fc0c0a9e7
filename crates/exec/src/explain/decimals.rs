//! Costs and rows as decimals, as `%.2f` and `%.0f` print them.
//!
//! A plan has two costs and a number of rows a node, and a cost is rarely a short decimal: Rust
//! falls back to numbers of many words for it. Here the double's own digits are multiplied by 100
//! in one wide integer, which is exact, and rounded once, a tie to even.

/// The bits of a double's digits.
const DIGIT_BITS: u32 = f64::MANTISSA_DIGITS - 1;
/// Doubles from here on are written the general way.
const LIMIT: f64 = 1e15;

/// With two digits behind the point.
pub(super) fn hundredths(value: f64) -> String {
    match scaled(value, 100) {
        Some(hundredths) => format!("{}.{:02}", hundredths / 100, hundredths % 100),
        None => format!("{value:.2}"),
    }
}

/// Without any.
pub(super) fn whole(value: f64) -> String {
    scaled(value, 1).map_or_else(|| format!("{value:.0}"), |whole| whole.to_string())
}

/// The integer next to `factor` times a value; `None` for negative and for large ones.
fn scaled(value: f64, factor: u128) -> Option<u64> {
    if value.is_nan() || value >= LIMIT || value.is_sign_negative() {
        return None;
    }
    let bits = value.to_bits();
    let (exponent, digits) = ((bits >> DIGIT_BITS) as i32, bits & ((1 << DIGIT_BITS) - 1));
    // A subnormal one rounds to zero like the smallest others.
    let digits = u128::from(digits | 1 << DIGIT_BITS) * factor;
    let shift = 1023 + DIGIT_BITS as i32 - exponent;
    match shift {
        ..=0 => u64::try_from(digits << shift.unsigned_abs()).ok(),
        1..=100 => {
            let (floor, rest) = (digits >> shift, digits & ((1 << shift) - 1));
            let half = 1 << (shift - 1);
            let is_up = rest > half || rest == half && floor % 2 == 1;
            u64::try_from(floor + u128::from(is_up)).ok()
        }
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_those_of_format() {
        let mut state = 1_u64;
        let mut values = vec![0.0, 0.005, 0.125, 0.375, 0.5, 1.5, 2.5, 1e-300, 5e-324, 999.995];
        values.extend([8.44, 1e15, 1e300, -1.5, f64::INFINITY, f64::NAN, 999_999_999_999_999.9]);
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = (state >> 11) as f64;
            values.extend([value / 1e3, value / 2e9, value / 1e13, (state >> 50) as f64 / 8.0]);
        }
        for value in values {
            assert_eq!(hundredths(value), format!("{value:.2}"), "{value:e}");
            assert_eq!(whole(value), format!("{value:.0}"), "{value:e}");
        }
    }
}
