//! Reports on load experiments, compared with golden files in `testdata/reports`. `STEADY_BLESS=1 cargo test` rewrites
//! the golden files.

mod back;
mod made;
mod rulers;
mod tables;

use proptest::prelude::*;
use serde_json::Value;
use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_load::{CpuUse, LoadRecord, LoadRow, LoadWork, SCHEMA};
use steady_model::*;
use steady_render::json::description;
use steady_render::{Style, svg};
use steady_stats::Fitted;
use steady_testing::goldens::{shown, text};
use steady_testing::made::HOSTILE;
use steady_testing::{goldens, made as shared, values};

fn drawing(report: &impl Report) -> String {
    svg::text(&report.drawing().unwrap())
}

#[test]
fn reports_match_the_golden_files() {
    goldens::check(made::all().into_iter().flat_map(|(name, report)| {
        let samples = report.rows.iter().map(|row| row.runs.len()).sum::<usize>() < 10;
        let drawing = (format!("{name}.svg"), drawing(&report));
        goldens::of_report(name, &report, samples).into_iter().chain([drawing])
    }));
}

#[test]
fn the_schema_matches_the_golden_file() {
    goldens::check_schema(&SCHEMA, description::<LoadRecord>(&SCHEMA));
}

#[test]
fn lines_fit_every_width() {
    for (name, report) in made::all() {
        goldens::lines_fit(name, |width| text(&report, width));
    }
}

#[test]
fn columns_have_their_published_names() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let markdown = shown(&made::hash(), Form::Markdown);
    for name in [
        "number of children",
        "mean CPU time (ms)",
        "mean wall time (ms)",
        "mean hashes",
        "hashes per CPU ms",
        "hashes per wall ms",
    ] {
        assert!(words(&markdown).contains(name), "{name}: {markdown}");
    }
    let markdown = shown(&made::sum(), Form::Markdown);
    assert!(markdown.contains("| CPUs | Cores | Procs | Time (s) | User time (s) |"), "{markdown}");
}

#[test]
fn the_json_has_its_documented_fields() {
    for (name, report) in made::all() {
        let value: Value = serde_json::from_str(&report.json(false)).unwrap();
        assert_eq!(value["schema"], "steady.load/1", "{name}");
        let rows = value["rows"].as_array().unwrap();
        assert_eq!(rows.len(), report.points().len(), "{name}");
        for (row, point) in rows.iter().zip(report.points()) {
            let keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
            let contract =
                ["procs", "cpu_seconds", "wall_seconds", "work", "work_per_cpu_second", "work_per_wall_second"];
            assert_eq!(keys[..6], contract, "{name}");
            assert!(keys.contains(&"overshoot_median_seconds") && keys.contains(&"overshoot_max_seconds"), "{name}");
            assert_eq!(row["procs"], point.procs, "{name}");
            assert!(row.get("runs").is_none(), "{name}");
        }
    }
}

#[test]
fn csv_has_a_line_for_each_row_and_a_field_for_each_column() {
    for (name, report) in made::all() {
        let csv = shown(&report, Form::Csv);
        let mut lines = csv.lines().map(|line| line.split(',').count());
        let columns = lines.next().unwrap();
        assert_eq!(lines.clone().count(), report.points().len(), "{name}");
        assert!(lines.all(|fields| fields == columns), "{name}: {csv}");
    }
}

#[test]
fn hostile_names_do_not_break_reports() {
    let mut report = made::command();
    if let LoadWork::Command { command, .. } = &mut report.plan.work {
        command.name = HOSTILE.to_owned();
        command.argv = vec![HOSTILE.to_owned()];
    }
    report.failure = Some(HOSTILE.to_owned());
    report.host.hostname = Ok(HOSTILE.to_owned());
    report.machine.kinds = vec![(HOSTILE.to_owned(), vec![0])];
    let figures = report.rows.iter_mut().flat_map(|row| &mut row.figures);
    figures.for_each(|figures| figures.others_cpus = Err(Absent::because(HOSTILE)));
    let page = shown(&report, Form::Html);
    assert!(!page.contains("<script") && !page.contains("\" onload="), "{page}");
    assert!(!text(&report, 80).contains('\u{202e}'));
    for line in shown(&report, Form::Markdown).lines().filter(|line| line.starts_with("| ")) {
        assert!(!line.contains("<script"), "{line}");
    }
}

#[test]
fn the_page_loads_nothing() {
    for (name, report) in made::all() {
        let page = shown(&report, Form::Html);
        for link in ["src=", "url(", "@import", "<link", "<iframe", "<object", "<use", "javascript:", "href="] {
            assert!(!page.contains(link), "{name}: {link}");
        }
    }
}

#[test]
fn the_size_of_a_page_is_bounded() {
    let mut report = made::hash();
    let row = report.rows[0].clone();
    let cpus = (0..1024).map(|cpu| CpuUse { cpu, busy_ratio: Ok(0.5), ours_ratio: Ok(0.25) }).collect::<Vec<_>>();
    report.machine.allowed = (0..1024).collect();
    report.rows = (1..=2000).map(|procs| LoadRow { procs, cpus: cpus.clone(), runs: vec![], ..row.clone() }).collect();
    let page = shown(&report, Form::Html);
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    assert!(page.contains("the mean of 8 CPUs") && page.contains("One row in 32 is shown"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_numbers_are_rendered_in_every_format(
        value in any::<f64>(),
        other in any::<f64>(),
        procs in any::<u32>(),
        width in 0..200usize,
    ) {
        for (_, mut report) in made::all() {
            for (index, row) in report.rows.iter_mut().enumerate() {
                row.procs = procs.saturating_add(index as u32);
                let Ok(figures) = &mut row.figures else { continue };
                figures.cpu_seconds = value;
                figures.work_per_cpu_second = other;
                figures.throughput_per_second = value;
                figures.waiting_ratio = Ok(other);
                figures.others_cpus = Ok(value);
                row.cpus.iter_mut().for_each(|cpu| (cpu.busy_ratio, cpu.ours_ratio) = (Ok(value), Ok(other)));
            }
            if let Ok(scaling) = &mut report.scaling {
                scaling.per_cpu_factor = value;
                scaling.second_thread_gain = Ok(Fitted { value, interval: Interval { low: value, high: other } });
                if let Ok(law) = &mut scaling.law {
                    law.lambda.value = value;
                    law.kappa.value = other;
                }
            }
            let text = report.rendered(Form::Text, Style { width, color: true }, false);
            prop_assert!(!text.contains("NaN") && !text.contains("inf "), "{}", text);
            let page = shown(&report, Form::Html);
            prop_assert!(!page.contains("NaN") && page.ends_with("</html>\n"));
            prop_assert!(!drawing(&report).contains("NaN"));
            prop_assert!(serde_json::from_str::<Value>(&report.json(true)).is_ok());
            let _ = (report.facts(), shown(&report, Form::Markdown), shown(&report, Form::Csv));
        }
    }
}
