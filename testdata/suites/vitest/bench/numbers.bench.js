// Arithmetic, sorting, maps and allocation.
import { createHash } from 'node:crypto'
import { bench, describe } from 'vitest'
import { next, numbers } from '../numbers.js'

const work = Number(process.env.SAMPLE_WORK ?? 1000)

bench('changed', () => {
  let state = 1
  for (let round = 0; round < work; round++) state = next(state)
  return state
})

bench('sieve', () => {
  const composite = new Uint8Array(2000)
  for (let one = 2; one * one < composite.length; one++) {
    for (let multiple = one * one; multiple < composite.length; multiple += one) composite[multiple] = 1
  }
  return composite.indexOf(0, 1000)
})

bench('hash sha256', () => createHash('sha256').update('a'.repeat(1000)).digest('hex'))

describe('sort', () => {
  for (const size of [10, 100, 1000]) {
    const data = numbers(size)
    bench(`${size}`, () => [...data].sort((a, b) => a - b))
  }

  describe('typed', () => {
    const data = Int32Array.from(numbers(1000))
    bench('1000', () => data.slice().sort())
  })
})

describe.each(['Map', 'Set'])('%s', (kind) => {
  const keys = numbers(200)
  bench('fill', () => (kind === 'Map' ? new Map(keys.map((key) => [key, key])) : new Set(keys)))
})

// The time of the suite, which is longer than that of a run.
bench('objects', () => numbers(100).map((number) => ({ number })), { time: 2000, iterations: 1000 })

bench.skip('not run', () => {})
