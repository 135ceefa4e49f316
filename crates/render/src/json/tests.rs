use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};
use steady_model::{Absent, Nanos, Outcome, Reading};

use super::*;

const SCHEMA: Schema = Schema { name: "steady.sample/1", what: "a sample" };

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    wall_seconds: Reading<Nanos>,
    /// `Ok(None)` means that no quota is set, which differs from an unknown quota.
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
        "schema": "steady.sample/1", "wall_seconds": 1.5, "quota_ratio": null, "quota_ratio_absent": NONE,
        "poll_seconds": null, "poll_seconds_absent": NONE, "by_cpu": [3, { "absent": "offline" }], "outcome": { "exited": 3 },
        "parts": [{ "name": "a", "pages": null, "pages_absent": "no \"counter\"" }],
    });
    assert_eq!(value, expected);
    assert!(json.starts_with("{\n  \"schema\": \"steady.sample/1\",\n"), "{json}");
    assert_eq!(record::<Sample>(&SCHEMA, &json), Ok(sample()));
    // Exports of earlier versions have no reason for what is `None`.
    let earlier = ["quota_ratio", "poll_seconds"].iter().fold(json, |json, name| {
        let reason = format!(",\n  \"{name}_absent\": \"{NONE}\"");
        assert!(json.contains(&reason), "{json}");
        json.replacen(&reason, "", 1)
    });
    assert_eq!(record::<Sample>(&SCHEMA, &earlier), Ok(sample()));
}

