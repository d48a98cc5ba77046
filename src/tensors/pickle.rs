//! Reads the part of Python's pickle format in which PyTorch stores tensors.
//!
//! A pickle is a program for a stack machine, and this program may call any function. This reader calls nothing. A
//! call becomes an object that records the function and its arguments. The code that reads this object knows the few
//! calls that make up a tensor. Every operation takes constant time, or time proportional to what it removes from the
//! stack, and it makes at most one object. So the result is never larger than the bytes of the pickle.

use std::collections::HashMap;

/// An object, by its number in a [`Pickle`].
pub(super) type Id = usize;

/// The kinds of objects in a pickle.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    None,
    Bool(bool),
    Int(i64),
    Text(String),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A class or function: its module and its name, with a dot between.
    Global(String),
    /// An object that is stored outside of the pickle, by its name there.
    Persistent(Id),
    /// The result of a call, or a new instance of a class. It has attributes if they are set.
    Call {
        what: Id,
        with: Id,
        state: Option<Id>,
    },
    /// A number or bytes that are not needed here.
    Other,
}

/// The objects of a pickle.
#[derive(Debug)]
pub(super) struct Pickle {
    objects: Vec<Object>,
    root: Id,
}

impl Pickle {
    /// Reads a pickle.
    ///
    /// # Errors
    /// What is wrong with it, as a lowercase fragment.
    pub fn read(bytes: &[u8]) -> Result<Pickle, String> {
        let mut machine = Machine {
            rest: bytes,
            objects: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        };
        loop {
            let at = bytes.len() - machine.rest.len();
            match machine.step() {
                Some(Step::Next) => {}
                Some(Step::Stop(root)) => {
                    return Ok(Pickle {
                        objects: machine.objects,
                        root,
                    });
                }
                None => return Err(format!("the pickle is not understood at byte {at}")),
            }
        }
    }

    /// The object that was pickled.
    pub fn root(&self) -> Id {
        self.root
    }

    /// An object.
    pub fn get(&self, id: Id) -> &Object {
        self.objects.get(id).unwrap_or(&Object::Other)
    }

