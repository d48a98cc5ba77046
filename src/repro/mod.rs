//! Smallest failing inputs.
