//! Builds executable code from the parser's tree.

use std::collections::HashMap;
use std::sync::Arc;

use steppe_sql::parser::lexer::{Lexer, TokenKind};
use steppe_types::oid;

use super::code::*;
use super::context::Shown;
use crate::lexer::name;
use crate::names::{Names, Scope};
use crate::tree::{self, Program, SlotId, Sql, SqlKind, StatementKind};

/// A routine's properties, besides its program.
pub(super) struct Routine {
    pub(super) signature: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) oid: u32,
    pub(super) kind: crate::types::RoutineKind,
    pub(super) result: crate::types::Type,
    pub(super) returns_row: bool,
    pub(super) expected: Option<Arc<super::frame::Shape>>,
}

/// The code of a program, which was parsed from a source.
pub(super) fn build(program: Program, source: &str, routine: Routine) -> Code {
    let mut builder = Builder {
        slots: &program.slots,
        names: &program.names,
        pieces: Vec::new(),
        // Place 0 is no statement.
        places: vec![(0, "")],
        labels: HashMap::new(),
        scripts: 0,
        counters: 0,
    };
    let vars: Box<[Var]> = program.slots.iter().map(|slot| builder.var(slot)).collect();
    let place = builder.place(program.body.line, "statement block");
    debug_assert_eq!(place, OUTERMOST);
    let body = builder.block(&program.body);
    let Builder { pieces, places, scripts, counters, .. } = builder;
    let mut fields: HashMap<SlotId, HashMap<Arc<str>, SlotId>> = HashMap::new();
    let mut promises = Vec::new();
    for (at, var) in vars.iter().enumerate() {
        let slot = SlotId(at as u32);
        match var {
            Var::Field { record, name } => {
                fields.entry(*record).or_default().insert(name.clone(), slot);
            }
            Var::Scalar(Scalar { promise: Some(promise), name, .. })
                if is_mentioned(source, name) =>
            {
                promises.push((slot, *promise));
            }
            _ => {}
        }
    }
    let has_records = vars.iter().any(|var| matches!(var, Var::Record(_)));
    Code {
        signature: routine.signature,
        name: routine.name,
        oid: routine.oid,
        kind: routine.kind,
        result: routine.result,
        returns_row: routine.returns_row,
        expected: routine.expected,
        vars,
        names: program.names,
        fields,
        pieces: pieces.into(),
        places: places.into(),
        body,
        scripts,
        counters,
        arguments: program.arguments.into(),
        found: program.found,
        new: program.new,
        old: program.old,
        conflict: program.variable_conflict,
        print_strict_params: program.print_strict_params,
        has_records,
        promises: promises.into(),
    }
}

/// Whether a source may mention a name, which is a plain word. It does so in its letters, also where
/// the name gets an alias, or by the numbers of its characters (`U&"…"`).
fn is_mentioned(source: &str, name: &str) -> bool {
    let has = |word: &str| {
        let mut places = source.as_bytes().windows(word.len());
        places.any(|place| place.eq_ignore_ascii_case(word.as_bytes()))
    };
    has(name) || has("U&\"")
}

/// The place of the outermost block.
pub(super) const OUTERMOST: u32 = 1;

pub(super) struct Builder<'p> {
    pub(super) slots: &'p [tree::Slot],
    names: &'p Names,
    pieces: Vec<Piece>,
    places: Vec<(u32, &'static str)>,
    labels: HashMap<String, Label>,
    /// The number of scripts and of FOR loops over integers.
    pub(super) scripts: u32,
    pub(super) counters: u32,
}

