//! Python files on the command line. A stand-in for Python compiles what lies beside the file.

use std::os::unix::fs::PermissionsExt;

use warplock_artifacts::hooks;

use crate::support::binaries::hanging;
use crate::support::binaries::meeting;
use crate::support::program::Folder;

/// Lacks the modules of which there is a `no-NAME`; compiles each `.ptx` beside it, as Triton does. Its arguments are the
/// script that runs the file, the file, and where to say which line needs a GPU.
const STAND_IN: &str = r#"#!/bin/sh
if [ "$1" = -c ]; then
    shift 2
    for module; do
        if [ -f "no-$module" ]; then echo "$module"; fi
    done
    exit
fi
echo "running $2 for ${CUTE_DSL_ARCH-its own} ${TRITON_OVERRIDE_ARCH-GPU}"
mkdir -p "$TRITON_CACHE_DIR/ABC"
for kernel in *.ptx; do
    if [ -f "$kernel" ]; then cp "$kernel" "$TRITON_CACHE_DIR/ABC"; fi
done
echo "$TRITON_CACHE_DIR" > seen
if [ -f launches ]; then echo 12 > "$3"; fi
if [ -f fails ]; then exit 1; fi
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("kernel.py", "import triton\nimport triton.language as tl\n");
    let python = folder.file("python3", STAND_IN);
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn shown(folder: &Folder, arguments: &[&str]) -> String {
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut command = folder.command(arguments);
    command.env("PATH", path).env_remove("VIRTUAL_ENV");
    command
        .env_remove("CUTE_DSL_ARCH")
        .env_remove("TRITON_OVERRIDE_ARCH");
    folder.shown(&command.output().unwrap())
}

