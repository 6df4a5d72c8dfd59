// Calls into the library without the GIL that Ctrl-C and a progress callback can end.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <exception>
#include <type_traits>
#include <utility>

#include "gil.h"
#include "kith/error.h"
#include "kith/types.h"

namespace kith::python {

// Sets options.progress to look for signals and to call `callback` (None, or a callable that takes pairs done, pairs in
// all, seconds and the stage, and returns False to cancel); holds what either raised. A callback that was
// called is called once more at the end of what succeeded, with all pairs done.
class Interruptible {
public:
    Interruptible(Options& options, nanobind::handle callback) : callback_(callback) {
        // Only Python's first thread handles signals.
        if (callback.is_none() && gettid() != getpid()) return;
        options.progress = [this](const Progress& progress) { return go_on(progress); };
    }

    // `work` without the GIL. An exception of the callback or a signal's handler takes the place of Error{cancelled}.
    template <class Work>
    auto run(Work&& work) {
        try {
            const auto unlocked = [&work] {
                const ReleasedGil released;
                return std::forward<Work>(work)();
            };
            if constexpr (std::is_void_v<decltype(unlocked())>) {
                unlocked();
                tell_the_end();
            } else {
                auto result = unlocked();
                tell_the_end();
                return result;
            }
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled && raised_) std::rethrow_exception(raised_);
            throw;
        }
    }

private:
    bool go_on(const Progress& progress) {
        const AcquiredGil acquired;
        try {
            check_signals();
            if (callback_.is_none()) return true;
            told_ = progress;
            return !is_false(tell(progress));
        } catch (...) {
            raised_ = std::current_exception();
            return false;
        }
    }

    nanobind::object tell(const Progress& progress) const {
        return call(callback_, nanobind::make_tuple(progress.done, progress.total, progress.seconds, progress.stage));
    }

    void tell_the_end() const {
        if (told_.done < told_.total) tell({told_.total, told_.total, told_.seconds, told_.stage});
    }

    // False, also of numpy's and others' (comparisons with their numbers); nothing else that is false, such as None.
    static bool is_false(const nanobind::object& answer) {
        if (answer.is(Py_False)) return true;
        return nanobind::hasattr(answer, "dtype") && PyObject_Not(answer.ptr()) == 1;
    }

    nanobind::handle callback_;
    Progress told_;  // what the callback was given last
    std::exception_ptr raised_;
};

}  // namespace kith::python
