// Package text_test has the benchmarks of texts.
package text_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var result int

var line = strings.Repeat("the quick brown fox jumps over the lazy dog, ", 20)

func BenchmarkSplit(b *testing.B) {
	for range b.N {
		result += len(strings.Split(line, " "))
	}
}

func BenchmarkJoin(b *testing.B) {
	words := strings.Split(line, " ")
	for range b.N {
		result += len(strings.Join(words, "-"))
	}
}

func BenchmarkParse(b *testing.B) {
	b.Run("integer", func(b *testing.B) {
		for range b.N {
			for _, text := range []string{"17", "-42", "123456789", "7000000000000", "-31415926535", "65535", "271828", "1"} {
				value, _ := strconv.Atoi(text)
				result += value
			}
		}
	})
	b.Run("float", func(b *testing.B) {
		for range b.N {
			for _, text := range []string{"1.5", "-0.001", "6.02214076e23", "3.141592653589793"} {
				value, _ := strconv.ParseFloat(text, 64)
				result += int(value)
			}
		}
	})
}

func BenchmarkRegexp(b *testing.B) {
	expression := regexp.MustCompile(`\b(\w)o(\w)\b`)
	for range b.N {
		result += len(expression.FindAllString(line, -1))
	}
}

func BenchmarkJSON(b *testing.B) {
	value := map[string]any{"name": "fox", "sizes": []int{1, 2, 3}, "is": map[string]bool{"quick": true}}
	for range b.N {
		text, err := json.Marshal(value)
		if err != nil {
			b.Fatal(err)
		}
		result += len(text)
	}
}
