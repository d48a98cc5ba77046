//! Decides obligations that follow by substitution and addition, without a solver.
//!
//! For example, `n = i`, `w = i + 1` and `0 <= i` imply `n < w`: substitute `i` for `n` and `i + 1` for `w`. Most
//! obligations of the trusted kernel are of this kind, and starting a solver takes longer than deciding them.
//!
//! The method assumes the hypotheses and the negation of the goal, and looks for a contradiction. Every step is one
//! of the following, and each of these is valid for all integers:
//!
//! - *Reading.* Terms are polynomials in the declared integers, and in terms `(div a b)`, `(mod a b)` and `(f a b
//!   ...)` of declared functions, which are treated as unknowns. A declared predicate is read as an integer that is
//!   at least 1 if the predicate holds, and at most 0 otherwise. A comparison that contains `ite` is split into
//!   cases, each with its conditions. A statement that is not understood says nothing, and neither does its negation.
//! - *Substitution.* Suppose that a polynomial is 0, and that one of its unknowns has the coefficient 1 or -1 and
//!   occurs nowhere else in it. Then the solution of the equation replaces this unknown.
//! - *Functions.* If `a` and `c` are the same polynomial after substitution, and `b` and `d` are, too, then `(div a
//!   b)` equals `(div c d)`. The same holds for `mod` and for declared functions. Modulo 2, only the remainders of
//!   coefficients count, and `(mod (+ a 1) 2)` is `1 - (mod a 2)`.
//! - *Numbers.* A number below 0 is not at least 0, and no number but 0 is 0.
//! - *Sums.* If two polynomials are at least 0, every sum of positive multiples of them is, too. If both `p` and `-p`
//!   are at least 0, both are 0.
//! - *Cases.* One of several statements holds. Statements that contradict known facts are dropped. If each of the
//!   others leads to a contradiction, the whole list does.
//!
//! The attempt ends if a number does not fit into 128 bits, or after too many steps. Then a solver is asked.

mod known;

use std::collections::BTreeSet;
use std::collections::HashMap;

use super::obligation::Obligation;
use super::order::polynomial::Polynomial;
use super::order::polynomial::TooLarge;
use super::order::polynomial::Unknown;
use super::sexpr::Sexpr;
use super::term::Term;

use known::Known;
use known::MAX_SPLITS;

/// The most cases of one comparison.
const MAX_CASES: usize = 8;

/// The most sums and cases that are tried for one obligation.
const MAX_TRIED: usize = 600;

/// A known or claimed statement.
#[derive(Debug, Clone)]
enum Fact {
    /// It is at least 0.
    AtLeastZero(Polynomial),
    /// It is 0.
    Zero(Polynomial),
    /// It is not 0.
    NotZero(Polynomial),
    /// All of these.
    All(Vec<Fact>),
    /// One of these.
    Any(Vec<Fact>),
    /// A statement that is not understood.
    Unread,
}

/// The result of a step of an attempt, or the end of the attempt.
type Attempt<T> = Result<T, TooLarge>;

/// A value, and the conditions under which a term has it.
type Case = (Vec<Fact>, Polynomial);

/// An application of a function, used as a value.
#[derive(Debug, Clone)]
struct Application {
    function: String,
    of: Vec<Polynomial>,
    value: Polynomial,
}

/// The result type of a declared function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Integer,
    Predicate,
}

/// Reads obligations. It caches what it has read, because many obligations share hypotheses.
#[derive(Debug, Default)]
pub struct Reader {
    names: HashMap<String, usize>,
    /// Functions and predicates that are declared.
    declared: HashMap<String, Sort>,
    applications: HashMap<usize, Application>,
    read: HashMap<Term, Fact>,
}

impl Reader {
    /// Whether the method shows an obligation. If not, nothing follows.
    pub fn shows(&mut self, obligation: &Obligation) -> bool {
        let integer = |line: &&String| {
            let name = line.strip_prefix("(declare-const ");
            name.is_some_and(|name| name.ends_with(" Int)"))
        };
        let mut declared = HashMap::new();
        for line in obligation.declarations.iter().filter(|line| !integer(line)) {
            match function(line) {
                Some((name, sort)) => declared.insert(name, sort),
                None => return false,
            };
        }
        // The cache is valid only for the same declarations.
        if declared != self.declared {
            self.read.clear();
            self.declared = declared;
        }
        self.contradictory(obligation).unwrap_or(false)
    }

