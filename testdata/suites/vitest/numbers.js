// What the benchmarks use: the next number of a pseudorandom sequence, and many of them.
export function next(state) {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return state
}

export function numbers(count) {
  let state = 2463534242
  return Array.from({ length: count }, () => (state = next(state)))
}
