//! Blocks, their exception sections, labels, and the choice among statements.

use steppe_types::{Result, SqlState, oid};

use crate::conditions::{self, Condition};
use crate::keywords::Keyword;
use crate::lexer::{Kind, Token, name};
use crate::parse::Parser;
use crate::strings;
use crate::tree::{Block, Exceptions, Handler, Label, Slot, SlotId, Statement, StatementKind};
use crate::types::Type;

impl Parser<'_> {
    /// A block after its label.
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block> {
        let mut token = self.next()?;
        if !token.is(Keyword::Declare) && !token.is(Keyword::Begin) {
            return Err(self.syntax_error());
        }
        self.names.open(label.as_deref(), Label::Block);
        let mut declared = Vec::new();
        if token.is(Keyword::Declare) {
            (declared, token) = self.declarations()?;
        }
        if !token.is(Keyword::Begin) {
            return Err(self.syntax_error());
        }
        let (body, mut end) = self.nested(Self::statements)?;
        let mut exceptions = None;
        if end.is(Keyword::Exception) {
            let (section, after) = self.exceptions(end)?;
            (exceptions, end) = (Some(section), after);
        }
        if !end.is(Keyword::End) {
            return Err(self.syntax_error());
        }
        let end_label = self.optional_name()?;
        let line = self.line_of(token.start);
        self.check_labels(label.as_deref(), end_label)?;
        self.names.close();
        Ok(Block { line, label, declared, body, exceptions })
    }

    /// `name >>`, after `<<`.
    pub(super) fn label(&mut self) -> Result<String> {
        let token = self.next()?;
        let Some(label) = self.identifier(token)? else { return Err(self.syntax_error()) };
        if self.next()?.kind != Kind::Close {
            return Err(self.syntax_error());
        }
        Ok(label)
    }

    /// A name where one may stand: a variable's name is one.
    pub(super) fn identifier(&self, token: Token) -> Result<Option<String>> {
        Ok(match token.kind {
            Kind::Word | Kind::Variable(_, true) => Some(name(self.text(token))),
            Kind::Keyword(word) if word.is_unreserved() => Some(name(self.text(token))),
            Kind::Variable(_, false) => return Err(self.syntax_error()),
            _ => None,
        })
    }

    /// A name, if one is next, and where it is.
    pub(super) fn optional_name(&mut self) -> Result<Option<(String, usize)>> {
        let token = self.next()?;
        let name = self.identifier(token)?;
        if name.is_none() {
            self.push_back(token);
        }
        Ok(name.map(|name| (name, token.start)))
    }

    /// A label at the end has to be that of the start.
    pub(super) fn check_labels(
        &self,
        start: Option<&str>,
        end: Option<(String, usize)>,
    ) -> Result<()> {
        let Some((end, at)) = end else { return Ok(()) };
        let message = match start {
            Some(start) if start == end => return Ok(()),
            Some(start) => {
                format!("end label \"{end}\" differs from block's label \"{start}\"")
            }
            None => format!("end label \"{end}\" specified for unlabeled block"),
        };
        Err(self.at(SqlState::SYNTAX_ERROR, message, at))
    }

    /// Statements up to a token that begins none; that token, which has been read.
    pub(super) fn statements(&mut self) -> Result<(Vec<Statement>, Token)> {
        let mut statements = Vec::new();
        loop {
            let token = self.next()?;
            match token.kind {
                Kind::Keyword(Keyword::Null) => {
                    self.expect_mark(b';')?;
                }
                _ => match self.statement(token)? {
                    Some(statement) => statements.push(statement),
                    None => return Ok((statements, token)),
                },
            }
        }
    }

    /// The statement that a token begins.
    fn statement(&mut self, first: Token) -> Result<Option<Statement>> {
        let kind = match first.kind {
            Kind::Open => return self.labelled().map(Some),
            Kind::Word | Kind::Compound => {
                self.check_not_assigned(first)?;
                return self.execute_sql(first).map(Some);
            }
            Kind::Variable(slot, _) => return self.assignment(first, slot).map(Some),
            Kind::Keyword(word) => word,
            _ => return Ok(None),
        };
        let statement = match kind {
            Keyword::Begin | Keyword::Declare => {
                self.push_back(first);
                self.inner_block(None)
            }
            Keyword::If => self.if_statement(first),
            Keyword::Case => self.case(first),
            Keyword::Loop | Keyword::While | Keyword::For | Keyword::Foreach => {
                self.any_loop(first, None)
            }
            Keyword::Exit | Keyword::Continue => self.exit(first),
            Keyword::Return => self.return_statement(first),
            Keyword::Raise => self.raise(first),
            Keyword::Assert => self.assert(first),
            Keyword::Execute => self.execute_dynamic(first),
            Keyword::Perform => self.perform(first),
            Keyword::Call | Keyword::Do => self.call(first),
            Keyword::Get => self.get_diagnostics(first),
            Keyword::Open => self.open(first),
            Keyword::Fetch | Keyword::Move => self.fetch(first),
            Keyword::Close => self.close(first),
            Keyword::Commit | Keyword::Rollback => self.end_transaction(first),
            Keyword::Import | Keyword::Insert | Keyword::Merge => self.execute_sql(first),
            _ => return Ok(None),
        };
        statement.map(Some)
    }

    /// A block or a loop with a label, after `<<`.
    fn labelled(&mut self) -> Result<Statement> {
        let label = self.label()?;
        let token = self.next()?;
        match token.kind {
            Kind::Keyword(Keyword::Begin | Keyword::Declare) => {
                self.push_back(token);
                self.inner_block(Some(label))
            }
            Kind::Keyword(Keyword::Loop | Keyword::While | Keyword::For | Keyword::Foreach) => {
                self.any_loop(token, Some(label))
            }
            _ => Err(self.syntax_error()),
        }
    }

    fn inner_block(&mut self, label: Option<String>) -> Result<Statement> {
        let block = self.block(label)?;
        self.expect_mark(b';')?;
        Ok(Statement { line: block.line, kind: StatementKind::Block(Box::new(block)) })
    }

    /// A statement at the line of its first token.
    pub(super) fn at_line(&mut self, first: Token, kind: StatementKind) -> Statement {
        Statement { line: self.line_of(first.start), kind }
    }

    /// An exception section after EXCEPTION; the token that ends it.
    fn exceptions(&mut self, first: Token) -> Result<(Exceptions, Token)> {
        let line = self.line_of(first.start);
        let sqlstate = self.handler_variable("sqlstate", line)?;
        let sqlerrm = self.handler_variable("sqlerrm", line)?;
        let mut handlers = Vec::new();
        let mut token = self.next()?;
        while token.is(Keyword::When) {
            let conditions = self.conditions()?;
            let (body, after) = self.nested(Self::statements)?;
            handlers.push(Handler { line: self.line_of(token.start), conditions, body });
            token = after;
        }
        if handlers.is_empty() {
            return Err(self.syntax_error());
        }
        Ok((Exceptions { sqlstate, sqlerrm, handlers }, token))
    }

    fn handler_variable(&mut self, name: &str, line: u32) -> Result<SlotId> {
        let text = Type::scalar(oid::TEXT, self.signature.collation, "text");
        let slot = self.add_variable(name, line, text, true)?;
        if let Some(Slot::Scalar(scalar)) = self.slots.get_mut(slot.0 as usize) {
            scalar.constant = true;
        }
        Ok(slot)
    }

    /// `condition OR … THEN`
    fn conditions(&mut self) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        loop {
            let token = self.next()?;
            let Some(name) = self.identifier(token)? else { return Err(self.syntax_error()) };
            if name == "sqlstate" {
                conditions.push(Condition::SqlState(self.sqlstate_code()?.1));
            } else {
                conditions.extend(conditions::named(&name)?);
            }
            let token = self.next()?;
            if token.is(Keyword::Then) {
                return Ok(conditions);
            }
            if !token.is(Keyword::Or) {
                return Err(self.syntax_error());
            }
        }
    }

    /// The code after SQLSTATE, as written and as a code.
    pub(super) fn sqlstate_code(&mut self) -> Result<(String, SqlState)> {
        let token = self.next()?;
        if token.kind != Kind::String {
            return Err(self.syntax_error());
        }
        let text = self.string(token)?;
        match conditions::code(&text) {
            Some(state) => Ok((text, state)),
            None => Err(self.near("invalid SQLSTATE code")),
        }
    }

    /// The value of a string token.
    pub(super) fn string(&self, token: Token) -> Result<String> {
        strings::value(self.text(token)).map_err(|error| self.moved(error, token.start))
    }

    /// COMMIT and ROLLBACK.
    fn end_transaction(&mut self, first: Token) -> Result<Statement> {
        let mut chain = false;
        let mut token = self.next()?;
        if token.is(Keyword::And) {
            token = self.next()?;
            chain = !token.is(Keyword::No);
            if !chain {
                token = self.next()?;
            }
            if !token.is(Keyword::Chain) {
                return Err(self.syntax_error());
            }
            token = self.next()?;
        }
        if !token.is_mark(b';') {
            return Err(self.syntax_error());
        }
        let commit = first.is(Keyword::Commit);
        Ok(self.at_line(first, StatementKind::EndTransaction { commit, chain }))
    }
}
