//! POSIX regular expressions (`~`, `regexp_*`, `substring … from`) and SIMILAR TO
//! (regexp.c).
//!
//! Engines agree on whether a text matches, but not on which part of it matches. PostgreSQL takes
//! the longest match at the leftmost place, Rust's engines the one that their pattern's order
//! prefers. Therefore:
//!
//! 1. the leftmost start is found by the usual engine, which agrees on it;
//! 2. where the two rules can differ (alternation, several quantifiers), the
//!    longest end is found from there by an automaton that runs to the very end;
//! 3. patterns for which the two rules cannot be made to agree (greedy and lazy quantifiers mixed,
//!    choices in patterns that need backtracking) fail with 0A000, so that no other match is given.
//!    The text of a group that several ways of matching could fill differently, such as `(.+)+`, is
//!    refused in the same way; the match as a whole is still given.
//!
//! Patterns without look-around and back-references run in linear time.

use super::regex_long::{Caches, Found, LongSearch};
use super::regex_translate::{Translated, invalid, translate};
use crate::interrupt;
use crate::{Error, Result, SqlState};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{Config as NfaConfig, WhichCaptures};
use regex_automata::{Anchored, Input, MatchKind, meta};
use std::sync::OnceLock;

/// Matches found between two checks for interrupts.
const MATCHES_TO_A_CHECK: usize = 1024;

/// Bytes a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 10 << 20;

/// The length from which a pattern certainly compiles to more than that, so that it is refused
/// unread.
const PATTERN_BYTES_MAX: usize = COMPILED_BYTES_MAX / 24;

/// The options of a regular expression, as its flags argument gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegexFlags {
    /// `i`
    pub ignore_case: bool,
    /// `n`, `p`: `.` and `[^…]` do not match a newline.
    pub newline_stops: bool,
    /// `n`, `w`: `^` and `$` match at newlines too.
    pub newline_anchors: bool,
    /// `x`: white space and comments are ignored.
    pub expanded: bool,
    /// `q`: the pattern is plain text.
    pub literal: bool,
    /// `g`: all matches, which the functions use and the pattern ignores.
    pub global: bool,
    /// `b`, `e`: another flavour of syntax.
    other_flavour: bool,
}

impl RegexFlags {
    /// Reads a flags argument: 22023 for a letter that is none.
    pub fn parse(options: &str) -> Result<RegexFlags> {
        let mut flags = RegexFlags::default();
        for option in options.chars() {
            if !flags.set(option) {
                return Err(Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("invalid regular expression option: \"{option}\""),
                ));
            }
        }
        Ok(flags)
    }

    /// 22023 if `g` was given to a function that does not take it.
    pub fn refuse_global(self, function: &str, hint: Option<&str>) -> Result<RegexFlags> {
        if !self.global {
            return Ok(self);
        }
        let error = Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("{function}() does not support the \"global\" option"),
        );
        Err(match hint {
            Some(function) => error.hint(format!("Use the {function} function instead.")),
            None => error,
        })
    }

    /// Sets the option of one letter; false if there is none.
    pub(super) fn set(&mut self, option: char) -> bool {
        match option {
            'g' => self.global = true,
            'b' | 'e' => self.other_flavour = true,
            'c' => self.ignore_case = false,
            'i' => self.ignore_case = true,
            'm' | 'n' => (self.newline_stops, self.newline_anchors) = (true, true),
            'p' => (self.newline_stops, self.newline_anchors) = (true, false),
            'w' => (self.newline_stops, self.newline_anchors) = (false, true),
            's' => (self.newline_stops, self.newline_anchors) = (false, false),
            'q' => self.literal = true,
            't' => self.expanded = false,
            'x' => self.expanded = true,
            _ => return false,
        }
        true
    }
}

enum Engine {
    Linear(meta::Regex),
    Backtracking(fancy_regex::Regex),
}

