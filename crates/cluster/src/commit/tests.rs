use steppe_types::error::Severity;
use steppe_types::{Error, SqlState};

use super::*;

const BY: Coordinator = Coordinator { id: 0xc1, generation: 7 };
const KEY: TransactionKey =
    TransactionKey { coordinator: BY, number: 0x2a, deciding: NodeId(0xd1) };

/// Replies, each `tag` or `tag|value|value…` with one row. `~` is NULL.
fn replies(of: &[&str]) -> Vec<Reply> {
    let reply = |text: &&str| {
        let (tag, row) = text.split_once('|').map_or((*text, None), |(tag, row)| (tag, Some(row)));
        let value = |value: &str| (value != "~").then(|| value.as_bytes().to_vec());
        let rows = row.into_iter().map(|row| row.split('|').map(value).collect()).collect();
        Reply { rows, tag: tag.to_owned() }
    };
    of.iter().map(reply).collect()
}

/// The answer to a request, as it is debugged.
fn read(request: &Request, of: &[&str]) -> String {
    format!("{:?}", request.answered(&replies(of)))
}

fn part(node: u64, xid: u64) -> PreparedPart {
    PreparedPart { node: NodeId(node), xid: Xid(xid) }
}

#[test]
fn a_command_tag_tells_a_commit_from_a_rollback() {
    let prepare = Request::Prepare(KEY.on(NodeId(0xd2)));
    assert_eq!(read(&prepare, &["SELECT 1|758", "PREPARE TRANSACTION"]), "Prepared(Xid(758))");
    for (request, tag) in [(prepare, "SELECT 1|758"), (Request::Decide(KEY, vec![]), "SELECT 0")] {
        let answer = read(&request, &[tag, "ROLLBACK"]);
        assert!(answer.starts_with("Refused"), "{answer}");
    }
    assert!(read(&Request::Commit, &["ROLLBACK"]).starts_with("Refused"));
    assert_eq!(read(&Request::Commit, &["COMMIT"]), "Done");
    assert_eq!(read(&Request::Decide(KEY, vec![]), &["SELECT 0", "INSERT 0 1", "COMMIT"]), "Done");
    assert_eq!(read(&Request::Commit, &["INSERT 0 1"]), "Lost");
    assert_eq!(read(&Request::Commit, &[]), "Lost");
}

#[test]
fn a_fence_reads_the_row_that_won() {
    let fence = Request::Fence { transaction: KEY, by: BY };
    let with = |registered: &str, inserted, record: &str| {
        read(&fence, &["BEGIN", "SELECT 0", "INSERT 0 0", registered, inserted, record, "COMMIT"])
    };
    assert_eq!(with("SELECT 1|1", "INSERT 0 1", "SELECT 1|~"), "Decision(Aborted)");
    let parts = "SELECT 1|0000000000000002=7,0000000000000003=9";
    let committed = Answer::Decision(Decision::Committed(vec![part(2, 7), part(3, 9)]));
    assert_eq!(with("SELECT 1|1", "INSERT 0 0", parts), format!("{committed:?}"));
    assert_eq!(with("SELECT 0", "INSERT 0 0", parts), format!("{committed:?}"));
    assert_eq!(with("SELECT 0", "INSERT 0 0", "SELECT 0"), "Superseded");
    assert_eq!(with("SELECT 1|1", "INSERT 0 0", "SELECT 0"), "Lost");
    assert_eq!(with("SELECT 1|1", "INSERT 0 0", "SELECT 1|garbage"), "Lost");
    assert_eq!(read(&fence, &["BEGIN", "SELECT 1|1", "SELECT 1|~", "ROLLBACK"]), "Lost");
}

