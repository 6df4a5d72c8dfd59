// The process' own threads: every task once, with as many threads as can be had, from several threads, after fork().
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exact/report/watched.h"
#include "kith/kith.h"
#include "machine/parallel.h"

namespace {

using kith::machine::ThreadPool;

// Calls of a pool of its own, as parallel_tasks() makes them of the process'.
template <class F>
void run(ThreadPool& pool, int threads, std::int64_t count, const F& work) {
    pool.run(
        threads, count,
        [](const void* context, std::int64_t task, int worker) { (*static_cast<const F*>(context))(task, worker); },
        &work);
}

// How often threads were asked for, and how many more the system has.
std::atomic<int> asked{0}, left_to_start{0};

int limited_start(pthread_t* thread, void* (*body)(void*), void* argument) {
    ++asked;
    if (left_to_start.fetch_sub(1) <= 0) return EAGAIN;
    return kith::machine::start_thread(thread, body, argument);
}

// A pool of `threads` on a system that has `more` threads beside the caller's.
struct Limited {
    Limited(int threads, int more) : pool((asked = 0, left_to_start = more, threads), limited_start) {}
    ThreadPool pool;
};

// Every task is done once, by a worker below `threads`, number 0 by this thread and no other.
void expect_all_done(ThreadPool& pool, int threads, std::int64_t count) {
    std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
    const auto caller = std::this_thread::get_id();
    std::atomic<int> wrong{0};
    run(pool, threads, count, [&](std::int64_t task, int worker) {
        ++done[static_cast<std::size_t>(task)];
        if (worker < 0 || worker >= threads || (worker == 0) != (std::this_thread::get_id() == caller)) ++wrong;
    });
    for (const auto& times : done) ASSERT_EQ(1, times);
    ASSERT_EQ(0, wrong);
}

TEST(Parallel, EveryTaskOnce) {
    Limited l(4, 100);
    for (const int threads : {1, 2, 3, 4, 9})
        for (const std::int64_t count : {0, 1, 2, 3, 8, 1000}) expect_all_done(l.pool, threads, count);
    EXPECT_LE(asked, 8);
}

TEST(Parallel, TasksBeginInOrder) {
    Limited l(3, 2);
    std::mutex mutex;
    std::vector<std::vector<std::int64_t>> of_worker(3);
    run(l.pool, 3, 3000, [&](std::int64_t task, int worker) {
        const std::lock_guard lock(mutex);
        of_worker[static_cast<std::size_t>(worker)].push_back(task);
    });
    for (const auto& tasks : of_worker) EXPECT_TRUE(std::is_sorted(tasks.begin(), tasks.end()));
}

TEST(Parallel, OneThreadStartsNone) {
    Limited l(8, 100);
    run(l.pool, 1, 1000, [](std::int64_t, int) {});
    run(l.pool, 8, 1, [](std::int64_t, int) {});
    EXPECT_EQ(0, asked);
    EXPECT_EQ(1, l.pool.available(1));
}

TEST(Parallel, AJobThatCostsLessThanAThreadStartsNone) {
    Limited l(4, 100);
    std::atomic<int> done{0};
    const auto task = [](const void* context, std::int64_t, int) {
        ++*static_cast<std::atomic<int>*>(const_cast<void*>(context));
    };
    l.pool.run(4, 100, task, &done, nullptr, ThreadPool::Cost(1));
    EXPECT_EQ(100, done);
    EXPECT_EQ(0, asked);
    l.pool.run(4, 100, task, &done);
    EXPECT_EQ(200, done);
    EXPECT_LT(0, asked);
}

TEST(Parallel, GoesOnWithTheThreadsThatThereAre) {
    for (const int more : {0, 1, 3}) {
        Limited l(8, more);
        EXPECT_EQ(8, l.pool.available(8));  // nothing else has been seen
        // Tasks that wait for each other, so that every thread that can be had gets one.
        std::atomic<int> present{0};
        std::set<std::thread::id> threads;
        std::mutex mutex;
        run(l.pool, 8, 8, [&](std::int64_t, int) {
            {
                const std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
            }
            ++present;
            while (present <= more) std::this_thread::yield();
        });
        EXPECT_EQ(more + 1, static_cast<int>(threads.size()));
        EXPECT_EQ(more + 1, l.pool.available(8));
        EXPECT_EQ(1, l.pool.available(1));
        const int before = asked;
        for (int i = 0; i < 20; ++i) expect_all_done(l.pool, 8, 100);
        EXPECT_LE(asked, before + 1) << "a failure is not repeated with every call";
    }
}

TEST(Parallel, TheFirstExceptionStopsTheRest) {
    Limited l(4, 3);
    for (const int threads : {1, 4}) {
        std::atomic<int> begun{0};
        EXPECT_THROW(run(l.pool, threads, 1'000'000,
                         [&](std::int64_t task, int) {
                             ++begun;
                             if (task == 10) throw std::runtime_error("task 10");
                         }),
                     std::runtime_error);
        EXPECT_LT(begun, 1'000'000);
        expect_all_done(l.pool, threads, 1000);
    }
}

TEST(Parallel, NestedCallsStayOnTheirThread) {
    Limited l(4, 3);
    std::atomic<int> wrong{0}, inner{0};
    run(l.pool, 4, 64, [&](std::int64_t, int) {
        const auto own = std::this_thread::get_id();
        run(l.pool, 4, 10, [&](std::int64_t, int worker) {
            ++inner;
            if (worker != 0 || std::this_thread::get_id() != own) ++wrong;
        });
    });
    EXPECT_EQ(640, inner);
    EXPECT_EQ(0, wrong);
}

TEST(Parallel, CallsFromSeveralThreads) {
    Limited l(4, 3);
    std::vector<std::thread> callers;
    callers.reserve(6);
    for (int c = 0; c < 6; ++c)
        callers.emplace_back([&, c] {
            for (int i = 0; i < 200; ++i) expect_all_done(l.pool, 1 + (c + i) % 5, 1 + (i * 7 + c) % 50);
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_LE(asked, 4);
}

TEST(Parallel, AClosedPoolLeavesTheWorkToTheCaller) {
    Limited l(4, 3);
    expect_all_done(l.pool, 4, 100);
    l.pool.close();
    const int before = asked;
    expect_all_done(l.pool, 4, 100);
    EXPECT_EQ(before, asked);
}

TEST(Parallel, RangesMakeUpTheWhole) {
    std::vector<std::atomic<int>> done(1000);
    const std::function<bool(const kith::Progress&)> silent;
    kith::ProgressMeter progress(silent, 1);
    kith::watched_for(3, 1000, 64, progress, "ranges", [&](std::int64_t first, std::int64_t last) {
        EXPECT_LE(last - first, 64);
        for (std::int64_t i = first; i < last; ++i) ++done[static_cast<std::size_t>(i)];
    });
    for (const auto& times : done) EXPECT_EQ(1, times);
}

// "R", "S", ... of each thread of this process.
std::vector<std::string> thread_states() {
    std::vector<std::string> states;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(entry.path() / "stat");
        const std::string line{std::istreambuf_iterator<char>(file), {}};
        const std::size_t name_end = line.rfind(')');
        if (name_end != std::string::npos) states.push_back(line.substr(name_end + 2, 1));
    }
    return states;
}

TEST(Parallel, IdleWorkersSleep) {
    Limited l(4, 3);
    expect_all_done(l.pool, 4, 100);
    const auto awake = [] {
        const std::vector<std::string> states = thread_states();
        return std::count(states.begin(), states.end(), "R");
    };
    // They come to rest, however busy the machine is, and stay so.
    for (int quiet = 0; quiet < 20; quiet = awake() <= 1 ? quiet + 1 : 0) usleep(1000);
}

// Whether a search by that many threads gives what one thread gives.
bool searches(int threads, kith::MetricId metric, std::int64_t n = 3000, std::int64_t d = 20) {
    std::vector<float> points(static_cast<std::size_t>(n * d));
    for (std::size_t i = 0; i < points.size(); ++i)
        points[i] = static_cast<float>((i * 2654435761u >> 7) % 1000) / 1000.0f;
    const kith::MatrixView view = kith::view(points.data(), n, d);
    kith::Options one, several;
    one.device = several.device = "cpu";
    one.metric = several.metric = metric;
    one.threads = 1;
    several.threads = threads;
    const kith::Neighbors a = kith::graph(view, 5, several), b = kith::graph(view, 5, one);
    return a.ids == b.ids && a.distances == b.distances;
}

// The exit status of a child that runs f; -1 if it has to be killed after 60 seconds.
template <class F>
int status_of_child(const F& f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(f());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Parallel, AChildSearchesAfterItsParentDid) {
    ASSERT_TRUE(searches(4, kith::MetricId::sqeuclidean));
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(7, status_of_child([] {
                      // And so does its own child.
                      const bool own = searches(4, kith::MetricId::sqeuclidean);
                      return own && status_of_child([] { return searches(3, kith::MetricId::cityblock) ? 5 : 1; }) == 5
                                 ? 7
                                 : 1;
                  }));
        ASSERT_TRUE(searches(4, kith::MetricId::sqeuclidean));
    }
}

// Of fork() while other threads are within the library, which allocates.
#ifdef KITH_SANITIZED_ADDRESSES
constexpr const char* no_such_fork = "the child may find AddressSanitizer's allocator locked by a thread of its parent";
#else
constexpr const char* no_such_fork = nullptr;
#endif

TEST(Parallel, AChildForkedWhileOthersSearch) {
    if (no_such_fork) GTEST_SKIP() << no_such_fork;
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i)
        others.emplace_back([&] {
            while (!stop) searches(3, kith::MetricId::sqeuclidean);
        });
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(7, status_of_child([] { return searches(4, kith::MetricId::sqeuclidean) ? 7 : 1; }));
    stop = true;
    for (std::thread& other : others) other.join();
}