/// The way from the engine's match to PostgreSQL's.
enum Extent {
    /// Both have the same match.
    Same,
    /// The longest from the same start.
    Longest(PikeVM),
    /// Both are impossible; the string names the feature for 0A000.
    Unknown(&'static str),
}

/// A compiled regular expression.
pub struct Regex {
    engine: Engine,
    extent: Extent,
    groups_unknown: bool,
    /// The pattern as the engine knows it.
    pattern: Box<str>,
    /// Searches long texts, once there was one; with `None` the engine does.
    long: OnceLock<Option<LongSearch>>,
}

/// Byte ranges of a match: the whole, then each capturing group.
pub type Groups = Vec<Option<(usize, usize)>>;

impl Regex {
    /// Compiles a pattern: 2201B if it is not valid.
    pub fn new(pattern: &str, flags: RegexFlags) -> Result<Regex> {
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        let (translated, flags) = translate(pattern, flags)?;
        if flags.other_flavour {
            return Err(Error::not_supported(
                "a basic or extended (not advanced) regular expression",
            ));
        }
        if translated.back_references {
            // The engine compares letters as they are.
            if flags.ignore_case {
                return Err(Error::not_supported(
                    "a back-reference in a regular expression that ignores case",
                ));
            }
            if translated.rounds_unknown {
                return Err(ambiguous_group());
            }
        }
        let engine = if translated.needs_backtracking {
            let pattern = translated
                .pattern
                .replace("\\b{start}", "\\b(?=\\w)")
                .replace("\\b{end}", "\\b(?<=\\w)");
            let compiled = fancy_regex::RegexBuilder::new(&pattern)
                .delegate_size_limit(COMPILED_BYTES_MAX)
                .build();
            Engine::Backtracking(compiled.map_err(|error| engine_error(&error))?)
        } else {
            let config = meta::Config::new().nfa_size_limit(Some(COMPILED_BYTES_MAX));
            let compiled = meta::Regex::builder().configure(config).build(&translated.pattern);
            Engine::Linear(compiled.map_err(|error| engine_error(&error))?)
        };
        let extent = extent(&translated)?;
        let groups_unknown = translated.groups_unknown;
        let (pattern, long) = (translated.pattern.into(), OnceLock::new());
        Ok(Regex { engine, extent, groups_unknown, pattern, long })
    }

    /// The automata to search a text from `from` on, if it is too long for the engine.
    fn long_search(&self, text: &str, from: usize) -> Option<&LongSearch> {
        let Engine::Linear(regex) = &self.engine else { return None };
        if !LongSearch::is_long(text, from, regex.is_accelerated()) {
            return None;
        }
        let wants_longest = matches!(self.extent, Extent::Longest(_));
        let new = || LongSearch::new(&self.pattern, wants_longest, COMPILED_BYTES_MAX);
        self.long.get_or_init(new).as_ref()
    }

