//! Every query of the corpus as a view: pg_get_viewdef's text must have the same meaning as the
//! view.
//!
//! After each SELECT, WITH, VALUES or TABLE statement of a script, psql is told to
//!
//! 1. make a view of it, which may fail (a data-modifying WITH, two columns of one name …), but not
//!    because the view could not be kept as a text;
//! 2. make another one of the text that pg_get_viewdef gives;
//! 3. compare the two texts, and the columns with their types and collations;
//! 4. drop both.
//!
//! So the views use the tables, settings and search path of the statement.

/// The beginning of an output line that names a view which did not read back as itself.
const MARK: &str = "@@ reads back as another view: ";

/// The beginning of an output line with a query's number and why it is no view.
const REFUSAL: &str = "@@ is no view: ";

/// Parts of the messages of queries that cannot be kept as texts.
const NOT_KEPT: [&str; 2] = ["a view whose text reads back as another query", "printing of "];

/// The beginning of a script line that names queries, by number, whose views do not read back in
/// PostgreSQL either.
const EXPECTED: &str = "-- Views that PostgreSQL reads back as others, too: ";

/// A script with the check after each of its queries.
pub fn instrumented(script: &str) -> String {
    let mut out = String::from("\\set ON_ERROR_ROLLBACK on\n");
    let mut count = 0;
    for statement in statements(script) {
        out.push_str(statement);
        if let Some(query) = as_view_query(statement) {
            count += 1;
            out.push_str(&check(query, count));
        }
    }
    out
}

/// The complaints in an instrumented script's output: the number of each query whose view did not
/// read back as itself, and the view's text. A script may name queries whose text does not read
/// back as itself in PostgreSQL either (an AND within an AND, a cast of ARRAY). These are expected
/// complaints.
pub fn complaints(script: &str, output: &str) -> Vec<String> {
    let marks = script.lines().filter_map(|line| line.strip_prefix(EXPECTED));
    let expected: Vec<&str> = marks.flat_map(str::split_whitespace).collect();
    let found: Vec<(&str, &str)> =
        output.lines().filter_map(|line| line.trim().strip_prefix(MARK)?.split_once(':')).collect();
    let refused = output.lines().filter_map(|line| line.trim().strip_prefix(REFUSAL));
    let not_kept = refused.filter(|line| NOT_KEPT.iter().any(|part| line.contains(part)));
    let missing = expected.iter().filter(|query| found.iter().all(|(found, _)| found != *query));
    let missing = missing.map(|query| format!("{query}: reads back as itself, against the mark"));
    let unexpected = found.iter().filter(|(query, _)| !expected.contains(query));
    let unexpected = unexpected.map(|(query, text)| format!("{query}:{text}"));
    unexpected.chain(missing).chain(not_kept.map(str::to_owned)).collect()
}

fn check(query: &str, count: usize) -> String {
    let view = format!("round_trip_{count}");
    let columns = |view: &str| {
        format!(
            "(SELECT array_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod), \
             attcollation) ORDER BY attnum) FROM pg_attribute WHERE attrelid = \
             to_regclass('{view}') AND attnum > 0)"
        )
    };
    let (made, again) = (columns(&view), columns(&format!("{view}_again")));
    format!(
        "
\\set round_trip_ok false
CREATE VIEW {view} AS {query}
\\if :ERROR
\\echo '{REFUSAL}{count}:' :LAST_ERROR_MESSAGE
\\endif
SELECT to_regclass('{view}') IS NOT NULL AS round_trip_ok,
  coalesce(pg_get_viewdef(to_regclass('{view}')), 'SELECT') AS round_trip \\gset
\\if :round_trip_ok
CREATE VIEW {view}_again AS :round_trip
SELECT '{MARK}' || {count} || ': ' || pg_get_viewdef(to_regclass('{view}'), true)
  WHERE pg_get_viewdef(to_regclass('{view}'))
      IS DISTINCT FROM pg_get_viewdef(to_regclass('{view}_again'))
    OR {made} IS DISTINCT FROM {again};
DROP VIEW IF EXISTS {view}_again;
DROP VIEW {view};
\\endif
"
    )
}

