//! Protocols that are right agree with their kernels; every change of one is found.

use std::rc::Rc;

use super::Difference;
use super::Validation;
use super::validate;
use crate::interpret::Access;
use crate::ir::Kernel;
use crate::recover::Roles;
use crate::recover::Shape;
use crate::recover::buffer::Buffer;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Passes;
use crate::recover::roles;
use crate::recover::roles_with_accesses;

fn kernel(parameters: &str, body: &str) -> Kernel {
    let text = format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k({parameters})\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %d<9>;\n\
         .shared .align 8 .b64 full[3]; .shared .align 8 .b64 empty[3]; .shared .align 128 .b8 data[1024];\n\
         {body}\n}}\n"
    );
    let module = crate::ptx::read(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    module.kernels.into_iter().next().unwrap()
}

const ONE: Shape = Shape {
    threads: [64, 1, 1],
    cluster: [1, 1, 1],
};
const PAIR: Shape = Shape {
    threads: [64, 1, 1],
    cluster: [2, 1, 1],
};

fn recovered(kernel: &Kernel, shape: Shape) -> Roles {
    roles(kernel, shape, || false).unwrap_or_else(|obstacle| panic!("{obstacle:?}"))
}

fn compare(
    kernel: &Kernel,
    shape: Shape,
    roles: &mut Roles,
) -> Result<Validation, Box<Difference>> {
    validate(kernel, shape, &roles.all, &roles.inputs, &mut roles.arena)
}

/// A ring of three stages: one thread of warp 0 copies, warp 1 waits and arrives, for k / 64 rounds. Its last round
/// is another one where a flag is set, and barriers and registers come at the end.
fn ring() -> Kernel {
    ring_of("mov.u32 %r15, %r5;", 1024, "")
}

/// `place` puts into `%r15` where a copy of so many bytes goes.
fn ring_of(place: &str, bytes: u32, read: &str) -> Kernel {
    let body =
        "mov.u32 %r1, %tid.x;
         ld.param.u32 %r2, [k];
         shr.u32 %r2, %r2, 6;
         ld.param.u32 %r20, [flag];
         ld.param.u64 %d1, [from];
         mov.u32 %r3, full; mov.u32 %r4, empty; mov.u32 %r5, data;
         setp.ne.u32 %p1, %r1, 0;
         @%p1 bra READY;
         mbarrier.init.shared.b64 [full], 1;
         mbarrier.init.shared.b64 [full+8], 1;
         mbarrier.init.shared.b64 [full+16], 1;
         mbarrier.init.shared.b64 [empty], 32;
         mbarrier.init.shared.b64 [empty+8], 32;
         mbarrier.init.shared.b64 [empty+16], 32;
         READY:
         bar.sync 0;
         mov.u32 %r6, 0; mov.u32 %r7, 0; mov.u32 %r8, 0;
         setp.ge.u32 %p2, %r1, 32;
         @%p2 bra CONSUMER;
         @%p1 bra END;
         setp.eq.u32 %p3, %r2, 0;
         @%p3 bra END;
         PRODUCE:
         shl.b32 %r9, %r7, 3;
         add.u32 %r10, %r4, %r9;
         add.u32 %r11, %r3, %r9;
         xor.b32 %r12, %r8, 1;
         WAIT_EMPTY:
         mbarrier.try_wait.parity.shared.b64 %p4, [%r10], %r12;
         @!%p4 bra WAIT_EMPTY;
         PLACE mbarrier.arrive.expect_tx.shared.b64 _, [%r11], BYTES;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%d1], BYTES, [%r11];
         add.u32 %r7, %r7, 1;
         setp.eq.u32 %p5, %r7, 3;
         selp.u32 %r7, 0, %r7, %p5;
         selp.u32 %r13, 1, 0, %p5;
         xor.b32 %r8, %r8, %r13;
         add.u32 %r6, %r6, 1;
         setp.lt.u32 %p6, %r6, %r2;
         @%p6 bra PRODUCE;
         bra.uni END;
         CONSUMER:
         setp.eq.u32 %p3, %r2, 0;
         @%p3 bra LAST;
         CONSUME:
         shl.b32 %r9, %r7, 3;
         add.u32 %r10, %r4, %r9;
         add.u32 %r11, %r3, %r9;
         WAIT_FULL:
         mbarrier.try_wait.parity.shared.b64 %p4, [%r11], %r8;
         @!%p4 bra WAIT_FULL; TAKE
         mbarrier.arrive.shared.b64 _, [%r10];
         add.u32 %r7, %r7, 1;
         setp.eq.u32 %p5, %r7, 3;
         selp.u32 %r7, 0, %r7, %p5;
         selp.u32 %r13, 1, 0, %p5;
         xor.b32 %r8, %r8, %r13;
         add.u32 %r6, %r6, 1;
         setp.lt.u32 %p6, %r6, %r2;
         @%p6 bra CONSUME;
         LAST:
         setp.lt.u32 %p7, %r20, 5;
         @%p7 bra FEW;
         bar.arrive 2, 64;
         bra.uni END;
         FEW:
         bar.sync 1, 32;
         END:
         ret;";
    let body = body
        .replace("PLACE", place)
        .replace("BYTES", &bytes.to_string());
    let parameters = ".param .u32 k, .param .u32 flag, .param .u64 from";
    kernel(parameters, &body.replace("TAKE", read))
}

