// Rows of any lengths to a sparse matrix' .npz: ids and distances wait in nameless files until
// their number is known.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "io/csr_members.h"
#include "io/errors.h"
#include "io/spool.h"
#include "kith/csr.h"
#include "machine/float_state.h"

namespace kith {

struct CsrWriter::State {
    State(OutputSet& outputs_, const std::string& path_, std::int64_t points_, bool f64_)
        : outputs(outputs_),
          path(path_),
          points(points_),
          f64(f64_),
          ids(path_),
          distances(path_) {}

    OutputSet& outputs;
    std::string path;
    std::int64_t points;
    bool f64;
    io::Spool ids, distances;
    std::vector<std::int64_t> starts{0};

    template <class Index>
    void write(io::ZipWriter& zip) {
        const std::int64_t stored = starts.back();
        const std::string index = sizeof(Index) == 4 ? "<i4" : "<i8",
                          count = std::to_string(stored) + ",";
        std::vector<Index> narrow;
        const auto put_indices = [&](const io::Put& put, const std::int64_t* from, std::int64_t n) {
            narrow.assign(from, from + n);
            put(narrow.data(), n * static_cast<std::int64_t>(sizeof(Index)));
        };
        io::add_array(
            zip, "indices", index, count, stored * static_cast<std::int64_t>(sizeof(Index)),
            [&](const io::Put& put) {
                std::vector<std::int64_t> block(io::Spool::block_bytes / sizeof(std::int64_t));
                ids.read([&](const char* bytes, std::int64_t n) {
                    std::memcpy(block.data(), bytes, static_cast<std::size_t>(n));
                    put_indices(put, block.data(),
                                n / static_cast<std::int64_t>(sizeof(std::int64_t)));
                });
            });
        const auto rows = static_cast<std::int64_t>(starts.size());
        io::add_array(zip, "indptr", index, std::to_string(rows) + ",",
                      rows * static_cast<std::int64_t>(sizeof(Index)),
                      [&](const io::Put& put) { put_indices(put, starts.data(), rows); });
        io::add_csr_shape(zip, rows - 1, points);
        io::add_array(zip, "data", f64 ? "<f8" : "<f4", count, stored * (f64 ? 8 : 4),
                      [&](const io::Put& put) {
                          distances.read([&](const char* bytes, std::int64_t n) { put(bytes, n); });
                      });
    }
};

CsrWriter::CsrWriter(OutputSet& outputs, const std::string& path, std::int64_t points, bool f64) {
    const machine::FloatState state;
    state_ = std::make_unique<State>(outputs, path, points, f64);
}
CsrWriter::~CsrWriter() {
    const machine::FloatState state;
    state_.reset();
}

void CsrWriter::append(const RadiusRows& rows) {
    const machine::FloatState state;
    State& s = *state_;
    const std::int64_t added = rows.offsets[rows.count], before = s.starts.back();
    if (rows.first != static_cast<std::int64_t>(s.starts.size()) - 1)
        io::bad_argument(fmt::format("{}: rows from {}; expected those from {}", s.path, rows.first,
                                     s.starts.size() - 1));
    if (added > 0 && (s.f64 ? rows.distances64 == nullptr : rows.distances == nullptr))
        io::bad_argument(
            fmt::format("{}: expected distances of {}", s.path, s.f64 ? "f64" : "f32"));
    for (std::int64_t at = 0; at < added; ++at) {
        if (rows.ids[at] < 0 || rows.ids[at] >= s.points)
            io::bad_argument(fmt::format("{}: id {} among {} points; expected ids below them",
                                         s.path, rows.ids[at], s.points));
    }
    for (std::int64_t i = 1; i <= rows.count; ++i) s.starts.push_back(before + rows.offsets[i]);
    s.ids.write(rows.ids, added * static_cast<std::int64_t>(sizeof(std::int64_t)));
    if (s.f64) s.distances.write(rows.distances64, added * 8);
    else s.distances.write(rows.distances, added * 4);
}

void CsrWriter::finish() {
    const machine::FloatState state;
    State& s = *state_;
    FileWriter file(s.outputs, s.path);
    io::ZipWriter zip([&](const void* bytes, std::int64_t count) { file.write(bytes, count); });
    // scipy takes one type for both index arrays.
    if (std::max(s.starts.back(), s.points) <= std::numeric_limits<std::int32_t>::max())
        s.write<std::int32_t>(zip);
    else s.write<std::int64_t>(zip);
    zip.finish();
    file.finish();
}

void write_csr(const std::string& path, const RadiusNeighbors& neighbors, std::int64_t points) {
    const machine::FloatState state;
    OutputSet outputs;
    outputs.add_bytes("the output", path);
    const bool f64 = neighbors.f64 || neighbors.distances.size() != neighbors.ids.size();
    if (neighbors.offsets.size() != static_cast<std::size_t>(neighbors.queries) + 1 ||
        (f64 && neighbors.distances64.size() != neighbors.ids.size()) ||
        neighbors.offsets.back() != static_cast<std::int64_t>(neighbors.ids.size()))
        io::bad_argument(
            fmt::format("{}: expected {} offsets, and ids and distances as the last says", path,
                        neighbors.queries + 1));
    CsrWriter writer(outputs, path, points, f64);
    writer.append({0, neighbors.queries, neighbors.offsets.data(), neighbors.ids.data(),
                   neighbors.distances.data(), neighbors.distances64.data()});
    writer.finish();
    outputs.commit();
}

}  // namespace kith