    fn contradictory(&mut self, obligation: &Obligation) -> Attempt<bool> {
        let mut facts = Vec::new();
        for hypothesis in &obligation.hypotheses {
            facts.push(self.fact(hypothesis)?);
        }
        let contrary = contrary(&self.fact(&obligation.goal)?)?;
        let mut about = BTreeSet::new();
        unknowns(&contrary, &mut about);
        facts.iter().for_each(|fact| unknowns(fact, &mut about));
        let applications = about.iter().filter_map(|at| self.applications.get(at));
        let mut known = Known::of(applications.cloned().collect());
        // If the negated goal contains nothing to begin with, the search begins with the last hypotheses, which are
        // specific to this obligation.
        let begin = match &contrary {
            Fact::All(none) if none.is_empty() => facts.iter().rev().take(2).cloned().collect(),
            _ => Vec::new(),
        };
        if known.assume(facts)? {
            return Ok(true);
        }
        let mut tried = MAX_TRIED;
        match begin.is_empty() {
            true => known.all_cases_fail(vec![contrary], MAX_SPLITS, &mut tried),
            false => known.fails(&Fact::All(begin), MAX_SPLITS, &mut tried),
        }
    }

    fn fact(&mut self, term: &Term) -> Attempt<Fact> {
        if let Some(known) = self.read.get(term) {
            return Ok(known.clone());
        }
        let fact = match Sexpr::of(term) {
            Some(read) => self.statement(&read)?,
            None => Fact::Unread,
        };
        self.read.insert(term.clone(), fact.clone());
        Ok(fact)
    }

    fn statement(&mut self, term: &Sexpr) -> Attempt<Fact> {
        let parts = match term {
            Sexpr::Word(word) if word == "true" => return Ok(Fact::All(Vec::new())),
            Sexpr::Word(word) if word == "false" => return Ok(Fact::Any(Vec::new())),
            Sexpr::Word(_) => return Ok(Fact::Unread),
            Sexpr::List(parts) => parts,
        };
        let Some((Sexpr::Word(head), rest)) = parts.split_first() else {
            return Ok(Fact::Unread);
        };
        Ok(match (head.as_str(), rest) {
            ("not", [part]) => contrary(&self.statement(part)?)?,
            (name, of) if self.declared.get(name) == Some(&Sort::Predicate) => {
                match self.arguments(of)? {
                    Some(of) => Fact::AtLeastZero(self.applied(name, of).less(1)?),
                    None => Fact::Unread,
                }
            }
            ("and", parts) => Fact::All(self.statements(parts)?),
            ("or", parts) => Fact::Any(self.statements(parts)?),
            ("<=", [a, b]) => self.compared(a, b, &|a, b| Ok(Fact::AtLeastZero(b.plus(-1, a)?)))?,
            ("<", [a, b]) => {
                self.compared(a, b, &|a, b| Ok(Fact::AtLeastZero(b.plus(-1, a)?.less(1)?)))?
            }
            ("=", [a, b]) => self.compared(a, b, &|a, b| Ok(Fact::Zero(b.plus(-1, a)?)))?,
            _ => Fact::Unread,
        })
    }

    fn statements(&mut self, parts: &[Sexpr]) -> Attempt<Vec<Fact>> {
        parts.iter().map(|part| self.statement(part)).collect()
    }

    fn compared(
        &mut self,
        a: &Sexpr,
        b: &Sexpr,
        compare: &dyn Fn(&Polynomial, &Polynomial) -> Attempt<Fact>,
    ) -> Attempt<Fact> {
        let (Some(a), Some(b)) = (self.values(a)?, self.values(b)?) else {
            return Ok(Fact::Unread);
        };
        let mut cases = Vec::new();
        for (first, a) in &a {
            for (second, b) in &b {
                let mut all = [first.clone(), second.clone()].concat();
                all.push(compare(a, b)?);
                cases.push(Fact::All(all));
            }
        }
        Ok(match cases.len() {
            1 => cases.remove(0),
            2..=MAX_CASES => Fact::Any(cases),
            _ => Fact::Unread,
        })
    }

