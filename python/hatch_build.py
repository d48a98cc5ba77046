"""Puts the program and Z3 into the wheel: `warplock/bin/warplock` and `warplock/lib/libz3...`.

Without WARPLOCK_TARGET this builds for the machine at hand with cargo alone, and the wheel is good
for this machine. With WARPLOCK_TARGET, one of TARGETS, it builds with cargo-zigbuild, whose linker
knows the interfaces of old and foreign systems; python/packages.py sets that.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple, Optional

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Target(NamedTuple):
    """What a wheel for a platform asks of it. Z3's own wheel sets the oldest system possible."""

    tag: str
    glibc: Optional[str]
    library: str


OLDEST_MACOS = "13.0"
TARGETS = {
    "x86_64-unknown-linux-gnu": Target("manylinux_2_27_x86_64", "2.27", "libz3.so.5.4"),
    "aarch64-unknown-linux-gnu": Target("manylinux_2_38_aarch64", "2.38", "libz3.so.5.4"),
    "aarch64-apple-darwin": Target(f"macosx_{OLDEST_MACOS.replace('.', '_')}_arm64", None, "libz3.dylib"),
}


class ProgramHook(BuildHookInterface):
    def initialize(self, version, build_data):
        # An editable install takes the program that WARPLOCK_PROGRAM names.
        if version == "editable":
            return
        program, library, platform = build(Path(self.root), os.environ.get("WARPLOCK_TARGET"))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"].update(
            {
                str(program): "warplock/bin/warplock",
                str(library): f"warplock/lib/{library.name}",
            }
        )


def build(root, target):
    """Builds the program. Returns it, its Z3, and the platform in the wheel's name."""
    environment = {**os.environ, "WARPLOCK_RELOCATABLE": "1"}
    output = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    if target is None:
        command = ["cargo", "build"]
        output /= "release"
        libraries = Path(os.environ.get("Z3_LIBRARY_PATH_OVERRIDE", root / ".deps/z3/z3/lib"))
        name = "libz3.dylib" if sys.platform == "darwin" else "libz3.so.5.4"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    else:
        known = TARGETS[target]
        suffix = f".{known.glibc}" if known.glibc else ""
        command = ["cargo-zigbuild", "zigbuild", "--target", target + suffix]
        output /= f"{target}/release"
        libraries = root / f".deps/{target}/z3/lib"
        environment["Z3_LIBRARY_PATH_OVERRIDE"] = str(libraries)
        if target.endswith("-darwin"):
            environment["MACOSX_DEPLOYMENT_TARGET"] = OLDEST_MACOS
        name, platform = known.library, known.tag
    # From the root, whose .cargo/config.toml says which Z3.
    subprocess.run(
        [*command, "--locked", "--release", "--package", "warplock", "--bin", "warplock"],
        cwd=root,
        env=environment,
        check=True,
    )
    return output / "warplock", libraries / name, platform
