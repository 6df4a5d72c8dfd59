// A form of the points that is made when a search first needs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace kith::gpu {

// Thread-safe, but for forget(). known() never waits, also while a form is made; get() waits for a
// maker of the same form alone. If make() throws, the slot stays empty and the next get() tries
// again.
template <class Form>
class FormSlot {
public:
    // Null: it has not been made.
    const Form* known() const { return made_.load(std::memory_order_acquire); }
    // Bytes of a form that get() has made.
    std::int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

    // make() returns the form, whose work on the device is done; bytes_of(form): what it takes
    // there.
    template <class Make, class BytesOf>
    const Form& get(const Make& make, const BytesOf& bytes_of) {
        if (const Form* const form = known()) return *form;
        const std::lock_guard lock(making_);
        if (const Form* const form = known()) return *form;
        const std::int64_t bytes = bytes_of(put(make()));
        bytes_.store(bytes, std::memory_order_relaxed);
        return *form_;
    }
    // A form that belongs to the points: forget() leaves it.
    const Form& put(Form form) {
        form_ = std::make_shared<const Form>(std::move(form));
        made_.store(form_.get(), std::memory_order_release);
        return *form_;
    }
    // Destroys a form that get() has made. No other thread may use the slot.
    void forget() {
        if (bytes() == 0) return;
        made_.store(nullptr, std::memory_order_relaxed);
        bytes_.store(0, std::memory_order_relaxed);
        form_.reset();
    }

private:
    std::mutex making_;
    std::shared_ptr<const Form>
        form_;  // shared: Form may be incomplete where the slot is destroyed
    std::atomic<const Form*> made_{nullptr};
    std::atomic<std::int64_t> bytes_{0};
};

}  // namespace kith::gpu
