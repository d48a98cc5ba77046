//! Tests that witnesses survive a round trip, and that every kind of false claim in one is found.

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::semantics::explore::Options;
use crate::semantics::explore::explore;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;
use crate::semantics::samples::*;
use crate::semantics::step::Action;
use crate::semantics::unfold::instantiate;

use super::*;

fn witness(protocol: &Protocol, input: &Input) -> Witness {
    let instance = instantiate(protocol, input).expect("a valid input");
    let trace = explore(&instance, &Options::default())
        .stuck
        .expect("hangs");
    record(protocol, input, &trace).expect("the trace hangs")
}

fn least() -> (Protocol, Witness) {
    let protocol = block_sparse(Lock::Own, false, RowOrder::Given);
    let witness = witness(&protocol, &input(&[2, 1, 2], &[[1, 0]]));
    (protocol, witness)
}

#[test]
fn a_witness_replays_after_a_round_trip() {
    let (protocol, witness) = least();
    let blocked = &witness.blocked;
    assert_eq!(blocked.len(), 1);
    assert_eq!(
        (blocked[0].member.as_str(), blocked[0].object.as_str()),
        ("cta[1]", "dq[0]")
    );
    assert_eq!(
        (blocked[0].wants.as_str(), blocked[0].value.as_str()),
        ("== 1", "0")
    );
    let json = witness.to_json().expect("serializable");
    assert!(
        json.contains("\"launch\": 0,\n      \"member\": \"cta[0]\""),
        "{json}"
    );
    let read = Witness::from_json(json.as_bytes()).expect("readable");
    assert_eq!(read, witness);
    let replayed = replay(&protocol, &read).expect("it hangs");
    assert_eq!(replayed.schedule, [Action::Launch(0), Action::Launch(1)]);
    assert_eq!(replayed.input, input(&[2, 1, 2], &[[1, 0]]));
}

#[test]
fn orders_and_starts_are_part_of_it() {
    let protocol = delayed_release(Release::Neighbour, true, RowOrder::Given);
    let mut listed = input(&[2, 2], &[[0, 0], [0, 1], [1, 0], [1, 1]]);
    for n in 0..2 {
        let key = OrderKey::Row {
            pattern: 0,
            row: vec![n],
        };
        listed.orders.insert(key, vec![1, 0]);
    }
    let mut witness = witness(&protocol, &listed);
    assert_eq!(witness.orders.len(), 2);
    assert_eq!(replay(&protocol, &witness).expect("it hangs").input, listed);
    let order = witness.orders[0].clone();
    witness.orders.push(order);
    assert!(matches!(
        replay(&protocol, &witness),
        Err(ReplayError::Twice(_))
    ));
    witness.orders.clear();
    assert!(replay(&protocol, &witness).is_err());
    witness.orders.push(OrderEntry::Row {
        pattern: "visits".to_owned(),
        row: vec![7],
        order: Vec::new(),
    });
    assert!(matches!(
        replay(&protocol, &witness),
        Err(ReplayError::UnusedOrder(_))
    ));
}

#[test]
fn named_barriers_and_mbarriers_are_described() {
    let protocol = warps(&[&[(true, 0, 2), (false, 1, 2)], &[(true, 1, 2)]]);
    let found = witness(&protocol, &plain(&[]));
    assert_eq!(found.blocked[0].wants, "64 threads");
    assert_eq!(found.blocked[0].value, "32 threads: w0");
    assert!(replay(&protocol, &found).is_ok());
    let protocol = jacobi(true);
    let found = witness(&protocol, &plain(&[1, 2]));
    assert!(found.blocked.iter().all(|b| b.wants == "parity 0"));
    assert!(replay(&protocol, &found).is_ok());
}

#[test]
fn what_lands_is_part_of_the_schedule() {
    let source = "protocol p mbarrier b { arrivals: 1 } barrier c { arrivals: 3 } pool r = 8
        role w { arrive_expect_tx b 8 async copy t completes b 4 commit b
            async copy t completes b 4 wait b 0 acquire r 4 sync c }
        role v { acquire r 8 }
        role u { sync c }
        role x { wait b 1 arrive_expect_tx b 4 wait b 0 }";
    let protocol = crate::text::load(source.as_bytes()).expect("a protocol");
    let found = witness(&protocol, &plain(&[]));
    let lands = |entry: &&ScheduleEntry| matches!(entry, ScheduleEntry::Land { .. });
    assert!(found.schedule.iter().any(|entry| lands(&entry)));
    let text = found.to_json().expect("JSON");
    let read = Witness::from_json(text.as_bytes()).expect("a witness");
    assert_eq!(read, found);
    assert!(replay(&protocol, &read).is_ok());
    let mut lie = found.clone();
    for entry in &mut lie.schedule {
        if let ScheduleEntry::Land { position, .. } = entry {
            *position += 7;
        }
    }
    assert!(matches!(
        replay(&protocol, &lie),
        Err(ReplayError::NotEnabled { .. })
    ));
}

