// Jobs are on their callers' stacks, in a list; workers join the oldest with room. See
// thread_pool.h.
#include "machine/thread_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "machine/float_state.h"

namespace kith::machine {

namespace {

using Clock = std::chrono::steady_clock;

// Before a worker sleeps it spins for this long, about the time of waking it.
constexpr auto spin_time = std::chrono::microseconds(50);
// Limits of a caller's spinning before it sleeps until the others have ended their last tasks. If
// spinning failed, as with more threads than free processors, the next spin is half as long;
// otherwise twice as long.
constexpr std::chrono::nanoseconds min_patience = spin_time, max_patience = 8 * spin_time;
// Delay after a failed start of a worker, before the next attempt.
constexpr auto attempt_interval = std::chrono::seconds(1);
// Interval between calls of a caller's `wait`.
constexpr auto wait_interval = std::chrono::milliseconds(20);
// Number of workers that a woken worker wakes.
constexpr int wakes = 2;

// True within a task, to detect nested calls.
thread_local bool within_task = false;

template <class Changed>
bool spin(std::chrono::nanoseconds time, const Changed& changed) {
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
        if (changed()) return true;
#if defined(__x86_64__)
        for (int i = 0; i < 8; ++i) __builtin_ia32_pause();
#endif
    }
    return changed();
}

// True if one more worker leaves a process of limited address space enough for its work. Workers
// may take half of it.
bool address_space_for(std::size_t workers) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    constexpr double heap = 64 << 20;  // glibc's malloc reserves this for each thread
    std::size_t stack = std::size_t{8} << 20;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &stack);
        pthread_attr_destroy(&attributes);
    }
    std::FILE* const statm = std::fopen("/proc/self/statm", "re");
    if (!statm) return true;
    double pages = 0;
    const bool known = std::fscanf(statm, "%lf", &pages) == 1;
    std::fclose(statm);
    const double left =
        static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(sysconf(_SC_PAGESIZE));
    const auto others = static_cast<double>(workers), stack_bytes = static_cast<double>(stack);
    return !known || (others + 1) * (stack_bytes + heap) <= (left + others * stack_bytes) / 2;
}

}  // namespace

int start_thread(pthread_t* thread, void* (*body)(void*), void* argument) {
    sigset_t blocked, before;
    sigfillset(&blocked);
    // Signals that a thread causes itself, and the profiling signal.
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF})
        sigdelset(&blocked, own);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int result = pthread_create(thread, nullptr, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return result;
}

struct ThreadPool::Job {
    Task task;
    const void* context;
    std::int64_t count;
    int most;  // workers
    std::atomic<std::int64_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error{};
    int joined = 0;              // number of workers that ever joined
    std::atomic<int> active{0};  // workers inside; the waiting caller reads it without the mutex
    std::condition_variable left{};
    Job* following = nullptr;

    int room() const { return next.load(std::memory_order_relaxed) < count ? most - joined : 0; }

    void work(int worker) noexcept {
        while (!failed.load(std::memory_order_relaxed)) {
            const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
            if (i >= count) return;
            try {
                task(context, i, worker);
            } catch (...) {
                if (!failed.exchange(true)) error = std::current_exception();
            }
        }
    }
};

void ThreadPool::run(int threads, std::int64_t count, Task task, const void* context, Wait wait,
                     Cost cost) {
    threads = static_cast<int>(std::min<std::int64_t>(threads, count));
    if (threads <= 1 || within_task) {
        for (std::int64_t i = 0; i < count; ++i) task(context, i, 0);
        return;
    }
    Job job{task, context, count, threads - 1};
    post(job, cost);
    within_task = true;
    job.work(0);
    within_task = false;
    retire(job, wait);
    if (job.error) std::rethrow_exception(job.error);
}

int ThreadPool::available(int threads) {
    const std::lock_guard lock(mutex_);
    const int all = closed_ || missing_ ? static_cast<int>(workers_.size()) + 1 : threads;
    return std::min(threads, all);
}

// Workers stay awake between calls in quick succession, so waking them pays off over several calls.
bool ThreadPool::worth_waking(Cost cost) const {
    return cost >= waking_cost || Clock::now() - last_end_ < spin_time;
}

