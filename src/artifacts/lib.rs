//! Finds the output of GPU compilers, as input of a verifier.
//!
//! [`embedded`] reads the PTX in executables, shared objects, fat binaries and cubins. [`folder`] collects the
//! compiled kernels of a dump folder or cache; equal contents are collected once. [`launch`] reads the launch
//! description that Triton writes beside a kernel. [`nvcc`] finds CUDA's compiler and the architecture that a source
//! file asks for. [`hooks`] lists variables that make a program keep the kernels that it compiles. [`pip`] has the
//! command that installs a missing package.
//!
//! Nothing here prints. Input is untrusted, so sizes are checked before memory is allocated.

pub mod arch;
pub mod embedded;
mod files;
pub mod folder;
pub mod hooks;
pub mod launch;
pub mod nvcc;
pub mod pip;
