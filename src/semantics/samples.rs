//! Protocols for tests, built without the parser.

use crate::protocol::Place;
use crate::protocol::Qualifiers;
use crate::protocol::*;

use super::input::Input;

/// A protocol under construction.
pub(crate) struct Builder {
    protocol: Protocol,
}

pub(crate) fn int(value: i64) -> Expr {
    Expr::Int(value)
}

pub(crate) fn op(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

pub(crate) fn launch(descending: bool, resident: Expr) -> Option<Launch> {
    Some(Launch {
        order: LaunchOrder::Sorted(vec![LaunchKey {
            index: 0,
            descending,
        }]),
        resident: Resident::AtMost(resident),
    })
}

impl Builder {
    pub(crate) fn new(name: &str) -> Builder {
        Builder {
            protocol: Protocol {
                name: name.to_owned(),
                source: format!("protocol {name}\n"),
                params: Vec::new(),
                assumptions: Vec::new(),
                vars: Vec::new(),
                patterns: Vec::new(),
                objects: Vec::new(),
                buffers: Vec::new(),
                roles: Vec::new(),
                invariants: Vec::new(),
                progress: Vec::new(),
                expectations: Vec::new(),
                stmt_count: 0,
            },
        }
    }

    pub(crate) fn param(&mut self, name: &str, lo: i64) -> Expr {
        self.protocol.params.push(Param {
            name: name.to_owned(),
            domain: Domain::AtLeast(lo),
            span: Span::default(),
        });
        Expr::Param(ParamId(self.protocol.params.len() - 1))
    }

    pub(crate) fn var(&mut self, name: &str) -> VarId {
        self.protocol.vars.push(Var {
            name: name.to_owned(),
            span: Span::default(),
        });
        VarId(self.protocol.vars.len() - 1)
    }

    pub(crate) fn assume(&mut self, condition: Expr, text: &str) {
        self.protocol.assumptions.push(Assumption {
            condition,
            text: text.to_owned(),
            span: None,
        });
    }

    pub(crate) fn pattern(&mut self, name: &str, extents: Vec<Expr>) -> PatternId {
        self.protocol.patterns.push(Pattern {
            name: name.to_owned(),
            extents,
            definition: None,
            span: Span::default(),
        });
        PatternId(self.protocol.patterns.len() - 1)
    }

    pub(crate) fn define(&mut self, pattern: PatternId, names: Vec<VarId>, condition: Expr) {
        self.protocol.patterns[pattern.0].definition = Some((names, condition));
    }

    pub(crate) fn object(&mut self, name: &str, extents: Vec<Expr>, kind: ObjectKind) -> ObjectId {
        self.protocol.objects.push(Object {
            name: name.to_owned(),
            extents,
            kind,
            home: None,
            span: Span::default(),
        });
        ObjectId(self.protocol.objects.len() - 1)
    }

    pub(crate) fn stmt(&mut self, kind: StmtKind) -> Stmt {
        let id = self.protocol.stmt_count;
        self.protocol.stmt_count += 1;
        Stmt {
            id: StmtId(id),
            span: Span {
                start: id,
                end: id + 1,
            },
            memory: Qualifiers::default(),
            kind,
        }
    }

    pub(crate) fn role(
        &mut self,
        name: &str,
        indices: Vec<(VarId, Expr)>,
        launch: Option<Launch>,
        body: Vec<Stmt>,
    ) {
        let indices = indices.into_iter();
        self.protocol.roles.push(Role {
            name: name.to_owned(),
            indices: indices.map(|(var, extent)| Index { var, extent }).collect(),
            launch,
            place: Place::default(),
            body,
            span: Span::default(),
        });
    }

    pub(crate) fn domain(&mut self, param: usize, domain: Domain) {
        self.protocol.params[param].domain = domain;
    }

    pub(crate) fn build(self) -> Protocol {
        self.protocol
    }
}

/// The value that a lock of a block-sparse accumulation waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// The column tile's own number.
    Own,
    /// Its rank among the visitors of the row tile.
    Rank,
}

