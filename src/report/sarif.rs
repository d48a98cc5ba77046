//! Findings as SARIF 2.1.0, for code scanning.

use serde_json::Value;
use serde_json::json;

use crate::protocol::Property;

use super::finding::Finding;
use super::finding::Word;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A log with one run and one result per finding, ending with a line end.
///
/// # Errors
///
/// Never for findings of this program: they hold numbers, strings and lists only.
pub fn log(findings: &[Finding], z3: &str) -> Result<String, serde_json::Error> {
    let rules: Vec<Value> = Property::ALL
        .iter()
        .map(|property| {
            json!({
                "id": property.name(),
                "shortDescription": { "text": property.description() },
            })
        })
        .collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "warplock",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
                "properties": { "z3": z3 },
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).map(|text| text + "\n")
}

fn result(finding: &Finding) -> Value {
    let (level, kind) = match finding.verdict {
        Word::Refuted => ("error", "fail"),
        Word::Bounded | Word::Unknown => ("warning", "fail"),
        // SARIF allows no other level for a result that is not a failure.
        Word::Proved => ("none", "pass"),
    };
    let rule = Property::ALL
        .iter()
        .position(|p| p.name() == finding.property);
    let file = finding
        .kernel
        .as_ref()
        .map_or(&finding.file, |kernel| &kernel.file);
    json!({
        "ruleId": finding.property,
        "ruleIndex": rule,
        "level": level,
        "kind": kind,
        "message": {
            "text": format!("{} {}", finding.verdict.as_str(), finding.summary),
        },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": finding.line.unwrap_or(1) },
        } }],
        "properties": {
            "protocol": finding.protocol,
            "engine": finding.engine,
            "seconds": finding.seconds,
            "parameters": finding.parameters,
            "assumptions": finding.assumptions,
        },
    })
}

/// A file name as a relative or absolute URI reference.
fn uri(file: &str) -> String {
    let mut out = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
