//! Narrowing a protocol's domain from outside its text: `--set T=128`, `--assume "K >= Q"`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

use super::Diagnostic;
use super::parse_expression;
use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::protocol::Span;

/// Values and assumptions given from outside the text. The default has none, and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Narrowing {
    /// Parameters with a fixed value.
    #[serde(with = "serde_with::rust::maps_duplicate_key_is_error")]
    pub set: BTreeMap<String, i64>,
    /// Further assumptions, as written.
    pub assume: Vec<String>,
}

/// Narrows the domain of a protocol.
///
/// # Errors
///
/// An unknown parameter, a value outside its domain, or an assumption that does not parse or
/// has no meaning. Spans are byte ranges of the text of that assumption.
pub fn narrow(protocol: &mut Protocol, narrowing: &Narrowing) -> Result<(), Vec<Diagnostic>> {
    let nowhere = Span { start: 0, end: 0 };
    for (name, value) in &narrowing.set {
        let known: Vec<&str> = protocol.params.iter().map(|p| p.name.as_str()).collect();
        let Some(at) = known.iter().position(|known| known == name) else {
            let message = format!("no parameter named `{name}`");
            let hint = match known.as_slice() {
                [] => "the protocol has no parameters".to_owned(),
                _ => format!("the parameters are {}", known.join(", ")),
            };
            return Err(vec![Diagnostic::error(nowhere, message).hint(hint)]);
        };
        let (inside, domain) = match &protocol.params[at].domain {
            Domain::AtLeast(lo) => (value >= lo, format!("{lo}..")),
            Domain::Range(lo, hi) => (lo <= value && value <= hi, format!("{lo}..={hi}")),
            Domain::Set(values) => (
                values.contains(value),
                format!(
                    "{{{}}}",
                    values
                        .iter()
                        .map(i64::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            ),
        };
        if !inside {
            let message = format!("{name} = {value} is outside the declared domain {domain}");
            return Err(vec![Diagnostic::error(nowhere, message)]);
        }
        protocol.params[at].domain = Domain::Set(vec![*value]);
    }
    for text in &narrowing.assume {
        let assumption = parse_expression(protocol, text)?;
        protocol.assumptions.push(assumption);
    }
    Ok(())
}
