//! Maps lines of a recovered protocol to lines of the PTX.
//!
//! While the text is built, a mark at the end of each statement has the line of the PTX. Formatting keeps the mark there. It
//! is removed before the text is returned.

use std::collections::BTreeMap;

use crate::text;
use crate::text::Diagnostic;

/// Stands in a text whose counterexamples may be none.
pub(super) const DOUBTFUL: &str = "//! A race with what a multiplication of a warpgroup reads may be none: one warp waits for all four.\n";

/// What stands before the number of a line of the PTX.
const MARK: &str = " @ptx ";

/// A recovered protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifted {
    /// Its text.
    pub text: String,
    /// For each line of the text that is a statement, the line of the PTX that it comes from, from 1.
    pub lines: Vec<Option<usize>>,
    /// Whether every counterexample is one of a launch.
    pub exact: bool,
    /// Launches in words, with the parameters at them: what fails at these values fails at the launch.
    pub launches: Vec<(String, BTreeMap<String, i64>)>,
    /// From what it was recovered.
    pub recovery: Recovery,
    /// Another protocol whose proofs are proofs of this one, if there is one. Its counterexamples may be none.
    pub proves: Option<Box<Lifted>>,
}

/// From what a protocol was recovered. `instead` says why not from the other, if that was tried first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// From the control-flow graph.
    Graph { instead: Option<Instead> },
    /// Each warp was followed along its instructions.
    Path { instead: Option<Instead> },
}

/// Why a protocol that is recovered in another way is not the one that is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// It cannot be recovered so, for this reason.
    Refused(String),
    /// Nothing is decided of it, for this reason.
    Undecided(String),
}

impl Recovery {
    /// Its name, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Recovery::Graph { .. } => "graph",
            Recovery::Path { .. } => "path",
        }
    }
}

/// Where a statement comes from, with the line of the PTX.
pub(super) fn marked(source: &str, line: usize) -> String {
    format!("{source}{MARK}{line}")
}

impl Lifted {
    /// Adds an assumption.
    pub fn assume(&mut self, assumption: &str) {
        let mut all: Vec<&str> = self.text.lines().collect();
        let head = all
            .iter()
            .take_while(|line| line.starts_with("//!"))
            .count();
        let mut before = all.iter().take(head);
        let last = before.rposition(|line| line.starts_with("//! Assumed:"));
        let at = last.map_or(head, |last| last + 1);
        let line = format!("//! Assumed: {assumption}");
        all.insert(at, &line);
        self.text = all.join("\n") + "\n";
        self.lines.insert(at, None);
    }

    /// A protocol that was recovered from the control-flow graph, formatted as by `warplock fmt`. `lines` has for each line of
    /// the text the line of the kernel that it comes from. Such a line ends with a comment.
    ///
    /// # Errors
    ///
    /// The text is none of the language.
    pub fn of_graph(text: &str, lines: &[Option<usize>]) -> Result<Lifted, Vec<Diagnostic>> {
        let mut all = String::with_capacity(text.len());
        for (at, line) in text.lines().enumerate() {
            match lines.get(at).copied().flatten() {
                Some(behind) => all.push_str(&marked(line, behind)),
                None => all.push_str(line),
            }
            all.push('\n');
        }
        let mut lifted = unmarked(&text::format(&all)?);
        text::load(lifted.text.as_bytes())?;
        lifted.recovery = Recovery::Graph { instead: None };
        Ok(lifted)
    }
}

/// The text as it is shown.
pub(super) fn unmarked(text: &str) -> Lifted {
    let mut lifted = Lifted {
        text: String::with_capacity(text.len()),
        lines: Vec::new(),
        exact: !text.contains(DOUBTFUL),
        launches: Vec::new(),
        recovery: Recovery::Path { instead: None },
        proves: None,
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
