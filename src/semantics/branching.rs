//! The program of a member whose control flow depends on the results of its atomic operations.
//!
//! After such an operation the program has one branch for each value that may be returned. [`super::possible_results`] computes
//! these values. A value that is never returned costs a branch that no run takes. If an expression is undefined for a
//! value, such as an index outside its extent, the branch has an operation that is undefined when a run executes it.
//!
//! **Points.** The unfolding stops at a *point* after every operation that returns a value, and at the end of every block.
//! A point consists of the remaining statements and the values of their live variables. Branches with equal points are
//! merged. So the number of points does not double with each operation. It is limited ([`Spent`]).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

use super::data::Touched;
use super::error::Fault;
use super::error::RunError;
use super::instance::CellId;
use super::instance::Next;
use super::instance::Op;
use super::instance::OpKind;
use super::live;
use super::possible_results::PossibleResults;
use super::program::Walker;

/// The most points of all members together, and the most branches after returned values.
const MOST_POINTS: u64 = 1 << 18;
const MOST_WAYS: u64 = 1 << 22;

/// The operations of a member, and for each of them the place where the program continues.
pub(super) type Program = (Vec<Op>, Vec<Next>);

/// The numbers of points and branches so far, of all members and over all repetitions of the unfolding with other
/// returned values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    points: u64,
    ways: u64,
}

impl Spent {
    fn point(&mut self) -> Result<(), Fault> {
        self.points += 1;
        let what = "places behind results of atomic operations";
        within(self.points, MOST_POINTS, what)
    }

    fn ways(&mut self, more: usize) -> Result<(), Fault> {
        self.ways = self.ways.saturating_add(more as u64);
        within(
            self.ways,
            MOST_WAYS,
            "paths that depend on results of atomic operations",
        )
    }
}

fn within(count: u64, limit: u64, what: &'static str) -> Result<(), Fault> {
    match count > limit {
        true => Err(Fault::TooLarge { what, limit }),
        false => Ok(()),
    }
}

/// The fault of a member that starts asynchronous work after such an operation.
const BESIDE: Fault = Fault::BehindResult("asynchronous work on declared data");

/// The position inside a block or a loop.
#[derive(Clone)]
enum Frame<'p> {
    Block {
        stmts: &'p [Stmt],
        at: usize,
    },
    Loop {
        stmt: &'p Stmt,
        var: VarId,
        body: &'p [Stmt],
        values: Rc<Vec<i64>>,
        at: usize,
    },
}

/// What is left to do for a member, and the values of its variables.
#[derive(Clone)]
struct Path<'p> {
    frames: Vec<Frame<'p>>,
    vars: Vec<Option<i64>>,
    /// How often each loop of open order has run.
    runs: BTreeMap<StmtId, usize>,
    /// The last operation that returned a value; none if the path has no branch so far.
    behind: Option<CellId>,
}

/// One frame of what is left to do, in a form that can be compared.
#[derive(PartialEq, Eq, Hash)]
enum Left {
    Block(usize, usize),
    Loop(usize, usize, Rc<Vec<i64>>),
}

/// What is left to do, without the values of the variables: the frames, how often loops of open order have run, and
/// the cell of the last operation that returned a value. An undefined expression is reported at this cell.
type Rest = (Vec<Left>, Vec<(StmtId, usize)>, CellId);

/// The number of a [`Rest`], and the values of the variables that the rest reads.
type Key = (usize, Vec<Option<i64>>);

/// How a point ends after its operations.
enum Exit {
    /// The member has finished.
    End,
    /// Continues at another point.
    To(usize),
    /// An operation that returns something, and the point after each value.
    By(Op, Vec<(i64, usize)>),
}

struct Point {
    ops: Vec<Op>,
    exit: Exit,
}

struct Builder<'w, 'a, 'p> {
    walker: &'w mut Walker<'a>,
    returned: &'w PossibleResults,
    points: Vec<Option<Point>>,
    known: FxHashMap<Key, usize>,
    rests: FxHashMap<Rest, usize>,
    open: Vec<(usize, Path<'p>)>,
    /// Each set of accesses that occurs, by its number.
    touched: Vec<Vec<Touched>>,
    numbers: FxHashMap<Vec<Touched>, u32>,
}

