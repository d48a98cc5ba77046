//! What the kernel reads of a protocol: expressions, loops, declarations, classes and lanes. Each row of these tables is there
//! for a condition that is noticed by nothing else.

use crate::support::kernel_rows::Kernel;
use crate::support::kernel_rows::found;
use crate::support::kernel_rows::once;
use crate::support::kernel_rows::with_more;
use std::time::Duration;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::parts::conjuncts;
use warplock::proof;
use warplock::proof::Layer;
use warplock::protocol;
use warplock::protocol::Stmt;
use warplock::protocol::StmtKind;
use warplock::protocol::VarId;
use warplock::text;
use warplock::trusted::certificate::Certificate;
use warplock::trusted::certificate::NotLapped;
use warplock::trusted::certificate::Split;
use warplock::trusted::certificate::Sum;
use warplock::trusted::obligations;
use warplock::trusted::term;
/// One wait, for one addition.
const UNIT: &str = "protocol unit
param N in 1..
semaphore s = 0
role r {
    s += 1
    wait s >= 1
}
";

#[test]
fn expressions_have_the_values_of_the_language() {
    Kernel::new(UNIT, found(UNIT))
        .texts(
            "
        s >= 1 -> s >= N + (1 - N) => accepted
        s >= 1 -> s >= 2 - 1 => accepted
        s >= 1 -> s >= 2 * 3 - 5 => accepted
        s >= 1 -> s >= 7 / 4 => accepted
        s >= 1 -> s >= (0 - 7) / 4 + 3 => accepted
        s >= 1 -> s >= 7 % 3 => accepted
        s >= 1 -> s >= (0 - 7) % 4 => accepted
        s >= 1 -> s >= min(N, 1) => accepted
        s >= 1 -> s >= min(1, N) => accepted
        s >= 1 -> s >= max(1, 2 - N) => accepted
        s >= 1 -> s >= max(2 - N, 1) => accepted
        s >= 1 -> s >= (N % 2) ^ ((N + 1) % 2) => accepted
        s >= 1 -> s >= (N % 2) ^ (N % 2) + 1 => defined
        s >= 1 -> s >= if N == N + 1 then 0 else 1 => accepted
        s >= 1 -> s >= if N + 1 != N then 1 else 0 => accepted
        s >= 1 -> s >= if N < N then 0 else 1 => accepted
        s >= 1 -> s >= if N <= N then 1 else 0 => accepted
        s >= 1 -> s >= if N > N then 0 else 1 => accepted
        s >= 1 -> s >= if N >= N then 1 else 0 => accepted
        s >= 1 -> s >= if N > 0 && N < 0 then 0 else 1 => accepted
        s >= 1 -> s >= if N < 0 || N > 0 then 1 else 0 => accepted
        s >= 1 -> s >= -N + N + 1 => accepted
        s >= 1 -> s >= if !(N > 0) then 0 else 1 => accepted
        s >= 1 -> s >= if N == 2 then 2 else 1 => awaits
        s >= 1 -> s >= 2 => awaits
        s >= 1 -> s >= 0 => awaits
        s >= 1 -> s >= N => awaits
        s >= 1 -> s >= if 1 / (N - 5) == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 / (N - 1) == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 / (0 - N) == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 % (N - 5) == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 / (N - 5) + 1 == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 == 1 + 1 / (N - 5) then 1 else 1 => defined
        s >= 1 -> s >= if -(1 / (N - 5)) == 0 then 1 else 1 => defined
        s >= 1 -> s >= if !(1 / (N - 5) == 0) then 1 else 1 => defined
        s >= 1 -> s >= if N >= 2 then 1 + 0 * (1 / (N - 5)) else 1 => defined
        s >= 1 -> s >= if N >= 2 then 1 else 1 + 0 * (1 / (N - 5)) => defined
        s >= 1 -> s >= if (1 / (N - 5)) / 1 == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 / (1 + 0 * (1 / (N - 5))) == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 / (N - 5) > 0 && N > 5 then 1 else 1 => defined
        s >= 1 -> s >= if N > 2 && 1 / (N - 5) > 0 then 1 else 1 => defined
        s >= 1 -> s >= if 1 / (N - 5) > 0 || N > 5 then 1 else 1 => defined
        s >= 1 -> s >= if N <= 2 || 1 / (N - 5) > 0 then 1 else 1 => defined
        s >= 1 -> s >= if N ^ 0 == 0 then 1 else 1 => defined
        s >= 1 -> s >= if 0 ^ N == 0 then 1 else 1 => defined
        s >= 1 -> s >= if (0 * (1 / (N - 5))) ^ 1 == 0 then 1 else 1 => defined
        s >= 1 -> s >= if N > 5 then 1 + 0 * (1 / (N - 5)) else 1 => accepted
        s >= 1 -> s >= if N <= 5 then 1 else 1 + 0 * (1 / (N - 5)) => accepted
        s >= 1 -> s >= if N > 5 && 1 / (N - 5) > 0 then 1 else 1 => accepted
        s >= 1 -> s >= if N <= 5 || 1 / (N - 5) > 0 then 1 else 1 => accepted
        s >= 1 -> s >= count(k in 0..N where k == 0) => a pattern or a count
        ",
        )
        .check();
}

