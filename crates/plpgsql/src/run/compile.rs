//! Compiles a function of the catalog to code: gives its signature to the parser, and resolves the
//! types that its body names (pl_comp.c).

use std::sync::Arc;

use steppe_catalog::objects::{Argument as Declared, ArgumentMode as Mode, Function, FunctionKind};
use steppe_catalog::{Catalog, NameSpace, builtin};
use steppe_exec::Spi;
use steppe_exec::routine::CallTypes;
use steppe_functions::{Frame, SessionHost};
use steppe_sql::ast::{ExprKind, SelectBody, Statement, TypeName};
use steppe_sql::bind::typename::TypeNames;
use steppe_sql::parser;
use steppe_types::{Error, Oid, Result, SqlState, oid};

use super::build::{self, Routine};
use super::code::Code;
use super::frame::{Column, Shape};
use crate::error::CompileError;
use crate::parse;
use crate::tree::SqlKind;
use crate::tree::sql::check_syntax;
use crate::types::{
    Argument, ArgumentMode, Options, RoutineKind, Shadowed, Signature, Type, TypeClass, Types,
    VariableConflict,
};

/// The name of DO's code.
const INLINE: &str = "inline_code_block";

/// Compiles a function for calls with these types.
pub(super) fn function(function: &Function, call: &CallTypes, spi: &mut Spi<'_>) -> Result<Code> {
    let frame = spi.frame()?;
    let mut types = CatalogTypes { names: &frame.names, checks: false };
    let signature = types.signature(function, Some(call))?;
    let options = options(&**spi.session(), false)?;
    let shown = types.shown_signature(function);
    let program = parse(function.source(), &signature, &options, &mut types)
        .map_err(CompileError::at_call)?;
    let columns = call.columns.as_ref().map(|columns| {
        let column = |(name, ty, modifier): &(Arc<str>, Oid, i32)| {
            Column::new(Arc::clone(name), *ty, *modifier)
        };
        columns.iter().map(column).collect::<Box<[Column]>>()
    });
    let returns_row = columns.is_some() || signature.result.class == TypeClass::Record;
    let expected = match columns {
        Some(columns) => Some(Arc::new(Shape { ty: signature.result.oid, columns })),
        None if returns_row => None,
        None => {
            let Type { oid: ty, modifier, .. } = signature.result;
            let columns = Box::new([Column::new("".into(), ty, modifier)]);
            Some(Arc::new(Shape { ty, columns }))
        }
    };
    let routine = Routine {
        signature: shown.into(),
        name: signature.name.as_str().into(),
        oid: function.oid,
        kind: signature.kind,
        result: signature.result,
        returns_row,
        expected,
    };
    refuse_dump(program.dump)?;
    Ok(build::build(program, function.source(), routine))
}

/// Compiles the text of a DO.
pub(super) fn inline(source: &str, spi: &mut Spi<'_>) -> Result<Code> {
    let frame = spi.frame()?;
    let signature = Signature {
        name: INLINE.to_owned(),
        kind: RoutineKind::Anonymous,
        arguments: Vec::new(),
        result: void(),
        returns_set: false,
        polymorphic_result: false,
        collation: 0,
    };
    let options = options(&**spi.session(), true)?;
    let mut types = CatalogTypes { names: &frame.names, checks: true };
    let program = match parse(source, &signature, &options, &mut types) {
        Ok(program) => program,
        Err(error) => {
            error.warnings.iter().for_each(|warning| spi.session().notice(warning.clone()));
            return Err(error.in_command());
        }
    };
    program.warnings.iter().for_each(|warning| spi.session().notice(warning.clone()));
    refuse_dump(program.dump)?;
    let routine = Routine {
        signature: INLINE.into(),
        name: INLINE.into(),
        oid: 0,
        kind: RoutineKind::Anonymous,
        result: void(),
        returns_row: false,
        expected: None,
    };
    Ok(build::build(program, source, routine))
}

