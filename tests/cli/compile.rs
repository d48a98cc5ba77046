//! CUDA C++ on the command line. A stand-in for nvcc gives the PTX that lies beside the source.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::binaries::UNBOUNDED;
use crate::support::binaries::hanging;
use crate::support::program::Folder;

/// Copies `NAME.ptx` for `NAME.cu`, and warns; fails where there is none.
const STAND_IN: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do
    [ "$1" = -o ] && output=$2
    shift
done
if [ -f "${1%.cu}.ptx" ]; then
    echo "$1(1): warning: unused variable"
    cp "${1%.cu}.ptx" "$output"
else
    echo "$1(2): error: expected a declaration" >&2
    exit 1
fi
"#;

/// A folder with a source, what becomes of it, and the stand-in at this place.
fn folder(place: &str) -> Folder {
    let folder = Folder::new();
    let source = "// nvcc -arch=sm_90a\n__global__ void hang() {}\n";
    folder.file("kernel.cu", source);
    folder.file("kernel.ptx", hanging("hang", "sm_90a"));
    folder.file("broken.cu", source);
    let program = folder.path().join(place);
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, STAND_IN).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs without what this machine has, but with these variables. `PATH` has the shell's tools.
fn shown(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let tools = folder.path().join("tools");
    if !tools.exists() {
        std::fs::create_dir(&tools).unwrap();
        for tool in ["cp", "sh"] {
            std::os::unix::fs::symlink(format!("/bin/{tool}"), tools.join(tool)).unwrap();
        }
    }
    let mut command: Command = folder.command(arguments);
    for name in [
        "CUDA_HOME",
        "CUDA_PATH",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "WARPLOCK_PYTHON",
    ] {
        command.env_remove(name);
    }
    command.env("HOME", folder.path());
    let mut path = tools.display().to_string();
    for (name, value) in variables {
        let value = folder.path().join(value);
        match *name {
            "PATH" => path = format!("{}:{path}", value.display()),
            _ => {
                command.env(name, value);
            }
        }
    }
    let shown = folder.shown(&command.env("PATH", path).output().unwrap());
    // The result goes to a folder of no fixed name.
    let mut out = String::new();
    for line in shown.split_inclusive('\n') {
        match (line.find(" -o "), line.find("/kernel.ptx ")) {
            (Some(from), Some(to)) => {
                out.push_str(&format!("{} -o [private]{}", &line[..from], &line[to..]));
            }
            _ => out.push_str(line),
        }
    }
    out
}

