//! Lines and indentation, as ruleutils.c's appendContextKeyword keeps them.

/// ruleutils' PRETTYINDENT_STD.
pub(super) const INDENT: i32 = 8;
/// Stands for a line break inside an expression, which takes the blanks before it away. Texts of
/// users do not contain this character.
pub(super) const LINE_BREAK: char = '\0';

/// Text under construction with the indentation in force.
pub(super) struct Layout {
    pub(super) text: String,
    pub(super) indent: i32,
}

impl Layout {
    /// Starts a line with a keyword (appendContextKeyword).
    pub(super) fn line(&mut self, keyword: &str, before: i32, after: i32, plus: usize) {
        self.indent += before;
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
        let spaces = usize::try_from(self.indent.max(0)).unwrap_or(0) + plus;
        self.text.extend(std::iter::repeat_n(' ', spaces));
        self.text.push_str(keyword);
        self.indent = (self.indent + after).max(0);
    }

    /// A clause of a SELECT.
    pub(super) fn clause(&mut self, keyword: &str, plus: usize) {
        self.line(keyword, -INDENT, INDENT, plus);
    }

    pub(super) fn push(&mut self, text: &str) {
        for (i, part) in text.split(LINE_BREAK).enumerate() {
            if i > 0 {
                self.text.truncate(self.text.trim_end_matches(' ').len());
                self.text.push('\n');
            }
            self.text.push_str(part);
        }
    }
}
