//! The names of inputs, made of names in the source if these are known.

use super::Lowerer;
use crate::ir::Special;
use crate::recover::launch::is_length;
use crate::recover::launch::wide_parameter;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

impl Lowerer<'_> {
    /// The name of an input, and what it is.
    pub(super) fn called(&self, term: TermId) -> (String, String) {
        match self.arena.terms.node(term) {
            Node::Atom(Atom::Parameter { offset }) => {
                let parameter = self.kernel.parameters.iter().find(|parameter| {
                    (parameter.offset..parameter.offset + parameter.size.max(1)).contains(offset)
                });
                match parameter {
                    Some(parameter) if parameter.size <= 4 => {
                        (parameter.name.clone(), parameter.name.clone())
                    }
                    Some(parameter) => {
                        let at = offset - parameter.offset;
                        (
                            format!("{}_at_{at}", parameter.name),
                            format!("{} at byte {at}", parameter.name),
                        )
                    }
                    None => (
                        format!("param_at_{offset}"),
                        format!("parameters at byte {offset}"),
                    ),
                }
            }
            Node::Atom(Atom::Special(special)) => {
                let axis = |axis: &u8| ["x", "y", "z"][usize::from((*axis).min(2))];
                let name = match special {
                    Special::CtaIndex(at) => format!("ctaid_{}", axis(at)),
                    Special::GridCtas(at) => format!("nctaid_{}", axis(at)),
                    Special::ClusterIndex(at) => format!("clusterid_{}", axis(at)),
                    Special::GridClusters(at) => format!("nclusterid_{}", axis(at)),
                    _ => "special".to_owned(),
                };
                (name.clone(), name)
            }
            Node::Memory(address) => {
                let of = self.behind(*address);
                (
                    format!("at_{}", of.join("_")),
                    format!("a word behind {}", of.join(", ")),
                )
            }
            Node::Sum { constant: 0, parts }
                if is_length(parts, self.arena.terms.width_of(term), &self.arena.terms) =>
            {
                let of = self.behind(term);
                let name = format!("length_at_{}", of.join("_"));
                (
                    name,
                    format!("a difference of words behind {}", of.join(", ")),
                )
            }
            Node::Concatenate(..) if wide_parameter(term, &self.arena.terms).is_some() => {
                let of = self.behind(term).join("_");
                (of.clone(), of)
            }
            _ => {
                let of = self.computed_from(term);
                ("computed".to_owned(), format!("computed from {of}"))
            }
        }
    }

    /// What a term is computed from, in words.
    pub(super) fn computed_from(&self, term: TermId) -> String {
        let of = self.behind(term);
        match of.is_empty() {
            true => "the grid".to_owned(),
            false => of.join(", "),
        }
    }

    /// The names of the parameters that a term is computed from.
    fn behind(&self, term: TermId) -> Vec<String> {
        let mut of: Vec<String> = Vec::new();
        for atom in self.arena.terms.atoms(term).iter() {
            if let Atom::Parameter { offset } = atom
                && let Some(parameter) = self.kernel.parameters.iter().find(|parameter| {
                    (parameter.offset..parameter.offset + parameter.size.max(1)).contains(offset)
                })
                && !of.contains(&parameter.name)
            {
                of.push(parameter.name.clone());
            }
        }
        of
    }
}
