//! Writes a failing input to a file: the six arrays, the parameters, or a script that shows the hang.

use std::io;

use crate::protocol::Comparison;
use crate::protocol::Protocol;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step::Action;
use crate::tensors::BlockSparse;
use crate::tensors::torch;
use crate::tensors::torch::LockScheme;
use crate::tensors::write;

use super::cuda;
use super::cuda::Played;
use super::cuda::Unplayable;
use super::failure::Failure;
use super::family::Origin;
use super::script;

/// The forms in which arrays and failures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emission {
    /// The six arrays, with parameters beside them.
    Json,
    /// NumPy's archive.
    Npz,
    /// Named tensors.
    Safetensors,
    /// A Python script that builds the tensors and shows the hang without a GPU.
    Torch,
    /// A CUDA program that hangs on a GPU, and says where.
    Cuda,
}

impl Emission {
    /// Every form.
    pub const ALL: [Emission; 5] = [
        Emission::Json,
        Emission::Npz,
        Emission::Safetensors,
        Emission::Torch,
        Emission::Cuda,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Emission::Json => "json",
            Emission::Npz => "npz",
            Emission::Safetensors => "safetensors",
            Emission::Torch => "torch",
            Emission::Cuda => "cuda",
        }
    }

    /// Whether it is text.
    pub fn is_text(self) -> bool {
        matches!(self, Emission::Json | Emission::Torch | Emission::Cuda)
    }
}

