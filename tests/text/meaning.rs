//! What a text means: the resolved protocol of small examples.

use std::collections::HashSet;

use warplock::protocol::BinaryOp;
use warplock::protocol::Domain;
use warplock::protocol::Expr;
use warplock::protocol::Initial;
use warplock::protocol::Iteration;
use warplock::protocol::LaunchKey;
use warplock::protocol::LaunchOrder;
use warplock::protocol::ObjectKind;
use warplock::protocol::ParamId;
use warplock::protocol::Protocol;
use warplock::protocol::Resident;
use warplock::protocol::RowOrder;
use warplock::protocol::StmtKind;
use warplock::protocol::VarId;
use warplock::text;

fn load(source: &str) -> Protocol {
    match text::load(source.as_bytes()) {
        Ok(protocol) => protocol,
        Err(found) => panic!("{}", text::render(&found, "p.wlk", source, false)),
    }
}

/// The condition of the only assumption of a protocol over `a`, `b` and `c`.
fn condition(expression: &str) -> Expr {
    let params = "param a in 0.. param b in 0.. param c in 0..";
    let mut protocol = load(&format!(
        "protocol p {params} assume {expression} role r {{}}"
    ));
    protocol.assumptions.remove(0).condition
}

fn param(at: usize) -> Expr {
    Expr::Param(ParamId(at))
}

#[test]
fn operators_bind_as_in_rust() {
    use BinaryOp::*;
    for (bare, explicit) in [
        ("a + b * c == 1", "(a + (b * c)) == 1"),
        ("a - b - c == 1", "((a - b) - c) == 1"),
        ("a / b % c == 1", "((a / b) % c) == 1"),
        ("-a * b == 1", "((-a) * b) == 1"),
        ("a ^ b + c == 1", "(a ^ (b + c)) == 1"),
        (
            "a == 1 || b == 1 && c == 1",
            "(a == 1) || ((b == 1) && (c == 1))",
        ),
        ("!(a == 1) && b == 1", "(!(a == 1)) && (b == 1)"),
        (
            "a == if b == 1 then 1 else 2 + c",
            "a == (if b == 1 then 1 else (2 + c))",
        ),
    ] {
        assert_eq!(condition(bare), condition(explicit), "{bare}");
    }
    let difference = Expr::binary(Sub, param(0), param(1));
    assert_eq!(
        condition("a - b >= c"),
        Expr::binary(Ge, difference, param(2))
    );
}

#[test]
fn built_in_functions_are_written_out() {
    assert_eq!(
        condition("ceil_div(a, b) == c"),
        condition("(a + b - 1) / b == c")
    );
    assert_eq!(
        condition("abs(a) == c"),
        condition("(if a < 0 then -a else a) == c")
    );
    assert_eq!(
        condition("min(a, b) == max(b, 1)"),
        Expr::binary(
            BinaryOp::Eq,
            Expr::binary(BinaryOp::Min, param(0), param(1)),
            Expr::binary(BinaryOp::Max, param(1), Expr::Int(1)),
        )
    );
}

#[test]
fn the_parameter_of_open_residency_is_the_last() {
    for clause in ["", "launch any", "resident 1.."] {
        let protocol = load(&format!(
            "protocol p param N in 1.. assume R >= N
             grid g[n in 0..N] {clause} {{}} param M in {{3, 1}} expect deadlock: refuted at R = 1"
        ));
        let names: Vec<&str> = protocol.params.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["N", "M", "R"]);
        assert_eq!(protocol.params[1].domain, Domain::Set(vec![1, 3]));
        assert_eq!(protocol.params[2].domain, Domain::AtLeast(1));
        assert_eq!(protocol.expectations[0].at, [(ParamId(2), 1)]);
        let launch = protocol.roles[0].launch.as_ref().unwrap();
        assert_eq!(launch.resident, Resident::AtMost(param(2)));
        assert_eq!(launch.order, LaunchOrder::Any);
        assert_eq!(protocol.assumptions[0].text, "R >= N");
    }
    let protocol = load("protocol p grid g resident all {}");
    assert!(protocol.params.is_empty());
    assert_eq!(
        protocol.roles[0].launch.as_ref().unwrap().resident,
        Resident::All
    );
}

#[test]
fn launch_orders_name_every_index() {
    let order = |clause: &str| {
        let source = format!("protocol p grid g[a in 0..2][b in 0..3] launch {clause} {{}}");
        load(&source).roles.remove(0).launch.unwrap().order
    };
    let key = |index, descending| LaunchKey { index, descending };
    let sorted = |a, b| LaunchOrder::Sorted(vec![a, b]);
    assert_eq!(order("ascending"), sorted(key(0, false), key(1, false)));
    assert_eq!(order("descending"), sorted(key(0, true), key(1, true)));
    assert_eq!(
        order("b descending, a ascending"),
        sorted(key(1, true), key(0, false))
    );
    assert_eq!(order("any"), LaunchOrder::Any);
}