/// The same with a stage of 256 bytes for each mbarrier, which each lane of warp 1 reads 8 bytes of, and writes 4 of those.
fn staged() -> Kernel {
    let place = "shl.b32 %r14, %r7, 8; add.u32 %r15, %r5, %r14;";
    let read = "and.b32 %r16, %r1, 31; shl.b32 %r16, %r16, 3; add.u32 %r15, %r15, %r16;
         ld.shared.v2.u32 {%r17, %r18}, [%r15]; st.shared.u32 [%r15], %r1;";
    ring_of(place, 256, &format!("{place} {read}"))
}

fn shown(validation: &Validation) -> String {
    let Validation {
        compared,
        skipped,
        events,
        reason,
    } = validation;
    let launches = compared.len();
    format!("launches: {launches}, skipped: {skipped}, events: {events}, reason: {reason:?}")
}

#[test]
fn a_right_protocol_agrees() {
    let kernel = ring();
    let mut roles = recovered(&kernel, ONE);
    let validation = compare(&kernel, ONE, &mut roles).unwrap();
    insta::assert_snapshot!(shown(&validation), @"launches: 9, skipped: 0, events: 336, reason: None");
}

/// A change of the site of this number, if there is one: constants, offsets, counts, and lines that are left out or
/// doubled. Gives what was changed.
fn change(lines: &mut Vec<Line>, site: &mut usize) -> Option<String> {
    let mut at = 0;
    while at < lines.len() {
        if taken(site) {
            return Some(format!("left out {:?}", lines.remove(at)));
        }
        // What is read or written directly after one another counts once.
        let once = match &lines[at] {
            Line::Action {
                action: Action::Touch { access, .. },
                ..
            } => *access != Access::Arrive,
            line => matches!(line, Line::Let { .. } | Line::Assign { .. }),
        };
        if !once && taken(site) {
            let twice = lines[at].clone();
            let what = format!("doubled {twice:?}");
            lines.insert(at, twice);
            return Some(what);
        }
        let before = format!("changed {:?}", lines[at]);
        let changed = match &mut lines[at] {
            Line::Action { action, .. } => change_action(action, site),
            Line::For { count, body, .. } => {
                if more(count, 1, site) {
                    true
                } else {
                    let inner = change(body, site);
                    if inner.is_some() {
                        return inner;
                    }
                    false
                }
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let moved = match condition {
                    Condition::AtLeastZero(number) => more(number, 1, site),
                    Condition::Zero(number) | Condition::NotZero(number) => more(number, 1, site),
                    _ => false,
                };
                if !moved {
                    let inner = change(then, site).or_else(|| change(otherwise, site));
                    if inner.is_some() {
                        return inner;
                    }
                }
                moved
            }
            Line::Let { value, .. } | Line::Assign { value, .. } => more(value, 1, site),
            Line::Return => false,
        };
        if changed {
            return Some(before);
        }
        at += 1;
    }
    None
}

