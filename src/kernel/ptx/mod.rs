//! PTX, versions 3.2 to 9: a text becomes kernels of the IR.
//!
//! Data flows one way: `lexer` tokens, `parse` a tree, `scope` resolved names, `call` one
//! body per kernel with the functions that it calls written out, `control` blocks, whose
//! instructions the tables of `instructions` lower one by one, and `shared_headers` separates loops.
//! An instruction that no table knows is kept as one that is not understood. Only a text that is no
//! PTX, or that names what it does not declare, is refused.

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

/// What a text holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Module {
    /// As `.version` says, for example 8.0.
    pub version: String,
    /// As `.target` says, for example `sm_90a`.
    pub target: String,
    /// In the order of the text.
    pub kernels: Vec<Kernel>,
}

/// Reads a text. What is wrong with it is told with its place.
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
