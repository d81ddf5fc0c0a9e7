//! A measurement that is made once, on servers of its own, and is not a rate.

use super::server::Kind;

/// One line of the report's table.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) unit: &'static str,
    values: Vec<(Kind, f64)>,
    /// The bound for Steppe's value.
    pub(super) limit: Option<Limit>,
    /// The target for PostgreSQL's value, as a multiple of Steppe's.
    pub(super) target_to_postgresql: Option<f64>,
}

/// The bound of a good figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    fn holds(self, value: f64) -> bool {
        match self {
            Limit::AtMost(limit) => value <= limit,
            Limit::AtLeast(limit) => value >= limit,
        }
    }
}

impl Figure {
    /// A measurement of one server.
    pub(super) fn new(
        kind: Kind,
        title: String,
        unit: &'static str,
        value: f64,
        limit: Option<Limit>,
    ) -> Figure {
        Figure { title, unit, values: vec![(kind, value)], limit, target_to_postgresql: None }
    }

    /// The figure with a target for PostgreSQL's value, as a multiple of Steppe's.
    pub(super) fn against_postgresql(self, target: Option<f64>) -> Figure {
        Figure { target_to_postgresql: target, ..self }
    }

    pub(super) fn value(&self, kind: Kind) -> Option<f64> {
        self.values.iter().find(|(of, _)| *of == kind).map(|(_, value)| *value)
    }

    /// Whether it compares PostgreSQL and Steppe.
    pub(super) fn is_compared(&self) -> bool {
        self.target_to_postgresql.is_some()
    }

    /// PostgreSQL's, as a multiple of Steppe's.
    pub(super) fn ratio_to_postgresql(&self) -> Option<f64> {
        self.target_to_postgresql?;
        Some(self.value(Kind::PostgreSql)? / self.value(Kind::Steppe)?)
    }

    pub(super) fn verdict(&self) -> &'static str {
        let Some(value) = self.value(Kind::Steppe) else { return "not measured" };
        let falls_short = self.limit.is_some_and(|limit| !limit.holds(value));
        match (self.ratio_to_postgresql(), self.target_to_postgresql) {
            _ if falls_short => "falls short",
            (Some(ratio), Some(target)) if ratio < target => "falls short",
            (None, Some(_)) => "not compared",
            (Some(_), Some(_)) => "reached",
            _ if self.limit.is_none() => "",
            _ => "reached",
        }
    }
}

/// Figures that belong together, under a title of their own.
#[derive(Debug)]
pub(super) struct Chapter {
    pub(super) title: String,
    pub(super) figures: Vec<Figure>,
    /// Queries that failed, or whose answers differ between the servers.
    pub(super) wrong: u32,
}

/// Adds a server's figures to those of the others.
pub(super) fn merge(figures: &mut Vec<Figure>, measured: Vec<Figure>) {
    for figure in measured {
        match figures.iter_mut().find(|known| known.title == figure.title) {
            Some(known) => known.values.extend(figure.values),
            None => figures.push(figure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(steppe: f64, limit: Option<Limit>) -> Figure {
        let mut all = vec![Figure::new(Kind::PostgreSql, "x".to_owned(), "s", 100.0, limit)];
        merge(&mut all, vec![Figure::new(Kind::Steppe, "x".to_owned(), "s", steppe, limit)]);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn a_figure_is_judged_by_its_limit() {
        assert_eq!(figure(2.0, Some(Limit::AtMost(2.0))).verdict(), "reached");
        assert_eq!(figure(2.1, Some(Limit::AtMost(2.0))).verdict(), "falls short");
        assert_eq!(figure(0.8, Some(Limit::AtLeast(0.9))).verdict(), "falls short");
        assert_eq!(figure(2.1, None).verdict(), "");
        let alone = Figure::new(Kind::PostgreSql, String::new(), "s", 1.0, None);
        assert_eq!(alone.verdict(), "not measured");
    }

    #[test]
    fn and_by_how_it_compares() {
        let against =
            |steppe| figure(steppe, Some(Limit::AtMost(9.0))).against_postgresql(Some(20.0));
        assert_eq!(against(5.0).verdict(), "reached");
        assert_eq!(against(5.1).verdict(), "falls short");
        let without_limit = |steppe| figure(steppe, None).against_postgresql(Some(20.0));
        assert_eq!(without_limit(5.0).verdict(), "reached");
        assert_eq!(without_limit(5.1).verdict(), "falls short");
        let alone = Figure::new(Kind::Steppe, String::new(), "s", 1.0, None);
        assert_eq!(alone.against_postgresql(Some(1.0)).verdict(), "not compared");
    }
}
