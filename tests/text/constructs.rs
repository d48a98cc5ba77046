//! Pipelines, transactions, asynchronous work, split-phase barriers, pools, buffers and elected
//! threads: what they mean, how they are laid out, and what an author sees after a mistake.

use warplock::protocol::BinaryOp;
use warplock::protocol::Expr;
use warplock::protocol::Iteration;
use warplock::protocol::ObjectKind;
use warplock::protocol::ParamId;
use warplock::protocol::Protocol;
use warplock::protocol::Stmt;
use warplock::protocol::StmtKind;
use warplock::text;

fn load(source: &str) -> Protocol {
    match text::load(source.as_bytes()) {
        Ok(protocol) => protocol,
        Err(found) => panic!("{}", text::render(&found, "p.wlk", source, false)),
    }
}

/// The worded findings about a text that does not load.
fn worded(source: &str) -> String {
    let found = text::load(source.as_bytes()).expect_err("the text is wrong");
    text::render(&found, "p.wlk", source, false)
}

/// The statements of the first role, after the declarations that they may use.
fn body(statements: &str) -> Vec<Stmt> {
    let mut protocol = load(&format!(
        "protocol p param S in 1.. param E in 0..
         mbarrier b {{ arrivals: S }} mbarrier late {{ arrivals: S, init: explicit }}
         named hw barrier split {{ arrivals: S }} pool regs = S buffer smem[S]
         role r[cta in 0..S][t in 0..S] {{ {statements} }}"
    ));
    protocol.roles.remove(0).body
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

#[test]
fn a_pipeline_state_is_one_counter() {
    let stmts = body(
        "var p = producer(S + 1) var c = consumer(3)
         advance p
         arrive b 1 + p.index arrive b 1 + p.phase
         arrive b 1 + c.index arrive b 1 + c.phase arrive b 1 + c.count",
    );
    let variable = |at: usize| match &stmts[at].kind {
        StmtKind::Assign { var, value } => (*var, value.clone()),
        other => panic!("{other:?}"),
    };
    let (p, start) = variable(0);
    let (c, _) = variable(1);
    assert_eq!(start, Expr::Int(0));
    let next = binary(BinaryOp::Add, Expr::Var(p), Expr::Int(1));
    assert_eq!(variable(2), (p, next));
    let read = |at: usize| match &stmts[at].kind {
        StmtKind::Arrive {
            count: Expr::Binary(BinaryOp::Add, _, field),
            ..
        } => (**field).clone(),
        other => panic!("{other:?}"),
    };
    let stages = || binary(BinaryOp::Add, Expr::Param(ParamId(0)), Expr::Int(1));
    let odd = |e| binary(BinaryOp::Mod, e, Expr::Int(2));
    assert_eq!(read(3), binary(BinaryOp::Mod, Expr::Var(p), stages()));
    let round = binary(BinaryOp::Div, Expr::Var(p), stages());
    assert_eq!(read(4), odd(binary(BinaryOp::Add, round, Expr::Int(1))));
    assert_eq!(read(5), binary(BinaryOp::Mod, Expr::Var(c), Expr::Int(3)));
    let round = binary(BinaryOp::Div, Expr::Var(c), Expr::Int(3));
    assert_eq!(read(6), odd(round));
    assert_eq!(read(7), Expr::Var(c));
}

#[test]
fn counting_variables_of_a_stage_count_are_each_its_own() {
    let source = "protocol p param N in 1.. let S = 1 + count(k in 0..N where k % 2 == 0)
                  mbarrier b[N] { arrivals: 1 }
                  role r { var p = producer(S) wait b[p.index] p.phase wait b[p.index] p.phase }";
    // The pipeline state, one for its declaration and one for each of four uses.
    assert_eq!(load(source).vars.len(), 1 + 1 + 4);
}

#[test]
fn statements_that_are_two_have_two_numbers() {
    let stmts = body("arrive_expect_tx b 64 sync split repeat E { break } read smem[0]");
    let kinds: Vec<(usize, &StmtKind)> = stmts.iter().map(|s| (s.id.0, &s.kind)).collect();
    assert!(matches!(
        kinds.as_slice(),
        [
            (
                0,
                StmtKind::ExpectTx {
                    bytes: Expr::Int(64),
                    ..
                }
            ),
            (
                1,
                StmtKind::Arrive {
                    count: Expr::Int(1),
                    ..
                }
            ),
            (2, StmtKind::BarrierArrive { .. }),
            (3, StmtKind::BarrierWait { .. }),
            (4, StmtKind::For { .. }),
            (6, StmtKind::Access { .. }),
        ]
    ));
    assert_eq!(stmts[0].span, stmts[1].span);
    let StmtKind::For { over, .. } = kinds[4].1 else {
        panic!("not a loop");
    };
    let expected = Iteration::Range {
        lo: Expr::Int(0),
        hi: Expr::Param(ParamId(1)),
        descending: false,
    };
    assert_eq!(*over, expected);
}

#[test]
fn an_elected_thread_is_the_first_of_the_last_index() {
    let stmts = body("elect { arrive b }");
    let [
        Stmt {
            kind:
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                },
            ..
        },
    ] = stmts.as_slice()
    else {
        panic!("{stmts:?}");
    };
    let protocol = load("protocol p role r[cta in 0..2][t in 0..2] { elect { return } }");
    let t = protocol.roles[0].indices[1].var;
    let first = binary(BinaryOp::Eq, Expr::Var(t), Expr::Int(0));
    assert!(matches!(&protocol.roles[0].body[0].kind,
        StmtKind::If { condition, .. } if *condition == first));
    assert!(matches!(condition, Expr::Binary(BinaryOp::Eq, ..)));
    assert_eq!((then.len(), otherwise.len()), (1, 0));
    for header in ["role r", "role r warp", "grid r resident all"] {
        let protocol = load(&format!("protocol p {header} {{ elect {{ return }} }}"));
        assert_eq!(protocol.roles[0].body[0].kind, StmtKind::Return);
    }
}

