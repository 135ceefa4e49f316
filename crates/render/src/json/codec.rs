//! Readings in JSON. Serde writes a `Result` as `{"Ok": value}` or `{"Err": reason}`. In our JSON a field holds the value
//! itself, or null with the reason in `<name>_absent` next to it; an element of an array is the value, or
//! `{"absent": reason}`.

use std::vec;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::map::IntoIter;
use serde_json::{Error, Map, Value};

use super::ReadError;

pub(super) const OK: &str = "Ok";
const ERR: &str = "Err";
/// What follows the name of a field that holds the reason for another one's absence.
pub(super) const ABSENT: &str = "_absent";
/// The one field of an absent element of an array.
pub(super) const ABSENT_ELEMENT: &str = "absent";

/// What serde wrote, with readings as the output contract has them.
pub(super) fn written(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (name, field) in fields {
                match reading(field) {
                    Ok(value) => {
                        out.insert(name, written(value));
                    }
                    Err(reason) => {
                        let absent = format!("{name}{ABSENT}");
                        out.insert(name, Value::Null);
                        out.insert(absent, reason);
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(elements) => {
            let element = |element| match reading(element) {
                Ok(value) => written(value),
                Err(reason) => Value::Object([(ABSENT_ELEMENT.to_owned(), reason)].into_iter().collect()),
            };
            Value::Array(elements.into_iter().map(element).collect())
        }
        scalar => scalar,
    }
}

/// The value that serde wrote, or the reason why it is absent.
fn reading(value: Value) -> Result<Value, Value> {
    match value {
        Value::Object(mut fields) if fields.len() == 1 => match (fields.remove(OK), fields.remove(ERR)) {
            (Some(value), _) => Ok(value),
            (None, Some(reason)) => Err(reason),
            (None, None) => Ok(Value::Object(fields)),
        },
        value => Ok(value),
    }
}

/// What [`Reader`] reads: reasons stand in the place of the values that are absent.
pub(super) fn readable(value: Value) -> Result<Value, ReadError> {
    match value {
        Value::Object(fields) => {
            let (reasons, values): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| name.ends_with(ABSENT));
            let mut out = Map::new();
            for (name, field) in values {
                out.insert(name.clone(), readable(field).map_err(|error| error.within(&name))?);
            }
            for (name, reason) in reasons {
                let of = name.strip_suffix(ABSENT).unwrap_or_default();
                match out.get_mut(of) {
                    Some(value @ Value::Null) => *value = absent(reason),
                    Some(_) => return Err(ReadError::field(of, format!("both a value and a reason in {name}"))),
                    None => return Err(ReadError::field(of, format!("missing, though there is a reason in {name}"))),
                }
            }
            Ok(Value::Object(out))
        }
        Value::Array(elements) => {
            let element = |(index, element)| match element {
                Value::Object(mut fields) if fields.len() == 1 && fields.contains_key(ABSENT_ELEMENT) => {
                    Ok(absent(fields.remove(ABSENT_ELEMENT).unwrap_or_default()))
                }
                element => readable(element).map_err(|error| error.within(&format!("[{index}]"))),
            };
            elements.into_iter().enumerate().map(element).collect::<Result<_, _>>().map(Value::Array)
        }
        scalar => Ok(scalar),
    }
}

fn absent(reason: Value) -> Value {
    Value::Object([(ERR.to_owned(), reason)].into_iter().collect())
}

/// A value of [`readable`] JSON: what `serde_json` reads, and readings wherever a type has a `Result`.
pub(super) struct Reader(pub(super) Value);

impl<'de> Deserializer<'de> for Reader {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(elements) => visitor.visit_seq(Elements(elements.into_iter())),
            Value::Object(fields) => visitor.visit_map(Fields { rest: fields.into_iter(), value: Value::Null }),
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let is_reading = variants == [OK, ERR];
        let (variant, value) = match self.0 {
            Value::String(name) if !is_reading => (name, None),
            Value::Object(fields) if fields.len() == 1 && (!is_reading || fields.contains_key(ERR)) => {
                let (name, value) = fields.into_iter().next().unwrap_or_default();
                (name, Some(value))
            }
            value if is_reading => (OK.to_owned(), Some(value)),
            other => {
                return Err(Error::custom(format!("invalid type: {}, expected one of {variants:?}", kind(&other))));
            }
        };
        visitor.visit_enum(Variant { variant, value })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// What a value is, for an error.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

struct Elements(vec::IntoIter<Value>);

impl<'de> SeqAccess<'de> for Elements {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|element| seed.deserialize(Reader(element))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Fields {
    rest: IntoIter,
    /// The value of the key that was read last.
    value: Value,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.value = value;
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Reader(std::mem::take(&mut self.value)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant of an enum with what it holds.
struct Variant {
    variant: String,
    value: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Content;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content), Error> {
        let name: StrDeserializer<'_, Error> = self.variant.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, Content(self.value)))
    }
}

struct Content(Option<Value>);

impl Content {
    fn value(self) -> Result<Reader, Error> {
        self.0.map(Reader).ok_or_else(|| Error::custom("the variant holds nothing, and it needs a value"))
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(Error::custom("the variant holds a value, and it has none")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.value()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.value()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.value()?.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};
    use steady_model::{Absent, Nanos, Outcome, Reading};

    use super::*;
    use crate::json::{Schema, record, text};

    const SCHEMA: Schema = Schema { name: "steady.sample/1", what: "a sample" };

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        wall_seconds: Reading<Nanos>,
        /// There may be none, which is known.
        quota_ratio: Reading<Option<f64>>,
        poll_seconds: Option<Nanos>,
        by_cpu: Vec<Reading<u32>>,
        outcome: Outcome,
        parts: Vec<Part>,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Part {
        name: String,
        pages: Reading<u64>,
    }

    fn absent(reason: &str) -> Absent {
        Absent::because(reason)
    }

    fn sample() -> Sample {
        Sample {
            wall_seconds: Ok(Nanos(1_500_000_000)),
            quota_ratio: Ok(None),
            poll_seconds: None,
            by_cpu: vec![Ok(3), Err(absent("offline"))],
            outcome: Outcome::Exited(3),
            parts: vec![Part { name: "a".to_owned(), pages: Err(absent("no \"counter\"")) }],
        }
    }

    #[test]
    fn readings_are_values_or_null_with_a_reason() {
        let json = text(&SCHEMA, &sample());
        let value: Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!({
            "schema": "steady.sample/1", "wall_seconds": 1.5, "quota_ratio": null, "poll_seconds": null,
            "by_cpu": [3, { "absent": "offline" }], "outcome": { "exited": 3 },
            "parts": [{ "name": "a", "pages": null, "pages_absent": "no \"counter\"" }],
        });
        assert_eq!(value, expected);
        assert!(json.starts_with("{\n  \"schema\": \"steady.sample/1\",\n"), "{json}");
        assert_eq!(record::<Sample>(&SCHEMA, &json), Ok(sample()));
    }

    #[test]
    fn errors_name_the_place() {
        let json = text(&SCHEMA, &sample());
        let error = |from: &str, to: &str| {
            assert!(json.contains(from), "{json}");
            record::<Sample>(&SCHEMA, &json.replacen(from, to, 1)).unwrap_err().to_string()
        };
        let wrong = error("\"wall_seconds\": 1.5", "\"wall_seconds\": \"x\"");
        assert!(wrong.starts_with("wall_seconds: invalid type: string"), "{wrong}");
        let neither = error("1.5", "null");
        assert!(neither.starts_with("wall_seconds: ") && neither.contains("null"), "{neither}");
        let both = error("\"pages\": null", "\"pages\": 1");
        assert_eq!(both, "parts[0].pages: both a value and a reason in pages_absent");
        let missing = error("\"wall_seconds\": 1.5,", "");
        assert!(missing.contains("missing field `wall_seconds`"), "{missing}");
        let unknown = error("exited", "left");
        assert!(unknown.starts_with("outcome"), "{unknown}");
    }

    proptest! {
        #[test]
        fn every_record_comes_back(
            wall in prop::result::maybe_err(0..(1_u64 << 23) * 1_000_000_000, ".*"), quota in prop::option::of(0.0..9.0_f64),
            cpus in prop::collection::vec(prop::result::maybe_err(any::<u32>(), ".*"), 0..4),
            parts in prop::collection::vec((".*", prop::result::maybe_err(any::<u64>(), ".*")), 0..3),
        ) {
            let sample = Sample {
                wall_seconds: wall.map(Nanos).map_err(Absent),
                quota_ratio: Ok(quota),
                poll_seconds: quota.map(Nanos::from_seconds),
                by_cpu: cpus.into_iter().map(|cpu| cpu.map_err(Absent)).collect(),
                outcome: Outcome::TimedOut,
                parts: parts.into_iter().map(|(name, pages)| Part { name, pages: pages.map_err(Absent) }).collect(),
            };
            prop_assert_eq!(record::<Sample>(&SCHEMA, &text(&SCHEMA, &sample)), Ok(sample));
        }

        #[test]
        fn no_text_makes_it_panic(json in ".*") {
            let _ = record::<Sample>(&SCHEMA, &json);
            let _ = record::<Sample>(&SCHEMA, &format!("{{\"schema\":\"steady.sample/1\",{json}}}"));
        }
    }
}
