use super::*;
use proptest::prelude::*;

type Fields = Vec<Option<Vec<u8>>>;

/// All rows of `data` fed in chunks that end at `cuts`, or the first error with
/// the rows before it.
fn decode_cut(
    options: &CopyOptions,
    columns: usize,
    data: &[u8],
    cuts: &[usize],
) -> (Vec<Fields>, Option<(String, String)>) {
    let mut decoder = CopyDecoder::new(options.clone(), columns);
    let mut rows = Vec::new();
    let mut start = 0;
    for end in cuts.iter().copied().chain([data.len()]) {
        decoder.feed(&data[start..end]);
        start = end;
        if end == data.len() {
            decoder.finish();
        }
        loop {
            match decoder.next_row() {
                Ok(Some(row)) => rows.push(row.iter().map(|f| f.map(<[u8]>::to_vec)).collect()),
                Ok(None) => break,
                Err(error) => {
                    assert_ne!(error.sqlstate(), SqlState::INTERNAL_ERROR);
                    let context = decoder.context("t", Doing::Row);
                    return (rows, Some((error.message().to_owned(), context)));
                }
            }
        }
    }
    (rows, None)
}

fn decode(options: &CopyOptions, columns: usize, data: &[u8]) -> Vec<Fields> {
    let (rows, error) = decode_cut(options, columns, data, &[]);
    assert_eq!(error, None);
    rows
}

fn failure(options: &CopyOptions, columns: usize, data: &[u8]) -> (String, String) {
    decode_cut(options, columns, data, &[]).1.expect("refused")
}

fn fields(values: &[Option<&str>]) -> Fields {
    values.iter().map(|value| value.map(|text| text.as_bytes().to_vec())).collect()
}

fn text() -> CopyOptions {
    CopyOptions::new(CopyFormat::Text)
}

fn csv() -> CopyOptions {
    CopyOptions::new(CopyFormat::Csv)
}

#[test]
fn text_escapes_nulls_and_end_mark() {
    let data = b"1\t\\N\tx\\ty\\\\\n\\x41\\101\\q\t\\x\t\\\n!\n\\.\nignored";
    assert_eq!(
        decode(&text(), 3, data),
        [
            fields(&[Some("1"), None, Some("x\ty\\")]),
            fields(&[Some("AAq"), Some("x"), Some("\n!")]),
        ]
    );
    // Short rows are the caller's to refuse; an unfinished last line is a row.
    assert_eq!(
        decode(&text(), 3, b"a\n\nb\t"),
        [fields(&[Some("a")]), fields(&[Some("")]), fields(&[Some("b"), Some("")]),]
    );
    assert_eq!(decode(&text(), 1, b"a\\"), [fields(&[Some("a")])]);
    assert_eq!(decode(&text(), 0, b"\n\n"), [fields(&[]), fields(&[])]);
}

#[test]
fn text_newline_styles() {
    assert_eq!(decode(&text(), 1, b"a\r\nb\r\n").len(), 2);
    assert_eq!(decode(&text(), 1, b"a\rb\r").len(), 2);
    let at = |line: u32| format!("COPY t, line {line}");
    assert_eq!(
        failure(&text(), 1, b"a\nb\rc\n"),
        ("literal carriage return found in data".into(), at(2))
    );
    assert_eq!(failure(&text(), 1, b"a\rb\n"), ("literal newline found in data".into(), at(2)));
    assert_eq!(failure(&text(), 1, b"a\r\nb\n"), ("literal newline found in data".into(), at(2)));
    assert_eq!(
        failure(&csv(), 1, b"a\nb\rc\n"),
        ("unquoted carriage return found in data".into(), at(2))
    );
    assert_eq!(
        failure(&text(), 1, b"a\n\\.\r\n").0,
        "end-of-copy marker does not match previous newline style"
    );
}

