//! Special registers.

use crate::ir::Special;

/// The special register with this name, and its width in bits. `component` is the component of a vector register.
pub fn special(name: &str, component: Option<&str>) -> Option<(Special, u16)> {
    let stem = name.strip_prefix('%')?;
    if let Some(component) = component {
        let axis = match component {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            // The component does not exist, and manuals disagree about its value.
            "w" => return special(name, Some("x")).map(|(_, width)| (Special::Other, width)),
            _ => return None,
        };
        let special = match stem {
            "tid" => Special::ThreadIndex(axis),
            "ntid" => Special::CtaThreads(axis),
            "ctaid" => Special::CtaIndex(axis),
            "nctaid" => Special::GridCtas(axis),
            "clusterid" => Special::ClusterIndex(axis),
            "nclusterid" => Special::GridClusters(axis),
            "cluster_ctaid" => Special::ClusterCtaIndex(axis),
            "cluster_nctaid" => Special::ClusterCtas(axis),
            _ => return None,
        };
        return Some((special, 32));
    }
    Some(match stem {
        "laneid" => (Special::Lane, 32),
        "warpid" => (Special::Warp, 32),
        "cluster_ctarank" => (Special::ClusterCtaRank, 32),
        "cluster_nctarank" => (Special::ClusterCtaCount, 32),
        "lanemask_eq" => (Special::LaneMaskEqual, 32),
        "lanemask_lt" => (Special::LaneMaskLess, 32),
        "lanemask_le" => (Special::LaneMaskLessEqual, 32),
        "lanemask_gt" => (Special::LaneMaskGreater, 32),
        "lanemask_ge" => (Special::LaneMaskGreaterEqual, 32),
        "dynamic_smem_size" => (Special::DynamicSharedSize, 32),
        "total_smem_size" => (Special::TotalSharedSize, 32),
        "clock" | "clock_hi" | "globaltimer_lo" | "globaltimer_hi" => (Special::Clock, 32),
        "clock64" | "globaltimer" => (Special::Clock, 64),
        // `nwarpid` is the number of warps that fit into the SM, not the number in the CTA.
        "nwarpid" | "smid" | "nsmid" | "aggr_smem_size" => (Special::Other, 32),
        "gridid" | "current_graph_exec" => (Special::Other, 64),
        "is_explicit_cluster" => (Special::Other, 1),
        _ => {
            // The value of a performance counter changes between reads.
            if let Some(counter) = stem.strip_prefix("pm") {
                let wide = counter.ends_with("_64");
                let digits = counter.strip_suffix("_64").unwrap_or(counter);
                let known = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                return known.then_some((Special::Clock, if wide { 64 } else { 32 }));
            }
            let numbered = stem.strip_prefix("envreg").is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            });
            if numbered || stem.starts_with("reserved_smem_offset_") {
                (Special::Other, 32)
            } else {
                return None;
            }
        }
    })
}
