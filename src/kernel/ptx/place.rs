//! Source lines: the tables of `.file` and `.loc`.

use rustc_hash::FxHashMap;

use crate::ir::SourceLine;

/// No compiler inlines more deeply than this. The limit is needed in case `inlined_at` forms a cycle.
const MAX_CHAIN: usize = 64;

/// Chains of source lines, innermost first. `.file` may come after its use, so files are numbers until the end.
#[derive(Debug, Default)]
pub struct Places {
    files: FxHashMap<i128, String>,
    chains: Vec<Vec<[u32; 3]>>,
    indices: FxHashMap<Vec<[u32; 3]>, u32>,
    /// For each place, the chain with which it was named last.
    last: FxHashMap<[u32; 3], Vec<[u32; 3]>>,
    current: u32,
}

impl Places {
    pub fn file(&mut self, number: i128, name: &str) {
        self.files.insert(number, name.to_owned());
    }

    /// Before the first `.loc` of a function, nothing is known.
    pub fn begin_function(&mut self) {
        self.last.clear();
        self.current = self.index_of(Vec::new());
    }

    /// Reads a `.loc`. The place at which it is inlined was named by an earlier `.loc`, which says where that place
    /// was inlined in turn.
    pub fn at(&mut self, place: [u32; 3], outer: Option<[u32; 3]>) {
        let mut chain = vec![place];
        if let Some(outer) = outer {
            match self.last.get(&outer) {
                Some(known) => chain.extend(known.iter().copied()),
                None => chain.push(outer),
            }
        }
        chain.truncate(MAX_CHAIN);
        self.last.insert(place, chain.clone());
        self.current = self.index_of(chain);
    }

    fn index_of(&mut self, chain: Vec<[u32; 3]>) -> u32 {
        if let Some(index) = self.indices.get(&chain) {
            return *index;
        }
        let index = u32::try_from(self.chains.len()).unwrap_or(u32::MAX);
        self.chains.push(chain.clone());
        self.indices.insert(chain, index);
        index
    }

    /// The chain at the current position.
    pub fn current(&self) -> u32 {
        self.current
    }

    /// All chains, with the names of their files.
    pub fn finish(&self) -> Vec<Vec<SourceLine>> {
        let line = |[file, line, column]: &[u32; 3]| SourceLine {
            file: match self.files.get(&i128::from(*file)) {
                Some(name) => name.clone(),
                None => format!("file {file}"),
            },
            line: *line,
            column: *column,
        };
        // Compilers write line 0 if they know no line.
        let known = |chain: &Vec<[u32; 3]>| {
            chain
                .iter()
                .filter(|place| place[1] != 0)
                .map(line)
                .collect()
        };
        self.chains.iter().map(known).collect()
    }
}
