//! The properties beside deadlock, case by case: small programs and whether they violate one.

use warplock::protocol::Property;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::hazards::Hazard;
use warplock::semantics::hazards::judge;
use warplock::semantics::hazards::search;
use warplock::semantics::hazards::search::Searched;
use warplock::semantics::hazards::wanted_data;
use warplock::semantics::input::Input;
use warplock::semantics::step::Action;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;

fn searched(body: &str, property: Property, symmetry: bool) -> Searched {
    let source = format!("protocol p\n{body}");
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{body}: {e:?}"));
    let input = Input::default();
    let instance = unfold::instantiate(&protocol, &input).unwrap();
    let data = wanted_data(&protocol, property, &input, &Limits::default()).unwrap();
    let options = Options {
        symmetry,
        ..Options::default()
    };
    let found = search::search(&instance, data.as_ref(), property, &options);
    if let Some(runs) = &found.found {
        let second = runs.second.as_deref();
        let judged = judge(&instance, data.as_ref(), property, &runs.first, second);
        assert!(matches!(judged, Ok(Some(_))), "{body}: {judged:?}");
    }
    found
}

/// Whether a body violates a property; interchangeable members make no difference.
fn violates(body: &str, property: Property) -> bool {
    let found = searched(body, property, true);
    assert_eq!(
        found.found.is_some(),
        searched(body, property, false).found.is_some(),
        "{body}"
    );
    let done = matches!(found.end, SearchEnd::Exhausted | SearchEnd::FoundStuck);
    assert!(done, "{body}");
    found.found.is_some()
}

