//! The smallest failing packing or window against brute force, and against known answers.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warplock::protocol::Protocol;
use warplock::repro::ReproError;
use warplock::repro::family;
use warplock::repro::family::Family;
use warplock::repro::family::Finding;
use warplock::repro::family::Origin;
use warplock::repro::family::TileSizes;
use warplock::schemes::Lock;
use warplock::schemes::Outcome;
use warplock::schemes::Scheme;
use warplock::schemes::judge;
use warplock::semantics::step;
use warplock::tensors::packing::Tiling;
use warplock::tensors::packing::pack;
use warplock::tensors::windows::Window;
use warplock::text;
use warplock::text::Narrowing;

fn find(protocol: &Protocol, family: Family, tile: TileSizes, seconds: u64) -> Finding {
    let cancel = AtomicBool::new(false);
    let settings = family::Settings {
        timeout: Duration::from_secs(seconds),
        cancel: &cancel,
        tell: &|_| {},
    };
    let narrowing = Narrowing::default();
    family::smallest(protocol, &narrowing, family, &[tile], &settings).expect("an answer")
}

fn library(name: &str) -> Protocol {
    let path = format!("encodings/block_sparse/{name}.wlk");
    text::load(&std::fs::read(path).expect("a file")).expect("a protocol")
}

fn square(tile: u64) -> TileSizes {
    TileSizes { m: tile, n: tile }
}

fn lengths(finding: &Finding) -> Vec<u64> {
    let Finding::Hangs(failure) = finding else {
        panic!("{finding:?}");
    };
    match &failure.origin {
        Some(Origin::Packing { lengths, .. }) => lengths.clone(),
        other => panic!("{other:?}"),
    }
}

/// Whether a lock makes the packing hang, by the other command.
fn hangs(lengths: &[u64], tiling: Tiling, lock: &str) -> bool {
    let tiles = pack(lengths, tiling).expect("small");
    let judgement = judge(&tiles, &Scheme::new(Lock::new(lock)), None).expect("a lock");
    judgement.outcome == Outcome::Hangs
}

/// Every way to cut this many tokens into segments.
fn packings(tokens: u64) -> impl Iterator<Item = Vec<u64>> {
    (0u64..1 << (tokens - 1)).map(move |cuts| {
        let mut lengths = vec![1];
        for at in 0..tokens - 1 {
            match cuts >> at & 1 {
                1 => lengths.push(1),
                _ => *lengths.last_mut().expect("never empty") += 1,
            }
        }
        lengths
    })
}

#[test]
fn the_block_index_hangs_at_129_tokens() {
    let protocol = library("lock_n_block");
    for family in [Family::Packed, Family::PackedCausal] {
        let found = find(&protocol, family, square(128), 60);
        let lengths = lengths(&found);
        assert_eq!((lengths.iter().sum::<u64>(), lengths.len()), (129, 2));
        assert_eq!(lengths, [128, 1]);
        let tiling = Tiling {
            tile_m: 128,
            tile_n: 128,
            causal: family == Family::PackedCausal,
        };
        assert!(hangs(&lengths, tiling, "n"));
        // Up to 128 tokens there is one tile; 129 tokens in one segment visit all tiles.
        assert!(!hangs(&[128], tiling, "n"));
        if family == Family::Packed {
            assert!(!hangs(&[129], tiling, "n"));
        }
        let Finding::Hangs(failure) = found else {
            return;
        };
        assert!(!step::is_finished(
            &failure.instance,
            &step::initial(&failure.instance)
        ));
        assert_eq!(failure.witness.blocked.len(), 1);
    }
}

#[test]
fn ranks_are_proved_for_every_packing() {
    for name in ["lock_rank", "reversed_rank"] {
        let found = find(&library(name), Family::Packed, square(128), 60);
        assert!(matches!(found, Finding::Proved(_)), "{found:?}");
    }
}

