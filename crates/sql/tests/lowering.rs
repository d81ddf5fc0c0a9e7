//! The tree has every flag, negation and order as written, which a lowering could get wrong and
//! still produce a tree.

use steppe_sql::ast::*;
use steppe_sql::parser::parse;

fn statement(sql: &str) -> Statement {
    let mut parsed = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(parsed.len(), 1, "{sql}");
    parsed.remove(0).statement
}

fn select(sql: &str) -> SelectStmt {
    match statement(sql) {
        Statement::Select(select) => *select,
        other => panic!("{sql}: {other:?}"),
    }
}

fn core(sql: &str) -> SelectCore {
    match select(sql).body {
        SelectBody::Select(core) => *core,
        other => panic!("{sql}: {other:?}"),
    }
}

/// The first output column's value.
fn expr(text: &str) -> Expr {
    core(&format!("select {text}")).targets.remove(0).value
}

fn kind(text: &str) -> ExprKind {
    expr(text).kind
}

fn integer(value: i32) -> ExprKind {
    ExprKind::Const(Literal::Integer(value))
}

#[test]
fn literals() {
    let constant = |text: &str| match kind(text) {
        ExprKind::Const(literal) => literal,
        other => panic!("{other:?}"),
    };
    assert_eq!(constant("2147483647"), Literal::Integer(i32::MAX));
    assert_eq!(constant("-2147483648"), Literal::Float("-2147483648".into()));
    assert_eq!(constant("2147483648"), Literal::Float("2147483648".into()));
    assert_eq!(constant("-1.50"), Literal::Float("-1.50".into()));
    assert_eq!(constant("0x1F"), Literal::Integer(31));
    assert_eq!(constant("'it''s'"), Literal::String("it's".into()));
    assert_eq!(constant("E'\\x41\\n'"), Literal::String("A\n".into()));
    assert_eq!(constant("x'1F'"), Literal::BitString("x1F".into()));
    assert_eq!(constant("false"), Literal::Boolean(false));
    assert_eq!(constant("null"), Literal::Null);
}

