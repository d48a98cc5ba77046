//! Splits roles into classes of members that run the same program.
//!
//! An index of a role that its program never looks at only multiplies the number of members. An
//! index with a known small extent is enumerated. An index with an unknown extent that the
//! program compares with values over parameters is split by the outcomes of the comparisons: the
//! members with the same outcomes form one class, whose size is counted exactly. An index that
//! numbers independent copies is 0 (`copies`). Any other use of such an index is refused.

use std::collections::HashMap;

use super::algebra;
pub use super::algebra::mentions;
use super::comparisons;
use super::comparisons::Uses;
use super::copies;
use super::copies::Copies;
use super::domain;
use super::epochs;
use super::flow;
use super::flow::Flow;
use super::owned_semaphores;
use super::owned_semaphores::Members;
use super::sharing::MAX_COMPARISONS;
use super::statements;
use crate::certificate::order::memory::Memory;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The largest extent that is enumerated.
const MAX_ENUMERATED: i64 = 64;

/// The most classes a protocol may have.
const MAX_CLASSES: usize = 256;

/// Members that run the same program.
#[derive(Debug, Clone)]
pub struct Class {
    /// Position in [`Protocol::roles`].
    pub role: usize,
    /// For reports: the role's name and what is known of its indices.
    pub name: String,
    /// How many members, of one copy where there are copies; may be 0 or less where there are none.
    pub size: Expr,
    /// How many copies of its kind there are, if it is of copies that share objects; may be 0 or
    /// less where there are none.
    pub copies: Option<Expr>,
    /// Which kind of copies that is.
    pub kind: Option<usize>,
    /// The index that numbers the copies, shared or not, and how many there are. To operations it is a
    /// known number; data may depend on it.
    pub number: Option<(VarId, Expr)>,
    /// The comparisons that were decided to tell these members from others, and their outcomes.
    pub compared: Vec<(Expr, bool)>,
    /// The values of the indices that are told apart.
    pub known: HashMap<VarId, Expr>,
    /// The indices that no operation tells them apart by, with their extents.
    pub free: Vec<(VarId, Expr)>,
    /// What they do.
    pub flow: Flow,
    /// What the order rule has counted of them.
    pub memory: Memory,
}

impl Class {
    /// Whether both are of one kind of copies.
    pub fn is_kind_of(&self, other: &Class) -> bool {
        self.kind.is_some() && self.kind == other.kind
    }
}

/// Splits every role, with parameters fixed at these values.
///
/// # Errors
///
/// Names the first construct that has no place in a class.
pub fn classes(protocol: &Protocol, fixed: &[(ParamId, i64)]) -> Result<Vec<Class>, Unsupported> {
    classes_of(protocol, fixed, &copies::copies(protocol))
}

/// The same for a protocol of these copies.
pub(super) fn classes_of(
    protocol: &Protocol,
    fixed: &[(ParamId, i64)],
    copies: &Copies,
) -> Result<Vec<Class>, Unsupported> {
    let exact = built(protocol, fixed, copies, false);
    // If there is no closed sum of the lengths of loops, there may still be a proof for any
    // lengths.
    exact.or_else(|refused| built(protocol, fixed, copies, true).map_err(|_| refused))
}

