//! The protocol of a kernel: recovers it, compares it with runs of the kernel, and writes it as text.

use crate::ir::Kernel;
use crate::ir::Location;
use crate::recover::Counted;
use crate::recover::EARLY_EXITS;
use crate::recover::INITIALISED_TOGETHER;
use crate::recover::InOrderLoads;
use crate::recover::Obstacle;
use crate::recover::Registers;
use crate::recover::Roles;
use crate::recover::Shape;
use crate::recover::Text;
use crate::recover::are_free;
use crate::recover::barriers_are_aligned;
use crate::recover::by_warp;
use crate::recover::check_convergence;
use crate::recover::coarsen;
use crate::recover::complete_full_barriers;
use crate::recover::in_step;
use crate::recover::in_time;
use crate::recover::is_unnoticed;
use crate::recover::laid_out;
use crate::recover::may_abort;
use crate::recover::merge_roles;
use crate::recover::move_copies_after_expect;
use crate::recover::object_of;
use crate::recover::outside;
use crate::recover::parameters;
use crate::recover::places;
use crate::recover::read_at_once;
use crate::recover::refuse;
use crate::recover::refuse_invisible_inits;
use crate::recover::replace_loop_lifetimes;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Role;
use crate::recover::roles;
use crate::recover::roles_with_accesses;
use crate::recover::settle;
use crate::recover::shared;
use crate::recover::text;
use crate::recover::vanished;
use crate::recover::with_counters;
use crate::recover::with_phases;
use crate::recover::with_token_numbers;
use crate::recover::without;
use crate::recover::without_completed;
use crate::recover::without_redundant_barriers;
use crate::recover::without_redundant_waits;
use crate::validate::Validation;
use crate::validate::validate;

/// The recovered protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lift {
    /// The protocol as text of the protocol language.
    pub text: String,
    /// For each line of the text that is a statement, the line of the kernel's text that it comes from, from 1.
    pub lines: Vec<Option<u32>>,
    /// A second text, if there is one. Each proof of this text is also a proof of the first one. Its counterexamples
    /// may not be ones of the kernel.
    pub by_warp: Option<Text>,
    /// Whether every counterexample occurs at some launch. It may not if parameters depend on each other, if a warp
    /// waits for warps that may have ended (the hardware does not wait for these), or if the kernel may abort before.
    pub exact: bool,
    /// Launches, with values of the protocol's parameters, smallest values first. A counterexample of the protocol at
    /// these values is one of the launch.
    pub launches: Vec<Launched>,
    /// Whether one of these is assumed: that `setmaxnreg` finds the registers that it asks for; that several lanes
    /// which initialise an mbarrier at the same time do so once; or that all CTAs are resident. A recovery that
    /// follows instructions may know more.
    pub leaves_open: bool,
    /// The result of the comparison with the kernel.
    pub validation: Validation,
}

/// A launch at which the kernel was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// The launch in words.
    pub launch: String,
    /// The values of the protocol's parameters at this launch.
    pub values: Vec<(String, i128)>,
}

