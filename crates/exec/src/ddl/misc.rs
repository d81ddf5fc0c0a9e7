//! Views, schemas, RENAME, OWNER.

use super::inherit::{Inheritor, inheritors, invalid_table};
use super::{DdlContext, truncate_name};
use std::sync::Arc;
use steppe_catalog::{Catalog, Column, Constraint, RelKind, Relation};
use steppe_sql::ast::Persistence::Temporary;
use steppe_sql::ast::{
    AlterOwnerStmt, CreateViewStmt, DefValue, ObjectKind, ObjectRef, RangeVar, RenameStmt,
    Statement, ViewCheckOption,
};
use steppe_sql::bind::{CHECK_OPTION, bind_view_query, view_update_refusal};
use steppe_sql::deparse::quote_identifier;
use steppe_sql::query::{Command, Query, Rte, RteKind};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// CREATE [OR REPLACE] VIEW.
pub(crate) fn create_view(ctx: &mut DdlContext<'_>, create: &CreateViewStmt) -> Result<()> {
    let statement = Statement::Select(Box::new(create.query.clone()));
    let query = ctx.binding(|b| bind_view_query(b, &statement))?;
    if query.ctes.iter().any(|c| c.query.command != Command::Select) {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "views must not contain data-modifying statements in WITH",
        ));
    }
    let targets: Vec<_> = query.targets.iter().filter(|t| !t.hidden).collect();
    if create.columns.len() > targets.len() {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            "CREATE VIEW specifies more column names than columns",
        ));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(targets.len());
    for (i, target) in targets.iter().enumerate() {
        let name = create.columns.get(i).map_or(&*target.name, String::as_str);
        if columns.iter().any(|c| *c.name == *name) {
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        let ty = target.expr.ty();
        columns.push(Column::new(name, ty.oid, ty.typmod));
    }
    super::table::check_columns(columns.len())?;
    let existing = match create.replace {
        true => ctx.try_open(&create.relation, RelationLockMode::AccessExclusive)?,
        false => None,
    };
    let mut view = match existing {
        Some(old) if old.kind != RelKind::View => {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a view", old.name),
            ));
        }
        Some(old) => {
            check_replacement(&old, &columns)?;
            (*old).clone()
        }
        None => {
            let mut name = create.relation.clone();
            let catalog = ctx.catalog();
            let reads_temporary = reads_temporary(&catalog, &query);
            if reads_temporary && name.schema.is_none() && name.persistence != Temporary {
                name.persistence = Temporary;
                ctx.notice(format!("view \"{}\" will be a temporary view", name.name));
            }
            let Some((schema, name)) = ctx.new_name(&name, false)? else {
                return Ok(());
            };
            Relation::new(ctx.store.new_oid()?, schema, name, RelKind::View)
        }
    };
    view.columns = columns.into();
    let text = view_text(ctx.source, create)?;
    let text = match create.check_option {
        ViewCheckOption::None => text,
        _ => without_check_option(&text).to_string(),
    };
    let check_option = check_option(ctx, create)?;
    view.options = check_option.into_iter().map(|o| (CHECK_OPTION.into(), o.into())).collect();
    super::view::keep(ctx, &mut view, &query, text)?;
    ctx.put(view)
}

/// WITH CHECK OPTION, or the option of that name: only where rows can be changed at all.
fn check_option(ctx: &mut DdlContext<'_>, create: &CreateViewStmt) -> Result<Option<&'static str>> {
    let mut option = match create.check_option {
        ViewCheckOption::None => None,
        ViewCheckOption::Local => Some("local"),
        ViewCheckOption::Cascaded => Some("cascaded"),
    };
    for given in create.options.iter().filter(|o| o.name == CHECK_OPTION) {
        let value = match &given.value {
            Some(DefValue::String(word)) => word.as_str(),
            Some(DefValue::TypeName(word)) => word.name.name(),
            _ => "",
        };
        option = match value.to_ascii_lowercase().as_str() {
            "local" => Some("local"),
            "cascaded" => Some("cascaded"),
            _ => {
                return Err(Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("invalid value for enum option \"{CHECK_OPTION}\": {value}"),
                )
                .detail("Valid values are \"local\" and \"cascaded\"."));
            }
        };
    }
    if option.is_some()
        && let Some(reason) = ctx.binding(|b| view_update_refusal(b, &create.query))?
    {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "WITH CHECK OPTION is supported only on automatically updatable views",
        )
        .hint(reason));
    }
    Ok(option)
}

