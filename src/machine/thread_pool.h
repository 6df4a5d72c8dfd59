// Worker threads shared by calls from any thread; a worker without work sleeps.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

namespace kith::machine {

// pthread_create with default attributes; the new thread blocks all signals meant for the process.
int start_thread(pthread_t* thread, void* (*body)(void*), void* argument);

class ThreadPool {
public:
    // Returns 0 if the thread runs.
    using Start = int (*)(pthread_t* thread, void* (*body)(void*), void* argument);
    using Task = void (*)(const void* context, std::int64_t task, int worker);
    using Wait = void (*)(const void* context);
    using Cost = std::chrono::duration<double, std::micro>;
    static constexpr Cost unknown{std::numeric_limits<double>::infinity()};
    // A job of less is not worth waking another thread for.
    static constexpr Cost waking_cost{50};

    // `threads`: the total that concurrent calls share, unless one call asks for more. Threads are
    // started on demand only.
    explicit ThreadPool(int threads, Start start = start_thread)
        : most_(threads - 1), start_(start) {}
    // No call may be running.
    ~ThreadPool() { close(); }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // Calls task(context, i, worker) for every i in [0, count), in order as threads become free.
    // The calling thread is worker 0; up to threads - 1 workers join if they are free or can be
    // started, or none. Each has a distinct number below `threads`. A call from within a task runs
    // on its own thread alone. After the first exception no further task begins, and the exception
    // is thrown to the caller. While the caller only waits for the others, `wait` (unless null; it
    // must not throw) is called some tens of times a second. `cost`: estimated time of all tasks on
    // one thread. If it is below that of waking a thread, only awake workers join, unless such
    // calls follow each other at once.
    void run(int threads, std::int64_t count, Task task, const void* context, Wait wait = nullptr,
             Cost cost = unknown);

    // The number of requested threads that the system provides, as far as known.
    int available(int threads);

    // Ends the workers; one within a task ends after it. Later calls run on their own thread.
    void close();

private:
    struct Job;
    struct Worker {
        ThreadPool* pool = nullptr;
        pthread_t thread{};
        bool busy = false;      // inside a job
        bool finished = false;  // to be joined by close()
    };

    void post(Job& job, Cost cost);
    bool worth_waking(Cost cost) const;
    void retire(Job& job, Wait wait);
    bool start_worker();
    void serve(Worker& self);
    void wake(const Job& job);
    void await_post(std::unique_lock<std::mutex>& lock);
    int wanted() const;

    std::mutex mutex_;  // guards all members below, and each job's counts
    std::condition_variable posted_;
    std::atomic<std::uint64_t> posts_{0};  // waiting threads read it without the mutex
    Job* jobs_ = nullptr;                  // oldest first
    std::vector<std::unique_ptr<Worker>> workers_;
    int most_;  // workers
    int idle_ = 0, sleeping_ = 0;
    std::chrono::nanoseconds patience_{0};
    std::chrono::steady_clock::time_point last_end_{};  // end of the last job
    bool closed_ = false;
    bool missing_ = false;  // the last attempt to start a worker failed
    std::chrono::steady_clock::time_point next_attempt_{};
    Start start_;
};

}  // namespace kith::machine
