//! Removes unneeded parentheses from the text of canonical expressions (ruleutils.c with
//! PRETTYFLAG_PAREN).
//!
//! ```text
//!   (((a > 0) AND (b > 0)) OR (note IS NULL))   →   a > 0 AND b > 0 OR note IS NULL
//!   (balance > (10)::numeric)                   →   balance > 10::numeric
//! ```
//!
//! Five rules cover PostgreSQL's output for checks, defaults, predicates and index expressions. The
//! outermost pair is removed. An operand of AND, OR or NOT loses its pair unless it binds weaker.
//! So does an operand of `+ - * / %`. A plain operand of `::` loses its pair. A comparison with the
//! elements of an array keeps its pair as an operand. In doubtful cases a pair stays: the text is
//! always right, but sometimes has one pair more than PostgreSQL prints.

/// The text without unneeded parentheses.
pub(super) fn pretty_expression(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    write_expression(text, &mut out, 0);
    out
}

/// Text that is nested deeper than this stays unchanged.
const DEPTH_MAX: usize = 200;

/// The outermost operation of an expression, weakest binding first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
    Tighter,
}

fn write_expression(text: &str, out: &mut String, depth: usize) {
    let text = strip_group(text);
    if depth > DEPTH_MAX {
        out.push_str(text);
        return;
    }
    let (binding, operands) = split_boolean(text);
    let word = match binding {
        Binding::Or => " OR ",
        Binding::And => " AND ",
        Binding::Not => {
            out.push_str("NOT ");
            return write_operand(operands[0], binding, out, depth);
        }
        Binding::Tighter => return write_casts(text, out, depth),
    };
    for (i, operand) in operands.into_iter().enumerate() {
        if i > 0 {
            out.push_str(word);
        }
        write_operand(operand, binding, out, depth);
    }
}

fn write_operand(operand: &str, parent: Binding, out: &mut String, depth: usize) {
    let inside = strip_group(operand);
    let binding = split_boolean(inside).0;
    if binding < parent || is_over_array(inside) {
        out.push('(');
        write_expression(operand, out, depth + 1);
        out.push(')');
    } else {
        write_expression(operand, out, depth + 1);
    }
}

/// Whether the text is a comparison with the elements of an array, which PostgreSQL never takes for
/// simple (isSimpleNode).
fn is_over_array(text: &str) -> bool {
    matches!(split_top(text, " ")[..], [.., _, "ANY" | "ALL", array] if is_one_group(array))
}

/// Copies an expression, and removes the parentheses of plain operands of `::`.
fn write_casts(text: &str, out: &mut String, depth: usize) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = skip_token(text, at);
        let token = &text[at..end];
        let bracketed = bytes[at] == b'[' && end > at + 1 && bytes[end - 1] == b']';
        if bracketed || is_one_group(token) {
            let inner = &token[1..token.len() - 1];
            let called = at > 0 && is_name_byte(bytes[at - 1]);
            let mut body = String::new();
            write_group_body(inner, &mut body, depth);
            let plain = text[end..].starts_with("::") && is_plain_operand(&body);
            if bracketed {
                out.extend(["[", &body, "]"]);
            } else if !called && (plain || is_arithmetic_operand(text, at, end)) {
                out.push_str(&body);
            } else {
                out.push('(');
                out.push_str(&body);
                out.push(')');
            }
        } else {
            out.push_str(token);
        }
        at = end;
    }
}

/// The inside of parentheses: a list of arguments, or an expression that keeps its own pair.
fn write_group_body(inner: &str, out: &mut String, depth: usize) {
    for (i, argument) in split_top(inner, ", ").into_iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        if depth < DEPTH_MAX {
            write_expression(argument, out, depth + 1);
        } else {
            out.push_str(argument);
        }
    }
}

/// Whether the group at `at..end` is an operand of `+ - * / %` that needs no parentheses: it binds
/// tighter, or as tight and is on the left (isSimpleNode).
fn is_arithmetic_operand(text: &str, at: usize, end: usize) -> bool {
    let operator = |text| match split_top(text, " ")[..] {
        [_, "+" | "-", _] => Some(0),
        [_, "*" | "/" | "%", _] => Some(1),
        _ => None,
    };
    let (Some(parent), Some(own)) = (operator(text), operator(&text[at + 1..end - 1])) else {
        return false;
    };
    let left = at == 0 && text[end..].starts_with(' ');
    let right = end == text.len();
    (own > parent && (left || right)) || (own == parent && left)
}

