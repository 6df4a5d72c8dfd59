// An object that a process makes at its first use and keeps to its very end.
#pragma once

#include <atomic>
#include <memory>

namespace kith::machine {

// Threads that come first together may each make one: the first to finish is kept. No thread waits
// for another, which a child of fork() may not have, and no destructor runs at the exit of the
// process, when threads and other destructors may still use it. Constant-initialised: `constinit
// Lasting<T> name;`.
template <class T>
class Lasting {
public:
    // make() returns a std::unique_ptr<T>.
    template <class Make>
    T& get(const Make& make) {
        if (T* const made = object_.load(std::memory_order_acquire)) return *made;
        std::unique_ptr<T> fresh = make();
        T* expected = nullptr;
        return object_.compare_exchange_strong(expected, fresh.get()) ? *fresh.release()
                                                                      : *expected;
    }
    T& get() {
        return get([] { return std::make_unique<T>(); });
    }
    // Null where none is made yet.
    T* made() const { return object_.load(std::memory_order_acquire); }
    // The object, or null; the next use makes another.
    T* release() { return object_.exchange(nullptr); }

private:
    std::atomic<T*> object_{nullptr};
};

}  // namespace kith::machine
