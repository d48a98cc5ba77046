use warplock_kernel::{mlir, recover};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    let kernels = if path.ends_with(".ptx") {
        warplock_kernel::ptx::read(&text)
            .map_err(|e| format!("{e:?}"))
            .unwrap()
            .kernels
    } else {
        mlir::read(&text)
            .map_err(|e| format!("{e:?}"))
            .unwrap()
            .kernels
    };
    let only = std::env::args().nth(2);
    for kernel in &kernels {
        if only
            .as_ref()
            .is_some_and(|only| !kernel.name.contains(only.as_str()))
        {
            continue;
        }
        println!("## {}", kernel.name);
        let shape = recover::Shape {
            threads: kernel
                .bounds
                .required_threads
                .or(kernel.bounds.max_threads)
                .unwrap_or([128, 1, 1]),
            cluster: kernel.bounds.cluster.unwrap_or([1, 1, 1]),
        };
        let start = std::time::Instant::now();
        match recover::recover(kernel, shape) {
            Ok(found) => print!(
                "{}\n// independent: {} {:?} {:?}\n",
                found.text,
                found.independent,
                found.validation,
                start.elapsed()
            ),
            Err(obstacle) => println!(
                "OBSTACLE {} at {:?} {:?}",
                obstacle.reason,
                obstacle.location.line,
                start.elapsed()
            ),
        }
    }
}
