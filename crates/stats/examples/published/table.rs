//! The published tables, as points.

use steady_stats::ScalingPoint;

/// A table: its name, its points, and what it states of the machine.
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: String,
    /// Logical CPUs and cores, where the table has them.
    #[allow(dead_code, reason = "the tests read no more than the points")]
    pub(crate) stated: Option<(u32, u32)>,
    /// Its rows.
    pub(crate) points: Vec<ScalingPoint>,
}

/// The work of a process of the second experiment: its unit is the whole of it.
const FIXED: f64 = 1.0;

/// All tables, in the order of the file.
pub(crate) fn tables() -> Vec<Table> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/published_load.tsv");
    let text = std::fs::read_to_string(path).expect("the published tables are there");
    let mut tables: Vec<Table> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (stated, point) = row(&fields[1..]);
        if tables.last().is_none_or(|table| table.name != fields[0]) {
            tables.push(Table { name: fields[0].to_owned(), stated, points: vec![] });
        }
        tables.last_mut().expect("one was pushed").points.push(point);
    }
    tables
}

/// A row of the first experiment (procs, CPU ms, wall ms, hashes, and two rates that follow from those) or of the second
/// (logical CPUs, cores, procs, wall s, user s). The rates are worked out anew: the table cuts them to whole numbers.
fn row(fields: &[&str]) -> (Option<(u32, u32)>, ScalingPoint) {
    let number = |at: usize| fields[at].parse::<f64>().expect("a number");
    let whole = |at: usize| fields[at].parse::<u32>().expect("a whole number");
    match fields.len() {
        6 => {
            let (cpu, wall, hashes) = (number(1) / 1e3, number(2) / 1e3, number(3));
            (None, ScalingPoint::new(whole(0), hashes / cpu, hashes / wall))
        }
        5 => (Some((whole(0), whole(1))), ScalingPoint::new(whole(2), FIXED / number(4), FIXED / number(3))),
        columns => panic!("a row of {columns} columns"),
    }
}
