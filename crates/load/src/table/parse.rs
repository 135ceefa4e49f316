//! Reads a table: CSV with commas or tabs, or JSON.
//!
//! Columns have names: `procs`, times of one process (`cpu_seconds`, `wall_seconds`; also in `_ms` and `_us`; `user_...`
//! if only user time was measured), `work`, and rates (`work_per_cpu_second`, `work_per_wall_second`; also per `_ms`).
//! Other columns are ignored. Exports of `steady load` have these names.

use std::collections::BTreeMap;

use serde_json::Value;
use steady_model::{Absent, Reading};
use steady_render::letters::{cut, one_line};
use steady_render::units::{decimals_of, fixed};

use super::{LoadTable, TableRow};

/// Suffixes of columns of times, and their units in seconds.
const UNITS: [(&str, f64); 3] = [("_seconds", 1.0), ("_ms", 1e-3), ("_us", 1e-6)];
/// Maximum width of the name of a unit, in columns.
const LONGEST_UNIT: usize = 24;
/// The largest relative difference between a rate and its work divided by its time. Published rates are often rounded.
const ROUNDED: f64 = 0.05;
/// By how much the processes of a row may exceed the logical CPUs of the machine, relatively. Times are often rounded.
const BEYOND_CPUS: f64 = 0.05;
/// The size limit of a table, in bytes. Parsed JSON takes 36 times its size.
const LARGEST: usize = 8 << 20;
/// Maximum number of rows. The evaluation takes seconds for as many.
const MAX_ROWS: usize = 10_000;
/// The columns of a table, for messages.
const COLUMNS: &str = "a table needs the columns procs, cpu_seconds (or cpu_ms, cpu_us, user_seconds, ...) and wall_seconds \
                       (or wall_ms, ...), and may have work; or procs, work_per_cpu_second and work_per_wall_second";

/// A line of a table: where it is, and its numbers by the names of their columns.
struct Line {
    at: String,
    numbers: BTreeMap<String, f64>,
}

/// Reads and evaluates a table.
///
/// # Errors
/// What is wrong, and where.
pub(super) fn parse(source: &str, text: &str) -> Result<LoadTable, String> {
    if text.len() > LARGEST {
        return Err(format!("it is larger than {} MiB, the limit for tables", LARGEST >> 20));
    }
    let text = text.trim_start_matches('\u{feff}');
    let (lines, unit) = match text.trim_start().starts_with(['{', '[']) {
        true => of_json(text)?,
        false => (of_csv(text)?, None),
    };
    let [first, _, ..] = &lines[..] else {
        let rows = if lines.is_empty() { "no row" } else { "a single row" };
        return Err(format!("it has {rows}; scaling needs at least two numbers of processes"));
    };
    if lines.len() > MAX_ROWS {
        return Err(format!("it has more than {MAX_ROWS} rows"));
    }
    let has_work = first.numbers.contains_key("work");
    let rows = lines.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    lines.iter().try_for_each(|line| same_columns(first, line))?;
    for (pair, at) in rows.windows(2).zip(lines.windows(2)) {
        let (one, two) = (pair[0].procs, pair[1].procs);
        if one == two {
            return Err(format!("{} and {} are both for {one} processes", at[0].at, at[1].at));
        }
        if one > two {
            return Err(format!(
                "the rows are not sorted by procs: {} has {two} after {one} in {}",
                at[1].at, at[0].at
            ));
        }
    }
    let (logical, cores) = (stated(&lines, "logical_cpus")?, stated(&lines, "cores")?);
    if let (Ok(logical), Ok(cores)) = (&logical, &cores)
        && cores.count > logical.count
    {
        let (at, cores, logical) = (&cores.at, cores.count, logical.count);
        return Err(format!("{at} contradicts itself: cores is {cores}, but logical_cpus is {logical}"));
    }
    if let Ok(logical) = &logical {
        fit(&rows, &lines, logical.count)?;
    }
    let unit = unit.unwrap_or_else(|| if has_work { "units".to_owned() } else { "runs".to_owned() });
    let [logical, cores] = [logical, cores].map(|stated| stated.map(|stated| stated.count));
    Ok(LoadTable::new(source.to_owned(), &unit, [logical, cores], rows))
}

/// Refuses a line that has other values than the first one: a missing value is not known, and not that of another
/// column. Numbers of CPUs may be in one line only.
fn same_columns(first: &Line, line: &Line) -> Result<(), String> {
    let of_machine = |name: &str| ["logical_cpus", "cores"].contains(&name);
    for (with, without) in [(first, line), (line, first)] {
        let lacks = |name: &&String| !of_machine(name) && !without.numbers.contains_key(*name);
        if let Some(name) = with.numbers.keys().find(lacks) {
            return Err(format!("{} has no {name}, but {} has it", without.at, with.at));
        }
    }
    Ok(())
}

