//! Writes files atomically: under its name, a file is either complete or absent.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use warplock::certificate::manifest;
use warplock::verdict::decision::Proof;

use crate::failure::Failure;

/// Writes a file: first a temporary one in the same folder, which then gets the name.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let failed = |error: std::io::Error| Failure::file("write", path, error);
    let mut partial = tempfile::Builder::new()
        .prefix(".warplock-")
        .tempfile_in(folder)
        .map_err(failed)?;
    partial.write_all(content).map_err(failed)?;
    // A temporary file is private. One that replaces another file takes over the other's permissions.
    let permissions = match fs::metadata(path) {
        Ok(existing) => existing.permissions(),
        Err(_) => public(),
    };
    partial
        .as_file()
        .set_permissions(permissions)
        .map_err(failed)?;
    partial.as_file().sync_all().map_err(failed)?;
    partial.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Makes a folder for results, if it is missing.
pub fn folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| Failure::file("create the folder", path, error))
}

/// Writes the certificate of a proof into a folder and returns its path.
pub fn certificate(proof: &Proof, folder: &Path) -> Result<PathBuf, Failure> {
    manifest::write(&proof.certificate, &proof.obligations, folder)
        .map_err(|error| Failure::input(format!("cannot write the certificate: {error}")))
}

fn public() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o644)
}
