//! Readings whose value has several fields.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use steady_model::Reading;

use super::ABSENT;
use super::describe::{is_reading, or_null};

/// Writes a reading whose value has several fields, for a field with `#[serde(flatten, serialize_with = "..")]`. The
/// JSON has the fields of the value, or null for each of `names`, all with the same reason.
///
/// # Errors
/// The errors of the serializer.
pub fn group<T: Serialize, S: Serializer>(
    names: &[&str],
    reading: &Reading<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match reading {
        Ok(value) => value.serialize(serializer),
        Err(absent) => serializer.collect_map(names.iter().map(|name| (name, Err::<(), _>(absent)))),
    }
}

/// Schema of a reading whose value has several fields: `#[schemars(with = "Group<T>")]` next to `#[serde(flatten,
/// serialize_with = "..")]`. Each field of `T` may be null with a reason, or missing.
pub struct Group<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Group<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Group_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        if let Some(Value::Object(fields)) = schema.get_mut("properties") {
            let mut all = Map::new();
            let known = std::mem::take(fields);
            for (name, field) in &known {
                let absent = format!("{name}{ABSENT}");
                if is_reading(field) || name.ends_with(ABSENT) || known.contains_key(&absent) {
                    all.insert(name.clone(), field.clone());
                    continue;
                }
                let mut field = field.clone();
                let description = field.as_object_mut().and_then(|field| field.shift_remove("description"));
                all.insert(name.clone(), or_null(field, description));
                all.insert(absent, json!({ "type": "string" }));
            }
            *fields = all;
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use steady_model::Absent;

    use super::*;
    use crate::json::{Schema, text};

    #[derive(Serialize)]
    struct Sample {
        name: &'static str,
        #[serde(flatten, serialize_with = "lock")]
        lock: Reading<Lock>,
    }

    #[derive(Serialize)]
    struct Lock {
        taken: u64,
        waited_seconds: f64,
    }

    fn lock<S: Serializer>(lock: &Reading<Lock>, serializer: S) -> Result<S::Ok, S::Error> {
        group(&["taken", "waited_seconds"], lock, serializer)
    }

    #[test]
    fn every_field_of_an_absent_group_has_the_reason() {
        let text = |lock| text(&Schema { name: "steady.sample/1", what: "a sample" }, &Sample { name: "a", lock });
        let head = "{\n  \"schema\": \"steady.sample/1\",\n  \"name\": \"a\",\n";
        let known = format!("{head}  \"taken\": 2,\n  \"waited_seconds\": 0.5\n}}\n");
        assert_eq!(text(Ok(Lock { taken: 2, waited_seconds: 0.5 })), known);
        let absent = |name| format!("  \"{name}\": null,\n  \"{name}_absent\": \"why\"");
        let unknown = format!("{head}{},\n{}\n}}\n", absent("taken"), absent("waited_seconds"));
        assert_eq!(text(Err(Absent::because("why"))), unknown);
    }
}
