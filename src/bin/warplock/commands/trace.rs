//! `warplock trace`: runs a compiled kernel at a concrete launch and prints what its warps do.

use std::path::PathBuf;

use clap::Args;
use warplock::report::text::visible;
use warplock_kernel::interpret;
use warplock_kernel::interpret::Launch;
use warplock_kernel::interpret::Waits;
use warplock_kernel::ir::Kernel;
use warplock_kernel::ptx;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::inputs::Input;
use crate::inputs::compile::Compiler;
use crate::kernel_options::extents;
use crate::session::Session;

/// Options of `trace`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A kernel: PTX, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The entry, where there are several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Give a parameter a value, by its name or its number; NAME+OFFSET is the 32-bit word there
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Threads per CTA, where the kernel has no launch bounds or is launched with fewer
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub threads: Option<[u32; 3]>,
    /// CTAs of the grid; one cluster if not given
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub grid: Option<[u32; 3]>,
    /// CTAs per cluster, where the kernel does not say
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub cluster: Option<[u32; 3]>,
    /// The first CTA of the cluster that is run
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = index)]
    pub cta: Option<[u32; 3]>,
    /// Let warps wait for each other, instead of passing every wait
    #[arg(long)]
    pub simulate: bool,
    /// Show which bytes of shared memory are read and written
    #[arg(long)]
    pub data: bool,
    /// How source files are compiled.
    #[command(flatten)]
    pub compiler: Compiler,
}

/// Runs `trace`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let entry = arguments.entry.as_deref();
    let input = inputs::one(&arguments.file, entry, &arguments.compiler, session)?;
    session.answer(&input.name.clone(), move |_| {
        Ok((traced(&arguments, &input)?, Exit::Success))
    })
}

fn traced(arguments: &Arguments, input: &Input) -> Result<String, Failure> {
    let name = &input.name;
    let bytes = input.read(ptx::MAX_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let module = ptx::read(&text).map_err(|errors| match errors.first() {
        Some(error) => {
            let place = format!("{name}:{}:{}", error.line, error.column);
            Failure::input(format!("{place}: {}", visible(&error.message))).hint(&error.hint)
        }
        None => Failure::input(format!("{name} cannot be read")),
    })?;
    let kernel = chosen(&module.kernels, arguments.entry.as_deref(), name)?;
    let launch = launch(kernel, arguments)?;
    let trace = interpret::run(kernel, &launch).map_err(|stop| {
        let place = match stop.location.line {
            0 => String::new(),
            line => format!(" at line {line}"),
        };
        Failure::input(format!("{name}: {stop}{place}"))
    })?;
    Ok(interpret::text(kernel, &launch, &trace))
}

fn chosen<'k>(
    kernels: &'k [Kernel],
    entry: Option<&str>,
    name: &str,
) -> Result<&'k Kernel, Failure> {
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let names = visible(&names.join(", ")).to_string();
    match (entry, kernels) {
        (Some(entry), _) => kernels
            .iter()
            .find(|kernel| kernel.name == entry)
            .ok_or_else(|| {
                Failure::input(format!("{name} has no entry `{}`", visible(entry)))
                    .hint(format!("its entries: {names}"))
            }),
        (None, [only]) => Ok(only),
        (None, []) => Err(Failure::input(format!("{name} has no entry"))),
        (None, several) => Err(
            Failure::input(format!("{name} has {} entries", several.len()))
                .hint(format!("choose one with --entry: {names}")),
        ),
    }
}

fn launch(kernel: &Kernel, arguments: &Arguments) -> Result<Launch, Failure> {
    let mut launch = Launch::new(kernel);
    match arguments.threads {
        Some(threads) => launch.threads = threads,
        None if kernel
            .bounds
            .required_threads
            .or(kernel.bounds.max_threads)
            .is_none() =>
        {
            return Err(
                Failure::input("the kernel does not say how many threads a CTA has")
                    .hint("give them with --threads"),
            );
        }
        None => {}
    }
    if let Some(cluster) = arguments.cluster {
        launch.cluster = cluster;
        launch.grid = cluster;
    }
    launch.grid = arguments.grid.unwrap_or(launch.grid);
    launch.cta = arguments.cta.unwrap_or(launch.cta);
    if arguments.simulate {
        launch.waits = Waits::Simulate;
    }
    launch.accesses = arguments.data;
    for text in &arguments.set {
        set(&mut launch, kernel, text)?;
    }
    Ok(launch)
}

/// Sets a parameter, or one 32-bit word of it, to a value.
fn set(launch: &mut Launch, kernel: &Kernel, text: &str) -> Result<(), Failure> {
    let wrong = |what: &str| Failure::input(format!("--set {}: {what}", visible(text)));
    let (target, value) = text
        .split_once('=')
        .ok_or_else(|| wrong("expected NAME=VALUE"))?;
    let value = number(value.trim()).ok_or_else(|| wrong("the value is not an integer"))?;
    let (name, offset) = match target.trim().rsplit_once('+') {
        Some((name, offset)) => {
            let offset = number(offset).and_then(|offset| u32::try_from(offset).ok());
            (
                name,
                Some(offset.ok_or_else(|| wrong("the offset is not a number of bytes"))?),
            )
        }
        None => (target.trim(), None),
    };
    let named = kernel
        .parameters
        .iter()
        .find(|parameter| parameter.name == name);
    let numbered = || kernel.parameters.get(name.parse::<usize>().ok()?);
    let parameter = named.or_else(numbered).ok_or_else(|| {
        let names: Vec<&str> = kernel
            .parameters
            .iter()
            .map(|each| each.name.as_str())
            .collect();
        wrong("there is no such parameter")
            .hint(format!("its parameters: {}", visible(&names.join(", "))))
    })?;
    let (offset, size) = match offset {
        Some(offset) if offset.checked_add(4).is_none_or(|end| end > parameter.size) => {
            return Err(wrong("the parameter has no word there"));
        }
        Some(offset) => (offset, 4),
        None => (0, parameter.size.min(16)),
    };
    let bits = 8 * size;
    let fits = bits >= 127 || (-(1_i128 << (bits - 1))..1_i128 << bits).contains(&value);
    if !fits {
        return Err(wrong(&format!("the value does not fit {size} bytes")));
    }
    let bytes = value.to_le_bytes();
    let start = parameter.offset.saturating_add(offset);
    launch.set_bytes(start, bytes.get(..size as usize).unwrap_or(&bytes));
    Ok(())
}

fn number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value: i128 = match digits.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// Up to three numbers. Those that are missing are 0.
fn index(text: &str) -> Result<[u32; 3], String> {
    let mut index = [0; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("expected up to three numbers, as in 4 or 4,0,1".to_owned());
    }
    for (place, part) in index.iter_mut().zip(parts) {
        *place = part
            .trim()
            .parse()
            .map_err(|_| format!("`{part}` is not a number"))?;
    }
    Ok(index)
}