/// Checks the body of a function that is created. A position counts the characters of the body.
pub(super) fn validate(
    function: &Function,
    frame: &Frame,
    session: &Arc<dyn SessionHost>,
) -> Result<()> {
    let mut types = CatalogTypes { names: &frame.names, checks: true };
    types.check_pseudo_types(function)?;
    let signature = types.signature(function, None)?;
    let options = options(&**session, true)?;
    let (warnings, done) = match parse(function.source(), &signature, &options, &mut types) {
        Ok(program) => (program.warnings, Ok(())),
        Err(error) => (error.warnings.clone(), Err(error.in_command())),
    };
    warnings.into_iter().for_each(|warning| session.notice(warning));
    done
}

fn refuse_dump(dump: bool) -> Result<()> {
    if dump { Err(Error::not_supported("#option dump")) } else { Ok(()) }
}

fn void() -> Type {
    Type {
        oid: oid::VOID,
        modifier: -1,
        collation: 0,
        class: TypeClass::Pseudo,
        name: "void".to_owned(),
    }
}

/// The settings that a compilation depends on. `created`: extra checks count.
fn options(session: &dyn SessionHost, created: bool) -> Result<Options> {
    let setting = |name: &str| session.setting(name);
    let conflict = setting("plpgsql.variable_conflict")?;
    let asks = |value: Option<String>| {
        let value = value.unwrap_or_default();
        value.split(',').map(str::trim).any(|word| matches!(word, "all" | "shadowed_variables"))
    };
    let shadowed = match created {
        false => Shadowed::Allow,
        true if asks(setting("plpgsql.extra_errors")?) => Shadowed::Refuse,
        true if asks(setting("plpgsql.extra_warnings")?) => Shadowed::Warn,
        true => Shadowed::Allow,
    };
    Ok(Options {
        variable_conflict: match conflict.as_deref() {
            Some("use_variable") => VariableConflict::UseVariable,
            Some("use_column") => VariableConflict::UseColumn,
            _ => VariableConflict::Error,
        },
        print_strict_params: setting("plpgsql.print_strict_params")?.as_deref() == Some("on"),
        shadowed,
    })
}

/// The parser's questions, answered from the catalog.
struct CatalogTypes<'a> {
    names: &'a NameSpace,
    /// Whether the syntax of SQL is checked.
    checks: bool,
}