/// Whether a query reads a temporary relation, in FROM at least.
fn reads_temporary(catalog: &Catalog, query: &Query) -> bool {
    let temporary = |rte: &Rte| match &rte.kind {
        RteKind::Relation(r) | RteKind::Subquery { view: Some(r), .. } => catalog.is_temporary(r),
        RteKind::Subquery { query, .. } => reads_temporary(catalog, query),
        _ => false,
    };
    query.rtes.iter().any(temporary)
        || query.set_operation.as_ref().is_some_and(|operation| {
            reads_temporary(catalog, &operation.left) || reads_temporary(catalog, &operation.right)
        })
        || query.ctes.iter().any(|c| reads_temporary(catalog, &c.query))
}

/// 42501: system catalogs are not changed.
pub(super) fn system_catalog(relation: &Relation) -> Error {
    Error::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("permission denied: \"{}\" is a system catalog", relation.name),
    )
}

/// The SELECT of a CREATE VIEW statement's text: what follows its first top-level AS. That of a
/// RECURSIVE view is what the word stands for.
fn view_text(source: &str, create: &CreateViewStmt) -> Result<String> {
    use steppe_sql::parser::lexer::{Lexer, TokenKind};
    let mut depth = 0i32;
    let mut is_recursive = None;
    let mut lexer = Lexer::new(source);
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, TokenKind::End | TokenKind::Invalid) {
            return Err(Error::internal("CREATE VIEW without AS"));
        }
        let word = &source[token.start..token.end];
        let is =
            |keyword: &str| token.kind == TokenKind::Word && word.eq_ignore_ascii_case(keyword);
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ if is_recursive.is_none() && is("recursive") => is_recursive = Some(true),
            _ if is_recursive.is_none() && is("view") => is_recursive = Some(false),
            _ if depth == 0 && is("as") => {
                let body = source[token.end..].trim();
                let body = body.trim_end_matches(';').trim_end();
                return Ok(match is_recursive {
                    Some(true) => recursive_text(create, body),
                    _ => body.to_string(),
                });
            }
            _ => {}
        }
    }
}

/// `CREATE RECURSIVE VIEW name (columns) AS body` as the query that it means.
fn recursive_text(create: &CreateViewStmt, body: &str) -> String {
    let name = quote_identifier(&create.relation.name);
    let columns: Vec<_> = create.columns.iter().map(|column| quote_identifier(column)).collect();
    let columns = columns.join(", ");
    format!("WITH RECURSIVE {name}({columns}) AS ({body}) SELECT {columns} FROM {name}")
}

/// The text without the WITH CHECK OPTION that is known to end it.
fn without_check_option(body: &str) -> &str {
    let mut rest = body;
    let mut cut = |word: &str| {
        let start = rest.len().checked_sub(word.len())?;
        let found = rest.get(start..).is_some_and(|t| t.eq_ignore_ascii_case(word));
        found.then(|| rest = rest[..start].trim_end())
    };
    if cut("option").and_then(|()| cut("check")).is_none() {
        return body;
    }
    let _ = cut("cascaded").or_else(|| cut("local"));
    match cut("with") {
        Some(()) => rest,
        None => body,
    }
}

fn check_replacement(old: &Relation, columns: &[Column]) -> Result<()> {
    let invalid = |m: String| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, m));
    if columns.len() < old.columns.len() {
        return invalid("cannot drop columns from view".into());
    }
    for (was, now) in old.columns.iter().zip(columns) {
        if was.name != now.name {
            return invalid(format!(
                "cannot change name of view column \"{}\" to \"{}\"",
                was.name, now.name
            ));
        }
        if was.type_oid != now.type_oid {
            let shown = steppe_sql::bind::typename::format_type;
            return invalid(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                was.name,
                shown(was.type_oid, was.typmod),
                shown(now.type_oid, now.typmod)
            ));
        }
    }
    Ok(())
}

/// ALTER … OWNER TO: one role owns everything in this version.
pub(crate) fn alter_owner(stmt: &AlterOwnerStmt) -> Result<&'static str> {
    match stmt.kind {
        ObjectKind::Table => Ok("ALTER TABLE"),
        ObjectKind::Sequence => Ok("ALTER SEQUENCE"),
        ObjectKind::View => Ok("ALTER VIEW"),
        ObjectKind::Schema => Ok("ALTER SCHEMA"),
        other => Err(Error::not_supported(format!("ALTER {} … OWNER TO", other.as_str()))),
    }
}

