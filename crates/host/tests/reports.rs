//! Reports on hosts in every format, compared with golden files in `testdata/reports`. `STEADY_BLESS=1 cargo test`
//! rewrites the golden files.

use serde_json::Value;
use steady_feature::Report;
use steady_feature::flags::Form;
use steady_host::*;
use steady_model::*;
use steady_render::json::description;
use steady_testing::goldens::{self, shown, text};
use steady_testing::made::{HOSTILE, absent};

fn knob(knob: Knob, value: &str, quiet: &str, settable: Reading<()>, files: usize) -> KnobState {
    let is_quiet = value == quiet;
    let files = (0..files).map(|number| format!("/sys/{}/{number}", knob.name())).collect();
    let needs_root = !is_quiet && settable == absent("only root may set it");
    let (value, quiet_value) = (Ok(value.to_owned()), Ok(quiet.to_owned()));
    KnobState { knob, value, quiet_value, is_quiet, settable, needs_root, files }
}

fn missing(knob: Knob, why: &str) -> KnobState {
    let settable = absent(why);
    let files = vec![];
    KnobState {
        knob,
        value: absent(why),
        quiet_value: absent(why),
        is_quiet: false,
        settable,
        needs_root: false,
        files,
    }
}

fn knobs(settable: &Reading<()>) -> Vec<KnobRecord> {
    let may = || settable.clone();
    let turned_off = KnobState {
        quiet_value: absent("the kernel was started with SMT switched off for good (forceoff)"),
        is_quiet: true,
        settable: absent("the kernel was started with SMT switched off for good (forceoff)"),
        ..knob(Knob::Smt, "forceoff", "off", Ok(()), 1)
    };
    let states = [
        knob(Knob::Turbo, "0", "1", may(), 1),
        knob(Knob::Governor, "powersave, schedutil", "performance", may(), 16),
        missing(Knob::Epp, "the driver intel_cpufreq has no energy performance preference"),
        knob(Knob::MinFrequency, "400000", "4800000", may(), 16),
        turned_off,
        knob(Knob::Aslr, "2", "0", may(), 1),
        knob(Knob::NmiWatchdog, "0", "0", may(), 1),
        knob(Knob::PerfSampleRate, "100000", "1", absent("/proc is mounted read-only here, as containers have it"), 1),
        knob(Knob::IrqAffinity, "0-7, 4, 7, 2 more", "0,3", may(), 57),
        knob(Knob::Thp, "madvise", "never", may(), 2),
        missing(Knob::Swap, "no swap is in use"),
        knob(Knob::Caches, "kept", "dropped", may(), 1),
    ];
    states.map(KnobRecord::from).to_vec()
}

fn conditions(busy_ratio: f64) -> Vec<ConditionState> {
    let busy =
        format!("other processes use {:.0} % of the CPU time; load average over a minute 17.30", busy_ratio * 100.0);
    let state =
        |name, value: Reading<&str>, disturbs| ConditionState { name, value: value.map(str::to_owned), disturbs };
    vec![
        state(Condition::Power, Ok("battery"), true),
        state(Condition::Throttling, Ok("17 times since boot, on the core with the most"), true),
        state(Condition::IsolatedCpus, Ok("none"), false),
        state(Condition::BusyCpus, Ok(&busy), busy_ratio > 0.1),
        state(Condition::Steal, absent("the hypervisor has reported no stolen time since boot"), false),
        state(
            Condition::Wakers,
            Ok("cron (starts programs), irqbalance (moves interrupts), timers apt-daily, fstrim"),
            true,
        ),
        state(Condition::CpuQuota, Ok("1.50 CPUs"), true),
        state(Condition::Hypervisor, Ok("none"), false),
    ]
}

