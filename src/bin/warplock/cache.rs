//! `--cache`: a folder that keeps the results of earlier runs. Any number of runs may share it.
//!
//! The name of an entry is a digest of the question: the text of the protocol, the narrowing, the property, the
//! objectives of `--minimize`, `--kernel`, and the version of this program. An entry holds a proof's argument or a
//! witness. A later run does not trust it: [`Kept`] makes the verdict again from it. An entry is written to a
//! temporary file and renamed, so that no run reads half of one. A damaged entry counts as missing.

use std::fs;
use std::path::PathBuf;

use sha2::Digest;
use sha2::Sha256;
use warplock::protocol::Property;
use warplock::text::Narrowing;
use warplock::verdict::cached_decision::Kept;

use crate::failure::Failure;
use crate::files;
use crate::sources;

/// The largest entry that is read, in bytes.
const LARGEST: usize = 64 << 20;

/// A folder of entries.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

/// The question that an entry answers.
pub struct Question<'q> {
    /// The protocol.
    pub text: &'q [u8],
    /// The narrowing: which of the protocol's inputs.
    pub narrowing: &'q Narrowing,
    /// Which property.
    pub property: Property,
    /// The objectives by which a counterexample is minimized.
    pub minimize: &'q [String],
    /// Whether the kernel is asked for proofs first.
    pub kernel: bool,
}

impl Cache {
    /// The cache in a folder, which is made if it is missing.
    pub fn open(folder: PathBuf) -> Result<Cache, Failure> {
        files::folder(&folder)?;
        Ok(Cache { folder })
    }

    /// The path of the entry for a question.
    fn path(&self, question: &Question<'_>) -> PathBuf {
        let asked = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "text": hexadecimal(question.text),
            "narrowing": question.narrowing,
            "property": question.property.name(),
            "minimize": question.minimize,
            "kernel": question.kernel,
        });
        let name = hexadecimal(asked.to_string().as_bytes());
        // Folders of a few thousand files are slow on shared file systems.
        let part = name.get(..2).unwrap_or_default();
        self.folder.join(part).join(format!("{name}.json"))
    }

    /// The result that is kept for a question, if there is an entry and it can be read.
    pub fn known(&self, question: &Question<'_>) -> Option<Kept> {
        let bytes = sources::read_up_to(&self.path(question), LARGEST).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps a result. An error in writing the cache is ignored, because the verdict stands without it.
    pub fn keep(&self, question: &Question<'_>, found: &Kept) {
        let path = self.path(question);
        if let Ok(content) = serde_json::to_vec(found)
            && let Some(folder) = path.parent()
            && fs::create_dir_all(folder).is_ok()
        {
            let _ = files::write(&path, &content);
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
