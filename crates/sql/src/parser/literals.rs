//! Statement shapes: literals lifted into parameters by one pass of the lexer, so
//! that `… WHERE aid = 42` and `… WHERE aid = 43` share one plan (docs/design.md 7.4).
//!
//! ```text
//! SELECT abalance FROM pgbench_accounts WHERE aid = 42
//!   sql  SELECT abalance FROM pgbench_accounts WHERE aid = $1
//!   key  the same, a NUL, and one letter for each literal's type: "i"
//!   literals  [Int4(42)]
//! ```
//!
//! A lifted literal must keep its meaning as a parameter. Only literals in places where any
//! expression may stand are lifted; every other one simply stays in the text and so in the key,
//! which is always correct. What stays:
//!
//! * literals that the grammar wants as such: type modifiers (`numeric(10,2)`), typed literals
//!   (`date '…'`), array subscripts and constructors, EXTRACT's field,
//! * ORDER BY's, where a number is a column position,
//! * an ON CONFLICT target's, which has to match an index's expression,
//! * integers after a minus that only fit their type with it (`-2147483648`).
//!
//! A statement with a truncated name is not lifted: each run of it must report that.
//!
//! Statements in which equal expressions must be recognised as equal (GROUP BY, DISTINCT, windows),
//! set operations, SELECT INTO, several statements at once and statements with parameters are not
//! lifted at all.
//!
//! Positions in `sql` are not those of the original text: report an error after
//! parsing the original again.

use std::borrow::Cow;

use super::lexer::{Lexer, Token, TokenKind};

/// More literals than this make a statement not worth a cache entry (a long
/// multi-row INSERT).
const MAX_LITERALS: usize = 250;

/// A literal that became a parameter; the first is `$1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiftedLiteral {
    /// An integer that fits int4.
    Int4(i32),
    /// An integer that fits int8 only.
    Int8(i64),
    /// Any other number, to be read by numeric's input function.
    Numeric {
        /// Its place in the original text.
        start: usize,
        /// The byte after it.
        end: usize,
    },
    /// A string of type unknown.
    Unknown {
        /// Its place in the original text, without its quotes.
        start: usize,
        /// The byte after it.
        end: usize,
        /// Whether it contains doubled quotes.
        quotes: bool,
    },
}

impl LiftedLiteral {
    /// An integer of the type that it has by its size.
    pub(super) fn of_integer(value: i64) -> LiftedLiteral {
        i32::try_from(value).map_or(LiftedLiteral::Int8(value), LiftedLiteral::Int4)
    }

    /// The text of a number or a string, out of the original statement.
    pub fn text<'a>(&self, original: &'a str) -> Cow<'a, str> {
        let slice = |start, end| original.get(start..end).unwrap_or_default();
        match *self {
            LiftedLiteral::Int4(value) => value.to_string().into(),
            LiftedLiteral::Int8(value) => value.to_string().into(),
            LiftedLiteral::Numeric { start, end } => slice(start, end).into(),
            LiftedLiteral::Unknown { start, end, quotes: false } => slice(start, end).into(),
            LiftedLiteral::Unknown { start, end, quotes: true } => {
                slice(start, end).replace("''", "'").into()
            }
        }
    }

    /// The letter that stands for its type in a key.
    fn letter(&self) -> char {
        match self {
            LiftedLiteral::Int4(_) => 'i',
            LiftedLiteral::Int8(_) => 'l',
            LiftedLiteral::Numeric { .. } => 'n',
            LiftedLiteral::Unknown { .. } => 'u',
        }
    }
}

/// Lifts literals, into buffers that are kept from one statement to the next.
#[derive(Debug, Default)]
pub struct Lifter {
    key: String,
    sql_length: usize,
    literals: Vec<LiftedLiteral>,
    /// The parameters of the statement itself, which come first.
    own: usize,
}

impl Lifter {
    /// A lifter with empty buffers.
    pub fn new() -> Lifter {
        Lifter::default()
    }

    /// Lifts the literals of a statement. False when this pass is not sure about the statement; the
    /// buffers' contents are undefined then.
    pub fn lift(&mut self, original: &str) -> bool {
        self.lift_beside(original, 0)
    }

