//! What an author sees after a typical mistake.

use warplock::text;

/// The worded findings about a text that does not load.
fn worded(source: &str) -> String {
    let found = text::load(source.as_bytes()).expect_err("the text is wrong");
    text::render(&found, "p.wlk", source, false)
}

#[test]
fn a_misspelt_name() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0
let rank(n, m) = count(k in 0..n where visit[k, m])
grid cta[n in 0..N] {
    for m in row(visits, n) {
        wait dq[m] == rnk(n, m)
        dq[m] += Tn
    }
}"), @r#"
    Error: unknown name `visit`
       ╭─[ p.wlk:6:40 ]
       │
     6 │ let rank(n, m) = count(k in 0..n where visit[k, m])
       │                                        ──┬──  
       │                                          ╰──── not declared
       │ 
       │ Help: did you mean `visits`?
    ───╯
    Error: unknown name `rnk`
       ╭─[ p.wlk:9:23 ]
       │
     9 │         wait dq[m] == rnk(n, m)
       │                       ─┬─  
       │                        ╰─── not declared
       │ 
       │ Help: did you mean `rank`?
    ───╯
    Error: unknown name `Tn`
        ╭─[ p.wlk:10:18 ]
        │
     10 │         dq[m] += Tn
        │                  ─┬  
        │                   ╰── not declared
        │ 
        │ Help: a value that may vary is declared with `param Tn in 1..`
    ────╯
    "#);
}

