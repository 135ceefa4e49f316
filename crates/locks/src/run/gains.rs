//! By how much a process would be done earlier at most, if a lock were always free.
//!
//! A thread that never waits for it is done as much earlier as it waited. What waits for others (the first thread for those that it
//! joins, one for what another sends) is done earlier as far as they are. But CPUs do not get more: what threads have to compute
//! takes its time on as many as there are.

use std::collections::HashMap;

use steady_model::{Absent, Nanos, Reading};

/// A thread, as far as that goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    /// Waiting for what others do.
    pub(super) events: Nanos,
    /// CPU time, where it is known.
    pub(super) cpu: Option<Nanos>,
    /// Whether it is the thread that the process ends with.
    pub(super) is_first: bool,
}

/// The threads of a process.
#[derive(Clone, Debug)]
pub(super) struct Crew {
    pub(super) members: Vec<Member>,
    /// Which of them has which number in the area.
    pub(super) numbers: HashMap<u32, usize>,
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    /// CPU time of all of them.
    pub(super) cpu: Option<Nanos>,
    pub(super) cpus: usize,
}

impl Crew {
    /// What the process would save at most without these waits, by the threads' numbers in the area; `spins` says that who waits
    /// uses a CPU.
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
        let cpu = self.cpu.ok_or_else(|| Absent::because("the CPU time of its process is not known"))?.0 as f64;
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

    /// The threads besides the first, those together whose lives overlap.
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
        let all_at_once = group.iter().map(began).fold(start, f64::max) < group.iter().map(ended).fold(end, f64::min);
        let without = if all_at_once {
            self.last_without(group, waited)
        } else {
            // Threads that follow each other, as those of a pool: each is done earlier in its share.
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

    /// When the last of threads that live at the same time would be done. One that waits for what others do is done earlier as far
    /// as those are, which is no more than the most that any of them saves.
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

    /// What a made-up thread does, again and again: something by itself, then something with the lock.
    #[derive(Clone, Copy, Debug)]
    struct Worker {
        rounds: u32,
        alone: f64,
        locked: f64,
    }

    /// Runs workers that all begin at once, each on a CPU of its own, with the lock (first come, first served) or without: when each
    /// is done, and how long it waited.
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

    /// The crew that has run so: its first thread makes the workers and joins them.
    fn crew(workers: &[Worker], cpus: usize) -> (Crew, Vec<(u32, Nanos)>, f64) {
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
        (Crew { members, numbers, began: Nanos(0), ended: nanos(end), cpu: Some(all), cpus }, waits, end)
    }

    /// What taking the lock away saved in fact, on CPUs enough.
    fn truth(workers: &[Worker], with: f64) -> f64 {
        with - run(workers, false).iter().map(|(done, _)| *done).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn a_lock_that_is_taken_away_saves_what_was_told(
            workers in proptest::collection::vec((20_u32..60, 0.0..0.01_f64, 0.001..0.01_f64), 2..9),
        ) {
            let workers: Vec<Worker> = workers.into_iter().map(|(rounds, alone, locked)| Worker { rounds, alone, locked }).collect();
            let (crew, waits, end) = crew(&workers, workers.len());
            let told = crew.gain(&waits, false).unwrap().seconds();
            let truth = truth(&workers, end);
            prop_assert!((told - truth).abs() <= 0.2 * truth + 0.01 * end, "{told} {truth} of {end}");
        }
    }

    #[test]
    fn work_takes_its_time_on_the_cpus_that_there_are() {
        let workers = [Worker { rounds: 50, alone: 0.0, locked: 0.004 }; 4];
        let (crew, waits, end) = crew(&workers, 2);
        let told = crew.gain(&waits, false).unwrap().seconds();
        assert!((told - end / 2.0).abs() < 0.02 * end, "{told} of {end}");
        let spun = crew.gain(&waits, true).unwrap().seconds();
        assert!(spun >= told, "who spins uses a CPU while it waits");
    }

    #[test]
    fn what_the_first_thread_does_not_wait_for_does_not_matter() {
        let workers = [Worker { rounds: 50, alone: 0.0, locked: 0.004 }; 2];
        let (mut crew, waits, _) = crew(&workers, 2);
        crew.members[0].events = Nanos(0);
        assert_eq!(crew.gain(&waits, false), Ok(Nanos(0)));
        let own = [(0, nanos(0.1))];
        assert!((crew.gain(&own, false).unwrap().seconds() - 0.1).abs() < 1e-6);
        crew.cpu = None;
        assert!(crew.gain(&waits, false).is_err());
        assert_eq!(crew.gain(&[(1, Nanos(0))], false), Ok(Nanos(0)));
    }

    #[test]
    fn generations_add_up_and_pools_save_their_share() {
        // Ten generations of two threads, half of whose lives is waiting; then the same as a pool that overlaps.
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
            let crew = Crew { members, numbers, began: Nanos(0), ended: nanos(10.3), cpu: Some(nanos(0.0)), cpus: 8 };
            let told = crew.gain(&waits, false).unwrap().seconds();
            assert!((4.8..5.3).contains(&told), "{overlap}: {told}");
        }
    }
}