    /// Whether any part of the text matches: `~`.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        if let Some(long) = self.long_search(text, 0)
            && let Some(matches) = long.is_match(text)?
        {
            return Ok(matches);
        }
        match &self.engine {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).map_err(|e| run_error(&e)),
        }
    }

    /// 0A000 if the texts of the groups after a match could differ.
    fn check_groups(&self) -> Result<()> {
        if self.groups_unknown {
            return Err(ambiguous_group());
        }
        Ok(())
    }

    /// Capturing groups of the pattern.
    pub fn group_count(&self) -> usize {
        match &self.engine {
            Engine::Linear(regex) => {
                regex.group_info().group_len(regex_automata::PatternID::ZERO) - 1
            }
            Engine::Backtracking(regex) => regex.captures_len() - 1,
        }
    }

    /// The first match that begins at byte `from` or later.
    pub fn find_at(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        self.next_match(text, from, &mut None)
    }

    /// The same; `caches` speed up the next search in the same text.
    fn next_match(
        &self,
        text: &str,
        from: usize,
        caches: &mut Option<Caches>,
    ) -> Result<Option<Groups>> {
        let Some(long) = self.long_search(text, from) else {
            return self.match_in(text, from, Anchored::No);
        };
        if let Extent::Unknown(_) = self.extent {
            return self.match_in(text, from, Anchored::No);
        }
        match long.first(text, from, caches.get_or_insert_with(|| long.caches()))? {
            Found::Nothing => Ok(None),
            Found::At(start, end) if self.group_count() == 0 => Ok(Some(vec![Some((start, end))])),
            Found::At(start, _) => self.match_in(text, start, Anchored::Yes),
            Found::Unknown => self.match_in(text, from, Anchored::No),
        }
    }

    /// The first match from byte `from` on, or the one that begins there.
    fn match_in(&self, text: &str, from: usize, anchored: Anchored) -> Result<Option<Groups>> {
        let longest = match &self.extent {
            Extent::Unknown(feature) => {
                return if self.is_match(text)? {
                    Err(Error::not_supported(feature))
                } else {
                    Ok(None)
                };
            }
            Extent::Same => None,
            Extent::Longest(automaton) => Some(automaton),
        };
        match &self.engine {
            Engine::Backtracking(regex) => {
                let captures =
                    regex.captures_from_pos(text, from).map_err(|error| run_error(&error))?;
                Ok(captures.map(|captures| {
                    captures.iter().map(|group| group.map(|g| (g.start(), g.end()))).collect()
                }))
            }
            Engine::Linear(regex) => {
                let mut captures = regex.create_captures();
                let input = Input::new(text).range(from..).anchored(anchored);
                let Some(longest) = longest else {
                    regex.search_captures(&input, &mut captures);
                    return Ok(groups_of(&captures));
                };
                let Some(first) = regex.search(&input) else { return Ok(None) };
                let input = Input::new(text).range(first.start()..).anchored(Anchored::Yes);
                let mut captures = longest.create_captures();
                longest.captures(&mut longest.create_cache(), input, &mut captures);
                Ok(groups_of(&captures))
            }
        }
    }

    /// All matches (or only the first) from byte `from` on. After an empty match
    /// the search goes on one character further.
    fn matches(&self, text: &str, from: usize, global: bool) -> Result<Vec<Groups>> {
        let (mut found, mut caches) = (Vec::new(), None);
        let mut at = from;
        while at <= text.len() {
            let Some(groups) = self.next_match(text, at, &mut caches)? else { break };
            let Some(Some((start, end))) = groups.first().copied() else { break };
            found.push(groups);
            if found.len() % MATCHES_TO_A_CHECK == 0 {
                interrupt::check()?;
            }
            if !global {
                break;
            }
            at = if start == end { next_character(text, end) } else { end };
        }
        Ok(found)
    }
}

fn groups_of(captures: &regex_automata::util::captures::Captures) -> Option<Groups> {
    captures
        .is_match()
        .then(|| captures.iter().map(|span| span.map(|span| (span.start, span.end))).collect())
}

/// Where the character after the one at `at` begins; past the end at the end.
fn next_character(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

#[cold]
fn ambiguous_group() -> Error {
    Error::not_supported("a regular expression group whose extent is ambiguous")
}

#[cold]
fn engine_error(error: &dyn std::fmt::Display) -> Error {
    let text = error.to_string();
    if text.contains("size limit") || text.contains("exceed") {
        return invalid("regular expression is too complex");
    }
    if text.contains("Look-behind assertion without constant size") {
        return Error::not_supported("a look-behind of varying length in a regular expression");
    }
    invalid(text.lines().last().unwrap_or("invalid pattern"))
}

#[cold]
fn run_error(error: &fancy_regex::Error) -> Error {
    Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("regular expression failed: {error}"))
}

fn extent(translated: &Translated) -> Result<Extent> {
    let choices = translated.alternation || translated.greedy > 1;
    if translated.lazy > 0 {
        // PostgreSQL gives the whole pattern one greediness. The engine agrees only if the pattern
        // has no choice between the two.
        return Ok(if translated.greedy > 0 || translated.alternation {
            Extent::Unknown("a match of a regular expression with lazy and greedy parts")
        } else {
            Extent::Same
        });
    }
    if !choices {
        return Ok(Extent::Same);
    }
    if translated.needs_backtracking {
        return Ok(Extent::Unknown(
            "a match of a regular expression with choices and look-around or back-references",
        ));
    }
    let nfa = NfaConfig::new()
        .which_captures(WhichCaptures::All)
        .nfa_size_limit(Some(COMPILED_BYTES_MAX));
    let automaton = PikeVM::builder()
        .configure(PikeVM::config().match_kind(MatchKind::All))
        .thompson(nfa)
        .build(&translated.pattern);
    automaton.map(Extent::Longest).map_err(|error| engine_error(&error))
}

