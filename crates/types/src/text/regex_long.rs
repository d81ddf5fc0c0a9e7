//! Searches long texts for regular expressions with checks for a cancel.
//!
//! The engines search a text in one call. In a long text automata find the match instead: they are
//! stepped from byte to byte, with checks for interrupts now and then, and an engine then reads the
//! match alone. They find the same match. Its end is that of the leftmost match that the pattern's
//! order prefers. Its beginning is that of the reversed pattern's longest match from there back.
//!
//! Patterns whose literals say where a match may begin are left to the engines up to a larger
//! length, because engines find literals at gigabytes a second. Patterns that match an empty text
//! are always left to them: they mostly match right away.

use crate::{Result, interrupt};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::regex::Regex;
use regex_automata::nfa::thompson::Config as NfaConfig;
use regex_automata::{Anchored, Input, MatchKind};

/// The length of a text, in bytes, for which an engine takes too long.
const LONG: usize = 1 << 20;

/// The same for an engine that searches literals first.
const LONG_FOR_LITERALS: usize = 64 << 20;

/// The automata of a pattern.
pub(super) struct LongSearch {
    automata: Regex,
    /// Finds the longest end from a start.
    longest: Option<DFA>,
}

/// The result of a search.
pub(super) enum Found {
    /// There is none.
    Nothing,
    /// Its start and end.
    At(usize, usize),
    /// An engine has to look.
    Unknown,
}

/// The result of an automaton.
enum Walked {
    /// The end of the last match.
    To(Option<usize>),
    /// The automaton cannot decide.
    Lost,
}

impl LongSearch {
    /// `None` if the engines must search.
    pub(super) fn new(pattern: &str, wants_longest: bool, size_limit: usize) -> Option<LongSearch> {
        let lazy = DFA::config().unicode_word_boundary(true);
        let nfa = NfaConfig::new().nfa_size_limit(Some(size_limit));
        let mut builder = Regex::builder();
        let automata = builder.dfa(lazy.clone()).thompson(nfa.clone()).build(pattern).ok()?;
        if automata.forward().get_nfa().has_empty() {
            return None;
        }
        let longest =
            DFA::builder().configure(lazy.match_kind(MatchKind::All)).thompson(nfa).build(pattern);
        let longest = if wants_longest { Some(longest.ok()?) } else { None };
        Some(LongSearch { automata, longest })
    }

    /// Whether a text is long from `from` on, for an engine that may search literals.
    pub(super) fn is_long(text: &str, from: usize, has_literals: bool) -> bool {
        let left = text.len().saturating_sub(from);
        left > LONG && (!has_literals || left > LONG_FOR_LITERALS)
    }

    pub(super) fn caches(&self) -> Caches {
        Caches {
            forward: self.automata.forward().create_cache(),
            reverse: self.automata.reverse().create_cache(),
            longest: self.longest.as_ref().map(DFA::create_cache),
        }
    }

    /// Whether any part of the text matches; with `None` an engine has to look.
    pub(super) fn is_match(&self, text: &str) -> Result<Option<bool>> {
        let forward = self.automata.forward();
        let input = Input::new(text).earliest(true);
        Ok(match walk(forward, &mut forward.create_cache(), &input)? {
            Walked::To(end) => Some(end.is_some()),
            Walked::Lost => None,
        })
    }

    /// The leftmost match from `from` on.
    pub(super) fn first(&self, text: &str, from: usize, caches: &mut Caches) -> Result<Found> {
        let input = Input::new(text).range(from..);
        let end = match walk(self.automata.forward(), &mut caches.forward, &input)? {
            Walked::To(Some(end)) => end,
            Walked::To(None) => return Ok(Found::Nothing),
            Walked::Lost => return Ok(Found::Unknown),
        };
        let input = Input::new(text).range(from..end).anchored(Anchored::Yes);
        let start = match walk_back(self.automata.reverse(), &mut caches.reverse, &input)? {
            Walked::To(Some(start)) => start,
            Walked::To(None) | Walked::Lost => return Ok(Found::Unknown),
        };
        let (Some(longest), Some(cache)) = (&self.longest, &mut caches.longest) else {
            return Ok(Found::At(start, end));
        };
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        Ok(match walk(longest, cache, &input)? {
            Walked::To(Some(end)) => Found::At(start, end),
            Walked::To(None) | Walked::Lost => Found::Unknown,
        })
    }
}

