//! Pseudo-random number generators with reproducible sequences.

/// A splitmix64 generator: for addresses and durations in workloads, never for the random draws of an experiment.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator of `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number from `low` to `high`, both included; `low` if `high` is smaller.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let choices = u128::from(high.saturating_sub(low)) + 1;
        low + ((u128::from(self.bits()) * choices) >> 64) as u64
    }
}

/// A xoshiro256++ generator for counted work. Each number depends on the state after the previous one, so a compiler
/// cannot vectorise it, and the cost of a number stays the same.
///
/// Source: Blackman, Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 2021.
#[derive(Clone, Debug)]
pub(crate) struct Numbers([u64; 4]);

impl Numbers {
    /// Creates the generator of `seed`. Its state is filled by splitmix64, as its authors recommend.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Numbers([random.bits(), random.bits(), random.bits(), random.bits()])
    }

    /// Returns the next 64 bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }
}

/// Mixes a number such that every bit of the result depends on every bit of `bits`.
pub(crate) const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_agrees_with_published_numbers() {
        let mut random = Random::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn xoshiro256_agrees_with_published_numbers() {
        let mut numbers = Numbers([1, 2, 3, 4]);
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(expected.map(|_| numbers.bits()), expected);
    }

    #[test]
    fn ranges_include_both_ends() {
        let mut random = Random::new(7);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[random.between(0, 4) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 120), "{seen:?}");
        assert_eq!(random.between(9, 9), 9);
        random.between(0, u64::MAX);
    }
}
