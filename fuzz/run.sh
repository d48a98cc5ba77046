#!/bin/sh
# Fuzzes one reader: fuzz/run.sh text|tensors|witness|certificate|ptx [SECONDS]
#
# Any stable compiler will do: the coverage counters come from LLVM, libFuzzer itself is built by
# the libfuzzer-sys crate with the system's C++ compiler. Inputs start from fuzz/corpus/TARGET and
# from the repository's own files; what is new goes to fuzz/target/found/TARGET, crashes to
# fuzz/target/crashes.
set -eu
cd "$(dirname "$0")"
target=$1
seconds=${2:-1200}
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
triple=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --target "$triple" --bin "$target"
mkdir -p "target/found/$target" target/crashes "target/seeds/$target" "corpus/$target"
case $target in
    text) find ../encodings -name '*.wlk' -exec cp {} target/seeds/text/ \; ;;
    tensors) find ../encodings ../tests/data -type f -size -64k \( -name '*.json' -o -name '*.np[yz]' \
        -o -name '*.safetensors' -o -name '*.txt' \) -exec cp {} target/seeds/tensors/ \; ;;
    ptx) find ../tests/ptx/kernels -name '*.ptx' -size -64k -exec cp {} target/seeds/ptx/ \; ;;
    witness | certificate) ;;
esac
export LD_LIBRARY_PATH="$PWD/../.deps/z3/z3/lib:${LD_LIBRARY_PATH:-}"
exec "target/$triple/release/$target" "target/found/$target" "corpus/$target" "target/seeds/$target" \
    -artifact_prefix=target/crashes/ -max_len=65536 -timeout=120 -rss_limit_mb=2048 \
    -max_total_time="$seconds" -print_final_stats=1
