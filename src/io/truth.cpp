// big-ann ground truth: u32 queries, u32 k, then all ids as u32, then all distances as f32, or ids
// alone.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "io/errors.h"
#include "io/files/output_set.h"
#include "io/flat.h"
#include "machine/float_state.h"

namespace kith {
namespace io {
namespace {

constexpr std::int64_t header_bytes = 2 * sizeof(std::uint32_t);
static_assert(sizeof(std::int32_t) == sizeof(float));

struct TruthShape {
    std::int64_t queries;
    std::int64_t k;
    std::int64_t half;  // bytes of the ids, and of the distances
    bool distances;     // or ids alone
};

// `ids_alone`: a file of ids alone is accepted, although a truncated one may look like it.
TruthShape examine(ByteInput& input, bool ids_alone) {
    const std::int64_t queries = input.value_at<std::uint32_t>(0);
    const std::int64_t k = input.value_at<std::uint32_t>(4);
    // Ids and distances together are as large as one matrix of 64-bit elements.
    const std::int64_t bytes = matrix_bytes(queries, k, ElementType::i64);
    if (queries < 1 || k < 1)
        bad_bytes(input.path(), 0, "at least one query and k >= 1",
                  fmt::format("{} x {}", queries, k));
    // Counts no further than the header implies.
    const std::int64_t most = std::min(bytes, INT64_MAX - header_bytes);
    const std::int64_t found =
        bytes < 0 ? -1 : input.size_within(header_bytes + most) - header_bytes;
    const bool alone = ids_alone && found == bytes / 2;
    if (bytes < 0 || (found != bytes && !alone)) {
        const char* const advice =
            found == bytes / 2 ? " (where these are ids alone, FILE/ids reads them)" : "";
        bad_bytes(input.path(), header_bytes,
                  fmt::format("{} bytes up to the end of the file ({} x {} ids and distances)",
                              bytes < 0 ? "more than 2^63" : fmt::format("{}", bytes), queries, k),
                  bytes < 0
                      ? "less"
                      : fmt::format("{}{}{}", found, input.is_counted() ? "" : " or more", advice));
    }
    return {queries, k, bytes / 2, found == bytes};
}

// One of the two halves.
class TruthSource final : public Source {
public:
    TruthSource(std::unique_ptr<ByteInput> input, const TruthShape& shape, bool ids)
        : Source({"truth", shape.queries, shape.k, ids ? ElementType::i32 : ElementType::f32}),
          input_(std::move(input)),
          offset_(header_bytes + (ids ? 0 : shape.half)) {}

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        const std::int64_t row_bytes = info_.cols * static_cast<std::int64_t>(sizeof(float));
        input_->read_at(offset_ + first * row_bytes, out, count * row_bytes);
        if (info_.type == ElementType::i32)
            require_narrow(first, reinterpret_cast<const std::int32_t*>(out), count);
    }

private:
    // Ids are u32 in the file, all ones for a missing one.
    void require_narrow(std::int64_t first, const std::int32_t* ids, std::int64_t count) const {
        const auto* const wide =
            std::find_if(ids, ids + count * info_.cols, [](std::int32_t id) { return id < -1; });
        if (wide == ids + count * info_.cols) return;
        bad_file(input_->path(),
                 fmt::format("row {}, column {}: expected ids below 2^31, found {}",
                             first + (wide - ids) / info_.cols, (wide - ids) % info_.cols,
                             static_cast<std::uint32_t>(*wide)));
    }

