//! Facts taken from PostgreSQL 15, and properties.

use super::*;
use proptest::prelude::*;
use std::collections::hash_map::DefaultHasher;

fn n(s: &str) -> Numeric {
    Numeric::parse(s).unwrap_or_else(|e| panic!("{s}: {e}"))
}

fn text(r: Result<Numeric>) -> String {
    match r {
        Ok(v) => v.to_string(),
        Err(e) => format!("{}: {}", e.sqlstate(), e.message()),
    }
}

#[test]
fn is_small() {
    assert_eq!(std::mem::size_of::<Numeric>(), 16);
}

#[test]
fn parses_and_prints() {
    for (input, output) in [
        ("0", "0"),
        ("-0.00", "0.00"),
        (" 12.50 ", "12.50"),
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e10", "10000000000"),
        ("1.5e-7", "0.00000015"),
        ("-1.25E+3", "-1250"),
        ("00012345678901234567890.123400", "12345678901234567890.123400"),
        ("nan", "NaN"),
        ("-inf", "-Infinity"),
        ("+Infinity", "Infinity"),
        ("0x1F", "31"),
        ("-0b101", "-5"),
        ("0o17", "15"),
        ("0xffffffffffffffffffffffff", "79228162514264337593543950335"),
        ("1_000.000_1", "1000.0001"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("0.000000000000000000001", "0.000000000000000000001"),
        ("100000000000000000000", "100000000000000000000"),
    ] {
        assert_eq!(text(Numeric::parse(input)), output, "{input}");
    }
    for bad in [
        "", " ", ".", "e5", "1e", "1 2", "--1", "-nan", "1.2.3", "0x", "1__0", "_1", "1_", "1_.5",
        "infx",
    ] {
        let message = format!("22P02: invalid input syntax for type numeric: \"{bad}\"");
        assert_eq!(text(Numeric::parse(bad)), message);
    }
    for big in ["1e131072", "1e-16384", "1e99999999999", "-1e131072"] {
        assert_eq!(text(Numeric::parse(big)), "22003: value overflows numeric format");
    }
    assert_eq!(n("1e131071").to_string().len(), 131072);
}

#[test]
fn typmod() {
    let apply = |v: &str, p, s| n(v).apply_typmod(numeric_typmod(p, Some(s)).unwrap());
    assert_eq!(text(apply("123.456", 5, 2)), "123.46");
    assert_eq!(text(apply("999.995", 6, 2)), "1000.00");
    assert_eq!(text(apply("12345", 3, -3)), "12000");
    assert_eq!(text(apply("0.00123", 3, 5)), "0.00123");
    assert_eq!(text(apply("nan", 3, 1)), "NaN");
    let e = apply("999.995", 5, 2).unwrap_err();
    assert_eq!(e.message(), "numeric field overflow");
    assert_eq!(
        e.fields().detail.as_deref(),
        Some("A field with precision 5, scale 2 must round to an absolute value less than 10^3.")
    );
    let e = apply("1.5", 2, 2).unwrap_err();
    assert_eq!(
        e.fields().detail.as_deref(),
        Some("A field with precision 2, scale 2 must round to an absolute value less than 1.")
    );
    assert!(apply("inf", 5, 1).is_err());
    assert_eq!(typmod_precision_scale(numeric_typmod(7, Some(-5)).unwrap()), Some((7, -5)));
    assert!(numeric_typmod(0, None).is_err() && numeric_typmod(1001, None).is_err());
}

#[test]
fn operators() {
    type Op = fn(&Numeric, &Numeric) -> Result<Numeric>;
    let facts: &[(Op, &str, &str, &str)] = &[
        (Numeric::add, "1.5", "2.25", "3.75"),
        (Numeric::add, "9223372036854775807", "1", "9223372036854775808"),
        (Numeric::add, "inf", "-inf", "NaN"),
        (Numeric::sub, "0.1", "0.100", "0.000"),
        (Numeric::sub, "1e20", "1", "99999999999999999999"),
        (Numeric::mul, "1.5", "2.25", "3.375"),
        (
            Numeric::mul,
            "123456789012345678",
            "987654321098765432",
            "121932631137021794322511812221002896",
        ),
        (Numeric::mul, "inf", "0", "NaN"),
        (Numeric::div, "1", "3", "0.33333333333333333333"),
        (Numeric::div, "2", "3", "0.66666666666666666667"),
        (Numeric::div, "10", "3", "3.3333333333333333"),
        (Numeric::div, "1", "7000000", "0.000000142857142857142857"),
        (Numeric::div, "100000000000000", "7", "14285714285714.2857"),
        (Numeric::div, "1e30", "3", "333333333333333333333333333333"),
        (Numeric::div, "6", "3", "2.0000000000000000"),
        (Numeric::div, "1", "0", "22012: division by zero"),
        (Numeric::div, "inf", "0", "22012: division by zero"),
        (Numeric::div, "inf", "-2", "-Infinity"),
        (Numeric::div, "5", "inf", "0"),
        (Numeric::div_trunc, "-7", "2", "-3"),
        (Numeric::div_trunc, "1e25", "7.5", "1333333333333333333333333"),
        (Numeric::rem, "-7", "2", "-1"),
        (Numeric::rem, "5.5", "2.25", "1.00"),
        (Numeric::rem, "1e30", "7", "1"),
        (Numeric::rem, "5", "0", "22012: division by zero"),
        (Numeric::rem, "inf", "3", "NaN"),
        (Numeric::rem, "3", "inf", "3"),
        (Numeric::power, "2.0", "0.5", "1.4142135623730950"),
        (Numeric::power, "2.5", "3", "15.625000000000000"),
        (Numeric::power, "10.0", "-3", "0.0010000000000000000"),
        (Numeric::power, "2", "100", "1267650600228229401496703205376"),
        (Numeric::power, "-8.0", "3", "-512.00000000000000"),
        (Numeric::power, "1.0001", "10000", "2.7181459268252249"),
        (Numeric::power, "12.5", "-2.25", "0.003403709374044793"),
        (Numeric::power, "0.0", "-1", "2201F: zero raised to a negative power is undefined"),
        (Numeric::power, "10.0", "200000", "22003: value overflows numeric format"),
        (Numeric::power, "nan", "0", "1"),
        (Numeric::power, "-inf", "3", "-Infinity"),
        (Numeric::gcd, "12.5", "7.5", "2.5"),
        (Numeric::lcm, "12.5", "7.5", "37.5"),
        (Numeric::gcd, "0", "0", "0"),
    ];
    for (op, a, b, expected) in facts {
        assert_eq!(text(op(&n(a), &n(b))), *expected, "{a} ? {b}");
    }
}

#[test]
fn functions() {
    type F = fn(&Numeric) -> Result<Numeric>;
    let facts: &[(F, &str, &str)] = &[
        (Numeric::sqrt, "2", "1.414213562373095"),
        (Numeric::sqrt, "2e20", "14142135623.73095"),
        (Numeric::sqrt, "1e-20", "0.0000000001000000000000000"),
        (Numeric::sqrt, "0.0", "0.000000000000000"),
        (Numeric::sqrt, "123456789.123456789", "11111.11106611111"),
        (Numeric::sqrt, "-1", "2201F: cannot take square root of a negative number"),
        (Numeric::exp, "1", "2.7182818284590452"),
        (Numeric::exp, "-5.5", "0.004086771438464067"),
        (Numeric::exp, "100.0", "26881171418161354484126255515800135873611118.8"),
        (Numeric::exp, "0.0", "1.0000000000000000"),
        (Numeric::exp, "6000.0", "22003: value overflows numeric format"),
        (Numeric::exp, "-inf", "0"),
        (Numeric::ln, "2", "0.6931471805599453"),
        (Numeric::ln, "0.5", "-0.6931471805599453"),
        (Numeric::ln, "1e100", "230.25850929940457"),
        (Numeric::ln, "99999999.9", "18.420680742952365"),
        (Numeric::ln, "1.0000000001", "0.00000000009999999999500000"),
        (Numeric::ln, "0", "2201E: cannot take logarithm of zero"),
        (Numeric::log10, "100.0", "2.0000000000000000"),
        (Numeric::log10, "0.5", "-0.3010299956639812"),
        (Numeric::ceil, "-1.5", "-1"),
        (Numeric::ceil, "1.01", "2"),
        (Numeric::floor, "-1.5", "-2"),
        (Numeric::floor, "1e25", "10000000000000000000000000"),
    ];
    for (f, arg, expected) in facts {
        assert_eq!(text(f(&n(arg))), *expected, "{arg}");
    }
    assert_eq!(text(n("64.0").log(&n("2.0"))), "6.0000000000000000");
    assert_eq!(text(n("1000.5").log(&n("10"))), "3.0002170929722302");
    assert_eq!(text(n("2").log(&n("1.0"))), "22012: division by zero");
    assert_eq!(text(Numeric::factorial(30)), "265252859812191058636308480000000");
    assert_eq!(n("1.500").trim_scale().to_string(), "1.5");
    assert_eq!(n("1e10").trim_scale().to_string(), "10000000000");
    for (v, s, rounded, cut) in [
        ("2.5", 0, "3", "2"),
        ("-2.5", 0, "-3", "-2"),
        ("1234.5678", 2, "1234.57", "1234.56"),
        ("1234.5678", -2, "1200", "1200"),
        ("1264.5", 6, "1264.500000", "1264.500000"),
        ("5555", -4, "10000", "0"),
        ("99999999999999999999.995", 2, "100000000000000000000.00", "99999999999999999999.99"),
    ] {
        assert_eq!(text(n(v).round(s)), rounded, "round {v}");
        assert_eq!(text(n(v).trunc(s)), cut, "trunc {v}");
    }
    let bucket = |v: &str, a: &str, b: &str, c| n(v).width_bucket(&n(a), &n(b), c);
    assert_eq!(bucket("5.35", "0.024", "10.06", 5).unwrap(), 3);
    assert_eq!(bucket("0", "10", "0", 5).unwrap(), 6);
    assert_eq!(bucket("11", "10", "0", 5).unwrap(), 0);
    assert_eq!(bucket("inf", "0", "10", 5).unwrap(), 6);
    assert_eq!(bucket("1", "1", "1", 3).unwrap_err().sqlstate().as_str(), "2201G");
}

#[test]
fn conversions() {
    assert_eq!(n("2.5").to_i32().unwrap(), 3);
    assert_eq!(n("-2.5").to_i64().unwrap(), -3);
    assert_eq!(n("9223372036854775807.4").to_i64().unwrap(), i64::MAX);
    assert_eq!(n("9223372036854775807.5").to_i64().unwrap_err().message(), "bigint out of range");
    assert_eq!(n("40000").to_i16().unwrap_err().message(), "smallint out of range");
    let nan = n("NaN").to_i32().unwrap_err();
    assert_eq!(
        (nan.sqlstate().as_str(), nan.message()),
        ("0A000", "cannot convert NaN to integer")
    );
    assert_eq!(Numeric::from_f64(0.1 + 0.2).to_string(), "0.3");
    assert_eq!(Numeric::from_f64(1e20).to_string(), "100000000000000000000");
    assert_eq!(Numeric::from_f64(1.5e-7).to_string(), "0.00000015");
    assert_eq!(Numeric::from_f64(123456789.1234568).to_string(), "123456789.123457");
    assert_eq!(Numeric::from_f32(2.718_281_7).to_string(), "2.71828");
    assert_eq!(Numeric::from_f64(100.0).to_string(), "100");
    assert_eq!(n("0.1").to_f64().unwrap(), 0.1);
    assert_eq!(n("123456789012345678901234567890").to_f64().unwrap(), 1.2345678901234568e29);
    assert!(
        n("1e400")
            .to_f64()
            .unwrap_err()
            .message()
            .ends_with("out of range for type double precision")
    );
    assert!(n("1e-400").to_f64().is_err());
    assert!(n("nan").to_f32().unwrap().is_nan());
    assert_eq!(n("-inf").to_f64().unwrap(), f64::NEG_INFINITY);
}

#[test]
fn sums() {
    let mut sum = NumericSum::new();
    for v in ["1.5", "2.25", "3", "1e25"] {
        sum.add(&n(v));
    }
    assert_eq!(sum.sum().unwrap().unwrap().to_string(), "10000000000000000000000006.75");
    let mut sum = NumericSum::new();
    for _ in 0..100 {
        sum.add_i64(i64::MAX);
    }
    assert_eq!(sum.sum().unwrap().unwrap().to_string(), "922337203685477580700");
    assert_eq!(sum.avg().unwrap().unwrap().to_string(), "9223372036854775807");
    let mut other = sum.clone();
    other.add(&n("0.25"));
    other.merge(&sum);
    assert_eq!(other.sum().unwrap().unwrap().to_string(), "1844674407370955161400.25");
    let mut variance = NumericVariance::new();
    for v in ["1.5", "2.25", "3"] {
        variance.add(&n(v)).unwrap();
    }
    let show = |v: Result<Option<Numeric>>| v.unwrap().unwrap().to_string();
    assert_eq!(show(variance.stddev(true)), "0.75000000000000000000");
    assert_eq!(show(variance.variance(true)), "0.56250000000000000000");
    assert_eq!(show(variance.variance(false)), "0.37500000000000000000");
    assert_eq!(show(variance.stddev(false)), "0.61237243569579452455");
    assert!(NumericSum::new().sum().unwrap().is_none());
}

#[test]
fn wire_form_rejects_garbage() {
    for bad in [
        &[][..],
        &[0, 1, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0x12, 0, 0, 0],
        &[0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
    ] {
        assert!(Numeric::receive(bad).is_err());
    }
    let mut out = Vec::new();
    n("-12345.678").send(&mut out);
    assert_eq!(out, [0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
}

fn hash(v: &Numeric) -> u64 {
    let mut h = DefaultHasher::new();
    v.hash(&mut h);
    h.finish()
}

prop_compose! {
    fn any_numeric()(kind in 0..12, m: i128, s in 0u32..40, small in -1000i64..1000, e in -40i32..70) -> Numeric {
        match kind {
            0 => Numeric::NAN,
            1 => Numeric::INFINITY,
            2 => Numeric::NEG_INFINITY,
            3..6 => Numeric::from_scaled(small as i128, s % 5),
            6..8 => n(&format!("{small}e{e}")),
            _ => Numeric::from_scaled(m >> (s * 3), s),
        }
    }
}

proptest! {
    #[test]
    fn forms_round_trip(v in any_numeric()) {
        prop_assert_eq!(n(&v.to_string()).to_string(), v.to_string());
        let mut bytes = Vec::new();
        v.write_stored(&mut bytes);
        prop_assert_eq!(Numeric::read_stored(&bytes).unwrap().to_string(), v.to_string());
        bytes.clear();
        v.send(&mut bytes);
        prop_assert_eq!(Numeric::receive(&bytes).unwrap().to_string(), v.to_string());
        bytes.clear();
        v.write_memcomparable(&mut bytes);
        let length = bytes.len();
        bytes.extend_from_slice(b"more");
        let (read, used) = Numeric::read_memcomparable(&bytes).unwrap();
        prop_assert_eq!(used, length);
        prop_assert_eq!(read.to_string(), v.trim_scale().to_string());
    }

    #[test]
    fn byte_order_is_numeric_order(a in any_numeric(), b in any_numeric()) {
        let (mut ka, mut kb) = (Vec::new(), Vec::new());
        a.write_memcomparable(&mut ka);
        b.write_memcomparable(&mut kb);
        prop_assert_eq!(ka.cmp(&kb), a.cmp(&b), "{} {}", a, b);
    }

    #[test]
    fn decoding_garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = Numeric::read_stored(&bytes);
        let _ = Numeric::receive(&bytes);
        let _ = Numeric::read_memcomparable(&bytes);
    }

    #[test]
    fn parsing_garbage_never_panics(s in "[-+0-9._exbonaif ]{0,12}") {
        if let Ok(v) = Numeric::parse(&s) {
            prop_assert_eq!(n(&v.to_string()), v);
        }
    }

    #[test]
    fn agrees_with_integers(a in -(1i128 << 62)..1 << 62, b in -(1i128 << 62)..1 << 62, s in 0u32..30) {
        let (x, y) = (Numeric::from_scaled(a, s), Numeric::from_scaled(b, s));
        prop_assert_eq!(x.add(&y).unwrap().to_string(), Numeric::from_scaled(a + b, s).to_string());
        prop_assert_eq!(x.sub(&y).unwrap().to_string(), Numeric::from_scaled(a - b, s).to_string());
        prop_assert_eq!(x.mul(&y).unwrap().to_string(), Numeric::from_scaled(a * b, 2 * s).to_string());
        if b != 0 {
            prop_assert_eq!(x.rem(&y).unwrap().to_string(), Numeric::from_scaled(a % b, s).to_string());
            prop_assert_eq!(x.div_trunc(&y).unwrap().to_string(), Numeric::from(a / b).to_string());
        }
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
    }

    #[test]
    fn division_undoes_multiplication(a in any_numeric(), b in any_numeric()) {
        prop_assume!(a.is_finite() && b.is_finite() && !b.is_zero());
        let product = a.mul(&b).unwrap();
        prop_assert_eq!(product.div_trunc(&b).unwrap(), a.trunc(0).unwrap());
        prop_assert!(product.rem(&b).unwrap().abs() < b.abs());
    }

    #[test]
    fn equal_values_hash_equally(a in any_numeric(), zeros in 0i32..30) {
        let padded = a.round(a.scale().unwrap_or(0) + zeros).unwrap();
        prop_assert_eq!(&padded, &a);
        prop_assert_eq!(hash(&padded), hash(&a));
    }

    #[test]
    fn square_roots_are_tight(a in any_numeric()) {
        prop_assume!(a.is_finite() && a.signum() > 0);
        let root = a.sqrt().unwrap();
        let unit = Numeric::from_scaled(1, root.scale().unwrap() as u32);
        let below = root.sub(&unit).unwrap();
        let above = root.add(&unit).unwrap();
        prop_assert!(below.signum() < 0 || below.mul(&below).unwrap() <= a);
        prop_assert!(above.mul(&above).unwrap() >= a);
    }
}
