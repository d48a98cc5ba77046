//! Shows an edit as changed lines.

/// A part of a text that an edit changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The first line in the original, from 1.
    pub line: usize,
    /// The lines before.
    pub before: Vec<String>,
    /// The lines after.
    pub after: Vec<String>,
}

/// With more changed lines than this, a change is shown as one part.
const LINES: usize = 2_000;

/// The parts of a text that differ, in order, by a longest common subsequence of lines.
pub fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tails = old.iter().rev().zip(new.iter().rev()).take(rest);
    let tail = tails.take_while(|(a, b)| a == b).count();
    let a = &old[head..old.len() - tail];
    let b = &new[head..new.len() - tail];
    let whole = Hunk {
        line: head + 1,
        before: a.iter().map(|line| (*line).to_owned()).collect(),
        after: b.iter().map(|line| (*line).to_owned()).collect(),
    };
    if a.len() > LINES || b.len() > LINES {
        return vec![whole];
    }
    // `common[i][j]` is the number of common lines of `a[i..]` and `b[j..]`.
    let mut common = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut i, mut j, mut open) = (0, 0, false);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j, open) = (i + 1, j + 1, false);
            continue;
        }
        if !open {
            hunks.push(Hunk {
                line: head + i + 1,
                before: Vec::new(),
                after: Vec::new(),
            });
            open = true;
        }
        let Some(hunk) = hunks.last_mut() else {
            break;
        };
        if j >= b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            hunk.before.push(a[i].to_owned());
            i += 1;
        } else {
            hunk.after.push(b[j].to_owned());
            j += 1;
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let found = hunks("a\nb\nc\nd\ne\n", "a\nx\nc\nd\ne\nf\n");
        let shown: Vec<_> = found
            .iter()
            .map(|h| (h.line, h.before.join(" "), h.after.join(" ")))
            .collect();
        let text = |s: &str| s.to_owned();
        assert_eq!(shown, [(2, text("b"), text("x")), (6, text(""), text("f"))]);
        assert_eq!(hunks("a\n", "a\n"), Vec::new());
    }
}
