//! Buffers for what warps read and write in shared memory: every access becomes one to elements of
//! declared buffers, laid out so that two are to one element exactly if they have bytes in common.
//!
//! Accesses of one kind that a warp makes with nothing in between are put together first: nobody can
//! tell in which order they are made.

use std::collections::BTreeMap;

use super::boxes::Boxes;
use super::boxes::written;
use super::engines_apart::only_told;
use super::engines_apart::told_apart;
use super::family::Family;
use super::family::clean_symbol;
use super::family::near;
use super::family::place;
use super::gather::gathered;
use super::layout::Bytes;
use super::layout::Layout;
use super::layout::Use;
use super::layout::gcd;
use super::layout::layout;
use super::members::indexed;
use super::program::Followed;
use super::program::regroup;
use super::reroll::rolled;
use super::stores::taken;
use crate::ptx::operations::access::merged;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::TENSOR;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Area;
use crate::ptx::warp::statement::Cell;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// Accesses of a loop that are written as one.
const MOST_TOGETHER: i128 = 1 << 14;

/// A buffer to be declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Buffer {
    pub name: String,
    pub extents: Vec<i128>,
    /// Whether it is tensor memory.
    pub tensor: bool,
}

/// Puts elements of buffers in the place of bytes.
pub(in crate::ptx) fn resolve(
    followed: &mut Followed,
    families: &[Family],
    shared: &[Variable<'_>],
    launch: &Launch,
) -> Result<Vec<Buffer>, Obstacle> {
    told_apart(&followed.programs)?;
    only_told(&followed.programs, &followed.tensors, &followed.unknowns)?;
    followed.boxes_out = taken(&mut followed.programs, &followed.unknowns)?;
    let boxes = Boxes::of(&followed.programs, &followed.unknowns);
    let unknowns = &followed.unknowns;
    for program in &mut followed.programs {
        let mut open = Vec::new();
        sized(
            &mut program.statements,
            &boxes,
            program.rank,
            &mut open,
            unknowns,
        )?;
        program.statements = together(&program.statements)?;
    }
    let mut memory = Memory {
        unknowns,
        shared,
        launch,
        uses: BTreeMap::new(),
        places: BTreeMap::new(),
    };
    for program in &followed.programs {
        for warp in &program.warps {
            memory.collect(&program.statements, program.rank, *warp)?;
        }
    }
    let buffers = memory.cut(families)?;
    let places = memory.places;
    for program in &mut followed.programs {
        put(
            &mut program.statements,
            program.rank,
            launch,
            unknowns,
            &places,
        )?;
    }
    // What the compiler wrote out several times may be the same now.
    for program in &mut followed.programs {
        let statements = std::mem::take(&mut program.statements);
        let statements = rolled(statements, &mut followed.unknowns);
        program.statements = gathered(statements, &mut followed.unknowns);
    }
    regroup(&mut followed.programs);
    let programs = std::mem::take(&mut followed.programs);
    followed.programs = indexed(programs, &mut followed.unknowns);
    Ok(buffers)
}

/// Says of every copy how much it writes.
fn sized(
    statements: &mut [Statement],
    boxes: &Boxes,
    rank: u32,
    loops: &mut Vec<Unknown>,
    unknowns: &Unknowns,
) -> Result<(), Obstacle> {
    for index in 0..statements.len() {
        let delivered = written(boxes, statements, index, rank, loops, unknowns);
        let statement = &mut statements[index];
        match &mut statement.action {
            Action::For(unknown, _, body) => {
                loops.push(*unknown);
                sized(body, boxes, rank, loops, unknowns)?;
                loops.pop();
            }
            Action::If(_, yes, no) => {
                sized(yes, boxes, rank, loops, unknowns)?;
                sized(no, boxes, rank, loops, unknowns)?;
            }
            Action::Copy(_, _, None) => {
                let reason = "when its copies have landed is not followed";
                return Err(Obstacle::new(statement.at, reason));
            }
            Action::Copy(_, None, Some(area)) => {
                let Some(bytes) = delivered.and_then(|d| d.as_constant()).filter(|b| *b > 0) else {
                    let reason = "how many bytes of what is expected this tensor copy writes is not \
                                  known";
                    return Err(Obstacle::new(statement.at, reason));
                };
                area.bytes = [(0, bytes)].into();
            }
            _ => {}
        }
    }
    Ok(())
}

/// Accesses that nothing stands between, as one for each kind and way to move.
fn together(statements: &[Statement]) -> Result<Vec<Statement>, Obstacle> {
    let mut all: Vec<Statement> = Vec::new();
    let mut run: Vec<Statement> = Vec::new();
    for statement in statements {
        let action = match &statement.action {
            Action::Touch(..) => {
                join(statement.clone(), &mut run, &mut all);
                continue;
            }
            Action::For(unknown, times, body) => {
                let body = together(body)?;
                if let Some(whole) = at_once(*unknown, times, &body) {
                    for one in whole {
                        join(one, &mut run, &mut all);
                    }
                    continue;
                }
                Action::For(*unknown, times.clone(), body)
            }
            Action::If(condition, yes, no) => {
                Action::If(condition.clone(), together(yes)?, together(no)?)
            }
            other => other.clone(),
        };
        all.extend(united(std::mem::take(&mut run)));
        all.push(statement.with(action));
    }
    all.extend(united(run));
    Ok(all)
}

/// Adds an access to those of its kind that stand directly before it.
fn join(one: Statement, run: &mut Vec<Statement>, all: &mut Vec<Statement>) {
    // What a multiplication reads and what it writes is under way together.
    let kind = |s: &Statement| match &s.action {
        Action::Touch(How::Accumulate, _) => Some(How::Take),
        Action::Touch(how, _) => Some(*how),
        _ => None,
    };
    if run.last().is_some_and(|last| kind(last) != kind(&one)) {
        all.extend(united(std::mem::take(run)));
    }
    run.push(one);
}

/// Accesses of one kind with nothing between them: one for each way to move.
fn united(run: Vec<Statement>) -> Vec<Statement> {
    let mut kinds: BTreeMap<(How, Sum), (Statement, Vec<Bytes>)> = BTreeMap::new();
    for statement in run {
        let Action::Touch(how, area) = &statement.action else {
            continue;
        };
        let by = area.address.constant;
        let key = (*how, area.address.plus_constant(-by));
        let bytes: Vec<(i128, i128)> = area.bytes.iter().map(|b| (b.0 + by, b.1 + by)).collect();
        kinds
            .entry(key)
            .or_insert_with(|| (statement, Vec::new()))
            .1
            .extend(bytes);
    }
    let statement = |((how, address), (first, bytes)): ((How, Sum), (Statement, Vec<_>))| {
        let area = Area {
            address,
            bytes: merged(bytes),
            cells: Vec::new(),
        };
        Statement {
            action: Action::Touch(how, area),
            ..first
        }
    };
    kinds.into_iter().map(statement).collect()
}

/// A loop of accesses of one kind that runs a known number of times, without the loop.
fn at_once(unknown: Unknown, times: &Sum, body: &[Statement]) -> Option<Vec<Statement>> {
    let times = times.as_constant()?;
    let mut all = Vec::new();
    let Some(Action::Touch(kind, _)) = body.first().map(|s| &s.action) else {
        return None;
    };
    for statement in body {
        let Action::Touch(how, area) = &statement.action else {
            return None;
        };
        if how != kind {
            return None;
        }
        let (slope, rest) = area.address.split(unknown)?;
        let slope = slope.as_constant()?;
        let count = i128::try_from(area.bytes.len()).unwrap_or(i128::MAX);
        if times.saturating_mul(count) > MOST_TOGETHER {
            return None;
        }
        let bytes = (0..times).flat_map(|i| {
            let by = slope * i;
            area.bytes.iter().map(move |b| (b.0 + by, b.1 + by))
        });
        let area = Area {
            address: rest,
            bytes: merged(bytes.collect()),
            cells: Vec::new(),
        };
        all.push(statement.with(Action::Touch(*how, area)));
    }
    Some(all)
}

/// What moves of an access, and its bytes from the variable on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    moves: Sum,
    bytes: Vec<(i128, i128)>,
}