#[test]
fn an_end_mark_with_data_on_its_line_is_refused() {
    let refused = |data: &[u8], line: u32| {
        let (message, context) = failure(&text(), 1, data);
        assert_eq!(message, "end-of-copy marker is not alone on its line");
        assert_eq!(context, format!("COPY t, line {line}"));
    };
    refused(b"a\n\\.x\n", 2);
    refused(b"a\n\\.", 2);
    refused(b"a\\.\nb\n", 1);
    refused(b"a\r\nb\\.\r\nc\r\n", 2);
    refused(b"a\r\n\\.x\r\n", 2);
    assert_eq!(decode(&text(), 1, b"a\r\n\\.\r\nb\r\n").len(), 1);
}

#[test]
fn text_refusals() {
    assert_eq!(
        failure(&text(), 1, b"a\nb\tc\n"),
        ("extra data after last expected column".into(), "COPY t, line 2: \"b\tc\"".into())
    );
    assert_eq!(
        failure(&text(), 1, b"a\xffb\n").0,
        "invalid byte sequence for encoding \"UTF8\": 0xff"
    );
    assert_eq!(
        failure(&text(), 1, b"\\377\n").0,
        "invalid byte sequence for encoding \"UTF8\": 0xff"
    );
    assert_eq!(
        failure(&text(), 1, b"a\\0\n").0,
        "invalid byte sequence for encoding \"UTF8\": 0x00"
    );
    // Octal escapes may spell out a character.
    assert_eq!(decode(&text(), 1, b"\\305\\276\n"), [fields(&[Some("ž")])]);
    let long = "x".repeat(150) + "\ty\n";
    let (_, context) = failure(&text(), 1, long.as_bytes());
    assert_eq!(context, format!("COPY t, line 1: \"{}...\"", "x".repeat(100)));
}

#[test]
fn csv_quotes_and_nulls() {
    let data = b"1,\"a,\"\"b\"\"\",\n\"x\ny\",\"\",z\"q\"w\n";
    assert_eq!(
        decode(&csv(), 3, data),
        [
            fields(&[Some("1"), Some("a,\"b\""), None]),
            fields(&[Some("x\ny"), Some(""), Some("zqw")]),
        ]
    );
    assert_eq!(decode(&csv(), 1, b"x\n\\.\n\"\\.\"\n\\.").len(), 4);
    let mut other = csv();
    (other.quote, other.escape, other.null) = (b'\'', b'\\', "nil".into());
    assert_eq!(
        decode(&other, 3, b"'a\\'b\\\\\\c',nil,'nil'\n"),
        [fields(&[Some("a'b\\\\c"), None, Some("nil")])]
    );
    (other.force_null, other.force_not_null) = (vec![true; 2], vec![false, true]);
    assert_eq!(decode(&other, 2, b"'nil',nil\n"), [fields(&[None, Some("nil")])]);
}

#[test]
fn csv_refusals_and_line_numbers() {
    assert_eq!(
        failure(&csv(), 1, b"a\n\"b\nc\n"),
        ("unterminated CSV quoted field".into(), "COPY t, line 4: \"\"b\nc\n\"".into())
    );
    assert_eq!(failure(&csv(), 1, b"a,b\n").0, "extra data after last expected column");
}

#[test]
fn headers_are_skipped_or_matched() {
    let mut options = csv();
    options.header = Header::Names;
    assert_eq!(decode(&options, 1, b"a,b,c\n1\n"), [fields(&[Some("1")])]);
    options.header = Header::Match(vec!["a".into(), "b".into()]);
    assert_eq!(decode(&options, 2, b"a,b\n1,2\n"), [fields(&[Some("1"), Some("2")])]);
    assert_eq!(
        failure(&options, 2, b"a,b,c\n").0,
        "wrong number of fields in header line: got 3, expected 2"
    );
    assert_eq!(
        failure(&options, 2, b""),
        (
            "wrong number of fields in header line: got 1, expected 2".into(),
            "COPY t, line 1: \"\"".into()
        )
    );
    assert_eq!(
        failure(&options, 2, b"a,x\n").0,
        "column name mismatch in header line field 2: got \"x\", expected \"b\""
    );
    assert_eq!(
        failure(&options, 2, b",b\n").0,
        "column name mismatch in header line field 1: got null value (\"\"), expected \"a\""
    );
}