/// Recovers the protocol of a kernel, unless time runs out. If the protocol differs from the kernel in a run, this is
/// an obstacle, too.
pub fn lift(kernel: &Kernel, shape: Shape, over: fn() -> bool) -> Result<Lift, Obstacle> {
    let counted = with_counters(kernel)?;
    let kernel = counted.as_ref().unwrap_or(kernel);
    let numbered = with_token_numbers(kernel)?;
    if counted.is_some() && numbered.is_some() {
        // States of arrivals are counted under the condition that warps keep in step. CTAs that wait for each other
        // need not.
        return refuse(
            "a kernel that waits for states of arrivals and for global memory is not followed",
            &Location::default(),
        );
    }
    let kernel = numbered.as_ref().unwrap_or(kernel);
    let phased = with_phases(kernel, shape)?;
    let original = kernel;
    refuse_invisible_inits(original)?;
    let assumption = phased.as_ref().and_then(|phased| phased.assumption);
    let kernel = phased.as_ref().map_or(kernel, |phased| &phased.kernel);
    let mut recovered = roles(kernel, shape, over)?;
    recovered
        .inputs
        .assumptions
        .extend(assumption.map(str::to_owned));
    let validation = confirmed((original, kernel), shape, &mut recovered, over)?;
    let Roles {
        all: mut roles,
        mut inputs,
        mut arena,
        rings,
    } = recovered;
    if numbered.is_some() {
        for role in &mut roles {
            move_copies_after_expect(&mut role.lines);
            in_step(&mut role.lines);
        }
    }
    replace_loop_lifetimes(&mut roles, &inputs, shape)?;
    // From here on, the protocol is changed. So it no longer agrees with the kernel event by event.
    if complete_full_barriers(kernel, shape, &mut roles)? {
        inputs.assumptions.insert(EARLY_EXITS.to_owned());
    }
    if let Some(phased) = &phased {
        without_completed(&mut roles, phased.ring);
        without_redundant_waits(&mut roles, phased.ring, &inputs.ranges());
    }
    let alike = barriers_are_aligned(original, &roles, shape.warps());
    let refutes = alike && without_redundant_barriers(&mut roles, shape.warps());
    let grid = shared(kernel, shape, &mut roles, &mut inputs, &mut arena)?;
    let of_launches = grid.as_ref().is_none_or(|grid| grid.exact);
    let of_grid = grid
        .as_ref()
        .map_or([None; 2], |grid| [grid.turn, grid.total]);
    // Which rows of memory a CTA reads is not a part of the text.
    let shown = laid_out(&roles, &inputs, grid.as_ref())?;
    let free = inputs.entries_are_free() && are_free(&shown, &inputs, &arena.terms, of_grid);
    let exact = refutes && of_launches && free && !may_abort(original);
    for role in &mut roles {
        move_copies_after_expect(&mut role.lines);
    }
    let registers = settle(kernel, shape, &mut roles)?;
    let leaves_open = registers.counted == Counted::Assumed
        || inputs.assumptions.contains(INITIALISED_TOGETHER)
        || grid.is_some();
    // From here on, nothing more is left out.
    let ranges = vanished(&roles, &inputs, &arena.terms);
    inputs.assumptions.extend(ranges);
    inputs.below = places(&roles, &inputs, &arena.terms);
    let checked = validation.to_string();
    let launches = match refutes && grid.is_none() && inputs.are_numbers() {
        true => launches(&validation, &parameters(&roles, &inputs)),
        false => Vec::new(),
    };
    let written = |roles: &[Role]| {
        let roles = (roles, grid.as_ref());
        text(kernel, shape, roles, &inputs, registers, &checked)
    };
    let by_warp = by_warp(&roles, &rings, &inputs).and_then(|roles| written(&roles).ok());
    let Text { text, lines } = written(&roles)?;
    Ok(Lift {
        text,
        lines,
        by_warp,
        exact,
        launches,
        leaves_open,
        validation,
    })
}

/// Recovers the protocol of a kernel with its accesses to shared memory. This protocol decides only races. It
/// contains nothing about fences, memory orders and scopes, which decide what a read sees.
///
/// Once [`lift`] has compared a protocol with the kernel, it makes changes that are sound for deadlocks. Here only
/// the places of mbarriers are changed. So each access stands in the text at the place at which it was compared.
pub fn lift_data(kernel: &Kernel, shape: Shape, over: fn() -> bool) -> Result<Lift, Obstacle> {
    let nowhere = Location::default();
    if with_counters(kernel)?.is_some() {
        return refuse(
            "races are not decided of a kernel that waits for global memory",
            &nowhere,
        );
    }
    if with_token_numbers(kernel)?.is_some() {
        return refuse(
            "races are not decided of a kernel that waits for the phases of its own arrivals",
            &nowhere,
        );
    }
    refuse_invisible_inits(kernel)?;
    let original = kernel;
    let phased = with_phases(kernel, shape)?;
    let kernel = phased.as_ref().map_or(kernel, |phased| &phased.kernel);
    let unnoticed = is_unnoticed(original)?;
    let at_once = (unnoticed == Some(true)).then(|| read_at_once(kernel));
    let kernel = at_once.as_ref().unwrap_or(kernel);
    let mut recovered = roles_with_accesses(kernel, shape, over)?;
    let assumed = phased.as_ref().and_then(|phased| phased.assumption);
    let assumed = assumed.into_iter().map(str::to_owned);
    recovered.inputs.assumptions.extend(assumed);
    recovered.arena.wider |= unnoticed == Some(false);
    let validation = confirmed((original, kernel), shape, &mut recovered, over)?;
    let Roles {
        all: mut roles,
        mut inputs,
        mut arena,
        ..
    } = recovered;
    // Requests for registers order nothing.
    for role in &mut roles {
        without(&mut role.lines, &|action| {
            matches!(action, Action::SetMaxRegisters { .. })
        });
    }
    let mut other = roles.clone();
    replace_loop_lifetimes(&mut other, &inputs, shape)?;
    if complete_full_barriers(kernel, shape, &mut other)? {
        return refuse(
            "races are not decided where a warp exits before others meet at a barrier of all threads",
            &nowhere,
        );
    }
    if other != roles {
        return refuse(
            "races are not decided where an mbarrier is initialised again",
            &nowhere,
        );
    }
    let grid = shared(kernel, shape, &mut other, &mut inputs, &mut arena)?;
    if grid.is_some() {
        return refuse(
            "races are not decided of CTAs that wait for each other",
            &nowhere,
        );
    }
    let alike = barriers_are_aligned(original, &roles, shape.warps());
    let refutes = alike && without_redundant_barriers(&mut other, shape.warps()) && other == roles;
    // What warps know about each other's multiplications orders nothing else. Without this knowledge, the protocol
    // only has more behaviours.
    if let Some(phased) = &phased {
        for role in &mut roles {
            without(&mut role.lines, &|action| {
                object_of(action).is_some_and(|object| object.variable == phased.ring)
            });
        }
    }
    let refutes = refutes && phased.is_none() && !arena.wider;
    let shown = laid_out(&roles, &inputs, None)?;
    let free = inputs.entries_are_free() && are_free(&shown, &inputs, &arena.terms, [None; 2]);
    let exact = refutes && free && !may_abort(original);
    let registers = Registers {
        counted: Counted::Still,
        apart: false,
    };
    let ranges = vanished(&roles, &inputs, &arena.terms);
    inputs.assumptions.extend(ranges);
    inputs.below = places(&roles, &inputs, &arena.terms);
    let checked = validation.to_string();
    coarsen(&mut roles);
    merge_roles(&mut roles);
    let launches = match refutes && inputs.are_numbers() {
        true => launches(&validation, &parameters(&roles, &inputs)),
        false => Vec::new(),
    };
    let Text { text, lines } = text(kernel, shape, (&roles, None), &inputs, registers, &checked)?;
    Ok(Lift {
        text,
        lines,
        by_warp: None,
        exact,
        launches,
        leaves_open: inputs.assumptions.contains(INITIALISED_TOGETHER),
        validation,
    })
}