/// Whether the text is a constant, a name, a call, or a cast of one: `::` may follow it without
/// parentheses.
fn is_plain_operand(text: &str) -> bool {
    let first = split_top(text, "::")[0];
    let bytes = first.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        // Signs and spaces belong to an operator.
        if !(is_name_byte(bytes[at]) || matches!(bytes[at], b'\'' | b'(' | b'[' | b'.')) {
            return false;
        }
        at = skip_token(first, at);
    }
    let is_type = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '_' | ' ' | '(' | ')' | '[' | ']' | ',' | '.' | '"' | ':')
    };
    !first.is_empty() && text[first.len()..].chars().all(is_type)
}

/// Splits at the weakest boolean operator outside parentheses.
fn split_boolean(text: &str) -> (Binding, Vec<&str>) {
    for (word, binding) in [(" OR ", Binding::Or), (" AND ", Binding::And)] {
        let parts = split_top(text, word);
        // Canonical text has each operand of AND and OR in parentheses unless it is a bare name,
        // constant or call. The AND of BETWEEN and conditions in a CASE are not split.
        if parts.len() > 1 && parts.iter().all(|p| is_operand(p)) {
            return (binding, parts);
        }
    }
    match text.strip_prefix("NOT ") {
        Some(rest) if is_operand(rest) => (Binding::Not, vec![rest]),
        _ => (Binding::Tighter, vec![text]),
    }
}

/// Whether the text is one group, or one word without blanks.
fn is_operand(text: &str) -> bool {
    is_one_group(text) || split_top(text, " ").len() == 1
}

/// The parts between occurrences of a separator outside quotes and brackets.
fn split_top<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        if text[at..].starts_with(separator) {
            parts.push(&text[start..at]);
            at += separator.len();
            start = at;
        } else {
            at = skip_token(text, at);
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Removes pairs that enclose the whole text.
fn strip_group(mut text: &str) -> &str {
    while is_one_group(text) && !is_sql_call(text) {
        text = &text[1..text.len() - 1];
    }
    text
}

/// Whether the whole text is enclosed in one pair of parentheses.
pub(super) fn is_one_group(text: &str) -> bool {
    text.len() >= 2
        && text.starts_with('(')
        && text.ends_with(')')
        && skip_token(text, 0) == text.len()
}

/// The name in a text that is one call `name(…)`, with its schema if it has one.
pub(super) fn called_name(text: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at = match c {
            '"' => skip_token(text, at),
            c if is_of_name(c) => at + c.len_utf8(),
            _ => break,
        };
    }
    (at > 0 && is_one_group(&text[at..])).then(|| &text[..at])
}

/// Whether the text is a call with special SQL syntax, which is always in parentheses.
pub(super) fn is_sql_call(text: &str) -> bool {
    const WORDS: [&str; 4] = [" AT TIME ZONE ", " AT LOCAL)", " OVERLAPS ", " NORMALIZED)"];
    if !is_one_group(text) {
        return false;
    }
    // The search covers the text inside, outside inner pairs and quotes.
    let mut at = 1;
    while at < text.len() {
        if WORDS.iter().any(|words| text[at..].starts_with(words)) {
            return true;
        }
        at = skip_token(text, at);
    }
    false
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'"' | b'$') || byte >= 0x80
}

/// The end of the token at `at`: a quoted piece, a bracketed group, or one character. It is always
/// on a character boundary and past `at`. Unbalanced text ends at its end.
fn skip_token(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    match bytes[at] {
        quote @ (b'\'' | b'"') => skip_quoted(bytes, at, quote),
        b'(' | b'[' => {
            let (mut depth, mut i) = (0usize, at);
            while i < bytes.len() {
                match bytes[i] {
                    b'(' | b'[' => depth += 1,
                    b')' | b']' => depth -= 1,
                    quote @ (b'\'' | b'"') => {
                        i = skip_quoted(bytes, i, quote);
                        continue;
                    }
                    _ => {}
                }
                i += 1;
                if depth == 0 {
                    return i;
                }
            }
            bytes.len()
        }
        _ => at + text[at..].chars().next().map_or(1, char::len_utf8),
    }
}

