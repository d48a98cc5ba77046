//! The shape of a CTA of which only the number of threads is known. For example, launch bounds of 512 threads allow 512 x
//! 1 x 1 and 32 x 16 x 1. A kernel that uses more than one axis may behave differently for each shape. So its protocol is
//! recovered for several shapes. If all protocols are equal, for example because the kernel only computes a linear thread
//! index, the first one is taken, and every verdict says so. Otherwise the user has to give the shape.

use super::lift::Failure;
use super::lift::Options;
use super::lift::written;
use super::names::readable;
use crate::protocol::Span;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::inline::inlined;
use crate::ptx::syntax::variables::mentions;
use crate::text::Diagnostic;

/// What a kernel reads that looks at the second axis of a CTA.
const SECOND: [&str; 4] = ["%tid.y", "%ntid.y", "%tid", "%ntid"];

/// The same for the third.
const THIRD: [&str; 4] = ["%tid.z", "%ntid.z", "%tid", "%ntid"];

/// The protocol as it was written for all threads along the first axis, unless it would be another in another shape.
pub(super) fn in_any_shape(
    module: &Module<'_>,
    function: &Function<'_>,
    options: &Options,
) -> Result<String, Failure> {
    let first = written(module, function, options);
    let shapes = others(module, function, options);
    // Why it is not recovered does not depend on the shape as a rule: that is told.
    if let Err(Failure::Input(_)) = first {
        return first;
    }
    for shape in shapes {
        let options = Options {
            threads: Some(shape),
            ..options.clone()
        };
        let other = written(module, function, &options);
        let same = match (&first, &other) {
            (Ok(first), Ok(other)) => statements(first).eq(statements(other)),
            (first, other) => first.is_ok() == other.is_ok(),
        };
        if !same {
            return Err(Failure::Input(asked(function, shape)));
        }
    }
    first
}

/// Other shapes of as many threads, if nothing says how they lie and the kernel may look at it: wide, as deep as warps
/// are wide, narrow, and in three axes.
fn others(module: &Module<'_>, function: &Function<'_>, options: &Options) -> Vec<[u32; 3]> {
    let mut shapes = Vec::new();
    if options.threads.is_some() || function.reqntid.is_some() {
        return shapes;
    }
    let Some([threads, 1, 1]) = function.maxntid else {
        return shapes;
    };
    let whole = inlined(module, function);
    let (second, third) = (reads(&whole, &SECOND), reads(&whole, &THIRD));
    let rows = [2, 4].map(|y| [threads / y, y]);
    let columns = [32, 16, 8].map(|x| [x, threads / x]);
    for [x, y] in rows.into_iter().chain(columns) {
        if second && x.saturating_mul(y) == threads && y > 1 && !shapes.contains(&[x, y, 1]) {
            shapes.push([x, y, 1]);
        }
    }
    if third && threads.is_multiple_of(4) {
        shapes.push([threads / 4, 2, 2]);
    }
    shapes
}

/// Whether a function asks where a thread is along the second or third axis of its CTA, or how long these are.
pub(in crate::ptx) fn looks_at_axes(function: &Function<'_>) -> bool {
    reads(function, &SECOND) || reads(function, &THIRD)
}

fn reads(function: &Function<'_>, names: &[&str]) -> bool {
    let mut operands = function.code.iter().flat_map(|i| &i.operands);
    operands.any(|o| names.iter().any(|name| mentions(o, name)))
}

/// What a protocol says, and what is assumed of it, without the shape.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.contains("threads per CTA"))
}

fn asked(function: &Function<'_>, [x, y, z]: [u32; 3]) -> Diagnostic {
    let threads = x * y * z;
    let span = Span {
        start: function.at.start,
        end: function.at.end,
    };
    let name = readable(function.name);
    let message = format!(
        "how the threads of `{name}` lie is not known, and what they do depends on it: {threads} x 1 x 1 differs from \
         {x} x {y} x {z}"
    );
    Diagnostic::error(span, message).hint("give --threads X,Y,Z as in the launch")
}
