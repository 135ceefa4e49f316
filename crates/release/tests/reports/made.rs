//! Made-up reports of releases, one for each form of report.

use steady_model::*;
use steady_release::*;

fn absent<T>(reason: &str) -> Reading<T> {
    Err(Absent::because(reason))
}

/// First second of the windows: 2026-11-21T09:05:00Z.
const BEGUN: u64 = 1_795_251_900;
/// Length of the windows, in seconds.
const LONG: u64 = 300;

pub(crate) fn all() -> Vec<(&'static str, ReleaseReport)> {
    let all = [
        ("release-random", random()),
        ("release-switchback", switchback()),
        ("release-canary", canary()),
        ("release-refused", refused()),
        ("release-undecided", undecided()),
        ("release-outside", outside()),
        ("release-followed", followed()),
        ("release-nothing", nothing()),
        ("release-fleet", fleet()),
        ("release-hosts", hosts_of_one_version()),
        ("release-mixture", mixture()),
        ("release-unexplained", unexplained()),
        ("release-single", single()),
        ("release-hostile", hostile()),
    ];
    // The reason why no other design is recommended depends on the total.
    let with_reason = |report: ReleaseReport| {
        let settle = report.settle.clone().map_err(|_| report.total.no_advice());
        ReleaseReport { settle, ..report }
    };
    all.map(|(name, report)| (name, with_reason(report))).into()
}

fn question() -> ReleaseQuestion {
    ReleaseQuestion {
        service: "shop".to_owned(),
        old: "v1".to_owned(),
        new: "v2".to_owned(),
        asked: Some(Timestamp(BEGUN + LONG + 90)),
        from: BEGUN,
        to: BEGUN + LONG,
        by_route: true,
        confidence: 0.95,
        resolution: 0.01,
        fail_if: None,
        require_verdict: false,
    }
}

fn side(version: &str, requests: u64, cpu_micros: u64, wall_micros: u64) -> ReleaseSide {
    ReleaseSide {
        version: version.to_owned(),
        requests,
        failed: requests / 3_000,
        first_requests: 1_200,
        processes: Ok(8),
        hosts: 2,
        seconds: LONG,
        cpu_mean: Ok(Nanos::from_micros(cpu_micros)),
        wall_mean: Ok(Nanos::from_micros(wall_micros)),
    }
}

fn change(requests: [u64; 2], change: f64, low: f64, high: f64, raw: f64) -> ReleaseChange {
    let verdict = match (low, high) {
        (low, _) if low > 0.0 => Verdict::Slower,
        (_, high) if high < 0.0 => Verdict::Faster,
        (low, high) if low > -0.01 && high < 0.01 => Verdict::Same,
        _ => Verdict::Undecided,
    };
    ReleaseChange {
        requests,
        change: Ok(change),
        low: Ok(low),
        high: Ok(high),
        verdict,
        within_resolution: low > -0.01 && high < 0.01,
        raw_change: Ok(raw),
        load_shift: Ok((1.0 + raw) / (1.0 + change) - 1.0),
        settle_seconds: Err(ReleaseChange::not_settled(verdict, false)),
    }
}

fn route(name: &str, share: f64, change: ReleaseChange, medians: [u64; 2]) -> ReleaseRoute {
    let [old_wall_median, new_wall_median] = medians.map(|median| Ok(Nanos::from_micros(median)));
    let usual = ChangeEstimate::new(change.change.clone(), change.interval());
    ReleaseRoute { route: name.to_owned(), cpu_ratio: share, change, usual, old_wall_median, new_wall_median }
}

fn estimate(change: f64, low: f64, high: f64) -> ChangeEstimate {
    ChangeEstimate { change: Ok(change), low: Ok(low), high: Ok(high) }
}

