//! The one error type of everything above storage: PostgreSQL's ErrorResponse
//! fields, with the SQLSTATE table (src/backend/utils/errcodes.txt).

use std::fmt;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    /// The code as text, e.g. `"22012"`.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! sqlstates {
    ($($name:ident = $code:literal;)*) => {
        impl SqlState { $(
            #[doc = concat!("SQLSTATE ", stringify!($code), ".")]
            pub const $name: SqlState = SqlState(*$code);
        )* }
    };
}

sqlstates! {
    SUCCESSFUL_COMPLETION = b"00000";
    WARNING = b"01000";
    NO_DATA = b"02000";
    CONNECTION_EXCEPTION = b"08000";
    CONNECTION_FAILURE = b"08006";
    TRANSACTION_RESOLUTION_UNKNOWN = b"08007";
    PROTOCOL_VIOLATION = b"08P01";
    FEATURE_NOT_SUPPORTED = b"0A000";
    CARDINALITY_VIOLATION = b"21000";
    DATA_EXCEPTION = b"22000";
    STRING_DATA_RIGHT_TRUNCATION = b"22001";
    NUMERIC_VALUE_OUT_OF_RANGE = b"22003";
    NULL_VALUE_NOT_ALLOWED = b"22004";
    INVALID_DATETIME_FORMAT = b"22007";
    DATETIME_FIELD_OVERFLOW = b"22008";
    INVALID_TIME_ZONE_DISPLACEMENT_VALUE = b"22009";
    SUBSTRING_ERROR = b"22011";
    DIVISION_BY_ZERO = b"22012";
    INVALID_PRECEDING_OR_FOLLOWING_SIZE = b"22013";
    INVALID_ARGUMENT_FOR_NTILE = b"22014";
    INVALID_ARGUMENT_FOR_NTH_VALUE = b"22016";
    INTERVAL_FIELD_OVERFLOW = b"22015";
    INVALID_ARGUMENT_FOR_LOGARITHM = b"2201E";
    INVALID_ARGUMENT_FOR_POWER_FUNCTION = b"2201F";
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION = b"2201G";
    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE = b"2201W";
    INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE = b"2201X";
    INVALID_REGULAR_EXPRESSION = b"2201B";
    CHARACTER_NOT_IN_REPERTOIRE = b"22021";
    INVALID_PARAMETER_VALUE = b"22023";
    INVALID_ESCAPE_SEQUENCE = b"22025";
    STRING_DATA_LENGTH_MISMATCH = b"22026";
    ARRAY_SUBSCRIPT_ERROR = b"2202E";
    INVALID_TEXT_REPRESENTATION = b"22P02";
    INVALID_BINARY_REPRESENTATION = b"22P03";
    BAD_COPY_FILE_FORMAT = b"22P04";
    UNTRANSLATABLE_CHARACTER = b"22P05";
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED = b"2200H";
    INTEGRITY_CONSTRAINT_VIOLATION = b"23000";
    RESTRICT_VIOLATION = b"23001";
    NOT_NULL_VIOLATION = b"23502";
    FOREIGN_KEY_VIOLATION = b"23503";
    UNIQUE_VIOLATION = b"23505";
    CHECK_VIOLATION = b"23514";
    EXCLUSION_VIOLATION = b"23P01";
    INVALID_CURSOR_STATE = b"24000";
    INVALID_TRANSACTION_STATE = b"25000";
    ACTIVE_SQL_TRANSACTION = b"25001";
    READ_ONLY_SQL_TRANSACTION = b"25006";
    NO_ACTIVE_SQL_TRANSACTION = b"25P01";
    IN_FAILED_SQL_TRANSACTION = b"25P02";
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = b"25P03";
    INVALID_SQL_STATEMENT_NAME = b"26000";
    TRIGGERED_DATA_CHANGE_VIOLATION = b"27000";
    TRIGGER_PROTOCOL_VIOLATED = b"39P01";
    INVALID_AUTHORIZATION_SPECIFICATION = b"28000";
    INVALID_PASSWORD = b"28P01";
    DEPENDENT_OBJECTS_STILL_EXIST = b"2BP01";
    INVALID_TRANSACTION_TERMINATION = b"2D000";
    INVALID_CURSOR_NAME = b"34000";
    INVALID_SAVEPOINT_SPECIFICATION = b"3B001";
    INVALID_CATALOG_NAME = b"3D000";
    INVALID_SCHEMA_NAME = b"3F000";
    TRANSACTION_ROLLBACK = b"40000";
    SERIALIZATION_FAILURE = b"40001";
    DEADLOCK_DETECTED = b"40P01";
    SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION = b"42000";
    INSUFFICIENT_PRIVILEGE = b"42501";
    SYNTAX_ERROR = b"42601";
    INVALID_NAME = b"42602";
    INVALID_COLUMN_DEFINITION = b"42611";
    NAME_TOO_LONG = b"42622";
    DUPLICATE_COLUMN = b"42701";
    AMBIGUOUS_COLUMN = b"42702";
    UNDEFINED_COLUMN = b"42703";
    UNDEFINED_OBJECT = b"42704";
    DUPLICATE_OBJECT = b"42710";
    DUPLICATE_ALIAS = b"42712";
    DUPLICATE_FUNCTION = b"42723";
    AMBIGUOUS_FUNCTION = b"42725";
    GROUPING_ERROR = b"42803";
    DATATYPE_MISMATCH = b"42804";
    WRONG_OBJECT_TYPE = b"42809";
    INVALID_FOREIGN_KEY = b"42830";
    CANNOT_COERCE = b"42846";
    UNDEFINED_FUNCTION = b"42883";
    GENERATED_ALWAYS = b"428C9";
    RESERVED_NAME = b"42939";
    UNDEFINED_TABLE = b"42P01";
    UNDEFINED_PARAMETER = b"42P02";
    DUPLICATE_CURSOR = b"42P03";
    DUPLICATE_DATABASE = b"42P04";
    DUPLICATE_PREPARED_STATEMENT = b"42P05";
    DUPLICATE_SCHEMA = b"42P06";
    DUPLICATE_TABLE = b"42P07";
    AMBIGUOUS_PARAMETER = b"42P08";
    INVALID_COLUMN_REFERENCE = b"42P10";
    INVALID_CURSOR_DEFINITION = b"42P11";
    INVALID_SCHEMA_DEFINITION = b"42P15";
    INVALID_TABLE_DEFINITION = b"42P16";
    INVALID_FUNCTION_DEFINITION = b"42P13";
    INVALID_OBJECT_DEFINITION = b"42P17";
    INDETERMINATE_DATATYPE = b"42P18";
    INVALID_RECURSION = b"42P19";
    WINDOWING_ERROR = b"42P20";
    COLLATION_MISMATCH = b"42P21";
    INDETERMINATE_COLLATION = b"42P22";
    WITH_CHECK_OPTION_VIOLATION = b"44000";
    INSUFFICIENT_RESOURCES = b"53000";
    DISK_FULL = b"53100";
    OUT_OF_MEMORY = b"53200";
    TOO_MANY_CONNECTIONS = b"53300";
    CONFIGURATION_LIMIT_EXCEEDED = b"53400";
    PROGRAM_LIMIT_EXCEEDED = b"54000";
    STATEMENT_TOO_COMPLEX = b"54001";
    TOO_MANY_COLUMNS = b"54011";
    TOO_MANY_ARGUMENTS = b"54023";
    UNSAFE_NEW_ENUM_VALUE_USAGE = b"55P04";
    OBJECT_NOT_IN_PREREQUISITE_STATE = b"55000";
    OBJECT_IN_USE = b"55006";
    CANT_CHANGE_RUNTIME_PARAM = b"55P02";
    LOCK_NOT_AVAILABLE = b"55P03";
    QUERY_CANCELED = b"57014";
    ADMIN_SHUTDOWN = b"57P01";
    CRASH_SHUTDOWN = b"57P02";
    CANNOT_CONNECT_NOW = b"57P03";
    SYSTEM_ERROR = b"58000";
    IO_ERROR = b"58030";
    UNDEFINED_FILE = b"58P01";
    CONFIG_FILE_ERROR = b"F0000";
    INTERNAL_ERROR = b"XX000";
    DATA_CORRUPTED = b"XX001";
    INDEX_CORRUPTED = b"XX002";
}