#[test]
fn generations_of_named_barriers() {
    let cases = [
        // The small cases of PLDI'15.
        (
            "role a warp { arrive b[0] 64 }
             role c warp { sync b[0] 64 sync b[0] 64 }
             role d warp { sync b[1] 64 arrive b[0] 64 }
             role e warp { sync b[1] 64 }",
            true,
        ),
        (
            "role a warp { arrive b[0] 64 }
             role c warp { sync b[0] 64 arrive b[1] 64 sync b[0] 64 }
             role d warp { sync b[1] 64 arrive b[0] 64 }",
            false,
        ),
        (
            "role a warp { arrive b[2] 64 arrive b[0] 64 }
             role c warp { sync b[0] 64 sync b[3] 64 sync b[2] 64 }
             role d warp { sync b[1] 64 arrive b[3] 64 arrive b[2] 64 }
             role e warp { sync b[2] 64 arrive b[1] 64 }",
            false,
        ),
        (
            "role a warp { arrive b[2] 64 arrive b[0] 64 }
             role c warp { sync b[0] 64 sync b[3] 64 sync b[2] 64 }
             role d warp { arrive b[3] 64 sync b[1] 64 arrive b[2] 64 }
             role e warp { sync b[2] 64 arrive b[1] 64 }",
            true,
        ),
        // One too many, which dangles, whoever it is.
        ("role a[n in 0..3] warp { sync b[0] 64 }", true),
        (
            "role a[n in 0..2] warp { sync b[0] 64 arrive b[0] 64 }",
            false,
        ),
        // The dangling one is always the same.
        (
            "role a[n in 0..2] warp { sync b[0] 64 } role c warp { sync b[1] 64 arrive b[0] 64 }
             role d warp { sync b[1] 64 }",
            true,
        ),
    ];
    for (roles, expected) in cases {
        let body = format!("named b[4]\n{roles}");
        let found = violates(&body, Property::EarlyCompletion);
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn waits_by_parity() {
    let body = |roles: &str| format!("mbarrier b {{ arrivals: 1 }}\n{roles}");
    let once = body("role a { arrive b } role c { wait b 0 }");
    let twice = body("role a { arrive b arrive b } role c { wait b 0 }");
    let thrice = body("role a { arrive b arrive b arrive b } role c { wait b 0 }");
    for (body, lapped, early) in [
        (once, false, false),
        (twice, true, false),
        (thrice, true, true),
    ] {
        assert_eq!(violates(&body, Property::LappedWait), lapped, "{body}");
        assert_eq!(violates(&body, Property::EarlyPass), early, "{body}");
    }
}

#[test]
fn exact_waits_on_counters() {
    let body = |roles: &str| format!("semaphore s = 0\n{roles}");
    for (roles, expected) in [
        ("role a { s += 1 } role c { wait s == 1 }", false),
        ("role a { s += 2 } role c { wait s == 1 }", true),
        ("role a { s += 1 s += 1 } role c { wait s >= 1 }", false),
        ("role a { s += 1 s = 0 } role c { wait s == 1 }", true),
        // The value is there again: it was only too early.
        ("role a { s += 2 s = 1 } role c { wait s == 1 }", false),
    ] {
        assert_eq!(
            violates(&body(roles), Property::LappedWait),
            expected,
            "{roles}"
        );
    }
}

#[test]
fn bytes() {
    for (body, expected) in [
        ("arrive_expect_tx b 8 complete_tx b 8", false),
        ("arrive_expect_tx b 8 complete_tx b 4", true),
        ("arrive_expect_tx b 8 complete_tx b 12", true),
        ("complete_tx b 8 arrive_expect_tx b 8", false),
        (
            "expect_tx b 8 arrive b complete_tx b 4 complete_tx b 4",
            false,
        ),
    ] {
        let body = format!("mbarrier b {{ arrivals: 1 }}\nrole a {{ {body} }}");
        assert_eq!(violates(&body, Property::TxMismatch), expected, "{body}");
    }
    // Stuck for another reason, with the delivery still to come.
    let body = "mbarrier b { arrivals: 1 } semaphore s = 0
                role a { arrive_expect_tx b 8 wait s == 1 complete_tx b 8 }";
    assert!(!violates(body, Property::TxMismatch));
}

#[test]
fn races() {
    let cases = [
        ("role a { write x[0] } role c { read x[1] }", false),
        ("role a { write x[0] } role c { read x[0] }", true),
        ("role a { read x[0] } role c { read x[0] }", false),
        ("role a[n in 0..2] { write x[n] }", false),
        ("role a[n in 0..2] { accumulate x[0] }", true),
        (
            "role a { write x[0] arrive b } role c { wait b 0 read x[0] }",
            false,
        ),
        (
            "role a { arrive b write x[0] } role c { wait b 0 read x[0] }",
            true,
        ),
        // A warp that is blocked has left what comes before behind.
        (
            "role a warp { write x[0] sync bar 64 } role c warp { sync bar 64 read x[0] }",
            false,
        ),
        (
            "role a warp { sync bar 64 write x[0] } role c warp { read x[0] sync bar 64 }",
            false,
        ),
        // Copies last until they land, and are not ordered among each other.
        (
            "role a { arrive_expect_tx b 8 async copy x[0] completes b 8 }
             role c { wait b 0 read x[0] }",
            false,
        ),
        ("role a { async copy x[0] completes b 8 read x[0] }", true),
        (
            "role a { arrive_expect_tx b 8 async copy x[0] completes b 8 wait b 0 read x[0] }",
            false,
        ),
        (
            "role a { arrive_expect_tx b 16 async copy x[0] completes b 8
                      async copy x[0] completes b 8 }",
            true,
        ),
        // Work on a tensor core is in order, and lasts until its commit lands.
        (
            "role a { async mma writes x[0] async mma writes x[0] }",
            false,
        ),
        ("role a { async mma writes x[0] read x[0] commit b }", true),
        (
            "role a { async mma writes x[0] commit b wait b 0 read x[0] }",
            false,
        ),
        ("role a { async mma writes x[0] commit b read x[0] }", true),
        // Groups.
        (
            "role a { async store reads x[0] commit_group write x[0] }",
            true,
        ),
        (
            "role a { async store reads x[0] commit_group wait_group 0 read write x[0] }",
            false,
        ),
        (
            "role a { async copy x[0] commit_group wait_group 0 read read x[0] }",
            true,
        ),
        (
            "role a { async store reads x[0] wait_group 0 write x[0] }",
            true,
        ),
        (
            "role a { async store reads x[0] commit_group async store reads x[1] commit_group
                      wait_group 1 write x[0] }",
            false,
        ),
        (
            "role a { async store reads x[0] commit_group async store reads x[1] commit_group
                      wait_group 1 write x[1] }",
            true,
        ),
        // Another member sees no group.
        (
            "role a { async store reads x[0] commit_group arrive b wait_group 0 }
             role c { wait b 0 write x[0] }",
            true,
        ),
    ];
    for (roles, expected) in cases {
        let body = format!("mbarrier b {{ arrivals: 1 }}\nnamed bar\nbuffer x[2]\n{roles}");
        assert_eq!(violates(&body, Property::Race), expected, "{roles}");
    }
}

