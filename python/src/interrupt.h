// Calls into the library without the GIL that Ctrl-C and a progress callback can end.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "gil.h"
#include "kith/error.h"
#include "kith/types.h"

namespace kith::python {

// Sets options.progress to look for signals and to call `callback` (None, or a callable that takes pairs done, pairs in
// all, seconds and the stage, and returns False to cancel); holds what either raised.
class Interruptible {
public:
    Interruptible(Options& options, nanobind::handle callback) {
        // Only Python's first thread handles signals.
        if (callback.is_none() && gettid() != getpid()) return;
        options.progress = [this, callback](const Progress& progress) { return go_on(progress, callback); };
    }

    // `work` without the GIL. What the callback or a signal's handler raised takes the place of Error{cancelled}.
    template <class Work>
    auto run(Work&& work) {
        try {
            const ReleasedGil released;
            return std::forward<Work>(work)();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled && raised_) std::rethrow_exception(raised_);
            throw;
        }
    }

private:
    bool go_on(const Progress& progress, nanobind::handle callback) {
        const AcquiredGil acquired;
        try {
            check_signals();
            if (callback.is_none()) return true;
            const auto where = nanobind::make_tuple(progress.done, progress.total, progress.seconds, progress.stage);
            return !call(callback, where).is(Py_False);
        } catch (...) {
            raised_ = std::current_exception();
            return false;
        }
    }

    std::exception_ptr raised_;
};

}  // namespace kith::python
