//! Encodes a block, the rows of a service or of the host in one second, as a blob. docs/agent.md documents the format.

use std::collections::HashMap;

use steady_model::{
    Assignment, HostSecond, ProcessRow, ReleaseRow, ReleaseRulerRow as RulerRow, RequestRuler, RulerSums, WALL_BUCKETS,
    WallRow,
};

use super::bytes::{Bytes, Why, put, put_double, put_whole};
use super::sums::{Format, put_sums, sums};

/// A flag in the byte of the assignment: the slot is the second of its pair.
const SECOND_OF_PAIR: u8 = 4;
/// A flag in the byte of the assignment: the length of the slot follows.
const HAS_SLOT: u8 = 8;
/// A flag in the byte of the assignment: the number of the class follows.
const HAS_CLASS: u8 = 16;

/// The rows of one second, or of a downsampled interval of ten seconds. Versions, routes and classes are the numbers of
/// their names in the store; class 0 means no class. The blob has no seconds and hosts: all rows have those of the
/// block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    pub(super) folded: u64,
    pub(super) lost: u64,
    pub(super) requests: Vec<ReleaseRow>,
    pub(super) rulers: Vec<RulerRow>,
    pub(super) walls: Vec<WallRow>,
    pub(super) seconds: Vec<HostSecond>,
    pub(super) processes: Vec<ProcessRow>,
}

impl Block {
    pub(super) fn is_empty(&self) -> bool {
        *self == Block::default()
    }

    pub(super) fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.requests.len() * 112 + self.rulers.len() * 24);
        out.push(Format::Levels as u8);
        put(&mut out, self.folded);
        put(&mut out, self.lost);
        let mut processes = Processes::default();
        let requests: Vec<u64> = self.requests.iter().map(|row| processes.place(row.process)).collect();
        let rulers: Vec<u64> = self.rulers.iter().map(|row| processes.place(row.process)).collect();
        let cpu: Vec<u64> = self.processes.iter().map(|row| processes.place(row.process)).collect();
        put(&mut out, processes.all.len() as u64);
        processes.all.iter().for_each(|process| out.extend_from_slice(&process.to_le_bytes()));
        put(&mut out, requests.len() as u64);
        self.requests.iter().zip(requests).for_each(|(row, process)| put_request(&mut out, row, process));
        put(&mut out, rulers.len() as u64);
        self.rulers.iter().zip(rulers).for_each(|(row, process)| put_ruler(&mut out, row, process));
        put(&mut out, self.walls.len() as u64);
        self.walls.iter().for_each(|row| put_wall(&mut out, row));
        put(&mut out, self.seconds.len() as u64);
        self.seconds.iter().for_each(|row| put_second(&mut out, row));
        put(&mut out, cpu.len() as u64);
        self.processes.iter().zip(cpu).for_each(|(row, process)| put_process(&mut out, row, process));
        out
    }

    /// Decodes a blob into the rows of this second and host.
    pub(super) fn unpack(bytes: &[u8], second: u64, host: u32) -> Result<Block, Why> {
        let mut bytes = Bytes(bytes);
        let format = match bytes.byte()? {
            1 => Format::First,
            2 => Format::Levels,
            _ => return Err("its format is unknown"),
        };
        let (folded, lost) = (bytes.whole()?, bytes.whole()?);
        let processes = (0..bytes.count()?).map(|_| process(&mut bytes)).collect::<Result<Vec<u64>, _>>()?;
        let at = At { second, host, processes: processes.as_slice() };
        let requests = (0..bytes.count()?).map(|_| request(&mut bytes, format, at)).collect::<Result<_, _>>()?;
        let rulers = (0..bytes.count()?).map(|_| ruler(&mut bytes, at)).collect::<Result<_, _>>()?;
        let walls = (0..bytes.count()?).map(|_| wall(&mut bytes, at)).collect::<Result<_, _>>()?;
        let seconds = (0..bytes.count()?).map(|_| host_second(&mut bytes, at)).collect::<Result<_, _>>()?;
        let processes = match format {
            Format::First => Vec::new(),
            Format::Levels => (0..bytes.count()?).map(|_| process_row(&mut bytes, at)).collect::<Result<_, _>>()?,
        };
        if bytes.0.is_empty() {
            Ok(Block { folded, lost, requests, rulers, walls, seconds, processes })
        } else {
            Err("it has bytes after its end")
        }
    }
}

/// The second and the host of rows, and the processes that they refer to by position.
#[derive(Clone, Copy)]
struct At<'a> {
    second: u64,
    host: u32,
    processes: &'a [u64],
}

/// The distinct processes of a block, in the order of their first row.
#[derive(Default)]
struct Processes {
    places: HashMap<u64, u64>,
    all: Vec<u64>,
}

