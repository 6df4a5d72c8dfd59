// Inputs that decompress: read forward from the start, kept in memory where they are small.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/input.h"

namespace kith::io {

class StreamInput : public ByteInput {
public:
    std::int64_t size_within(std::int64_t limit) final;
    void watch(const Look& look) final;
    bool is_counted() const final { return is_counted_; }
    bool is_sequential() const final { return !is_kept_; }

protected:
    using ByteInput::ByteInput;
    // Back to the start.
    virtual void restart() = 0;
    // Up to `count` bytes from the current place, `count` at most 2^24; fewer only at the end of a
    // complete stream.
    virtual std::int64_t next(std::byte* out, std::int64_t count) = 0;

private:
    void fetch(std::int64_t offset, std::byte* out, std::int64_t count) final;
    void forward(std::byte* out, std::int64_t count);
    void go_to(std::int64_t offset);

    // A usual file is kept, as far as it was counted, so that it is decompressed once.
    std::vector<std::byte> kept_;
    bool is_kept_ = true;
    bool is_counted_ = false;
    std::int64_t position_ = 0;
    Look look_;
};

std::unique_ptr<ByteInput> open_gzip(const Location& location);

}  // namespace kith::io
