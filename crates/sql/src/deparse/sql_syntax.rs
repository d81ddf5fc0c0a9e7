//! Calls that SQL has a syntax of its own for, printed in that syntax again
//! (get_func_sql_syntax): `EXTRACT(year FROM d)`, `(t AT TIME ZONE 'UTC'::text)`.
//!
//! Only calls with that syntax are printed with it: `"extract"('year', d)` stays the same.

use super::Deparser;
use crate::expr::Expr;
use steppe_types::Datum;

impl Deparser<'_> {
    /// Prints a call of the function of that name; false if it has no syntax of its own.
    pub(super) fn sql_call(&self, function: &str, args: &[Expr], out: &mut String) -> bool {
        match (function, args) {
            ("extract", [Expr::Const(Datum::Text(field), _), from]) => {
                self.phrase(&[(&format!("EXTRACT({field} FROM "), from)], ")", out);
            }
            ("timezone", [time]) => self.phrase(&[("(", time)], " AT LOCAL)", out),
            ("timezone", [zone, time]) => {
                self.phrase(&[("(", time), (" AT TIME ZONE ", zone)], ")", out);
            }
            ("overlaps", [a, b, c, d]) => {
                let parts = [("((", a), (", ", b), (") OVERLAPS (", c), (", ", d)];
                self.phrase(&parts, "))", out);
            }
            ("position", [within, sought]) => {
                self.phrase(&[("POSITION((", sought), (") IN (", within)], "))", out);
            }
            ("overlay", [of, placing, from]) => {
                let parts = [("OVERLAY(", of), (" PLACING ", placing), (" FROM ", from)];
                self.phrase(&parts, ")", out);
            }
            ("overlay", [of, placing, from, length]) => {
                let parts = [("OVERLAY(", of), (" PLACING ", placing), (" FROM ", from)];
                self.phrase(&parts, " FOR ", out);
                self.phrase(&[("", length)], ")", out);
            }
            ("substring", [of, from]) if !is_text(from) => {
                self.phrase(&[("SUBSTRING(", of), (" FROM ", from)], ")", out);
            }
            ("substring", [of, pattern, escape]) if is_text(pattern) => {
                let parts = [("SUBSTRING(", of), (" SIMILAR ", pattern), (" ESCAPE ", escape)];
                self.phrase(&parts, ")", out);
            }
            ("substring", [of, from, length]) => {
                let parts = [("SUBSTRING(", of), (" FROM ", from), (" FOR ", length)];
                self.phrase(&parts, ")", out);
            }
            ("btrim", args) => return self.trim("BOTH", args, out),
            ("ltrim", args) => return self.trim("LEADING", args, out),
            ("rtrim", args) => return self.trim("TRAILING", args, out),
            ("normalize", [of]) => self.phrase(&[("NORMALIZE(", of)], ")", out),
            ("normalize", [of, Expr::Const(Datum::Text(form), _)]) => {
                self.phrase(&[("NORMALIZE(", of)], &format!(", {form})"), out);
            }
            ("is_normalized", [of]) => self.phrase(&[("(", of)], " IS NORMALIZED)", out),
            ("is_normalized", [of, Expr::Const(Datum::Text(form), _)]) => {
                self.phrase(&[("(", of)], &format!(" IS {form} NORMALIZED)"), out);
            }
            ("pg_collation_for", [of]) => self.phrase(&[("COLLATION FOR (", of)], ")", out),
            _ => return false,
        }
        true
    }

    fn trim(&self, side: &str, args: &[Expr], out: &mut String) -> bool {
        match args {
            [of] => self.phrase(&[(&format!("TRIM({side} FROM "), of)], ")", out),
            [of, what] => {
                self.phrase(&[(&format!("TRIM({side} "), what), (" FROM ", of)], ")", out);
            }
            _ => return false,
        }
        true
    }

    /// Words, each before an expression, and the text that ends them.
    fn phrase(&self, parts: &[(&str, &Expr)], end: &str, out: &mut String) {
        for (words, expr) in parts {
            out.push_str(words);
            self.expr(expr, out);
        }
        out.push_str(end);
    }
}

/// SUBSTRING of three texts is that of a pattern.
fn is_text(expr: &Expr) -> bool {
    expr.ty().oid == steppe_types::oid::TEXT
}