impl Processes {
    fn place(&mut self, process: u64) -> u64 {
        let next = self.all.len() as u64;
        *self.places.entry(process).or_insert_with(|| {
            self.all.push(process);
            next
        })
    }
}

fn process(bytes: &mut Bytes<'_>) -> Result<u64, Why> {
    bytes.double().map(f64::to_bits)
}

fn of_place(bytes: &mut Bytes<'_>, at: At<'_>) -> Result<u64, Why> {
    let place = usize::try_from(bytes.whole()?).unwrap_or(usize::MAX);
    at.processes.get(place).copied().ok_or("a row refers to an unknown process")
}

fn put_request(out: &mut Vec<u8>, row: &ReleaseRow, process: u64) {
    put(out, process);
    put(out, u64::from(row.version));
    put(out, u64::from(row.route));
    let has_slot = if row.slot_seconds > 0 { HAS_SLOT } else { 0 };
    let second_of_pair = if row.second_of_pair { SECOND_OF_PAIR } else { 0 };
    let has_class = if row.class > 0 { HAS_CLASS } else { 0 };
    out.push(row.assignment as u8 | has_slot | second_of_pair | has_class);
    if row.slot_seconds > 0 {
        put(out, u64::from(row.slot_seconds));
    }
    if row.class > 0 {
        put(out, u64::from(row.class));
    }
    put_sums(out, &row.sums);
}

fn request(bytes: &mut Bytes<'_>, format: Format, at: At<'_>) -> Result<ReleaseRow, Why> {
    let process = of_place(bytes, at)?;
    let (version, route, way) = (bytes.small()?, bytes.small()?, bytes.byte()?);
    let assignment = Assignment::ALL.get(usize::from(way & 3)).copied().ok_or("a row has an unknown assignment")?;
    let bits = if format == Format::First { HAS_CLASS } else { 2 * HAS_CLASS };
    if way >= bits {
        return Err("a row has an unknown assignment");
    }
    let slot_seconds = if way & HAS_SLOT == 0 { 0 } else { bytes.small()? };
    let second_of_pair = way & SECOND_OF_PAIR != 0;
    let class = if way & HAS_CLASS == 0 { 0 } else { bytes.small()? };
    let At { second, host, .. } = at;
    let sums = sums(bytes, format)?;
    let span_seconds = slot_seconds.max(1);
    let row = ReleaseRow {
        second,
        host,
        process,
        version,
        route,
        class,
        assignment,
        span_seconds,
        slot_seconds,
        second_of_pair,
        sums,
    };
    Ok(row)
}

fn put_ruler(out: &mut Vec<u8>, row: &RulerRow, process: u64) {
    put(out, process);
    put_version(out, row.version);
    out.push(row.ruler as u8);
    put(out, row.sums.readings);
    put_double(out, row.sums.log);
    put_double(out, row.sums.log_squared);
}

fn ruler(bytes: &mut Bytes<'_>, at: At<'_>) -> Result<RulerRow, Why> {
    let process = of_place(bytes, at)?;
    let version = version(bytes)?;
    let ruler = RequestRuler::ALL.get(usize::from(bytes.byte()?)).copied().ok_or("a ruler is of an unknown kind")?;
    let sums = RulerSums { readings: bytes.whole()?, log: bytes.double()?, log_squared: bytes.double()? };
    Ok(RulerRow { second: at.second, host: at.host, process, version, ruler, sums })
}

fn put_version(out: &mut Vec<u8>, version: Option<u32>) {
    put(out, version.map_or(0, |version| u64::from(version) + 1));
}

fn version(bytes: &mut Bytes<'_>) -> Result<Option<u32>, Why> {
    match bytes.whole()? {
        0 => Ok(None),
        next => u32::try_from(next - 1).map(Some).map_err(|_| "a number is too large"),
    }
}

fn put_process(out: &mut Vec<u8>, row: &ProcessRow, process: u64) {
    put(out, process);
    put_version(out, row.version);
    put(out, u64::from(row.slot_seconds));
    put_whole(out, row.cpu);
    put_whole(out, row.requests_cpu);
}

fn process_row(bytes: &mut Bytes<'_>, at: At<'_>) -> Result<ProcessRow, Why> {
    let process = of_place(bytes, at)?;
    let (version, slot_seconds) = (version(bytes)?, bytes.small()?);
    let (cpu, requests_cpu) = (bytes.whole_double()?, bytes.whole_double()?);
    Ok(ProcessRow { second: at.second, slot_seconds, host: at.host, process, version, cpu, requests_cpu })
}

fn put_wall(out: &mut Vec<u8>, row: &WallRow) {
    put(out, u64::from(row.version));
    put(out, u64::from(row.route));
    put(out, row.counts.len() as u64);
    let mut last = 0;
    for &(bucket, count) in &row.counts {
        put(out, u64::from(bucket - last));
        put(out, u64::from(count));
        last = bucket;
    }
}