fn report(kind: HostQuestion) -> HostRecord {
    HostRecord {
        kind,
        started: Timestamp(1_795_171_242),
        host: Host {
            hostname: Ok("box".to_owned()),
            kernel: Ok("Linux 6.12.0".to_owned()),
            cpu_model: Ok("11th Gen Intel(R) Core(TM) i7-1185G7".to_owned()),
            cpus_allowed: 16,
            cpus_online: 16,
            cpu_quota: Ok(None),
            memory: Ok(Bytes(16 << 30)),
            hypervisor: Ok(None),
        },
        is_root: true,
        complete: true,
        as_root: "sudo steady host quiet".to_owned(),
        knobs: knobs(&Ok(())),
        conditions: Vec::new(),
        busy_ratio: absent("only steady host status measures it"),
        spreads: absent("only steady host status reads rulers"),
        effects: absent("only steady host status --effects measures them"),
        wants_effects: false,
        set: Vec::new(),
        left: Vec::new(),
        restored: Vec::new(),
        run: None,
        journal: Ok(None),
        notes: Vec::new(),
    }
}

fn journal(running: usize, stays: bool) -> Reading<Option<JournalFacts>> {
    let knobs = vec![Knob::Turbo, Knob::Governor, Knob::Smt];
    Ok(Some(JournalFacts {
        file: "/var/lib/steady/host.json".to_owned(),
        since: Timestamp(1_795_170_000),
        knobs,
        running,
        stays,
    }))
}

fn attempt(name: Knob, file: &str, from: &str, to: &str, outcome: AttemptOutcome) -> Attempt {
    Attempt { name, file: file.to_owned(), from: from.to_owned(), to: to.to_owned(), outcome }
}

fn set() -> Vec<Attempt> {
    let policy = |number| format!("/sys/devices/system/cpu/cpufreq/policy{number}/scaling_governor");
    let interrupt = |number| format!("/proc/irq/{number}/smp_affinity_list");
    let refused = || AttemptOutcome::Refused("Input/output error (os error 5)".to_owned());
    vec![
        attempt(Knob::Governor, &policy(0), "powersave\n", "performance", AttemptOutcome::Set),
        attempt(Knob::Governor, &policy(1), "schedutil\n", "performance", AttemptOutcome::Set),
        attempt(
            Knob::Thp,
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
            "never",
            AttemptOutcome::Set,
        ),
        attempt(Knob::IrqAffinity, &interrupt(9), "0-7\n", "0,3", AttemptOutcome::Set),
        attempt(Knob::IrqAffinity, &interrupt(16), "4\n", "0,3", refused()),
        attempt(Knob::IrqAffinity, &interrupt(17), "4\n", "0,3", refused()),
        attempt(Knob::Caches, "/proc/sys/vm/drop_caches", "kept", "3", AttemptOutcome::Set),
    ]
}

fn restored(all: bool) -> Vec<Attempt> {
    let mut attempts = vec![
        attempt(
            Knob::Thp,
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "never",
            "always [madvise] never\n",
            AttemptOutcome::Restored,
        ),
        attempt(Knob::Swap, "/proc/sys/vm/swappiness", "60\n", "60\n", AttemptOutcome::WasBack),
    ];
    if !all {
        let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
        let gone = AttemptOutcome::Gone(
            "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor has no value now".to_owned(),
        );
        attempts.push(attempt(
            Knob::Governor,
            governor,
            "ondemand",
            "powersave\n",
            AttemptOutcome::Foreign("ondemand".to_owned()),
        ));
        attempts.push(attempt(
            Knob::Governor,
            "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
            "",
            "powersave\n",
            gone,
        ));
        attempts.push(attempt(Knob::Turbo, "/sys/x", "0", "1", AttemptOutcome::Forced("0".to_owned())));
    }
    attempts
}

fn spread(resource: Resource, spread_ratio: f64) -> RulerSpread {
    RulerSpread { ruler: resource, readings: 154, spread_ratio, range_ratio: 8.0 * spread_ratio }
}

fn effect(name: Knob, metric: Metric, verdict: Verdict, noise: [f64; 2], interval: [f64; 2]) -> KnobEffect {
    KnobEffect {
        name,
        metric,
        verdict,
        usual_noise_ratio: Ok(noise[0]),
        quiet_noise_ratio: Ok(noise[1]),
        change: Ok(noise[1] / noise[0] - 1.0),
        low: Ok(interval[0]),
        high: Ok(interval[1]),
    }
}

