"""How long steady host status takes without the rulers; the target is 100 ms.

    bench/run host [--repeats N] [--interrupts N]

The second host is simulated: its files are those of a host with 64 CPUs and N interrupts.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

from common.paths import STEADY
from common.tools import wall_seconds
from common.verdicts import check

TARGET_SECONDS = 0.1
CPUS = 64


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run host", description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=21, help="repetitions on each host (21)")
    parser.add_argument("--interrupts", type=int, default=1000, help="interrupts of the simulated host (1000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steady-host-") as folder:
        grow(Path(folder), options.interrupts)
        large = f"{CPUS} CPUs, {options.interrupts} interrupts"
        took = {"this host": timed("/", options.repeats), large: timed(folder, options.repeats)}
    for host, seconds in took.items():
        print(f"steady host status --no-rulers, {host}: {1000 * median(seconds):.1f} ms (median of {len(seconds)}; "
              f"{1000 * min(seconds):.1f} to {1000 * max(seconds):.1f})")
    for host, seconds in took.items():
        print(check(f"{host} within {1000 * TARGET_SECONDS:.0f} ms", median(seconds) <= TARGET_SECONDS))


def grow(root: Path, interrupts: int) -> None:
    """Writes the files of a large host with intel_pstate and two threads per core."""
    cpu, kernel = Path("sys/devices/system/cpu"), Path("proc/sys/kernel")
    files = {cpu / "online": f"0-{CPUS - 1}", cpu / "smt/control": "on", cpu / "intel_pstate/no_turbo": "0",
             kernel / "nmi_watchdog": "1", kernel / "perf_event_max_sample_rate": "100000",
             kernel / "randomize_va_space": "2", kernel / "random/boot_id": "a-large-host",
             Path("proc/self/status"): f"Cpus_allowed_list:\t0-{CPUS - 1}"}
    for number in range(CPUS):
        core = number % (CPUS // 2)
        topology, policy = cpu / f"cpu{number}/topology", cpu / f"cpufreq/policy{number}"
        files.update({topology / "core_id": core, topology / "physical_package_id": 0,
                      topology / "thread_siblings_list": f"{core},{core + CPUS // 2}",
                      cpu / f"cpu{number}/thermal_throttle/core_throttle_count": 0,
                      policy / "scaling_driver": "intel_pstate", policy / "scaling_governor": "powersave",
                      policy / "scaling_available_governors": "performance powersave",
                      policy / "energy_performance_preference": "balance_performance",
                      policy / "scaling_min_freq": 800000, policy / "scaling_max_freq": 3500000})
    for number in range(1, interrupts + 1):
        files[Path(f"proc/irq/{number}/smp_affinity_list")] = f"0-{CPUS - 1}"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")


def timed(root: str, repeats: int) -> list:
    return [wall_seconds([str(STEADY), "host", "status", "--no-rulers", "--root", root]) for _ in range(repeats)]


if __name__ == "__main__":
    main()
