//! Options that several commands share.

use std::time::Duration;

use clap::Args;
use warplock::text::Narrowing;

use crate::failure::Failure;

/// Which inputs a command is about.
#[derive(Debug, Clone, Args)]
pub struct Domain {
    /// Fix a parameter; may be repeated
    #[arg(long = "set", value_name = "P=V", value_parser = assignment)]
    pub set: Vec<(String, i64)>,
    /// Assume a condition over the parameters; may be repeated
    #[arg(long, value_name = "EXPR")]
    pub assume: Vec<String>,
}

impl Domain {
    /// The narrowing that these options ask for.
    pub fn narrowing(&self) -> Result<Narrowing, Failure> {
        let mut narrowing = Narrowing {
            assume: self.assume.clone(),
            ..Narrowing::default()
        };
        for (name, value) in &self.set {
            if let Some(before) = narrowing.set.insert(name.clone(), *value)
                && before != *value
            {
                return Err(Failure::input(format!(
                    "--set gives {name} two values, {before} and {value}"
                )));
            }
        }
        Ok(narrowing)
    }
}

fn assignment(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| "expected NAME=VALUE, as in T=128".to_owned())?;
    let value = value.trim();
    let number = value
        .parse()
        .map_err(|_| format!("`{value}` is not a 64-bit integer"))?;
    match name.trim() {
        "" => Err("expected NAME=VALUE, as in T=128".to_owned()),
        name => Ok((name.to_owned(), number)),
    }
}

/// A time limit in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(number) {
        // Deadlines are computed by adding it to the present, and must not exceed the largest time.
        Ok(limit) if number > 0.0 && number <= 1e9 => Ok(limit),
        _ => Err("expected a number of seconds above 0 and up to 1000000000".to_owned()),
    }
}
