//! The expected texts are those of psql 15 and of libpq 18's source.

use proptest::prelude::*;

use super::*;

fn refusal(text: &str) -> (String, &'static str) {
    let error = ConnInfo::parse(text).expect_err(text);
    let code = match error.sqlstate() {
        INVALID_OPTION_NAME => "HV00D",
        SqlState::SYNTAX_ERROR => "42601",
        SqlState::INVALID_PARAMETER_VALUE => "22023",
        SqlState::FEATURE_NOT_SUPPORTED => "0A000",
        other => panic!("{other}: {text}"),
    };
    (error.message().to_owned(), code)
}

fn places(text: &str) -> Vec<(String, Option<String>, u16)> {
    let info = ConnInfo::parse(text).expect(text);
    info.hosts.into_iter().map(|host| (host.name, host.address, host.port)).collect()
}

fn place(name: &str, port: u16) -> (String, Option<String>, u16) {
    (name.to_owned(), None, port)
}

#[test]
fn reads_words() {
    let info = ConnInfo::parse(
        r"host = a  port=5433 user='an n' dbname=o\'r\\k password='it\'s' application_name=x\ y
          connect_timeout=' 3 ' options='-c a=b' target_session_attrs=read-write",
    )
    .unwrap();
    assert_eq!(info.hosts, [Host { name: "a".into(), address: None, port: 5433 }]);
    assert_eq!(info.user.as_deref(), Some("an n"));
    assert_eq!(info.dbname.as_deref(), Some(r"o'r\k"));
    assert_eq!(info.password, Some(Secret("it's".into())));
    assert_eq!(info.application_name.as_deref(), Some("x y"));
    assert_eq!(info.connect_timeout, Some(Duration::from_secs(3)));
    assert_eq!(info.options.as_deref(), Some("-c a=b"));
    assert_eq!(info.target, TargetSessionAttrs::ReadWrite);
    // A quote ends a value even without a blank behind it, and a later word replaces an earlier.
    let info = ConnInfo::parse("user='a'dbname=b user=c").unwrap();
    assert_eq!((info.user.as_deref(), info.database()), (Some("c"), Some("b")));
    assert_eq!(ConnInfo::parse("user=c\\").unwrap().user.as_deref(), Some("c"));
    assert_eq!(ConnInfo::parse("  ").unwrap().hosts[0].name, "localhost");
    assert!(!format!("{:?}", ConnInfo::parse("password=hidden")).contains("hidden"));
}

#[test]
fn reads_uris() {
    let info = ConnInfo::parse(
        "postgresql://an%20n:p%40ss@h1:1,[::1]:2,h3/d%2Fb?connect_timeout=5&application_name=a%26b",
    )
    .unwrap();
    let hosts: Vec<_> = info.hosts.iter().map(|host| (host.name.as_str(), host.port)).collect();
    assert_eq!(hosts, [("h1", 1), ("::1", 2), ("h3", 5432)]);
    assert_eq!(info.user.as_deref(), Some("an n"));
    assert_eq!(info.password, Some(Secret("p@ss".into())));
    assert_eq!(info.dbname.as_deref(), Some("d/b"));
    assert_eq!(info.application_name.as_deref(), Some("a&b"));
    assert_eq!(info.connect_timeout, Some(Duration::from_secs(5)));
    assert_eq!(places("postgres://%2Ftmp:7/"), [place("/tmp", 7)]);
    assert_eq!(places("postgresql://"), [place("localhost", 5432)]);
    assert_eq!(places("postgresql:///d?host=a&port=9"), [place("a", 9)]);
    assert_eq!(places("postgresql://h?user=u&"), [place("h", 5432)]);
    assert_eq!(ConnInfo::parse("postgresql://u@/").unwrap().user.as_deref(), Some("u"));
    assert_eq!(ConnInfo::parse("postgresql://u:@h").unwrap().password, None);
}

#[test]
fn lists_of_hosts_and_ports_are_matched() {
    assert_eq!(places("host=a,b port=1,2"), [place("a", 1), place("b", 2)]);
    assert_eq!(places("host=a,b port=1"), [place("a", 1), place("b", 1)]);
    assert_eq!(places("host=a,b port=1,"), [place("a", 1), place("b", 5432)]);
    assert_eq!(places("host=a,,b"), [place("a", 5432), place("localhost", 5432), place("b", 5432)]);
    let address = |ip: &str| Some(ip.to_owned());
    assert_eq!(
        places("host=a,b hostaddr=1.1.1.1,2.2.2.2"),
        [("a".into(), address("1.1.1.1"), 5432), ("b".into(), address("2.2.2.2"), 5432)]
    );
    assert_eq!(places("hostaddr=1.1.1.1"), [(String::new(), address("1.1.1.1"), 5432)]);
    let host = ConnInfo::parse("host=/tmp port=1").unwrap().hosts.remove(0);
    assert_eq!(host.socket_path(), Some(PathBuf::from("/tmp/.s.PGSQL.1")));
    let many = vec!["a"; 101].join(",");
    assert!(ConnInfo::parse(&format!("host={many}")).is_err());
}

