//! Atomic operations that return the old value: their text, and the programs that come of them.

use warplock::protocol::AtomicUpdate;
use warplock::protocol::MemoryOrder;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::protocol::Scope;
use warplock::protocol::StmtKind;
use warplock::semantics::explore;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::hazards;
use warplock::semantics::hazards::search::search_all;
use warplock::semantics::input::Input;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::instance::Instance;
use warplock::semantics::instance::OpKind;
use warplock::semantics::step::ViolationKind;
use warplock::semantics::unfold;
use warplock::text;

fn load(source: &str) -> Protocol {
    match text::load(source.as_bytes()) {
        Ok(protocol) => protocol,
        Err(found) => panic!("{}", text::render(&found, "p.wlk", source, false)),
    }
}

fn instance(source: &str, params: &[i64]) -> Instance {
    let input = Input {
        params: params.to_vec(),
        ..Input::default()
    };
    unfold::instantiate(&load(source), &input).expect("a valid input")
}

/// Whether some run hangs, and whether some run does something undefined.
fn explored(source: &str, params: &[i64]) -> (bool, Option<ViolationKind>) {
    let options = Options {
        stop_at_stuck: false,
        ..Options::default()
    };
    let found = explore::explore(&instance(source, params), &options);
    assert_eq!(found.end, SearchEnd::Exhausted);
    (
        found.stuck.is_some(),
        found.violation.map(|(_, violation)| violation.kind),
    )
}

#[test]
fn orders_and_operands_are_read_and_laid_out() {
    let source = "protocol p

semaphore s[2] = 0

role r {
    let a = fetch_add(s[0], -1)
    var b = exchange.release.gpu(s[a + 1], 3)
    let c = compare_and_swap.acq_rel.sys(s[1], b, b + 1)
    wait.acquire.cta compare_and_swap(s[0], c, 0)
    b = c
}
";
    let protocol = load(source);
    assert_eq!(text::format(source).as_deref(), Ok(source));
    let body = &protocol.roles[0].body;
    assert_eq!(body[1].memory.order, Some(MemoryOrder::Release));
    assert_eq!(body[2].memory.scope, Some(Scope::Sys));
    assert!(matches!(
        &body[2].kind,
        StmtKind::Atomic {
            update: AtomicUpdate::CompareAndSwap { .. },
            ..
        }
    ));
    assert!(matches!(body[3].kind, StmtKind::WaitSwap { .. }));
}

#[test]
fn wrong_operations_are_refused() {
    for (wrong, why) in [
        ("let t = fetch_add(m, 1)", "is an mbarrier"),
        ("let t = fetch_add(s)", "expected `,` and a value"),
        ("let t = fetch_add(s, 1, 2)", "takes one value"),
        ("let t = compare_and_swap(s, 1)", "takes two values"),
        ("let t = fetch_add(s, true)", "a truth value"),
        ("let t = fetch_add(s, t)", "unknown name `t`"),
        ("let t = exchange(s, 1) t = 2", "not a variable"),
        ("let t = exchange.strong(s, 1)", "is no order and no scope"),
        (
            "wait.release compare_and_swap(s, 0, 1)",
            "does not belong here",
        ),
        ("s += fetch_add(s, 1)", "unknown"),
    ] {
        let source =
            format!("protocol p semaphore s = 0 mbarrier m {{ arrivals: 1 }} role r {{ {wrong} }}");
        let found = text::load(source.as_bytes()).expect_err(wrong);
        let found = text::render(&found, "p.wlk", &source, false);
        assert!(found.contains(why), "{wrong}: {found}");
    }
    let function = "protocol p let exchange(a, b) = a role r {}";
    assert!(text::load(function.as_bytes()).is_err());
}

#[test]
fn each_of_n_additions_gets_a_value_of_its_own() {
    let source = "protocol p param N in 1.. semaphore s = 0 semaphore got[N] = 0
        role r[n in 0..N] { let t = fetch_add(s, 1) got[t] += 1 }
        role q { for n in 0..N { wait got[n] == 1 } }";
    for n in 1..=4 {
        assert_eq!(explored(source, &[n]), (false, None), "{n}");
    }
    let twice = source.replace(
        "got[t] += 1",
        "got[t] += 1 if t == 0 { let u = fetch_add(s, -1) }",
    );
    assert_eq!(explored(&twice, &[1]), (false, None));
    assert!(explored(&twice, &[2]).0, "two may get 1, or nobody");
}

