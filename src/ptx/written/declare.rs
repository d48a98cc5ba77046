//! The head of a recovered protocol: comments on its origin, and declarations.

use std::fmt::Write as _;

use super::launch::Ctas;
use super::words::clean;
use super::write::AXES;
use super::write::LANDED;
use super::write::Writer;
use super::write::bracketed;
use crate::protocol::ASSUMED;
use crate::ptx::cta::program::each;
use crate::ptx::names::readable;
use crate::ptx::names::short;
use crate::ptx::operations::descriptor::LARGEST_ATOM;
use crate::ptx::operations::warpgroups::WARPS;
use crate::ptx::path::dependence::Place;
use crate::ptx::shape::looks_at_axes;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::place::visible;
use crate::ptx::warp::machine::MOST_PARAMETER;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::most_blocks;
use crate::ptx::warp::machine::most_given;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::words::APART;

impl Writer<'_, '_> {
    /// Everything before the roles. The roles have to be written first.
    pub fn head(&mut self) -> Result<String, Obstacle> {
        let mut head = String::new();
        let [x, y, z] = self.launch.threads;
        let cluster = self.launch.ranks();
        let _ = writeln!(
            head,
            "//! Recovered from the entry `{}` of a PTX {} text for {}.",
            visible(&readable(self.function.name)),
            visible(self.module.version),
            visible(self.module.target)
        );
        let clusters = if cluster > 1 {
            format!(", clusters of {cluster} CTAs")
        } else {
            String::new()
        };
        let _ = writeln!(head, "//! {x} x {y} x {z} threads per CTA{clusters}.");
        if self.function.reqntid.is_none() && !self.given {
            // The shape matters to who asks for it only.
            let all = match looks_at_axes(self.function) {
                true => format!("{x} x {y} x {z}"),
                false => self.launch.count().to_string(),
            };
            assumed(
                &mut head,
                &format!("the launch has {all} threads per CTA, as many as .maxntid allows"),
            );
        }
        let registers = |a: &Action| matches!(a, Action::Acquire(Pool::Registers, _));
        let mut given = self.covered;
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| given |= registers(&s.action));
        }
        if given {
            let each = self.launch.registers();
            let why = match self.launch.most_registers {
                Some(_) => "as .maxnreg says",
                None => "as many as fit and `setmaxnreg.inc` can raise",
            };
            assumed(
                &mut head,
                &format!("{each} registers per thread at launch, {why}"),
            );
        }
        if self.covered {
            head.push_str(
                "//! What `setmaxnreg` takes has been given back before, and is left out.\n",
            );
        }
        if self.left {
            head.push_str(
                "//! Warps that have left are not waited for at barriers of all threads: here they go on \
                 coming to them.\n",
            );
        }
        if self.ended {
            assumed(
                &mut head,
                "nothing is under way to an mbarrier any more where `mbarrier.inval` ends its life",
            );
        }
        if self.followed.unknowns.find(&Meaning::Granted).is_some() {
            head.push_str(
                "//! Of the requests for work of CTAs that have not been launched, `granted` are granted.\n",
            );
            assumed(
                &mut head,
                "answers to requests for work are read in turn, each once it has landed and before the next one \
                 lands there",
            );
        }
        let mut multiplies = false;
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| {
                multiplies |= matches!(s.action, Action::Multiply(_) | Action::Issued(..));
            });
        }
        if multiplies {
            head.push_str(
                "//! No multiplication of a warpgroup is done before its four warps have issued it.\n",
            );
        }
        for words in &self.followed.taken {
            assumed(&mut head, words);
        }
        if self.followed.counted {
            assumed(
                &mut head,
                "tensor copies whose bytes the launch decides, or whose shares are not known, fill what their \
                 mbarriers expect: they are counted in copies",
            );
        }
        if self.landed {
            assumed(&mut head, LANDED);
        }
        for (barrier, bytes) in &self.delivered {
            let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
            let bytes = bytes.join(" or ");
            assumed(
                &mut head,
                &format!(
                    "each tensor copy that completes {barrier} delivers {bytes} bytes, its share of what is expected \
                     there"
                ),
            );
        }
        if self.followed.boxes_out {
            assumed(
                &mut head,
                "tensor copies out of shared memory take what threads have written, up to where the next begins",
            );
        }
        if self.followed.leveled {
            assumed(
                &mut head,
                &format!("dynamic shared memory begins at a multiple of {LARGEST_ATOM} bytes"),
            );
        }
        if self.followed.unsigned {
            assumed(
                &mut head,
                "words that are read from memory lie between 0 and 2147483647",
            );
        }
        if self.followed.looks_ahead {
            assumed(
                &mut head,
                "if waits at an mbarrier may be for phases that are not consecutive, a test that lets a warp skip a wait has found the phase of that wait complete",
            );
        }
        if self.followed.in_step && self.buffers.is_some() {
            assumed(
                &mut head,
                "lanes of a warp use shared memory in the order of their program, also where no `bar.warp.sync` stands \
                 between them",
            );
        }
        if self.buffers.is_some_and(|all| all.iter().any(|b| b.tensor)) {
            assumed(
                &mut head,
                "where tensor memory lies is read where and when the allocation has said it",
            );
        }
        for unknown in self.silent_parameters() {
            let most = self.followed.unknowns.1.range(&Sum::unknown(unknown)).1;
            let name = self.unknown(unknown, 0)?;
            assumed(&mut head, &format!("0 <= {name} <= {most}"));
        }
        if self.silent_blocks() {
            assumed(&mut head, &format!("nctaid_x <= {}", most_blocks(0)));
        }
        if self.buffers.is_some() {
            head.push_str(
                "//! With what is read and written in shared memory; global memory is left out.\n",
            );
        }
        let counters = self.followed.counters;
        if counters && self.ctas == Ctas::One {
            head.push_str(
                "//! Of one CTA: whether its waits for other CTAs end, is asked of the text without data.\n",
            );
            assumed(&mut head, "waits for other CTAs end");
        } else if counters {
            assumed(&mut head, "counters in memory stay below 2^31");
            assumed(&mut head, "counters in memory are 0 at launch");
            assumed(&mut head, APART);
            for axis in self.unseen_axes() {
                assumed(
                    &mut head,
                    &format!(
                        "nctaid_{axis} == 1, an axis of the grid that the kernel never looks at"
                    ),
                );
            }
        }
        let mut assumptions = Vec::new();
        for (sum, at) in &self.followed.assumptions {
            if self.assumed_before(sum, *at) {
                continue;
            }
            let line = self.module.line_of(*at);
            let code = self.function.code.iter().find(|i| i.at == *at);
            let divides = |i: &Instruction<'_>| matches!(i.parts().next(), Some("div" | "rem"));
            let what = match code {
                Some(code) if divides(code) && sum.constant == -1 => "divide by 0",
                _ => "wrap around",
            };
            let condition = Condition::Negative(sum.clone()).negated();
            let words = self.condition(&condition, *at)?;
            assumptions.push(format!("assume {words}  // line {line} does not {what}\n"));
        }
        for (index, at) in self.memory.inside.clone() {
            let line = self.module.line_of(at);
            let words = self.condition(&Condition::Negative(index).negated(), at)?;
            assumptions.push(format!(
                "assume {words}  // line {line} does not lie before its pointer\n"
            ));
        }
        let name = clean(&short(self.function.name));
        let _ = writeln!(head, "protocol {name}\n");
        let used = self.used.clone();
        let mut blocks = Vec::new();
        for unknown in &used {
            match self.followed.unknowns.meaning(*unknown) {
                Some(Meaning::Parameter(index, _)) => {
                    let bytes = self.function.parameters.get(*index).map_or(4, |p| p.bytes);
                    let (least, most) = match bytes {
                        1 | 2 => self.followed.unknowns.1.range(&Sum::unknown(*unknown)),
                        _ => (0, most_given(bytes)),
                    };
                    let name = self.unknown(*unknown, 0)?;
                    let _ = writeln!(head, "param {name} in {least}..={most}");
                }
                Some(Meaning::Divided(parameter, added, by)) => {
                    let (least, most) = self.followed.unknowns.1.range(&Sum::unknown(*unknown));
                    let (name, own) = (self.unknown(*unknown, 0)?, self.unknown(*parameter, 0)?);
                    let own = match *added {
                        0 => own,
                        added => format!("({own} + {added})"),
                    };
                    let _ = writeln!(head, "param {name} in {least}..={most}  // {own} / {by}");
                }
                Some(Meaning::Rounds(parameter, axis)) => {
                    let most = self.followed.unknowns.1.range(&Sum::unknown(*unknown)).1;
                    let (name, own) = (self.unknown(*unknown, 0)?, self.unknown(*parameter, 0)?);
                    let (index, extent) = match self.launch.cluster[*axis] {
                        1 if cluster == 1 => ("ctaid", "nctaid"),
                        _ => ("clusterid", "nclusterid"),
                    };
                    let axis = AXES[*axis];
                    let _ = writeln!(
                        head,
                        "param {name} in 0..={most}  // those below {own} from {index}_{axis} on in steps of \
                         {extent}_{axis}"
                    );
                }
                Some(Meaning::Ratio(parameter, by)) => {
                    let most = self.followed.unknowns.1.range(&Sum::unknown(*unknown)).1;
                    let (name, own) = (self.unknown(*unknown, 0)?, self.unknown(*parameter, 0)?);
                    let by = self.unknown(*by, 0)?;
                    let _ = writeln!(head, "param {name} in 0..={most}  // {own} / {by}");
                }
                Some(Meaning::Granted) => {
                    let _ = writeln!(head, "param granted in 0..={MOST_PARAMETER}");
                }
                Some(Meaning::Blocks(axis)) => {
                    let (name, least) = (AXES[*axis], self.launch.cluster[*axis]);
                    let most = most_blocks(*axis);
                    let _ = writeln!(head, "param nctaid_{name} in {least}..={most}");
                    if least > 1 {
                        let _ = writeln!(
                            head,
                            "assume nctaid_{name} % {least} == 0  // whole clusters are launched"
                        );
                    }
                }
                Some(Meaning::Block(axis)) if self.ctas == Ctas::One => {
                    let index = if cluster > 1 { "clusterid" } else { "ctaid" };
                    let most = most_blocks(*axis) - 1;
                    let _ = writeln!(head, "param {index}_{} in 0..={most}", AXES[*axis]);
                    blocks.push(*axis);
                }
                _ => {}
            }
        }
        for axis in blocks {
            let extent =
                |u: &Unknown| self.followed.unknowns.meaning(*u) == Some(&Meaning::Blocks(axis));
            if used.iter().any(extent) {
                let (index, name) = if cluster > 1 {
                    let factor = self.launch.cluster[axis];
                    (format!("{factor} * clusterid"), AXES[axis])
                } else {
                    ("ctaid".to_owned(), AXES[axis])
                };
                let _ = writeln!(head, "assume {index}_{name} < nctaid_{name}");
            }
        }
        head.push_str(&self.launch_words());
        for assumption in assumptions {
            head.push_str(&assumption);
        }
        head.push('\n');
        for family in self.families {
            let mut indices = match family.rank {
                Some(_) => Vec::new(),
                None => self.extents(),
            };
            if family.elements.len() > 1 {
                indices.push(family.elements.len().to_string());
            }
            let explicit = if family.ready { "" } else { ", init: explicit" };
            let group = if family.group > 1 {
                format!("  // counted in groups of {} threads", family.group)
            } else {
                String::new()
            };
            let kind = if family.split { "barrier" } else { "mbarrier" };
            let _ = writeln!(
                head,
                "{kind} {} {{ arrivals: {}{explicit} }}{group}",
                bracketed(&family.name, &indices),
                family.arrivals
            );
        }
        let has = |which: &dyn Fn(&Action) -> bool| {
            let mut found = false;
            for program in &self.followed.programs {
                each(&program.statements, &mut |s| found |= which(&s.action));
            }
            found
        };
        // What every CTA has for itself has its place in the cluster or the grid as the first indices.
        let extents = self.extents();
        let own = |name: &str, indices: &[String]| {
            bracketed(name, &[extents.as_slice(), indices].concat())
        };
        let whole = self.ctas == Ctas::Whole;
        let rings = &self.followed.rings;
        let in_ring = |id: &Sum| rings.iter().any(|ring| ring.index(id).is_some());
        let by_number = |a: &Action| match a {
            Action::Sync(id, ..) | Action::ArriveNamed(id, _) => !in_ring(id),
            _ => false,
        };
        if !whole && has(&by_number) {
            let _ = writeln!(head, "named {}", own("cta_bar", &["16".to_owned()]));
        }
        for ring in rings.iter().filter(|_| !whole) {
            let name = format!("cta_bar_{}", ring.first);
            let _ = writeln!(head, "named {}", own(&name, &[ring.count.to_string()]));
        }
        if has(&|a| matches!(a, Action::ClusterArrive | Action::ClusterWait)) {
            let members = cluster * self.launch.warps();
            let _ = writeln!(head, "barrier cluster_bar {{ arrivals: {members} }}");
        }
        let uses = |a: &Action, pool: Pool| matches!(a, Action::Acquire(p, _) | Action::Release(p, _) if *p == pool);
        if has(&|a| uses(a, Pool::Columns)) {
            let released = if self.followed.held {
                " { release: mandatory }"
            } else {
                ""
            };
            let pool = own("tensor_columns", &[]);
            let _ = writeln!(head, "pool {pool} = 512{released}");
        }
        if has(&|a| matches!(a, Action::Multiply(_))) {
            let groups = self.launch.warps() / WARPS;
            let _ = writeln!(
                head,
                "barrier {} {{ arrivals: {WARPS} }}  // wgmma",
                own("warpgroup_bar", &[groups.to_string()])
            );
        }
        let mut ring = None;
        for program in &self.followed.programs {
            each(&program.statements, &mut |s| {
                if let Action::Issued(_, _, size) = &s.action {
                    ring = ring.max(Some(*size));
                }
            });
        }
        if let Some(size) = ring {
            let groups = self.launch.warps() / WARPS;
            let _ = writeln!(
                head,
                "mbarrier {} {{ arrivals: {WARPS} }}  // groups of wgmma",
                own("in_flight", &[groups.to_string(), size.to_string()])
            );
        }
        if has(&|a| matches!(a, Action::Pair)) {
            let _ = writeln!(
                head,
                "barrier tensor_pair[{}] {{ arrivals: 2 }}",
                cluster / 2
            );
        }
        if has(&|a| uses(a, Pool::Registers)) {
            let all = self.launch.registers() * self.launch.warps();
            let _ = writeln!(
                head,
                "pool {} = {all}  // of a thread of each warp",
                own("registers", &[])
            );
            let _ = writeln!(
                head,
                "barrier {} {{ arrivals: {} }}  // every warp has its registers at launch",
                own("all_launched", &[]),
                self.launch.warps()
            );
        }
        head.push_str(&self.memory_words());
        for buffer in self.buffers.unwrap_or_default() {
            // In a cluster the place of the CTA is among the extents.
            let mut all = match self.ctas {
                Ctas::Each(_) => extents.clone(),
                _ => Vec::new(),
            };
            all.extend(buffer.extents.iter().map(i128::to_string));
            let place = if buffer.tensor {
                " { memory: tensor }"
            } else {
                ""
            };
            let _ = writeln!(head, "buffer {}{place}", bracketed(&buffer.name, &all));
        }
        head.push('\n');
        Ok(head)
    }

    /// Whether what is assumed at a place follows from what is assumed at another, said once.
    fn assumed_before(&self, sum: &Sum, at: usize) -> bool {
        let mut others = self.followed.assumptions.iter();
        others.any(|(other, place)| {
            let more = sum.minus(other).as_constant();
            more.is_some_and(|more| more > 0 || more == 0 && *place < at)
        })
    }

    /// Parameters that the text does not mention, and whose range may matter all the same: small ones, and those that may
    /// decide about synchronization.
    fn silent_parameters(&self) -> Vec<Unknown> {
        let unknowns = &self.followed.unknowns;
        // The range of a quotient says that of what is divided.
        let divided = |unknown: Unknown| {
            self.used.iter().any(|used| match unknowns.meaning(*used) {
                Some(Meaning::Divided(own, ..) | Meaning::Rounds(own, _)) => *own == unknown,
                Some(Meaning::Ratio(own, by)) => *own == unknown || *by == unknown,
                _ => false,
            })
        };
        let silent = (0..unknowns.next().0).map(Unknown).filter(|unknown| {
            let Some(Meaning::Parameter(index, offset)) = unknowns.meaning(*unknown) else {
                return false;
            };
            let parameter = self.function.parameters.get(*index);
            let small = parameter.is_some_and(|p| p.bytes < 4);
            let mut places = [Some(*offset), None].into_iter();
            let weighed = places.any(|at| {
                let place = Place::Parameter(*index, at);
                self.followed.weighed.contains(&place)
            });
            (small || weighed) && !self.used.contains(unknown) && !divided(*unknown)
        });
        silent.collect()
    }

    /// Whether numbers of CTAs along x may decide about synchronization although the text does not mention them. PTX allows
    /// twice as many CTAs there as are taken to be launched. Along other axes it allows no more than these.
    fn silent_blocks(&self) -> bool {
        let used = |meaning| {
            let unknown = self.followed.unknowns.find(&meaning);
            unknown.is_some_and(|unknown| self.used.contains(&unknown))
        };
        let weighed = |place| self.followed.weighed.contains(&place);
        let told = used(Meaning::Blocks(0)) || matches!(self.ctas, Ctas::Each(_));
        // A smaller index may be that of a CTA in a grid that is too large.
        !told && (weighed(Place::Blocks(0)) || weighed(Place::Block(0)) && !used(Meaning::Block(0)))
    }
}

/// A line that every verdict about the protocol lists with its assumptions.
fn assumed(head: &mut String, what: &str) {
    let _ = writeln!(head, "{ASSUMED} {what}");
}