    /// The same for a statement with `own` parameters. Literals become the parameters after them.
    pub fn lift_beside(&mut self, original: &str, own: usize) -> bool {
        self.own = own;
        self.key.clear();
        self.literals.clear();
        self.sql_length = 0;
        let mut pass = Pass::new(self, original);
        let Some(end) = pass.run() else { return false };
        let copied = pass.copied;
        self.key.push_str(&original[copied..end]);
        self.sql_length = self.key.len();
        self.key.push('\0');
        self.key.extend(self.literals.iter().map(LiftedLiteral::letter));
        true
    }

    /// The text that statements with a common plan share.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The statement with `$n` for each lifted literal.
    pub fn sql(&self) -> &str {
        &self.key[..self.sql_length]
    }

    /// The literals, in the order of their parameters.
    pub fn literals(&self) -> &[LiftedLiteral] {
        &self.literals
    }
}

/// The meaning of the token before a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// An expression may stand here: after an operator, a comma, an opening
    /// parenthesis, or a keyword that takes an expression.
    Expr,
    /// As `Expr`, and the operator was a lone minus.
    Minus,
    /// A name: a string here would be a typed literal, `(` a call or a modifier list.
    Name,
    /// AS: the next name may be a type.
    As,
    /// A type follows or has just been named.
    Type,
    /// Anything else: literals are not lifted here.
    Other,
}

/// The clause that the pass is in, as far as it forbids lifting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    Plain,
    /// ORDER BY, up to the next clause at this nesting or its end.
    OrderBy,
    /// ON CONFLICT, up to DO.
    Conflict,
}

struct Pass<'a> {
    out: &'a mut Lifter,
    text: &'a str,
    lexer: Lexer<'a>,
    /// The length of the text that is in the key already.
    copied: usize,
    /// Nesting of parentheses and brackets.
    depth: u32,
    /// The nesting at which a group without lifting began.
    frozen_at: Option<u32>,
    clause: Clause,
    /// Nesting at which `clause` began.
    clause_depth: u32,
    is_select: bool,
}

