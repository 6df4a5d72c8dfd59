// The pool of the process, through forks and to its exit.
#include "machine/parallel.h"

#include <pthread.h>

namespace kith::machine {

namespace {

constinit std::atomic<ThreadPool*> shared{nullptr};
// The parent's pool in a child, which has none of its workers and perhaps a mutex that nobody will unlock.
constinit std::atomic<ThreadPool*> forgotten{nullptr};
constinit std::atomic<bool> closing{false};

[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] {
    if (ThreadPool* const pool = shared.exchange(nullptr)) forgotten = pool;
});

// At the exit of the process, or before the library is unloaded. The pool stays where it is: other threads and later
// destructors may still search.
struct AtExit {
    ~AtExit() {
        closing = true;
        if (ThreadPool* const pool = shared) pool->close();
    }
};
const AtExit at_exit;

// Null once the process ends.
ThreadPool* pool() {
    if (ThreadPool* const pool = shared) return pool;
    if (closing) return nullptr;
    auto made = std::make_unique<ThreadPool>(default_threads());
    ThreadPool* expected = nullptr;
    return shared.compare_exchange_strong(expected, made.get()) ? made.release() : expected;
}

}  // namespace

void run_tasks(int threads, std::int64_t count, ThreadPool::Task task, const void* context, ThreadPool::Wait wait,
               ThreadPool::Cost cost) {
    ThreadPool* const own = threads > 1 && count > 1 ? pool() : nullptr;
    if (own) return own->run(threads, count, task, context, wait, cost);
    for (std::int64_t i = 0; i < count; ++i) task(context, i, 0);
}

int available_threads(int threads) {
    ThreadPool* const own = threads > 1 ? pool() : nullptr;
    return own ? own->available(threads) : 1;
}

}  // namespace kith::machine
