//! The published tables as points.

use steady_stats::ScalingPoint;

/// A table: its name and its points.
pub(crate) struct Table {
    /// The name of the table.
    pub(crate) name: String,
    /// The points, one for each row.
    pub(crate) points: Vec<ScalingPoint>,
}

/// The work of a process in the second experiment; its unit is the whole work.
const FIXED: f64 = 1.0;

/// Reads all tables in the order of the file.
pub(crate) fn tables() -> Vec<Table> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/published_load.tsv");
    let text = std::fs::read_to_string(path).expect("the published tables are in the repository");
    let mut tables: Vec<Table> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let point = row(&fields[1..]);
        if tables.last().is_none_or(|table| table.name != fields[0]) {
            tables.push(Table { name: fields[0].to_owned(), points: vec![] });
        }
        tables.last_mut().expect("a table was added").points.push(point);
    }
    tables
}

/// Parses a row of the first experiment (procs, CPU ms, wall ms, hashes, and two rates computed from them) or of the
/// second (logical CPUs, cores, procs, wall s, user s). The rates are recomputed, because the table truncates them to
/// whole numbers.
fn row(fields: &[&str]) -> ScalingPoint {
    let number = |at: usize| fields[at].parse::<f64>().expect("a number");
    let whole = |at: usize| fields[at].parse::<u32>().expect("a whole number");
    match fields.len() {
        6 => {
            let (cpu, wall, hashes) = (number(1) / 1e3, number(2) / 1e3, number(3));
            ScalingPoint::new(whole(0), hashes / cpu, hashes / wall)
        }
        5 => ScalingPoint::new(whole(2), FIXED / number(4), FIXED / number(3)),
        columns => panic!("a row of {columns} columns"),
    }
}
