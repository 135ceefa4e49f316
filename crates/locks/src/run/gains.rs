//! Upper bound of the time that a process would save if threads never waited for a lock.
//!
//! - A thread that never waits for the lock ends earlier by the time that it waited.
//! - A thread that waits for others (the main thread for those that it joins, a receiver for its sender) ends earlier
//!   if they do.
//! - The number of CPUs stays the same, so the CPU time of the threads bounds the gain.

use std::collections::HashMap;

use steady_model::{Absent, Nanos, Reading};

/// What the estimate uses of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    /// Time that it waited for what other threads do.
    pub(super) events: Nanos,
    /// CPU time, if known.
    pub(super) cpu: Option<Nanos>,
    /// Whether it is the main thread, with which the process ends.
    pub(super) is_first: bool,
}

/// The threads of a process, and its CPU time.
#[derive(Clone, Debug)]
pub(super) struct ThreadGroup {
    pub(super) members: Vec<Member>,
    /// Index into `members` of each thread, by its number in the area.
    pub(super) numbers: HashMap<u32, usize>,
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    /// CPU time of all threads.
    pub(super) cpu: Option<Nanos>,
    pub(super) cpus: usize,
}

impl ThreadGroup {
    /// Returns the most that the process would save without these waits. `waits` has the waiting time of threads by
    /// their numbers in the area. `spins` says whether a waiting thread uses a CPU.
    pub(super) fn gain(&self, waits: &[(u32, Nanos)], spins: bool) -> Reading<Nanos> {
        if waits.iter().all(|(_, wait)| *wait == Nanos::ZERO) {
            return Ok(Nanos::ZERO);
        }
        let mut waited = vec![0.0; self.members.len()];
        for (number, wait) in waits {
            if let Some(index) = self.numbers.get(number) {
                waited[*index] += wait.0 as f64;
            }
        }
        let cpu = self.cpu.ok_or_else(|| Absent::because("the CPU time of the process is not known"))?.0 as f64;
        let spun: f64 = if spins { waited.iter().sum() } else { 0.0 };
        let at_least = (cpu - spun).max(0.0) / self.cpus.max(1) as f64;
        let life = (self.ended - self.began).0 as f64;
        let first = self.members.iter().position(|member| member.is_first);
        let own = first.map_or(0.0, |first| waited[first]);
        let slack = first.map_or(life, |first| self.members[first].events.0 as f64);
        let others = self.groups().iter().map(|group| self.group_gain(group, &waited, spins)).sum::<f64>();
        let gain = own + others.min(slack);
        Ok(Nanos(gain.min((life - at_least).max(0.0)) as u64))
    }

