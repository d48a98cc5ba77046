//! GPU architectures, and the newest one that a source file asks for.
//!
//! A file asks for an architecture by name (`sm_90a`, `__CUDA_ARCH__ >= 900`, `cutlass::arch::Sm90`),
//! or by instructions that older architectures lack. If it uses instructions of one family only, this
//! has precedence over names.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::str::FromStr;

/// An architecture, as in `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    number: u32,
    /// `a` or `f`, if code may use instructions that only this generation has.
    suffix: Option<char>,
}

impl Arch {
    const fn plain(number: u32) -> Arch {
        Arch {
            number,
            suffix: None,
        }
    }

    const fn specific(number: u32) -> Arch {
        Arch {
            number,
            suffix: Some('a'),
        }
    }

    /// Its number, as in 90 for `sm_90a`.
    pub fn number(self) -> u32 {
        self.number
    }
}

/// The architecture for a file that asks for none: the oldest one with all current barriers.
pub const USUAL: Arch = Arch::plain(90);

/// The numbers that count as architectures.
const KNOWN: std::ops::RangeInclusive<u32> = 50..=139;

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Arch, String> {
        let number = text
            .strip_prefix("sm_")
            .or_else(|| text.strip_prefix("compute_"))
            .unwrap_or(text);
        named(number)
            .filter(|(_, rest)| rest.is_empty())
            .map(|(arch, _)| arch)
            .ok_or_else(|| "expected an architecture, as in sm_90a".to_owned())
    }
}

/// The architecture that a text begins with, and the rest.
fn named(text: &str) -> Option<(Arch, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(digits)?;
    let number = digits.parse().ok().filter(|n| KNOWN.contains(n))?;
    let suffix = rest.chars().next().filter(|c| matches!(c, 'a' | 'f'));
    let rest = suffix.map_or(Some(rest), |c| rest.strip_prefix(c))?;
    // `sm_90ab` and `sm_90_` are names of something else.
    let over = |c: char| !c.is_ascii_alphanumeric();
    rest.chars()
        .next()
        .is_none_or(over)
        .then_some((Arch { number, suffix }, rest))
}

/// The most files that are read: the source file, and the files that it includes, directly or not.
const MOST_FILES: usize = 64;

/// The most bytes that are read of each file.
const MOST_BYTES: u64 = 4 << 20;

/// The newest architecture that is asked for in a file or in the files that it includes in quotes.
pub fn asked(path: &Path) -> Option<Arch> {
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let mut open = vec![path.to_owned()];
    let mut asks = Asks::default();
    while let Some(path) = open.pop() {
        if seen.len() >= MOST_FILES || !seen.insert(path.clone()) {
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let mut bytes = Vec::new();
        if file.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        asks.read(&text);
        let folder = path.parent().unwrap_or(Path::new(""));
        open.extend(included(&text).map(|name| folder.join(name)));
    }
    asks.newest()
}

/// The files that a text includes in quotes.
fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = rest.strip_prefix("include")?.trim_start();
        Some(rest.strip_prefix('"')?.split_once('"')?.0)
    })
}

/// The requirements found in the texts.
#[derive(Default)]
struct Asks {
    /// The newest architecture that is named.
    names: Option<Arch>,
    /// The oldest architecture that has all instructions.
    least: Option<Arch>,
    /// Whether there are instructions that only Hopper has.
    hopper: bool,
    /// Whether there are instructions that only Blackwell's data centre GPUs have.
    blackwell: bool,
}

/// Instructions, and the oldest architecture that has them.
const INSTRUCTIONS: [(&str, Arch); 8] = [
    ("setmaxnreg", Arch::specific(90)),
    ("mbarrier.", Arch::plain(90)),
    ("cp.async.bulk", Arch::plain(90)),
    ("barrier.cluster", Arch::plain(90)),
    ("mapa.", Arch::plain(90)),
    ("__cluster_dims__", Arch::plain(90)),
    ("griddepcontrol", Arch::plain(90)),
    ("cp.async", Arch::plain(80)),
];

impl Asks {
    fn read(&mut self, text: &str) {
        self.hopper |= text.contains("wgmma.");
        self.blackwell |= text.contains("tcgen05.");
        for (words, arch) in INSTRUCTIONS {
            if text.contains(words) {
                self.least = self.least.max(Some(arch));
            }
        }
        for arch in names(text) {
            self.names = self.names.max(Some(arch));
        }
    }

    fn newest(&self) -> Option<Arch> {
        let first = Arch::specific(100);
        if self.blackwell {
            let named = self.names.filter(|named| named.number > first.number);
            return Some(named.unwrap_or(first));
        }
        if self.hopper {
            return Some(Arch::specific(90));
        }
        self.names.max(self.least)
    }
}

/// The architectures that a text names.
fn names(text: &str) -> Vec<Arch> {
    let mut all = Vec::new();
    for prefix in ["sm_", "compute_"] {
        all.extend(after(text, prefix).filter_map(|rest| Some(named(rest)?.0)));
    }
    // Macros and tags for one generation: `__CUDA_ARCH_FEAT_SM90_ALL`, and the tags of CUTLASS.
    for prefix in ["__CUDA_ARCH_FEAT_SM", "arch::Sm"] {
        let numbers = after(text, prefix).filter_map(number);
        all.extend(numbers.map(Arch::specific));
    }
    let compared = after(text, "__CUDA_ARCH__").filter_map(|rest| {
        let rest = rest.trim_start();
        let rest = [">=", "==", ">"]
            .iter()
            .find_map(|c| rest.strip_prefix(*c))?;
        let digits = rest.trim_start();
        let end = digits.bytes().take_while(u8::is_ascii_digit).count();
        let value: u32 = digits.get(..end)?.parse().ok()?;
        Some(value / 10).filter(|n| KNOWN.contains(n))
    });
    all.extend(compared.map(Arch::plain));
    all
}

fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits)?
        .parse()
        .ok()
        .filter(|n| KNOWN.contains(n))
}

/// The text after each occurrence of `beginning` at the start of a word.
fn after<'t>(text: &'t str, beginning: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(beginning).filter_map(move |(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        let inside = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        (!inside).then(|| text.get(at + beginning.len()..))?
    })
}
