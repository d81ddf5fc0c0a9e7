//! Numbers as settings and storage parameters are written (guc.c: parse_int, parse_real).

/// The number at the front of `text` (strtol with base 0, else strtod) and the rest.
pub fn leading_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    let radix_run = |body: &str, radix: u32| {
        let end = body.find(|c: char| !c.is_digit(radix)).unwrap_or(body.len());
        (end > 0).then(|| {
            let value = body[..end].chars().fold(0.0, |value, c| {
                value * f64::from(radix) + f64::from(c.to_digit(radix).unwrap_or(0))
            });
            (value, end)
        })
    };
    if let Some(body) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))
        && let Some((value, end)) = radix_run(body, 16)
    {
        return Some((sign * value, &body[end..]));
    }
    let mut end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let is_fraction = matches!(digits.as_bytes().get(end), Some(b'.' | b'e' | b'E'));
    if !is_fraction && digits.starts_with('0') && end > 1 {
        let (value, end) = radix_run(digits, 8)?;
        return Some((sign * value, &digits[end..]));
    }
    if digits.as_bytes().get(end) == Some(&b'.') {
        end += 1;
        end += digits[end..].find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len() - end);
    }
    let mantissa = &digits[..end];
    if !mantissa.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // An exponent only where digits follow: "1e" is 1 and a unit that does not exist.
    let rest = &digits[end..];
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        if count > 0 {
            end += rest.len() - unsigned.len() + count;
        }
    }
    let value: f64 = digits[..end].parse().ok()?;
    Some((sign * value, &digits[end..]))
}
