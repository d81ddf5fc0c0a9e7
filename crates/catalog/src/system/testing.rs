//! A catalog for tests, with the OIDs that a live PostgreSQL gave the same objects:
//!
//! ```sql
//! create table acc (id serial primary key, "Name" varchar(20) not null default 'x',
//!     balance numeric(10,2) default 0.5 check (balance > 0), note text, a int, b int,
//!     ts timestamptz default now(), arr int[], unique (a, b));
//! create index acc_expr on acc (lower(note), (a + b) desc, b nulls first,
//!     note text_pattern_ops desc nulls last) include (ts) where balance > 10 and a is not null;
//! create unique index acc_nnd on acc (a) nulls not distinct with (fillfactor=70);
//! create table ident (k bigint generated always as identity, v text collate "C", c char(3));
//! comment on table acc is 'accounts'; comment on column acc.note is 'a note';
//! create view v as select id, note from acc where a > 1;
//! create sequence s start 5 increment 2 maxvalue 100 cycle cache 3;
//! alter table acc drop column arr;
//! ```

use crate::relation::*;
use crate::snapshot::Catalog;
use crate::{C_COLLATION, PUBLIC, RareText};
use std::sync::Arc;
use steppe_types::{Oid, oid};

pub(super) const ACC_SEQ: Oid = 16389;
pub(super) const ACC: Oid = 16390;
pub(super) const ACC_PKEY: Oid = 16404;
pub(super) const ACC_KEY: Oid = 16406;
pub(super) const ACC_EXPR: Oid = 16408;
pub(super) const ACC_NND: Oid = 16409;
pub(super) const IDENT: Oid = 16411;
pub(super) const VIEW: Oid = 16417;
pub(super) const SEQ: Oid = 16421;

fn rare(text: &str) -> Option<RareText> {
    Some(text.to_string().into())
}

fn text(s: &str) -> Option<Arc<str>> {
    Some(s.into())
}

fn key(attnum: i16, type_oid: Oid) -> IndexKey {
    IndexKey::ascending(attnum, type_oid)
}

fn index(oid: Oid, name: &str, keys: Vec<IndexKey>) -> Relation {
    let mut relation = Relation::new(oid, PUBLIC, name, RelKind::Index);
    relation.index = Some(Box::new(IndexInfo {
        table: ACC,
        keys: keys.into(),
        include: Default::default(),
        unique: true,
        primary: false,
        clustered: false,
        deferral: Default::default(),
        nulls_not_distinct: false,
        predicate: None,
    }));
    relation
}

fn edit(relation: &mut Relation) -> &mut IndexInfo {
    relation.index.as_mut().expect("made as an index")
}

fn sequence(oid: Oid, name: &str, info: SequenceInfo) -> Relation {
    let mut relation = Relation::new(oid, PUBLIC, name, RelKind::Sequence);
    relation.sequence = Some(info.into());
    relation
}

fn acc() -> Relation {
    let mut acc = Relation::new(ACC, PUBLIC, "acc", RelKind::Table);
    let mut note = Column::new("note", oid::TEXT, -1);
    note.comment = rare("a note");
    let default = |mut column: Column, expression: &str, not_null| {
        column.default = text(expression);
        column.not_null = not_null;
        column
    };
    acc.columns = vec![
        default(Column::new("id", oid::INT4, -1), "nextval('acc_id_seq'::regclass)", true),
        default(Column::new("Name", oid::VARCHAR, 24), "'x'::character varying", true),
        default(Column::new("balance", oid::NUMERIC, 655366), "0.5", false),
        note,
        Column::new("a", oid::INT4, -1),
        Column::new("b", oid::INT4, -1),
        default(Column::new("ts", oid::TIMESTAMPTZ, -1), "now()", false),
        Column { dropped: true, ..Column::new("........pg.dropped.8........", 1007, -1) },
    ]
    .into();
    let constraint =
        |oid, name: &str, kind, columns: &[i16]| Constraint::new(oid, name, kind, columns.to_vec());
    let check = "(balance > (0)::numeric)".to_string().into();
    acc.constraints = vec![
        constraint(16397, "acc_balance_check", ConstraintKind::Check { expression: check }, &[3]),
        constraint(16400, "acc_id_not_null", ConstraintKind::NotNull, &[1]),
        constraint(16401, "acc_Name_not_null", ConstraintKind::NotNull, &[2]),
        constraint(16405, "acc_pkey", ConstraintKind::Primary { index: ACC_PKEY }, &[1]),
        constraint(16407, "acc_a_b_key", ConstraintKind::Unique { index: ACC_KEY }, &[5, 6]),
    ];
    acc.indexes = vec![ACC_PKEY, ACC_KEY, ACC_EXPR, ACC_NND].into();
    acc.comment = rare("accounts");
    acc
}