impl<'a> Pass<'a> {
    fn new(out: &'a mut Lifter, text: &'a str) -> Pass<'a> {
        Pass {
            out,
            text,
            lexer: Lexer::new(text),
            copied: 0,
            depth: 0,
            frozen_at: None,
            clause: Clause::Plain,
            clause_depth: 0,
            is_select: false,
        }
    }

    /// The end of the statement, or `None` if it is not to be lifted.
    fn run(&mut self) -> Option<usize> {
        let mut before = self.first_word()?;
        let mut end;
        loop {
            let token = self.lexer.next_token();
            if super::truncate::is_long(token) {
                return None;
            }
            end = token.start;
            before = match token.kind {
                TokenKind::End => break,
                TokenKind::Word => self.word(token, before)?,
                TokenKind::Punctuation(b';') => {
                    let next = self.lexer.next_token();
                    if next.kind != TokenKind::End {
                        return None;
                    }
                    break;
                }
                TokenKind::Punctuation(mark) => self.punctuation(mark, before)?,
                TokenKind::Integer | TokenKind::Float | TokenKind::String => {
                    self.literal(token, before)?;
                    Before::Other
                }
                TokenKind::Operator => {
                    let minus = &self.text[token.start..token.end] == "-";
                    if minus { Before::Minus } else { Before::Expr }
                }
                TokenKind::TypeCast => Before::Type,
                TokenKind::QuotedIdentifier => name_after(before),
                TokenKind::OtherString | TokenKind::BitString | TokenKind::OtherNumber => {
                    Before::Other
                }
                TokenKind::Parameter if self.out.own > 0 => Before::Other,
                TokenKind::Parameter | TokenKind::Invalid => return None,
            };
        }
        Some(end)
    }

    /// The statement's first word decides whether it is one to lift at all.
    fn first_word(&mut self) -> Option<Before> {
        let token = self.lexer.next_token();
        if token.kind != TokenKind::Word {
            return None;
        }
        match keyword(&self.text.as_bytes()[token.start..token.end]) {
            Keyword::Select => {
                self.is_select = true;
                Some(Before::Expr)
            }
            Keyword::Dml => Some(Before::Other),
            _ => None,
        }
    }

    fn word(&mut self, token: Token, before: Before) -> Option<Before> {
        let word = &self.text.as_bytes()[token.start..token.end];
        let at_clause = self.depth == self.clause_depth;
        Some(match keyword(word) {
            Keyword::None => name_after(before),
            Keyword::Frozen => Before::Type,
            Keyword::As => Before::As,
            Keyword::Refused => return None,
            Keyword::Into if self.is_select => return None,
            Keyword::Order => {
                // A window's or an aggregate's ORDER BY inside another one's is ignored: the outer
                // clause forbids lifting until it ends.
                if self.clause == Clause::Plain {
                    (self.clause, self.clause_depth) = (Clause::OrderBy, self.depth);
                }
                Before::Other
            }
            Keyword::Conflict => {
                (self.clause, self.clause_depth) = (Clause::Conflict, self.depth);
                Before::Other
            }
            Keyword::Do if self.clause == Clause::Conflict && at_clause => {
                self.clause = Clause::Plain;
                Before::Other
            }
            Keyword::Limit => {
                if self.clause == Clause::OrderBy && at_clause {
                    self.clause = Clause::Plain;
                }
                Before::Expr
            }
            Keyword::TakesExpr | Keyword::Select => Before::Expr,
            _ => Before::Other,
        })
    }

    fn punctuation(&mut self, mark: u8, before: Before) -> Option<Before> {
        Some(match mark {
            b'(' | b'[' => {
                if self.frozen_at.is_none() && (mark == b'[' || before == Before::Type) {
                    self.frozen_at = Some(self.depth);
                }
                self.depth += 1;
                Before::Expr
            }
            b')' | b']' => {
                self.depth = self.depth.checked_sub(1)?;
                if self.frozen_at == Some(self.depth) {
                    self.frozen_at = None;
                }
                if self.depth < self.clause_depth {
                    (self.clause, self.clause_depth) = (Clause::Plain, 0);
                }
                Before::Other
            }
            b',' => Before::Expr,
            // A qualified name has the meaning of its first part.
            b'.' if matches!(before, Before::Name | Before::Type) => match before {
                Before::Type => Before::Type,
                _ => Before::Other,
            },
            _ => Before::Other,
        })
    }

    /// Lifts a literal if its place allows, else leaves it in the text.
    fn literal(&mut self, token: Token, before: Before) -> Option<()> {
        let free = matches!(before, Before::Expr | Before::Minus);
        if !free || self.frozen_at.is_some() || self.clause != Clause::Plain {
            return Some(());
        }
        let Some(literal) = self.read(token, before) else { return Some(()) };
        if token.kind == TokenKind::String && !self.cast_is_plain() {
            return Some(());
        }
        if self.out.literals.len() >= MAX_LITERALS {
            return None;
        }
        self.out.literals.push(literal);
        self.out.key.push_str(&self.text[self.copied..token.start]);
        // `select'x'from t` needs no spaces, a parameter there does.
        if self.borders_word(token.start.wrapping_sub(1)) {
            self.out.key.push(' ');
        }
        self.out.key.push('$');
        push_number(&mut self.out.key, self.out.own + self.out.literals.len());
        if self.borders_word(token.end) {
            self.out.key.push(' ');
        }
        self.copied = token.end;
        Some(())
    }

    /// Whether the byte at a place can be part of a word.
    fn borders_word(&self, at: usize) -> bool {
        self.text.as_bytes().get(at).is_some_and(|&byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
        })
    }

    /// The literal's value.
    fn read(&self, token: Token, before: Before) -> Option<LiftedLiteral> {
        let bytes = &self.text.as_bytes()[token.start..token.end];
        match token.kind {
            TokenKind::Integer => match integer(bytes) {
                Some(value) => match i32::try_from(value) {
                    Ok(value) => Some(LiftedLiteral::Int4(value)),
                    // The minus is part of the literal when PostgreSQL picks the type.
                    Err(_) if before == Before::Minus => None,
                    // So it is in `-(2147483648)`, which is an integer.
                    Err(_) if value == -i64::from(i32::MIN) => None,
                    Err(_) => Some(LiftedLiteral::Int8(value)),
                },
                None if before == Before::Minus => None,
                None => Some(LiftedLiteral::Numeric { start: token.start, end: token.end }),
            },
            TokenKind::Float => Some(LiftedLiteral::Numeric { start: token.start, end: token.end }),
            _ => Some(LiftedLiteral::Unknown {
                start: token.start + 1,
                end: token.end - 1,
                quotes: bytes[1..bytes.len() - 1].contains(&b'\''),
            }),
        }
    }

    /// Whether the text after a string is no cast, or one to a bare type name. With a modifier the
    /// cast of a literal is not that of a value (interval), and the reg* types look names up.
    fn cast_is_plain(&self) -> bool {
        let mut ahead = self.lexer.clone();
        if ahead.next_token().kind != TokenKind::TypeCast {
            return true;
        }
        let name = ahead.next_token();
        if name.kind != TokenKind::Word {
            return false;
        }
        let word = &self.text.as_bytes()[name.start..name.end];
        let after = ahead.next_token();
        let bare = match after.kind {
            TokenKind::Punctuation(mark) => !matches!(mark, b'(' | b'[' | b'.'),
            // Types of several words: `timestamp with time zone`, `character varying`.
            TokenKind::Word => {
                let next = &self.text.as_bytes()[after.start..after.end];
                !matches!(keyword(next), Keyword::None | Keyword::Frozen)
                    && !next.eq_ignore_ascii_case(b"with")
            }
            _ => true,
        };
        let catalog = word.len() > 3 && word[..3].eq_ignore_ascii_case(b"reg");
        bare && !catalog && !matches!(word, [b'"', ..])
    }
}

