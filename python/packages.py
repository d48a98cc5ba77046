#!/usr/bin/env python3
"""Builds what is handed on: a wheel and an archive for each platform, in target/packages.

    python3 python/packages.py                      # for this machine's platform
    python3 python/packages.py TARGET...            # for these, see hatch_build.py
    python3 python/packages.py --check [WHEEL]      # only the checks of this machine's wheel
    python3 python/packages.py --check WHEEL --python PYTHON   # those of another machine's wheel

Needs Rust, Python with pip and venv, and the package registries; the tools come from PyPI. RUSTC names
another compiler than that on PATH. PYTHON is an interpreter of the other machine, which an emulator runs.
"""

import argparse
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "target/packages"
LARGEST = 35 * 1000 * 1000
# And how the name of the wheel for each ends.
TARGETS = {"x86_64-unknown-linux-gnu": "x86_64", "aarch64-unknown-linux-gnu": "aarch64", "aarch64-apple-darwin": "arm64"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--check", type=Path, nargs="?", const=True, help=argparse.SUPPRESS)
    parser.add_argument("--python", type=Path, default=sys.executable, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.check:
        check(newest() if arguments.check is True else arguments.check.resolve(), arguments.python)
        return
    for target in arguments.targets:
        if target not in TARGETS:
            parser.error(f"no target {target!r}; there are {', '.join(TARGETS)}")
    PACKAGES.mkdir(parents=True, exist_ok=True)
    tools = install_tools()
    for target in arguments.targets or [here()]:
        started = time.monotonic()
        wheel = build_wheel(tools, target)
        archive = write_archive(wheel, target)
        for file in (wheel, archive):
            size = file.stat().st_size
            print(f"{file.relative_to(ROOT)}: {size / 1e6:.1f} MB")
            if size > LARGEST:
                sys.exit(f"that is more than {LARGEST / 1e6:.0f} MB")
        print(f"{target}: built in {time.monotonic() - started:.0f} s")
        if target == here():
            check(wheel, sys.executable)


def here():
    """The target that runs on this machine."""
    machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    system = "apple-darwin" if sys.platform == "darwin" else "unknown-linux-gnu"
    target = f"{machine}-{system}"
    if target not in TARGETS:
        sys.exit(f"there is no package for {target}")
    return target


def newest():
    """The wheel for this machine that was built last."""
    fitting = PACKAGES.glob(f"*{TARGETS[here()]}.whl")
    return max(fitting, key=lambda wheel: wheel.stat().st_mtime)


def install_tools():
    """A virtual environment with the build tools. Returns its folder of programs."""
    folder = PACKAGES / "tools"
    venv.create(folder, with_pip=True)
    run([folder / "bin/pip", "install", "--quiet", "--requirement", ROOT / "python/requirements.txt"])
    return folder / "bin"


def build_wheel(tools, target):
    """Builds the wheel for a target; hatch_build.py builds the program."""
    environment = {
        **os.environ,
        **standard_library(target),
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "WARPLOCK_TARGET": target,
    }
    with tempfile.TemporaryDirectory(dir=PACKAGES) as folder:
        run([tools / "hatchling", "build", "--target", "wheel", "--directory", folder], environment)
        (built,) = Path(folder).glob("*.whl")
        return built.replace(PACKAGES / built.name)


def standard_library(target):
    """What the build needs in its environment so that the target's standard library is there.

    It comes with the compiler, from rustup, or it is compiled from its sources, which Debian packages as
    rust-src. The last one is how a machine that reaches no rustup builds for macOS. Debian has the library itself
    for aarch64 (libstd-rust-dev:arm64).
    """
    rustc = os.environ.get("RUSTC", "rustc")
    query = [rustc, "--print", "target-libdir", "--target", target]
    library = Path(subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip())
    if any(library.glob("libstd-*.rlib")):
        return {}
    if "RUSTC" not in os.environ and shutil.which("rustup"):
        run(["rustup", "target", "add", target])
        return {}
    sources = library.parents[1] / "src/rust/library/std"
    if sources.exists():
        # Cargo compiles a standard library on nightly only, unless it is told that this compiler will do.
        return {"RUSTC_BOOTSTRAP": "1", "CARGO_UNSTABLE_BUILD_STD": "std,panic_abort"}
    sys.exit(
        f"{rustc} has no standard library for {target}; install it, or its sources "
        f"(Debian: libstd-rust-dev:arm64, or rust-src)"
    )


def write_archive(wheel, target):
    """The same program without Python: `bin/warplock` finds `lib/libz3` beside it."""
    version = wheel.name.split("-")[1]
    name = f"warplock-{version}-{target}"
    archive = PACKAGES / f"{name}.tar.gz"
    with zipfile.ZipFile(wheel) as packed, tarfile.open(archive, "w:gz") as out:
        for member in sorted(packed.namelist()):
            part = member.removeprefix("warplock/")
            if not part.startswith(("bin/", "lib/")):
                continue
            add(out, f"{name}/{part}", packed.read(member), 0o755)
        for page in ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "python/LICENSE-Z3"):
            add(out, f"{name}/{Path(page).name}", (ROOT / page).read_bytes(), 0o644)
    return archive


def add(archive, name, content, mode):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = mode
    archive.addfile(entry, io.BytesIO(content))


def check(wheel, python):
    """Installs the wheel into an empty environment and uses it, and the archive, in another folder."""
    (target,) = (target for target, ending in TARGETS.items() if wheel.stem.endswith(ending))
    kernel = "protocol hang\nsemaphore s = 0\ngrid cta[n in 0..1] launch ascending resident 1.. {\n    wait s == 1\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "hang.wlk").write_text(kernel)
        started = time.monotonic()
        run([python, "-m", "venv", "--without-pip", folder / "environment"], cwd=folder)
        programs = folder / "environment/bin"
        pip = [sys.executable, "-m", "pip", "--python", programs / "python"]
        run([*pip, "install", "--quiet", "--no-index", wheel], cwd=folder)
        print(f"installed into an empty environment in {time.monotonic() - started:.1f} s")
        used = [[programs / "warplock"]]
        for archive in PACKAGES.glob(f"warplock-*-{target}.tar.gz"):
            run(["tar", "-xzf", archive], cwd=folder)
            used.append([folder / archive.name.removesuffix(".tar.gz") / "bin/warplock"])
        for program in used:
            run([*program, "--version"], cwd=folder)
            started = time.monotonic()
            expect([*program, "check", "--quiet", "hang.wlk"], "deadlock: REFUTED", 1, folder)
            print(f"checked in {time.monotonic() - started:.2f} s")
        script = "import warplock; print(warplock.check('hang.wlk').verdict)"
        expect([programs / "python", "-c", script], "REFUTED", 0, folder)
    print(f"{wheel.name} works")


def expect(command, words, status, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if words not in done.stdout or done.returncode != status:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def run(command, environment=None, cwd=ROOT):
    done = subprocess.run(command, env=environment, cwd=cwd, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}")


if __name__ == "__main__":
    main()