/// The least of 1 and so many other numbers.
fn deep(levels: usize) -> String {
    let least = |expr: String, level| format!("min({expr}, {level} + N)");
    (1..levels).fold("1".to_owned(), least)
}

#[test]
fn a_term_that_doubles_with_every_level_is_refused() {
    let table = format!(
        "s >= 1 -> s >= {} => accepted\ns >= 1 -> s >= {} => an expression that is too large",
        deep(5),
        deep(40)
    );
    Kernel::new(UNIT, found(UNIT)).texts(&table).check();
}

#[test]
fn the_cut_rule_refuses_it_as_well() {
    let source = UNIT.replace("s >= 1", &format!("s >= {}", deep(40)));
    let protocol = text::load(source.as_bytes()).unwrap();
    let (layer, limit) = (Layer::Cuts(Shows::Nothing), Duration::from_secs(10));
    let guess = proof::search(&protocol, layer, limit, None, &|_| {});
    assert!(
        format!("{guess:?}").contains("an expression that is too large"),
        "{guess:?}"
    );
}

#[test]
fn loops_branches_and_variables() {
    Kernel::new(UNIT, with_more(found(UNIT))).texts("
        s += 1 -> for i in 0..N { var y = 1 / (N - 1 - i) } s += 1 => defined
        s += 1 -> for i in 0..N { var y = 1 / (N - i) } s += 1 => accepted
        s += 1 -> for i in 0..N { var y = 1 / i } s += 1 => defined
        s += 1 -> for i in 0..N { var y = 1 / (i + 1) } s += 1 => accepted
        s += 1 -> for i in 0..N descending { var y = 1 / (N - 1 - i) } s += 1 => defined
        s += 1 -> for i in 0..N descending { var y = 1 / i } s += 1 => defined
        s += 1 -> for i in 0..N descending { var y = 1 / (N - i) } s += 1 => accepted
        s += 1 -> for i in 0..N - 5 {} var y = 1 / (N - 1) s += 1 => defined
        s += 1 -> for i in 0..1 / (N - 1) {} s += 1 => defined
        s += 1 -> for i in 1 / (N - 1)..N {} s += 1 => defined
        s += 1 -> var x = 1 for i in 0..N { var y = 1 / x x = x - 1 } s += 1 => defined
        s += 1 -> var x = 1 for i in 0..N { var y = 1 / x if i > 2 { x = x - 1 } } s += 1 => defined
        s += 1 -> var x = 1 for i in 0..N { var y = 1 / x if i > 2 {} else { x = x - 1 } } s += 1 => defined
        s += 1 -> var x = 1 for i in 0..N { var y = 1 / x for j in 0..i { x = x - 1 } } s += 1 => defined
        s += 1 -> var x = 1 for i in 0..N { x = x - 1 } var y = 1 / x s += 1 => defined
        s += 1 -> var x = 1 for i in 0..N { var y = 1 / x } s += 1 => accepted
        N in 1.. -> N in 0.. ; s += 1 -> if N > 0 { var y = 7 / N } var y = 1 / N s += 1 => defined
        s += 1 -> for i in 5..N + 5 { var y = 1 / (i - 5) } s += 1 => defined
        s += 1 -> for i in 5..N + 5 { var y = 1 / (i - 4) } s += 1 => accepted
        s += 1 -> if N > 1 {} else { var y = 1 / (N - 1) } s += 1 => defined
        s += 1 -> if N > 1 { var y = 1 / (N - 1) } s += 1 => accepted
        s += 1 -> if N > 1 {} var y = 1 / (N - 1) s += 1 => defined
        s += 1 -> if N > 1 { var z = N } else { var z = N } var y = 1 / (N - 1) s += 1 => defined
        s += 1 -> var x = 0 if N > 3 { x = 1 } var y = 1 / x s += 1 => defined
        s += 1 -> var x = 0 if N > 3 {} else { x = 1 } var y = 1 / x s += 1 => defined
        s += 1 -> var x = 0 if N > 3 { x = 2 } else { x = 1 } var y = 1 / x s += 1 => accepted
        s += 1 -> var x = 1 if N > 3 { x = 0 } else { var y = 1 / x } s += 1 => accepted
        s += 1 -> if N > 3 { s += 1 } => progress
        s += 1 -> if N > 3 {} else { s += 1 } => progress
        s += 1 -> if N > 3 { s += 1 } else { s += 1 } => accepted
        s += 1 -> if N > 3 { s += 1 } s += 1 => in_turn
        role r -> role r[i in 0..N] ; >= 1 -> >= N ; s += 1 -> var y = 1 / i s += 1 => defined
        role r -> role r[i in 0..N] ; >= 1 -> >= N ; s += 1 -> var y = 1 / (N - 1 - i) s += 1 => defined
        role r -> role r[i in 0..N] ; >= 1 -> >= N ; s += 1 -> var y = 1 / (N - i) s += 1 => accepted
        ").certificates(&[("role r -> role q[i in 0..N] { if i < 2 { var y = 1 / (1 - i) } } role r", |c| {
                c.splits.push(Split { role: 0, index: 0, at: vec![2] });
                c.classes.rotate_right(1); c.classes.insert(0, Default::default());
            }, "defined"),
