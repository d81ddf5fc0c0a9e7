//! The corpus, and a caller that knows the types of `data/schema.sql` and checks SQL's syntax.

#![allow(dead_code, missing_docs, unreachable_pub)]

use steppe_plpgsql::tree::{self, SqlKind};
use steppe_plpgsql::types::{
    Argument, ArgumentMode, Options, RoutineKind, Shadowed, Signature, Type, TypeClass, Types,
};
use steppe_types::{Error, Oid, Result, SqlState};

pub const CORPUS: &str = include_str!("../data/corpus.txt");
pub const ANSWERS: &str = include_str!("../data/answers.tsv");

/// A body of the corpus.
pub struct Entry {
    pub head: &'static str,
    pub body: &'static str,
    pub signature: Signature,
    pub options: Options,
}

/// All bodies, in order.
pub fn corpus() -> Vec<Entry> {
    let first = CORPUS.find("\n## ").map_or(0, |at| at + 1);
    let mut starts: Vec<usize> =
        CORPUS[first..].match_indices("\n## ").map(|(at, _)| first + at + 1).collect();
    starts.insert(0, first);
    starts.push(CORPUS.len());
    starts
        .windows(2)
        .map(|place| {
            let entry = &CORPUS[place[0]..place[1]];
            let (head, body) = entry.split_once('\n').unwrap_or((entry, ""));
            let head = head.trim_start_matches("## ").trim();
            Entry {
                head,
                body: body.strip_suffix('\n').unwrap_or(body),
                signature: signature(head),
                options: options(head),
            }
        })
        .collect()
}

fn options(head: &str) -> Options {
    let settings = head.split('|').nth(2).unwrap_or_default();
    let shadowed = match () {
        // DO does not look at them.
        () if head.starts_with("do") => Shadowed::Allow,
        () if settings.contains("extra_errors") => Shadowed::Refuse,
        () if settings.contains("extra_warnings") => Shadowed::Warn,
        () => Shadowed::Allow,
    };
    Options { shadowed, ..Options::default() }
}

fn signature(head: &str) -> Signature {
    let mut parts = head.split('|').map(str::trim);
    let result = parts.next().unwrap_or_default();
    let mut arguments: Vec<Argument> = parts
        .next()
        .unwrap_or_default()
        .split(", ")
        .filter(|a| !a.is_empty())
        .map(argument)
        .collect();
    let kind = match result {
        "procedure" => RoutineKind::Procedure,
        "trigger" => RoutineKind::Trigger,
        "event_trigger" => RoutineKind::EventTrigger,
        "do" => RoutineKind::Anonymous,
        _ => RoutineKind::Function,
    };
    let mut set = result.strip_prefix("setof ");
    if let Some(columns) = result.strip_prefix("table (") {
        let columns = columns.trim_end_matches(')').split(", ").map(argument);
        arguments.extend(columns.map(|column| Argument { mode: ArgumentMode::Table, ..column }));
        set = Some("record");
    }
    let outs = arguments.iter().filter(|a| a.mode != ArgumentMode::In).count();
    let out = arguments.iter().find(|a| a.mode != ArgumentMode::In);
    let data_type = match (kind, out) {
        (RoutineKind::Anonymous, _) => named("void"),
        (RoutineKind::Procedure, None) => named("void"),
        (RoutineKind::Procedure, Some(_)) => named("record"),
        (RoutineKind::Trigger, _) => named("trigger"),
        _ => match (result, out) {
            ("out", Some(out)) if outs == 1 => Ok(out.data_type.clone()),
            ("out", _) => named("record"),
            ("anyelement", _) => named("integer"),
            _ => named(set.unwrap_or(result)),
        },
    };
    Signature {
        name: if kind == RoutineKind::Anonymous { "inline_code_block" } else { "f" }.to_owned(),
        kind,
        arguments,
        result: data_type.unwrap_or_else(|error| panic!("{head}: {error}")),
        returns_set: set.is_some(),
        polymorphic_result: result == "anyelement",
        collation: 0,
    }
}

fn argument(text: &str) -> Argument {
    let (mode, text) = match text.split_once(' ') {
        Some(("out", rest)) => (ArgumentMode::Out, rest),
        Some(("inout", rest)) => (ArgumentMode::InOut, rest),
        _ => (ArgumentMode::In, text),
    };
    let (name, data_type) = text.rsplit_once(' ').map_or((None, text), |(n, t)| (Some(n), t));
    let data_type = if data_type == "anyelement" { "integer" } else { data_type };
    Argument {
        name: name.map(str::to_owned),
        mode,
        data_type: named(data_type).unwrap_or_else(|error| panic!("{text}: {error}")),
    }
}

