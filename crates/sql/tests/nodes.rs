//! Statements and clauses about nodes: what they read as, where the rest of the text is, and that no
//! other text is taken for one.

use proptest::prelude::*;
use steppe_sql::ast::{
    AlterTableCommand, DistributeBy, Distribution, DistributionMethod, NodeSet, Statement,
};
use steppe_sql::parser::{ParsedStatement, parse};
use steppe_types::SqlState;

fn one(text: &str) -> Statement {
    let mut parsed = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(parsed.len(), 1, "{text}");
    parsed.remove(0).statement
}

/// The message and the position of a text's error.
fn refusal(text: &str) -> (String, Option<u32>) {
    match parse(text) {
        Ok(parsed) => panic!("{text} is accepted: {parsed:?}"),
        Err(error) => {
            assert_eq!(error.sqlstate(), SqlState::SYNTAX_ERROR, "{text}");
            (error.message().to_owned(), error.fields().position)
        }
    }
}

/// The error is at this token, which the text has once.
fn refused_at(text: &str, token: &str) {
    let (message, position) = refusal(text);
    assert_eq!(message, format!("syntax error at or near \"{token}\""), "{text}");
    let before = text.find(token).expect("the token");
    assert_eq!(position, Some(text[..before].chars().count() as u32 + 1), "{text}");
}

fn options(text: &str) -> Vec<(String, Option<String>, usize)> {
    let options = match one(text) {
        Statement::CreateNode(stmt) => stmt.options,
        Statement::AlterNode(stmt) => stmt.options,
        other => panic!("{text}: {other:?}"),
    };
    let of = |option: steppe_sql::ast::NodeOption| {
        (option.name, option.value, option.location.offset().unwrap())
    };
    options.into_iter().map(of).collect()
}

#[test]
fn a_node_has_options() {
    let text = "create node dn1 with (TYPE = 'datanode', host = 'é.example', PORT=5433, primary, \
        preferred = false, password = E'a\\'b', type = datanode)";
    let found = options(text);
    let named: Vec<(&str, Option<&str>)> =
        found.iter().map(|(name, value, _)| (&**name, value.as_deref())).collect();
    assert_eq!(
        named,
        [
            ("type", Some("datanode")),
            ("host", Some("é.example")),
            ("port", Some("5433")),
            ("primary", None),
            ("preferred", Some("false")),
            ("password", Some("a'b")),
            ("type", Some("datanode")),
        ]
    );
    for (name, _, at) in &found {
        assert!(text[*at..].to_ascii_lowercase().starts_with(name), "{name} at {at}");
    }
    assert!(options("Alter Node x").is_empty());
    let Statement::CreateNode(stmt) = one("CREATE NODE \"Dn 1\" WITH (a.b = 1)") else { panic!() };
    assert_eq!((&*stmt.name, &*stmt.options[0].name), ("Dn 1", "a.b"));
}

#[test]
fn groups_and_drops_name_their_objects() {
    for text in ["create node group g with (a, \"B\")", "CREATE NODE GROUP g WITH a, \"B\" ;"] {
        let Statement::CreateNodeGroup(stmt) = one(text) else { panic!("{text}") };
        assert_eq!((&*stmt.name, stmt.members), ("g", vec!["a".to_owned(), "B".to_owned()]));
    }
    let Statement::DropNode(stmt) = one("drop node DN1") else { panic!() };
    assert_eq!(stmt.name, "dn1");
    let Statement::DropNodeGroup(stmt) = one("drop node group U&\"\\0061\"") else { panic!() };
    assert_eq!(stmt.name, "a");
    let long = "x".repeat(70);
    let Statement::DropNode(stmt) = one(&format!("drop node {long}")) else { panic!() };
    assert_eq!(stmt.name.len(), 63, "a name is cut as all names are");
}

