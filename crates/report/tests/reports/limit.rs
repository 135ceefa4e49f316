//! Limited commands in every form, against files in `testdata/reports`; and the way back from JSON.

use proptest::prelude::*;
use steady_model::*;
use steady_report::{Style, limit_csv, limit_html, limit_json_text, limit_markdown, limit_text, read_limit_report};

use crate::goldens;
use crate::made::{builder, seconds};

/// A solver that used all of its CPU time while something else used the machine.
fn cpu() -> LimitReport {
    let argv = ["./solve", "--depth=12", "in put.txt"].map(str::to_owned).to_vec();
    let command = Command {
        name: "./solve --depth=12 'in put.txt'".to_owned(),
        argv,
        program: "./solve".into(),
        ..Command::default()
    };
    LimitReport {
        plan: LimitPlan { command, cpu: seconds(5.0), wall_factor: 4.0, poll: None, kill_after: seconds(1.0) },
        started: Timestamp(1_795_171_242),
        host: builder(),
        revision: Ok("0123456789ab".into()),
        outcome: LimitOutcome::CpuLimit,
        ended: Outcome::Signalled(15),
        cpu: Nanos(5_001_312_000),
        wall: seconds(31.274),
        waiting: Ok(seconds(26.118)),
        stopped: Nanos::ZERO,
        overshoot: Ok(Nanos(1_312_000)),
        steal_ratio: Ok(0.012),
        source: CpuSource::CgroupV2,
        passed_over: vec![],
        left_behind: 0,
    }
}

fn ok() -> LimitReport {
    LimitReport {
        outcome: LimitOutcome::Ok,
        ended: Outcome::Exited(3),
        cpu: seconds(0.412),
        wall: seconds(12.7),
        waiting: Ok(seconds(0.003)),
        stopped: seconds(12.2),
        overshoot: Err(Absent::because("the limit was not reached")),
        left_behind: 2,
        ..cpu()
    }
}

fn wall() -> LimitReport {
    let why = "a control group of its own cannot be made: permission denied";
    LimitReport {
        plan: LimitPlan { poll: Some(seconds(1.0)), ..cpu().plan },
        outcome: LimitOutcome::WallLimit,
        ended: Outcome::Signalled(9),
        cpu: seconds(0.001_9),
        wall: seconds(21.004),
        waiting: Err(Absent::because("the kernel keeps no scheduling statistics (CONFIG_SCHED_INFO)")),
        overshoot: Err(Absent::because("the limit was not reached")),
        steal_ratio: Err(Absent::because("the hypervisor has told of no stolen time since boot")),
        revision: Err(Absent::because("not a git repository")),
        source: CpuSource::Proc,
        passed_over: vec![
            format!("{}: {why}", CpuSource::CgroupV2.name()),
            format!("{}: perf_event_paranoid is 4", CpuSource::TaskClock.name()),
        ],
        ..cpu()
    }
}

fn all() -> [(&'static str, LimitReport); 3] {
    [("limit-cpu", cpu()), ("limit-ok", ok()), ("limit-wall", wall())]
}

#[test]
fn reports_look_as_recorded() {
    let files = all().into_iter().flat_map(|(name, report)| {
        [
            (format!("{name}.80.txt"), limit_text(&report, Style { width: 80, color: false })),
            (format!("{name}.json"), limit_json_text(&report)),
            (format!("{name}.csv"), limit_csv(&report)),
            (format!("{name}.md"), limit_markdown(&report)),
            (format!("{name}.html"), limit_html(&report)),
        ]
    });
    goldens::hold(files);
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in all() {
        goldens::lines_fit(name, |width| limit_text(&report, Style { width, color: false }));
    }
}

#[test]
fn names_stay_text() {
    let mut report = cpu();
    report.plan.command.name = "echo '<script>' | \u{1b}[31m".to_owned();
    assert!(!limit_html(&report).contains("<script>"));
    assert!(!limit_text(&report, Style::default()).contains('\u{1b}'));
    assert!(!limit_markdown(&report).contains('\u{1b}'));
}

#[test]
fn json_comes_back_as_it_was() {
    for (name, report) in all() {
        assert_eq!(read_limit_report(&limit_json_text(&report)), Ok(report), "{name}");
    }
}

#[test]
fn what_is_broken_is_refused_with_its_place() {
    let text = limit_json_text(&cpu());
    let broken = |from: &str, to: &str| read_limit_report(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(broken("steady.limit/1", "steady.compare/1").contains("a limited command"));
    assert!(broken("steady.limit/1", "steady.limit/2").contains("newer"));
    assert!(broken("\"cpu_seconds\": 5", "\"cpu_seconds\": -5").contains("cpu_seconds"));
    assert!(broken("cpu-limit", "other").contains("outcome"));
    assert!(broken("\"wall_factor\": 4.0", "\"wall_factor\": 0").contains("wall_factor"));
    assert!(broken("\"waiting_seconds\": 26.118", "\"waiting_seconds\": null").contains("waiting_seconds"));
    assert!(read_limit_report("{").is_err() && read_limit_report("[]").is_err());
}

proptest! {
    #[test]
    fn any_time_comes_back(cpu_time in 0u64..1 << 52, wall in 0u64..1 << 52, waiting in 0u64..1 << 52, factor in 1.0f64..1e6) {
        let mut report = cpu();
        report.plan.wall_factor = factor;
        (report.cpu, report.wall, report.waiting) = (Nanos(cpu_time), Nanos(wall), Ok(Nanos(waiting)));
        prop_assert_eq!(read_limit_report(&limit_json_text(&report)), Ok(report));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*", cut in 0usize..2000) {
        let _ = read_limit_report(&text);
        let whole = limit_json_text(&wall());
        let _ = read_limit_report(whole.get(..cut).unwrap_or(&whole));
    }
}
