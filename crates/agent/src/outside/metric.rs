//! Finds a counter in a page of metrics in the text format of Prometheus.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::http::Endpoint;

/// A counter and the page that has it: `http[s]://HOST[:PORT]/PATH#NAME{LABEL="VALUE",...}`. The series with this name
/// and all of these labels are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The URL of the page.
    pub endpoint: Endpoint,
    /// The name of the counter.
    pub name: String,
    /// Labels that the series must have.
    pub labels: Vec<(String, String)>,
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (url, counter) =
            text.split_once('#').ok_or("write URL#METRIC, such as http://localhost:8000/metrics#requests_total")?;
        let endpoint = url.parse::<Endpoint>()?;
        let (series, rest) =
            series(counter).ok_or("the # must be followed by a metric: NAME or NAME{LABEL=\"VALUE\"}")?;
        if !rest.is_empty() {
            return Err(format!("the metric is followed by '{rest}', which is not part of it"));
        }
        Ok(Metric { endpoint, name: series.name.to_owned(), labels: series.labels })
    }
}

/// A name with its labels.
struct Series<'a> {
    name: &'a str,
    labels: Vec<(String, String)>,
}

impl Metric {
    /// Reads the counter from a page, summed by the value of `label`; without it, the only key is the empty text.
    pub(super) fn read(&self, page: &str, label: Option<&str>) -> Result<BTreeMap<String, f64>, String> {
        let mut sums = BTreeMap::new();
        for line in page.lines().map(str::trim_start).filter(|line| line.starts_with(&self.name)) {
            let Some((series, rest)) = series(line) else { continue };
            let has_all = || self.labels.iter().all(|wanted| series.labels.contains(wanted));
            if series.name != self.name || !has_all() {
                continue;
            }
            let value = rest.split_ascii_whitespace().next().and_then(|value| value.parse::<f64>().ok());
            let value = value.filter(|value| value.is_finite() && *value >= 0.0);
            let value =
                value.ok_or_else(|| format!("{} has a value that is negative or not a finite number", self.name))?;
            let version = match label {
                None => String::new(),
                Some(label) => {
                    let found = series.labels.iter().find(|(name, _)| name == label);
                    found.ok_or_else(|| format!("{} has no label {label}", self.name))?.1.clone()
                }
            };
            *sums.entry(version).or_insert(0.0) += value;
        }
        if sums.is_empty() { Err(format!("the page has no {} with these labels", self.name)) } else { Ok(sums) }
    }
}

/// Parses a name and its labels at the beginning of a text. Returns them and the rest of the text.
fn series(text: &str) -> Option<(Series<'_>, &str)> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let end = text.find(|letter| !is_of_name(letter)).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut labels = Vec::new();
    if name.is_empty() {
        return None;
    }
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside.trim_start();
        loop {
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once('=')?;
            let (value, after) = quoted(after.trim_start())?;
            labels.push((label.trim().to_owned(), value));
            let after = after.trim_start();
            rest = after.strip_prefix(',').or_else(|| after.starts_with('}').then_some(after))?.trim_start();
        }
    }
    Some((Series { name, labels }, rest))
}

/// Parses a text in quotation marks. Returns it and the rest of the text.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut letters = text.strip_prefix('"')?.char_indices();
    let mut value = String::new();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[place + 2..])),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            _ => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "# HELP requests_total Requests.\n# TYPE requests_total counter\n\
        requests_total{code=\"200\",version=\"v1\"} 100\nrequests_total{ code = \"500\" , version=\"v1\", } 3.0 1395066363000\n\
        requests_total{code=\"200\",version=\"v\\\"2\\n\"} 7\nrequests_total_created{version=\"v1\"} 1.7e9\nother 5\n";

    #[test]
    fn series_with_the_labels_are_added_up() {
        let read = |counter: &str, label| format!("http://h/m#{counter}").parse::<Metric>().unwrap().read(PAGE, label);
        let is = |sums: &[(&str, f64)]| Ok(sums.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
        assert_eq!(read("requests_total", None), is(&[("", 110.0)]));
        assert_eq!(read("requests_total{code=\"200\"}", None), is(&[("", 107.0)]));
        assert_eq!(read("requests_total", Some("version")), is(&[("v\"2\n", 7.0), ("v1", 103.0)]));
        assert_eq!(read("other", None), is(&[("", 5.0)]));
        for (counter, label) in [("absent", None), ("requests_total{code=\"404\"}", None), ("other", Some("version"))] {
            assert!(read(counter, label).is_err(), "{counter}");
        }
        let metric: Metric = "http://h/m#x".parse().unwrap();
        for page in ["x NaN\n", "x -1\n", "x\n", "x +Inf\n"] {
            assert!(metric.read(page, None).is_err(), "{page}");
        }
    }

    #[test]
    fn invalid_metrics_are_refused() {
        for wrong in
            ["http://h/m", "h#x", "http://h/m#", "http://h/m#x{", "http://h/m#x{a=1}", "http://h/m#x{a=\"1\"}y"]
        {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_page_makes_the_parser_panic(page in "(x|\\{|\\}|a=|\"|\\\\|,| |[0-9]|\n|\\PC){0,40}") {
            let _ = "http://h/m#x".parse::<Metric>().unwrap().read(&page, Some("a"));
            let _ = format!("http://h/m#{page}").parse::<Metric>();
        }
    }
}
