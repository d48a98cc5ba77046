//! Warps that have left do not count at barriers of all threads: `bar.sync` without a thread count and
//! cluster barriers are passed by those who are still there. The language counts everybody, so a warp
//! that comes to such a barrier less often than others goes on coming to it after its end.
//!
//! That is the same: what has left is never waited for, and what comes to a barrier as soon as its
//! generation opens is not waited for either. It holds for one barrier at a time: a warp that has left
//! would have to come to two of them at once.
//!
//! A warp that leaves early under a condition, where all who stay come equally often, comes under that condition
//! to what it would have come to otherwise. How often others come is asked only where that is not enough.

use std::collections::BTreeSet;

use super::program::Followed;
use super::program::Program;
use super::program::each;
use super::program::numbered;
use super::program::of_all;
use super::program::regroup;
use super::program::skeleton;
use super::unwaited_cluster_arrivals::refuse_unwaited_effects;
use super::unwaited_cluster_arrivals::refuse_unwaited_exit;
use crate::ptx::path::forms::trips;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

const ARRIVES: &str = "a warp arrives here and goes on, and others wait there for all threads: what that means once warps have left is \
     not followed";

/// Sums with more choices are not compared: that takes several times as long with each one.
const MOST_CHOICES: usize = 8;

/// Whether two programs meet at a barrier.
type Meet<'f> = dyn Fn(&Program, &Program) -> bool + 'f;

/// A barrier of all threads: of those of a CTA, or of a cluster.
struct Kind<'f> {
    of_cta: bool,
    /// What is done at it.
    keep: &'f dyn Fn(&Action) -> bool,
    /// What tells how often a warp comes to it.
    often: &'f dyn Fn(&Action) -> bool,
    meet: &'f Meet<'f>,
}

/// Lets warps that have left go on meeting the others. Returns whether some do.
pub(in crate::ptx) fn complete(followed: &mut Followed, launch: &Launch) -> Result<bool, Obstacle> {
    refuse_unwaited_effects(followed)?;
    if let Some(at) = arrives_for_all(followed) {
        return Err(Obstacle::new(at, ARRIVES));
    }
    let cta = |a: &Action| of_all(a, launch) && matches!(a, Action::Sync(_, _, false));
    let cluster = |a: &Action| matches!(a, Action::ClusterArrive | Action::ClusterWait);
    // Who arrives at a cluster barrier as often as the others is not missing, however often it waits there.
    let arrives = |a: &Action| *a == Action::ClusterArrive;
    let kinds = [
        Kind {
            of_cta: true,
            keep: &cta,
            often: &cta,
            meet: &|a, b| a.rank == b.rank,
        },
        Kind {
            of_cta: false,
            keep: &cluster,
            often: &arrives,
            meet: &|_, _| true,
        },
    ];
    let uneven = kinds.iter().filter(|kind| {
        !alike(&followed.programs, kind.often, kind.meet) && !as_often(followed, kind.often)
    });
    let uneven: Vec<_> = uneven.collect();
    if uneven.iter().any(|kind| kind.of_cta) {
        refuse_unwaited_exit(followed)?;
    }
    match uneven.as_slice() {
        [] => Ok(false),
        [Kind { keep, .. }] => {
            let barrier = barrier(followed, launch, keep)?;
            if stay(followed, keep) {
                return Ok(true);
            }
            filled_up(followed, keep, &barrier)
        }
        [Kind { keep, .. }, ..] => Err(refusal(followed, keep)),
    }
}

/// Where a warp arrives, and goes on, at a barrier at which others wait for all threads. It may count there in the place of another
/// one, and leave while that one has yet to come.
fn arrives_for_all(followed: &Followed) -> Option<usize> {
    // A number that is not known may be any.
    let mut waits = BTreeSet::new();
    let mut arrives = Vec::new();
    for program in &followed.programs {
        each(&program.statements, &mut |s| match &s.action {
            Action::Sync(id, _, false) => {
                waits.insert(id.as_constant());
            }
            Action::ArriveNamed(id, _) => arrives.push((id.as_constant(), s.at)),
            _ => {}
        });
    }
    let meets = |id: &Option<_>| match id {
        Some(_) => waits.contains(id) || waits.contains(&None),
        None => !waits.is_empty(),
    };
    let mut found = arrives.iter().filter(|(id, _)| meets(id));
    found.next().map(|(_, at)| *at)
}