/// The program of the member at hand. Its indices have their values already.
pub(super) fn program(
    walker: &mut Walker<'_>,
    body: &[Stmt],
    returned: &PossibleResults,
) -> Result<Program, RunError> {
    let mut builder = Builder {
        walker,
        returned,
        points: vec![None],
        known: FxHashMap::default(),
        rests: FxHashMap::default(),
        open: Vec::new(),
        touched: Vec::new(),
        numbers: FxHashMap::default(),
    };
    let start = Path {
        frames: vec![Frame::Block { stmts: body, at: 0 }],
        vars: builder.walker.env.bound(),
        runs: BTreeMap::new(),
        behind: None,
    };
    builder.open.push((0, start));
    while let Some((number, path)) = builder.open.pop() {
        let point = builder.walk(path)?;
        builder.points[number] = Some(point);
    }
    let touched = builder.touched;
    let (ops, next) = joined(builder.points);
    if let Some(data) = &mut walker.data {
        data.branching(&ops, &touched)?;
    }
    Ok((ops, next))
}

impl<'p> Builder<'_, '_, 'p> {
    /// Follows the statements from a point up to the next ones.
    fn walk(&mut self, mut path: Path<'p>) -> Result<Point, RunError> {
        self.walker.env.rebind(&path.vars);
        self.walker.resume(std::mem::take(&mut path.runs));
        let exit = match self.steps(&mut path) {
            Ok(exit) => exit,
            Err((error, stmt)) => match (path.behind, &error.fault) {
                (None, _)
                | (_, Fault::TooLarge { .. } | Fault::OutOfTime | Fault::BehindResult(_)) => {
                    return Err(error);
                }
                // The input's order was made for the row that results from another returned value.
                (Some(_), Fault::BadOrder { .. }) => {
                    let fault = Fault::BehindResult("a row whose entries depend on it");
                    return Err(RunError { fault, ..error });
                }
                (Some(cell), _) => {
                    let undefined = Op {
                        stmt,
                        cell,
                        kind: OpKind::NotDefined,
                    };
                    Exit::By(undefined, Vec::new())
                }
            },
        };
        let ops = self.walker.taken();
        Ok(Point { ops, exit })
    }

