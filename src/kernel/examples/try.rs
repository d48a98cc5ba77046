use warplock_kernel::{mlir, recover};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let module = mlir::read(&text).map_err(|e| format!("{e:?}")).unwrap();
    for kernel in &module.kernels {
        let shape = recover::Shape {
            threads: kernel.bounds.required_threads.or(kernel.bounds.max_threads).unwrap_or([128, 1, 1]),
            cluster: kernel.bounds.cluster.unwrap_or([1, 1, 1]),
        };
        let start = std::time::Instant::now();
        match recover::recover(kernel, shape) {
            Ok(found) => print!("{}\n// independent: {} {:?}\n", found.text, found.independent, start.elapsed()),
            Err(obstacle) => println!("OBSTACLE {} at {:?} {:?}", obstacle.reason, obstacle.location.line, start.elapsed()),
        }
    }
}
