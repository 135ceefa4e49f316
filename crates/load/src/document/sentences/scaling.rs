//! Up to how many processes each has a core to itself, by the points and by what the system says of its CPUs; and the Universal
//! Scalability Law.

use steady_model::{Machine, Reading};
use steady_render::letters::{capital, count};
use steady_render::units::{self, TIE, decimals_of, fixed, percent, short};
use steady_stats::{CountRange, Fitted, ScalabilityLaw, Scaling};

use super::at;
use crate::LoadRecord;

/// From this inflation on processes slow each other as threads of one core may.
const SLOWED: f64 = 1.1;
/// What the law may leave unexplained and still describe the points.
const DESCRIBED: f64 = 0.03;

/// What the points say, what the system says, and whether they agree.
pub(super) fn knees(record: &LoadRecord, scaling: &Scaling) -> Vec<String> {
    let machine = &record.machine;
    let mut said = vec![
        by_points("a core", &scaling.cores),
        by_points("a logical CPU", &scaling.logical_cpus),
        by_system(machine),
    ];
    said.extend(agreement(machine, scaling));
    said.extend(quota(machine));
    said.push(second_thread(record, scaling));
    said
}

fn by_points(what: &str, range: &Reading<CountRange>) -> String {
    match range {
        Ok(range) if range.low == range.high => {
            format!("By the points alone, each process has {what} to itself up to {}.", at(range.low))
        }
        Ok(range) => format!(
            "By the points alone, each process has {what} to itself up to some N from {} to {}.",
            range.low, range.high
        ),
        Err(absent) => format!("Up to which N each process has {what} to itself, the points do not tell: {absent}."),
    }
}

/// What the system says of the CPUs that may be used.
fn by_system(machine: &Machine) -> String {
    let logical = count(machine.allowed.len(), "logical CPU", "logical CPUs");
    let cores = match (machine.core_count(), machine.threads_per_core()) {
        (Ok(cores), Ok(1)) => format!(" on {}, one thread each", count(cores, "core", "cores")),
        (Ok(cores), Ok(threads)) => format!(" on {}, up to {threads} threads each", count(cores, "core", "cores")),
        (Err(absent), _) | (_, Err(absent)) => format!("; on which cores is absent: {absent}"),
    };
    let beside = machine.online.len().saturating_sub(machine.allowed.len());
    let kept_from = if beside > 0 { format!(" ({beside} more are online but not to be used)") } else { String::new() };
    let packages = match &machine.packages {
        Ok(packages) if *packages > 1 => format!(", in {packages} packages"),
        _ => String::new(),
    };
    let kinds: Vec<String> =
        machine.kinds.iter().map(|(kind, cpus)| format!("{} of kind \u{201c}{kind}\u{201d}", cpus.len())).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!("; {}", kinds.join(", ")) };
    format!("The system says: {logical}{cores}{packages}{kept_from}{kinds}.")
}

/// Whether points and system agree on cores. A virtual machine's CPUs may be threads of one core without saying so.
fn agreement(machine: &Machine, scaling: &Scaling) -> Option<String> {
    let cores = u32::try_from(machine.core_count().ok()?).ok()?;
    let threads = machine.threads_per_core().ok()?;
    let found = scaling.cores.as_ref().ok()?;
    if machine.usable_cpus() < machine.allowed.len() as f64 {
        // What the quota held back the points cannot tell from CPUs that are not there.
        return None;
    }
    if !machine.kinds.is_empty() {
        let mixed = "The points were read as if all cores were alike, which they are not here: where they fall, it may be that \
                     the fast cores were taken.";
        return Some(mixed.to_owned());
    }
    let agree = (found.low..=found.high).contains(&cores);
    Some(match (agree, threads) {
        (true, _) if found.low == found.high => "Points and system agree on the cores.".to_owned(),
        (true, 1) if found.low < cores && scaling.full_load_inflation > SLOWED => format!(
            "The points leave that: {cores} of {} to {} cores. Were two of these CPUs threads of one core, which a virtual \
             machine may hide, the points would look alike.",
            found.low, found.high
        ),
        (true, _) => format!("The points agree with that: {cores} is among the {} to {} that they leave.", found.low, found.high),
        (false, 1) if found.high < cores => "The points say fewer cores than the system: CPUs that are shown as cores may be \
             threads of one, which a virtual machine may hide, or share something else."
            .to_owned(),
        (false, _) if found.high < cores => {
            "The points say fewer cores than the system: something slowed the processes before they shared cores.".to_owned()
        }
        (false, _) => {
            "The points say more cores than the system: a second thread on a core is nearly as good as a core for this work."
                .to_owned()
        }
    })
}

