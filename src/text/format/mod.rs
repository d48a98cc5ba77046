//! The formatter: one layout for every text of the same meaning.

mod expr;

pub(super) use expr::cell_text;
pub(super) use expr::expression;
