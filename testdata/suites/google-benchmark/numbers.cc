// Benchmarks of numbers and containers, in several forms that Google Benchmark has.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace {

// The last of a sequence of pseudo-random numbers.
std::uint64_t Mixed(int count) {
  std::uint64_t state = 88172645463325252u;
  for (int i = 0; i < count; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return state;
}

std::vector<int> Numbers(int count) {
  std::vector<int> all(count);
  for (int i = 0; i < count; i++) all[i] = i * 7919 % 10007;
  return all;
}

void BM_changed(benchmark::State& state) {
  const char* text = std::getenv("SAMPLE_WORK");
  const int work = text != nullptr ? std::atoi(text) : 1000;
  for (auto _ : state) benchmark::DoNotOptimize(Mixed(work));
}
BENCHMARK(BM_changed);

void BM_divide(benchmark::State& state) {
  std::uint64_t dividend = 1;
  for (auto _ : state) {
    std::uint64_t sum = dividend++;
    for (std::uint64_t divisor = 1; divisor < 100; divisor++) sum += dividend / divisor;
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(BM_divide);

void BM_sort(benchmark::State& state) {
  const std::vector<int> original = Numbers(static_cast<int>(state.range(0)));
  std::vector<int> work(original.size());
  for (auto _ : state) {
    std::copy(original.begin(), original.end(), work.begin());
    std::sort(work.begin(), work.end());
    benchmark::DoNotOptimize(work.data());
  }
}
BENCHMARK(BM_sort)->Arg(100)->Arg(1000)->Unit(benchmark::kMicrosecond);

template <typename Container>
void BM_count(benchmark::State& state) {
  const std::vector<int> keys = Numbers(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    Container counts;
    for (int key : keys) counts[key]++;
    benchmark::DoNotOptimize(counts.size());
  }
}
BENCHMARK_TEMPLATE(BM_count, std::map<int, int>)->Arg(500);
BENCHMARK_TEMPLATE(BM_count, std::unordered_map<int, int>)->ArgName("keys")->Arg(500);

void BM_sum(benchmark::State& state) {
  std::vector<int> all(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(all.data());
    benchmark::DoNotOptimize(std::accumulate(all.begin(), all.end(), static_cast<int>(state.range(1))));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_sum)->ArgsProduct({{1000}, {-1, 1}});

void BM_allocate(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<std::unique_ptr<int>> all;
    for (int i = 0; i < 100; i++) all.push_back(std::make_unique<int>(i));
    benchmark::DoNotOptimize(all.data());
  }
}
BENCHMARK(BM_allocate)->UseRealTime();

class Matrix : public benchmark::Fixture {
 public:
  void SetUp(benchmark::State&) override {
    one_.resize(kSize * kSize, 1.5);
    other_.resize(kSize * kSize, 0.5);
    product_.resize(kSize * kSize);
  }

 protected:
  static constexpr int kSize = 24;
  std::vector<double> one_, other_, product_;
};

BENCHMARK_F(Matrix, multiply)(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < kSize; i++) {
      for (int j = 0; j < kSize; j++) {
        double sum = 0;
        for (int k = 0; k < kSize; k++) sum += one_[i * kSize + k] * other_[k * kSize + j];
        product_[i * kSize + j] = sum;
      }
    }
    benchmark::DoNotOptimize(product_.data());
    benchmark::ClobberMemory();
  }
}

void BM_sieve(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<char> composite(5000);
    for (std::size_t number = 2; number * number < composite.size(); number++) {
      for (std::size_t multiple = number * number; multiple < composite.size(); multiple += number) {
        composite[multiple] = 1;
      }
    }
    benchmark::DoNotOptimize(composite.data());
  }
}
BENCHMARK(BM_sieve)->Repetitions(3);

}  // namespace