/// A control group's limit that is less than the CPUs.
fn quota(machine: &Machine) -> Option<String> {
    let quota = machine.quota.as_ref().ok()?.as_ref()?.cpus();
    let allowed = machine.allowed.len() as f64;
    let from = (quota.floor() + 1.0).max(1.0);
    (quota < allowed).then(|| {
        format!(
            "The control group's quota is worth {}: from {} on the processes share that, however many CPUs there are.",
            count_of(quota),
            at(from as u32)
        )
    })
}

fn count_of(cpus: f64) -> String {
    format!("{}{TIE}{}", short(cpus), if cpus == 1.0 { "CPU" } else { "CPUs" })
}

/// What a second thread on a core adds.
fn second_thread(record: &LoadRecord, scaling: &Scaling) -> String {
    let alone = at(record.points().first().map_or(1, |point| point.procs));
    match &scaling.second_thread_gain {
        Ok(gain) => {
            let (verb, size) = if gain.value < 0.0 { ("takes", -gain.value) } else { ("adds", gain.value) };
            let from = if gain.value < 0.0 { "from" } else { "to" };
            format!(
                "A second thread on a core {verb} {}{TIE}% {from} what a core gets done at {alone}; the points leave {}, for a \
                 core may be slower when all are busy.",
                fixed(size * 100.0, 0),
                percents(gain)
            )
        }
        Err(absent) => capital(&format!("what a second thread on a core adds is absent: {absent}.")),
    }
}

/// An interval in percent: `18 to 27 %`.
fn percents(fitted: &Fitted) -> String {
    let whole = |value: f64| fixed(value * 100.0, 0);
    format!("{} to {}{TIE}%", whole(fitted.interval.low), whole(fitted.interval.high))
}

/// The Universal Scalability Law, and whether it describes the points at all.
pub(super) fn law(record: &LoadRecord, scaling: &Scaling) -> Vec<String> {
    let law = match &scaling.law {
        Ok(law) => law,
        Err(absent) => return vec![format!("Universal Scalability Law: absent, for {absent}.")],
    };
    let unit = record.unit;
    let figures = format!(
        "Universal Scalability Law, by least squares: lambda {} {unit} per second for one process, sigma {} \
         (contention), kappa {} (coherency); 95{TIE}% intervals in brackets.",
        rate(&law.lambda),
        ratio(&law.sigma),
        ratio(&law.kappa),
    );
    let left = percent(law.residual_ratio);
    let described = if law.residual_ratio <= DESCRIBED {
        format!("It leaves {left} of throughput unexplained.")
    } else {
        format!(
            "It leaves {left} of throughput unexplained: these points have corners, or scatter, and the law has neither."
        )
    };
    vec![figures, peak(law), described]
}

fn peak(law: &ScalabilityLaw) -> String {
    match &law.peak {
        Ok(peak) => format!("By the law most gets done at N{TIE}={TIE}{} ({}).", fixed(peak.value, 0), whole(peak)),
        Err(absent) => format!("By the law there is no number of processes at which most gets done: {absent}."),
    }
}

fn whole(peak: &Fitted) -> String {
    let (low, high) = (peak.interval.low, peak.interval.high);
    let low = fixed(low, 0);
    if high.is_finite() { format!("{low} to {}", fixed(high, 0)) } else { format!("{low} or more") }
}

fn rate(fitted: &Fitted) -> String {
    let shown = |value: f64| if value.is_finite() { units::count(value) } else { "any number".to_owned() };
    format!("{} ({} to {})", shown(fitted.value), shown(fitted.interval.low), shown(fitted.interval.high))
}

fn ratio(fitted: &Fitted) -> String {
    // Kappa may be of the order of 1e-5: it has digits of its own.
    let shown = |value: f64| match value {
        _ if !value.is_finite() => "any size".to_owned(),
        0.0 => "0".to_owned(),
        small if small < 1e-3 => format!("{small:.1e}"),
        _ => fixed(value, decimals_of(value, 2)),
    };
    format!("{} ({} to {})", shown(fitted.value), shown(fitted.interval.low), shown(fitted.interval.high))
}
