//! Collects the numbers that a condition may be about: the parameters, and numbers that the text computes from them.
//!
//! A text often compares not its parameters but numbers that it computes from them. Such a number may be a `let`, the
//! extent of a role, the number of rounds of a loop over a ring buffer, or the difference of two parameters that are
//! assumed to be ordered. A text may also have a function that stands for a table. Then a count of the places at
//! which the function exceeds a bound may decide. All such numbers are added to the parameters. They are written in
//! the language, so that a condition about them can be assumed.

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

/// The most numbers of each kind that are added.
const MOST: usize = 4;

/// The most steps for computing one number.
const WORK: u64 = 200_000;

/// The kind of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Param,
    /// Computed from parameters.
    Value,
    /// A count of places. It is compared with 0 only.
    Count,
}

/// A number that a condition may be about.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub text: String,
    pub kind: Kind,
    expr: Expr,
    /// How long the number is for a reader.
    pub weight: u32,
    /// The definition of the number in the text, if the number is a name.
    pub definition: Option<String>,
}

/// All numbers. The parameters come first, in their order.
pub(super) struct Space {
    protocol: Protocol,
    pub numbers: Vec<Number>,
}

impl Space {
    /// The numbers of a protocol. A number that cannot be computed at one of these points is left out.
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

    /// Adds a number if it depends only on parameters, varies over the points, and differs from the numbers added
    /// before.
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

    /// The values of all numbers at these values of the parameters; 0 for a number that cannot be computed.
    pub(super) fn at(&self, params: &[i64]) -> Vec<i64> {
        let numbers = self.numbers.iter();
        numbers
            .map(|number| self.value(&number.expr, params).unwrap_or(0))
            .collect()
    }

    /// The parameters that occur in a number.
    pub(super) fn params(&self, number: usize) -> Vec<usize> {
        let mut all = Vec::new();
        if let Some(number) = self.numbers.get(number) {
            params(&number.expr, &mut all);
        }
        all
    }

    /// The texts of the numbers.
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

/// The differences of parameters that are assumed to be ordered: the greater minus the lesser.
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

/// The text, and its syntax tree.
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

    /// The definition of a name.
    fn definition(&self, text: &str) -> Option<String> {
        self.file.items.iter().find_map(|item| match &item.kind {
            ItemKind::Let(definition) if definition.name.text == text => {
                Some(self.slice(&definition.body).to_owned())
            }
            _ => None,
        })
    }

    /// The `let`s without a parameter, and the extents of roles.
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

    /// The numbers of rounds of loops over ring buffers: the trip count divided by the last extent of an object,
    /// rounded up. Both have to be names.
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

    /// Every loop over a range of numbers, with its role.
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

    /// Counts of places in a loop of the last or the first member: the places at which a function of the text is
    /// above or below the number of members.
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

    /// An expression in which a name is replaced by a text.
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
            // An expression that is the only argument of a call needs no parentheses.
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
