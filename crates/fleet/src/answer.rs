//! Parses the answer of a store while it arrives. Each series is passed on immediately, so large answers need little
//! memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer as Json;

/// The most values of a series; no query gives more.
const MOST_SAMPLES: usize = 100_000;

/// A value and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The time, in seconds since 1970.
    pub at: f64,
    /// The value; NaN if it cannot be parsed.
    pub value: f64,
}

/// A series of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The labels and their values; the name of the metric is the label `__name__`.
    pub labels: BTreeMap<String, String>,
    /// The samples; exactly one if the query is for one time.
    pub samples: Vec<Sample>,
}

/// The parts of an answer other than its series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerStatus {
    /// `success` or `error`; empty if the answer has no status.
    pub status: String,
    /// The kind of the error, such as `bad_data`.
    pub kind: String,
    /// The message of the error.
    pub error: String,
    /// Warnings, for example that a part of the store did not answer.
    pub warnings: Vec<String>,
}

/// Reads an answer of `/api/v1/query` or `/api/v1/query_range`, and passes each of its series to `take`.
///
/// # Errors
/// The answer has another format or is incomplete. The series before the error have been passed to `take`.
pub fn read(answer: impl Read, take: &mut dyn FnMut(Series)) -> Result<AnswerStatus, serde_json::Error> {
    let mut json = Json::from_reader(answer);
    let status = Whole { take }.deserialize(&mut json)?;
    json.end()?;
    Ok(status)
}

/// Parses the object of the whole answer.
struct Whole<'a> {
    take: &'a mut dyn FnMut(Series),
}

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = AnswerStatus;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<AnswerStatus, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = AnswerStatus;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an answer with a status")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnswerStatus, A::Error> {
        let mut answered = AnswerStatus::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "status" => answered.status = map.next_value()?,
                "errorType" => answered.kind = map.next_value()?,
                "error" => answered.error = map.next_value()?,
                "warnings" => answered.warnings.extend(map.next_value::<Option<Vec<String>>>()?.unwrap_or_default()),
                // Of VictoriaMetrics, which does not warn in this case.
                "isPartial" => {
                    let is_partial = map.next_value::<Option<bool>>()? == Some(true);
                    let warning = "the answer is partial, because a storage node did not answer".to_owned();
                    answered.warnings.extend(is_partial.then_some(warning));
                }
                "data" => map.next_value_seed(Data { take: self.take })?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(answered)
    }
}

/// Parses the object with the series; it is null or missing if there is an error.
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

/// Parses the array of series.
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
        while let Some(SeriesJson { metric, value, mut values }) = series.next_element()? {
            values.0.extend(value.map(Sample::from));
            (self.take)(Series { labels: metric, samples: values.0 });
        }
        Ok(())
    }
}

/// A series as JSON: it has `value` if the query is for one time, otherwise `values`.
#[derive(Deserialize)]
struct SeriesJson {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    value: Option<Pair>,
    #[serde(default)]
    values: Samples,
}

/// A time, and a value as text.
#[derive(Deserialize)]
struct Pair(f64, String);

impl From<Pair> for Sample {
    fn from(Pair(at, value): Pair) -> Sample {
        Sample { at, value: value.parse().unwrap_or(f64::NAN) }
    }
}

/// The samples of a series; at most [`MOST_SAMPLES`].
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

    fn all(text: &str) -> Result<(Vec<Series>, AnswerStatus), String> {
        let mut series = Vec::new();
        let status = read(text.as_bytes(), &mut |one| series.push(one)).map_err(|error| error.to_string())?;
        Ok((series, status))
    }

    #[test]
    fn series_have_their_labels_and_values() {
        let (series, status) = all(r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"instance":"a","x":"\u00e9"},"values":[[1,"1"],[2.5,"+Inf"],[3,"NaN"],[4,"1e-3"]]},
            {"metric":{},"value":[5,"x"]}]},"warnings":["a part is missing"],"infos":[]}"#)
        .unwrap();
        assert_eq!(series[0].labels["x"], "é");
        let values: Vec<f64> = series[0].samples.iter().map(|sample| sample.value).collect();
        assert_eq!((values[0], values[1], values[3]), (1.0, f64::INFINITY, 1e-3));
        assert!(values[2].is_nan() && series[1].samples[0].value.is_nan() && series[1].samples[0].at == 5.0);
        assert_eq!((status.status.as_str(), status.warnings.len()), ("success", 1));
    }

    #[test]
    fn partial_answers_have_a_warning() {
        for (answer, warnings) in [
            (r#"{"status":"success","isPartial":true,"data":null,"warnings":["a"]}"#, 2),
            (r#"{"status":"success","warnings":null,"isPartial":true}"#, 1),
            (r#"{"status":"success","isPartial":false,"data":null}"#, 0),
        ] {
            assert_eq!(all(answer).unwrap().1.warnings.len(), warnings, "{answer}");
        }
    }

    #[test]
    fn errors_have_a_kind_and_a_message() {
        let (series, status) = all(r#"{"status":"error","errorType":"bad_data","error":"no","data":null}"#).unwrap();
        assert!(series.is_empty());
        assert_eq!((status.kind.as_str(), status.error.as_str()), ("bad_data", "no"));
    }

    #[test]
    fn other_formats_are_refused() {
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
        fn values_and_labels_are_read_as_written(
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
            // An incomplete answer is an error.
            let cut = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2).unwrap();
            prop_assert!(all(&text[..cut]).is_err());
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "(\\{\"data\":\\{\"result\":\\[|\\PC|\\{\"values\":\\[|\\[1,\"1\"\\]|,|\\]|\\}){0,12}") {
            let _ = all(&text);
        }
    }
}