/// Wall time with two modes: usual requests and a slow tail. NEW takes `faster` times as long as OLD.
fn wall(faster: f64) -> ReleaseWall {
    let end = |bucket: u16| 1_000.0 * ((f64::from(bucket) + 1.0) / 4.0).exp2();
    let share = |time: f64, scale: f64| {
        let hump = |middle: f64, width: f64| (-((time / scale / middle).ln() / width).powi(2)).exp();
        hump(9.0e6, 0.5) + 0.12 * hump(60.0e6, 0.4)
    };
    let bars: Vec<(f64, [f64; 2])> =
        (40..80).map(|bucket| (end(bucket), [share(end(bucket), 1.0), share(end(bucket), faster)])).collect();
    let whole = [0, 1].map(|side| bars.iter().map(|(_, shares)| shares[side]).sum::<f64>());
    let rounded = |share: f64| (share * 1e6).round() / 1e6;
    let distribution = bars
        .into_iter()
        .map(|(end, shares)| WallBin {
            below: Nanos(end as u64),
            shares: [0, 1].map(|side| rounded(shares[side] / whole[side])),
        })
        .collect();
    let both = |micros: u64| [Nanos::from_micros(micros), Nanos::from_micros((micros as f64 * faster) as u64)];
    let interval = |half: f64| Ok(Interval { low: faster - 1.0 - half, high: faster - 1.0 + half });
    let few = Err(Absent::because("fewer than 200 requests of each version are above this quantile"));
    ReleaseWall {
        quantiles: vec![
            WallQuantile::new(0.5, both(9_100), interval(0.011)),
            WallQuantile::new(0.9, both(41_000), interval(0.03)),
            WallQuantile::new(0.99, both(96_000), few),
        ],
        covered: Some(WallTimes { from: BEGUN, to: BEGUN + LONG }),
        median_change: Ok(faster - 1.0),
        low: Ok(faster - 1.011),
        high: Ok(faster - 0.989),
        watched: [3_802, 3_744],
        parts: Ok(WallParts { cpu: both(2_310), waiting: both(1_700), blocked: both(6_200) }),
        distribution,
    }
}

fn without_intervals(wall: ReleaseWall, why: &str) -> ReleaseWall {
    let quantile = |one: &WallQuantile| WallQuantile::new(one.ratio, one.times, absent(why));
    ReleaseWall { quantiles: wall.quantiles.iter().map(quantile).collect(), ..wall }.with_median_interval(absent(why))
}

/// The window in steps of 5 s, under a load that rises in its second half. `served` returns which versions run at a
/// second.
fn course(new: f64, served: fn(u64) -> [bool; 2]) -> ReleaseCourse {
    let moment = |step: u64| {
        let at = step * 5;
        let load = 1.0 + if at >= LONG / 2 { 0.35 } else { 0.04 } + 0.03 * ((at as f64) / 17.0).sin();
        let on = served(at);
        let time = |side: usize, load: f64, noise: f64| {
            let own = if side == 1 { new } else { 1.0 };
            on[side].then_some(Nanos((2.3e6 * own * load * (1.0 + noise)) as u64))
        };
        let noise = |side: usize| 0.01 * ((at + 31 * side as u64) as f64 * 1.7).sin();
        let requests = on.map(|on| if on { 230 + at % 40 } else { 0 });
        let raw = [0, 1].map(|side| time(side, load, noise(side)));
        let together = on == [true, true];
        let adjusted = [0, 1].map(|side| time(side, 1.0, 0.5 * noise(side)).filter(|_| together));
        let busy = (step != 7).then_some((0.3 * load * load).min(1.0));
        let rulers = Some((load / 1.2 * 1000.0).round() / 1000.0);
        ReleaseMoment::new(BEGUN + at, requests, raw, adjusted).with_load(busy, rulers)
    };
    ReleaseCourse { step_seconds: 5, moments: (0..LONG / 5).map(moment).collect() }
}

fn saving(used: f64, saved: f64, off: f64) -> Reading<ReleaseSaving> {
    let interval = Interval { low: saved - off, high: saved + off };
    Ok(ReleaseSaving { cpus_used: used, cpus_saved: saved, interval })
}

/// A coin for each request; NEW is less expensive.
pub(crate) fn random() -> ReleaseReport {
    ReleaseReport {
        question: question(),
        design: ReleaseDesign::RandomPerRequest,
        rests_on: RestsOn::Coins,
        from_outside: false,
        has_classes: false,
        refused: vec![],
        settle: absent("there is a verdict"),
        sides: [side("v1", 15_210, 2_310, 10_210), side("v2", 15_043, 2_141, 9_904)],
        traffic_seconds: Ok(LONG as f64),
        total: change([15_210, 15_043], -0.0748, -0.0779, -0.0716, -0.0732),
        usual: estimate(-0.0731, -0.0752, -0.071),
        tails: vec![],
        routes: vec![
            route("/item/<id>", 0.61, change([9_100, 9_020], -0.1203, -0.1258, -0.1147, -0.1199), [9_200, 8_700]),
            route("/search", 0.31, change([3_010, 2_950], 0.0012, -0.0081, 0.0106, 0.0034), [31_000, 31_100]),
            route("/cart", 0.08, change([3_100, 3_073], 0.021, -0.013, 0.056, 0.019), [6_000, 6_050]),
        ],
        hosts: vec![],
        wall: Ok(wall(0.97)),
        saving: saving(24.1, 1.8, 0.08),
        unexplained: Ok(UnexplainedCpu::new(0.031, None)),
        course: course(0.925, |_| [true, true]),
        looks: vec![],
        warnings: vec![],
    }
}

