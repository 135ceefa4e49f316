//! Deserialization of records. A value is read as a reading only if the type at that position is a `Result`. The names
//! of fields and keys elsewhere have no special meaning.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::iter::Enumerate;
use std::vec;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde_json::map::IntoIter;
use serde_json::{Map, Value};

use super::{ABSENT, ABSENT_ELEMENT, ERR, NONE, OK, PRESENT_ELEMENT, READING, ReadError};

/// A problem and the path to the value that has it. A box, so that results of readers stay small.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Error(Box<ReadError>);

impl Error {
    /// The same error, seen from the object or array that contains the value.
    fn within(self, level: &str) -> Self {
        Error(Box::new(self.0.within(level)))
    }
}

impl de::Error for Error {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Error(Box::new(ReadError::field("", problem.to_string())))
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        *error.0
    }
}

/// A deserializer of a JSON value, which reads a `Result` as a reading and leaves everything else to `serde_json`.
pub(super) struct Reader {
    value: Value,
    place: ValuePosition,
}

/// The position of a value, which decides where the reason of a reading is.
enum ValuePosition {
    /// In a field of a struct, with the content of its `_absent` field if there is one.
    Field { name: String, reason: Option<Value> },
    /// In an array, or in a map whose keys are data.
    Element,
    /// The value of a reading in the field of this name.
    Reading { name: String },
}

impl Reader {
    pub(super) fn new(value: Value) -> Self {
        Reader { value, place: ValuePosition::Element }
    }

    /// Returns the value for a type other than `Option`. Null is an error where a reading has neither a value nor a
    /// reason.
    fn value(self) -> Result<Value, Error> {
        match self.place {
            ValuePosition::Reading { name } if self.value.is_null() => {
                Err(Error::custom(format!("null, without a reason in {name}{ABSENT}")))
            }
            _ => Ok(self.value),
        }
    }

    /// Deserializes a type that is not a reading.
    fn plain<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value()? {
            Value::Array(elements) => visitor.visit_seq(Elements(elements.into_iter().enumerate())),
            Value::Object(fields) => visitor.visit_map(Fields::of(fields)),
            Value::String(text) => visitor.visit_string(text),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Null => visitor.visit_unit(),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
        }
    }

    /// Returns a reading as a variant of `Result`: `Ok` with the value, or `Err` with the reason.
    fn reading(self) -> Result<Variant, Error> {
        let known = |reader| Ok(Variant { name: OK.to_owned(), content: Some(reader) });
        let absent = |reason| Ok(Variant { name: ERR.to_owned(), content: Some(Reader::new(reason)) });
        match (self.place, self.value) {
            (ValuePosition::Field { reason: Some(reason), .. }, Value::Null) => absent(reason),
            (ValuePosition::Field { name, reason: Some(_) }, _) => {
                Err(Error::custom(format!("both a value and a reason in {name}{ABSENT}")))
            }
            (ValuePosition::Field { name, reason: None }, value) => {
                known(Reader { value, place: ValuePosition::Reading { name } })
            }
            (_, Value::Object(mut fields)) if fields.len() == 1 => {
                if let Some(reason) = fields.remove(ABSENT_ELEMENT) {
                    return absent(reason);
                }
                let value = fields.remove(PRESENT_ELEMENT).unwrap_or(Value::Object(fields));
                known(Reader::new(value))
            }
            (_, value) => known(Reader::new(value)),
        }
    }
}