/// The state after a name, given the state before it.
fn name_after(before: Before) -> Before {
    match before {
        // `a varchar(10)`, `double precision(…)`, `x AS numeric(10,2)`, `x::numeric(10,2)`.
        Before::Name | Before::As | Before::Type => Before::Type,
        _ => Before::Name,
    }
}

/// The value of decimal digits, if it fits int8.
pub(super) fn integer(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0i64, |value, digit| value.checked_mul(10)?.checked_add(i64::from(digit - b'0')))
}

/// A number right behind a minus: the parser makes one constant of the two (doNegate), which may fit
/// a type only with the sign.
pub(super) fn number_after_minus(text: &str, minus: usize, number: Token) -> LiftedLiteral {
    let digits = &text[minus..number.end];
    match digits.parse() {
        Ok(value) if number.kind == TokenKind::Integer => LiftedLiteral::of_integer(value),
        _ => LiftedLiteral::Numeric { start: minus, end: number.end },
    }
}

/// Appends a parameter's number; there are at most [`MAX_LITERALS`].
fn push_number(out: &mut String, number: usize) {
    if number >= 100 {
        out.push(char::from(b'0' + (number / 100) as u8));
    }
    if number >= 10 {
        out.push(char::from(b'0' + (number / 10 % 10) as u8));
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// The keywords of the pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    /// A name, or a keyword that behaves like one here.
    None,
    Select,
    /// INSERT, UPDATE, DELETE, VALUES, WITH as a statement's first word.
    Dml,
    /// A keyword after which an expression stands.
    TakesExpr,
    /// LIMIT, OFFSET: they end ORDER BY too.
    Limit,
    Order,
    Conflict,
    Do,
    Into,
    As,
    /// A word whose parentheses hold literals that the grammar wants as such.
    Frozen,
    /// A word whose statement is not lifted.
    Refused,
    /// A keyword that no literal follows where it could be lifted, and that is not
    /// a name.
    Plain,
}

/// The words that matter, in alphabetical order of their first letters.
const KEYWORDS: [(&[u8], Keyword); 92] = {
    use Keyword::*;
    [
        (b"all", Plain),
        (b"and", TakesExpr),
        (b"any", Plain),
        (b"array", Plain),
        (b"as", As),
        (b"asc", Plain),
        (b"between", TakesExpr),
        (b"bit", Frozen),
        (b"bpchar", Frozen),
        (b"by", Plain),
        (b"case", TakesExpr),
        (b"char", Frozen),
        (b"character", Frozen),
        (b"conflict", Conflict),
        (b"cross", Plain),
        (b"current_time", Frozen),
        (b"current_timestamp", Frozen),
        (b"dec", Frozen),
        (b"decimal", Frozen),
        (b"default", Plain),
        (b"delete", Dml),
        (b"desc", Plain),
        (b"distinct", Refused),
        (b"do", Do),
        (b"else", TakesExpr),
        (b"end", Plain),
        (b"except", Refused),
        (b"exists", Plain),
        (b"extract", Frozen),
        (b"fetch", Limit),
        (b"float", Frozen),
        (b"for", Limit),
        (b"from", Plain),
        (b"full", Plain),
        (b"group", Refused),
        (b"grouping", Refused),
        (b"having", TakesExpr),
        (b"ilike", TakesExpr),
        (b"in", Plain),
        (b"inner", Plain),
        (b"insert", Dml),
        (b"intersect", Refused),
        (b"interval", Frozen),
        (b"into", Into),
        (b"is", Plain),
        (b"join", Plain),
        (b"lateral", Plain),
        (b"left", Plain),
        (b"like", TakesExpr),
        (b"limit", Limit),
        (b"localtime", Frozen),
        (b"localtimestamp", Frozen),
        (b"national", Frozen),
        (b"natural", Plain),
        (b"nchar", Frozen),
        (b"not", TakesExpr),
        (b"null", Plain),
        (b"nulls", Plain),
        (b"numeric", Frozen),
        (b"offset", Limit),
        (b"on", TakesExpr),
        (b"or", TakesExpr),
        (b"order", Order),
        (b"over", Refused),
        (b"precision", Frozen),
        (b"returning", TakesExpr),
        (b"right", Plain),
        (b"row", Plain),
        (b"second", Frozen),
        (b"select", Select),
        (b"set", Plain),
        (b"similar", Plain),
        (b"some", Plain),
        (b"tablesample", Refused),
        (b"then", TakesExpr),
        (b"time", Frozen),
        (b"timestamp", Frozen),
        (b"timestamptz", Frozen),
        (b"timetz", Frozen),
        (b"true", Plain),
        (b"union", Refused),
        (b"update", Dml),
        (b"using", Plain),
        (b"values", Dml),
        (b"varbit", Frozen),
        (b"varchar", Frozen),
        (b"varying", Frozen),
        (b"when", TakesExpr),
        (b"where", TakesExpr),
        (b"window", Refused),
        (b"with", Dml),
        (b"within", Refused),
    ]
};

/// For a first letter: which of [`KEYWORDS`] begin with it, and a bit for each length of theirs.
/// The bits rule out nearly every other name at once.
#[derive(Clone, Copy)]
struct Initial {
    first: u8,
    end: u8,
    lengths: u32,
}

const INITIALS: [Initial; 32] = {
    let mut table = [Initial { first: 0, end: 0, lengths: 0 }; 32];
    let mut index = 0;
    while index < KEYWORDS.len() {
        let word = KEYWORDS[index].0;
        let entry = &mut table[(word[0] & 31) as usize];
        if entry.end == 0 {
            entry.first = index as u8;
        }
        entry.end = index as u8 + 1;
        entry.lengths |= 1 << word.len();
        index += 1;
    }
    table
};

fn keyword(word: &[u8]) -> Keyword {
    let Some(&letter) = word.first() else { return Keyword::None };
    let initial = INITIALS[usize::from(letter & 31)];
    if word.len() >= 32 || initial.lengths & (1 << word.len()) == 0 {
        return Keyword::None;
    }
    let candidates = &KEYWORDS[usize::from(initial.first)..usize::from(initial.end)];
    candidates
        .iter()
        .find(|(candidate, _)| candidate.eq_ignore_ascii_case(word))
        .map_or(Keyword::None, |&(_, keyword)| keyword)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lift(sql: &str) -> Option<(String, Vec<LiftedLiteral>)> {
        let mut lifter = Lifter::new();
        lifter.lift(sql).then(|| (lifter.sql().to_owned(), lifter.literals().to_vec()))
    }

    fn lifted(sql: &str) -> String {
        lift(sql).map_or_else(|| "refused".to_owned(), |(sql, _)| sql)
    }

    #[test]
    fn pgbench_statements() {
        let sql = "SELECT abalance FROM pgbench_accounts WHERE aid = 42;";
        let (text, literals) = lift(sql).unwrap();
        assert_eq!(text, "SELECT abalance FROM pgbench_accounts WHERE aid = $1");
        assert_eq!(literals, [LiftedLiteral::Int4(42)]);
        assert_eq!(
            lifted("UPDATE pgbench_accounts SET abalance = abalance + -17 WHERE aid = 5;"),
            "UPDATE pgbench_accounts SET abalance = abalance + -$1 WHERE aid = $2"
        );
        assert_eq!(
            lifted(
                "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                 VALUES (1, 2, 3, -4, CURRENT_TIMESTAMP);"
            ),
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
             VALUES ($1, $2, $3, -$4, CURRENT_TIMESTAMP)"
        );
    }

    #[test]
    fn kinds_are_part_of_the_key() {
        let mut lifter = Lifter::new();
        assert!(lifter.lift("select 1, 3000000000, 99999999999999999999, 1.5, 'it''s'"));
        assert_eq!(lifter.key(), "select $1, $2, $3, $4, $5\0ilnnu");
        assert_eq!(lifter.literals()[1], LiftedLiteral::Int8(3_000_000_000));
        let sql = "select 'it''s', 2.50";
        assert!(lifter.lift(sql));
        assert_eq!(lifter.literals()[0].text(sql), "it's");
        assert_eq!(lifter.literals()[1].text(sql), "2.50");
    }

    #[test]
    fn what_must_stay_literal_stays() {
        for (sql, expected) in [
            ("select a from t order by 1 limit 5", "select a from t order by 1 limit $1"),
            (
                "select a from t where b = 3 order by a + 1",
                "select a from t where b = $1 order by a + 1",
            ),
            ("select (select a from t order by 2) + 3", "select (select a from t order by 2) + $1"),
            ("select x::numeric(10,2) + 1", "select x::numeric(10,2) + $1"),
            ("select cast(x as varchar(5)), 7", "select cast(x as varchar(5)), $1"),
            ("select x::pg_catalog.varchar(5), 7", "select x::pg_catalog.varchar(5), $1"),
            ("select date '2020-01-01', 'x'", "select date '2020-01-01', $1"),
            (
                "select interval '1 day', interval(3) '1 day'",
                "select interval '1 day', interval(3) '1 day'",
            ),
            ("select numeric(5,2) '1.5'", "select numeric(5,2) '1.5'"),
            (
                "select timestamp with time zone '2020-01-01'",
                "select timestamp with time zone '2020-01-01'",
            ),
            ("select '2020-01-01'::date", "select $1::date"),
            (
                "select '1'::interval(3), 'a'::varchar(3)",
                "select '1'::interval(3), 'a'::varchar(3)",
            ),
            ("select '{1}'::int[], 't'::regclass", "select '{1}'::int[], 't'::regclass"),
            ("select '1'::double precision", "select '1'::double precision"),
            ("select 2147483649", "select $1"),
            ("select -2147483648, -5, 2147483648", "select -2147483648, -$1, 2147483648"),
            ("select a[1], array[1,2], 3 from t", "select a[1], array[1,2], $1 from t"),
            ("select current_timestamp(3), 4", "select current_timestamp(3), $1"),
            ("select extract('year' from d), 4 from t", "select extract('year' from d), $1 from t"),
            ("select E'a', b'1', $$x$$, 0x1F, 5", "select E'a', b'1', $$x$$, 0x1F, $1"),
            (
                "insert into t values (1) on conflict ((a + 1)) where b > 2 do update set a = 3",
                "insert into t values ($1) on conflict ((a + 1)) where b > 2 do update set a = $2",
            ),
            (
                "select * from f(1) as x(a varchar(3)) where a = 'q'",
                "select * from f($1) as x(a varchar(3)) where a = $2",
            ),
            ("select a like 'x%' escape '!' from t", "select a like $1 escape '!' from t"),
            (
                "select round(x, 2), count(*) from t where y in (1, 2)",
                "select round(x, $1), count(*) from t where y in ($2, $3)",
            ),
            ("select 1 -- 2\n", "select $1 -- 2"),
            ("select'x'from t where'y'=a", "select $1 from t where $2=a"),
        ] {
            assert_eq!(lifted(sql).trim_end(), expected, "{sql}");
        }
    }

    #[test]
    fn keywords_are_found_by_their_first_letter() {
        assert!(KEYWORDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (word, expected) in KEYWORDS {
            assert!(keyword(word) == expected && keyword(&word.to_ascii_uppercase()) == expected);
        }
        for name in ["aid", "abalance", "s", "selects", "\u{e9}", "_", "timestampz"] {
            assert!(keyword(name.as_bytes()) == Keyword::None, "{name}");
        }
    }

    #[test]
    fn refuses_what_it_is_not_sure_of() {
        for sql in [
            "",
            "select 1; select 2",
            "select $1",
            "select a + 1 from t group by a + 1",
            "select distinct a + 1 from t order by a + 1",
            "select 1 union select 2",
            "select 1 into t",
            "select rank() over (order by 1)",
            "select 'abc",
            "begin",
            "create table t (a int default 5)",
            "select 1)",
        ] {
            assert_eq!(lifted(sql), "refused", "{sql}");
        }
        let many = format!("insert into t values (1{})", ", 1".repeat(300));
        assert_eq!(lifted(&many), "refused");
    }
}
