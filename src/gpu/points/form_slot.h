// A form of the points that is made when a search first needs it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace kith::gpu {

// Thread-safe. known() never waits, also while a form is made; get() waits for a maker of the same
// form alone. If make() throws, the slot stays empty and the next get() tries again.
template <class Form>
class FormSlot {
public:
    // Null: it has not been made.
    const Form* known() const { return made_.load(std::memory_order_acquire); }

    // make() returns the form, whose work on the device is done.
    template <class Make>
    const Form& get(const Make& make) {
        if (const Form* const form = known()) return *form;
        const std::lock_guard lock(making_);
        if (const Form* const form = known()) return *form;
        form_ = std::make_shared<const Form>(make());
        made_.store(form_.get(), std::memory_order_release);
        return *form_;
    }

private:
    std::mutex making_;
    std::shared_ptr<const Form>
        form_;  // shared: Form may be incomplete where the slot is destroyed
    std::atomic<const Form*> made_{nullptr};
};

}  // namespace kith::gpu