#[test]
fn refuses_what_libpq_refuses() {
    for (text, code, message) in [
        ("foo=1", "HV00D", "invalid connection option \"foo\""),
        ("host=a =b", "HV00D", "invalid connection option \"\""),
        ("foo", "42601", "missing \"=\" after \"foo\" in connection info string"),
        ("foo bar=1", "42601", "missing \"=\" after \"foo\" in connection info string"),
        ("host='a", "42601", "unterminated quoted string in connection info string"),
        ("host='a\\", "42601", "unterminated quoted string in connection info string"),
        ("host=a,b port=1,2,3", "22023", "could not match 3 port numbers to 2 hosts"),
        (
            "host=a hostaddr=1.2.3.4,2.3.4.5",
            "22023",
            "could not match 1 host names to 2 hostaddr values",
        ),
        (
            "port=99999999999",
            "22023",
            "invalid integer value \"99999999999\" for connection option \"port\"",
        ),
        ("port=x", "22023", "invalid integer value \"x\" for connection option \"port\""),
        ("port=70000", "22023", "invalid port number: \"70000\""),
        ("port=0", "22023", "invalid port number: \"0\""),
        ("sslmode=x", "22023", "invalid sslmode value: \"x\""),
        ("gssencmode=x", "22023", "invalid gssencmode value: \"x\""),
        ("channel_binding=x", "22023", "invalid channel_binding value: \"x\""),
        ("target_session_attrs=x", "22023", "invalid target_session_attrs value: \"x\""),
        (
            "connect_timeout=x",
            "22023",
            "invalid integer value \"x\" for connection option \"connect_timeout\"",
        ),
        (
            "keepalives_idle=",
            "22023",
            "invalid integer value \"\" for connection option \"keepalives_idle\"",
        ),
        ("max_protocol_version=4", "22023", "invalid max_protocol_version value: \"4\""),
    ] {
        assert_eq!(refusal(text), (message.to_owned(), code), "{text}");
    }
}

#[test]
fn refuses_uris_that_libpq_refuses() {
    for (text, message) in [
        (
            "postgresql://[::1",
            "end of string reached when looking for matching \"]\" in IPv6 host address in URI: \
             \"postgresql://[::1\"",
        ),
        ("postgresql://[]/x", "IPv6 host address may not be empty in URI: \"postgresql://[]/x\""),
        (
            "postgresql://[::1]x/",
            "unexpected character \"x\" at position 19 in URI (expected \":\" or \"/\"): \
             \"postgresql://[::1]x/\"",
        ),
        ("postgresql://h/?a", "missing key/value separator \"=\" in URI query parameter: \"a\""),
        ("postgresql://h/?a=b=c", "extra key/value separator \"=\" in URI query parameter: \"a\""),
        ("postgresql://h%zz/", "invalid percent-encoded token: \"h%zz\""),
        ("postgresql://h%0", "invalid percent-encoded token: \"h%0\""),
        ("postgresql://h%00/", "forbidden value %00 in percent-encoded value: \"h%00\""),
        (
            "postgresql://a b/",
            "unexpected spaces found in \"a b\", use percent-encoded spaces (%20) instead",
        ),
    ] {
        assert_eq!(refusal(text), (message.to_owned(), "42601"), "{text}");
    }
    assert_eq!(
        refusal("postgresql://h/?a=b"),
        ("invalid URI query parameter: \"a\"".to_owned(), "HV00D")
    );
}

#[test]
fn what_needs_tls_is_refused_by_name() {
    for (text, message) in [
        ("sslmode=require", "sslmode \"require\" is not supported yet"),
        ("sslmode=verify-full", "sslmode \"verify-full\" is not supported yet"),
        ("requiressl=1", "sslmode \"require\" is not supported yet"),
        ("postgresql://h/?ssl=true", "sslmode \"require\" is not supported yet"),
        ("channel_binding=require", "channel_binding \"require\" is not supported yet"),
        ("load_balance_hosts=random", "load_balance_hosts \"random\" is not supported yet"),
        ("service=x", "service \"x\" is not supported yet"),
        ("requirepeer=postgres", "requirepeer \"postgres\" is not supported yet"),
        ("client_encoding=LATIN1", "client_encoding \"LATIN1\" is not supported yet"),
    ] {
        assert_eq!(refusal(text), (message.to_owned(), "0A000"), "{text}");
    }
    for accepted in ["sslmode=prefer", "sslmode=allow", "sslmode=disable", "requiressl=0"] {
        ConnInfo::parse(accepted).unwrap();
    }
}

#[test]
fn takes_separate_words() {
    let words = [("host", "a"), ("keepalives", "0"), ("keepalives_idle", "7"), ("user", "u")];
    let info = ConnInfo::from_words(words).unwrap();
    assert!(!info.keepalives.enabled);
    assert_eq!(info.keepalives.idle, Some(Duration::from_secs(7)));
    assert_eq!(info.database(), Some("u"));
    assert!(ConnInfo::from_words([("user", "a\0b")]).is_err());
    let newer = ConnInfo::parse("min_protocol_version=3.2").unwrap();
    assert_eq!(newer.newest_protocol, ProtocolVersion::V3_2);
    assert!(NAMES.is_sorted());
}

proptest! {
    /// Each text is read, or refused with an error.
    #[test]
    fn every_text_ends(text in "(postgres(ql)?://)?[a-z%0-9 =:@/\\[\\],?&'\\\\\\PC]{0,40}") {
        if let Err(error) = ConnInfo::parse(&text) {
            prop_assert_ne!(error.sqlstate(), SqlState::INTERNAL_ERROR);
        }
    }

    #[test]
    fn a_value_survives_each_spelling(value in "[^\\x00]{1,20}") {
        let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
        let encoded: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for text in [format!("password='{quoted}'"), format!("postgresql://:{encoded}@h/")] {
            prop_assert_eq!(ConnInfo::parse(&text).unwrap().password, Some(Secret(value.clone())));
        }
    }
}