/// A tenth of the requests costs 16 times as much and became more expensive; the others became cheaper.
fn mixture() -> ReleaseReport {
    let tail = |route: &str, class: &str, share: f64| ReleaseTail {
        route: route.to_owned(),
        class: class.to_owned(),
        cpu_ratio: share,
        above_ratio: [0.1013, 0.0994],
        above_cpu_ratio: 0.64,
        above: estimate(0.281, 0.205, 0.362),
        below: estimate(-0.0402, -0.0436, -0.0368),
    };
    let tails = vec![
        tail("/page", "", 0.71),
        ReleaseTail { above_ratio: [0.0021, 0.013], ..tail("/page", "large", 0.11) },
        ReleaseTail {
            above: ChangeEstimate::new(absent("too few requests"), absent("too few requests")),
            ..tail("/a", "", 0.1)
        },
        tail("/b", "", 0.08),
    ];
    ReleaseReport {
        total: change([15_210, 15_043], 0.166, 0.112, 0.222, 0.171),
        usual: estimate(-0.029, -0.034, -0.024),
        tails,
        routes: vec![],
        wall: Ok(wall(1.02)),
        saving: saving(24.1, -3.6, 1.1),
        course: course(1.166, |_| [true, true]),
        has_classes: true,
        warnings: vec![
            ReleaseWarning::NotAdjusted { requests: 1_204 },
            ReleaseWarning::UnequalRoutes {
                routes: 5,
                named: vec!["/search".into(), "/item/<id>".into(), "/item/<int:id>".into()],
                cpu_ratio: 0.183,
            },
        ],
        ..random()
    }
}

/// A thread pool uses CPU time that no request measures, so the verdict is undecided.
fn unexplained() -> ReleaseReport {
    ReleaseReport {
        total: change([15_210, 15_043], 0.0088, -0.621, 1.66, 0.0093),
        usual: estimate(0.0085, 0.0066, 0.0104),
        routes: vec![],
        wall: Ok(wall(1.04)),
        saving: saving(24.1, -0.21, 0.06),
        unexplained: Ok(UnexplainedCpu::new(0.451, None)),
        warnings: vec![ReleaseWarning::UnexplainedCpu {
            ratio: 0.451,
            interval: Interval { low: 0.0061, high: 0.0115 },
        }],
        ..random()
    }
}

/// Switchback; NEW is more expensive, and the --fail-if condition is met.
fn switchback() -> ReleaseReport {
    ReleaseReport {
        question: ReleaseQuestion { fail_if: "slower>2%".parse().ok(), by_route: false, ..question() },
        design: ReleaseDesign::Switchback,
        rests_on: RestsOn::WorkerRulers,
        sides: [side("v1", 15_210, 2_310, 10_210), side("v2", 15_043, 2_470, 10_640)],
        total: ReleaseChange {
            load_shift: absent("the change compares the CPU time of processes, but raw compares requests alone"),
            ..change([15_210, 15_043], 0.0512, 0.0331, 0.0695, 0.0693)
        },
        routes: vec![],
        hosts: vec![],
        wall: Ok(ReleaseWall {
            watched: [0, 0],
            parts: absent("the service did not report how long requests waited for a CPU"),
            ..wall(1.04)
        }),
        saving: saving(3.07, -0.077, 0.026),
        course: course(1.05, |_| [true, true]),
        usual: estimate(0.0498, 0.0401, 0.0596),
        unexplained: Ok(UnexplainedCpu::new(0.412, Some([0.39, 0.43]))),
        warnings: vec![
            ReleaseWarning::RowsRemoved { before: 1_700_000_123 },
            ReleaseWarning::Gaps { seconds: 12 },
            ReleaseWarning::ProcessCpuCounted { ratio: 0.412 },
        ],
        ..random()
    }
}