impl CatalogTypes<'_> {
    fn catalog(&self) -> &Catalog {
        &self.names.catalog
    }

    fn type_names(&self) -> TypeNames<'_> {
        TypeNames { catalog: &self.names.catalog, path: &self.names.path }
    }

    /// A type as the parser knows it.
    fn of(&self, ty: Oid, modifier: i32) -> Type {
        let found = self.catalog().ty(ty);
        let class = match found.as_ref().map(|ty| ty.kind) {
            Some(b'c') => TypeClass::Record,
            Some(b'd') if self.is_over_row(ty) => TypeClass::Record,
            Some(b'p') if ty == oid::RECORD => TypeClass::Record,
            Some(b'p') => TypeClass::Pseudo,
            _ => TypeClass::Scalar,
        };
        Type {
            oid: ty,
            modifier,
            collation: found.map_or(0, |ty| ty.collation),
            class,
            name: self.type_names().format(ty, -1),
        }
    }

    /// Whether a domain is over a composite type.
    fn is_over_row(&self, domain: Oid) -> bool {
        self.catalog().row_columns(domain).is_some()
    }

    /// The name of a function with the types of its arguments (format_procedure).
    fn shown_signature(&self, function: &Function) -> String {
        let names = self.type_names();
        let args: Vec<String> = function.args.iter().map(|ty| names.format(*ty, -1)).collect();
        let name = steppe_sql::deparse::quote_identifier(&function.name);
        let is_visible = self.names.path.contains(&function.schema);
        let schema = match is_visible {
            true => String::new(),
            false => self.catalog().schema(function.schema).map_or_else(String::new, |schema| {
                format!("{}.", steppe_sql::deparse::quote_identifier(&schema.name))
            }),
        };
        format!("{schema}{name}({})", args.join(","))
    }

    /// 0A000 for argument and result types that no PL/pgSQL function has (plpgsql_validator).
    fn check_pseudo_types(&self, function: &Function) -> Result<()> {
        let class = |ty: Oid| self.catalog().ty(ty).map_or(b'b', |ty| ty.kind);
        let refused = |message: String| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        let allowed = [oid::RECORD, oid::VOID, TRIGGER, EVENT_TRIGGER];
        if class(function.ret) == b'p'
            && !allowed.contains(&function.ret)
            && !is_polymorphic(function.ret)
        {
            let name = self.type_names().format(function.ret, -1);
            return refused(format!("PL/pgSQL functions cannot return type {name}"));
        }
        for ty in &function.args {
            if class(*ty) == b'p' && *ty != oid::RECORD && !is_polymorphic(*ty) {
                let name = self.type_names().format(*ty, -1);
                return refused(format!("PL/pgSQL functions cannot accept type {name}"));
            }
        }
        Ok(())
    }

    /// A function's signature: with the types of a call, or as it is created.
    fn signature(&self, function: &Function, call: Option<&CallTypes>) -> Result<Signature> {
        let kind = match (&function.kind, function.ret) {
            (FunctionKind::Procedure, _) => RoutineKind::Procedure,
            (_, TRIGGER) => RoutineKind::Trigger,
            (_, EVENT_TRIGGER) => RoutineKind::EventTrigger,
            _ => RoutineKind::Function,
        };
        let mut inputs = 0;
        let mut outs = 0;
        let mut arguments = Vec::new();
        for Declared { name, mode, ty } in &*function.arguments() {
            let actual = match (mode, call) {
                (Mode::In | Mode::InOut | Mode::Variadic, Some(call)) => {
                    let actual = call.args.get(inputs).copied().unwrap_or(*ty);
                    if is_polymorphic(*ty) { actual } else { *ty }
                }
                (_, Some(call)) if is_polymorphic(*ty) => {
                    let columns = call.columns.as_ref();
                    columns
                        .and_then(|columns| columns.get(outs))
                        .map_or(call.ret, |column| column.1)
                }
                _ => when_created(*ty),
            };
            if mode.is_input() {
                inputs += 1;
            }
            if mode.is_output() {
                outs += 1;
            }
            arguments.push(Argument {
                name: (!name.is_empty()).then(|| name.to_string()),
                mode: match mode {
                    Mode::In | Mode::Variadic => ArgumentMode::In,
                    Mode::Out => ArgumentMode::Out,
                    Mode::InOut => ArgumentMode::InOut,
                    Mode::Table => ArgumentMode::Table,
                },
                data_type: self.of(actual, -1),
            });
        }
        let result = match (kind, call) {
            (RoutineKind::Procedure, _) if outs == 0 => void(),
            (_, Some(call)) if is_polymorphic(function.ret) => self.of(call.ret, -1),
            (RoutineKind::Trigger | RoutineKind::EventTrigger, _) => {
                // Its result is a row of the table.
                Type { class: TypeClass::Record, ..self.of(oid::RECORD, -1) }
            }
            _ => self.of(when_created(function.ret), -1),
        };
        Ok(Signature {
            name: function.name.to_string(),
            kind,
            arguments,
            result,
            returns_set: function.retset,
            polymorphic_result: is_polymorphic(function.ret),
            collation: call.map_or(0, |call| call.collation),
        })
    }

    fn relation(&self, names: &[String]) -> Result<Arc<steppe_catalog::Relation>> {
        let (schema, name) = match names {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            [_, schema, name] => (Some(schema), name),
            _ => return Err(Error::internal("a relation's name has too many parts")),
        };
        let found = match schema {
            Some(schema) => {
                let Some(found) = self.catalog().schema_in(schema, &self.names.path) else {
                    let message = format!("schema \"{schema}\" does not exist");
                    return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
                };
                self.catalog().relation_named(found.oid, name)
            }
            None => {
                let mut path = self.names.path.iter();
                path.find_map(|schema| self.catalog().relation_named(*schema, name))
            }
        };
        found.cloned().ok_or_else(|| {
            let message = format!("relation \"{}\" does not exist", names.join("."));
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })
    }
}