#[test]
fn binary_refusals() {
    let binary = CopyOptions::new(CopyFormat::Binary);
    let start = [&binary::SIGNATURE[..], &[0; 8]].concat();
    let with = |tail: &[u8]| failure(&binary, 1, &[&start[..], tail].concat()).0;
    assert_eq!(failure(&binary, 1, b"PGCOPY\n").0, "COPY file signature not recognized");
    assert_eq!(failure(&binary, 1, &[0; 11]).0, "COPY file signature not recognized");
    let header = |tail: &[u8]| failure(&binary, 1, &[&start[..11], tail].concat()).0;
    assert_eq!(header(b"\0"), "invalid COPY file header (missing flags)");
    assert_eq!(header(b"\0\x01\0\0"), "invalid COPY file header (WITH OIDS)");
    assert_eq!(header(b"\0\x02\0\0"), "unrecognized critical flags in COPY file header");
    assert_eq!(header(b"\0\0\0\0\0"), "invalid COPY file header (missing length)");
    assert_eq!(header(b"\0\0\0\0\xff\0\0\0"), "invalid COPY file header (missing length)");
    assert_eq!(header(b"\0\0\0\0\0\0\0\x02x"), "invalid COPY file header (wrong length)");
    assert_eq!(with(b"\0\x02"), "row field count is 2, expected 1");
    assert_eq!(with(b"\0\x01\0\0\0"), "unexpected EOF in COPY data");
    assert_eq!(with(b"\0\x01\0\0\0\x02x"), "unexpected EOF in COPY data");
    assert_eq!(with(b"\0\x01\xff\xff\xff\xfe"), "invalid field size");
    assert_eq!(
        with(b"\0\x01\x7f\xff\xff\xff"),
        "string buffer exceeds maximum allowed length (1073741823 bytes)"
    );
    assert_eq!(with(b"\xff\xffx"), "received copy data after EOF marker");
    // The trailer may be missing.
    assert_eq!(decode(&binary, 1, &start), Vec::<Fields>::new());
}

#[test]
fn options_that_make_data_ambiguous_are_refused() {
    let refused = |change: fn(&mut CopyOptions), format| {
        let mut options = CopyOptions::new(format);
        change(&mut options);
        options.check().unwrap_err().message().to_owned()
    };
    let (text, csv) = (CopyFormat::Text, CopyFormat::Csv);
    assert_eq!(refused(|o| o.delimiter = b'a', text), "COPY delimiter cannot be \"a\"");
    assert_eq!(
        refused(|o| o.delimiter = b'\n', csv),
        "COPY delimiter cannot be newline or carriage return"
    );
    assert_eq!(refused(|o| o.delimiter = b'"', csv), "COPY delimiter and quote must be different");
    assert_eq!(
        refused(|o| o.null = "a\"".into(), csv),
        "CSV quote character must not appear in the NULL specification"
    );
    assert!(CopyOptions::new(text).check().is_ok() && CopyOptions::new(csv).check().is_ok());
    assert_eq!(CopyOptions::single_byte("quote", "ab").unwrap_err().sqlstate().as_str(), "0A000");
}

fn options() -> impl Strategy<Value = CopyOptions> {
    let format = prop_oneof![
        Just(CopyFormat::Text),
        Just(CopyFormat::Csv),
        Just(CopyFormat::Csv),
        Just(CopyFormat::Binary)
    ];
    let null = prop_oneof![Just(None), Just(Some("")), Just(Some("\\N")), Just(Some("nil"))];
    (format, null, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(format, null, other_delimiter, other_escape, force)| {
            let mut options = CopyOptions::new(format);
            if let Some(null) = null {
                options.null = null.into();
            }
            if other_delimiter {
                options.delimiter = b'|';
            }
            if other_escape {
                options.escape = b'\\';
            }
            options.force_quote = vec![force];
            options
        },
    )
}