    fn steps(&mut self, path: &mut Path<'p>) -> Result<Exit, (RunError, StmtId)> {
        loop {
            let Some(frame) = path.frames.last_mut() else {
                return Ok(Exit::End);
            };
            let stmt = match frame {
                Frame::Block { stmts, at } => match stmts.get(*at) {
                    Some(stmt) => {
                        *at += 1;
                        stmt
                    }
                    None => {
                        path.frames.pop();
                        if path.behind.is_some() && !path.frames.is_empty() {
                            return self.block_end(path);
                        }
                        continue;
                    }
                },
                Frame::Loop {
                    stmt,
                    var,
                    body,
                    values,
                    at,
                } => {
                    let (stmt, var, body) = (*stmt, *var, *body);
                    match values.get(*at) {
                        Some(value) => {
                            *at += 1;
                            let env = &mut self.walker.env;
                            let bound = env.tick().and_then(|()| env.set(var, *value));
                            bound.map_err(|f| (RunError::at(f, stmt.span), stmt.id))?;
                            path.frames.push(Frame::Block { stmts: body, at: 0 });
                        }
                        None => {
                            path.frames.pop();
                        }
                    }
                    continue;
                }
            };
            let here = |fault| (RunError::at(fault, stmt.span), stmt.id);
            match &stmt.kind {
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    let holds = self.walker.env.truth(condition).map_err(here)?;
                    let stmts = if holds { then } else { otherwise };
                    path.frames.push(Frame::Block { stmts, at: 0 });
                }
                StmtKind::For { var, over, body } => {
                    let values = self.walker.trips(stmt.id, over).map_err(here)?;
                    path.frames.push(Frame::Loop {
                        stmt,
                        var: *var,
                        body,
                        values: Rc::new(values),
                        at: 0,
                    });
                }
                StmtKind::Return => return Ok(Exit::End),
                StmtKind::Break => {
                    while let Some(Frame::Block { .. }) = path.frames.last() {
                        path.frames.pop();
                    }
                    path.frames.pop();
                    if path.behind.is_some() {
                        return self.block_end(path);
                    }
                }
                StmtKind::Atomic { result, .. } => {
                    self.walker.simple(stmt).map_err(here)?;
                    let Some(op) = self.walker.last() else {
                        return Ok(Exit::End);
                    };
                    path.behind = Some(op.cell);
                    let ways = self.ways(path, *result, op.cell).map_err(here)?;
                    return Ok(Exit::By(op, ways));
                }
                StmtKind::Access { work, .. } => {
                    self.access(stmt, work, path.behind).map_err(here)?;
                }
                StmtKind::Copy { touches, .. }
                    if self.walker.data.is_some() && !touches.is_empty() =>
                {
                    return Err(here(BESIDE));
                }
                _ => self.walker.simple(stmt).map_err(here)?,
            }
        }
    }

    /// Makes an operation of what a member reads and writes by itself, so that each access has a place on every path.
    /// Asynchronous work is not followed.
    fn access(&mut self, stmt: &Stmt, work: &Work, behind: Option<CellId>) -> Result<(), Fault> {
        let env = &mut self.walker.env;
        env.tick()?;
        let touches = match work {
            Work::Now(touches) => touches,
            Work::Fence(_) | Work::Assert(_) => return Ok(()),
            Work::Async(touches) if touches.is_empty() => return Ok(()),
            _ if self.walker.data.is_some() => return Err(BESIDE),
            _ => return Ok(()),
        };
        let mut all = Vec::with_capacity(touches.len());
        for touch in touches {
            let index = env.values(&touch.index)?;
            let extents = self.walker.extents.get(touch.buffer.0).cloned().flatten();
            let outside = extents.is_some_and(|extents| {
                let mut pairs = index.iter().zip(&extents);
                pairs.any(|(index, extent)| !(0..*extent).contains(index))
            });
            if outside && behind.is_some() {
                return Err(Fault::Unset("data outside its extents".to_owned()));
            }
            all.push((touch.buffer.0, index, touch.write));
        }
        if all.is_empty() {
            return Ok(());
        }
        if self.walker.cells.is_empty() {
            return Err(Fault::BehindResult("data"));
        }
        let number = match self.numbers.get(&all) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.touched.len()).map_err(|_| Fault::Overflow)?;
                self.touched.push(all.clone());
                self.numbers.insert(all, number);
                number
            }
        };
        self.walker.push(Op {
            stmt: stmt.id,
            cell: behind.unwrap_or(CellId(0)),
            kind: OpKind::Touch(number),
        })
    }

    /// The point after a block.
    fn block_end(&mut self, path: &Path<'p>) -> Result<Exit, (RunError, StmtId)> {
        let rest = self.rest(path);
        let point = self.point(path, &rest);
        // No statement of the block caused this fault.
        point
            .map(Exit::To)
            .map_err(|fault| (RunError::from(fault), StmtId(0)))
    }

    /// The points after an operation on a cell, for each value that it may return.
    fn ways(
        &mut self,
        path: &Path<'p>,
        result: VarId,
        cell: CellId,
    ) -> Result<Vec<(i64, usize)>, Fault> {
        let values = self.returned.of(cell);
        self.walker.spent.ways(values.len())?;
        let rest = self.rest(path);
        let matters = rest.1.contains(&result);
        let mut ways: Vec<(i64, usize)> = Vec::with_capacity(values.len());
        for value in values {
            let point = match ways.last() {
                Some((_, same)) if !matters => *same,
                _ => {
                    self.walker.env.tick()?;
                    self.walker.env.set(result, *value)?;
                    self.point(path, &rest)?
                }
            };
            ways.push((*value, point));
        }
        Ok(ways)
    }

    /// The number of what a path has left to do, and the variables that this rest reads.
    fn rest(&mut self, path: &Path<'p>) -> (usize, BTreeSet<VarId>) {
        let read = live::before(path.frames.iter().map(|frame| match frame {
            Frame::Block { stmts, at } => live::Rest::Block(&stmts[*at..]),
            Frame::Loop { var, body, .. } => live::Rest::Loop(*var, body),
        }));
        let left = path.frames.iter().map(|frame| match frame {
            Frame::Block { stmts, at } => Left::Block(stmts.as_ptr() as usize, *at),
            Frame::Loop {
                body, values, at, ..
            } => Left::Loop(body.as_ptr() as usize, *at, Rc::clone(values)),
        });
        let runs = self.walker.suspended();
        let counted = runs.iter().map(|(stmt, run)| (*stmt, *run)).collect();
        let behind = path.behind.unwrap_or(CellId(0));
        let new = self.rests.len();
        let number = self.rests.entry((left.collect(), counted, behind));
        (*number.or_insert(new), read)
    }

    /// The point for what a path has left to do, at the current values of the variables. It is new unless an equal
    /// point is known.
    fn point(
        &mut self,
        path: &Path<'p>,
        (rest, read): &(usize, BTreeSet<VarId>),
    ) -> Result<usize, Fault> {
        let mut vars = self.walker.env.bound();
        for (var, value) in vars.iter_mut().enumerate() {
            if !read.contains(&VarId(var)) {
                *value = None;
            }
        }
        let number = self.points.len();
        match self.known.entry((*rest, vars)) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(new) => {
                self.walker.spent.point()?;
                let path = Path {
                    frames: path.frames.clone(),
                    vars: new.key().1.clone(),
                    runs: self.walker.suspended(),
                    behind: path.behind,
                };
                new.insert(number);
                self.open.push((number, path));
            }
        }
        self.points.push(None);
        Ok(number)
    }
}