#[test]
fn every_statement_finds_its_kind() {
    let stmts = body(
        "expect_tx b E complete_tx b E async copy smem[E] completes b E commit b init late
         arrive split wait split acquire regs E release regs E
         async copy other async mma reads smem[0], x[1, 2] writes y async store
         commit_group wait_group 1 wait_group 0 read read y wait_group S read",
    );
    let texts: Vec<String> = stmts
        .iter()
        .map(|stmt| match &stmt.kind {
            StmtKind::ExpectTx { .. } => "expect".to_owned(),
            StmtKind::CompleteTx { .. } => "complete".to_owned(),
            StmtKind::Copy { target, .. } => format!("copy {target}"),
            StmtKind::Commit { .. } => "commit".to_owned(),
            StmtKind::Init { .. } => "init".to_owned(),
            StmtKind::BarrierArrive { .. } => "arrive".to_owned(),
            StmtKind::BarrierWait { .. } => "wait".to_owned(),
            StmtKind::Acquire { .. } => "acquire".to_owned(),
            StmtKind::Release { .. } => "release".to_owned(),
            StmtKind::Access { verb, target, .. } => format!("{verb}: {target}"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        texts,
        [
            "expect",
            "complete",
            "copy smem[E]",
            "commit",
            "init",
            "arrive",
            "wait",
            "acquire",
            "release",
            "async copy: other",
            "async mma: reads smem[0], x[1, 2] writes y",
            "async store: ",
            "commit_group: ",
            "wait_group: 1",
            "wait_group: 0 read",
            "read: y",
            "wait_group: S read",
        ]
    );
}

#[test]
fn declarations_are_kept() {
    let protocol = load(
        "protocol p param S in 1.. mbarrier a { arrivals: S } mbarrier b[2] { arrivals: 1, init: explicit }
         barrier c[S] { arrivals: S } pool d = S buffer smem[S, 2] buffer tmem role r {}",
    );
    let kinds: Vec<&ObjectKind> = protocol.objects.iter().map(|o| &o.kind).collect();
    assert!(matches!(
        kinds.as_slice(),
        [
            ObjectKind::Mbarrier {
                explicit_init: false,
                ..
            },
            ObjectKind::Mbarrier {
                explicit_init: true,
                ..
            },
            ObjectKind::Barrier { .. },
            ObjectKind::Pool { .. },
        ]
    ));
    let buffers: Vec<(&str, usize)> = protocol
        .buffers
        .iter()
        .map(|b| (b.name.as_str(), b.extents.len()))
        .collect();
    assert_eq!(buffers, [("smem", 2), ("tmem", 0)]);
}

#[test]
fn a_value_is_told_from_the_next_statement() {
    let stmts = body(
        "var x = 0
         wait split if x == 0 { x = 1 }
         wait b if x == 0 then 1 else 0
         sync split x = 2
         sync hw if x == 0 then 32 else 64
         wait split sync split if x == 0 { wait split } wait split",
    );
    assert_eq!(stmts.len(), 13);
}

#[test]
fn names_of_roles_and_words_of_one_place_stay_free() {
    load(
        "protocol p param index in 1.. param copy in 1.. semaphore phase = 0
         role producer { var explicit = index } role consumer[mma in 0..2] { phase += copy }",
    );
    assert_eq!(load("protocol barrier role r {}").name, "barrier");
}

#[test]
fn the_layout() {
    let source = "protocol p param S in 1..
mbarrier full[S]{arrivals:1,init:explicit}barrier cta{arrivals:(S)}pool regs=2*(S)buffer smem[S]
role r[t in 0..S]{elect{init full[0]}// once
var p=producer((S))repeat(S)*2{ wait full[p.index]p.phase
arrive_expect_tx full[p . index] (64) async copy smem[0]completes full[0]64
async mma reads smem[0] , x writes y commit full[0]advance p}
acquire regs(24)release regs 24 sync cta wait_group(0)read commit_group arrive cta wait cta
if S>1{}elect{}}";
    insta::assert_snapshot!(text::format(source).unwrap(), @"
    protocol p

    param S in 1..
    mbarrier full[S] { arrivals: 1, init: explicit }
    barrier cta { arrivals: S }
    pool regs = 2 * S
    buffer smem[S]

    role r[t in 0..S] {
        elect {
            init full[0]
        }  // once
        var p = producer(S)
        repeat S * 2 {
            wait full[p.index] p.phase
            arrive_expect_tx full[p.index] 64
            async copy smem[0] completes full[0] 64
            async mma reads smem[0], x writes y
            commit full[0]
            advance p
        }
        acquire regs 24
        release regs 24
        sync cta
        wait_group 0 read
        commit_group
        arrive cta
        wait cta
        if S > 1 {}
        elect {}
    }
    ");
}

#[test]
fn pipeline_states_that_are_used_as_something_else() {
    insta::assert_snapshot!(worded(r"protocol p
param S in 1..
semaphore s = 0
role r[t in 0..S] {
    var p = producer(S)
    var q = consumer(0)
    var z = producer(S, 2)
    var y = consumer(t)
    var x = p + 1
    p = 3
    s += p.stage
    advance x
    s += t.index
    x = consumer(S)
}"), @"
    Error: a pipeline has at least one stage
       ╭─[ p.wlk:6:22 ]
       │
     6 │     var q = consumer(0)
       │                      ┬  
       │                      ╰── expected 1 or more
    ───╯
    Error: `producer` takes 1 argument, not 2
       ╭─[ p.wlk:7:13 ]
       │
     7 │     var z = producer(S, 2)
       │             ───────┬──────  
       │                    ╰──────── expected 1 argument
    ───╯
    Error: unknown name `t`
       ╭─[ p.wlk:8:22 ]
       │
     8 │     var y = consumer(t)
       │                      ┬  
       │                      ╰── not declared
       │ 
       │ Help: the number of stages may use parameters and `let`s only
    ───╯
    Error: `p` is a pipeline state, not a value
       ╭─[ p.wlk:9:13 ]
       │
     9 │     var x = p + 1
       │             ┬  
       │             ╰── expected a value
       │ 
       │ Help: use `p.index`, `p.phase` or, for how often it advanced, `p.count`
    ───╯
    Error: `p` is a pipeline state, not a variable
        ╭─[ p.wlk:10:5 ]
        │
      5 │     var p = producer(S)
        │         ┬  
        │         ╰── declared here
        │ 
     10 │     p = 3
        │     ┬  
        │     ╰── expected a variable
        │ 
        │ Help: `advance p` moves it to the next stage
    ────╯
    Error: a pipeline state has no `stage`
        ╭─[ p.wlk:11:12 ]
        │
     11 │     s += p.stage
        │            ──┬──  
        │              ╰──── expected `index`, `phase` or `count`
    ────╯
    Error: `x` is a variable, not a pipeline state
        ╭─[ p.wlk:12:13 ]
        │
     12 │     advance x
        │             ┬  
        │             ╰── expected a pipeline state
        │ 
        │ Help: a pipeline state is declared with `var p = producer(S)` or `consumer(S)`
    ────╯
    Error: `t` is an index of the role, not a pipeline state
        ╭─[ p.wlk:13:10 ]
        │
     13 │     s += t.index
        │          ┬  
        │          ╰── expected a pipeline state
        │ 
        │ Help: a pipeline state is declared with `var p = producer(S)` or `consumer(S)`
    ────╯
    Error: unknown name `consumer`
        ╭─[ p.wlk:14:9 ]
        │
     14 │     x = consumer(S)
        │         ────┬───  
        │             ╰───── not declared
        │ 
        │ Help: a pipeline state is declared with `var p = consumer(S)`
    ────╯
    ");
}

#[test]
fn objects_of_the_wrong_kind() {
    insta::assert_snapshot!(worded(r"protocol p
param S in 1..
semaphore s = 0
mbarrier b { arrivals: 1 }
named hw
barrier split { arrivals: 0 }
pool regs = -1
role r {
    expect_tx s 4
    commit split
    wait b
    wait s
    wait regs
    arrive split 2
    sync hw
    sync b
    wait split 0
    acquire b 1
    release regs -2
    init b
    async copy x completes hw 4
}"), @"
    Error: a generation needs at least one arrival
       ╭─[ p.wlk:6:27 ]
       │
     6 │ barrier split { arrivals: 0 }
       │                           ┬  
       │                           ╰── expected 1 or more
    ───╯
    Error: a pool holds no negative amount
       ╭─[ p.wlk:7:13 ]
       │
     7 │ pool regs = -1
       │             ─┬  
       │              ╰── expected 0 or more
    ───╯
    Error: `s` is a semaphore, not an mbarrier
       ╭─[ p.wlk:9:15 ]
       │
     3 │ semaphore s = 0
       │ ───────┬───────  
       │        ╰───────── declared here
       │ 
     9 │     expect_tx s 4
       │               ┬  
       │               ╰── expected an mbarrier
       │ 
       │ Help: a semaphore takes `wait s == E`, `wait s >= E`, `s += E` and `s = E`
    ───╯
    Error: `split` is a split-phase barrier, not an mbarrier
        ╭─[ p.wlk:10:12 ]
        │
      6 │ barrier split { arrivals: 0 }
        │ ──────────────┬──────────────  
        │               ╰──────────────── declared here
        │ 
     10 │     commit split
        │            ──┬──  
        │              ╰──── expected an mbarrier
        │ 
        │ Help: a split-phase barrier takes `arrive b`, `wait b` and `sync b`
    ────╯
    Error: a wait on an mbarrier needs a parity
        ╭─[ p.wlk:11:10 ]
        │
     11 │     wait b
        │          ┬  
        │          ╰── expected more after it
        │ 
        │ Help: write `wait b PARITY`; it blocks while the phase bit is PARITY
    ────╯
    Error: a wait on a semaphore needs a value
        ╭─[ p.wlk:12:10 ]
        │
     12 │     wait s
        │          ┬  
        │          ╰── expected more after it
        │ 
        │ Help: write `wait s == E` or `wait s >= E`
    ────╯
    Error: `regs` is a pool, not a semaphore, an mbarrier or a split-phase barrier
        ╭─[ p.wlk:13:10 ]
        │
      7 │ pool regs = -1
        │ ───────┬──────  
        │        ╰──────── declared here
        │ 
     13 │     wait regs
        │          ──┬─  
        │            ╰─── expected a semaphore, an mbarrier or a split-phase barrier
        │ 
        │ Help: a pool takes `acquire p AMOUNT` and `release p AMOUNT`
    ────╯
    Error: a member arrives once at a split-phase barrier
        ╭─[ p.wlk:14:18 ]
        │
     14 │     arrive split 2
        │                  ┬  
        │                  ╰── expected no count
        │ 
        │ Help: an mbarrier takes `arrive b COUNT`
    ────╯
    Error: a named barrier needs a thread count at each use
        ╭─[ p.wlk:15:10 ]
        │
     15 │     sync hw
        │          ─┬  
        │           ╰── expected a count after it
        │ 
        │ Help: write `sync bar[i] COUNT`, COUNT being a multiple of 32
    ────╯
    Error: `b` is an mbarrier, not a named barrier or a split-phase barrier
        ╭─[ p.wlk:16:10 ]
        │
      4 │ mbarrier b { arrivals: 1 }
        │ ─────────────┬────────────  
        │              ╰────────────── declared here
        │ 
     16 │     sync b
        │          ┬  
        │          ╰── expected a named barrier or a split-phase barrier
        │ 
        │ Help: an mbarrier takes `arrive b` and `wait b PARITY`
    ────╯
    Error: `split` is a split-phase barrier, not an mbarrier
        ╭─[ p.wlk:17:10 ]
        │
      6 │ barrier split { arrivals: 0 }
        │ ──────────────┬──────────────  
        │               ╰──────────────── declared here
        │ 
     17 │     wait split 0
        │          ──┬──  
        │            ╰──── expected an mbarrier
        │ 
        │ Help: a split-phase barrier takes `arrive b`, `wait b` and `sync b`
    ────╯
    Error: `b` is an mbarrier, not a pool
        ╭─[ p.wlk:18:13 ]
        │
      4 │ mbarrier b { arrivals: 1 }
        │ ─────────────┬────────────  
        │              ╰────────────── declared here
        │ 
     18 │     acquire b 1
        │             ┬  
        │             ╰── expected a pool
        │ 
        │ Help: an mbarrier takes `arrive b` and `wait b PARITY`
    ────╯
    Error: `release` takes no negative amount
        ╭─[ p.wlk:19:18 ]
        │
     19 │     release regs -2
        │                  ─┬  
        │                   ╰── expected 0 or more
    ────╯
    Error: `b` is initialised from the beginning
        ╭─[ p.wlk:20:10 ]
        │
      4 │ mbarrier b { arrivals: 1 }
        │ ─────────────┬────────────  
        │              ╰────────────── declared here
        │ 
     20 │     init b
        │          ┬  
        │          ╰── expected an mbarrier with explicit initialisation
        │ 
        │ Help: declare it with `mbarrier b { arrivals: ..., init: explicit }`
    ────╯
    Error: `hw` is a named barrier, not an mbarrier
        ╭─[ p.wlk:21:28 ]
        │
      5 │ named hw
        │ ────┬───  
        │     ╰───── declared here
        │ 
     21 │     async copy x completes hw 4
        │                            ─┬  
        │                             ╰── expected an mbarrier
        │ 
        │ Help: a named barrier takes `sync b COUNT` and `arrive b COUNT`
    ────╯
    ");
}

#[test]
fn buffers_that_do_not_fit() {
    insta::assert_snapshot!(worded(r"protocol p
param S in 1..
buffer smem[S]
role r {
    read smem
    async copy smem[0, 1]
    async mma reads later writes free[0, 1]
    var x = smem
}
buffer later"), @"
    Error: `smem` has 1 index, not 0
       ╭─[ p.wlk:5:10 ]
       │
     3 │ buffer smem[S]
       │ ───────┬──────  
       │        ╰──────── declared here
       │ 
     5 │     read smem
       │          ──┬─  
       │            ╰─── expected 1 index
    ───╯
    Error: `smem` has 1 index, not 2
       ╭─[ p.wlk:6:16 ]
       │
     3 │ buffer smem[S]
       │ ───────┬──────  
       │        ╰──────── declared here
       │ 
     6 │     async copy smem[0, 1]
       │                ─────┬────  
       │                     ╰────── expected 1 index
    ───╯
    Error: `later` is used before its declaration
        ╭─[ p.wlk:7:21 ]
        │
      7 │     async mma reads later writes free[0, 1]
        │                     ──┬──  
        │                       ╰──── expected a name declared above
        │ 
     10 │ buffer later
        │        ──┬──  
        │          ╰──── declared here
        │ 
        │ Help: move the declaration up
    ────╯
    Error: `smem` is a buffer, not a value
       ╭─[ p.wlk:8:13 ]
       │
     8 │     var x = smem
       │             ──┬─  
       │               ╰─── expected a value
       │ 
       │ Help: it is data, and this language has none
    ───╯
    ");
}

#[test]
fn an_election_without_threads() {
    insta::assert_snapshot!(worded(r"protocol p
param S in 1..
role w[i in 0..S] warp {
    elect { return }
}
grid g[n in 0..S] resident all {
    elect { return }
}"), @"
    Error: `elect` picks one of several threads, and the members here are warps
       ╭─[ p.wlk:4:5 ]
       │
     4 │     elect { return }
       │     ──┬──  
       │       ╰──── expected threads
       │ 
       │ Help: for one thread of each member leave `elect` out; for one member of all write `if i == 0 { ... }`
    ───╯
    Error: `elect` picks one of several threads, and the members here are CTAs
       ╭─[ p.wlk:7:5 ]
       │
     7 │     elect { return }
       │     ──┬──  
       │       ╰──── expected threads
       │ 
       │ Help: for one thread of each member leave `elect` out; for one member of all write `if i == 0 { ... }`
    ───╯
    ");
}

#[test]
fn statements_that_are_not_complete() {
    insta::assert_snapshot!(worded(r"protocol p
mbarrier b { arrivals: 1, init: later }
mbarrier c { arrivals: 1 }
barrier d { arrivals: 1, init: explicit }
pool e { 4 }
role r {
    expect_tx c
    async c
    async mma completes c 4
    async copy x completes c
    advance
    elect 3 {}
    repeat 4
    var x = p.
    comit c
}"), @"
    Error: expected `explicit`, found `later`
       ╭─[ p.wlk:2:33 ]
       │
     2 │ mbarrier b { arrivals: 1, init: later }
       │                                 ──┬──  
       │                                   ╰──── expected `explicit`
    ───╯
    Error: expected an operator or `}`, found `,`
       ╭─[ p.wlk:4:24 ]
       │
     4 │ barrier d { arrivals: 1, init: explicit }
       │                        ┬  
       │                        ╰── expected an operator or `}`
    ───╯
    Error: expected `=` and the capacity, found `{`
       ╭─[ p.wlk:5:8 ]
       │
     5 │ pool e { 4 }
       │        ┬  
       │        ╰── expected `=` and the capacity
    ───╯
    Error: expected an expression, found `async`
       ╭─[ p.wlk:8:5 ]
       │
     8 │     async c
       │     ──┬──  
       │       ╰──── expected an expression
    ───╯
    Error: expected `reads`, `writes` or the next statement, found `completes`
       ╭─[ p.wlk:9:15 ]
       │
     9 │     async mma completes c 4
       │               ────┬────  
       │                   ╰────── expected `reads`, `writes` or the next statement
    ───╯
    Error: expected an expression, found `advance`
        ╭─[ p.wlk:11:5 ]
        │
     11 │     advance
        │     ───┬───  
        │        ╰───── expected an expression
    ────╯
    Error: `elect` is a reserved word
        ╭─[ p.wlk:12:5 ]
        │
     12 │     elect 3 {}
        │     ──┬──  
        │       ╰──── expected a pipeline state
        │ 
        │ Help: choose another name
    ────╯
    Error: expected `{`, found `3`
        ╭─[ p.wlk:12:11 ]
        │
     12 │     elect 3 {}
        │           ┬  
        │           ╰── expected `{`
    ────╯
    Error: expected an operator or `{`, found `var`
        ╭─[ p.wlk:14:5 ]
        │
     14 │     var x = p.
        │     ─┬─  
        │      ╰─── expected an operator or `{`
    ────╯
    Error: expected `=` or `+=`, found `}`
        ╭─[ p.wlk:16:1 ]
        │
     16 │ }
        │ ┬  
        │ ╰── expected `=` or `+=`
    ────╯
    ");
}
