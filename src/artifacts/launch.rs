//! Launch descriptions: files that a compiler writes beside a kernel.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

/// The known facts about a kernel's launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facts {
    /// Threads per CTA.
    pub threads: Option<[u32; 3]>,
    /// CTAs per cluster.
    pub cluster: Option<[u32; 3]>,
    /// The file that contains these facts; empty if nothing is known.
    pub source: String,
}

impl Facts {
    /// The assumptions of a verdict that uses these facts, as sentences.
    pub fn assumptions(&self, threads: bool, cluster: bool) -> Vec<String> {
        let mut all = Vec::new();
        let source = &self.source;
        if let Some([x, y, z]) = self.threads.filter(|_| threads) {
            all.push(format!(
                "the launch has {x} x {y} x {z} threads per CTA, as {source} says"
            ));
        }
        match self.cluster.filter(|_| cluster) {
            None => {}
            Some([1, 1, 1]) => all.push(format!("the launch has no clusters, as {source} says")),
            Some([x, y, z]) => all.push(format!(
                "the launch has clusters of {x} x {y} x {z} CTAs, as {source} says"
            )),
        }
        all
    }
}

/// The largest description that is read, in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// A CTA has no more threads.
const MOST_THREADS: u32 = 1024;

/// The contents of `NAME.json`, which Triton writes beside `NAME.ptx`.
#[derive(Deserialize)]
struct Metadata {
    num_warps: u32,
    #[serde(default)]
    num_ctas: Option<u32>,
    #[serde(default)]
    cluster_dims: Option<[u32; 3]>,
    #[serde(default)]
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    backend: String,
    #[serde(default)]
    warp_size: Option<u32>,
}

/// Reads the launch description beside a kernel. A file in another format gives no facts.
pub fn beside(kernel: &Path) -> Facts {
    let path = kernel.with_extension("json");
    let Ok(file) = File::open(&path) else {
        return Facts::default();
    };
    let mut bytes = Vec::new();
    if file.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
        return Facts::default();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    read(&bytes, &name)
}

/// Reads a description of this name.
pub fn read(bytes: &[u8], name: &str) -> Facts {
    let Ok(metadata) = serde_json::from_slice::<Metadata>(bytes) else {
        return Facts::default();
    };
    let target = metadata.target.as_ref();
    if target.is_some_and(|target| target.backend != "cuda") {
        return Facts::default();
    }
    let warp = target.and_then(|target| target.warp_size).unwrap_or(32);
    let warps = metadata.num_warps;
    let threads = warps.checked_mul(warp);
    let Some(threads) = threads.filter(|n| (1..=MOST_THREADS).contains(n)) else {
        return Facts::default();
    };
    // Older releases write the extents of a cluster, newer ones the number of its CTAs.
    let line = metadata.num_ctas.map(|ctas| [ctas, 1, 1]);
    let cluster = match metadata.cluster_dims {
        Some(dims) if dims != [1; 3] => Some(dims),
        _ => line.or(metadata.cluster_dims),
    };
    Facts {
        threads: Some([threads, 1, 1]),
        cluster,
        source: name.to_owned(),
    }
}
