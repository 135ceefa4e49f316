//! Strategies for property tests that write records as JSON and read them back.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use steady_model::*;

/// A time within the limit of records.
pub fn nanos() -> impl Strategy<Value = Nanos> {
    let longest = (1u64 << 23) * 1_000_000_000;
    prop_oneof![0..1_000_000_000u64, 0..longest, Just(0), Just(longest - 1)].prop_map(Nanos)
}

/// A value, or a reason for its absence.
pub fn reading<T: std::fmt::Debug + Clone>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Reading<T>> {
    prop_oneof![value.prop_map(Ok), ".{0,12}".prop_map(|reason| Err(Absent(reason)))]
}

/// A count that a double represents exactly.
pub fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, 0..=1u64 << 53]
}

/// A ratio, including ones that are hard to print exactly.
pub fn ratio() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0f64, Just(0.1 + 0.2), Just(0.0), Just(5e-324), Just(1.0)]
}

/// A host on which any reading may be absent.
pub fn host() -> impl Strategy<Value = Host> {
    let quota = prop::option::of((nanos(), nanos()).prop_map(|(quota, period)| Quota { quota, period }));
    let names = (reading(".*"), reading(".*"), reading(".*"), reading(prop::option::of(".*")));
    (names, any::<(usize, usize)>(), reading(quota), reading(any::<u64>().prop_map(Bytes))).prop_map(
        |((hostname, kernel, cpu_model, hypervisor), (cpus_allowed, cpus_online), cpu_quota, memory)| Host {
            hostname,
            kernel,
            cpu_model,
            cpus_allowed,
            cpus_online,
            cpu_quota,
            memory,
            hypervisor,
        },
    )
}

/// The CPUs of a machine in any order.
pub fn machine() -> impl Strategy<Value = Machine> {
    let cpus = || prop::collection::vec(any::<usize>(), 0..4);
    let quota = prop::option::of((nanos(), nanos()).prop_map(|(quota, period)| Quota { quota, period }));
    let cores = reading(prop::collection::vec(cpus(), 0..3));
    let kinds = prop::collection::vec((".*", cpus()), 0..2);
    (cpus(), reading(cpus()), cpus(), cores, reading(any::<usize>()), kinds, reading(quota)).prop_map(
        |(online, offline, allowed, cores, packages, kinds, quota)| Machine {
            online,
            offline,
            allowed,
            cores,
            packages,
            kinds,
            quota,
        },
    )
}

/// A path that may not be UTF-8.
pub fn path() -> impl Strategy<Value = std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let bytes = prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| std::ffi::OsString::from_vec(bytes).into());
    prop_oneof![".*".prop_map(Into::into), bytes]
}

/// A command with arbitrary texts as names and values.
pub fn command() -> impl Strategy<Value = Command> {
    let pairs = || prop::collection::btree_map(".*", ".*", 0..3).prop_map(|map| map.into_iter().collect());
    let words = (".*", prop::collection::vec(".*", 1..4), path());
    let paths = || prop::option::of(path());
    (words, paths(), paths(), pairs(), pairs(), prop::option::of(".*")).prop_map(
        |((name, argv, program), interpreter, directory, environment, parameters, revision)| Command {
            name,
            argv,
            program,
            interpreter,
            directory,
            environment,
            parameters,
            revision,
        },
    )
}

/// Collects pointers to all places in a value (RFC 6901).
pub fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
            fields.iter().for_each(|(key, field)| places(field, &format!("{at}/{}", escape(key)), found));
        }
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, element)| places(element, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// Replaces some places of a value.
pub fn changed(mut value: Value, changes: Vec<(Index, Value)>) -> Value {
    for (place, odd) in changes {
        let mut all = Vec::new();
        places(&value, "", &mut all);
        *value.pointer_mut(&all[place.index(all.len())]).unwrap() = odd;
    }
    value
}

/// Removes the field at a place, if there is one. Returns the field's name and the value. Names of variables and
/// parameters, which the user chose, do not count as fields.
pub fn without_a_field(mut value: Value, place: &Index) -> (String, Value) {
    let mut all = Vec::new();
    places(&value, "", &mut all);
    let key = remove_field(&mut value, place.get::<String>(&all[1..]));
    (key, value)
}

/// Removes each field of a value in turn. Of fields whose places differ only in the index of an array, it removes the
/// first one. Returns the names of the fields and the values without them.
pub fn without_each_field(value: &Value) -> Vec<(String, Value)> {
    let (mut all, mut kinds) = (Vec::new(), HashSet::new());
    places(value, "", &mut all);
    let kind = |place: &str| place.split('/').filter(|key| key.parse::<usize>().is_err()).collect::<Vec<_>>().join("/");
    all[1..]
        .iter()
        .filter(|place| kinds.insert(kind(place)))
        .map(|place| {
            let mut value = value.clone();
            (remove_field(&mut value, place), value)
        })
        .collect()
}

/// Removes the field at a place (RFC 6901), if there is one that the user did not choose. Returns its name.
fn remove_field(value: &mut Value, place: &str) -> String {
    let is_chosen_by_user = |parent: &str| ["/environment", "/parameters"].iter().any(|end| parent.ends_with(end));
    let (parent, key) = place.rsplit_once('/').unwrap();
    if let Some(Value::Object(fields)) = value.pointer_mut(parent).filter(|_| !is_chosen_by_user(parent)) {
        fields.shift_remove(key);
    }
    key.to_owned()
}

/// Returns a text with one byte replaced, and the text cut before that byte. The cut removes more than the last
/// newline, because an export without that newline is complete.
pub fn garbled(text: String, place: &Index, garbage: u8) -> (String, String) {
    let mut bytes = text.into_bytes();
    let place = place.index(bytes.len() - 1);
    bytes[place] = garbage;
    let garbled = String::from_utf8_lossy(&bytes).into_owned();
    bytes.truncate(place);
    (garbled, String::from_utf8_lossy(&bytes).into_owned())
}

/// A value that is invalid for most fields.
pub fn odd_value() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(-1),
        json!(1e300),
        json!(-1e-9),
        json!(0.5),
        json!(u64::MAX),
        json!(i64::MIN),
        json!("turns"),
        json!("x"),
        json!([]),
        json!({}),
        json!(true),
        json!([[]]),
        json!(8_388_607.0),
        json!(9_007_199_254_740_993_u64),
    ])
}
