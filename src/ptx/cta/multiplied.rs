//! Whether a race with what a warpgroup's multiplication reads is certainly one.
//!
//! `wgmma` is one operation of four warps, so a wait of one of them says that the matrices have been read for all four. In the text,
//! each warp reads them itself, and has to wait itself. A proof of the text is one of the kernel. But where an access is ordered behind
//! the wait of one warp and not of another one, the text has a race that the kernel does not have.
//!
//! That cannot be if behind their waits the warps of the warpgroup tell others only together that they have waited, and write nothing to
//! the variables that are read so. They tell others together at barriers that take arrivals of four warps each time, and at those of one warp, if only that one
//! reads in the text.
//!
//! Source: PTX ISA, "wgmma.wait_group", "wgmma.commit_group".

use std::collections::BTreeSet;

use super::family::Family;
use super::family::place;
use super::program::Followed;
use super::program::Program;
use super::program::each;
use crate::ptx::operations::warpgroups::WARPS;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// Whether a counterexample of the text may be none of the kernel for this reason.
pub(in crate::ptx) fn wait_apart(followed: &Followed, families: &[Family]) -> bool {
    let mut groups: BTreeSet<(u32, u32)> = BTreeSet::new();
    for program in followed.programs.iter().filter(|p| multiplies(p)) {
        groups.extend(
            program
                .warps
                .iter()
                .map(|warp| (program.rank, warp / WARPS)),
        );
    }
    let read = variables(followed);
    groups.iter().any(|(rank, group)| {
        let warps = group * WARPS..(group + 1) * WARPS;
        let programs = followed.programs.iter();
        let own: Vec<&Program> = programs
            .filter(|p| p.rank == *rank && p.warps.iter().any(|w| warps.contains(w)))
            .collect();
        let readers = own.iter().filter(|p| multiplies(p)).flat_map(|p| &p.warps);
        let alone = readers.filter(|w| warps.contains(w)).count() == 1;
        own.iter().any(|program| {
            let mut apart = false;
            // The waits of those that do not read in the text are left out.
            behind_waits(
                &program.statements,
                &mut !multiplies(program),
                &mut |statement| {
                    apart |= match tells(
                        statement,
                        program.rank,
                        &followed.unknowns,
                        (families, &read),
                    ) {
                        Tells::Nobody | Tells::Together => false,
                        Tells::Alone => !(alone && multiplies(program)),
                        Tells::Unclear => true,
                    };
                },
            );
            apart
        })
    })
}

/// Calls something for each statement that may come behind a wait for multiplications.
fn behind_waits(statements: &[Statement], waited: &mut bool, visit: &mut dyn FnMut(&Statement)) {
    for statement in statements {
        if *waited {
            visit(statement);
        }
        match &statement.action {
            Action::WaitGroup(_, _, true) => *waited = true,
            Action::For(_, _, body) => {
                // What one round has waited for, the next one finds.
                let mut waits = false;
                each(body, &mut |s| {
                    waits |= matches!(s.action, Action::WaitGroup(_, _, true))
                });
                *waited |= waits;
                behind_waits(body, waited, visit);
            }
            Action::If(_, yes, no) => {
                let before = *waited;
                behind_waits(yes, waited, visit);
                let mut other = before;
                behind_waits(no, &mut other, visit);
                *waited |= other;
            }
            _ => {}
        }
    }
}

/// Whom a statement tells that a wait before it is over.
enum Tells {
    Nobody,
    /// A barrier that takes arrivals of four warps or more each time.
    Together,
    /// A barrier that fewer arrivals complete.
    Alone,
    /// It may write what is read, or tell others in another way.
    Unclear,
}

fn tells(
    statement: &Statement,
    rank: u32,
    unknowns: &Unknowns,
    (families, read): (&[Family], &BTreeSet<String>),
) -> Tells {
    let whole = |together: bool| match together {
        true => Tells::Together,
        false => Tells::Alone,
    };
    match &statement.action {
        Action::Touch(How::Read | How::Take | How::Drain, _)
        | Action::For(..)
        | Action::If(..)
        | Action::Wait(..)
        | Action::WaitOwn(_)
        | Action::Fence(_)
        | Action::CommitGroup(_)
        | Action::WaitGroup(..)
        | Action::Multiply(_)
        | Action::Multiplied(_)
        | Action::Grouped(_)
        | Action::InFlight(..)
        | Action::Issued(..)
        | Action::Landed(..)
        | Action::Acquire(..)
        | Action::Release(..)
        | Action::Init(..) => Tells::Nobody,
        Action::Touch(How::Write, area)
            if place(&area.address, rank, unknowns, statement.at)
                .is_ok_and(|place| !read.contains(&place.base)) =>
        {
            Tells::Nobody
        }
        // All warps come there.
        Action::ClusterArrive | Action::ClusterWait => Tells::Together,
        Action::Sync(_, threads, _) | Action::ArriveNamed(_, threads) => whole(
            threads
                .as_constant()
                .is_some_and(|threads| threads >= i128::from(32 * WARPS)),
        ),
        Action::Arrive(address, _) => {
            whole(takes_four(address, statement, rank, unknowns, families))
        }
        _ => Tells::Unclear,
    }
}

/// The shared variables that multiplications read.
fn variables(followed: &Followed) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for program in &followed.programs {
        each(&program.statements, &mut |s| {
            if let Action::Touch(How::Take, area) = &s.action
                && let Ok(place) = place(&area.address, program.rank, &followed.unknowns, s.at)
            {
                found.insert(place.base);
            }
        });
    }
    found
}

fn takes_four(
    address: &Sum,
    statement: &Statement,
    rank: u32,
    unknowns: &Unknowns,
    families: &[Family],
) -> bool {
    let Ok(place) = place(address, rank, unknowns, statement.at) else {
        return false;
    };
    let mut all = families
        .iter()
        .filter(|family| family.lies_at(&place))
        .peekable();
    let four = |family: &Family| (family.arrivals * family.group) % i128::from(WARPS) == 0;
    all.peek().is_some() && all.all(four)
}

/// Whether a program has what multiplications of a warpgroup read.
fn multiplies(program: &Program) -> bool {
    let (mut takes, mut groups) = (false, false);
    each(&program.statements, &mut |s| {
        takes |= matches!(s.action, Action::Touch(How::Take, _));
        groups |= s.action == Action::CommitGroup(true);
    });
    takes && groups
}
