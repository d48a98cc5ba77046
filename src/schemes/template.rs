//! From a lock to a protocol: the text that a scheme stands for.
//!
//! The scheme is written as a protocol of the language. So a user can read it, save it, and check it for every
//! pattern. An error in the lock's expression is reported at its place in the expression. For this purpose the
//! expression is first read as the last declaration of a separate text. So a syntax error cannot affect anything
//! else, and every span is moved back to the place where the user wrote it.

use std::fmt::Write;

use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::protocol::Span;
use crate::text;
use crate::text::Diagnostic;

use super::lock::LaunchChoice;
use super::lock::Lock;

/// The behaviour of the CTAs: their lock, the order of their rows, and the order in which they start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// The lock, which decides whose turn it is.
    pub lock: Lock,
    /// In which order a CTA visits its row: as the arrays list it, sorted, or any.
    pub order: RowOrder,
    /// In which order CTAs start.
    pub launch: LaunchChoice,
}

const DECLARATIONS: &str = "\
param N in 0..  // column tiles, one CTA each
param M in 0..  // row tiles

pattern visits[N, M]

semaphore sem[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])
let total(m) = count(k in 0..N where visits[k, m])
";

impl Scheme {
    /// A scheme with the rows as given and the launch order that the lock expects.
    pub fn new(lock: Lock) -> Scheme {
        Scheme {
            launch: lock.launch(),
            lock,
            order: RowOrder::Given,
        }
    }

    /// The protocol's text.
    pub fn text(&self) -> String {
        let order = match self.order {
            RowOrder::Given => "",
            RowOrder::Ascending => " ascending",
            RowOrder::Descending => " descending",
            RowOrder::Any => " any order",
        };
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "//! Block-sparse accumulation in turns: each CTA n waits at every row tile m it visits\n\
             //! for its turn, adds, and passes the turn on.\n\
             protocol block_sparse_lock\n\n\
             {DECLARATIONS}\
             let lock(n, m) = {}\n\n\
             grid cta[n in 0..N] launch {} resident 1.. {{\n    \
                 for m in row(visits, n){order} {{\n        \
                     wait sem[m] == lock(n, m)\n        \
                     accumulate dQ[m]\n        \
                     sem[m] += 1\n    \
                 }}\n\
             }}\n",
            self.lock.expression,
            self.launch.word(),
        );
        text
    }

    /// The protocol.
    ///
    /// # Errors
    /// What is wrong with the lock's expression; spans are byte ranges of
    /// [`Lock::expression`].
    pub fn protocol(&self) -> Result<Protocol, Vec<Diagnostic>> {
        let alone = format!(
            "protocol block_sparse_lock\n{DECLARATIONS}role nobody {{}}\nlet lock(n, m) = {}",
            self.lock.expression
        );
        let whole = self.text();
        text::load(alone.as_bytes()).map_err(|found| self.moved(found, &alone))?;
        // A text that is an expression is still one in parentheses. Two declarations are not.
        let closed = format!(
            "protocol block_sparse_lock\n{DECLARATIONS}role nobody {{}}\nlet lock(n, m) = ({}\n)",
            self.lock.expression
        );
        if text::load(closed.as_bytes()).is_err() {
            let span = Span {
                start: 0,
                end: self.lock.expression.len(),
            };
            let message = "the lock is more than one expression";
            return Err(vec![
                Diagnostic::error(span, message).label("expected one expression"),
            ]);
        }
        text::load(whole.as_bytes()).map_err(|found| self.moved(found, &whole))
    }

    /// Moves findings from a text to the expression in it.
    fn moved(&self, found: Vec<Diagnostic>, text: &str) -> Vec<Diagnostic> {
        const BEFORE: &str = "let lock(n, m) = ";
        let start = text.find(BEFORE).map_or(0, |at| at + BEFORE.len());
        let length = self.lock.expression.len();
        let inside = |span: Span| {
            (start..=start + length).contains(&span.start) && span.end <= start + length
        };
        let moved = |span: Span| Span {
            start: span.start - start,
            end: span.end - start,
        };
        found
            .into_iter()
            .map(|mut diagnostic| {
                diagnostic.span = match inside(diagnostic.span) {
                    true => moved(diagnostic.span),
                    false => Span {
                        start: 0,
                        end: length,
                    },
                };
                diagnostic.related.retain(|(span, _)| inside(*span));
                for (span, _) in &mut diagnostic.related {
                    *span = moved(*span);
                }
                diagnostic
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(expression: &str) -> (String, usize, usize) {
        let found = Scheme::new(Lock::new(expression)).protocol().unwrap_err();
        let first = &found[0];
        (first.message.clone(), first.span.start, first.span.end)
    }

    #[test]
    fn named_locks_and_expressions_load() {
        for lock in [
            "n",
            "rank",
            "reversed-rank",
            "reversed_rank",
            "(3 * n + m) % 5",
        ] {
            assert!(Scheme::new(Lock::new(lock)).protocol().is_ok(), "{lock}");
        }
        for order in [RowOrder::Ascending, RowOrder::Descending, RowOrder::Any] {
            for launch in [LaunchChoice::Descending, LaunchChoice::Any] {
                let lock = Lock::new("rank");
                let scheme = Scheme {
                    lock,
                    order,
                    launch,
                };
                assert!(scheme.protocol().is_ok());
            }
        }
    }

    #[test]
    fn errors_are_in_the_expression() {
        let (message, start, end) = error("n + rnak(n, m)");
        assert!(message.contains("rnak"), "{message}");
        assert_eq!((start, end), (4, 8));
        assert_eq!(error("n +").1, 3);
        assert_eq!(error("visits[n, m]").1, 0);
        assert_eq!(error("").1, 0);
        assert!(error("n }").1 <= 3);
    }
}
