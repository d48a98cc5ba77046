//! Findings as JSON. The schema is published as `docs/schema/report-1.json`.

use serde::Serialize;

use super::finding::Finding;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// The fields of the document around its findings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Document<'a, T> {
    schema: u32,
    tool: &'static str,
    version: &'static str,
    z3: &'a str,
    results: &'a [T],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [String],
}

/// One document with all findings, ending with a line end.
///
/// # Errors
///
/// Never for findings of this program: they hold numbers, strings and lists only.
pub fn document<T: Serialize>(findings: &[T], z3: &str) -> Result<String, serde_json::Error> {
    with_errors(findings, &[], z3)
}

/// The same with a list of errors.
///
/// # Errors
///
/// As for [`document`].
pub fn with_errors<T: Serialize>(
    findings: &[T],
    errors: &[String],
    z3: &str,
) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        tool: "warplock",
        version: env!("CARGO_PKG_VERSION"),
        z3,
        results: findings,
        errors,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// One finding on one line, with the fields of the document around it.
///
/// # Errors
///
/// As for [`document`].
pub fn line(finding: &Finding, z3: &str) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Line<'a> {
        schema: u32,
        tool: &'static str,
        version: &'static str,
        z3: &'a str,
        #[serde(flatten)]
        finding: &'a Finding,
    }
    let line = Line {
        schema: SCHEMA,
        tool: "warplock",
        version: env!("CARGO_PKG_VERSION"),
        z3,
        finding,
    };
    serde_json::to_string(&line).map(|text| text + "\n")
}