#[test]
fn compare_and_swap_sets_only_what_it_expects() {
    let source = "protocol p param N in 1.. semaphore s = 0 semaphore won = 0 semaphore lost = 0
        role r[n in 0..N] { let old = compare_and_swap(s, 0, n + 1) if old == 0 { won += 1 } else { lost += 1 } }
        role q { wait won == 1 wait lost == N - 1 }";
    for n in 1..=3 {
        assert_eq!(explored(source, &[n]), (false, None), "{n}");
    }
    assert!(explored(&source.replace("wait won == 1", "wait won == 2"), &[3]).0);
}

#[test]
fn exchange_hands_every_value_on_once() {
    let source = "protocol p param N in 1.. semaphore s = 0 semaphore seen[N + 1] = 0
        role r[n in 0..N] { let old = exchange(s, n + 1) seen[old] += 1 }
        role q { wait seen[0] == 1 }";
    assert_eq!(explored(source, &[3]), (false, None));
    let none = source.replace(
        "wait seen[0] == 1",
        "for n in 0..N + 1 { wait seen[n] == 1 }",
    );
    assert!(explored(&none, &[2]).0, "the last value stays");
}

#[test]
fn a_lock_lets_one_in_after_the_other() {
    let source = "protocol p param N in 1.. semaphore lock = 0 semaphore inside = 0
        role r[n in 0..N] {
            wait compare_and_swap(lock, 0, 1)
            let others = fetch_add(inside, 1)
            if others != 0 { wait inside == -1 }
            let back = fetch_add(inside, -1)
            lock = 0
        }";
    assert_eq!(explored(source, &[3]), (false, None));
    assert!(
        explored(
            &source.replace("wait compare_and_swap(lock, 0, 1)", ""),
            &[2]
        )
        .0
    );
    assert!(explored(&source.replace("lock = 0\n", "\n"), &[2]).0);
}

#[test]
fn what_is_undefined_behind_a_value_is_so_only_where_it_comes() {
    let source = "protocol p param N in 1.. semaphore s = 0 semaphore a[2] = 0
        role r[n in 0..N] { let t = fetch_add(s, 1) a[t] += 1 }";
    assert_eq!(explored(source, &[2]), (false, None));
    assert_eq!(
        explored(source, &[3]),
        (false, Some(ViolationKind::NotDefined))
    );
    let guarded = source.replace("a[t] += 1", "if t < 2 { a[t] += 1 }");
    assert_eq!(explored(&guarded, &[3]), (false, None));
    let never = "protocol p semaphore s = 0 semaphore a = 0 role r { let t = fetch_add(s, 1) a += 1 / (1 - t) }
        role q { let t = fetch_add(s, 0) }";
    assert_eq!(explored(never, &[]), (false, None));
}

#[test]
fn branches_that_have_the_same_left_to_do_are_one() {
    let source = "protocol p param K in 0.. semaphore s = 0 semaphore a = 0
        role r[n in 0..2] { for k in 0..K { let t = fetch_add(s, 1) if t % 2 == 0 { a += 1 } else { a += 2 } } }";
    let ops = |k: i64| instance(source, &[k]).members[0].ops.len() as i64;
    // Behind each operation one of two ways, whatever the values: three operations a round.
    assert_eq!([ops(1), ops(2), ops(6)], [3, 6, 18]);
    let instance = instance(source, &[6]);
    let member = &instance.members[0];
    for (place, op) in member.ops.iter().enumerate() {
        assert!(member.ways(place as u32).all(|next| next as usize > place));
        if let OpKind::Fetch(_) = op.kind {
            assert_eq!(member.ways(place as u32).count(), 13, "0 to 12 may be read");
        }
    }
}