#[test]
fn negations() {
    for (text, expected) in [
        ("a is not null", true),
        ("a is null", false),
        ("a is not true", true),
        ("a is unknown", false),
        ("a is distinct from b", false),
        ("a is not distinct from b", true),
        ("a in (1)", false),
        ("a not in (1)", true),
        ("a between 1 and 2", false),
        ("a not between symmetric 1 and 2", true),
        ("a not like b", true),
        ("a similar to b", false),
    ] {
        let negated = match kind(text) {
            ExprKind::NullTest { negated, .. }
            | ExprKind::BooleanTest { negated, .. }
            | ExprKind::Distinct { negated, .. }
            | ExprKind::In { negated, .. }
            | ExprKind::Between { negated, .. }
            | ExprKind::Like { negated, .. } => negated,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(negated, expected, "{text}");
    }
    assert!(matches!(
        kind("a between symmetric 1 and 2"),
        ExprKind::Between { symmetric: true, .. }
    ));
    assert!(matches!(kind("a ilike b"), ExprKind::Like { kind: LikeKind::ILike, .. }));
    assert!(matches!(
        kind("a is not false"),
        ExprKind::BooleanTest { test: TruthValue::False, negated: true, .. }
    ));
    // `NOT IN (SELECT …)` is NOT around the link.
    let ExprKind::Not(link) = kind("a not in (select 1)") else { panic!() };
    assert!(matches!(&link.kind, ExprKind::SubLink(link)
        if link.kind == SubLinkKind::Any && link.op.is_none() && link.test.is_some()));
}

#[test]
fn operators_and_precedence() {
    let ExprKind::Binary { op, left, right } = kind("1 - 2 * 3") else { panic!() };
    assert_eq!((op.name(), &left.kind), ("-", &integer(1)));
    assert!(matches!(&right.kind, ExprKind::Binary { op, .. } if op.name() == "*"));
    let ExprKind::Unary { op, .. } = kind("- a") else { panic!() };
    assert_eq!(op.name(), "-");
    let ExprKind::Binary { op, .. } = kind("a operator(s.+) b") else { panic!() };
    assert_eq!(op.parts(), ["s", "+"]);
    let ExprKind::Binary { op, .. } = kind("a != b") else { panic!() };
    assert_eq!(op.name(), "<>");
    assert!(matches!(kind("a and b and c and d"), ExprKind::And(terms) if terms.len() == 4));
    assert!(matches!(kind("a > all (b)"), ExprKind::ArrayOp { quantifier: Quantifier::All, .. }));
    assert!(matches!(kind("a = some (b)"), ExprKind::ArrayOp { quantifier: Quantifier::Any, .. }));
    let ExprKind::SubLink(link) = kind("a < all (select 1)") else { panic!() };
    assert_eq!((link.kind, link.op.map(|op| op.to_string())), (SubLinkKind::All, Some("<".into())));
}

#[test]
fn calls() {
    let call = |text: &str| match kind(text) {
        ExprKind::FuncCall(call) => *call,
        other => panic!("{text}: {other:?}"),
    };
    assert!(call("count(*)").star && call("f(distinct a)").distinct);
    assert!(call("f(variadic a)").variadic && call("extract(year from a)").sql_syntax);
    assert_eq!(call("f(1, b => 2)").args[1].name.as_deref(), Some("b"));
    let ordered = call("percentile_cont(0.5) within group (order by a desc)");
    assert!(ordered.within_group && ordered.order_by[0].direction == SortDirection::Desc);
    assert!(call("sum(a) filter (where b)").filter.is_some());
    let window = call(
        "sum(a) over (w order by b rows between 1 preceding and unbounded following exclude ties)",
    )
    .over
    .expect("a window");
    assert_eq!((window.refname.as_deref(), window.name), (Some("w"), None));
    assert_eq!(window.frame.mode, FrameMode::Rows);
    assert!(
        matches!(&window.frame.start, FrameBound::Preceding(offset) if offset.kind == integer(1))
    );
    assert_eq!(window.frame.end, FrameBound::UnboundedFollowing);
    assert_eq!(window.frame.exclusion, FrameExclusion::Ties);
    let named = call("sum(a) over w").over.expect("a window");
    assert_eq!((named.name.as_deref(), named.frame), (Some("w"), WindowFrame::default()));
    let plain = call("sum(a) over ()").over.expect("a window");
    assert_eq!(plain.frame, WindowFrame::default());
}

#[test]
fn types_and_indirection() {
    let ExprKind::Cast { type_name, .. } = kind("a::pg_catalog.numeric(10,2)[][3]") else {
        panic!()
    };
    assert_eq!(type_name.name.to_string(), "pg_catalog.numeric");
    assert_eq!(type_name.typmods.len(), 2);
    assert_eq!(type_name.array_bounds, [None, Some(3)]);
    let ExprKind::Cast { type_name, .. } = kind("a::int") else { panic!() };
    assert_eq!(type_name.name.to_string(), "pg_catalog.int4");
    let ExprKind::Indirection { path, .. } = kind("(a).b[1:].*") else { panic!() };
    assert_eq!(path[0], Indirection::Field("b".into()));
    assert!(matches!(&path[1], Indirection::Slice { lower: Some(_), upper: None }));
    assert_eq!(path[2], Indirection::Star);
    assert!(matches!(kind("row(1)"), ExprKind::Row { explicit: true, .. }));
    assert!(matches!(kind("(1, 2)"), ExprKind::Row { explicit: false, .. }));
    assert!(matches!(
        kind("current_timestamp(2)"),
        ExprKind::SqlValueFunction {
            function: SqlValueFunction::CurrentTimestamp,
            precision: Some(2)
        }
    ));
}

#[test]
fn places_are_postgresqls() {
    let sql = "select é + b, f(x), a::int from t";
    let core = core(sql);
    let positions: Vec<_> = core.targets.iter().map(|t| t.value.location.position(sql)).collect();
    // The operator's, the name's, the cast operator's.
    assert_eq!(positions, [Some(10), Some(15), Some(22)]);
}

#[test]
fn select_clauses() {
    assert_eq!(core("select distinct a").distinct, Distinct::Rows);
    assert!(
        matches!(core("select distinct on (a) a").distinct, Distinct::On(keys) if keys.len() == 1)
    );
    let stmt = select("select 1 order by a using <, b asc nulls first limit 2 offset 3");
    assert_eq!(stmt.order_by[0].direction, SortDirection::Using("<".into()));
    assert_eq!(
        (&stmt.order_by[1].direction, stmt.order_by[1].nulls),
        (&SortDirection::Asc, NullsOrder::First)
    );
    assert_eq!(stmt.limit.expect("a limit").kind, integer(2));
    assert_eq!(stmt.offset.expect("an offset").kind, integer(3));
    assert!(select("select 1 order by 1 fetch first 1 row with ties").with_ties);
    let locks =
        select("select 1 from t for no key update of t nowait for key share skip locked").locking;
    assert_eq!(
        (locks[0].strength, locks[0].wait_policy),
        (LockStrength::NoKeyUpdate, LockWaitPolicy::Error)
    );
    assert_eq!(
        (locks[1].strength, locks[1].wait_policy),
        (LockStrength::KeyShare, LockWaitPolicy::Skip)
    );
    assert_eq!((locks[0].of.len(), locks[1].of.len()), (1, 0));
    let SelectBody::SetOp(set) = select("select 1 except all select 2").body else { panic!() };
    assert_eq!((set.op, set.all), (SetOperator::Except, true));
    let SelectBody::Values(rows) = select("values (1, 2), (3, default)").body else { panic!() };
    assert_eq!((rows.len(), &rows[1][1].kind), (2, &ExprKind::Default));
    let groups = core("select 1 group by a, (), rollup (b, (c, d))").group_by;
    assert!(
        matches!(&groups[..], [GroupItem::Expr(_), GroupItem::Empty, GroupItem::Rollup(items, _)] if items.len() == 2)
    );
}

#[test]
fn from_items() {
    let mut from = core("select * from only t as x (a, b)").from;
    let FromItem::Table(table) = from.remove(0) else { panic!() };
    assert!(!table.inherit);
    assert_eq!(table.alias.map(|alias| (alias.name, alias.columns.len())), Some(("x".into(), 2)));
    let join = |sql: &str| match core(&format!("select * from {sql}")).from.remove(0) {
        FromItem::Join(join) => *join,
        other => panic!("{other:?}"),
    };
    assert_eq!(join("a cross join b").condition, JoinCondition::Cross);
    assert_eq!(join("a natural left join b").condition, JoinCondition::Natural);
    let using = join("a right join b using (c, d) as j");
    assert_eq!(using.kind, JoinKind::Right);
    assert_eq!(
        using.condition,
        JoinCondition::Using { columns: vec!["c".into(), "d".into()], alias: Some("j".into()) }
    );
    assert!(matches!(join("a full join b on true").condition, JoinCondition::On(_)));
    let FromItem::Function(function) =
        core("select * from lateral f(1) with ordinality as x (a)").from.remove(0)
    else {
        panic!()
    };
    assert!(function.lateral && function.ordinality && !function.rows_from);
    let FromItem::Function(function) =
        core("select * from rows from (f(1) as (a int), g(2)) as x").from.remove(0)
    else {
        panic!()
    };
    assert!(function.rows_from);
    assert_eq!(
        (function.functions[0].column_defs.len(), function.functions[1].column_defs.len()),
        (1, 0)
    );
}

#[test]
fn data_changes() {
    let Statement::Insert(insert) = statement(
        "insert into t as x (a, b.c) overriding system value select 1 on conflict (a) where b do update set (a, b) = (1, 2), c = default where d returning *",
    ) else {
        panic!()
    };
    assert_eq!(insert.columns[1].indirection, [Indirection::Field("c".into())]);
    assert_eq!(insert.overriding, Overriding::System);
    let conflict = insert.on_conflict.expect("on conflict");
    assert!(matches!(conflict.target, Some(ConflictTarget::Index { where_clause: Some(_), .. })));
    let ConflictAction::Update { set, where_clause: Some(_) } = conflict.action else { panic!() };
    assert!(matches!(&set[0], SetClause::Multi { targets, .. } if targets.len() == 2));
    assert!(matches!(&set[1], SetClause::Single { value, .. } if value.kind == ExprKind::Default));
    let Statement::Insert(insert) = statement("insert into t default values") else { panic!() };
    assert!(insert.source.is_none());
    let Statement::Update(update) = statement(
        "update t set (a, b) = (select 1, 2), (c, d) = (3, 4), e = 5 from u where current of k",
    ) else {
        panic!()
    };
    let columns: Vec<usize> = update
        .set
        .iter()
        .map(|set| match set {
            SetClause::Single { .. } => 1,
            SetClause::Multi { targets, .. } => targets.len(),
        })
        .collect();
    assert_eq!(columns, [2, 2, 1]);
    assert_eq!(update.where_clause.expect("where").kind, ExprKind::CurrentOf("k".into()));
    let Statement::Merge(merge) = statement(
        "merge into t using u on a when not matched by source and b then delete when not matched then insert values (1)",
    ) else {
        panic!()
    };
    assert_eq!(merge.whens[0].kind, MergeMatchKind::NotMatchedBySource);
    assert_eq!(merge.whens[1].kind, MergeMatchKind::NotMatchedByTarget);
    let Statement::Copy(copy) = statement("copy t (a) from stdin csv header") else { panic!() };
    assert!(copy.is_from && copy.endpoint == CopyEndpoint::Stdio && copy.options.len() == 2);
}

#[test]
fn tables_and_constraints() {
    let create = |sql: &str| match statement(sql) {
        Statement::CreateTable(create) => *create,
        other => panic!("{other:?}"),
    };
    let table = create(
        "create temp table if not exists t (a int constraint c primary key deferrable initially deferred, b int references u (x) match full on delete set null, check (a > 0) no inherit) on commit drop",
    );
    assert!(table.if_not_exists && table.on_commit == OnCommit::Drop);
    assert_eq!(table.relation.persistence, Persistence::Temporary);
    let TableElement::Column(a) = &table.elements[0] else { panic!() };
    assert_eq!(a.constraints.len(), 1);
    assert!(a.constraints[0].deferrable && a.constraints[0].initially_deferred);
    let TableElement::Column(b) = &table.elements[1] else { panic!() };
    let ConstraintKind::ForeignKey(key) = &b.constraints[0].kind else { panic!() };
    assert_eq!(
        (key.match_type, key.on_delete, key.on_update),
        (MatchType::Full, ReferentialAction::SetNull, ReferentialAction::NoAction)
    );
    let TableElement::Constraint(check) = &table.elements[2] else { panic!() };
    assert!(check.no_inherit && check.enforced && !check.not_valid);
    let partition = create(
        "create table t partition of u for values from (1) to (maxvalue) partition by list (a, lower(b))",
    );
    assert!(matches!(
        partition.partition_bound.expect("a bound").spec,
        PartitionBoundSpec::Range { .. }
    ));
    let key = partition.partition_by.expect("a key");
    assert_eq!((key.strategy, key.elements.len()), (PartitionStrategy::List, 2));
    let like = create("create table t (like u including defaults including indexes)");
    let TableElement::Like(like) = &like.elements[0] else { panic!() };
    assert_eq!(
        like.including,
        LikeOptions { defaults: true, indexes: true, ..LikeOptions::default() }
    );
    let Statement::CreateIndex(index) =
        statement("create unique index i on t (a desc, lower(b) nulls first) include (c) where d")
    else {
        panic!()
    };
    assert_eq!(
        (index.elements[0].direction.clone(), index.elements[1].nulls),
        (SortDirection::Desc, NullsOrder::First)
    );
    assert!(index.unique && index.include.len() == 1 && index.access_method == "btree");
    let misplaced = parse("create table t (a int not null deferrable)").expect_err("misplaced");
    assert_eq!(misplaced.message(), "misplaced DEFERRABLE clause");
}

#[test]
fn sessions() {
    assert_eq!(
        statement("start transaction isolation level repeatable read, read only, not deferrable"),
        Statement::Transaction(TransactionStmt::Begin {
            modes: TransactionModes {
                isolation: Some(IsolationLevel::RepeatableRead),
                read_only: Some(true),
                deferrable: Some(false)
            },
            start: true,
        })
    );
    assert_eq!(
        statement("rollback to a"),
        Statement::Transaction(TransactionStmt::RollbackTo("a".into()))
    );
    assert_eq!(
        statement("end and chain"),
        Statement::Transaction(TransactionStmt::Commit { chain: true })
    );
    let Statement::Set(set) = statement("set local search_path to a, 'b', 5, 1.5, on") else {
        panic!()
    };
    let SetStmt::Value { name, values, local: true } = *set else { panic!() };
    assert_eq!(
        (name.as_str(), values.iter().map(|v| v.text().into_owned()).collect::<Vec<_>>().join(" ")),
        ("search_path", "a b 5 1.5 on".into())
    );
    let Statement::Set(set) = statement("set session characteristics as transaction read write")
    else {
        panic!()
    };
    assert!(
        matches!(*set, SetStmt::SessionCharacteristics(modes) if modes.read_only == Some(false))
    );
    let fetch = |sql: &str| match statement(sql) {
        Statement::Fetch(fetch) => (fetch.direction, fetch.count),
        other => panic!("{other:?}"),
    };
    assert_eq!(fetch("fetch all from c"), (FetchDirection::Forward, FETCH_ALL));
    assert_eq!(fetch("fetch last from c"), (FetchDirection::Absolute, -1));
    assert_eq!(fetch("move backward 3 in c"), (FetchDirection::Backward, 3));
    let Statement::DeclareCursor(cursor) =
        statement("declare c insensitive no scroll cursor with hold for select 1")
    else {
        panic!()
    };
    assert_eq!(
        (cursor.scroll, cursor.hold, cursor.sensitivity),
        (Some(false), true, CursorSensitivity::Insensitive)
    );
    let Statement::Lock(lock) = statement("lock t in share row exclusive mode nowait") else {
        panic!()
    };
    assert_eq!((lock.mode, lock.nowait), (LockMode::ShareRowExclusive, true));
    // The binding accepts a parameter where PostgreSQL's grammar does not.
    let error = parse("set a to $1").expect_err("no parameter there");
    assert_eq!(
        (error.message(), error.fields().position),
        ("syntax error at or near \"$1\"", Some(10))
    );
}

#[test]
fn other_objects() {
    let Statement::Drop(drop) = statement("drop function if exists s.f(int, text), g cascade")
    else {
        panic!()
    };
    assert!(
        drop.if_exists
            && drop.behavior == DropBehavior::Cascade
            && drop.kind == ObjectKind::Function
    );
    let ObjectRef::Function(f) = &drop.objects[0] else { panic!() };
    assert_eq!((f.name.to_string(), f.args.len(), f.args_unspecified), ("s.f".into(), 2, false));
    assert!(matches!(&drop.objects[1], ObjectRef::Function(g) if g.args_unspecified));
    let Statement::Rename(rename) = statement("alter table if exists t rename column a to b")
    else {
        panic!()
    };
    assert_eq!(
        (rename.kind, rename.relation_kind, rename.part.as_deref(), rename.new_name.as_str()),
        (ObjectKind::Column, Some(ObjectKind::Table), Some("a"), "b")
    );
    let Statement::Rename(rename) = statement("alter schema s rename to t") else { panic!() };
    assert_eq!((rename.object, rename.part), (ObjectRef::Name("s".into()), None));
    let Statement::AlterTable(alter) =
        statement("alter table t drop column if exists a cascade, alter b drop default")
    else {
        panic!()
    };
    assert!(matches!(
        &alter.commands[0],
        AlterTableCommand::DropColumn { if_exists: true, behavior: DropBehavior::Cascade, .. }
    ));
    assert!(matches!(&alter.commands[1], AlterTableCommand::ColumnDefault { default: None, .. }));
    let Statement::CreateFunction(function) = statement(
        "create function f(a int, out b text) language sql set x = 1 begin atomic select 1; end",
    ) else {
        panic!()
    };
    assert_eq!(function.parameters[1].mode, ParameterMode::Out);
    assert!(matches!(&function.sql_body, Some(SqlBody::Atomic(body)) if body.len() == 1));
    assert_eq!(function.settings.len(), 1);
    let Statement::CreateTrigger(trigger) = statement(
        "create trigger g instead of update or delete on v for each row execute function f()",
    ) else {
        panic!()
    };
    assert_eq!(trigger.timing, TriggerTiming::InsteadOf);
    assert_eq!(
        trigger.events,
        TriggerEvents { update: true, delete: true, ..TriggerEvents::default() }
    );
    let Statement::CreateSequence(sequence) = statement("create sequence s no maxvalue cycle")
    else {
        panic!()
    };
    assert_eq!(
        (sequence.options[0].name.as_str(), &sequence.options[0].value),
        ("maxvalue", &None)
    );
    assert_eq!(sequence.options[1].value, Some(DefValue::Boolean(true)));
    assert_eq!(statement("close all"), Statement::Close(None));
    assert_eq!(statement("show all"), Statement::Show("all".into()));
}