    /// Returns the threads other than the main thread, in groups with overlapping lifetimes.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.members.len()).filter(|index| !self.members[*index].is_first).collect();
        order.sort_by_key(|index| self.members[*index].began);
        let mut groups: Vec<Vec<usize>> = vec![];
        let mut until = Nanos::ZERO;
        for index in order {
            match groups.last_mut() {
                Some(group) if self.members[index].began < until => group.push(index),
                _ => groups.push(vec![index]),
            }
            until = until.max(self.members[index].ended);
        }
        groups
    }

    fn group_gain(&self, group: &[usize], waited: &[f64], spins: bool) -> f64 {
        let began = |index: &usize| self.members[*index].began.0 as f64;
        let ended = |index: &usize| self.members[*index].ended.0 as f64;
        let life = |index: &usize| ended(index) - began(index);
        let start = group.iter().map(began).fold(f64::INFINITY, f64::min);
        let end = group.iter().map(ended).fold(start, f64::max);
        let are_concurrent =
            group.iter().map(began).fold(start, f64::max) < group.iter().map(ended).fold(end, f64::min);
        let without = if are_concurrent {
            self.last_without(group, waited)
        } else {
            // Threads that start one after another, as in a pool: the group ends earlier by the share of its lifetimes
            // that is waiting.
            let (lives, waits) =
                (group.iter().map(life).sum::<f64>(), group.iter().map(|index| waited[*index]).sum::<f64>());
            end - (end - start) * if lives > 0.0 { (waits / lives).min(1.0) } else { 0.0 }
        };
        let spun = |index: &usize| if spins { waited[*index] } else { 0.0 };
        let cpu: f64 = group
            .iter()
            .map(|index| (self.members[*index].cpu.map_or(0.0, |cpu| cpu.0 as f64) - spun(index)).max(0.0))
            .sum();
        let at_least = start + cpu / self.cpus.max(1) as f64;
        (end - without.max(at_least)).max(0.0)
    }

    /// Returns when the last of several concurrent threads would end. A thread that waits for others ends earlier if
    /// they do, by at most the longest waiting time of any of them.
    fn last_without(&self, group: &[usize], waited: &[f64]) -> f64 {
        let most = group.iter().map(|index| waited[*index]).fold(0.0, f64::max);
        let done = |index: &usize| {
            let member = &self.members[*index];
            let saved = (waited[*index] + member.events.0 as f64).min(most).max(waited[*index]);
            (member.ended.0 as f64 - saved).max(member.began.0 as f64)
        };
        group.iter().map(done).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A simulated thread: in each round, it works without the lock, then with it. Times are in seconds.
    #[derive(Clone, Copy, Debug)]
    struct Worker {
        rounds: u32,
        alone: f64,
        locked: f64,
    }

    /// Simulates workers that start together, each on its own CPU, with the lock (first come, first served) or without.
    /// Returns when each ends and how long it waited, in seconds.
    fn run(workers: &[Worker], locks: bool) -> Vec<(f64, f64)> {
        let mut at: Vec<(f64, f64, u32)> = workers.iter().map(|worker| (worker.alone, 0.0, worker.rounds)).collect();
        let mut free = 0.0_f64;
        while let Some(next) =
            (0..at.len()).filter(|index| at[*index].2 > 0).min_by(|one, other| at[*one].0.total_cmp(&at[*other].0))
        {
            let (arrived, waited, rounds) = at[next];
            let begins = if locks { arrived.max(free) } else { arrived };
            free = begins + workers[next].locked;
            let left = rounds - 1;
            let done = free + if left > 0 { workers[next].alone } else { 0.0 };
            at[next] = (done, waited + begins - arrived, left);
        }
        at.into_iter().map(|(done, waited, _)| (done, waited)).collect()
    }

    fn nanos(seconds: f64) -> Nanos {
        Nanos((seconds * 1e9) as u64)
    }

    /// Simulates a process whose main thread starts the workers and joins them. Returns its threads, their waits and
    /// its wall time in seconds.
    fn process(workers: &[Worker], cpus: usize) -> (ThreadGroup, Vec<(u32, Nanos)>, f64) {
        let ran = run(workers, true);
        let end = ran.iter().map(|(done, _)| *done).fold(0.0, f64::max);
        let cpu = |worker: &Worker| nanos(f64::from(worker.rounds) * (worker.alone + worker.locked));
        let first =
            Member { began: Nanos(0), ended: nanos(end), events: nanos(end), cpu: Some(Nanos(0)), is_first: true };
        let others = ran.iter().zip(workers).map(|((done, _), worker)| Member {
            began: Nanos(0),
            ended: nanos(*done),
            events: Nanos(0),
            cpu: Some(cpu(worker)),
            is_first: false,
        });
        let members: Vec<Member> = [first].into_iter().chain(others).collect();
        let waits = ran.iter().zip(1..).map(|((_, waited), number)| (number, nanos(*waited))).collect();
        let all = workers.iter().map(cpu).sum();
        let numbers = (0..members.len()).map(|index| (index as u32, index)).collect();
        (ThreadGroup { members, numbers, began: Nanos(0), ended: nanos(end), cpu: Some(all), cpus }, waits, end)
    }

    /// Returns the time in seconds that removing the lock saves in the simulation, with a CPU for each worker.
    fn truth(workers: &[Worker], with: f64) -> f64 {
        with - run(workers, false).iter().map(|(done, _)| *done).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn the_estimated_gain_is_that_of_removing_the_lock(
            workers in proptest::collection::vec((20_u32..60, 0.0..0.01_f64, 0.001..0.01_f64), 2..9),
        ) {
            let worker = |(rounds, alone, locked)| Worker { rounds, alone, locked };
            let workers: Vec<Worker> = workers.into_iter().map(worker).collect();
            let (process, waits, end) = process(&workers, workers.len());
            let estimate = process.gain(&waits, false).unwrap().seconds();
            let truth = truth(&workers, end);
            let is_near = (estimate - truth).abs() <= 0.2 * truth + 0.01 * end;
            prop_assert!(is_near, "estimated {estimate} s, true {truth} s, of {end} s");
        }
    }

    #[test]
    fn the_cpu_time_of_the_threads_bounds_the_gain() {
        let workers = [Worker { rounds: 50, alone: 0.0, locked: 0.004 }; 4];
        let (process, waits, end) = process(&workers, 2);
        let estimate = process.gain(&waits, false).unwrap().seconds();
        assert!((estimate - end / 2.0).abs() < 0.02 * end, "{estimate} s of {end} s");
        let spun = process.gain(&waits, true).unwrap().seconds();
        assert!(spun >= estimate, "time spent spinning is not counted as work");
    }

    #[test]
    fn threads_that_the_main_thread_does_not_wait_for_do_not_matter() {
        let workers = [Worker { rounds: 50, alone: 0.0, locked: 0.004 }; 2];
        let (mut process, waits, _) = process(&workers, 2);
        process.members[0].events = Nanos(0);
        assert_eq!(process.gain(&waits, false), Ok(Nanos(0)));
        let own = [(0, nanos(0.1))];
        assert!((process.gain(&own, false).unwrap().seconds() - 0.1).abs() < 1e-6);
        process.cpu = None;
        assert!(process.gain(&waits, false).is_err());
        assert_eq!(process.gain(&[(1, Nanos(0))], false), Ok(Nanos(0)));
    }

    #[test]
    fn gains_of_successive_threads_add_up() {
        // Ten successive groups of two threads that wait half of their lifetimes; then the same with overlaps, as in a
        // pool.
        let member = |began: f64, ended: f64| Member {
            began: nanos(began),
            ended: nanos(ended),
            events: Nanos(0),
            cpu: Some(nanos((ended - began) / 2.0)),
            is_first: false,
        };
        let first = Member { events: nanos(10.0), is_first: true, ..member(0.0, 10.0) };
        for overlap in [0.0, 0.3] {
            let others = (0..10).flat_map(|round| [member(f64::from(round), f64::from(round + 1) + overlap); 2]);
            let members: Vec<Member> = [first].into_iter().chain(others).collect();
            let waits: Vec<(u32, Nanos)> = (1..=20).map(|number| (number, nanos((1.0 + overlap) / 2.0))).collect();
            let numbers = (0..21).map(|number| (number, number as usize)).collect();
            let process =
                ThreadGroup { members, numbers, began: Nanos(0), ended: nanos(10.3), cpu: Some(nanos(0.0)), cpus: 8 };
            let estimate = process.gain(&waits, false).unwrap().seconds();
            assert!((4.8..5.3).contains(&estimate), "overlap of {overlap} s: estimated {estimate} s");
        }
    }
}
