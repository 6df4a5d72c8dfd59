// Tasks on the process-wide pool; the first exception stops the rest and is thrown to the caller.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "machine/thread_pool.h"

namespace kith::machine {

// ThreadPool::run() on the process-wide pool. It continues with fewer threads if the system has no
// more, and starts none for `threads` = 1. It also works in a process forked after the parent used
// the pool.
void run_tasks(int threads, std::int64_t count, ThreadPool::Task task, const void* context,
               ThreadPool::Wait wait = nullptr, ThreadPool::Cost cost = ThreadPool::unknown);

// The number of `threads` that the system lets a call have.
int available_threads(int threads);

// The default number of threads: OMP_NUM_THREADS if it is set, else the processors that affinity
// and cgroup permit.
int default_threads();
// Likewise, counted again, with the control groups and /proc below `root`; "" is this machine.
int count_threads(const std::string& root);

struct NoWait {
    void operator()() const {}
};

// run_tasks() with callables: work(task) or work(task, worker), and wait(), which must not throw.
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