/// Parameters N, M, R; `wait dq[m] == lock; dq[m] += 1` for each m of row n.
pub(crate) fn block_sparse(lock: Lock, descending: bool, order: RowOrder) -> Protocol {
    let mut b = Builder::new("dq");
    let (cols, rows, resident) = (b.param("N", 0), b.param("M", 0), b.param("R", 1));
    let visits = b.pattern("visits", vec![cols.clone(), rows.clone()]);
    let start = ObjectKind::Semaphore(Initial::Value(int(0)));
    let dq = b.object("dq", vec![rows], start);
    let (n, m, k) = (b.var("n"), b.var("m"), b.var("k"));
    let cell = Cell {
        object: dq,
        index: vec![Expr::Var(m)],
    };
    let value = match lock {
        Lock::Own => Expr::Var(n),
        Lock::Rank => Expr::Count {
            var: k,
            lo: Box::new(int(0)),
            hi: Box::new(Expr::Var(n)),
            body: Box::new(Expr::Visits(visits, vec![Expr::Var(k), Expr::Var(m)])),
        },
    };
    let wait = b.stmt(StmtKind::Wait {
        cell: cell.clone(),
        comparison: Comparison::Equal,
        value,
    });
    let access = b.stmt(StmtKind::Access {
        verb: "accumulate".to_owned(),
        target: "dQ[m]".to_owned(),
        work: Work::Now(Vec::new()),
    });
    let add = b.stmt(StmtKind::Add {
        cell,
        amount: int(1),
    });
    let body = b.stmt(StmtKind::For {
        var: m,
        over: Iteration::Row {
            pattern: visits,
            row: vec![Expr::Var(n)],
            order,
        },
        body: vec![wait, access, add],
    });
    b.role(
        "cta",
        vec![(n, cols)],
        launch(descending, resident),
        vec![body],
    );
    b.build()
}

/// Which row tile a delayed release increments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// The tile with the previous number. This is right only for ascending rows.
    Neighbour,
    /// The tile visited before.
    Previous,
}

/// Parameters N, M. At each m, the member waits for its rank and then releases an earlier tile. After the loop it
/// releases the last tile. If `guarded`, it does so only if there was one; otherwise it releases tile 0 in this case.
pub(crate) fn delayed_release(release: Release, guarded: bool, order: RowOrder) -> Protocol {
    let mut b = Builder::new("delayed");
    let (cols, rows) = (b.param("N", 0), b.param("M", 0));
    let visits = b.pattern("visits", vec![cols.clone(), rows.clone()]);
    let start = ObjectKind::Semaphore(Initial::Value(int(0)));
    let dq = b.object("dq", vec![rows], start);
    let (n, m, k, j) = (b.var("n"), b.var("m"), b.var("k"), b.var("j"));
    let last = b.var("last");
    let count = |var, hi, at: [Expr; 2]| Expr::Count {
        var,
        lo: Box::new(int(0)),
        hi: Box::new(hi),
        body: Box::new(Expr::Visits(visits, at.to_vec())),
    };
    let rank = count(k, Expr::Var(n), [Expr::Var(k), Expr::Var(m)]);
    let smaller = count(j, Expr::Var(m), [Expr::Var(n), Expr::Var(j)]);
    let add = |b: &mut Builder, index| {
        b.stmt(StmtKind::Add {
            cell: Cell {
                object: dq,
                index: vec![index],
            },
            amount: int(1),
        })
    };
    let when = |b: &mut Builder, condition, then| {
        b.stmt(StmtKind::If {
            condition,
            then: vec![then],
            otherwise: Vec::new(),
        })
    };
    let visited = op(BinaryOp::Ge, Expr::Var(last), int(0));
    let none = b.stmt(StmtKind::Assign {
        var: last,
        value: int(-1),
    });
    let wait = b.stmt(StmtKind::Wait {
        cell: Cell {
            object: dq,
            index: vec![Expr::Var(m)],
        },
        comparison: Comparison::Equal,
        value: rank,
    });
    let (condition, earlier, remembered) = match release {
        Release::Neighbour => (
            op(BinaryOp::Gt, smaller, int(0)),
            op(BinaryOp::Sub, Expr::Var(m), int(1)),
            op(BinaryOp::Max, Expr::Var(last), Expr::Var(m)),
        ),
        Release::Previous => (visited.clone(), Expr::Var(last), Expr::Var(m)),
    };
    let earlier = add(&mut b, earlier);
    let earlier = when(&mut b, condition, earlier);
    let remember = b.stmt(StmtKind::Assign {
        var: last,
        value: remembered,
    });
    let body = b.stmt(StmtKind::For {
        var: m,
        over: Iteration::Row {
            pattern: visits,
            row: vec![Expr::Var(n)],
            order,
        },
        body: vec![wait, earlier, remember],
    });
    let end = add(&mut b, op(BinaryOp::Max, Expr::Var(last), int(0)));
    let end = if guarded {
        when(&mut b, visited, end)
    } else {
        end
    };
    let all = Some(Launch {
        order: LaunchOrder::Any,
        resident: Resident::All,
    });
    b.role("cta", vec![(n, cols)], all, vec![none, body, end]);
    b.build()
}

