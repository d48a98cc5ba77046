//! Maps addresses of mbarriers in shared memory to elements of declared arrays.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::program::Program;
use super::program::each;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Sum;

/// The most mbarriers that one address may mean.
const MOST_ELEMENTS: i128 = 2048;

/// An address: which CTA of the cluster, what it is based on, and the bytes from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Place {
    pub rank: u32,
    pub base: String,
    pub offset: Sum,
}

/// Mbarriers at equal distances that are used together.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Family {
    pub name: String,
    pub base: String,
    /// The only CTA of the cluster that it is in, where others expect other numbers of arrivals at the same place.
    pub rank: Option<u32>,
    pub elements: Vec<i128>,
    pub stride: i128,
    /// The expected arrivals, in groups.
    pub arrivals: i128,
    /// How many arrivals are one group.
    pub group: i128,
    /// Whether it is there from the beginning.
    pub ready: bool,
    /// Whether everybody waits for the phase of their own arrival, as at a split-phase barrier.
    pub split: bool,
}

impl Family {
    /// Whether its mbarriers are those of this variable, in this CTA.
    pub fn lies_at(&self, place: &Place) -> bool {
        place.base == self.base && self.rank.is_none_or(|rank| rank == place.rank)
    }

    /// The index of an element; none where there is only one.
    pub fn index(&self, offset: &Sum) -> Option<Sum> {
        if self.elements.len() == 1 {
            return None;
        }
        let first = self.elements.first().copied().unwrap_or(0);
        offset.plus_constant(-first).exactly_over(self.stride)
    }
}

/// The mbarrier that an action is about.
pub(in crate::ptx) fn barrier(action: &Action) -> Option<&Sum> {
    match action {
        Action::Init(a, _)
        | Action::Inval(a)
        | Action::ArrivePart(a, ..)
        | Action::Drop(a)
        | Action::Arrive(a, _)
        | Action::ExpectTx(a, _)
        | Action::ArriveExpectTx(a, _)
        | Action::CompleteTx(a, _)
        | Action::Copy(a, ..)
        | Action::Commit(a, _)
        | Action::Wait(a, _)
        | Action::WaitOwn(a) => Some(a),
        _ => None,
    }
}

/// Takes an address apart.
pub(in crate::ptx) fn place(
    address: &Sum,
    own: u32,
    unknowns: &Unknowns,
    at: usize,
) -> Result<Place, Obstacle> {
    let (mut rank, mut base, mut offset) = (own, None, Sum::of(address.constant));
    for (atom, factor) in &address.terms {
        let meaning = match atom {
            Atom::Unknown(u) => unknowns.meaning(*u),
            _ => None,
        };
        match meaning {
            Some(Meaning::Shared(name)) if *factor == 1 && base.is_none() => {
                base = Some(name.clone());
            }
            Some(Meaning::Peer(peer)) if *factor == 1 => rank = *peer,
            _ => offset = offset.plus_times(&Sum::atom(atom.clone()), *factor),
        }
    }
    offset.constant = near(offset.constant);
    match base {
        Some(base) => Ok(Place { rank, base, offset }),
        None => Err(Obstacle::new(
            at,
            "the address of this mbarrier is not based on a shared variable",
        )),
    }
}

/// A number of 32 bits nearest to 0: what is taken away from an address may have been added as its complement.
pub(in crate::ptx) fn near(offset: i128) -> i128 {
    (offset + (1 << 31)).rem_euclid(1 << 32) - (1 << 31)
}

fn elements(place: &Place, unknowns: &Unknowns, at: usize) -> Result<Vec<i128>, Obstacle> {
    let (low, high) = unknowns.1.range(&place.offset);
    let step = place.offset.terms.values().fold(0, |g, c| gcd(g, c.abs()));
    if step == 0 {
        return Ok(vec![place.offset.constant]);
    }
    let low = low + (place.offset.constant - low).rem_euclid(step);
    if high < low || (high - low) / step >= MOST_ELEMENTS {
        let reason = "which mbarrier this address means is not followed: its offset has no bounds";
        return Err(Obstacle::new(at, reason));
    }
    Ok((0..=(high - low) / step).map(|k| low + k * step).collect())
}

