//! PostgreSQL's lexical rules (src/backend/parser/scan.l of PostgreSQL 18), as a
//! scanner that finds where tokens begin and end and never allocates.
//!
//! The parser has its own lexer. This one serves code that reads the text before or without it.
//! Such code lifts literals into parameters ([`super::literals`]) and finds the place of an error
//! ([`super::error`]). The lexer agrees with scan.l on token boundaries for every valid text. In an
//! invalid one, it returns a token [`TokenKind::Invalid`] and ends there.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word: a keyword or an unquoted name.
    Word,
    /// `"name"` or `U&"name"`.
    QuotedIdentifier,
    /// `'…'` in one piece, with no prefix.
    String,
    /// A string of any other form: `E'…'`, `N'…'`, `U&'…'`, `$tag$…$tag$`, or one
    /// continued on the next line.
    OtherString,
    /// `B'…'` or `X'…'`.
    BitString,
    /// Decimal digits only.
    Integer,
    /// A number with a point or an exponent.
    Float,
    /// A number with a base prefix or with underscores.
    OtherNumber,
    /// `$n`.
    Parameter,
    /// An operator of one or more characters.
    Operator,
    /// `::`.
    TypeCast,
    /// One of `( ) [ ] , ; : .` or a longer mark made of `:` and `.`.
    Punctuation(u8),
    /// Something that no valid text contains, up to the end of the text if it is
    /// unterminated.
    Invalid,
    /// The end of the text.
    End,
}

/// A token: its kind, and where it is in the text (byte offsets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last one.
    pub end: usize,
}

/// The scanner.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
}

// What a byte can begin or continue. One table look-up a byte keeps the scanner's
// inner loops free of range comparisons.
const SPACE: u8 = 1;
const IDENT_START: u8 = 2;
const DIGIT: u8 = 4;
const OPERATOR: u8 = 8;
const IDENT: u8 = 16;

const CLASS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        let mut class = 0;
        if matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C) {
            class |= SPACE;
        }
        if b.is_ascii_alphabetic() || b == b'_' || b >= 0x80 {
            class |= IDENT_START | IDENT;
        }
        if b.is_ascii_digit() {
            class |= DIGIT | IDENT;
        }
        if b == b'$' {
            class |= IDENT;
        }
        if matches!(
            b,
            b'~' | b'!'
                | b'@'
                | b'#'
                | b'^'
                | b'&'
                | b'|'
                | b'`'
                | b'?'
                | b'+'
                | b'-'
                | b'*'
                | b'/'
                | b'%'
                | b'<'
                | b'>'
                | b'='
        ) {
            class |= OPERATOR;
        }
        table[byte] = class;
        byte += 1;
    }
    table
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

