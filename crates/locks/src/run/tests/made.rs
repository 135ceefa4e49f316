//! Writes areas as the watcher writes them, for tests.

use std::mem::offset_of;

use steady_preload::area::{
    Account, AccountSite, HEAD_BYTES, Head, Kind, Lock, MAGIC, Module, Origin, PLACE_BYTES, Pair, Process, Site,
    Spread, Thread, Use, bucket_of,
};

use crate::run::area::tables;

/// The bytes of an area, and the number of entries in each of its tables.
pub(super) struct AreaBuilder {
    pub(super) bytes: Vec<u8>,
    threads: usize,
    locks: usize,
    pairs: usize,
    uses: usize,
    accounts: usize,
}

/// Offsets of the tables of the first place.
pub(super) fn starts() -> [usize; 8] {
    use tables::{ACCOUNTS, LOCKS, MODULES, PAIRS, PROCESS, SITES, THREADS, USES};
    [PROCESS, LOCKS, THREADS, PAIRS, ACCOUNTS, USES, SITES, MODULES].map(|table| HEAD_BYTES + table)
}

impl AreaBuilder {
    pub(super) fn new(places: u32) -> Self {
        let bytes = vec![0; HEAD_BYTES + places as usize * PLACE_BYTES];
        let mut area = AreaBuilder { bytes, threads: 0, locks: 0, pairs: 0, uses: 0, accounts: 0 };
        area.put64(offset_of!(Head, magic), MAGIC);
        area.put32(offset_of!(Head, places), places);
        area.put32(offset_of!(Head, taken), places);
        area
    }

    fn put64(&mut self, at: usize, value: u64) {
        self.bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }

    fn put32(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn at<T>(place: usize, table: usize, number: usize) -> usize {
        HEAD_BYTES + place * PLACE_BYTES + table + number * size_of::<T>()
    }

    pub(super) fn requested_places(&mut self, taken: u32, unmapped: u32) {
        self.put32(offset_of!(Head, taken), taken);
        self.put32(offset_of!(Head, unmapped), unmapped);
    }

    pub(super) fn process(&mut self, place: usize, pid: u32, began: u64, ended: u64) {
        let at = Self::at::<Process>(place, tables::PROCESS, 0);
        self.put32(at + offset_of!(Process, pid), pid);
        self.put32(at + offset_of!(Process, origin), Origin::Exec as u32);
        self.put64(at + offset_of!(Process, began), began);
        self.put64(at + offset_of!(Process, ended), ended);
        self.put32(at + offset_of!(Process, modules), 8);
    }

    pub(super) fn thread(&mut self, place: usize, tid: u32, began: u64, ended: u64, waits: [u64; 3]) {
        let at = Self::at::<Thread>(place, tables::THREADS, self.threads);
        self.put32(at + offset_of!(Thread, tid), tid);
        self.put64(at + offset_of!(Thread, began), began);
        self.put64(at + offset_of!(Thread, ended), ended);
        self.put64(at + offset_of!(Thread, wait), waits[0]);
        self.put64(at + offset_of!(Thread, wait_events), waits[1]);
        self.put64(at + offset_of!(Thread, wait_joins), waits[2]);
        self.threads += 1;
        self.put32(Self::at::<Process>(place, tables::PROCESS, 0) + offset_of!(Process, threads), self.threads as u32);
    }

    pub(super) fn waits_for(&mut self, place: usize, thread: usize, lock: Option<u32>, since: u64) {
        let at = Self::at::<Thread>(place, tables::THREADS, thread);
        self.put32(at + offset_of!(Thread, waits_for), lock.map_or(0, |lock| lock + 1));
        self.put64(at + offset_of!(Thread, waits_since), since);
    }

    /// Writes the call site that a thread waits at.
    pub(super) fn waits_at(&mut self, place: usize, thread: usize, site: u32) {
        self.put32(Self::at::<Thread>(place, tables::THREADS, thread) + offset_of!(Thread, waits_at), site + 1);
    }

    /// Marks a thread as running: the watcher did not record its end.
    pub(super) fn still_runs(&mut self, place: usize, thread: usize) {
        self.put64(Self::at::<Thread>(place, tables::THREADS, thread) + offset_of!(Thread, ended), 0);
    }

    /// Ends the last wait of a thread, without adding it to the counts.
    pub(super) fn waited_until(&mut self, place: usize, thread: usize, site: u32, until: u64) {
        let at = Self::at::<Thread>(place, tables::THREADS, thread);
        self.waits_at(place, thread, site);
        self.put64(at + offset_of!(Thread, waited_until), until);
    }

    /// Writes the account of a lock for a thread: waits that acquired it, and as many holds of `hold` ns each.
    pub(super) fn account(&mut self, place: usize, lock: u64, thread: u64, site: u64, waits: &[u64], hold: u64) {
        let at = Self::at::<Account>(place, tables::ACCOUNTS, self.accounts);
        let (count, sum) = (waits.len() as u64, waits.iter().sum());
        self.put64(at + offset_of!(Account, key), (lock + 1) << 32 | (thread + 1));
        for (field, value) in [
            (offset_of!(Account, contended), count),
            (offset_of!(Account, wait), sum),
            (offset_of!(Account, wait_most), waits.iter().copied().max().unwrap_or(0)),
            (offset_of!(Account, holds_contended), count),
            (offset_of!(Account, hold_contended), count * hold),
            (offset_of!(Account, hold_most), hold),
        ] {
            self.put64(at + field, value);
        }
        let slot = at + offset_of!(Account, sites);
        self.put64(slot + offset_of!(AccountSite, site), site + 1);
        self.put64(slot + offset_of!(AccountSite, contended), count);
        self.put64(slot + offset_of!(AccountSite, wait), sum);
        for time in waits {
            let bucket = at + offset_of!(Account, waits) + 4 * bucket_of(*time);
            let counted = u32::from_ne_bytes(self.bytes[bucket..bucket + 4].try_into().unwrap());
            self.put32(bucket, counted + 1);
        }
        self.put32(at + offset_of!(Account, holds) + 4 * bucket_of(hold), count as u32);
        self.accounts += 1;
        let process = Self::at::<Process>(place, tables::PROCESS, 0);
        self.put64(process + offset_of!(Process, accounts), self.accounts as u64);
    }

    pub(super) fn lock(
        &mut self,
        place: usize,
        address: u64,
        kind: Kind,
        acquisitions: u64,
        contended: u64,
        wait: u64,
    ) {
        let at = Self::at::<Lock>(place, tables::LOCKS, self.locks);
        self.put64(at + offset_of!(Lock, address), address);
        self.put32(at + offset_of!(Lock, kind), kind as u32);
        self.put64(at + offset_of!(Lock, uncontended), acquisitions - contended);
        self.put64(at + offset_of!(Lock, contended), contended);
        self.put64(at + offset_of!(Lock, wait), wait);
        self.locks += 1;
        self.put32(Self::at::<Process>(place, tables::PROCESS, 0) + offset_of!(Process, locks), self.locks as u32);
    }

    pub(super) fn acquired_last_by(&mut self, place: usize, lock: usize, thread: u64) {
        self.put64(Self::at::<Lock>(place, tables::LOCKS, lock) + offset_of!(Lock, last), thread + 1);
    }

    /// Marks a lock as one that other processes may hold.
    pub(super) fn shared(&mut self, place: usize, lock: usize) {
        self.put32(Self::at::<Lock>(place, tables::LOCKS, lock) + offset_of!(Lock, shared), 1);
    }

    pub(super) fn waits(&mut self, place: usize, lock: usize, times: &[(u64, u32)]) {
        let at = Self::at::<Spread>(place, tables::WAITS, lock);
        times.iter().for_each(|(time, count)| self.put32(at + 4 * bucket_of(*time), *count));
        let most = times.iter().map(|(time, _)| *time).max().unwrap_or(0);
        self.put64(Self::at::<Lock>(place, tables::LOCKS, lock) + offset_of!(Lock, wait_most), most);
    }

    /// Writes the timed holds of contended acquisitions, of the first uncontended ones, and of sampled ones: their
    /// number and total time in ns.
    pub(super) fn holds(&mut self, place: usize, lock: usize, timed: [(u64, u64); 3]) {
        let [contended, early, sampled] = timed;
        let at = Self::at::<Lock>(place, tables::LOCKS, lock);
        self.put64(at + offset_of!(Lock, holds_contended), contended.0);
        self.put64(at + offset_of!(Lock, hold_contended), contended.1);
        self.put64(at + offset_of!(Lock, holds_early), early.0);
        self.put64(at + offset_of!(Lock, hold_early), early.1);
        self.put64(at + offset_of!(Lock, holds_sampled), sampled.0);
        self.put64(at + offset_of!(Lock, hold_sampled), sampled.1);
        let each = |(count, time): (u64, u64)| (time / count.max(1), count as u32);
        let buckets = Self::at::<Spread>(place, tables::HOLDS, lock);
        let all = [contended, early, sampled].map(each);
        for (time, count) in all {
            self.put32(buckets + 4 * bucket_of(time), count);
        }
        self.put64(at + offset_of!(Lock, hold_most), all.into_iter().map(|(time, _)| time).max().unwrap_or(0));
    }

    pub(super) fn pair(&mut self, place: usize, lock: u64, thread: u64, contended: u64, wait: u64) {
        let at = Self::at::<Pair>(place, tables::PAIRS, 97 * self.pairs);
        self.put64(at + offset_of!(Pair, key), (lock + 1) << 32 | (thread + 1));
        self.put64(at + offset_of!(Pair, contended), contended);
        self.put64(at + offset_of!(Pair, wait), wait);
        self.pairs += 1;
    }

    pub(super) fn used(&mut self, place: usize, lock: u64, site: u64, sampled: u64, contended: u64, wait: u64) {
        let at = Self::at::<Use>(place, tables::USES, 89 * self.uses);
        self.put64(at + offset_of!(Use, key), (lock + 1) << 32 | (site + 1));
        self.put64(at + offset_of!(Use, sampled), sampled);
        self.put64(at + offset_of!(Use, contended), contended);
        self.put64(at + offset_of!(Use, wait), wait);
        self.uses += 1;
    }

    pub(super) fn site(&mut self, place: usize, number: usize, address: u64, offset: u64, module: u32) {
        let at = Self::at::<Site>(place, tables::SITES, number);
        self.put64(at + offset_of!(Site, address), address);
        self.put64(at + offset_of!(Site, offset), offset);
        self.put32(at + offset_of!(Site, module), module);
    }

    pub(super) fn module(&mut self, place: usize, path: &str, inode: u64) {
        let at = Self::at::<Module>(place, tables::MODULES, 0);
        self.put64(at + offset_of!(Module, inode), inode);
        self.put64(at + offset_of!(Module, length), path.len() as u64);
        let path_at = at + offset_of!(Module, path);
        self.bytes[path_at..path_at + path.len()].copy_from_slice(path.as_bytes());
    }
}