fn built(
    protocol: &Protocol,
    fixed: &[(ParamId, i64)],
    copies: &Copies,
    any_length: bool,
) -> Result<Vec<Class>, Unsupported> {
    let mut all = Vec::new();
    let mut found = Vec::new();
    for (position, role) in protocol.roles.iter().enumerate() {
        for mut part in parts(protocol, role, copies, fixed)? {
            part.size = domain::in_domain(protocol, &part.size);
            part.copies = part
                .copies
                .map(|copies| domain::in_domain(protocol, &copies));
            let nobody = |size: &Expr| matches!(size, Expr::Int(size) if *size <= 0);
            if nobody(&part.size) || part.copies.as_ref().is_some_and(nobody) {
                continue;
            }
            let body = decided(&role.body, &part.decided);
            let body = taken(protocol, &body, &part.known, fixed);
            found.push((position, part, body));
            if found.len() > MAX_CLASSES {
                return Err(Unsupported::at(
                    role.span,
                    format!("more than {MAX_CLASSES} kinds of members"),
                ));
            }
        }
    }
    let members = found.iter().map(|(_, part, body)| Members {
        size: &part.size,
        copied: part.copies.is_some(),
        known: &part.known,
        body,
    });
    let members: Vec<Members<'_>> = members.collect();
    let mut own = owned_semaphores::own(protocol, fixed, &members, &copies.objects);
    let private = |object: usize| copies.objects.contains_key(&object);
    let epochs = epochs::epochs(protocol, &members, &own, &private);
    own.count_in_epochs(protocol, epochs);
    drop(members);
    for (position, part, body) in found {
        let body = epochs::counted(&body, &own);
        let number = part.number.as_ref().map(|(var, _)| *var);
        let flow = flow::flow(
            protocol,
            &body,
            (&part.known, number),
            fixed,
            &own,
            any_length,
        )?;
        let free = protocol.roles[position].indices.iter();
        let free = free.filter(|index| !part.known.contains_key(&index.var));
        let free = free.map(|index| (index.var, flow::at_fixed(&index.extent, fixed)));
        all.push(Class {
            role: position,
            name: part.name,
            size: part.size,
            copies: part.copies,
            kind: part.kind,
            number: part.number,
            compared: part.decided,
            free: free.collect(),
            known: part.known,
            flow,
            memory: Memory::default(),
        });
    }
    Ok(all)
}

/// Some members of a role.
#[derive(Clone)]
struct Part {
    name: String,
    size: Expr,
    /// See [`Class::copies`].
    copies: Option<Expr>,
    kind: Option<usize>,
    number: Option<(VarId, Expr)>,
    known: HashMap<VarId, Expr>,
    /// Comparisons with their outcomes.
    decided: Vec<(Expr, bool)>,
}

fn parts(
    protocol: &Protocol,
    role: &Role,
    copies: &Copies,
    fixed: &[(ParamId, i64)],
) -> Result<Vec<Part>, Unsupported> {
    let mut parts = vec![Part {
        name: role.name.clone(),
        size: Expr::Int(1),
        copies: None,
        kind: None,
        number: None,
        known: HashMap::new(),
        decided: Vec::new(),
    }];
    for index in &role.indices {
        if copies.indices.contains(&index.var) && !copies.shares {
            for part in &mut parts {
                part.known.insert(index.var, Expr::Int(0));
                part.number = Some((index.var, flow::at_fixed(&index.extent, fixed)));
            }
            continue;
        }
        if copies.indices.contains(&index.var) {
            parts = split_by_kinds(protocol, role, index, copies, fixed, &parts)?;
            continue;
        }
        let extent = flow::at_fixed(&index.extent, fixed);
        let uses = comparisons::used(&role.body, index.var);
        let name = &protocol.vars[index.var.0].name;
        let mut split = Vec::new();
        for part in parts {
            match (&extent, uses.any()) {
                (_, false) => {
                    let mut part = part;
                    // An extent below 0 stands for none; a product of two must not hide that.
                    part.size = algebra::mul(part.size, at_least_0(protocol, &extent));
                    split.push(part);
                }
                (Expr::Int(extent), true) if *extent <= MAX_ENUMERATED => {
                    for value in 0..*extent {
                        let mut part = part.clone();
                        part.name = format!("{}[{value}]", part.name);
                        part.known.insert(index.var, Expr::Int(value));
                        split.push(part);
                    }
                }
                _ => split_by_comparisons(role, index, &extent, &uses, name, &part, &mut split)?,
            }
        }
        parts = split;
    }
    Ok(parts)
}

fn at_least_0(protocol: &Protocol, extent: &Expr) -> Expr {
    if domain::never_negative(protocol, extent) {
        extent.clone()
    } else {
        algebra::max(Expr::Int(0), extent.clone())
    }
}

