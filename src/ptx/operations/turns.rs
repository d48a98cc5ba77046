//! Barriers of the whole grid made of two words: every CTA takes a number by adding 1 to a count, and the last one
//! clears the count and changes a second word, which all others wait for:
//!
//! ```text
//! round = load(turn); fence
//! if (atomic_add(count, 1) == n - 1) { count = 0; fence; turn += 1 } else { while (load(turn) == round) {} }
//! ```
//!
//! The wait may also follow the branch, for all. That is a barrier of `n` arrivals, each followed by a wait, because:
//!
//! - Nothing else is done to the two words, and the one thread of a CTA that arrives waits at once. So of no more than `n`
//!   CTAs none finds `n` or more, and one finds `n - 1` once all have come.
//! - Who comes has read the second word since it last came past here, and before it arrives, which the fence sees to. The
//!   word changes only when all have arrived, so it has read what it is in this round, and it waits until that changes. One
//!   lane does all of it: others could read the word later than the one that arrives for them.
//! - The last one clears the count before it lets the others go on, with a fence in between, so whoever arrives next finds
//!   the count cleared: between its look at the second word and its arrival there is a fence, too.
//!
//! That the CTAs are no more than `n` is compared where the text is written, or assumed of a parameter. With fewer the
//! barrier waits forever, and so does the kernel.

use super::counters::near;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// How far apart two words may be and still be certain to differ in 32 bits.
const TURN: i128 = 1 << 32;

/// What a thread had done when it took its number.
#[derive(Debug, Clone, Copy)]
pub(in crate::ptx) struct Comer {
    /// Unknowns from here on were read since it last waited in this way, in this round of each loop around.
    since: Unknown,
    /// Unknowns before this were read before a fence.
    fenced: Unknown,
    /// Where it took the number.
    at: usize,
}

/// A CTA that has come, of which the last one has let the others go on.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Coming {
    came: Unknown,
    comer: Comer,
    count: Sum,
    turn: Sum,
    cleared: Statement,
    changed: Statement,
}

/// Whether other CTAs see everything before an instruction in front of what comes after it.
fn fences(instruction: &Instruction<'_>) -> bool {
    let mut parts = instruction.parts();
    let far = |i: &Instruction<'_>| ["gl", "sys", "gpu"].iter().any(|scope| i.has(scope));
    matches!(parts.next(), Some("membar" | "fence"))
        && !instruction.opcode.contains("proxy")
        && !instruction.opcode.contains("sync_restrict")
        && (instruction.has("membar") || instruction.has("acq_rel") || instruction.has("sc"))
        && instruction.guard.is_none()
        && far(instruction)
}

/// Whether what comes before is seen before this instruction.
fn releases(instruction: &Instruction<'_>) -> bool {
    (instruction.has("release") || instruction.has("acq_rel")) && !near(instruction)
}

