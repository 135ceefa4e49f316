// Package sample is a suite of Go benchmarks for tests: 20 benchmarks in two packages.
package sample

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"testing"
)

var result uint64

// mixed returns the last of a sequence of pseudo-random numbers.
func mixed(count int) uint64 {
	state := uint64(88172645463325252)
	for range count {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
	}
	return state
}

func numbers(count int) []int {
	all := make([]int, count)
	for i := range all {
		all[i] = i * 7919 % 10007
	}
	return all
}

func BenchmarkChanged(b *testing.B) {
	work, err := strconv.Atoi(os.Getenv("SAMPLE_WORK"))
	if err != nil {
		work = 1000
	}
	for range b.N {
		result += mixed(work)
	}
}

func BenchmarkArithmetic(b *testing.B) {
	for i := range b.N {
		for divisor := 1; divisor < 100; divisor++ {
			result += uint64(i) / uint64(divisor)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for _, size := range []int{128, 4096} {
		data := make([]byte, size)
		b.Run(fmt.Sprintf("fnv/size=%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for range b.N {
				hash := fnv.New64a()
				hash.Write(data)
				result += hash.Sum64()
			}
		})
		b.Run(fmt.Sprintf("sha-256/size=%d", size), func(b *testing.B) {
			for range b.N {
				result += uint64(sha256.Sum256(data)[0])
			}
		})
	}
}

func BenchmarkSort(b *testing.B) {
	original := numbers(1000)
	work := make([]int, len(original))
	b.Run("values", func(b *testing.B) {
		for range b.N {
			copy(work, original)
			slices.Sort(work)
		}
	})
	b.Run("by function", func(b *testing.B) {
		for range b.N {
			copy(work, original)
			slices.SortFunc(work, func(one, other int) int { return other - one })
		}
	})
}

func BenchmarkMap(b *testing.B) {
	keys := numbers(500)
	b.Run("insert", func(b *testing.B) {
		for range b.N {
			counts := map[int]int{}
			for _, key := range keys {
				counts[key]++
			}
		}
	})
	b.Run("look up", func(b *testing.B) {
		counts := map[int]int{}
		for _, key := range keys {
			counts[key]++
		}
		b.ResetTimer()
		for range b.N {
			for key := range 500 {
				result += uint64(counts[key])
			}
		}
	})
}

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

var root *node

func BenchmarkAllocate(b *testing.B) {
	for range b.N {
		root = tree(8)
	}
}

func BenchmarkMatrix(b *testing.B) {
	const size = 24
	var one, other, product [size][size]float64
	for i := range size {
		for j := range size {
			one[i][j], other[i][j] = float64(i+j), float64(i-j)
		}
	}
	for range b.N {
		for i := range size {
			for j := range size {
				sum := 0.0
				for k := range size {
					sum += one[i][k] * other[k][j]
				}
				product[i][j] = sum
			}
		}
	}
	result += uint64(product[1][2])
}

func BenchmarkSieve(b *testing.B) {
	for b.Loop() {
		composite := make([]bool, 5000)
		for number := 2; number*number < len(composite); number++ {
			for multiple := number * number; multiple < len(composite); multiple += number {
				composite[multiple] = true
			}
		}
	}
}

func BenchmarkSpecial(b *testing.B) {
	b.Run("a b [1.5](x)+|$^ µ", func(b *testing.B) {
		for range b.N {
			result += mixed(100)
		}
	})
}
