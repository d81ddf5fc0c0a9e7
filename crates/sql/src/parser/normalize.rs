//! The text that statements with other constants have in common, and the shape that identifies it,
//! as pg_stat_statements lists them (generate_normalized_query in contrib/pg_stat_statements, and
//! src/backend/nodes/queryjumblefuncs.c).
//!
//! ```text
//! SELECT  a FROM t WHERE b = 42 AND c IN (1, 2, 3)
//!   text  SELECT  a FROM t WHERE b = $1 AND c IN ($2 /*, ... */)
//!   shape its tokens: neither spaces, comments nor the case of names matter
//! ```
//!
//! PostgreSQL uses the analysed tree, this module the tokens. Where only the tree would distinguish
//! statements, the module keeps them separate: a constant that stays in the text makes an entry of
//! its own. Constants stay where they are no expressions: type modifiers (`numeric(10, 2)`),
//! positions in ORDER BY and GROUP BY, subscripts of array types, all of a utility statement but
//! the query in it.

use super::lexer::{Lexer, Token, TokenKind};

/// The common part of statements with other constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized {
    /// The statement with `$n` for each constant.
    pub text: String,
    /// Its tokens: the same for two texts iff they are the same statement.
    pub shape: String,
}

/// The meaning of `$n` in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// A parameter of the statement: constants are numbered after the last one.
    Own,
    /// As [`Parameters::Own`], in a statement or an expression of a function whose variables are
    /// parameters up to this one.
    After(u32),
    /// A literal that was lifted ([`super::literals`]): a constant like the others.
    Lifted,
}

/// Normalizes one statement.
pub fn normalize(source: &str, parameters: Parameters) -> Normalized {
    let tokens = tokens(source);
    let mut pass = Pass::new(source, &tokens, parameters);
    let is_expression = matches!(parameters, Parameters::After(_));
    if is_expression || pass.has_expressions() {
        pass.run();
    } else {
        pass.run_utility();
    }
    pass.finish()
}

/// The statement that an EXPLAIN is about.
pub fn explained(source: &str) -> &str {
    let tokens = tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |token| &source[token.start..token.end]);
    let is_option = |at: usize| {
        ["analyze", "analyse", "verbose"].iter().any(|word| text(at).eq_ignore_ascii_case(word))
    };
    let mut at = 1;
    if text(at) == "(" {
        at = (at..tokens.len()).find(|at| text(*at) == ")").map_or(tokens.len(), |end| end + 1);
    }
    while is_option(at) {
        at += 1;
    }
    tokens.get(at).map_or("", |token| &source[token.start..])
}

fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    let mut tokens: Vec<Token> = std::iter::from_fn(|| {
        let token = lexer.next_token();
        (!matches!(token.kind, TokenKind::End | TokenKind::Invalid)).then_some(token)
    })
    .collect();
    while tokens.last().is_some_and(|token| token.kind == TokenKind::Punctuation(b';')) {
        tokens.pop();
    }
    tokens
}

/// Words after which a minus belongs to the number behind it.
const BEFORE_OPERAND: &[&str] = &[
    "all",
    "and",
    "any",
    "between",
    "by",
    "case",
    "distinct",
    "else",
    "escape",
    "from",
    "having",
    "ilike",
    "in",
    "is",
    "like",
    "limit",
    "not",
    "offset",
    "on",
    "or",
    "returning",
    "select",
    "then",
    "to",
    "using",
    "when",
    "where",
];

/// Types and functions whose parentheses hold modifiers.
const MODIFIED: &[&str] = &[
    "bit",
    "bpchar",
    "char",
    "character",
    "current_time",
    "current_timestamp",
    "dec",
    "decimal",
    "float",
    "interval",
    "localtime",
    "localtimestamp",
    "nchar",
    "numeric",
    "precision",
    "time",
    "timestamp",
    "varchar",
    "varying",
];

/// Words that end a list of ORDER BY or GROUP BY.
const AFTER_BY: &[&str] = &[
    "except",
    "fetch",
    "for",
    "groups",
    "having",
    "intersect",
    "limit",
    "offset",
    "range",
    "returning",
    "rows",
    "select",
    "union",
    "window",
];

/// Words that a query, and so a statement with expressions, begins with.
const QUERIES: &[&str] =
    &["delete", "insert", "merge", "select", "table", "update", "values", "with"];

/// Statements around a query whose constants are its own.
const AROUND_QUERIES: &[&str] = &["declare", "explain", "prepare"];

struct Pass<'a> {
    source: &'a str,
    tokens: &'a [Token],
    parameters: Parameters,
    text: String,
    shape: String,
    /// Up to here the source is in `text`.
    copied: usize,
    /// The last number given out.
    number: u32,
    /// For each open parenthesis, and the text outside of them: in a list of ORDER BY or GROUP BY.
    by_lists: Vec<bool>,
}