#[test]
fn a_status_needs_a_server_that_is_not_in_recovery() {
    let read = |of| read(&Request::Status(Xid(7)), &[of]);
    assert_eq!(read("SELECT 1|committed|5|f"), "Status(Committed, Life(Some(5)))");
    assert_eq!(read("SELECT 1|aborted|~|f"), "Status(Aborted, Life(None))");
    assert_eq!(read("SELECT 1|in progress|5|f"), "Status(InProgress, Life(Some(5)))");
    assert_eq!(read("SELECT 1|~|5|f"), "Status(Unknown, Life(Some(5)))");
    assert_eq!(read("SELECT 1|aborted|5|t"), "Status(Unknown, Life(Some(5)))");
    assert_eq!(read("SELECT 1|done|5|f"), "Lost");
    assert_eq!(read("SELECT 0"), "Lost");
}

#[test]
fn a_list_leaves_foreign_transactions_out() {
    let gid = KEY.on(NodeId(0xd2));
    let own = format!("SELECT 1|{gid}|758|4294968054|app|1795767314764294");
    let Answer::Listed(listing) =
        Request::List.answered(&replies(&[&own, &format!("SELECT 1|{KEY}|0000000000000002=7")]))
    else {
        panic!("is a list")
    };
    let (xid, since) = (Xid((1 << 32) + 758), 1_795_767_314_764_294);
    assert_eq!(listing.prepared, [PreparedRow { gid, xid, owner: "app".into(), since }]);
    assert_eq!(listing.records, [(KEY, vec![part(2, 7)])]);
    let foreign = "SELECT 1|backup|758|758|app|0";
    assert_eq!(read(&Request::List, &[foreign, "SELECT 0"]), {
        format!("{:?}", Answer::Listed(Listing::default()))
    });
}

#[test]
fn fatal_errors_tell_nothing() {
    let error = |state| Error::new(state, "refused");
    let finish = Request::Finish { gid: KEY.on(NodeId(2)), commit: true };
    assert!(matches!(finish.failed(error(SqlState::UNDEFINED_OBJECT)), Answer::Missing));
    assert!(matches!(finish.failed(error(SqlState::INSUFFICIENT_PRIVILEGE)), Answer::Refused(_)));
    let fatal = error(SqlState::INSUFFICIENT_RESOURCES).severity(Severity::Fatal);
    assert!(matches!(Request::Commit.failed(fatal), Answer::Lost));
}

fn participant(node: u64, wrote: Wrote) -> Participant {
    Participant { node: NodeId(node), wrote, number: None }
}

/// The actions, each as a word and a node.
fn words(out: &mut Vec<Action>) -> Vec<String> {
    let word = |action| match action {
        Action::Send(node, request) | Action::Retry(node, request) => {
            let text = request.sql();
            format!("{} {}", node.0, text.rsplit("; ").next().unwrap_or_default())
        }
        Action::EnterGate(nodes) => format!("enter {nodes:?}"),
        other => format!("{other:?}"),
    };
    out.drain(..).map(word).collect()
}

#[test]
fn a_single_writer_takes_one_message() {
    let (mut out, one) = (Vec::new(), participant(1, Wrote::Maybe));
    let mut commit = Commit::new(BY, 1, &[one, participant(2, Wrote::No)]);
    commit.start(&mut out);
    assert_eq!(words(&mut out), ["1 COMMIT", "2 COMMIT"]);
    commit.answer(NodeId(1), Answer::Done, &mut out);
    assert!(out.is_empty());
    commit.answer(NodeId(2), Answer::Lost, &mut out);
    assert_eq!(words(&mut out), ["Tell(Committed)", "Finished"]);
}