/// Refuses a row whose processes use more CPU time per second than the machine has logical CPUs.
fn fit(rows: &[TableRow], lines: &[Line], logical_cpus: u32) -> Result<(), String> {
    for (row, line) in rows.iter().zip(lines) {
        let used = f64::from(row.procs) * row.work_per_wall_second / row.work_per_cpu_second;
        if used > (1.0 + BEYOND_CPUS) * f64::from(logical_cpus) {
            let (at, used) = (&line.at, fixed(used, decimals_of(used, 3)));
            return Err(format!(
                "{at} contradicts itself: procs * CPU time / wall time is {used} CPUs, but logical_cpus is \
                 {logical_cpus}"
            ));
        }
    }
    Ok(())
}

/// A number of CPUs, and the first line that states it.
struct Stated<'a> {
    at: &'a str,
    count: u32,
}

/// A number of CPUs that all rows state.
fn stated<'a>(lines: &'a [Line], name: &str) -> Result<Reading<Stated<'a>>, String> {
    let known: Vec<(&str, f64)> =
        lines.iter().filter_map(|line| Some((line.at.as_str(), *line.numbers.get(name)?))).collect();
    let Some((at, first)) = known.first().copied() else {
        return Ok(Err(Absent::because("the table does not state it")));
    };
    if let Some((other, value)) = known.iter().find(|(_, value)| *value != first) {
        return Err(format!("{name} is {first} in {at} and {value} in {other}: a table is about one machine"));
    }
    let count = whole(first).ok_or_else(|| format!("{at}: {name} is {first}, which is not a number of CPUs"))?;
    Ok(Ok(Stated { at, count }))
}

/// A whole number from 1 to the largest number of processes in the kernel.
fn whole(value: f64) -> Option<u32> {
    const MOST: f64 = 4_194_304.0;
    (value.fract() == 0.0 && (1.0..=MOST).contains(&value)).then_some(value as u32)
}

fn row(line: &Line) -> Result<TableRow, String> {
    let at = &line.at;
    let procs = line.numbers.get("procs").ok_or_else(|| format!("{at} has no number of processes; {COLUMNS}"))?;
    let procs = whole(*procs).ok_or_else(|| format!("{at}: procs is {procs}, which is not a number of processes"))?;
    let cpu = time(line, &["cpu", "user"])?;
    let wall = time(line, &["wall"])?;
    let work = line.numbers.get("work").map(|work| positive(at, "work", *work)).transpose()?;
    let [per_cpu, per_wall] = [rate(line, "work_per_cpu")?, rate(line, "work_per_wall")?];
    // A rate and its time imply the work. Without work and rates, a row is about one run.
    let implied = [(per_cpu, cpu), (per_wall, wall)].into_iter().find_map(|(rate, time)| Some(rate? * time?));
    let of_one_run = (per_cpu.is_none() && per_wall.is_none()).then_some(1.0);
    let amount = work.or(implied).or(of_one_run);
    let row = match (cpu, wall, amount) {
        (Some(cpu), Some(wall), Some(amount)) => TableRow::of_times(procs, cpu, wall, amount),
        _ => {
            let absent = || Err(Absent::because("the table has no such column"));
            let of = |time: Option<f64>| time.map_or_else(absent, Ok);
            let rate_of = |rate: Option<f64>, time: Option<f64>, what: &str| match (rate, time, amount) {
                (Some(rate), ..) => Ok(rate),
                (None, Some(time), Some(amount)) => Ok(amount / time),
                (None, Some(_), None) => Err(format!("{at} has the {what} time and the other rate, but no work")),
                (None, None, _) => {
                    Err(format!("{at} has neither the {what} time nor the work per {what} second; {COLUMNS}"))
                }
            };
            let (per_cpu, per_wall) = (rate_of(per_cpu, cpu, "CPU")?, rate_of(per_wall, wall, "wall")?);
            let throughput_per_second = f64::from(procs) * per_wall;
            TableRow {
                procs,
                cpu_seconds: of(cpu),
                wall_seconds: of(wall),
                work: of(work),
                work_per_cpu_second: per_cpu,
                work_per_wall_second: per_wall,
                throughput_per_second,
            }
        }
    };
    // The rates that the work and the times give, where all of them are known.
    let of_work = [cpu, wall].map(|time| Some(amount? / time?));
    let computed = [row.work_per_cpu_second, row.work_per_wall_second];
    if !(computed.iter().all(|rate| rate.is_finite() && *rate > 0.0) && row.throughput_per_second.is_finite()) {
        return Err(format!("{at}: its times and its work are too small or too large for a rate"));
    }
    for ((given, computed), name) in [per_cpu, per_wall].into_iter().zip(of_work).zip(["work_per_cpu", "work_per_wall"])
    {
        if let (Some(given), Some(computed)) = (given, computed)
            && (given / computed - 1.0).abs() > ROUNDED
        {
            return Err(format!(
                "{at} contradicts itself: {name} is {given} per second, but work divided by time is {computed}"
            ));
        }
    }
    Ok(row)
}

