//! The case rule: small values of a parameter have an argument of their own.

use warplock::certificate::argument::Argument;
use warplock::certificate::case_split::CaseSplit;
use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::protocol::Property;

use super::cut::accepted;
use super::cut::proposal_by;

/// A CTA passes work on to another one that then meets its own warps: where the first one gets to while the
/// second one is held depends on whether there is any work.
fn pair(domain: &str, last: &str) -> String {
    format!(
        "protocol pair
        param K in {domain}
        mbarrier full[2] {{ arrivals: 1 }}
        mbarrier empty[2] {{ arrivals: 1 }}
        mbarrier done {{ arrivals: 1 }}
        named mine[1]
        named other[1]
        role producer warp {{
            sync other[0] 64
            for k in 0..K {{
                wait empty[k % 2] (k / 2 + 1) % 2
                arrive full[k % 2]
            }}
        }}
        role helper warp {{ sync other[0] 64 }}
        role consumer warp {{
            sync mine[0] 64
            for k in 0..K {{
                wait full[k % 2] k / 2 % 2
                arrive empty[k % 2]
            }}
            arrive done
            {last}
        }}
        role epilogue warp {{
            sync mine[0] 64
            wait done 0
            sync mine[0] 64
        }}"
    )
}

fn split(source: &str) -> CaseSplit {
    match proposal_by(Layer::CaseSplit(Property::Deadlock), source) {
        Ok(Argument::CaseSplit(split)) => split,
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_trips_and_with_some() {
    let source = pair("0..", "sync mine[0] 64");
    // The whole has no proof by cuts, which is why there are cases.
    let cuts = Layer::Cuts(Shows::Nothing);
    insta::assert_snapshot!(
        proposal_by(cuts, &source).unwrap_err(),
        @"how far epilogue comes while a member of producer waits at `sync other[0] 64` is no linear formula in loop counters and parameters"
    );
    let found = split(&source);
    assert_eq!((found.param, found.from), (0, 1));
    accepted(&source, Argument::CaseSplit(found)).unwrap();
    proposal_by(Layer::CaseSplit(Property::Deadlock), &pair("0..", "")).unwrap_err();
}

#[test]
fn a_split_is_about_its_own_parts() {
    let source = pair("0..", "sync mine[0] 64");
    let good = split(&source);
    let refused = |change: &dyn Fn(&mut CaseSplit)| {
        let mut changed = good.clone();
        change(&mut changed);
        accepted(&source, Argument::CaseSplit(changed)).unwrap_err()
    };
    refused(&|split| split.from = 2);
    refused(&|split| std::mem::swap(&mut split.below, &mut split.above));
    refused(&|split| split.above = split.below.clone());
    refused(&|split| split.below = split.above.clone());
    let empty = "the rule does not apply to the protocol: a case without values";
    for from in [0, -1, i64::MIN] {
        assert_eq!(refused(&|split| split.from = from).to_string(), empty);
    }
    refused(&|split| split.from = i64::MAX);
    assert_eq!(refused(&|split| split.param = 1).to_string(), empty);
    // The domain of another protocol has other parts.
    for domain in ["0..=0", "1..", "{0, 1, 2}"] {
        let other = pair(domain, "sync mine[0] 64");
        let reason = accepted(&other, Argument::CaseSplit(good.clone())).unwrap_err();
        assert_eq!(reason.to_string(), empty);
    }
    let faulty = pair("0..", "");
    accepted(&faulty, Argument::CaseSplit(good.clone())).unwrap_err();
}