/// A start position (characters, from 1) as a byte offset.
fn start_offset(text: &str, start: i32) -> Result<usize> {
    check_positive("start", start)?;
    let skipped = start as usize - 1;
    Ok(match text.char_indices().nth(skipped) {
        Some((at, _)) => at,
        None if text.chars().count() == skipped => text.len(),
        // Past the end there is nothing to search, not even the empty end.
        None => text.len() + 1,
    })
}

fn check_positive(name: &str, value: i32) -> Result<()> {
    if value > 0 { Ok(()) } else { Err(bad_parameter(name, value)) }
}

/// 22023: an argument of a regexp function is out of its range.
#[cold]
pub fn bad_parameter(name: &str, value: i32) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{name}\": {value}"),
    )
}

/// `regexp_match(es)`: for each match its groups' texts, or the whole where the
/// pattern has no groups.
pub fn regexp_matches<'t>(
    text: &'t str,
    regex: &Regex,
    global: bool,
) -> Result<Vec<Vec<Option<&'t str>>>> {
    let from_group = usize::from(regex.group_count() > 0);
    if from_group > 0 {
        regex.check_groups()?;
    }
    let texts = |groups: &Groups| {
        groups[from_group..].iter().map(|group| group.map(|(s, e)| &text[s..e])).collect()
    };
    Ok(regex.matches(text, 0, global)?.iter().map(texts).collect())
}

/// `substring(text from pattern)`: the first group, or the whole without groups.
/// `None` (NULL) without a match, or where the group took no part in it.
pub fn substring_regex<'t>(text: &'t str, regex: &Regex) -> Result<Option<&'t str>> {
    let Some(groups) = regex.find_at(text, 0)? else { return Ok(None) };
    if groups.len() > 1 {
        regex.check_groups()?;
    }
    let group = if groups.len() > 1 { groups[1] } else { groups[0] };
    Ok(group.map(|(start, end)| &text[start..end]))
}

/// `regexp_replace`: replaces match number `n`, or all if it is 0, among those from
/// `start` on. In the replacement `\1`–`\9` are groups and `\&` the whole match.
pub fn regexp_replace(
    text: &str,
    regex: &Regex,
    replacement: &str,
    start: i32,
    n: i32,
) -> Result<String> {
    let from = start_offset(text, start)?;
    if n < 0 {
        return Err(bad_parameter("n", n));
    }
    let numbered = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9']);
    if replacement.as_bytes().windows(2).any(numbered) {
        regex.check_groups()?;
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (i, groups) in regex.matches(text, from, n != 1)?.iter().enumerate() {
        let Some((match_start, match_end)) = groups[0] else { continue };
        if n != 0 && i + 1 != n as usize {
            continue;
        }
        out.push_str(&text[copied..match_start]);
        push_replacement(replacement, text, groups, &mut out);
        super::check_size(out.len())?;
        copied = match_end;
    }
    out.push_str(&text[copied..]);
    super::check_size(out.len())?;
    Ok(out)
}

fn push_replacement(replacement: &str, text: &str, groups: &Groups, out: &mut String) {
    let mut characters = replacement.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let group = match characters.next() {
            Some('&') => 0,
            Some(digit @ '1'..='9') => digit as usize - '0' as usize,
            Some('\\') => {
                out.push('\\');
                continue;
            }
            // An unknown sequence stays as it is.
            other => {
                out.push('\\');
                out.extend(other);
                continue;
            }
        };
        if let Some((start, end)) = groups.get(group).copied().flatten() {
            out.push_str(&text[start..end]);
        }
    }
}

