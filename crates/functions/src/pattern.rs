//! LIKE, SIMILAR TO and regular expressions (like.c, regexp.c of
//! src/backend/utils/adt); matching is [`steppe_types::text`]'s.
//!
//! Most patterns do not change from row to row, so each thread keeps the last few compiled ones (as
//! RE_compile_and_cache does).

use super::args::{bytes, given, int4, text, text_datum, text_or_null};
use super::{CallInfo, Entry, SetRows, scalar, set};
use crate::FnContext;
use std::cell::RefCell;
use std::rc::Rc;
use steppe_types::datum::one_dimensional;
use steppe_types::interrupt::interruptible;
use steppe_types::text::like::{LikePattern, escape_character, like_escape};
use steppe_types::text::regex::{self, Regex, RegexFlags, similar_to_regex};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// Pattern functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("textlike", scalar(|a, _| like(a, false, true))),
    ("textnlike", scalar(|a, _| like(a, false, false))),
    ("namelike", scalar(|a, _| like(a, false, true))),
    ("namenlike", scalar(|a, _| like(a, false, false))),
    ("texticlike", scalar(|a, _| like(a, true, true))),
    ("texticnlike", scalar(|a, _| like(a, true, false))),
    ("nameiclike", scalar(|a, _| like(a, true, true))),
    ("nameicnlike", scalar(|a, _| like(a, true, false))),
    ("bytealike", scalar(|a, _| bytea_like(a, true))),
    ("byteanlike", scalar(|a, _| bytea_like(a, false))),
    ("like_escape", scalar(|a, _| text_datum(like_escape(text(a, 0)?, text(a, 1)?)?))),
    ("like_escape_bytea", scalar(bytea_like_escape)),
    ("similar_escape", scalar(similar_escape)),
    ("similar_to_escape_1", scalar(|a, _| similar_to(text(a, 0)?, "\\"))),
    ("similar_to_escape_2", scalar(|a, _| similar_to(text(a, 0)?, text(a, 1)?))),
    ("textregexeq", scalar(|a, _| matches(a, "", true))),
    ("textregexne", scalar(|a, _| matches(a, "", false))),
    ("nameregexeq", scalar(|a, _| matches(a, "", true))),
    ("nameregexne", scalar(|a, _| matches(a, "", false))),
    ("texticregexeq", scalar(|a, _| matches(a, "i", true))),
    ("texticregexne", scalar(|a, _| matches(a, "i", false))),
    ("nameicregexeq", scalar(|a, _| matches(a, "i", true))),
    ("nameicregexne", scalar(|a, _| matches(a, "i", false))),
    ("textregexsubstr", scalar(|a, _| regex_substring(text(a, 0)?, text(a, 1)?))),
    ("textregexreplace_noopt", scalar(|a, _| replace(a, 1, 1, ""))),
    ("textregexreplace", scalar(replace_with_flags)),
    ("textregexreplace_extended", scalar(|a, _| replace(a, int4(a, 3)?, int4(a, 4)?, text(a, 5)?))),
    ("textregexreplace_extended_no_flags", scalar(|a, _| replace(a, int4(a, 3)?, int4(a, 4)?, ""))),
    ("textregexreplace_extended_no_n", scalar(|a, _| replace(a, int4(a, 3)?, 1, ""))),
    ("regexp_match", scalar(regexp_match)),
    ("regexp_match_no_flags", scalar(regexp_match)),
    ("regexp_matches", set(regexp_matches)),
    ("regexp_matches_no_flags", set(regexp_matches)),
    ("regexp_split_to_array", scalar(split_to_array)),
    ("regexp_split_to_array_no_flags", scalar(split_to_array)),
    ("regexp_split_to_table", set(split_to_table)),
    ("regexp_split_to_table_no_flags", set(split_to_table)),
    ("regexp_count", scalar(count)),
    ("regexp_count_no_start", scalar(count)),
    ("regexp_count_no_flags", scalar(count)),
    ("regexp_like", scalar(regexp_like)),
    ("regexp_like_no_flags", scalar(regexp_like)),
    ("regexp_instr", scalar(instr)),
    ("regexp_instr_no_start", scalar(instr)),
    ("regexp_instr_no_n", scalar(instr)),
    ("regexp_instr_no_endoption", scalar(instr)),
    ("regexp_instr_no_flags", scalar(instr)),
    ("regexp_instr_no_subexpr", scalar(instr)),
    ("regexp_substr", scalar(substr)),
    ("regexp_substr_no_start", scalar(substr)),
    ("regexp_substr_no_n", scalar(substr)),
    ("regexp_substr_no_flags", scalar(substr)),
    ("regexp_substr_no_subexpr", scalar(substr)),
];

/// Compiled patterns that a thread keeps.
const KEPT: usize = 32;

