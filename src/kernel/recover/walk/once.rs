//! Loops whose body runs at most once. They are written without a loop.

use std::collections::BTreeMap;

use super::Frame;
use super::Path;
use super::Result;
use super::Walker;
use super::refuse;
use crate::cfg::Loop;
use crate::ir::BlockId;
use crate::ir::RegisterId;
use crate::meaning::Domain;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::Statement;

impl Walker<'_> {
    /// Whether a body, walked over phis, is left at once when control comes to its head again.
    pub(super) fn ends_when_repeated(
        &mut self,
        body: &[Statement],
        phis: &BTreeMap<RegisterId, Vec<u32>>,
    ) -> bool {
        let [
            Statement::If {
                condition,
                then,
                otherwise,
                ..
            },
        ] = body
        else {
            return false;
        };
        let next: BTreeMap<Atom, TermId> = phis
            .values()
            .flatten()
            .map(|phi| (Atom::Phi(*phi), self.phis[*phi as usize].next))
            .collect();
        let condition = self
            .terms
            .substitute(*condition, &|atom| next.get(&atom).copied());
        let side = match self.terms.truth(condition) {
            Some(true) => then,
            Some(false) => otherwise,
            None => return false,
        };
        *side == [Statement::Break]
    }

    /// Walks the body of a loop with its first values. `None` if the loop goes on behind that, or
    /// is left elsewhere than at its end. Nothing has been written then.
    pub(super) fn once(
        &mut self,
        natural: &Loop,
        path: &Path,
        out: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<Option<Option<(BlockId, Path)>>> {
        let follow = self.graph.follow(natural);
        let mut start = path.clone();
        start.condition = self.terms.constant(1, 1);
        let mut body = Vec::new();
        let (again, mut left) = self.iteration(natural, follow, start, &mut body, depth)?;
        if let Some(again) = self.gathered(again) {
            let mut rest = Vec::new();
            let (more, breaks) = self.iteration(natural, follow, again, &mut rest, depth)?;
            if !more.is_empty() || rest != [Statement::Break] {
                return Ok(None);
            }
            left.extend(breaks);
        }
        if !without_breaks(&mut body) {
            return Ok(None);
        }
        out.append(&mut body);
        Ok(Some(self.behind(left, follow, path)))
    }

    /// Where a loop that is written out goes on, of the ways out of it and what came to it.
    pub(super) fn behind(
        &mut self,
        left: Vec<Path>,
        follow: Option<BlockId>,
        before: &Path,
    ) -> Option<(BlockId, Path)> {
        let mut left = self.gathered(left)?;
        left.condition = before.condition;
        left.position.perhaps = before.position.perhaps;
        Some((follow?, left))
    }

    /// One iteration: what comes to the head again, and what leaves.
    pub(super) fn iteration(
        &mut self,
        natural: &Loop,
        follow: Option<BlockId>,
        start: Path,
        body: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<(Vec<Path>, Vec<Path>)> {
        self.frames.push(Frame {
            header: natural.header,
            id: None,
            started: false,
            follow,
            continues: Vec::new(),
            breaks: Vec::new(),
            left: Vec::new(),
        });
        let mask = start.mask;
        let walked = self.region(natural.header, None, start, body, depth + 1);
        let frame = self.frames.pop();
        walked?;
        let (again, left) = frame
            .map(|frame| (frame.continues, frame.breaks))
            .unwrap_or_default();
        if again.iter().chain(&left).any(|path| path.mask != mask) {
            let location = &self.kernel.blocks[natural.header.0 as usize].location;
            return refuse(
                "lanes of a warp leave a loop in different iterations",
                location,
            );
        }
        Ok((again, left))
    }
}

/// Removes the breaks at the ends of statements. Returns `false` if there are others, behind which
/// more would be executed.
pub(super) fn without_breaks(statements: &mut Vec<Statement>) -> bool {
    let last = statements.len().saturating_sub(1);
    let mut only_at_ends = true;
    for (at, statement) in statements.iter_mut().enumerate() {
        match statement {
            Statement::Break => only_at_ends &= at == last,
            Statement::If {
                then, otherwise, ..
            } if at == last => {
                only_at_ends &= without_breaks(then) && without_breaks(otherwise);
            }
            Statement::If {
                then, otherwise, ..
            } => only_at_ends &= !then.iter().chain(&*otherwise).any(breaks),
            Statement::Loop { .. } | Statement::Event(_) | Statement::Return => {}
        }
    }
    statements.retain(|statement| *statement != Statement::Break);
    only_at_ends
}

/// Whether a statement leaves the loop around it.
fn breaks(statement: &Statement) -> bool {
    match statement {
        Statement::Break => true,
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(breaks),
        Statement::Loop { .. } | Statement::Event(_) | Statement::Return => false,
    }
}