/// Lets warps that leave under a condition come to what they would have come to otherwise. Returns whether then
/// all come equally often.
fn stay(followed: &mut Followed, keep: &dyn Fn(&Action) -> bool) -> bool {
    let mut all: Vec<Program> = Vec::new();
    for program in &followed.programs {
        let Some(statements) = staying(&program.statements, keep, false) else {
            return false;
        };
        let program = Program::of(program.rank, program.warps.clone(), statements);
        all.push(program);
    }
    let before = std::mem::replace(&mut followed.programs, all);
    let done = even(followed, keep);
    if done {
        regroup(&mut followed.programs);
    } else {
        followed.programs = before;
    }
    done
}

/// The statements with what a warp that leaves at the end of them would have come to. None where it has used
/// shared memory before: what orders that is not told.
fn staying(
    statements: &[Statement],
    keep: &dyn Fn(&Action) -> bool,
    used: bool,
) -> Option<Vec<Statement>> {
    let Some((
        Statement {
            action: Action::If(condition, yes, no),
            at,
            location,
            memory,
        },
        before,
    )) = statements.split_last()
    else {
        return Some(statements.to_vec());
    };
    let used = used || touches(before);
    let (mut yes, mut no) = (staying(yes, keep, used)?, staying(no, keep, used)?);
    let (first, second) = (skeleton(&yes, keep), skeleton(&no, keep));
    if numbered(&first) != numbered(&second) {
        let (short, missing) = if second.is_empty() {
            (&mut no, first)
        } else if first.is_empty() {
            (&mut yes, second)
        } else {
            return Some(statements.to_vec());
        };
        if used || touches(short) {
            return None;
        }
        short.extend(missing);
    }
    let mut all = before.to_vec();
    let plain = numbered(&yes) == numbered(&no);
    if plain {
        all.extend(yes);
    } else {
        all.push(Statement {
            action: Action::If(condition.clone(), yes, no),
            at: *at,
            location: *location,
            memory,
        });
    }
    Some(all)
}

/// Whether shared memory is used.
fn touches(statements: &[Statement]) -> bool {
    let mut touches = false;
    each(statements, &mut |s| {
        touches |= matches!(s.action, Action::Touch(..) | Action::Copy(_, _, Some(_)));
    });
    touches
}

/// Whether all warps come to these barriers in the same loops and branches.
fn even(followed: &Followed, keep: &dyn Fn(&Action) -> bool) -> bool {
    alike(&followed.programs, keep, &|_, _| true)
}

/// Whether programs that meet come to these barriers in the same loops and branches.
fn alike(programs: &[Program], keep: &dyn Fn(&Action) -> bool, meet: &Meet<'_>) -> bool {
    let all = programs.iter();
    let all = all.map(|p| (p, numbered(&skeleton(&p.statements, keep))));
    let all: Vec<_> = all.collect();
    all.iter().all(|(program, skeleton)| {
        let first = all.iter().find(|(other, _)| meet(program, other));
        first.is_none_or(|(_, other)| other == skeleton)
    })
}

/// Whether all warps of each CTA come equally often to a barrier of the CTA, or all of the cluster to one of the
/// cluster, if there is one: then none that has left is missing there.
fn as_often(followed: &Followed, keep: &dyn Fn(&Action) -> bool) -> bool {
    let facts = &followed.unknowns.1;
    let mut kinds: Vec<Action> = Vec::new();
    let mut counts: Vec<(u32, Sum)> = Vec::new();
    for program in &followed.programs {
        each(&program.statements, &mut |s| {
            if keep(&s.action) && !kinds.contains(&s.action) {
                kinds.push(s.action.clone());
            }
        });
        let Some(count) = count(&skeleton(&program.statements, keep), false, facts) else {
            return false;
        };
        counts.push((program.rank, count));
    }
    let one = match kinds.as_slice() {
        [Action::Sync(id, ..)] => id.as_constant().is_some() && alone(followed, keep, Some(id)),
        kinds => kinds.len() == 1,
    };
    let of_cluster = kinds == [Action::ClusterArrive];
    one && counts.iter().all(|(rank, count)| {
        let mut others = counts.iter().filter(|(r, _)| of_cluster || r == rank);
        others.all(|(_, other)| count == other || facts.same(count, other))
    })
}