/// The states that the automata have computed so far, reused by the next search.
pub(super) struct Caches {
    forward: Cache,
    reverse: Cache,
    longest: Option<Cache>,
}

/// Steps from the input's start until no further match can end, or to the first end if the earliest
/// is wanted. An automaton reports a match one byte late.
fn walk(dfa: &DFA, cache: &mut Cache, input: &Input<'_>) -> Result<Walked> {
    let Ok(mut state) = dfa.start_state_forward(cache, input) else { return Ok(Walked::Lost) };
    let (mut end, text) = (None, input.haystack());
    for piece_start in (input.start()..input.end()).step_by(LONG) {
        if piece_start > input.start() {
            interrupt::check()?;
        }
        let piece = piece_start..input.end().min(piece_start + LONG);
        for (at, byte) in piece.clone().zip(&text[piece]) {
            let Ok(next) = dfa.next_state(cache, state, *byte) else { return Ok(Walked::Lost) };
            state = next;
            if !state.is_tagged() {
                continue;
            }
            match told(state) {
                Told::Match => end = Some(at),
                Told::Dead => return Ok(Walked::To(end)),
                Told::Lost => return Ok(Walked::Lost),
                Told::Nothing => {}
            }
            if end.is_some() && input.get_earliest() {
                return Ok(Walked::To(end));
            }
        }
    }
    let last = match text.get(input.end()) {
        Some(byte) => dfa.next_state(cache, state, *byte),
        None => dfa.next_eoi_state(cache, state),
    };
    Ok(match last.map(told) {
        Ok(Told::Match) => Walked::To(Some(input.end())),
        Ok(Told::Dead | Told::Nothing) => Walked::To(end),
        Ok(Told::Lost) | Err(_) => Walked::Lost,
    })
}

/// The same from the input's end back to its start.
fn walk_back(dfa: &DFA, cache: &mut Cache, input: &Input<'_>) -> Result<Walked> {
    let Ok(mut state) = dfa.start_state_reverse(cache, input) else { return Ok(Walked::Lost) };
    let (mut start, text) = (None, input.haystack());
    for at in (input.start()..input.end()).rev() {
        if (input.end() - at).is_multiple_of(LONG) {
            interrupt::check()?;
        }
        let Ok(next) = dfa.next_state(cache, state, text[at]) else { return Ok(Walked::Lost) };
        state = next;
        if !state.is_tagged() {
            continue;
        }
        match told(state) {
            Told::Match => start = Some(at + 1),
            Told::Dead => return Ok(Walked::To(start)),
            Told::Lost => return Ok(Walked::Lost),
            Told::Nothing => {}
        }
    }
    let last = match input.start().checked_sub(1).and_then(|before| text.get(before)) {
        Some(byte) => dfa.next_state(cache, state, *byte),
        None => dfa.next_eoi_state(cache, state),
    };
    Ok(match last.map(told) {
        Ok(Told::Match) => Walked::To(Some(input.start())),
        Ok(Told::Dead | Told::Nothing) => Walked::To(start),
        Ok(Told::Lost) | Err(_) => Walked::Lost,
    })
}

/// The meaning of a state.
enum Told {
    Match,
    /// A match is impossible from here on.
    Dead,
    /// A byte after which the automaton cannot continue.
    Lost,
    Nothing,
}

fn told(state: LazyStateID) -> Told {
    match () {
        () if state.is_match() => Told::Match,
        () if state.is_dead() => Told::Dead,
        () if state.is_quit() => Told::Lost,
        () => Told::Nothing,
    }
}
