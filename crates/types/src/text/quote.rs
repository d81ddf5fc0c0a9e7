//! `quote_ident`, `quote_literal`, `quote_nullable`.

use super::replace;
use crate::Result;

/// Keywords that are not unreserved, sorted: an identifier that is one of them
/// needs quotes (pg_get_keywords of PostgreSQL).
const KEYWORDS: &str = "\
all analyse analyze and any array as asc asymmetric authorization between \
bigint binary bit boolean both case cast char character check coalesce collate \
collation column concurrently constraint create cross current_catalog \
current_date current_role current_schema current_time current_timestamp \
current_user dec decimal default deferrable desc distinct do else end except \
exists extract false fetch float for foreign freeze from full grant greatest \
group grouping having ilike in initially inner inout int integer intersect \
interval into is isnull join lateral leading least left like limit localtime \
localtimestamp national natural nchar none normalize not notnull null nullif \
numeric offset on only or order out outer overlaps overlay placing position \
precision primary real references returning right row select session_user setof \
similar smallint some substring symmetric table tablesample then time timestamp \
to trailing treat trim true union unique user using values varchar variadic \
verbose when where window with xmlattributes xmlconcat xmlelement xmlexists \
xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable";

/// `quote_ident`: in double quotes unless it is plain and no keyword.
pub fn quote_ident(name: &str) -> Result<String> {
    let plain = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && !KEYWORDS.split(' ').any(|keyword| keyword == name);
    Ok(if plain { name.to_string() } else { format!("\"{}\"", replace(name, "\"", "\"\"")?) })
}

/// `quote_literal`: in single quotes, in the E'' form where there is a backslash.
pub fn quote_literal(text: &str) -> Result<String> {
    let doubled = replace(text, "'", "''")?;
    Ok(if text.contains('\\') {
        format!("E'{}'", replace(&doubled, "\\", "\\\\")?)
    } else {
        format!("'{doubled}'")
    })
}

/// `quote_nullable`: NULL for NULL.
pub fn quote_nullable(text: Option<&str>) -> Result<String> {
    text.map_or_else(|| Ok("NULL".to_string()), quote_literal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_postgresqls() {
        let identifiers = [
            ("a b", "\"a b\""),
            ("select", "\"select\""),
            ("a\"b", "\"a\"\"b\""),
            ("abs", "abs"),
            ("int", "\"int\""),
            ("a$", "\"a$\""),
            ("", "\"\""),
            ("A", "\"A\""),
            ("1a", "\"1a\""),
            ("xmltable", "\"xmltable\""),
        ];
        for (name, quoted) in identifiers {
            assert_eq!(quote_ident(name).unwrap(), quoted);
        }
        assert_eq!(quote_literal("a\\b'c").unwrap(), "E'a\\\\b''c'");
        assert_eq!(quote_literal("it's").unwrap(), "'it''s'");
        assert_eq!(quote_nullable(None).unwrap(), "NULL");
    }
}