/// Where an access went: the buffer, how far its slots are apart, and the elements.
#[derive(Debug, Clone)]
struct Found {
    buffer: String,
    step: i128,
    slots: i128,
    classes: usize,
    /// What moves, at its least.
    least: i128,
    pieces: Vec<super::layout::Piece>,
}

type Places = BTreeMap<(String, Spot), Found>;

struct Memory<'m> {
    unknowns: &'m Unknowns,
    shared: &'m [Variable<'m>],
    launch: &'m Launch,
    uses: BTreeMap<String, Vec<(Spot, Use, usize)>>,
    places: Places,
}

impl Memory<'_> {
    fn collect(&mut self, statements: &[Statement], rank: u32, warp: u32) -> Result<(), Obstacle> {
        for statement in statements {
            match &statement.action {
                Action::For(_, _, body) => self.collect(body, rank, warp)?,
                Action::If(_, yes, no) => {
                    self.collect(yes, rank, warp)?;
                    self.collect(no, rank, warp)?;
                }
                Action::Touch(how, area) => {
                    let write = matches!(how, How::Write | How::Fill | How::Accumulate);
                    let own = matches!(how, How::Read | How::Write);
                    self.add(area, write, own.then_some((rank, warp)), rank, statement.at)?;
                }
                Action::Copy(_, _, Some(area)) => self.add(area, true, None, rank, statement.at)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        area: &Area,
        write: bool,
        owner: Option<(u32, u32)>,
        rank: u32,
        at: usize,
    ) -> Result<(), Obstacle> {
        let (base, spot) = spot(area, rank, self.unknowns, at)?;
        let (low, high, step) = reach(&spot.moves, self.unknowns);
        let bytes: Vec<_> = spot.bytes.iter().map(|b| (b.0 + low, b.1 + low)).collect();
        let one = Use {
            bytes,
            reach: high - low,
            step,
            write,
            owner,
        };
        let size = self.shared.iter().find(|v| v.name == base);
        let size = size.map_or(0, |v| i128::from(v.bytes));
        let (from, to) = one.hull();
        // The launch decides how large a variable without a size is.
        let most = if size == 0 { 1 << 20 } else { size };
        if from < 0 || to > most {
            let reason = if one.reach == 0 {
                format!("this access lies outside of `{base}`")
            } else {
                format!(
                    "this access may lie outside of `{base}`: how far its address moves is not \
                     followed"
                )
            };
            return Err(Obstacle::new(at, reason));
        }
        self.uses.entry(base).or_default().push((spot, one, at));
        Ok(())
    }

    /// Lays buffers out.
    fn cut(&mut self, families: &[Family]) -> Result<Vec<Buffer>, Obstacle> {
        let open = |base: &String| {
            let size = self.shared.iter().find(|v| v.name == *base);
            size.is_none_or(|v| v.bytes == 0)
        };
        // Variables whose size the launch decides begin at one place.
        let unsized_ones: Vec<&String> = self.uses.keys().filter(|b| open(b)).collect();
        if let [_, second, ..] = unsized_ones.as_slice() {
            let at = self.uses[*second].first().map_or(0, |(_, _, at)| *at);
            let reason = "two names are used for the shared memory whose size the launch decides";
            return Err(Obstacle::new(at, reason));
        }
        let mut buffers: Vec<Buffer> = Vec::new();
        for (base, mut uses) in std::mem::take(&mut self.uses) {
            uses.sort_by_key(|(_, one, _)| one.hull());
            let mut regions: Vec<Vec<(Spot, Use, usize)>> = Vec::new();
            let mut end = i128::MIN;
            for one in uses {
                let (from, to) = one.1.hull();
                match regions.last_mut() {
                    Some(region) if from < end => region.push(one),
                    _ => regions.push(vec![one]),
                }
                end = end.max(to);
            }
            let several = regions.len() > 1;
            for region in regions {
                // Where nothing is written, nobody minds.
                let at = region.first().map_or(0, |(_, _, at)| *at);
                let uses: Vec<Use> = region.iter().map(|(_, one, _)| one.clone()).collect();
                let from = uses.first().map_or(0, |u| u.hull().0);
                let Some(cut) = layout(&uses) else {
                    let reason = "what is read and written here is too much to be told apart";
                    return Err(Obstacle::new(at, reason));
                };
                self.apart(&cut, &base, families, at)?;
                let tensor = base == TENSOR;
                let mut name = match tensor {
                    true => "tensor_memory".to_owned(),
                    false => format!("smem_{}", clean_symbol(&base)),
                };
                if several {
                    name = format!("{name}_{from}");
                }
                while buffers.iter().any(|b| b.name == name) {
                    name.push('_');
                }
                let mut extents = Vec::new();
                if self.launch.ranks() > 1 {
                    extents.push(i128::from(self.launch.ranks()));
                }
                if cut.slots > 1 {
                    extents.push(cut.slots);
                }
                if cut.classes > 1 {
                    extents.push(i128::try_from(cut.classes).unwrap_or(i128::MAX));
                }
                for ((spot, ..), pieces) in region.iter().zip(&cut.pieces) {
                    let found = Found {
                        buffer: name.clone(),
                        step: cut.step,
                        slots: cut.slots,
                        classes: cut.classes,
                        least: reach(&spot.moves, self.unknowns).0,
                        pieces: pieces.clone(),
                    };
                    self.places.insert((base.clone(), spot.clone()), found);
                }
                buffers.push(Buffer {
                    name,
                    extents,
                    tensor,
                });
            }
        }
        Ok(buffers)
    }

    /// Refuses where data and mbarriers lie in the same place.
    fn apart(
        &self,
        cut: &Layout,
        base: &str,
        families: &[Family],
        at: usize,
    ) -> Result<(), Obstacle> {
        let mut elements = families
            .iter()
            .filter(|f| f.base == base)
            .flat_map(|f| f.elements.iter());
        match elements.find(|e| cut.meets(**e, **e + 8)) {
            None => Ok(()),
            Some(element) => {
                let reason = format!(
                    "data is read or written where an mbarrier lies, at `{base}` + {element}"
                );
                Err(Obstacle::new(at, reason))
            }
        }
    }
}

/// The least and the most of what moves, and what it moves by.
pub(in crate::ptx) fn reach(moves: &Sum, unknowns: &Unknowns) -> (i128, i128, i128) {
    let step = moves.terms.values().fold(0, |g, c| gcd(g, *c));
    if step == 0 {
        return (0, 0, 0);
    }
    let (low, high) = unknowns.1.range(moves);
    // Bounds that are not reached are further away than necessary.
    let low = low + (-low).rem_euclid(step);
    (low, high - high.rem_euclid(step), step)
}

fn spot(
    area: &Area,
    rank: u32,
    unknowns: &Unknowns,
    at: usize,
) -> Result<(String, Spot), Obstacle> {
    let place = place(&area.address, rank, unknowns, at)?;
    let by = place.offset.constant;
    let bytes = area.bytes.iter().map(|b| {
        let first = near(b.0 + by);
        (first, first + b.1 - b.0)
    });
    let bytes = bytes.collect();
    let moves = place.offset.plus_constant(-by);
    Ok((place.base, Spot { moves, bytes }))
}

/// Puts the elements in the place of the bytes.
fn put(
    statements: &mut [Statement],
    rank: u32,
    launch: &Launch,
    unknowns: &Unknowns,
    places: &Places,
) -> Result<(), Obstacle> {
    for statement in statements {
        let at = statement.at;
        match &mut statement.action {
            Action::For(_, _, body) => put(body, rank, launch, unknowns, places)?,
            Action::If(_, yes, no) => {
                put(yes, rank, launch, unknowns, places)?;
                put(no, rank, launch, unknowns, places)?;
            }
            Action::Touch(_, area) | Action::Copy(_, _, Some(area)) => {
                let there = place(&area.address, rank, unknowns, at)?.rank;
                let (base, spot) = spot(area, rank, unknowns, at)?;
                let moves = spot.moves.clone();
                let Some(found) = places.get(&(base, spot)) else {
                    return Err(Obstacle::new(at, "which memory this is is not followed"));
                };
                let slot = moves.plus_constant(-found.least).exactly_over(found.step);
                let Some(slot) = slot.or_else(|| (found.slots == 1).then(|| Sum::of(0))) else {
                    return Err(Obstacle::new(at, "which memory this is is not followed"));
                };
                let cells = found.pieces.iter().map(|piece| {
                    let mut indices = Vec::new();
                    if launch.ranks() > 1 {
                        indices.push(Sum::of(i128::from(there)));
                    }
                    if found.slots > 1 {
                        indices.push(slot.plus_constant(piece.slot));
                    }
                    if found.classes > 1 {
                        let class = i128::try_from(piece.class).unwrap_or(i128::MAX);
                        indices.push(Sum::of(class));
                    }
                    Cell {
                        buffer: found.buffer.clone(),
                        indices,
                        bytes: piece.bytes,
                    }
                });
                *area = Area {
                    address: Sum::of(0),
                    bytes: [].into(),
                    cells: cells.collect(),
                };
            }
            _ => {}
        }
    }
    Ok(())
}
