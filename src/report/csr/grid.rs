//! A small pattern as a picture: a row per CTA, a column per row tile.

use super::Subject;

/// The widest and the highest pattern that is drawn.
const LARGEST: usize = 64;

/// The picture, if the pattern is small enough: `.` means that the CTA does not visit the tile, `+` that it had its
/// turn there, `W` that it waits there in vain, and `-` that it did not get there.
pub(super) fn grid(subject: &Subject<'_>) -> Option<String> {
    let (width, height) = (subject.tiles.m_blocks(), subject.tiles.n_blocks());
    if width == 0 || height == 0 || width > LARGEST || height > LARGEST {
        return None;
    }
    let judgement = subject.judgement;
    let mut marks = vec!['.'; width * height];
    for (m, turn) in (0..width).flat_map(|m| judgement.turns.at(m).iter().map(move |t| (m, t))) {
        let taken = judgement.shown.state.is_taken(turn);
        marks[turn.n as usize * width + m] = if taken { '+' } else { '-' };
    }
    for waiting in judgement.blocked() {
        marks[waiting.n as usize * width + waiting.m as usize] = 'W';
    }
    let mut text = String::from("  n \\ m  ");
    text.extend((0..width).map(|m| char::from(b'0' + (m % 10) as u8)));
    text.push('\n');
    for (n, row) in marks.chunks(width).enumerate() {
        text += &format!("  {n:>5}  {}\n", row.iter().collect::<String>());
    }
    text += "  + turn taken   W waits here   - not reached   . not visited\n";
    Some(text)
}
