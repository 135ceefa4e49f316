// Strings and parsing, in TypeScript. Names have characters that are special in regular expressions and in shells.
import { bench, describe } from 'vitest'

const text: string = 'It was the best of times, it was the worst of times, it was the age of wisdom'
const words: string[] = text.repeat(10).split(' ')
const long = text.repeat(100)
let sum = 0

bench('join words', () => {
  sum += words.join(', ').length
})

bench('replace (was|is)+ [x]*', () => {
  sum += text.replaceAll('was', 'is').length
})

bench("find 'ages' > $1 \\d", () => {
  sum += long.indexOf('ages', sum % 2)
})

bench('reverse', () => {
  sum += [...text].reverse().join('').length
})

// Its name begins with that of another benchmark.
bench('reverse words', () => {
  sum += words.toReversed().length
})

describe('JSON / parse', () => {
  for (const size of [1, 100]) {
    const data = JSON.stringify(Array.from({ length: size }, (_, number) => ({ number, text })))
    bench(`${size} objects`, () => {
      sum += JSON.parse(data).length
    })
  }
})

bench('parse numbers', () => {
  for (let number = 0; number < 100; number++) sum += Number.parseFloat(`${number}.5`)
})

let started = 0
bench(
  'after setup',
  () => {
    sum += 'x'.repeat(started).length
  },
  { setup: () => void (started = 10_000) },
)

bench('promise', async () => {
  sum += await Promise.resolve(1)
})
