//! Mid-ranks of many sizes, without sorting where there are many.

/// Mid-ranks of many sizes.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    order: Vec<(f64, u32)>,
    bucket: Vec<f64>,
}

impl Ranks {
    /// Beyond this many, sizes within 0.4 % of each other share a rank, found without sorting.
    const SORTED: usize = 4096;

    /// The mid-rank of each of `sizes` (zero or more), written to `rank`.
    pub(crate) fn of(&mut self, sizes: &[f64], rank: &mut Vec<f64>) {
        rank.clear();
        rank.resize(sizes.len(), 0.0);
        if sizes.len() <= Self::SORTED { self.sorted(sizes, rank) } else { self.bucketed(sizes, rank) }
    }

    fn sorted(&mut self, sizes: &[f64], rank: &mut [f64]) {
        self.order.clear();
        self.order.extend(sizes.iter().copied().zip(0..));
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut first = 1;
        for tied in self.order.chunk_by(|a, b| a.0 == b.0) {
            let middle = first as f64 + (tied.len() - 1) as f64 / 2.0;
            tied.iter().for_each(|&(_, index)| rank[index as usize] = middle);
            first += tied.len();
        }
    }

    /// Buckets by the leading bits of a single-precision float: its exponent and eight bits of its fraction. Sizes are in
    /// sigmas; those beyond 2^-12 and 2^8 share a bucket with their like, and all buckets fit the first cache.
    fn bucketed(&mut self, sizes: &[f64], rank: &mut [f64]) {
        const LEAST: u32 = (127 - 12) << 8;
        const BUCKETS: u32 = 20 << 8;
        let bucket_of = |size: f64| ((size as f32).to_bits() >> 15).saturating_sub(LEAST).min(BUCKETS - 1) as usize;
        self.bucket.clear();
        self.bucket.resize(BUCKETS as usize, 0.0);
        for &size in sizes {
            self.bucket[bucket_of(size)] += 1.0;
        }
        let mut below = 0.0;
        for count in &mut self.bucket {
            let middle = below + (*count + 1.0) / 2.0;
            below += *count;
            *count = middle;
        }
        for (rank, &size) in rank.iter_mut().zip(sizes) {
            *rank = self.bucket[bucket_of(size)];
        }
    }
}
