//! Loops over a cursor whose bodies cannot name it.
//!
//! FOR over a bound cursor opens the cursor and closes it at its end. So only code that the body runs
//! can say WHERE CURRENT OF the cursor. A body that only computes (assignments, conditions and loops
//! over expressions without a call or a sub-select) runs no such code, and the cursor's rows need no
//! positions. Such a loop has a piece of its own for the cursor's query.
//!
//! An operator or a cast of a user may still run a function that names the cursor. The statement there
//! is refused (0A000).

use steppe_sql::parser::lexer::{Lexer, TokenKind};

use super::build::Builder;
use super::code::{Act, Script, SqlNumber, Use};
use crate::tree::Sql;

impl Builder<'_> {
    /// The piece for the query of a loop's cursor, if the body cannot name the cursor.
    pub(super) fn own_query(&mut self, query: &Sql, body: &Script) -> Option<SqlNumber> {
        let only_computes = self.only_computes(body);
        only_computes.then(|| self.piece(&query.text, &query.text, Use::Statement, query.scope))
    }

    fn only_computes(&self, body: &Script) -> bool {
        let is_plain = |number: &SqlNumber| is_plain(&self.piece_of(*number).text);
        body.instructions.iter().all(|instruction| match &instruction.act {
            Act::Assign { value, .. } => is_plain(value),
            Act::JumpIf { condition, .. } => is_plain(condition),
            Act::CountFrom { of, .. } => {
                is_plain(&of.first) && is_plain(&of.last) && of.step.iter().all(is_plain)
            }
            Act::Subject { value, .. } => is_plain(value),
            Act::Jump(_) | Act::Again(_) | Act::Count { .. } | Act::Found => true,
            Act::Compared(_) | Act::NoCase | Act::Leave(_) | Act::End => true,
            Act::Declare(_) | Act::Statement(_) => false,
        })
    }
}

/// Whether an expression has no call and no sub-select. A word before a parenthesis counts as a call.
fn is_plain(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    let mut is_after_name = false;
    loop {
        let token = lexer.next_token();
        let word = &text[token.start..token.end];
        is_after_name = match token.kind {
            TokenKind::End => return true,
            TokenKind::Word if QUERIES.iter().any(|query| word.eq_ignore_ascii_case(query)) => {
                return false;
            }
            TokenKind::Word | TokenKind::QuotedIdentifier => true,
            TokenKind::Punctuation(b'(') if is_after_name => return false,
            TokenKind::Invalid => return false,
            _ => false,
        };
    }
}

/// The words that begin a query.
const QUERIES: [&str; 4] = ["select", "table", "values", "with"];

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn calls_and_queries_are_found() {
        for plain in
            ["total + one.n", "(a + b) * 2", "\"Name\" <> 'f(x)'", "a[1] IS NULL", "a::int"]
        {
            assert!(is_plain(plain), "{plain}");
        }
        for other in ["f(x)", "a + f (x)", "\"f\"(1)", "s.f/* */(1)", "(SELECT 1)", "a = ANY (b)"] {
            assert!(!is_plain(other), "{other}");
        }
    }
}
