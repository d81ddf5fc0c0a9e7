//! Whether a text may have one of the statements or clauses at all.
//!
//! Each of them has the word NODE, DISTRIBUTE or DIRECT, or the words TO GROUP. A text without these
//! words costs a search for two letters.

/// Whether one of the words is in the text, in any case, perhaps as a part of another word.
pub(super) fn may_be_in(text: &str) -> bool {
    let text = text.as_bytes();
    memchr::memchr2_iter(b'd', b'D', text).any(|at| {
        is_at(text, "node", at.checked_sub(2))
            || is_at(text, "distribute", Some(at))
            || is_at(text, "direct", Some(at))
    }) || memchr::memchr2_iter(b'p', b'P', text).any(|at| {
        let start = at.checked_sub("grou".len());
        is_at(text, "group", start) && start.is_some_and(|start| may_be_after_to(text, start))
    })
}

fn is_at(text: &[u8], word: &str, start: Option<usize>) -> bool {
    let found = start.and_then(|start| text.get(start..start + word.len()));
    found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether TO, or a comment behind it, may be before a place.
fn may_be_after_to(text: &[u8], place: usize) -> bool {
    let before = text[..place].trim_ascii_end();
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let ends_a_line = text[before.len()..place].iter().any(is_break);
    // Each line is looked at once at most: by the first word of the next one.
    let last_line = || before.rsplit(is_break).next().unwrap_or_default();
    is_at(text, "to", before.len().checked_sub(2))
        || before.ends_with(b"*/")
        || ends_a_line && last_line().windows(2).any(|pair| pair == b"--")
}

#[cfg(test)]
mod tests {
    use super::may_be_in;

    #[test]
    fn words_are_found_anywhere_and_in_any_case() {
        for text in [
            "node",
            "NODE",
            "create Node x",
            "nod, node",
            "distribute",
            "x DISTRIBUTE by",
            "EXECUTE DIRECT",
            "the nodes",
            "alter table t to group g",
            "TO\n\tGROUP",
            "to /* x */ group",
            "to -- x\n group",
        ] {
            assert!(may_be_in(text), "{text}");
        }
        for text in
            ["", "d", "od", "nod", "no de", "distribut", "group by", "t\ngroup", "dire", "roup"]
        {
            assert!(!may_be_in(text), "{text}");
        }
    }
}
