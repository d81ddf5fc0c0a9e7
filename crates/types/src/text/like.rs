//! LIKE and ILIKE (like_match.c).
//!
//! A pattern is compiled once into pieces between its `%` signs. A piece is found as early as
//! possible, which leaves the most text for the rest. So matching never backtracks: the time is at
//! most text × pattern.

use super::lower;
use crate::{Error, Result, SqlState, interrupt};

/// One position of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Literal(char),
    /// `_`
    Any,
    /// The pattern ends with the escape character: an error, but, as in PostgreSQL, only for a text
    /// whose matching reaches it.
    DanglingEscape,
}

/// The part of a pattern between two `%` signs.
#[derive(Clone, Debug)]
enum Piece {
    Literal(String),
    Items(Vec<Item>),
}

impl Piece {
    fn new(items: Vec<Item>) -> Piece {
        let literal = items.iter().map(|item| match item {
            Item::Literal(c) => Some(*c),
            _ => None,
        });
        match literal.collect() {
            Some(text) => Piece::Literal(text),
            None => Piece::Items(items),
        }
    }
}

/// Matching has reached an escape character at the pattern's end.
struct Dangling;

/// A compiled LIKE pattern.
#[derive(Clone, Debug)]
pub struct LikePattern {
    /// The parts between `%` signs; one piece means there is no `%`.
    pieces: Vec<Piece>,
    fold_case: bool,
}

impl LikePattern {
    /// Compiles a pattern; `escape` is `\` unless ESCAPE says otherwise, and
    /// `None` for `ESCAPE ''`.
    pub fn new(pattern: &str, escape: Option<char>) -> LikePattern {
        LikePattern::compile(pattern, escape, false)
    }

    /// Compiles an ILIKE pattern.
    pub fn new_case_insensitive(pattern: &str, escape: Option<char>) -> LikePattern {
        LikePattern::compile(&lower(pattern), escape, true)
    }

    fn compile(pattern: &str, escape: Option<char>, fold_case: bool) -> LikePattern {
        let mut pieces = Vec::new();
        let mut piece = Vec::new();
        let mut characters = interrupt::interruptible(pattern.chars());
        while let Some(c) = characters.next() {
            if Some(c) == escape {
                piece.push(characters.next().map_or(Item::DanglingEscape, Item::Literal));
            } else if c == '%' {
                pieces.push(Piece::new(std::mem::take(&mut piece)));
            } else if c == '_' {
                piece.push(Item::Any);
            } else {
                piece.push(Item::Literal(c));
            }
        }
        pieces.push(Piece::new(piece));
        LikePattern { pieces, fold_case }
    }

    /// Whether the text matches. 22025 where a dangling escape is reached.
    pub fn matches(&self, text: &str) -> Result<bool> {
        let folded;
        let text = if self.fold_case {
            folded = lower(text);
            &folded
        } else {
            text
        };
        self.find(text).map_err(|Dangling| {
            Error::new(
                SqlState::INVALID_ESCAPE_SEQUENCE,
                "LIKE pattern must not end with escape character",
            )
        })
    }

    fn find(&self, text: &str) -> std::result::Result<bool, Dangling> {
        let Some((first, rest)) = self.pieces.split_first() else { return Ok(false) };
        let Some(mut at) = match_at(first, text)? else { return Ok(false) };
        let Some((last, middle)) = rest.split_last() else {
            return Ok(at == text.len());
        };
        for piece in middle {
            match find_piece(piece, &text[at..])? {
                Some(end) => at += end,
                None => return Ok(false),
            }
        }
        match_end(last, &text[at..])
    }

    /// The literal prefix that every match begins with: the range that an index
    /// scan needs. Empty for ILIKE.
    pub fn prefix(&self) -> String {
        match self.pieces.first() {
            Some(Piece::Literal(text)) if !self.fold_case => text.clone(),
            Some(Piece::Items(items)) if !self.fold_case => {
                let literal = |item: &Item| match item {
                    Item::Literal(c) => Some(*c),
                    _ => None,
                };
                items.iter().map_while(literal).collect()
            }
            _ => String::new(),
        }
    }

    /// The parts between the `%` signs, if they are literal: without `_`, without case folding. One
    /// piece means there is no `%`.
    pub fn literals(&self) -> Option<Vec<&str>> {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) if !self.fold_case => Some(text.as_str()),
            _ => None,
        });
        pieces.collect()
    }

    /// Whether the pattern is its [`Self::prefix`] and nothing else: an equality.
    pub fn is_exact(&self) -> bool {
        !self.fold_case && matches!(&self.pieces[..], [Piece::Literal(_)])
    }
}

/// Matches a piece at the start of a text: the length it takes.
fn match_at(piece: &Piece, text: &str) -> std::result::Result<Option<usize>, Dangling> {
    let items = match piece {
        Piece::Literal(literal) => return Ok(text.starts_with(literal).then_some(literal.len())),
        Piece::Items(items) => items,
    };
    let mut characters = text.chars();
    for item in items {
        // A text that has ended never reaches the item.
        let Some(c) = characters.next() else { return Ok(None) };
        match item {
            Item::Literal(literal) if *literal == c => {}
            Item::Any => {}
            Item::Literal(_) => return Ok(None),
            Item::DanglingEscape => return Err(Dangling),
        }
    }
    Ok(Some(text.len() - characters.as_str().len()))
}