/// A canary without a difference, and with most of the warnings.
fn canary() -> ReleaseReport {
    ReleaseReport {
        design: ReleaseDesign::Canary,
        rests_on: RestsOn::SameTime,
        total: change([15_210, 15_043], 0.0008, -0.0061, 0.0077, 0.0023),
        usual: estimate(0.0005, -0.0059, 0.0069),
        routes: vec![],
        hosts: vec![],
        wall: Ok(wall(1.0)),
        saving: saving(24.1, -0.019, 0.165),
        course: course(1.001, |_| [true, true]),
        warnings: vec![
            ReleaseWarning::FewProcesses { processes: [1, 3] },
            ReleaseWarning::UnequalFailures { shares: [0.0003, 0.021] },
            ReleaseWarning::RoutesOfOneVersion { routes: 2, cpu_ratio: 0.0034 },
            ReleaseWarning::Lost { lost: 1_204, folded: 3 },
            ReleaseWarning::OtherAssignments { requests: 1 },
            ReleaseWarning::HostsOfOneVersion { hosts: 3, requests: 12_040 },
            ReleaseWarning::RulersDisagree(LoadAlarm { by_worker_rulers: -0.012, by_agent_rulers: 0.034 }),
        ],
        ..random()
    }
}

/// One after the other, refused because the load changed together with the version.
fn refused() -> ReleaseReport {
    let why = "the comparison is refused";
    ReleaseReport {
        design: ReleaseDesign::OneAfterTheOther,
        rests_on: RestsOn::WorkerRulers,
        refused: vec![
            Refusal::LoadsDoNotOverlap { variance_inflation: 4.72 },
            Refusal::UtilisationDiffers { deviations: 2.3 },
            Refusal::TooFewRows { version: Some("v1".to_owned()), rows: 46, needed: 60 },
            Refusal::TooFewClusters { version: Some("v1".to_owned()), clusters: 3, needed: 6 },
        ],
        settle: Ok(Settling { design: ReleaseDesign::RandomPerRequest, seconds: 135.0 }),
        sides: [side("v1", 15_210, 2_310, 10_210), side("v2", 15_043, 2_990, 15_600)],
        total: ReleaseChange {
            change: absent(why),
            low: absent(why),
            high: absent(why),
            verdict: Verdict::Undecided,
            load_shift: absent(why),
            settle_seconds: Err(ReleaseChange::not_settled(Verdict::Undecided, true)),
            ..change([15_210, 15_043], 0.0, 0.0, 0.0, 0.294)
        },
        usual: ChangeEstimate::new(absent(why), absent(why)),
        routes: vec![],
        hosts: vec![],
        wall: Ok(ReleaseWall { median_change: absent(why), ..without_intervals(wall(1.29), why) }),
        saving: absent(why),
        course: course(1.0, |at| [at < LONG / 2, at >= LONG / 2]),
        ..random()
    }
}

/// One after the other, undecided.
fn undecided() -> ReleaseReport {
    ReleaseReport {
        design: ReleaseDesign::OneAfterTheOther,
        warnings: vec![ReleaseWarning::ForkedProcesses { allowance: 0.03 / 2.0_f64.sqrt() }],
        rests_on: RestsOn::AgentRulers,
        total: change([15_210, 15_043], -0.012, -0.047, 0.024, 0.11),
        usual: estimate(-0.011, -0.045, 0.025),
        settle: Ok(Settling { design: ReleaseDesign::RandomPerRequest, seconds: 210.0 }),
        routes: vec![],
        hosts: vec![],
        wall: Ok(without_intervals(wall(0.98), "wall time cannot be adjusted for load")),
        saving: saving(0.31, 0.0037, 0.011),
        course: course(0.99, |at| [at % 60 < 30, at % 60 >= 30]),
        ..random()
    }
}

const OUTSIDE_MEAN: &str = "a counter of the service counted the requests, so only their mean cost is known";

/// Requests counted by the service: no processes, no wall time, and only the agent's rulers.
fn outside() -> ReleaseReport {
    let why = "a counter of the service counted the requests, which does not measure wall time";
    ReleaseReport {
        question: ReleaseQuestion { by_route: false, ..question() },
        rests_on: RestsOn::AgentRulers,
        from_outside: true,
        design: ReleaseDesign::OneAfterTheOther,
        sides: [side("v1", 15_210, 2_310, 0), side("v2", 15_043, 1_010, 0)].map(|side| ReleaseSide {
            wall_mean: absent(why),
            processes: Ok(1),
            hosts: 1,
            first_requests: 0,
            failed: 0,
            ..side
        }),
        total: change([15_210, 15_043], -0.562, -0.581, -0.542, -0.563),
        usual: ChangeEstimate::new(absent(OUTSIDE_MEAN), absent(OUTSIDE_MEAN)),
        unexplained: absent("the service did not report the CPU time of its processes"),
        routes: vec![],
        hosts: vec![],
        wall: absent(why),
        saving: saving(24.1, 13.5, 0.5),
        course: course(0.44, |at| [at < LONG / 2, at >= LONG / 2]),
        ..random()
    }
}