("role r -> role q[i in 0..N] { if i < 2 { var y = 1 / (2 - i) } } role r", |c| {
                c.splits.push(Split { role: 0, index: 0, at: vec![2] });
                c.classes.rotate_right(1); c.classes.insert(0, Default::default());
            }, "accepted"),]).check();
}

#[test]
fn declarations_and_domains() {
    Kernel::new(UNIT, with_more(found(UNIT))).texts("
        role -> mbarrier b { arrivals: N } role => accepted
        role -> mbarrier b { arrivals: N - 1 } role => declared
        role -> barrier b { arrivals: N - 1 } role => declared
        role -> mbarrier b[N - 1] { arrivals: N - 1 } role => accepted
        role -> mbarrier b[N] { arrivals: N - 1 } role => declared
        role -> mbarrier b[6 / (N - 1)] { arrivals: 1 } role => declared
        role -> mbarrier b { arrivals: 1 + 0 * (6 / (N - 1)) } role => declared
        role -> semaphore q = 6 / (N - 1) role => declared
        role -> pool p = N - 1 role => accepted
        role -> pool p = N - 2 role => declared
        role -> pool p[N - 2] = N - 2 role => accepted
        s >= 1 } -> s >= 1 } role q[i in 0..6 / (N - 1)] {} => defined
        role -> assume 6 / (N - 1) >= 0 role => defined
        role -> assume N > 1 assume 6 / (N - 1) >= 0 role => accepted
        role -> assume N > 1 mbarrier b { arrivals: N - 1 } role => accepted
        N in 1.. -> N in 1..=4 ; role -> mbarrier b { arrivals: N } mbarrier c { arrivals: 5 - N } role => accepted
        N in 1.. -> N in 1..=4 ; role -> mbarrier b { arrivals: N - 1 } role => declared
        N in 1.. -> N in 1..=4 ; role -> mbarrier b { arrivals: 4 - N } role => declared
        N in 1.. -> N in {1, 4} ; role -> mbarrier b { arrivals: N - 1 } role => declared
        N in 1.. -> N in {1, 4} ; role -> mbarrier b { arrivals: 4 - N } role => declared
        N in 1.. -> N in {1, 4} ; role -> mbarrier b { arrivals: 1 + (N - 1) * (4 - N) } role => accepted
        role -> mbarrier b { arrivals: 6 } role ; s >= 1 } -> s >= 1 } role q[i in 0..2][j in 0..3] { arrive b } => accepted
        role -> mbarrier b { arrivals: 5 } role ; s >= 1 } -> s >= 1 } role q[i in 0..2][j in 0..3] { arrive b } => expected
        role -> mbarrier b { arrivals: N } role ; s >= 1 } -> s >= 1 } role q[i in 0..N] { arrive b } => accepted
        role -> mbarrier b { arrivals: max(1, N - 1) } role ; s >= 1 } -> s >= 1 } role q[i in 0..N - 1] { arrive b } => expected
        N in 1.. -> N in {1, 4} ; role -> mbarrier b { arrivals: (N - 2) * (N - 2) } role ; s >= 1 } -> s >= 1 } role q[i in 0..N - 2][j in 0..N - 2] { arrive b } => expected
        role -> mbarrier b[N - 1] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { if N > 1 { arrive b[N - N] } } => accepted
        role -> mbarrier b[N - 1] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { arrive b[N - N] } => element
        role -> mbarrier b[N - 1] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { if N > 1 { arrive b[N - N] arrive b[1] } } => element, in_turn
        role -> mbarrier b[N - 1] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { if N > 2 { arrive b[N - N] arrive b[1] } } => accepted
        role -> mbarrier b[N - 1] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { if N > 2 { arrive b[N - N] arrive b[1] arrive b[2] } } => element, in_turn
        role -> mbarrier b[max(1, N - 5)] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { arrive b[N - N] } => accepted
        role -> mbarrier b[N * (N - 1)] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { arrive b[N - N] } => element
        N in 1.. -> N in 0.. ; role -> mbarrier b[N] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { arrive b[N - N] } => element
        N in 1.. -> N in {0, 4} ; role -> mbarrier b[N] { arrivals: 1 } role ; s >= 1 } -> s >= 1 } role q { arrive b[N - N] } => element
        role -> mbarrier b { arrivals: N - 1 } role ; s >= 1 } -> s >= 1 } role q[i in 0..N - 1] { arrive b } => declared, expected
        ").check();
}