#[test]
fn small_packings_agree_with_brute_force() {
    let locks = [
        "n",
        "rank(n, m)",
        "(n + m) % 2",
        "(2 * n + m) % 3",
        "max(n - m, 0)",
        "total(m) - 1 - rank(n, m)",
        "if n > 1 then n - 1 else rank(n, m)",
    ];
    let shapes = [(2, 2), (2, 3), (3, 2), (4, 2), (2, 4), (3, 4), (4, 4)];
    for lock in locks {
        let protocol = Scheme::new(Lock::new(lock)).protocol().expect("a lock");
        for (tile_m, tile_n) in shapes {
            for causal in [false, true] {
                let tiling = Tiling {
                    tile_m,
                    tile_n,
                    causal,
                };
                let expected = (1..=9).find_map(|tokens| {
                    let hanging = packings(tokens).filter(|p| hangs(p, tiling, lock));
                    hanging.map(|p| (tokens, p.len())).min()
                });
                let family = if causal {
                    Family::PackedCausal
                } else {
                    Family::Packed
                };
                let tile = TileSizes {
                    m: tile_m,
                    n: tile_n,
                };
                let found = find(&protocol, family, tile, 4);
                let found = match &found {
                    Finding::Hangs(_) => {
                        let lengths = lengths(&found);
                        assert!(hangs(&lengths, tiling, lock));
                        Some((lengths.iter().sum::<u64>(), lengths.len()))
                    }
                    _ => None,
                };
                let within_reach = found.filter(|(tokens, _)| *tokens <= 9);
                assert_eq!(
                    within_reach, expected,
                    "{lock}, {tiling:?}, found {found:?}"
                );
            }
        }
    }
}

#[test]
fn small_windows_agree_with_brute_force() {
    let lock = "n";
    let protocol = Scheme::new(Lock::new(lock)).protocol().expect("a lock");
    for (tile_m, tile_n) in [(2, 2), (3, 2), (2, 3)] {
        for local in [false, true] {
            let mut expected = None;
            let sides = if local { 4 } else { 1 };
            'all: for sq in 1..=8u64 {
                for sk in 1..=8u64 {
                    for wl in 0..sides {
                        for wr in 0..sides {
                            let window = Window::new(sq, sk, tile_m, tile_n).expect("small");
                            let window = window.right(wr);
                            let window = if local { window.left(wl) } else { window };
                            let tiles = window.classified().expect("small");
                            let scheme = Scheme::new(Lock::new(lock));
                            let judgement = judge(&tiles, &scheme, None).expect("a lock");
                            if judgement.outcome == Outcome::Hangs {
                                expected = Some((sq, sk, wl, wr));
                                break 'all;
                            }
                        }
                    }
                }
            }
            let family = if local { Family::Local } else { Family::Causal };
            let found = find(
                &protocol,
                family,
                TileSizes {
                    m: tile_m,
                    n: tile_n,
                },
                5,
            );
            let Finding::Hangs(failure) = found else {
                assert_eq!(expected, None);
                continue;
            };
            let Some(Origin::Window {
                sq,
                sk,
                left,
                right,
                ..
            }) = failure.origin
            else {
                panic!("a window");
            };
            assert_eq!(Some((sq, sk, left.unwrap_or(0), right)), expected);
        }
    }
}

#[test]
fn a_family_needs_a_pattern_to_make() {
    let cancel = AtomicBool::new(false);
    let settings = family::Settings {
        timeout: Duration::from_secs(1),
        cancel: &cancel,
        tell: &|_| {},
    };
    let narrowing = Narrowing::default();
    let dense = library("causal_reversed");
    let found = family::smallest(&dense, &narrowing, Family::Causal, &[square(64)], &settings);
    assert!(matches!(found, Err(ReproError::NoOpenPattern)));
    let open = library("lock_rank");
    let found = family::smallest(&open, &narrowing, Family::Packed, &[square(0)], &settings);
    assert!(matches!(
        found,
        Err(ReproError::TileSize { axis: 'm', tile: 0 })
    ));
}
