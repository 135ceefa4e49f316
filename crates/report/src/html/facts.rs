//! The lists of pages: what was measured where.

use maud::{Markup, html};
use steady_model::{Host, Reading};

use crate::units::memory;
use crate::words::one_line;

pub(super) fn fact(label: &str, text: &str) -> Markup {
    html! { div { dt { (label) } dd { (text) } } }
}

/// The machine in the lines of a list, with those about its CPUs in their place.
pub(super) fn host(host: &Host, cpus: &Markup) -> Markup {
    html! {
        (reading("host", &host.hostname, |name| one_line(name)))
        (reading("kernel", &host.kernel, |name| one_line(name)))
        (reading("CPU", &host.cpu_model, |name| one_line(name)))
        (cpus)
        (reading("memory", &host.memory, |bytes| memory(bytes.0 as f64)))
        (reading("runs under", &host.hypervisor, |name| {
            name.as_ref().map_or_else(|| "no hypervisor".to_owned(), |name| one_line(name))
        }))
    }
}

/// How many CPUs may be used, and the quota.
pub(super) fn cpus(host: &Host) -> Markup {
    html! {
        (fact("CPUs", &format!("{} of {} online may be used", host.cpus_allowed, host.cpus_online)))
        (reading("quota", &host.cpu_quota, |quota| {
            quota.map_or_else(|| "none".to_owned(), |quota| format!("{:.2} CPUs", quota.cpus()))
        }))
    }
}

pub(super) fn reading<T>(label: &str, reading: &Reading<T>, words: impl Fn(&T) -> String) -> Markup {
    match reading {
        Ok(value) => fact(label, &words(value)),
        Err(absent) => fact(label, &format!("absent: {absent}")),
    }
}
