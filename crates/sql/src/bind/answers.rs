//! The answers that binding was given about a statement's parameters.
//!
//! Binding is a function of the statement, the catalog, the search path, the settings of literals,
//! and these answers. So if all of them are the same, a plan that one session has made serves
//! another, although each function call has variables of its own.

use super::Params;
use super::sql_function::Returned;
use super::variables::{Conflict, Variable, Variables};
use crate::expr::TypeRef;
use std::sync::{Arc, Mutex, PoisonError};
use steppe_types::{Oid, Result};

/// Parameters as binding has found them.
pub struct Answers {
    types: Vec<Oid>,
    typmods: Vec<i32>,
    variable: bool,
    /// `None`: the parameters are no variables.
    names: Option<Names>,
}

/// The answers of a function's variables.
struct Names {
    target: Option<TypeRef>,
    conflict: Conflict,
    returned: Option<Returned>,
    found: Vec<Answered>,
}

/// A name that was asked for.
#[derive(PartialEq, Eq)]
enum Question {
    Parts(Box<[Box<str>]>),
    Number(u32),
}

/// A question with its answer. `None`: there is no such variable.
type Answered = (Question, Option<Variable>);

/// Notes what it is asked, and what the variables answer.
struct Noting {
    names: Arc<dyn Variables>,
    /// `None`: a variable had an error, which tells more than an answer does.
    found: Mutex<Option<Vec<Answered>>>,
}

impl Noting {
    fn note(
        &self,
        question: Question,
        answer: Result<Option<Variable>>,
    ) -> Result<Option<Variable>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match (&answer, &mut *found) {
            (Ok(answer), Some(found)) if !found.iter().any(|(known, _)| *known == question) => {
                found.push((question, answer.clone()));
            }
            (Err(_), found) => *found = None,
            _ => {}
        }
        answer
    }
}

impl Variables for Noting {
    fn find(&self, parts: &[&str]) -> Result<Option<Variable>> {
        let question = Question::Parts(parts.iter().map(|part| Box::from(*part)).collect());
        self.note(question, self.names.find(parts))
    }

    fn numbered(&self, n: u32) -> Result<Option<Variable>> {
        self.note(Question::Number(n), self.names.numbered(n))
    }

    fn conflict(&self) -> Conflict {
        self.names.conflict()
    }

    fn returned(&self) -> Option<&Returned> {
        self.names.returned()
    }
}

impl Question {
    fn ask(&self, names: &dyn Variables) -> Result<Option<Variable>> {
        match self {
            Question::Number(number) => names.numbered(*number),
            Question::Parts(parts) => names.find(&parts.iter().map(|p| &**p).collect::<Vec<_>>()),
        }
    }
}

impl Params {
    /// Runs `bind` with these parameters. Returns the answers that it was given, too; none if one
    /// of them was an error.
    pub fn noted<T>(&self, bind: impl FnOnce(Params) -> T) -> (T, Option<Answers>) {
        let Params { types, typmods, variable, scope } = self;
        let answers = |names| Answers {
            types: types.clone(),
            typmods: typmods.clone(),
            variable: *variable,
            names,
        };
        let Some(scope) = scope else { return (bind(self.clone()), Some(answers(None))) };
        let names = Arc::clone(scope.names());
        let noting = Arc::new(Noting { names, found: Mutex::new(Some(Vec::new())) });
        let over = Arc::clone(&noting) as Arc<dyn Variables>;
        let done = bind(Params { scope: Some(scope.over(over)), ..self.clone() });
        let found = noting.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        let names = found.map(|found| Names {
            target: scope.target(),
            conflict: noting.conflict(),
            returned: noting.returned().cloned(),
            found,
        });
        (done, names.map(|names| answers(Some(names))))
    }
}

impl Answers {
    /// Whether these parameters, which nothing has been bound with, give the same answers.
    pub fn are_of(&self, params: &Params) -> bool {
        let is_same = self.types == params.types
            && self.typmods == params.typmods
            && self.variable == params.variable;
        match (&self.names, &params.scope) {
            (None, None) => is_same,
            (Some(names), Some(scope)) => {
                let asked = &**scope.names();
                is_same
                    && names.target == scope.target()
                    && names.conflict == asked.conflict()
                    && names.returned.as_ref() == asked.returned()
                    && names.found.iter().all(|(question, answer)| {
                        question.ask(asked).is_ok_and(|found: Option<Variable>| found == *answer)
                    })
            }
            _ => false,
        }
    }
}