/// The end of a quoted piece; a doubled quote counts as two pieces in a row, with the same result.
fn skip_quoted(bytes: &[u8], at: usize, quote: u8) -> usize {
    let escapes = quote == b'\'' && at > 0 && bytes[at - 1] == b'E';
    let mut i = at + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if escapes => i += 2,
            byte if byte == quote => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of pg_get_expr(…, false) and (…, true) from a live PostgreSQL 18.
    #[test]
    fn reads_as_postgresql_prints_it() {
        for (plain, pretty) in [
            ("(balance > (0)::numeric)", "balance > 0::numeric"),
            ("(((a > 0) AND (b > 0)) OR (note IS NULL))", "a > 0 AND b > 0 OR note IS NULL"),
            (
                "(((length(note) + a) > 3) AND (NOT (a = 3)))",
                "(length(note) + a) > 3 AND NOT a = 3",
            ),
            ("((a > 0) AND ((b > 0) OR (a < 5)))", "a > 0 AND (b > 0 OR a < 5)"),
            ("'x'::character varying", "'x'::character varying"),
            ("nextval('acc_id_seq'::regclass)", "nextval('acc_id_seq'::regclass)"),
            ("((note)::text <> ''::text)", "note::text <> ''::text"),
            (
                "((lower(note))::character(5) = 'a AND b'::bpchar)",
                "lower(note)::character(5) = 'a AND b'::bpchar",
            ),
            ("(ok AND (a = 1))", "ok AND a = 1"),
            ("(NOT (ok OR (a = 1)))", "NOT (ok OR a = 1)"),
            ("((a + b))::numeric", "(a + b)::numeric"),
            ("('-1'::integer)::numeric", "'-1'::integer::numeric"),
            ("(((a)::numeric > (1)::numeric) OR ok)", "a::numeric > 1::numeric OR ok"),
            (
                "((note)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
                "note::text = ANY (ARRAY['a'::character varying, 'b'::character varying]::text[])",
            ),
            ("((a > 1) IS TRUE)", "(a > 1) IS TRUE"),
            ("((COALESCE((a + 1), b))::text = 'x'::text)", "COALESCE(a + 1, b)::text = 'x'::text"),
            (
                "((((note)::text || 'x'::text) || 'y'::text) = ''::text)",
                "((note::text || 'x'::text) || 'y'::text) = ''::text",
            ),
            ("((a - (b - 1)) > ((a * b) + 1))", "(a - (b - 1)) > (a * b + 1)"),
            ("(((a + b) * 2) > (((a / b) / 2) - 1))", "((a + b) * 2) > (a / b / 2 - 1)"),
            ("((a * (b * a)) = (((a * b) * a) % 3))", "(a * (b * a)) = (a * b * a % 3)"),
            ("(((a + b))::bigint + 1)", "(a + b)::bigint + 1"),
            (
                "((abs(((a + b) + 1)) > ((- a) + 2)) AND (((a || ''::text) || 'x'::text) = ''::text))",
                "abs(a + b + 1) > ((- a) + 2) AND ((a || ''::text) || 'x'::text) = ''::text",
            ),
            ("now()", "now()"),
            ("(note = 'it''s (odd'::text)", "note = 'it''s (odd'::text"),
        ] {
            assert_eq!(pretty_expression(plain), pretty);
        }
    }

    #[test]
    fn any_text_is_survived() {
        for text in ["", "(", "((", ")", "'", "E'\\", "(é)::é", "a AND ", " OR ", "NOT ", "()::"]
        {
            pretty_expression(text);
        }
        pretty_expression(&"(".repeat(5000));
        pretty_expression(&("(".repeat(2000) + "a" + &")".repeat(2000)));
        pretty_expression(&("(a AND ".repeat(2000) + "a" + &")".repeat(2000)));
    }
}
