//! Literals and what they print as, checked with PostgreSQL 15.

use super::*;

fn round_trip(type_oid: Oid, typmod: i32, text: &str) -> Result<String> {
    let context = IoContext::default();
    output_string(type_oid, &input(type_oid, typmod, text, &context)?, &context)
}

#[test]
fn literals_print_as_postgresql_prints_them() {
    let cases = [
        (oid::BOOL, " yes ", "t"),
        (oid::BOOL, "OF", "f"),
        (oid::CHAR, "", ""),
        (oid::CHAR, "abc", "a"),
        (oid::BYTEA, "\\x 4a 4B", "\\x4a4b"),
        (oid::BYTEA, "\\001\\\\a", "\\x015c61"),
        (
            oid::UUID,
            "{A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A11}",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        (oid::TID, "(1,2)x", "(1,2)"),
        (oid::TID, "x( 1,+2)", "(1,2)"),
        (oid::TID, ",1,2)", "(1,2)"),
        (oid::TID, "(,)", "(0,0)"),
        (oid::TID, "(-1,2)", "(4294967295,2)"),
        (oid::INT2VECTOR, " 1  2 ", "1 2"),
        (oid::REGCLASS, "-", "-"),
        (oid::REGCLASS, "1259", "1259"),
        (oid::NUMERIC, "1.50", "1.50"),
        (oid::DATE, "2024-2-9", "2024-02-09"),
        (oid::TIMESTAMPTZ, "2024-02-09 10:00+02", "2024-02-09 08:00:00+00"),
        (oid::INTERVAL, "1 day 2 hours", "1 day 02:00:00"),
        (1182, "{2024-02-09,infinity}", "{2024-02-09,infinity}"),
        (1009, "{\" a\",b c , d, NULL, \"null\", \"\"}", "{\" a\",\"b c\",d,NULL,\"null\",\"\"}"),
        (1009, "{a\\,b,\"q\\\"q\"}", "{\"a,b\",\"q\\\"q\"}"),
        (1007, "[0:1]={1,2}", "[0:1]={1,2}"),
        (1007, "{{1,2},{3,4}}", "{{1,2},{3,4}}"),
        (1007, "{{},{}}", "{}"),
        (1007, " { } ", "{}"),
        (1007, "[1:2]={1,2}", "{1,2}"),
    ];
    for (type_oid, text, expected) in cases {
        assert_eq!(round_trip(type_oid, -1, text).unwrap(), expected, "{text}");
    }
}

#[test]
fn bad_literals_give_postgresqls_errors() {
    let cases = [
        (oid::BOOL, "o", "22P02", "invalid input syntax for type boolean: \"o\""),
        (oid::UUID, "1 2", "22P02", "invalid input syntax for type uuid: \"1 2\""),
        (oid::TID, "(1,99999)", "22P02", "invalid input syntax for type tid: \"(1,99999)\""),
        (oid::BYTEA, "\\xabc", "22023", "invalid hexadecimal data: odd number of digits"),
        (oid::BYTEA, "\\xzz", "22023", "invalid hexadecimal digit: \"z\""),
        (oid::BYTEA, "\\9", "22P02", "invalid input syntax for type bytea"),
        (oid::INT2VECTOR, "70000", "22003", "value \"70000\" is out of range for type smallint"),
        (1007, "{1,a}", "22P02", "invalid input syntax for type integer: \"a\""),
        (1007, "[2:1]={}", "2202E", "upper bound cannot be less than lower bound"),
        (
            1007,
            "{{{{{{{1}}}}}}}",
            "54000",
            "number of array dimensions exceeds the maximum allowed (6)",
        ),
    ];
    for (type_oid, text, sqlstate, message) in cases {
        let error = round_trip(type_oid, -1, text).unwrap_err();
        assert_eq!((error.sqlstate().as_str(), error.message()), (sqlstate, message));
    }
}

#[test]
fn malformed_arrays_say_where() {
    let cases = [
        ("{1,2", "Unexpected end of input."),
        ("{1,,2}", "Unexpected \",\" character."),
        ("{1,}", "Unexpected \"}\" character."),
        ("{{1,2},{3}}", "Multidimensional arrays must have sub-arrays with matching dimensions."),
        ("{1,{2}}", "Multidimensional arrays must have sub-arrays with matching dimensions."),
        ("{1}x", "Junk after closing right brace."),
        ("1", "Array value must start with \"{\" or dimension information."),
        ("[1:2]={1}", "Specified array dimensions do not match array contents."),
        ("{\"a\"b}", "Incorrectly quoted array element."),
        ("[1:2]", "Missing \"=\" after array dimensions."),
    ];
    for (text, detail) in cases {
        let error = round_trip(1009, -1, text).unwrap_err();
        assert_eq!(error.message(), format!("malformed array literal: \"{text}\""));
        assert_eq!(error.fields().detail.as_deref(), Some(detail), "{text}");
    }
}

#[test]
fn length_modifiers_cut_blanks_only() {
    assert_eq!(round_trip(oid::VARCHAR, 6, "ab   ").unwrap(), "ab");
    assert_eq!(round_trip(oid::BPCHAR, 8, "é").unwrap(), "é   ");
    let error = round_trip(oid::VARCHAR, 6, "abc").unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "22001");
    assert_eq!(error.message(), "value too long for type character varying(2)");
    let error = round_trip(oid::BPCHAR, 6, "abc").unwrap_err();
    assert_eq!(error.message(), "value too long for type character(2)");
    assert_eq!(fit_varchar("abc", 6, true).unwrap(), "ab");
    assert_eq!(round_trip(oid::NAME, -1, &"é".repeat(40)).unwrap(), "é".repeat(31));
}

#[test]
fn composites_quote_what_needs_it() {
    let context = IoContext::default();
    let types = [(oid::INT4, -1), (oid::TEXT, -1), (oid::TEXT, -1), (oid::TEXT, -1)];
    let text = "(1,\"a b\",,\"x\"\"y\\\\z\")";
    let record = array_io::parse_record(&types, text, &context).unwrap();
    assert_eq!(output_string(oid::RECORD, &record, &context).unwrap(), text);
    for (bad, detail) in [
        ("1", "Missing left parenthesis."),
        ("(1,2)", "Too few columns."),
        ("(1,2,3,4,5)", "Too many columns."),
        ("(1,2,3,4", "Unexpected end of input."),
        ("(1,2,3,4)x", "Junk after right parenthesis."),
    ] {
        let error = array_io::parse_record(&types, bad, &context).unwrap_err();
        assert_eq!(error.fields().detail.as_deref(), Some(detail), "{bad}");
    }
}

#[test]
fn bytea_escape_format() {
    let mut out = Vec::new();
    write_bytea(b"a\\\x01\xff", ByteaOutput::Escape, &mut out).unwrap();
    assert_eq!(out, b"a\\\\\\001\\377");
}