#[test]
fn loops_indices_and_variables_may_depend_on_a_result() {
    let source = "protocol p param N in 1.. semaphore s = 0 semaphore sum = 0
        role r[n in 0..N] {
            var left = fetch_add(s, 1)
            let first = left
            for i in 0..left descending { left = left - 1 sum += i if i == 2 { break } }
            if left == 0 && first < 3 { sum += 100 }
        }
        role q { wait sum == if N == 4 then 303 else 201 }";
    // 0: 100, 1: 0 + 100, 2: 1 + 0 + 100, 3: 2 and then out.
    assert_eq!(explored(source, &[4]), (false, None));
    assert_eq!(explored(&source.replace("201", "301"), &[3]), (false, None));
    assert!(explored(source, &[3]).0);
}

/// Whether some run violates a property.
fn violated(source: &str, params: &[i64], property: Property) -> bool {
    let (bounds, options) = (Bounds::default(), Options::default());
    let found =
        search_all(&load(source), params, property, &bounds, &options).expect("a valid input");
    assert!(found.hidden.is_none() && found.undefined.is_none());
    let ended = found.found.is_some() || found.end == SearchEnd::Exhausted;
    assert!(ended, "not searched to the end");
    found.found.is_some()
}

#[test]
fn only_the_last_one_may_read_what_all_have_written() {
    let source = "protocol p param N in 1.. semaphore s = 0 buffer part[N] buffer sum
        grid r[n in 0..N] launch any resident 2 {
            write part[n]
            let t = fetch_add(s, 1)
            if t == N - 1 { for i in 0..N { read part[i] } write sum }
        }";
    for n in 1..=3 {
        assert!(!violated(source, &[n], Property::Race), "{n}");
    }
    let first = source.replace("t == N - 1", "t == 0");
    assert!(!violated(&first, &[1], Property::Race));
    assert!(violated(&first, &[2], Property::Race));
    let all = source
        .replace("write sum", "")
        .replace("if t == N - 1 {", "write sum if t == N - 1 {");
    assert!(violated(&all, &[2], Property::Race), "nothing orders these");
    let work = source.replace("write sum", "async store writes sum");
    let found = search_all(
        &load(&work),
        &[2],
        Property::Race,
        &Bounds::default(),
        &Options::default(),
    );
    assert!(found.is_err(), "work that goes on is not followed");
}

#[test]
fn a_lock_by_compare_and_swap_orders_memory_as_it_says() {
    let source = "protocol p semaphore lock = 0 buffer x
        role r[n in 0..2] cta n {
            wait.acquire.gpu compare_and_swap(lock, 0, 1)
            read x
            write x
            lock = 0
        }";
    assert!(!violated(source, &[], Property::Race));
    assert!(!violated(source, &[], Property::StaleRead));
    let relaxed = source.replace("wait.acquire.gpu", "wait.relaxed.gpu");
    assert!(!violated(&relaxed, &[], Property::Race));
    assert!(violated(&relaxed, &[], Property::StaleRead));
    let narrow = source.replace("wait.acquire.gpu", "wait.acquire.cta");
    assert!(violated(&narrow, &[], Property::StaleRead));
    assert!(violated(
        &source.replace("wait.acquire.gpu compare_and_swap(lock, 0, 1)", ""),
        &[],
        Property::Race
    ));
}

#[test]
fn work_on_data_is_no_use_of_an_mbarrier() {
    let source = "protocol p mbarrier m { arrivals: 1, init: explicit } semaphore s = 0 buffer x[2]
        role r[n in 0..2] { write x[n] let t = fetch_add(s, 1) if t == 1 { read x[0] } }
        role q { init m arrive m wait m 0 }";
    assert!(!violated(source, &[], Property::Uninitialized));
    let used = source.replace("read x[0]", "arrive m");
    assert!(violated(&used, &[], Property::Uninitialized));
}

