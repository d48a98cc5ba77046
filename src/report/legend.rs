//! What the names of a recovered protocol stand for: `warps1_3[0]` is warp 1, `param_2` the third
//! parameter of the kernel.
//!
//! Whoever wrote the kernel has never seen these names. Only what the protocol declares in the way of
//! recovered protocols is explained, so a name that the author chose is left alone.

/// How many names are explained.
const MOST: usize = 4;

/// The names in a sentence that need a word, explained in the order in which they occur.
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

/// Members of a role that stands for several warps.
fn warps(name: &str, source: &str) -> Option<String> {
    let (role, index) = name.strip_suffix(']')?.split_once('[')?;
    let (cta, rest) = match role.strip_prefix("cta").and_then(|r| r.split_once('_')) {
        Some((rank, rest)) => (Some(rank.parse::<u32>().ok()?), rest),
        None => (None, role),
    };
    let (first, last) = rest.strip_prefix("warps")?.split_once('_')?;
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    let count = last.checked_sub(first)?.checked_add(1)?;
    // Other roles have other indices, or warps that do not follow each other.
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

/// A parameter that the compiler numbered.
fn parameter(name: &str, source: &str) -> Option<String> {
    let number: u32 = name.strip_prefix("param_")?.parse().ok()?;
    source
        .contains(&format!("\nparam {name} "))
        .then(|| format!("parameter {} of the kernel", number.saturating_add(1)))
}
