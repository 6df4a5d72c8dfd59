// Whether a call goes on: its caller is told where it stands, and may end it.
#pragma once

#include <utility>

#include "kith/error.h"
#include "kith/groundtruth.h"
#include "kith/stopwatch.h"
#include "machine/float_state.h"

namespace kith::groundtruth {

// Of one call, in its thread.
class Stop {
public:
    explicit Stop(OnStep on_step) : on_step_(std::move(on_step)) {}
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

    // Where the call stands from here on. Throws cancelled once the caller has ended it.
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
    // The same for callbacks that must not throw: false once the caller has ended the call.
    bool tell(const Step& step) {
        step_ = step;
        return goes_on();
    }
    // Asks the caller again, where that was some time ago.
    bool goes_on() {
        if (!on_step_ || stopped_) return !stopped_;
        const machine::FloatState state;  // a search or a reader calls from where its caller is
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
