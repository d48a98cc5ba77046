//! The numbers that a condition may be about: the parameters, and what the text makes of them.
//!
//! A text often compares not its parameters but something it computes from them: a `let`, the extent of a role, how often a
//! loop goes around a ring, the difference of two numbers that it assumes to be ordered. For some row of a table it counts at how many places a function of the text
//! exceeds a bound. Such numbers are added to the parameters. They are written in the language, so that a condition made of them can be assumed.

use itertools::Itertools;

use crate::protocol::Assumption;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::semantics::eval::Env;
use crate::semantics::pattern::PatternData;
use crate::text;
use crate::text::ast;
use crate::text::ast::ExprKind;
use crate::text::ast::ItemKind;
use crate::text::ast::Iteration;
use crate::text::ast::StmtKind;
use crate::text::words::is_word;

/// How many numbers of each kind are added.
const MOST: usize = 4;

/// The steps that one number may take to compute.
const WORK: u64 = 200_000;

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Param,
    /// Computed from parameters.
    Value,
    /// A number of places, which is compared with 0 only.
    Count,
}

/// A number.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub text: String,
    pub kind: Kind,
    expr: Expr,
    /// How much there is to read.
    pub weight: u32,
    /// How the text defines it, if it is a name.
    pub definition: Option<String>,
}

/// The numbers, parameters first and in their order.
pub(super) struct Space {
    protocol: Protocol,
    pub numbers: Vec<Number>,
}

impl Space {
    /// Those of a protocol. What cannot be computed at one of these points is left out.
    pub(super) fn of(protocol: &Protocol, points: &[Vec<i64>]) -> Space {
        let params = protocol.params.iter().enumerate();
        let numbers = params.map(|(p, param)| Number {
            text: param.name.clone(),
            kind: Kind::Param,
            expr: Expr::Param(ParamId(p)),
            weight: 2,
            definition: None,
        });
        let mut space = Space {
            numbers: numbers.collect(),
            protocol: protocol.clone(),
        };
        let Some(file) = text::syntax(&protocol.source) else {
            return space;
        };
        let texts = Texts {
            source: &protocol.source,
            file: &file,
        };
        let kinds = [
            (texts.constants(), Kind::Value),
            (differences(protocol), Kind::Value),
            (texts.rounds(), Kind::Value),
            (texts.counts(), Kind::Count),
        ];
        for (all, kind) in kinds {
            for text in all.into_iter().unique().take(MOST) {
                let definition = texts.definition(&text);
                space.add(text, kind, definition, points);
            }
        }
        space
    }

    /// Adds a number, if it is one over parameters only that is none of those there are.
    fn add(&mut self, text: String, kind: Kind, definition: Option<String>, points: &[Vec<i64>]) {
        let Ok(Assumption {
            condition: Expr::Binary(BinaryOp::Eq, expr, _),
            ..
        }) = text::parse_expression(&mut self.protocol, &format!("({text}) == 0"))
        else {
            return;
        };
        if matches!(*expr, Expr::Int(_)) {
            return;
        }
        let mut values = points.iter().map(|at| self.value(&expr, at));
        let varies = values.clone().map(|value| value.ok()).unique().count() > 1;
        if values.any(|value| value.is_err()) || !varies {
            return;
        }
        let known = |number: &Number| {
            points
                .iter()
                .all(|at| self.value(&number.expr, at).ok() == self.value(&expr, at).ok())
        };
        if self.numbers.iter().any(known) {
            return;
        }
        let name = text.chars().all(is_word);
        let weight = match kind {
            Kind::Param => 2,
            Kind::Value if name => 3,
            Kind::Value => 9,
            Kind::Count => 16,
        };
        self.numbers.push(Number {
            text,
            kind,
            expr: *expr,
            weight,
            definition,
        });
    }

    fn value(&self, expr: &Expr, at: &[i64]) -> Result<i64, ()> {
        let none: &[PatternData] = &[];
        let mut env = Env::new(&self.protocol, at, none, WORK);
        env.value(expr).map_err(|_| ())
    }

    /// The values of all numbers where the parameters have these; 0 for one that cannot be computed.
    pub(super) fn at(&self, params: &[i64]) -> Vec<i64> {
        let numbers = self.numbers.iter();
        numbers
            .map(|number| self.value(&number.expr, params).unwrap_or(0))
            .collect()
    }

    /// The parameters that a number is made of.
    pub(super) fn params(&self, number: usize) -> Vec<usize> {
        let mut all = Vec::new();
        if let Some(number) = self.numbers.get(number) {
            params(&number.expr, &mut all);
        }
        all
    }

    /// How the numbers are written.
    pub(super) fn names(&self) -> Vec<&str> {
        let numbers = self.numbers.iter();
        numbers.map(|number| number.text.as_str()).collect()
    }
}

fn params(e: &Expr, into: &mut Vec<usize>) {
    match e {
        Expr::Param(param) => into.push(param.0),
        Expr::Neg(a) | Expr::Not(a) => params(a, into),
        Expr::Binary(_, a, b) => {
            params(a, into);
            params(b, into);
        }
        Expr::If(c, a, b) => {
            params(c, into);
            params(a, into);
            params(b, into);
        }
        Expr::Visits(_, at) => at.iter().for_each(|e| params(e, into)),
        Expr::Count { lo, hi, body, .. } => {
            params(lo, into);
            params(hi, into);
            params(body, into);
        }
        Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) => {}
    }
}

