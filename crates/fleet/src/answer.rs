//! What a store answers, read as it comes: one series after the other, and none is kept here.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer as Json;

/// A series with more values than this is none that was asked for.
const MOST_SAMPLES: usize = 100_000;

/// A value, and the moment in seconds since 1970 that it is told for. Values that are no numbers are NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The moment.
    pub at: f64,
    /// The value.
    pub value: f64,
}

/// One series of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its values; one where one moment was asked for.
    pub samples: Vec<Sample>,
}

/// What an answer says beside its series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// `success` or `error`; empty where it does not say.
    pub status: String,
    /// The error's kind, such as `bad_data`.
    pub kind: String,
    /// The error.
    pub error: String,
    /// Warnings, such as of parts of the store that could not be asked.
    pub warnings: Vec<String>,
}

/// Reads an answer of `/api/v1/query` or `/api/v1/query_range`, and gives each of its series to `take`.
///
/// # Errors
/// Where it is no such answer, or ends too early. Series that came before were given.
pub fn read(answer: impl Read, take: &mut dyn FnMut(Series)) -> Result<Told, serde_json::Error> {
    let mut json = Json::from_reader(answer);
    let told = Whole { take }.deserialize(&mut json)?;
    json.end()?;
    Ok(told)
}

/// The answer as a whole.
struct Whole<'a> {
    take: &'a mut dyn FnMut(Series),
}

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = Told;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Told, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = Told;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an answer with a status")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Told, A::Error> {
        let mut told = Told::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "status" => told.status = map.next_value()?,
                "errorType" => told.kind = map.next_value()?,
                "error" => told.error = map.next_value()?,
                "warnings" => told.warnings = map.next_value::<Option<Vec<String>>>()?.unwrap_or_default(),
                "data" => map.next_value_seed(Data { take: self.take })?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(told)
    }
}

/// The part that holds the series; of an error there is none.
struct Data<'a> {
    take: &'a mut dyn FnMut(Series),
}

impl<'de> DeserializeSeed<'de> for Data<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Data<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a result")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "result" => map.next_value_seed(Results { take: self.take })?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// All series.
struct Results<'a> {
    take: &'a mut dyn FnMut(Series),
}

impl<'de> DeserializeSeed<'de> for Results<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Results<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut series: A) -> Result<(), A::Error> {
        while let Some(One { metric, value, mut values }) = series.next_element()? {
            values.0.extend(value.map(Sample::from));
            (self.take)(Series { labels: metric, samples: values.0 });
        }
        Ok(())
    }
}

/// One series as it is written: `value` where one moment was asked for, else `values`.
#[derive(Deserialize)]
struct One {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    value: Option<Pair>,
    #[serde(default)]
    values: Samples,
}

/// A moment, and the value as a text.
#[derive(Deserialize)]
struct Pair(f64, String);

impl From<Pair> for Sample {
    fn from(Pair(at, value): Pair) -> Sample {
        Sample { at, value: value.parse().unwrap_or(f64::NAN) }
    }
}

/// The values of one series, up to a bound.
#[derive(Default)]
struct Samples(Vec<Sample>);

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Samples, D::Error> {
        json.deserialize_seq(Bounded)
    }
}

struct Bounded;

impl<'de> Visitor<'de> for Bounded {
    type Value = Samples;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pairs: A) -> Result<Samples, A::Error> {
        let mut samples = Vec::new();
        while let Some(pair) = pairs.next_element::<Pair>()? {
            if samples.len() == MOST_SAMPLES {
                return Err(A::Error::custom(format_args!("a series has more than {MOST_SAMPLES} values")));
            }
            samples.push(pair.into());
        }
        Ok(Samples(samples))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Result<(Vec<Series>, Told), String> {
        let mut series = Vec::new();
        let told = read(text.as_bytes(), &mut |one| series.push(one)).map_err(|error| error.to_string())?;
        Ok((series, told))
    }

    #[test]
    fn series_come_with_their_labels_and_values() {
        let (series, told) = all(r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"instance":"a","x":"\u00e9"},"values":[[1,"1"],[2.5,"+Inf"],[3,"NaN"],[4,"1e-3"]]},
            {"metric":{},"value":[5,"x"]}]},"warnings":["a part is missing"],"infos":[]}"#)
        .unwrap();
        assert_eq!(series[0].labels["x"], "é");
        let values: Vec<f64> = series[0].samples.iter().map(|sample| sample.value).collect();
        assert_eq!((values[0], values[1], values[3]), (1.0, f64::INFINITY, 1e-3));
        assert!(values[2].is_nan() && series[1].samples[0].value.is_nan() && series[1].samples[0].at == 5.0);
        assert_eq!((told.status.as_str(), told.warnings.len()), ("success", 1));
    }

    #[test]
    fn errors_come_with_their_kind() {
        let (series, told) = all(r#"{"status":"error","errorType":"bad_data","error":"no","data":null}"#).unwrap();
        assert!(series.is_empty());
        assert_eq!((told.kind.as_str(), told.error.as_str()), ("bad_data", "no"));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for wrong in [
            "",
            "[]",
            "<html>",
            r#"{"status":"success","data":{"result":[{"values":[[1,"1"]]}"#,
            r#"{"status":"success","data":{"result":[1700000000,"1"]}}"#,
            r#"{"status":"success"} more"#,
        ] {
            assert!(all(wrong).is_err(), "{wrong}");
        }
        let many = format!(r#"{{"data":{{"result":[{{"values":[[1,"1"]{}]}}]}}}}"#, r#",[1,"1"]"#.repeat(MOST_SAMPLES));
        assert!(all(&many).is_err_and(|why| why.contains("more than")));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            values in proptest::collection::vec((0_u32..2_000_000_000, any::<f64>()), 0..9),
            name in "\\PC{0,9}",
        ) {
            let pairs: Vec<String> = values.iter().map(|(at, value)| format!("[{at},\"{value}\"]")).collect();
            let text = format!(r#"{{"status":"success","data":{{"result":[{{"metric":{{"a":{}}},"values":[{}]}}]}}}}"#,
                serde_json::to_string(&name).unwrap(), pairs.join(","));
            let (series, _) = all(&text).unwrap();
            prop_assert_eq!(&series[0].labels["a"], &name);
            for (sample, (at, value)) in series[0].samples.iter().zip(&values) {
                prop_assert_eq!(sample.at, f64::from(*at));
                prop_assert!(sample.value.to_bits() == value.to_bits() || value.is_nan());
            }
            // Cut off anywhere it is no answer.
            let cut = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2).unwrap();
            prop_assert!(all(&text[..cut]).is_err());
        }

        #[test]
        fn no_text_makes_it_panic(text in "(\\{\"data\":\\{\"result\":\\[|\\PC|\\{\"values\":\\[|\\[1,\"1\"\\]|,|\\]|\\}){0,12}") {
            let _ = all(&text);
        }
    }
}