/// Parameters T, N. Two CTAs of T threads, for N rounds. In each round every thread arrives on both barriers and
/// waits on the one of its own CTA. The awaited parity flips each round unless `fixed`.
pub(crate) fn jacobi(fixed: bool) -> Protocol {
    let mut b = Builder::new("jacobi");
    let (threads, rounds) = (b.param("T", 1), b.param("N", 0));
    let arrivals = op(BinaryOp::Mul, int(2), threads.clone());
    let bar = b.object(
        "bar",
        vec![int(2)],
        ObjectKind::Mbarrier {
            arrivals,
            explicit_init: false,
        },
    );
    let (cta, t, i, phase) = (b.var("cta"), b.var("t"), b.var("i"), b.var("phase"));
    let cell = |index| Cell {
        object: bar,
        index: vec![index],
    };
    let start = b.stmt(StmtKind::Assign {
        var: phase,
        value: int(0),
    });
    let own = b.stmt(StmtKind::Arrive {
        cell: cell(Expr::Var(cta)),
        count: int(1),
    });
    let peer = b.stmt(StmtKind::Arrive {
        cell: cell(op(BinaryOp::Sub, int(1), Expr::Var(cta))),
        count: int(1),
    });
    let wait = b.stmt(StmtKind::WaitParity {
        cell: cell(Expr::Var(cta)),
        parity: Expr::Var(phase),
    });
    let flip = b.stmt(StmtKind::Assign {
        var: phase,
        value: op(BinaryOp::Xor, Expr::Var(phase), int(i64::from(!fixed))),
    });
    let body = b.stmt(StmtKind::For {
        var: i,
        over: Iteration::Range {
            lo: int(0),
            hi: rounds,
            descending: false,
        },
        body: vec![own, peer, wait, flip],
    });
    b.role(
        "thread",
        vec![(cta, int(2)), (t, threads)],
        None,
        vec![start, body],
    );
    b.build()
}

/// The program of a warp. `(true, barrier, warps)` is a sync, and `(false, barrier, warps)` is an arrive.
pub(crate) type Program<'a> = &'a [(bool, i64, i64)];

/// One role per warp.
pub(crate) fn warps(programs: &[Program<'_>]) -> Protocol {
    let mut b = Builder::new("warps");
    let bar = b.object("bar", vec![int(16)], ObjectKind::Named);
    for (position, program) in programs.iter().enumerate() {
        let body = program.iter().map(|(sync, id, warps)| {
            let cell = Cell {
                object: bar,
                index: vec![int(*id)],
            };
            let count = int(32 * warps);
            b.stmt(if *sync {
                StmtKind::Sync { cell, count }
            } else {
                StmtKind::BarArrive { cell, count }
            })
        });
        let body = body.collect();
        b.role(&format!("w{position}"), Vec::new(), None, body);
    }
    b.build()
}

/// One member per count. It arrives this often on the only mbarrier.
pub(crate) fn arrives(expected: i64, counts: &[i64]) -> Protocol {
    let mut b = Builder::new("arrives");
    let arrivals = int(expected);
    let bar = b.object(
        "bar",
        Vec::new(),
        ObjectKind::Mbarrier {
            arrivals,
            explicit_init: false,
        },
    );
    for count in counts {
        let arrive = b.stmt(StmtKind::Arrive {
            cell: Cell {
                object: bar,
                index: Vec::new(),
            },
            count: int(*count),
        });
        b.role("thread", Vec::new(), None, vec![arrive]);
    }
    b.build()
}

/// The input with these parameters and, for the only pattern, these entries.
pub(crate) fn input(params: &[i64], entries: &[[i64; 2]]) -> Input {
    Input {
        params: params.to_vec(),
        patterns: vec![entries.iter().map(|e| e.to_vec()).collect()],
        ..Input::default()
    }
}

/// The input with these parameters of a protocol without patterns.
pub(crate) fn plain(params: &[i64]) -> Input {
    Input {
        params: params.to_vec(),
        ..Input::default()
    }
}