fn effects() -> NoiseEffects {
    let unknown = KnobEffect {
        change: absent("5 rounds are too few"),
        low: absent("5 rounds are too few"),
        high: absent("5 rounds are too few"),
        ..effect(Knob::Caches, Metric::Wall, Verdict::Undecided, [0.04, 0.041], [0.0, 0.0])
    };
    NoiseEffects {
        seed: Seed(7),
        command: "steady --version".to_owned(),
        rounds: 24,
        runs: 40,
        knobs: vec![
            effect(Knob::Turbo, Metric::Cpu, Verdict::Faster, [0.021, 0.0083], [-0.68, -0.51]),
            effect(Knob::Turbo, Metric::Wall, Verdict::Slower, [0.03, 0.051], [0.4, 1.05]),
            effect(Knob::Aslr, Metric::Cpu, Verdict::Same, [0.02, 0.0203], [-0.04, 0.07]),
            unknown,
        ],
    }
}

fn all() -> Vec<(&'static str, HostRecord)> {
    let spreads =
        Ok(vec![spread(Resource::Alu, 0.0061), spread(Resource::Memory, 0.1234), spread(Resource::SystemCall, 0.02)]);
    let user = Err(Absent::because("only root may set it"));
    let barred =
        [Knob::Turbo, Knob::Thp].map(|name| LeftKnob { name, reason: "only root may set it".to_owned() }).to_vec();
    let run = QuietRun {
        command: "./bench.sh --long".to_owned(),
        ended: Outcome::Exited(7),
        wall_seconds: Nanos(12_345_000_000),
        fixed_addresses: Ok(true),
        left_behind: 2,
    };
    let hostile = QuietRun {
        command: HOSTILE.to_owned(),
        ended: Outcome::Signalled(15),
        fixed_addresses: absent(HOSTILE),
        left_behind: 0,
        ..run.clone()
    };
    let all = [
        (
            "host-status",
            HostRecord {
                conditions: conditions(0.96),
                busy_ratio: Ok(0.96),
                spreads,
                effects: Ok(effects()),
                wants_effects: true,
                ..report(HostQuestion::Status)
            },
        ),
        (
            "host-status-user",
            HostRecord {
                knobs: knobs(&user),
                is_root: false,
                conditions: conditions(0.021),
                busy_ratio: Ok(0.021),
                journal: journal(1, false),
                spreads: absent("--no-rulers was given"),
                effects: absent("only root may set knobs"),
                wants_effects: true,
                ..report(HostQuestion::Status)
            },
        ),
        ("host-quiet", HostRecord { set: set(), journal: journal(0, true), ..report(HostQuestion::Quiet) }),
        (
            "host-quiet-user",
            HostRecord {
                knobs: knobs(&user),
                left: barred,
                is_root: false,
                as_root: "sudo steady host quiet --only turbo,thp".to_owned(),
                ..report(HostQuestion::Quiet)
            },
        ),
        (
            "host-quiet-run",
            HostRecord { set: set(), restored: restored(true), run: Some(run), ..report(HostQuestion::Quiet) },
        ),
        (
            "host-quiet-hostile",
            HostRecord {
                set: vec![attempt(
                    Knob::Governor,
                    HOSTILE,
                    HOSTILE,
                    HOSTILE,
                    AttemptOutcome::Refused(HOSTILE.to_owned()),
                )],
                restored: restored(false),
                run: Some(hostile),
                left: vec![LeftKnob { name: Knob::Smt, reason: HOSTILE.to_owned() }],
                journal: absent(HOSTILE),
                notes: vec![HOSTILE.to_owned()],
                ..report(HostQuestion::Quiet)
            },
        ),
        ("host-restore", HostRecord { restored: restored(true), ..report(HostQuestion::Restore) }),
        (
            "host-restore-part",
            HostRecord {
                restored: restored(false),
                journal: journal(0, false),
                notes: vec!["a command that needs this host to be quiet is still running".to_owned()],
                ..report(HostQuestion::Restore)
            },
        ),
        ("host-restore-none", report(HostQuestion::Restore)),
    ];
    all.map(|(name, record)| (name, record.completed())).to_vec()
}

