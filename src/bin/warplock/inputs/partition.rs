//! A share of the inputs, for sets that several machines divide among themselves.
//!
//! Only the name of an input decides in which share it is. So the machines need not communicate, and a file that is
//! added or removed moves no other file to another share. Equal arguments give equal names where the folders have
//! equal content.

use sha2::Digest;
use sha2::Sha256;
use warplock::report::style::Style;

use super::Inputs;

/// Share `part` of `of`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    part: u64,
    of: u64,
}

impl Partition {
    /// Reads `I/N`.
    pub fn parse(text: &str) -> Result<Partition, String> {
        let number = |text: &str| text.parse::<u64>().ok();
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(part, of)| Some((number(part)?, number(of)?)));
        match numbers {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Partition { part, of }),
            Some(_) => Err("parts are counted from 1, as in 1/8 to 8/8".to_owned()),
            None => Err("expected I/N, as in 1/8".to_owned()),
        }
    }

    /// Keeps the inputs of this share only. An argument that became no input, such as a missing file, belongs to one
    /// share too: the one that its failure message decides.
    pub fn keep(self, inputs: &mut Inputs) {
        inputs.all.retain(|input| match input {
            Ok(input) => self.has(&input.name),
            Err(failure) => self.has(&failure.rendered(Style::PLAIN)),
        });
    }

    fn has(self, name: &str) -> bool {
        let sum: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        let (first, _) = sum.split_first_chunk().unwrap_or((&[0; 8], &[]));
        u64::from_be_bytes(*first) % self.of + 1 == self.part
    }
}