#[test]
fn what_there_are_no_acts_for_is_refused() {
    Kernel::new(UNIT, with_more(found(UNIT))).texts("
        semaphore s -> pattern q[N, N] semaphore s => a pattern
        semaphore s -> pattern q[N, 1 / (N - 1)] semaphore s => a pattern
        role r -> grid r[n in 0..N] launch ascending resident 1.. ; s >= 1 -> s >= N => a grid that need not be resident as a whole
        role r -> grid r[n in 0..N] launch ascending resident all ; s >= 1 -> s >= N => accepted
        wait s >= 1 -> wait s >= 1 s = 0 => a reset
        wait s >= 1 -> wait s == 1 => unfit
        s += 1 -> if N > 1 { return } s += 1 => a `return`
        s += 1 -> for i in 0..N { if N > 1 { break } } s += 1 => a `break`
        role -> pool p = N role ; s += 1 -> acquire p N + 1 s += 1 => awaits, settled, take
        role -> pool p = N role ; s += 1 -> release p 1 s += 1 => awaits, give, settled
        role -> mbarrier b { arrivals: 1, init: explicit } role ; s += 1 -> init b s += 1 => accepted
        role -> mbarrier b { arrivals: 1, init: explicit } role ; s += 1 -> arrive b s += 1 => an mbarrier that nobody initialises
        role -> mbarrier b { arrivals: 1 } role ; s += 1 -> arrive b s += 1 => accepted
        = 0 -> = any => this operation
        s += 1 -> s += 1 s += 1 => in_turn
        s += 1 -> s += 2 => amount
        role -> mbarrier b[2, 2] { arrivals: 1 } role ; s += 1 -> for i in 0..2 { arrive b[i, i] } s += 1 => two indices that are not numbers
        ").check();
}

/// One member of a role with two indices, which is taken apart by its second.
const APART: &str = "protocol apart
param N in 1..
mbarrier b { arrivals: 2 }
role r[x in 0..2][w in 0..3] {
    if w == 0 {
        arrive b
        wait b 0
    }
}
";

/// In classes by the first, the second and all other values of the second index.
fn apart() -> Certificate {
    let (role, index, at) = (0, 1, vec![1, 2]);
    Certificate {
        splits: vec![Split { role, index, at }],
        ..once(3, 0)
    }
}

#[test]
fn a_class_is_taken_apart_at_its_indices() {
    Kernel::new(APART, apart()).texts("
        w == 0 -> w == 1 => accepted
        w == 0 -> w == 2 => accepted
        w == 0 -> w == 3 => accepted
        w == 0 -> w < 1 => accepted
        w == 0 -> w <= 0 => accepted
        w == 0 -> w > 1 => accepted
        w == 0 -> w >= 2 => accepted
        w == 0 -> w > 0 && w < 2 => accepted
        w == 0 -> !(w == 0 || w == 2) => accepted
        w == 0 -> w != 0 ; arrivals: 2 -> arrivals: 4 => accepted
        w == 0 -> w < 2 ; arrivals: 2 -> arrivals: 4 => accepted
        w == 0 -> w <= 1 ; arrivals: 2 -> arrivals: 4 => accepted
        w == 0 -> w > 0 ; arrivals: 2 -> arrivals: 4 => accepted
        w == 0 -> w >= 1 ; arrivals: 2 -> arrivals: 4 => accepted
        w == 0 -> w < 1 || w > 1 ; arrivals: 2 -> arrivals: 4 => accepted
        w == 0 -> w < 3 ; arrivals: 2 -> arrivals: 6 => accepted
        w == 0 -> w >= 0 ; arrivals: 2 -> arrivals: 6 => accepted
        w == 0 -> !(w > 5) ; arrivals: 2 -> arrivals: 6 => accepted
        w in 0..3 -> w in 0..N ; w == 0 -> w < 3 ; arrivals: 2 -> arrivals: 2 * N => progress
        w in 0..3 -> w in 0..N ; w == 0 -> w < N ; arrivals: 2 -> arrivals: 2 * N => accepted
        w in 0..3 -> w in 0..N ; w == 0 -> w < 2 ; arrivals: 2 -> arrivals: 2 * min(N, 2) => accepted
        w == 0 -> x == 0 => expected
        wait b 0 } -> } else { wait b 0 } => unfit
        arrive b wait b 0 } -> } else { arrive b wait b 0 } ; arrivals: 2 -> arrivals: 4 => accepted
        ").certificates(&[
            ("w == 0 -> w < 2 ; arrivals: 2 -> arrivals: 6", |c| c.splits.clear(), "progress"),
            ("w == 0 -> w >= 1 ; arrivals: 2 -> arrivals: 6", |c| c.splits.clear(), "progress"),
            ("w == 0 -> w < 3 ; arrivals: 2 -> arrivals: 6", |c| c.splits.clear(), "accepted"),