#[test]
fn accesses_that_nobody_can_follow_are_told() {
    let body = |resident: &str| {
        format!(
            "buffer x\nsemaphore s = 0\n\
             grid a[n in 0..2] launch any resident {resident} {{ s += 1 write x }}"
        )
    };
    assert!(violates(&body("all"), Property::Race));
    let limited = format!("protocol p\n{}", body("1"));
    let protocol = text::load(limited.as_bytes()).unwrap();
    let found = search::search_all(
        &protocol,
        &[],
        Property::Race,
        &Default::default(),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(found.found, None);
    assert!(found.hidden.is_some());
}

#[test]
fn initialisation() {
    let body = |roles: &str| {
        format!(
            "mbarrier b {{ arrivals: 1, init: explicit }}\nbarrier c {{ arrivals: 2 }}\n{roles}"
        )
    };
    for (roles, expected) in [
        ("role a { init b arrive b }", false),
        ("role a { arrive b init b }", true),
        ("role a { init b } role d { wait b 1 }", true),
        ("role a { init b sync c } role d { sync c wait b 1 }", false),
        ("role a { init b init b }", true),
        ("role a { commit b init b }", true),
    ] {
        assert_eq!(
            violates(&body(roles), Property::Uninitialized),
            expected,
            "{roles}"
        );
    }
}

#[test]
fn runs_that_show_nothing_are_refused() {
    let source = "protocol p mbarrier b { arrivals: 2 } role a[n in 0..2] { arrive b arrive b }";
    let protocol = text::load(source.as_bytes()).unwrap();
    let instance = unfold::instantiate(&protocol, &Input::default()).unwrap();
    let step = Action::Step;
    let shows = |first: &[Action], second: Option<&[Action]>| {
        let judged = judge(&instance, None, Property::EarlyCompletion, first, second);
        judged.map(|found| found.map(|judged| judged.hazard))
    };
    // The second arrival of member 0 in the first generation, and in the second.
    let early = [step(0), step(0)];
    let late = [step(0), step(1), step(0)];
    assert!(matches!(
        shows(&early, Some(&late)),
        Ok(Some(Hazard::Deviation {
            member: 0,
            op: 1,
            counts: (1, 2),
            ..
        }))
    ));
    assert_eq!(shows(&early, Some(&early)), Ok(None));
    assert_eq!(shows(&early, None), Ok(None));
    // Another operation, and nothing at all.
    assert_eq!(shows(&early, Some(&late[..2])), Ok(None));
    assert_eq!(shows(&early, Some(&[])), Ok(None));
    let too_long = [step(0), step(0), step(0)];
    assert!(matches!(shows(&too_long, Some(&late)), Err((2, _))));
}

#[test]
fn reads_see_what_is_ordered_before_them_in_scope() {
    let header =
        "semaphore s = 0 semaphore r = 0 mbarrier m { arrivals: 1 } barrier b { arrivals: 2 }
                  named n buffer x buffer y pool p = 1\n";
    let cases = [
        // Two threads of one CTA, and of two.
        (
            "role a { write x s += 1 } role c { wait s >= 1 read x }",
            false,
        ),
        (
            "role a cta 0 { write x s += 1 } role c cta 1 { wait s >= 1 read x }",
            false,
        ),
        (
            "role a cta 0 { write x red.release.cta s += 1 } role c cta 1 { wait s >= 1 read x }",
            true,
        ),
        (
            "role a cta 0 { write x red.release.cluster s += 1 } role c cta 1 { wait s >= 1 read x }",
            false,
        ),
        (
            "role a cta 0 { write x s += 1 } role c cta 1 { wait.acquire.cta s >= 1 read x }",
            true,
        ),
        (
            "role a cluster 0 { write x red.release.cluster s += 1 } role c cluster 1 { wait s >= 1 read x }",
            true,
        ),
        (
            "role a gpu 0 { write x s += 1 } role c gpu 1 { wait s >= 1 read x }",
            true,
        ),
        (
            "role a gpu 0 { write x red.release.sys s += 1 } role c gpu 1 { wait.acquire.sys s >= 1 read x }",
            false,
        ),
        (
            "role a { write x arrive m } role c cta 1 { wait m 0 read x }",
            true,
        ),
        (
            "role a { write x arrive.release.cluster m } role c cta 1 { wait.acquire.cluster m 0 read x }",
            false,
        ),
        // Orders, and fences for them.
        (
            "role a { write x red.relaxed.gpu s += 1 } role c { wait s >= 1 read x }",
            true,
        ),
        (
            "role a { write x s += 1 } role c { wait.relaxed s >= 1 read x }",
            true,
        ),
        (
            "role a { write x fence.release.gpu red.relaxed s += 1 } role c { wait s >= 1 read x }",
            false,
        ),
        (
            "role a { fence.release.gpu write x red.relaxed s += 1 } role c { wait s >= 1 read x }",
            true,
        ),
        (
            "role a { write x s += 1 } role c { wait.relaxed s >= 1 fence.acquire.gpu read x }",
            false,
        ),
        (
            "role a { write x s += 1 } role c { wait.relaxed s >= 1 fence.release.gpu read x }",
            true,
        ),
        (
            "role a { write x s += 1 } role c cta 1 { wait.relaxed s >= 1 fence.acq_rel.cta read x }",
            true,
        ),
        // Along a third member, at scopes that contain two of them each.
        (
            "role a { write x red.release.cta s += 1 } role c { wait.acquire.cta s >= 1 r += 1 }
             role d cluster 1 { wait r >= 1 read x }",
            false,
        ),
        (
            "role a { write x red.release.cta s += 1 } role c cta 1 { wait s >= 1 r += 1 }
             role d cluster 1 { wait r >= 1 read x }",
            true,
        ),
        // Additions go on with what was released; a store breaks it off.
        (
            "role a { write x s += 1 } role c { wait s >= 1 red.relaxed s += 1 }
             role d { wait s >= 2 read x }",
            false,
        ),
        (
            "role a { write x s += 1 } role c { wait.relaxed s >= 1 st.relaxed s = 5 }
             role d { wait s >= 5 read x }",
            true,
        ),
        (
            "role a { write x s += 1 } role c { wait s >= 1 st.relaxed r = 1 }
             role d { wait r >= 1 read x }",
            true,
        ),
        // What comes to a barrier is in its scope; a pool orders and shows nothing.
        (
            "role a { write x sync b } role c cluster 1 { sync b read x }",
            false,
        ),
        (
            "role a { write x arrive.relaxed b wait b } role c { sync b read x }",
            true,
        ),
        (
            "role a warp { write x arrive n 64 } role c warp { sync n 64 read x }",
            false,
        ),
        (
            "role a { acquire p 1 write x release p 1 } role c { acquire p 1 read x release p 1 }",
            true,
        ),
        // Only the last write before the read counts.
        (
            "role a { write x red.relaxed s += 1 } role c { wait s >= 1 write x s += 1 }
             role d { wait s >= 2 read x }",
            false,
        ),
    ];
    for (body, expected) in cases {
        let all = format!("{header}{body}");
        assert_eq!(violates(&all, Property::StaleRead), expected, "{body}");
    }
}

#[test]
fn reads_see_through_proxies_what_a_fence_shows() {
    let header = "semaphore s = 0 mbarrier m { arrivals: 1 } buffer x buffer y
                  buffer t { memory: tensor }\n";
    let cases = [
        ("role a { write x async store reads x }", true),
        (
            "role a { write x fence.proxy.async async store reads x }",
            false,
        ),
        (
            "role a { fence.proxy.async write x async store reads x }",
            true,
        ),
        ("role a { write t async mma reads t }", false),
        (
            "role a { write x arrive m } role c { wait m 0 async mma reads x }",
            true,
        ),
        (
            "role a { write x arrive m } role c { wait m 0 fence.proxy.async async mma reads x }",
            false,
        ),
        (
            "role a { write x fence.proxy.async arrive m } role c { wait m 0 async mma reads x }",
            false,
        ),
        // Between the release and the acquire, but by another member: not on the way.
        (
            "role a { write x arrive m } role b { fence.proxy.async } role c { wait m 0 async mma reads x }",
            true,
        ),
        // What is complete is seen on both ways.
        (
            "role a { arrive_expect_tx m 8 async copy x completes m 8 }
             role c { wait m 0 read x async mma reads x }",
            false,
        ),
        // Bytes that land show what they bring and nothing else.
        (
            "role a { arrive m write y async copy x completes m 8 expect_tx m 8 }
             role c { wait m 0 }",
            false,
        ),
        (
            "role a { expect_tx m 8 write y async copy x completes m 8 } role b { arrive m }
             role c { wait m 0 read y }",
            true,
        ),
        (
            "role a { write y arrive_expect_tx m 8 async copy x completes m 8 }
             role c { wait m 0 read x read y }",
            false,
        ),
        // Wherever it comes from, whoever acquires sees what has landed, and not what came along.
        (
            "role a { arrive_expect_tx m 8 async copy x completes m 8 } role c cta 1 { wait m 0 read x }",
            false,
        ),
        (
            "role a { arrive_expect_tx m 8 async copy x completes m 8 } role c cluster 1 { wait m 0 read x }",
            true,
        ),
        (
            "role a { arrive_expect_tx m 8 async copy x completes m 8 } role c cta 1 { wait.relaxed.cta m 0 read x }",
            true,
        ),
        (
            "role a { arrive_expect_tx m 8 async copy x completes m 8 }
             role c cta 1 { wait.relaxed.cta m 0 fence.acquire.cta read x }",
            false,
        ),
        (
            "role a { write y arrive_expect_tx m 8 async copy x completes m 8 }
             role c cta 1 { wait m 0 read y }",
            true,
        ),
        (
            "role a { write y async mma writes x commit m } role c cta 1 { wait m 0 read x }",
            false,
        ),
        (
            "role a { write y async mma writes x commit m } role c cta 1 { wait m 0 read y }",
            true,
        ),
        // Without an mbarrier a copy goes through the generic proxy.
        (
            "role a { async copy x commit m } role c { wait m 0 read x }",
            false,
        ),
        (
            "role a { async copy x commit m } role c { wait m 0 async mma reads x }",
            true,
        ),
        // Groups.
        (
            "role a { async store writes y commit_group wait_group 0 s += 1 } role c { wait s >= 1 read y }",
            false,
        ),
        (
            "role a { async store writes y commit_group wait_group 0 read s += 1 }
             role c { wait s >= 1 read y }",
            true,
        ),
        (
            "role a { async store writes y commit_group wait_group 0 s += 1 }
             role c cluster 1 { wait.acquire.cta s >= 1 read y }",
            true,
        ),
    ];
    for (body, expected) in cases {
        let all = format!("{header}{body}");
        assert_eq!(violates(&all, Property::StaleRead), expected, "{body}");
    }
}

#[test]
fn claims_are_made_of_every_state_that_they_are_about() {
    let header = "semaphore s[2] = 0 mbarrier m { arrivals: 2 } pool regs = 3\n";
    let cases = [
        // An invariant is about every state, the first and the last included.
        ("invariant s[0] <= 1 role a { s[0] += 1 }", false),
        ("invariant s[0] < 1 role a { s[0] += 1 }", true),
        ("invariant s[0] == 1 role a { s[0] += 1 }", true),
        (
            "invariant [i in 0..2] s[i] <= i role a { s[1] += 1 }",
            false,
        ),
        ("invariant [i in 0..2] s[i] <= i role a { s[0] += 1 }", true),
        (
            "invariant s[0] >= s[1] role a { s[0] += 1 wait s[0] == 1 s[1] += 1 }",
            false,
        ),
        (
            "invariant s[0] >= s[1] role a { s[0] += 1 } role c { s[1] += 1 }",
            true,
        ),
        (
            "invariant s[0] + s[1] <= 1 role a { s[0] += 1 } role c { s[1] += 1 }",
            true,
        ),
        // Phases of barriers and what is left in pools.
        ("invariant m <= 1 role a[i in 0..2] { arrive m }", false),
        ("invariant m == 0 role a[i in 0..2] { arrive m }", true),
        (
            "invariant regs >= 1 role a { acquire regs 2 release regs 2 }",
            false,
        ),
        (
            "invariant regs >= 2 role a { acquire regs 2 release regs 2 }",
            true,
        ),
        // An assertion is about the states in which its member is there.
        (
            "role a { wait s[0] >= 1 assert s[0] == 1 } role c { s[0] += 1 }",
            false,
        ),
        (
            "role a { wait s[0] >= 1 assert s[0] == 1 } role c { s[0] += 1 s[0] += 1 }",
            true,
        ),
        (
            "role a { assert s[0] == 0 s[0] += 1 assert s[0] == 1 s[0] += 1 }",
            false,
        ),
        (
            "role a { assert m == 0 wait m 0 assert m == 1 } role c[i in 0..2] { arrive m }",
            true,
        ),
        (
            "role a { wait m 0 assert m == 1 } role c[i in 0..2] { arrive m }",
            false,
        ),
        ("role a[i in 0..2] { s[i] += 1 assert s[i] == 1 }", false),
        ("role a[i in 0..2] { s[i] += 1 assert s[1 - i] == 1 }", true),
        (
            "role a[i in 0..2] { s[i] += 1 assert i == 0 || s[0] <= 1 }",
            false,
        ),
        // Runs that end before everybody is done, or with somebody waiting.
        (
            "eventually done role a { wait s[0] >= 1 } role c { s[0] += 1 }",
            false,
        ),
        (
            "eventually done role a { wait s[0] == 1 } role c { s[0] += 2 }",
            true,
        ),
        (
            "eventually done role a { wait s[0] == 1 } role c { s[0] += 1 s[0] += 1 }",
            true,
        ),
        (
            "always (waiting -> eventually passes) role a { wait s[0] == 1 } role c { s[0] += 2 }",
            true,
        ),
        (
            "always (waiting -> eventually passes) role a { wait m 0 } role c[i in 0..2] { arrive m }",
            false,
        ),
        // Whoever starts in the place of a CTA finds its assertions made.
        (
            "grid a[i in 0..2] launch ascending resident 1 { s[0] += 1 assert s[0] == i + 1 }",
            false,
        ),
        (
            "grid a[i in 0..2] launch ascending resident 2 { s[0] += 1 assert s[0] == i + 1 }",
            true,
        ),
        // A condition without a value does not hold.
        ("role a { assert 1 / s[0] == 0 }", true),
        (
            "role a { assert s[0] == 0 || 1 / s[0] == 1 s[0] += 1 }",
            false,
        ),
    ];
    for (body, expected) in cases {
        let all = format!("{header}{body}");
        assert_eq!(violates(&all, Property::Assertion), expected, "{body}");
    }
}
