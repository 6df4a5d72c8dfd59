// Progress and cancellation of a call.
#pragma once

#include <utility>

#include "kith/error.h"
#include "kith/groundtruth.h"
#include "kith/stopwatch.h"
#include "machine/float_state.h"

namespace kith::groundtruth {

// Belongs to one call and its thread.
class Stop {
public:
    explicit Stop(OnStep on_step) : on_step_(std::move(on_step)) {}
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

    // Reports progress. Throws cancelled once the caller has ended the call.
    void at(const char* stage, double done, double total) {
        Step step;
        step.stage = stage;
        step.done = done;
        step.total = total;
        at(step);
    }
    void at(const Step& step) {
        tell(step);
        check();
    }
    // Likewise for callbacks that must not throw: returns false once the caller has ended the call.
    bool tell(const Step& step) {
        step_ = step;
        return goes_on();
    }
    // Calls the caller's callback again if enough time has passed.
    bool goes_on() {
        if (!on_step_ || stopped_) return !stopped_;
        // a search or a reader calls with its caller's floating-point state
        const machine::FloatState state;
        const double now = clock_.seconds();
        if (now < next_) return true;
        next_ = now + apart;
        step_.seconds = now;
        stopped_ = !machine::for_caller(on_step_)(step_);
        return !stopped_;
    }
    void check() {
        if (!goes_on()) throw Error(ErrorCode::cancelled, "cancelled");
    }

private:
    static constexpr double apart = 0.03;  // seconds

    OnStep on_step_;
    Step step_;
    Stopwatch clock_;
    double next_ = 0;
    bool stopped_ = false;
};

}  // namespace kith::groundtruth
