//! Sentences about scaling: up to how many processes each has its own core, by the measurements and by the system's
//! report; and the Universal Scalability Law.

use steady_model::{Absent, Machine, Reading};
use steady_render::letters::count;
use steady_render::units::{self, TIE, decimals_of, fixed, percent};
use steady_stats::{CountRange, Fitted, ScalabilityLaw, Scaling};

use super::{Cpus, Scope, at, count_of};

/// From this inflation of CPU time on, processes slow each other down as threads of one core may.
const SLOWED: f64 = 1.1;
/// Fewest numbers of processes to which the law is fitted.
const FITTED: usize = 6;
/// Maximum share of throughput that the law may leave unexplained if it describes the points.
const DESCRIBED: f64 = 0.03;

/// Compares the number of cores by the measurements with the one that the system reports.
pub(super) fn limits(scope: &Scope<'_>, scaling: &Scaling) -> Vec<String> {
    let mut sentences = no_limits(scaling).map_or_else(
        || {
            let (cores, logical) = (&scaling.cores, &scaling.logical_cpus);
            vec![by_points("its own core", cores), by_points("its own logical CPU", logical)]
        },
        |reason| vec![reason],
    );
    sentences.extend(reported(scope));
    sentences.extend(match scope.cpus {
        Cpus::Reported(machine) => agreement(scope, machine, scaling),
        Cpus::Stated { cores, .. } => agreement_with_table(cores, scaling),
    });
    // The reason why cores are not known is not repeated.
    if scaling.second_thread_gain.as_ref().err().is_none_or(|why| Err(why) != scaling.cores.as_ref()) {
        sentences.push(second_thread(scope, scaling));
    }
    sentences
}

/// Says why the measurements show neither the number of cores nor that of CPUs, if both have one reason.
pub(super) fn no_limits(scaling: &Scaling) -> Option<String> {
    match (&scaling.cores, &scaling.logical_cpus) {
        (Err(why), Err(same)) if why == same => Some(not_shown("its own core or logical CPU", why)),
        _ => None,
    }
}

/// Says what the system reports, or a table states, about the CPUs.
pub(super) fn reported(scope: &Scope<'_>) -> Vec<String> {
    match scope.cpus {
        Cpus::Reported(machine) => std::iter::once(by_system(machine)).chain(quota(machine)).collect(),
        Cpus::Stated { logical, cores } => vec![by_table(logical, cores)],
    }
}

fn by_points(what: &str, range: &Reading<CountRange>) -> String {
    match range {
        Ok(range) if range.low == range.high => {
            format!("By the measurements alone, each process has {what} up to {}.", at(range.low))
        }
        Ok(range) => format!(
            "By the measurements alone, each process has {what} up to at least {} and at most {}.",
            at(range.low),
            at(range.high)
        ),
        Err(absent) => not_shown(what, absent),
    }
}

fn not_shown(what: &str, absent: &Absent) -> String {
    format!("The measurements do not show up to which N each process has {what}: {absent}.")
}

/// Says what the system reports about the CPUs that may be used.
fn by_system(machine: &Machine) -> String {
    let logical = count(machine.allowed.len(), "logical CPU", "logical CPUs");
    let cores = match (machine.core_count(), machine.threads_per_core()) {
        (Ok(cores), Ok(1)) => format!(" on {}, one thread each", count(cores, "core", "cores")),
        (Ok(cores), Ok(threads)) => format!(" on {}, up to {threads} threads each", count(cores, "core", "cores")),
        (Err(absent), _) | (_, Err(absent)) => format!("; the number of cores is not known: {absent}"),
    };
    let not_allowed = match machine.online.len().saturating_sub(machine.allowed.len()) {
        0 => String::new(),
        1 => " (1 more CPU is online, but may not be used)".to_owned(),
        more => format!(" ({more} more CPUs are online, but may not be used)"),
    };
    let packages = match &machine.packages {
        Ok(packages) if *packages > 1 => format!(", in {packages} packages"),
        _ => String::new(),
    };
    let kinds: Vec<String> =
        machine.kinds.iter().map(|(kind, cpus)| format!("{} of kind \u{201c}{kind}\u{201d}", cpus.len())).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!("; {}", kinds.join(", ")) };
    format!("The system reports {logical}{cores}{packages}{not_allowed}{kinds}.")
}

/// Says what a table states about the CPUs of its machine.
fn by_table(logical: &Reading<u32>, cores: &Reading<u32>) -> String {
    let logical = logical.as_ref().map(|number| count(*number as usize, "logical CPU", "logical CPUs"));
    let cores = cores.as_ref().map(|number| count(*number as usize, "core", "cores"));
    match (logical, cores) {
        (Ok(logical), Ok(cores)) => format!("The table states {logical} on {cores}."),
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => format!("The table states {one}."),
        (Err(_), Err(_)) => "The table does not state the CPUs of its machine.".to_owned(),
    }
}

/// Says whether measurements and table agree on the number of cores.
fn agreement_with_table(cores: &Reading<u32>, scaling: &Scaling) -> Option<String> {
    let (stated, found) = (*cores.as_ref().ok()?, scaling.cores.as_ref().ok()?);
    Some(match (found.low..=found.high).contains(&stated) {
        true if found.low == found.high => "Measurements and table agree on the number of cores.".to_owned(),
        true => format!("This is consistent with the measurements ({} to {} cores).", found.low, found.high),
        false if found.high < stated => "The measurements show fewer cores than the table: something slowed the \
             processes down before they shared cores."
            .to_owned(),
        false => "The measurements show more cores than the table: for this work, a second thread on a core is nearly \
             as good as a core."
            .to_owned(),
    })
}