/// The query of a statement, with its semicolon, if a view can be made of it. Statements with psql
/// variables are left out, because a variable may have another value when it is read again.
fn as_view_query(statement: &str) -> Option<&str> {
    let query = without_comments(statement);
    let word: String = query.chars().take_while(char::is_ascii_alphabetic).collect();
    let is_query = ["select", "with", "values", "table"].contains(&&*word.to_ascii_lowercase());
    let mut variables = query.match_indices(':').filter(|(at, _)| {
        let before = query[..*at].chars().next_back();
        let after = query[at + 1..].chars().next();
        before != Some(':') && after.is_some_and(|c| c.is_alphabetic() || matches!(c, '\'' | '"'))
    });
    (is_query && query.ends_with(';') && variables.next().is_none()).then_some(query)
}

fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim();
        text = match (text.strip_prefix("--"), text.strip_prefix("/*")) {
            (Some(rest), _) => rest.split_once('\n').map_or("", |(_, rest)| rest),
            (_, Some(rest)) => rest.split_once("*/").map_or("", |(_, rest)| rest),
            _ => return text,
        };
    }
}

/// A script's statements, psql's own commands and COPY's data, in pieces that make up the whole.
fn statements(script: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0i32);
    while at < script.len() {
        let rest = &script[at..];
        let byte = rest.as_bytes()[0];
        let mut is_end = false;
        at += match byte {
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'\'' | b'"' => quoted(rest, byte, byte == b'\'' && ends_with_e(&script[start..at])),
            b'$' => dollar_quoted(rest).unwrap_or(1),
            b'\\' => {
                is_end = true;
                rest.find('\n').map_or(rest.len(), |end| end + 1)
            }
            b';' if depth <= 0 => {
                is_end = true;
                1 + copy_data(&script[start..=at], &rest[1..])
            }
            _ => {
                depth += i32::from(byte == b'(') - i32::from(byte == b')');
                rest.chars().next().map_or(1, char::len_utf8)
            }
        };
        if is_end {
            pieces.push(&script[start..at]);
            (start, depth) = (at, 0);
        }
    }
    pieces.push(&script[start..]);
    pieces
}

/// Whether a quote after this text begins a string with escapes.
fn ends_with_e(before: &str) -> bool {
    let mut last = before.chars().rev();
    matches!(last.next(), Some('e' | 'E')) && !last.next().is_some_and(|c| c.is_alphanumeric())
}

fn quoted(text: &str, quote: u8, has_escapes: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if has_escapes => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn dollar_quoted(text: &str) -> Option<usize> {
    let tag = text[1..].find('$')?;
    let is_tag = text[1..=tag].chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_parameter = text[1..].starts_with(|c: char| c.is_ascii_digit());
    let delimiter = &text[..tag + 2];
    let end = text[delimiter.len()..].find(delimiter).filter(|_| is_tag && !is_parameter)?;
    Some(end + 2 * delimiter.len())
}

/// How long the data after `COPY … FROM stdin;` are.
fn copy_data(statement: &str, after: &str) -> usize {
    let statement = without_comments(statement).to_ascii_lowercase();
    match statement.starts_with("copy") && statement.contains("stdin") {
        true => after.find("\n\\.\n").map_or(0, |end| end + 4),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_queries_of_a_script() {
        let script = "-- one;\nSELECT 1; SELECT ';', \"a;b\", $$;$$, E'\\';' /* ; */;\n\\d t\n\
                      COPY t FROM stdin;\nSELECT 2;\n\\.\nINSERT INTO t VALUES (1);\nSELECT :x;\n\
                      WITH a AS (SELECT 1::int) TABLE a;\n";
        let pieces = statements(script);
        assert_eq!(pieces.concat(), script);
        let queries: Vec<&str> = pieces.into_iter().filter_map(as_view_query).collect();
        let expected = [
            "SELECT 1;",
            "SELECT ';', \"a;b\", $$;$$, E'\\';' /* ; */;",
            "WITH a AS (SELECT 1::int) TABLE a;",
        ];
        assert_eq!(queries, expected);
    }

    #[test]
    fn complains_of_what_the_script_does_not_name() {
        let script = format!("{EXPECTED}2 3\nSELECT 1;\n");
        let refused = format!("{REFUSAL}4: printing of a set\n{REFUSAL}5: no such column\n");
        let output = format!("x\n {MARK}1:  SELECT +\n {MARK}2:  SELECT 2\n{refused}");
        let expected =
            ["1:  SELECT +", "3: reads back as itself, against the mark", "4: printing of a set"];
        assert_eq!(complaints(&script, &output), expected);
    }

    #[test]
    fn any_text_is_survived() {
        for text in ["", "'", "$", "$a", "$é$", "\\", "--", "/*", "(;", "é;'\\", "E'\\"] {
            assert_eq!(statements(text).concat(), text);
        }
    }
}
