//! JSON, JSON lines and SARIF: what scripts rely on.

use std::collections::BTreeSet;

use crate::support::program::Folder;
use serde_json::Value;

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema/report-1.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks a value against the part of JSON Schema that `report-1.json` uses, and refuses to
/// pass over any other keyword.
fn conforms(value: &Value, schema: &Value, root: &Value, at: &str) {
    for (keyword, wanted) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                conforms(value, &root["$defs"][name], root, at);
            }
            "type" => {
                let names: Vec<&str> = match wanted {
                    Value::String(one) => vec![one],
                    many => many
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|n| n.as_str().unwrap())
                        .collect(),
                };
                let fits = |name: &&str| match *name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("unknown type {other}"),
                };
                assert!(names.iter().any(fits), "{at}: {value} is no {names:?}");
            }
            "const" => assert_eq!(value, wanted, "{at}"),
            "enum" => assert!(wanted.as_array().unwrap().contains(value), "{at}: {value}"),
            "required" => {
                if let Some(object) = value.as_object() {
                    for name in wanted.as_array().unwrap() {
                        assert!(
                            object.contains_key(name.as_str().unwrap()),
                            "{at}: no {name}"
                        );
                    }
                }
            }
            "properties" => {
                for (name, part) in wanted.as_object().unwrap() {
                    if let Some(inner) = value.get(name) {
                        conforms(inner, part, root, &format!("{at}.{name}"));
                    }
                }
            }
            "additionalProperties" => {
                let known: BTreeSet<&String> = schema
                    .get("properties")
                    .map(|p| p.as_object().unwrap().keys().collect())
                    .unwrap_or_default();
                let others = value.as_object().into_iter().flatten();
                for (name, inner) in others.filter(|(name, _)| !known.contains(name)) {
                    match wanted {
                        Value::Bool(allowed) => {
                            assert!(*allowed, "{at}: `{name}` is not described")
                        }
                        part => conforms(inner, part, root, &format!("{at}.{name}")),
                    }
                }
            }
            "items" => {
                for (number, inner) in value.as_array().into_iter().flatten().enumerate() {
                    conforms(inner, wanted, root, &format!("{at}[{number}]"));
                }
            }
            other => panic!("{at}: the test does not know the keyword {other}"),
        }
    }
}

fn folder() -> Folder {
    let folder = Folder::new();
    for name in [
        "lock_n_block.wlk",
        "dense.wlk",
        "delayed_release_csr.wlk",
        "unzeroed.wlk",
    ] {
        folder.library(name);
    }
    folder
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.output(arguments, b"");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn json_follows_the_published_schema() {
    let folder = folder();
    let schema = schema();
    let everything = [
        "check",
        ".",
        "--format",
        "json",
        "--witness",
        "w",
        "--certificate",
        "c",
    ];
    let report = json(&folder, &everything);
    conforms(&report, &schema, &schema, "report");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["tool"], "warplock");
    let results = report["results"].as_array().unwrap();
    let files: Vec<&str> = results
        .iter()
        .map(|r| r["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            "./delayed_release_csr.wlk",
            "./dense.wlk",
            "./lock_n_block.wlk",
            "./unzeroed.wlk"
        ]
    );
    let dense = &results[1];
    assert_eq!(dense["verdict"], "PROVED");
    assert_eq!(dense["parameters"], Value::Null);
    assert_eq!(dense["reason"], Value::Null);
    let certificate = folder.path().join(dense["certificate"].as_str().unwrap());
    assert!(certificate.join("manifest.json").exists());
    let lock = &results[2];
    assert_eq!(lock["verdict"], "REFUTED");
    assert_eq!(
        lock["parameters"],
        serde_json::json!({"N": 2, "M": 1, "R": 1})
    );
    assert_eq!(lock["counterexample"]["blocked"][0]["element"], "dq[0]");
    assert!(
        folder
            .path()
            .join(lock["witness"].as_str().unwrap())
            .exists()
    );

    let unknown = [
        "check",
        "dense.wlk",
        "--format",
        "json",
        "--property",
        "race",
    ];
    let report = json(&folder, &unknown);
    conforms(&report, &schema, &schema, "report");
    assert_eq!(report["results"][0]["verdict"], "UNKNOWN");

    let expected = ["check", "dense.wlk", "--format", "json", "--expect"];
    let report = json(&folder, &expected);
    conforms(&report, &schema, &schema, "report");
    assert_eq!(report["results"][0]["expectation"]["met"], true);
}

#[test]
fn further_counterexamples_follow_the_schema() {
    let folder = Folder::new();
    folder.file(
        "two.wlk",
        "protocol two
param N in 1..
mbarrier bar { arrivals: 1 }
role left {
    if N == 1 {
        wait bar 0
    }
    if N == 2 {
        wait bar 0
    }
}
",
    );
    let schema = schema();
    let check = ["check", "two.wlk", "--format", "json"];
    let first = json(&folder, &check);
    assert_eq!(first["results"][0]["further"], Value::Null);
    let many = [&check[..], &["--counterexamples", "9", "--witness", "w"]].concat();
    let report = json(&folder, &many);
    conforms(&report, &schema, &schema, "report");
    let further = &report["results"][0]["further"];
    assert_eq!(further.as_array().unwrap().len(), 1);
    assert_eq!(further[0]["parameters"]["N"], 2);
    assert_eq!(further[0]["blocked"][0]["line"], 9);
    let witness = further[0]["witness"].as_str().unwrap();
    assert!(folder.path().join(witness).exists());
}

