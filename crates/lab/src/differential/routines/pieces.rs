//! Programs as trees, from which parts can be left out.

/// A statement, or a part of one: its first line, what is inside, its last line.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    head: String,
    body: Vec<Piece>,
    tail: String,
    /// Whether the order of its rows and notices has no meaning.
    unordered: bool,
    /// Whether the program has no sense without it.
    needed: bool,
}

/// A statement as it is sent.
pub(super) struct Step {
    pub(super) sql: String,
    pub(super) ordered: bool,
}

impl Piece {
    pub(super) fn line(text: impl Into<String>) -> Piece {
        Piece { head: text.into(), ..Piece::default() }
    }

    pub(super) fn around(
        head: impl Into<String>,
        body: Vec<Piece>,
        tail: impl Into<String>,
    ) -> Piece {
        Piece { head: head.into(), body, tail: tail.into(), ..Piece::default() }
    }

    /// Rows and notices come in any order.
    pub(super) fn unordered(mut self) -> Piece {
        self.unordered = true;
        self
    }

    /// It is never left out.
    pub(super) fn needed(mut self) -> Piece {
        self.needed = true;
        self
    }

    pub(super) fn step(&self) -> Step {
        let mut sql = String::new();
        self.write(0, &mut sql);
        Step { sql: sql.trim_end().to_owned(), ordered: !self.unordered }
    }

    fn write(&self, depth: usize, out: &mut String) {
        for line in self.head.lines().filter(|line| !line.is_empty()) {
            *out += &format!("{:depth$}{line}\n", "");
        }
        for piece in &self.body {
            piece.write(depth + 2, out);
        }
        for line in self.tail.lines().filter(|line| !line.is_empty()) {
            *out += &format!("{:depth$}{line}\n", "");
        }
    }
}

/// The pieces without the `nth`, counted from the outside to the inside; then each with its inside
/// in its place. `None` after the last.
pub(super) fn without(pieces: &[Piece], nth: usize) -> Option<Vec<Piece>> {
    let mut left = nth;
    let mut smaller = pieces.to_vec();
    remove(&mut smaller, &mut left, false)
        .then_some(())
        .or_else(|| remove(&mut smaller, &mut left, true).then_some(()))?;
    Some(smaller)
}

/// Removes the piece after `left` others; with `keep_inside` it is replaced by what is inside.
fn remove(pieces: &mut Vec<Piece>, left: &mut usize, keep_inside: bool) -> bool {
    for at in 0..pieces.len() {
        if !pieces[at].needed && (!keep_inside || !pieces[at].body.is_empty()) {
            if *left == 0 {
                let removed = pieces.remove(at);
                if keep_inside {
                    pieces.splice(at..at, removed.body);
                }
                return true;
            }
            *left -= 1;
        }
    }
    pieces.iter_mut().any(|piece| remove(&mut piece.body, left, keep_inside))
}

#[cfg(test)]
mod tests {
    use super::{Piece, without};

    #[test]
    fn every_piece_can_be_left_out() {
        let inner =
            Piece::around("IF x THEN", vec![Piece::line("a;"), Piece::line("b;")], "END IF;");
        let whole = vec![Piece::line("first"), inner];
        let all: Vec<String> = (0..)
            .map_while(|nth| without(&whole, nth))
            .map(|smaller| {
                smaller.iter().map(|piece| piece.step().sql).collect::<Vec<_>>().join("|")
            })
            .collect();
        let expected = [
            "IF x THEN\n  a;\n  b;\nEND IF;",
            "first",
            "first|IF x THEN\n  b;\nEND IF;",
            "first|IF x THEN\n  a;\nEND IF;",
            "first|a;|b;",
        ];
        assert_eq!(all, expected);
    }
}