#[test]
fn a_source_is_compiled_and_checked() {
    let folder = folder("bin/nvcc");
    let path = [("PATH", "bin")];
    insta::assert_snapshot!(shown(&folder, &["check", "-q", "kernel.cu"], &path), @r"
    exit 1
    --- stdout
    kernel.cu: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 has no statement for this barrier
    --- stderr
    kernel.cu(1): warning: unused variable
    ");
    let args = [
        "check",
        "kernel.cu",
        "--arch",
        "sm_100a",
        "--nvcc-option=-Iinclude dir",
    ];
    insta::assert_snapshot!(shown(&folder, &args, &path), @"
    exit 1
    --- stdout
    kernel.cu: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 has no statement for this barrier
        --> PTX of kernel.cu:12
      12 | bar.sync 1, 64;
      element     start  now                waited for                changed by  completes
      cta_bar[1]  -      32 threads: warp1  warp1 64 threads (never)  nobody      no
      trace: 1  warp1  comes to cta_bar[1]: 32 threads: warp1  (line 12)
      minimal: the protocol has no parameters that could be smaller
      notes: lint at line 12: barrier 1 counts 64 threads, but only 32 come to it (`warplock explain arrival-count`)
      assumptions: lanes of a warp that diverge reconverge where their paths meet; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      decided by adversarial schedules in [time]
    --- stderr
    running: [folder]/bin/nvcc -ptx -lineinfo -arch=sm_100a '-Iinclude dir' -o [private]/kernel.ptx kernel.cu
    kernel.cu(1): warning: unused variable
    ");
    insta::assert_snapshot!(shown(&folder, &["lift", "kernel.cu"], &path), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `hang`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 5 launches, 5 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol hang

    named cta_bar[16]

    role warp0 warp {}

    role warp1 warp {
        sync cta_bar[1] 64  // line 12
    }
    --- stderr
    running: [folder]/bin/nvcc -ptx -lineinfo -arch=sm_90a -o [private]/kernel.ptx kernel.cu
    kernel.cu(1): warning: unused variable
    ");
    insta::assert_snapshot!(shown(&folder, &["lint", "-q", "kernel.cu"], &path), @"
    exit 1
    --- stdout
    kernel.cu:hang: arrival-count: line 12: barrier 1 counts 64 threads, but only 32 come to it
    --- stderr
    kernel.cu(1): warning: unused variable
    ");
    insta::assert_snapshot!(shown(&folder, &["trace", "-q", "kernel.cu"], &path), @"
    exit 0
    --- stdout
    hang: every wait passes
      threads 64 x 1 x 1
      grid 1 x 1 x 1
    warp 0: no events
    warp 1: 1 event
      sync 1, 64 threads                                          line 12
    --- stderr
    kernel.cu(1): warning: unused variable
    ");
}

#[test]
fn what_the_compiler_refuses_is_shown() {
    let folder = folder("bin/nvcc");
    insta::assert_snapshot!(shown(&folder, &["check", "broken.cu"], &[("PATH", "bin")]), @"
    exit 2
    --- stdout
    --- stderr
    running: [folder]/bin/nvcc -ptx -lineinfo -arch=sm_90a -o [private]/kernel.ptx broken.cu
    broken.cu(2): error: expected a declaration
    error: broken.cu does not compile for sm_90a
    hint: --arch chooses the architecture, --nvcc-option=-I... an include folder
    ");
    insta::assert_snapshot!(shown(&folder, &["check", "missing.cu"], &[("PATH", "bin")]), @"
    exit 2
    --- stdout
    --- stderr
    error: cannot read missing.cu: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(shown(&folder, &["check", "kernel.ptx", "--arch", "90"], &[]), @r"
    exit 2
    --- stdout
    --- stderr
    error: --arch has no effect on kernel.ptx, which is a text
    hint: leave --arch out, or give the .cu file, the Python file or the binary
    ");
}

/// A file that an option says nothing about is in no other's way.
#[test]
fn options_of_the_compiler_fit_some_file() {
    let folder = folder("bin/nvcc");
    folder.library("lock_n_block.wlk");
    let path = [("PATH", "bin")];
    let args = [
        "check",
        "-q",
        "kernel.cu",
        "lock_n_block.wlk",
        "--arch",
        "sm_90a",
    ];
    let found = shown(&folder, &args, &path);
    assert!(found.starts_with("exit 1\n"), "{found}");
    assert_eq!(found.matches("deadlock: REFUTED").count(), 2, "{found}");
    insta::assert_snapshot!(shown(&folder, &["check", "kernel.ptx", "lock_n_block.wlk", "--nvcc-option=-I."], &[]), @"
    exit 2
    --- stdout
    --- stderr
    error: --nvcc-option has no effect on these files
    hint: leave --nvcc-option out, or give the .cu file
    ");
}

#[test]
fn a_source_without_a_kernel_says_so() {
    let folder = folder("bin/nvcc");
    folder.file(
        "kernel.ptx",
        ".version 9.0\n.target sm_90\n.address_size 64\n",
    );
    insta::assert_snapshot!(shown(&folder, &["check", "-q", "kernel.cu"], &[("PATH", "bin")]), @"
    exit 2
    --- stdout
    --- stderr
    kernel.cu(1): warning: unused variable
    error: kernel.cu compiles no kernel
    hint: instantiate the template, as in `template __global__ void scale<4>(float *);`, or give the file with the kernel
    ");
    // A line of the PTX is none of the source.
    folder.file("kernel.ptx", UNBOUNDED);
    let found = shown(&folder, &["check", "-q", "kernel.cu"], &[("PATH", "bin")]);
    assert!(found.contains("[ PTX of kernel.cu:"), "{found}");
    let args = ["check", "-q", "kernel.cu", "--format", "github"];
    folder.file("kernel.ptx", hanging("hang", "sm_90a"));
    let found = shown(&folder, &args, &[("PATH", "bin")]);
    assert!(found.contains("file=kernel.cu,line=1,"), "{found}");
}

/// Next to the runtime that torch brings, another version of the compiler refuses the headers.
#[test]
fn the_compiler_that_is_proposed_fits_the_runtime() {
    let folder = folder("bin/nvcc");
    let packages = folder.path().join("env/lib/python3.11/site-packages");
    std::fs::create_dir_all(packages.join("nvidia_cuda_runtime-13.2.86.dist-info")).unwrap();
    let environment = ("VIRTUAL_ENV", "env");
    if !std::path::Path::new("/usr/local/cuda/bin/nvcc").exists() {
        let found = shown(&folder, &["check", "kernel.cu"], &[environment]);
        let hint = "hint: install it: pip install 'nvidia-cuda-nvcc==13.2.*' nvidia-cuda-cccl\n";
        assert!(found.ends_with(hint), "{found}");
    }
    let refusing = "#!/bin/sh\necho 'cuda_toolkit.h(41): error: #error \"CUDA compiler and CUDA toolkit headers are incompatible, please check your include paths\"'\nexit 1\n";
    std::fs::write(folder.path().join("bin/nvcc"), refusing).unwrap();
    let found = shown(
        &folder,
        &["check", "-q", "kernel.cu"],
        &[environment, ("PATH", "bin")],
    );
    let hint = "hint: this nvcc is of another version than the headers that it finds: pip install 'nvidia-cuda-nvcc==13.2.*' nvidia-cuda-cccl\n";
    assert!(found.ends_with(hint), "{found}");
}

/// pip refuses to install next to the Python of a distribution.
#[test]
fn an_environment_is_proposed_where_pip_would_refuse() {
    if std::path::Path::new("/usr/local/cuda/bin/nvcc").exists() {
        return;
    }
    let folder = folder("usr/bin/python3");
    let library = folder.path().join("usr/lib/python3.11");
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("EXTERNALLY-MANAGED"), "").unwrap();
    let found = shown(&folder, &["check", "kernel.cu"], &[("PATH", "usr/bin")]);
    let hint = "hint: install it: [folder]/usr/bin/python3 -m venv .venv && . .venv/bin/activate && pip install nvidia-cuda-nvcc nvidia-cuda-cccl\n";
    assert!(found.ends_with(hint), "{found}");
    // In an environment pip installs there.
    let inside = [("PATH", "usr/bin"), ("VIRTUAL_ENV", "env")];
    let found = shown(&folder, &["check", "kernel.cu"], &inside);
    let hint = "hint: install it: pip install nvidia-cuda-nvcc nvidia-cuda-cccl\n";
    assert!(found.ends_with(hint), "{found}");
}

#[test]
fn the_compiler_is_found_where_people_have_it() {
    let places = [
        ("toolkit/bin/nvcc", ("CUDA_HOME", "toolkit")),
        (
            "env/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc",
            ("VIRTUAL_ENV", "env"),
        ),
        (
            "caller/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc",
            ("WARPLOCK_PYTHON", "caller/bin/python3"),
        ),
    ];
    for (place, variable) in places {
        let folder = folder(place);
        let found = shown(&folder, &["check", "kernel.cu"], &[variable]);
        let running = format!("running: [folder]/{place} -ptx -lineinfo -arch=sm_90a");
        assert!(found.contains(&running), "{found}");
        assert!(found.contains("deadlock: REFUTED"), "{found}");
    }
    // A toolkit of the machine that runs the tests would be found.
    if !std::path::Path::new("/usr/local/cuda/bin/nvcc").exists() {
        let without = shown(&folder("elsewhere/nvcc"), &["check", "kernel.cu"], &[]);
        insta::assert_snapshot!(without, @r"
        exit 2
        --- stdout
        --- stderr
        error: kernel.cu is CUDA C++, and no nvcc is on PATH, in CUDA_HOME, CUDA_PATH or /usr/local/cuda, or among the Python packages
        hint: install it: pip install nvidia-cuda-nvcc nvidia-cuda-cccl
        ");
    }
}

#[test]
fn the_newest_architecture_that_is_asked_for() {
    let asked = |text: &str| {
        let folder = Folder::new();
        let path = folder.file("kernel.cu", text);
        warplock_artifacts::arch::asked(&path).map(|arch| arch.to_string())
    };
    let cases = [
        ("__global__ void f() {}", None),
        ("// runs on sm_80 and sm_90a", Some("sm_90a")),
        ("#if __CUDA_ARCH__ >= 1000\n#endif", Some("sm_100")),
        ("#if __CUDA_ARCH__ < 1000\n#endif", None),
        (
            "#if __CUDA_ARCH__>=800 && __CUDA_ARCH__ >= 750",
            Some("sm_80"),
        ),
        ("using Arch = cutlass::arch::Sm90;", Some("sm_90a")),
        ("asm_120 transform_sm_ sm_9 sm_999 sm_90x", None),
        ("asm(\"cp.async.bulk.shared::cluster\");", Some("sm_90")),
        // Instructions of one family outweigh names of others.
        ("asm(\"wgmma.fence\"); // not for sm_100", Some("sm_90a")),
        ("asm(\"tcgen05.alloc\"); // was sm_90a", Some("sm_100a")),
        ("asm(\"tcgen05.alloc\"); // sm_103a", Some("sm_103a")),
    ];
    for (text, expected) in cases {
        assert_eq!(asked(text).as_deref(), expected, "{text}");
    }
    let folder = Folder::new();
    folder.file(
        "sync.cuh",
        "asm(\"mbarrier.try_wait\");\n#include \"kernel.cu\"\n",
    );
    let path = folder.file("kernel.cu", "#include <vector>\n#  include \"sync.cuh\"\n");
    let arch = warplock_artifacts::arch::asked(&path).map(|arch| arch.to_string());
    assert_eq!(arch.as_deref(), Some("sm_90"));
}