#[test]
fn the_schema_matches_the_golden_file() {
    goldens::check_schema(&SCHEMA, description::<HostRecord>(&SCHEMA));
}

#[test]
fn reports_match_the_golden_files() {
    goldens::check(all().into_iter().flat_map(|(name, report)| goldens::of_report(name, &report, false)));
}

#[test]
fn lines_fit_every_width() {
    for (name, report) in all().into_iter().filter(|(name, _)| *name != "host-quiet-hostile") {
        let paths = text(&report, 132).contains(" /");
        if !paths {
            goldens::lines_fit(name, |width| text(&report, width));
            continue;
        }
        goldens::lines_fit_but_paths(name, &[60, 72, 80, 100, 132], |width| text(&report, width));
    }
}

#[test]
fn hostile_names_do_not_break_reports() {
    for (name, report) in all() {
        assert!(!shown(&report, Form::Html).contains("<script>"), "{name}");
        let text = text(&report, 80);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}");
        assert!(!shown(&report, Form::Markdown).contains("<script>"), "{name}");
    }
}

#[test]
fn every_null_in_json_has_a_reason() {
    for (name, report) in all() {
        let json: Value = serde_json::from_str(&report.json(false)).unwrap();
        assert_eq!(
            (&json["schema"], &json["kind"]),
            (&"steady.host/1".into(), &name.split('-').nth(1).into()),
            "{name}"
        );
        let knobs = json["knobs"].as_array().unwrap();
        assert_eq!(knobs.len(), Knob::ALL.len());
        for knob in knobs {
            for field in ["value", "quiet_value"] {
                assert_eq!(knob[field].is_null(), knob[format!("{field}_absent")].is_string(), "{name}: {field}");
            }
            assert_eq!(knob["settable"] == true, knob["reason"].is_null(), "{name}: {knob}");
            assert!(knob["worth"].is_string() && knob["source"].is_string());
        }
        assert_eq!(json["spreads"].is_null(), json["spreads_absent"].is_string());
    }
}

#[test]
fn a_busy_host_and_missing_rights_are_in_the_first_sentences() {
    let start = |name: &str| {
        let (_, report) = all().into_iter().find(|(of, _)| *of == name).unwrap();
        text(&report, 132).split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let busy = start("host-status");
    assert!(
        busy.starts_with("This host is busy: other processes use 96 % of its CPU time. This host can be"),
        "{busy}"
    );
    assert!(busy.ends_with("; perf-sample-rate cannot be set on this host."), "{busy}");
    let user = start("host-status-user");
    let expected = "Other processes use 2.1 % of the CPU time. Only root can make this host quieter: turbo, governor";
    assert!(user.starts_with(expected), "{user}");
    assert_eq!(start("host-quiet-user"), "Nothing was set, because only root may set turbo and thp.");
}

#[test]
fn fixed_addresses_alone_are_something_that_was_set() {
    let (_, mut record) = all().into_iter().find(|(name, _)| *name == "host-quiet-run").unwrap();
    (record.set, record.restored) = (vec![], vec![]);
    assert!(text(&record, 80).contains("Addresses were fixed for the command."));
    record.run.as_mut().unwrap().fixed_addresses = Ok(false);
    assert!(text(&record, 80).contains("There was nothing to set."));
}

#[test]
fn a_report_is_complete_if_everything_was_done() {
    let complete: Vec<&str> = all().iter().filter(|(_, report)| report.complete).map(|(name, _)| *name).collect();
    assert_eq!(
        complete,
        ["host-status", "host-status-user", "host-quiet", "host-quiet-run", "host-restore", "host-restore-none"]
    );
}