TEST(Parallel, AChildForkedWhileOthersSearchTheSameIndex) {
    if (no_such_fork) GTEST_SKIP() << no_such_fork;
    const std::vector<float> points = {0, 1, 3, 6, 10, 15, 21, 28};
    kith::Options options;
    options.device = "cpu";
    options.threads = 1;
    const kith::Index index(kith::view(points.data(), 8, 1), options);
    const auto search = [&] {
        // Not the shape of the last call: plans are made anew and remembered.
        return index.search(kith::view(points.data(), 2, 1), 1, options).ids[1] == 1 &&
               index.search(kith::view(points.data(), 3, 1), 2, options).ids[4] == 2;
    };
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i)
        others.emplace_back([&] {
            while (!stop) search();
        });
    bool right = true;
    for (int i = 0; i < 200 && right; ++i) right = status_of_child([&] { return search() ? 7 : 1; }) == 7;
    EXPECT_TRUE(right);
    stop = true;
    for (std::thread& other : others) other.join();
}

TEST(Parallel, ASearchOfOneThreadStartsNone) {
    const auto starts_none = [](kith::MetricId metric, std::int64_t n, std::int64_t d) {
        // In a child, so that nobody has started any before.
        EXPECT_EQ(7, status_of_child([&] {
                      const std::size_t before = thread_states().size();
                      return searches(1, metric, n, d) && thread_states().size() == before ? 7 : 1;
                  }))
            << kith::name(metric);
    };
    // More values than one task checks.
    for (const kith::MetricId metric :
         {kith::MetricId::sqeuclidean, kith::MetricId::cosine, kith::MetricId::hellinger, kith::MetricId::canberra})
        starts_none(metric, 400, 200);
    starts_none(kith::MetricId::mahalanobis, 400, 20);
}

TEST(Parallel, AReportSaysHowManyThreads) {
    const std::vector<float> points(1000, 1.0f);
    kith::Options options;
    options.device = "cpu";
    options.threads = 3;
    const kith::Report report = kith::graph(kith::view(points.data(), 100, 10), 2, options).report;
    EXPECT_EQ(3, report.threads);
    EXPECT_NE(std::string::npos, report.device.find("3 threads)")) << report.device;
}

}  // namespace
