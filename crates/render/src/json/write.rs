//! Serialization of records. A value is a reading if its type is a `Result`, which serde passes by that name. Maps with
//! keys of users cannot imitate one.

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Error, Map, Value};

use super::{ABSENT, ABSENT_ELEMENT, ERR, NONE, OK, PRESENT_ELEMENT, READING};

/// Serializes a record or a part of one to a JSON value.
///
/// # Errors
/// A map has keys other than text, numbers and booleans, or a type's own serializer fails.
pub(super) fn written<T: Serialize + ?Sized>(record: &T) -> Result<Value, Error> {
    record.serialize(Writer).map(Written::element)
}

/// A serialized value before it is stored in its object or array.
enum Written {
    /// A value that is not a reading.
    Plain(Value),
    /// The value of a reading that is available.
    Known(Value),
    /// The reason of a reading that is not available.
    Absent(Value),
    /// `None` of an option, also within a reading.
    None,
}

impl Written {
    /// Returns the JSON of an element of an array, or of a map whose keys are data.
    fn element(self) -> Value {
        match self {
            Written::Plain(value) => value,
            Written::Known(value) if is_marked(&value) => only(PRESENT_ELEMENT, value),
            Written::Known(value) => value,
            Written::Absent(reason) => only(ABSENT_ELEMENT, reason),
            Written::None => Value::Null,
        }
    }

    fn known(self) -> Self {
        match self {
            Written::Plain(value) | Written::Known(value) => Written::Known(value),
            other => other,
        }
    }
}

/// Returns whether the value of a reading looks like the wrapper of a reading and therefore needs the wrapper itself.
fn is_marked(value: &Value) -> bool {
    let mark = |fields: &Map<String, Value>| {
        fields.len() == 1 && [ABSENT_ELEMENT, PRESENT_ELEMENT].iter().any(|mark| fields.contains_key(*mark))
    };
    value.as_object().is_some_and(mark)
}

/// Returns an object of one field.
fn only(name: &str, value: Value) -> Value {
    Value::Object([(name.to_owned(), value)].into_iter().collect())
}

/// Wraps the content of an enum's variant in an object with the variant's name.
fn of_variant(variant: Option<&str>, value: Value) -> Written {
    Written::Plain(match variant {
        Some(variant) => only(variant, value),
        None => value,
    })
}

struct Writer;

macro_rules! scalars {
    ($($method:ident($kind:ty))*) => {
        $(fn $method(self, value: $kind) -> Result<Written, Error> {
            serde_json::to_value(value).map(Written::Plain)
        })*
    };
}

impl Serializer for Writer {
    type Ok = Written;
    type Error = Error;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    scalars! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_u8(u8)
        serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_char(char) serialize_str(&str)
    }

    fn serialize_f32(self, value: f32) -> Result<Written, Error> {
        self.serialize_f64(f64::from(value))
    }

    /// Writes infinities and NaN, which JSON cannot represent, as not available with a reason.
    fn serialize_f64(self, value: f64) -> Result<Written, Error> {
        Ok(if value.is_finite() { Written::Plain(value.into()) } else { Written::Absent("not a number".into()) })
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Written, Error> {
        Ok(Written::Plain(bytes.into()))
    }

    fn serialize_none(self) -> Result<Written, Error> {
        Ok(Written::None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Written, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Written, Error> {
        Ok(Written::Plain(Value::Null))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Written, Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Written, Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Written, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Written, Error> {
        let written = value.serialize(self)?;
        Ok(match (name, variant) {
            (READING, OK) => written.known(),
            (READING, ERR) => Written::Absent(written.element()),
            _ => Written::Plain(only(variant, written.element())),
        })
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements, Error> {
        Ok(Elements { all: Vec::new(), variant: None })
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements, Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements, Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements, Error> {
        Ok(Elements { all: Vec::new(), variant: Some(variant) })
    }

    /// serde passes no length for a struct with flattened fields, and the length for a map.
    fn serialize_map(self, length: Option<usize>) -> Result<Fields, Error> {
        Ok(Fields { are_named_by_type: length.is_none(), ..Fields::default() })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields, Error> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields, Error> {
        Ok(Fields { are_named_by_type: true, variant: Some(variant), ..Fields::default() })
    }
}

/// The elements of an array, or of a tuple variant.
struct Elements {
    all: Vec<Value>,
    variant: Option<&'static str>,
}

impl SerializeSeq for Elements {
    type Ok = Written;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.all.push(written(value)?);
        Ok(())
    }

    fn end(self) -> Result<Written, Error> {
        Ok(of_variant(self.variant, Value::Array(self.all)))
    }
}

impl SerializeTuple for Elements {
    type Ok = Written;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Written, Error> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for Elements {
    type Ok = Written;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Written, Error> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleVariant for Elements {
    type Ok = Written;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Written, Error> {
        SerializeSeq::end(self)
    }
}

/// The fields of an object, or of a struct variant.
#[derive(Default)]
struct Fields {
    all: Map<String, Value>,
    /// The key of the value that follows.
    key: String,
    variant: Option<&'static str>,
    /// Whether a type defines the names of the fields. Then the reason of a null is in a field of its own; otherwise
    /// values are elements.
    are_named_by_type: bool,
}

impl Fields {
    fn put<T: Serialize + ?Sized>(&mut self, name: String, value: &T) -> Result<(), Error> {
        let (value, reason) = match value.serialize(Writer)? {
            Written::Absent(reason) if self.are_named_by_type => (Value::Null, Some(reason)),
            Written::None if self.are_named_by_type => (Value::Null, Some(NONE.into())),
            Written::Known(value) if self.are_named_by_type => (value, None),
            element => (element.element(), None),
        };
        let absent = reason.map(|reason| (format!("{name}{ABSENT}"), reason));
        self.all.insert(name, value);
        self.all.extend(absent);
        Ok(())
    }
}

impl SerializeMap for Fields {
    type Ok = Written;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = match written(key)? {
            Value::String(key) => key,
            key @ (Value::Number(_) | Value::Bool(_)) => key.to_string(),
            _ => return Err(Error::custom("a key must be a text, a number or a boolean")),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.key);
        self.put(key, value)
    }

    fn end(self) -> Result<Written, Error> {
        Ok(of_variant(self.variant, Value::Object(self.all)))
    }
}

impl SerializeStruct for Fields {
    type Ok = Written;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.put(name.to_owned(), value)
    }

    fn end(self) -> Result<Written, Error> {
        SerializeMap::end(self)
    }
}

impl SerializeStructVariant for Fields {
    type Ok = Written;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.put(name.to_owned(), value)
    }

    fn end(self) -> Result<Written, Error> {
        SerializeMap::end(self)
    }
}
