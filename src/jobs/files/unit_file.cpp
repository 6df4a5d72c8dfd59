// Writes and reads the results of units.
#include "jobs/files/unit_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "io/files/regular_file.h"
#include "jobs/files/checksum.h"
#include "jobs/files/job_files.h"
#include "kith/memory.h"
#include "kith/output.h"

namespace kith::groundtruth {
namespace {

struct Header {
    std::array<char, 8> magic{'k', 'i', 't', 'h', 'u', 'n', 'i', 't'};
    std::array<char, 16> job{};
    std::int64_t shard = 0, block = 0, rows = 0, k = 0, dimensions = 0;
    bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 64);

Header header_of(const Job& job, const WorkUnit& unit) {
    Header header;
    job.id.copy(header.job.data(), header.job.size());
    header.shard = unit.shard;
    header.block = unit.block;
    header.rows = job.block(unit).rows;
    header.k = job.k;
    header.dimensions = job.base.cols;
    return header;
}

struct Sizes {
    std::size_t cells;
    std::int64_t file;  // bytes
};

Sizes sizes_of(const Job& job, const WorkUnit& unit) {
    const auto cells = static_cast<std::size_t>(job.block(unit).rows * job.k);
    const std::size_t bytes =
        sizeof(Header) + cells * (sizeof(std::int64_t) + sizeof(double)) + sizeof(std::uint64_t);
    return {cells, static_cast<std::int64_t>(bytes)};
}

// Reads the file sequentially and updates the checksum.
class Reader {
public:
    explicit Reader(std::string path) : path_(std::move(path)), file_(path_, path_) {
        if (!file_.is_open() && file_.error() != ENOENT)
            throw Error(ErrorCode::bad_file, fmt::format("{}: cannot be opened: {}", path_,
                                                         std::strerror(file_.error())));
    }

    bool is_there() const { return file_.is_open(); }
    std::int64_t size() const { return file_.size(); }

    void read(void* to, std::size_t bytes) {
        const auto count = static_cast<std::int64_t>(bytes);
        if (file_.read(to, count, path_) != count)
            throw DamagedUnit(path_ + ": damaged: cannot be read to its end");
        sum_.add(to, bytes);
    }

    std::uint32_t checksum() const { return sum_.value(); }

private:
    std::string path_;
    io::RegularFile file_;
    Checksum sum_;
};

// The fault of a list of neighbours that no search of the shard can produce; "" if there is none.
// `block` are the queries of a graph, where no row lists itself; null: of a search.
std::string fault_of(const PartialNeighbors& found, const RowPiece& shard, const RowPiece* block) {
    for (std::int64_t row = 0; row < found.queries; ++row) {
        const std::int64_t* const ids = found.ids.data() + row * found.k;
        const double* const keys = found.keys.data() + row * found.k;
        for (std::int64_t i = 0; i < found.k; ++i) {
            const bool is_none = ids[i] == -1 && keys[i] == std::numeric_limits<double>::infinity();
            const bool is_point =
                ids[i] >= shard.first && ids[i] - shard.first < shard.rows && !std::isnan(keys[i]);
            const bool is_next =
                i == 0 || is_none ||
                (ids[i - 1] >= 0 &&
                 (keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && ids[i - 1] < ids[i])));
            if (block && ids[i] == block->first + row)
                return fmt::format("row {} lists itself, id {}, at place {}", row, ids[i], i);
            if ((is_none || is_point) && is_next) continue;
            return fmt::format(
                "expected neighbours of rows {} to {} in their order, found id {} with key {} at "
                "place {} of row {}",
                shard.first, shard.first + shard.rows - 1, ids[i], keys[i], i, row);
        }
    }
    return "";
}

}  // namespace

void write_unit(const Job& job, const WorkUnit& unit, const PartialNeighbors& found) {
    const std::string path = job.unit_path(unit);
    OutputSet outputs;
    outputs.add_bytes("the unit", path, OutputSet::Links::replace);
    FileWriter file(outputs, path);
    Checksum sum;
    const auto write = [&](const void* from, std::size_t bytes) {
        sum.add(from, bytes);
        file.write(from, static_cast<std::int64_t>(bytes));
    };
    const Header header = header_of(job, unit);
    write(&header, sizeof header);
    write(found.ids.data(), found.ids.size() * sizeof(std::int64_t));
    write(found.keys.data(), found.keys.size() * sizeof(double));
    const std::uint64_t checksum = sum.value();
    file.write(&checksum, sizeof checksum);
    file.finish();
    outputs.commit();
}

bool has_unit(const Job& job, const WorkUnit& unit) {
    try {
        Reader reader(job.unit_path(unit));
        if (!reader.is_there() || reader.size() != sizes_of(job, unit).file) return false;
        Header header;
        reader.read(&header, sizeof header);
        return header == header_of(job, unit);
    } catch (const Error&) {
        return false;
    }
}

std::optional<PartialNeighbors> read_unit(const Job& job, const WorkUnit& unit) {
    const std::string path = job.unit_path(unit);
    const auto damaged = [&](const std::string& why) {
        throw DamagedUnit(fmt::format("{}: damaged: {}", path, why));
    };
    const Sizes sizes = sizes_of(job, unit);
    Reader reader(path);
    if (!reader.is_there()) return std::nullopt;
    if (const std::int64_t found = reader.size(); found != sizes.file)
        damaged(fmt::format("expected {} bytes, found {}", sizes.file, found));
    Header header;
    reader.read(&header, sizeof header);
    if (header != header_of(job, unit))
        damaged("expected the header of this unit of this job, found another");
    require_memory(sizes.file, path);
    PartialNeighbors partial{job.block(unit).rows, job.k, job.base.cols, {}, {}};
    partial.ids.resize(sizes.cells);
    partial.keys.resize(sizes.cells);
    reader.read(partial.ids.data(), sizes.cells * sizeof(std::int64_t));
    reader.read(partial.keys.data(), sizes.cells * sizeof(double));
    const std::uint32_t checksum = reader.checksum();
    std::uint64_t expected = 0;
    reader.read(&expected, sizeof expected);
    if (checksum != expected)
        damaged(fmt::format("expected checksum {:08x}, found {:08x}", expected, checksum));
    const RowPiece* const block = job.graph ? &job.block(unit) : nullptr;
    if (const std::string fault = fault_of(partial, job.shard(unit), block); !fault.empty())
        damaged(fault);
    return partial;
}

std::string set_aside(const Job& job, const WorkUnit& unit) {
    const std::string path = job.unit_path(unit);
    const std::string aside = name(unit) + ".damaged";
    if (std::rename(path.c_str(), (path + ".damaged").c_str()) != 0)
        return fmt::format("cannot be renamed ({}); remove it", std::strerror(errno));
    return fmt::format("now {}", aside);
}

void remove_leftovers(const Job& job, const WorkUnit& unit) {
    const std::string prefix = name(unit) + ".part-";
    const std::string folder = job.folder + "/units";
    for (const std::string& file : names_in(folder)) {
        std::error_code ignored;
        if (file.starts_with(prefix)) std::filesystem::remove(folder + "/" + file, ignored);
    }
}

}  // namespace kith::groundtruth