fn change_action(action: &mut Action, site: &mut usize) -> bool {
    let place = |object: &mut Object, site: &mut usize| more(&mut object.offset, 8, site);
    match action {
        Action::Init { object, count } => {
            if taken(site) {
                *count += 1;
                return true;
            }
            place(object, site)
        }
        Action::Wait { object, parity: n }
        | Action::Arrive { object, count: n }
        | Action::ArriveExpect { object, bytes: n }
        | Action::Expect { object, bytes: n }
        | Action::Complete { object, bytes: n }
        | Action::Copy {
            object,
            bytes: Some(n),
        } => more(n, 1, site) || place(object, site),
        Action::Copy { object, .. } | Action::Commit { object, .. } => place(object, site),
        Action::Sync { barrier, threads } | Action::BarrierArrive { barrier, threads } => {
            more(barrier, 1, site) || more(threads, 32, site)
        }
        Action::CounterWait {
            word,
            value,
            passes,
            ..
        } => {
            if taken(site) {
                *passes = match passes {
                    Passes::At => Passes::From,
                    Passes::From | Passes::OtherThanZero => Passes::At,
                };
                return true;
            }
            more(value, 1, site) || more(&mut word.index, 1, site)
        }
        Action::CounterAdd { word, value, .. } | Action::CounterSet { word, value, .. } => {
            more(value, 1, site) || more(&mut word.index, 1, site)
        }
        Action::SetMaxRegisters { count, .. } => {
            if taken(site) {
                *count += 8;
                return true;
            }
            false
        }
        Action::Touch { elements, access } => {
            if taken(site) {
                elements.pop();
                return true;
            }
            if taken(site) {
                *access = match access {
                    Access::Read => Access::Write,
                    _ => Access::Read,
                };
                return true;
            }
            elements.iter_mut().any(|element| {
                if taken(site) {
                    let mut buffer = Buffer::clone(&element.buffer);
                    buffer.ranges[0].1 += 1;
                    element.buffer = Rc::new(buffer);
                    return true;
                }
                more(&mut element.index, 1, site)
            })
        }
        Action::WaitGroup { pending, read_only } => {
            if taken(site) {
                *pending += 1;
                return true;
            }
            if taken(site) {
                *read_only = !*read_only;
                return true;
            }
            false
        }
        Action::Access { .. }
        | Action::CommitGroup
        | Action::ClusterArrive
        | Action::ClusterWait
        | Action::Invalidate { .. }
        | Action::Tried { .. }
        | Action::WaitOwn { .. }
        | Action::Numbered { .. }
        | Action::Round { .. }
        | Action::Asked
        | Action::RingWordLoad { .. }
        | Action::RingWordStore { .. }
        | Action::Late { .. }
        | Action::Ahead
        | Action::Allocate { .. }
        | Action::Deallocate { .. }
        | Action::Relinquish
        | Action::Take { .. }
        | Action::GiveBack { .. }
        | Action::Launched => false,
    }
}

fn taken(site: &mut usize) -> bool {
    let now = *site == 0;
    *site = site.wrapping_sub(1);
    now
}

fn more(number: &mut Number, by: i128, site: &mut usize) -> bool {
    let now = taken(site);
    if now {
        number.constant += by;
    }
    now
}

/// Every change of the roles of a kernel; gives how many there are, and those that are not found.
fn changes(kernel: &Kernel, shape: Shape) -> (usize, Vec<String>) {
    changes_of(kernel, shape, recovered(kernel, shape))
}

fn changes_of(kernel: &Kernel, shape: Shape, mut original: Roles) -> (usize, Vec<String>) {
    let roles = original.all.clone();
    let mut missed = Vec::new();
    let mut count = 0;
    for role in 0..roles.len() {
        for site in 0.. {
            original.all = roles.clone();
            let Some(what) = change(&mut original.all[role].lines, &mut { site }) else {
                break;
            };
            count += 1;
            if compare(kernel, shape, &mut original).is_ok() {
                missed.push(what);
            }
        }
    }
    (count, missed)
}

#[test]
fn every_change_of_a_ring_is_found() {
    let (count, missed) = changes(&ring(), ONE);
    assert_eq!(missed, Vec::<String>::new());
    assert_eq!(count, 69);
}

#[test]
fn every_change_of_an_access_is_found() {
    let kernel = staged();
    let mut roles = roles_with_accesses(&kernel, ONE, || false).unwrap();
    let validation = compare(&kernel, ONE, &mut roles).unwrap();
    insta::assert_snapshot!(shown(&validation), @"launches: 9, skipped: 0, events: 489, reason: None");
    let (count, missed) = changes_of(&kernel, ONE, roles);
    assert_eq!(missed, Vec::<String>::new());
    assert_eq!(count, 89);
}

