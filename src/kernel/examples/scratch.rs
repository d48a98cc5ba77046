use std::collections::BTreeMap;
use warplock_kernel::ir::*;
fn main() {
    let verbose = std::env::var("V").is_ok();
    let mut all: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let begin = std::time::Instant::now();
        match warplock_kernel::mlir::read(&text) {
            Ok(module) => {
                for k in &module.kernels {
                    let mut un: BTreeMap<String, usize> = BTreeMap::new();
                    let (mut ops, mut opaque, mut sync) = (0, 0, 0);
                    for b in &k.blocks {
                        for o in &b.operations {
                            ops += 1;
                            match &o.kind {
                                OperationKind::Unsupported {
                                    mnemonic, reason, ..
                                } => {
                                    *un.entry(mnemonic.clone()).or_default() += 1;
                                    let e = all
                                        .entry(format!("{mnemonic} [{}]", reason))
                                        .or_insert((0, format!("{path}:{}", o.location.line)));
                                    e.0 += 1;
                                }
                                OperationKind::Opaque { .. } => opaque += 1,
                                OperationKind::Synchronization(_) => sync += 1,
                                _ => {}
                            }
                            if verbose {
                                println!("   {:?} {:?}", o.location.line, o.kind);
                            }
                        }
                        if verbose {
                            println!("{} -> {:?}", b.label, b.end);
                        }
                    }
                    println!(
                        "{} {} blocks {} ops {ops} opaque {opaque} sync {sync} params {} vars {} bounds {:?}/{:?} UNSUPPORTED {:?} {:?}",
                        path.rsplit('/').next().unwrap(),
                        k.name.chars().take(30).collect::<String>(),
                        k.blocks.len(),
                        k.parameters.len(),
                        k.variables.len(),
                        k.bounds.required_threads,
                        k.bounds.cluster,
                        un,
                        begin.elapsed()
                    );
                }
            }
            Err(e) => println!("ERR {path} {e}"),
        }
    }
    for (k, v) in all {
        println!("{} {} {}", v.0, k, v.1);
    }
}