fn wall(bytes: &mut Bytes<'_>, at: At<'_>) -> Result<WallRow, Why> {
    let (version, route, length) = (bytes.small()?, bytes.small()?, bytes.count()?);
    let mut last = 0_u16;
    let next = |_| {
        let bucket = u64::from(last).saturating_add(bytes.whole()?);
        last = u16::try_from(bucket)
            .ok()
            .filter(|&bucket| bucket < WALL_BUCKETS)
            .ok_or("a bucket of wall times is out of range")?;
        Ok((last, bytes.small()?))
    };
    let counts = (0..length).map(next).collect::<Result<_, Why>>()?;
    Ok(WallRow { second: at.second, host: at.host, version, route, counts })
}

fn put_second(out: &mut Vec<u8>, row: &HostSecond) {
    put(out, u64::from(row.cpus));
    let readings = [row.busy, row.steal, row.pressure, row.running];
    let known = readings.iter().enumerate().filter(|(_, reading)| reading.is_some());
    out.push(known.fold(0, |mask, (place, _)| mask | 1 << place));
    readings.iter().flatten().for_each(|&reading| put_double(out, reading));
}

fn host_second(bytes: &mut Bytes<'_>, at: At<'_>) -> Result<HostSecond, Why> {
    let (cpus, mask) = (bytes.small()?, bytes.byte()?);
    let mut next = |place: u8| if mask >> place & 1 == 1 { bytes.double().map(Some) } else { Ok(None) };
    let (busy, steal, pressure, running) = (next(0)?, next(1)?, next(2)?, next(3)?);
    Ok(HostSecond { second: at.second, host: at.host, cpus, busy, steal, pressure, running })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use steady_model::{LevelSums, RequestSums};

    use super::*;

    /// Adds sums in levels: arbitrary values, or those of one request.
    fn some_levels(sums: RequestSums) -> impl Strategy<Value = RequestSums> {
        let value = || prop_oneof![Just(0.0), (-900_000_i32..900_000).prop_map(f64::from), any::<f64>()];
        let any_levels = (any::<(u64, u64)>(), prop::array::uniform14(value()))
            .prop_map(|((requests, exceeding), values)| LevelSums::from_values(requests, exceeding, values));
        let one_request = (value(), value(), value()).prop_map(move |(excess, recent, ruler)| {
            let base = sums.cpu - excess;
            let values = [
                base,
                base * base,
                excess,
                excess * excess,
                base * excess,
                recent,
                recent * recent,
                recent * base,
                recent * excess,
                ruler,
                ruler * ruler,
                ruler * base,
                ruler * excess,
                recent * ruler,
            ];
            LevelSums::from_values(sums.requests, 0, values)
        });
        let levels = prop_oneof![Just(LevelSums::default()), any_levels, one_request];
        levels.prop_map(move |levels| RequestSums { levels, ..sums })
    }

    fn some_sums() -> impl Strategy<Value = RequestSums> {
        let count = prop_oneof![Just(0_u64), Just(1), 0..1_000_u64];
        let value = || prop_oneof![Just(0.0), (0_u32..9).prop_map(f64::from), any::<f64>()];
        (prop::collection::vec(count, 5), prop::collection::vec(value(), 14))
            .prop_map(|(counts, values)| RequestSums {
                requests: counts[0],
                first_requests: counts[1],
                failed: counts[2],
                cpu: values[0],
                cpu_squared: values[1],
                log: values[2],
                log_squared: values[3],
                with_before: counts[3],
                before: values[4],
                before_squared: values[5],
                before_log: values[6],
                log_with_before: values[7],
                wall: values[8],
                wall_log: values[9],
                wall_log_squared: values[10],
                watched: counts[4],
                watched_cpu: values[11],
                watched_wall: values[12],
                watched_delay: values[13],
                ..RequestSums::default()
            })
            .prop_flat_map(some_levels)
    }

    fn some_row() -> impl Strategy<Value = ReleaseRow> {
        let numbers = (any::<u32>(), any::<u32>(), prop_oneof![Just(0), any::<u32>()]);
        (any::<u64>(), numbers, 0..4_usize, any::<u32>(), any::<bool>(), some_sums()).prop_map(
            |(process, (version, route, class), way, slot_seconds, second_of_pair, sums)| ReleaseRow {
                second: 7,
                host: 3,
                process,
                version,
                route,
                class,
                assignment: Assignment::ALL[way],
                span_seconds: slot_seconds.max(1),
                slot_seconds,
                second_of_pair,
                sums,
            },
        )
    }

    fn some_block() -> impl Strategy<Value = Block> {
        let ruler = (0..3_u64, any::<Option<u32>>(), 0..4_usize, any::<(u64, f64, f64)>()).prop_map(
            |(process, version, kind, (readings, log, log_squared))| RulerRow {
                second: 7,
                host: 3,
                process,
                version,
                ruler: RequestRuler::ALL[kind],
                sums: RulerSums { readings, log, log_squared },
            },
        );
        let wall = (any::<(u32, u32)>(), prop::collection::btree_map(0..WALL_BUCKETS, any::<u32>(), 0..9)).prop_map(
            |((version, route), counts)| WallRow {
                second: 7,
                host: 3,
                version,
                route,
                counts: counts.into_iter().collect(),
            },
        );
        let process = (0..3_u64, any::<Option<u32>>(), any::<u32>(), any::<(u32, f64)>()).prop_map(
            |(process, version, slot_seconds, (cpu, requests_cpu))| ProcessRow {
                second: 7,
                slot_seconds,
                host: 3,
                process,
                version,
                cpu: f64::from(cpu),
                requests_cpu,
            },
        );
        let reading = any::<Option<f64>>;
        let second = (any::<u32>(), reading(), reading(), reading(), reading()).prop_map(
            |(cpus, busy, steal, pressure, running)| HostSecond {
                second: 7,
                host: 3,
                cpus,
                busy,
                steal,
                pressure,
                running,
            },
        );
        let of = |most| 0..most;
        (
            any::<(u64, u64)>(),
            prop::collection::vec(some_row(), of(9)),
            prop::collection::vec(ruler, of(9)),
            prop::collection::vec(wall, of(9)),
            prop::collection::vec(second, of(3)),
            prop::collection::vec(process, of(9)),
        )
            .prop_map(|((folded, lost), requests, rulers, walls, seconds, processes)| Block {
                folded,
                lost,
                requests,
                rulers,
                walls,
                seconds,
                processes,
            })
    }

    /// The sums of requests with these CPU times in nanoseconds. CPU time above 3 ms is excess; covariates are whole
    /// nanoseconds.
    fn sums_of(costs: &[f64]) -> RequestSums {
        let mut sums = RequestSums::default();
        for (place, &cpu) in costs.iter().enumerate() {
            let (recent, ruler) = (100_000.0 - 70_000.0 * place as f64, -30_000.0 + 1_000.0 * place as f64);
            let base = cpu.min(3_000_000.0);
            let excess = cpu - base;
            sums += RequestSums {
                requests: 1,
                cpu,
                cpu_squared: cpu * cpu,
                levels: LevelSums::from_values(
                    1,
                    u64::from(excess > 0.0),
                    [
                        base,
                        base * base,
                        excess,
                        excess * excess,
                        base * excess,
                        recent,
                        recent * recent,
                        recent * base,
                        recent * excess,
                        ruler,
                        ruler * ruler,
                        ruler * base,
                        ruler * excess,
                        recent * ruler,
                    ],
                ),
                ..RequestSums::default()
            };
        }
        sums
    }

    #[test]
    fn expected_sums_need_no_space() {
        let length = |sums: &RequestSums| {
            let mut out = Vec::new();
            super::super::sums::put_levels(&mut out, sums);
            assert_eq!(super::super::sums::levels(&mut Bytes(&out), sums), Ok(sums.levels));
            out.len()
        };
        assert_eq!(length(&RequestSums { first_requests: 3, ..RequestSums::default() }), 1);
        assert_eq!(length(&RequestSums { requests: 7, ..RequestSums::default() }), 4, "no sums in levels are known");
        let covariates = 3 + 3;
        assert_eq!(length(&sums_of(&[1_234_567.0])), 1 + covariates, "one request");
        assert_eq!(length(&sums_of(&[9_234_567.0])), 3 + 1 + 4 + covariates, "one request above the bound");
        let several = length(&sums_of(&[1_234_567.0, 1_134_567.0, 1_334_567.0]));
        assert!(several <= 42, "{several}");
    }

    proptest! {
        #[test]
        fn blocks_are_restored(block in some_block()) {
            let back = Block::unpack(&block.pack(), 7, 3).unwrap();
            // NaN is not equal to itself, but its text is.
            prop_assert_eq!(format!("{back:?}"), format!("{block:?}"));
        }

        #[test]
        fn damaged_blocks_are_refused_or_read(block in some_block(), at in any::<prop::sample::Index>(), by in 1..u8::MAX) {
            let mut bytes = block.pack();
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            let _ = Block::unpack(&bytes, 7, 3);
            bytes.truncate(at);
            prop_assert!(Block::unpack(&bytes, 7, 3).is_err());
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(mut bytes in any::<Vec<u8>>(), format in 0..4_u8) {
            bytes.insert(0, format);
            let _ = Block::unpack(&bytes, 0, 0);
        }
    }
}
