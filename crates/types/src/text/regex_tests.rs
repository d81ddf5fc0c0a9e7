//! Results that PostgreSQL 15 gave.

use super::*;

fn compile(pattern: &str, flags: &str) -> Regex {
    Regex::new(pattern, RegexFlags::parse(flags).unwrap()).unwrap()
}

fn is_match(text: &str, pattern: &str) -> bool {
    compile(pattern, "").is_match(text).unwrap()
}

#[test]
fn advanced_syntax_matches() {
    for (text, pattern, expected) in [
        ("a.c", "a\\.c", true),
        ("a\nb", "a.b", true),
        ("a\nb", "^b", false),
        ("a\nb", "(?n)^b", true),
        ("foo bar", "\\mbar\\M", true),
        ("foobar", "\\mbar", false),
        ("foo bar", "[[:<:]]bar[[:>:]]", true),
        ("é", "\\w", true),
        ("ab", "(?i)AB", true),
        ("a+", "***=a+", true),
        ("aa", "***=a+", false),
        ("a{", "a{", true),
        ("a", "a|", true),
        ("ab", "()b", true),
        ("a]", "[]]", true),
        ("x", "[^]]", true),
        ("\\", "[\\\\]", true),
        ("d", "[\\d]", false),
        ("aab", "a{2}b", true),
        ("a{,2}", "a{,2}", true),
        ("abab", "(ab)\\1", true),
        ("abac", "(ab)\\1", false),
        ("ab", "a(?=b)", true),
        ("a-b", "[a\\-]-", true),
        ("A", "\\x41", true),
        ("a b", "(?x) a [ ] b # comment", true),
    ] {
        assert_eq!(is_match(text, pattern), expected, "{text:?} ~ {pattern:?}");
    }
    assert!(compile("a", "i").is_match("A").unwrap());
}

#[test]
fn bad_patterns_have_the_librarys_messages() {
    for (pattern, reason) in [
        ("(", "parentheses () not balanced"),
        (")", "parentheses () not balanced"),
        ("*a", "quantifier operand invalid"),
        ("a**", "quantifier operand invalid"),
        ("[a", "brackets [] not balanced"),
        ("a{2,1}", "invalid repetition count(s)"),
        ("a\\", "invalid escape \\ sequence"),
        ("[b-a]", "invalid character range"),
        ("[[:foo:]]", "invalid character class"),
        ("\\1", "invalid backreference number"),
    ] {
        let error = Regex::new(pattern, RegexFlags::default()).err().unwrap();
        assert_eq!(error.sqlstate(), SqlState::INVALID_REGULAR_EXPRESSION);
        assert_eq!(error.message(), format!("invalid regular expression: {reason}"), "{pattern}");
    }
    let error = RegexFlags::parse("z").unwrap_err();
    assert_eq!(error.message(), "invalid regular expression option: \"z\"");
    let deep = "(".repeat(100_000) + &")".repeat(100_000);
    assert!(Regex::new(&deep, RegexFlags::default()).is_err());
    assert!(Regex::new("((a{255}){255}){255}", RegexFlags::default()).is_err());
}

#[test]
fn the_longest_match_wins() {
    let substring =
        |text, pattern| substring_regex(text, &compile(pattern, "")).unwrap().map(str::to_string);
    assert_eq!(substring("abcd", "ab|abcd").as_deref(), Some("abcd"));
    assert_eq!(substring("xabcx", "a(?:b|bc)").as_deref(), Some("abc"));
    assert_eq!(substring("ab", "a?(?:ab)?").as_deref(), Some("ab"));
    assert_eq!(substring("foobar", "o(.)b").as_deref(), Some("o"));
    assert_eq!(substring("foobar", "x"), None);
    assert_eq!(substring("b", "(a)|b"), None);
    let groups = regexp_matches("abcd", &compile("(a|ab)(c|bcd)", ""), false).unwrap();
    assert_eq!(groups, [[Some("a"), Some("bcd")]]);
    let groups = |text, pattern| {
        let found = regexp_matches(text, &compile(pattern, ""), false).unwrap();
        found.into_iter().flatten().map(|g| g.map(str::to_string)).collect::<Vec<_>>()
    };
    let some = |text: &str| Some(text.to_string());
    assert_eq!(groups("xababb", "(a|ab)(.)*."), [some("ab"), some("b")]);
    assert_eq!(groups("aab", "(a|b)+"), [some("b")]);
    assert_eq!(groups("2024-02", "(\\d+)-(\\d+)"), [some("2024"), some("02")]);
    for ambiguous in ["((a)|b)*", "(a*)+", "(.+){1,2}", "(a*|ab)c"] {
        let error = regexp_matches("aabc", &compile(ambiguous, ""), false).unwrap_err();
        assert_eq!(error.sqlstate().as_str(), "0A000", "{ambiguous}");
        assert!(regexp_count("aabc", &compile(ambiguous, ""), 1).is_ok());
    }
    let mixed = compile("a*?b*", "");
    assert_eq!(mixed.find_at("aabb", 0).unwrap_err().sqlstate().as_str(), "0A000");
}

