//! Certificates with supplies: translates the results of the credit rule's search to the kernel's form.

use std::time::Instant;

use crate::certificate::credit;
use crate::certificate::credit::Affine;
use crate::proof::credit as search;
use crate::proof::sample;
use crate::proof::uncovered;
use crate::proof::whole_grid_fits;
use crate::protocol::Protocol;
use crate::protocol::VarId;
use crate::trusted::certificate::Name;
use crate::trusted::certificate::Product;
use crate::trusted::certificate::Sum;
use crate::trusted::events::certificate::Awaited;
use crate::trusted::events::certificate::Component;
use crate::trusted::events::certificate::Events;
use crate::trusted::events::certificate::Place;
use crate::trusted::events::certificate::Reading;
use crate::trusted::events::certificate::Supply;
use crate::trusted::events::program::program;

/// How many inputs are run to see whether whole grids are resident.
const SAMPLES: usize = 20;

/// Guesses the additions that each wait is for.
pub fn guess(
    protocol: &Protocol,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<Events, String> {
    let mut names: Vec<Vec<VarId>> = Vec::new();
    for role in &protocol.roles {
        let indices: Vec<VarId> = role.indices.iter().map(|index| index.var).collect();
        let program = program(role).map_err(uncovered)?;
        let waits = program.events.iter().filter(|event| event.waits());
        names.extend(waits.map(|wait| indices.iter().copied().chain(wait.loops()).collect()));
    }
    let credited = search::proposal(protocol, deadline, tell)?;
    if credited.len() != names.len() {
        return Err("the programs are others".to_owned());
    }
    let whole = whole_grid_fits(&sample::instances(protocol, SAMPLES, 0));
    let mut waits = Vec::new();
    for (credited, names) in credited.into_iter().zip(&names) {
        let component = |affine: &Affine| {
            let of = Reading::Sum(sum(affine, names)?);
            let descending = false;
            Some(Component { of, descending })
        };
        let rank: Option<Vec<Component>> = credited.rank.iter().map(component).collect();
        let mut cases = Vec::new();
        for supplies in &credited.alternatives {
            let supplies: Option<Vec<Supply>> = supplies.iter().map(|s| supply(s, names)).collect();
            cases.push(supplies.ok_or("a name that there is not")?);
        }
        waits.push(Awaited {
            rank: rank.ok_or("a name that there is not")?,
            supplies: cases,
        });
    }
    Ok(Events {
        whole: vec![whole; protocol.roles.len()],
        turns: Vec::new(),
        waits,
    })
}

fn supply(of: &credit::Supply, names: &[VarId]) -> Option<Supply> {
    let at = of.at.iter().map(|place| {
        Some(match place {
            credit::Place::At(one) => Place::At(sum(one, names)?),
            credit::Place::From(lo, hi) => Place::From(sum(lo, names)?, sum(hi, names)?),
        })
    });
    Some(Supply {
        role: of.role,
        event: of.event,
        at: at.collect::<Option<Vec<Place>>>()?,
    })
}

fn sum(affine: &Affine, names: &[VarId]) -> Option<Sum> {
    let mut all = vec![Product {
        times: affine.number,
        of: Vec::new(),
    }];
    for (at, times) in &affine.names {
        all.push(Product {
            times: *times,
            of: vec![Name::Var(names.get(*at)?.0)],
        });
    }
    for (at, times) in &affine.params {
        all.push(Product {
            times: *times,
            of: vec![Name::Param(*at)],
        });
    }
    all.retain(|product| product.times != 0);
    Some(Sum(all))
}