fn counting_variables(e: &Expr, found: &mut Vec<VarId>) {
    match e {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => {}
        Expr::Neg(e) | Expr::Not(e) => counting_variables(e, found),
        Expr::Binary(_, a, b) => [a, b]
            .map(|e| counting_variables(e, found))
            .into_iter()
            .collect(),
        Expr::If(a, b, c) => [a, b, c]
            .map(|e| counting_variables(e, found))
            .into_iter()
            .collect(),
        Expr::Visits(_, at) => at.iter().for_each(|e| counting_variables(e, found)),
        Expr::Count { var, lo, hi, body } => {
            found.push(*var);
            [lo, hi, body]
                .map(|e| counting_variables(e, found))
                .into_iter()
                .collect()
        }
    }
}

#[test]
fn every_expansion_binds_variables_of_its_own() {
    let protocol = load(
        "protocol p param N in 1..
         pattern v[N, N]
         let rank(n, m) = count(k in 0..n where v[k, m])
         let twice(x) = x + x
         semaphore s = 0
         role r[i in 0..N] {
             s += abs(rank(i, i)) + rank(i, 0) + twice(rank(0, i)) + ceil_div(1, rank(i, 2))
         }",
    );
    let StmtKind::Add { amount, .. } = &protocol.roles[0].body[0].kind else {
        panic!("not an addition");
    };
    let mut found = Vec::new();
    counting_variables(amount, &mut found);
    assert_eq!(found.len(), 3 + 1 + 2 + 2);
    let different: HashSet<VarId> = found.iter().copied().collect();
    assert_eq!(different.len(), found.len());
    // One for the index of the role, none left over from checking the definitions.
    assert_eq!(protocol.vars.len(), found.len() + 1);
}

#[test]
fn statements_are_numbered_in_text_order() {
    let protocol = load(
        "protocol p param N in 1..
         semaphore lock = any
         mbarrier bar[2] { arrivals: N }
         named hw[16]
         pattern v[N, N]
         role a[t in 0..N] warp {
             var phase = 0
             for m in row(v, t) any order {
                 arrive bar[0]
                 phase = phase ^ 1
                 if phase == 1 { break } else if t > 1 { return } else { lock = 0 }
             }
             wait bar[1] phase
         }
         role b {
             for i in 0..N descending { sync hw[0] 32 * N arrive hw[1] 64 write smem[ i+1 ] }
         }",
    );
    assert_eq!(protocol.stmt_count, 14);
    let ids: Vec<usize> = protocol.roles[0].body.iter().map(|s| s.id.0).collect();
    assert_eq!(ids, [0, 1, 9]);
    let StmtKind::For { over, body, .. } = &protocol.roles[0].body[1].kind else {
        panic!("not a loop");
    };
    assert!(matches!(
        over,
        Iteration::Row {
            order: RowOrder::Any,
            ..
        }
    ));
    let header = body[2].span;
    assert_eq!(&protocol.source[header.start..header.end], "if phase == 1");
    let StmtKind::For { body, .. } = &protocol.roles[1].body[0].kind else {
        panic!("not a loop");
    };
    assert!(matches!(
        &body[1].kind,
        StmtKind::BarArrive {
            count: Expr::Int(64),
            ..
        }
    ));
    assert!(
        matches!(&body[2].kind, StmtKind::Access { verb, target, .. }
        if verb == "write" && target == "smem[i + 1]")
    );
    assert_eq!(
        protocol.objects[0].kind,
        ObjectKind::Semaphore(Initial::Any)
    );
}

#[test]
fn a_count_is_told_from_the_next_statement() {
    let protocol = load(
        "protocol p param N in 1.. mbarrier b { arrivals: N } semaphore s[N] = 0
         role r { var x = 1 arrive b x x = 2 arrive b s[0] += 1 arrive b (x) arrive b if x == 1 {} }",
    );
    let body = &protocol.roles[0].body;
    assert_eq!(body.len(), 8);
    let counts: Vec<bool> = body
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Arrive { count, .. } => Some(*count == Expr::Int(1)),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [false, true, false, true]);
}

#[test]
fn an_assumption_may_use_the_lets_of_the_file() {
    let mut protocol = load(
        "protocol p param sk in 1.. let N = ceil_div(sk, 128)
         let odd(n) = count(k in 0..n where k % 2 == 1)
         grid g[n in 0..N] {}",
    );
    let vars = protocol.vars.len();
    let given = text::parse_expression(&mut protocol, " (R)>=N ").unwrap();
    assert_eq!(given.text, "R >= N");
    assert_eq!(given.span, None);
    let n = Expr::binary(BinaryOp::Add, param(0), Expr::Int(128));
    let n = Expr::binary(BinaryOp::Sub, n, Expr::Int(1));
    let n = Expr::binary(BinaryOp::Div, n, Expr::Int(128));
    assert_eq!(given.condition, Expr::binary(BinaryOp::Ge, param(1), n));
    assert_eq!(protocol.vars.len(), vars);

    let given = text::parse_expression(&mut protocol, "odd(R) < 3").unwrap();
    let mut found = Vec::new();
    counting_variables(&given.condition, &mut found);
    assert_eq!(found, [VarId(vars)]);
    assert_eq!(protocol.vars.len(), vars + 1);
    assert!(protocol.assumptions.is_empty());
}
