//! What has been counted.

use std::collections::HashMap;

use steady_model::CallCount;

use crate::syscalls::syscall_name;

/// How often a tree asked for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Processes that were made, the command's own not counted.
    pub forks: u64,
    /// Threads that were made beside the first of each process.
    pub threads: u64,
    /// Programs that were executed, the command's own not counted.
    pub execs: u64,
    /// By table and number.
    calls: HashMap<(u32, u64), u64>,
}

impl CallCounts {
    /// System calls in all. The one that executed the command is not among them, nor are those before it.
    pub fn calls(&self) -> u64 {
        self.calls.values().sum()
    }

    /// System calls by name, the most frequent first.
    pub fn by_name(&self) -> Vec<CallCount> {
        let named = self.calls.iter().map(|(&(table, number), &count)| (syscall_name(table, number), count));
        let mut named: Vec<CallCount> = named.map(|(name, count)| CallCount { name, count }).collect();
        named.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
        named
    }

    pub(super) fn count(&mut self, table: u32, number: u64) {
        *self.calls.entry((table, number)).or_default() += 1;
    }
}
