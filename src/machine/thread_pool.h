// Worker threads that calls from any thread share; one that finds no work sleeps.
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

// As pthread_create with default attributes; the new thread receives no signal that is meant for
// the process.
int start_thread(pthread_t* thread, void* (*body)(void*), void* argument);

class ThreadPool {
public:
    // 0 where the thread runs.
    using Start = int (*)(pthread_t* thread, void* (*body)(void*), void* argument);
    using Task = void (*)(const void* context, std::int64_t task, int worker);
    using Wait = void (*)(const void* context);
    using Cost = std::chrono::duration<double, std::micro>;
    static constexpr Cost unknown{std::numeric_limits<double>::infinity()};

    // `threads`: as many as calls that ask for fewer may have between them. None is started before
    // a call asks for it.
    explicit ThreadPool(int threads, Start start = start_thread)
        : most_(threads - 1), start_(start) {}
    // No call may be running.
    ~ThreadPool() { close(); }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // Calls task(context, i, worker) for every i in [0, count), in order as threads get free: the
    // calling thread, as worker 0, and up to threads - 1 workers that are free or can be started,
    // none being fine. Each takes a number below `threads` of its own. A call from within a task
    // runs on its own thread alone. After the first exception no further task begins; it is thrown
    // to the caller. While the caller has nothing left to do but wait for the others, `wait`
    // (unless null; it throws nothing) is called some tens of times a second. `cost`: roughly what
    // all tasks take one thread. For a cost below that of waking a thread only workers that are
    // awake join, unless such calls follow each other at once.
    void run(int threads, std::int64_t count, Task task, const void* context, Wait wait = nullptr,
             Cost cost = unknown);

    // Of the threads that a call asks for, those that the system lets it have, as far as has been
    // seen.
    int available(int threads);

    // Ends the workers, except those that are within a task: they end after it. Later calls run on
    // their own thread.
    void close();

private:
    struct Job;
    struct Worker {
        ThreadPool* pool = nullptr;
        pthread_t thread{};
        bool busy = false;      // within a job
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

    std::mutex mutex_;  // of all that follows, and of each job's counts
    std::condition_variable posted_;
    std::atomic<std::uint64_t> posts_{0};  // read without the mutex by those that wait for a change
    Job* jobs_ = nullptr;                  // oldest first
    std::vector<std::unique_ptr<Worker>> workers_;
    int most_;  // workers
    int idle_ = 0, sleeping_ = 0;
    std::chrono::nanoseconds patience_{0};
    std::chrono::steady_clock::time_point last_end_{};  // of a job
    bool closed_ = false;
    bool missing_ = false;  // the last attempt to start a worker failed
    std::chrono::steady_clock::time_point next_attempt_{};
    Start start_;
};

}  // namespace kith::machine
