//! Golden files: recorded reports in `testdata/reports`, which a person has reviewed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use steady_feature::Report;
use steady_feature::flags::Form;
use steady_render::Style;
use steady_render::json::Schema;

/// Compares each text with the golden file of its name. With `STEADY_BLESS=1`, writes the files instead. In JSON, each
/// null must have a reason. In a page, the entries of a chart's key must look different.
pub fn check(files: impl IntoIterator<Item = (String, String)>) {
    check_in(
        "testdata/reports",
        files.into_iter().inspect(|(file, text)| match file.rsplit('.').next() {
            Some("json") => nulls_have_reasons(&serde_json::from_str(text).unwrap(), file),
            Some("html") => keys_can_be_read(text, file),
            _ => {}
        }),
    );
}

fn nulls_have_reasons(value: &Value, path: &str) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let reason = fields.get(&format!("{key}_absent"));
                assert_eq!(field.is_null(), reason.is_some_and(Value::is_string), "{path}.{key}: a value or a reason");
                nulls_have_reasons(field, &format!("{path}.{key}"));
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| nulls_have_reasons(element, path)),
        _ => {}
    }
}

fn keys_can_be_read(page: &str, file: &str) {
    for key in page.split("<p class=\"key\">").skip(1).filter_map(|rest| rest.split("</p>").next()) {
        let samples: Vec<&str> = key.split("<span>").skip(1).filter_map(|entry| entry.split("</svg>").next()).collect();
        let different = samples.iter().collect::<BTreeSet<_>>().len();
        assert_eq!(different, samples.len(), "{file}: entries look the same: {key}");
    }
}

/// Compares the JSON Schema of a record with the file in `docs/schemas`, as [`check`] does.
pub fn check_schema(schema: &Schema, description: String) {
    check_in("docs/schemas", [(format!("{}.json", schema.name.replace('/', "-")), description)]);
}

/// Compares a generated page with the file in `docs`, as [`check`] does.
pub fn check_page(name: &str, page: String) {
    check_in("docs", [(name.to_owned(), page)]);
}

fn check_in(folder: &str, files: impl IntoIterator<Item = (String, String)>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let bless = std::env::var_os("STEADY_BLESS").is_some_and(|value| value == "1");
    let mut differing = Vec::new();
    for (file, found) in files {
        let path = folder.join(&file);
        if bless {
            fs::write(&path, &found).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != found {
            differing.push(format!("-- {file} differs; it is now --\n{found}"));
        }
    }
    assert!(differing.is_empty(), "{}\nto accept all of these: STEADY_BLESS=1", differing.join("\n"));
}

/// Renders a report as text for a terminal with `width` columns, without colours.
pub fn text(report: &dyn Report, width: usize) -> String {
    report.rendered(Form::Text, Style { width, color: false }, false)
}

/// Renders a report in one of its forms, without samples.
pub fn shown(report: &dyn Report, form: Form) -> String {
    report.rendered(form, Style::default(), false)
}

/// Renders a report in all forms, with the names of the golden files: as text in 80 columns, and all exports. Other
/// widths are checked by [`lines_fit`].
pub fn of_report(name: &str, report: &dyn Report, samples: bool) -> Vec<(String, String)> {
    let text = (format!("{name}.80.txt"), text(report, 80));
    std::iter::once(text).chain(exports(name, report, samples)).collect()
}

/// Renders the exports of a report, with the names of the golden files.
pub fn exports(name: &str, report: &dyn Report, samples: bool) -> [(String, String); 4] {
    [("json", Form::Json), ("csv", Form::Csv), ("md", Form::Markdown), ("html", Form::Html)]
        .map(|(end, form)| (format!("{name}.{end}"), report.rendered(form, Style::default(), samples)))
}

/// Returns texts with the names of their golden files: `text` in 80 columns, and `exports` by file extension.
pub fn forms<const N: usize>(
    name: &str,
    text: impl Fn(usize) -> String,
    exports: [(&str, String); N],
) -> Vec<(String, String)> {
    let text = (format!("{name}.80.txt"), text(80));
    std::iter::once(text).chain(exports.map(|(end, export)| (format!("{name}.{end}"), export))).collect()
}

/// Asserts that no line exceeds the width or ends in a space, at several widths.
pub fn lines_fit(name: &str, text: impl Fn(usize) -> String) {
    fit(name, &[40, 50, 60, 72, 80, 100, 132], text, |_, _| false);
}

/// The same for texts with paths, which are not broken, so that they can be copied.
pub fn lines_fit_but_paths(name: &str, widths: &[usize], text: impl Fn(usize) -> String) {
    fit(name, widths, text, |line, width| line.split(' ').any(|word| word.starts_with('/') && word.len() + 20 > width));
}

fn fit(name: &str, widths: &[usize], text: impl Fn(usize) -> String, excused: impl Fn(&str, usize) -> bool) {
    for &width in widths {
        for line in text(width).lines() {
            let columns = unicode_width::UnicodeWidthStr::width(line);
            assert!(columns <= width || excused(line, width), "{name} at {width}: {columns} columns: {line}");
            assert_eq!(line, line.trim_end(), "{name} at {width}");
        }
    }
}
