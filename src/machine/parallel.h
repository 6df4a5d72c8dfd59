// Tasks on the threads of the process' own pool; the first exception stops the rest and is thrown
// to the caller.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "machine/thread_pool.h"

namespace kith::machine {

// ThreadPool::run() of the pool that the process has one of. It goes on with fewer threads where
// the system has no more, starts none for `threads` = 1, and serves a process that was forked from
// one that had used it.
void run_tasks(int threads, std::int64_t count, ThreadPool::Task task, const void* context,
               ThreadPool::Wait wait = nullptr, ThreadPool::Cost cost = ThreadPool::unknown);

// Of `threads`, those that the system lets a call have.
int available_threads(int threads);

// Threads where the caller names no number: OMP_NUM_THREADS where it is set, else the processors
// that the process may use by its affinity and its cgroup.
int default_threads();
// The same, counted anew, with the control groups and /proc below `root`; "" is this machine.
int count_threads(const std::string& root);

struct NoWait {
    void operator()() const {}
};

// The same: work(task) or work(task, worker), and wait(), which throws nothing.
template <class F, class W = NoWait>
void parallel_tasks(int threads, std::int64_t count, const F& work, const W& wait = {},
                    ThreadPool::Cost cost = ThreadPool::unknown) {
    struct Context {
        const F& work;
        const W& wait;
    };
    const Context context{work, wait};
    const auto call = [](const void* of, std::int64_t task, [[maybe_unused]] int worker) {
        const F& f = static_cast<const Context*>(of)->work;
        if constexpr (std::is_invocable_v<const F&, std::int64_t, int>) f(task, worker);
        else f(task);
    };
    run_tasks(
        threads, count, call, &context,
        [](const void* of) { static_cast<const Context*>(of)->wait(); }, cost);
}

}  // namespace kith::machine