    /// The values of a term, each with its conditions. One of the cases holds.
    fn values(&mut self, term: &Sexpr) -> Attempt<Option<Vec<Case>>> {
        let parts = match term {
            Sexpr::Word(word) => {
                let value = match word.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => Polynomial::number(word.parse().map_err(|_| TooLarge)?),
                    false => self.unknown(word),
                };
                return Ok(Some(vec![(Vec::new(), value)]));
            }
            Sexpr::List(parts) => parts,
        };
        let Some((Sexpr::Word(head), rest)) = parts.split_first() else {
            return Ok(None);
        };
        let function = ["div", "mod"].into_iter().find(|name| head == name);
        if let (Some(function), [a, b]) = (function, rest) {
            let (Some(a), Some(b)) = (self.values(a)?, self.values(b)?) else {
                return Ok(None);
            };
            let mut all = Vec::new();
            for (first, a) in &a {
                for (second, b) in &b {
                    let of = vec![a.clone(), b.clone()];
                    let value = self.applied(function, of);
                    all.push(([first.clone(), second.clone()].concat(), value));
                }
            }
            return Ok((all.len() <= MAX_CASES).then_some(all));
        }
        if self.declared.get(head.as_str()) == Some(&Sort::Integer) {
            let of = self.arguments(rest)?;
            return Ok(of.map(|of| vec![(Vec::new(), self.applied(head, of))]));
        }
        if let ("ite", [condition, a, b]) = (head.as_str(), rest) {
            let holds = self.statement(condition)?;
            let fails = contrary(&holds)?;
            let (Some(a), Some(b)) = (self.values(a)?, self.values(b)?) else {
                return Ok(None);
            };
            let mut all = Vec::new();
            for (condition, values) in [(holds, a), (fails, b)] {
                for (mut conditions, value) in values {
                    conditions.push(condition.clone());
                    all.push((conditions, value));
                }
            }
            return Ok((all.len() <= MAX_CASES).then_some(all));
        }
        let combine: &dyn Fn(&Polynomial, &Polynomial) -> Attempt<Polynomial> = match head.as_str()
        {
            "+" => &|a, b| a.plus(1, b),
            "-" => &|a, b| a.plus(-1, b),
            "*" => &|a, b| a.times(b),
            _ => return Ok(None),
        };
        let Some((first, others)) = rest.split_first() else {
            return Ok(None);
        };
        let Some(mut all) = self.values(first)? else {
            return Ok(None);
        };
        if let ("-", []) = (head.as_str(), others) {
            for (_, value) in &mut all {
                *value = Polynomial::default().plus(-1, value)?;
            }
        }
        for other in others {
            let Some(values) = self.values(other)? else {
                return Ok(None);
            };
            let mut more = Vec::new();
            for (first, a) in &all {
                for (second, b) in &values {
                    more.push(([first.clone(), second.clone()].concat(), combine(a, b)?));
                }
            }
            if more.len() > MAX_CASES {
                return Ok(None);
            }
            all = more;
        }
        Ok(Some(all))
    }

    /// The values of the arguments of a function, if none of them has several cases.
    fn arguments(&mut self, of: &[Sexpr]) -> Attempt<Option<Vec<Polynomial>>> {
        let mut all = Vec::new();
        for argument in of {
            match self.values(argument)?.as_deref() {
                Some([(conditions, value)]) if conditions.is_empty() => all.push(value.clone()),
                _ => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    fn applied(&mut self, function: &str, of: Vec<Polynomial>) -> Polynomial {
        let value = self.unknown(&format!("{function} {of:?}"));
        for at in value.unknowns() {
            if let Unknown::Iteration(at) = at {
                let (of, value) = (of.clone(), value.clone());
                let this = Application {
                    function: function.to_owned(),
                    of,
                    value,
                };
                self.applications.insert(at, this);
            }
        }
        value
    }

    fn unknown(&mut self, text: &str) -> Polynomial {
        let next = self.names.len();
        let number = *self.names.entry(text.to_owned()).or_insert(next);
        Polynomial::unknown(Unknown::Iteration(number))
    }
}

/// The name and the result type of a function of integers that a line declares.
fn function(line: &str) -> Option<(String, Sort)> {
    let rest = line.strip_prefix("(declare-fun ")?.strip_suffix(')')?;
    let (name, rest) = rest.split_once(" (")?;
    let (of, sort) = rest.split_once(") ")?;
    let integers = !of.is_empty() && of.split(' ').all(|sort| sort == "Int");
    let sort = match sort {
        "Int" => Sort::Integer,
        "Bool" => Sort::Predicate,
        _ => return None,
    };
    integers.then(|| (name.to_owned(), sort))
}

/// The unknowns in a statement.
fn unknowns(fact: &Fact, all: &mut BTreeSet<usize>) {
    match fact {
        Fact::AtLeastZero(value) | Fact::Zero(value) | Fact::NotZero(value) => {
            for unknown in value.unknowns() {
                if let Unknown::Iteration(at) = unknown {
                    all.insert(at);
                }
            }
        }
        Fact::All(facts) | Fact::Any(facts) => facts.iter().for_each(|fact| unknowns(fact, all)),
        Fact::Unread => {}
    }
}

/// The negation of a statement. If the statement is not understood, its negation is not either.
fn contrary(fact: &Fact) -> Attempt<Fact> {
    let all = |facts: &[Fact]| facts.iter().map(contrary).collect::<Attempt<Vec<Fact>>>();
    Ok(match fact {
        Fact::AtLeastZero(value) => Fact::AtLeastZero(Polynomial::number(-1).plus(-1, value)?),
        Fact::Zero(value) => Fact::NotZero(value.clone()),
        Fact::NotZero(value) => Fact::Zero(value.clone()),
        Fact::All(facts) => Fact::Any(all(facts)?),
        Fact::Any(facts) => Fact::All(all(facts)?),
        Fact::Unread => Fact::Unread,
    })
}
