//! A Python script that builds a pattern with PyTorch and shows, without a GPU, whether it hangs.
//!
//! The script is self-contained. It has the arrays, an explicit table of lock values in the visiting order, and a run
//! of `wait sem[m] == lock; sem[m] += 1` in plain Python. Without PyTorch, it only does the run.

use super::model::BlockSparse;
use super::write::Arrays;
use super::write::bracketed;

/// How the CTAs take turns at each row tile, for [`to_torch_script`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockScheme {
    /// The row tiles that CTA 0 visits, in visiting order, then those of CTA 1, and so on. For each CTA there are as
    /// many as the pattern lists.
    pub rows: Vec<u32>,
    /// What `sem[m]` has to be before CTA `n` may add to row tile `m`, for every visited tile in
    /// the order of `rows`. Missing values count as 0.
    pub locks: Vec<i64>,
    /// The CTAs in the order they start. Those left out never start.
    pub launch: Vec<usize>,
    /// The most CTAs that have started and not finished at any time; at least 1.
    pub resident: usize,
}

impl LockScheme {
    /// A scheme with the lock `lock(n, m)` for each visited tile. Rows are as the pattern lists them, CTAs start in
    /// ascending order, and all are resident.
    pub fn new(tiles: &BlockSparse, mut lock: impl FnMut(usize, usize) -> i64) -> Self {
        LockScheme {
            rows: tiles.entries().map(|entry| entry.m).collect(),
            locks: tiles
                .entries()
                .map(|entry| lock(entry.n as usize, entry.m as usize))
                .collect(),
            launch: (0..tiles.n_blocks()).collect(),
            resident: tiles.n_blocks().max(1),
        }
    }

    /// The lock `n`: correct only where the visitors of every row tile are `0..k`.
    pub fn index(tiles: &BlockSparse) -> Self {
        LockScheme::new(tiles, |n, _| n as i64)
    }

    /// The rank lock: how many CTAs below `n` visit the same row tile.
    pub fn rank(tiles: &BlockSparse) -> Self {
        LockScheme::new(tiles, |n, m| tiles.rank(n, m).unwrap_or(0) as i64)
    }
}

/// The script. `header` becomes comment lines at its top. It exits with status 1 when a CTA is
/// left waiting.
pub fn to_torch_script(tiles: &BlockSparse, scheme: &LockScheme, header: &[&str]) -> String {
    let mut script = String::new();
    for line in header.iter().flat_map(|line| line.lines()) {
        script += format!("# {line}").trim_end();
        script.push('\n');
    }
    script += "import sys\n\n";
    script += &format!("M_BLOCKS = {}\n", tiles.m_blocks());
    script += "ARRAYS = {\n";
    for (name, values) in Arrays::new(tiles).named {
        script += &format!("    \"{name}\": {},\n", bracketed(&values));
    }
    script +=
        "}\n\n# For each CTA n, the row tiles it visits in order and the value each waits for.\n";
    script += "VISITS = [\n";
    let locks = scheme.locks.iter().copied().chain(std::iter::repeat(0));
    let mut visits = scheme.rows.iter().zip(locks);
    for n in 0..tiles.n_blocks() {
        let visits = visits.by_ref().take(tiles.row(n).len());
        let visits: Vec<String> = visits.map(|(m, lock)| format!("({m}, {lock})")).collect();
        script += &format!("    [{}],\n", visits.join(", "));
    }
    script += "]\n";
    script += &format!("LAUNCH = {}\n", bracketed(&scheme.launch));
    script += &format!("RESIDENT = {}\n", scheme.resident.max(1));
    script += CHECK;
    script
}

const CHECK: &str = r#"

def build():
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    return {
        name: torch.tensor(values, dtype=torch.int32, device=device)
        for name, values in ARRAYS.items()
    }


def run():
    """Runs every CTA as far as it goes: wait sem[m] == lock, then sem[m] += 1."""
    sem = [0] * M_BLOCKS
    waiting = list(LAUNCH)
    resident = []
    done = [0] * len(VISITS)
    while True:
        moved = False
        while waiting and len(resident) < RESIDENT:
            resident.append(waiting.pop(0))
            moved = True
        for n in list(resident):
            while done[n] < len(VISITS[n]):
                m, lock = VISITS[n][done[n]]
                if sem[m] != lock:
                    break
                sem[m] += 1
                done[n] += 1
                moved = True
            if done[n] == len(VISITS[n]):
                resident.remove(n)
                moved = True
        if not moved:
            return sem, resident, waiting, done


def main():
    try:
        for name, tensor in build().items():
            print(f"{name} = {tensor}")
    except ImportError:
        print("torch is not installed: the tensors are not built")

    sem, blocked, waiting, done = run()
    visitors = [0] * M_BLOCKS
    for row in VISITS:
        for m, _ in row:
            visitors[m] += 1
    for m in range(M_BLOCKS):
        word = "complete" if sem[m] == visitors[m] else "INCOMPLETE"
        print(f"m = {m}: {sem[m]} of {visitors[m]} visitors, {word}")
    for n in blocked:
        m, lock = VISITS[n][done[n]]
        print(f"CTA {n} waits for sem[{m}] == {lock}; it is {sem[m]}")
    if waiting:
        print(f"never started: {waiting}")
    print("HANG" if blocked or waiting else "every CTA finishes")
    sys.exit(1 if blocked or waiting else 0)


if __name__ == "__main__":
    main()
"#;
