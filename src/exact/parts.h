// Progress of a call that is made of parts: searches, each of which may be too short for a report
// of its own.
#pragma once

#include <functional>
#include <type_traits>

#include "exact/progress.h"
#include "kith/types.h"

namespace kith {

// The callbacks of the parts ask the caller's, as does the end of each part; reports count the
// parts' work. The calling thread alone.
class PartsMeter {
public:
    // `callback` outlives it; `total`: the work of all parts.
    PartsMeter(const std::function<bool(const Progress&)>& callback, double total,
               const char* stage)
        : meter_(callback, total), stage_(stage), heard_(static_cast<bool>(callback)) {}
    PartsMeter(const PartsMeter&) = delete;
    PartsMeter& operator=(const PartsMeter&) = delete;

    // `options` as the searches of a part take them; not beyond this meter's life.
    Options of_part(Options options) {
        options.progress = nullptr;
        if (heard_)
            options.progress = [this](const Progress&) {
                meter_.poll(stage_);
                return !meter_.cancelled();
            };
        return options;
    }

    // What `part` returns, which is so much of the work. Throws what the caller's callback threw,
    // cancelled where it wants no more, else what the part threw.
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