/// A time in seconds, from the first of these columns that the line has.
fn time(line: &Line, names: &[&str]) -> Result<Option<f64>, String> {
    for (name, (suffix, unit)) in names.iter().flat_map(|name| UNITS.map(|unit| (name, unit))) {
        let column = format!("{name}{suffix}");
        if let Some(value) = line.numbers.get(&column) {
            return positive(&line.at, &column, *value).map(|value| Some(value * unit));
        }
    }
    Ok(None)
}

/// A rate per second.
fn rate(line: &Line, name: &str) -> Result<Option<f64>, String> {
    for (suffix, unit) in [("_second", 1.0), ("_ms", 1e-3)] {
        let column = format!("{name}{suffix}");
        if let Some(value) = line.numbers.get(&column) {
            return positive(&line.at, &column, *value).map(|value| Some(value / unit));
        }
    }
    Ok(None)
}

fn positive(at: &str, name: &str, value: f64) -> Result<f64, String> {
    let is_possible = value.is_finite() && value > 0.0;
    if is_possible { Ok(value) } else { Err(format!("{at}: {name} is {value}; it must be more than 0")) }
}

/// Whether a column has a meaning in a table.
fn is_known(name: &str) -> bool {
    let is_time = |start: &str| UNITS.iter().any(|(suffix, _)| name.strip_prefix(start) == Some(suffix));
    let is_rate = |start: &str| matches!(name.strip_prefix(start), Some("_second" | "_ms"));
    matches!(name, "procs" | "work" | "logical_cpus" | "cores")
        || ["cpu", "user", "wall"].into_iter().any(is_time)
        || ["work_per_cpu", "work_per_wall"].into_iter().any(is_rate)
}

/// Reads a table with a header line. Lines that begin with `#` are comments.
fn of_csv(text: &str) -> Result<Vec<Line>, String> {
    let header = text.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty()).unwrap_or_default();
    let delimiter = if header.contains('\t') { b'\t' } else { b',' };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().map_err(|error| error.to_string())?.iter().map(str::to_owned).collect();
    if !names.iter().any(|name| name == "procs") {
        return Err(format!("it has no column 'procs': the first line has '{}'; {COLUMNS}", names.join("', '")));
    }
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| is_known(name) && names[..*at].contains(name)) {
        return Err(format!("it has two columns '{}'", twice.1));
    }
    let mut lines = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let at = record.position().map_or_else(|| "a line".to_owned(), |place| format!("line {}", place.line()));
        let mut numbers = BTreeMap::new();
        for (name, field) in names.iter().zip(&record).filter(|(name, field)| is_known(name) && !field.is_empty()) {
            let number = field.parse().map_err(|_| format!("{at}: {name} is not a number: '{field}'"))?;
            numbers.insert(name.clone(), number);
        }
        lines.push(Line { at, numbers });
    }
    Ok(lines)
}

