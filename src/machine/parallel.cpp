// The pool of the process, through forks and to its exit.
#include "machine/parallel.h"

#include <pthread.h>

#include "machine/lasting.h"

namespace kith::machine {

namespace {

constinit Lasting<ThreadPool> shared;
// The parent's pool in a child, which has none of its workers and perhaps a mutex that nobody will
// unlock.
constinit std::atomic<ThreadPool*> forgotten{nullptr};
constinit std::atomic<bool> forgets{false}, closing{false};

void forget_pool() {
    if (ThreadPool* const pool = shared.release()) forgotten = pool;
}

// Before there is a pool; registered twice it does no harm.
bool forget_at_fork() {
    if (!forgets) forgets = pthread_atfork(nullptr, nullptr, forget_pool) == 0;
    return forgets;
}

// At the exit of the process, or before the library is unloaded. The pool stays where it is: other
// threads and later destructors may still search.
[[gnu::destructor]] void close_pool() {
    closing = true;
    if (ThreadPool* const pool = shared.made()) pool->close();
}

// Null once the process ends, and where a child could not forget it.
ThreadPool* pool() {
    if (ThreadPool* const pool = shared.made()) return pool;
    if (closing || !forget_at_fork()) return nullptr;
    return &shared.get([] { return std::make_unique<ThreadPool>(default_threads()); });
}

}  // namespace

void run_tasks(int threads, std::int64_t count, ThreadPool::Task task, const void* context,
               ThreadPool::Wait wait, ThreadPool::Cost cost) {
    ThreadPool* const own = threads > 1 && count > 1 ? pool() : nullptr;
    if (own) return own->run(threads, count, task, context, wait, cost);
    for (std::int64_t i = 0; i < count; ++i) task(context, i, 0);
}

int available_threads(int threads) {
    ThreadPool* const own = threads > 1 ? pool() : nullptr;
    return own ? own->available(threads) : 1;
}

}  // namespace kith::machine
