//! Inline assembly.
use super::lower::Lower;
use super::syntax::Operation;

impl<'a> Lower<'_, 'a> {
    pub fn assembly(&mut self, operation: &Operation<'a>) -> Option<()> {
        let _ = operation;
        None
    }
}
