//! OPEN, FETCH, MOVE and CLOSE, and the arguments that a bound cursor is given.

use steppe_sql::deparse::quote_identifier;
use steppe_types::{Result, SqlState};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token, name};
use crate::parse::Parser;
use crate::parse::declare::REFCURSOR;
use crate::tree::{
    Direction, Fetch, FetchCount, OpenQuery, Query, Scroll, Slot, SlotId, Sql, SqlKind, Statement,
    StatementKind,
};

const SEMICOLON: Kind = Kind::Mark(b';');
const FROM: Kind = Kind::Keyword(Keyword::From);
const IN: Kind = Kind::Keyword(Keyword::In);

impl Parser<'_> {
    /// A variable that holds a cursor.
    fn cursor_variable(&mut self) -> Result<SlotId> {
        let token = self.next()?;
        let Kind::Variable(slot, _) = token.kind else {
            return Err(self.current_is_no_variable(token));
        };
        let scalar = match self.slot(slot) {
            Some(Slot::Scalar(scalar)) => Some((scalar.name.clone(), scalar.data_type.oid)),
            _ => None,
        };
        let element = scalar.is_some() && self.peek_raw()?.is_mark(b'[');
        let message = match scalar {
            Some((_, REFCURSOR)) if !element => return Ok(slot),
            Some((name, _)) if !element => {
                format!("variable \"{name}\" must be of type cursor or refcursor")
            }
            _ => "cursor variable must be a simple variable".to_owned(),
        };
        Err(self.at(SqlState::DATATYPE_MISMATCH, message, token.start))
    }

    /// OPEN.
    pub(super) fn open(&mut self, first: Token) -> Result<Statement> {
        let cursor = self.cursor_variable()?;
        let line = self.line_of(first.start);
        let bound = matches!(self.slot(cursor), Some(Slot::Scalar(slot)) if slot.cursor.is_some());
        let query = if bound {
            OpenQuery::Bound { arguments: self.given_arguments(cursor, SEMICOLON)? }
        } else {
            self.open_query()?
        };
        Ok(Statement { line, kind: StatementKind::Open { cursor, query } })
    }

    /// `[[NO] SCROLL] FOR query;`
    fn open_query(&mut self) -> Result<OpenQuery> {
        let mut scroll = Scroll::Unsaid;
        let mut token = self.next()?;
        if self.is_word(token, Keyword::No) {
            token = self.next()?;
            if self.is_word(token, Keyword::Scroll) {
                scroll = Scroll::No;
                token = self.next()?;
            }
        } else if self.is_word(token, Keyword::Scroll) {
            scroll = Scroll::Yes;
            token = self.next()?;
        }
        if !token.is(Keyword::For) {
            return Err(self.near("syntax error, expected \"FOR\""));
        }
        let token = self.next()?;
        if !token.is(Keyword::Execute) {
            self.push_back(token);
            let query = Query::Static(self.sql_statement()?);
            return Ok(OpenQuery::Given { scroll, query });
        }
        let using = Kind::Keyword(Keyword::Using);
        let (text, end) = self.expression(&[using, SEMICOLON], "USING or ;")?;
        let mut parameters = Vec::new();
        if end == using {
            parameters = self.expressions(SEMICOLON, ", or ;")?;
        }
        Ok(OpenQuery::Given { scroll, query: Query::Dynamic { text, parameters } })
    }

    /// The arguments of a bound cursor, if it has any, then a token that has to follow. They become
    /// one list in the order of the declaration.
    pub(super) fn given_arguments(&mut self, cursor: SlotId, until: Kind) -> Result<Option<Sql>> {
        let (cursor_name, fields) = self.cursor_parameters(cursor);
        let token = self.next()?;
        let open = token.is_mark(b'(');
        let Some(fields) = fields else {
            if open {
                let message = format!("cursor \"{cursor_name}\" has no arguments");
                return Err(self.at(SqlState::SYNTAX_ERROR, message, token.start));
            }
            return if token.kind == until { Ok(None) } else { Err(self.syntax_error()) };
        };
        if !open {
            let message = format!("cursor \"{cursor_name}\" has arguments");
            return Err(self.at(SqlState::SYNTAX_ERROR, message, token.start));
        }
        let start = token.end;
        let mut given: Vec<Option<String>> = vec![None; fields.len()];
        let mut any_named = false;
        for at in 0..fields.len() {
            let start = self.peek_raw()?.start;
            let named = self.argument_name(&cursor_name, &fields)?;
            any_named |= named.is_some();
            let parameter = named.unwrap_or(at);
            if given[parameter].is_some() {
                let message = format!(
                    "value for parameter \"{}\" of cursor \"{cursor_name}\" specified more than once",
                    fields[parameter]
                );
                return Err(self.at(SqlState::SYNTAX_ERROR, message, start));
            }
            given[parameter] = Some(self.argument(&cursor_name, at + 1 == fields.len())?);
        }
        let mut list = String::new();
        for (at, (field, value)) in fields.iter().zip(given).enumerate() {
            list.push_str(if at == 0 { "" } else { ", " });
            list.push_str(&value.unwrap_or_default());
            if any_named {
                // Errors of the query then name the parameter.
                list.push_str(" AS ");
                list.push_str(&quote_identifier(field));
            }
        }
        let sql = self.unchecked(list, SqlKind::Expression, start);
        if self.next()?.kind != until {
            return Err(self.syntax_error());
        }
        Ok(Some(sql))
    }

    /// A cursor's name, and the names of its parameters.
    fn cursor_parameters(&self, cursor: SlotId) -> (String, Option<Vec<String>>) {
        let Some(Slot::Scalar(scalar)) = self.slot(cursor) else { return (String::new(), None) };
        let row = scalar.cursor.as_ref().and_then(|bound| bound.arguments);
        let fields = match row.and_then(|row| self.slot(row)) {
            Some(Slot::Row(row)) => Some(row.fields.iter().map(|(name, _)| name.clone()).collect()),
            _ => None,
        };
        (scalar.name.clone(), fields)
    }

    /// `name :=` or `name =>` before an argument: which parameter it is.
    fn argument_name(&mut self, cursor: &str, fields: &[String]) -> Result<Option<usize>> {
        let (first, second) = self.peek_two()?;
        if first.kind != Kind::Name || !matches!(second.kind, Kind::Assign | Kind::Arrow) {
            return Ok(None);
        }
        let before = std::mem::replace(&mut self.lookup, crate::scan::Lookup::Declare);
        let token = self.next()?;
        self.lookup = before;
        let name = name(self.text(token));
        let Some(at) = fields.iter().position(|field| *field == name) else {
            let message = format!("cursor \"{cursor}\" has no argument named \"{name}\"");
            return Err(self.at(SqlState::SYNTAX_ERROR, message, token.start));
        };
        self.next()?;
        Ok(Some(at))
    }

    /// The text of one argument's value.
    fn argument(&mut self, cursor: &str, last: bool) -> Result<String> {
        let until = [Kind::Mark(b','), Kind::Mark(b')')];
        let piece = self.piece(&until, ",\" or \")", "expression")?;
        // Blanks at the end stay: a comment may end there.
        let text = self.body[piece.start..piece.end.start].to_owned();
        let sql = self.checked(text, SqlKind::Expression, piece.start)?;
        let message = match piece.end.kind {
            Kind::Mark(b')') if !last => "not enough arguments for cursor",
            Kind::Mark(b',') if last => "too many arguments for cursor",
            _ => return Ok(sql.text),
        };
        let message = format!("{message} \"{cursor}\"");
        Err(self.at(SqlState::SYNTAX_ERROR, message, piece.end.start))
    }

    /// FETCH and MOVE.
    pub(super) fn fetch(&mut self, first: Token) -> Result<Statement> {
        let (direction, count, many) = self.direction()?;
        let cursor = self.cursor_variable()?;
        let mut target = None;
        if first.is(Keyword::Fetch) {
            self.expect(Keyword::Into)?;
            target = Some(self.target_of_into(false)?.target);
        }
        self.expect_mark(b';')?;
        if many && target.is_some() {
            let message = "FETCH statement cannot return multiple rows";
            return Err(self.at(SqlState::FEATURE_NOT_SUPPORTED, message, first.start));
        }
        let fetch = Fetch { cursor, target, direction, count };
        Ok(self.at_line(first, StatementKind::Fetch(Box::new(fetch))))
    }

    /// A direction with its FROM or IN; whether it may give many rows.
    fn direction(&mut self) -> Result<(Direction, FetchCount, bool)> {
        let token = self.next()?;
        self.not_end(token)?;
        let one = |direction, number| (direction, FetchCount::Number(number), false);
        let found = match () {
            () if self.is_word(token, Keyword::Next) => one(Direction::Forward, 1),
            () if self.is_word(token, Keyword::Prior) => one(Direction::Backward, 1),
            () if self.is_word(token, Keyword::First) => one(Direction::Absolute, 1),
            () if self.is_word(token, Keyword::Last) => one(Direction::Absolute, -1),
            () if self.is_word(token, Keyword::Absolute) => {
                return Ok((Direction::Absolute, self.count()?, false));
            }
            () if self.is_word(token, Keyword::Relative) => {
                return Ok((Direction::Relative, self.count()?, false));
            }
            () if self.is_word(token, Keyword::All) => (Direction::Forward, FetchCount::All, true),
            () if self.is_word(token, Keyword::Forward) => {
                return self.rest_of_direction(Direction::Forward);
            }
            () if self.is_word(token, Keyword::Backward) => {
                return self.rest_of_direction(Direction::Backward);
            }
            () if token.kind == FROM || token.kind == IN => return Ok(one(Direction::Forward, 1)),
            () => {
                self.push_back(token);
                if matches!(token.kind, Kind::Variable(..)) {
                    return Ok(one(Direction::Forward, 1));
                }
                return Ok((Direction::Forward, self.count()?, true));
            }
        };
        self.read_from_or_in()?;
        Ok(found)
    }

    /// The rest of a direction after FORWARD or BACKWARD.
    fn rest_of_direction(&mut self, direction: Direction) -> Result<(Direction, FetchCount, bool)> {
        let token = self.next()?;
        self.not_end(token)?;
        if token.kind == FROM || token.kind == IN {
            return Ok((direction, FetchCount::Number(1), false));
        }
        if token.is(Keyword::All) {
            self.read_from_or_in()?;
            return Ok((direction, FetchCount::All, true));
        }
        self.push_back(token);
        Ok((direction, self.count()?, true))
    }

    fn count(&mut self) -> Result<FetchCount> {
        Ok(FetchCount::Expression(self.expression(&[FROM, IN], "FROM or IN")?.0))
    }

    fn read_from_or_in(&mut self) -> Result<()> {
        let token = self.next()?;
        if token.kind == FROM || token.kind == IN {
            return Ok(());
        }
        Err(self.near("expected FROM or IN"))
    }

    /// CLOSE.
    pub(super) fn close(&mut self, first: Token) -> Result<Statement> {
        let cursor = self.cursor_variable()?;
        self.expect_mark(b';')?;
        Ok(self.at_line(first, StatementKind::Close(cursor)))
    }
}
