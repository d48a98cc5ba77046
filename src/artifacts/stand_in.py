"""Runs a Python file where there may be no GPU, as `python FILE` does.

Arguments: the file, and the path of a note. Where no driver is active, Triton gets a stand-in, so
that a launch compiles its kernel and starts nothing. Where the file ends because something else asks
for a GPU, the note says at which line.
"""

import ctypes
import os
import re
import runpy
import sys
import traceback

#: Modules in which an error means that there is no GPU to talk to.
GPU_MODULES = ("cutlass.base_dsl.runtime.cuda", "torch.cuda")


def has_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except OSError:
        return False


def capability():
    """Of the GPU to compile for, which `--arch` chooses."""
    number = int(re.sub(r"\D", "", os.environ.get("TRITON_OVERRIDE_ARCH", "")) or 90)
    return divmod(number, 10)


def give_triton_a_driver():
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.driver import CudaDriver
    from triton.runtime.driver import driver

    if any(each.driver.is_active() for each in backends.values()):
        return

    class Utilities:
        """What a launch asks of the driver. The numbers are large enough for every kernel."""

        def load_binary(self, name, kernel, shared, device):
            module, function, registers, spills, threads = 0, 0, 0, 0, 1024
            return module, function, registers, spills, threads

        def get_device_properties(self, device):
            return {
                "max_shared_mem": 232448,
                "max_num_regs": 65536,
                "multiprocessor_count": 132,
                "warpSize": 32,
                "sm_clock_rate": 1,
                "mem_clock_rate": 1,
                "mem_bus_width": 1,
            }

        def __getattr__(self, name):
            return lambda *arguments, **named: None

    class StandIn(CudaDriver):
        def __init__(self):
            self.utils = Utilities()
            self.binary_ext = "cubin"
            self.launcher_cls = lambda *arguments, **named: lambda *arguments, **named: None
            self.get_current_device = lambda: 0
            self.set_current_device = lambda device: None
            self.get_current_stream = lambda device: 0
            self.get_device_capability = lambda device=0: capability()

        def get_current_target(self):
            major, minor = capability()
            return GPUTarget("cuda", 10 * major + minor, 32)

        def get_benchmarker(self):
            def once(call, *arguments, quantiles=None, **named):
                call()
                return [0.0] * len(quantiles) if quantiles else 0.0

            return once

    driver.set_active(StandIn())


def main():
    file, note = sys.argv[1:3]
    with open(file, "rb") as opened:
        uses_triton = re.search(rb"\bimport\b.*\btriton\b|\bfrom\s+triton\b", opened.read()) is not None
    # The file sees what it would see if it were run by itself.
    sys.argv = [file]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.abspath(file))
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "overwritten.py")
    if "CUTE_DSL_DUMP_DIR" in os.environ and os.path.exists(beside):
        runpy.run_path(beside)["keep"](os.environ["CUTE_DSL_DUMP_DIR"])
    if uses_triton:
        try:
            give_triton_a_driver()
        except Exception as error:
            # A Triton of another make. The file says what it lacks.
            print(f"no stand-in for a GPU: {type(error).__name__}: {error}", file=sys.stderr)
    try:
        runpy.run_path(file, run_name="__main__")
    except Exception as error:
        frames = list(traceback.walk_tb(error.__traceback__))
        innermost = frames[-1][0].f_globals.get("__name__", "")
        if has_gpu() or not innermost.startswith(GPU_MODULES):
            # Without the lines of this file and of what runs it.
            shown = error.__traceback__
            while shown is not None and shown.tb_frame.f_code.co_filename != file:
                shown = shown.tb_next
            traceback.print_exception(type(error), error, shown or error.__traceback__)
            sys.exit(1)
        lines = [line for frame, line in frames if frame.f_code.co_filename == file]
        with open(note, "w") as written:
            written.write(str(lines[0] if lines else 1))


main()
