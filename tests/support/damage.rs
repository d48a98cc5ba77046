//! Every small damage of a JSON value: a leaf changed, a part dropped or doubled.

use serde_json::Value;

/// The value at a path, and the path in words with positions left out.
pub fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(all) => &mut all[step.parse::<usize>().unwrap()],
        Value::Object(all) => all.get_mut(step).unwrap(),
        _ => panic!("no path"),
    })
}

pub fn worded(path: &[String]) -> String {
    let named = path.iter().filter(|step| step.parse::<usize>().is_err());
    named.cloned().collect::<Vec<_>>().join(".")
}

/// Every path in a value.
pub fn paths(value: &Value, path: &mut Vec<String>, into: &mut Vec<Vec<String>>) {
    into.push(path.clone());
    let parts: Vec<(String, &Value)> = match value {
        Value::Array(all) => (0..).map(|at: usize| at.to_string()).zip(all).collect(),
        Value::Object(all) => all.iter().map(|(key, part)| (key.clone(), part)).collect(),
        _ => Vec::new(),
    };
    for (step, part) in parts {
        path.push(step);
        paths(part, path, into);
        path.pop();
    }
}

/// What a part may become.
pub fn changes(part: &Value) -> Vec<Value> {
    match part {
        Value::Null => vec![Value::from(0)],
        Value::Bool(b) => vec![Value::from(!b)],
        Value::Number(n) => match n.as_i64() {
            Some(n) => [n.wrapping_add(1), n.wrapping_sub(1), i64::MAX, i64::MIN]
                .map(Value::from)
                .to_vec(),
            None => vec![Value::from(0)],
        },
        Value::String(s) => {
            let mut all = vec![Value::from(format!("{s}x")), Value::from("")];
            // Another number in a text is another text that may have a meaning.
            if let Some(digit) = s.find(|c: char| c.is_ascii_digit()) {
                let other = if s[digit..].starts_with('1') {
                    "2"
                } else {
                    "1"
                };
                all.push(format!("{}{other}{}", &s[..digit], &s[digit + 1..]).into());
            }
            all
        }
        Value::Array(all) => {
            let mut changed = Vec::new();
            for gone in 0..all.len() {
                let mut fewer = all.clone();
                let part = fewer.remove(gone);
                changed.push(Value::from(fewer));
                let mut more = all.clone();
                more.insert(gone, part);
                changed.push(Value::from(more));
            }
            changed
        }
        Value::Object(all) => {
            let fewer = all.keys().map(|key| {
                let mut fewer = all.clone();
                fewer.remove(key);
                Value::from(fewer)
            });
            fewer.collect()
        }
    }
}
