// Tasks on several threads that the caller's progress callback watches and can cancel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "exact/progress.h"
#include "machine/parallel.h"

namespace kith {

// As machine::parallel_tasks. The calling thread polls after each of its tasks and while it waits for the others; once
// cancelled no task begins. Tasks are to be short, or to poll (worker 0) and look at cancelled() themselves.
template <class F>
void watched_tasks(int threads, std::int64_t count, ProgressMeter& progress, const char* stage, const F& work) {
    struct Context {
        const F& work;
        ProgressMeter& progress;
        const char* stage;
    };
    const Context context{work, progress, stage};
    const auto task = [](const void* all, std::int64_t task, int worker) {
        const auto& c = *static_cast<const Context*>(all);
        if (c.progress.cancelled()) return;
        if constexpr (std::is_invocable_v<const F&, std::int64_t, int>) c.work(task, worker);
        else c.work(task);
        if (worker == 0) c.progress.poll(c.stage);
    };
    const auto wait = [](const void* all) {
        const auto& c = *static_cast<const Context*>(all);
        c.progress.poll(c.stage);
    };
    machine::run_tasks(threads, count, task, &context, wait);
}

// The same of ranges of up to `grain` numbers that make up [0, n): work(first, last).
template <class F>
void watched_for(int threads, std::int64_t n, std::int64_t grain, ProgressMeter& progress, const char* stage,
                 const F& work) {
    watched_tasks(threads, (n + grain - 1) / grain, progress, stage,
                  [&](std::int64_t task) { work(task * grain, std::min(n, (task + 1) * grain)); });
}

}  // namespace kith