void ThreadPool::post(Job& job, Cost cost) {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    Job** end = &jobs_;
    while (*end) end = &(*end)->following;
    *end = &job;
    posts_.fetch_add(1, std::memory_order_relaxed);
    if (!worth_waking(cost)) return;
    wake(job);
    most_ = std::max(most_, job.most);
    while (job.room() > 0 && idle_ < wanted() && static_cast<int>(workers_.size()) < most_ &&
           start_worker()) {
        lock.unlock();  // lets the worker begin
        lock.lock();
        if (closed_) return;
    }
}

void ThreadPool::retire(Job& job, Wait wait) {
    std::unique_lock lock(mutex_);
    for (Job** at = &jobs_; *at; at = &(*at)->following) {
        if (*at != &job) continue;
        *at = job.following;
        break;
    }
    last_end_ = Clock::now();
    const auto alone = [&job] { return job.active.load(std::memory_order_relaxed) == 0; };
    if (alone()) return;
    const std::chrono::nanoseconds patience =
        std::max<std::chrono::nanoseconds>(patience_, min_patience);
    lock.unlock();
    const bool in_time = spin(patience, alone);
    lock.lock();
    patience_ = std::clamp(in_time ? 2 * patience : patience / 2, min_patience, max_patience);
    if (!wait) return job.left.wait(lock, alone);
    while (!job.left.wait_for(lock, wait_interval, alone)) {
        lock.unlock();
        wait(job.context);
        lock.lock();
    }
}

// The number of workers that the posted jobs could use.
int ThreadPool::wanted() const {
    std::int64_t sum = 0;
    for (const Job* job = jobs_; job; job = job->following) sum += job->room();
    return static_cast<int>(std::min<std::int64_t>(sum, most_));
}

bool ThreadPool::start_worker() {
    const auto now = Clock::now();
    if (missing_ && now < next_attempt_) return false;
    missing_ = true;
    next_attempt_ = now + attempt_interval;
    if (!address_space_for(workers_.size())) return false;
    const auto body = [](void* worker) -> void* {
        auto& self = *static_cast<Worker*>(worker);
        self.pool->serve(self);
        return nullptr;
    };
    try {
        workers_.push_back(std::make_unique<Worker>());
    } catch (const std::bad_alloc&) {
        return false;
    }
    Worker& worker = *workers_.back();
    worker.pool = this;
    if (start_(&worker.thread, body, &worker) != 0) {
        workers_.pop_back();
        return false;
    }
    ++idle_;
    missing_ = false;
    return true;
}

void ThreadPool::wake(const Job& job) {
    for (int i = std::min({wakes, sleeping_, job.room()}); i > 0; --i) posted_.notify_one();
}

void ThreadPool::await_post(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t seen = posts_.load(std::memory_order_relaxed);
    const auto changed = [&] { return posts_.load(std::memory_order_relaxed) != seen; };
    lock.unlock();
    spin(spin_time, changed);
    lock.lock();
    if (changed()) return;
    ++sleeping_;
    posted_.wait(lock);
    --sleeping_;
}

void ThreadPool::serve(Worker& self) {
    within_task = true;
    const FloatState state;
    std::unique_lock lock(mutex_);
    while (!closed_) {
        Job* job = jobs_;
        while (job && job->room() < 1) job = job->following;
        if (!job) {
            await_post(lock);
            continue;
        }
        const int number = ++job->joined;
        ++job->active;
        --idle_;
        self.busy = true;
        wake(*job);
        lock.unlock();
        job->work(number);
        lock.lock();
        self.busy = false;
        ++idle_;
        // Under the mutex: the job is destroyed after its caller's wait.
        if (--job->active == 0) job->left.notify_one();
    }
}

void ThreadPool::close() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(closed_, true)) return;
        for (const auto& worker : workers_) worker->finished = !worker->busy;
        posts_.fetch_add(1, std::memory_order_relaxed);
        posted_.notify_all();
    }
    for (const auto& worker : workers_) {
        if (worker->finished) pthread_join(worker->thread, nullptr);
        else pthread_detach(worker->thread);
    }
}

}  // namespace kith::machine
