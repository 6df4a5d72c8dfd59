// Results as an ann-benchmarks HDF5 file.
#include <algorithm>
#include <cstring>
#include <limits>

#include "io/errors.h"
#include "io/output_set.h"
#include "machine/float_state.h"

namespace kith {
namespace io {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{8} << 20;

// Rows [first, first + count) of the view, dense; bf16, which HDF5 readers do not know, widened to
// f32 (exactly).
void gather(const MatrixView& view, std::int64_t first, std::int64_t count, std::byte* out) {
    const auto size = static_cast<std::int64_t>(size_of(view.type));
    const auto* data = static_cast<const std::byte*>(view.data);
    const bool by_row = view.layout == Layout::row_major;
    const std::int64_t row_step = by_row ? view.stride : 1;
    const std::int64_t col_step = by_row ? 1 : view.stride;
    for (std::int64_t i = first; i < first + count; ++i) {
        const std::byte* row = data + i * row_step * size;
        if (by_row && view.type != ElementType::bf16) {
            std::memcpy(out, row, static_cast<std::size_t>(view.cols * size));
            out += view.cols * size;
            continue;
        }
        for (std::int64_t j = 0; j < view.cols; ++j) {
            const std::byte* element = row + j * col_step * size;
            if (view.type == ElementType::bf16) {
                std::uint16_t bits = 0;
                std::memcpy(&bits, element, sizeof bits);
                const std::uint32_t wide = std::uint32_t{bits} << 16;
                std::memcpy(out, &wide, sizeof wide);
                out += sizeof wide;
            } else {
                std::memcpy(out, element, static_cast<std::size_t>(size));
                out += size;
            }
        }
    }
}

std::int64_t rows_per_block(std::int64_t rows, std::int64_t row_bytes) {
    return std::min(rows, std::max<std::int64_t>(1, block_bytes / row_bytes));
}

// Rows of `info` that `fill(first, count, out)` puts into blocks.
template <class Fill>
void write_part(OutputSet& outputs, const std::string& path, const char* dataset,
                const FileInfo& info, const Fill& fill) {
    MatrixWriter writer(outputs, path + "/" + dataset, info);
    const std::int64_t row_bytes = info.cols * static_cast<std::int64_t>(size_of(info.type));
    const std::int64_t step = rows_per_block(info.rows, row_bytes);
    std::vector<std::byte> block(static_cast<std::size_t>(step * row_bytes));
    for (std::int64_t first = 0; first < info.rows; first += step) {
        const std::int64_t count = std::min(step, info.rows - first);
        fill(first, count, block.data());
        writer.append(block.data(), count);
    }
    writer.commit();
}

void write_view(OutputSet& outputs, const std::string& path, const char* dataset,
                const MatrixView& view) {
    const ElementType type = view.type == ElementType::bf16 ? ElementType::f32 : view.type;
    write_part(outputs, path, dataset, {"", view.rows, view.cols, type},
               [&](std::int64_t first, std::int64_t count, std::byte* out) {
                   gather(view, first, count, out);
               });
}

void require_host(const std::string& path, const char* what, const MatrixView& view) {
    if (!view.data) return;
    if (view.device != host_memory) {
        bad_argument(
            fmt::format("{}: expected {} in host memory, got device {}", path, what, view.device));
    }
    const std::int64_t least = view.layout == Layout::row_major ? view.cols : view.rows;
    if (view.rows < 1 || view.cols < 1 || view.stride < least) {
        bad_argument(fmt::format(
            "{}: expected {} with rows, columns >= 1 and a stride >= {}, got {} x {}, stride {}",
            path, what, least, view.rows, view.cols, view.stride));
    }
}

void require_complete(const std::string& path, const Neighbors& neighbors) {
    const auto absent_or_full = [&](std::size_t size) {
        return size == 0 || size == neighbors.ids.size();
    };
    if (!has_all_ids(neighbors) || !absent_or_full(neighbors.distances.size()) ||
        !absent_or_full(neighbors.distances64.size())) {
        bad_argument(
            fmt::format("{}: expected queries x k = {} x {} ids, at least one, and as many "
                        "distances, got {} ids",
                        path, neighbors.queries, neighbors.k, neighbors.ids.size()));
    }
}

void write_neighbors(OutputSet& outputs, const std::string& path, const Neighbors& neighbors) {
    const std::int64_t q = neighbors.queries, k = neighbors.k;
    constexpr std::int64_t narrow_limit = std::numeric_limits<std::int32_t>::max();
    if (*std::max_element(neighbors.ids.begin(), neighbors.ids.end()) <= narrow_limit) {
        write_part(outputs, path, "neighbors", {"", q, k, ElementType::i32},
                   [&](std::int64_t first, std::int64_t count, std::byte* out) {
                       const auto* from = neighbors.ids.data() + first * k;
                       std::copy(from, from + count * k, reinterpret_cast<std::int32_t*>(out));
                   });
    } else {
        write_view(outputs, path, "neighbors", view(neighbors.ids.data(), q, k));
    }
    if (!neighbors.distances.empty())
        write_view(outputs, path, "distances", view(neighbors.distances.data(), q, k));
    else if (!neighbors.distances64.empty())
        write_view(outputs, path, "distances", view(neighbors.distances64.data(), q, k));
    else outputs.state().part(path + "/distances").written = true;
}

// Attributes of train and test, or of none.
void describe(Hdf5Output& file, const MatrixView& points) {
    Hdf5Session session;
    const bool integer = points.type == ElementType::i8 || points.type == ElementType::u8;
    const bool new_points = points.data != nullptr;
    if (new_points || !file.has_attribute("type")) file.set_text("type", "dense");
    if (new_points || !file.has_attribute("point_type"))
        file.set_text("point_type", integer ? "int" : "float");
    if (new_points) file.set_attribute("dimension", H5T_NATIVE_INT64, &points.cols);
}

}  // namespace
}  // namespace io

void write_ann_benchmarks(OutputSet& outputs, const std::string& path, const Neighbors& neighbors,
                          const MatrixView& train, const MatrixView& test) {
    const machine::FloatState state;
    using namespace io;
    require_complete(path, neighbors);
    require_host(path, "train", train);
    require_host(path, "test", test);
    describe(*outputs.state().part(path + "/neighbors").target.hdf5, train.data ? train : test);
    if (train.data) write_view(outputs, path, "train", train);
    if (test.data) write_view(outputs, path, "test", test);
    write_neighbors(outputs, path, neighbors);
}

void write_ann_benchmarks(const std::string& path, const Neighbors& neighbors, const Metric& metric,
                          const MatrixView& train, const MatrixView& test, bool force) {
    OutputSet outputs(force);
    outputs.add_ann_benchmarks("the output", path, metric, train.data != nullptr,
                               test.data != nullptr);
    write_ann_benchmarks(outputs, path, neighbors, train, test);
    outputs.commit();
}

}  // namespace kith
