//! Lifting over the whole corpus: the lifted text still parses, has one parameter a literal, and is
//! the original again once the literals are put back.

use steppe_sql::parser::lexer::{Lexer, TokenKind};
use steppe_sql::parser::literals::{LiftedLiteral, Lifter};
use steppe_sql::parser::parse;

/// The statement's tokens, with each parameter replaced by its literal.
fn tokens(sql: &str, literals: &[LiftedLiteral], original: &str) -> Vec<String> {
    let mut lexer = Lexer::new(sql);
    let mut found = Vec::new();
    loop {
        let token = lexer.next_token();
        let text = &sql[token.start..token.end];
        match token.kind {
            TokenKind::End => return found,
            TokenKind::Punctuation(b';') => {}
            TokenKind::Parameter if !literals.is_empty() => {
                let number: usize = text[1..].parse().expect("a parameter's number");
                let literal = literals[number - 1];
                let text = literal.text(original);
                found.push(match literal {
                    LiftedLiteral::Unknown { .. } => format!("'{}'", text.replace('\'', "''")),
                    _ => text.into_owned(),
                });
            }
            _ => found.push(text.to_owned()),
        }
    }
}

#[test]
fn lifted_statements_mean_what_they_meant() {
    let mut lifter = Lifter::new();
    let mut lifted = 0;
    for sql in include_str!("data/corpus.sql").lines().filter(|line| !line.starts_with("--")) {
        if !lifter.lift(sql) {
            continue;
        }
        lifted += usize::from(!lifter.literals().is_empty());
        if let Err(error) = parse(lifter.sql()) {
            panic!("{sql}\n{}\n{error}", lifter.sql());
        }
        assert_eq!(tokens(lifter.sql(), lifter.literals(), sql), tokens(sql, &[], sql));
    }
    assert!(lifted > 50, "{lifted} statements had literals to lift");
}