impl Builder<'_> {
    pub(super) fn place(&mut self, line: u32, name: &'static str) -> u32 {
        self.places.push((line, name));
        self.places.len() as u32 - 1
    }

    pub(super) fn label(&mut self, label: &Option<String>) -> Label {
        let next = self.labels.len() as Label + 1;
        match label {
            None => UNLABELLED,
            Some(label) => *self.labels.entry(label.clone()).or_insert(next),
        }
    }

    pub(super) fn piece(&mut self, text: &str, shown: &str, of: Use, scope: Scope) -> SqlNumber {
        let what = match of {
            Use::Statement | Use::Cursor => "SQL statement",
            _ if text == shown => "PL/pgSQL expression",
            _ => "PL/pgSQL assignment",
        };
        let shown = Shown { what, text: shown.into() };
        self.pieces.push(Piece { text: text.into(), shown, of, scope });
        SqlNumber(self.pieces.len() as u32 - 1)
    }

    pub(super) fn piece_of(&self, number: SqlNumber) -> &Piece {
        &self.pieces[number.0 as usize]
    }

    pub(super) fn sql(&mut self, sql: &Sql) -> SqlNumber {
        let of = match sql.kind {
            SqlKind::Statement => Use::Statement,
            SqlKind::Expression | SqlKind::Assignment(_) => Use::Expression,
        };
        self.piece(&sql.text, &sql.text, of, sql.scope)
    }

    fn cursor_query(&mut self, sql: &Sql) -> SqlNumber {
        self.piece(&sql.text, &sql.text, Use::Cursor, sql.scope)
    }

    pub(super) fn optional(&mut self, sql: &Option<Sql>) -> Option<SqlNumber> {
        sql.as_ref().map(|sql| self.sql(sql))
    }

    fn list(&mut self, list: &[Sql]) -> Box<[SqlNumber]> {
        list.iter().map(|sql| self.sql(sql)).collect()
    }

    fn var(&mut self, slot: &tree::Slot) -> Var {
        match slot {
            tree::Slot::Scalar(scalar) => Var::Scalar(Scalar {
                name: scalar.name.as_str().into(),
                line: scalar.line,
                ty: scalar.data_type.clone(),
                not_null: scalar.not_null,
                default: self.optional(&scalar.default),
                cursor: scalar.cursor.as_ref().map(|cursor| BoundCursor {
                    query: self.cursor_query(&cursor.query),
                    arguments: cursor.arguments,
                    scroll: cursor.scroll,
                }),
                promise: scalar.promise,
            }),
            tree::Slot::Record(record) => Var::Record(Record {
                name: record.name.as_str().into(),
                line: record.line,
                ty: record.data_type.clone(),
                not_null: record.not_null,
                default: self.optional(&record.default),
            }),
            tree::Slot::Field(field) => {
                Var::Field { record: field.record, name: field.name.as_str().into() }
            }
            tree::Slot::Row(row) => {
                let field = |(name, slot): &(String, SlotId)| (name.as_str().into(), *slot);
                Var::Row(row.fields.iter().map(field).collect())
            }
        }
    }

    fn block(&mut self, block: &tree::Block) -> Block {
        let label = self.label(&block.label);
        let body = self.script(&block.body);
        let exceptions = block.exceptions.as_ref().map(|section| Exceptions {
            sqlstate: section.sqlstate,
            sqlerrm: section.sqlerrm,
            handlers: section
                .handlers
                .iter()
                .map(|handler| Handler {
                    conditions: handler.conditions.as_slice().into(),
                    body: self.script(&handler.body),
                })
                .collect(),
        });
        Block { label, declared: block.declared.as_slice().into(), body, exceptions }
    }

    /// A statement that is one instruction.
    pub(super) fn kind(&mut self, kind: &StatementKind) -> Kind {
        match kind {
            StatementKind::Block(block) => Kind::Block(Box::new(self.block(block))),
            StatementKind::ForRows(of) => self.for_rows(of),
            StatementKind::ForEach(of) => Kind::ForEach(Box::new(ForEach {
                label: self.label(&of.label),
                target: of.target,
                slice: of.slice,
                array: self.sql(&of.array),
                body: self.script(&of.body),
            })),
            StatementKind::Return(of) => Kind::Return(self.returned(of)),
            StatementKind::ReturnNext(of) => Kind::ReturnNext(self.returned(of)),
            StatementKind::ReturnQuery(of) => Kind::ReturnQuery(self.query(of)),
            StatementKind::Raise(raise) => self.raise(raise),
            StatementKind::Assert { condition, message } => {
                Kind::Assert { condition: self.sql(condition), message: self.optional(message) }
            }
            _ => self.kind_of_sql(kind),
        }
    }

    /// Statements that run SQL.
    fn kind_of_sql(&mut self, kind: &StatementKind) -> Kind {
        match kind {
            StatementKind::Execute { sql, into: target } => {
                Kind::Execute { sql: self.sql(sql), into: target.as_ref().map(into) }
            }
            StatementKind::ExecuteDynamic { query, into: target, parameters } => {
                Kind::ExecuteDynamic {
                    query: self.sql(query),
                    into: target.as_ref().map(into),
                    parameters: self.list(parameters),
                }
            }
            StatementKind::Perform(sql) => Kind::Perform(self.sql(sql)),
            StatementKind::Call { sql, call } => Kind::Call { sql: self.sql(sql), call: *call },
            StatementKind::GetDiagnostics { stacked, items } => {
                Kind::GetDiagnostics { stacked: *stacked, items: items.as_slice().into() }
            }
            StatementKind::Open { cursor, query } => Kind::Open {
                cursor: *cursor,
                query: match query {
                    tree::OpenQuery::Bound { arguments } => {
                        OpenQuery::Bound { arguments: self.optional(arguments) }
                    }
                    tree::OpenQuery::Given { scroll, query } => {
                        let query = match query {
                            tree::Query::Static(sql) => Query::Static(self.cursor_query(sql)),
                            tree::Query::Dynamic { .. } => self.query(query),
                        };
                        OpenQuery::Given { scroll: *scroll, query }
                    }
                },
            },
            StatementKind::Fetch(fetch) => Kind::Fetch(Box::new(Fetch {
                cursor: fetch.cursor,
                target: fetch.target,
                direction: fetch.direction,
                count: match &fetch.count {
                    tree::FetchCount::Number(number) => FetchCount::Number(*number),
                    tree::FetchCount::All => FetchCount::All,
                    tree::FetchCount::Expression(sql) => FetchCount::Expression(self.sql(sql)),
                },
            })),
            StatementKind::Close(cursor) => Kind::Close(*cursor),
            StatementKind::EndTransaction { commit, chain } => {
                Kind::EndTransaction { commit: *commit, chain: *chain }
            }
            _ => unreachable!("statements of other kinds are built by `kind`"),
        }
    }

    fn for_rows(&mut self, of: &tree::ForRows) -> Kind {
        let (label, target) = (self.label(&of.label), of.target);
        match &of.source {
            tree::RowSource::Query(query) => {
                let query = self.query(query);
                let body = self.script(&of.body);
                Kind::ForQuery(Box::new(ForQuery { label, target, query, body }))
            }
            tree::RowSource::Cursor { cursor, arguments } => {
                let arguments = self.optional(arguments);
                let (cursor, body) = (*cursor, self.script(&of.body));
                let slots = self.slots;
                let query = match &slots[cursor.0 as usize] {
                    tree::Slot::Scalar(tree::Scalar { cursor: Some(bound), .. }) => {
                        self.own_query(&bound.query, &body)
                    }
                    _ => None,
                };
                let of = ForCursor { label, target, cursor, query, arguments, body };
                Kind::ForCursor(Box::new(of))
            }
        }
    }

    fn returned(&mut self, of: &tree::Returned) -> Returned {
        match of {
            tree::Returned::Nothing => Returned::Nothing,
            tree::Returned::Variable(slot) => Returned::Variable(*slot),
            tree::Returned::Expression(sql) => Returned::Expression(self.sql(sql)),
        }
    }

    fn query(&mut self, query: &tree::Query) -> Query {
        match query {
            tree::Query::Static(sql) => Query::Static(self.sql(sql)),
            tree::Query::Dynamic { text, parameters } => {
                Query::Dynamic { text: self.sql(text), parameters: self.list(parameters) }
            }
        }
    }

    fn raise(&mut self, raise: &tree::Raise) -> Kind {
        Kind::Raise(Box::new(Raise {
            level: raise.level,
            again: raise.is_again(),
            condition: raise.condition.clone(),
            format: raise.format.clone(),
            parameters: self.list(&raise.parameters),
            options: raise.options.iter().map(|(option, sql)| (*option, self.sql(sql))).collect(),
        }))
    }

    /// The number of names that the variable takes. The names behind a field are fields of its value.
    pub(super) fn parts_of(&self, target: SlotId, sql: &Sql, parts: usize) -> usize {
        let names = crate::lexer::names(&sql.text);
        let names: Vec<&str> = names.iter().take(parts).map(String::as_str).collect();
        let is_field = matches!(self.slots[target.0 as usize], tree::Slot::Field(_));
        match self.names.find(sql.scope, &names) {
            Some(found) => (found.parts + usize::from(is_field)).min(parts),
            None => parts,
        }
    }

    /// The steps of the left side behind the variable, and where the right side begins.
    pub(super) fn left_side(&mut self, sql: &Sql, parts: usize) -> (Vec<Step>, usize) {
        let mut lexer = Lexer::new(&sql.text);
        let (mut names, mut steps) = (0, Vec::new());
        // Subscripts that follow each other are those of one array.
        let mut subscripts: Vec<Subscript> = Vec::new();
        loop {
            let token = lexer.next_token();
            let word = &sql.text[token.start..token.end];
            match token.kind {
                TokenKind::Punctuation(b'[') => {
                    subscripts.push(self.subscript(sql, &mut lexer, token.end));
                }
                TokenKind::Punctuation(b'.') => {}
                TokenKind::Word | TokenKind::QuotedIdentifier | TokenKind::Parameter => {
                    names += 1;
                    if names > parts {
                        steps.extend(self.step(sql, &mut subscripts));
                        steps.push(Step::Field(name(word).into()));
                    }
                }
                TokenKind::End | TokenKind::Invalid | TokenKind::Operator => {
                    steps.extend(self.step(sql, &mut subscripts));
                    return (steps, token.end);
                }
                _ => {}
            }
        }
    }

    /// `index]` or `lower:upper]`, and whether it is a slice.
    fn subscript(&mut self, sql: &Sql, lexer: &mut Lexer<'_>, start: usize) -> Subscript {
        let (mut depth, mut colon) = (0usize, None);
        let end = loop {
            let token = lexer.next_token();
            match token.kind {
                TokenKind::End | TokenKind::Invalid => break token.start,
                TokenKind::Punctuation(b'[' | b'(') => depth += 1,
                TokenKind::Punctuation(b']' | b')') if depth > 0 => depth -= 1,
                TokenKind::Punctuation(b']') => break token.start,
                _ if depth == 0 && &sql.text[token.start..token.end] == ":" => {
                    colon = Some((token.start, token.end));
                }
                _ => {}
            }
        };
        let mut bound = |from: usize, to: usize| {
            let text = &sql.text[from..to];
            let blank = " ".repeat(sql.text[..from].chars().count());
            let of = Use::Assigned(oid::INT4, -1);
            (!text.trim().is_empty())
                .then(|| self.piece(&format!("{blank}{text}"), &sql.text, of, sql.scope))
        };
        match colon {
            Some((at, after)) => {
                let lower = bound(start, at);
                Subscript { lower, upper: bound(after, end), slice: true }
            }
            None => Subscript { lower: None, upper: bound(start, end), slice: false },
        }
    }

    /// The step of subscripts that follow each other: if one is a slice, all are.
    fn step(&mut self, sql: &Sql, subscripts: &mut Vec<Subscript>) -> Option<Step> {
        let list = std::mem::take(subscripts);
        if list.is_empty() {
            return None;
        }
        if !list.iter().any(|subscript| subscript.slice) {
            return Some(Step::Elements(list.into_iter().filter_map(|one| one.upper).collect()));
        }
        let mut bounds = |one: Subscript| match one.slice {
            true => (one.lower, one.upper),
            // Among slices, a subscript alone means from 1 up to it.
            false => {
                let of = Use::Assigned(oid::INT4, -1);
                (Some(self.piece("1", &sql.text, of, sql.scope)), one.upper)
            }
        };
        Some(Step::Slices(list.into_iter().map(&mut bounds).collect()))
    }
}

/// `[upper]` or `[lower:upper]`.
struct Subscript {
    lower: Option<SqlNumber>,
    upper: Option<SqlNumber>,
    slice: bool,
}

fn into(clause: &tree::IntoClause) -> Into {
    Into { target: clause.target, strict: clause.strict }
}