#[test]
fn what_is_never_set_is_not_read_off_ways_that_no_run_takes() {
    let source = "protocol p semaphore s = 0 semaphore turn = 0
        role r { let t = fetch_add(s, 1) turn += 2 if t == 1 { turn = 0 } }
        role q { wait turn == 1 }";
    let unfollowed = |source: &str| hazards::unfollowed(&load(source), Property::LappedWait);
    assert!(unfollowed(source).is_some(), "nobody sets it, for t is 0");
    for lowered in ["let u = fetch_add(turn, -t)", "let u = exchange(turn, 0)"] {
        assert!(unfollowed(&source.replace("{ turn = 0", &format!("{{ {lowered}"))).is_some());
    }
    for kept in ["turn += t", "let u = fetch_add(turn, 1)", "s = 0"] {
        let source = source.replace("{ turn = 0", &format!("{{ {kept}"));
        assert_eq!(unfollowed(&source), None, "{kept}");
        assert!(violated(&source, &[], Property::LappedWait), "{kept}");
    }
    // A role without results has one way through it.
    let set = "protocol p semaphore s = 0 semaphore turn = 0
        role r { turn += 2 turn = 1 } role q { wait turn == 1 let t = fetch_add(s, 1) }";
    assert_eq!(unfollowed(set), None);
    assert!(!violated(set, &[], Property::LappedWait));
}

#[test]
fn programs_that_grow_with_the_square_of_a_loop_are_refused() {
    let source = "protocol p param K in 0.. semaphore s = 0
        role r { for k in 0..K { let t = fetch_add(s, 1) if t == K + 1 { wait s == 1 } } }";
    let refused = |source: &str| {
        let input = Input {
            params: vec![4000],
            ..Input::default()
        };
        let found = unfold::instantiate(&load(source), &input);
        found.expect_err("a program too large").to_string()
    };
    let places = "more than 262144 places behind results of atomic operations are needed";
    assert_eq!(refused(&source.replace("t == K + 1", "t == 1")), places);
    let ways = "more than 4194304 paths that depend on results of atomic operations are needed";
    assert_eq!(
        refused(&source.replace("if t == K + 1 { wait s == 1 }", "")),
        ways
    );
    assert_eq!(instance(source, &[400]).members[0].ops.len(), 400);
}

#[test]
fn a_row_that_depends_on_a_result_has_no_open_order() {
    let source = "protocol p param N in 2..=2 pattern p[n in 0..2, m in 0..3] = m <= n + 1 semaphore s = 0 semaphore got[3] = 0
        role r[n in 0..N] { let t = fetch_add(s, 1) for m in row(p, t) any order { got[m] += 1 } }";
    let all = |source: &str| {
        let (bounds, options) = (Bounds::default(), Options::default());
        explore::explore_all(&load(source), &[2], &bounds, &options)
    };
    let found = all(source).expect_err("an order of another row");
    let found = found.to_string();
    assert!(
        found.contains("a row whose entries depend on it"),
        "{found}"
    );
    let found = all(&source.replace("any order", "descending")).expect("one order");
    assert!(found.stuck.is_none() && found.violation.is_none());
}

#[test]
fn a_loop_of_compare_and_swap_counts_up_to_the_number_of_members() {
    let source = "protocol p param N in 1.. semaphore s = 0
        role r[n in 0..N] {
            var seen = 0
            for k in 0..N { let old = compare_and_swap(s, seen, seen + 1) if old == seen { break } seen = old }
        }
        role q { wait s == N }";
    for n in 1..=3 {
        assert_eq!(explored(source, &[n]), (false, None), "{n}");
    }
    let once = source.replace("for k in 0..N", "for k in 0..1");
    assert_eq!(explored(&once, &[1]), (false, None));
    assert!(explored(&once, &[2]).0, "the second one fails");
    let wrong = source.replace("seen + 1", "seen + 2");
    assert!(explored(&wrong, &[3]).0);
    // What a lock may be stays two values, however often it is taken.
    let lock = "protocol p semaphore lock = 0 semaphore held = 0
        role r[n in 0..2] { for k in 0..50 {
            let old = compare_and_swap(lock, 0, 1) if old == 0 { held += 1 lock = 0 } } }";
    let member = &instance(lock, &[]).members[0];
    let ways = |place: u32| member.ways(place).count();
    assert_eq!((0..2).map(ways).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn values_without_end_are_refused() {
    let source = "protocol p semaphore s = 0 role r[n in 0..2] { let t = exchange(s, 1) let u = exchange(s, t + 1) let v = exchange(s, 2 * u + 1) }";
    let found = unfold::instantiate(&load(source), &Input::default());
    let found = found.expect_err("values grow").to_string();
    assert!(found.ends_with("are needed"), "{found}");
}