/// Merges points: equal operations with equal successors become one operation, and every edge leads to a later place.
/// The first operation of the member is at place 0, and its end is after the last operation.
fn joined(points: Vec<Option<Point>>) -> Program {
    /// The end of the program, before places are numbered from the front.
    const END: u32 = u32::MAX;
    let mut nodes: Vec<(Op, Next)> = Vec::new();
    let mut known: FxHashMap<(Op, Next), u32> = FxHashMap::default();
    let mut first: Vec<Option<u32>> = vec![None; points.len()];
    let mut open = vec![(0, false)];
    while let Some((number, ready)) = open.pop() {
        let Some(point) = points.get(number).and_then(Option::as_ref) else {
            continue;
        };
        if first[number].is_some() {
            continue;
        }
        if !ready {
            open.push((number, true));
            match &point.exit {
                Exit::End => {}
                Exit::To(next) => open.push((*next, false)),
                Exit::By(_, ways) => open.extend(ways.iter().map(|(_, next)| (*next, false))),
            }
            continue;
        }
        let place = |next: &usize| first[*next].unwrap_or(END);
        let mut add = |op: Op, next: Next| {
            *known.entry((op, next)).or_insert_with_key(|(op, next)| {
                nodes.push((*op, next.clone()));
                nodes.len() as u32 - 1
            })
        };
        let mut at = match &point.exit {
            Exit::End => END,
            Exit::To(next) => place(next),
            Exit::By(op, ways) => {
                let ways = ways.iter().map(|(value, next)| (*value, place(next)));
                add(*op, Next::By(ways.collect()))
            }
        };
        for op in point.ops.iter().rev() {
            at = add(*op, Next::At(at));
        }
        first[number] = Some(at);
    }
    // A node was made after all nodes that it leads to. So the first operation of the member was made last.
    let count = nodes.len() as u32;
    let turned = |place: u32| match place {
        END => count,
        place => count - 1 - place,
    };
    let (ops, next) = nodes
        .into_iter()
        .rev()
        .unzip::<Op, Next, Vec<Op>, Vec<Next>>();
    let next = next.into_iter().map(|next| match next {
        Next::At(place) => Next::At(turned(place)),
        Next::By(ways) => {
            let ways = ways.into_iter();
            Next::By(ways.map(|(value, place)| (value, turned(place))).collect())
        }
    });
    (ops, next.collect())
}