/// ALTER … RENAME; returns the command tag.
pub(crate) fn rename(ctx: &mut DdlContext<'_>, rename: &RenameStmt) -> Result<&'static str> {
    let new = truncate_name(&rename.new_name).to_string();
    let ObjectRef::Relation(name) = &rename.object else {
        return Err(Error::not_supported(format!("ALTER {} … RENAME", rename.kind.as_str())));
    };
    let kind = match (rename.kind, rename.relation_kind) {
        (ObjectKind::Column, Some(kind)) => kind,
        (ObjectKind::TableConstraint, _) => ObjectKind::Table,
        (kind, _) => kind,
    };
    let tag = match kind {
        ObjectKind::Table => "ALTER TABLE",
        ObjectKind::Index => "ALTER INDEX",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::View => "ALTER VIEW",
        other => return Err(Error::not_supported(format!("ALTER {} … RENAME", other.as_str()))),
    };
    let Some(relation) = open_to_rename(ctx, name, kind)? else {
        let message = format!("relation \"{}\" does not exist", name.object_name());
        if rename.if_exists {
            ctx.notice(format!("{message}, skipping"));
            return Ok(tag);
        }
        return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
    };
    if relation.is_system() {
        return Err(system_catalog(&relation));
    }
    match (rename.kind, &rename.part) {
        (ObjectKind::Column, Some(column)) => {
            rename_inherited_column(ctx, &relation, column, new, !name.inherit)?;
        }
        (ObjectKind::TableConstraint, Some(constraint)) => {
            rename_inherited_constraint(ctx, &relation, constraint, new, !name.inherit)?;
        }
        _ => rename_relation(ctx, &relation, new)?,
    }
    Ok(tag)
}

/// Locks what is renamed: nobody who uses an index need know its name (RenameRelation). The table
/// of an index that serves a constraint is changed, too; it comes first, as with whoever drops one.
fn open_to_rename(
    ctx: &mut DdlContext<'_>,
    name: &RangeVar,
    kind: ObjectKind,
) -> Result<Option<Arc<Relation>>> {
    loop {
        let Some(found) = ctx.find(name)? else { return Ok(None) };
        let mut mode = RelationLockMode::AccessExclusive;
        if let Some(info) = &found.index {
            let catalog = ctx.catalog();
            let table = catalog.relation(info.table);
            if table.is_some_and(|table| super::index::constraint_of(table, found.oid).is_some()) {
                ctx.lock(info.table, RelationLockMode::ShareUpdateExclusive)?;
            }
            if kind == ObjectKind::Index {
                mode = RelationLockMode::ShareUpdateExclusive;
            }
        }
        match ctx.try_open(name, mode)? {
            Some(now) if now.oid != found.oid => continue,
            now => return Ok(now),
        }
    }
}

/// What a table has from a parent is renamed there, for all parents at once: 42P16.
fn inherited(what: &str, name: &str) -> Error {
    invalid_table(format!("cannot rename inherited {what} \"{name}\""))
}

/// What inherits from a table. With ONLY there must be nothing: 42P16.
fn renamed_below(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    (what, name): (&str, &str),
    only: bool,
) -> Result<Vec<Inheritor>> {
    let below = match relation.kind {
        RelKind::Table | RelKind::PartitionedTable => inheritors(ctx, relation.oid)?,
        _ => Vec::new(),
    };
    if only && !below.is_empty() {
        let what = format!("inherited {what} \"{name}\"");
        return Err(invalid_table(format!("{what} must be renamed in child tables too")));
    }
    Ok(below)
}

fn rename_inherited_column(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    column: &str,
    new: String,
    only: bool,
) -> Result<()> {
    let below = renamed_below(ctx, relation, ("column", column), only)?;
    let itself = Inheritor { table: relation.clone(), parents: 0 };
    for Inheritor { table, parents } in below.into_iter().chain([itself]) {
        let position = table.column_index(column);
        if position.is_some_and(|position| table.inherit_count(position) > parents) {
            return Err(inherited("column", column));
        }
        rename_column(ctx, &table, column, new.clone())?;
    }
    Ok(())
}

fn rename_inherited_constraint(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    constraint: &str,
    new: String,
    only: bool,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::{Check, NotNull};
    let goes_down = |c: &Constraint| {
        *c.name == *constraint && !c.no_inherit && matches!(c.kind, Check { .. } | NotNull)
    };
    let below = match relation.constraints.iter().any(goes_down) {
        true => renamed_below(ctx, relation, ("constraint", constraint), only)?,
        false => Vec::new(),
    };
    let itself = Inheritor { table: relation.clone(), parents: 0 };
    for Inheritor { table, parents } in below.into_iter().chain([itself]) {
        let own = table.constraints.iter().find(|c| *c.name == *constraint);
        if own.is_some_and(|own| own.parent == 0 && own.inherit_count > parents) {
            return Err(inherited("constraint", constraint));
        }
        rename_constraint(ctx, &table, constraint, new.clone())?;
    }
    Ok(())
}

fn rename_relation(ctx: &mut DdlContext<'_>, relation: &Arc<Relation>, new: String) -> Result<()> {
    ctx.lock_name(relation.schema, &new)?;
    let catalog = ctx.catalog();
    if catalog.relation_named(relation.schema, &new).is_some() {
        return Err(Error::new(
            SqlState::DUPLICATE_TABLE,
            format!("relation \"{new}\" already exists"),
        ));
    }
    let mut renamed = (**relation).clone();
    renamed.name = new.as_str().into();
    super::view::follow_rename(ctx, &Arc::new(renamed.clone()))?;
    // What was printed again may be the view itself.
    if let Some(printed) = ctx.catalog().relation(renamed.oid) {
        renamed.view = printed.view.clone();
    }
    // An index renames the constraint it serves.
    if let Some(table) = renamed.index.as_ref().and_then(|i| catalog.relation(i.table))
        && super::index::constraint_of(table, renamed.oid).is_some()
    {
        let mut table = (**table).clone();
        for constraint in &mut table.constraints {
            if constraint.name == relation.name {
                constraint.name = new.as_str().into();
            }
        }
        ctx.put(table)?;
    }
    ctx.put(renamed)
}

fn rename_column(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    column: &str,
    new: String,
) -> Result<()> {
    let Some(position) = relation.column_index(column) else {
        return Err(Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" does not exist"),
        ));
    };
    if relation.column_index(&new).is_some() {
        return Err(Error::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column \"{new}\" of relation \"{}\" already exists", relation.name),
        ));
    }
    let mut renamed = (**relation).clone();
    renamed.columns[position].name = new.as_str().into();
    rename_in_checks(ctx, relation, &mut renamed)?;
    super::generated::follow_rename(ctx, relation, &mut renamed)?;
    super::partition::rename_in_key(ctx, relation, &mut renamed)?;
    super::view::follow_rename(ctx, &Arc::new(renamed.clone()))?;
    if let Some(printed) = ctx.catalog().relation(renamed.oid) {
        renamed.view = printed.view.clone();
    }
    ctx.put(renamed.clone())?;
    // Index columns are named after the table's.
    let catalog = ctx.catalog();
    for index in catalog.indexes_of(&renamed) {
        let Some(info) = &index.index else { continue };
        let attnums = info.keys.iter().map(|k| k.attnum).chain(info.include.iter().copied());
        let at: Vec<usize> = attnums
            .enumerate()
            .filter(|(_, a)| *a == position as i16 + 1)
            .map(|(i, _)| i)
            .collect();
        let mut index = (**index).clone();
        for i in at {
            index.columns[i].name = new.as_str().into();
        }
        super::index::reprint(ctx, relation, &renamed, &mut index)?;
        ctx.put(index)?;
    }
    Ok(())
}