/// The severity, which decides what the session does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement (and its transaction) failed; the session goes on.
    Error,
    /// The session ends.
    Fatal,
    /// The server ends: data could be at risk.
    Panic,
    /// Sent as NoticeResponse; the statement continues.
    Warning,
    /// Sent as NoticeResponse; the statement continues.
    Notice,
    /// Sent as NoticeResponse; the statement continues.
    Info,
    /// Sent as NoticeResponse to a client that has asked for DEBUG1.
    Debug,
}

impl Severity {
    /// The word the protocol carries.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Panic => "PANIC",
            Severity::Warning => "WARNING",
            Severity::Notice => "NOTICE",
            Severity::Info => "INFO",
            Severity::Debug => "DEBUG",
        }
    }
}

/// An error or notice with PostgreSQL's fields. One pointer wide, so that
/// `Result<T>` on hot paths stays small.
#[derive(Clone)]
pub struct Error(Box<ErrorFields>);

/// The fields of an [`Error`], as in the protocol's ErrorResponse.
#[derive(Clone, Debug)]
pub struct ErrorFields {
    /// Severity; `Error` unless set otherwise.
    pub severity: Severity,
    /// The SQLSTATE.
    pub sqlstate: SqlState,
    /// Primary message, lower case and without a full stop, as PostgreSQL writes it.
    pub message: String,
    /// Optional secondary message.
    pub detail: Option<String>,
    /// Optional suggestion of what to do.
    pub hint: Option<String>,
    /// Cursor position into the statement: characters, 1-based.
    pub position: Option<u32>,
    /// Cursor position into [`Self::internal_query`]: characters, 1-based.
    pub internal_position: Option<u32>,
    /// The text of the statement that a function ran, where the error is about that.
    pub internal_query: Option<String>,
    /// Call context ("COPY t, line 3, column a"), the innermost line first.
    pub context: Option<String>,
    /// Schema of the object the error is about.
    pub schema: Option<String>,
    /// Table the error is about.
    pub table: Option<String>,
    /// Column the error is about.
    pub column: Option<String>,
    /// Data type the error is about.
    pub datatype: Option<String>,
    /// Constraint the error is about.
    pub constraint: Option<String>,
    /// The place where PostgreSQL raises it, if clients depend on that.
    pub raised_in: Option<RaisedIn>,
}

