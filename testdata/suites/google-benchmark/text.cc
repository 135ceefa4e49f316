// Benchmarks of texts. Some have names with special characters.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string Line() {
  std::string line;
  for (int i = 0; i < 20; i++) line += "the quick brown fox jumps over the lazy dog, ";
  return line;
}

void Hash(benchmark::State& state) {
  const std::string line = Line();
  for (auto _ : state) {
    std::uint64_t hash = 14695981039346656037u;
    for (unsigned char letter : line) hash = (hash ^ letter) * 1099511628211u;
    benchmark::DoNotOptimize(hash);
  }
  state.SetLabel("fnv {a}");
}
BENCHMARK(Hash)->Name("hash/fnv-1a");
BENCHMARK(Hash)->Name("a b [1.5](x)+|$^ {y}")->MinWarmUpTime(0.001);

void Split(benchmark::State& state) {
  const std::string line = Line();
  for (auto _ : state) {
    std::vector<std::string> words;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words.push_back(word);
    benchmark::DoNotOptimize(words.data());
  }
}
BENCHMARK(Split);

void Find(benchmark::State& state, const char* what) {
  const std::string line = Line();
  for (auto _ : state) {
    int count = 0;
    for (std::size_t at = 0; (at = line.find(what, at)) != std::string::npos; at++) count++;
    benchmark::DoNotOptimize(count);
  }
}
BENCHMARK_CAPTURE(Find, letter, "o");
BENCHMARK_CAPTURE(Find, word, "lazy");

void Replace(benchmark::State& state) {
  for (auto _ : state) {
    std::string line = Line();
    for (std::size_t at = 0; (at = line.find("fox", at)) != std::string::npos; at += 6) line.replace(at, 3, "weasel");
    benchmark::DoNotOptimize(line.data());
  }
}
BENCHMARK(Replace);

void ParseInteger(benchmark::State& state) {
  const char* texts[] = {"17", "-42", "123456789", "7000000000000", "-31415926535", "65535", "271828", "1", "123456789"};
  for (auto _ : state) {
    long long sum = 0;
    for (const char* text : texts) sum += std::strtoll(text, nullptr, 10);
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(ParseInteger)->Threads(1);

void ParseFloat(benchmark::State& state) {
  const char* texts[] = {"1.5", "-0.001", "6.02214076e23", "3.141592653589793"};
  for (auto _ : state) {
    double sum = 0;
    for (const char* text : texts) sum += std::strtod(text, nullptr);
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(ParseFloat);

void Regex(benchmark::State& state) {
  const std::string line = Line();
  const std::regex expression("[a-z]o[a-z]");
  for (auto _ : state) {
    auto count = std::distance(std::sregex_iterator(line.begin(), line.end(), expression), std::sregex_iterator());
    benchmark::DoNotOptimize(count);
  }
}
BENCHMARK(Regex)->Unit(benchmark::kMillisecond);

}  // namespace