const TRIGGER: Oid = 2279;
const EVENT_TRIGGER: Oid = 3838;

/// anyelement, anyarray, anynonarray, anyenum, anyrange, anymultirange and the anycompatible family.
fn is_polymorphic(ty: Oid) -> bool {
    matches!(ty, 2283 | 2277 | 2776 | 3500 | 3831 | 4537 | 5077..=5080 | 4538)
}

/// The type that stands for a polymorphic one where a function is created.
fn when_created(ty: Oid) -> Oid {
    const INT4_ARRAY: Oid = 1007;
    const INT4_RANGE: Oid = 3904;
    const INT4_MULTIRANGE: Oid = 4451;
    match ty {
        2277 | 5078 => INT4_ARRAY,
        3831 | 5080 => INT4_RANGE,
        4537 | 4538 => INT4_MULTIRANGE,
        ty if is_polymorphic(ty) => oid::INT4,
        ty => ty,
    }
}

impl Types for CatalogTypes<'_> {
    fn named(&mut self, text: &str) -> Result<Type> {
        const SELECT: &str = "SELECT NULL::";
        let moved = |error: Error| {
            let before = SELECT.len() as u32;
            let at = error.fields().position.map(|at| at.saturating_sub(before).max(1));
            error.without_position().at(at)
        };
        let source = format!("{SELECT}{text}");
        let mut parsed = parser::parse(&source).map_err(moved)?;
        let cast = parsed.pop().and_then(|parsed| type_of_cast(parsed.statement));
        let Some(name) = cast else {
            let message = format!("invalid type name \"{text}\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        let found = self.type_names().resolve(&name).map_err(|error| error.at(Some(1)))?;
        Ok(self.of(found.oid, found.typmod))
    }

    fn of_column(&mut self, names: &[String]) -> Result<Type> {
        let Some((column, relation)) = names.split_last() else {
            return Err(Error::internal("a column has no name"));
        };
        let found = self.relation(relation)?;
        let live = found.columns.iter().filter(|column| !column.dropped);
        match live.clone().find(|found| *found.name == **column) {
            Some(column) => {
                let mut ty = self.of(column.type_oid, column.typmod);
                ty.collation = column.collation;
                Ok(ty)
            }
            None => {
                let message =
                    format!("column \"{column}\" of relation \"{}\" does not exist", found.name);
                Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
            }
        }
    }

    fn of_relation(&mut self, names: &[String]) -> Result<Type> {
        let found = self.relation(names)?;
        match steppe_catalog::row_type_of(&found) {
            Some(ty) => Ok(self.of(ty, -1)),
            None => {
                let message = format!("relation \"{}\" does not have a composite type", found.name);
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }

    fn array_over(&mut self, element: &Type) -> Result<Type> {
        let found = self.catalog().ty(element.oid);
        match found.map_or(0, |ty| if ty.is_true_array() { ty.oid } else { ty.array }) {
            0 => {
                let message = format!("could not find array type for data type {}", element.name);
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
            array => Ok(Type { collation: element.collation, ..self.of(array, element.modifier) }),
        }
    }

    fn collation(&mut self, names: &[String]) -> Result<Oid> {
        let name = names.last().map_or("", String::as_str);
        builtin::collation_named(name).ok_or_else(|| {
            let shown = names.join(".");
            let message = format!("collation \"{shown}\" for encoding \"UTF8\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }

    fn check_sql(&mut self, text: &str, kind: SqlKind) -> Result<()> {
        if self.checks { check_syntax(text, kind) } else { Ok(()) }
    }
}

/// The type of `SELECT NULL::type`.
fn type_of_cast(statement: Statement) -> Option<TypeName> {
    let Statement::Select(select) = statement else { return None };
    let SelectBody::Select(core) = select.body else { return None };
    match core.targets.into_iter().next()?.value.kind {
        ExprKind::Cast { type_name, .. } => Some(*type_name),
        _ => None,
    }
}
