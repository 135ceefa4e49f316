//! A machine for reports that are made by hand.

use steady_model::*;

/// A host of two CPUs, which runs under `hypervisor`.
pub(crate) fn host(hypervisor: &str) -> Host {
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

/// Its CPUs: two cores of one thread each.
pub(crate) fn machine() -> Machine {
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
