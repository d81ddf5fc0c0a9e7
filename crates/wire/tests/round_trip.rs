//! Both sides of the codec against each other, and against unexpected bytes. The one side reads
//! what the other writes. The way in which bytes are delivered makes no difference. Invalid input
//! is an error, never a panic and never memory.

use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use steppe_types::error::Severity;
use steppe_types::{Error, SqlState};
use steppe_wire::backend::{self, CopyDirection, Field};
use steppe_wire::client::receive::{self, Authentication, BackendMessage};
use steppe_wire::client::send;
use steppe_wire::frontend::{self, FrontendMessage, SaslInitialResponse, Target};
use steppe_wire::startup::{self, ProtocolVersion, StartupPacket};
use steppe_wire::{DataRow, Format, Phase, TransactionStatus, frame};

/// A string the protocol can carry.
fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,12}"
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop::option::of(vec(any::<u8>(), 0..20))
}

fn format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Text), Just(Format::Binary)]
}

fn is_statement() -> impl Strategy<Value = bool> {
    any::<bool>()
}

fn target(is_statement: bool, name: &str) -> Target<'_> {
    if is_statement { Target::Statement(name) } else { Target::Portal(name) }
}

/// The single message in `buf`.
fn only(buf: &[u8]) -> FrontendMessage<'_> {
    let frame = frame::peek(buf, Phase::Ready).expect("framed").expect("whole");
    assert_eq!(frame.wire_len(), buf.len());
    frontend::decode(frame).expect("decoded")
}

fn only_backend(buf: &[u8]) -> BackendMessage<'_> {
    let frame = frame::peek_backend(buf).expect("framed").expect("whole");
    assert_eq!(frame.wire_len(), buf.len());
    receive::decode(frame).expect("decoded")
}

fn slices(values: &[Option<Vec<u8>>]) -> Vec<Option<&[u8]>> {
    values.iter().map(Option::as_deref).collect()
}

