//! The definition in CREATE AGGREGATE: `SFUNC = …, STYPE = …` and the rest (DefineAggregate in
//! aggregatecmds.c).

use super::super::DdlContext;
use super::super::def_values::{name, type_name, wrong};
use super::super::reloptions::{def_boolean, def_text};
use super::options::parallel;
use super::refused;
use steppe_catalog::objects::{FinishModify, Parallel, Text};
use steppe_sql::ast::{DefElem, DefValue, ObjectName, TypeName};
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The content of the definition.
#[derive(Default)]
pub(super) struct Definition {
    pub(super) base_type: Option<TypeName>,
    pub(super) transition: Option<ObjectName>,
    pub(super) state: Option<TypeName>,
    pub(super) space: i32,
    pub(super) initial: Option<Text>,
    pub(super) finish: Option<ObjectName>,
    pub(super) finish_extra: bool,
    pub(super) finish_modify: FinishModify,
    pub(super) combine: Option<ObjectName>,
    pub(super) serialize: Option<ObjectName>,
    pub(super) deserialize: Option<ObjectName>,
    pub(super) sort_operator: Option<ObjectName>,
    pub(super) parallel: Option<Parallel>,
    pub(super) moving: MovingDefinition,
}

/// The part of the definition about frames that move.
#[derive(Default)]
pub(super) struct MovingDefinition {
    pub(super) transition: Option<ObjectName>,
    pub(super) inverse: Option<ObjectName>,
    pub(super) state: Option<TypeName>,
    pub(super) space: i32,
    pub(super) initial: Option<Text>,
    pub(super) finish: Option<ObjectName>,
    pub(super) finish_extra: bool,
    pub(super) finish_modify: FinishModify,
}

/// Reads the definition. A warning tells of an attribute that does not exist.
pub(super) fn read(
    ctx: &mut DdlContext<'_>,
    list: &[DefElem],
    is_ordered_set: bool,
) -> Result<Definition> {
    let mut definition = Definition::default();
    for elem in list {
        if elem.name == "hypothetical" && def_boolean(elem)? && !is_ordered_set {
            return Err(refused("only ordered-set aggregates can be hypothetical"));
        }
        if !definition.set(elem)? && !definition.moving.set(elem)? {
            let message = format!("aggregate attribute \"{}\" not recognized", elem.name);
            ctx.warn(SqlState::SYNTAX_ERROR, message);
        }
    }
    Ok(definition)
}

impl Definition {
    /// Takes in an attribute; false if it is another one.
    fn set(&mut self, elem: &DefElem) -> Result<bool> {
        match &*elem.name {
            // The names with a number are those of old versions.
            "sfunc" | "sfunc1" => self.transition = Some(name(elem)?),
            "stype" | "stype1" => self.state = Some(type_name(elem)?),
            "sspace" => self.space = integer(elem)?,
            "initcond" | "initcond1" => self.initial = Some(text(elem)?.into()),
            "finalfunc" => self.finish = Some(name(elem)?),
            "finalfunc_extra" => self.finish_extra = def_boolean(elem)?,
            "finalfunc_modify" => self.finish_modify = modify(elem)?,
            "combinefunc" => self.combine = Some(name(elem)?),
            "serialfunc" => self.serialize = Some(name(elem)?),
            "deserialfunc" => self.deserialize = Some(name(elem)?),
            "sortop" => self.sort_operator = Some(name(elem)?),
            "basetype" => self.base_type = Some(type_name(elem)?),
            "parallel" => self.parallel = Some(parallel(&text(elem)?)?),
            "hypothetical" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// 42P13 for attributes that are missing, or that need others.
    pub(super) fn check(&self) -> Result<()> {
        let wanted = |what: &str| Err(refused(format!("aggregate {what} must be specified")));
        if self.state.is_none() {
            return wanted("stype");
        }
        if self.transition.is_none() {
            return wanted("sfunc");
        }
        let moving = &self.moving;
        if moving.state.is_some() {
            let given = [("msfunc", &moving.transition), ("minvfunc", &moving.inverse)];
            return match given.iter().find(|(_, name)| name.is_none()) {
                Some((what, _)) => Err(refused(format!(
                    "aggregate {what} must be specified when mstype is specified"
                ))),
                None => Ok(()),
            };
        }
        let given = [
            ("msfunc", moving.transition.is_some()),
            ("minvfunc", moving.inverse.is_some()),
            ("mfinalfunc", moving.finish.is_some()),
            ("msspace", moving.space != 0),
            ("minitcond", moving.initial.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((what, _)) => {
                Err(refused(format!("aggregate {what} must not be specified without mstype")))
            }
            None => Ok(()),
        }
    }

    /// 42P13 for serialization of a state that is a value, and for one of its two functions.
    pub(super) fn check_serialization(&self, state: Oid) -> Result<()> {
        match (&self.serialize, &self.deserialize) {
            (None, None) => Ok(()),
            (Some(_), Some(_)) if state == oid::INTERNAL => Ok(()),
            (Some(_), Some(_)) => Err(refused(
                "serialization functions may be specified only when the aggregate transition data \
                 type is internal",
            )),
            _ => Err(refused(
                "must specify both or neither of serialization and deserialization functions",
            )),
        }
    }
}

impl MovingDefinition {
    fn set(&mut self, elem: &DefElem) -> Result<bool> {
        match &*elem.name {
            "msfunc" => self.transition = Some(name(elem)?),
            "minvfunc" => self.inverse = Some(name(elem)?),
            "mstype" => self.state = Some(type_name(elem)?),
            "msspace" => self.space = integer(elem)?,
            "minitcond" => self.initial = Some(text(elem)?.into()),
            "mfinalfunc" => self.finish = Some(name(elem)?),
            "mfinalfunc_extra" => self.finish_extra = def_boolean(elem)?,
            "mfinalfunc_modify" => self.finish_modify = modify(elem)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A word or a string: defGetString.
fn text(elem: &DefElem) -> Result<String> {
    let why = if elem.value.is_none() { "requires a parameter" } else { "must be a string" };
    def_text(elem).ok_or_else(|| wrong(elem, why))
}

fn integer(elem: &DefElem) -> Result<i32> {
    match &elem.value {
        Some(DefValue::Integer(number)) => Ok(*number),
        _ => Err(wrong(elem, "requires a numeric value")),
    }
}

fn modify(elem: &DefElem) -> Result<FinishModify> {
    match &*text(elem)? {
        "read_only" => Ok(FinishModify::ReadOnly),
        "shareable" => Ok(FinishModify::Shareable),
        "read_write" => Ok(FinishModify::ReadWrite),
        _ => {
            let name = &elem.name;
            let message =
                format!("parameter \"{name}\" must be READ_ONLY, SHAREABLE, or READ_WRITE");
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
    }
}
