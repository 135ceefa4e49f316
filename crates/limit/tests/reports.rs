//! Reports of limited commands in all formats, compared with files in `testdata/reports`; and reading JSON back.

use proptest::prelude::*;
use steady_feature::attended::AttendedCommand;
use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_limit::*;
use steady_model::*;
use steady_render::json::description;
use steady_testing::goldens::{self, shown, text};
use steady_testing::made::{builder, seconds};

/// A solver that used all of its CPU time while other programs used the machine.
fn cpu() -> LimitRecord {
    LimitRecord {
        started: Timestamp(1_795_171_242),
        command: AttendedCommand {
            name: "./solve --depth=12 'in put.txt'".to_owned(),
            argv: ["./solve", "--depth=12", "in put.txt"].map(str::to_owned).to_vec(),
            program: "./solve".into(),
        },
        host: builder(),
        revision: Ok("0123456789ab".into()),
        cpu_limit_seconds: seconds(5.0),
        wall_factor: 4.0,
        wall_limit_seconds: seconds(20.0),
        poll_seconds: Err(Absent::because("CPU time was read as often as precision requires")),
        kill_after_seconds: seconds(1.0),
        outcome: LimitOutcome::CpuLimit,
        ended: Outcome::Signalled(15),
        killed: false,
        cpu_seconds: Nanos(5_001_312_000),
        wall_seconds: seconds(31.274),
        waiting_seconds: Ok(seconds(26.118)),
        stopped_seconds: Nanos::ZERO,
        overshoot_seconds: Ok(Nanos(1_312_000)),
        steal_ratio: Ok(0.012),
        source: CpuSource::CgroupV2,
        passed_over: vec![],
        left_behind: 0,
    }
}

fn ok() -> LimitRecord {
    LimitRecord {
        outcome: LimitOutcome::Ok,
        ended: Outcome::Exited(3),
        cpu_seconds: seconds(0.412),
        wall_seconds: seconds(12.7),
        waiting_seconds: Ok(seconds(0.003)),
        stopped_seconds: seconds(12.2),
        overshoot_seconds: Err(Absent::because("the limit was not reached")),
        left_behind: 2,
        ..cpu()
    }
}

fn wall() -> LimitRecord {
    let why = "cannot create a control group for the command: permission denied";
    LimitRecord {
        poll_seconds: Ok(seconds(1.0)),
        outcome: LimitOutcome::WallLimit,
        ended: Outcome::Signalled(9),
        killed: true,
        cpu_seconds: seconds(0.001_9),
        wall_seconds: seconds(21.004),
        waiting_seconds: Err(Absent::because("the kernel keeps no scheduling statistics (CONFIG_SCHED_INFO)")),
        overshoot_seconds: Err(Absent::because("the limit was not reached")),
        steal_ratio: Err(Absent::because("the hypervisor has reported no stolen time since boot")),
        revision: Err(Absent::because("not a git repository")),
        source: CpuSource::Proc,
        passed_over: vec![
            format!("{}: {why}", CpuSource::CgroupV2.name()),
            format!("{}: perf_event_paranoid is 4", CpuSource::TaskClock.name()),
        ],
        ..cpu()
    }
}

fn all() -> [(&'static str, LimitRecord); 3] {
    [("limit-cpu", cpu()), ("limit-ok", ok()), ("limit-wall", wall())]
}

#[test]
fn reports_match_golden_files() {
    let files = all().into_iter().flat_map(|(name, record)| {
        let text = (format!("{name}.80.txt"), text(&record, 80));
        std::iter::once(text).chain(goldens::exports(name, &record, false))
    });
    goldens::check(files);
}

/// A command that failed within its limits is not `ok`.
#[test]
fn the_summary_says_how_the_command_ended() {
    let summary = |outcome, ended| LimitRecord { outcome, ended, ..ok() }.facts().verdict;
    assert_eq!(summary(LimitOutcome::Ok, Outcome::Exited(0)), "ok, 412 ms");
    assert_eq!(summary(LimitOutcome::Ok, Outcome::Exited(7)), "exit 7, 412 ms");
    assert_eq!(summary(LimitOutcome::Ok, Outcome::Signalled(9)), "signal 9, 412 ms");
    assert_eq!(summary(LimitOutcome::CpuLimit, Outcome::Signalled(15)), "cpu-limit, 412 ms");
    assert_eq!(summary(LimitOutcome::WallLimit, Outcome::Signalled(9)), "wall-limit, 412 ms");
}

#[test]
fn schema_matches_golden_file() {
    goldens::check_schema(&SCHEMA, description::<LimitRecord>(&SCHEMA));
}

#[test]
fn lines_fit_every_width() {
    for (name, record) in all() {
        goldens::lines_fit(name, |width| text(&record, width));
    }
}

#[test]
fn names_are_escaped() {
    let mut record = cpu();
    record.command.name = "echo '<script>' | \u{1b}[31m".to_owned();
    assert!(!shown(&record, Form::Html).contains("<script>"));
    assert!(!text(&record, 80).contains('\u{1b}'));
    assert!(!shown(&record, Form::Markdown).contains('\u{1b}'));
}

#[test]
fn json_round_trips() {
    for (name, record) in all() {
        assert_eq!(LimitRecord::read(&record.json(false)), Ok(record), "{name}");
    }
}

#[test]
fn invalid_json_is_rejected_with_its_field() {
    let text = cpu().json(false);
    let broken = |from: &str, to: &str| LimitRecord::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(broken("steady.limit/1", "steady.compare/1").contains("a limited command"));
    assert!(broken("steady.limit/1", "steady.limit/2").contains("newer"));
    assert!(broken("\"cpu_seconds\": 5", "\"cpu_seconds\": -5").contains("cpu_seconds"));
    assert!(broken("cpu-limit", "other").contains("outcome"));
    assert!(broken("\"wall_factor\": 4.0", "\"wall_factor\": 0").contains("wall_factor"));
    assert!(broken("\"waiting_seconds\": 26.118", "\"waiting_seconds\": null").contains("waiting_seconds"));
    assert!(LimitRecord::read("{").is_err() && LimitRecord::read("[]").is_err());
}

proptest! {
    #[test]
    fn any_time_round_trips(
        cpu_time in 0u64..1 << 52,
        wall in 0u64..1 << 52,
        waiting in 0u64..1 << 52,
        factor in 1.0f64..1e6,
    ) {
        let mut record = cpu();
        record.wall_factor = factor;
        (record.cpu_seconds, record.wall_seconds) = (Nanos(cpu_time), Nanos(wall));
        record.waiting_seconds = Ok(Nanos(waiting));
        prop_assert_eq!(LimitRecord::read(&record.json(false)), Ok(record));
    }

    #[test]
    fn no_text_makes_read_panic(text in "\\PC*", cut in 0usize..2000) {
        let _ = LimitRecord::read(&text);
        let whole = wall().json(false);
        let _ = LimitRecord::read(whole.get(..cut).unwrap_or(&whole));
    }
}
