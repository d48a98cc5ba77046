//! Reads messages of a client: a header with a length, and JSON.
//!
//! The types of messages come from `lsp-server`. Its reader stops at the first damaged message, and allocates as much
//! memory as the header says. This reader limits the length, reports a damaged message and continues.

use std::io;
use std::io::BufRead;
use std::io::Read;
use std::sync::mpsc::Sender;

use lsp_server::ErrorCode;
use lsp_server::Message;

use super::Event;
use crate::failure::Failure;
use crate::interrupt;

/// The longest message that is read, in bytes: a text of the largest size, escaped, several times over.
const MOST: u64 = 64 << 20;

/// The longest line of a header.
const LINE: u64 = 4096;

/// Reads messages from standard input in a separate thread, until the input ends.
pub fn listen(events: Sender<Event>) -> Result<(), Failure> {
    interrupt::spawn(events, |events| {
        let mut input = io::stdin().lock();
        let mut damaged = false;
        loop {
            let event = match next(&mut input) {
                Ok(Some(Ok(message))) => {
                    damaged = false;
                    Event::Message(message)
                }
                // Only the first error of a damaged stretch of the input is reported.
                Ok(Some(Err(_))) if damaged => continue,
                Ok(Some(Err((code, message)))) => {
                    damaged = true;
                    Event::Damaged(code, message)
                }
                Ok(None) | Err(_) => break,
            };
            if events.send(event).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Closed);
    })?;
    Ok(())
}

/// A message, or what is wrong with it.
type Received = Result<Message, (ErrorCode, String)>;

/// The next message; `None` at the end of the input.
fn next(input: &mut impl BufRead) -> io::Result<Option<Received>> {
    let damaged = |what: &str| Ok(Some(Err((ErrorCode::ParseError, what.to_owned()))));
    let mut length: Option<u64> = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.split_once(':'))
        else {
            return damaged("a header is no `NAME: VALUE`");
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            let Ok(number) = value.trim().parse() else {
                return damaged("Content-Length is no number");
            };
            length = Some(number);
        }
    }
    let Some(length) = length else {
        return damaged("a message without Content-Length");
    };
    if length > MOST {
        io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        return damaged("a message is too long");
    }
    let mut body = Vec::new();
    let read = input.by_ref().take(length).read_to_end(&mut body)?;
    if (read as u64) < length {
        return Ok(None);
    }
    Ok(Some(parsed(&body)))
}

fn parsed(body: &[u8]) -> Received {
    let value: serde_json::Value = serde_json::from_slice(body)
        .map_err(|error| (ErrorCode::ParseError, format!("no JSON: {error}")))?;
    serde_json::from_value(value).map_err(|_| {
        let what = "neither a request, a response nor a notification";
        (ErrorCode::InvalidRequest, what.to_owned())
    })
}

/// The bytes of a message as they are sent.
pub fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = message.write(&mut bytes);
    bytes
}

/// The response to input from which no request number could be read.
pub fn refusal(code: ErrorCode, message: &str) -> Vec<u8> {
    let body = serde_json::json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": code as i32, "message": message },
    });
    let body = body.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8]) -> Vec<String> {
        let mut input = input;
        let mut out = Vec::new();
        while let Some(received) = next(&mut input).unwrap() {
            out.push(match received {
                Ok(Message::Notification(it)) => it.method,
                Ok(_) => "other".to_owned(),
                Err((_, what)) => what,
            });
        }
        out
    }

    #[test]
    fn a_damaged_message_is_told_and_the_next_one_read() {
        let good = "Content-Length: 27\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}";
        let good = good.replace("27", "30");
        let input = format!(
            "Content-Length: 3\r\n\r\n{{]}}{good}garbage\r\nContent-Length: x\r\n\r\n{good}Content-Length: 2\r\n\r\n42{good}"
        );
        let found = all(input.as_bytes());
        assert_eq!(
            found,
            [
                "no JSON: key must be a string at line 1 column 2",
                "a",
                "a header is no `NAME: VALUE`",
                "Content-Length is no number",
                "a message without Content-Length",
                "a",
                "neither a request, a response nor a notification",
                "a",
            ]
        );
        assert_eq!(all(b"Content-Length: 10\r\n\r\n{}"), Vec::<String>::new());
    }

    #[test]
    fn a_length_that_no_memory_holds_is_refused() {
        let found = all(b"Content-Length: 999999999999999\r\n\r\n{}");
        assert_eq!(found, ["a message is too long"]);
    }
}
