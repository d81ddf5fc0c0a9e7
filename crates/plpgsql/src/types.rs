//! The parser's questions about types, relations and SQL, and the function's signature.

use steppe_types::{Oid, Result, oid};

use crate::tree::SqlKind;

/// The kind of a type's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeClass {
    /// One value: base types, arrays, domains over such, enums, ranges.
    Scalar,
    /// A row: composite types, tables' row types, domains over such, and `record`.
    Record,
    /// A type that a variable cannot have.
    Pseudo,
}

/// A type, as the caller has resolved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its OID.
    pub oid: Oid,
    /// Its modifier; -1 for none.
    pub modifier: i32,
    /// Its collation; 0 for a type that has none.
    pub collation: Oid,
    /// The kind of its values.
    pub class: TypeClass,
    /// Its name as messages write it (`character varying`).
    pub name: String,
}

impl Type {
    /// A built-in scalar type without a modifier.
    pub(crate) fn scalar(oid: Oid, collation: Oid, name: &str) -> Type {
        Type { oid, modifier: -1, collation, class: TypeClass::Scalar, name: name.to_owned() }
    }

    /// `record`.
    pub(crate) fn record() -> Type {
        Type {
            oid: oid::RECORD,
            modifier: -1,
            collation: 0,
            class: TypeClass::Record,
            name: "record".to_owned(),
        }
    }
}

/// The parser's questions to its caller. A position in an error counts the characters of the text
/// that was handed over, from 1; the parser moves it to the body.
pub trait Types {
    /// The type that a type name (`numeric(10, 2)[]`) means.
    fn named(&mut self, text: &str) -> Result<Type>;

    /// The type of a relation's column, for `relation.column%TYPE`. The last name is the column.
    /// A missing relation or column is an error without a position.
    fn of_column(&mut self, names: &[String]) -> Result<Type>;

    /// The row type of a relation, for `relation%ROWTYPE`. A missing one is an error without a
    /// position.
    fn of_relation(&mut self, names: &[String]) -> Result<Type>;

    /// The array type over a type.
    fn array_over(&mut self, element: &Type) -> Result<Type>;

    /// The collation of a name. A missing one is an error without a position.
    fn collation(&mut self, names: &[String]) -> Result<Oid>;

    /// Checks the syntax of SQL in the body, where PostgreSQL checks it: before it reads on. A
    /// caller that compiles a function at its first call checks nothing.
    /// [`crate::tree::sql::check_syntax`] does it.
    fn check_sql(&mut self, text: &str, kind: SqlKind) -> Result<()> {
        let _ = (text, kind);
        Ok(())
    }
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentMode {
    /// Given by the caller; VARIADIC too.
    In,
    /// Given back.
    Out,
    /// Both.
    InOut,
    /// A column of `RETURNS TABLE`.
    Table,
}

/// An argument. A polymorphic type is resolved: to `integer` and the like where a function is
/// created, to the actual type where it is called.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// How it is passed.
    pub mode: ArgumentMode,
    /// Its type.
    pub data_type: Type,
}

/// The kind of a routine that has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// A function.
    Function,
    /// A procedure.
    Procedure,
    /// A function that returns `trigger`.
    Trigger,
    /// A function that returns `event_trigger`.
    EventTrigger,
    /// DO.
    Anonymous,
}

/// A function, as far as its body depends on it.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name; `inline_code_block` for DO.
    pub name: String,
    /// Its kind.
    pub kind: RoutineKind,
    /// Its arguments, of every mode, in order.
    pub arguments: Vec<Argument>,
    /// Its result's type: `void` for DO and for a procedure without OUT arguments.
    pub result: Type,
    /// Whether it returns a set.
    pub returns_set: bool,
    /// Whether the declared result is polymorphic: `$0` then has its actual type.
    pub polymorphic_result: bool,
    /// The collation that its text variables have: that of the call, 0 where it is created.
    pub collation: Oid,
}

/// Which of two things of one name is meant in SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VariableConflict {
    /// It is an error.
    #[default]
    Error,
    /// The variable.
    UseVariable,
    /// The column.
    UseColumn,
}

/// The treatment of a variable that hides another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shadowed {
    /// It is accepted.
    #[default]
    Allow,
    /// A warning.
    Warn,
    /// An error.
    Refuse,
}

/// Settings that a compilation depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// `plpgsql.variable_conflict`.
    pub variable_conflict: VariableConflict,
    /// `plpgsql.print_strict_params`.
    pub print_strict_params: bool,
    /// `shadowed_variables` of `plpgsql.extra_errors` and `plpgsql.extra_warnings`; they count
    /// where a function is created.
    pub shadowed: Shadowed,
}
