//! Made-up values for reports: a machine, times, absent readings, a hostile name.

use steady_model::*;

/// A name with characters that break out of HTML, Markdown, CSV and terminal text if they are not escaped.
pub const HOSTILE: &str = "x</title><script>alert(1)</script>\" onload='y' | `z` &amp; \n,\"\u{202e}\u{1b}[31m<!-- ]]>";

/// Converts seconds to a time.
pub fn seconds(seconds: f64) -> Nanos {
    Nanos::from_seconds(seconds)
}

/// Returns an absent reading.
///
/// # Errors
/// Always returns `why`.
pub fn absent<T>(why: &str) -> Reading<T> {
    Err(Absent::because(why))
}

/// A host with two CPUs that runs on `hypervisor`.
pub fn host(hypervisor: &str) -> Host {
    Host {
        hostname: Ok("build-7".into()),
        kernel: Ok("Linux 6.12.9".into()),
        cpu_model: Ok("Intel(R) Xeon(R) Processor".into()),
        cpus_allowed: 2,
        cpus_online: 2,
        cpu_quota: Ok(None),
        memory: Ok(Bytes(25_276_510_208)),
        hypervisor: Ok(Some(hypervisor.to_owned())),
    }
}

/// Another host, on a build farm.
pub fn builder() -> Host {
    Host { cpu_model: Ok("AMD EPYC 7B13".into()), memory: Ok(Bytes(8_345_600_000)), ..host("kvm") }
}

/// The CPUs of both hosts: two cores with one thread each.
pub fn machine() -> Machine {
    Machine {
        online: vec![0, 1],
        offline: Ok(vec![]),
        allowed: vec![0, 1],
        cores: Ok(vec![vec![0], vec![1]]),
        packages: Ok(1),
        kinds: vec![],
        quota: Ok(None),
    }
}
