//! Counterexamples as a trace for Perfetto's viewer, with a track for each role or member.
//!
//! A step of the run takes a microsecond on its track. A wait that never ends begins after the last step of its member
//! and goes on after the end of the run.
//!
//! Source of the format: Trace Event Format, "Complete Events" and "Metadata Events".

use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use super::chart::chart;
use super::finding::Finding;

/// How long a wait goes on after the last step, in microseconds.
const TAIL: usize = 5;

#[derive(Serialize)]
struct Document {
    #[serde(rename = "traceEvents")]
    events: Vec<Value>,
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
}

/// One document for all findings. A finding without a counterexample is a process without tracks.
///
/// # Errors
///
/// JSON that cannot be written.
pub fn document(findings: &[Finding]) -> serde_json::Result<String> {
    let mut events = Vec::new();
    for (process, finding) in (1..).zip(findings) {
        let title = format!(
            "{} of {}: {} {}",
            finding.property,
            finding.protocol,
            finding.verdict.as_str(),
            finding.summary
        );
        events.push(metadata("process_name", process, 0, &title));
        let Some(counterexample) = &finding.counterexample else {
            continue;
        };
        let chart = chart(counterexample);
        for (thread, lane) in (1..).zip(&chart.lanes) {
            events.push(metadata("thread_name", process, thread, lane));
        }
        let mut ends = vec![0; chart.lanes.len()];
        let mut end = 0;
        for step in &chart.steps {
            end = step.first - 1 + step.count;
            ends[step.lane] = end;
            let left = step.left.as_ref();
            let left =
                left.map(|(at, value)| json!({ "element": chart.elements[*at], "value": value }));
            events.push(json!({
                "name": step.what, "cat": "step", "ph": "X", "ts": step.first - 1, "dur": step.count,
                "pid": process, "tid": step.lane + 1,
                "args": { "who": step.who, "line": step.line, "afterwards": left },
            }));
        }
        for wait in &chart.waits {
            let begins = ends[wait.lane];
            events.push(json!({
                "name": wait.what, "cat": "wait", "ph": "X", "ts": begins, "dur": end - begins + TAIL,
                "pid": process, "tid": wait.lane + 1,
                "args": { "who": wait.who, "line": wait.line, "element": chart.elements[wait.element] },
            }));
        }
    }
    let document = Document { events, unit: "ns" };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn metadata(name: &str, process: usize, thread: usize, value: &str) -> Value {
    json!({ "name": name, "ph": "M", "pid": process, "tid": thread, "args": { "name": value } })
}