/// Finds the arrays of mbarriers.
pub(in crate::ptx) fn families(
    programs: &[Program],
    unknowns: &Unknowns,
) -> Result<Vec<Family>, Obstacle> {
    // Which elements are used together.
    let mut together: BTreeMap<(String, i128), (String, i128)> = BTreeMap::new();
    fn root(map: &BTreeMap<(String, i128), (String, i128)>, of: &(String, i128)) -> (String, i128) {
        let mut at = of.clone();
        while let Some(next) = map.get(&at)
            && *next != at
        {
            at = next.clone();
        }
        at
    }
    let mut found = Vec::new();
    for program in programs {
        each(&program.statements, &mut |s| {
            if let Some(address) = barrier(&s.action) {
                found.push((program.rank, address.clone(), s));
            }
        });
    }
    for (rank, address, statement) in &found {
        let place = place(address, *rank, unknowns, statement.at)?;
        let all = elements(&place, unknowns, statement.at)?;
        let key = |e: &i128| (place.base.clone(), *e);
        let Some(first) = all.first().map(key) else {
            continue;
        };
        together.entry(first.clone()).or_insert(first.clone());
        let first = root(&together, &first);
        for element in all.iter().map(key) {
            together.entry(element.clone()).or_insert(element.clone());
            let other = root(&together, &element);
            together.insert(other, first.clone());
        }
    }
    let mut groups: BTreeMap<(String, i128), Vec<i128>> = BTreeMap::new();
    for key in together.keys() {
        groups.entry(root(&together, key)).or_default().push(key.1);
    }
    let mut families = Vec::new();
    let mut names = BTreeSet::new();
    for ((base, _), mut elements) in groups {
        elements.sort_unstable();
        let stride = match elements.as_slice() {
            [a, b, ..] => b - a,
            _ => 8,
        };
        let at = found.first().map_or(0, |(_, _, s)| s.at);
        if elements.windows(2).any(|w| w[1] - w[0] != stride) || stride % 8 != 0 {
            let reason = format!("the mbarriers in `{base}` do not lie at equal distances");
            return Err(Obstacle::new(at, reason));
        }
        let name = name(&base, &elements, &mut names);
        let family = Family {
            name,
            base,
            rank: None,
            elements,
            stride,
            arrivals: 1,
            group: 1,
            ready: false,
            split: false,
        };
        for mut family in in_ctas(family, &found, unknowns, &mut names)? {
            count(&mut family, &found, unknowns)?;
            families.push(family);
        }
    }
    Ok(families)
}

/// A family, or one for each CTA of the cluster where they expect different numbers of arrivals, as those at the edges of
/// a row of neighbours do. Which CTA an operation reaches is known of each, so nothing else changes.
fn in_ctas(
    family: Family,
    found: &Uses<'_>,
    unknowns: &Unknowns,
    names: &mut BTreeSet<String>,
) -> Result<Vec<Family>, Obstacle> {
    let mut expected: BTreeMap<u32, BTreeSet<i128>> = BTreeMap::new();
    for (rank, address, statement) in found {
        let place = place(address, *rank, unknowns, statement.at)?;
        if !family.reached(&place, unknowns, statement.at)? {
            continue;
        }
        let counts = expected.entry(place.rank).or_default();
        if let Action::Init(_, n) = &statement.action {
            counts.insert(*n);
        }
    }
    let mut counts = expected.values().filter(|counts| !counts.is_empty());
    let first = counts.next();
    if counts.all(|counts| Some(counts) == first) {
        return Ok(vec![family]);
    }
    let of = |rank: &u32| Family {
        name: named(
            format!("{}_cta{rank}", family.name),
            &family.elements,
            names,
        ),
        rank: Some(*rank),
        ..family.clone()
    };
    Ok(expected.keys().map(of).collect())
}

type Uses<'s> = [(u32, Sum, &'s Statement)];

/// How many arrivals a family expects, and in which groups they come.
fn count(family: &mut Family, found: &Uses<'_>, unknowns: &Unknowns) -> Result<(), Obstacle> {
    let mut expected: Option<i128> = None;
    let mut used = None;
    let mut waited = false;
    let mut group = 0;
    for (rank, address, statement) in found {
        let place = place(address, *rank, unknowns, statement.at)?;
        if !family.reached(&place, unknowns, statement.at)? {
            continue;
        }
        used = used.or(Some(statement.at));
        waited |= matches!(statement.action, Action::Wait(..) | Action::WaitOwn(_));
        match &statement.action {
            Action::Init(_, n) => {
                if expected.is_some_and(|e| e != *n) {
                    let reason = "mbarriers that are used through one address expect different \
                                  numbers of arrivals";
                    return Err(Obstacle::new(statement.at, reason));
                }
                if *n < 1 {
                    return Err(Obstacle::new(
                        statement.at,
                        "the mbarrier expects no arrival",
                    ));
                }
                expected = Some(*n);
            }
            Action::Arrive(_, n) | Action::ArrivePart(_, n, _) | Action::Commit(_, n) => {
                group = gcd(group, *n)
            }
            Action::ArriveExpectTx(..) => group = 1,
            _ => {}
        }
    }
    // Whoever waits there shows that it is not initialised: the wait never ends.
    if let (None, false, Some(at)) = (expected, waited, used) {
        let reason = "an mbarrier is used that is never initialised";
        return Err(Obstacle::new(at, reason).misused());
    }
    let expected = expected.unwrap_or(1);
    if group > 1 && expected % group == 0 {
        family.group = group;
    }
    family.arrivals = expected / family.group;
    Ok(())
}

