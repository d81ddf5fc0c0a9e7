//! The words that PL/pgSQL's grammar knows.
//!
//! A reserved word is never a name. An unreserved one is a keyword only where no variable of that
//! name is meant: the scanner ([`crate::scan`]) decides, and the parser asks again where the
//! keyword wins over a variable.

macro_rules! keywords {
    (reserved { $($reserved:ident = $reserved_text:literal,)* }
     unreserved { $($name:ident = $text:literal,)* }) => {
        /// A keyword.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Keyword { $($reserved,)* $($name,)* }

        /// The reserved keyword that a lower-case word is.
        pub(crate) fn reserved(word: &str) -> Option<Keyword> {
            match word { $($reserved_text => Some(Keyword::$reserved),)* _ => None }
        }

        /// The unreserved keyword that a lower-case word is.
        pub(crate) fn unreserved(word: &str) -> Option<Keyword> {
            match word {
                // The second spelling of it.
                "elseif" => Some(Keyword::Elsif),
                $($text => Some(Keyword::$name),)*
                _ => None,
            }
        }

        impl Keyword {
            /// The keyword, in lower case.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Keyword::$reserved => $reserved_text,)*
                    $(Keyword::$name => $text,)*
                }
            }

            /// Whether a name may be spelt so.
            pub(crate) fn is_unreserved(self) -> bool {
                match self { $(Keyword::$reserved => false,)* $(Keyword::$name => true,)* }
            }
        }
    };
}

keywords! {
    reserved {
        All = "all", Begin = "begin", By = "by", Case = "case", Declare = "declare", Else = "else",
        End = "end", Execute = "execute", For = "for", Foreach = "foreach", From = "from",
        If = "if", In = "in", Into = "into", Loop = "loop", Not = "not", Null = "null", Or = "or",
        Strict = "strict", Then = "then", To = "to", Using = "using", When = "when",
        While = "while",
    }
    unreserved {
        Absolute = "absolute", Alias = "alias", And = "and", Array = "array", Assert = "assert",
        Backward = "backward", Call = "call", Chain = "chain", Close = "close",
        Collate = "collate", Column = "column", ColumnName = "column_name", Commit = "commit",
        Constant = "constant", Constraint = "constraint", ConstraintName = "constraint_name",
        Continue = "continue", Current = "current", Cursor = "cursor", Datatype = "datatype",
        Debug = "debug", Default = "default", Detail = "detail", Diagnostics = "diagnostics",
        Do = "do", Dump = "dump", Elsif = "elsif", Errcode = "errcode", Error = "error",
        Exception = "exception", Exit = "exit", Fetch = "fetch", First = "first",
        Forward = "forward", Get = "get", Hint = "hint", Import = "import", Info = "info",
        Insert = "insert", Is = "is", Last = "last", Log = "log", Merge = "merge",
        Message = "message", MessageText = "message_text", Move = "move", Next = "next",
        No = "no", Notice = "notice", Open = "open", Option = "option", Perform = "perform",
        PgContext = "pg_context", PgDatatypeName = "pg_datatype_name",
        PgExceptionContext = "pg_exception_context", PgExceptionDetail = "pg_exception_detail",
        PgExceptionHint = "pg_exception_hint", PgRoutineOid = "pg_routine_oid",
        PrintStrictParams = "print_strict_params", Prior = "prior", Query = "query",
        Raise = "raise", Relative = "relative", Return = "return",
        ReturnedSqlstate = "returned_sqlstate", Reverse = "reverse", Rollback = "rollback",
        RowCount = "row_count", Rowtype = "rowtype", Schema = "schema",
        SchemaName = "schema_name", Scroll = "scroll", Slice = "slice", Sqlstate = "sqlstate",
        Stacked = "stacked", Table = "table", TableName = "table_name", Type = "type",
        UseColumn = "use_column", UseVariable = "use_variable",
        VariableConflict = "variable_conflict", Warning = "warning",
    }
}
