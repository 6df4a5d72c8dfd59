// Progress of a call that consists of several searches, each of which may be too short for a report
// of its own.
#pragma once

#include <functional>
#include <type_traits>

#include "exact/report/progress.h"
#include "kith/types.h"

namespace kith {

// Polls the caller's callback from the callbacks of the parts and at the end of each part. Reports
// count finished parts. For the calling thread only.
class PartsMeter {
public:
    // `callback` must outlive the object; `total`: the work of all parts.
    PartsMeter(const std::function<bool(const Progress&)>& callback, double total,
               const char* stage)
        : meter_(callback, total), stage_(stage), heard_(static_cast<bool>(callback)) {}
    PartsMeter(const PartsMeter&) = delete;
    PartsMeter& operator=(const PartsMeter&) = delete;

    // `options` for the searches of a part; valid during this object's life.
    Options of_part(Options options) {
        options.progress = nullptr;
        if (heard_)
            options.progress = [this](const Progress&) {
                meter_.poll(stage_);
                return !meter_.cancelled();
            };
        return options;
    }

    // Runs `part`, which is `work` of the total, and returns its result. Rethrows an exception of
    // the caller's callback; throws `cancelled` if the callback cancels; else throws what the part
    // threw.
    template <class F>
    auto run(double work, const F& part) {
        if constexpr (std::is_void_v<std::invoke_result_t<const F&>>) {
            attempt(part);
            end(work);
        } else {
            auto result = attempt(part);
            end(work);
            return result;
        }
    }

private:
    template <class F>
    auto attempt(const F& part) {
        try {
            return part();
        } catch (...) {
            meter_.throw_if_cancelled();
            throw;
        }
    }
    void end(double work) {
        meter_.add(work);
        meter_.poll(stage_);
        meter_.throw_if_cancelled();
    }

    ProgressMeter meter_;
    const char* stage_;
    bool heard_;
};

}  // namespace kith
