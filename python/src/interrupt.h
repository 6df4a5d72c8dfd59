// Calls into the library without the GIL that Ctrl-C and a progress callback can end.
#pragma once

#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "kith/error.h"
#include "kith/types.h"

namespace kith::python {

// Whether the interpreter is ending: a thread that asked for the GIL then would be ended in the middle of a search. Of
// the stable interface only from Python 3.13 on.
inline bool finalizing() {
    using Ask = int (*)();
    static const Ask ask = [] {
        void* symbol = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
        return reinterpret_cast<Ask>(symbol ? symbol : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));  // NOLINT
    }();
    return ask && ask() != 0;
}

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
            nanobind::gil_scoped_release release;
            return std::forward<Work>(work)();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled && raised_) std::rethrow_exception(raised_);
            throw;
        }
    }

private:
    bool go_on(const Progress& progress, nanobind::handle callback) {
        while (finalizing()) pause();  // as Python does with such threads from 3.14 on
        nanobind::gil_scoped_acquire acquire;
        try {
            if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
            if (callback.is_none()) return true;
            return !callback(progress.done, progress.total, progress.seconds, progress.stage).is(Py_False);
        } catch (...) {
            raised_ = std::current_exception();
            return false;
        }
    }

    std::exception_ptr raised_;
};

}  // namespace kith::python