/// Followed live until there was a verdict.
fn followed() -> ReleaseReport {
    let look = |index: u64| {
        let half = 0.08 / (index as f64).sqrt();
        let known = index > 1;
        let change = known.then_some(-0.021 + 0.004 * (index as f64).sin());
        let interval = known.then_some(Interval { low: -0.021 - half, high: -0.021 + half });
        ReleaseSight::new(BEGUN + 10 * index, [510 * index, 498 * index], change, interval)
    };
    ReleaseReport {
        question: ReleaseQuestion { to: BEGUN + 170, fail_if: "slower>1%".parse().ok(), ..question() },
        total: change([8_670, 8_466], -0.0211, -0.0405, -0.0016, -0.0211),
        usual: estimate(-0.0198, -0.031, -0.0085),
        looks: (1..=17).map(look).collect(),
        wall: Ok(ReleaseWall { covered: Some(WallTimes { from: BEGUN, to: BEGUN + 170 }), ..wall(0.97) }),
        ..random()
    }
}

/// A window without requests.
fn nothing() -> ReleaseReport {
    let why = "NEW served no request past the warm-up of its processes";
    let none = |version: &str| ReleaseSide {
        requests: 0,
        failed: 0,
        processes: Ok(1),
        hosts: 1,
        seconds: 1,
        cpu_mean: absent("no requests"),
        wall_mean: absent("no requests"),
        ..side(version, 0, 0, 0)
    };
    ReleaseReport {
        sides: [none("v1"), none("v2")],
        traffic_seconds: Ok(1.0),
        total: ReleaseChange {
            change: absent(why),
            low: absent(why),
            high: absent(why),
            raw_change: absent(why),
            load_shift: absent(why),
            verdict: Verdict::Undecided,
            ..change([0, 0], 0.0, 0.0, 0.0, 0.0)
        },
        usual: ChangeEstimate::new(absent(why), absent(why)),
        unexplained: absent(why),
        routes: vec![],
        hosts: vec![],
        wall: absent(why),
        saving: absent(why),
        course: ReleaseCourse { step_seconds: 5, moments: vec![] },
        ..random()
    }
}

/// Forty hosts with a coin for each request. One is an outlier, and another served only one version.
fn fleet() -> ReleaseReport {
    let host = |number: u32, name: String| {
        let at = f64::from(number);
        let outlying = number == 7;
        let middle = if outlying { 0.091 } else { 0.0165 + 0.0045 * (at * 2.4).sin() };
        let own = change([380, 370], middle, middle - 0.009, middle + 0.009, middle + 0.004 * (at * 1.3).cos());
        ReleaseHost { host: name, cpu_ratio: 0.025, change: own, outlying }
    };
    let numbers = [7, 2, 31, 36].into_iter().chain((0..40).filter(|number| ![2, 5, 7, 31, 36].contains(number)));
    let mut hosts: Vec<ReleaseHost> = numbers.map(|number| host(number, format!("web-{number}"))).collect();
    let why = "fewer than 20 requests of one version";
    let alone = ReleaseChange {
        change: absent(why),
        low: absent(why),
        high: absent(why),
        load_shift: absent(why),
        raw_change: absent("one version did not serve it"),
        verdict: Verdict::Undecided,
        ..change([0, 410], 0.0, 0.0, 0.0, 0.0)
    };
    hosts.push(ReleaseHost { host: "web-5".to_owned(), cpu_ratio: 0.025, change: alone, outlying: false });
    ReleaseReport {
        sides: [side("v1", 15_210, 2_310, 10_210), side("v2", 15_043, 2_360, 10_300)].map(|side| ReleaseSide {
            processes: absent("rows are sums over all processes of a host"),
            hosts: 40,
            ..side
        }),
        total: change([15_210, 15_043], 0.0171, 0.0138, 0.0204, 0.0216),
        usual: estimate(0.0166, 0.0142, 0.019),
        routes: vec![],
        hosts,
        wall: absent("the distribution of wall times is not stored for both versions"),
        saving: saving(24.1, -0.203, 0.04),
        course: course(1.017, |_| [true, true]),
        warnings: vec![
            ReleaseWarning::HostsDiffer { deviation: 0.0047, covered: true },
            ReleaseWarning::MissingScrapes { intervals: 12, of: 800, hosts: 3 },
            ReleaseWarning::ShortVersions { seconds: [124, 300] },
            ReleaseWarning::Interrupted,
            ReleaseWarning::ShortWindow {
                requested_seconds: 360,
                seconds: 240,
                block_seconds: 60,
                before_seconds: Some(60),
            },
        ],
        ..random()
    }
}