fn split_by_comparisons(
    role: &Role,
    index: &Index,
    extent: &Expr,
    uses: &Uses,
    name: &str,
    part: &Part,
    into: &mut Vec<Part>,
) -> Result<(), Unsupported> {
    if uses.otherwise || uses.comparisons.len() > MAX_COMPARISONS {
        return Err(Unsupported::at(
            role.span,
            format!(
                "how `{}` uses its index `{name}`, of which there are as many as a parameter says",
                role.name
            ),
        ));
    }
    let count = uses.comparisons.len();
    for outcomes in 0..1_u32 << count {
        let holds = |nth: usize| outcomes & (1 << nth) != 0;
        let condition = Expr::all(uses.comparisons.iter().enumerate().map(|(nth, c)| {
            if holds(nth) {
                c.clone()
            } else {
                algebra::not(c.clone())
            }
        }));
        let size = comparisons::members(&condition, index.var, extent)
            .ok_or_else(|| uncounted(role, name))?;
        let mut part = part.clone();
        let texts: Vec<String> = uses
            .comparisons
            .iter()
            .enumerate()
            .map(|(nth, c)| comparisons::comparison_name(c, holds(nth), name))
            .collect();
        part.name = format!("{}[{}]", part.name, texts.join(", "));
        part.size = algebra::mul(part.size, size);
        let outcomes = uses.comparisons.iter().enumerate();
        part.decided
            .extend(outcomes.map(|(nth, c)| (c.clone(), holds(nth))));
        into.push(part);
    }
    Ok(())
}

/// Splits the members of copies by the kinds of the copies.
fn split_by_kinds(
    protocol: &Protocol,
    role: &Role,
    index: &Index,
    copies: &Copies,
    fixed: &[(ParamId, i64)],
    parts: &[Part],
) -> Result<Vec<Part>, Unsupported> {
    let extent = flow::at_fixed(&index.extent, fixed);
    let name = &protocol.vars[index.var.0].name;
    let mut split = Vec::new();
    for part in parts {
        for (number, kind) in copies.kinds(index.var).into_iter().enumerate() {
            let condition = Expr::all(kind.iter().map(|(c, holds)| {
                if *holds {
                    c.clone()
                } else {
                    algebra::not(c.clone())
                }
            }));
            let count = if kind.is_empty() {
                Some(at_least_0(protocol, &extent))
            } else {
                comparisons::members(&condition, index.var, &extent)
            };
            let mut part = part.clone();
            part.copies = Some(flow::at_fixed(
                &count.ok_or_else(|| uncounted(role, name))?,
                fixed,
            ));
            if !kind.is_empty() {
                let texts = kind
                    .iter()
                    .map(|(c, holds)| comparisons::comparison_name(c, *holds, name));
                let texts: Vec<String> = texts.collect();
                part.name = format!("{}[{}]", part.name, texts.join(", "));
            }
            part.kind = Some(number);
            // Any number will do as long as kinds have different ones.
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            part.known.insert(index.var, Expr::Int(number));
            part.number = Some((index.var, extent.clone()));
            part.decided.extend(kind);
            split.push(part);
        }
    }
    Ok(split)
}

fn uncounted(role: &Role, name: &str) -> Unsupported {
    Unsupported::at(
        role.span,
        format!("how `{}` compares its index `{name}`", role.name),
    )
}

/// A block with the comparisons of the decided indices replaced by their outcomes.
fn decided(body: &[Stmt], outcomes: &[(Expr, bool)]) -> Vec<Stmt> {
    if outcomes.is_empty() {
        return body.to_vec();
    }
    statements::replaced(body, &|e| comparisons::decide(e, outcomes))
}

/// A block without what stands in branches that these members never take.
fn taken(
    protocol: &Protocol,
    body: &[Stmt],
    known: &HashMap<VarId, Expr>,
    fixed: &[(ParamId, i64)],
) -> Vec<Stmt> {
    let mut body = body.to_vec();
    for stmt in &mut body {
        match &mut stmt.kind {
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let value = flow::at_fixed(&algebra::substitute(condition, known), fixed);
                match domain::in_domain(protocol, &value) {
                    Expr::Bool(true) => otherwise.clear(),
                    Expr::Bool(false) => then.clear(),
                    _ => {}
                }
                *then = taken(protocol, then, known, fixed);
                *otherwise = taken(protocol, otherwise, known, fixed);
            }
            StmtKind::For { body, .. } => *body = taken(protocol, body, known, fixed),
            _ => {}
        }
    }
    body
}
