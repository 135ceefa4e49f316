//! The Universal Scalability Law in words.

use steady_model::{Fitted, LoadReport, ScalabilityLaw, Scaling};

use steady_render::units::{TIE, count, decimals_of, fixed, percent};

/// What the law may leave unexplained and still describe the points.
const DESCRIBED: f64 = 0.03;

/// The Universal Scalability Law, and whether it describes the points at all.
pub(super) fn sentences(report: &LoadReport, scaling: &Scaling) -> Vec<String> {
    let law = match &scaling.law {
        Ok(law) => law,
        Err(absent) => return vec![format!("Universal Scalability Law: absent, for {absent}.")],
    };
    let unit = report.record.unit();
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
    let shown = |value: f64| if value.is_finite() { count(value) } else { "any number".to_owned() };
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