#[test]
fn a_domain_without_its_last_value() {
    insta::assert_snapshot!(worded(r"protocol p
param S in 1..8
role r {}"), @r#"
    Error: a parameter's domain includes its last value
       ╭─[ p.wlk:2:12 ]
       │
     2 │ param S in 1..8
       │            ──┬─  
       │              ╰─── expected `..=` before the last value
       │ 
       │ Help: write `1..=8` if 8 is a value of it, `1..=7` if not
    ───╯
    "#);
}

#[test]
fn a_name_declared_twice() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
semaphore N = 0
role r[i in 0..N] {
    for i in 0..N {}
}"), @r#"
    Error: `N` is declared twice
       ╭─[ p.wlk:3:11 ]
       │
     2 │ param N in 1..
       │       ┬  
       │       ╰── first declared here
     3 │ semaphore N = 0
       │           ┬  
       │           ╰── expected a name that is not in use
       │ 
       │ Help: all names of a text share one namespace: rename one of the two
    ───╯
    Error: `i` is declared twice
       ╭─[ p.wlk:5:9 ]
       │
     4 │ role r[i in 0..N] {
       │        ┬  
       │        ╰── first declared here
     5 │     for i in 0..N {}
       │         ┬  
       │         ╰── expected a name that is not in use
       │ 
       │ Help: all names of a text share one namespace: rename one of the two
    ───╯
    "#);
}

#[test]
fn a_name_used_too_early() {
    insta::assert_snapshot!(worded(r"protocol p
let twice = 2 * N
param N in 1..
role r {}"), @r#"
    Error: `N` is used before its declaration
       ╭─[ p.wlk:2:17 ]
       │
     2 │ let twice = 2 * N
       │                 ┬  
       │                 ╰── expected a name declared above
     3 │ param N in 1..
       │       ┬  
       │       ╰── declared here
       │ 
       │ Help: move the declaration up
    ───╯
    "#);
}

#[test]
fn a_parameter_beside_open_residency() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
param R in 1..
grid cta[n in 0..N] launch ascending resident 1.. {}"), @r#"
    Error: open residency declares a parameter `R` of its own
       ╭─[ p.wlk:4:47 ]
       │
     3 │ param R in 1..
       │       ┬  
       │       ╰── `R` is declared here
     4 │ grid cta[n in 0..N] launch ascending resident 1.. {}
       │                                               ─┬─  
       │                                                ╰─── expected no other `R`
       │ 
       │ Help: write `resident R`
    ───╯
    "#);
}

#[test]
fn a_wait_of_the_wrong_kind() {
    insta::assert_snapshot!(worded(r"protocol p
param T in 1..
semaphore s[T] = 0
mbarrier bar { arrivals: T }
named hw[16]
role r {
    wait bar == 1
    wait s[0] 1
    sync bar 32
    arrive hw[0]
    arrive s[0]
    wait bar 2
    sync hw[0] 48
}"), @r#"
    Error: `bar` is an mbarrier, not a semaphore
       ╭─[ p.wlk:7:10 ]
       │
     4 │ mbarrier bar { arrivals: T }
       │ ──────────────┬─────────────  
       │               ╰─────────────── declared here
       │ 
     7 │     wait bar == 1
       │          ─┬─  
       │           ╰─── expected a semaphore
       │ 
       │ Help: an mbarrier takes `arrive b` and `wait b PARITY`
    ───╯
    Error: `s` is a semaphore, not an mbarrier
       ╭─[ p.wlk:8:10 ]
       │
     3 │ semaphore s[T] = 0
       │ ─────────┬────────  
       │          ╰────────── declared here
       │ 
     8 │     wait s[0] 1
       │          ┬  
       │          ╰── expected an mbarrier
       │ 
       │ Help: a semaphore takes `wait s == E`, `wait s >= E`, `s += E` and `s = E`
    ───╯
    Error: `bar` is an mbarrier, not a named barrier
       ╭─[ p.wlk:9:10 ]
       │
     4 │ mbarrier bar { arrivals: T }
       │ ──────────────┬─────────────  
       │               ╰─────────────── declared here
       │ 
     9 │     sync bar 32
       │          ─┬─  
       │           ╰─── expected a named barrier
       │ 
       │ Help: an mbarrier takes `arrive b` and `wait b PARITY`
    ───╯
    Error: a named barrier needs a thread count at each use
        ╭─[ p.wlk:10:12 ]
        │
     10 │     arrive hw[0]
        │            ──┬──  
        │              ╰──── expected a count after it
        │ 
        │ Help: write `arrive bar[i] COUNT`, COUNT being a multiple of 32
    ────╯
    Error: `s` is a semaphore, not an mbarrier, a named barrier or a split-phase barrier
        ╭─[ p.wlk:11:12 ]
        │
      3 │ semaphore s[T] = 0
        │ ─────────┬────────  
        │          ╰────────── declared here
        │ 
     11 │     arrive s[0]
        │            ┬  
        │            ╰── expected an mbarrier, a named barrier or a split-phase barrier
        │ 
        │ Help: a semaphore takes `wait s == E`, `wait s >= E`, `s += E` and `s = E`
    ────╯
    Error: a parity takes 0 or 1, not 2
        ╭─[ p.wlk:12:14 ]
        │
     12 │     wait bar 2
        │              ┬  
        │              ╰── expected 0 or 1
    ────╯
    Error: a named barrier counts whole warps
        ╭─[ p.wlk:13:16 ]
        │
     13 │     sync hw[0] 48
        │                ─┬  
        │                 ╰── expected a positive multiple of 32
    ────╯
    "#);
}

#[test]
fn the_comparison_of_a_wait() {
    insta::assert_snapshot!(worded(r"protocol p
semaphore s = 0
role r {
    wait s <= 1
    wait s
    s += 1
}"), @r#"
    Error: a wait cannot compare with `<=`
       ╭─[ p.wlk:4:12 ]
       │
     4 │     wait s <= 1
       │            ─┬  
       │             ╰── expected `==` or `>=`
       │ 
       │ Help: `== E` passes at that very value, `>= E` from it on
    ───╯
    "#);
}

#[test]
fn operators_in_words() {
    insta::assert_snapshot!(worded("protocol p
param N in 1..
assume N > 1 or N < 0
role r {
    if N > 2 and N < 4 {
    }
}"), @"
    Error: expected a declaration, found `or`
       ╭─[ p.wlk:3:14 ]
       │
     3 │ assume N > 1 or N < 0
       │              ─┬  
       │               ╰── expected a declaration
       │ 
       │ Help: `or` is written `||`
    ───╯
    Error: expected `{`, found `and`
       ╭─[ p.wlk:5:14 ]
       │
     5 │     if N > 2 and N < 4 {
       │              ─┬─  
       │               ╰─── expected `{`
       │ 
       │ Help: `and` is written `&&`
    ───╯
    ");
}

#[test]
fn missing_brackets_and_braces() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
semaphore s[N] = 0
role a {
    wait s[0 == 1
    s[0] += 1
role b {
    s[0] += (1 + 2
}"), @r#"
    Error: expected `,` or `]`, found `s`
       ╭─[ p.wlk:6:5 ]
       │
     6 │     s[0] += 1
       │     ┬  
       │     ╰── expected `,` or `]`
    ───╯
    Error: expected `}`, found `role`
       ╭─[ p.wlk:7:1 ]
       │
     4 │ role a {
       │        ┬  
       │        ╰── this block is not closed
       │ 
     7 │ role b {
       │ ──┬─  
       │   ╰─── expected a statement or `}`
    ───╯
    Error: expected an operator or `)`, found `}`
       ╭─[ p.wlk:9:1 ]
       │
     9 │ }
       │ ┬  
       │ ╰── expected an operator or `)`
    ───╯
    "#);
}

#[test]
fn mixed_types() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
assume N
assume N + 1 == 2 && 3
let f(x) = x < 1
let g = if f(N) then 1 else false
let h = f(N) + 1
role r {}"), @r#"
    Error: this is an integer
       ╭─[ p.wlk:3:8 ]
       │
     3 │ assume N
       │        ┬  
       │        ╰── expected a truth value
       │ 
       │ Help: compare it with something, as in `x != 0`
    ───╯
    Error: `&&` does not take an integer
       ╭─[ p.wlk:4:22 ]
       │
     4 │ assume N + 1 == 2 && 3
       │                      ┬  
       │                      ╰── expected a truth value
       │ 
       │ Help: compare it with something, as in `x != 0`
    ───╯
    Error: this branch is a truth value
       ╭─[ p.wlk:6:29 ]
       │
     6 │ let g = if f(N) then 1 else false
       │                      ┬      ──┬──  
       │                      ╰───────────── this branch is an integer
       │                               │    
       │                               ╰──── expected an integer
    ───╯
    Error: `+` does not take a truth value
       ╭─[ p.wlk:7:9 ]
       │
     7 │ let h = f(N) + 1
       │         ──┬─  
       │           ╰─── expected an integer
       │ 
       │ Help: `if C then 1 else 0` makes an integer of a truth value
    ───╯
    "#);
}

#[test]
fn chained_comparisons() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
assume 1 < N < 5
role r {}"), @r#"
    Error: comparisons cannot be chained
       ╭─[ p.wlk:3:14 ]
       │
     3 │ assume 1 < N < 5
       │          ┬   ┬  
       │          ╰────── the first comparison
       │              │  
       │              ╰── expected `&&`, `||` or the end of the expression
       │ 
       │ Help: write `a < b && b < c`
    ───╯
    "#);
}

#[test]
fn a_bound_that_may_not_vary() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
pattern visits[N, N]
let visitors(m) = count(n in 0..N where visits[n, m])
assume visitors(0) > 1
semaphore s[visitors(0)] = 0
role r[a in 0..N][b in 0..a] {}"), @r#"
    Error: an assumption depends on pattern `visits`
       ╭─[ p.wlk:5:8 ]
       │
     5 │ assume visitors(0) > 1
       │        ─────┬─────  
       │             ╰─────── expected parameters and `let`s over parameters only
    ───╯
    Error: an extent depends on pattern `visits`
       ╭─[ p.wlk:6:13 ]
       │
     6 │ semaphore s[visitors(0)] = 0
       │             ─────┬─────  
       │                  ╰─────── expected parameters and `let`s over parameters only
    ───╯
    Error: unknown name `a`
       ╭─[ p.wlk:7:27 ]
       │
     7 │ role r[a in 0..N][b in 0..a] {}
       │                           ┬  
       │                           ╰── not declared
       │ 
       │ Help: an extent may use parameters and `let`s only
    ───╯
    "#);
}

#[test]
fn variables() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
role r[i in 0..N] {
    var x = 0
    x += 1
    i = 2
    if x > 0 {
        var y = x
    }
    y = 1
    break
}"), @r#"
    Error: `+=` is for semaphores
       ╭─[ p.wlk:5:5 ]
       │
     5 │     x += 1
       │     ┬  
       │     ╰── expected a semaphore
       │ 
       │ Help: write `x = x + ...`
    ───╯
    Error: `i` is an index of the role, not a variable
       ╭─[ p.wlk:6:5 ]
       │
     3 │ role r[i in 0..N] {
       │        ┬  
       │        ╰── bound here
       │ 
     6 │     i = 2
       │     ┬  
       │     ╰── expected a variable declared with `var`
    ───╯
    Error: unknown name `y`
        ╭─[ p.wlk:10:5 ]
        │
     10 │     y = 1
        │     ┬  
        │     ╰── not declared
        │ 
        │ Help: a variable is declared with `var y = ...`
    ────╯
    Error: `break` stands outside every loop
        ╭─[ p.wlk:11:5 ]
        │
     11 │     break
        │     ──┬──  
        │       ╰──── expected a loop around it
        │ 
        │ Help: `return` leaves the role
    ────╯
    "#);
}

#[test]
fn expectations() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 2..
role r {}
expect deadlok: proved
expect race: maybe
expect deadlock: proved at N = 2
expect deadlock: refuted at N = 1"), @r#"
    Error: `deadlok` is not a property
       ╭─[ p.wlk:4:8 ]
       │
     4 │ expect deadlok: proved
       │        ───┬───  
       │           ╰───── expected a property
       │ 
       │ Help: did you mean `deadlock`?
    ───╯
    Error: `maybe` is not a verdict
       ╭─[ p.wlk:5:14 ]
       │
     5 │ expect race: maybe
       │              ──┬──  
       │                ╰──── expected a verdict
       │ 
       │ Help: one of: proved, refuted, bounded, unknown
    ───╯
    Error: only a refutation has values
       ╭─[ p.wlk:6:18 ]
       │
     6 │ expect deadlock: proved at N = 2
       │                  ───┬──  
       │                     ╰──── expected `refuted` before `at`
       │ 
       │ Help: a condition under which a verdict holds is written `assuming E`
    ───╯
    Error: 1 is not in the domain of `N`
       ╭─[ p.wlk:7:33 ]
       │
     7 │ expect deadlock: refuted at N = 1
       │                                 ┬  
       │                                 ╰── expected a value of the domain
    ───╯
    "#);
}

#[test]
fn launch_orders() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
grid g[a in 0..N][b in 0..N] launch a ascending, c descending resident all {}"), @r#"
    Error: the launch order leaves `b` out
       ╭─[ p.wlk:3:1 ]
       │
     3 │ grid g[a in 0..N][b in 0..N] launch a ascending, c descending resident all {}
       │ ──────────────────┬──────────────────┬────────────────────────────────────  
       │                   ╰───────────────────────────────────────────────────────── this index
       │                                      │                                      
       │                                      ╰────────────────────────────────────── expected every index once
       │ 
       │ Help: the order in which CTAs start has to be total, or `launch any`
    ───╯
    Error: `c` is not an index of this grid
       ╭─[ p.wlk:3:50 ]
       │
     3 │ grid g[a in 0..N][b in 0..N] launch a ascending, c descending resident all {}
       │                                                  ┬  
       │                                                  ╰── expected one of the grid's indices
    ───╯
    "#);
}

#[test]
fn wrong_numbers_of_things() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1..
pattern visits[N, N, N]
pattern flat[N, N, N, N, N]
semaphore s[N] = 0
let f(x) = x
role r {
    s += 1
    s[0] += f(1, 2)
    s[0] += min(1)
    for m in row(visits, 0) {}
    if visits[0, 0] {}
}"), @r#"
    Error: `flat` has 5 coordinates
       ╭─[ p.wlk:4:1 ]
       │
     4 │ pattern flat[N, N, N, N, N]
       │ ─────────────┬─────────────  
       │              ╰─────────────── expected 1 to 4 coordinates
    ───╯
    Error: `s` has 1 index, not 0
       ╭─[ p.wlk:8:5 ]
       │
     5 │ semaphore s[N] = 0
       │ ─────────┬────────  
       │          ╰────────── declared here
       │ 
     8 │     s += 1
       │     ┬  
       │     ╰── expected 1 index
    ───╯
    Error: `f` takes 1 argument, not 2
       ╭─[ p.wlk:9:13 ]
       │
     9 │     s[0] += f(1, 2)
       │             ───┬───  
       │                ╰───── expected 1 argument
    ───╯
    Error: `min` takes 2 arguments, not 1
        ╭─[ p.wlk:10:13 ]
        │
     10 │     s[0] += min(1)
        │             ───┬──  
        │                ╰──── expected 2 arguments
    ────╯
    Error: a row of `visits` is named by 2 coordinates, not 1
        ╭─[ p.wlk:11:14 ]
        │
      3 │ pattern visits[N, N, N]
        │ ───────────┬───────────  
        │            ╰───────────── declared here
        │ 
     11 │     for m in row(visits, 0) {}
        │              ───────┬──────  
        │                     ╰──────── expected 2: every coordinate but the last
    ────╯
    Error: `visits` has 3 coordinates, not 2
        ╭─[ p.wlk:12:8 ]
        │
      3 │ pattern visits[N, N, N]
        │ ───────────┬───────────  
        │            ╰───────────── declared here
        │ 
     12 │     if visits[0, 0] {}
        │        ──────┬─────  
        │              ╰─────── expected 3 coordinates
    ────╯
    "#);
}

#[test]
fn reserved_words_and_stray_characters() {
    insta::assert_snapshot!(worded(r"protocol p
param fence in 1..
semaphore s = 0;
role r {
    wiat s == 0
    s += 1 & 2
}
rolle q {}"), @r#"
    Error: `fence` is a reserved word
       ╭─[ p.wlk:2:7 ]
       │
     2 │ param fence in 1..
       │       ──┬──  
       │         ╰──── expected the parameter's name
       │ 
       │ Help: choose another name
    ───╯
    Error: `;` belongs to no token
       ╭─[ p.wlk:3:16 ]
       │
     3 │ semaphore s = 0;
       │                ┬  
       │                ╰── expected a name, an integer or an operator
       │ 
       │ Help: statements need no separator: leave the `;` out
    ───╯
    Error: no statement begins with `wiat`
       ╭─[ p.wlk:5:5 ]
       │
     5 │     wiat s == 0
       │     ──┬─  
       │       ╰─── expected a statement
       │ 
       │ Help: did you mean `wait`?
    ───╯
    Error: `&` belongs to no token
       ╭─[ p.wlk:6:12 ]
       │
     6 │     s += 1 & 2
       │            ┬  
       │            ╰── expected a name, an integer or an operator
       │ 
       │ Help: write `&&` for "and"
    ───╯
    Error: expected a declaration, found `rolle`
       ╭─[ p.wlk:8:1 ]
       │
     8 │ rolle q {}
       │ ──┬──  
       │   ╰──── expected a declaration
       │ 
       │ Help: did you mean `role`?
    ───╯
    "#);
}

#[test]
fn statements_outside_roles() {
    insta::assert_snapshot!(worded(r"protocol p
semaphore s = 0
wait s == 0
role r { if 1 < 2 then return }
}"), @r#"
    Error: `wait` stands outside every role
       ╭─[ p.wlk:3:1 ]
       │
     3 │ wait s == 0
       │ ──┬─  
       │   ╰─── expected a declaration
       │ 
       │ Help: statements belong inside `role NAME { ... }` or `grid NAME { ... }`
    ───╯
    Error: an `if` statement has no `then`
       ╭─[ p.wlk:4:19 ]
       │
     4 │ role r { if 1 < 2 then return }
       │                   ──┬─  
       │                     ╰─── expected `{`
       │ 
       │ Help: `if C then A else B` is an expression; a statement is `if C { ... }`
    ───╯
    Error: this `}` closes nothing
       ╭─[ p.wlk:5:1 ]
       │
     5 │ }
       │ ┬  
       │ ╰── expected a declaration
    ───╯
    "#);
}

#[test]
fn a_text_without_a_role() {
    insta::assert_snapshot!(worded(r"protocol p
param N in 1.."), @r#"
    Error: this protocol has no role
       ╭─[ p.wlk:1:1 ]
       │
     1 │ protocol p
       │ ─────┬────  
       │      ╰────── expected a `role` or a `grid` after it
    ───╯
    "#);
}

#[test]
fn an_empty_text() {
    insta::assert_snapshot!(worded(r""), @r#"
    Error: expected `protocol` and a name, found the end of the text
       ╭─[ p.wlk:1:1 ]
       │
     1 │ 
       │ │ 
       │ ╰─ expected `protocol` and a name
    ───╯
    "#);
}

#[test]
fn a_text_without_a_name() {
    insta::assert_snapshot!(worded("param N in 1..\nrole a { }"), @r"
    Error: expected `protocol` and a name, found `param`
       ╭─[ p.wlk:1:1 ]
       │
     1 │ param N in 1..
       │ ──┬──  
       │   ╰──── expected `protocol` and a name
       │ 
       │ Help: a file begins with `protocol NAME`; declarations follow it
    ───╯
    ");
}

#[test]
fn a_protocol_in_braces() {
    insta::assert_snapshot!(worded("protocol p {\n    mbarrier b { arrivals: 1 }\n    role a { arrive b }\n}\n"), @r"
    Error: a protocol has no braces
       ╭─[ p.wlk:1:12 ]
       │
     1 │ protocol p {
       │            ┬  
       │            ╰── expected a declaration
       │ 
       │ Help: declarations follow `protocol NAME` up to the end of the text
    ───╯
    ");
}

#[test]
fn an_assumption_has_spans_of_its_own() {
    let source = include_str!("../../encodings/block_sparse/causal_reversed.wlk");
    let mut protocol = text::load(source.as_bytes()).unwrap();
    let wrong = "R >= NN";
    let found = text::parse_expression(&mut protocol, wrong).unwrap_err();
    insta::assert_snapshot!(text::render(&found, "--assume", wrong, false), @r#"
    Error: unknown name `NN`
       ╭─[ --assume:1:6 ]
       │
     1 │ R >= NN
       │      ─┬  
       │       ╰── not declared
       │ 
       │ Help: an assumption may use parameters and `let`s only
    ───╯
    "#);
    let wrong = "R + 1";
    let found = text::parse_expression(&mut protocol, wrong).unwrap_err();
    insta::assert_snapshot!(text::render(&found, "--assume", wrong, false), @r#"
    Error: this is an integer
       ╭─[ --assume:1:1 ]
       │
     1 │ R + 1
       │ ──┬──  
       │   ╰──── expected a truth value
       │ 
       │ Help: compare it with something, as in `x != 0`
    ───╯
    "#);
    let wrong = "R >= N rest";
    let found = text::parse_expression(&mut protocol, wrong).unwrap_err();
    insta::assert_snapshot!(text::render(&found, "--assume", wrong, false), @r#"
    Error: expected an operator or the end of the expression, found `rest`
       ╭─[ --assume:1:8 ]
       │
     1 │ R >= N rest
       │        ──┬─  
       │          ╰─── expected an operator or the end of the expression
    ───╯
    "#);
}
