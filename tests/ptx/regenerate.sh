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
for kernel in *.cu; do
  # A kernel that needs another architecture says so in its first line.
  arch=$(sed -n '1s|^// arch: ||p' "$kernel")
  "$tree/bin/nvcc" -ptx "-arch=${arch:-sm_90a}" -lineinfo -I"$tree/include" "$kernel" -o "${kernel%.cu}.ptx"
  # Where and when it was compiled does not belong into the text.
  sed -i "s|\"$here/kernels/|\"|; s|\"$tree/|\"|; s|_INTERNAL_[0-9a-f]*_|_INTERNAL_|g" "${kernel%.cu}.ptx"
done
