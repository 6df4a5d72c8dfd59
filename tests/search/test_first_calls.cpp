// The first calls of a process and its last: fork() while another thread makes the first call, and searches of threads
// and destructors that run while the process exits. Each attempt is a child that has made no call of the library yet,
// so no test of this program makes one in the program itself.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "kith/kith.h"
#include "kith/radius.h"

// Processes here end, and fork, while threads are at work, which ThreadSanitizer takes for threads that were forgotten.
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
    return "report_thread_leaks=0";
}

namespace {

constexpr int attempts = 40;

struct Points {
    std::vector<float> values;
    std::int64_t n, d;
    kith::MatrixView view(std::int64_t rows) const { return kith::view(values.data(), rows, d); }
};

Points numbers(std::int64_t n, std::int64_t d) {
    Points points{std::vector<float>(static_cast<std::size_t>(n * d)), n, d};
    for (std::size_t i = 0; i < points.values.size(); ++i)
        points.values[i] = static_cast<float>((i * 2654435761u) % 65536) / 65536;
    return points;
}

kith::Options on_cpu(int threads) {
    kith::Options options;
    options.device = "cpu";
    options.threads = threads;
    return options;
}

// The exit status of a process that runs f and then exit(); -1 where a signal ends it, as it does after 60 seconds.
template <class F>
int exit_status(const F& f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        std::exit(f());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// 7 where a child that was forked `after` another thread's first search began finds what it should.
int forked_in_a_first_call(std::chrono::microseconds after) {
    const Points points = numbers(3000, 8);
    std::atomic<bool> begun{false};
    std::thread first([&] {
        begun = true;
        kith::search(points.view(3000), points.view(40), 5, on_cpu(0));
    });
    while (!begun) {
    }
    for (const auto end = std::chrono::steady_clock::now() + after; std::chrono::steady_clock::now() < end;) {
    }
    const pid_t child = fork();
    if (child == 0) {
        alarm(10);
        const kith::Neighbors found = kith::search(points.view(3000), points.view(40), 5, on_cpu(0));
        _exit(found.ids[0] == 0 && found.ids[5] == 1 ? 7 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    first.join();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(FirstCalls, AChildForkedDuringTheFirstSearchAnswers) {
#ifdef KITH_SANITIZED
    GTEST_SKIP() << "the child may find the sanitizer's allocator locked by a thread of its parent";
#endif
    int answered = 0;
    for (int i = 0; i < attempts; ++i)
        answered += exit_status([i] { return forked_in_a_first_call(std::chrono::microseconds(25 * i)); }) == 7;
    EXPECT_EQ(attempts, answered);
}

// What runs at exit, after the destructors of what the first search made.
const Points* late_points = nullptr;
std::vector<std::int64_t>* early_ids = nullptr;

std::vector<std::int64_t> ids_of_all() {
    std::vector<std::int64_t> ids = kith::graph(late_points->view(late_points->n), 5, on_cpu(2)).ids;
    const auto near = kith::radius_graph(late_points->view(300), 0.1, on_cpu(2)).ids;
    ids.insert(ids.end(), near.begin(), near.end());
    return ids;
}

void search_late() {
    try {
        if (ids_of_all() != *early_ids) _exit(1);
        kith::plan_on("zen5", {1000, 10, 4, 3, kith::ElementType::f32, false}, {});
        kith::calibration();
        kith::build_info();
    } catch (...) {
        _exit(2);
    }
}

TEST(FirstCalls, ADestructorSearchesAtExit) {
    EXPECT_EQ(7, exit_status([] {
                  std::atexit(search_late);
                  late_points = new Points(numbers(2000, 8));
                  early_ids = new std::vector<std::int64_t>(ids_of_all());
                  kith::plan_on("zen5", {1000, 10, 4, 3, kith::ElementType::f32, false}, {});
                  kith::calibration();
                  return 7;
              }));
}

TEST(FirstCalls, ThreadsSearchWhileTheProcessExits) {
    int ended = 0;
    for (int i = 0; i < attempts; ++i)
        ended += exit_status([i] {
                     // For as long as the process has, after all that exit() runs.
                     std::atexit([] { usleep(20'000); });
                     late_points = new Points(numbers(400, 8));
                     for (int thread = 0; thread < 4; ++thread)
                         std::thread([] {
                             const std::vector<std::int64_t> first = ids_of_all();
                             while (ids_of_all() == first) {
                             }
                             _exit(1);
                         }).detach();
                     usleep(static_cast<useconds_t>(1000 * i));
                     return 7;
                 }) == 7;
    EXPECT_EQ(attempts, ended);
}

}  // namespace
