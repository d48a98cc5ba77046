//! Which programs get the same normal form, and which ones stay as they are.

use crate::certificate::cut::statements;
use crate::text;

use super::*;

fn protocol(program: &str) -> Protocol {
    let text = format!(
        "protocol p param N in 0.. param M in 0.. param W in -4.. param K in 3..=3 param L in 1..=9 assume L == 2
        mbarrier b {{ arrivals: 1 }} mbarrier c[4] {{ arrivals: 1 }} role r {{ var x = 0 {program} }}"
    );
    text::load(text.as_bytes()).unwrap_or_else(|found| panic!("{}", found[0].message))
}

/// Pairs of programs: the normal form of the first one is the second one.
#[test]
fn spellings_are_one_program() {
    for (program, other) in [
        (
            "for i in N..N + 1 { x = i arrive b }",
            "var i = N x = i arrive b",
        ),
        ("for i in 2..K { arrive b }", "arrive b"),
        (
            "for i in 0..L - 1 descending { arrive b return }",
            "arrive b return",
        ),
        ("for i in N..N { wait b 0 } arrive b", "arrive b"),
        (
            "if N > 0 { for i in 0..N { arrive b } }",
            "for i in 0..N { arrive b }",
        ),
        (
            "if N != 0 { for i in 0..N { arrive b } }",
            "for i in 0..N { arrive b }",
        ),
        (
            "if M <= N + M { for i in M..N { arrive b } }",
            "for i in M..N { arrive b }",
        ),
        (
            "for i in 0..N { arrive b if i + 1 >= N { break } }",
            "for i in 0..N { arrive b }",
        ),
        (
            "for i in M..N descending { arrive b if i == M { break } }",
            "for i in M..N descending { arrive b }",
        ),
        (
            "if N >= 1 { arrive b x = x + 1 } for i in 1..N { arrive b x = x + 1 }",
            "for i in 0..N { arrive b x = x + 1 }",
        ),
        (
            "for z in 0..min(1, N - M) { arrive b } for i in M + 1..N { arrive b }",
            "for i in M..N { arrive b }",
        ),
        (
            "for i in 0..N { if i % 2 == 0 { arrive b } }",
            "for k in 0..(N + 1) / 2 { x = 2 * k arrive b }",
        ),
        (
            "for i in 0..N descending { if 2 == i % 3 { arrive b } }",
            "for k in 0..N / 3 descending { x = 3 * k + 2 arrive b }",
        ),
        (
            "for i in 0..N { if i % 2 == 1 { arrive b } x = x + M }",
            "var y = x for k in 0..N / 2 { x = 2 * k + 1 x = y + M * x arrive b } x = y + M * N",
        ),
        (
            "for i in 1..K { arrive c[i] }",
            "x = 1 arrive c[x] x = 2 arrive c[x]",
        ),
        (
            "for i in 0..L descending { wait c[i] 0 arrive c[3 - i] return }",
            "x = 1 wait c[x] 0 arrive c[3 - x] return x = 0 wait c[x] 0 arrive c[3 - x] return",
        ),
        (
            "for i in 0..W { x = 1 + x if i % 2 == 0 { arrive b } }",
            "var y = x for k in 0..(W + 1) / 2 { x = 2 * k x = y + (x + 1) arrive b } x = y + max(0, W)",
        ),
    ] {
        let (program, other) = (protocol(program), protocol(other));
        let shown = |protocol: &Protocol| sketch(&normal(protocol).roles[0].body);
        assert_eq!(shown(&program), shown(&other), "{}", program.source);
        assert_ne!(sketch(&program.roles[0].body), shown(&program));
    }
}

