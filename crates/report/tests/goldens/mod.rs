//! Files that hold what is written, looked at by eye once: kept in `testdata/reports`.

use std::fs;
use std::path::Path;

/// Holds each text against the file of its name; with `STEADY_BLESS=1`, writes them instead.
pub(crate) fn hold(files: impl IntoIterator<Item = (String, String)>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reports");
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

/// Whether no line is wider than it may be, or ends in a blank.
pub(crate) fn lines_fit(name: &str, text: impl Fn(usize) -> String) {
    for width in [40, 50, 60, 72, 80, 100, 132] {
        for line in text(width).lines() {
            let columns = unicode_width::UnicodeWidthStr::width(line);
            assert!(columns <= width, "{name} at {width}: {columns} columns: {line}");
            assert_eq!(line, line.trim_end(), "{name} at {width}");
        }
    }
}
