//! Counterexamples as pictures: HTML, Mermaid, and a trace for Perfetto.

use serde_json::Value;

use crate::support::program::Folder;
use crate::support::program::library;

fn checked(text: &str, format: &str) -> String {
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let output = folder.output(&["check", "p.wlk", "--format", format], b"");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    String::from_utf8(output.stdout).unwrap()
}

/// What stands between two texts, each time.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Vec<&'t str> {
    let parts = text.split(open).skip(1);
    parts
        .map(|part| part.split(close).next().unwrap())
        .collect()
}

/// The rows of a table, cell by cell; what is empty is `-`.
fn rows(table: &str) -> Vec<String> {
    let cell = |cell: &str| match cell.split_once('>').unwrap().1 {
        "" => "-".to_owned(),
        text => text.to_owned(),
    };
    between(table, "<tr", "</tr>")
        .into_iter()
        .map(|row| {
            let row = row.replace("<th", "<td").replace("</th>", "</td>");
            let cells: Vec<String> = between(&row, "<td", "</td>")
                .into_iter()
                .map(cell)
                .collect();
            cells.join(" | ")
        })
        .collect()
}

#[test]
fn a_run_as_a_page() {
    let page = checked(&library("lock_n_block.wlk"), "html");
    let tables = between(&page, "<table", "</table>");
    insta::assert_debug_snapshot!(tables.into_iter().map(rows).collect::<Vec<_>>(), @r#"
    [
        [
            "- | 0",
            "0 | ·",
            "1 | ■",
        ],
        [
            "step | cta[0] | cta[1] | dq[0]",
            "1 | starts and has nothing to do | - | -",
            "2 | - | starts | -",
            "end | - | waits for dq[0] == 1: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip | -",
        ],
    ]
    "#);
    let waits = "<li value=\"18\" class=\"waits\">        wait dq[m] == n</li>";
    assert!(page.contains(waits), "{page}");
    // Nothing is fetched from elsewhere.
    assert!(!page.contains("http"), "{page}");
}

#[test]
fn a_proof_as_a_page() {
    let page = checked(&library("dense.wlk"), "html");
    let titles: Vec<&str> = between(&page, "<h2>", "</h2>");
    insta::assert_debug_snapshot!(titles, @r#"
    [
        "Roles",
        "Hand-offs",
        "Why it holds",
        "Source",
        "Assumptions",
    ]
    "#);
}

/// 40 members do not make 40 columns.
#[test]
fn many_members_are_one_lane() {
    let text =
        "protocol p\nmbarrier b { arrivals: 41 }\nrole t[i in 0..40] { arrive b  wait b 0 }\n";
    let page = checked(text, "html");
    let tables = between(&page, "<table", "</table>");
    insta::assert_debug_snapshot!(tables.into_iter().map(rows).collect::<Vec<_>>(), @r#"
    [
        [
            "step | t | b",
            "1-40 | t[0..40] arrives at b: phase 0, 1 pending | phase 0, 1 pending",
            "end | t[0..40] waits for b parity 0: nobody else comes | phase 0, 1 pending",
        ],
    ]
    "#);
}

/// Text from outside does not become markup.
#[test]
fn text_is_escaped() {
    let text = "//! <script>alert(1)</script>\nprotocol p\nmbarrier b { arrivals: 2 }\nrole t { arrive b  wait b 0 }\n";
    for (verdict, text) in [
        ("REFUTED", text.to_owned()),
        ("PROVED", text.replace(": 2", ": 1")),
    ] {
        let page = checked(&text, "html");
        assert!(page.contains(verdict), "{page}");
        assert_eq!(page.matches("<script>").count(), 1, "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    }
}

#[test]
fn a_run_for_mermaid() {
    let text = "protocol p\nmbarrier b { arrivals: 2 }\nrole t[i in 0..1] { arrive b  wait b 0 }\n";
    insta::assert_snapshot!(checked(text, "mermaid"), @r"
    **deadlock of p: REFUTED** b takes 2 arrivals, 1 came (t\[0\]), and t\[0\] waits for the rest (line 3): no more than 1 arrival comes in a phase

    ```mermaid
    sequenceDiagram
      participant m0 as t[0]
      participant e0 as b
      m0->>e0: arrives at b: phase 0, 1 pending
      m0-xe0: waits for b parity 0: nobody else comes
    ```
    ");
}

#[test]
fn a_run_for_perfetto() {
    let text = "protocol p\nmbarrier b { arrivals: 2 }\nrole t[i in 0..1] { arrive b  wait b 0 }\n";
    let document: Value = serde_json::from_str(&checked(text, "perfetto")).unwrap();
    let events: Vec<String> = document["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let name = event["args"]["name"].as_str().or(event["name"].as_str());
            format!(
                "{} {} +{} {}",
                event["ph"],
                event["ts"],
                event["dur"],
                name.unwrap()
            )
        })
        .collect();
    insta::assert_debug_snapshot!(events, @r#"
    [
        "\"M\" null +null deadlock of p: REFUTED b takes 2 arrivals, 1 came (t[0]), and t[0] waits for the rest (line 3): no more than 1 arrival comes in a phase",
        "\"M\" null +null t[0]",
        "\"X\" 0 +1 arrives at b: phase 0, 1 pending",
        "\"X\" 1 +5 waits for b parity 0: nobody else comes",
    ]
    "#);
}
