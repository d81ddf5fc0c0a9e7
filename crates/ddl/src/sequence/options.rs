//! The options of CREATE and ALTER SEQUENCE, and of identity columns (init_params).

use crate::reloptions::{def_text, invalid};
use steppe_catalog::SequenceInfo;
use steppe_sql::ast::{DefElem, DefValue, ObjectName};
use steppe_sql::bind::typename::resolve_built_in;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// Options of CREATE/ALTER SEQUENCE, serial and identity columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct SequenceOptions {
    /// Column of the table being created that it belongs to.
    pub(super) position: Option<usize>,
    type_oid: Option<Oid>,
    increment: Option<i64>,
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    start: Option<i64>,
    pub(super) restart: Option<Option<i64>>,
    cache: Option<i64>,
    cycle: Option<bool>,
    pub(super) owned_by: Option<ObjectName>,
    pub(super) identity: bool,
    /// SEQUENCE NAME of an identity column's sequence. `None` if a name is to be chosen.
    pub(super) name: Option<ObjectName>,
}

impl SequenceOptions {
    /// For a serial column.
    pub(crate) fn serial(position: usize, type_oid: Oid) -> SequenceOptions {
        SequenceOptions {
            position: Some(position),
            type_oid: Some(type_oid),
            ..SequenceOptions::default()
        }
    }

    /// For an identity column.
    pub(crate) fn identity(
        position: usize,
        type_oid: Oid,
        options: &[DefElem],
    ) -> Result<SequenceOptions> {
        let is_own = |option: &&DefElem| matches!(&*option.name, "sequence_name" | "logged");
        let of_sequence: Vec<DefElem> = options.iter().filter(|o| !is_own(o)).cloned().collect();
        let mut parsed = SequenceOptions::parse(&of_sequence)?;
        let name = options.iter().find(|option| option.name == "sequence_name");
        parsed.name = name.map(name_of).transpose()?;
        parsed.position = Some(position);
        parsed.type_oid = Some(type_oid);
        parsed.identity = true;
        Ok(parsed)
    }

    /// For an identity column made like another one.
    pub(crate) fn like(position: usize, info: &SequenceInfo) -> SequenceOptions {
        SequenceOptions {
            position: Some(position),
            type_oid: Some(info.type_oid),
            increment: Some(info.increment),
            min: Some(Some(info.min)),
            max: Some(Some(info.max)),
            start: Some(info.start),
            cache: Some(info.cache),
            cycle: Some(info.cycle),
            identity: true,
            ..SequenceOptions::default()
        }
    }

    /// AS another type, all else as it is.
    pub(crate) fn of_type(type_oid: Oid) -> SequenceOptions {
        SequenceOptions { type_oid: Some(type_oid), ..SequenceOptions::default() }
    }

    pub(crate) fn parse(options: &[DefElem]) -> Result<SequenceOptions> {
        let mut out = SequenceOptions::default();
        for option in options {
            let number = || -> Result<i64> {
                let text = def_text(option).unwrap_or_default();
                steppe_types::number_io::parse_int8(&text)
            };
            match option.name.as_str() {
                "as" => match &option.value {
                    Some(DefValue::TypeName(name)) => {
                        out.type_oid = Some(resolve_built_in(name)?.oid)
                    }
                    _ => return Err(Error::internal("AS without a type")),
                },
                "increment" => out.increment = Some(number()?),
                "minvalue" => out.min = Some(option.value.is_some().then(number).transpose()?),
                "maxvalue" => out.max = Some(option.value.is_some().then(number).transpose()?),
                "start" => out.start = Some(number()?),
                "restart" => out.restart = Some(option.value.is_some().then(number).transpose()?),
                "cache" => out.cache = Some(number()?),
                "cycle" => {
                    out.cycle = Some(!matches!(option.value, Some(DefValue::Boolean(false))));
                }
                "owned_by" => out.owned_by = Some(name_of(option)?),
                other => {
                    let message = format!("option \"{other}\" not recognized");
                    return Err(Error::new(SqlState::INTERNAL_ERROR, message));
                }
            }
        }
        Ok(out)
    }

