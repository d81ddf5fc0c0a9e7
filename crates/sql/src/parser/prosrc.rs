//! The place of an error in a function's body, in the command that holds the body
//! (function_parse_error_transpose in pg_proc.c).
//!
//! The body is looked for in the command as a string: `$tag$body$tag$`, or `'body'` with its quotes
//! doubled. Where it is not there exactly once, the error shows the body itself.

use steppe_types::Error;

/// An error whose position counts the characters of a body, as one of the command that holds it.
pub fn in_command(mut error: Error, body: &str, command: &str) -> Error {
    let Some(position) = error.fields().position else { return error };
    match place_in(body, command, position) {
        Some(moved) => error.without_position().at(Some(moved)),
        None => {
            error.in_query(body);
            error
        }
    }
}

/// The position in a command of one in the body that it holds. `None`: the body is not there, or
/// more than once.
fn place_in(body: &str, command: &str, position: u32) -> Option<u32> {
    let (body, command): (Vec<char>, Vec<char>) =
        (body.chars().collect(), command.chars().collect());
    let position = position as usize;
    let mut found = None;
    for (at, mark) in command.iter().enumerate() {
        let after = &command[at + 1..];
        let place = match mark {
            '$' if after.starts_with(&body) && after.get(body.len()) == Some(&'$') => {
                Some(at + 1 + position)
            }
            '\'' => in_literal(&body, after, position).map(|place| at + 1 + place),
            _ => None,
        };
        if let Some(place) = place
            && found.replace(place).is_some()
        {
            return None;
        }
    }
    found.and_then(|place| u32::try_from(place).ok())
}

/// The position within a literal that is this body.
fn in_literal(body: &[char], literal: &[char], position: usize) -> Option<usize> {
    let (mut at, mut moved) = (0, position);
    for (done, wanted) in body.iter().enumerate() {
        // A backslash may be doubled, as in E'…'.
        let doubled = (*wanted == '\\' && literal.get(at + 1) == Some(&'\\')) || *wanted == '\'';
        if literal.get(at) != Some(wanted) {
            return None;
        }
        if doubled {
            if literal.get(at + 1) != Some(wanted) {
                return None;
            }
            if position > done + 1 {
                moved += 1;
            }
            at += 1;
        }
        at += 1;
    }
    let ends = literal.get(at) == Some(&'\'') && literal.get(at + 1) != Some(&'\'');
    ends.then_some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_body() {
        assert_eq!(place_in("abc", "do $$abc$$", 2), Some(7));
        assert_eq!(place_in("abc", "do $x$abc$x$", 1), Some(7));
        assert_eq!(place_in("a'c", "do 'a''c'", 3), Some(8));
        assert_eq!(place_in("a'c", "do 'a''c'", 2), Some(6));
        assert_eq!(place_in("abc", "do 'a'", 1), None);
        assert_eq!(place_in("abc", "'abc' 'abc'", 1), None);
    }
}
