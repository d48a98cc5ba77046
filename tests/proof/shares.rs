//! Each property looks at a share of what the text says of data. Where that share has no value at some input, the
//! property is not proved, and the reference semantics refuse that input. The rest of it does not matter.

use std::time::Duration;

use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::semantics::explore::Options;
use warplock::semantics::hazards::search::search_all;
use warplock::semantics::inputs::Bounds;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(20);
/// At this value of `C` the divisor `D` is 0.
const HIDDEN: i64 = 31 * 43;

/// What is declared, what a member does, and the properties for which both have to be defined.
const CASES: &[(&str, &str, &[Property])] = &[
    ("", "", &[]),
    (
        "buffer other[5 / (D)]",
        "",
        &[Property::Race, Property::StaleRead, Property::Resources],
    ),
    (
        "",
        "if C == 31 * 43 { read d[7] }",
        &[Property::Race, Property::StaleRead, Property::Resources],
    ),
    (
        "",
        "if C == 31 * 43 { wait_group 5 / (C - C) }",
        &[Property::Race, Property::StaleRead, Property::Resources],
    ),
    ("invariant 5 / (D) <= 5", "", &[Property::Assertion]),
    (
        "invariant [i in 0..5 / (D)] met[0] >= i - i",
        "",
        &[Property::Assertion],
    ),
    (
        "",
        "assert met[1 + C / (31 * 43) - C / (31 * 43 + 1)] >= 0",
        &[Property::Assertion],
    ),
    ("", "assert 5 / (D) <= 5", &[Property::Assertion]),
    (
        "mbarrier unused[i in 0..2] { arrivals: 1 } cta 5 / (D + i)",
        "",
        &[Property::Uninitialized],
    ),
    (
        "role elsewhere cta 5 / (D) { }",
        "",
        &[
            Property::Race,
            Property::StaleRead,
            Property::Resources,
            Property::Uninitialized,
        ],
    ),
];

const PROPERTIES: [(Property, Shows); 6] = [
    (Property::Deadlock, Shows::Nothing),
    (Property::Race, Shows::Ordering),
    (Property::StaleRead, Shows::Visibility),
    (Property::Assertion, Shows::Claims),
    (Property::Resources, Shows::Lifetimes),
    (Property::Uninitialized, Shows::Exits),
];

fn source(declared: &str, done: &str) -> String {
    format!(
        "protocol shares
        param C in 1..
        mbarrier met[2] {{ arrivals: 2 }}
        mbarrier there[i in 0..1] {{ arrivals: 1 }} cta i
        pool room = 8 {{ release: mandatory }}
        buffer d[2]
        eventually done
        {declared}
        role first {{ acquire room 8 release room 8 {done} arrive met[0] wait met[0] 0 }}
        role second {{ arrive met[0] wait met[0] 0 arrive there[0] }}"
    )
    .replace("(D", "((C - 31 * 43) * (C - 31 * 43)")
}

fn proved(source: &str, property: Property, shows: Shows) -> bool {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{source}\n{e:?}"));
    let Guess::Fitting(argument) =
        proof::search(&protocol, Layer::Cuts(shows), LIMIT, None, &|_| {})
    else {
        return false;
    };
    let narrowing = Narrowing::default();
    let issued = manifest::issue(source, &narrowing, property.name(), argument);
    issued.is_ok_and(|(certificate, _)| {
        manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).is_ok()
    })
}

#[test]
fn a_property_is_proved_if_what_it_looks_at_is_defined() {
    for (declared, done, wanted) in CASES {
        let source = source(declared, done);
        let shown =
            PROPERTIES.map(|(property, shows)| (property, proved(&source, property, shows)));
        let expected = PROPERTIES.map(|(property, _)| (property, !wanted.contains(&property)));
        assert_eq!(shown, expected, "{source}");
    }
}

#[test]
fn the_reference_semantics_refuse_an_input_where_what_a_property_looks_at_is_undefined() {
    let runs = |source: &str, property, value| {
        let protocol = text::load(source.as_bytes()).unwrap();
        let bounds = Bounds::default();
        search_all(&protocol, &[value], property, &bounds, &Options::default()).is_ok()
    };
    for (declared, done, wanted) in CASES {
        let source = source(declared, done);
        for (property, _) in PROPERTIES {
            assert!(runs(&source, property, HIDDEN - 1), "{source}{property:?}");
            let refused = wanted.contains(&property);
            let run = runs(&source, property, HIDDEN);
            assert_eq!(run, !refused, "{source}{property:?}");
        }
    }
}