/// Why a failure cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// Only arrays fit the form, and there are none.
    #[error(
        "{0} holds arrays only, and this protocol does not have exactly one open pattern over \
         column and row tiles: use json or torch"
    )]
    NoArrays(&'static str),
    /// A script cannot express what the protocol does.
    #[error("a script does not replay an atomic operation that reads what it changes: use json")]
    Atomic,
    /// A GPU cannot play the run.
    #[error("a CUDA program does not play this run: {0}")]
    Unplayable(#[from] Unplayable),
    /// A run is needed, and there are only tensors.
    #[error("a CUDA program plays the run of a protocol: use `warplock repro --emit cuda`")]
    NoRun,
    /// Writing to memory failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Arrays without a scheme, in any form but a script.
///
/// # Errors
/// A CUDA program, which plays a run.
pub fn arrays(
    tiles: &BlockSparse,
    scheme: &LockScheme,
    origin: &str,
    form: Emission,
) -> Result<Vec<u8>, EmitError> {
    match form {
        Emission::Json => Ok(write::to_json(tiles, Some(origin)).into_bytes()),
        Emission::Npz => Ok(write::to_npz(tiles)?),
        Emission::Safetensors => Ok(write::to_safetensors(tiles)?),
        Emission::Cuda => Err(EmitError::NoRun),
        Emission::Torch => Ok(torch::to_torch_script(tiles, scheme, &[origin]).into_bytes()),
    }
}

/// A failure in one of the forms. `headline` says what it is, for people.
///
/// # Errors
/// A failure without arrays in a form that holds arrays only.
pub fn failure(
    protocol: &Protocol,
    failure: &Failure,
    headline: &str,
    form: Emission,
) -> Result<Vec<u8>, EmitError> {
    match (form, &failure.tiles) {
        (Emission::Json, tiles) => Ok(json(failure, tiles.as_ref(), headline).into_bytes()),
        (Emission::Npz, Some(tiles)) => Ok(write::to_npz(tiles)?),
        (Emission::Safetensors, Some(tiles)) => Ok(write::to_safetensors(tiles)?),
        (Emission::Cuda, _) => {
            let run = Played {
                name: headline,
                source: &protocol.source,
                instance: &failure.instance,
                schedule: &failure.schedule,
            };
            Ok(cuda::program(&[run], &[headline])?.into_bytes())
        }
        (Emission::Torch, _) if protocol.atomic().is_some() => Err(EmitError::Atomic),
        (Emission::Torch, tiles) => {
            let scheme = tiles.as_ref().and_then(|tiles| {
                Some((
                    tiles,
                    lock_scheme(tiles, &failure.instance, &failure.schedule)?,
                ))
            });
            let parameters: Vec<String> = failure
                .witness
                .parameters
                .iter()
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            let parameters = format!("{}: {}", protocol.name, parameters.join(", "));
            let text = match scheme {
                Some((tiles, scheme)) => {
                    torch::to_torch_script(tiles, &scheme, &[headline, &parameters])
                }
                None => script::replay(failure, &[headline, &parameters]),
            };
            Ok(text.into_bytes())
        }
        (form, None) => Err(EmitError::NoArrays(form.name())),
    }
}

/// The parameters as JSON, and what the pattern was made from.
fn json(failure: &Failure, tiles: Option<&BlockSparse>, headline: &str) -> String {
    let mut object = serde_json::Map::new();
    object.insert(
        "protocol".to_owned(),
        failure.witness.protocol.clone().into(),
    );
    let parameters = serde_json::to_value(&failure.witness.parameters);
    object.insert("parameters".to_owned(), parameters.unwrap_or_default());
    if let Some(origin) = &failure.origin {
        object.insert("made_from".to_owned(), origin_json(origin));
    }
    let Some(tiles) = tiles else {
        object.insert("origin".to_owned(), headline.into());
        let text = serde_json::to_string_pretty(&object).unwrap_or_default();
        return text + "\n";
    };
    let arrays = write::to_json(tiles, Some(headline));
    let mut text = String::from("{\n");
    for (name, value) in object {
        text += &format!("  {}: {value},\n", serde_json::Value::from(name));
    }
    text + arrays.strip_prefix("{\n").unwrap_or(&arrays)
}

/// What a pattern was made from, as JSON.
pub fn origin_json(origin: &Origin) -> serde_json::Value {
    match origin {
        Origin::Packing { lengths, tiling } => serde_json::json!({
            "family": if tiling.causal { "packed-causal" } else { "packed" },
            "segments": lengths,
            "tokens": lengths.iter().sum::<u64>(),
            "tile_m": tiling.tile_m,
            "tile_n": tiling.tile_n,
        }),
        Origin::Window {
            sq,
            sk,
            left,
            right,
            tile,
        } => serde_json::json!({
            "family": if left.is_some() { "local" } else { "causal" },
            "sq": sq,
            "sk": sk,
            "wl": left,
            "wr": right,
            "tile_m": tile.m,
            "tile_n": tile.n,
        }),
    }
}

/// The scheme of an instance, if it only takes turns at the tiles of these arrays in their order; `None` for any
/// other instance. The launch order is that of the instance. If it is open, it is that of the run.
fn lock_scheme(
    tiles: &BlockSparse,
    instance: &Instance,
    schedule: &[Action],
) -> Option<LockScheme> {
    let [role] = &instance.roles[..] else {
        return None;
    };
    let zero = CellStart::Semaphore(0);
    if instance.cells.iter().any(|cell| *cell != zero)
        || instance.members.len() != tiles.n_blocks()
        || instance.cells.len() != tiles.m_blocks()
    {
        return None;
    }
    let mut locks = Vec::with_capacity(tiles.len());
    for (n, member) in instance.members.iter().enumerate() {
        let (pairs, rest) = member.ops.as_chunks::<2>();
        if !rest.is_empty() || pairs.len() != tiles.row(n).len() {
            return None;
        }
        for ([wait, add], m) in pairs.iter().zip(tiles.row(n)) {
            let OpKind::Wait(Comparison::Equal, lock) = wait.kind else {
                return None;
            };
            if add.kind != OpKind::Add(1) || add.cell != wait.cell || wait.cell.0 != *m {
                return None;
            }
            locks.push(lock);
        }
    }
    let plan = role.launch.as_ref();
    let mut launch = plan.and_then(|plan| plan.order.clone()).unwrap_or_default();
    if launch.is_empty() {
        let mut starts: Vec<usize> = schedule
            .iter()
            .filter_map(|action| match action {
                Action::Launch(member) => Some(*member),
                Action::Step(_) | Action::Land(..) => None,
            })
            .collect();
        let rest: Vec<usize> = (0..instance.members.len())
            .filter(|n| !starts.contains(n))
            .collect();
        starts.extend(rest);
        launch = starts;
    }
    Some(LockScheme {
        rows: tiles.entries().map(|entry| entry.m).collect(),
        locks,
        launch,
        resident: plan
            .and_then(|plan| plan.resident)
            .unwrap_or(instance.members.len())
            .max(1),
    })
}