#[test]
fn a_query_is_for_nodes() {
    for (string, query) in [
        ("'select ''a'''", "select 'a'"),
        ("$x$select 1; select 2$x$", "select 1; select 2"),
        ("E'a\\nb'", "a\nb"),
    ] {
        let text = format!("/* é */ execute direct on (dn1, dn2) {string}");
        let Statement::ExecuteDirect(stmt) = one(&text) else { panic!("{text}") };
        assert_eq!((stmt.nodes, &*stmt.query), (vec!["dn1".into(), "dn2".into()], query));
        assert!(text[stmt.query_location.offset().unwrap()..].starts_with(string));
    }
}

fn by(method: DistributionMethod) -> Option<(DistributionMethod, Option<String>)> {
    Some((method, None))
}

fn distribution_of(text: &str) -> Option<Box<Distribution>> {
    match one(text) {
        Statement::CreateTable(create) => create.distribution,
        Statement::CreateTableAs(create) => create.into.distribution,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_new_table_has_a_distribution() {
    let nodes = |names: &[&str]| {
        Some(NodeSet::Nodes(names.iter().map(|name| (*name).to_owned()).collect()))
    };
    let on_a = |method| Some((method, Some("a".to_owned())));
    for (clause, expected, to) in [
        ("distribute by hash (a)", on_a(DistributionMethod::Hash), None),
        ("DISTRIBUTE /* , */ BY Modulo(\"a\")", on_a(DistributionMethod::Modulo), None),
        ("distribute by range (a)", on_a(DistributionMethod::Range), None),
        ("distribute by roundrobin", by(DistributionMethod::RoundRobin), None),
        ("distribute by replication", by(DistributionMethod::Replication), None),
        ("to node (x, y)", None, nodes(&["x", "y"])),
        ("to node x, y", None, nodes(&["x", "y"])),
        ("to group g", None, Some(NodeSet::Group("g".into()))),
        ("TO -- x\n GROUP g", None, Some(NodeSet::Group("g".into()))),
        ("distribute by hash (a) to node (é)", on_a(DistributionMethod::Hash), nodes(&["é"])),
    ] {
        for text in [
            format!("create table t (a int) {clause}"),
            format!("create temp table t (a int) with (fillfactor = 70) {clause} ; "),
            format!("create table t partition of p for values from (1) to (2) {clause}"),
            format!("create unlogged table t {clause} as select 1 as node"),
        ] {
            let found = distribution_of(&text).unwrap_or_else(|| panic!("{text}"));
            let read = found.by.map(|DistributeBy { method, column, .. }| (method, column));
            assert_eq!((read, found.to), (expected.clone(), to.clone()), "{text}");
            let start = found.location.offset().unwrap();
            assert!(text[start..].starts_with(clause), "{text}");
        }
    }
}

fn commands(text: &str) -> Vec<AlterTableCommand> {
    match one(text) {
        Statement::AlterTable(alter) => alter.commands,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_table_changes_its_nodes() {
    use AlterTableCommand as Command;
    let text = "alter table if exists s.t * add node int, not of, add node (a), set without oids, \
        delete node (b), alter c set default array[1, not of], distribute by hash (c), to group g";
    let found = commands(text);
    assert!(matches!(found[0], Command::AddColumn { .. }));
    assert!(matches!(found[1], Command::NotOf));
    assert_eq!(found[2], Command::AddNodes(vec!["a".into()]));
    assert_eq!(found[3], Command::DeleteNodes(vec!["b".into()]));
    assert!(matches!(found[4], Command::ColumnDefault { .. }));
    assert!(matches!(found[5], Command::DistributeBy(_)));
    assert_eq!(found[6], Command::ToNodes(NodeSet::Group("g".into())));
    assert_eq!(found.len(), 7);
    let found = commands("alter table only (t) to node (a, b)");
    assert_eq!(found, [Command::ToNodes(NodeSet::Nodes(vec!["a".into(), "b".into()]))]);
}

/// Texts in which the words are names, and what PostgreSQL's grammar alone makes of them: the same
/// with other names.
#[test]
fn names_stay_names() {
    for text in [
        "select node, distribute, direct from node",
        "create table node (node int, distribute text)",
        "create table distribute as select 1 as node",
        "create table t as select distribute by_ from to_node",
        "alter table node add node int",
        "alter table t add node int default 1, add distribute node",
        "alter table t rename to node",
        "alter table t rename column node to distribute",
        "alter table t owner to node",
        "alter table t drop node, drop column distribute",
        "execute direct",
        "execute direct (1, 'on')",
        "prepare direct as select 1",
        "select 'create node x; drop node y', $$create node$$, \"create node\"",
        "select 1 /* ; create node x */ -- ; drop node y",
        "create function node() returns int as 'create node x' language sql",
        "create function f() returns int begin atomic select node from t; select 1; end",
        "create rule r as on insert to t do (select 1 as node; select 2)",
        "select to_node as direct group by node",
    ] {
        let renamed = without_words(text);
        let [found, expected] = [text, &renamed].map(|text| format!("{:?}", parse(text).unwrap()));
        assert_eq!(without_words(&found), expected, "{text}");
    }
}

#[test]
fn errors_are_at_their_tokens() {
    for (text, token) in [
        ("create node select with (type = x)", "select"),
        ("create node dn1 whit (type = x)", "whit"),
        ("create node dn1 with type", "type"),
        ("create node dn1 with ()", ")"),
        ("create node dn1 with (type = , host)", ","),
        ("select 'é'; create node dn1 with (é = :, host)", ":"),
        ("create node dn1 with (type = x) 'x'", "'x'"),
        ("create node group with (a)", "with"),
        ("create node group g (a)", "("),
        ("create node group g with (a b)", "b"),
        ("create node group g with ()", ")"),
        ("create node group g with x, 1", "1"),
        ("alter node group g", "group"),
        ("drop node 'a'", "'a'"),
        ("drop node a, b", ","),
        ("drop node a cascade", "cascade"),
        ("execute direct on dn1 'x'", "dn1"),
        ("execute direct on (dn1) 5", "5"),
        ("execute direct on (dn1) 'x', 'y'", ","),
        ("create table t (a int) distribute by hash", ""),
        ("create table t (a int) distribute by hash ()", ")"),
        ("create table t (a int) distribute by hash (a, b)", ","),
        ("create table t (a int) distribute by hash (a) with (x = 1)", "with"),
        ("create table t (a int) to node (x) distribute by hash (a)", "distribute"),
        ("create table t (a int) distribute by 5", "5"),
        ("alter table t add node (a) cascade", "cascade"),
        ("alter table t delete node a", "a"),
        ("alter table t add node (a), delete node b", "b"),
        ("alter table t to x", "to"),
        ("create table t (a int) to x", "to"),
        // The first error in the text is reported.
        ("selec 1; create node dn1 with (", "selec"),
        ("create table t (a int,) distribute by 5", ")"),
        ("create node dn1 whit; selec 1", "whit"),
        // Inside other statements.
        ("select 1 create node x", "create"),
        ("create function f() returns int begin atomic drop node x; end", "node"),
        ("create schema s create table t (a int) distribute by hash (a)", "distribute"),
        ("create table t as select 1 as a distribute by hash (a)", "distribute"),
        ("explain drop node x", "drop"),
    ] {
        if token.is_empty() {
            let end = text.chars().count() as u32 + 1;
            assert_eq!(refusal(text), ("syntax error at end of input".into(), Some(end)), "{text}");
        } else if text.matches(token).count() == 1 {
            refused_at(text, token);
        } else {
            let (message, _) = refusal(text);
            assert_eq!(message, format!("syntax error at or near \"{token}\""), "{text}");
        }
    }
    let (message, position) = refusal("create node dn1 with (host = 'x");
    assert_eq!(message, "unterminated quoted string at or near \"'x\"");
    assert_eq!(position, Some(30));
    let (message, position) = refusal("create table t (a int) distribute by é (a)");
    assert_eq!((&*message, position), ("unrecognized distribution option \"é\"", Some(38)));
}

#[test]
fn the_end_of_a_text_is_no_error_before_it() {
    for text in ["create node", "create node dn1 with", "drop node", "create node group g with"] {
        let end = text.chars().count() as u32 + 1;
        assert_eq!(refusal(text), ("syntax error at end of input".into(), Some(end)), "{text}");
    }
    refused_at("drop node; select 1", ";");
}

#[test]
fn statements_are_where_they_are_written() {
    let text = "select 'é'; -- a\n create node é with (host = 'é;'); ; alter table t \
        to node (é), add b int; /* x */ create table u (é int) distribute by hash (é);\
        drop node group g ; select 1 as node";
    let parsed = parse(text).unwrap();
    let texts: Vec<&str> = parsed.iter().map(|statement| statement.text(text)).collect();
    assert_eq!(texts[1], "create node é with (host = 'é;')");
    assert_eq!(texts[2], "alter table t to node (é), add b int");
    assert!(texts[3].ends_with("create table u (é int) distribute by hash (é)"));
    assert_eq!(texts[4..], ["drop node group g", "select 1 as node"]);
    // After what was cut out, too.
    for (after, token) in [("; select 1 as b, ]", "]"), ("; selec 'é'", "selec")] {
        let text = format!("create node é with (host = 'é'){after}");
        refused_at(&text, token);
        let text = format!("create table é (a int) to node (é, éé){after}");
        refused_at(&text, token);
    }
}

#[test]
fn long_and_deep_texts_are_read() {
    let deep = format!("drop node x; create table t (a int default {}", "(".repeat(100_000));
    assert!(parse(&deep).is_err());
    let deep = format!("create node x with (a = {}", "(".repeat(100_000));
    assert!(parse(&deep).is_err());
    let deep = format!("execute direct on ({}", "(".repeat(100_000));
    assert!(parse(&deep).is_err());
    let many = "drop node x; select 1;".repeat(5_000);
    assert_eq!(parse(&many).unwrap().len(), 10_000);
    let names = vec!["dn"; 100_000].join(", ");
    let Statement::CreateNodeGroup(stmt) = one(&format!("create node group g with ({names})"))
    else {
        panic!("a group")
    };
    assert_eq!(stmt.members.len(), 100_000);
}

/// Pieces of texts, among them the words.
const PIECES: &[&str] = &[
    "create",
    "alter",
    "drop",
    "execute",
    "table",
    "node",
    "group",
    "direct",
    "on",
    "distribute",
    "by",
    "hash",
    "(",
    ")",
    ",",
    ";",
    "to",
    "add",
    "delete",
    "with",
    "as",
    "select",
    "1",
    "'x'",
    "é",
    "\"node\"",
    "t",
    "a int",
    "begin atomic",
    "end",
    "case",
    "function f() returns int",
    "/* node */",
    "-- distribute\n",
    "$$ ; create node x $$",
    "=",
    "not of",
    "'",
    "[",
    "]",
    ".",
    "*",
    "only",
];

/// The words that the clauses need, written so that they are none.
fn without_words(text: &str) -> String {
    let mut text = text.to_owned();
    for (word, other) in [("node", "nxde"), ("distribute", "dxstribute"), ("direct", "dxrect")] {
        text = text.replace(word, other);
    }
    text
}

fn shape(parsed: &[ParsedStatement]) -> Vec<(std::ops::Range<usize>, String)> {
    let of = |parsed: &ParsedStatement| {
        (parsed.range.clone(), without_words(&format!("{:?}", parsed.statement)))
    };
    parsed.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// A text that the grammar accepts under other names reads the same under these. Any text gives
    /// an answer, and statements do not overlap.
    #[test]
    fn no_other_text_is_taken_for_one(pieces in prop::collection::vec(0..PIECES.len(), 1..14)) {
        let words: Vec<&str> = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        let text = words.join(" ");
        let found = parse(&text);
        if let Ok(found) = &found {
            for pair in found.windows(2) {
                prop_assert!(pair[0].range.end <= pair[1].range.start, "{text}");
            }
        }
        // GROUP cannot be renamed, and ALTER TABLE … TO GROUP is read nowhere else.
        if !words.contains(&"group")
            && let Ok(expected) = parse(&without_words(&text))
        {
            prop_assert!(found.is_ok(), "{text}: {found:?}");
            prop_assert_eq!(shape(&found.unwrap()), shape(&expected), "{}", text);
        }
    }
}