/// A block without places and numbers of variables.
fn sketch(body: &[Stmt]) -> Vec<String> {
    let mut all = Vec::new();
    for stmt in body {
        let mut exprs = Vec::new();
        statements::visit_exprs(stmt, &mut |e| {
            let e = Polynomial::of(e).to_expr().unwrap_or_else(|| e.clone());
            exprs.push(algebra::replace(
                &e,
                &|_| Some(Expr::Var(VarId(0))),
                &|_| None,
            ));
        });
        let word = match &stmt.kind {
            StmtKind::For { .. } => "for",
            StmtKind::If { .. } => "if",
            StmtKind::Assign { .. } => "assign",
            StmtKind::Return => "return",
            StmtKind::Break => "break",
            StmtKind::Arrive { .. } => "arrive",
            _ => "other",
        };
        all.push(format!("{word} {exprs:?}"));
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                all.extend(sketch(then));
                all.push("else".to_owned());
                all.extend(sketch(otherwise));
                all.push("end".to_owned());
            }
            StmtKind::For { body, .. } => {
                all.extend(sketch(body));
                all.push("end".to_owned());
            }
            _ => {}
        }
    }
    all
}

/// Programs that only look like one of these: another one would do something else, or might be defined
/// where this one is not.
#[test]
fn what_differs_stays() {
    for program in [
        "for i in 0..N { arrive b }",
        "for i in 0..K { arrive b }",
        "for i in 0..K { arrive c[3 - i] }",
        "for i in 0..5 { arrive c[i] }",
        "for i in 0..K { arrive c[i] if i == x { arrive b } }",
        "for i in 0..L { arrive b if x == 0 { break } }",
        "for i in 0..1 { if N == 3 { break } arrive b }",
        "for i in 0..1 / N { arrive b }",
        "if N > 1 { for i in 0..N { arrive b } }",
        "if W != 0 { for i in W..0 { arrive b } }",
        "if M < N { for i in 0..N { arrive b } }",
        "if 0 < N { for i in 0..N { arrive b } } else { arrive b }",
        "if 0 < N && 1 / M == 0 { for i in 0..N { arrive b } }",
        "if 0 < N / M { for i in 0..N / M { arrive b } }",
        "for i in 0..N { arrive b if i == N - 2 { break } }",
        "for i in 0..N { arrive b if i >= N - 2 { break } }",
        "for i in 0..N { arrive b if i == N - 1 { return } }",
        "for i in 0..N descending { arrive b if i == N - 1 { break } }",
        "for i in 0..N { if i == N - 1 { break } arrive b }",
        "for i in 0..N - x { arrive b x = 1 if i == N - x - 1 { break } }",
        "for i in 0..N { arrive b if i == N - 1 && 1 / M == 0 { break } }",
        "if N >= 2 { arrive b } for i in 1..N { arrive b }",
        "if N >= 1 { arrive b } for i in 2..N { arrive b }",
        "if N >= 1 { wait b 0 } for i in 1..N { arrive b }",
        "if N >= 1 { arrive b return } for i in 1..N { arrive b return }",
        "if N >= 1 { x = 1 } for i in 1..N { x = i }",
        "if x < N { x = x + 1 } for i in x + 1..N { x = x + 1 }",
        "for z in 0..min(2, N) { arrive b } for i in 1..N { arrive b }",
        "for t in 0..N { for k in 0..M { arrive b } }",
        "for i in 0..N { if i % 2 == 0 { arrive b x = x + 1 } x = x + M }",
        "for i in 0..N { if i % 2 == 0 { arrive b break } x = x + M }",
        "for i in 0..N { if i % 2 == 0 { arrive b return } x = x + M }",
        "for i in 0..N { if i % 2 == 0 { arrive b } else { arrive b } x = x + M }",
        "for i in 0..N { x = x + 1 if i % 2 == 0 { arrive b } x = x + M }",
        "for i in 0..N { if i % 2 == 0 { arrive b } x = x + i }",
        "for i in 0..N { if i % 2 == 0 { arrive b } x = x + x }",
        "for i in 0..N { if i % 2 == 0 { arrive b } x = x + 1 / M }",
        "for i in 0..N { if i % 2 == 0 { arrive b } x = M }",
        "for i in 0..N { if i % 2 == 0 { arrive b } x = 1 - x }",
        "for i in 0..N descending { if i % 2 == 0 { arrive b } x = x + M }",
        "for i in 0..N + x { if i % 2 == 0 { arrive b } x = x + M }",
        "for i in 0..N / M { if i % 2 == 0 { arrive b } x = x + M }",
        "var y = 0 for i in 0..N { if i % 2 == 0 { y = i arrive b } x = x + y }",
    ] {
        let protocol = protocol(program);
        assert_eq!(
            normal(&protocol),
            constant_parameters::replaced(&protocol),
            "{program}"
        );
    }
}