fn refusal(followed: &Followed, keep: &dyn Fn(&Action) -> bool) -> Obstacle {
    let mut at = 0;
    for program in &followed.programs {
        each(&program.statements, &mut |s| {
            if at == 0 && keep(&s.action) {
                at = s.at;
            }
        });
    }
    let who = who_differs(&followed.programs, keep);
    let who = who.map_or(String::new(), |(_, who)| format!(" ({who})"));
    Obstacle::new(
        at,
        format!(
            "not every warp comes to this barrier of all threads equally often{who}, and what those that have left \
             mean for it is not followed"
        ),
    )
}

/// Warps that come to barriers in other loops and branches than the first ones, in words, and where they do first.
pub(in crate::ptx) fn who_differs(
    programs: &[Program],
    keep: &dyn Fn(&Action) -> bool,
) -> Option<(usize, String)> {
    let seen = |p: &Program| numbered(&skeleton(&p.statements, keep));
    let first = programs.first()?;
    let expected = seen(first);
    let other = programs.iter().find(|p| seen(p) != expected)?;
    let found = seen(other);
    let at = found.first().or(expected.first()).map_or(0, |s| s.at);
    let several = programs.iter().any(|p| p.rank != first.rank);
    let named = |program: &Program| {
        let warps: Vec<String> = program.warps.iter().map(u32::to_string).collect();
        let warps = match (program.warps.as_slice(), warps.as_slice()) {
            ([low, .., high], _) if high - low + 1 == u32::try_from(warps.len()).unwrap_or(0) => {
                format!("warps {low}-{high}")
            }
            (_, [one]) => format!("warp {one}"),
            _ => format!("warps {}", warps.join(", ")),
        };
        if several {
            format!("{warps} of CTA {}", program.rank)
        } else {
            warps
        }
    };
    let who = format!("{} otherwise than {}", named(other), named(first));
    Some((at, who))
}

/// The one barrier that this is, with what is done at it each time: in one CTA or in one cluster, and used
/// in no other way.
fn barrier(
    followed: &Followed,
    launch: &Launch,
    keep: &dyn Fn(&Action) -> bool,
) -> Result<Vec<Action>, Obstacle> {
    let refused = refusal(followed, keep);
    let mut actions: Vec<Action> = Vec::new();
    for program in &followed.programs {
        each(&program.statements, &mut |s| {
            if keep(&s.action) && !actions.contains(&s.action) {
                actions.push(s.action.clone());
            }
        });
    }
    let id = match actions.as_slice() {
        [Action::Sync(id, ..)] if id.as_constant().is_some() => Some(id.clone()),
        [Action::ClusterArrive, Action::ClusterWait] => None,
        _ => return Err(refused),
    };
    if !alone(followed, keep, id.as_ref()) || launch.ranks() > 1 && id.is_some() {
        return Err(refused);
    }
    Ok(actions)
}

/// Whether a barrier with this id, or of the cluster if there is none, is certainly used in no other way.
fn alone(followed: &Followed, keep: &dyn Fn(&Action) -> bool, id: Option<&Sum>) -> bool {
    let mut alone = true;
    for program in &followed.programs {
        each(&program.statements, &mut |s| {
            if let Action::Sync(other, ..) | Action::ArriveNamed(other, _) = &s.action
                && !keep(&s.action)
            {
                let other = other.as_constant();
                alone &= other.is_some() && other != id.and_then(Sum::as_constant);
            }
        });
    }
    alone
}

