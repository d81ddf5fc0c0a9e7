//! Pieces of SQL: expressions up to a token, whole statements, assignments.

use steppe_types::{Result, SqlState};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token, name};
use crate::parse::Parser;
use crate::scan::Lookup;
use crate::tree::{IntoClause, Slot, SlotId, Sql, SqlKind, Statement, StatementKind};

/// A piece that has been read and not checked.
pub(super) struct Piece {
    pub(super) start: usize,
    /// The token that ended it.
    pub(super) end: Token,
}

impl Parser<'_> {
    /// Reads up to one of some tokens, outside brackets. `expected` names them in the complaint that
    /// none came; `what` is "expression" or "statement".
    pub(super) fn piece(&mut self, until: &[Kind], expected: &str, what: &str) -> Result<Piece> {
        let before = std::mem::replace(&mut self.lookup, Lookup::Sql);
        let (mut start, mut depth) = (None, 0i32);
        let end = loop {
            let token = self.next()?;
            let _ = start.get_or_insert(token.start);
            let ends = until.contains(&token.kind)
                // The end of the body ends it, too, unless three tokens may: what follows then
                // complains.
                || (token.kind == Kind::End && until.len() < 3);
            if depth == 0 && ends {
                break token;
            }
            match token.kind {
                Kind::Mark(b'(' | b'[') => depth += 1,
                Kind::Mark(b')' | b']') => {
                    depth -= 1;
                    if depth < 0 {
                        return Err(self.near("mismatched parentheses"));
                    }
                }
                Kind::End | Kind::Mark(b';') => {
                    if depth != 0 {
                        return Err(self.near("mismatched parentheses"));
                    }
                    let message = format!("missing \"{expected}\" at end of SQL {what}");
                    return Err(self.at(SqlState::SYNTAX_ERROR, message, token.start));
                }
                _ => {}
            }
        };
        self.lookup = before;
        let start = start.unwrap_or(end.start);
        if start >= end.start {
            let missing =
                if what == "expression" { "missing expression" } else { "missing SQL statement" };
            return Err(self.near(missing));
        }
        Ok(Piece { start, end })
    }

    /// The text of a piece, without blanks at its end.
    pub(super) fn piece_text(&self, piece: &Piece) -> String {
        trimmed(&self.body[piece.start..piece.end.start]).to_owned()
    }

    /// Makes SQL of a text that begins at a place, and has it checked.
    pub(super) fn checked(&mut self, text: String, kind: SqlKind, start: usize) -> Result<Sql> {
        let result = self.types.check_sql(&text, kind);
        result.map_err(|error| self.moved(error, start))?;
        Ok(self.unchecked(text, kind, start))
    }

    pub(super) fn unchecked(&self, text: String, kind: SqlKind, start: usize) -> Sql {
        Sql { text, kind, start: start as u32, scope: self.names.scope() }
    }

    /// An expression up to one of some tokens; that token.
    pub(super) fn expression(&mut self, until: &[Kind], expected: &str) -> Result<(Sql, Kind)> {
        let piece = self.piece(until, expected, "expression")?;
        let text = self.piece_text(&piece);
        let sql = self.checked(text, SqlKind::Expression, piece.start)?;
        Ok((sql, piece.end.kind))
    }

    /// An expression up to one keyword.
    pub(super) fn expression_until(&mut self, word: Keyword, expected: &str) -> Result<Sql> {
        Ok(self.expression(&[Kind::Keyword(word)], expected)?.0)
    }

    /// Expressions with commas between them, up to a token.
    pub(super) fn expressions(&mut self, until: Kind, expected: &str) -> Result<Vec<Sql>> {
        let mut list = Vec::new();
        loop {
            let (sql, end) = self.expression(&[Kind::Mark(b','), until], expected)?;
            list.push(sql);
            if end != Kind::Mark(b',') {
                return Ok(list);
            }
        }
    }

    /// A statement of SQL up to its semicolon.
    pub(super) fn sql_statement(&mut self) -> Result<Sql> {
        let piece = self.piece(&[Kind::Mark(b';')], ";", "statement")?;
        let text = self.piece_text(&piece);
        self.checked(text, SqlKind::Statement, piece.start)
    }

    /// PERFORM: a SELECT with another word.
    pub(super) fn perform(&mut self, first: Token) -> Result<Statement> {
        let line = self.line_of(first.start);
        self.push_back(first);
        let piece = self.piece(&[Kind::Mark(b';')], ";", "statement")?;
        let text = self.piece_text(&piece);
        // The words' ends are at one place.
        let shift = "PERFORM".len() - "SELECT".len();
        let text = format!("SELECT{}", &text["PERFORM".len()..]);
        let sql = self.checked(text, SqlKind::Statement, piece.start + shift)?;
        Ok(Statement { line, kind: StatementKind::Perform(sql) })
    }

    /// CALL and DO.
    pub(super) fn call(&mut self, first: Token) -> Result<Statement> {
        let line = self.line_of(first.start);
        self.push_back(first);
        let sql = self.sql_statement()?;
        let call = first.is(Keyword::Call);
        Ok(Statement { line, kind: StatementKind::Call { sql, call } })
    }

    /// `variable := expression;`, with subscripts and fields after the variable.
    pub(super) fn assignment(&mut self, first: Token, slot: SlotId) -> Result<Statement> {
        let parts = match first.kind {
            Kind::Variable(_, true) => 1,
            _ => crate::lexer::names(self.text(first)).len() as u8,
        };
        self.check_assignable(slot, first.start)?;
        let line = self.line_of(first.start);
        self.push_back(first);
        let piece = self.piece(&[Kind::Mark(b';')], ";", "statement")?;
        let text = self.piece_text(&piece);
        let sql = self.checked(text, SqlKind::Assignment(parts), piece.start)?;
        Ok(Statement { line, kind: StatementKind::Assign { slot, sql } })
    }

    /// Refuses a word that is assigned to, which a statement of SQL never begins with.
    pub(super) fn check_not_assigned(&mut self, word: Token) -> Result<()> {
        let next = self.peek()?;
        if matches!(next.kind, Kind::Assign | Kind::Mark(b'=' | b'[' | b'.')) {
            return Err(self.not_a_variable(word));
        }
        Ok(())
    }

    /// Any other statement of SQL, with its INTO taken out.
    pub(super) fn execute_sql(&mut self, first: Token) -> Result<Statement> {
        let before = std::mem::replace(&mut self.lookup, Lookup::Sql);
        let mut end_of =
            StatementEnd::new(first.kind == Kind::Word && self.text_is(first, "create"));
        let mut into: Option<IntoClause> = None;
        let (mut blank, mut previous) = (None, first);
        let end = loop {
            let token = self.next()?;
            if let Some((_, end @ None)) = &mut blank {
                *end = Some(token.start);
            }
            if end_of.sees(token, self) {
                break token;
            }
            self.not_end(token)?;
            let own = token.is(Keyword::Into)
                && !previous.is(Keyword::Insert)
                && !previous.is(Keyword::Merge)
                && !first.is(Keyword::Import);
            previous = token;
            if own {
                if into.is_some() {
                    return Err(self.near("INTO specified more than once"));
                }
                blank = Some((token.start, None));
                self.lookup = Lookup::Normal;
                into = Some(self.target_of_into(true)?);
                self.lookup = Lookup::Sql;
            }
        };
        self.lookup = before;
        let text = match blank {
            Some((from, Some(to))) => format!(
                "{}{}{}",
                &self.body[first.start..from],
                " ".repeat(to - from),
                &self.body[to..end.start]
            ),
            _ => self.body[first.start..end.start].to_owned(),
        };
        let text = trimmed(&text).to_owned();
        let sql = self.checked(text, SqlKind::Statement, first.start)?;
        Ok(self.at_line(first, StatementKind::Execute { sql, into }))
    }

    /// EXECUTE with INTO and USING in either order.
    pub(super) fn execute_dynamic(&mut self, first: Token) -> Result<Statement> {
        let (into, using) = (Kind::Keyword(Keyword::Into), Kind::Keyword(Keyword::Using));
        let semicolon = Kind::Mark(b';');
        let (query, mut end) = self.expression(&[into, using, semicolon], "INTO or USING or ;")?;
        let line = self.line_of(first.start);
        let (mut target, mut parameters) = (None, Vec::new());
        loop {
            if end == into && target.is_none() {
                target = Some(self.target_of_into(true)?);
                end = self.next()?.kind;
            } else if end == using && parameters.is_empty() {
                loop {
                    let until = [Kind::Mark(b','), semicolon, into];
                    let (sql, next) = self.expression(&until, ", or ; or INTO")?;
                    parameters.push(sql);
                    end = next;
                    if end != Kind::Mark(b',') {
                        break;
                    }
                }
            } else if end == semicolon {
                let kind = StatementKind::ExecuteDynamic { query, into: target, parameters };
                return Ok(Statement { line, kind });
            } else {
                return Err(self.syntax_error());
            }
        }
    }

    /// Whether a token is this word, not quoted.
    fn text_is(&self, token: Token, word: &str) -> bool {
        name(self.text(token)) == word
    }

    /// Refuses a constant as a target.
    pub(super) fn check_assignable(&self, slot: SlotId, at: usize) -> Result<()> {
        let (name, constant) = match self.slot(slot) {
            Some(Slot::Scalar(scalar)) => (&scalar.name, scalar.constant),
            Some(Slot::Record(record)) => (&record.name, record.constant),
            Some(Slot::Field(field)) => return self.check_assignable(field.record, at),
            _ => return Ok(()),
        };
        if constant {
            const ERROR_IN_ASSIGNMENT: SqlState = SqlState(*b"22005");
            let message = format!("variable \"{name}\" is declared CONSTANT");
            return Err(self.at(ERROR_IN_ASSIGNMENT, message, at));
        }
        Ok(())
    }
}