#[test]
fn every_lie_is_found() {
    let (protocol, honest) = least();
    let refused = |change: &dyn Fn(&mut Witness)| {
        let mut lie = honest.clone();
        change(&mut lie);
        assert_ne!(lie, honest);
        replay(&protocol, &lie).expect_err("a lie")
    };
    assert_eq!(refused(&|w| w.schema = 2), ReplayError::Schema(2));
    assert!(matches!(refused(&|w| w.tool.clear()), ReplayError::Tool(_)));
    assert!(matches!(
        refused(&|w| w.source.push(' ')),
        ReplayError::Digest { .. }
    ));
    assert!(matches!(
        refused(&|w| w.source_sha256.clear()),
        ReplayError::Digest { .. }
    ));
    let other = refused(&|w| {
        w.source.push(' ');
        w.source_sha256 = sha256_hex(w.source.as_bytes());
    });
    assert_eq!(other, ReplayError::OtherProtocol);
    assert_eq!(refused(&|w| w.protocol.clear()), ReplayError::OtherProtocol);
    for (text, fits) in [("2 < 1", true), ("Q > 1", false)] {
        let assuming = refused(&|w| w.assumptions.push(text.to_owned()));
        assert_eq!(matches!(assuming, ReplayError::Run(_)), fits, "{assuming}");
        assert_eq!(
            matches!(assuming, ReplayError::Assumption(_)),
            !fits,
            "{assuming}"
        );
    }
    for other in ["race", "over_arrival", "hope"] {
        let property = refused(&|w| w.property = other.to_owned());
        assert!(matches!(property, ReplayError::OtherProperty { .. }));
    }
    let unknown = refused(&|w| {
        w.parameters.insert("Q".to_owned(), 1);
    });
    assert!(matches!(unknown, ReplayError::Unknown { .. }));
    let missing = refused(&|w| {
        w.parameters.remove("M");
    });
    assert!(matches!(missing, ReplayError::Missing { .. }));
    let domain = refused(&|w| {
        w.parameters.insert("R".to_owned(), 0);
    });
    assert!(matches!(domain, ReplayError::Run(_)));
    assert!(matches!(
        refused(&|w| w.patterns.clear()),
        ReplayError::Missing { .. }
    ));
    let outside = refused(&|w| {
        w.patterns.insert("visits".to_owned(), vec![vec![2, 0]]);
    });
    assert!(matches!(outside, ReplayError::Run(_)));
    let harmless = refused(&|w| {
        w.patterns.insert("visits".to_owned(), Vec::new());
    });
    assert_eq!(harmless, ReplayError::NoViolation);
    let start = refused(&|w| {
        w.initial.push(StartEntry {
            object: "dq".to_owned(),
            index: vec![0],
            value: 0,
        });
    });
    assert!(matches!(start, ReplayError::Run(_)));
    let name = refused(&|w| {
        w.schedule[1] = ScheduleEntry::Launch {
            launch: 1,
            member: "cta[0]".to_owned(),
        };
    });
    assert!(matches!(name, ReplayError::MemberName { position: 1, .. }));
    let early = refused(&|w| {
        w.schedule.swap(0, 1);
    });
    assert!(matches!(early, ReplayError::NotEnabled { position: 0, .. }));
    let absent = refused(&|w| {
        w.schedule[0] = ScheduleEntry::Step {
            step: 99,
            member: "?99".to_owned(),
        };
    });
    assert!(matches!(
        absent,
        ReplayError::NotEnabled { position: 0, .. }
    ));
    let short = refused(&|w| {
        w.schedule.pop();
    });
    assert_eq!(short, ReplayError::NoViolation);
    assert_eq!(refused(&|w| w.blocked.clear()), ReplayError::OtherBlocked);
    assert_eq!(
        refused(&|w| w.blocked[0].line += 1),
        ReplayError::OtherBlocked
    );
    let never = refused(&|w| w.unstarted.push("cta[1]".to_owned()));
    assert_eq!(never, ReplayError::OtherBlocked);
}

#[test]
fn an_over_arrival_is_replayed_too() {
    let protocol = arrives(2, &[1, 2]);
    let instance = instantiate(&protocol, &plain(&[])).expect("a valid input");
    let found = explore(&instance, &Options::default());
    let (trace, _) = found.violation.expect("two arrive where one is pending");
    let witness = record(&protocol, &plain(&[]), &trace).expect("it violates");
    assert_eq!(witness.property, "over_arrival");
    let replayed = replay(&protocol, &witness).expect("it violates");
    assert_eq!(replayed.property, Property::OverArrival);
    let mut longer = trace.clone();
    longer.push(trace[0]);
    let error = record(&protocol, &plain(&[]), &longer).expect_err("nothing follows");
    assert!(matches!(error, ReplayError::Violation { position: 1, .. }));
}

#[test]
fn unknown_fields_are_refused() {
    let (_, witness) = least();
    let json = witness.to_json().expect("serializable");
    let more = json.replacen('{', "{\"extra\": 1,", 1);
    assert!(Witness::from_json(more.as_bytes()).is_err());
    let both = json.replacen("\"launch\": 0", "\"launch\": 0, \"step\": 0", 1);
    assert!(Witness::from_json(both.as_bytes()).is_err());
}
