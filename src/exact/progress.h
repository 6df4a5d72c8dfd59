// ProgressMeter: counts finished pairs from any thread, calls the caller's callback from the
// calling thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>

#include "kith/error.h"
#include "kith/types.h"
#include "machine/float_state.h"

namespace kith {

class ProgressMeter {
public:
    // Between two reports; tests want one at every poll.
    static inline std::atomic<int> milliseconds_between = 100;

    ProgressMeter(const std::function<bool(const Progress&)>& callback, double total)
        : callback_(callback),
          total_(total),
          start_(std::chrono::steady_clock::now()),
          last_(start_) {}

    // What was done is done again: counts from nothing. Where nothing else runs.
    void restart() { done_ = 0; }
    // Any thread.
    void add(double pairs) { done_.fetch_add(pairs, std::memory_order_relaxed); }
    double done() const { return done_.load(std::memory_order_relaxed); }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

    // The calling thread, often: reports about ten times a second.
    void poll(const char* stage) {
        if (!callback_ || cancelled()) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ <
            std::chrono::milliseconds(milliseconds_between.load(std::memory_order_relaxed)))
            return;
        const machine::FloatState
            state;  // a callback of the library's own comes from where its caller's is
        const double seconds = std::chrono::duration<double>(now - start_).count();
        try {
            if (!machine::for_caller(callback_)(
                    Progress{done_.load(std::memory_order_relaxed), total_, seconds, stage}))
                cancelled_ = true;
        } catch (...) {  // not through the threads of a search: the caller gets it at its end
            thrown_ = std::current_exception();
            cancelled_ = true;
        }
        last_ = std::chrono::steady_clock::now();  // a slow callback is not called all the time
    }

    // The calling thread, where nothing else runs.
    void throw_if_cancelled() const {
        if (thrown_) std::rethrow_exception(thrown_);
        if (cancelled()) throw Error(ErrorCode::cancelled, "cancelled by the progress callback");
    }

private:
    const std::function<bool(const Progress&)>& callback_;
    double total_;
    std::chrono::steady_clock::time_point start_, last_;
    std::atomic<double> done_{0};
    std::atomic<bool> cancelled_{false};
    std::exception_ptr thrown_;
};

}  // namespace kith