/// What has one value is a number, and what may be undefined stays where it is.
#[test]
fn parameters_of_one_value_are_numbers() {
    let load = |numbers: [&str; 2]| {
        let [three, none] = numbers;
        let text = format!(
            "protocol p param N in 0.. param C in 1.. param K in 3..=3 param Z in {{0}} assume C == 1
            mbarrier b[{three} * 2] {{ arrivals: {three} }} pool units = {three}
            semaphore s[N] = {none} buffer data[{three}]
            role r[c in 0..{three}] {{
                var x = 0
                for i in 0..N {{
                    x = N / i * {none}
                    wait b[i % {three}] (i / {three} + {none}) % 2
                    write data[i % {three}]
                    if i % {three} == {none} {{ acquire units {three} }}
                }}
            }}"
        );
        text::load(text.as_bytes()).unwrap_or_else(|found| panic!("{}", found[0].message))
    };
    let replaced = constant_parameters::replaced(&load(["K", "Z"]));
    let mut shown = format!("{replaced:?}");
    assert!(!shown.contains("Param(ParamId(2))") && !shown.contains("Param(ParamId(3))"));
    assert_eq!(replaced.objects[0].extents, [Expr::Int(6)]);
    assert_eq!(replaced.roles[0].indices[0].extent, Expr::Int(3));
    let body = &load(["3", "0"]).roles[0].body;
    assert_eq!(sketch(&replaced.roles[0].body), sketch(body));
    shown = format!("{:?}", replaced.roles[0].body);
    assert!(shown.contains("Mul"), "{shown}");
}

/// Elements that are numbered by hand get two indices, if each number is that of one pair.
#[test]
fn a_number_of_an_element_is_a_pair() {
    let load = |extents: &str, program: &str| {
        let text = format!(
            "protocol p param R in 1.. param S in 1.. param N in 0.. mbarrier b[{extents}] {{ arrivals: 1 }}
            buffer data[{extents}] role r[g in 0..R] {{ var x = 0 {program} }}"
        );
        text::load(text.as_bytes()).unwrap_or_else(|found| panic!("{}", found[0].message))
    };
    let body = |protocol: &Protocol| sketch(&protocol.roles[0].body);
    for (program, pairs) in [
        (
            "for i in 0..S { let n = g * S + i wait b[n] 0 write data[n] arrive b[i + g * S] }",
            "for i in 0..S { wait b[g, i] 0 write data[g, i] arrive b[g, i] }",
        ),
        (
            "for i in 0..N { let n = x % S + g * S arrive b[n] write data[S * g + i % S] x = x + 1 }",
            "for i in 0..N { arrive b[g, x % S] write data[g, i % S] x = x + 1 }",
        ),
    ] {
        let apart = delinearize::delinearized(&load("R * S", program));
        let other = load("R, S", pairs);
        assert_eq!(body(&apart), body(&other), "{program}");
        assert_eq!(
            apart.objects[0].extents, other.objects[0].extents,
            "{program}"
        );
        assert_eq!(
            apart.buffers[0].extents, other.buffers[0].extents,
            "{program}"
        );
    }
    for program in [
        // One place has another number than those of a rank.
        "for i in 0..S { arrive b[g * S + i] } arrive b[0]",
        "for i in 0..N { arrive b[g * S + i] }",
        "for i in 1..S { arrive b[g * S + i] }",
        "for i in 0..S { arrive b[g * R + i] }",
        // The name stands for the place before the step.
        "for i in 0..N { let n = g * S + x % S x = x + 1 arrive b[n] }",
        "let n = g * S + x % S for i in 0..N { arrive b[n] x = x + 1 }",
        "let n = g * S + x % S if N > 1 { x = x + 1 } arrive b[n]",
    ] {
        let protocol = load("R * S", program);
        assert_eq!(
            delinearize::delinearized(&protocol).objects,
            protocol.objects,
            "{program}"
        );
        assert_eq!(
            body(&delinearize::delinearized(&protocol)),
            body(&protocol),
            "{program}"
        );
    }
}