/// Whether the roles agree with runs of the kernel: they differ in no run that was compared. Notes the assumptions
/// about lanes that do something together.
///
/// The kernel is given twice: in its original form, and in the form from which the roles were recovered.
fn confirmed(
    (original, kernel): (&Kernel, &Kernel),
    shape: Shape,
    recovered: &mut Roles,
    over: fn() -> bool,
) -> Result<Validation, Obstacle> {
    let Roles {
        all, inputs, arena, ..
    } = recovered;
    let in_turn = InOrderLoads::new(kernel, arena.ring_words.as_ref(), &inputs.ring_word_loops);
    let alike = check_convergence(original, shape, &in_turn, over)?;
    inputs
        .assumptions
        .extend(alike.into_iter().map(str::to_owned));
    let outside = outside(original)?;
    inputs.assumptions.extend(outside.map(str::to_owned));
    in_time(over)?;
    let validation = validate(kernel, shape, all, inputs, arena).map_err(|difference| {
        Obstacle::new(
            format!("internal: the recovered protocol differs from the kernel: {difference}"),
            difference.location(),
        )
    })?;
    in_time(over)?;
    match validation.compared.is_empty() {
        true => Err(uncompared(validation)),
        false => Ok(validation),
    }
}

/// The obstacle if no run of the kernel has confirmed the protocol. Then nothing is said about it.
fn uncompared(validation: Validation) -> Obstacle {
    let why = match validation.reason {
        Some(reason) => format!(": {reason}"),
        None => String::new(),
    };
    Obstacle::new(
        format!("the recovered protocol could not be compared with a run of the kernel{why}"),
        Location::default(),
    )
}

/// The launches that were compared and that a verdict applies to, with the values of the parameters. Each combination
/// of values occurs once.
fn launches(validation: &Validation, parameters: &[(u32, String)]) -> Vec<Launched> {
    let mut found: Vec<Launched> = Vec::new();
    for compared in validation.compared.iter().filter(|one| one.is_covered) {
        let value = |(input, name): &(u32, String)| {
            let value = compared.values.get(*input as usize).copied().flatten()?;
            Some((name.clone(), value))
        };
        let Some(values) = parameters.iter().map(value).collect::<Option<Vec<_>>>() else {
            continue;
        };
        if found.iter().all(|other| other.values != values) {
            found.push(Launched {
                launch: compared.launch.clone(),
                values,
            });
        }
    }
    found.sort_by_key(|launched| {
        let values = launched
            .values
            .iter()
            .map(|(_, value)| value.unsigned_abs());
        values.fold(0, u128::saturating_add)
    });
    found
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_counters;
#[cfg(test)]
mod tests_entries;
#[cfg(test)]
mod tests_loops;
#[cfg(test)]
mod tests_memory;
#[cfg(test)]
mod tests_numbers;
#[cfg(test)]
mod tests_premises;
#[cfg(test)]
mod tests_ring_words;
#[cfg(test)]
mod tests_skipped_waits;
#[cfg(test)]
mod tests_stored;
#[cfg(test)]
mod tests_strides;
#[cfg(test)]
mod tests_words;
