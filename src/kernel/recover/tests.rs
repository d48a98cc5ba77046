//! Terms against words.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::term::Atom;
use super::term::TermId;
use super::term::Terms;
use crate::meaning::Binary;
use crate::meaning::Concrete;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;

/// A random expression, as a term over atoms and as a word where the atoms have values.
fn random(
    random: &mut ChaCha8Rng,
    terms: &mut Terms,
    values: &[Word],
    depth: u32,
    width: u16,
) -> (TermId, Word) {
    const BINARY: [Binary; 13] = [
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::And,
        Binary::Or,
        Binary::Xor,
        Binary::ShiftLeft,
        Binary::ShiftRightLogical,
        Binary::ShiftRightArithmetic,
        Binary::DivideUnsigned,
        Binary::DivideSigned,
        Binary::RemainderUnsigned,
        Binary::RemainderSigned,
    ];
    const RELATIONS: [Relation; 3] = [
        Relation::Equal,
        Relation::LessUnsigned,
        Relation::LessSigned,
    ];
    if depth == 0 || random.random_range(0..8) == 0 {
        let atom = random.random_range(0..values.len());
        if values[atom].width == width && random.random_range(0..3) > 0 {
            let offset = u32::try_from(atom).unwrap() * 4;
            return (terms.atom(Atom::Parameter { offset }, width), values[atom]);
        }
        let bits = match random.random_range(0..4) {
            0 => random.random_range(0..9),
            1 => (1 << random.random_range(0..u32::from(width))) - 1,
            2 => 1 << random.random_range(0..u32::from(width)),
            _ => random.random::<u128>(),
        };
        return (terms.constant(bits, width), Word::new(bits, width));
    }
    let next = |terms: &mut Terms, random: &mut ChaCha8Rng, width| {
        self::random(random, terms, values, depth - 1, width)
    };
    match random.random_range(0..8) {
        0..=3 => {
            let operation = BINARY[random.random_range(0..BINARY.len())];
            let (a, x) = next(terms, random, width);
            let (b, y) = next(terms, random, width);
            (
                terms.binary(operation, &a, &b),
                Concrete.binary(operation, &x, &y),
            )
        }
        4 => {
            let (a, x) = next(terms, random, width);
            (terms.not(&a), Concrete.not(&x))
        }
        5 => {
            let relation = RELATIONS[random.random_range(0..RELATIONS.len())];
            let (a, x) = next(terms, random, 16);
            let (b, y) = next(terms, random, 16);
            let (p, q) = (
                terms.relation(relation, &a, &b),
                Concrete.relation(relation, &x, &y),
            );
            let (c, z) = next(terms, random, width);
            let (d, w) = next(terms, random, width);
            (terms.select(&p, &c, &d), Concrete.select(&q, &z, &w))
        }
        6 => {
            let signed = random.random_range(0..2) == 0;
            let (a, x) = next(terms, random, 8);
            if width < 8 {
                return (terms.extract(&a, 1, width), Concrete.extract(&x, 1, width));
            }
            (
                terms.extend(&a, width, signed),
                Concrete.extend(&x, width, signed),
            )
        }
        _ => {
            let (a, x) = next(terms, random, 32);
            if width > 16 {
                let (b, y) = next(terms, random, width - 8);
                let (high, top) = (terms.extract(&a, 3, 8), Concrete.extract(&x, 3, 8));
                return (terms.concatenate(&high, &b), Concrete.concatenate(&top, &y));
            }
            let low = random.random_range(0..=32 - width);
            (
                terms.extract(&a, low, width),
                Concrete.extract(&x, low, width),
            )
        }
    }
}

#[test]
fn terms_mean_what_words_do() {
    let mut source = ChaCha8Rng::seed_from_u64(19);
    let mut decided = 0;
    for round in 0..20_000 {
        let mut terms = Terms::default();
        let values: Vec<Word> = [32, 32, 16, 8, 1]
            .into_iter()
            .map(|width| {
                let bits = match source.random_range(0..3) {
                    0 => source.random_range(0..5),
                    1 => u128::MAX - source.random_range(0..5),
                    _ => source.random::<u128>(),
                };
                Word::new(bits, width)
            })
            .collect();
        let width = [1, 8, 16, 32][source.random_range(0..4)];
        let (term, word) = random(&mut source, &mut terms, &values, 4, width);
        assert_eq!(terms.width_of(term), word.width, "round {round}");
        let constants: Vec<TermId> = values
            .iter()
            .map(|word| terms.constant(word.bits, word.width))
            .collect();
        let with = |atom: Atom| match atom {
            Atom::Parameter { offset } => constants.get(offset as usize / 4).copied(),
            _ => None,
        };
        decided += u32::from(terms.value(term).is_none());
        let done = terms.substitute(term, &with);
        assert_eq!(
            terms.value(done),
            Some(word.bits),
            "round {round}: {}",
            terms.shown(term)
        );
    }
    assert!(decided > 5_000, "most terms have atoms: {decided}");
}
