//! The published tables of load experiments.

use clap::ValueEnum;
use steady_model::{Absent, Reading};

use super::{LoadTable, TableRow};

/// The tables, with tabs between the columns. Lines of a table begin with its name.
const TABLES: &str = include_str!("../../../../testdata/published_load.tsv");

/// A published table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Published {
    /// Hashes within 5 s of CPU time, 1 to 32 processes, on 8 cores
    Hash8,
    /// Fixed work on 2 cores with 4 logical CPUs
    #[value(name = "smt-2c4t")]
    Smt2c4t,
    /// Fixed work on 4 cores with 8 logical CPUs
    #[value(name = "smt-4c8t")]
    Smt4c8t,
    /// Fixed work on 2 cores without a second thread
    #[value(name = "nosmt-2c")]
    NoSmt2c,
}

impl Published {
    /// The name of the table in the file and on the command line.
    fn name(self) -> &'static str {
        match self {
            Published::Hash8 => "hash8",
            Published::Smt2c4t => "smt-2c4t",
            Published::Smt4c8t => "smt-4c8t",
            Published::NoSmt2c => "nosmt-2c",
        }
    }

    /// What the author attributed the loss of work per CPU second to.
    fn attributed_to(self) -> Reading<String> {
        match self {
            Published::Hash8 => Ok("the overhead of context switches".to_owned()),
            _ => Err(Absent::because("the publication does not say it")),
        }
    }

    /// The table, evaluated.
    pub fn table(self) -> LoadTable {
        let lines = TABLES.lines().filter_map(|line| line.strip_prefix(self.name())?.strip_prefix('\t'));
        let rows: Vec<Vec<f64>> =
            lines.map(|line| line.split('\t').filter_map(|field| field.parse().ok()).collect()).collect();
        let source = self.name().to_owned();
        let table = match self {
            // Processes, CPU ms, wall ms, hashes, and both rates rounded down.
            Published::Hash8 => {
                let row = |row: &Vec<f64>| TableRow::of_times(row[0] as u32, row[1] / 1e3, row[2] / 1e3, row[3]);
                let unknown = || Err(Absent::because("the table does not state it"));
                LoadTable::new(source, "hashes", [unknown(), Ok(8)], rows.iter().map(row).collect())
            }
            // Logical CPUs, cores, processes, wall seconds, user seconds. Each process adds 100,000,001 numbers.
            _ => {
                let row = |row: &Vec<f64>| TableRow::of_times(row[2] as u32, row[4], row[3], 100_000_001.0);
                let stated = |at: usize| Ok(rows[0][at] as u32);
                LoadTable::new(source, "numbers", [stated(0), stated(1)], rows.iter().map(row).collect())
            }
        };
        LoadTable { attributed_to: self.attributed_to(), ..table }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_table_is_complete() {
        let rows = |published: Published| published.table().rows.len();
        let all = Published::value_variants();
        assert_eq!(all.iter().map(|one| rows(*one)).collect::<Vec<_>>(), [32, 5, 5, 4]);
        for one in all {
            assert_eq!(one.to_possible_value().unwrap().get_name(), one.name());
            assert!(one.table().scaling.is_ok(), "{one:?}");
        }
        let last = &Published::Hash8.table().rows[31];
        assert_eq!((last.procs, last.work_per_cpu_second.round()), (32, 44_197.0));
    }
}