impl<'a> Lexer<'a> {
    /// A scanner at the start of a text.
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { bytes: text.as_bytes(), at: 0 }
    }

    /// The end of the last token.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The byte `ahead` of the present place; 0 past the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_class(&mut self, class: u8) {
        while self.at < self.bytes.len() && is(self.bytes[self.at], class) {
            self.at += 1;
        }
    }

    /// The next token.
    pub fn next_token(&mut self) -> Token {
        if let Some(unterminated) = self.skip_blanks() {
            self.at = self.bytes.len();
            return Token { kind: TokenKind::Invalid, start: unterminated, end: self.at };
        }
        let start = self.at;
        let Some(&first) = self.bytes.get(start) else {
            return Token { kind: TokenKind::End, start, end: start };
        };
        let kind = if is(first, IDENT_START) {
            self.word(first)
        } else if is(first, DIGIT) {
            self.number()
        } else {
            self.mark(first)
        };
        Token { kind, start, end: self.at }
    }

    /// Skips white space and comments; the start of a comment that does not end.
    fn skip_blanks(&mut self) -> Option<usize> {
        loop {
            self.skip_class(SPACE);
            match (self.peek(0), self.peek(1)) {
                (b'-', b'-') => self.skip_line(),
                (b'/', b'*') => {
                    let start = self.at;
                    if !self.skip_comment() {
                        return Some(start);
                    }
                }
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && !matches!(self.bytes[self.at], b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// A `/* … */` comment; these nest.
    fn skip_comment(&mut self) -> bool {
        let mut depth = 0usize;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return true;
                    }
                }
                _ => self.at += 1,
            }
        }
        false
    }

    /// A word, or a quoted thing with a letter in front.
    fn word(&mut self, first: u8) -> TokenKind {
        match (first, self.peek(1)) {
            (b'e' | b'E', b'\'') => {
                self.at += 1;
                return self.quoted(true).map_or(TokenKind::Invalid, |_| TokenKind::OtherString);
            }
            (b'n' | b'N', b'\'') => {
                self.at += 1;
                return self.quoted(false).map_or(TokenKind::Invalid, |_| TokenKind::OtherString);
            }
            (b'b' | b'B' | b'x' | b'X', b'\'') => {
                self.at += 1;
                return self.quoted(false).map_or(TokenKind::Invalid, |_| TokenKind::BitString);
            }
            (b'u' | b'U', b'&') if self.peek(2) == b'\'' => {
                self.at += 2;
                return self.quoted(false).map_or(TokenKind::Invalid, |_| TokenKind::OtherString);
            }
            (b'u' | b'U', b'&') if self.peek(2) == b'"' => {
                self.at += 2;
                return self.quoted_identifier();
            }
            _ => {}
        }
        self.skip_class(IDENT);
        TokenKind::Word
    }

    /// A quoted string at its opening quote, with the pieces that continue it on
    /// later lines. `Some(true)` if there was more than one piece; `None` if it
    /// does not end.
    fn quoted(&mut self, escapes: bool) -> Option<bool> {
        let mut continued = false;
        loop {
            self.at += 1;
            loop {
                let byte = *self.bytes.get(self.at)?;
                self.at += 1;
                match byte {
                    b'\'' if self.peek(0) == b'\'' => self.at += 1,
                    b'\'' => break,
                    b'\\' if escapes => {
                        self.bytes.get(self.at)?;
                        self.at += 1;
                    }
                    _ => {}
                }
            }
            if !self.continuation() {
                return Some(continued);
            }
            continued = true;
        }
    }

    /// Whether a quoted string continues: only blanks and `--` comments, with a line break among
    /// them, stand before the next quote. If so, moves to that quote.
    fn continuation(&mut self) -> bool {
        let end = self.at;
        let mut line_break = false;
        loop {
            match self.peek(0) {
                b'\n' | b'\r' => line_break = true,
                b'-' if self.peek(1) == b'-' => {
                    self.skip_line();
                    continue;
                }
                b'\'' if line_break => return true,
                byte if !is(byte, SPACE) => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at = end;
        false
    }

    /// `"…"` at its opening quote. An empty one is invalid.
    fn quoted_identifier(&mut self) -> TokenKind {
        let start = self.at + 1;
        self.at = start;
        while self.at < self.bytes.len() {
            let byte = self.bytes[self.at];
            self.at += 1;
            if byte == b'"' {
                if self.peek(0) == b'"' {
                    self.at += 1;
                } else if self.at == start + 1 {
                    return TokenKind::Invalid;
                } else {
                    return TokenKind::QuotedIdentifier;
                }
            }
        }
        TokenKind::Invalid
    }

    /// A number at its first digit.
    fn number(&mut self) -> TokenKind {
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X' | b'o' | b'O' | b'b' | b'B') {
            self.skip_class(IDENT);
            return TokenKind::OtherNumber;
        }
        let mut underscores = self.digits();
        let mut kind = TokenKind::Integer;
        // `1..2` is an integer and a `..`.
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            self.at += 1;
            underscores |= self.digits();
            kind = TokenKind::Float;
        }
        self.exponent(kind, underscores)
    }

    /// Digits with single underscores between them; whether there were any.
    fn digits(&mut self) -> bool {
        let mut underscores = false;
        loop {
            self.skip_class(DIGIT);
            if self.peek(0) != b'_' || !is(self.peek(1), DIGIT) {
                return underscores;
            }
            underscores = true;
            self.at += 1;
        }
    }

    /// The end of a number: an exponent, then nothing that could begin a word.
    fn exponent(&mut self, mut kind: TokenKind, mut underscores: bool) -> TokenKind {
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if is(self.peek(1 + sign), DIGIT) {
                self.at += 1 + sign;
                underscores |= self.digits();
                kind = TokenKind::Float;
            }
        }
        if is(self.peek(0), IDENT_START) {
            self.skip_class(IDENT);
            return TokenKind::Invalid;
        }
        if underscores { TokenKind::OtherNumber } else { kind }
    }

    /// Everything that begins with neither a letter nor a digit.
    fn mark(&mut self, first: u8) -> TokenKind {
        match first {
            b'\'' => match self.quoted(false) {
                Some(false) => TokenKind::String,
                Some(true) => TokenKind::OtherString,
                None => TokenKind::Invalid,
            },
            b'"' => self.quoted_identifier(),
            b'$' => self.dollar(),
            b'.' if is(self.peek(1), DIGIT) => {
                self.at += 1;
                let underscores = self.digits();
                self.exponent(TokenKind::Float, underscores)
            }
            b':' if self.peek(1) == b':' => {
                self.at += 2;
                TokenKind::TypeCast
            }
            b':' if self.peek(1) == b'=' => {
                self.at += 2;
                TokenKind::Operator
            }
            b'.' if self.peek(1) == b'.' => {
                self.at += 2;
                TokenKind::Punctuation(b'.')
            }
            b'(' | b')' | b'[' | b']' | b',' | b';' | b':' | b'.' => {
                self.at += 1;
                TokenKind::Punctuation(first)
            }
            _ if is(first, OPERATOR) => self.operator(),
            _ => {
                self.at += 1;
                TokenKind::Invalid
            }
        }
    }

    /// An operator: the longest run of operator characters that holds no comment
    /// start, less trailing `+` and `-` unless a character that SQL's own operators
    /// lack is among those before them.
    fn operator(&mut self) -> TokenKind {
        let start = self.at;
        while is(self.peek(0), OPERATOR) {
            if matches!((self.peek(0), self.peek(1)), (b'/', b'*') | (b'-', b'-')) {
                break;
            }
            self.at += 1;
        }
        let run = &self.bytes[start..self.at];
        let mut length = run.len();
        while length > 1
            && matches!(run[length - 1], b'+' | b'-')
            && !run[..length - 1].iter().any(|byte| b"~!@#^&|`?%".contains(byte))
        {
            length -= 1;
        }
        self.at = start + length;
        TokenKind::Operator
    }

    /// `$n`, or `$tag$ … $tag$`.
    fn dollar(&mut self) -> TokenKind {
        let start = self.at;
        self.at += 1;
        if is(self.peek(0), DIGIT) {
            self.skip_class(DIGIT);
            if is(self.peek(0), IDENT_START) {
                self.skip_class(IDENT);
                return TokenKind::Invalid;
            }
            return TokenKind::Parameter;
        }
        while is(self.peek(0), IDENT) && self.peek(0) != b'$' {
            self.at += 1;
        }
        if self.peek(0) != b'$' {
            self.at = start + 1;
            return TokenKind::Invalid;
        }
        self.at += 1;
        let tag = &self.bytes[start..self.at];
        // A tag both begins and ends with `$`, so that after a failed match the next
        // candidate is the next `$`.
        while let Some(ahead) = self.bytes[self.at..].iter().position(|&byte| byte == b'$') {
            self.at += ahead;
            if self.bytes[self.at..].starts_with(tag) {
                self.at += tag.len();
                return TokenKind::OtherString;
            }
            self.at += 1;
        }
        self.at = self.bytes.len();
        TokenKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == TokenKind::End {
                return found;
            }
            found.push((token.kind, &text[token.start..token.end]));
        }
    }

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn words_and_marks() {
        use TokenKind::*;
        assert_eq!(
            tokens("select a.b::int4, \"X\"\"y\" from täble$1;"),
            vec![
                (Word, "select"),
                (Word, "a"),
                (Punctuation(b'.'), "."),
                (Word, "b"),
                (TypeCast, "::"),
                (Word, "int4"),
                (Punctuation(b','), ","),
                (QuotedIdentifier, "\"X\"\"y\""),
                (Word, "from"),
                (Word, "täble$1"),
                (Punctuation(b';'), ";"),
            ]
        );
    }

    #[test]
    fn numbers() {
        use TokenKind::*;
        assert_eq!(
            tokens("1 1.5 .5 1. 1e5 1.e-5 1..2 0x1F 1_000"),
            vec![
                (Integer, "1"),
                (Float, "1.5"),
                (Float, ".5"),
                (Float, "1."),
                (Float, "1e5"),
                (Float, "1.e-5"),
                (Integer, "1"),
                (Punctuation(b'.'), ".."),
                (Integer, "2"),
                (OtherNumber, "0x1F"),
                (OtherNumber, "1_000"),
            ]
        );
        assert_eq!(kinds("1a"), vec![Invalid]);
        assert_eq!(kinds("1e"), vec![Invalid]);
        assert_eq!(kinds("$1 $12x"), vec![Parameter, Invalid]);
    }

    #[test]
    fn strings() {
        use TokenKind::*;
        assert_eq!(tokens("'it''s' 'b'"), vec![(String, "'it''s'"), (String, "'b'")]);
        assert_eq!(tokens("'a' -- x\n 'b'"), vec![(OtherString, "'a' -- x\n 'b'")]);
        assert_eq!(tokens("'a' 'b'"), vec![(String, "'a'"), (String, "'b'")]);
        assert_eq!(tokens("E'\\'' n'x'"), vec![(OtherString, "E'\\''"), (OtherString, "n'x'")]);
        assert_eq!(kinds("b'01' X'ff'"), vec![BitString, BitString]);
        assert_eq!(
            tokens("$$a$$ $t$ $$ $t$"),
            vec![(OtherString, "$$a$$"), (OtherString, "$t$ $$ $t$")]
        );
        assert_eq!(kinds("U&'\\0041' U&\"x\""), vec![OtherString, QuotedIdentifier]);
        for text in ["'abc", "E'abc\\'", "\"abc", "\"\"", "$a$ x $b$", "b'0"] {
            assert_eq!(kinds(text), vec![Invalid], "{text}");
        }
    }

    #[test]
    fn comments_and_operators() {
        use TokenKind::*;
        assert_eq!(kinds("/* a /* b */ c */ 1 -- x"), vec![Integer]);
        assert_eq!(kinds("1 /* a"), vec![Integer, Invalid]);
        assert_eq!(tokens("a<-1")[1..], [(Operator, "<"), (Operator, "-"), (Integer, "1")]);
        assert_eq!(tokens("a@-1")[1], (Operator, "@-"));
        assert_eq!(tokens("a*--x\n1")[1..], [(Operator, "*"), (Integer, "1")]);
        assert_eq!(tokens("a->>'k'")[1], (Operator, "->>"));
    }
}