/// The end of the earliest match of a piece.
fn find_piece(piece: &Piece, text: &str) -> std::result::Result<Option<usize>, Dangling> {
    if let Piece::Literal(literal) = piece {
        return Ok(text.find(literal).map(|at| at + literal.len()));
    }
    let Piece::Items(items) = piece else { return Ok(None) };
    let at_once = (interrupt::CHECK_EVERY_ITEMS / items.len().max(1)).max(1);
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    for (i, start) in starts.enumerate() {
        if i % at_once == at_once - 1 {
            interrupt::check_unwinding();
        }
        if let Some(length) = match_at(piece, &text[start..])? {
            return Ok(Some(start + length));
        }
    }
    Ok(None)
}

/// Whether the text ends with the piece.
fn match_end(piece: &Piece, text: &str) -> std::result::Result<bool, Dangling> {
    let items = match piece {
        Piece::Literal(literal) => return Ok(text.ends_with(literal)),
        Piece::Items(items) => items,
    };
    if items.last() == Some(&Item::DanglingEscape) {
        return match &items[..] {
            // `%\`: PostgreSQL fails as soon as it reads behind the `%`.
            [_] => Err(Dangling),
            _ => find_piece(piece, text).map(|_| false),
        };
    }
    let mut characters = text.chars().rev();
    Ok(items.iter().rev().all(|item| {
        characters.next().is_some_and(|c| match item {
            Item::Literal(literal) => *literal == c,
            Item::Any => true,
            Item::DanglingEscape => false,
        })
    }))
}

/// The character of an ESCAPE clause: `None` if it is empty, 22025 if it is longer.
pub fn escape_character(escape: &str) -> Result<Option<char>> {
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (character, None) => Ok(character),
        _ => Err(Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}

/// `like_escape`: rewrites a pattern so that its escape character is `\`.
pub fn like_escape(pattern: &str, escape: &str) -> Result<String> {
    let escape = escape_character(escape)?;
    if escape == Some('\\') {
        return Ok(pattern.to_string());
    }
    let mut out = String::with_capacity(pattern.len());
    let mut after_escape = false;
    for c in pattern.chars() {
        if Some(c) == escape && !after_escape {
            out.push('\\');
            after_escape = true;
        } else {
            if c == '\\' && !after_escape {
                out.push('\\');
            }
            out.push(c);
            after_escape = false;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern, Some('\\')).matches(text).unwrap()
    }

    #[test]
    fn patterns_match_as_in_postgresql() {
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "_b_", true),
            ("abc", "%b", false),
            ("abc", "ab", false),
            ("", "%", true),
            ("", "_", false),
            ("é", "_", true),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("aXbXc", "a%X%c", true),
            ("ab", "%ab%ab%", false),
            ("mississippi", "%iss%ip%", true),
        ] {
            assert_eq!(like(text, pattern), expected, "{text} LIKE {pattern}");
        }
        assert!(LikePattern::new_case_insensitive("É%", Some('\\')).matches("éa").unwrap());
        assert!(LikePattern::new("a\\", None).matches("a\\").unwrap());
    }

    #[test]
    fn a_dangling_escape_matters_only_where_it_is_reached() {
        let run = |text, pattern| LikePattern::new(pattern, Some('\\')).matches(text);
        assert!(!run("a", "a\\").unwrap());
        assert!(!run("a", "b\\").unwrap());
        let error = run("ab", "a%\\").unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::INVALID_ESCAPE_SEQUENCE);
        assert!(run("ab", "a\\").is_err());
    }

    #[test]
    fn escapes_are_rewritten() {
        assert_eq!(like_escape("a#%b\\", "#").unwrap(), "a\\%b\\\\");
        assert_eq!(like_escape("a%", "").unwrap(), "a%");
        assert_eq!(like_escape("a", "xx").unwrap_err().message(), "invalid escape string");
    }

    #[test]
    fn prefixes_serve_index_scans() {
        let pattern = |p| LikePattern::new(p, Some('\\'));
        assert_eq!(pattern("ab\\%c%d").prefix(), "ab%c");
        assert_eq!(pattern("a_c").prefix(), "a");
        assert!(pattern("a\\_c").is_exact() && !pattern("a%").is_exact());
    }

    /// The textbook definition.
    fn model(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|at| model(&text[at..], rest)),
            ['_', rest @ ..] => !text.is_empty() && model(&text[1..], rest),
            [c, rest @ ..] => text.first() == Some(c) && model(&text[1..], rest),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn matching_agrees_with_the_definition(
            text in "[abé]{0,8}", pattern in "[abé%_]{0,8}",
        ) {
            let expected = model(
                &text.chars().collect::<Vec<char>>(), &pattern.chars().collect::<Vec<char>>());
            prop_assert_eq!(like(&text, &pattern), expected);
        }
    }
}
