//! Constants: integers in all notations, floating-point numbers as bits.

/// An integer; or a floating-point number as its bits and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    Integer(i128),
    Float(u64, u16),
}

/// The number that a token stands for. Integers have 64 bits in PTX.
pub fn number(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    if bytes.first() == Some(&b'0') && text.len() > 1 {
        let digits = text.get(2..).unwrap_or_default();
        match bytes[1] {
            b'f' | b'F' if digits.len() == 8 => {
                return Some(Number::Float(u64::from_str_radix(digits, 16).ok()?, 32));
            }
            b'd' | b'D' if digits.len() == 16 => {
                return Some(Number::Float(u64::from_str_radix(digits, 16).ok()?, 64));
            }
            _ => {}
        }
    }
    if let Some(value) = integer(text) {
        return Some(Number::Integer(value));
    }
    let begins = text.starts_with("0x") || text.starts_with("0X");
    if !begins && text.contains(['.', 'e', 'E']) {
        let value: f64 = text.parse().ok()?;
        return Some(Number::Float(value.to_bits(), 64));
    }
    None
}

/// An integer in decimal, hexadecimal, octal or binary notation, perhaps with `U`.
pub fn integer(text: &str) -> Option<i128> {
    let text = text.strip_suffix(['U', 'u']).unwrap_or(text);
    let radix = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    let value = if let Some(digits) = radix(["0x", "0X"]) {
        u64::from_str_radix(digits, 16)
    } else if let Some(digits) = radix(["0b", "0B"]) {
        u64::from_str_radix(digits, 2)
    } else if text.len() > 1 && text.starts_with('0') {
        u64::from_str_radix(text, 8)
    } else {
        text.parse()
    };
    value.ok().map(i128::from)
}