impl Walker<'_, '_, '_> {
    /// Notes a fence.
    pub fn fenced(&self, instruction: &Instruction<'_>, state: &mut State) {
        if fences(instruction) {
            state.fenced = self.machine.unknowns.next();
        }
    }

    /// Notes what has just been read by a load that sees what others write, unknowns from `first` on.
    pub fn seen_now(&mut self, instruction: &Instruction<'_>, first: Unknown) {
        let strong = ["volatile", "relaxed", "acquire", "acq_rel", "mmio"];
        let near = near(instruction);
        let atomic = instruction.parts().next() == Some("atom");
        if !near && (atomic || strong.iter().any(|s| instruction.has(s))) {
            let orders = instruction.has("acquire") || instruction.has("acq_rel");
            for number in first.0..self.machine.unknowns.next().0 {
                self.looks.insert(Unknown(number), orders);
            }
        }
    }

    /// What one thread finds where it adds 1 for its CTA.
    pub fn comes(
        &mut self,
        instruction: &Instruction<'_>,
        address: &Integer,
        state: &mut State,
    ) -> Value {
        let meaning = Meaning::FetchedCount(address.sum.clone());
        let unknown = self.machine.unknowns.fresh(meaning);
        state.facts.bound(unknown, 0, i128::from(i32::MAX));
        // A release alone does not keep the arrival after the clearing that an earlier look has come past.
        let fenced = match releases(instruction) && instruction.has("acq_rel") {
            true => unknown,
            false => state.fenced,
        };
        let comer = Comer {
            since: self.since,
            fenced,
            at: instruction.at,
        };
        self.comers.insert(unknown, comer);
        Value::Integer(Integer::same(Sum::unknown(unknown)))
    }

    /// The wait for a word to be other than it was when it was read before, of which unknowns from `first` on are the
    /// latest look.
    pub fn changed(&self, until: &Condition, first: Unknown) -> Option<(Action, u32)> {
        let Condition::Not(inner) = until else {
            return None;
        };
        let Condition::Zero(sum) = &**inner else {
            return None;
        };
        let terms: Vec<_> = sum.terms.iter().collect();
        let [(Atom::Unknown(a), x), (Atom::Unknown(b), y)] = terms[..] else {
            return None;
        };
        if sum.constant != 0 || (*x, *y) != (1, -1) && (*x, *y) != (-1, 1) {
            return None;
        }
        let (before, now) = if a < b { (*a, *b) } else { (*b, *a) };
        match (
            self.machine.unknowns.meaning(before)?,
            self.machine.unknowns.meaning(now)?,
        ) {
            (Meaning::Read(one, bytes), Meaning::Read(other, same))
                if one == other && bytes == same && before < first && first <= now =>
            {
                Some((Action::GridWait(one.clone(), before), *bytes))
            }
            _ => None,
        }
    }

    /// Whether a branch at which the last CTA to come goes one way, and the others wait, is such a barrier; then it is
    /// written as one.
    pub fn takes_turns(
        &mut self,
        condition: &Condition,
        (above, below): (&[Statement], &[Statement]),
        out: &mut Vec<Statement>,
    ) -> Result<bool, Obstacle> {
        let (sum, last, others) = match condition {
            Condition::Zero(sum) => (sum, above, below),
            Condition::Not(inner) => match &**inner {
                Condition::Zero(sum) => (sum, below, above),
                _ => return Ok(false),
            },
            _ => return Ok(false),
        };
        let Some((came, count, most)) = self.came(sum) else {
            return Ok(false);
        };
        // What is done to the count has to be followed, too, where this decides about anything.
        let decides = !above.is_empty() || !below.is_empty();
        if let Some(pointer) = self.pointer(&count).filter(|_| decides) {
            self.waited.insert(pointer);
        }
        let (Some(comer), [cleared, changed]) = (self.comers.get(&came).copied(), last) else {
            return Ok(false);
        };
        let arrived = match out.last() {
            Some(s) if s.at == comer.at => {
                s.action == Action::CounterAdd(count.clone(), Sum::of(1))
            }
            _ => false,
        };
        if !arrived || cleared.action != Action::CounterSet(count.clone(), Sum::of(0)) {
            return Ok(false);
        }
        // The last one may wait with the others.
        let turn = match (&changed.action, others) {
            (_, [wait]) => match &wait.action {
                Action::GridWait(turn, _) => turn.clone(),
                _ => return Ok(false),
            },
            (Action::CounterAdd(turn, _) | Action::CounterSet(turn, _), []) => turn.clone(),
            _ => return Ok(false),
        };
        let coming = Coming {
            came,
            comer,
            count: count.clone(),
            turn: turn.clone(),
            cleared: cleared.clone(),
            changed: changed.clone(),
        };
        if let [wait] = others
            && !self.turns(&coming, wait)?
        {
            return Ok(false);
        }
        let met = self.machine.unknowns.of(Meaning::Met(count.clone(), turn));
        if let Some(arrival) = out.last_mut() {
            arrival.action = Action::GridArrive(count, met, most.plus_constant(1));
        }
        match others {
            [wait] => {
                self.coming = None;
                self.waited_turn(&coming, met, wait.clone(), out);
            }
            _ => self.coming = Some(coming),
        }
        Ok(true)
    }

    /// Where all wait after the branch at which the last one has let them go on, their arrival and the wait are such a
    /// barrier.
    pub fn all_wait(&mut self, out: &mut Vec<Statement>) -> Result<(), Obstacle> {
        let [.., arrival, wait] = out.as_slice() else {
            return Ok(());
        };
        let (Action::GridArrive(count, met, _), Some(coming)) = (&arrival.action, &self.coming)
        else {
            return Ok(());
        };
        if *count != coming.count || arrival.at != coming.comer.at || !self.turns(coming, wait)? {
            return Ok(());
        }
        let met = *met;
        if let (Some(coming), Some(wait)) = (self.coming.take(), out.pop()) {
            self.waited_turn(&coming, met, wait, out);
        }
        Ok(())
    }

    fn waited_turn(
        &mut self,
        coming: &Coming,
        met: Unknown,
        wait: Statement,
        out: &mut Vec<Statement>,
    ) {
        out.push(Statement {
            action: Action::GridWait(coming.count.clone(), met),
            ..wait
        });
        self.since = self.machine.unknowns.next();
    }

    /// Whether what the last one does lets those go on who wait here.
    fn turns(&self, coming: &Coming, wait: &Statement) -> Result<bool, Obstacle> {
        let Coming {
            came,
            comer,
            count,
            turn,
            cleared,
            changed,
        } = coming;
        let Action::GridWait(waited, read) = &wait.action else {
            return Ok(false);
        };
        if waited != turn || turn == count || !self.changes(&changed.action, turn, *read) {
            return Ok(false);
        }
        let refuse = |at: usize, why: &str| Err(Obstacle::new(at, why));
        let ordered = self.looks.get(read).map(|o| *o || *read < comer.fenced);
        match ordered {
            Some(true) => {}
            Some(false) => {
                let why = "what tells the rounds apart may be read after this: a fence is missing in between";
                return refuse(comer.at, why);
            }
            None => {
                let why = "what tells the rounds apart is read by a load that may not see what others write";
                return refuse(comer.at, why);
            }
        }
        if *read < comer.since || came < read {
            let why = "what tells the rounds apart is not read in each of them";
            return refuse(comer.at, why);
        }
        if !self.fence_between(cleared, changed) {
            let why =
                "the others may go on before the count is cleared: a fence is missing in between";
            return refuse(changed.at, why);
        }
        Ok(true)
    }

    /// Who came, where, and what the last one finds, where a sum is 0 for the last one.
    fn came(&self, sum: &Sum) -> Option<(Unknown, Sum, Sum)> {
        let mut found = sum.terms.iter().filter_map(|(atom, factor)| match atom {
            Atom::Unknown(u) => match self.machine.unknowns.meaning(*u)? {
                Meaning::FetchedCount(address) => Some((*u, address.clone(), *factor)),
                _ => None,
            },
            _ => None,
        });
        let (came, count, factor) = found.next()?;
        let rest = sum.plus_times(&Sum::unknown(came), -factor);
        let most = match factor {
            1 => rest.scaled(-1),
            -1 => rest,
            _ => return None,
        };
        let moves = |u: Unknown| {
            !matches!(
                self.machine.unknowns.meaning(u),
                Some(Meaning::Parameter(..) | Meaning::Blocks(_))
            )
        };
        let fixed = !most.mentions(&moves) && !most.reads_memory();
        (fixed && found.next().is_none()).then_some((came, count, most))
    }

    /// Whether this makes a word other than it was when it was read.
    fn changes(&self, action: &Action, turn: &Sum, read: Unknown) -> bool {
        let by = match action {
            Action::CounterAdd(address, by) if address == turn => by.as_constant(),
            Action::CounterSet(address, value) if address == turn => {
                value.minus(&Sum::unknown(read)).as_constant()
            }
            _ => None,
        };
        by.is_some_and(|by| by % TURN != 0)
    }

    /// Whether others see what one statement does before what another one does, directly after it.
    fn fence_between(&self, first: &Statement, second: &Statement) -> bool {
        let mut code = self.machine.function.code.iter();
        if !code.any(|i| i.at == first.at) {
            return false;
        }
        let branches = |i: &Instruction<'_>| {
            matches!(
                i.parts().next(),
                Some("bra" | "brx" | "ret" | "exit" | "call")
            )
        };
        let mut fenced = false;
        for instruction in code {
            if instruction.at == second.at {
                return fenced || releases(instruction);
            }
            if branches(instruction) {
                return false;
            }
            fenced |= fences(instruction);
        }
        false
    }
}