/// CHECK texts are bound under the old names and written again under the new ones.
fn rename_in_checks(
    ctx: &mut DdlContext<'_>,
    old: &Arc<Relation>,
    renamed: &mut Relation,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::Check;
    use steppe_sql::bind::{ExprPlace, bind_table_expr, parse_expression};
    for i in 0..renamed.constraints.len() {
        let Check { expression } = &renamed.constraints[i].kind else { continue };
        let parsed = parse_expression(expression)?;
        let bound = ctx.binding(|b| bind_table_expr(b, Some(old), &parsed, ExprPlace::Check))?;
        let expression = steppe_sql::deparse::table_expression(&bound, Some(renamed)).into();
        renamed.constraints[i].kind = Check { expression };
    }
    Ok(())
}

fn rename_constraint(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    constraint: &str,
    new: String,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::{Primary, Unique};
    let Some(at) = relation.constraints.iter().position(|c| *c.name == *constraint) else {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("constraint \"{constraint}\" for table \"{}\" does not exist", relation.name),
        ));
    };
    if let Primary { index } | Unique { index } = relation.constraints[at].kind {
        let catalog = ctx.catalog();
        let index = catalog.relation(index).ok_or_else(|| Error::internal("index has gone"))?;
        return rename_relation(ctx, index, new);
    }
    let mut renamed = (**relation).clone();
    renamed.constraints[at].name = new.as_str().into();
    ctx.put(renamed)
}
