// An object made at first use and never destroyed.
#pragma once

#include <atomic>
#include <memory>

namespace kith::machine {

// Threads that arrive first together may each make one: the first to finish is kept. No thread
// waits for another, which may not exist in a fork()ed child. No destructor runs at the exit of the
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
    // Null if none has been made yet.
    T* made() const { return object_.load(std::memory_order_acquire); }
    // Returns the object, or null; the next use makes another.
    T* release() { return object_.exchange(nullptr); }

private:
    std::atomic<T*> object_{nullptr};
};

}  // namespace kith::machine