#[test]
fn two_writers_prepare_decide_and_finish() {
    let mut out = Vec::new();
    let parts =
        [participant(1, Wrote::No), participant(2, Wrote::Yes), participant(3, Wrote::Maybe)];
    let mut commit = Commit::new(BY, 1, &parts);
    commit.start(&mut out);
    assert_eq!(words(&mut out).len(), 1);
    commit.answer(NodeId(3), Answer::Xid(Some(Xid(9)), Life(None)), &mut out);
    let gid = TransactionKey { number: 1, deciding: NodeId(2), ..KEY }.on(NodeId(3));
    assert_eq!(words(&mut out), ["1 COMMIT".into(), format!("3 PREPARE TRANSACTION '{gid}'")]);
    commit.answer(NodeId(1), Answer::Done, &mut out);
    commit.answer(NodeId(3), Answer::Prepared(Xid(9)), &mut out);
    assert_eq!(words(&mut out), ["enter {2, 3}"]);
    commit.entered(&mut out);
    assert!(matches!(&out[..], [Action::Send(NodeId(2), Request::Decide(_, parts))]
        if *parts == [part(3, 9)]));
    out.clear();
    commit.answer(NodeId(2), Answer::Done, &mut out);
    assert_eq!(words(&mut out), [format!("3 COMMIT PREPARED '{gid}'")]);
    commit.answer(NodeId(3), Answer::Done, &mut out);
    let forget = format!("{:?}", Action::Forget(gid.transaction));
    assert_eq!(
        words(&mut out),
        ["LeaveGate".into(), forget, "Tell(Committed)".into(), "Finished".into()]
    );
}

#[test]
fn a_cancel_at_the_gate_rolls_back() {
    let mut out = Vec::new();
    let parts = [participant(2, Wrote::Yes), participant(3, Wrote::Yes)];
    let mut commit = Commit::new(BY, 1, &parts);
    commit.start(&mut out);
    commit.answer(NodeId(3), Answer::Prepared(Xid(9)), &mut out);
    out.clear();
    assert!(!commit.give_up(&mut out));
    commit.cancel(Error::new(SqlState::QUERY_CANCELED, "canceled"), &mut out);
    let sent = words(&mut out);
    assert_eq!(sent[0], "2 ROLLBACK");
    assert!(sent[1].starts_with("3 ROLLBACK PREPARED"));
    commit.entered(&mut out);
    assert_eq!(words(&mut out), ["LeaveGate"]);
    commit.answer(NodeId(3), Answer::Done, &mut out);
    commit.answer(NodeId(2), Answer::Done, &mut out);
    assert!(matches!(&out[..], [Action::Tell(Outcome::RolledBack(error)), Action::Finished]
        if error.sqlstate() == SqlState::QUERY_CANCELED));
}

#[test]
fn identifiers_and_records_are_plain_words() {
    let requests = [
        Request::Decide(KEY, vec![part(2, 7)]),
        Request::Fence { transaction: KEY, by: Coordinator { id: u64::MAX, generation: 1 } },
        Request::Forget(vec![KEY, KEY]),
    ];
    for sql in requests.map(|request| request.sql()) {
        assert!(sql.bytes().all(|byte| byte.is_ascii() && byte != b'\\' && byte != b'"'), "{sql}");
    }
    assert!(
        Request::Fence { transaction: KEY, by: Coordinator { id: u64::MAX, generation: 1 } }
            .sql()
            .contains("id = -1 AND")
    );
}

/// Recovery of a life whose predecessor left `KEY` prepared on node 2.
fn recovery_of_a_prepared_part(out: &mut Actions) -> Recovery {
    let mut recovery = Recovery::new(Coordinator { generation: 8, ..BY });
    let row = |key: TransactionKey| {
        let (gid, xid) = (key.on(NodeId(2)), Xid(7));
        PreparedRow { gid, xid, owner: "app".into(), since: 5 }
    };
    let other = Coordinator { id: 0xc2, generation: 1 };
    let running = TransactionKey { coordinator: Coordinator { generation: 8, ..BY }, ..KEY };
    let prepared = vec![row(KEY), row(TransactionKey { coordinator: other, ..KEY }), row(running)];
    recovery.ask(NodeId(2), Running { next: 0x2b, numbers: [0x2a].into() });
    recovery.listed(NodeId(2), Listing { prepared, records: vec![] }, out);
    recovery
}