/// A text without the blanks at its end.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches([' ', '\t', '\n', '\r', '\x0B', '\x0C'])
}

/// Where a statement of SQL ends: at a semicolon outside parentheses, and outside the body of a
/// routine that it creates.
struct StatementEnd {
    /// The first words while they may create a routine, a letter each: `c`, `o`, `r`, `f`.
    beginning: Option<Vec<u8>>,
    in_routine: bool,
    parentheses: usize,
    begins: usize,
}

impl StatementEnd {
    fn new(create: bool) -> StatementEnd {
        let beginning = create.then(|| vec![b'c']);
        StatementEnd { beginning, in_routine: false, parentheses: 0, begins: 0 }
    }

    /// Takes the next token; whether it ends the statement.
    fn sees(&mut self, token: Token, parser: &Parser<'_>) -> bool {
        self.follow_beginning(token, parser);
        match token.kind {
            Kind::Mark(b'(') => self.parentheses += 1,
            Kind::Mark(b')') => self.parentheses = self.parentheses.saturating_sub(1),
            Kind::Keyword(Keyword::Begin | Keyword::Case) if self.in_body() => self.begins += 1,
            Kind::Keyword(Keyword::End) if self.in_body() => {
                self.begins = self.begins.saturating_sub(1);
            }
            Kind::Mark(b';') => return self.parentheses == 0 && self.begins == 0,
            _ => {}
        }
        false
    }

    fn in_body(&self) -> bool {
        self.in_routine && self.parentheses == 0
    }

    /// Finds CREATE [OR REPLACE] FUNCTION and PROCEDURE.
    fn follow_beginning(&mut self, token: Token, parser: &Parser<'_>) {
        let Some(seen) = &mut self.beginning else { return };
        let is = |word| token.kind == Kind::Word && parser.text_is(token, word);
        let next = match () {
            () if token.is(Keyword::Or) => b'o',
            () if is("replace") => b'r',
            () if is("function") || is("procedure") => b'f',
            () => 0,
        };
        seen.push(next);
        self.in_routine = seen == b"cf" || seen == b"corf";
        if self.in_routine || seen.len() == 4 {
            self.beginning = None;
        }
    }
}