    /// Applies the options to a sequence (init_params), with PostgreSQL's checks.
    pub(super) fn apply(&self, old: Option<&SequenceInfo>) -> Result<SequenceInfo> {
        let type_oid = self.type_oid.or(old.map(|o| o.type_oid)).unwrap_or(oid::INT8);
        let increment = self.increment.or(old.map(|o| o.increment)).unwrap_or(1);
        let ascending = increment > 0;
        let (min, max) = self.bounds(old, type_oid, increment)?;
        let first = if ascending { min } else { max };
        let start = self.start.or(old.map(|o| o.start)).unwrap_or(first);
        if start < min {
            return Err(invalid(format!(
                "START value ({start}) cannot be less than MINVALUE ({min})"
            )));
        }
        if start > max {
            return Err(invalid(format!(
                "START value ({start}) cannot be greater than MAXVALUE ({max})"
            )));
        }
        let cache = self.cache.or(old.map(|o| o.cache)).unwrap_or(1);
        if cache <= 0 {
            return Err(invalid(format!("CACHE ({cache}) must be greater than zero")));
        }
        let cycle = self.cycle.or(old.map(|o| o.cycle)).unwrap_or(false);
        let owned_by = old.and_then(|o| o.owned_by);
        let cell = old.map_or(0, |o| o.cell);
        let unlogged = old.is_some_and(|o| o.unlogged);
        Ok(SequenceInfo {
            type_oid,
            start,
            increment,
            min,
            max,
            cache,
            cycle,
            owned_by,
            cell,
            unlogged,
        })
    }

    /// MINVALUE and MAXVALUE.
    fn bounds(
        &self,
        old: Option<&SequenceInfo>,
        type_oid: Oid,
        increment: i64,
    ) -> Result<(i64, i64)> {
        let (low, high) = type_range(type_oid)
            .ok_or_else(|| invalid("sequence type must be smallint, integer, or bigint".into()))?;
        // Bounds that were the old type's are replaced by the new type's.
        let old_range =
            old.filter(|_| self.type_oid.is_some()).map(|o| (o, type_range(o.type_oid)));
        let resets_max = old_range.is_some_and(|(o, range)| range.is_some_and(|r| r.1 == o.max));
        let resets_min = old_range.is_some_and(|(o, range)| range.is_some_and(|r| r.0 == o.min));
        if increment == 0 {
            return Err(invalid("INCREMENT must not be zero".into()));
        }
        let ascending = increment > 0;
        let max = match (self.max, old) {
            (Some(Some(max)), _) => max,
            (None, Some(old)) if !resets_max => old.max,
            _ => {
                if ascending || resets_max {
                    high
                } else {
                    -1
                }
            }
        };
        let min = match (self.min, old) {
            (Some(Some(min)), _) => min,
            (None, Some(old)) if !resets_min => old.min,
            _ => {
                if ascending && !resets_min {
                    1
                } else {
                    low
                }
            }
        };
        let ty = steppe_sql::bind::typename::format_type(type_oid, -1);
        if max > high || max < low {
            return Err(invalid(format!(
                "MAXVALUE ({max}) is out of range for sequence data type {ty}"
            )));
        }
        if min > high || min < low {
            return Err(invalid(format!(
                "MINVALUE ({min}) is out of range for sequence data type {ty}"
            )));
        }
        if min >= max {
            return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
        }
        Ok((min, max))
    }

    /// Whether anything but the owner is to change.
    pub(super) fn change_parameters(&self) -> bool {
        self.type_oid.is_some()
            || self.increment.is_some()
            || self.min.is_some()
            || self.max.is_some()
            || self.start.is_some()
            || self.restart.is_some()
            || self.cache.is_some()
            || self.cycle.is_some()
    }
}

/// The least and the greatest value of a sequence's type. `None` if a sequence cannot have it.
fn type_range(type_oid: Oid) -> Option<(i64, i64)> {
    Some(match type_oid {
        oid::INT2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        oid::INT4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        oid::INT8 => (i64::MIN, i64::MAX),
        _ => return None,
    })
}

fn name_of(option: &DefElem) -> Result<ObjectName> {
    match &option.value {
        Some(DefValue::List(parts)) => {
            let text = |p: &DefValue| match p {
                DefValue::String(s) => s.clone(),
                _ => String::new(),
            };
            Ok(ObjectName(parts.iter().map(text).collect()))
        }
        Some(DefValue::String(name)) => Ok(ObjectName::from(name.as_str())),
        _ => Err(Error::internal("OWNED BY without a name")),
    }
}
