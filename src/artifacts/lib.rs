//! Finds the output of GPU compilers, as input of a verifier.
//!
//! [`embedded`] reads the PTX out of executables, shared objects, fat binaries and cubins.
//! [`folder`] collects the compiled kernels of a dump folder or cache, each content once.
//! [`launch`] reads what Triton writes beside a kernel about its launch.
//! [`nvcc`] finds CUDA's compiler and the architecture that a source file asks for.
//! [`hooks`] says which variables make a program keep the kernels that it compiles.
//! [`pip`] says how a missing package is installed.
//!
//! Nothing here prints. Input is untrusted: sizes are checked before memory is taken.

pub mod arch;
pub mod embedded;
mod files;
pub mod folder;
pub mod hooks;
pub mod launch;
pub mod nvcc;
pub mod pip;
