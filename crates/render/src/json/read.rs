//! The way back: what serde reads into a record. Only where a type asks for a `Result` is a reading looked for; fields and keys of
//! anything else mean nothing, whatever they are called.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::vec;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde_json::map::IntoIter;
use serde_json::{Error, Map, Value};

use super::{ABSENT, ABSENT_ELEMENT, ERR, OK, PRESENT_ELEMENT, READING};

/// A value of JSON: what `serde_json` reads, and readings wherever a type has one.
pub(super) struct Reader {
    value: Value,
    place: Place,
}

/// Where a value stands, if it may be a reading.
enum Place {
    /// In a field of a struct, with the reason for its absence if there is one.
    Field { name: String, reason: Option<Value> },
    /// In an array, or in a map with keys of any kind.
    Element,
    /// In the reading of this field.
    Reading { name: String },
}

impl Reader {
    pub(super) fn new(value: Value) -> Self {
        Reader { value, place: Place::Element }
    }

    /// The value, if it may be that of a type that null is no value of.
    fn value(self) -> Result<Value, Error> {
        match self.place {
            Place::Reading { name } if self.value.is_null() => {
                Err(Error::custom(format!("null, without a reason in {name}{ABSENT}")))
            }
            _ => Ok(self.value),
        }
    }

    /// What a type reads that is no reading.
    fn plain<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value()? {
            Value::Array(elements) => visitor.visit_seq(Elements(elements.into_iter())),
            Value::Object(fields) => visitor.visit_map(Fields::of(fields)),
            scalar => scalar.deserialize_any(visitor),
        }
    }

    /// The value, or the reason for its absence.
    fn reading(self) -> Result<Variant, Error> {
        let known = |reader| Ok(Variant { name: OK.to_owned(), content: Some(reader) });
        let absent = |reason| Ok(Variant { name: ERR.to_owned(), content: Some(Reader::new(reason)) });
        match (self.place, self.value) {
            (Place::Field { reason: Some(reason), .. }, Value::Null) => absent(reason),
            (Place::Field { name, reason: Some(_) }, _) => {
                Err(Error::custom(format!("both a value and a reason in {name}{ABSENT}")))
            }
            (Place::Field { name, reason: None }, value) => known(Reader { value, place: Place::Reading { name } }),
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
        let has_reason = matches!(self.place, Place::Field { reason: Some(_), .. });
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
        self.0.next().map(|element| seed.deserialize(Reader::new(element))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Fields {
    rest: IntoIter,
    /// The values of the keys that a reason may have, by those keys.
    reasons: BTreeMap<String, Value>,
    /// The key that was read last, its value, and whether it was read as the name of a field.
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
            let reason = self.reasons.get(&format!("{name}{ABSENT}")).cloned();
            Place::Field { name, reason }
        } else {
            Place::Element
        };
        seed.deserialize(Reader { value, place })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A key of an object. A struct asks for the name of a field; a map for a text, a number or whatever its keys are.
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

/// A variant of an enum with what it holds.
struct Variant {
    name: String,
    content: Option<Reader>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Content;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content), Error> {
        let name: StrDeserializer<'_, Error> = self.name.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, Content(self.content)))
    }
}

struct Content(Option<Reader>);

impl Content {
    fn reader(self) -> Result<Reader, Error> {
        self.0.ok_or_else(|| Error::custom("the variant holds nothing, and it needs a value"))
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            None | Some(Reader { value: Value::Null, .. }) => Ok(()),
            Some(_) => Err(Error::custom("the variant holds a value, and it has none")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.reader()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.reader()?.plain(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.reader()?.plain(visitor)
    }
}
