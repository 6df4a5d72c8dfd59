// Parallel tasks with a progress callback that can cancel them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "exact/report/progress.h"
#include "machine/parallel.h"

namespace kith {

// machine::parallel_tasks with polling. The calling thread polls after each of its tasks, while it
// waits for the others and when all have ended. After a cancellation no task begins. A task must be
// short, or poll (worker 0) and check cancelled() itself. `cost`: see ThreadPool::run.
template <class F>
void watched_tasks(int threads, std::int64_t count, ProgressMeter& progress, const char* stage,
                   const F& work, machine::ThreadPool::Cost cost = machine::ThreadPool::unknown) {
    const auto task = [&](std::int64_t task, int worker) {
        if (progress.cancelled()) return;
        if constexpr (std::is_invocable_v<const F&, std::int64_t, int>) work(task, worker);
        else work(task);
        if (worker == 0) progress.poll(stage);
    };
    machine::parallel_tasks(
        threads, count, task, [&] { progress.poll(stage); }, cost);
    progress.poll(stage);
}

// Likewise for ranges of up to `grain` numbers that cover [0, n): work(first, last).
template <class F>
void watched_for(int threads, std::int64_t n, std::int64_t grain, ProgressMeter& progress,
                 const char* stage, const F& work) {
    watched_tasks(threads, (n + grain - 1) / grain, progress, stage,
                  [&](std::int64_t task) { work(task * grain, std::min(n, (task + 1) * grain)); });
}

}  // namespace kith