/// Hosts with one version each, and few of them.
fn hosts_of_one_version() -> ReleaseReport {
    let why = "it served only one version";
    let host = |name: &str, side: usize| {
        let requests = if side == 0 { [5_070, 0] } else { [0, 7_521] };
        let none = ReleaseChange {
            change: absent(why),
            low: absent(why),
            high: absent(why),
            load_shift: absent(why),
            raw_change: absent("one version did not serve it"),
            verdict: Verdict::Undecided,
            ..change(requests, 0.0, 0.0, 0.0, 0.0)
        };
        ReleaseHost { host: name.to_owned(), cpu_ratio: 0.2, change: none, outlying: false }
    };
    ReleaseReport {
        total: ReleaseChange {
            settle_seconds: Ok(17.5 * 60.0),
            ..change([15_210, 15_043], 0.021, -0.061, 0.11, 0.034)
        },
        usual: estimate(0.019, -0.058, 0.1),
        routes: vec![],
        hosts: vec![host("web-1", 0), host("web-2", 0), host("web-3", 0), host("web-4", 1), host("web-5", 1)],
        saving: saving(24.1, -0.25, 0.99),
        warnings: vec![
            ReleaseWarning::FewProcesses { processes: [3, 2] },
            ReleaseWarning::HostsDiffer { deviation: 0.012, covered: false },
        ],
        ..canary()
    }
}

/// A canary with one process per version, whose interval includes what such processes differ by.
fn single() -> ReleaseReport {
    let report = canary();
    let side = |side: ReleaseSide| ReleaseSide { processes: Ok(1), hosts: 1, ..side };
    ReleaseReport {
        total: change([15_210, 15_043], 0.014, -0.0235, 0.0528, 0.0163),
        usual: estimate(0.012, -0.024, 0.0497),
        saving: saving(24.1, -0.6, 0.3),
        sides: report.sides.clone().map(side),
        warnings: vec![ReleaseWarning::OneProcessASide { allowance: Some(0.03) }],
        ..report
    }
}

/// A name with characters that have a meaning in HTML, Markdown, CSV or terminals.
pub(crate) const HOSTILE: &str =
    "x</title><script>alert(1)</script>\" onload='y' | `z` &amp; \n,\"\u{202e}<!-- ]]> *b*";

/// A report with hostile names of the service, versions, routes and hosts.
fn hostile() -> ReleaseReport {
    let (report, long) = (random(), "/日本語/".repeat(40));
    let mut routes = report.routes.clone();
    routes[0].route = HOSTILE.to_owned();
    routes[1].route = long;
    routes[2].old_wall_median = absent(HOSTILE);
    routes[2].new_wall_median = absent(HOSTILE);
    let hosts = ["x", HOSTILE].map(|name| ReleaseHost {
        host: name.to_owned(),
        cpu_ratio: 0.5,
        change: report.total.clone(),
        outlying: name == HOSTILE,
    });
    let [old, new] = report.sides.clone();
    ReleaseReport {
        question: ReleaseQuestion {
            service: HOSTILE.to_owned(),
            old: HOSTILE.to_owned(),
            new: "v\t2\u{1b}[31m".to_owned(),
            ..question()
        },
        sides: [
            ReleaseSide { version: HOSTILE.to_owned(), ..old },
            ReleaseSide { version: "v\t2\u{1b}[31m".to_owned(), wall_mean: absent(HOSTILE), ..new },
        ],
        routes,
        hosts: hosts.into(),
        wall: Ok(ReleaseWall { parts: absent(HOSTILE), ..wall(0.9) }),
        saving: absent(HOSTILE),
        ..report
    }
}