/// Text made mostly of the bytes that mean something.
fn value() -> impl Strategy<Value = Option<String>> {
    let special = "[a\\\\.N\"',|\t\n\rž0x7]{0,12}";
    prop::option::weighted(0.9, prop_oneof![special, Just("nil".into()), Just(String::new())])
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        options in options(),
        rows in prop::collection::vec(prop::collection::vec(value(), 2), 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let encoder = CopyEncoder::new(options.clone());
        let mut data = Vec::new();
        encoder.header(&mut data, &["a", "b"]).unwrap();
        for row in &rows {
            let mut encoded = encoder.begin_row(&mut data, row.len());
            for value in row {
                match value {
                    None => encoded.null(),
                    Some(text) => encoded.bytes(text.as_bytes()).unwrap(),
                }
            }
            encoded.finish();
        }
        encoder.trailer(&mut data);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(data.len() + 1)).collect();
        cuts.sort_unstable();
        // In text, a value that happens to read like a NULL string without a
        // backslash becomes NULL: PostgreSQL's output has the same ambiguity.
        let reads_as_null = |text: &&String| {
            options.format == CopyFormat::Text
                && **text == options.null
                && !options.null.contains('\\')
        };
        let read_back = |value: &Option<String>| {
            value.as_ref().filter(|text| !reads_as_null(text)).map(|text| text.clone().into_bytes())
        };
        let expected: Vec<Fields> =
            rows.iter().map(|row| row.iter().map(read_back).collect()).collect();
        prop_assert_eq!(decode_cut(&options, 2, &data, &cuts), (expected, None));
    }

    #[test]
    fn chunks_do_not_matter(
        options in options(),
        header in any::<bool>(),
        data in "[a\\\\.N\"',|\t\n\r0x7ž]{0,60}",
        junk in prop::collection::vec(any::<u8>(), 0..40),
        columns in 0usize..4,
    ) {
        let mut options = options;
        if header {
            options.header = Header::Names;
        }
        let mut binary = binary::SIGNATURE.to_vec();
        binary.extend_from_slice(&[0; 8]);
        binary.extend_from_slice(&junk);
        for data in [data.as_bytes(), &junk, &binary] {
            let whole = decode_cut(&options, columns, data, &[]);
            for cut in 0..=data.len() {
                prop_assert_eq!(&decode_cut(&options, columns, data, &[cut]), &whole);
            }
            let every: Vec<usize> = (0..=data.len()).collect();
            prop_assert_eq!(&decode_cut(&options, columns, data, &every), &whole);
        }
    }
}

#[test]
fn a_default_is_asked_for_as_it_is_written() {
    let defaults = |options: CopyOptions, columns: usize, data: &[u8]| -> Vec<bool> {
        let mut decoder = CopyDecoder::new(options, columns);
        decoder.feed(data);
        decoder.finish();
        let row = decoder.next_row().expect("well formed").expect("a row");
        (0..columns).map(|i| row.is_default(i)).collect()
    };
    let marked = |options: CopyOptions, mark: &str| {
        let options = CopyOptions { default: Some(mark.into()), ..options };
        options.check().expect("clear");
        options
    };
    assert_eq!(defaults(marked(text(), "\\D"), 3, b"\\D\t\\\\D\t\\N\n"), [true, false, false]);
    assert_eq!(defaults(marked(text(), "dd"), 3, b"dd\td\tddd\n"), [true, false, false]);
    assert_eq!(defaults(marked(csv(), "dd"), 3, b"dd,\"dd\",\n"), [true, false, false]);
    let refused = |options: CopyOptions| options.check().expect_err("unclear").sqlstate();
    let both = CopyOptions { default: Some("\\N".into()), ..text() };
    assert_eq!(refused(both), SqlState::FEATURE_NOT_SUPPORTED);
    let newline = CopyOptions { default: Some("\r".into()), ..text() };
    assert_eq!(refused(newline), SqlState::INVALID_PARAMETER_VALUE);
}