/// The catalog described above.
pub(super) fn accounts() -> Catalog {
    let mut catalog = Catalog::default();
    catalog.put_relation(acc());
    let mut pkey = index(ACC_PKEY, "acc_pkey", vec![key(1, oid::INT4)]);
    edit(&mut pkey).primary = true;
    catalog.put_relation(pkey);
    let keys = vec![key(5, oid::INT4), key(6, oid::INT4)];
    catalog.put_relation(index(ACC_KEY, "acc_a_b_key", keys));
    let expression = |t: &str, ty| IndexKey { expression: text(t), ..key(0, ty) };
    let mut expr = index(
        ACC_EXPR,
        "acc_expr",
        vec![
            expression("lower(note)", oid::TEXT),
            IndexKey { descending: true, nulls_first: true, ..expression("(a + b)", oid::INT4) },
            IndexKey { nulls_first: true, ..key(6, oid::INT4) },
            IndexKey { descending: true, opclass: text("text_pattern_ops"), ..key(4, oid::TEXT) },
        ],
    );
    edit(&mut expr).unique = false;
    edit(&mut expr).include = vec![7].into();
    edit(&mut expr).predicate = text("((balance > (10)::numeric) AND (a IS NOT NULL))");
    catalog.put_relation(expr);
    let mut nnd = index(ACC_NND, "acc_nnd", vec![key(5, oid::INT4)]);
    edit(&mut nnd).nulls_not_distinct = true;
    nnd.options = vec![("fillfactor".into(), "70".into())].into();
    catalog.put_relation(nnd);

    let mut ident = Relation::new(IDENT, PUBLIC, "ident", RelKind::Table);
    ident.columns = vec![
        Column { identity: Some('a'), not_null: true, ..Column::new("k", oid::INT8, -1) },
        Column { collation: C_COLLATION, ..Column::new("v", oid::TEXT, -1) },
        Column::new("c", oid::BPCHAR, 7),
    ]
    .into();
    catalog.put_relation(ident);
    let mut view = Relation::new(VIEW, PUBLIC, "v", RelKind::View);
    view.columns =
        vec![Column::new("id", oid::INT4, -1), Column::new("note", oid::TEXT, -1)].into();
    view.view = rare("SELECT id, note FROM acc WHERE (a > 1)");
    catalog.put_relation(view);
    let plain = SequenceInfo {
        type_oid: oid::INT8,
        start: 5,
        increment: 2,
        min: 1,
        max: 100,
        cache: 3,
        cycle: true,
        owned_by: None,
        cell: 0,
        unlogged: false,
    };
    catalog.put_relation(sequence(SEQ, "s", plain.clone()));
    let serial = SequenceInfo {
        type_oid: oid::INT4,
        start: 1,
        increment: 1,
        max: i64::from(i32::MAX),
        cache: 1,
        cycle: false,
        owned_by: Some((ACC, 1)),
        ..plain
    };
    catalog.put_relation(sequence(ACC_SEQ, "acc_id_seq", serial));
    catalog
}
