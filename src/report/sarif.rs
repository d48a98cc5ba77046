//! Findings as SARIF 2.1.0, for code scanning.

use serde_json::Value;
use serde_json::json;

use crate::protocol::Property;

use super::finding::Counterexample;
use super::finding::Finding;
use super::finding::Word;
use super::place::Place;
use super::trace::Event;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A log with one run and one result for each finding, ending with a line end. Errors are notifications of the run.
///
/// # Errors
///
/// Never for findings of this program: they hold numbers, strings and lists only.
pub fn log(findings: &[Finding], errors: &[String], z3: &str) -> Result<String, serde_json::Error> {
    let rules: Vec<Value> = Property::ALL.iter().map(rule).collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    let notifications: Vec<Value> = errors
        .iter()
        .map(|error| json!({ "level": "error", "message": { "text": error.trim_end() } }))
        .collect();
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
            "invocations": [{
                "executionSuccessful": errors.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).map(|text| text + "\n")
}

fn rule(property: &Property) -> Value {
    let (name, description) = (property.name(), property.description());
    json!({
        "id": name,
        "name": name,
        "shortDescription": { "text": description },
        "help": { "text": format!("{description}. `warplock explain {name}` says more.") },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["correctness", "concurrency", "gpu"], "precision": "very-high" },
    })
}

fn result(finding: &Finding) -> Value {
    let (level, kind) = match finding.verdict {
        Word::Refuted => ("error", "fail"),
        Word::Bounded | Word::Unknown => ("warning", "fail"),
        // For a result that is not a failure, SARIF allows only this level.
        Word::Proved => ("none", "pass"),
    };
    let rule = Property::ALL
        .iter()
        .position(|p| p.name() == finding.property);
    let mut result = json!({
        "ruleId": finding.property,
        "ruleIndex": rule,
        "level": level,
        "kind": kind,
        "message": {
            "text": format!("{} {}", finding.verdict.as_str(), finding.summary),
        },
        "locations": [physical(&finding.place())],
        "properties": {
            "protocol": finding.protocol,
            "engine": finding.engine,
            "seconds": finding.seconds,
            "parameters": finding.parameters,
            "assumptions": finding.assumptions,
        },
    });
    if let Some(counterexample) = &finding.counterexample {
        let related = related(finding, counterexample);
        if !related.is_empty() {
            result["relatedLocations"] = Value::Array(related);
        }
        let flows = flows(finding, &counterexample.trace);
        if !flows.is_empty() {
            result["codeFlows"] = json!([{ "threadFlows": flows }]);
        }
    }
    result
}

/// The places where the other members wait, each once.
fn related(finding: &Finding, counterexample: &Counterexample) -> Vec<Value> {
    let mut known: Vec<Place> = Vec::new();
    let mut all = Vec::new();
    for blocked in &counterexample.stuck.blocked {
        let Some(place) = finding
            .place_of(blocked.line)
            .filter(|p| !known.contains(p))
        else {
            continue;
        };
        let mut location = physical(&place);
        location["id"] = json!(known.len() + 1);
        location["message"] = json!({ "text": format!(
            "{} waits for {} {}, found {}",
            blocked.member, blocked.element, blocked.wants, blocked.value
        ) });
        all.push(location);
        known.push(place);
    }
    all
}

/// The run as one flow for each role. Every step contains its position in time.
fn flows(finding: &Finding, trace: &[Event]) -> Vec<Value> {
    let role = |event: &Event| {
        event
            .member
            .split('[')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mut roles: Vec<String> = Vec::new();
    for event in trace {
        let role = role(event);
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    let flow = |name: String| {
        let steps = trace
            .iter()
            .enumerate()
            .filter(|(_, event)| role(event) == name);
        let steps = steps.take(STEPS).map(|(number, event)| {
            let place = event.line.and_then(|line| finding.place_of(line));
            let mut location = physical(&place.unwrap_or_else(|| finding.place()));
            location["message"] = json!({ "text": format!("{} {}", event.member, event.what) });
            json!({ "location": location, "executionOrder": number + 1 })
        });
        let steps: Vec<Value> = steps.collect();
        json!({ "id": name, "locations": steps })
    };
    roles.into_iter().map(flow).collect()
}

/// The most steps of a role that are listed. Viewers reject logs that are too large.
const STEPS: usize = 1_000;

fn physical(place: &Place) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&place.file) },
        "region": { "startLine": place.line },
    } })
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
