//! Reads PTX, versions 3.2 to 9, into kernels of the IR.
//!
//! Data flows one way. `lexer` makes tokens, `parse` makes a tree, `scope` resolves names, and `call` makes one body
//! per kernel in which calls are inlined. `control` makes blocks, and the tables in `instructions` lower the
//! instructions of a block one by one. Finally, `shared_headers` separates loops.
//!
//! An instruction that no table contains is kept, as one that is not understood. A text is refused only if it is not
//! PTX, or if it uses a name that it does not declare.

mod call;
mod control;
mod declaration;
mod error;
mod expression;
mod form;
mod instructions;
mod lexer;
mod local_variables;
mod lower;
mod number;
mod parse;
mod place;
mod resolved;
mod scope;
mod shared_headers;
mod slot;
mod special;
mod statement;
mod tree;

pub use error::ReadError;

use rustc_hash::FxHashMap;

use crate::ir::Kernel;
use crate::ir::Parameter;

use lower::Lowering;
use tree::Function;

/// The largest text that is read, in bytes.
pub const MAX_BYTES: usize = 256 << 20;

/// The contents of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Module {
    /// The version, as in `.version`; for example 8.0.
    pub version: String,
    /// The target, as in `.target`; for example `sm_90a`.
    pub target: String,
    /// The kernels, in the order of the text.
    pub kernels: Vec<Kernel>,
}

/// Reads a text. Each error has a place in the text.
pub fn read(text: &str) -> Result<Module, Vec<ReadError>> {
    if text.len() > MAX_BYTES {
        return Err(vec![ReadError::new(
            "",
            0..0,
            format!("the text has {} bytes", text.len()),
            "at most 256 MiB are read",
        )]);
    }
    let mut tree = parse::parse(text).map_err(|error| vec![*error])?;
    let globals = scope::Globals::new(&tree);
    let mut bodies = FxHashMap::default();
    let mut errors = Vec::new();
    for function in tree.functions.iter().filter(|f| f.body.is_some()) {
        match scope::resolve(text, &globals, function) {
            Ok(body) => {
                bodies.insert(function.name, body);
            }
            Err(wrong) => errors.extend(wrong),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut chains = call::Chains::new(std::mem::take(&mut tree.places));
    let mut kernels = Vec::new();
    for function in tree.functions.iter().filter(|function| function.entry) {
        let Some(body) = bodies.get(function.name) else {
            continue;
        };
        let whole = call::inlined(&bodies, body, &mut chains);
        let pieces = slot::pieces(&whole);
        let lowering = Lowering::new(&tree, &whole, declared(function), pieces);
        let mut kernel = control::kernel(&whole, &chains.places, lowering);
        local_variables::promote(&mut kernel);
        shared_headers::separate(&mut kernel);
        kernels.push(kernel);
    }
    Ok(Module {
        version: tree.version.to_owned(),
        target: tree.target.to_owned(),
        kernels,
    })
}

/// A kernel without blocks: its name, parameters and bounds.
fn declared(function: &Function<'_>) -> Kernel {
    let mut end = 0_u32;
    let mut parameters = Vec::new();
    for parameter in &function.parameters {
        let alignment = parameter.alignment.max(1);
        let offset = end.checked_next_multiple_of(alignment).unwrap_or(end);
        let size = u32::try_from(parameter.size.unwrap_or(0)).unwrap_or(u32::MAX);
        // Compilers write `kernel_param_3` for the fourth.
        let name = parameter.name.text;
        let short = name
            .strip_prefix(function.name)
            .and_then(|rest| rest.strip_prefix('_'))
            .filter(|rest| !rest.is_empty());
        parameters.push(Parameter {
            name: short.unwrap_or(name).to_owned(),
            offset,
            size,
        });
        end = offset.saturating_add(size);
    }
    Kernel {
        name: function.name.to_owned(),
        parameters,
        bounds: function.bounds.clone(),
        ..Kernel::default()
    }
}