/// The last few compiled patterns, the most recent first.
struct Recent<K, V>(Vec<(K, Rc<V>)>);

impl<K, V> Recent<K, V> {
    const fn new() -> Recent<K, V> {
        Recent(Vec::new())
    }

    fn get(
        &mut self,
        is: impl Fn(&K) -> bool,
        make: impl FnOnce() -> Result<(K, V)>,
    ) -> Result<Rc<V>> {
        if let Some(at) = self.0.iter().position(|(key, _)| is(key)) {
            self.0[..=at].rotate_right(1);
        } else {
            let (key, value) = make()?;
            self.0.truncate(KEPT - 1);
            self.0.insert(0, (key, Rc::new(value)));
        }
        Ok(self.0[0].1.clone())
    }
}

thread_local! {
    static LIKES: RefCell<Recent<(String, bool), LikePattern>> =
        const { RefCell::new(Recent::new()) };
    static REGEXES: RefCell<Recent<(String, RegexFlags), Regex>> =
        const { RefCell::new(Recent::new()) };
}

fn like_pattern(pattern: &str, fold_case: bool) -> Result<Rc<LikePattern>> {
    let make = || {
        let compiled = match fold_case {
            true => LikePattern::new_case_insensitive(pattern, Some('\\')),
            false => LikePattern::new(pattern, Some('\\')),
        };
        Ok(((pattern.to_string(), fold_case), compiled))
    };
    LIKES.with_borrow_mut(|recent| recent.get(|(p, f)| p == pattern && *f == fold_case, make))
}

fn compiled(pattern: &str, mut flags: RegexFlags) -> Result<Rc<Regex>> {
    // A flag that the pattern ignores must not compile it twice.
    flags.global = false;
    let make = || Ok(((pattern.to_string(), flags), Regex::new(pattern, flags)?));
    REGEXES.with_borrow_mut(|recent| recent.get(|(p, f)| p == pattern && *f == flags, make))
}

fn like(args: &[Datum], fold_case: bool, expected: bool) -> Result<Datum> {
    let matched = like_pattern(text(args, 1)?, fold_case)?.matches(text(args, 0)?)?;
    Ok(Datum::Bool(matched == expected))
}

/// Converts each byte to the character with its number.
fn latin1(bytes: &[u8]) -> String {
    interruptible(bytes.iter()).map(|b| char::from(*b)).collect()
}

fn bytea_like(args: &[Datum], expected: bool) -> Result<Datum> {
    let matched =
        like_pattern(&latin1(bytes(args, 1)?), false)?.matches(&latin1(bytes(args, 0)?))?;
    Ok(Datum::Bool(matched == expected))
}

fn bytea_like_escape(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let escaped = like_escape(&latin1(bytes(args, 0)?), &latin1(bytes(args, 1)?))?;
    // Every character came from a byte.
    let bytes: Vec<u8> = escaped.chars().map(|c| c as u8).collect();
    Ok(Datum::Bytea(bytes.into()))
}

fn similar_to(pattern: &str, escape: &str) -> Result<Datum> {
    text_datum(similar_to_regex(pattern, escape_character(escape)?)?)
}

/// The old form, whose NULL escape means the default.
fn similar_escape(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    match (given(args, 0), given(args, 1)) {
        (None, _) => Ok(Datum::Null),
        (Some(pattern), None) => similar_to(pattern.as_text()?, "\\"),
        (Some(pattern), Some(escape)) => similar_to(pattern.as_text()?, escape.as_text()?),
    }
}

fn matches(args: &[Datum], flags: &str, expected: bool) -> Result<Datum> {
    let regex = compiled(text(args, 1)?, RegexFlags::parse(flags)?)?;
    Ok(Datum::Bool(regex.is_match(text(args, 0)?)? == expected))
}

/// `substring(text from pattern)`
pub(super) fn regex_substring(value: &str, pattern: &str) -> Result<Datum> {
    let regex = compiled(pattern, RegexFlags::default())?;
    text_or_null(regex::substring_regex(value, &regex)?)
}

/// `substring(text similar pattern escape escape)`
pub(super) fn similar_substring(value: &str, pattern: &str, escape: &str) -> Result<Datum> {
    let pattern = similar_to_regex(pattern, escape_character(escape)?)?;
    regex_substring(value, &pattern)
}

/// An argument that must be positive, or not negative. It is checked before the pattern.
fn at_least(least: i32, name: &str, value: i32) -> Result<i32> {
    if value >= least { Ok(value) } else { Err(regex::bad_parameter(name, value)) }
}

fn replace(args: &[Datum], start: i32, n: i32, flags: &str) -> Result<Datum> {
    at_least(1, "start", start)?;
    at_least(0, "n", n)?;
    let flags = RegexFlags::parse(flags)?;
    let regex = compiled(text(args, 1)?, flags)?;
    text_datum(regex::regexp_replace(text(args, 0)?, &regex, text(args, 2)?, start, n)?)
}

