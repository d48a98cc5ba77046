//! `--cache`: a folder of what earlier runs found, which any number of runs may share.
//!
//! An entry is named by a digest of what was asked: the text of the protocol, what narrows it, the property, and the version of
//! this program. It holds an argument or a witness, from which the verdict is made again, see [`Kept`]. Entries are written
//! beside and renamed, so that nobody reads half of one. One that is damaged is as none.

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

/// What is asked.
pub struct Question<'q> {
    /// The protocol.
    pub text: &'q [u8],
    /// Which of its inputs.
    pub narrowing: &'q Narrowing,
    /// Which property.
    pub property: Property,
    /// What a counterexample is made small in.
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

    /// Where what is known of a question is.
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

    /// What is known of a question, if its entry can be read.
    pub fn known(&self, question: &Question<'_>) -> Option<Kept> {
        let bytes = sources::read_up_to(&self.path(question), LARGEST).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps what was found. A cache that cannot be written to is no reason to fail: the verdict is there.
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
