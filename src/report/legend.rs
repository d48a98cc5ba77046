//! Explains names of a recovered protocol: `warps1_3[0]` is warp 1, and `param_2` is the third parameter of the
//! kernel.
//!
//! The author of the kernel has never seen these names. A name is explained only if the protocol declares it in the
//! form that recovery uses. So a name that the author chose is not explained.

/// How many names are explained.
const MOST: usize = 4;

/// Explains the names in a sentence that need it, in the order in which they occur.
pub fn legend(sentence: &str, source: &str) -> Option<String> {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '[' | ']' | '.');
    let mut known: Vec<&str> = Vec::new();
    let mut meanings: Vec<String> = Vec::new();
    for name in sentence.split(|c| !inside(c)) {
        let name = name.trim_matches('.');
        if known.contains(&name) {
            continue;
        }
        known.push(name);
        let meaning = warps(name, source).or_else(|| parameter(name, source));
        meanings.extend(meaning.map(|meaning| format!("{name} is {meaning}")));
    }
    meanings.truncate(MOST);
    (!meanings.is_empty()).then(|| meanings.join("; "))
}

/// Explains a member of a role that stands for several warps.
fn warps(name: &str, source: &str) -> Option<String> {
    let (role, index) = name.strip_suffix(']')?.split_once('[')?;
    let (cta, rest) = match role.strip_prefix("cta").and_then(|r| r.split_once('_')) {
        Some((rank, rest)) => (Some(rank.parse::<u32>().ok()?), rest),
        None => (None, role),
    };
    let (first, last) = rest.strip_prefix("warps")?.split_once('_')?;
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    let count = last.checked_sub(first)?.checked_add(1)?;
    // Other roles have other indices, or warps that are not consecutive.
    if !source.contains(&format!("\nrole {role}[w in 0..{count}] warp")) {
        return None;
    }
    let warp = |index: &str| first.checked_add(index.parse().ok()?);
    let which = match index.split_once("..") {
        None => format!("warp {}", warp(index)?),
        Some((from, to)) => {
            format!("warps {} to {}", warp(from)?, warp(to)?.checked_sub(1)?)
        }
    };
    Some(match cta {
        Some(rank) => format!("{which} of CTA {rank} of the cluster"),
        None => which,
    })
}

/// Explains a parameter that is named by its number.
fn parameter(name: &str, source: &str) -> Option<String> {
    let number: u32 = name.strip_prefix("param_")?.parse().ok()?;
    source
        .contains(&format!("\nparam {name} "))
        .then(|| format!("parameter {} of the kernel", number.saturating_add(1)))
}