/// Before the decision is known, any node may be one of the transaction's, and show it already.
#[test]
fn recovery_holds_the_gate_for_unknown_nodes_until_it_knows_them() {
    let (mut out, set) = (Vec::new(), |nodes: &[u64]| -> NodeSet {
        nodes.iter().map(|node| NodeId(*node)).collect()
    });
    let mut recovery = recovery_of_a_prepared_part(&mut out);
    let hold = |action: &Action, of: Option<NodeSet>| {
        matches!(action, Action::HoldGate { nodes, pending }
            if *nodes == of && *pending == set(&[2]))
    };
    // The other coordinator's transaction, and the running one, are left alone.
    assert!(
        matches!(&out[..], [(KEY, one), (KEY, Action::Send(NodeId(0xd1), Request::Fence { .. }))]
        if hold(one, None))
    );
    out.clear();
    assert_eq!(recovery.in_doubt()[0].state, InDoubtState::Undecided);
    let decision = Decision::Committed(vec![part(2, 7)]);
    recovery.answer(KEY, NodeId(0xd1), Answer::Decision(decision), &mut out);
    assert!(
        matches!(&out[..], [(_, one), (_, Action::Send(NodeId(2), Request::Finish { commit: true, .. }))]
        if hold(one, Some(set(&[2, 0xd1]))))
    );
    out.clear();
    recovery.answer(KEY, NodeId(2), Answer::Done, &mut out);
    assert!(matches!(
        &out[..],
        [(_, Action::LeaveGate), (_, Action::Forget(KEY)), (_, Action::Finished)]
    ));
    assert!(recovery.is_idle());
}

#[test]
fn recovery_of_a_superseded_life_ends_it() {
    let mut out = Vec::new();
    let mut recovery = recovery_of_a_prepared_part(&mut out);
    out.clear();
    recovery.answer(KEY, NodeId(0xd1), Answer::Superseded, &mut out);
    assert!(matches!(&out[..], [(KEY, Action::Superseded)]));
}

struct Named;

impl NodeNames for Named {
    fn name_of(&self, node: NodeId) -> Option<String> {
        (node.0 == 2).then(|| "dn2".to_owned())
    }
}

/// The client is told the node's name; a part whose node is down is shown until it has answered.
#[test]
fn a_node_that_is_lost_is_named_and_shown() {
    let (mut out, parts) = (Vec::new(), [1, 2].map(|node| participant(node, Wrote::Yes)));
    let commit = || Commit::new(BY, 1, &parts).naming(std::sync::Arc::new(Named));
    let mut lost = commit();
    lost.start(&mut out);
    lost.answer(NodeId(2), Answer::Lost, &mut out);
    lost.answer(NodeId(1), Answer::Done, &mut out);
    assert_eq!(lost.in_doubt()[0].state, InDoubtState::RollingBack);
    lost.answer(NodeId(2), Answer::Missing, &mut out);
    let told = out.iter().find_map(|action| match action {
        Action::Tell(Outcome::RolledBack(error)) => Some(error.message().to_owned()),
        _ => None,
    });
    let expected = "connection to node \"dn2\" failed before the transaction was committed";
    assert_eq!(told.as_deref(), Some(expected));

    let mut decided = commit();
    decided.start(&mut out);
    decided.answer(NodeId(2), Answer::Prepared(Xid(7)), &mut out);
    assert!(decided.in_doubt().is_empty());
    decided.entered(&mut out);
    decided.answer(NodeId(1), Answer::Lost, &mut out);
    assert_eq!(decided.in_doubt()[0].state, InDoubtState::Undecided);
    let record = Decision::Committed(vec![part(2, 7)]);
    decided.answer(NodeId(1), Answer::Decision(record), &mut out);
    decided.answer(NodeId(2), Answer::Lost, &mut out);
    let shown = decided.in_doubt();
    assert_eq!((shown.len(), shown[0].state), (1, InDoubtState::Committing));
    assert_eq!(shown[0].reason.as_deref(), Some("the connection broke"));
    decided.answer(NodeId(2), Answer::Done, &mut out);
    assert!(decided.in_doubt().is_empty());
}
