//! Bodies of functions in SQL's own syntax, printed from their bound statements
//! (print_function_sqlbody in ruleutils.c).

use super::query::{PrintedQuery, QueryStyle, print_statement};
use super::quote_identifier;
use crate::bind::Bound;
use std::borrow::Cow;
use steppe_catalog::Function;
use steppe_types::Result;

/// The body of a function: RETURN with an expression, or BEGIN ATOMIC with statements. Arguments are
/// printed by their names.
pub fn print_body(
    function: &Function,
    is_return: bool,
    statements: &[Bound],
    style: &QueryStyle<'_>,
) -> Result<PrintedQuery> {
    let mut reads = Vec::new();
    let mut text = String::from(if is_return { "" } else { "BEGIN ATOMIC\n" });
    let names: Vec<&str> = function.input_names().collect();
    for bound in statements {
        let parameter = |index: usize, is_qualified: bool| {
            let number = bound.variables.get(index).copied().unwrap_or(index);
            match names.get(number).filter(|name| !name.is_empty()) {
                Some(name) if is_qualified => {
                    format!("{}.{}", quote_identifier(&function.name), quote_identifier(name))
                }
                Some(name) => quote_identifier(name),
                None => format!("${}", number + 1),
            }
        };
        let style = QueryStyle { parameter: Some(&parameter), ..*style };
        let mut query = Cow::Borrowed(&bound.query);
        if is_return {
            // A value has no name.
            let targets = &mut query.to_mut().targets;
            targets.iter_mut().for_each(|target| target.name = "?column?".into());
        }
        let printed = print_statement(&query, &style, i32::from(!is_return))?;
        reads.extend(printed.reads);
        match is_return {
            true => {
                let value = printed.text.trim_start().strip_prefix("SELECT").unwrap_or_default();
                text.push_str(&format!("RETURN{value}"));
            }
            false => text.push_str(&format!("{};\n", printed.text)),
        }
    }
    if !is_return {
        text.push_str("END");
    }
    reads.sort_unstable();
    reads.dedup();
    Ok(PrintedQuery { text, reads })
}
