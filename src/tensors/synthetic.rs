//! Random patterns from a seed: for benchmarks, and to try a lock scheme on many inputs.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rand_chacha::rand_core::SeedableRng;

use super::error::TensorError;
use super::model::BlockSparse;
use super::model::Builder;
use super::model::ExtentSource;
use super::options::MAX_BLOCKS;
use super::options::MAX_ELEMENTS;
use super::packing::too_large;

/// What kind of pattern [`random`] draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Random {
    /// The number of column tiles N.
    pub n_blocks: usize,
    /// The number of row tiles M.
    pub m_blocks: usize,
    /// The probability that a tile is visited, 0 to 1; values outside count as the nearer end.
    pub density: f64,
    /// The probability that a visited tile is full, 0 to 1.
    pub full_share: f64,
    /// Whether each list is in random instead of ascending order.
    pub shuffled: bool,
}

/// Draws a pattern. The same seed gives the same pattern on every machine.
///
/// # Errors
/// More than 2^24 tiles along an axis, or more than 2^26 visited ones.
pub fn random(kind: &Random, seed: u64) -> Result<BlockSparse, TensorError> {
    for (axis, extent) in [('n', kind.n_blocks), ('m', kind.m_blocks)] {
        if extent as u64 > MAX_BLOCKS {
            let what = format!("the number of {axis} tiles");
            return Err(too_large(&what, extent.to_string(), MAX_BLOCKS).into());
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut builder = Builder::new();
    for _ in 0..kind.n_blocks {
        let (mut masks, mut fulls) = (Vec::new(), Vec::new());
        for m in 0..kind.m_blocks as u32 {
            if happens(&mut rng, kind.density) {
                match happens(&mut rng, kind.full_share) {
                    true => fulls.push(m),
                    false => masks.push(m),
                }
            }
        }
        if (builder.len() + masks.len() + fulls.len()) as u64 > MAX_ELEMENTS {
            let found = format!("over {MAX_ELEMENTS}");
            return Err(too_large("the number of visited tiles", found, MAX_ELEMENTS).into());
        }
        if kind.shuffled {
            shuffle(&mut rng, &mut masks);
            shuffle(&mut rng, &mut fulls);
        }
        masks.into_iter().for_each(|m| builder.tile(m));
        builder.end_masks();
        fulls.into_iter().for_each(|m| builder.tile(m));
        builder.end_row();
    }
    Ok(builder.finish(kind.m_blocks, ExtentSource::Caller))
}

fn happens(rng: &mut ChaCha8Rng, probability: f64) -> bool {
    // A cast from a float saturates, so anything outside 0..=1 counts as the nearer end.
    let threshold = (probability * (1u64 << 32) as f64) as u64;
    u64::from(rng.next_u32()) < threshold
}

// Fisher-Yates; the bias of the remainder is below 2^-40 for these lengths.
fn shuffle(rng: &mut ChaCha8Rng, list: &mut [u32]) {
    for at in (1..list.len()).rev() {
        let other = rng.next_u64() % (at as u64 + 1);
        list.swap(at, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_pattern() {
        let kind = Random {
            n_blocks: 50,
            m_blocks: 40,
            density: 0.25,
            full_share: 0.5,
            shuffled: true,
        };
        let tiles = random(&kind, 7).unwrap();
        assert_eq!(tiles, random(&kind, 7).unwrap());
        assert_ne!(tiles, random(&kind, 8).unwrap());
        assert!((400..600).contains(&tiles.len()), "{}", tiles.len());
    }

    #[test]
    fn probabilities_outside_the_range_count_as_its_ends() {
        let kind = Random {
            n_blocks: 3,
            m_blocks: 4,
            density: 7.0,
            full_share: -1.0,
            shuffled: false,
        };
        let tiles = random(&kind, 0).unwrap();
        assert_eq!(tiles.mask_row(2), [0, 1, 2, 3]);
        let none = Random {
            density: f64::NAN,
            ..kind
        };
        assert!(random(&none, 0).unwrap().is_empty());
    }
}
