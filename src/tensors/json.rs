//! The JSON form: an object with the arrays, or a bare 0/1 matrix.
//!
//! Lists are read straight into flat integers with a shape, never into a tree of values.
//! Repeated keys are problems; unknown keys are skipped unless they look like a slip of a known
//! one. `forward` may hold the arrays per `m` under their plain names.

use std::collections::HashSet;
use std::fmt;

use serde::de::DeserializeSeed;
use serde::de::Deserializer;
use serde::de::Error;
use serde::de::IgnoredAny;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;

use super::array::Array;
use super::array::Budget;
use super::error::Problem;
use super::error::Problems;
use super::error::TensorError;
use super::layout::Named;
use super::names;
use super::names::Role;
use super::options::ReadOptions;

/// Reads the arrays of a JSON text.
///
/// # Errors
/// Malformed JSON, values that are not integers, uneven lists, or too many elements.
pub(super) fn parse(
    bytes: &[u8],
    options: &ReadOptions,
    problems: &mut Problems,
) -> Result<Named, TensorError> {
    let mut reading = Reading {
        named: Named::default(),
        problems,
        budget: Budget::new(options.element_limit()),
        stopped: None,
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let document = Document {
        reading: &mut reading,
        forward: false,
    };
    let outcome = document
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match (reading.stopped, outcome) {
        (Some(problem), _) => Err(problem.into()),
        (None, Err(error)) => Err(Problem::Syntax {
            format: "JSON",
            detail: error.to_string().chars().take(300).collect(),
        }
        .into()),
        (None, Ok(())) => Ok(reading.named),
    }
}

struct Reading<'a> {
    named: Named,
    problems: &'a mut Problems,
    budget: Budget,
    stopped: Option<Problem>,
}

struct Document<'a, 'b> {
    reading: &'a mut Reading<'b>,
    forward: bool,
}

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.forward {
            true => deserializer.deserialize_map(self),
            false => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.forward {
            true => f.write_str("an object with the arrays per m"),
            false => f.write_str("an object with arrays, or a matrix"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let (shown, known) = match self.forward {
                true => (format!("forward.{key}"), format!("fwd_{key}")),
                false => (key.clone(), key.clone()),
            };
            if let Some(role) = names::role(&known) {
                let mut values = Collected::new(&shown, self.reading);
                map.next_value_seed(Level {
                    to: &mut values,
                    depth: 0,
                })?;
                let array = values.finish();
                if !keys.contains(&key) {
                    self.reading
                        .named
                        .insert(role, array, self.reading.problems);
                }
            } else if key == "forward" && !self.forward {
                map.next_value_seed(Document {
                    reading: &mut *self.reading,
                    forward: true,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
                if let Some(meant) = names::nearest(&known) {
                    self.reading.problems.push(Problem::Typo {
                        found: shown.clone(),
                        meant: meant.to_owned(),
                    });
                }
            }
            if !keys.insert(key) {
                self.reading
                    .problems
                    .push(Problem::DuplicateName { name: shown });
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        let mut values = Collected::new("matrix", self.reading);
        let level = Level {
            to: &mut values,
            depth: 0,
        };
        level.visit_seq(seq)?;
        let array = values.finish();
        self.reading
            .named
            .insert(Role::Matrix, array, self.reading.problems);
        Ok(())
    }
}

struct Collected<'a> {
    name: String,
    values: Vec<i64>,
    extents: Vec<Option<usize>>,
    leaf_depth: Option<usize>,
    budget: &'a mut Budget,
    stopped: &'a mut Option<Problem>,
}

impl<'a> Collected<'a> {
    fn new(name: &str, reading: &'a mut Reading<'_>) -> Self {
        Collected {
            name: name.to_owned(),
            values: Vec::new(),
            extents: Vec::new(),
            leaf_depth: None,
            budget: &mut reading.budget,
            stopped: &mut reading.stopped,
        }
    }

    fn finish(self) -> Array {
        let shape = self.extents.into_iter().map(|extent| extent.unwrap_or(0));
        Array::from_integers(&self.name, shape.collect(), self.values)
    }

    fn charge<E: Error>(&mut self) -> Result<(), E> {
        self.budget.take_one(&self.name).map_err(|problem| {
            *self.stopped = Some(problem);
            E::custom("too many elements")
        })
    }

    fn add<E: Error>(&mut self, depth: usize, value: i64) -> Result<(), E> {
        if *self.leaf_depth.get_or_insert(depth) != depth || self.extents.len() > depth {
            return Err(self.uneven());
        }
        self.charge()?;
        self.values.push(value);
        Ok(())
    }

    fn uneven<E: Error>(&self) -> E {
        let name = &self.name;
        E::custom(format!(
            "{name} mixes numbers and lists, or lists of different lengths"
        ))
    }
}

struct Level<'a, 'b> {
    to: &'a mut Collected<'b>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Level<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "integers in {}", self.to.name)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.to.add(self.depth, i64::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.to.add(self.depth, value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.to.add(self.depth, value),
            Err(_) => {
                let name = &self.to.name;
                let at = self.to.values.len();
                Err(E::custom(format!(
                    "element {at} of {name} is {value}, which does not fit a signed 64-bit integer"
                )))
            }
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        let (name, at) = (&self.to.name, self.to.values.len());
        Err(E::custom(format!(
            "element {at} of {name} is {value:?}; integers are expected"
        )))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Level { to, depth } = self;
        if to.leaf_depth.is_some_and(|leaf| leaf <= depth) {
            return Err(to.uneven());
        }
        if to.extents.len() <= depth {
            to.extents.resize(depth + 1, None);
        }
        // An empty list contains no number that would be charged, but it becomes a row all the same.
        to.charge()?;
        let mut found = 0;
        while seq
            .next_element_seed(Level {
                to: &mut *to,
                depth: depth + 1,
            })?
            .is_some()
        {
            found += 1;
        }
        match to.extents[depth] {
            Some(extent) if extent != found => Err(to.uneven()),
            _ => {
                to.extents[depth] = Some(found);
                Ok(())
            }
        }
    }
}
