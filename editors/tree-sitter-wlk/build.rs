//! Makes the parser of grammar.js and compiles it.

use std::env;
use std::error::Error;
use std::path::PathBuf;

/// The newest version that editors of the last years read.
const ABI: usize = 14;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=grammar.js");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    tree_sitter_generate::generate_parser_in_directory(
        root.clone(),
        Some(out.clone()),
        Some(root.join("grammar.js")),
        ABI,
        None,
        Some("node"),
        true,
        tree_sitter_generate::OptLevel::default(),
        &mut Vec::new(),
    )?;
    cc::Build::new()
        .include(&out)
        .file(out.join("parser.c"))
        .warnings(false)
        .compile("tree-sitter-wlk");
    Ok(())
}