proptest! {
    #[test]
    fn a_server_reads_what_a_client_writes(
        (name, sql, reason) in (text(), text(), text()),
        types in vec(any::<u32>(), 0..5),
        (max_rows, is_statement) in (any::<i32>(), is_statement()),
        data in vec(any::<u8>(), 0..50),
    ) {
        let mut buf = Vec::new();
        send::query(&mut buf, &sql).unwrap();
        prop_assert_eq!(only(&buf), FrontendMessage::Query(&sql));

        buf.clear();
        send::parse(&mut buf, &name, &sql, &types).unwrap();
        let FrontendMessage::Parse(parse) = only(&buf) else { panic!("not Parse") };
        prop_assert_eq!((parse.statement, parse.query), (&name[..], &sql[..]));
        prop_assert_eq!(parse.types.iter().collect::<Vec<_>>(), types);

        buf.clear();
        send::describe(&mut buf, target(is_statement, &name));
        prop_assert_eq!(only(&buf), FrontendMessage::Describe(target(is_statement, &name)));
        buf.clear();
        send::close(&mut buf, target(is_statement, &name));
        prop_assert_eq!(only(&buf), FrontendMessage::Close(target(is_statement, &name)));
        buf.clear();
        send::execute(&mut buf, &name, max_rows);
        prop_assert_eq!(only(&buf), FrontendMessage::Execute { portal: &name, max_rows });
        buf.clear();
        send::copy_data(&mut buf, |buf| { buf.extend_from_slice(&data); Ok(()) }).unwrap();
        prop_assert_eq!(only(&buf), FrontendMessage::CopyData(&data));
        buf.clear();
        send::copy_fail(&mut buf, &reason).unwrap();
        prop_assert_eq!(only(&buf), FrontendMessage::CopyFail(&reason));
    }

    #[test]
    fn a_server_reads_a_clients_values(
        (portal, statement) in (text(), text()),
        params in vec((value(), format()), 0..6),
        result_formats in vec(format(), 0..4),
        (function, result_format) in (any::<u32>(), format()),
    ) {
        let (values, formats): (Vec<_>, Vec<_>) = params.into_iter().unzip();
        let mut buf = Vec::new();
        send::bind(&mut buf, &portal, &statement, &formats, slices(&values), &result_formats)
            .unwrap();
        let FrontendMessage::Bind(bind) = only(&buf) else { panic!("not Bind") };
        prop_assert_eq!((bind.portal, bind.statement), (&portal[..], &statement[..]));
        prop_assert_eq!(bind.params.iter().collect::<Vec<_>>(), slices(&values));
        for (i, format) in formats.iter().enumerate() {
            prop_assert_eq!(bind.formats.get(i).unwrap(), *format);
        }
        let codes: Vec<i16> = result_formats.iter().map(|format| format.code()).collect();
        prop_assert_eq!(bind.result_formats.codes().collect::<Vec<_>>(), codes);

        buf.clear();
        send::function_call(&mut buf, function, &formats, slices(&values), result_format).unwrap();
        let FrontendMessage::FunctionCall(call) = only(&buf) else { panic!("not FunctionCall") };
        prop_assert_eq!((call.function, call.result_format), (function, result_format));
        prop_assert_eq!(call.args.iter().collect::<Vec<_>>(), slices(&values));
    }

    #[test]
    fn a_server_reads_start_up_packets(
        user in "[^\0]{1,20}",
        settings in vec(("[a-z]{10}", text()), 0..4),
        (process_id, key) in (any::<i32>(), vec(any::<u8>(), 1..=256)),
        version in prop_oneof![Just(ProtocolVersion::V3_0), Just(ProtocolVersion::V3_2)],
    ) {
        let mut parameters: Vec<(&str, &str)> =
            settings.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        parameters.push(("user", &user));
        let mut buf = Vec::new();
        send::startup(&mut buf, version, &parameters);
        let Some((StartupPacket::Startup(startup), len)) = startup::peek(&buf).unwrap() else {
            panic!("not a startup")
        };
        prop_assert_eq!(len, buf.len());
        prop_assert!(user.starts_with(startup.user) && startup.user.len() <= 63);
        prop_assert_eq!(startup.protocol, version);
        parameters.pop();
        prop_assert_eq!(startup.settings, parameters);
        for cut in 0..buf.len() {
            prop_assert_eq!(startup::peek(&buf[..cut]).unwrap(), None);
        }

        buf.clear();
        send::cancel_request(&mut buf, process_id, &key);
        let Some((StartupPacket::Cancel(cancel), _)) = startup::peek(&buf).unwrap() else {
            panic!("not a cancel")
        };
        prop_assert_eq!((cancel.process_id, cancel.key), (process_id, &key[..]));
    }

    #[test]
    fn a_client_reads_a_servers_rows(
        names in vec(text(), 0..5),
        numbers in any::<(u32, i16, u32, i16, i32)>(),
        format in format(),
        values in vec(value(), 0..6),
    ) {
        let field = |name| Field {
            name,
            table_oid: numbers.0,
            column: numbers.1,
            type_oid: numbers.2,
            type_size: numbers.3,
            type_modifier: numbers.4,
            format,
        };
        let mut buf = Vec::new();
        backend::row_description(&mut buf, names.iter().map(|name| field(name))).unwrap();
        let BackendMessage::RowDescription(fields) = only_backend(&buf) else {
            panic!("not RowDescription")
        };
        let expected: Vec<_> = names.iter().map(|name| field(name)).collect();
        prop_assert_eq!(fields.iter().collect::<Vec<_>>(), expected);

        buf.clear();
        let mut row = DataRow::begin(&mut buf);
        for value in &values {
            match value {
                Some(bytes) => row.bytes(bytes).unwrap(),
                None => row.null(),
            }
        }
        row.finish().unwrap();
        let BackendMessage::DataRow(row) = only_backend(&buf) else { panic!("not DataRow") };
        prop_assert_eq!(row.iter().collect::<Vec<_>>(), slices(&values));
    }

    #[test]
    fn a_client_reads_a_servers_errors(
        message in text(),
        optional in vec(prop::option::of(text()), 9),
        position in prop::option::of(any::<u32>()),
        severity in prop_oneof![
            Just(Severity::Error), Just(Severity::Fatal), Just(Severity::Panic),
            Just(Severity::Warning), Just(Severity::Notice), Just(Severity::Info),
            Just(Severity::Debug)
        ],
    ) {
        let mut error = Error::new(SqlState::UNIQUE_VIOLATION, message).severity(severity);
        let fields = error.fields_mut();
        fields.position = position;
        [
            &mut fields.detail, &mut fields.hint, &mut fields.context, &mut fields.schema,
            &mut fields.table, &mut fields.column, &mut fields.datatype, &mut fields.constraint,
        ].into_iter().zip(optional).for_each(|(field, value)| *field = value);
        let mut buf = Vec::new();
        backend::error_response(&mut buf, &error);
        let decoded = match only_backend(&buf) {
            BackendMessage::ErrorResponse(decoded) => {
                prop_assert!(matches!(severity, Severity::Error | Severity::Fatal | Severity::Panic));
                decoded
            }
            BackendMessage::NoticeResponse(decoded) => decoded,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(format!("{:?}", decoded), format!("{:?}", error));
    }

    #[test]
    fn junk_is_refused_without_panic_or_memory(
        tag in prop::sample::select(&b"QPBDECFHSXdcfpRTtZKSNvAGHWVI123ns"[..]),
        body in vec(prop_oneof![Just(0u8), Just(0xff), Just(b'S'), any::<u8>()], 0..60),
    ) {
        let frame = steppe_wire::Frame { tag, body: &body };
        let _ = frontend::decode(frame);
        if let Ok(BackendMessage::RowDescription(fields)) = receive::decode(frame) {
            prop_assert_eq!(fields.iter().count(), fields.len());
        }
        let _ = SaslInitialResponse::decode(&body);
        let _ = frontend::password(&body);
        let _ = startup::peek(&body);
        for phase in [Phase::Ready, Phase::Authentication] {
            let mut buf = BytesMut::from(&body[..]);
            let before = buf.capacity();
            while let Ok(Some(_)) = frame::next_message(&mut buf, phase) {}
            prop_assert!(buf.capacity() <= before);
        }
        prop_assert!(frame::read_ahead(&body) <= 8192.max(body.len()));
        let _ = frame::peek_backend(&body);
    }

    #[test]
    fn a_changed_session_is_read_or_refused(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = a_session();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        let mut buf = BytesMut::from(&bytes[..]);
        let before = buf.capacity();
        while let Ok(Some(frame)) = frame::next_message(&mut buf, Phase::Ready) {
            if let Ok(FrontendMessage::Bind(bind)) = frontend::decode(frame.as_frame()) {
                // A message has as many items as it counts: no memory is reserved for items that
                // are missing.
                prop_assert!(bind.params.iter().count() <= bytes.len());
            }
        }
        prop_assert!(buf.capacity() <= before);
    }
}

/// One of each message a client sends after start-up.
fn a_session() -> Vec<u8> {
    let mut buf = Vec::new();
    send::query(&mut buf, "select 'žluť'").unwrap();
    send::parse(&mut buf, "s", "select $1", &[23, 0]).unwrap();
    let params = [Some(&b"42"[..]), None];
    send::bind(&mut buf, "p", "s", &[Format::Binary], params, &[]).unwrap();
    send::describe(&mut buf, Target::Portal("p"));
    send::execute(&mut buf, "p", 10);
    send::close(&mut buf, Target::Statement("s"));
    send::flush(&mut buf);
    send::sync(&mut buf);
    send::copy_data(&mut buf, |buf| {
        buf.extend_from_slice(b"1\t2\n");
        Ok(())
    })
    .unwrap();
    send::copy_done(&mut buf);
    send::terminate(&mut buf);
    buf
}

#[test]
fn delivery_makes_no_difference() {
    let bytes = a_session();
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut buf = BytesMut::new();
        let mut messages = Vec::new();
        for piece in pieces {
            buf.extend_from_slice(piece);
            while let Some(frame) = frame::next_message(&mut buf, Phase::Ready).expect("framed") {
                messages.push(format!("{:?}", frontend::decode(frame.as_frame())));
            }
        }
        assert!(buf.is_empty());
        messages
    };
    let whole = read(&mut [&bytes[..]].into_iter());
    assert_eq!(whole.len(), 11);
    for cut in 0..=bytes.len() {
        assert_eq!(read(&mut [&bytes[..cut], &bytes[cut..]].into_iter()), whole);
    }
    assert_eq!(read(&mut bytes.chunks(1)), whole);
}

