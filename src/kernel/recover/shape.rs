//! The shape of a launch: how many threads a CTA has, and how many CTAs a cluster has.

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads per CTA along x, y, z.
    pub threads: [u32; 3],
    /// CTAs per cluster along x, y, z.
    pub cluster: [u32; 3],
}

impl Shape {
    /// Warps per CTA.
    pub fn warps(self) -> u32 {
        self.threads.iter().product::<u32>().div_ceil(32)
    }

    /// CTAs per cluster.
    pub fn ctas(self) -> u32 {
        self.cluster.iter().product()
    }
}
