//! The bounded encoding alone, for the comparison: `bounded FILE SIZE` says whether some input with
//! parameters up to SIZE hangs.

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::anyhow;
use warplock::encoding::search;
use warplock::encoding::search::Found;
use warplock::encoding::search::Limits;
use warplock::text;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().context("bounded FILE SIZE")?;
    let size = arguments.next().context("bounded FILE SIZE")?.parse()?;
    let protocol =
        text::load(&std::fs::read(&file)?).map_err(|_| anyhow!("{file} is not a protocol"))?;
    let limits = Limits {
        thorough: true,
        deadline: Instant::now() + Duration::from_secs(600),
        cancel: &AtomicBool::new(false),
    };
    let objectives = search::default_objectives(&protocol);
    let found = search::smallest(&protocol, size, &objectives, &limits);
    let said = match found {
        Found::Stuck(_) => "hangs".to_owned(),
        Found::Nothing => "no hang".to_owned(),
        Found::Empty => "no input".to_owned(),
        Found::Unknown(reason) | Found::Unsupported(reason) => format!("unknown: {reason}"),
    };
    writeln!(std::io::stdout(), "{said}")?;
    Ok(())
}
