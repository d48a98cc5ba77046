//! Which line of the PTX stands behind a line of the recovered protocol.
//!
//! The text says so of each statement at the end of its line, which formatting leaves there; it is taken off again before
//! anybody sees the text.

use std::collections::BTreeMap;

/// What stands before the number of a line of the PTX.
const MARK: &str = " @ptx ";

/// A recovered protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifted {
    /// Its text.
    pub text: String,
    /// For each line of the text, the line of the PTX behind it, from 1, where it is a statement.
    pub lines: Vec<Option<usize>>,
    /// Whether every counterexample is one of a launch.
    pub exact: bool,
    /// Launches in words, with the parameters at them: what fails at these values fails at the launch.
    pub launches: Vec<(String, BTreeMap<String, i64>)>,
    /// From what it was recovered.
    pub recovery: Recovery,
}

/// From what a protocol was recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// Each warp was followed along its instructions.
    Path,
    /// From the control-flow graph. `instead` says why the instructions could not be followed, if that was tried.
    Graph { instead: Option<String> },
}

impl Recovery {
    /// Its name, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Recovery::Path => "path",
            Recovery::Graph { .. } => "graph",
        }
    }
}

/// Where a statement comes from, with the line of the PTX.
pub(super) fn marked(source: &str, line: usize) -> String {
    format!("{source}{MARK}{line}")
}

/// The text as it is shown.
pub(super) fn unmarked(text: &str) -> Lifted {
    let mut lifted = Lifted {
        text: String::with_capacity(text.len()),
        lines: Vec::new(),
        exact: true,
        launches: Vec::new(),
        recovery: Recovery::Path,
    };
    for line in text.lines() {
        let found = line
            .rsplit_once(MARK)
            .and_then(|(shown, number)| Some((shown, number.parse().ok()?)));
        let (shown, number) = match found {
            Some((shown, number)) => (shown, Some(number)),
            None => (line, None),
        };
        lifted.text.push_str(shown);
        lifted.text.push('\n');
        lifted.lines.push(number);
    }
    lifted
}
