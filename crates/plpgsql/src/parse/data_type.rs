//! Types in declarations: names, `%TYPE`, `%ROWTYPE`, and arrays of these.

use steppe_types::{Error, Result, SqlState};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token, names};
use crate::parse::Parser;
use crate::types::Type;

impl Parser<'_> {
    /// A type; the token after it is next.
    pub(super) fn data_type(&mut self) -> Result<Type> {
        let first = self.next()?;
        let mut token = first;
        let is_name = match first.kind {
            Kind::Word | Kind::Compound => true,
            Kind::Keyword(word) => word.is_unreserved(),
            _ => false,
        };
        if is_name {
            token = self.next()?;
            if token.is_mark(b'%') {
                token = self.next()?;
                let parts = names(self.text(first));
                if self.is_word(token, Keyword::Type) {
                    let data_type = self.type_of(&parts)?;
                    return self.decorated(data_type);
                }
                if self.is_word(token, Keyword::Rowtype) {
                    let data_type = self.types.of_relation(&parts)?;
                    return self.decorated(data_type);
                }
            }
        }
        let end = self.end_of_type(token)?;
        let text = &self.body[first.start..end.start];
        if text.is_empty() {
            return Err(self.near("missing data type declaration"));
        }
        let found = self.types.named(text);
        let data_type = found.map_err(|error| self.moved(error, first.start))?;
        self.push_back(end);
        Ok(data_type)
    }

    /// Reads up to what may follow a type.
    fn end_of_type(&mut self, mut token: Token) -> Result<Token> {
        let mut depth = 0i32;
        loop {
            match token.kind {
                Kind::End if depth != 0 => return Err(self.near("mismatched parentheses")),
                Kind::End => return Err(self.near("incomplete data type declaration")),
                Kind::Mark(b';' | b'=') | Kind::Assign => return Ok(token),
                Kind::Keyword(Keyword::Collate | Keyword::Not | Keyword::Default) => {
                    return Ok(token);
                }
                Kind::Mark(b',' | b')') if depth == 0 => return Ok(token),
                Kind::Mark(b'(') => depth += 1,
                Kind::Mark(b')') => depth -= 1,
                _ => {}
            }
            token = self.next()?;
        }
    }

    /// The type of a variable or of a relation's column.
    fn type_of(&mut self, parts: &[String]) -> Result<Type> {
        if parts.len() <= 2
            && let Some(data_type) = self.type_of_variable(parts)
        {
            return Ok(data_type);
        }
        match parts {
            [name] => {
                let message = format!("variable \"{name}\" does not exist");
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
            _ => self.types.of_column(parts),
        }
    }

    /// A type with `[]` or ARRAY after it.
    fn decorated(&mut self, data_type: Type) -> Result<Type> {
        let mut token = self.next()?;
        let mut array = false;
        if self.is_word(token, Keyword::Array) {
            array = true;
            token = self.next()?;
        }
        while token.is_mark(b'[') {
            array = true;
            token = self.next()?;
            if token.kind == Kind::Integer {
                token = self.next()?;
            }
            if !token.is_mark(b']') {
                return Err(self.near("syntax error, expected \"]\""));
            }
            token = self.next()?;
        }
        self.push_back(token);
        if array { self.types.array_over(&data_type) } else { Ok(data_type) }
    }
}
