// A cache-line aligned array of plain values, uninitialised; large ones on huge pages where the
// system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kith::cpu {

// Throws Error{out_of_memory}, naming the size.
void* allocate_bytes(std::size_t bytes);
void release_bytes(void* p);

template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::int64_t count)
        : data_(static_cast<T*>(allocate_bytes(static_cast<std::size_t>(count) * sizeof(T)))),
          count_(count) {}
    T* data() const { return data_.get(); }
    T& operator[](std::int64_t i) const { return data_.get()[i]; }
    std::int64_t size() const { return count_; }

private:
    struct Release {
        void operator()(T* p) const { release_bytes(p); }
    };
    std::unique_ptr<T[], Release> data_;
    std::int64_t count_ = 0;
};

}  // namespace kith::cpu
