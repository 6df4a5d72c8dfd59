// Tasks and ranges on the threads of the process' own pool; the first exception stops the rest and is thrown to the
// caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "machine/thread_pool.h"

namespace kith::machine {

// ThreadPool::run() of the pool that the process has one of. It goes on with fewer threads where the system has no
// more, starts none for `threads` = 1, and serves a process that was forked from one that had used it.
void run_tasks(int threads, std::int64_t count, ThreadPool::Task task, const void* context,
               ThreadPool::Wait wait = nullptr);

// Of `threads`, those that the system lets a call have.
int available_threads(int threads);

// Threads where the caller names no number: OMP_NUM_THREADS where it is set, else the processors that the process may
// use by its affinity and its cgroup.
int default_threads();

// Calls work(task) or work(task, worker) for every task in [0, count) on up to `threads` threads, in order of task
// number as threads get free. The calling thread is worker 0; workers have numbers below `threads`.
template <class F>
void parallel_tasks(int threads, std::int64_t count, const F& work) {
    const auto call = [](const void* context, std::int64_t task, [[maybe_unused]] int worker) {
        const F& f = *static_cast<const F*>(context);
        if constexpr (std::is_invocable_v<const F&, std::int64_t, int>) f(task, worker);
        else f(task);
    };
    run_tasks(threads, count, call, &work);
}

// Calls work(first, last) for ranges of up to `grain` numbers that make up [0, n).
template <class F>
void parallel_for(int threads, std::int64_t n, std::int64_t grain, const F& work) {
    parallel_tasks(threads, (n + grain - 1) / grain,
                   [&](std::int64_t task) { work(task * grain, std::min(n, (task + 1) * grain)); });
}

}  // namespace kith::machine