/// Finds the families at which everybody waits for their own arrival. Each arrival has to be followed
/// by its wait, and nothing else may be done there.
pub(in crate::ptx) fn splits(
    families: &mut [Family],
    programs: &[Program],
    unknowns: &Unknowns,
) -> Result<(), Obstacle> {
    for program in programs {
        refuse_left_over(program)?;
    }
    for family in families {
        let mut waits = None;
        for program in programs {
            each(&program.statements, &mut |s| {
                if let Action::WaitOwn(address) = &s.action
                    && family.holds(address, program.rank, unknowns)
                {
                    waits = Some(s.at);
                }
            });
        }
        let Some(at) = waits else { continue };
        family.split = true;
        let alone = programs
            .iter()
            .all(|p| family.alternates(&p.statements, p.rank, unknowns));
        if !alone || !family.ready {
            let reason = "waiting by a phase token is followed only where the mbarrier is initialised before a \
                          barrier of all threads, who waits so does it after each arrival there, all who arrive \
                          are no more than it expects, and others arrive at most once more often";
            return Err(Obstacle::new(at, reason));
        }
    }
    Ok(())
}

/// Refuses arrivals that nothing has been made of.
fn refuse_left_over(program: &Program) -> Result<(), Obstacle> {
    let mut found = None;
    each(&program.statements, &mut |s| match s.action {
        Action::ArrivePart(..) => {
            found = found.or(Some((
                s.at,
                "that this does not complete the phase is known only where the same threads arrive right behind it",
            )));
        }
        Action::Drop(_) => {
            found = found.or(Some((
                s.at,
                "this is followed only where it is the last that its warp does, everybody waits by phase token \
                 after each arrival, and the others arrive equally often",
            )));
        }
        _ => {}
    });
    found.map_or(Ok(()), |(at, reason)| Err(Obstacle::new(at, reason)))
}

impl Family {
    /// Whether an operation at a place is one on its mbarriers.
    fn reached(&self, place: &Place, unknowns: &Unknowns, at: usize) -> Result<bool, Obstacle> {
        let first = elements(place, unknowns, at)?.first().copied();
        Ok(self.lies_at(place) && first.is_some_and(|e| self.elements.contains(&e)))
    }

    /// Whether an address may be one of its mbarriers.
    pub fn holds(&self, address: &Sum, rank: u32, unknowns: &Unknowns) -> bool {
        let Ok(place) = place(address, rank, unknowns, 0) else {
            return true;
        };
        let (low, high) = unknowns.1.range(&place.offset);
        let (first, last) = (self.elements.first(), self.elements.last());
        self.lies_at(&place) && first.is_some_and(|f| *f <= high) && last.is_some_and(|l| low <= *l)
    }

    /// Whether arrivals and waits for them take turns in each block.
    pub fn alternates(&self, statements: &[Statement], rank: u32, unknowns: &Unknowns) -> bool {
        let mut open: Option<&Sum> = None;
        for statement in statements {
            match &statement.action {
                Action::For(_, _, body) => {
                    if open.is_some() || !self.alternates(body, rank, unknowns) {
                        return false;
                    }
                }
                Action::If(_, yes, no) => {
                    let both =
                        self.alternates(yes, rank, unknowns) && self.alternates(no, rank, unknowns);
                    if open.is_some() || !both {
                        return false;
                    }
                }
                action => {
                    let Some(address) = barrier(action).filter(|a| self.holds(a, rank, unknowns))
                    else {
                        continue;
                    };
                    match action {
                        Action::Init(..) => {}
                        Action::Arrive(_, n) if open.is_none() && *n == self.group => {
                            open = Some(address);
                        }
                        Action::WaitOwn(_) if open == Some(address) => open = None,
                        _ => return false,
                    }
                }
            }
        }
        open.is_none()
    }
}

/// A readable name: of a mangled one the last part.
fn name(base: &str, elements: &[i128], taken: &mut BTreeSet<String>) -> String {
    named(readable(base), elements, taken)
}

/// A name that nothing else has.
fn named(mut name: String, elements: &[i128], taken: &mut BTreeSet<String>) -> String {
    if !taken.insert(name.clone()) {
        name = format!("{name}_{}", elements.first().copied().unwrap_or(0));
        while !taken.insert(name.clone()) {
            name.push('_');
        }
    }
    name
}

pub(in crate::ptx) fn readable(symbol: &str) -> String {
    // Words of the language, and names that this file gives, are kept apart.
    format!("{}_bar", clean_symbol(symbol)).replace("_bar_bar", "_bar")
}

/// The name of a variable, of a mangled one the last part, as a word of the language.
pub(in crate::ptx) fn clean_symbol(symbol: &str) -> String {
    let bytes = symbol.as_bytes();
    let mut last = symbol;
    if symbol.starts_with("_Z") {
        // <length><name> pieces; the last one that fits names the variable.
        for start in 0..bytes.len() {
            if !bytes[start].is_ascii_digit() || (start > 0 && bytes[start - 1].is_ascii_digit()) {
                continue;
            }
            let digits: String = symbol[start..]
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            let from = start + digits.len();
            if let Ok(length) = digits.parse::<usize>()
                && let Some(piece) = symbol.get(from..from.saturating_add(length))
                && piece.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && piece
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && (from + length == symbol.len() || symbol[from + length..].starts_with('_'))
            {
                last = piece;
            }
        }
    }
    let clean: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let clean = clean.trim_matches('_');
    if clean.is_empty() { "barrier" } else { clean }.to_owned()
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