impl<'a> Pass<'a> {
    fn new(source: &'a str, tokens: &'a [Token], parameters: Parameters) -> Pass<'a> {
        let number_of = |token: &Token| source[token.start + 1..token.end].parse().unwrap_or(0);
        let own = tokens.iter().filter(|token| token.kind == TokenKind::Parameter);
        let number = match parameters {
            Parameters::Own => own.map(number_of).max().unwrap_or(0),
            Parameters::After(last) => own.map(number_of).max().unwrap_or(0).max(last),
            Parameters::Lifted => 0,
        };
        Pass {
            source,
            tokens,
            parameters,
            text: String::with_capacity(source.len()),
            // With a space after each token.
            shape: String::with_capacity(source.len() + source.len() / 4),
            copied: tokens.first().map_or(0, |token| token.start),
            number,
            by_lists: vec![false],
        }
    }

    fn slice(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.source[token.start..token.end])
    }

    /// The token if it is a word, as it is written.
    fn word(&self, at: usize) -> Option<&'a str> {
        let token = self.tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
        Some(&self.source[token.start..token.end])
    }

    /// Whether the token is this word (in lower case here).
    fn is_word(&self, at: usize, word: &str) -> bool {
        self.word(at).is_some_and(|own| own.eq_ignore_ascii_case(word))
    }

    fn is_mark(&self, at: usize, mark: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Punctuation(mark))
    }

    fn is_one_of(&self, at: usize, words: &[&str]) -> bool {
        let own = self.word(at);
        own.is_some_and(|own| words.iter().any(|word| own.eq_ignore_ascii_case(word)))
    }

    /// Whether the statement has expressions whose constants do not matter.
    fn has_expressions(&self) -> bool {
        if self.is_mark(0, b'(') || self.is_one_of(0, QUERIES) || self.is_one_of(0, AROUND_QUERIES)
        {
            return true;
        }
        let is_query = |at: usize| {
            self.is_word(at, "as")
                && (self.is_one_of(at + 1, QUERIES) || self.is_mark(at + 1, b'('))
        };
        self.is_word(0, "create")
            && !["view", "function", "procedure"]
                .iter()
                .any(|kind| (1..5).any(|at| self.is_word(at, kind)))
            && (1..self.tokens.len()).any(is_query)
    }

    fn run(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            let skipped = self.modifiers(at);
            if skipped > 0 {
                (at..at + skipped).for_each(|at| self.keep(at));
                at += skipped;
                continue;
            }
            if let Some(end) = self.constant_list(at) {
                self.keep(at);
                self.replace(at + 1, end, " /*, ... */");
                at = end;
                continue;
            }
            match self.constant(at) {
                0 => {
                    self.track(at);
                    self.keep(at);
                    at += 1;
                }
                length => {
                    self.replace(at, at + length, "");
                    at += length;
                }
            }
        }
    }

    /// SET's value and DEALLOCATE's name are the only constants.
    fn run_utility(&mut self) {
        let mut rest = 1..self.tokens.len();
        let value = if self.is_word(0, "set") {
            rest.find(|at| self.is_word(*at, "to") || self.slice(*at) == "=")
                .map(|at| at + 1)
                .filter(|at| !self.is_word(*at, "default"))
        } else if self.is_word(0, "deallocate") {
            rest.find(|at| !self.is_word(*at, "prepare")).filter(|at| !self.is_word(*at, "all"))
        } else {
            None
        };
        for at in 0..self.tokens.len() {
            if Some(at) == value { self.replace(at, at + 1, "") } else { self.keep(at) }
        }
    }

    /// Notes parentheses and lists.
    fn track(&mut self, at: usize) {
        match self.tokens[at].kind {
            TokenKind::Punctuation(b'(') => self.by_lists.push(false),
            TokenKind::Punctuation(b')') if self.by_lists.len() > 1 => {
                self.by_lists.pop();
            }
            TokenKind::Word => {
                let is_by =
                    self.is_word(at, "by") && at > 0 && self.is_one_of(at - 1, &["order", "group"]);
                let ends = self.is_one_of(at, AFTER_BY);
                if let Some(list) = self.by_lists.last_mut()
                    && (is_by || ends)
                {
                    *list = is_by;
                }
            }
            _ => {}
        }
    }

    /// The number of tokens from here on that are a type's modifiers with their parentheses, or its
    /// dimensions.
    fn modifiers(&self, at: usize) -> usize {
        let close = match () {
            () if self.is_mark(at, b'(') && at > 0 && self.is_one_of(at - 1, MODIFIED) => b')',
            () if self.is_mark(at, b'(') && self.names_type(at) => b')',
            () if self.is_mark(at, b'[') && self.names_type(at) => b']',
            () => return 0,
        };
        let end = (at + 1..self.tokens.len()).find(|end| self.is_mark(*end, close));
        end.map_or(0, |end| end - at + 1)
    }

    /// Whether the tokens before are `::` and a type's name.
    fn names_type(&self, at: usize) -> bool {
        let mut before = at;
        while before > 0 {
            before -= 1;
            match self.tokens[before].kind {
                TokenKind::TypeCast => return before + 1 < at,
                TokenKind::QuotedIdentifier | TokenKind::Punctuation(b'.') => {}
                TokenKind::Word if before + 4 > at => {}
                _ => return false,
            }
        }
        false
    }

    /// `IN (` or `[` before two constants or more, and nothing else up to the end: where that is.
    fn constant_list(&self, at: usize) -> Option<usize> {
        let close = match self.tokens[at].kind {
            TokenKind::Punctuation(b'(') if at > 0 && self.is_word(at - 1, "in") => b')',
            TokenKind::Punctuation(b'[')
                if at > 0 && (self.is_word(at - 1, "array") || !self.ends_operand(at - 1)) =>
            {
                b']'
            }
            _ => return None,
        };
        let (mut next, mut count) = (at + 1, 0);
        loop {
            let length = self.constant(next);
            if length == 0 {
                return None;
            }
            count += 1;
            next += length;
            next += self.cast(next);
            if self.is_mark(next, close) {
                return (count > 1).then_some(next);
            }
            if !self.is_mark(next, b',') {
                return None;
            }
            next += 1;
        }
    }

    /// The number of tokens of a cast to a plain type.
    fn cast(&self, at: usize) -> usize {
        let is = |at: usize, kind| self.tokens.get(at).is_some_and(|token| token.kind == kind);
        if is(at, TokenKind::TypeCast) && is(at + 1, TokenKind::Word) { 2 } else { 0 }
    }

    /// The number of tokens from here on that are a constant that does not matter: 0, 1, or 2 with
    /// a minus.
    fn constant(&self, at: usize) -> usize {
        let Some(token) = self.tokens.get(at) else { return 0 };
        match token.kind {
            TokenKind::Integer if self.is_position(at) => 0,
            TokenKind::Parameter => usize::from(self.parameters == Parameters::Lifted),
            TokenKind::Word => usize::from(self.is_constant_word(at)),
            TokenKind::Operator
                if self.slice(at) == "-" && (at == 0 || !self.ends_operand(at - 1)) =>
            {
                if self.is_number(at + 1) { 2 } else { 0 }
            }
            _ => usize::from(self.is_number(at) || self.is_string(at)),
        }
    }

    fn is_number(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| match token.kind {
            TokenKind::Integer | TokenKind::Float | TokenKind::OtherNumber => true,
            TokenKind::Parameter => self.parameters == Parameters::Lifted,
            _ => false,
        })
    }

    fn is_string(&self, at: usize) -> bool {
        use TokenKind::{BitString, OtherString, String};
        self.tokens
            .get(at)
            .is_some_and(|token| matches!(token.kind, String | OtherString | BitString))
    }

    /// TRUE, FALSE and NULL, unless they are part of IS … or NULLS ….
    fn is_constant_word(&self, at: usize) -> bool {
        if !self.is_one_of(at, &["true", "false", "null"]) {
            return false;
        }
        let follows = |back: usize, word| at >= back && self.is_word(at - back, word);
        !(follows(1, "on") || follows(1, "is") || (follows(1, "not") && follows(2, "is")))
    }

    /// Whether an integer is the position of a column in ORDER BY or GROUP BY.
    fn is_position(&self, at: usize) -> bool {
        let follows = at > 0 && (self.is_word(at - 1, "by") || self.is_mark(at - 1, b','));
        let ends = match self.tokens.get(at + 1).map(|token| token.kind) {
            None | Some(TokenKind::Word) => true,
            Some(TokenKind::Punctuation(mark)) => matches!(mark, b',' | b')'),
            Some(_) => false,
        };
        self.by_lists.last() == Some(&true) && follows && ends
    }

    /// Whether a token ends an operand, so that a minus behind it subtracts.
    fn ends_operand(&self, at: usize) -> bool {
        match self.tokens[at].kind {
            TokenKind::Word => !self.is_one_of(at, BEFORE_OPERAND),
            TokenKind::Operator | TokenKind::TypeCast => false,
            TokenKind::Punctuation(mark) => matches!(mark, b')' | b']'),
            _ => true,
        }
    }

    /// A token stays as it is.
    fn keep(&mut self, at: usize) {
        let token = &self.tokens[at];
        let text = self.slice(at);
        match token.kind {
            TokenKind::Word => {
                let start = self.shape.len();
                self.shape.push_str(text);
                self.shape[start..].make_ascii_lowercase();
            }
            TokenKind::QuotedIdentifier => self.shape.push_str(text.trim_matches('"')),
            _ => self.shape.push_str(text),
        }
        self.shape.push(' ');
        self.text.push_str(&self.source[self.copied..token.end]);
        self.copied = token.end;
    }

    /// `$n` and the tokens after it replace the tokens from `at` to `end`.
    fn replace(&mut self, at: usize, end: usize, more: &str) {
        self.number += 1;
        self.shape.push('\u{1}');
        self.shape.push_str(more);
        self.text.push_str(&self.source[self.copied..self.tokens[at].start]);
        self.text.push_str(&format!("${}{more}", self.number));
        self.copied = self.tokens[end - 1].end;
    }

    fn finish(self) -> Normalized {
        Normalized { text: self.text, shape: self.shape }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the texts of PostgreSQL 18's pg_stat_statements.
    #[test]
    fn texts_are_postgresqls() {
        for (sql, expected) in [
            ("select  *  from t where a = 42;", "select  *  from t where a = $1"),
            ("select -5, 1-5, a-5, -a, +3", "select $1, $2-$3, a-$4, -a, +$5"),
            ("select 'x', E'y', $$z$$, b'101', 1.5, 0x1F", "select $1, $2, $3, $4, $5, $6"),
            ("select null, not true, a is not null", "select $1, not $2, a is not null"),
            ("select date 'x', interval(3) '1 s'", "select date $1, interval(3) $2"),
            ("select a::numeric(10,2), substr(b,1)", "select a::numeric(10,2), substr(b,$1)"),
            ("select a::int[3], '5'::varchar(3)", "select a::int[3], $1::varchar(3)"),
            ("select cast('1' as numeric(5,1))", "select cast($1 as numeric(5,1))"),
            (
                "select a from u group by 1 order by 2, 1",
                "select a from u group by 1 order by 2, 1",
            ),
            ("select a from u order by 1 limit 5", "select a from u order by 1 limit $1"),
            ("select 1 where a in (1,-2, 3)", "select $1 where a in ($2 /*, ... */)"),
            ("select 1 where a in (1, a+1)", "select $1 where a in ($2, a+$3)"),
            (
                "select array[[1,2],[3,4]], x[5]",
                "select array[[$1 /*, ... */],[$2 /*, ... */]], x[$3]",
            ),
            ("insert into t values (1,'a'), (2,null)", "insert into t values ($1,$2), ($3,$4)"),
            ("select * from t where a = $1 and b = 5", "select * from t where a = $1 and b = $2"),
            ("select /* c */ 1 -- d\n + 1", "select /* c */ $1 -- d\n + $2"),
            ("set work_mem = '5MB'", "set work_mem = $1"),
            ("set x to default", "set x to default"),
            ("deallocate p", "deallocate $1"),
            ("deallocate all", "deallocate all"),
            ("create table v (a int default 5)", "create table v (a int default 5)"),
            ("create table w as select 5 as x", "create table w as select $1 as x"),
            ("explain select 1", "explain select $1"),
            ("select current_timestamp(3)", "select current_timestamp(3)"),
        ] {
            assert_eq!(normalize(sql, Parameters::Own).text, expected, "{sql}");
        }
    }

    #[test]
    fn lifted_literals_are_constants() {
        let own =
            normalize("select a from t where b = 5 and c = date '2020-01-01'", Parameters::Own);
        let lifted =
            normalize("select a from t where b = $1 and c = date '2021-01-01'", Parameters::Lifted);
        assert_eq!(own, lifted);
        assert_eq!(own.text, "select a from t where b = $1 and c = date $2");
    }

    #[test]
    fn what_is_explained_is_a_statement_of_its_own() {
        assert_eq!(explained("explain select 1"), "select 1");
        assert_eq!(explained("EXPLAIN (verbose, costs off) select 1"), "select 1");
        assert_eq!(explained("explain analyze verbose update t set a = 1"), "update t set a = 1");
        assert_eq!(explained("explain"), "");
    }

    #[test]
    fn only_what_matters_makes_a_difference() {
        let id = |sql: &str| normalize(sql, Parameters::Own).shape;
        assert_eq!(
            id("SELECT * FROM T WHERE A=44"),
            id("select  * from t -- x\n where \"a\" = 5;")
        );
        assert_eq!(id("select 1 where a in (1,2)"), id("select 2 where a in (1,2,3)"));
        assert_ne!(id("select a from t"), id("select b from t"));
        assert_ne!(id("select ab from t"), id("select a b from t"));
    }
}
