//! Addresses of mbarriers as places in the shared memory of a CTA.

use super::Lowerer;
use super::Result;
use super::refuse;
use crate::ir::Location;
use crate::recover::role_ir::Object;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

impl Lowerer<'_> {
    pub(super) fn object(&mut self, term: TermId, location: &Location) -> Result<Object> {
        let width = self.arena.terms.width_of(term);
        let (constant, parts) = self.arena.terms.linear(term);
        let mut base = None;
        let mut rest = Vec::new();
        for (part, factor) in parts {
            match self.arena.terms.node(part) {
                Node::Atom(Atom::Shared { variable, rank }) if factor == 1 && base.is_none() => {
                    base = Some((*variable, *rank));
                }
                Node::Atom(Atom::SharedWindow) => {}
                Node::Extract { term, .. }
                    if *self.arena.terms.node(*term) == Node::Atom(Atom::SharedWindow) => {}
                _ => rest.push((part, factor)),
            }
        }
        let Some((variable, rank)) = base else {
            let what = self.unknown_in(term);
            return refuse(
                format!("which mbarrier this is depends on {what}"),
                location,
            );
        };
        let offset = self.arena.terms.sum(constant, &rest, width);
        // The text has no mbarriers at places of which nothing is known.
        let rounds = std::mem::take(&mut self.arena.rounds);
        let number = self.number_or_state(offset);
        self.arena.rounds = rounds;
        let Some(offset) = number else {
            let what = self.unknown_in(offset);
            return refuse(
                format!("which mbarrier this is depends on {what}"),
                location,
            );
        };
        Ok(Object {
            rank,
            variable,
            offset,
        })
    }

    /// The objects of the same place in every CTA of a mask. For pairs of CTAs, they are in the CTA
    /// of each pair that has the parity of the object's CTA. Source: PTX ISA,
    /// "cp.async.bulk.tensor", `.cta_group::2`.
    pub(super) fn everywhere(
        &mut self,
        object: &Object,
        mask: Option<TermId>,
        pair: bool,
        location: &Location,
    ) -> Result<Vec<Object>> {
        let Some(mask) = mask else {
            return Ok(vec![object.clone()]);
        };
        let Some(mask) = self.arena.terms.value(mask) else {
            return refuse(
                "which CTAs of the cluster this reaches is not known",
                location,
            );
        };
        Ok((0..16)
            .filter(|rank| mask >> rank & 1 == 1)
            .map(|rank| Object {
                rank: if pair {
                    rank & !1 | object.rank & 1
                } else {
                    rank
                },
                ..object.clone()
            })
            .collect())
    }
}
