//! Orders, scopes, fences and places: what they mean, how they are laid out, what is wrong.

use warplock::protocol::Fence;
use warplock::protocol::MemoryOrder;
use warplock::protocol::Protocol;
use warplock::protocol::Qualifiers;
use warplock::protocol::Scope;
use warplock::protocol::StmtKind;
use warplock::protocol::Work;
use warplock::text;

const HEADER: &str = "protocol p semaphore s = 0 mbarrier m { arrivals: 1 }
barrier split { arrivals: 1 } named bar buffer x\n";

fn load(source: &str) -> Protocol {
    text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{source}: {e:?}"))
}

fn said(order: Option<MemoryOrder>, scope: Option<Scope>) -> Qualifiers {
    Qualifiers { order, scope }
}

#[test]
fn statements_say_how_they_order_memory() {
    let protocol = load(&format!(
        "{HEADER}role r {{
            wait.acquire.cluster s >= 1 wait.relaxed m 0 arrive.cluster m arrive.relaxed split
            red.acq_rel.sys s += 1 st.cta s = 0 arrive_expect_tx.release.cluster m 4
            wait split s += 1 sync split
            fence.proxy.async fence.release.gpu
        }}"
    ));
    let body = &protocol.roles[0].body;
    let found: Vec<Qualifiers> = body.iter().map(|stmt| stmt.memory).collect();
    let expected = [
        said(Some(MemoryOrder::Acquire), Some(Scope::Cluster)),
        said(Some(MemoryOrder::Relaxed), None),
        said(None, Some(Scope::Cluster)),
        said(Some(MemoryOrder::Relaxed), None),
        said(Some(MemoryOrder::AcquireRelease), Some(Scope::Sys)),
        said(None, Some(Scope::Cta)),
        // Of `arrive_expect_tx` the expectation says nothing.
        said(None, None),
        said(Some(MemoryOrder::Release), Some(Scope::Cluster)),
        said(None, None),
        said(None, None),
        said(None, None),
        said(None, None),
        said(None, None),
        said(None, None),
    ];
    assert_eq!(found, expected);
    let fences: Vec<Fence> = body
        .iter()
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Access {
                work: Work::Fence(fence),
                ..
            } => Some(*fence),
            _ => None,
        })
        .collect();
    let release = Fence::Threads(MemoryOrder::Release, Scope::Gpu);
    assert_eq!(fences, [Fence::ProxyAsync, release]);
}

#[test]
fn words_of_places_and_updates_may_be_names() {
    let protocol = load(
        "protocol p semaphore sys = 0 semaphore red = 0
         role a[cta in 0..2] cta cta { red += 1 sys = 1 red.gpu red += 1 }
         grid gpu[n in 0..4] launch any resident all cluster n / 2 { var st = producer(2) wait red == st.phase }",
    );
    let places: Vec<[bool; 3]> = protocol
        .roles
        .iter()
        .map(|role| {
            let place = &role.place;
            [&place.cta, &place.cluster, &place.gpu].map(Option::is_some)
        })
        .collect();
    assert_eq!(places, [[true, false, false], [false, true, false]]);
    assert_eq!(protocol.roles[0].body[2].memory.scope, Some(Scope::Gpu));
}

#[test]
fn the_layout() {
    let source = "protocol p semaphore s = 0 mbarrier m { arrivals: 1 } barrier b { arrivals: 1 }
buffer t[2] {memory:tensor} buffer u {orders:unknown} buffer v{memory:tensor , orders:unknown}
role r[i in 0..4] warp cta (i)/2 gpu 0 { wait . acquire . cta s==1 arrive .release.cluster m 1
sync b fence.proxy . async // seen
red .relaxed s+=(1)st.cta s=0 arrive_expect_tx.cluster m 8 }
invariant [i in 0..(2)]s>=i invariant m==0
eventually done always( waiting->eventually passes)
grid g[n in 0..4] resident all cluster n{fence.acq_rel.sys assert s==n+1}";
    insta::assert_snapshot!(text::format(source).unwrap(), @"
    protocol p

    semaphore s = 0
    mbarrier m { arrivals: 1 }
    barrier b { arrivals: 1 }
    buffer t[2] { memory: tensor }
    buffer u { orders: unknown }
    buffer v { memory: tensor, orders: unknown }

    role r[i in 0..4] warp cta i / 2 gpu 0 {
        wait.acquire.cta s == 1
        arrive.release.cluster m 1
        sync b
        fence.proxy.async  // seen
        red.relaxed s += 1
        st.cta s = 0
        arrive_expect_tx.cluster m 8
    }

    invariant [i in 0..2] s >= i
    invariant m == 0
    eventually done
    always (waiting -> eventually passes)

    grid g[n in 0..4] resident all cluster n {
        fence.acq_rel.sys
        assert s == n + 1
    }
    ");
    let once = text::format(source).unwrap();
    assert_eq!(text::format(&once).unwrap(), once);
}

/// The worded findings about a role with this body.
fn worded(body: &str) -> String {
    let source = format!("{HEADER}role r {{ {body} }}");
    let found = text::load(source.as_bytes()).expect_err("the text is wrong");
    let lines = found.iter().map(|d| d.message.clone());
    lines.collect::<Vec<String>>().join("\n")
}

#[test]
fn what_does_not_belong_is_said() {
    let cases = [
        ("wait.release s >= 1", "`release` does not belong here"),
        ("arrive.acquire m", "`acquire` does not belong here"),
        ("red.acquire s += 1", "`acquire` does not belong here"),
        ("arrive.cta split", "`cta` does not belong here"),
        ("wait.cta.acquire s >= 1", "`acquire` does not belong here"),
        ("wait.cta.gpu s >= 1", "`gpu` does not belong here"),
        ("wait.device s >= 1", "`device` is no order and no scope"),
        (
            "arrive.release bar 32",
            "this statement takes no order and no scope",
        ),
        (
            "commit.cluster m",
            "this statement takes no order and no scope",
        ),
        ("fence", "a fence says what it orders and for whom"),
        ("fence.gpu", "a fence says what it orders and for whom"),
        ("fence.proxy", "`proxy` is no order and no scope"),
        ("fence.relaxed.gpu", "`relaxed` does not belong here"),
        ("red.cta s = 1", "expected `+=`, found `=`"),
        ("st.cta s += 1", "expected `=`, found `+=`"),
        (
            "wait. s >= 1",
            "expected a semaphore or a barrier, found `>=`",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(worded(body), expected, "{body}");
    }
    let source = "protocol p role r gpu 0 cta 1 { return }";
    let found = text::load(source.as_bytes()).expect_err("the order of places is fixed");
    assert_eq!(found[0].message, "`cta` does not belong here");
}
