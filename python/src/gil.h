// The GIL taken and given by threads that may outlive the interpreter. Up to Python 3.13 a thread that asks for the GIL
// of an interpreter that is ending is unwound by pthread_exit, through frames that may not be left so (noexcept
// functions, catch (...)), which ends the process by std::terminate. Here such a thread waits for the end of the
// process, as it does from Python 3.14 on.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace kith::python {

// Stands in the innermost frame of C++ around a call of Python's that may take the GIL; nothing of C++ is unwound
// before it.
class HeldAtExit {
public:
    HeldAtExit() = default;
    ~HeldAtExit() {
        while (!returned_) pause();
    }
    HeldAtExit(const HeldAtExit&) = delete;
    HeldAtExit& operator=(const HeldAtExit&) = delete;

    void returned() { returned_ = true; }

private:
    bool returned_ = false;
};

class ReleasedGil {
public:
    ReleasedGil() : state_(PyEval_SaveThread()) {}
    ~ReleasedGil() noexcept(false) {
        HeldAtExit held;
        PyEval_RestoreThread(state_);
        held.returned();
    }
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

private:
    PyThreadState* state_;
};

class AcquiredGil {
public:
    AcquiredGil() {
        HeldAtExit held;
        while (!Py_IsInitialized()) pause();  // PyGILState_Ensure has nothing left to look at
        state_ = PyGILState_Ensure();
        held.returned();
    }
    ~AcquiredGil() { PyGILState_Release(state_); }
    AcquiredGil(const AcquiredGil&) = delete;
    AcquiredGil& operator=(const AcquiredGil&) = delete;

private:
    PyGILState_STATE state_;
};

// callable(*arguments), which gives other threads the GIL and takes it again as it likes. Raises what it raises.
inline nanobind::object call(nanobind::handle callable, const nanobind::tuple& arguments) {
    HeldAtExit held;
    PyObject* result = PyObject_CallObject(callable.ptr(), arguments.ptr());
    held.returned();
    if (result == nullptr) throw nanobind::python_error();
    return nanobind::steal(result);
}

// module.name, importing the module where nobody has.
inline nanobind::object imported(const char* module, const char* name) {
    HeldAtExit held;
    PyObject* const found = PyImport_ImportModule(module);
    held.returned();
    if (found == nullptr) throw nanobind::python_error();
    return nanobind::steal(found).attr(name);
}

// Runs the handlers of the signals that have come, functions of Python's also. Raises what they raise.
inline void check_signals() {
    HeldAtExit held;
    const int raised = PyErr_CheckSignals();
    held.returned();
    if (raised != 0) throw nanobind::python_error();
}

}  // namespace kith::python
