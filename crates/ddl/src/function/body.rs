//! The language and the body of a function (interpret_AS_clause in functioncmds.c), and the checks
//! of its language's validator.

use super::super::DdlContext;
use super::options::Options;
use super::types::{invalid, is_polymorphic, is_pseudo};
use steppe_catalog::Function;
use steppe_catalog::builtin::{self, C_LANGUAGE, INTERNAL_LANGUAGE, SQL_LANGUAGE};
use steppe_catalog::objects::Body;
use steppe_exec::registry;
use steppe_sql::ast::CreateFunctionStmt;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The language of a new function.
#[derive(Clone, Copy)]
pub(super) struct Language {
    oid: Oid,
    name: &'static str,
}

impl Language {
    /// Whether its functions are the server's code.
    pub(super) fn is_internal(self) -> bool {
        matches!(self.oid, INTERNAL_LANGUAGE | C_LANGUAGE)
    }
}

/// The language that is written, or that of a body in SQL's own syntax. 42P13 for none, 42704 for
/// one that does not exist.
pub(super) fn language(create: &CreateFunctionStmt, options: &Options) -> Result<Language> {
    let name = match (&options.language, &create.sql_body) {
        (Some(name), _) => name.as_str(),
        (None, Some(_)) => "sql",
        (None, None) => return Err(invalid("no language specified".into())),
    };
    let Some((oid, name)) = builtin::language_named(name) else {
        let message = format!("language \"{name}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    };
    Ok(Language { oid, name })
}

/// Gives the function its body.
pub(super) fn interpret(
    ctx: &mut DdlContext<'_>,
    create: &CreateFunctionStmt,
    options: &Options,
    language: Language,
    function: &mut Function,
) -> Result<()> {
    let Language { oid: language, name: language_name } = language;
    let code = match (&options.code, &create.sql_body) {
        (Some(_), Some(_)) => return Err(invalid("duplicate function body specified".into())),
        (None, None) => return Err(invalid("no function body specified".into())),
        (None, Some(_)) if language != SQL_LANGUAGE => {
            let message = "inline SQL function body only valid for language SQL";
            return Err(invalid(message.into()));
        }
        (None, Some(body)) => return super::sql_body::interpret(ctx, body, function),
        (Some(code), None) => code,
    };
    if language == C_LANGUAGE {
        return Err(Error::not_supported("functions in language C"));
    }
    let [text] = code.as_slice() else {
        let message = format!("only one AS item needed for language \"{language_name}\"");
        return Err(invalid(message));
    };
    let text = text.clone();
    function.body = match language {
        SQL_LANGUAGE => Body::Sql { text: text.into() },
        INTERNAL_LANGUAGE if text.is_empty() => {
            Body::Native { language, source: function.name.clone() }
        }
        INTERNAL_LANGUAGE => Body::Native { language, source: text.into() },
        language => Body::Procedural { language, source: text.into() },
    };
    Ok(())
}

/// The checks of the language's validator. check_function_bodies may turn off those of the body.
pub(super) fn validate(ctx: &mut DdlContext<'_>, function: &Function) -> Result<()> {
    match &function.body {
        Body::Native { source, .. } => check_internal(function, source),
        Body::Sql { .. } | Body::SqlStandard { .. } => {
            check_sql_types(ctx, function)?;
            check_body(ctx, function)
        }
        Body::Procedural { .. } => {
            check_procedural_types(ctx, function)?;
            check_body(ctx, function)
        }
    }
}

fn check_body(ctx: &mut DdlContext<'_>, function: &Function) -> Result<()> {
    if ctx.session.setting("check_function_bodies")?.as_deref() == Some("off") {
        return Ok(());
    }
    let Some(language) = language_name(function).and_then(registry::language_named) else {
        return Ok(());
    };
    let catalog = ctx.catalog();
    ctx.session.see_catalog(&catalog);
    let frame = ctx.session.frame()?;
    let checked = language.validate(function, &frame, &ctx.session);
    checked.map_err(|error| transposed(error, function.source(), ctx.source))
}

fn language_name(function: &Function) -> Option<&'static str> {
    builtin::language_name(match function.body {
        Body::Native { language, .. } | Body::Procedural { language, .. } => language,
        Body::Sql { .. } | Body::SqlStandard { .. } => SQL_LANGUAGE,
    })
}

/// An error of a body with its place in the statement that has the body, or else as one of another
/// text (function_parse_error_transpose).
fn transposed(mut error: Error, body: &str, statement: &str) -> Error {
    let Some(position) = error.fields().position else { return error };
    match place_in(body, statement, position) {
        Some(place) => error.without_position().at(Some(place)),
        None => {
            error.in_query(body);
            error
        }
    }
}

/// The position in a statement of the character at a position in the body. `None` if the statement
/// does not contain the body as a string, or more than once (match_prosrc_to_query).
fn place_in(body: &str, statement: &str, position: u32) -> Option<u32> {
    let mut found = None;
    for (at, quote) in statement.char_indices().filter(|(_, c)| matches!(c, '$' | '\'')) {
        let rest = &statement[at + 1..];
        let place = match quote {
            '$' => rest.strip_prefix(body).filter(|rest| rest.starts_with('$')).map(|_| position),
            _ => place_in_literal(body, rest, position),
        };
        let Some(place) = place else { continue };
        let before = u32::try_from(statement[..=at].chars().count()).ok()?;
        if found.replace(before + place).is_some() {
            return None;
        }
    }
    found
}

/// The same for a string in quotes whose text follows the first one.
fn place_in_literal(body: &str, literal: &str, position: u32) -> Option<u32> {
    let (mut rest, mut number, mut extra) = (literal.chars(), 0u32, 0u32);
    for expected in body.chars() {
        number += 1;
        let mut found = rest.next()?;
        if found == '\'' {
            found = rest.next().filter(|next| *next == '\'')?;
            extra += u32::from(number <= position);
        }
        if found != expected {
            return None;
        }
    }
    let is_end = rest.next() == Some('\'') && rest.next() != Some('\'');
    is_end.then_some(position + extra)
}

/// 42883 if the server has no code of the name (fmgr_internal_validator).
fn check_internal(function: &Function, source: &str) -> Result<()> {
    if registry::native(function).is_some() {
        return Ok(());
    }
    let mut rows = builtin::table("pg_proc").into_iter().flat_map(|table| table.rows());
    if rows.any(|row| row.get("prosrc") == Some(source)) {
        return Err(Error::not_supported(format!("the internal function {source}")));
    }
    let message = format!("there is no built-in function named \"{source}\"");
    Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
}

/// 42P13 for pseudo-types that functions in SQL cannot have (fmgr_sql_validator).
fn check_sql_types(ctx: &mut DdlContext<'_>, function: &Function) -> Result<()> {
    let is_refused = |ty: Oid| is_pseudo(ty) && !is_polymorphic(ty);
    if is_refused(function.ret) && ![oid::RECORD, oid::VOID].contains(&function.ret) {
        let shown = ctx.format_type(function.ret);
        return Err(invalid(format!("SQL functions cannot return type {shown}")));
    }
    match function.args.iter().find(|ty| is_refused(**ty)) {
        Some(ty) => {
            let shown = ctx.format_type(*ty);
            Err(invalid(format!("SQL functions cannot have arguments of type {shown}")))
        }
        None => Ok(()),
    }
}

/// 0A000 for pseudo-types that functions in PL/pgSQL cannot have (plpgsql_validator).
fn check_procedural_types(ctx: &mut DdlContext<'_>, function: &Function) -> Result<()> {
    let is_refused = |ty: Oid| is_pseudo(ty) && !is_polymorphic(ty) && ty != oid::RECORD;
    let refused = |message: String| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    if is_refused(function.ret) && ![oid::VOID, oid::TRIGGER].contains(&function.ret) {
        let shown = ctx.format_type(function.ret);
        return refused(format!("PL/pgSQL functions cannot return type {shown}"));
    }
    let all = function.arguments();
    match all.iter().map(|argument| argument.ty).find(|ty| is_refused(*ty)) {
        Some(ty) => {
            let shown = ctx.format_type(ty);
            refused(format!("PL/pgSQL functions cannot accept type {shown}"))
        }
        None => Ok(()),
    }
}
