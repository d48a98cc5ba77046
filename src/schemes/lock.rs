//! Lock schemes: the order in which the visitors of a row tile take their turns.
//!
//! A lock is an expression over the CTA `n`, the row tile `m` and the pattern. Well-known ones have names.

use std::fmt;

/// In which order CTAs start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaunchChoice {
    /// CTA 0 first.
    Ascending,
    /// The last CTA first.
    Descending,
    /// Whichever the machine picks.
    Any,
}

impl LaunchChoice {
    /// The word of the protocol language, which is also the one on the command line.
    pub fn word(self) -> &'static str {
        match self {
            LaunchChoice::Ascending => "ascending",
            LaunchChoice::Descending => "descending",
            LaunchChoice::Any => "any",
        }
    }
}

/// A lock that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The expression it stands for.
    pub expression: &'static str,
    /// The order in which it expects CTAs to start.
    pub launch: LaunchChoice,
    /// What it is, as a lowercase fragment.
    pub about: &'static str,
}

/// The locks that have a name.
pub const NAMED: [Named; 3] = [
    Named {
        name: "n",
        aliases: &["index", "block-index"],
        expression: "n",
        launch: LaunchChoice::Ascending,
        about: "the CTA's own index; right only where the visitors of every row tile are 0, 1, ..., k-1",
    },
    Named {
        name: "rank",
        aliases: &["visitor-rank"],
        expression: "rank(n, m)",
        launch: LaunchChoice::Ascending,
        about: "how many CTAs below n visit m: first visitor first",
    },
    Named {
        name: "reversed-rank",
        aliases: &["reversed_rank", "rank-reversed"],
        expression: "total(m) - 1 - rank(n, m)",
        launch: LaunchChoice::Descending,
        about: "how many CTAs above n visit m: last visitor first",
    },
];

/// A lock: named, or any expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Its name, if it has one.
    pub name: Option<&'static str>,
    /// The expression, as written.
    pub expression: String,
}

impl Lock {
    /// Reads a name or an alias as the lock that it stands for, and any other text as an expression.
    pub fn new(text: &str) -> Lock {
        let text = text.trim();
        match Named::find(text) {
            Some(named) => Lock {
                name: Some(named.name),
                expression: named.expression.to_owned(),
            },
            None => Lock {
                name: None,
                expression: text.to_owned(),
            },
        }
    }

    /// The expression with spaces in place of line ends.
    pub fn on_one_line(&self) -> String {
        let lines: Vec<&str> = self.expression.lines().map(str::trim).collect();
        lines.join(" ")
    }

    /// The order in which it expects CTAs to start. For an expression, this is ascending.
    pub fn launch(&self) -> LaunchChoice {
        self.name
            .and_then(Named::find)
            .map_or(LaunchChoice::Ascending, |named| named.launch)
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name),
            None => f.write_str(&self.on_one_line()),
        }
    }
}

impl Named {
    fn find(text: &str) -> Option<&'static Named> {
        NAMED
            .iter()
            .find(|named| named.name == text || named.aliases.contains(&text))
    }
}