/// A cluster of two, tiles in steps of the grid, an even number of rounds that has a form of its own, and an
/// arrival at the other CTA's mbarrier.
fn tiles() -> Kernel {
    kernel(
        ".param .u32 tiles, .param .u32 k, .param .u64 from",
        "mov.u32 %r1, %tid.x;
         ld.param.u32 %r2, [tiles];
         ld.param.u32 %r20, [k];
         mov.u32 %r3, full; mov.u32 %r4, empty;
         mov.u32 %r21, %cluster_ctarank;
         xor.b32 %r22, %r21, 1;
         mapa.shared::cluster.u32 %r23, %r4, %r22;
         setp.ne.u32 %p1, %r1, 0;
         @%p1 bra READY;
         mbarrier.init.shared.b64 [full], 1;
         mbarrier.init.shared.b64 [empty], 1;
         READY:
         barrier.cluster.arrive.aligned;
         barrier.cluster.wait.aligned;
         setp.ge.u32 %p2, %r1, 32;
         @%p2 bra END;
         mov.u32 %r5, %clusterid.x;
         mov.u32 %r6, %nclusterid.x;
         mov.u32 %r8, 0;
         TILE:
         setp.ge.s32 %p3, %r5, %r2;
         @%p3 bra END;
         @%p1 bra SKIP;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r23];
         SKIP:
         WAIT:
         mbarrier.try_wait.parity.shared.b64 %p4, [%r4], %r8;
         @!%p4 bra WAIT;
         xor.b32 %r8, %r8, 1;
         setp.lt.u32 %p5, %r20, 300;
         @%p5 bra NEXT;
         bar.sync 3, 32;
         NEXT:
         add.s32 %r5, %r5, %r6;
         bra.uni TILE;
         END:
         barrier.cluster.arrive.aligned;
         barrier.cluster.wait.aligned;
         ret;",
    )
}

#[test]
fn every_change_of_tiles_in_a_cluster_is_found() {
    let (count, missed) = changes(&tiles(), PAIR);
    assert_eq!(missed, Vec::<String>::new());
    assert_eq!(count, 84);
}

/// Words of global memory that are waited for, exactly and at least, and added to.
fn turns() -> Kernel {
    let kernel = kernel(
        ".param .u64 lock, .param .u32 n",
        "mov.u32 %r1, %tid.x;
         ld.param.u64 %d1, [lock];
         ld.param.u32 %r2, [n];
         mov.u32 %r3, %ctaid.x;
         setp.ne.u32 %p1, %r1, 0;
         @%p1 bra END;
         FIRST:
         ld.acquire.gpu.global.u32 %r5, [%d1+64];
         setp.lt.u32 %p2, %r5, %r2;
         @%p2 bra FIRST;
         mov.u32 %r6, 0;
         setp.eq.u32 %p3, %r2, 0;
         @%p3 bra END;
         ROUND:
         mad.wide.u32 %d2, %r6, 4, %d1;
         LOOK:
         ld.acquire.gpu.global.u32 %r5, [%d2];
         setp.ne.u32 %p2, %r5, %r3;
         @%p2 bra LOOK;
         red.release.gpu.global.add.u32 [%d2], 1;
         add.u32 %r6, %r6, 1;
         setp.lt.u32 %p4, %r6, %r2;
         @%p4 bra ROUND;
         END: ret;",
    );
    let counted = crate::recover::with_counters(&kernel).unwrap_or_else(|o| panic!("{o:?}"));
    counted.expect("words that are waited for")
}

#[test]
fn every_change_of_waits_for_memory_is_found() {
    let (count, missed) = changes(&turns(), ONE);
    assert_eq!(missed, Vec::<String>::new());
    assert_eq!(count, 17);
}

/// What a difference says, and where.
#[test]
fn a_difference_names_the_event() {
    let kernel = ring();
    let mut roles = recovered(&kernel, ONE);
    let original = roles.all.clone();
    let role = original.len() - 1;
    for site in 0.. {
        roles.all = original.clone();
        let what = change(&mut roles.all[role].lines, &mut { site }).expect("a wait");
        if what.starts_with("changed Action { action: Wait") {
            break;
        }
    }
    let difference = compare(&kernel, ONE, &mut roles).unwrap_err();
    insta::assert_snapshot!(format!("{difference}"), @"at grid [40, 3, 8], CTA [39, 2, 2], k = 65, flag = 128, CTA 0, warp 1, event 1: the kernel does wait [CTA 0, 0x400] for parity 0 (line 57), the protocol says wait [CTA 0, 0x400] for parity 1 (line 57)");
}

/// Launches at which the kernel aborts say nothing.
#[test]
fn an_abort_is_no_agreement() {
    let kernel = kernel(
        ".param .u32 n",
        "ld.param.u32 %r1, [n];
         bar.sync 0;
         setp.gt.u32 %p1, %r1, 4;
         @%p1 bra MORE;
         trap;
         MORE:
         setp.gt.u32 %p1, %r1, 20;
         @%p1 bra END;
         bar.sync 1;
         END:
         ret;",
    );
    let mut roles = recovered(&kernel, ONE);
    let validation = compare(&kernel, ONE, &mut roles).unwrap();
    insta::assert_snapshot!(shown(&validation), @r#"launches: 6, skipped: 5, events: 20, reason: Some("the kernel aborts")"#);
}