    std::unique_ptr<ByteInput> input_;
    std::int64_t offset_;
};

// Appends rows of k values, converted block by block.
template <class To, class From>
void append_as(FlatSink& sink, const From* values, std::int64_t rows, std::int64_t k) {
    constexpr std::int64_t block_cells = std::int64_t{1} << 20;
    const std::int64_t step = std::max<std::int64_t>(1, block_cells / k);
    std::vector<To> block;
    for (std::int64_t first = 0; first < rows; first += step) {
        const std::int64_t count = std::min(step, rows - first);
        block.assign(values + first * k, values + (first + count) * k);
        sink.append(reinterpret_cast<const std::byte*>(block.data()), count);
    }
}

}  // namespace

SourcePtr open_truth(const Location& location) {
    const std::string& part = location.dataset;
    if (!part.empty() && part != "ids" && part != "distances") {
        bad_argument(
            fmt::format("{}: expected the part ids or distances, got {}", location.file, part));
    }
    std::unique_ptr<ByteInput> input = open_bytes(location);
    const TruthShape shape = examine(*input, !part.empty());
    if (part == "distances" && !shape.distances)
        bad_file(input->path(), "expected distances, found ids alone");
    return std::make_unique<TruthSource>(std::move(input), shape, part != "distances");
}

std::vector<std::string> names_truth(const Location& location) {
    if (examine(*open_bytes(location), true).distances) return {"ids", "distances"};
    return {"ids"};
}

SinkPtr create_truth(const Target& target, const FileInfo&) {
    bad_argument(fmt::format(
        "{}: a ground-truth file holds ids and distances; expected a format of one matrix",
        target.file));
}

}  // namespace io

void write_big_ann_truth(OutputSet& outputs, const std::string& path, const Neighbors& neighbors) {
    const machine::FloatState state;
    using namespace io;
    const std::int64_t q = neighbors.queries, k = neighbors.k;
    const bool wide = neighbors.distances.empty();
    if (!has_all_ids(neighbors) || (wide ? neighbors.distances64.size()
                                         : neighbors.distances.size()) != neighbors.ids.size()) {
        bad_argument(fmt::format("{}: expected {} x {} ids and distances, at least one of each",
                                 path, q, k));
    }
    for (const std::int64_t id : neighbors.ids) {
        if (id < -1 || id > std::numeric_limits<std::int32_t>::max()) {
            bad_argument(fmt::format("{}: expected ids that fit in i32, got {}", path, id));
        }
    }
    Part& part = outputs.state().part(path);
    const FileInfo info{"truth", q, k, ElementType::i32};
    FlatSink sink(part.target, info, u32_header(part.target, info));
    append_as<std::int32_t>(sink, neighbors.ids.data(), q, k);
    if (wide) append_as<float>(sink, neighbors.distances64.data(), q, k);
    else append_as<float>(sink, neighbors.distances.data(), q, k);
    sink.finish();
    part.written = true;
}

void write_big_ann_truth(const std::string& path, const Neighbors& neighbors) {
    OutputSet outputs;
    outputs.add_big_ann_truth("the output", path);
    write_big_ann_truth(outputs, path, neighbors);
    outputs.commit();
}

Neighbors read_big_ann_truth(const std::string& path) {
    const machine::FloatState state;
    using namespace io;
    std::unique_ptr<ByteInput> input = open_bytes({path});
    const TruthShape shape = examine(*input, false);
    const auto cells = static_cast<std::size_t>(shape.queries * shape.k);
    Neighbors neighbors;
    neighbors.queries = shape.queries;
    neighbors.k = shape.k;
    neighbors.distances.resize(cells);
    input->read_at(header_bytes + shape.half, neighbors.distances.data(), shape.half);
    // In steps, so that the 32-bit ids are never all in memory next to the 64-bit ones.
    constexpr std::size_t step = std::size_t{1} << 16;
    std::vector<std::uint32_t> ids(std::min(step, cells));
    neighbors.ids.resize(cells);
    for (std::size_t i = 0; i < cells; i += step) {
        const std::size_t some = std::min(step, cells - i);
        input->read_at(header_bytes + static_cast<std::int64_t>(i * sizeof(std::int32_t)),
                       ids.data(), static_cast<std::int64_t>(some * sizeof(std::int32_t)));
        std::transform(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(some),
                       neighbors.ids.begin() + static_cast<std::ptrdiff_t>(i),
                       [](std::uint32_t id) { return id == UINT32_MAX ? -1 : std::int64_t{id}; });
    }
    return neighbors;
}

}  // namespace kith