/// `regexp_replace(text, pattern, replacement, flags)`: `g` replaces all.
fn replace_with_flags(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let options = text(args, 3)?;
    // A digit was meant as a start position.
    if options.starts_with(|c: char| c.is_ascii_digit()) {
        let first = &options[..1];
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid regular expression option: \"{first}\""),
        )
        .hint(
            "If you meant to use regexp_replace() with a start parameter, cast the fourth \
             argument to integer explicitly.",
        ));
    }
    let n = if RegexFlags::parse(options)?.global { 0 } else { 1 };
    replace(args, 1, n, options)
}

/// The flags argument `i`, empty where the call leaves it out.
fn flags_at(args: &[Datum], i: usize) -> Result<RegexFlags> {
    RegexFlags::parse(if args.len() > i { text(args, i)? } else { "" })
}

/// The integer argument `i`, or its default.
fn int4_or(args: &[Datum], i: usize, default: i32) -> Result<i32> {
    if args.len() > i { int4(args, i) } else { Ok(default) }
}

/// `start` and `n` of the functions that have both.
fn start_and_n(args: &[Datum]) -> Result<(i32, i32)> {
    let start = at_least(1, "start", int4_or(args, 2, 1)?)?;
    Ok((start, at_least(1, "n", int4_or(args, 3, 1)?)?))
}

fn texts(groups: Vec<Option<&str>>) -> Datum {
    one_dimensional(
        oid::TEXT,
        groups.into_iter().map(|group| group.map_or(Datum::Null, Datum::text)).collect(),
    )
}

fn regexp_match(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let flags = flags_at(args, 2)?.refuse_global("regexp_match", Some("regexp_matches"))?;
    let regex = compiled(text(args, 1)?, flags)?;
    let found = regex::regexp_matches(text(args, 0)?, &regex, false)?;
    Ok(found.into_iter().next().map_or(Datum::Null, texts))
}

fn regexp_matches(args: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let flags = flags_at(args, 2)?;
    let regex = compiled(text(args, 1)?, flags)?;
    let found = regex::regexp_matches(text(args, 0)?, &regex, flags.global)?;
    Ok(super::series::values(found.into_iter().map(texts).collect()))
}

fn parts(args: &[Datum], function: &str) -> Result<Vec<Datum>> {
    let flags = flags_at(args, 2)?.refuse_global(function, None)?;
    let regex = compiled(text(args, 1)?, flags)?;
    let parts = regex::regexp_split(text(args, 0)?, &regex)?;
    Ok(parts.into_iter().map(Datum::text).collect())
}

fn split_to_array(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(one_dimensional(oid::TEXT, parts(args, "regexp_split_to_array")?))
}

fn split_to_table(args: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    Ok(super::series::values(parts(args, "regexp_split_to_table")?))
}

/// `regexp_count(text, pattern [, start [, flags]])`
fn count(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let start = at_least(1, "start", int4_or(args, 2, 1)?)?;
    let flags = flags_at(args, 3)?.refuse_global("regexp_count", None)?;
    let regex = compiled(text(args, 1)?, flags)?;
    regex::regexp_count(text(args, 0)?, &regex, start).map(Datum::Int4)
}

/// `regexp_like(text, pattern [, flags])`
fn regexp_like(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let flags = flags_at(args, 2)?.refuse_global("regexp_like", None)?;
    compiled(text(args, 1)?, flags)?.is_match(text(args, 0)?).map(Datum::Bool)
}

/// `regexp_instr(text, pattern [, start [, n [, endoption [, flags [, subexpr]]]]])`
fn instr(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (start, n) = start_and_n(args)?;
    let end_option = int4_or(args, 4, 0)?;
    if !matches!(end_option, 0 | 1) {
        return Err(regex::bad_parameter("endoption", end_option));
    }
    let group = at_least(0, "subexpr", int4_or(args, 6, 0)?)?;
    let flags = flags_at(args, 5)?.refuse_global("regexp_instr", None)?;
    let regex = compiled(text(args, 1)?, flags)?;
    let at = regex::regexp_instr(text(args, 0)?, &regex, start, n, end_option == 1, group)?;
    Ok(Datum::Int4(at))
}

/// `regexp_substr(text, pattern [, start [, n [, flags [, subexpr]]]])`
fn substr(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (start, n) = start_and_n(args)?;
    let group = at_least(0, "subexpr", int4_or(args, 5, 0)?)?;
    let flags = flags_at(args, 4)?.refuse_global("regexp_substr", None)?;
    let regex = compiled(text(args, 1)?, flags)?;
    text_or_null(regex::regexp_substr(text(args, 0)?, &regex, start, n, group)?)
}
