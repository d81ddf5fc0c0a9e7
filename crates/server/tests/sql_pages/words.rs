//! The files of words beside the tests.

use std::collections::BTreeMap;

/// The lines with content.
pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .filter(|line| !line.is_empty() && (!line.starts_with('#') || line.starts_with("## ")))
}

/// `name<TAB>phrase` by name.
pub(crate) fn phrases(text: &'static str) -> BTreeMap<&'static str, &'static str> {
    let pair =
        |line: &'static str| line.split_once('\t').unwrap_or_else(|| panic!("no tab: {line}"));
    lines(text).filter(|line| !line.starts_with("= ")).map(pair).collect()
}

/// The lines below each `= heading`.
pub(crate) fn sections(text: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines(text) {
        match (line.strip_prefix("= "), sections.last_mut()) {
            (Some(heading), _) => sections.push((heading, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => panic!("before the first heading: {line}"),
        }
    }
    sections
}
