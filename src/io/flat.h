// What most formats come down to: a header, then rows without gaps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/format.h"
#include "io/input.h"
#include "io/output.h"

namespace kith::io {

// Throws bad_file unless the matrix is not empty and fills the file exactly from `offset` to its
// end. `stored` names the type in the file where it is another than info.type, of the same size.
// Where the input is compressed and will be held in memory, a matrix too large for that is
// out_of_memory at once.
void require_exact_size(ByteInput& input, const FileInfo& info, std::int64_t offset,
                        std::string_view stored = "");

class FlatSource final : public Source {
public:
    // The rows start at `offset`, which the caller has checked; `swapped`: big-endian elements.
    FlatSource(std::unique_ptr<ByteInput> input, FileInfo info, std::int64_t offset,
               bool swapped = false);
    void read(std::int64_t first, std::int64_t count, std::byte* out) override;

private:
    std::unique_ptr<ByteInput> input_;
    std::int64_t offset_;
    std::int64_t row_bytes_;
    bool swapped_;
};

class FlatSink final : public Sink {
public:
    FlatSink(const Target& target, const FileInfo& info, std::string_view header,
             bool swapped = false);
    void append(const std::byte* rows, std::int64_t count) override;
    void finish() override { output_->finish(); }

private:
    std::unique_ptr<Output> output_;
    FileInfo info_;
    bool swapped_;
};

// Rows and columns as u32, the header of several formats. Throws invalid_argument where they do not
// fit.
std::string u32_header(const Target& target, const FileInfo& info);

}  // namespace kith::io