#[test]
fn json_lines_are_results_of_their_own() {
    let folder = folder();
    let schema = schema();
    let output = folder.output(&["check", ".", "--format", "json-lines"], b"");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    for line in lines {
        let mut result: Value = serde_json::from_str(line).unwrap();
        let object = result.as_object_mut().unwrap();
        for name in ["schema", "tool", "version", "z3"] {
            assert!(object.remove(name).is_some(), "no {name}");
        }
        conforms(&result, &schema["$defs"]["result"], &schema, "line");
    }
}

#[test]
fn a_hazard_follows_the_published_schema() {
    let folder = folder();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/encodings/mbarrier/jacobi.wlk");
    let values = ["--property", "early_completion", "--format", "json"];
    let report = json(&folder, &[&["check", path], values.as_slice()].concat());
    let schema = schema();
    conforms(&report, &schema, &schema, "report");
    let result = &report["results"][0];
    assert_eq!(result["parameters"], serde_json::json!({"T": 2, "N": 2}));
    let shown = &result["counterexample"];
    assert_eq!(shown["trace"].as_array().unwrap().len(), 10);
    assert_eq!(shown["second_trace"].as_array().unwrap().len(), 11);
}

#[test]
fn sarif_has_a_rule_per_property_and_a_result_per_verdict() {
    let folder = folder();
    let report = json(
        &folder,
        &[
            "check",
            "dense.wlk",
            "lock_n_block.wlk",
            "--format",
            "sarif",
        ],
    );
    assert_eq!(report["version"], "2.1.0");
    let run = &report["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 11);
    insta::assert_snapshot!(serde_json::to_string_pretty(&strip(&run["results"])).unwrap(), @r#"
    [
      {
        "kind": "pass",
        "level": "none",
        "locations": [
          {
            "physicalLocation": {
              "artifactLocation": {
                "uri": "dense.wlk"
              },
              "region": {
                "startLine": 1
              }
            }
          }
        ],
        "message": {
          "text": "PROVED for every N >= 1, M >= 1, R >= 1 and schedule: all 9 obligations of the kernel hold"
        },
        "properties": {
          "assumptions": [
            "N >= 1",
            "M >= 1",
            "R >= 1",
            "a resident CTA that can go on eventually does",
            "semaphore operations are atomic and seen in one order by everyone",
            "CTAs start in the declared launch order, which CUDA does not promise"
          ],
          "engine": "kernel",
          "parameters": null,
          "protocol": "dense"
        },
        "ruleId": "deadlock",
        "ruleIndex": 0
      },
      {
        "codeFlows": [
          {
            "threadFlows": [
              {
                "id": "cta",
                "locations": [
                  {
                    "executionOrder": 1,
                    "location": {
                      "message": {
                        "text": "cta[0] starts and has nothing to do"
                      },
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "lock_n_block.wlk"
                        },
                        "region": {
                          "startLine": 18
                        }
                      }
                    }
                  },
                  {
                    "executionOrder": 2,
                    "location": {
                      "message": {
                        "text": "cta[1] starts"
                      },
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "lock_n_block.wlk"
                        },
                        "region": {
                          "startLine": 18
                        }
                      }
                    }
                  }
                ]
              }
            ]
          }
        ],
        "kind": "fail",
        "level": "error",
        "locations": [
          {
            "physicalLocation": {
              "artifactLocation": {
                "uri": "lock_n_block.wlk"
              },
              "region": {
                "startLine": 18
              }
            }
          }
        ],
        "message": {
          "text": "REFUTED at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip"
        },
        "properties": {
          "assumptions": [
            "N >= 1",
            "M >= 1",
            "R >= 1",
            "a resident CTA that can go on eventually does",
            "semaphore operations are atomic and seen in one order by everyone",
            "CTAs start in the declared launch order, which CUDA does not promise"
          ],
          "engine": "event encoding",
          "parameters": {
            "M": 1,
            "N": 2,
            "R": 1
          },
          "protocol": "lock_n_block"
        },
        "relatedLocations": [
          {
            "id": 1,
            "message": {
              "text": "cta[1] waits for dq[0] == 1, found 0"
            },
            "physicalLocation": {
              "artifactLocation": {
                "uri": "lock_n_block.wlk"
              },
              "region": {
                "startLine": 18
              }
            }
          }
        ],
        "ruleId": "deadlock",
        "ruleIndex": 0
      }
    ]
    "#);
}

/// Without the times.
fn strip(results: &Value) -> Value {
    let mut results = results.clone();
    for result in results.as_array_mut().unwrap() {
        result["properties"]
            .as_object_mut()
            .unwrap()
            .remove("seconds");
    }
    results
}

#[test]
fn a_file_gets_no_escape_sequences_unless_asked_for() {
    let folder = folder();
    let plain = folder.output(&["check", "lock_n_block.wlk"], b"");
    assert!(!plain.stdout.contains(&0x1b));
    let colored = folder.output(&["check", "lock_n_block.wlk", "--color", "always"], b"");
    assert!(colored.stdout.contains(&0x1b));
    let error = folder.output(&["check", "missing.wlk"], b"");
    assert!(!error.stderr.contains(&0x1b));
}
