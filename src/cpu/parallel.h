// Tasks on OpenMP threads; the first exception stops the rest and is thrown to the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace kith::cpu {

// Calls work(task) for every task in [0, count) on up to `threads` threads, in order of task number as threads get
// free.
template <class F>
void parallel_tasks(int threads, std::int64_t count, const F& work) {
    std::exception_ptr error;
    std::atomic<bool> failed{false};
    if (threads > count) threads = static_cast<int>(count);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads < 1 ? 1 : threads)
    for (std::int64_t task = 0; task < count; ++task) {
        if (failed.load(std::memory_order_relaxed)) continue;
        try {
            work(task);
        } catch (...) {
            if (!failed.exchange(true)) error = std::current_exception();
        }
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace kith::cpu
