//! Names, types and places: the parts of every other part of the tree.

use super::Expr;
use steppe_catalog::DATABASE_NAME;
use steppe_types::{Error, Result, SqlState};

/// A place in the source text: a byte offset, or unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location(u32);

impl Location {
    /// An unknown place.
    pub const NONE: Location = Location(u32::MAX);

    /// The place at this byte offset.
    pub const fn new(offset: u32) -> Location {
        Location(offset)
    }

    /// From the parser's convention: negative means unknown.
    pub fn from_raw(offset: i32) -> Location {
        u32::try_from(offset).map_or(Location::NONE, Location)
    }

    /// The byte offset, if known.
    pub fn offset(self) -> Option<usize> {
        (self != Location::NONE).then_some(self.0 as usize)
    }

    /// The first of the two places in the text; an unknown one is ignored.
    pub fn first(self, other: Location) -> Location {
        // Unknown is the greatest of all.
        Location(self.0.min(other.0))
    }

    /// The protocol's cursor position: characters, counted from 1. `source` must
    /// be the text that was parsed.
    pub fn position(self, source: &str) -> Option<u32> {
        let before = source.as_bytes().get(..self.offset()?)?;
        // One character a byte that is not a UTF-8 continuation byte.
        let characters = before.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        u32::try_from(characters + 1).ok()
    }
}

impl Default for Location {
    fn default() -> Location {
        Location::NONE
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset() {
            Some(offset) => write!(f, "@{offset}"),
            None => f.write_str("@?"),
        }
    }
}

/// A possibly qualified name, outermost part first: `["public", "t"]`. Case is
/// already folded as PostgreSQL folds it, and parts are cut to 63 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectName(pub Vec<String>);

impl ObjectName {
    /// The last part: the object's own name.
    pub fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// The part before the last one: the schema.
    pub fn schema(&self) -> Option<&str> {
        self.0.len().checked_sub(2).map(|index| self.0[index].as_str())
    }

    /// The parts.
    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

impl std::fmt::Display for ObjectName {
    /// Dotted and unquoted, as PostgreSQL's NameListToString writes it in messages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

impl<S: Into<String>> From<S> for ObjectName {
    fn from(name: S) -> ObjectName {
        ObjectName(vec![name.into()])
    }
}

/// A reference to a relation, in FROM or as the object of a statement (RangeVar).
#[derive(Clone, Debug, PartialEq)]
pub struct RangeVar {
    /// Database, when three parts were written.
    pub catalog: Option<String>,
    /// Schema, when qualified.
    pub schema: Option<String>,
    /// The relation's own name.
    pub name: String,
    /// Whether children are meant too: false after ONLY.
    pub inherit: bool,
    /// TEMP, UNLOGGED or neither; only CREATE and SELECT INTO set it.
    pub persistence: Persistence,
    /// AS alias (columns).
    pub alias: Option<Alias>,
    /// Its place.
    pub location: Location,
}

impl RangeVar {
    /// The name as an [`ObjectName`].
    pub fn object_name(&self) -> ObjectName {
        let parts = [self.catalog.as_ref(), self.schema.as_ref(), Some(&self.name)];
        ObjectName(parts.into_iter().flatten().cloned().collect())
    }

    /// 42P01: no relation has the name.
    pub fn undefined(&self) -> Error {
        let message = format!("relation \"{}\" does not exist", self.object_name());
        Error::new(SqlState::UNDEFINED_TABLE, message)
    }

    /// 0A000 if it is in another database (RangeVarGetRelidExtended).
    pub fn check_database(&self) -> Result<()> {
        match &self.catalog {
            Some(database) if database != DATABASE_NAME => {
                Err(other_database(&self.object_name().to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// 0A000: a name is that of something in another database.
pub fn other_database(name: &str) -> Error {
    let message = format!("cross-database references are not implemented: \"{name}\"");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// The lifetime of a relation's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Persistence {
    /// An ordinary, logged relation.
    #[default]
    Permanent,
    /// UNLOGGED: empty after a crash.
    Unlogged,
    /// TEMPORARY: dropped at the end of the session.
    Temporary,
}

/// A table alias with optional column aliases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The alias.
    pub name: String,
    /// Names for the leading columns; empty when not given.
    pub columns: Vec<String>,
}

/// A type as written. Keyword types arrive under their catalog names
/// (`int` → `pg_catalog.int4`), as from PostgreSQL's grammar.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// Qualified name.
    pub name: ObjectName,
    /// SETOF.
    pub setof: bool,
    /// `name%TYPE`: the type of a column.
    pub percent_type: bool,
    /// Type modifiers: constants, or identifiers as column references.
    pub typmods: Vec<Expr>,
    /// One entry an array dimension; `None` where no bound was written.
    pub array_bounds: Vec<Option<i32>>,
    /// INTERVAL's field mask and precision come in `typmods` as integers.
    pub location: Location,
}

/// An operator's possibly qualified name: `+`, or `OPERATOR(pg_catalog.+)`.
pub type OperatorName = ObjectName;

/// CASCADE or RESTRICT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DropBehavior {
    /// Fail when something depends on the object.
    #[default]
    Restrict,
    /// Drops dependent objects too.
    Cascade,
}

/// A `name = value` option (DefElem), as in WITH (…), COPY, EXPLAIN, CREATE
/// SEQUENCE. Names are lower case.
#[derive(Clone, Debug, PartialEq)]
pub struct DefElem {
    /// `toast.autovacuum_enabled` → Some("toast").
    pub namespace: Option<String>,
    /// The option's name.
    pub name: String,
    /// Its value; `None` where only the name stands.
    pub value: Option<DefValue>,
    /// ADD, SET or DROP in ALTER … OPTIONS.
    pub action: DefElemAction,
    /// Its place.
    pub location: Location,
}

/// The action of an option list's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DefElemAction {
    /// Without SET, ADD and DROP.
    #[default]
    Unspecified,
    /// SET.
    Set,
    /// ADD.
    Add,
    /// DROP.
    Drop,
}

/// The value of a [`DefElem`].
#[derive(Clone, Debug, PartialEq)]
pub enum DefValue {
    /// An integer that fits 32 bits.
    Integer(i32),
    /// Any other number, as written.
    Float(String),
    /// TRUE or FALSE made by the grammar for a keyword option.
    Boolean(bool),
    /// A string literal or a word.
    String(String),
    /// A type name. An unquoted word in a definition list is one, too.
    TypeName(Box<TypeName>),
    /// A role.
    Role(RoleSpec),
    /// `*`.
    Star,
    /// Several; a qualified name or an operator is a list of strings.
    List(Vec<DefValue>),
    /// A general expression.
    Expr(Box<Expr>),
}

/// A role as written in GRANT, OWNER TO and their like (RoleSpec).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleSpec {
    /// The kind of role.
    pub kind: RoleKind,
    /// Its place.
    pub location: Location,
}

/// The forms of a role reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleKind {
    /// By name.
    Named(String),
    /// CURRENT_ROLE.
    CurrentRole,
    /// CURRENT_USER.
    CurrentUser,
    /// SESSION_USER.
    SessionUser,
    /// PUBLIC.
    Public,
}
