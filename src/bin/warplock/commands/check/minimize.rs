//! `--minimize`: the objectives that make a counterexample small.

use warplock::encoding::search;
use warplock::encoding::search::Objective;
use warplock::protocol::ParamId;
use warplock::protocol::Protocol;

use crate::failure::Failure;

/// The objectives with these names, followed by all other objectives in their default order.
pub fn objectives(
    protocol: &Protocol,
    order: &[String],
    file: &str,
) -> Result<Vec<Objective>, Failure> {
    let mut all: Vec<Objective> = Vec::new();
    for name in order {
        let objective = named(protocol, name).ok_or_else(|| {
            let mut known: Vec<&str> = protocol.params.iter().map(|p| p.name.as_str()).collect();
            known.extend(["entries", "initial"]);
            Failure::input(format!("{file}: --minimize: nothing named `{name}`"))
                .hint(format!("what can be made small: {}", known.join(", ")))
        })?;
        if all.contains(&objective) {
            return Err(Failure::input(format!("--minimize names `{name}` twice")));
        }
        all.push(objective);
    }
    for objective in search::default_objectives(protocol) {
        if !all.contains(&objective) {
            all.push(objective);
        }
    }
    Ok(all)
}

fn named(protocol: &Protocol, name: &str) -> Option<Objective> {
    let param = protocol.params.iter().position(|p| p.name == name);
    match (param, name) {
        (Some(at), _) => Some(Objective::Param(ParamId(at))),
        (None, "entries") => Some(Objective::Entries),
        (None, "initial") => Some(Objective::Initial),
        (None, _) => None,
    }
}