macro_rules! plain {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.plain(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        Reader::new(self.value).plain(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let has_reason = matches!(self.place, ValuePosition::Field { reason: Some(_), .. });
        if self.value.is_null() && !has_reason { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == READING && variants == [OK, ERR] {
            return visitor.visit_enum(self.reading()?);
        }
        let variant = match self.value()? {
            Value::String(name) => Variant { name, content: None },
            Value::Object(fields) if fields.len() == 1 => {
                let (name, value) = fields.into_iter().next().unwrap_or_default();
                Variant { name, content: Some(Reader::new(value)) }
            }
            other => {
                return Err(Error::custom(format!("invalid type: {}, expected one of {variants:?}", kind(&other))));
            }
        };
        visitor.visit_enum(variant)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.plain(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.plain(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.plain(visitor)
    }

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_seq deserialize_map
        deserialize_identifier
    }
}

/// Returns the JSON type of a value, for an error message.
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

struct Elements(Enumerate<vec::IntoIter<Value>>);

impl<'de> SeqAccess<'de> for Elements {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((index, element)) = self.0.next() else { return Ok(None) };
        match seed.deserialize(Reader::new(element)) {
            Ok(element) => Ok(Some(element)),
            Err(error) => Err(error.within(&format!("[{index}]"))),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Fields {
    rest: IntoIter,
    /// The values of all keys that end with `_absent`, by key. The reason may follow or precede its field.
    reasons: BTreeMap<String, Value>,
    /// The last key, its value, and whether a struct read the key as the name of a field.
    name: String,
    value: Value,
    is_field: bool,
}

impl Fields {
    fn of(fields: Map<String, Value>) -> Self {
        let reasons = fields.iter().filter(|(name, _)| name.ends_with(ABSENT));
        let reasons = reasons.map(|(name, reason)| (name.clone(), reason.clone())).collect();
        Fields { rest: fields.into_iter(), reasons, name: String::new(), value: Value::Null, is_field: false }
    }
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        let is_field = Cell::new(false);
        let key = seed.deserialize(Key { name: &name, is_field: &is_field })?;
        (self.name, self.value, self.is_field) = (name, value, is_field.get());
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, value) = (std::mem::take(&mut self.name), std::mem::take(&mut self.value));
        let place = if self.is_field {
            let reason = self.reasons.get(&format!("{name}{ABSENT}")).filter(|reason| *reason != NONE).cloned();
            ValuePosition::Field { name: name.clone(), reason }
        } else {
            ValuePosition::Element
        };
        seed.deserialize(Reader { value, place }).map_err(|error| error.within(&name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A key of an object. A struct reads it as the name of a field, and a map as text, a number or another key type.
struct Key<'a> {
    name: &'a str,
    is_field: &'a Cell<bool>,
}

impl<'a> Key<'a> {
    fn text(&self) -> StrDeserializer<'a, Error> {
        self.name.into_deserializer()
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.name.parse() {
                Ok(key) => visitor.$visit(key),
                Err(_) => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.text().deserialize_any(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_field.set(true);
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.text().deserialize_enum(name, variants, visitor)
    }

    parsed! {
        deserialize_bool visit_bool deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32
        deserialize_i64 visit_i64 deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32
        deserialize_u64 visit_u64
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct ignored_any
    }
}

/// A variant of an enum with its content.
struct Variant {
    name: String,
    content: Option<Reader>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Content;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content), Error> {
        let name: StrDeserializer<'_, Error> = self.name.as_str().into_deserializer();
        let key = seed.deserialize(name)?;
        Ok((key, Content { variant: self.name, reader: self.content }))
    }
}

struct Content {
    variant: String,
    reader: Option<Reader>,
}

impl Content {
    /// Reads the value of the variant. The text has no level for a reading that is available.
    fn read<T>(self, read: impl FnOnce(Reader) -> Result<T, Error>) -> Result<T, Error> {
        let reader = self.reader.ok_or_else(|| Error::custom("the variant needs a value, and there is none"))?;
        read(reader).map_err(|error| if self.variant == OK { error } else { error.within(&self.variant) })
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.reader {
            None | Some(Reader { value: Value::Null, .. }) => Ok(()),
            Some(_) => Err(Error::custom("the variant must not have a value, and there is one")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.read(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.read(|reader| reader.plain(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.read(|reader| reader.plain(visitor))
    }
}
