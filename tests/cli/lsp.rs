//! `warplock lsp`, driven by a client over its standard input and output.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

const URI: &str = "file:///tmp/turns.wlk";

/// Turns by the number of the CTA: correct where all CTAs fit, or start in their order.
const TURNS: &str = "// Größe 😀
protocol turns

param N in 1..  // 😀 CTAs
assume N >= 1
semaphore turn = 0

grid cta[n in 0..N] launch descending resident 1.. {
    wait turn == n
    turn += 1
}

expect deadlock: refuted at N = 2, R = 1
expect deadlock: proved assuming R >= N
";

struct Client {
    server: Child,
    input: Option<ChildStdin>,
    messages: mpsc::Receiver<Value>,
    /// What came before the answer that was waited for.
    seen: Vec<Value>,
    count: i64,
}

impl Client {
    fn start() -> Client {
        let mut server = Command::new(env!("CARGO_BIN_EXE_warplock"))
            .args(["lsp", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Client {
            input: server.stdin.take(),
            server,
            messages,
            seen: Vec::new(),
            count: 0,
        }
    }

    /// A client whose server is initialized.
    fn ready() -> Client {
        let mut client = Client::start();
        let capabilities = json!({
            "workspace": { "codeLens": { "refreshSupport": true } },
            "window": { "workDoneProgress": true },
        });
        let answer = client.ask(
            "initialize",
            json!({ "processId": null, "rootUri": null, "capabilities": capabilities }),
        );
        assert_eq!(answer["result"]["serverInfo"]["name"], "warplock");
        client.tell("initialized", json!({}));
        client
    }

    fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.raw(framed.as_bytes());
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request; its number.
    fn request(&mut self, method: &str, params: Value) -> i64 {
        self.count += 1;
        let id = self.count;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The next message of this kind.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            if wanted(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    fn open(&mut self, text: &str) -> Value {
        let document = json!({ "uri": URI, "languageId": "wlk", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.diagnostics()
    }

    /// Replaces a range.
    fn change(&mut self, version: i32, range: Value, text: &str) -> Value {
        self.tell(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": version },
                "contentChanges": [{ "range": range, "text": text }],
            }),
        );
        self.diagnostics()
    }

    fn diagnostics(&mut self) -> Value {
        let found = |message: &Value| message["method"] == "textDocument/publishDiagnostics";
        self.until(found)["params"]["diagnostics"].clone()
    }

    /// Asks something about a place of the text.
    fn at(&mut self, method: &str, line: u32, character: u32, more: Value) -> Value {
        let mut params = json!({
            "textDocument": { "uri": URI },
            "position": { "line": line, "character": character },
        });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        self.ask(method, params)
    }

    fn check(&mut self, target: Value) -> Value {
        let params = json!({ "command": "warplock.check", "arguments": [URI, target] });
        self.ask("workspace/executeCommand", params)
    }

    fn titles(&mut self) -> Vec<String> {
        let lenses = self.ask(
            "textDocument/codeLens",
            json!({ "textDocument": { "uri": URI } }),
        );
        let lenses = lenses["result"].as_array().unwrap().clone();
        let title = |lens: &Value| {
            let line = lens["range"]["start"]["line"].as_u64().unwrap() + 1;
            format!("{line}: {}", lens["command"]["title"].as_str().unwrap())
        };
        lenses.iter().map(title).collect()
    }

    /// Ends the server; its exit code.
    fn end(mut self) -> Option<i32> {
        let answer = self.ask("shutdown", Value::Null);
        assert_eq!(answer["result"], Value::Null);
        self.tell("exit", Value::Null);
        self.server.wait().unwrap().code()
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse().unwrap(),
            _ if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn range(line: u32, start: u32, end: u32) -> Value {
    json!({
        "start": { "line": line, "character": start },
        "end": { "line": line, "character": end },
    })
}

#[test]
fn errors_are_shown_while_typing_and_their_hints_repair_them() {
    let mut client = Client::ready();
    let broken = TURNS.replace("wait turn == n", "/* 😀 */ wait trn == n");
    let broken = broken.replace("/* 😀 */", "");
    let found = client.open(&broken);
    assert_eq!(found[0]["range"], range(8, 10, 13));
    assert_eq!(
        found[0]["message"],
        "unknown name `trn`\nnot declared\nhint: did you mean `turn`?"
    );
    let actions = client.ask(
        "textDocument/codeAction",
        json!({
            "textDocument": { "uri": URI },
            "range": range(8, 11, 11),
            "context": { "diagnostics": [] },
        }),
    );
    let action = &actions["result"][0];
    assert_eq!(action["title"], "write `turn`");
    assert_eq!(
        action["edit"]["changes"][URI],
        json!([{ "range": range(8, 10, 13), "newText": "turn" }])
    );
    let found = client.change(2, range(8, 10, 13), "turn");
    assert_eq!(found, json!([]));
    // A text with mistakes has nothing to check.
    assert_eq!(client.titles().len(), 4);
    client.change(3, range(8, 4, 8), "wiat");
    assert_eq!(client.titles(), Vec::<String>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn positions_behind_characters_of_two_units_are_right() {
    let mut client = Client::ready();
    client.open(TURNS);
    // Both changes are of one line with a character that has two units: `😀` itself, and what is behind it.
    client.change(2, range(3, 19, 21), "ä😀");
    let found = client.change(3, range(3, 22, 26), "!\nparam M in 0.");
    assert_eq!(found[0]["range"]["start"]["line"], 4);
    let text = "param N in 1..  // ä😀!";
    let hover = client.at("textDocument/hover", 3, 6, json!({}));
    let shown = hover["result"]["contents"]["value"].as_str().unwrap();
    assert!(shown.contains(text), "{shown}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn names_and_words_are_known() {
    let mut client = Client::ready();
    client.open(TURNS);
    let hover = client.at("textDocument/hover", 7, 17, json!({}));
    insta::assert_snapshot!(hover["result"]["contents"]["value"].as_str().unwrap(), @r"
    ```wlk
    param N in 1..  // 😀 CTAs
    assume N >= 1
    ```
    `N` is a parameter.
    ");
    assert_eq!(hover["result"]["range"], range(7, 17, 18));
    let hover = client.at("textDocument/hover", 9, 6, json!({}));
    insta::assert_snapshot!(hover["result"]["contents"]["value"].as_str().unwrap(), @r"
    ```wlk
    semaphore turn = 0
    ```
    `turn` is a semaphore.
    ");
    let hover = client.at("textDocument/hover", 8, 5, json!({}));
    let shown = hover["result"]["contents"]["value"].as_str().unwrap();
    assert!(
        shown.starts_with("`wait s == E`: blocks until semaphore `s` has that very value"),
        "{shown}"
    );
    let hover = client.at("textDocument/hover", 0, 4, json!({}));
    assert_eq!(hover["result"], Value::Null);

    let definition = client.at("textDocument/definition", 8, 10, json!({}));
    assert_eq!(definition["result"]["range"], range(5, 10, 14));
    let of_index = client.at("textDocument/definition", 8, 17, json!({}));
    assert_eq!(of_index["result"]["range"], range(7, 9, 10));
    let context = json!({ "context": { "includeDeclaration": true } });
    let uses = client.at("textDocument/references", 3, 6, context);
    assert_eq!(uses["result"].as_array().unwrap().len(), 5);

    let symbols = client.ask(
        "textDocument/documentSymbol",
        json!({ "textDocument": { "uri": URI } }),
    );
    let symbols = symbols["result"].as_array().unwrap();
    let names: Vec<&str> = symbols
        .iter()
        .map(|symbol| symbol["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["N", "turn", "cta"]);
    let inner: Vec<&Value> = symbols[2]["children"].as_array().unwrap().iter().collect();
    assert_eq!(inner.len(), 2, "the index, and the parameter R");
    assert_eq!(symbols[2]["range"]["end"]["line"], 10);

    let offered = client.at("textDocument/completion", 9, 4, json!({}));
    let labels: Vec<&str> = offered["result"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["label"].as_str().unwrap())
        .collect();
    for label in ["turn", "n", "wait", "arrive_expect_tx"] {
        assert!(labels.contains(&label), "{label}");
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_name_is_renamed_everywhere_or_nowhere() {
    let mut client = Client::ready();
    client.open(TURNS);
    let place = client.at("textDocument/prepareRename", 9, 5, json!({}));
    assert_eq!(place["result"]["placeholder"], "turn");
    let renamed = client.at("textDocument/rename", 9, 5, json!({ "newName": "next" }));
    let edits = renamed["result"]["changes"][URI].as_array().unwrap();
    let ranges: Vec<&Value> = edits.iter().map(|edit| &edit["range"]).collect();
    assert_eq!(
        ranges,
        [&range(5, 10, 14), &range(8, 9, 13), &range(9, 4, 8)]
    );
    assert!(edits.iter().all(|edit| edit["newText"] == "next"));
    for (to, why) in [
        ("wait", "`wait` cannot be a name"),
        ("a b", "`a b` cannot be a name"),
        ("N", "`N` is declared twice"),
    ] {
        let refused = client.at("textDocument/rename", 9, 5, json!({ "newName": to }));
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(why), "{message}");
    }
    // The parameter of the residency has no declaration of its own.
    let refused = client.at("textDocument/rename", 13, 33, json!({ "newName": "Q" }));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("write `param R in 1..`"), "{message}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_name_that_would_catch_undeclared_data_is_refused() {
    let mut client = Client::ready();
    client.open("protocol p\nbuffer a\nrole r { write a write b }\n");
    let refused = client.at("textDocument/rename", 1, 7, json!({ "newName": "b" }));
    assert_eq!(refused["error"]["message"], "`b` is in use already");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_text_is_laid_out() {
    let mut client = Client::ready();
    client.open(
        &TURNS
            .replace("    wait turn==n\n", "wait  turn\n==n\n")
            .replace("    wait turn == n\n", "  wait   turn ==\n n\n"),
    );
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": URI }, "options": options });
    let edits = client.ask("textDocument/formatting", params.clone());
    assert_eq!(
        edits["result"],
        json!([{
            "range": {
                "start": { "line": 8, "character": 0 },
                "end": { "line": 10, "character": 0 },
            },
            "newText": "    wait turn == n\n",
        }])
    );
    client.change(2, range(8, 0, 9), "  wait turn");
    let _ = client.ask("textDocument/formatting", params);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn checks_are_shown_where_they_are_asked_for() {
    let mut client = Client::ready();
    client.open(TURNS);
    assert_eq!(
        client.titles(),
        [
            "2: check",
            "2: check all properties",
            "13: check",
            "14: check"
        ]
    );
    let answer = client.check(json!({ "property": "deadlock" }));
    let finding = &answer["result"]["findings"][0];
    assert_eq!(finding["verdict"], "REFUTED");
    // The headline stands at the wait that is to blame.
    let shown = client
        .seen
        .iter()
        .rfind(|message| message["method"] == "textDocument/publishDiagnostics")
        .unwrap()["params"]["diagnostics"][0]
        .clone();
    assert_eq!(shown["range"], range(8, 4, 18));
    assert_eq!(shown["severity"], 1);
    let message = shown["message"].as_str().unwrap();
    assert!(
        message.starts_with("deadlock: REFUTED at N = 2, R = 1"),
        "{message}"
    );
    let methods: Vec<&str> = client
        .seen
        .iter()
        .filter_map(|message| message["method"].as_str())
        .collect();
    for method in [
        "window/workDoneProgress/create",
        "$/progress",
        "workspace/codeLens/refresh",
    ] {
        assert!(methods.contains(&method), "{method}");
    }

    let answer = client.check(json!({ "expect": 1 }));
    let finding = &answer["result"]["findings"][0];
    assert_eq!(finding["verdict"], "PROVED");
    assert_eq!(finding["expectation"]["met"], true);
    client.check(json!({ "expect": 0 }));
    let titles = client.titles();
    assert!(
        titles[0].starts_with("2: deadlock: REFUTED at N = 2"),
        "{titles:?}"
    );
    assert_eq!(
        titles[1..],
        [
            "2: check all properties",
            "13: ok: refuted at N = 2, R = 1",
            "14: ok: proved"
        ]
    );

    // What was decided is not said of another text.
    let found = client.change(2, range(7, 27, 37), "ascending");
    assert_eq!(found, json!([]));
    assert_eq!(client.titles()[0], "2: check");
    let answer = client.check(json!({ "property": "deadlock" }));
    assert_eq!(answer["result"]["findings"][0]["verdict"], "PROVED");
    client.check(json!({ "expect": 0 }));
    let shown = client
        .seen
        .iter()
        .rfind(|message| message["method"] == "textDocument/publishDiagnostics")
        .unwrap()["params"]["diagnostics"][0]
        .clone();
    assert_eq!(shown["range"]["start"]["line"], 12);
    assert_eq!(
        shown["message"],
        "expected `deadlock: refuted at N = 2, R = 1`, got proved"
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn checks_end_when_they_are_cancelled_or_the_text_changes() {
    let mut client = Client::ready();
    let hard = std::fs::read_to_string("encodings/pipeline/gemm_step7.wlk").unwrap();
    client.open(&hard);
    let params = json!({ "command": "warplock.check", "arguments": [URI, { "property": "all" }] });
    let first = client.request("workspace/executeCommand", params.clone());
    client.tell("$/cancelRequest", json!({ "id": first }));
    let answer = client.until(|message| message["id"] == first);
    assert_eq!(answer["error"]["code"], -32800);
    let second = client.request("workspace/executeCommand", params);
    client.tell(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": URI, "version": 2 },
            "contentChanges": [{ "text": TURNS }],
        }),
    );
    let answer = client.until(|message| message["id"] == second);
    assert_eq!(answer["error"]["code"], -32800);
    // A check that goes on keeps nobody from leaving.
    client.request(
        "workspace/executeCommand",
        json!({ "command": "warplock.check", "arguments": [URI] }),
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn wrong_messages_are_answered_and_end_nothing() {
    let mut client = Client::start();
    let early = client.ask("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    drop(client.input.take());
    assert_eq!(client.server.wait().unwrap().code(), Some(1));

    let mut client = Client::ready();
    client.raw(b"Content-Length: 5\r\n\r\n{\"a\":");
    let told = client.until(|message| message["id"].is_null() && !message["error"].is_null());
    assert_eq!(told["error"]["code"], -32700);
    client.ask("no/such", json!({}));
    client.raw(b"nonsense\r\nContent-Length: 99999999999999999999\r\n\r\n");
    client.until(|message| message["id"].is_null() && !message["error"].is_null());
    for (method, params, code) in [
        ("textDocument/hover", json!([]), -32602),
        ("textDocument/hover", json!({ "textDocument": 3 }), -32602),
        ("no/such", json!({}), -32601),
        ("initialize", json!({ "capabilities": {} }), -32601),
        (
            "workspace/executeCommand",
            json!({ "command": "rm" }),
            -32602,
        ),
        (
            "workspace/executeCommand",
            json!({ "command": "warplock.check", "arguments": [URI] }),
            -32803,
        ),
    ] {
        let answer = client.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    client.tell("textDocument/didChange", json!({ "textDocument": {} }));
    client.tell("textDocument/didClose", json!(7));
    client.open(TURNS);
    // Ranges that are none, and a place outside.
    client.change(
        2,
        json!({ "start": { "line": 900, "character": 900 }, "end": { "line": 0, "character": 0 } }),
        "",
    );
    let hover = client.at("textDocument/hover", 4_000_000_000, 5, json!({}));
    assert_eq!(hover["result"], Value::Null);
    let answer = client.check(json!({ "property": "nothing" }));
    assert_eq!(answer["error"]["code"], -32803);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn leaving_without_a_word_is_an_error() {
    let mut client = Client::ready();
    client.tell("exit", Value::Null);
    assert_eq!(client.server.wait().unwrap().code(), Some(1));
}