/// A place in PostgreSQL's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaisedIn {
    /// The file.
    pub file: &'static str,
    /// The line.
    pub line: u32,
    /// The function.
    pub routine: &'static str,
}

impl Error {
    /// A new error of severity `Error`.
    #[cold]
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Error {
        Error(Box::new(ErrorFields {
            severity: Severity::Error,
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            internal_position: None,
            internal_query: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            datatype: None,
            constraint: None,
            raised_in: None,
        }))
    }

    /// 0A000 naming the feature: `"not supported yet: {feature}"` (reads well for any noun).
    #[cold]
    pub fn not_supported(feature: impl fmt::Display) -> Error {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("not supported yet: {feature}"))
    }

    /// XX000: a broken assumption inside the server.
    #[cold]
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(SqlState::INTERNAL_ERROR, message)
    }

    /// Sets the severity.
    pub fn severity(mut self, severity: Severity) -> Error {
        self.0.severity = severity;
        self
    }
    /// Sets the detail.
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }
    /// Sets the hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }
    /// Sets the context line.
    pub fn context(mut self, context: impl Into<String>) -> Error {
        self.0.context = Some(context.into());
        self
    }
    /// Adds a line to the end of the context (errcontext): the caller of what is there.
    pub fn within(mut self, line: impl AsRef<str>) -> Error {
        let context = self.0.context.get_or_insert_default();
        if !context.is_empty() {
            context.push('\n');
        }
        context.push_str(line.as_ref());
        self
    }
    /// The error of a statement that a function ran: a position counts the characters of that
    /// statement's text, not of the client's (internalerrposition). False: the error has none.
    pub fn in_query(&mut self, query: &str) -> bool {
        let Some(position) = self.0.position.take() else { return false };
        self.0.internal_position = Some(position);
        self.0.internal_query = Some(query.to_owned());
        true
    }
    /// Names the place in PostgreSQL's source by which clients recognize the error.
    pub fn raised_in(mut self, file: &'static str, line: u32, routine: &'static str) -> Error {
        self.0.raised_in = Some(RaisedIn { file, line, routine });
        self
    }
    /// Sets the cursor position (characters, 1-based) unless one is set already.
    pub fn at(mut self, position: Option<u32>) -> Error {
        if self.0.position.is_none() {
            self.0.position = position;
        }
        self
    }

    /// Removes the position: the error is not about the statement's text.
    pub fn without_position(mut self) -> Error {
        self.0.position = None;
        self
    }

    /// Names the table (and schema) the error is about.
    pub fn table(mut self, schema: &str, table: &str) -> Error {
        self.0.schema = Some(schema.into());
        self.0.table = Some(table.into());
        self
    }
    /// Names the column the error is about.
    pub fn column(mut self, column: &str) -> Error {
        self.0.column = Some(column.into());
        self
    }
    /// Names the data type (and schema) the error is about.
    pub fn datatype(mut self, schema: &str, datatype: &str) -> Error {
        self.0.schema = Some(schema.into());
        self.0.datatype = Some(datatype.into());
        self
    }
    /// Names the constraint the error is about.
    pub fn constraint(mut self, constraint: &str) -> Error {
        self.0.constraint = Some(constraint.into());
        self
    }
    /// The SQLSTATE.
    pub fn sqlstate(&self) -> SqlState {
        self.0.sqlstate
    }
    /// The primary message.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// All fields.
    pub fn fields(&self) -> &ErrorFields {
        &self.0
    }
    /// All fields, to be set (an error decoded from another server).
    pub fn fields_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (SQLSTATE {})", self.0.severity.as_str(), self.0.message, self.0.sqlstate)
    }
}

impl std::error::Error for Error {}
