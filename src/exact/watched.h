// Tasks on several threads that the caller's progress callback watches and can cancel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "exact/progress.h"
#include "machine/parallel.h"

namespace kith {

// As machine::parallel_tasks. The calling thread polls after each of its tasks, while it waits for
// the others and when all have ended; once cancelled no task begins. Tasks are to be short, or to
// poll (worker 0) and look at cancelled() themselves. `cost`: as ThreadPool::run has it.
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

// The same of ranges of up to `grain` numbers that make up [0, n): work(first, last).
template <class F>
void watched_for(int threads, std::int64_t n, std::int64_t grain, ProgressMeter& progress,
                 const char* stage, const F& work) {
    watched_tasks(threads, (n + grain - 1) / grain, progress, stage,
                  [&](std::int64_t task) { work(task * grain, std::min(n, (task + 1) * grain)); });
}

}  // namespace kith
