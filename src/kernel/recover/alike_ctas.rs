//! Branches that are taken alike by all CTAs that use the same words of memory.
//!
//! The text has one program for these CTAs. Only one number differs between them. A condition on
//! anything else that differs between CTAs is assumed to come out alike in all of them.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::grid::DIFFERENT;
use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::role_ir::Role;
use crate::recover::tree::Arena;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// Conditions on what differs between CTAs, other than by their number, become choices. All CTAs
/// that belong together make the same choice. Returns whether there are any.
pub fn choose(
    roles: &mut [Role],
    inputs: &mut Inputs,
    differs: &BTreeSet<u32>,
    turn: Option<u32>,
    arena: &Arena,
) -> Result<bool, Obstacle> {
    let mut made: BTreeMap<Condition, Number> = BTreeMap::new();
    let other = |condition: &Condition| {
        let mut found = false;
        condition.each(&mut |number| {
            found |= number.mentions(&|atomic| {
                matches!(atomic, Atomic::Input(input) if differs.contains(input) && Some(*input) != turn)
            });
        });
        found
    };
    // The number of a CTA may be computed from the same words. Then the condition does not come out
    // alike.
    let hides = |condition: &Condition, inputs: &Inputs| {
        let mut found = false;
        condition.each(&mut |number| {
            number.each(&mut |atomic| {
                found |= match atomic {
                    Atomic::Input(input) => {
                        Some(*input) == turn
                            || differs.contains(input)
                                && turn.is_some_and(|turn| within(inputs, turn, *input, arena))
                    }
                    Atomic::Index(_)
                    | Atomic::Variable(_)
                    | Atomic::Entry(_)
                    | Atomic::Applied(_) => true,
                    _ => false,
                };
            });
        });
        found
    };
    let mut leaves: BTreeSet<Condition> = BTreeSet::new();
    for role in roles.iter_mut() {
        conditions(&mut role.lines, &mut |condition| {
            gather(condition, &mut leaves);
        });
    }
    for leaf in leaves.into_iter().filter(|leaf| other(leaf)) {
        if hides(&leaf, inputs) {
            return refuse(DIFFERENT, &Location::default());
        }
        let negated = leaf.clone().negated();
        let known = negated
            .as_ref()
            .and_then(|negated| made.get(negated))
            .cloned();
        let number = match known {
            Some(number) => Number::constant(1).minus(&number).unwrap_or_default(),
            None => {
                let (mut atoms, mut named) = (BTreeSet::new(), Vec::new());
                leaf.each(&mut |number| {
                    number.each(&mut |atomic| {
                        if let Atomic::Input(input) = atomic {
                            atoms.extend(inputs.words[*input as usize].iter().copied());
                            named.push(inputs.all[*input as usize].meaning.clone());
                        }
                    });
                });
                let what = named.join(" and ");
                inputs.assumptions.insert(format!(
                    "a comparison of {what} has the same result in all CTAs that use the same words of memory"
                ));
                let input = inputs.add(
                    "takes_part".to_owned(),
                    format!("a comparison of {what}"),
                    atoms,
                    (0, 1),
                    Origin::Number(Number::default()),
                );
                Number::of(Atomic::Input(input))
            }
        };
        made.insert(leaf, number);
    }
    for role in roles.iter_mut() {
        conditions(&mut role.lines, &mut |condition| {
            *condition = replaced(condition, &made);
        });
    }
    Ok(!made.is_empty())
}

/// Whether the term of an input is a part of that of another one.
fn within(inputs: &Inputs, part: u32, whole: u32, arena: &Arena) -> bool {
    match (
        &inputs.origins[part as usize],
        &inputs.origins[whole as usize],
    ) {
        (Origin::Term(part), Origin::Term(whole)) => arena.terms.parts(*whole).contains(part),
        _ => true,
    }
}

fn gather(condition: &Condition, leaves: &mut BTreeSet<Condition>) {
    match condition {
        Condition::And(a, b) | Condition::Or(a, b) => {
            gather(a, leaves);
            gather(b, leaves);
        }
        leaf => {
            leaves.insert(leaf.clone());
        }
    }
}

fn replaced(condition: &Condition, made: &BTreeMap<Condition, Number>) -> Condition {
    match condition {
        Condition::And(a, b) => {
            Condition::And(Box::new(replaced(a, made)), Box::new(replaced(b, made)))
        }
        Condition::Or(a, b) => {
            Condition::Or(Box::new(replaced(a, made)), Box::new(replaced(b, made)))
        }
        leaf => match made.get(leaf) {
            Some(number) => Condition::NotZero(number.clone()),
            None => leaf.clone(),
        },
    }
}
