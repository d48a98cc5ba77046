//! A small pattern as a picture: a row per CTA, a column per row tile.

use super::Subject;
use crate::schemes;

/// The widest and the highest pattern that is drawn.
const LARGEST: usize = 64;

/// The picture, if the pattern is small enough: `.` not visited, `+` turn taken, `W` waits here
/// in vain, `-` not reached.
pub(super) fn grid(subject: &Subject<'_>) -> Option<String> {
    let (width, height) = (subject.tiles.m_blocks(), subject.tiles.n_blocks());
    if width == 0 || height == 0 || width > LARGEST || height > LARGEST {
        return None;
    }
    let mut cells = vec![vec!['.'; width]; height];
    let judgement = subject.judgement;
    for m in 0..width {
        for turn in judgement.turns.at(m) {
            let taken = schemes::is_taken(&judgement.shown.state, turn);
            cells[turn.n as usize][m] = if taken { '+' } else { '-' };
        }
    }
    for waiting in judgement.blocked() {
        cells[waiting.n as usize][waiting.m as usize] = 'W';
    }
    let mut text = String::from("  n \\ m  ");
    text.extend((0..width).map(|m| char::from(b'0' + (m % 10) as u8)));
    text.push('\n');
    for (n, row) in cells.iter().enumerate() {
        text += &format!("  {n:>5}  {}\n", row.iter().collect::<String>());
    }
    text += "  + turn taken   W waits here   - not reached   . not visited\n";
    Some(text)
}
