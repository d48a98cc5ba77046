//! Statements that might hold in every state, from the shape of the system alone.

use itertools::Itertools;

use crate::certificate::counting::Atom;
use crate::certificate::counting::Fact;
use crate::certificate::counting::Layout;

/// With more elements than this only neighbours are compared.
const ALL_PAIRS: usize = 8;

/// About how many candidates there are.
pub fn size(layout: &Layout) -> usize {
    let elements: usize = layout.families.iter().sum();
    let places: usize = (0..layout.groups.len())
        .map(|group| layout.locations(group) * (layout.window + 1))
        .sum();
    places * places / 2 + 6 * places * elements
}

/// Everything worth trying; the families named have arrivals under a condition.
pub fn candidates(layout: &Layout, conditional: &[usize]) -> Vec<Fact> {
    let elements: Vec<[usize; 2]> = layout
        .families
        .iter()
        .enumerate()
        .flat_map(|(family, size)| (0..*size).map(move |j| [family, j]))
        .collect();
    let places: Vec<[usize; 3]> = (0..layout.groups.len())
        .flat_map(|group| {
            (0..layout.locations(group)).flat_map(move |location| {
                (0..=layout.lags(group, location)).map(move |lag| [group, location, lag])
            })
        })
        .collect();
    let mut all = Vec::new();
    for element in &elements {
        all.push(Fact::Accounting(*element));
        if conditional.contains(&element[0]) {
            let size = layout.families[element[0]];
            for (early, recent) in [(0, 2), (2 * size, 0), (2 * size, 2)] {
                all.push(Fact::AccountingExcept(*element, early, recent));
            }
        }
        for value in -2..=2 {
            all.push(Fact::Always(Atom::AtLeast(*element, value)));
            all.push(Fact::Always(Atom::AtMost(*element, value)));
        }
    }
    for (element, place) in elements.iter().cartesian_product(&places) {
        let ahead = [
            Atom::AtMost(*element, -1),
            Atom::AtMost(*element, 0),
            Atom::AtMost(*element, 1),
            Atom::AtLeast(*element, 0),
            Atom::AtLeast(*element, 1),
            Atom::AtLeast(*element, 2),
        ];
        all.extend(ahead.map(|atom| Fact::When(vec![atom], Atom::Empty(*place))));
    }
    for (nth, a) in places.iter().enumerate() {
        for b in &places[nth + 1..] {
            all.push(Fact::When(vec![Atom::Occupied(*a)], Atom::Empty(*b)));
        }
    }
    for (a, b) in elements.iter().cartesian_product(&elements) {
        let near = a[0] == b[0] && a[1].abs_diff(b[1]) == 1;
        if a != b && (elements.len() <= ALL_PAIRS || near) {
            all.extend([0, 1].map(|most| Fact::Always(Atom::Gap(*a, *b, most))));
        }
    }
    all
}
