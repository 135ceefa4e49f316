//! Bytes to sign, the same on every machine.

/// The state that the generator begins with.
const SEED: u64 = 88_172_645_463_325_252;

/// The first `length` bytes of a generator (xorshift with 13, 7 and 17: Marsaglia, Xorshift RNGs, 2003), each of its numbers
/// from the least byte to the greatest.
pub fn made(length: usize) -> Vec<u8> {
    let mut state = SEED;
    let mut bytes = Vec::with_capacity(length + size_of::<u64>());
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
