// A mutex of the whole process that no child of fork() waits for in vain.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "io/errors.h"

namespace kith::io {

// A thread that has it may lock it again. Where a thread of the parent had it at the time of a
// fork(), the child has no thread that would unlock it, and perhaps data that were half changed:
// there it cannot be had. Constant-initialised.
class ProcessMutex {
public:
    // Throws bad_file, which begins with `what`, in such a child.
    void lock(const char* what) {
        const std::uint64_t self = this_thread();
        for (std::uint64_t found = 0; !holder_.compare_exchange_strong(found, self); found = 0) {
            if (found == self) break;
            if (process_of(found) != process_of(self))
                bad_file(what,
                         "a thread of the process that this one was forked from was using it: "
                         "cannot be used");
            holder_.wait(found);
        }
        ++depth_;
    }
    void unlock() {
        if (--depth_ > 0) return;
        holder_ = 0;
        holder_.notify_one();
    }

private:
    static std::uint64_t this_thread() {
        return static_cast<std::uint64_t>(::getpid()) << 32 |
               static_cast<std::uint32_t>(::gettid());
    }
    static std::uint64_t process_of(std::uint64_t thread) { return thread >> 32; }

    std::atomic<std::uint64_t> holder_{0};  // 0: nobody
    int depth_ = 0;                         // of its holder's locks
};

class ProcessLock {
public:
    ProcessLock(ProcessMutex& mutex, const char* what) : mutex_(mutex) { mutex_.lock(what); }
    ~ProcessLock() { mutex_.unlock(); }
    ProcessLock(const ProcessLock&) = delete;
    ProcessLock& operator=(const ProcessLock&) = delete;

private:
    ProcessMutex& mutex_;
};

}  // namespace kith::io