    /// The text of an object, if it is one.
    pub fn text(&self, id: Id) -> Option<&str> {
        match self.get(id) {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The name of a class or function, if it is one.
    pub fn global(&self, id: Id) -> Option<&str> {
        match self.get(id) {
            Object::Global(name) => Some(name),
            _ => None,
        }
    }

    /// The elements of a tuple, if it is one.
    pub fn tuple(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Object::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// A tuple of numbers, none negative, if it is one.
    pub fn sizes(&self, id: Id) -> Option<Vec<u64>> {
        let size = |id: &Id| self.size(*id);
        self.tuple(id)?.iter().map(size).collect()
    }

    /// A number that is not negative, if it is one.
    pub fn size(&self, id: Id) -> Option<u64> {
        match self.get(id) {
            Object::Int(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }
}

enum Step {
    Next,
    Stop(Id),
}

struct Machine<'a> {
    rest: &'a [u8],
    objects: Vec<Object>,
    stack: Vec<Id>,
    /// The height of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
}

impl Machine<'_> {
    /// Executes one operation; `None` if it is unknown, or if its operands do not fit.
    fn step(&mut self) -> Option<Step> {
        let [operation] = self.array()?;
        match operation {
            // PROTO and FRAME contain nothing that is needed.
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'.' => return Some(Step::Stop(self.pop()?)),
            b'(' => self.marks.push(self.stack.len()),
            b'0' => drop(self.pop()?),
            b'1' => drop(self.marked()?),
            b'2' => self.stack.push(*self.stack.last()?),
            b'N' => self.push(Object::None),
            0x88 => self.push(Object::Bool(true)),
            0x89 => self.push(Object::Bool(false)),
            b'K' | b'M' | b'J' | 0x8a => {
                let value = self.integer(operation)?;
                self.push(value);
            }
            b'G' => {
                self.take(8)?;
                self.push(Object::Other);
            }
            // Text, with its length in 1, 4 or 8 bytes; then bytes.
            0x8c | b'U' => self.string(1)?,
            b'X' | b'T' => self.string(4)?,
            0x8d => self.string(8)?,
            b'C' => self.bytes(1)?,
            b'B' => self.bytes(4)?,
            0x8e => self.bytes(8)?,
            b')' => self.push(Object::Tuple(Vec::new())),
            b']' | 0x8f => self.push(Object::List(Vec::new())),
            b'}' => self.push(Object::Dict(Vec::new())),
            0x85..=0x87 => {
                let count = usize::from(operation - 0x84);
                let elements = self.last(count)?;
                self.push(Object::Tuple(elements));
            }
            b't' => {
                let elements = self.marked()?;
                self.push(Object::Tuple(elements));
            }
            b'l' => {
                let elements = self.marked()?;
                self.push(Object::List(elements));
            }
            b'd' => {
                let entries = pairs(&self.marked()?)?;
                self.push(Object::Dict(entries));
            }
            b'a' => {
                let element = self.last(1)?;
                self.append(&element)?;
            }
            b'e' | 0x90 => {
                let elements = self.marked()?;
                self.append(&elements)?;
            }
            b's' => {
                let entry = self.last(2)?;
                self.set_items(&entry)?;
            }
            b'u' => {
                let entries = self.marked()?;
                self.set_items(&entries)?;
            }
            b'q' | b'r' | b'h' | b'j' | 0x94 => self.memory(operation)?,
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Object::Global(format!("{module}.{name}")));
            }
            0x93 => {
                let names = self.last(2)?;
                let [module, name] = [self.text(names[0])?, self.text(names[1])?];
                self.push(Object::Global(format!("{module}.{name}")));
            }
            b'Q' => {
                let name = self.pop()?;
                self.push(Object::Persistent(name));
            }
            b'R' | 0x81 | 0x92 => self.call(operation)?,
            b'b' => {
                let attributes = self.pop()?;
                // Attributes of other objects are not needed here.
                if let Object::Call { state, .. } = self.objects.get_mut(*self.stack.last()?)? {
                    *state = Some(attributes);
                }
            }
            _ => return None,
        }
        Some(Step::Next)
    }

    fn call(&mut self, operation: u8) -> Option<()> {
        // NEWOBJ_EX has keywords as well.
        if operation == 0x92 {
            self.pop()?;
        }
        let with = self.pop()?;
        let what = self.pop()?;
        let ordered = Object::Global("collections.OrderedDict".to_owned());
        let empty = Object::Tuple(Vec::new());
        // A dictionary that is constructed from something is not followed.
        let is_dict = *self.objects.get(what)? == ordered && *self.objects.get(with)? == empty;
        let object = match is_dict {
            true => Object::Dict(Vec::new()),
            false => Object::Call {
                what,
                with,
                state: None,
            },
        };
        self.push(object);
        Some(())
    }

    /// Stores the top of the stack under a number, or pushes what is stored.
    fn memory(&mut self, operation: u8) -> Option<()> {
        let number = match operation {
            b'q' | b'h' => self.length(1)?,
            b'r' | b'j' => self.length(4)?,
            _ => self.memo.len() as u64,
        };
        match operation {
            b'h' | b'j' => self.stack.push(*self.memo.get(&number)?),
            _ => drop(self.memo.insert(number, *self.stack.last()?)),
        }
        Some(())
    }

    fn integer(&mut self, operation: u8) -> Option<Object> {
        let value = match operation {
            b'K' => i64::from(u8::from_le_bytes(self.array()?)),
            b'M' => i64::from(u16::from_le_bytes(self.array()?)),
            b'J' => i64::from(i32::from_le_bytes(self.array()?)),
            _ => {
                let [length] = self.array()?;
                let digits = self.take(usize::from(length))?;
                if digits.len() > 8 {
                    return Some(Object::Other);
                }
                // Two's complement of so many bytes.
                let negative = digits.last().is_some_and(|last| last & 0x80 != 0);
                let mut all = [if negative { 0xff } else { 0 }; 8];
                all[..digits.len()].copy_from_slice(digits);
                i64::from_le_bytes(all)
            }
        };
        Some(Object::Int(value))
    }

    fn string(&mut self, width: usize) -> Option<()> {
        let length = self.length(width)?;
        let bytes = self.take(usize::try_from(length).ok()?)?;
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.push(Object::Text(text));
        Some(())
    }

    fn bytes(&mut self, width: usize) -> Option<()> {
        let length = self.length(width)?;
        self.take(usize::try_from(length).ok()?)?;
        self.push(Object::Other);
        Some(())
    }

    fn append(&mut self, elements: &[Id]) -> Option<()> {
        match self.objects.get_mut(*self.stack.last()?)? {
            Object::List(list) => list.extend_from_slice(elements),
            Object::Call { .. } => {}
            _ => return None,
        }
        Some(())
    }

    fn set_items(&mut self, entries: &[Id]) -> Option<()> {
        let entries = pairs(entries)?;
        match self.objects.get_mut(*self.stack.last()?)? {
            Object::Dict(dict) => dict.extend(entries),
            Object::Call { .. } => {}
            _ => return None,
        }
        Some(())
    }

    fn push(&mut self, object: Object) {
        self.stack.push(self.objects.len());
        self.objects.push(object);
    }

    /// Pops the top of the stack, unless a mark protects it.
    fn pop(&mut self) -> Option<Id> {
        Some(*self.last(1)?.first()?)
    }

    fn last(&mut self, count: usize) -> Option<Vec<Id>> {
        let from = self.stack.len().checked_sub(count)?;
        if self.marks.last().is_some_and(|mark| from < *mark) {
            return None;
        }
        Some(self.stack.split_off(from))
    }

    /// Pops everything that was pushed since the last mark.
    fn marked(&mut self) -> Option<Vec<Id>> {
        let mark = self.marks.pop()?;
        (mark <= self.stack.len()).then(|| self.stack.split_off(mark))
    }

    fn text(&self, id: Id) -> Option<&str> {
        match self.objects.get(id)? {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn length(&mut self, width: usize) -> Option<u64> {
        let bytes = self.take(width)?.iter().rev();
        Some(bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn line(&mut self) -> Option<String> {
        let end = self.rest.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Some(line)
    }
}

fn pairs(elements: &[Id]) -> Option<Vec<(Id, Id)>> {
    let (pairs, rest) = elements.as_chunks::<2>();
    let pairs = pairs.iter().map(|[key, value]| (*key, *value));
    rest.is_empty().then(|| pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_writes_is_read() {
        // pickle.dumps({"a": (1, -2, 70000, None, True), "b": [2**40]}, protocol=2)
        let bytes = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01(K\x01J\xfe\xff\xff\xffJp\x11\x01\x00N\x88tq\x02X\x01\x00\x00\x00bq\x03]q\x04\x8a\x06\x00\x00\x00\x00\x00\x01au.";
        let pickle = Pickle::read(bytes).unwrap();
        let Object::Dict(entries) = pickle.get(pickle.root()) else {
            panic!("a dict");
        };
        assert_eq!(pickle.text(entries[0].0), Some("a"));
        let tuple = pickle.tuple(entries[0].1).unwrap();
        let values: Vec<&Object> = tuple.iter().map(|id| pickle.get(*id)).collect();
        let expected = [
            &Object::Int(1),
            &Object::Int(-2),
            &Object::Int(70000),
            &Object::None,
            &Object::Bool(true),
        ];
        assert_eq!(values, expected);
        let Object::List(list) = pickle.get(entries[1].1) else {
            panic!("a list");
        };
        assert_eq!(pickle.get(list[0]), &Object::Int(1 << 40));
    }

    #[test]
    fn calls_are_not_made() {
        // os.system("true")
        let bytes = b"cos\nsystem\nX\x04\x00\x00\x00true\x85R.";
        let pickle = Pickle::read(bytes).unwrap();
        let Object::Call { what, .. } = pickle.get(pickle.root()) else {
            panic!("a call");
        };
        assert_eq!(pickle.global(*what), Some("os.system"));
    }

    #[test]
    fn a_dictionary_made_of_something_is_no_empty_dictionary() {
        let read = |bytes: &[u8]| {
            let pickle = Pickle::read(bytes).unwrap();
            pickle.get(pickle.root()).clone()
        };
        // OrderedDict(), and then d["a"] = 1.
        let filled = read(b"ccollections\nOrderedDict\n)RX\x01\x00\x00\x00aK\x01s.");
        assert!(matches!(filled, Object::Dict(entries) if entries.len() == 1));
        // OrderedDict([("a", 1)])
        let made = read(b"ccollections\nOrderedDict\n](X\x01\x00\x00\x00aK\x01tq\x00a\x85R.");
        assert!(matches!(made, Object::Call { .. }), "{made:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for bytes in [
            &b""[..],
            b".",
            b"t.",
            b"(0.",
            b"h\x00.",
            b"X\xff\xff\xff\xff.",
            b"(K\x01d.",
            b"K\x01K\x02a.",
            b"\x93.",
            b"K\x01K\x01\x93.",
            b"cos\nsystem",
            b"\xf0.",
            b"(((((((((",
        ] {
            assert!(Pickle::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