#[test]
fn a_client_reads_a_servers_other_messages() {
    let shown = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut buf = Vec::new();
        write(&mut buf);
        format!("{:?}", only_backend(&buf))
    };
    let same = |write: &dyn Fn(&mut Vec<u8>), expected: BackendMessage<'_>| {
        assert_eq!(shown(write), format!("{expected:?}"));
    };
    same(&backend::parse_complete, BackendMessage::ParseComplete);
    same(&backend::bind_complete, BackendMessage::BindComplete);
    same(&backend::close_complete, BackendMessage::CloseComplete);
    same(&backend::no_data, BackendMessage::NoData);
    same(&backend::portal_suspended, BackendMessage::PortalSuspended);
    same(&backend::empty_query_response, BackendMessage::EmptyQueryResponse);
    same(&backend::copy_done, BackendMessage::CopyDone);
    same(
        &|buf| backend::command_complete_rows(buf, "INSERT 0", 5),
        BackendMessage::CommandComplete("INSERT 0 5"),
    );
    same(&|buf| backend::command_complete(buf, "BEGIN"), BackendMessage::CommandComplete("BEGIN"));
    for status in
        [TransactionStatus::Idle, TransactionStatus::InTransaction, TransactionStatus::Failed]
    {
        same(&|buf| backend::ready_for_query(buf, status), BackendMessage::ReadyForQuery(status));
    }
    same(
        &|buf| backend::parameter_status(buf, "TimeZone", "UTC"),
        BackendMessage::ParameterStatus { name: "TimeZone", value: "UTC" },
    );
    same(
        &|buf| backend::backend_key_data(buf, 7, b"key!!"),
        BackendMessage::BackendKeyData { process_id: 7, key: b"key!!" },
    );
    same(
        &|buf| backend::notification_response(buf, 7, "c", "p"),
        BackendMessage::Notification { process_id: 7, channel: "c", payload: "p" },
    );
    same(
        &|buf| backend::negotiate_protocol_version(buf, ProtocolVersion::V3_2, &["_pq_.a"]),
        BackendMessage::NegotiateProtocolVersion {
            version: ProtocolVersion::V3_2,
            unrecognized: vec!["_pq_.a"],
        },
    );
    same(
        &|buf| backend::function_call_response(buf, Some(b"x")).unwrap(),
        BackendMessage::FunctionCallResponse(Some(b"x")),
    );
    same(
        &|buf| {
            backend::copy_data(buf, |buf| {
                buf.push(b'x');
                Ok(())
            })
            .unwrap()
        },
        BackendMessage::CopyData(b"x"),
    );
    let mut buf = Vec::new();
    backend::parameter_description(&mut buf, &[23, 25]);
    let BackendMessage::ParameterDescription(types) = only_backend(&buf) else { panic!() };
    assert_eq!(types.iter().collect::<Vec<_>>(), [23, 25]);
    for direction in [CopyDirection::In, CopyDirection::Out, CopyDirection::Both] {
        buf.clear();
        backend::copy_response(&mut buf, direction, Format::Binary, 2);
        let BackendMessage::CopyResponse { direction: way, format, columns } = only_backend(&buf)
        else {
            panic!()
        };
        assert_eq!((way, format), (direction, Format::Binary));
        assert_eq!(columns.codes().collect::<Vec<_>>(), [1, 1]);
    }
}

