//! The variables that a body begins with: arguments, what a trigger is given, FOUND. And the whole
//! function around its outermost block.

use steppe_types::{Error, Result, SqlState, oid};

use crate::keywords::Keyword;
use crate::lexer::{Kind, name};
use crate::names::Visible;
use crate::parse::Parser;
use crate::tree::{
    Block, Label, Program, Promise, Returned, Row, Slot, SlotId, Statement, StatementKind,
};
use crate::types::{ArgumentMode, RoutineKind, Type, TypeClass, VariableConflict};

const INVALID_FUNCTION_DEFINITION: SqlState = SqlState(*b"42P13");
/// `text[]`
const TEXT_ARRAY: u32 = 1009;
/// The collation of type `name`.
const C_COLLATION: u32 = 950;

/// The parts of a function beside its slots.
pub(super) struct Parts {
    body: Block,
    arguments: Vec<SlotId>,
    found: SlotId,
    new: Option<SlotId>,
    old: Option<SlotId>,
}

impl Parser<'_> {
    /// The whole function.
    pub(super) fn function(&mut self) -> Result<Parts> {
        self.names.open(Some(&self.signature.name), Label::Other);
        let mut arguments = Vec::new();
        let (mut new, mut old) = (None, None);
        match self.signature.kind {
            RoutineKind::Function | RoutineKind::Procedure => arguments = self.arguments()?,
            RoutineKind::Trigger => (new, old) = self.trigger_variables()?,
            RoutineKind::EventTrigger => self.event_trigger_variables()?,
            RoutineKind::Anonymous => {}
        }
        let found = self.add_variable("found", 0, Type::scalar(oid::BOOL, 0, "boolean"), true)?;
        let label = self.compiler_options()?;
        let body = self.outermost(label)?;
        Ok(Parts { body: self.with_return(body), arguments, found, new, old })
    }

    /// The program of a function that has been parsed.
    pub(super) fn finish(self, parts: Parts) -> Program {
        let Parts { body, arguments, found, new, old } = parts;
        let names: Visible = self.names;
        Program {
            body,
            slots: self.slots,
            names: names.finish(),
            arguments,
            out: self.out,
            found,
            new,
            old,
            variable_conflict: self.options.variable_conflict,
            print_strict_params: self.options.print_strict_params,
            dump: self.dump,
            warnings: self.warnings,
        }
    }

    /// Makes the arguments' variables; the result is the slots of arguments that the caller gives.
    fn arguments(&mut self) -> Result<Vec<SlotId>> {
        let (mut given, mut out) = (Vec::new(), Vec::new());
        for (at, argument) in self.signature.arguments.iter().enumerate() {
            if argument.data_type.class == TypeClass::Pseudo {
                let message =
                    format!("PL/pgSQL functions cannot accept type {}", argument.data_type.name);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            let number = format!("${}", at + 1);
            // The slot has the name that a reader knows it by.
            let shown = argument.name.as_deref().unwrap_or(&number);
            let slot = self.add_variable(shown, 0, argument.data_type.clone(), false)?;
            if matches!(argument.mode, ArgumentMode::In | ArgumentMode::InOut) {
                given.push(slot);
            }
            if argument.mode != ArgumentMode::In {
                out.push((shown.to_owned(), slot));
            }
            self.add_argument_name(slot, &number)?;
            if let Some(name) = &argument.name {
                self.add_argument_name(slot, name)?;
            }
        }
        let outs = out.len();
        self.out = match *out.as_slice() {
            [] => None,
            // A procedure gives back a row even of one.
            [(_, slot)] if self.signature.kind == RoutineKind::Function => Some(slot),
            _ => Some(self.add_slot(Slot::Row(Row { line: 0, fields: out }))),
        };
        self.check_result()?;
        if self.signature.polymorphic_result && outs == 0 {
            self.add_variable("$0", 0, self.signature.result.clone(), true)?;
        }
        Ok(given)
    }

    fn check_result(&self) -> Result<()> {
        let result = &self.signature.result;
        if result.class == TypeClass::Pseudo && result.oid != oid::VOID {
            let message = format!("PL/pgSQL functions cannot return type {}", result.name);
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(())
    }

    fn add_argument_name(&mut self, slot: SlotId, name: &str) -> Result<()> {
        if self.names.in_innermost(name).is_some() {
            let message = format!("parameter name \"{name}\" used more than once");
            return Err(Error::new(INVALID_FUNCTION_DEFINITION, message));
        }
        self.add_name(slot, name);
        Ok(())
    }

    /// NEW, OLD and the TG_ variables.
    fn trigger_variables(&mut self) -> Result<(Option<SlotId>, Option<SlotId>)> {
        if !self.signature.arguments.is_empty() {
            let message = "trigger functions cannot have declared arguments";
            let hint = "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV \
                        instead.";
            return Err(Error::new(INVALID_FUNCTION_DEFINITION, message).hint(hint));
        }
        let new = self.add_variable("new", 0, Type::record(), true)?;
        let old = self.add_variable("old", 0, Type::record(), true)?;
        let text = Type::scalar(oid::TEXT, self.signature.collation, "text");
        let name = Type::scalar(oid::NAME, C_COLLATION, "name");
        let array = Type::scalar(TEXT_ARRAY, self.signature.collation, "text[]");
        let variables = [
            ("tg_name", &name, Promise::Name),
            ("tg_when", &text, Promise::When),
            ("tg_level", &text, Promise::Level),
            ("tg_op", &text, Promise::Operation),
            ("tg_relid", &Type::scalar(oid::OID, 0, "oid"), Promise::RelationId),
            ("tg_relname", &name, Promise::TableName),
            ("tg_table_name", &name, Promise::TableName),
            ("tg_table_schema", &name, Promise::TableSchema),
            ("tg_nargs", &Type::scalar(oid::INT4, 0, "integer"), Promise::ArgumentCount),
            ("tg_argv", &array, Promise::Arguments),
        ];
        for (name, data_type, promise) in variables {
            self.promise(name, data_type, promise)?;
        }
        Ok((Some(new), Some(old)))
    }

    fn event_trigger_variables(&mut self) -> Result<()> {
        if !self.signature.arguments.is_empty() {
            let message = "event trigger functions cannot have declared arguments";
            return Err(Error::new(INVALID_FUNCTION_DEFINITION, message));
        }
        let text = Type::scalar(oid::TEXT, self.signature.collation, "text");
        self.promise("tg_event", &text, Promise::Event)?;
        self.promise("tg_tag", &text, Promise::Tag)
    }

    fn promise(&mut self, name: &str, data_type: &Type, promise: Promise) -> Result<()> {
        let slot = self.add_variable(name, 0, data_type.clone(), true)?;
        if let Some(Slot::Scalar(scalar)) = self.slots.get_mut(slot.0 as usize) {
            scalar.promise = Some(promise);
        }
        Ok(())
    }

    /// `#option dump` and its like; then the label of the outermost block.
    fn compiler_options(&mut self) -> Result<Option<String>> {
        loop {
            let token = self.next()?;
            match token.kind {
                Kind::Mark(b'#') => self.compiler_option()?,
                Kind::Open => return Ok(Some(self.label()?)),
                _ => {
                    self.push_back(token);
                    return Ok(None);
                }
            }
        }
    }

    fn compiler_option(&mut self) -> Result<()> {
        let token = self.next()?;
        match token.kind {
            Kind::Keyword(Keyword::Option) => {
                self.expect(Keyword::Dump)?;
                self.dump = true;
            }
            Kind::Keyword(Keyword::PrintStrictParams) => {
                let value = self.next()?;
                let is_value = match value.kind {
                    Kind::Word => true,
                    Kind::Keyword(word) => word.is_unreserved(),
                    _ => false,
                };
                if !is_value {
                    return Err(self.syntax_error());
                }
                self.options.print_strict_params = match name(self.text(value)).as_str() {
                    "on" => true,
                    "off" => false,
                    other => {
                        let message = format!("unrecognized print_strict_params option {other}");
                        return Err(Error::internal(message));
                    }
                };
            }
            Kind::Keyword(Keyword::VariableConflict) => {
                self.options.variable_conflict = match self.next()?.kind {
                    Kind::Keyword(Keyword::Error) => VariableConflict::Error,
                    Kind::Keyword(Keyword::UseVariable) => VariableConflict::UseVariable,
                    Kind::Keyword(Keyword::UseColumn) => VariableConflict::UseColumn,
                    _ => return Err(self.syntax_error()),
                };
            }
            _ => return Err(self.syntax_error()),
        }
        Ok(())
    }

    /// The outermost block, with the RETURN that a body may lack.
    fn outermost(&mut self, label: Option<String>) -> Result<Block> {
        let block = self.block(label)?;
        let mut token = self.next()?;
        if token.is_mark(b';') {
            token = self.next()?;
        }
        if token.kind == Kind::End { Ok(block) } else { Err(self.syntax_error()) }
    }

    /// Adds a RETURN where control may reach the end. It is outside a block that catches errors or
    /// has a label, which EXIT may leave.
    fn with_return(&self, mut block: Block) -> Block {
        let signature = self.signature;
        let may_end = self.out.is_some()
            || signature.result.oid == oid::VOID
            || signature.returns_set
            || signature.kind == RoutineKind::EventTrigger;
        if !may_end || signature.kind == RoutineKind::Trigger {
            return block;
        }
        if block.exceptions.is_some() || block.label.is_some() {
            let inner = StatementKind::Block(Box::new(block));
            block = Block {
                line: 0,
                label: None,
                declared: Vec::new(),
                body: vec![Statement { line: 0, kind: inner }],
                exceptions: None,
            };
        }
        let returns = |last: &Statement| matches!(last.kind, StatementKind::Return(_));
        if !block.body.last().is_some_and(returns) {
            let returned = self.out.map_or(Returned::Nothing, Returned::Variable);
            block.body.push(Statement { line: 0, kind: StatementKind::Return(returned) });
        }
        block
    }
}
