//! Pools that may run short and that everybody holds briefly: what is proved of them, and what must not be proved.

use std::time::Duration;

use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::text;

use crate::support::cut_rule::proved_within;

/// There is time for this, however busy the machine.
const LIMIT: Duration = Duration::from_secs(60);

fn proved(property: Property, work: &str, before: &str) -> bool {
    let source = format!(
        "protocol p param W in 1.. param T in 0.. pool columns = 512 pool others = 2
         mbarrier full[2] {{ arrivals: W }} mbarrier empty[2] {{ arrivals: 1 }}
         role worker[w in 0..W] {{ {before} for t in 0..T {{ {work} }} }}
         role next {{ for t in 0..T {{ wait full[t % 2] t / 2 % 2 arrive empty[t % 2] }} }}"
    );
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    proved_within(
        LIMIT,
        Layer::Cuts(Shows::Nothing),
        property,
        (&source, &protocol),
    )
}

const WAIT: &str = "wait empty[t % 2] (t / 2 + 1) % 2";
const ARRIVE: &str = "arrive full[t % 2]";

#[test]
fn nobody_is_kept_waiting_by_who_goes_on() {
    for work in [
        format!("{WAIT} acquire columns 256 release columns 256 {ARRIVE}"),
        format!("{WAIT} acquire columns 512 {ARRIVE} release columns 512"),
        format!("{WAIT} acquire columns 256 release columns 128 release columns 128 {ARRIVE}"),
        format!(
            "{WAIT} acquire columns 256 release columns 256 acquire others 1 release others 1 {ARRIVE}"
        ),
    ] {
        for property in [Property::Deadlock, Property::Resources] {
            assert!(proved(property, &work, ""), "{property:?} {work}");
        }
    }
}

#[test]
fn who_waits_with_something_in_hand_is_refused() {
    for (work, before) in [
        // More than there is.
        (
            format!("{WAIT} acquire columns 513 release columns 513 {ARRIVE}"),
            "",
        ),
        // Held at a wait, at another acquisition, and in the end.
        (
            format!("acquire columns 256 {WAIT} release columns 256 {ARRIVE}"),
            "",
        ),
        (
            format!("{WAIT} acquire columns 256 acquire columns 256 release columns 512 {ARRIVE}"),
            "",
        ),
        (
            format!(
                "{WAIT} acquire columns 256 acquire others 1 release others 1 release columns 256 {ARRIVE}"
            ),
            "",
        ),
        (
            format!("{WAIT} acquire columns 256 release columns 255 {ARRIVE}"),
            "",
        ),
        (format!("{WAIT} {ARRIVE}"), "acquire columns 256"),
        // From one round to the next.
        (
            format!("{WAIT} if t > 0 {{ release columns 256 }} acquire columns 256 {ARRIVE}"),
            "",
        ),
    ] {
        assert!(
            !proved(Property::Deadlock, &work, before),
            "{before} {work}"
        );
    }
}
