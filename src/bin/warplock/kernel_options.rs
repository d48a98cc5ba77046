//! Options for kernels: which ones to check, and how they are launched, compiled and recovered.

use clap::Args;
use clap::ValueEnum;

use crate::inputs::compile::Compiler;

/// Which entries of a kernel file, and how they are launched.
#[derive(Debug, Clone, Args)]
pub struct Kernels {
    /// The entry of a .ptx or .mlir file; all of them if not given
    #[arg(help_heading = "Kernels", long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Threads per CTA, where the kernel has no launch bounds or is launched with fewer
    #[arg(help_heading = "Kernels", long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub threads: Option<[u32; 3]>,
    /// Let the number of threads per CTA be a parameter: every number of whole warps up to the
    /// launch bounds
    #[arg(help_heading = "Kernels", long, conflicts_with = "threads")]
    pub symbolic_threads: bool,
    /// CTAs per cluster, where the kernel does not say
    #[arg(help_heading = "Kernels", long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub cluster: Option<[u32; 3]>,
    /// In which order the CTAs of a kernel that waits for memory start
    #[arg(
        help_heading = "Kernels",
        long,
        value_name = "ORDER",
        value_enum,
        default_value = "any"
    )]
    pub launch: Order,
    /// How the protocol is recovered from PTX; MLIR is always recovered from its graph
    #[arg(
        help_heading = "Kernels",
        long,
        value_name = "HOW",
        value_enum,
        default_value = "auto"
    )]
    pub recovery: Recovery,
    /// How source files are compiled.
    #[command(flatten)]
    pub compiler: Compiler,
}

/// Orders in which CTAs start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Whichever the machine picks.
    Any,
    /// By ascending index.
    Ascending,
    /// By descending index.
    Descending,
}

/// How a kernel's protocol is recovered from PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Recovery {
    /// From the graph, or along the instructions where that decides nothing.
    Auto,
    /// Each warp is followed along its instructions, data included.
    Path,
    /// From the control-flow graph in the kernel IR, checked against an interpreter; deadlock only.
    Graph,
}

/// Up to three positive numbers, 1 where there are fewer.
pub fn extents(text: &str) -> Result<[u32; 3], String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("expected up to three numbers, as in 128 or 32,4,1".to_owned());
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        *extent = part
            .trim()
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| format!("`{part}` is not a positive number"))?;
    }
    Ok(extents)
}
