#!/bin/sh
# Compiles the kernels to the PTX beside them. Needs the CUDA compiler, which comes from PyPI without
# a GPU or a driver; the tests do not run this.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=${CUDA_TREE:-}
if [ -z "$tree" ]; then
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  python3 -m pip download -q --no-deps -d "$tree/wheels" \
    'nvidia-cuda-nvcc==13.*' 'nvidia-nvvm==13.*' 'nvidia-cuda-crt==13.*' \
    'nvidia-cuda-runtime==13.*' 'nvidia-cuda-cccl==13.*'
  for wheel in "$tree"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$tree"
  done
  tree=$tree/nvidia/cu13
  chmod -R +x "$tree/bin" "$tree/nvvm/bin"
fi
cd "$here/kernels"
compile() { # the kernel, the text, the architecture
  "$tree/bin/nvcc" -ptx "-arch=$3" -lineinfo -I"$tree/include" -I"$here/kernels" "$1" -o "$2"
  # Where and when it was compiled does not belong into the text.
  sed -i "s|\"$here/kernels/|\"|; s|\"$tree/|\"|; s|\"$plain/|\"|; s|_INTERNAL_[0-9a-f]*_|_INTERNAL_|g" "$2"
}
plain=$(mktemp -d)
for kernel in *.cu; do
  # A kernel that needs another architecture says so in its first line.
  arch=$(sed -n '1s|^// arch: ||p' "$kernel")
  compile "$kernel" "${kernel%.cu}.ptx" "${arch:-sm_90a}"
  # One that is also compiled with loops that the compiler is free to write out says for which architecture.
  unrolled=$(sed -n '1s|^// unrolled: ||p' "$kernel")
  if [ -n "$unrolled" ]; then
    sed 's|^#pragma unroll 1$||' "$kernel" > "$plain/$kernel"
    compile "$plain/$kernel" "${kernel%.cu}_unrolled.ptx" "$unrolled"
  fi
done
rm -r "$plain"