fn filled_up(
    followed: &mut Followed,
    keep: &dyn Fn(&Action) -> bool,
    actions: &[Action],
) -> Result<bool, Obstacle> {
    let refused = refusal(followed, keep);
    let pairs = actions.len() > 1;
    let facts = &followed.unknowns.1;
    let mut counts = Vec::new();
    for program in &followed.programs {
        let whole = skeleton(&program.statements, keep);
        let Some(count) = count(&whole, pairs, facts) else {
            return Err(refused);
        };
        counts.push(count);
    }
    let mut most = Sum::of(0);
    let different: BTreeSet<&Sum> = counts.iter().collect();
    for count in different {
        if most.choices() + count.choices() > MOST_CHOICES {
            return Err(refused);
        }
        let less = Condition::Negative(most.minus(count));
        most = facts.choice(&less, count, &most);
    }
    let mut some = false;
    for (number, count) in counts.iter().enumerate() {
        let missing = most.minus(count);
        let missing = followed.unknowns.1.rewritten(&missing);
        if missing.as_constant() == Some(0) {
            continue;
        }
        let program = &followed.programs[number];
        // What they did to shared memory before is ordered by nothing.
        if touches(&program.statements) || missing.reads_memory() {
            return Err(refused);
        }
        some = true;
        let variable = followed.unknowns.fresh(Meaning::Iteration(0));
        let high = followed.unknowns.1.range(&missing).1;
        followed.unknowns.1.bound(variable, 0, high.max(1) - 1);
        let at = refused.at;
        let body: Vec<Statement> = actions
            .iter()
            .map(|action| Statement {
                action: action.clone(),
                at,
                location: None,
                memory: "",
            })
            .collect();
        let program = &followed.programs[number];
        let mut statements = program.statements.clone();
        statements.push(Statement {
            action: Action::For(variable, missing, body),
            at,
            location: None,
            memory: "",
        });
        followed.programs[number] = Program::of(program.rank, program.warps.clone(), statements);
    }
    Ok(some)
}

/// How often these barriers are come to, where that is a sum.
fn count(statements: &[Statement], pairs: bool, facts: &Facts) -> Option<Sum> {
    let mut total = Sum::of(0);
    let mut open = false;
    for statement in statements {
        match &statement.action {
            Action::For(variable, times, body) => {
                let each = count(body, pairs, facts)?;
                if open {
                    return None;
                }
                let none = Condition::Negative(times.clone());
                let times = facts.choice(&none, &Sum::of(0), times);
                total = total.plus(&summed(&each, *variable, &times, facts)?);
            }
            Action::If(condition, yes, no) => {
                let (mut holds, mut fails) = (facts.clone(), facts.clone());
                holds.assume(condition);
                fails.assume(&condition.negated());
                let (yes, no) = (count(yes, pairs, &holds)?, count(no, pairs, &fails)?);
                if open {
                    return None;
                }
                total = total.plus(&facts.choice(condition, &yes, &no));
            }
            Action::ClusterArrive if !pairs => total = total.plus_constant(1),
            Action::ClusterArrive if !open => open = true,
            Action::ClusterWait if open => {
                open = false;
                total = total.plus_constant(1);
            }
            Action::Sync(..) if !pairs => total = total.plus_constant(1),
            _ => return None,
        }
    }
    (!open && !total.excessive()).then_some(total)
}

/// The sum of what is done in each of so many rounds, where it depends on the round only by comparing its number.
fn summed(each: &Sum, number: Unknown, times: &Sum, facts: &Facts) -> Option<Sum> {
    let mut total = times.scaled(each.constant);
    for (atom, factor) in &each.terms {
        let moves = |sum: &Sum| sum.mentions(&|u| u == number);
        let one = Sum::atom(atom.clone());
        let sum = match atom {
            _ if !moves(&one) => times.times(&one),
            Atom::Choice(condition, yes, no) if !moves(yes) && !moves(no) => {
                let holds = rounds(condition, number, times, facts)?;
                let fails = times.minus(&holds);
                holds.times(yes).plus(&fails.times(no))
            }
            _ => return None,
        };
        total = total.plus_times(&sum, *factor);
    }
    Some(total)
}

/// In how many of so many rounds a condition on the number of the round holds.
fn rounds(condition: &Condition, number: Unknown, times: &Sum, facts: &Facts) -> Option<Sum> {
    match condition {
        Condition::Not(inner) => Some(times.minus(&rounds(inner, number, times, facts)?)),
        Condition::Negative(sum) => {
            let slope = sum.split(number)?.0.as_constant()?;
            if slope < 0 {
                let holds = rounds(&condition.negated(), number, times, facts)?;
                return Some(times.minus(&holds));
            }
            let first = trips(condition, number, facts)?;
            let less = Condition::Negative(first.minus(times));
            Some(facts.choice(&less, &first, times))
        }
        Condition::Zero(sum) => {
            let (slope, rest) = sum.split(number)?;
            let place = rest.exactly_over(-slope.as_constant()?)?;
            let before = Condition::Negative(place.clone());
            let inside = Condition::Negative(place.minus(times));
            let one = facts.choice(&inside, &Sum::of(1), &Sum::of(0));
            Some(facts.choice(&before, &Sum::of(0), &one))
        }
        _ => None,
    }
}