#[test]
fn errors_name_the_field() {
    let json = text(&SCHEMA, &sample());
    let error = |from: &str, to: &str| {
        assert!(json.contains(from), "{json}");
        record::<Sample>(&SCHEMA, &json.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let wrong = error("\"wall_seconds\": 1.5", "\"wall_seconds\": \"x\"");
    assert!(wrong.starts_with("wall_seconds: invalid type: string"), "{wrong}");
    let neither = error("1.5", "null");
    assert!(neither.starts_with("wall_seconds: ") && neither.contains("null"), "{neither}");
    assert_eq!(neither, "wall_seconds: null, without a reason in wall_seconds_absent");
    let both = error("\"pages\": null", "\"pages\": 1");
    assert_eq!(both, "parts[0].pages: both a value and a reason in pages_absent");
    let missing = error("\"wall_seconds\": 1.5,", "");
    assert!(missing.contains("missing field `wall_seconds`"), "{missing}");
    let unknown = error("exited", "left");
    assert!(unknown.starts_with("outcome"), "{unknown}");
}

/// Maps and lists of all kinds, with keys and texts of users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Named {
    environment: BTreeMap<String, String>,
    by_name: BTreeMap<String, Reading<Option<String>>>,
    by_number: BTreeMap<u32, Reading<u32>>,
    nested: BTreeMap<String, BTreeMap<String, Reading<u32>>>,
    chosen: Option<BTreeMap<String, String>>,
    held: Reading<BTreeMap<String, String>>,
    listed: Vec<Reading<BTreeMap<String, String>>>,
    plain: Vec<BTreeMap<String, String>>,
    way: Way,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Way {
    Named(BTreeMap<String, String>),
    Known(Reading<BTreeMap<String, String>>),
    Timed { after_seconds: Reading<Nanos>, set: BTreeMap<String, String> },
    Both(Reading<u32>, String),
}

/// Texts with a meaning for the codec if the type is a reading, and arbitrary texts.
fn word() -> impl Strategy<Value = String> {
    const WORDS: [&str; 9] = ["Ok", "Err", "absent", "present", "a", "a_absent", "a_absent_absent", "_absent", ""];
    prop_oneof![select(&WORDS[..]).prop_map(str::to_owned), ".*"]
}

fn words() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map(word(), word(), 0..4)
}

fn reading<T: std::fmt::Debug + Clone>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Reading<T>> {
    prop_oneof![value.prop_map(Ok), word().prop_map(|reason| Err(Absent(reason)))]
}

fn way() -> impl Strategy<Value = Way> {
    let seconds = reading((0..1_u64 << 50).prop_map(Nanos));
    prop_oneof![
        words().prop_map(Way::Named),
        reading(words()).prop_map(Way::Known),
        (seconds, words()).prop_map(|(after_seconds, set)| Way::Timed { after_seconds, set }),
        (reading(any::<u32>()), word()).prop_map(|(one, other)| Way::Both(one, other)),
    ]
}

fn named() -> impl Strategy<Value = Named> {
    let by_name = prop::collection::btree_map(word(), reading(prop::option::of(word())), 0..4);
    let by_number = prop::collection::btree_map(any::<u32>(), reading(any::<u32>()), 0..4);
    let numbers = prop::collection::btree_map(word(), reading(any::<u32>()), 0..3);
    let nested = prop::collection::btree_map(word(), numbers, 0..3);
    let lists = (prop::collection::vec(reading(words()), 0..3), prop::collection::vec(words(), 0..3));
    let fields = (words(), prop::option::of(words()), reading(words()));
    (fields, by_name, by_number, nested, lists, way()).prop_map(
        |((environment, chosen, held), by_name, by_number, nested, (listed, plain), way)| Named {
            environment,
            by_name,
            by_number,
            nested,
            chosen,
            held,
            listed,
            plain,
            way,
        },
    )
}

#[test]
fn only_the_type_decides_what_is_a_reading() {
    let only = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    let named = Named {
        environment: only("Ok", "1"),
        by_name: BTreeMap::from([("a".to_owned(), Err(absent("why"))), ("a_absent".to_owned(), Ok(None))]),
        by_number: BTreeMap::from([(7, Ok(1))]),
        nested: BTreeMap::new(),
        chosen: None,
        held: Ok(only("Err", "no reason")),
        listed: vec![Ok(only("absent", "no reason")), Ok(only("b", "")), Err(absent("why"))],
        plain: vec![only("absent", "no reason")],
        way: Way::Known(Err(absent("why"))),
    };
    let expected = serde_json::json!({
        "schema": "steady.sample/1", "environment": { "Ok": "1" }, "by_name": { "a": { "absent": "why" }, "a_absent": null },
        "by_number": { "7": 1 }, "nested": {}, "chosen": null, "chosen_absent": NONE, "held": { "Err": "no reason" },
        "listed": [{ "present": { "absent": "no reason" } }, { "b": "" }, { "absent": "why" }],
        "plain": [{ "absent": "no reason" }], "way": { "Known": { "absent": "why" } },
    });
    assert_eq!(value(&SCHEMA, &named), expected);
    assert_eq!(record::<Named>(&SCHEMA, &text(&SCHEMA, &named)), Ok(named));
}

#[test]
fn fields_next_to_flattened_ones_are_readings_too() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flat {
        pages: Reading<u64>,
        wall_seconds: Reading<Nanos>,
        #[serde(flatten)]
        rest: Rest,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rest {
        name: String,
    }
    let rest = Rest { name: "a".to_owned() };
    let flat = Flat { pages: Err(absent("why")), wall_seconds: Ok(Nanos(0)), rest };
    let json = text(&SCHEMA, &flat);
    assert!(json.contains("\"pages\": null,\n  \"pages_absent\": \"why\""), "{json}");
    assert_eq!(record::<Flat>(&SCHEMA, &json), Ok(flat));
}

#[test]
fn infinite_numbers_become_null_with_a_reason() {
    let sample = Sample { quota_ratio: Ok(Some(f64::INFINITY)), ..sample() };
    let json = value(&SCHEMA, &sample);
    assert_eq!((&json["quota_ratio"], &json["quota_ratio_absent"]), (&Value::Null, &Value::from("not a number")));
}

proptest! {
    #[test]
    fn every_record_is_restored(
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
    fn any_keys_of_users_are_restored(named in named()) {
        prop_assert_eq!(record::<Named>(&SCHEMA, &text(&SCHEMA, &named)), Ok(named));
    }

    #[test]
    fn no_text_causes_a_panic(json in ".*") {
        let _ = record::<Sample>(&SCHEMA, &json);
        let _ = record::<Named>(&SCHEMA, &json);
        let _ = record::<Sample>(&SCHEMA, &format!("{{\"schema\":\"steady.sample/1\",{json}}}"));
    }
}
