//! Decoders of values under unexpected bytes and texts: binary and text input, rows, keys.
//!
//! Each input is random, or a valid one with changes. Reading must end with a value or an error,
//! never with a panic. A value that was read must be written so that it is read back the same.
//! `make fuzz` goes on without end.

#![allow(missing_docs)]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use steppe_types::io::IoContext;
use steppe_types::key::{KeyPart, decode_key, encode_key, is_exact};
use steppe_types::row::RowLayout;
use steppe_types::{Datum, Oid, SqlState, binary_io, oid, text_io};

/// Array types.
const INT4_ARRAY: Oid = 1007;
const TEXT_ARRAY: Oid = 1009;
const NUMERIC_ARRAY: Oid = 1231;
const TIMESTAMP_ARRAY: Oid = 1115;

/// A type and a literal of it.
const SAMPLES: &[(Oid, &str)] = &[
    (oid::BOOL, "true"),
    (oid::CHAR, "x"),
    (oid::INT2, "-32768"),
    (oid::INT4, "2147483647"),
    (oid::INT8, "-9223372036854775808"),
    (oid::FLOAT4, "1.17549435e-38"),
    (oid::FLOAT8, "-1.7976931348623157e308"),
    (oid::NUMERIC, "-12345678901234567890.00012345"),
    (oid::NUMERIC, "NaN"),
    (oid::TEXT, "na\u{ef}ve \u{1F600}"),
    (oid::VARCHAR, "a'b\\c"),
    (oid::BYTEA, "\\xdeadbeef00"),
    (oid::UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    (oid::DATE, "0044-03-15 BC"),
    (oid::DATE, "infinity"),
    (oid::TIME, "23:59:59.999999"),
    (oid::TIMETZ, "04:05:06.789-08:30"),
    (oid::TIMESTAMP, "2001-02-16 20:38:40.12"),
    (oid::TIMESTAMPTZ, "294276-12-31 23:59:59.999999+00"),
    (oid::INTERVAL, "1 year 2 mons -3 days 04:05:06.789"),
    (oid::OID, "4294967295"),
    (oid::TID, "(4294967295,65535)"),
    (oid::PG_LSN, "16/B374D848"),
    (oid::XID8, "18446744073709551615"),
    (oid::NAME, "sixty_three"),
    (oid::BPCHAR, "padded  "),
    (oid::INT2VECTOR, "1 2 -3"),
    (oid::OIDVECTOR, "1 4294967295"),
    (INT4_ARRAY, "[0:1][-1:0]={{1,2},{3,NULL}}"),
    (TEXT_ARRAY, "{\"a \\\"b\\\"\",NULL,\"null\",c}"),
    (NUMERIC_ARRAY, "{1.5,NaN,-0.001}"),
    (TIMESTAMP_ARRAY, "{\"2001-02-16 20:38:40\",-infinity}"),
];

/// Changes of bytes: where, what, and how much is left.
fn changes() -> impl Strategy<Value = (Vec<(Index, u8)>, Index, bool)> {
    let byte = prop_oneof![any::<u8>(), select(&[0u8, 1, 0x7f, 0x80, 0xff][..])];
    (vec((any::<Index>(), byte), 0..4), any::<Index>(), prop::bool::weighted(0.2))
}

fn changed(bytes: &mut Vec<u8>, (flips, length, cuts): (Vec<(Index, u8)>, Index, bool)) {
    for (at, byte) in flips {
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
    }
    if cuts {
        bytes.truncate(length.index(bytes.len() + 1));
    }
}

fn shown(type_oid: Oid, value: &Datum) -> String {
    text_io::output_string(type_oid, value, &IoContext::default()).expect("a value has a text")
}

fn read(type_oid: Oid, text: &str) -> steppe_types::Result<Datum> {
    text_io::input(type_oid, -1, text, &IoContext::default())
}

/// Checks a value that was read: its binary form is read as the same value.
fn sent_and_received(type_oid: Oid, value: &Datum) -> Result<(), TestCaseError> {
    let mut bytes = Vec::new();
    binary_io::send(type_oid, value, &IoContext::default(), &mut bytes)
        .expect("a value has a binary form");
    let back =
        binary_io::receive(type_oid, -1, &bytes, &IoContext::default()).expect("it is read back");
    prop_assert_eq!(shown(type_oid, &back), shown(type_oid, value));
    Ok(())
}

proptest! {
    #[test]
    fn binary_input_ends_with_a_value_or_an_error(
        (type_oid, literal) in select(SAMPLES),
        junk in prop::option::weighted(0.3, vec(any::<u8>(), 0..48)),
        change in changes(),
    ) {
        let value = read(type_oid, literal).expect("a sample is right");
        let mut bytes = Vec::new();
        binary_io::send(type_oid, &value, &IoContext::default(), &mut bytes).expect("a sample is sent");
        bytes = junk.unwrap_or(bytes);
        changed(&mut bytes, change);
        if let Ok(value) = binary_io::receive(type_oid, -1, &bytes, &IoContext::default()) {
            sent_and_received(type_oid, &value)?;
        }
    }

    #[test]
    fn text_input_ends_with_a_value_or_an_error(
        (type_oid, literal) in select(SAMPLES),
        junk in prop::option::weighted(
            0.3,
            "[-+.:/ ,{}()\\[\\]\"\\\\=0-9eExXTZBCadhmosy\u{e9}]{0,32}",
        ),
        change in changes(),
    ) {
        let mut text = junk.unwrap_or_else(|| literal.to_owned()).into_bytes();
        changed(&mut text, change);
        // NUL is left out: texts in protocol messages cannot have it.
        let text = String::from_utf8_lossy(&text).replace('\0', "0");
        if let Ok(value) = read(type_oid, &text) {
            sent_and_received(type_oid, &value)?;
            let printed = shown(type_oid, &value);
            let back = read(type_oid, &printed).expect("what is printed is read");
            prop_assert_eq!(shown(type_oid, &back), printed);
        }
    }

    #[test]
    fn rows_are_refused_as_corrupted_or_read(
        samples in vec(select(SAMPLES), 0..10),
        junk in prop::option::weighted(0.2, vec(any::<u8>(), 0..80)),
        change in changes(),
    ) {
        let types: Vec<Oid> = samples.iter().map(|(ty, _)| *ty).collect();
        let values: Vec<Datum> =
            samples.iter().map(|(ty, text)| read(*ty, text).expect("a sample is right")).collect();
        let layout = RowLayout::new(&types);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).expect("samples are stored");
        row = junk.unwrap_or(row);
        changed(&mut row, change);
        let mut decoded = Vec::new();
        if let Err(error) = layout.decode_with(&row, &mut |_, p| Ok(p.to_vec()), &mut decoded) {
            prop_assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
        }
        for column in 0..types.len() {
            let _ = layout.decode_column(&row, column);
            let _ = layout.column_ref(&row, column);
        }
    }

    #[test]
    fn keys_are_refused_as_corrupted_or_read(
        samples in vec((select(SAMPLES), any::<(bool, bool)>()), 1..4),
        junk in prop::option::weighted(0.2, vec(any::<u8>(), 0..48)),
        change in changes(),
    ) {
        let exact = samples.into_iter().filter(|((type_oid, _), _)| is_exact(*type_oid));
        let (parts, values): (Vec<KeyPart>, Vec<Datum>) = exact
            .map(|((type_oid, literal), (descending, nulls_first))| {
                let value = read(type_oid, literal).expect("a sample is right");
                (KeyPart { type_oid, descending, nulls_first }, value)
            })
            .unzip();
        let mut key = Vec::new();
        encode_key(&values, &parts, &mut key).expect("samples are keys");
        key = junk.unwrap_or(key);
        changed(&mut key, change);
        if let Err(error) = decode_key(&key, &parts, &mut Vec::new()) {
            prop_assert_eq!(error.sqlstate(), SqlState::INDEX_CORRUPTED);
        }
    }
}