("", |c| c.splits[0].at = vec![2, 1], "pieces of an index that do not ascend"),
("", |c| c.splits[0].at = vec![1, 1], "pieces of an index that do not ascend"),
("", |c| c.splits[0].at = vec![0, 1], "pieces of an index that do not ascend"),
("", |c| c.splits[0].at = vec![-1, 1], "pieces of an index that do not ascend"),
("", |c| c.splits[0].at = vec![1, 9], "accepted"),
("", |c| c.splits.clear(), "expected"),]).check();
}

/// One element by a number, and whatever another role does.
const MIXED: &str = "protocol mixed
param N in 1..
mbarrier b[2] { arrivals: 1 }
role r {
    arrive b[0]
    wait b[0] 0
}
role q {
}
";

#[test]
fn elements_by_number_and_by_expression_are_the_same() {
    Kernel::new(MIXED, with_more(once(1, 0)))
        .texts(
            "
        q { -> q { arrive b[1] => accepted
        q { -> q { arrive b[0] => expected
        q { -> q { arrive b[N - N] => expected
        q { -> q { if N > 2 { arrive b[N - N] } => expected
        q { -> q { if N > 2 {} else { arrive b[N - N] } => expected
        q { -> q { arrive b[3 - 2] => accepted
        q { -> q { arrive b[1 * 1] => accepted
        q { -> q { arrive b[0 + 1] => accepted
        q { -> q { arrive b[2] => element
        q { -> q { arrive b[0 - 1] => element
        b[2] -> b[N] => accepted
        b[2] -> b[N] ; q { -> q { arrive b[1] => element
        b[2] -> b[N - 1] => element
        ",
        )
        .certificates(&[
            ("arrive b[0] wait b[0] 0 -> arrive b[N - N] wait b[N - N] 0 arrive b[N - N + 1] wait b[N - N + 1] 0", |c| c.classes[0].ranks.push(Sum::number(1)), "accepted"),
            ("arrive b[0] wait b[0] 0 -> arrive b[N - N] wait b[N - N] 0 arrive b[N - N + 1] wait b[N - N + 1] 1", |c| c.classes[0].ranks.push(Sum::number(1)), "awaits"),
(
            "q { -> q { wait b[0] 0",
            |c| {
                c.classes[1].ranks.push(Sum::default());
                let reason = c.not_lapped[0].clone();
                c.not_lapped.push(NotLapped { class: 1, ..reason });
            },
            "accepted",
        )])
        .check();
}

/// The text has no such assignments, but a protocol might.
#[test]
fn an_index_is_not_assigned_to() {
    let with_index = "semaphore s = 0 role r[i in 0..N] { var x = 0 s += 1 wait s >= N }";
    let with_loop = "semaphore s = 0 role r { for i in 0..N { var x = 0 } s += 1 wait s >= 1 }";
    for text in [with_index, with_loop] {
        let source = format!("protocol assigned param N in 1.. {text}");
        let mut protocol = text::load(source.as_bytes()).unwrap();
        let certificate = with_more(found(UNIT));
        assert!(obligations(&protocol, &certificate).is_ok());
        let named = |var: &protocol::Var| var.name == "i";
        let index = VarId(protocol.vars.iter().position(named).unwrap());
        assign(&mut protocol.roles[0].body, index);
        let refused = obligations(&protocol, &certificate).unwrap_err();
        assert_eq!(refused.to_string(), "an assignment to an index");
    }
}

/// Has the first assignment of a block assign to another variable.
fn assign(body: &mut [Stmt], to: VarId) {
    match &mut body[0].kind {
        StmtKind::Assign { var, .. } => *var = to,
        StmtKind::For { body, .. } => assign(body, to),
        other => panic!("{other:?}"),
    }
}

/// A solver may be asked for the parts of what has to follow, one by one: these are all of it.
#[test]
fn the_parts_of_a_goal_are_all_of_it() {
    let protocol = text::load(APART.as_bytes()).unwrap();
    let mut seen = 0;
    for whole in obligations(&protocol, &apart()).unwrap() {
        let goals: Vec<_> = conjuncts(&whole)
            .into_iter()
            .map(|part| part.goal)
            .collect();
        if !goals.is_empty() {
            assert_eq!(term::and(goals), whole.goal);
            seen += 1;
        }
    }
    assert!(seen > 0);
}
