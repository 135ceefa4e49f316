//! Reports on tables that were measured elsewhere.

use clap::ValueEnum;
use steady_feature::flags::Form;
use steady_load::{LoadTable, Published, TABLE_SCHEMA};
use steady_render::json::description;
use steady_testing::goldens::{self, shown, text};

use crate::drawing;

fn all() -> impl Iterator<Item = (String, LoadTable)> {
    Published::value_variants().iter().map(|one| {
        let name = one.to_possible_value().unwrap().get_name().to_owned();
        (format!("load-{name}"), one.table())
    })
}

#[test]
fn published_tables_match_the_golden_files() {
    goldens::check(all().flat_map(|(name, table)| {
        let svg = (format!("{name}.svg"), drawing(&table));
        goldens::of_report(&name, &table, false).into_iter().chain([svg])
    }));
}

#[test]
fn the_schema_of_tables_matches_the_golden_file() {
    goldens::check_schema(&TABLE_SCHEMA, description::<LoadTable>(&TABLE_SCHEMA));
}

#[test]
fn lines_of_tables_fit_every_width() {
    for (name, table) in all() {
        goldens::lines_fit(&name, |width| text(&table, width));
    }
}

#[test]
fn the_answer_is_that_of_the_points() {
    let markdown = |name: &str| {
        let (_, table) = all().find(|one| one.0 == name).unwrap();
        shown(&table, Form::Markdown).replace('\u{a0}', " ")
    };
    let hash8 = markdown("load-hash8");
    for sentence in [
        "work per CPU second varies by a factor of 1.69 and work per wall second by a factor of 3.46",
        "The table states 8 cores. Measurements and table agree on the number of cores.",
        "The author attributed the loss of work per CPU second to the overhead of context switches. By the \
         measurements, 100 % of the loss is at N = 16 and below, where no process waits for a CPU, and 0 % above",
        "A second thread on a core adds 21 % to the work of the core at N = 1. The measurements allow a gain of 16 to \
         29 %",
    ] {
        assert!(hash8.contains(sentence), "{sentence}: {hash8}");
    }
    assert!(markdown("load-smt-4c8t").contains("This is consistent with the measurements (3 to 4 cores)."));
    assert!(markdown("load-nosmt-2c").contains("The table states 2 logical CPUs on 2 cores."));
}
