//! Files that hold what is written, looked at by eye once: kept in `testdata/reports`.

use std::fs;
use std::path::Path;

use steady_feature::Report;
use steady_feature::flags::Form;
use steady_render::Style;
use steady_render::json::Schema;

/// Holds each text against the file of its name; with `STEADY_BLESS=1`, writes them instead.
pub fn hold(files: impl IntoIterator<Item = (String, String)>) {
    hold_in("testdata/reports", files);
}

/// Holds the JSON Schema of a record against the file in `docs/schemas`, as [`hold`] does.
pub fn hold_schema(schema: &Schema, description: String) {
    hold_in("docs/schemas", [(format!("{}.json", schema.name.replace('/', "-")), description)]);
}

fn hold_in(folder: &str, files: impl IntoIterator<Item = (String, String)>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let bless = std::env::var_os("STEADY_BLESS").is_some_and(|value| value == "1");
    let mut differing = Vec::new();
    for (file, found) in files {
        let path = folder.join(&file);
        if bless {
            fs::write(&path, &found).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != found {
            differing.push(format!("-- {file} is now --\n{found}"));
        }
    }
    assert!(differing.is_empty(), "{}\nif they read well: STEADY_BLESS=1", differing.join("\n"));
}

/// A report as text for a terminal of so many columns, without colours.
pub fn text(report: &dyn Report, width: usize) -> String {
    report.rendered(Form::Text, Style { width, color: false }, false)
}

/// A report in one of its forms, without samples.
pub fn shown(report: &dyn Report, form: Form) -> String {
    report.rendered(form, Style::default(), false)
}

/// A report in all its forms, each with the name of its file: for the terminal in 80 and 60 columns, and its exports.
pub fn of_report(name: &str, report: &dyn Report, samples: bool) -> Vec<(String, String)> {
    let texts = [80, 60].map(|width| (format!("{name}.{width}.txt"), text(report, width)));
    texts.into_iter().chain(exports(name, report, samples)).collect()
}

/// A report as it is exported, each form with the name of its file.
pub fn exports(name: &str, report: &dyn Report, samples: bool) -> [(String, String); 4] {
    [("json", Form::Json), ("csv", Form::Csv), ("md", Form::Markdown), ("html", Form::Html)]
        .map(|(end, form)| (format!("{name}.{end}"), report.rendered(form, Style::default(), samples)))
}

/// What is shown in some forms, each with the name of its file: for the terminal in 80 and 60 columns, and `exports` by how their
/// names end.
pub fn forms<const N: usize>(
    name: &str,
    text: impl Fn(usize) -> String,
    exports: [(&str, String); N],
) -> Vec<(String, String)> {
    let texts = [80, 60].map(|width| (format!("{name}.{width}.txt"), text(width)));
    texts.into_iter().chain(exports.map(|(end, export)| (format!("{name}.{end}"), export))).collect()
}

/// Whether no line is wider than it may be, or ends in a blank.
pub fn lines_fit(name: &str, text: impl Fn(usize) -> String) {
    fit(name, &[40, 50, 60, 72, 80, 100, 132], text, |_, _| false);
}

/// The same where paths stand in the text: they are not broken, so that they can be copied.
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
