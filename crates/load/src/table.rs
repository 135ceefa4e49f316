//! Tables of work by number of processes that were measured elsewhere, for `steady load --table` and `--published`.

mod parse;
mod published;

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{Absent, Reading};
use steady_render::json::Schema;
use steady_stats::{Scaling, ScalingPoint, scaling};

use crate::record::scaling as codec;

pub use published::Published;

/// The schema of [`LoadTable`] in JSON.
pub const TABLE_SCHEMA: Schema = Schema { name: "steady.load-table/1", what: "a table of work by number of processes" };

/// A table, and what its points say about scaling. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadTable {
    /// The file, or the name of the published table.
    pub source: String,
    /// The unit of the work.
    pub unit: String,
    /// The number of logical CPUs of the machine, as the table states it.
    pub logical_cpus: Reading<u32>,
    /// The number of cores of the machine, as the table states it.
    pub cores: Reading<u32>,
    /// What the author of a published table attributed the loss of work per CPU second to.
    pub attributed_to: Reading<String>,
    /// The rows, by number of processes.
    pub rows: Vec<TableRow>,
    /// Scaling over all rows.
    #[serde(serialize_with = "codec::serialize")]
    #[schemars(with = "Reading<codec::ScalingFigures>")]
    pub scaling: Reading<Scaling>,
}

/// A row of a table: means of one process.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableRow {
    /// Number of concurrent processes.
    pub procs: u32,
    /// CPU time, in seconds.
    pub cpu_seconds: Reading<f64>,
    /// Wall time, in seconds.
    pub wall_seconds: Reading<f64>,
    /// Work.
    pub work: Reading<f64>,
    /// Work per second of CPU time.
    pub work_per_cpu_second: f64,
    /// Work per second of wall time of one process.
    pub work_per_wall_second: f64,
    /// Work per second of all processes: `procs` times `work_per_wall_second`.
    pub throughput_per_second: f64,
}

impl LoadTable {
    /// Reads and evaluates a table in CSV, TSV or JSON. `source` names it in the report.
    ///
    /// # Errors
    /// What is wrong with the text, and where. No input makes it panic.
    pub fn read(source: &str, text: &str) -> Result<Self, String> {
        parse::parse(source, text)
    }

    /// Evaluates rows, which are sorted by their numbers of processes.
    fn new(source: String, unit: &str, stated: [Reading<u32>; 2], rows: Vec<TableRow>) -> Self {
        let point = |row: &TableRow| ScalingPoint::new(row.procs, row.work_per_cpu_second, row.work_per_wall_second);
        let points: Vec<ScalingPoint> = rows.iter().map(point).collect();
        let [logical_cpus, cores] = stated;
        let attributed_to = Err(Absent::because("the table does not say it"));
        let scaling = scaling(&points);
        LoadTable { source, unit: unit.to_owned(), logical_cpus, cores, attributed_to, rows, scaling }
    }
}

impl TableRow {
    /// A row with rates from the times and the work of one process.
    fn of_times(procs: u32, cpu_seconds: f64, wall_seconds: f64, work: f64) -> Self {
        TableRow {
            procs,
            cpu_seconds: Ok(cpu_seconds),
            wall_seconds: Ok(wall_seconds),
            work: Ok(work),
            work_per_cpu_second: work / cpu_seconds,
            work_per_wall_second: work / wall_seconds,
            throughput_per_second: f64::from(procs) * work / wall_seconds,
        }
    }
}