/// Reads an array of objects, or the array `rows` of an object, such as an export of `steady load`. Numbers of CPUs in
/// that object hold for all rows. Returns the unit of the work too, if the object has it.
fn of_json(text: &str) -> Result<(Vec<Line>, Option<String>), String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let unit = value.get("unit").and_then(Value::as_str).map(|unit| cut(&one_line(unit), LONGEST_UNIT));
    let rows = value.as_array().or_else(|| value.get("rows")?.as_array());
    let rows = rows.ok_or("it has no rows: JSON must be an array of objects, or an object with the array 'rows'")?;
    let of_all = |name: &str| value.get(name).and_then(Value::as_f64).map(|number| (name.to_owned(), number));
    let of_all: BTreeMap<String, f64> = ["logical_cpus", "cores"].into_iter().filter_map(of_all).collect();
    let line = |(at, row): (usize, &Value)| {
        let at = format!("rows[{at}]");
        let fields = row.as_object().ok_or_else(|| format!("{at} is not an object"))?;
        let mut numbers = of_all.clone();
        for (name, field) in fields.iter().filter(|(name, field)| is_known(name) && !field.is_null()) {
            let number = field.as_f64().ok_or_else(|| format!("{at}: {name} is not a number: {field}"))?;
            numbers.insert(name.clone(), number);
        }
        Ok(Line { at, numbers })
    };
    let lines = rows.iter().enumerate().map(line).collect::<Result<Vec<_>, String>>()?;
    Ok((lines, unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates(text: &str) -> Vec<(u32, f64, f64)> {
        let table = parse("t", text).unwrap();
        table.rows.iter().map(|row| (row.procs, row.work_per_cpu_second, row.work_per_wall_second)).collect()
    }

    #[test]
    fn tables_are_read_in_every_form() {
        let expected = [(1, 10.0, 5.0), (2, 8.0, 4.0)];
        for text in [
            "procs,cpu_seconds,wall_seconds,work\n1,1,2,10\n2,1,2,8\n",
            "# a comment\nwall_ms\tprocs\tname\tcpu_ms\twork\n2000\t1\ta\t1000\t10\n2000\t2\tb\t1000\t8\n",
            "\u{feff}procs, work_per_cpu_second, work_per_wall_second\r\n1, 10, 5\r\n2, 8, 4\r\n",
            "procs,user_us,wall_us\n1,100000,200000\n2,125000,250000\n",
            r#"[{"procs": 1, "work_per_cpu_ms": 0.01, "wall_seconds": 2, "work": 10},
                {"procs": 2, "work_per_cpu_ms": 0.008, "wall_seconds": 2, "work": 8, "others_cpus": null}]"#,
            r#"{"unit": "hashes", "rows": [{"procs": 1, "cpu_seconds": 0.1, "wall_seconds": 0.2},
                {"procs": 2, "cpu_seconds": 0.125, "wall_seconds": 0.25}]}"#,
        ] {
            let found = rates(text);
            let near = |one: f64, two: f64| (one - two).abs() < 1e-9;
            let is_same = |(one, two): (&(u32, f64, f64), &(u32, f64, f64))| {
                one.0 == two.0 && near(one.1, two.1) && near(one.2, two.2)
            };
            assert!(found.len() == 2 && found.iter().zip(&expected).all(is_same), "{text}: {found:?}");
        }
        // Rates imply the work of a row without that column.
        for text in [
            "procs,cpu_ms,wall_ms,work_per_cpu_ms,work_per_wall_ms\n1,5000,5000,74,74\n16,5000,10000,44.4,22.2\n",
            "procs,cpu_ms,wall_ms,work_per_cpu_ms\n1,5000,5000,74\n16,5000,10000,44.4\n",
            "procs,wall_ms,work_per_cpu_ms,work_per_wall_ms\n1,5000,74,74\n16,10000,44.4,22.2\n",
        ] {
            let [(1, one, _), (16, per_cpu, per_wall)] = rates(text)[..] else { panic!("{text}") };
            let near = |one: f64, two: f64| (one / two - 1.0).abs() < 1e-9;
            assert!(near(one, 74e3) && near(per_cpu, 44.4e3) && near(per_wall, 22.2e3), "{text}: {per_cpu} {per_wall}");
        }
        let table = parse("t", "procs,cpu_ms,wall_ms,logical_cpus,cores\n1,1,1,4,2\n2,1,1,4,2\n").unwrap();
        assert_eq!((table.logical_cpus, table.cores, table.unit.as_str()), (Ok(4), Ok(2), "runs"));
        // Rounded times may exceed the CPUs a little.
        let table = parse("t", "procs,cpu_ms,wall_ms,logical_cpus\n1,10,10,2\n2,10.4,10,2\n4,10,20,2\n").unwrap();
        assert_eq!(table.logical_cpus, Ok(2));
    }

    #[test]
    fn large_tables_are_rejected() {
        let rows: String = (1..=10_001).map(|procs| format!("{procs},1,1\n")).collect();
        let error = |text: &str| parse("t", text).unwrap_err();
        assert!(error(&format!("procs,cpu_ms,wall_ms\n{rows}")).contains("more than 10000 rows"));
        assert!(error(&"x".repeat(LARGEST + 1)).contains("larger than 8 MiB"));
    }

    #[test]
    fn wrong_tables_are_rejected_with_the_place() {
        for (text, why) in [
            ("", "no column 'procs'"),
            ("n,cpu_ms\n1,2\n", "no column 'procs': the first line has 'n', 'cpu_ms'; a table needs"),
            ("procs,cpu_ms,wall_ms\n", "no row"),
            ("procs,cpu_ms,wall_ms\n1,2,3\n", "a single row"),
            ("procs,cpu_ms\n1,2\n2,2\n", "line 2 has neither the wall time nor the work per wall second"),
            ("procs,wall_ms\n1,2\n2,2\n", "line 2 has neither the CPU time"),
            ("procs,cpu_ms,wall_ms\n1,2,3\n4,2,3\n2,2,3\n", "not sorted by procs: line 4 has 2 after 4 in line 3"),
            ("procs,cpu_ms,wall_ms\n1,2,3\n1,4,5\n", "line 2 and line 3 are both for 1 processes"),
            ("procs,cpu_ms,wall_ms\n1,2,x\n2,2,3\n", "line 2: wall_ms is not a number: 'x'"),
            ("procs,cpu_ms,wall_ms\n1,2,3\n2,0,3\n", "line 3: cpu_ms is 0; it must be more than 0"),
            ("procs,cpu_ms,wall_ms\n1,2,3\n2,nan,3\n", "line 3: cpu_ms is NaN"),
            ("procs,cpu_ms,wall_ms\n1,1e-320,3\n2,2,3\n", "line 2: its times and its work are too small or too large"),
            ("procs,cpu_ms,wall_ms,work\n1,1,3,1\n2,9e300,3,1e-300\n", "line 3: its times and its work are too small"),
            ("procs,cpu_ms,wall_ms\n1,2,3\n2.5,2,3\n", "procs is 2.5, which is not a number of processes"),
            ("procs,cpu_ms,wall_ms\n1,2,3\n2,2\n", "record 2"),
            ("procs,cpu_ms,cpu_ms,wall_ms\n1,2,3,4\n2,2,3,4\n", "two columns 'cpu_ms'"),
            ("procs,cpu_ms,wall_ms,cores\n1,2,3,2\n2,2,3,4\n", "cores is 2 in line 2 and 4 in line 3"),
            (
                "procs,cpu_ms,wall_ms,logical_cpus\n1,100,100,2\n8,100,100,2\n",
                "line 3 contradicts itself: procs * CPU time / wall time is 8.00 CPUs, but logical_cpus is 2",
            ),
            (
                "procs,work_per_cpu_ms,work_per_wall_ms,logical_cpus\n1,9,9,1\n2,9,5,1\n",
                "line 3 contradicts itself: procs * CPU time / wall time is 1.11 CPUs",
            ),
            (
                "procs,cpu_ms,wall_ms,logical_cpus,cores\n1,2,3,,\n2,2,3,2,4\n",
                "line 3 contradicts itself: cores is 4, but logical_cpus is 2",
            ),
            (
                r#"{"logical_cpus": 2, "rows": [{"procs": 1, "cpu_ms": 5, "wall_ms": 5},
                    {"procs": 3, "cpu_ms": 5, "wall_ms": 5}]}"#,
                "rows[1] contradicts itself: procs * CPU time / wall time is 3.00 CPUs",
            ),
            (
                "procs,cpu_seconds,wall_seconds,work,work_per_cpu_second\n1,1,1,10,10\n2,1,1,10,20\n",
                "line 3 contradicts itself: work_per_cpu is 20 per second, but work divided by time is 10",
            ),
            ("procs,cpu_ms,wall_ms,work\n1,1,1,9\n2,1,1,\n", "line 3 has no work, but line 2 has it"),
            ("procs,user_ms,cpu_ms,wall_ms\n1,1,,1\n2,1,2,1\n", "line 2 has no cpu_ms, but line 3 has it"),
            (
                "procs,wall_ms,work_per_cpu_ms\n1,1,9\n2,1,9\n",
                "line 2 has the wall time and the other rate, but no work",
            ),
            (
                "procs,cpu_ms,wall_ms,work_per_cpu_ms,work_per_wall_ms\n1,1,1,9,9\n2,1,1,9,5\n",
                "line 3 contradicts itself: work_per_wall is 5000 per second, but work divided by time is 9000",
            ),
            ("{}", "no rows"),
            ("[1, 2]", "rows[0] is not an object"),
            ("[{\"procs\": \"1\"}, {}]", "rows[0]: procs is not a number"),
            ("[{", "EOF"),
        ] {
            let error = parse("t", text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_table_or_an_error(text in ".*|procs,cpu_ms,wall_ms\n[0-9.,e\n-]{0,60}|\\[\\{\"procs\": .{0,20}") {
            if let Ok(table) = parse("t", &text) {
                prop_assert!(table.rows.len() > 1 && table.rows.is_sorted_by(|one, two| one.procs < two.procs));
            }
        }
    }
}
