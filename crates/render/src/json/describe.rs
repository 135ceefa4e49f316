//! JSON Schemas of records, from the same types that serde writes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{ABSENT, ABSENT_ELEMENT, OK, Schema, pretty};

/// The prefix of the definitions that schemars creates for a [`Reading`](steady_model::Reading).
const DEFINITION: &str = "#/$defs/Result_of_";

/// Returns the JSON Schema (draft 2020-12) of what [`text`](super::text) writes for a type, as indented JSON. The
/// schema allows additional fields, because readers of an export ignore fields that they do not know.
pub fn description<T: JsonSchema>(schema: &Schema) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut root = generator.into_root_schema_for::<T>().to_value();
    let definitions = root.get("$defs").cloned().unwrap_or_default();
    with_readings(&mut root, &definitions);
    if let Value::Object(root) = &mut root {
        root.shift_insert(0, "title".to_owned(), schema.name.into());
        if let Some(dialect) = root.shift_remove("$schema") {
            root.shift_insert(0, "$schema".to_owned(), dialect);
        }
        let name = json!({ "const": schema.name });
        // In the schema of an enum, the fields of each variant are in `anyOf`.
        if !root.contains_key("properties") {
            root.shift_insert(2, "properties".to_owned(), json!({}));
            root.shift_insert(3, "required".to_owned(), json!([]));
        }
        if let Some(Value::Object(fields)) = root.get_mut("properties") {
            fields.shift_insert(0, "schema".to_owned(), name);
        }
        if let Value::Array(required) = root.entry("required").or_insert_with(|| json!([])) {
            required.insert(0, "schema".into());
        }
        if let Some(Value::Object(definitions)) = root.get_mut("$defs") {
            definitions.retain(|name, _| !format!("#/$defs/{name}").starts_with(DEFINITION));
        }
    }
    pretty::indented(&root)
}

/// Replaces the schema of each reading by the schema of its JSON. A field becomes its value or null. An element becomes
/// its value or an object with the reason. After each field that is always there and can be null, adds a field for the
/// reason.
fn with_readings(value: &mut Value, definitions: &Value) {
    match value {
        Value::Object(object) => {
            let required = object.get("required").cloned().unwrap_or_default();
            let is_required = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
            if let Some(Value::Object(fields)) = object.get_mut("properties") {
                let mut all = Map::new();
                for (name, mut field) in std::mem::take(fields) {
                    if let Value::Object(field) = &mut field {
                        // These keywords describe how serde reads a field, which is no property of an export.
                        field.shift_remove("readOnly");
                        field.shift_remove("default");
                    }
                    let inner = reading(&field, definitions);
                    let has_reason = inner.is_some() || (is_required(&name) && can_be_null(&field));
                    if let Some(inner) = inner {
                        field = or_null(inner, field.get("description").cloned());
                    }
                    let absent = has_reason.then(|| (format!("{name}{ABSENT}"), json!({ "type": "string" })));
                    all.insert(name, field);
                    all.extend(absent);
                }
                *fields = all;
            }
            for elements in ["items", "additionalProperties"] {
                if let Some(inner) = object.get(elements).and_then(|element| reading(element, definitions)) {
                    let absent = json!({
                        "type": "object", "properties": { ABSENT_ELEMENT: { "type": "string" } }, "required": [ABSENT_ELEMENT]
                    });
                    object.insert(elements.to_owned(), json!({ "anyOf": [inner, absent] }));
                }
            }
            object.values_mut().for_each(|field| with_readings(field, definitions));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| with_readings(element, definitions)),
        _ => {}
    }
}

/// Returns the schema of a value that may be null.
pub(super) fn or_null(schema: Value, description: Option<Value>) -> Value {
    let any = json!([schema, { "type": "null" }]);
    let description = description.map(|description| ("description".to_owned(), description));
    Value::Object(description.into_iter().chain([("anyOf".to_owned(), any)]).collect())
}

/// Returns whether a schema allows null.
fn can_be_null(schema: &Value) -> bool {
    let mut all = [schema.get("type"), schema.get("anyOf")].into_iter().flatten().filter_map(Value::as_array).flatten();
    all.any(|one| *one == "null" || *one == json!({ "type": "null" }))
}

/// Returns whether a schema refers to the definition of a reading.
pub(super) fn is_reading(field: &Value) -> bool {
    field.get("$ref").and_then(Value::as_str).is_some_and(|name| name.starts_with(DEFINITION))
}

/// Returns the schema of a reading's value, or none if `field` is not a reading.
fn reading(field: &Value, definitions: &Value) -> Option<Value> {
    let name = field.get("$ref")?.as_str().filter(|_| is_reading(field))?;
    let definition = definitions.get(name.strip_prefix("#/$defs/")?)?;
    let variants = definition.get("oneOf").or_else(|| definition.get("anyOf"))?.as_array()?;
    variants.iter().find_map(|variant| variant.get("properties")?.get(OK)).cloned()
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use steady_model::{Nanos, Reading};

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Sample {
        /// The duration in seconds.
        wait_seconds: Reading<Nanos>,
        looks: Vec<Reading<u32>>,
        limit_ratio: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    }

    #[test]
    fn readings_are_values_or_null_with_a_reason() {
        let text = description::<Sample>(&Schema { name: "steady.sample/1", what: "a sample" });
        let schema: Value = serde_json::from_str(&text).unwrap();
        let fields = &schema["properties"];
        assert_eq!(fields["schema"], json!({ "const": "steady.sample/1" }));
        assert_eq!(fields["wait_seconds"]["anyOf"][1], json!({ "type": "null" }), "{text}");
        assert_eq!(fields["wait_seconds"]["description"], "The duration in seconds.");
        assert_eq!(fields["wait_seconds_absent"], json!({ "type": "string" }));
        assert_eq!(fields["looks"]["items"]["anyOf"][1]["required"], json!(["absent"]), "{text}");
        assert_eq!(schema["required"], json!(["schema", "wait_seconds", "looks", "limit_ratio"]));
        assert_eq!(fields["limit_ratio_absent"], json!({ "type": "string" }));
        assert_eq!(fields.get("log_absent"), None, "a field that is left out has no reason: {text}");
        assert!(!text.contains("Result_of"), "{text}");
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only its schema is generated")]
    enum Kinds {
        One(Sample),
        Other { looks: u32 },
    }

    #[test]
    fn all_variants_of_a_record_share_the_name_of_the_schema() {
        let text = description::<Kinds>(&Schema { name: "steady.sample/1", what: "a sample" });
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(schema["properties"], json!({ "schema": { "const": "steady.sample/1" } }));
        assert_eq!(schema["required"], json!(["schema"]));
        assert_eq!(schema["anyOf"].as_array().unwrap().len(), 2);
        assert_eq!(schema["$defs"]["Sample"]["properties"]["wait_seconds_absent"], json!({ "type": "string" }));
    }
}