#[test]
fn matches_are_replaced() {
    let replace = |text, pattern, replacement, start, n| {
        regexp_replace(text, &compile(pattern, ""), replacement, start, n).unwrap()
    };
    assert_eq!(replace("abcabc", "b", "[\\&]", 1, 0), "a[b]ca[b]c");
    assert_eq!(replace("foobar", "(o)(b)", "\\2\\1", 1, 1), "foboar");
    assert_eq!(replace("abc", "b*", "X", 1, 0), "XaXXcX");
    assert_eq!(replace("foo.bar", "(.)\\.(.)", "[\\1\\\\\\2]", 1, 1), "fo[o\\b]ar");
    assert_eq!(replace("aaa", "a", "b", 2, 1), "aba");
    assert_eq!(replace("aaa", "a", "b", 1, 2), "aba");
    assert_eq!(replace("aaa", "a", "b", 2, 0), "abb");
    assert_eq!(replace("éé", "^|$", "-", 1, 0), "-éé-");
}

#[test]
fn texts_are_split_and_counted() {
    let split = |text, pattern| {
        let parts = regexp_split(text, &compile(pattern, "")).unwrap();
        parts.into_iter().map(str::to_string).collect::<Vec<String>>()
    };
    assert_eq!(split("a,b;c", "[,;]"), ["a", "b", "c"]);
    assert_eq!(split("abc", ""), ["a", "b", "c"]);
    assert_eq!(split("abc", "b*"), ["a", "c"]);
    assert_eq!(regexp_count("aaa", &compile("a", ""), 1).unwrap(), 3);
    assert_eq!(regexp_count("aXa", &compile("x", "i"), 1).unwrap(), 1);
    let bc = compile("(b)(c)", "i");
    assert_eq!(regexp_instr("abcabc", &bc, 1, 2, true, 2).unwrap(), 7);
    assert_eq!(regexp_substr("abcabc", &bc, 1, 1, 2).unwrap(), Some("c"));
    let error = regexp_substr("a", &bc, 0, 1, 0).unwrap_err();
    assert_eq!(error.message(), "invalid value for parameter \"start\": 0");
}

#[test]
fn similar_to_is_translated() {
    let similar = |text, pattern| is_match(text, &similar_to_regex(pattern, Some('\\')).unwrap());
    assert!(similar("abc", "(a|b)%") && similar("abc", "a_c") && !similar("abc", "b"));
    assert!(similar("a.b", "a.b") && !similar("axb", "a.b"));
    assert!(similar("a%", "a\\%") && !similar("ab", "a\\%"));
    assert!(similar("]", "[]]") && similar("x%", "[^%]%"));
}

/// The match that the engine finds in one call, and that of a search which looks for interrupts.
#[test]
fn long_texts_are_searched_alike() {
    let pad = "é. x-".repeat(300_000);
    let texts = [
        pad.clone(),
        format!("{pad}abcabcab,"),
        format!("ab{pad}"),
        format!("{pad}aaaa\u{11f}b{pad}xyzzy"),
        format!("{pad}\nabcb"),
    ];
    let patterns = [
        "[abc]+",
        "(a|ab)(c|bcd)*",
        "(?:a|ab)(?:c|bcd)*",
        "[a-c]{2,3}$",
        "^[aé].*y",
        "[[:<:]]a",
        "[ab]+?",
        "(x|y|z)+y",
        "[qw]",
        "\\d",
        "x-é",
        "[xyz]+$",
        "\\mab",
        "(?n)^[ab]+c",
        "b\\M",
    ];
    for (text, pattern) in texts.iter().flat_map(|text| patterns.map(|pattern| (text, pattern))) {
        let regex = compile(pattern, "");
        assert!(LongSearch::is_long(text, 0, false));
        let Engine::Linear(engine) = &regex.engine else { panic!("{pattern}") };
        assert_eq!(regex.is_match(text).unwrap(), engine.is_match(text.as_str()), "{pattern}");
        for from in [0, 2, pad.len()] {
            let expected = regex.match_in(text, from, Anchored::No).unwrap();
            assert_eq!(regex.find_at(text, from).unwrap(), expected, "{pattern} from {from}");
        }
    }
    let searched = compile("[a-z]+", "");
    assert!(searched.long_search(&pad, 0).is_some() && searched.long_search("abc", 0).is_none());
    assert!(Regex::new(&"a".repeat(PATTERN_BYTES_MAX + 1), RegexFlags::default()).is_err());
}