/// Says whether measurements and system agree on the number of cores. A virtual machine may hide that its CPUs are
/// threads of one core.
fn agreement(scope: &Scope<'_>, machine: &Machine, scaling: &Scaling) -> Option<String> {
    let cores = u32::try_from(machine.core_count().ok()?).ok()?;
    let threads = machine.threads_per_core().ok()?;
    let found = scaling.cores.as_ref().ok()?;
    if machine.usable_cpus() < machine.allowed.len() as f64 {
        // The measurements cannot distinguish a quota from missing CPUs.
        return None;
    }
    if !machine.kinds.is_empty() {
        let mixed = "The analysis assumes that all cores are alike, which is not the case here: where the speed falls, \
                     the fast cores may all have been in use.";
        return Some(mixed.to_owned());
    }
    let agree = (found.low..=found.high).contains(&cores);
    Some(match (agree, threads) {
        (true, _) if found.low == found.high => "Measurements and system agree on the number of cores.".to_owned(),
        (true, 1) if found.low < cores && scaling.full_load_inflation > SLOWED => format!(
            "This is consistent with the measurements ({} to {} cores). They would look the same if some of these CPUs \
             were threads of one core, which a virtual machine may hide.",
            found.low, found.high
        ),
        (true, _) => {
            format!("This is consistent with the measurements ({} to {} cores).", found.low, found.high)
        }
        (false, _) if found.high < cores && scope.most_others.round() >= f64::from(cores - found.high) => format!(
            "The measurements show fewer cores than the system: other programs used up to {}.",
            count_of(scope.most_others)
        ),
        (false, 1) if found.high < cores => {
            "The measurements show fewer cores than the system: CPUs that it reports as \
             cores may be threads of one core, which a virtual machine may hide, or share another resource."
                .to_owned()
        }
        (false, _) if found.high < cores => "The measurements show fewer cores than the system: something slowed the \
             processes down before they shared cores."
            .to_owned(),
        (false, _) => "The measurements show more cores than the system: for this work, a second thread on a core is \
             nearly as good as a core."
            .to_owned(),
    })
}

/// Reports the quota of the control group, if it is less than the CPUs.
fn quota(machine: &Machine) -> Option<String> {
    let quota = machine.quota.as_ref().ok()?.as_ref()?.cpus();
    let allowed = machine.allowed.len() as f64;
    let from = (quota.floor() + 1.0).max(1.0);
    (quota < allowed).then(|| {
        format!(
            "The quota of the control group is {}: from {} on, the processes share that, however many CPUs there are.",
            count_of(quota),
            at(from as u32)
        )
    })
}

/// Reports the gain from a second thread on a core.
fn second_thread(scope: &Scope<'_>, scaling: &Scaling) -> String {
    let alone = at(scope.first);
    match &scaling.second_thread_gain {
        Ok(gain) => {
            let (verb, size) = if gain.value < 0.0 { ("takes", -gain.value) } else { ("adds", gain.value) };
            let from = if gain.value < 0.0 { "from" } else { "to" };
            format!(
                "A second thread on a core {verb} {}{TIE}% {from} the work of the core at {alone}. The measurements \
                 allow a gain of {}, because a core may be slower when all are busy.",
                fixed(size * 100.0, 0),
                percents(gain)
            )
        }
        Err(absent) => format!("The gain from a second thread on a core is not known: {absent}."),
    }
}

/// Formats an interval in per cent: `18 to 27 %`.
fn percents(fitted: &Fitted) -> String {
    let whole = |value: f64| fixed(value * 100.0, 0);
    format!("{} to {}{TIE}%", whole(fitted.interval.low), whole(fitted.interval.high))
}

/// Reports the fit of the Universal Scalability Law, and whether it describes the measurements.
pub(super) fn law(scope: &Scope<'_>, scaling: &Scaling) -> Vec<String> {
    let law = match &scaling.law {
        Ok(law) => law,
        Err(absent) => {
            let why = format!("The Universal Scalability Law was not fitted: {absent}.");
            let more = matches!(scope.cpus, Cpus::Reported(_)) && scope.rows < FITTED;
            let more = more.then(|| format!("Measure more numbers of processes, such as --procs 1..{FITTED}."));
            return std::iter::once(why).chain(more).collect();
        }
    };
    let unit = scope.unit;
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
            "It leaves {left} of throughput unexplained: the measurements have corners or scatter, the law has neither."
        )
    };
    vec![figures, peak(law), described]
}

fn peak(law: &ScalabilityLaw) -> String {
    match &law.peak {
        Ok(peak) => {
            format!("By the law, throughput is highest at N{TIE}={TIE}{} ({}).", fixed(peak.value, 0), whole(peak))
        }
        Err(absent) => format!("By the law, no number of processes has the highest throughput: {absent}."),
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
    // Kappa may be as small as 1e-5, so it is shown in exponential notation.
    let shown = |value: f64| match value {
        _ if !value.is_finite() => "any size".to_owned(),
        0.0 => "0".to_owned(),
        small if small < 1e-3 => format!("{small:.1e}"),
        _ => fixed(value, decimals_of(value, 2)),
    };
    format!("{} ({} to {})", shown(fitted.value), shown(fitted.interval.low), shown(fitted.interval.high))
}
