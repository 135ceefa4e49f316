// C++ locks, exceptions thrown while they are held, and a wait that is notified.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::condition_variable condition;
static int count;
static bool done;

int main() {
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; number++) threads.emplace_back([] {
        for (int time = 0; time < 10000; time++) { std::lock_guard<std::mutex> guard(mutex); count++; }
    });
    for (auto &thread : threads) thread.join();
    std::thread last([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        { std::lock_guard<std::mutex> guard(mutex); done = true; }
        condition.notify_one();
    });
    { std::unique_lock<std::mutex> lock(mutex); condition.wait(lock, [] { return done; }); }
    last.join();
    const char *what = "";
    try { std::lock_guard<std::mutex> guard(mutex); throw std::runtime_error("thrown"); }
    catch (std::runtime_error &error) { what = "thrown"; }
    std::printf("%d %s\n", count, what);
}