/// `regexp_split_to_array`/`_to_table`: the parts between matches. Empty matches at
/// the end or right after another match separate nothing.
pub fn regexp_split<'t>(text: &'t str, regex: &Regex) -> Result<Vec<&'t str>> {
    let mut parts = Vec::new();
    let (mut part_start, mut previous_end) = (0, 0);
    for groups in regex.matches(text, 0, true)? {
        let Some((start, end)) = groups[0] else { continue };
        if start < text.len() && end > previous_end {
            parts.push(&text[part_start..start]);
            part_start = end;
        }
        previous_end = end;
    }
    parts.push(&text[part_start..]);
    Ok(parts)
}

/// `regexp_count`
pub fn regexp_count(text: &str, regex: &Regex, start: i32) -> Result<i32> {
    Ok(regex.matches(text, start_offset(text, start)?, true)?.len() as i32)
}

/// Range of group `group` (0: the whole) of match number `n` from `start` on.
fn nth_match(
    text: &str,
    regex: &Regex,
    start: i32,
    n: i32,
    group: i32,
) -> Result<Option<(usize, usize)>> {
    let from = start_offset(text, start)?;
    check_positive("n", n)?;
    let group = usize::try_from(group).map_err(|_| bad_parameter("subexpr", group))?;
    if group > 0 {
        regex.check_groups()?;
    }
    let found = regex.matches(text, from, n > 1)?;
    let groups = found.get(n as usize - 1);
    Ok(groups.and_then(|groups| groups.get(group).copied().flatten()))
}

/// `regexp_substr`
pub fn regexp_substr<'t>(
    text: &'t str,
    regex: &Regex,
    start: i32,
    n: i32,
    group: i32,
) -> Result<Option<&'t str>> {
    Ok(nth_match(text, regex, start, n, group)?.map(|(start, end)| &text[start..end]))
}

/// `regexp_instr`: the position of the match (after it if `after_end`), or 0 if there is none.
pub fn regexp_instr(
    text: &str,
    regex: &Regex,
    start: i32,
    n: i32,
    after_end: bool,
    group: i32,
) -> Result<i32> {
    let found = nth_match(text, regex, start, n, group)?;
    let at = found.map(|(start, end)| if after_end { end } else { start });
    Ok(at.map_or(0, |at| super::char_length(&text[..at]) + 1))
}

/// `similar_to_escape`: SIMILAR TO's pattern as a regular expression.
pub fn similar_to_regex(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?:");
    let (mut brackets, mut after_escape) = (Brackets::default(), false);
    for c in pattern.chars() {
        if after_escape {
            after_escape = false;
            if c == '"' && brackets.depth == 0 {
                return Err(Error::not_supported("a SIMILAR TO pattern with separators"));
            }
            out.push('\\');
            out.push(c);
            brackets.member();
        } else if Some(c) == escape {
            after_escape = true;
        } else if brackets.depth > 0 {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            brackets.next(c);
        } else {
            match c {
                '[' => {
                    out.push('[');
                    brackets = Brackets { depth: 1, at_start: true, negated: false };
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => {
                    out.push('\\');
                    out.push(c);
                }
                c => out.push(c),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// Where a walk through a SIMILAR TO pattern is within square brackets.
#[derive(Default)]
struct Brackets {
    /// How many are open: those of `[:alpha:]` count as well.
    depth: usize,
    /// Only `^` has come since the first: a closing bracket is a member.
    at_start: bool,
    negated: bool,
}

impl Brackets {
    /// Anything but a bracket or `^`.
    fn member(&mut self) {
        self.at_start = false;
    }

    fn next(&mut self, c: char) {
        match c {
            ']' if !self.at_start => self.depth -= 1,
            '^' if self.at_start && !self.negated => self.negated = true,
            '[' => {
                self.depth += 1;
                self.member();
            }
            _ => self.member(),
        }
    }
}

#[cfg(test)]
#[path = "regex_tests.rs"]
mod tests;