#[test]
fn authentication_is_carried_both_ways() {
    let shown = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut buf = Vec::new();
        write(&mut buf);
        match only_backend(&buf) {
            BackendMessage::Authentication(request) => format!("{request:?}"),
            other => panic!("{other:?}"),
        }
    };
    let same = |write: &dyn Fn(&mut Vec<u8>), expected: Authentication<'_>| {
        assert_eq!(shown(write), format!("{expected:?}"));
    };
    same(&backend::authentication_ok, Authentication::Ok);
    same(&backend::authentication_cleartext_password, Authentication::CleartextPassword);
    same(
        &|buf| backend::authentication_md5_password(buf, *b"salt"),
        Authentication::Md5Password(*b"salt"),
    );
    same(
        &|buf| backend::authentication_sasl(buf, &["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]),
        Authentication::Sasl(vec!["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]),
    );
    same(
        &|buf| backend::authentication_sasl_continue(buf, b"r=1"),
        Authentication::SaslContinue(b"r=1"),
    );
    same(&|buf| backend::authentication_sasl_final(buf, b"v=1"), Authentication::SaslFinal(b"v=1"));

    let mut buf = Vec::new();
    send::password(&mut buf, "secret").unwrap();
    send::sasl_initial_response(&mut buf, "SCRAM-SHA-256", Some(b"n,,")).unwrap();
    send::sasl_response(&mut buf, b"c=biws").unwrap();
    let mut input = BytesMut::from(&buf[..]);
    let mut next = || frame::next_message(&mut input, Phase::Authentication).unwrap().unwrap();
    assert_eq!(frontend::password(&next().body).unwrap(), b"secret");
    let initial = next();
    let initial = SaslInitialResponse::decode(&initial.body).unwrap();
    assert_eq!((initial.mechanism, initial.data), ("SCRAM-SHA-256", Some(&b"n,,"[..])));
    assert_eq!(&next().body[..], b"c=biws");
}

#[test]
fn strings_cannot_move_a_boundary() {
    let mut buf = Vec::new();
    backend::command_complete(&mut buf, "SELECT 1\0Z\0\0\0\x05I");
    assert!(matches!(only_backend(&buf), BackendMessage::CommandComplete("SELECT 1")));
    buf.clear();
    let too_many = vec![Format::Text; 65_536];
    assert!(send::bind(&mut buf, "", "", &too_many, [], &[]).is_err());
    assert!(buf.is_empty());
}
