//! The attributes of a function: volatility, STRICT, COST and the rest
//! (compute_function_attributes and compute_common_attribute in functioncmds.c).

use super::super::DdlContext;
use super::types::invalid;
use steppe_catalog::objects::{Function, Parallel, Text, Volatility};
use steppe_sql::ast::{DefElem, DefValue};
use steppe_types::{Error, Result, SqlState};

/// The attributes that a statement gives.
#[derive(Default)]
pub(super) struct Options {
    /// LANGUAGE
    pub(super) language: Option<String>,
    /// AS: the strings.
    pub(super) code: Option<Vec<String>>,
    pub(super) volatility: Option<Volatility>,
    pub(super) strict: Option<bool>,
    pub(super) security_definer: Option<bool>,
    pub(super) leakproof: Option<bool>,
    pub(super) cost: Option<f32>,
    pub(super) rows: Option<f32>,
    pub(super) parallel: Option<Parallel>,
}

/// Reads the attributes of CREATE, or those of ALTER.
pub(super) fn read(
    ctx: &mut DdlContext<'_>,
    list: &[DefElem],
    is_procedure: bool,
) -> Result<Options> {
    let mut options = Options::default();
    for (position, elem) in list.iter().enumerate() {
        if list[..position].iter().any(|other| other.name == elem.name) {
            let message = "conflicting or redundant options";
            return Err(ctx.error(SqlState::SYNTAX_ERROR, message, elem.location));
        }
        // A procedure has a language, a body, SECURITY and settings only.
        if is_procedure && !matches!(&*elem.name, "language" | "as" | "security") {
            let error = invalid("invalid attribute in procedure definition".into());
            return Err(error.at(elem.location.position(ctx.source)));
        }
        options.add(elem)?;
    }
    Ok(options)
}

impl Options {
    fn add(&mut self, elem: &DefElem) -> Result<()> {
        match &*elem.name {
            "language" => self.language = Some(text(elem)?),
            "as" => self.code = Some(strings(elem)?),
            "volatility" => {
                self.volatility = Some(match &*text(elem)? {
                    "immutable" => Volatility::Immutable,
                    "stable" => Volatility::Stable,
                    _ => Volatility::Volatile,
                });
            }
            "strict" => self.strict = Some(flag(elem)),
            "security" => self.security_definer = Some(flag(elem)),
            "leakproof" => self.leakproof = Some(flag(elem)),
            "cost" => self.cost = Some(positive(elem, "COST")?),
            "rows" => self.rows = Some(positive(elem, "ROWS")?),
            "parallel" => self.parallel = Some(parallel(&text(elem)?)?),
            "window" => return Err(Error::not_supported("CREATE FUNCTION … WINDOW")),
            "support" => return Err(Error::not_supported("SUPPORT functions")),
            "transform" => return Err(Error::not_supported("TRANSFORM FOR TYPE")),
            other => return Err(Error::internal(format!("a function has no option {other}"))),
        }
        Ok(())
    }

    /// Gives an existing function the attributes.
    pub(super) fn apply(&self, function: &mut Function) {
        let Options {
            volatility, strict, security_definer, leakproof, cost, rows, parallel, ..
        } = self;
        set(&mut function.volatility, *volatility);
        set(&mut function.strict, *strict);
        set(&mut function.security_definer, *security_definer);
        set(&mut function.leakproof, *leakproof);
        set(&mut function.cost, *cost);
        set(&mut function.rows, *rows);
        set(&mut function.parallel, *parallel);
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn wrong_value(elem: &DefElem) -> Error {
    Error::internal(format!("option {} has an unexpected value", elem.name))
}

fn text(elem: &DefElem) -> Result<String> {
    match &elem.value {
        Some(DefValue::String(text)) => Ok(text.clone()),
        _ => Err(wrong_value(elem)),
    }
}

fn strings(elem: &DefElem) -> Result<Vec<String>> {
    let string = |value: &DefValue| match value {
        DefValue::String(text) => Ok(text.clone()),
        _ => Err(wrong_value(elem)),
    };
    match &elem.value {
        Some(DefValue::List(list)) => list.iter().map(string).collect(),
        Some(one) => Ok(vec![string(one)?]),
        None => Err(wrong_value(elem)),
    }
}

fn flag(elem: &DefElem) -> bool {
    !matches!(elem.value, Some(DefValue::Boolean(false)))
}

fn positive(elem: &DefElem, what: &str) -> Result<f32> {
    let number = match &elem.value {
        Some(DefValue::Integer(number)) => *number as f32,
        Some(DefValue::Float(number)) => number.parse().map_err(|_| wrong_value(elem))?,
        _ => return Err(wrong_value(elem)),
    };
    match number > 0.0 {
        true => Ok(number),
        false => {
            let message = format!("{what} must be positive");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

pub(super) fn parallel(word: &str) -> Result<Parallel> {
    match word {
        "safe" => Ok(Parallel::Safe),
        "restricted" => Ok(Parallel::Restricted),
        "unsafe" => Ok(Parallel::Unsafe),
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE",
        )),
    }
}

/// 22023: ROWS for a function that returns one row.
pub(super) fn check_rows(options: &Options, is_set: bool) -> Result<()> {
    match options.rows.is_some() && !is_set {
        true => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "ROWS is not applicable when function does not return a set",
        )),
        false => Ok(()),
    }
}

/// A changed list of settings.
pub(super) type Settings = Vec<(Text, Text)>;