/// The greater minus the lesser of two parameters that are assumed to be ordered.
fn differences(protocol: &Protocol) -> Vec<String> {
    let mut all = Vec::new();
    let name = |p: &ParamId| protocol.params.get(p.0).map(|p| p.name.as_str());
    let mut open: Vec<&Expr> = protocol.assumptions.iter().map(|a| &a.condition).collect();
    while let Some(e) = open.pop() {
        let Expr::Binary(op, a, b) = e else {
            continue;
        };
        if *op == BinaryOp::And {
            open.extend([a.as_ref(), b.as_ref()]);
            continue;
        }
        let (Expr::Param(a), Expr::Param(b)) = (a.as_ref(), b.as_ref()) else {
            continue;
        };
        let (Some(a), Some(b)) = (name(a), name(b)) else {
            continue;
        };
        match op {
            BinaryOp::Lt | BinaryOp::Le => all.push(format!("{b} - {a}")),
            BinaryOp::Gt | BinaryOp::Ge => all.push(format!("{a} - {b}")),
            _ => {}
        }
    }
    all
}

/// What stands in the text.
struct Texts<'s> {
    source: &'s str,
    file: &'s ast::File,
}

impl Texts<'_> {
    fn slice(&self, e: &ast::Expr) -> &str {
        self.source.get(e.span.start..e.span.end).unwrap_or("")
    }

    fn roles(&self) -> impl Iterator<Item = &ast::Role> {
        self.file.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Role(role) => Some(role),
            _ => None,
        })
    }

    /// What a name stands for.
    fn definition(&self, text: &str) -> Option<String> {
        self.file.items.iter().find_map(|item| match &item.kind {
            ItemKind::Let(definition) if definition.name.text == text => {
                Some(self.slice(&definition.body).to_owned())
            }
            _ => None,
        })
    }

    /// `let`s without a parameter, and how many members roles have.
    fn constants(&self) -> Vec<String> {
        let mut all = Vec::new();
        for item in &self.file.items {
            if let ItemKind::Let(definition) = &item.kind
                && definition.params.is_empty()
            {
                all.push(definition.name.text.clone());
            }
        }
        for role in self.roles() {
            all.extend(
                role.indices
                    .iter()
                    .map(|(_, extent)| self.slice(extent).to_owned()),
            );
        }
        all
    }

    /// How often a loop goes around a family, where both numbers are names.
    fn rounds(&self) -> Vec<String> {
        let name = |e: &ast::Expr| match &e.kind {
            ExprKind::Name(name) => Some(name.clone()),
            _ => None,
        };
        let families = self.file.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Object(object) => name(object.extents.last()?),
            _ => None,
        });
        let families: Vec<String> = families.unique().collect();
        let mut all = Vec::new();
        for (_, stmt) in self.loops() {
            if let StmtKind::For {
                over: Iteration::Range { hi, .. },
                ..
            } = &stmt.kind
                && let Some(trips) = name(hi)
            {
                let others = families.iter().filter(|stages| **stages != trips);
                all.extend(others.map(|stages| format!("ceil_div({trips}, {stages})")));
            }
        }
        all
    }

    /// Every loop over numbers, with its role.
    fn loops(&self) -> Vec<(&ast::Role, &ast::Stmt)> {
        let mut all = Vec::new();
        for role in self.roles() {
            let mut open: Vec<&ast::Stmt> = role.body.stmts.iter().collect();
            while let Some(stmt) = open.pop() {
                match &stmt.kind {
                    StmtKind::For { body, over, .. } => {
                        if matches!(over, Iteration::Range { .. }) {
                            all.push((role, stmt));
                        }
                        open.extend(&body.stmts);
                    }
                    StmtKind::If { then, .. } => open.extend(&then.stmts),
                    StmtKind::Repeat { body, .. } | StmtKind::Elect { body } => {
                        open.extend(&body.stmts);
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// At how many places of a loop of the last or first member a function of the text is above or below the number of members.
    fn counts(&self) -> Vec<String> {
        let functions = self.file.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Let(definition) if definition.params.len() == 1 => {
                Some(definition.name.text.as_str())
            }
            _ => None,
        });
        let functions: Vec<&str> = functions.collect();
        let mut all = Vec::new();
        for (role, stmt) in self.loops() {
            let StmtKind::For {
                name,
                over: Iteration::Range { lo, hi, .. },
                ..
            } = &stmt.kind
            else {
                continue;
            };
            let [(index, extent)] = role.indices.as_slice() else {
                continue;
            };
            let members = self.slice(extent);
            for member in [format!("{members} - 1"), "0".to_owned()] {
                let lo = self.replaced(lo, &index.text, &member);
                let hi = self.replaced(hi, &index.text, &member);
                let m = &name.text;
                for f in &functions {
                    for symbol in [">", "<"] {
                        all.push(format!(
                            "count({m} in {lo}..{hi} where {f}({m}) {symbol} {members})"
                        ));
                    }
                }
            }
        }
        all
    }

    /// An expression with another text for a name.
    fn replaced(&self, e: &ast::Expr, name: &str, by: &str) -> String {
        let mut places = Vec::new();
        let mut open = vec![e];
        while let Some(e) = open.pop() {
            match &e.kind {
                ExprKind::Name(other) if other == name => places.push(e.span),
                _ => open.extend(e.kind.children()),
            }
        }
        places.sort_by_key(|span| span.start);
        let mut out = String::new();
        let mut from = e.span.start;
        for span in places {
            out.push_str(self.source.get(from..span.start).unwrap_or(""));
            // An argument of a call needs no parentheses.
            let alone = self.source[..span.start].ends_with('(')
                && self.source[span.end..].starts_with(')');
            match alone || !by.contains(' ') {
                true => out.push_str(by),
                false => out.push_str(&format!("({by})")),
            }
            from = span.end;
        }
        out.push_str(self.source.get(from..e.span.end).unwrap_or(""));
        out
    }
}
