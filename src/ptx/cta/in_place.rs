//! Replaces a statement by others. The new statements keep the instruction and the memory order of the old one.

use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;

impl Statement {
    /// This in place of what the statement does.
    pub(super) fn with(&self, action: Action) -> Statement {
        Statement { action, ..*self }
    }

    /// The statement with the blocks in it, if there are any, rewritten in their order.
    pub(super) fn with_blocks(
        &self,
        rewritten: &mut dyn FnMut(&[Statement]) -> Vec<Statement>,
    ) -> Statement {
        match &self.action {
            Action::For(number, times, body) => {
                self.with(Action::For(*number, times.clone(), rewritten(body)))
            }
            Action::If(condition, yes, no) => {
                let (yes, no) = (rewritten(yes), rewritten(no));
                self.with(Action::If(condition.clone(), yes, no))
            }
            _ => self.clone(),
        }
    }
}