/// Name as written, OID, collation, class, name as shown.
const TYPES: &[(&str, Oid, Oid, TypeClass, &str)] = &[
    ("integer", 23, 0, TypeClass::Scalar, "integer"),
    ("int", 23, 0, TypeClass::Scalar, "integer"),
    ("text", 25, 100, TypeClass::Scalar, "text"),
    ("boolean", 16, 0, TypeClass::Scalar, "boolean"),
    ("numeric(10, 2)", 1700, 0, TypeClass::Scalar, "numeric"),
    ("varchar(3)[]", 1015, 100, TypeClass::Scalar, "character varying[]"),
    ("integer[]", 1007, 0, TypeClass::Scalar, "integer[]"),
    ("int[]", 1007, 0, TypeClass::Scalar, "integer[]"),
    ("refcursor", 1790, 0, TypeClass::Scalar, "refcursor"),
    ("refcursor[]", 2201, 0, TypeClass::Scalar, "refcursor[]"),
    ("record", 2249, 0, TypeClass::Record, "record"),
    ("record[]", 2287, 0, TypeClass::Pseudo, "record[]"),
    ("void", 2278, 0, TypeClass::Pseudo, "void"),
    ("trigger", 2279, 0, TypeClass::Pseudo, "trigger"),
    ("event_trigger", 3838, 0, TypeClass::Pseudo, "event_trigger"),
    ("cstring", 2275, 0, TypeClass::Pseudo, "cstring"),
    ("anyelement", 2283, 0, TypeClass::Pseudo, "anyelement"),
    ("ct", 20001, 0, TypeClass::Record, "ct"),
    ("ct[]", 20002, 0, TypeClass::Scalar, "ct[]"),
    ("t%rowtype", 20003, 0, TypeClass::Record, "t"),
    ("d", 20004, 0, TypeClass::Scalar, "d"),
    ("e", 20005, 0, TypeClass::Scalar, "e"),
    ("numeric", 1700, 0, TypeClass::Scalar, "numeric"),
];

fn named(written: &str) -> Result<Type> {
    let text = written.trim();
    let known = TYPES.iter().find(|(name, ..)| *name == text);
    let Some(&(_, oid, collation, class, name)) = known else {
        let error = match text.split_once('.') {
            Some((schema, _)) => Error::new(
                SqlState::INVALID_SCHEMA_NAME,
                format!("schema \"{schema}\" does not exist"),
            ),
            None => {
                Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{text}\" does not exist"))
            }
        };
        // What is no type name is refused by SQL's own grammar.
        if let Err(error) = steppe_sql::parser::parse(&format!("SELECT CAST(NULL AS {written})")) {
            let length = written.chars().count() as u32;
            let at = error.fields().position.map_or(1, |at| at.saturating_sub(20).max(1));
            let error = if at > length {
                Error::new(error.sqlstate(), "syntax error at end of input")
            } else {
                error.without_position()
            };
            return Err(error.at(Some(at)).context(format!("invalid type name \"{written}\"")));
        }
        return Err(error.at(Some(1)));
    };
    Ok(Type { oid, modifier: -1, collation, class, name: name.to_owned() })
}

/// The caller.
pub struct Schema {
    /// Whether SQL's syntax is checked.
    pub checks: bool,
}

fn missing_relation(names: &[String]) -> Error {
    match names {
        [schema, _] if schema != "s" => {
            Error::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"))
        }
        _ => Error::new(
            SqlState::UNDEFINED_TABLE,
            format!("relation \"{}\" does not exist", names.join(".")),
        ),
    }
}

impl Types for Schema {
    fn named(&mut self, text: &str) -> Result<Type> {
        named(text)
    }

    fn of_column(&mut self, names: &[String]) -> Result<Type> {
        let (column, relation) = names.split_last().ok_or_else(|| Error::internal("no names"))?;
        match (relation.join(".").as_str(), column.as_str()) {
            ("t" | "ti", "a") | ("ct", "x") => named("integer"),
            ("s.u", "x") => named("numeric"),
            ("t" | "s.u", _) => Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!(
                    "column \"{column}\" of relation \"{}\" does not exist",
                    relation.join(".")
                ),
            )),
            _ => Err(missing_relation(relation)),
        }
    }

    fn of_relation(&mut self, names: &[String]) -> Result<Type> {
        match names.join(".").as_str() {
            "t" | "s.u" => named("t%rowtype"),
            "ct" => named("ct"),
            relation @ ("sq" | "ti") => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("relation \"{relation}\" does not have a composite type"),
            )),
            _ => Err(missing_relation(names)),
        }
    }

    fn array_over(&mut self, element: &Type) -> Result<Type> {
        match element.name.as_str() {
            "t" => named("ct[]"),
            "record" => named("record[]"),
            _ => named("integer[]"),
        }
    }

    fn collation(&mut self, names: &[String]) -> Result<Oid> {
        match names.last().map(String::as_str) {
            Some("C") => Ok(950),
            _ => Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("collation \"{}\" for encoding \"UTF8\" does not exist", names.join(".")),
            )),
        }
    }

    fn check_sql(&mut self, text: &str, kind: SqlKind) -> Result<()> {
        if !self.checks {
            return Ok(());
        }
        tree::sql::check_syntax(text, kind)
    }
}