#[test]
fn a_file_is_run_and_what_it_compiles_is_checked() {
    let folder = folder();
    folder.file("meet.ptx", meeting("meet", "sm_90"));
    folder.file("hang.ptx", hanging("hang", "sm_90a"));
    let args = ["check", "-q", "kernel.py", "--arch", "sm_90a"];
    insta::assert_snapshot!(shown(&folder, &args), @r"
    exit 1
    --- stdout
    kernel.py[triton/ABC/hang.ptx]: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 has no statement for this barrier
    kernel.py[triton/ABC/meet.ptx]: deadlock: PROVED for every schedule: all 6 obligations of the kernel hold
    2 kernels: 1 REFUTED, 1 PROVED
    --- stderr
    running kernel.py for sm_90a sm90
    ");
    let cache = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    let private = std::path::Path::new(cache.trim()).parent().unwrap();
    assert!(!private.exists(), "{} is left", private.display());
    insta::assert_snapshot!(shown(&folder, &["lift", "kernel.py", "--entry", "meet"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `meet`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 5 launches, 10 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol meet

    named cta_bar[16]

    role warps0_1[w in 0..2] warp {
        sync cta_bar[0] 64  // line 7
    }
    --- stderr
    running: [folder]/python3 kernel.py
    running kernel.py for its own GPU
    ");
    insta::assert_snapshot!(shown(&folder, &["lift", "-q", "kernel.py"]), @"
    exit 2
    --- stdout
    --- stderr
    running kernel.py for its own GPU
    error: kernel.py holds 2 PTX texts: kernel.py[triton/ABC/hang.ptx], kernel.py[triton/ABC/meet.ptx]
    hint: name one of its kernels with --entry; warplock run --keep DIR -- python3 FILE keeps the files
    ");
}

#[test]
fn what_is_missing_is_said() {
    let folder = folder();
    insta::assert_snapshot!(shown(&folder, &["check", "kernel.py"]), @"
    exit 2
    --- stdout
    --- stderr
    running: [folder]/python3 kernel.py
    running kernel.py for its own GPU
    error: kernel.py compiles no kernel when it runs
    hint: call the kernel, or compile it as with cute.compile or triton.compile, at the end of the file
    ");
    folder.file("meet.ptx", meeting("meet", "sm_90"));
    folder.file("fails", "");
    insta::assert_snapshot!(shown(&folder, &["check", "-q", "kernel.py"]), @"
    exit 2
    --- stdout
    kernel.py[triton/ABC/meet.ptx]: deadlock: PROVED for every schedule: all 6 obligations of the kernel hold
    1 kernel: 1 PROVED
    --- stderr
    running kernel.py for its own GPU
    error: kernel.py ended with 1; what it had compiled by then is checked
    ");
    std::fs::remove_file(folder.path().join("fails")).unwrap();
    // A launch without a GPU behind it is no failure of what it compiled.
    folder.file("launches", "");
    insta::assert_snapshot!(shown(&folder, &["check", "-q", "kernel.py"]), @"
    exit 0
    --- stdout
    kernel.py[triton/ABC/meet.ptx]: deadlock: PROVED for every schedule: all 6 obligations of the kernel hold
    1 kernel: 1 PROVED
    --- stderr
    running kernel.py for its own GPU
    warning: kernel.py ends at line 12, which asks for a GPU; what it had compiled by then is checked
    ");
    folder.file("no-triton", "");
    insta::assert_snapshot!(shown(&folder, &["check", "kernel.py"]), @"
    exit 2
    --- stdout
    --- stderr
    error: kernel.py imports triton, which [folder]/python3 does not have
    hint: install it: [folder]/python3 -m pip install triton
    ");
    // pip refuses to install next to the Python of a distribution.
    let bin = folder.path().join("usr/bin");
    let library = folder.path().join("usr/lib/python3.11");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("EXTERNALLY-MANAGED"), "").unwrap();
    std::fs::rename(folder.path().join("python3"), bin.join("python3")).unwrap();
    let mut command = folder.command(&["check", "kernel.py"]);
    command.env("PATH", &bin).env_remove("VIRTUAL_ENV");
    insta::assert_snapshot!(folder.shown(&command.output().unwrap()), @"
    exit 2
    --- stdout
    --- stderr
    error: kernel.py imports triton, which [folder]/usr/bin/python3 does not have
    hint: install it: [folder]/usr/bin/python3 -m venv .venv && . .venv/bin/activate && pip install triton
    ");
    std::fs::rename(bin.join("python3"), folder.path().join("python3")).unwrap();
    folder.file("plain.py", "import numpy\n");
    insta::assert_snapshot!(shown(&folder, &["check", "plain.py"]), @"
    exit 2
    --- stdout
    --- stderr
    error: plain.py imports none of the kernel languages that are known: triton, cutlass, tilelang
    hint: warplock run -- python3 FILE runs any program
    ");
    insta::assert_snapshot!(shown(&folder, &["check", "missing.py"]), @"
    exit 2
    --- stdout
    --- stderr
    error: cannot read missing.py: No such file or directory (os error 2)
    ");
}

#[test]
fn a_file_that_fails_is_told_what_may_be_missing() {
    let folder = folder();
    folder.file("fails", "");
    let hint = |arguments: &[&str]| {
        let found = shown(&folder, arguments);
        let (_, hint) = found.rsplit_once("hint: ").unwrap();
        assert!(found.contains("ended with 1 before it compiled a kernel"));
        hint.to_owned()
    };
    insta::assert_snapshot!(hint(&["check", "kernel.py"]), @"its own message is above; where there is no GPU, --arch sm_90a says what to compile for");
    let named = ["check", "kernel.py", "--arch", "sm_90a"];
    insta::assert_snapshot!(hint(&named), @"its own message is above");
    // A compiler of the machine that runs the tests would be found.
    if warplock_artifacts::nvcc::find(&|name| std::env::var_os(name)).is_none() {
        folder.file("tile.py", "import tilelang\n");
        insta::assert_snapshot!(hint(&["check", "tile.py"]), @"TileLang compiles with nvcc, and none is found; install it: pip install nvidia-cuda-nvcc nvidia-cuda-cccl");
    }
}

#[test]
fn tilelang_and_triton_are_told_the_architecture_in_their_words() {
    let variables = hooks::architecture("sm_90a".parse().unwrap());
    let expected = [
        ("CUTE_DSL_ARCH", "sm_90a"),
        ("TRITON_OVERRIDE_ARCH", "sm90"),
        (
            "TILELANG_DEFAULT_TARGET",
            r#"{"kind":"cuda","arch":"sm_90a"}"#,
        ),
    ];
    assert_eq!(
        variables.map(|(name, value)| (name, value)),
        expected.map(|(name, value)| (name, value.to_owned()))
    );
}

/// A Python that has the languages comes before one that lacks them, and the caller's before both.
#[test]
fn the_python_at_hand_is_the_one_with_the_language() {
    let folder = folder();
    folder.file("meet.ptx", meeting("meet", "sm_90"));
    let other = |name: &str, script: &str| {
        let bin = folder.path().join(name).join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let python = bin.join("python3");
        std::fs::write(&python, script).unwrap();
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
        python
    };
    let named = |name: &str| STAND_IN.replace("running $2", &format!("{name} runs $2"));
    let caller = other("caller", &named("the caller"));
    other(
        "without",
        "#!/bin/sh\nif [ \"$1\" = -c ]; then echo triton; fi\n",
    );
    let runs = |caller: Option<&std::path::Path>| {
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut command = folder.command(&["check", "-q", "kernel.py"]);
        command
            .env("PATH", path)
            .env("VIRTUAL_ENV", folder.path().join("without"))
            .env_remove("WARPLOCK_PYTHON");
        if let Some(caller) = caller {
            command.env("WARPLOCK_PYTHON", caller);
        }
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(runs(Some(&caller)).contains("the caller runs kernel.py"));
    let found = runs(None);
    assert!(found.contains("running kernel.py"), "{found}");
}

/// The script that runs a file is Python, and says where a GPU was asked for.
#[test]
fn the_file_is_run_as_by_itself() {
    let folder = Folder::new();
    folder.file("run.py", hooks::STAND_IN);
    folder.file("helper.py", "WORD = 'found'\n");
    folder.file(
        "kernel.py",
        "import sys\nimport helper\nprint(__name__, __file__, sys.argv, helper.WORD)\n1 / 0\n",
    );
    let run = |file: &str| {
        let mut command = std::process::Command::new("python3");
        command
            .args(["run.py", file, "note"])
            .current_dir(folder.path());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    // A kernel that CuTe DSL replaces by one of the same name is kept.
    folder.file("overwritten.py", hooks::OVERWRITTEN);
    folder.file(
        "twice.py",
        "import os\nfor word in 'first', 'second':\n    open('dump/new', 'w').write(word)\n    os.replace('dump/new', 'dump/cute_dsl_k_clean.mlir')\n    open('dump/k.sm_90a.ptx', 'w').write(word)\nopen('dump/other.ptx', 'w')\n",
    );
    std::fs::create_dir(folder.path().join("dump")).unwrap();
    let mut command = std::process::Command::new("python3");
    command
        .args(["run.py", "twice.py", "note"])
        .env("CUTE_DSL_DUMP_DIR", "dump");
    assert!(
        command
            .current_dir(folder.path())
            .status()
            .unwrap()
            .success()
    );
    let dumped = std::fs::read_dir(folder.path().join("dump")).unwrap();
    let mut before = dumped
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let mut kept: Vec<String> = std::fs::read_dir(before.next().unwrap())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let content = std::fs::read_to_string(&path).unwrap();
            format!("{} {content}", path.file_name().unwrap().to_string_lossy())
        })
        .collect();
    kept.sort();
    assert_eq!(kept, ["cute_dsl_k_clean.mlir first", "k.sm_90a.ptx first"]);
    let (code, out, errors) = run("kernel.py");
    assert_eq!(code, Some(1));
    assert_eq!(out, "__main__ kernel.py ['kernel.py'] found\n");
    assert!(
        errors.starts_with("Traceback (most recent call last):\n  File \"kernel.py\", line 4"),
        "{errors}"
    );
    assert!(!folder.path().join("note").exists());
    // As torch does where there is no driver.
    std::fs::create_dir_all(folder.path().join("torch/cuda")).unwrap();
    folder.file("torch/__init__.py", "");
    folder.file(
        "torch/cuda/__init__.py",
        "def lazy():\n    raise RuntimeError('no driver')\n",
    );
    folder.file("launch.py", "import torch.cuda\n\ntorch.cuda.lazy()\n");
    let (code, _, errors) = run("launch.py");
    if std::path::Path::new("/proc/driver/nvidia").exists() {
        return;
    }
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let note = std::fs::read_to_string(folder.path().join("note")).unwrap();
    assert_eq!(note, "3");
}

#[test]
fn what_a_file_imports() {
    let names = |text: &str| -> Vec<&str> {
        hooks::languages(text)
            .iter()
            .map(|language| language.module)
            .collect()
    };
    assert_eq!(names("import torch, triton"), ["triton"]);
    assert_eq!(
        names("def f():\n    from cutlass.cute import x"),
        ["cutlass"]
    );
    assert_eq!(names("import tilelang.language as T"), ["tilelang"]);
    assert!(names("import tritonite\n# import triton").is_empty());
}
