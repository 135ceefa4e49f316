//! Facts and warnings of comparisons on simulated machines.

use steady_compare::judge;
use steady_model::{Absent, Metric, Nanos, Reading, Record, Report, Warning};
use steady_process::simulated::Conditions;

use crate::common::{plan, report};

/// The run delay of multi-threaded commands is not measured.
#[test]
fn the_run_delay_names_its_commands_if_it_is_not_known_for_all() {
    let mut plan = plan(3, 1.0, 8);
    plan.metric = Some(Metric::Wall);
    let mut report = report(&plan, &[0.010; 3], Conditions { queueing: 1.0, ..Conditions::QUIET });
    let words = |report: &Report| {
        let text = steady_render::markdown::text(&steady_compare::document(report)).replace('\u{a0}', " ");
        let count = |what: &str| text.matches(what).count();
        [count("50 % of the runs' wall time"), count("50 % of the wall time of 'command 0' and 'command 2'")]
    };
    assert_eq!(words(&report), [2, 0], "the fact and the warning");
    for run in report.record.blocks.iter_mut().flat_map(|block| &mut block.runs).filter(|run| run.command == 1) {
        run.run_delay = Err(Absent::because("it is not known for commands with several threads"));
    }
    let report = judge(report.record);
    assert_eq!(words(&report), [0, 2]);
}

#[test]
fn a_shim_of_a_version_manager_gives_one_warning() {
    let shims = |programs: [&str; 2]| {
        let mut plan = plan(2, 1.0, 8);
        for (command, program) in plan.commands.iter_mut().zip(programs) {
            command.program = program.into();
        }
        let report = report(&plan, &[0.001, 0.001], Conditions::QUIET);
        let shim = |warning: &Warning| match warning {
            Warning::Shim { command } => Some(*command),
            _ => None,
        };
        report.warnings.iter().filter_map(shim).collect::<Vec<_>>()
    };
    let (python, ruby) = ("/root/.pyenv/shims/python3", "/home/me/.rbenv/shims/ruby");
    assert_eq!(shims([python, python]), [0]);
    assert_eq!(shims([ruby, python]), [0, 1]);
    assert_eq!(shims(["/usr/bin/python3", python]), [1]);
    assert!(shims(["/usr/bin/python3", "/opt/shims-1.0/bin/python3"]).is_empty());
}

#[test]
fn a_script_that_a_shim_runs_has_the_warning_too() {
    let mut plan = plan(3, 1.0, 8);
    let scripts =
        [("/bin/a", "/root/.pyenv/shims/python3"), ("/bin/b", "/bin/sh"), ("/bin/c", "/root/.pyenv/shims/python3")];
    for (command, (program, interpreter)) in plan.commands.iter_mut().zip(scripts) {
        (command.program, command.interpreter) = (program.into(), Some(interpreter.into()));
    }
    let report = report(&plan, &[0.001; 3], Conditions::QUIET);
    let is_shim = |warning: &&Warning| matches!(warning, Warning::Shim { .. });
    assert_eq!(report.warnings.iter().filter(is_shim).collect::<Vec<_>>(), [&Warning::Shim { command: 0 }]);
    let text = steady_render::markdown::text(&steady_compare::document(&report));
    assert!(text.contains("'/root/.pyenv/shims/python3', which runs '/bin/a', is a script"), "{text}");
}

#[test]
fn many_short_processes_have_no_user_and_system_time() {
    let record = report(&plan(2, 10.0, 8), &[0.15, 0.15], Conditions::QUIET).record;
    let user = |tick: Reading<Nanos>, tasks_started: Option<u64>, alone: bool| {
        let mut record = Record { tick, looks: vec![], ..record.clone() };
        for run in record.blocks.iter_mut().flat_map(|block| &mut block.runs) {
            run.tasks_started = tasks_started;
            if !alone {
                run.run_delay = Err(Absent::because("several processes"));
            }
        }
        let breakdown = judge(record).breakdowns.remove(0);
        assert_eq!(breakdown.user.is_ok(), breakdown.system.is_ok());
        breakdown.user.map_err(|absent| absent.0)
    };
    let tick = || Ok(Nanos(4_000_000));
    assert!(user(tick(), Some(2), false).is_ok() && user(tick(), Some(122), true).is_ok());
    assert!(user(Err(Absent::because("exact")), Some(122), false).is_ok());
    assert!(
        user(tick(), Some(122), false)
            .unwrap_err()
            .starts_with("up to 122 processes and threads, some perhaps of other programs")
    );
    assert!(user(tick(), None, false).unwrap_err().contains("were not counted"));
}

#[test]
fn unused_revisions_give_a_warning_if_there_were_runs() {
    let warned = |unused_revisions: bool, has_runs: bool| {
        let record = report(&plan(2, 1.0, 8), &[0.001, 0.001], Conditions::QUIET).record;
        let blocks = if has_runs { record.blocks.clone() } else { vec![] };
        judge(Record { unused_revisions, blocks, looks: vec![], ..record }).warnings.contains(&Warning::UnusedRevisions)
    };
    assert!(warned(true, true));
    assert!(!warned(false, true) && !warned(true, false));
}

#[test]
fn parts_that_a_shell_would_have_expanded_give_a_warning() {
    let parts = |name: &str, argv: &[&str]| {
        let mut plan = plan(2, 1.0, 8);
        plan.commands[1].name = name.to_owned();
        plan.commands[1].argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let warnings = report(&plan, &[0.001, 0.001], Conditions::QUIET).warnings;
        warnings.into_iter().find_map(|warning| match warning {
            Warning::Unexpanded { command, parts } => Some((command, parts.join(" "))),
            _ => None,
        })
    };
    assert_eq!(parts("ls *.c $HOME", &["ls", "*.c", "$HOME"]), Some((1, "* $HOME".to_owned())));
    assert_eq!(parts("ls '*.c'", &["ls", "*.c"]), None);
    assert_eq!(parts("ls *.c", &["sh", "-c", "ls *.c"]), None);
}

/// With n ticks in all runs, a part that none of them hit is up to 3 / n of the CPU time, with a confidence of 95 %.
#[test]
fn a_part_that_no_tick_hit_has_an_upper_limit() {
    let mut record = report(&plan(2, 2.0, 13), &[0.010, 0.020], Conditions::QUIET).record;
    record.tick = Ok(Nanos(4_000_000));
    let breakdown = judge(record.clone()).breakdowns.remove(0);
    let (system, ticks) = (breakdown.system.unwrap(), breakdown.runs as f64 * breakdown.cpu.mean / 0.004);
    assert_eq!((system.mean, system.interval.low), (0.0, 0.0));
    assert!((system.interval.high / (3.0 / ticks * breakdown.cpu.mean) - 1.0).abs() < 0.01, "{system:?}");
    let (user, cpu) = (breakdown.user.unwrap(), breakdown.cpu);
    assert!(user.interval.high <= cpu.interval.high + 1e-12, "{user:?} {cpu:?}");
    assert!((cpu.mean - user.interval.low) / system.interval.high > 0.99, "{user:?} {cpu:?}");
    record.tick = Err(Absent::because("the split is exact"));
    assert_eq!(judge(record).breakdowns.remove(0).system.unwrap().interval.high, 0.0);
}
