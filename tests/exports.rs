//! The files that `steady compare` and `steady judge` write beside the report.

mod steady;

use std::fs;
use std::path::Path;

use steady::{run, scratch, steady, told, work};

/// A comparison of a few pairs, with these words besides.
fn compare(words: &[&str]) -> (i32, String, String) {
    run(&[&["compare", "--quiet", "--runs", "8", "--warmup", "1", &work(50), &work(60)], words].concat())
}

fn path(name: &str) -> String {
    scratch(name).display().to_string()
}

#[test]
fn runs_are_written_as_csv() {
    let file = path("runs.csv");
    let (status, stdout, stderr) = compare(&["--export-csv", &file]);
    assert_eq!((status, stdout.as_str()), (0, ""), "{stderr}");
    let csv = fs::read_to_string(&file).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(names[..3], ["pair", "layout", "command"]);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 16);
    for row in rows {
        assert_eq!(row.len(), names.len(), "{row:?}");
        let field = |name: &str| row[names.iter().position(|known| *known == name).unwrap()];
        let seconds = |name: &str| field(name).parse::<f64>().unwrap();
        assert!(seconds("wall_seconds") > 0.0, "{row:?}");
        assert!((seconds("user_seconds") + seconds("system_seconds") - seconds("cpu_seconds")).abs() < 1e-9, "{row:?}");
        assert_eq!(field("outcome"), "exit 0");
    }
}

#[test]
fn standard_output_takes_every_form() {
    let (status, csv, stderr) = compare(&["--format", "csv"]);
    assert_eq!((status, csv.lines().count()), (0, 17), "{stderr}");
    let (status, markdown, stderr) = compare(&["--format", "markdown"]);
    assert_eq!(status, 0, "{stderr}");
    assert!(markdown.contains("| Command | CPU time |") && markdown.contains("</details>"), "{markdown}");
}

#[test]
fn a_saved_comparison_is_written_in_the_same_forms() {
    let kept = path("kept.json");
    let forms = [("--export-csv", "csv"), ("--export-markdown", "md"), ("--export-html", "html")];
    let named = |prefix: &str| forms.map(|(option, ending)| (option, path(&format!("{prefix}.{ending}"))));
    let (first, second) = (named("first"), named("second"));
    let words = |files: &[(&'static str, String)]| -> Vec<String> {
        files.iter().flat_map(|(option, file)| [(*option).to_owned(), file.clone()]).collect()
    };
    let mut compare_words = vec!["--samples".to_owned(), "--export-json".to_owned(), kept.clone()];
    compare_words.extend(words(&first));
    let borrowed: Vec<&str> = compare_words.iter().map(String::as_str).collect();
    let (status, _, stderr) = compare(&borrowed);
    assert_eq!(status, 0, "{stderr}");
    let judged = steady().args(["judge", "--quiet", &kept]).args(words(&second)).output().unwrap();
    assert_eq!(told(judged).0, 0);
    for ((_, one), (_, other)) in first.iter().zip(&second) {
        assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "{one} and {other} differ");
        assert!(fs::metadata(one).unwrap().len() > 100);
    }
}

#[test]
fn what_cannot_be_written_is_told_before_anything_runs() {
    let mark = path("ran");
    let touch = format!("touch {mark}");
    for option in ["--export-csv", "--export-markdown", "--export-html"] {
        let (status, _, stderr) = run(&["compare", option, "/nonexistent/file", &touch, &touch]);
        assert_eq!(status, 2, "{stderr}");
        assert!(stderr.contains(option), "{stderr}");
    }
    let one = path("one");
    let (status, _, stderr) = run(&["compare", "--export-csv", &one, "--export-markdown", &one, &touch, &touch]);
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains("same file"), "{stderr}");
    assert!(!Path::new(&mark).exists());
}

#[test]
fn a_locale_without_utf8_gets_letters_that_it_has() {
    let words = ["compare", "--no-history", "--runs", "6", "true"];
    let in_locale = |locale: &str| told(steady().env("LC_ALL", locale).args(words).output().unwrap());
    let (status, text, _) = in_locale("C");
    assert!(status == 0 && text.is_ascii(), "{text}");
    let (_, text, _) = in_locale("C.UTF-8");
    assert!(!text.is_ascii(), "{text}");
    let json = told(steady().env("LC_ALL", "C").args(words).args(["--format", "json"]).output().unwrap()).1;
    assert!(json.starts_with('{'), "{json}");
}
