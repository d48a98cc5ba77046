//! The grammar of protocol files for tree-sitter, and how to highlight them.

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_wlk() -> *const ();
}

/// The language.
// SAFETY: the function is the one that tree-sitter generates for the grammar.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_wlk) };

/// What to highlight.
pub const HIGHLIGHTS: &str = include_str!("../queries/highlights.scm");
