//! The columns of a function's result (get_call_result_type in funcapi.c).

pub use steppe_sql::bind::RecordColumns as Columns;
pub use steppe_sql::bind::sql_function::composite_result as result_columns;
