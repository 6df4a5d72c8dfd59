// Neighbours as a sparse matrix: the .npz of scipy.sparse.save_npz, format csr.
#include <algorithm>
#include <limits>

#include "io/csr_members.h"
#include "io/errors.h"
#include "io/format.h"
#include "io/zip.h"
#include "kith/io.h"
#include "machine/float_state.h"

namespace kith {
namespace io {
namespace {

constexpr std::size_t block_elements = std::size_t{1} << 18;

// `value(i)` for each i in [0, count) that `take(i)` accepts, as elements of type T, in blocks.
template <class T, class Take, class Value>
void put_elements(const Put& put, std::size_t count, Take take, Value value) {
    std::vector<T> block;
    block.reserve(std::min(count, block_elements));
    const auto flush = [&] {
        put(block.data(), static_cast<std::int64_t>(block.size() * sizeof(T)));
        block.clear();
    };
    for (std::size_t i = 0; i < count; ++i) {
        if (take(i)) block.push_back(static_cast<T>(value(i)));
        if (block.size() == block_elements) flush();
    }
    flush();
}

template <class Index>
void write_members(ZipWriter& zip, const Neighbors& found, std::int64_t points) {
    const std::string index = sizeof(Index) == 4 ? "<i4" : "<i8";
    const auto k = static_cast<std::size_t>(found.k);
    const std::size_t cells = found.ids.size();
    const auto present = [&](std::size_t i) { return found.ids[i] >= 0; };
    const auto always = [](std::size_t) { return true; };
    std::vector<std::int64_t> starts(static_cast<std::size_t>(found.queries) + 1, 0);
    for (std::size_t i = 0; i < cells; ++i) starts[i / k + 1] += present(i);
    for (std::size_t row = 1; row < starts.size(); ++row) starts[row] += starts[row - 1];
    const std::int64_t stored = starts.back();

    add_array(zip, "indices", index, std::to_string(stored) + ",",
              stored * static_cast<std::int64_t>(sizeof(Index)), [&](const Put& put) {
                  put_elements<Index>(put, cells, present,
                                      [&](std::size_t i) { return found.ids[i]; });
              });
    add_array(zip, "indptr", index, std::to_string(starts.size()) + ",",
              static_cast<std::int64_t>(starts.size() * sizeof(Index)), [&](const Put& put) {
                  put_elements<Index>(put, starts.size(), always,
                                      [&](std::size_t i) { return starts[i]; });
              });
    add_csr_shape(zip, found.queries, points);
    if (found.distances64.empty()) {
        add_array(zip, "data", "<f4", std::to_string(stored) + ",",
                  stored * static_cast<std::int64_t>(sizeof(float)), [&](const Put& put) {
                      put_elements<float>(put, cells, present,
                                          [&](std::size_t i) { return found.distances[i]; });
                  });
    } else {
        add_array(zip, "data", "<f8", std::to_string(stored) + ",",
                  stored * static_cast<std::int64_t>(sizeof(double)), [&](const Put& put) {
                      put_elements<double>(put, cells, present,
                                           [&](std::size_t i) { return found.distances64[i]; });
                  });
    }
}

void require_result(const std::string& path, const Neighbors& found, std::int64_t points) {
    const std::size_t cells = found.ids.size();
    if (!has_all_ids(found) ||
        (found.distances.size() != cells && found.distances64.size() != cells)) {
        bad_argument(
            fmt::format("{}: expected {} x {} ids and as many distances, at least one, got {} ids, "
                        "{} distances",
                        path, found.queries, found.k, found.ids.size(),
                        std::max(found.distances.size(), found.distances64.size())));
    }
    const std::int64_t largest = *std::max_element(found.ids.begin(), found.ids.end());
    if (largest >= points)
        bad_argument(fmt::format("{}: id {} among {} points; expected ids below them", path,
                                 largest, points));
}

}  // namespace
}  // namespace io

void write_csr(OutputSet& outputs, const std::string& path, const Neighbors& neighbors,
               std::int64_t points) {
    const machine::FloatState state;
    using namespace io;
    require_result(path, neighbors, points);
    FileWriter file(outputs, path);
    ZipWriter zip([&](const void* bytes, std::int64_t count) { file.write(bytes, count); });
    // scipy takes one type for both index arrays.
    const auto cells = static_cast<std::int64_t>(neighbors.ids.size());
    if (std::max(cells, points) <= std::numeric_limits<std::int32_t>::max())
        write_members<std::int32_t>(zip, neighbors, points);
    else write_members<std::int64_t>(zip, neighbors, points);
    zip.finish();
    file.finish();
}

void write_csr(const std::string& path, const Neighbors& neighbors, std::int64_t points) {
    const machine::FloatState state;
    OutputSet outputs;
    outputs.add_bytes("the output", path);
    write_csr(outputs, path, neighbors, points);
    outputs.commit();
}

}  // namespace kith
