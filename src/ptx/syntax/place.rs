//! The place of an instruction in words.

use super::ast::Location;
use super::ast::Module;

/// Text that can stand in a comment.
pub(in crate::ptx) fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Where a statement comes from, in the source if the PTX says it.
pub(in crate::ptx) fn source(module: &Module<'_>, at: usize, location: Option<Location>) -> String {
    match location.filter(|l| l.line > 0) {
        Some(location) => {
            let file = module.files.iter().find(|(n, _)| *n == location.file);
            let path = file.map_or("source", |(_, path)| path);
            let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
            format!("{}:{}", visible(name), location.line)
        }
        None => format!("line {}", module.line_of(at)),
    }
}
