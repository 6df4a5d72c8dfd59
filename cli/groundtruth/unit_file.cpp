// Writes and reads the results of units.
#include "groundtruth/unit_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "groundtruth/checksum.h"
#include "kith/error.h"
#include "kith/output.h"

namespace kith::cli::groundtruth {
namespace {

struct Header {
    std::array<char, 8> magic{'k', 'i', 't', 'h', 'u', 'n', 'i', 't'};
    std::array<char, 16> job{};
    std::int64_t shard = 0, block = 0, rows = 0, k = 0, dimensions = 0;
    bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 64);

Header header_of(const Job& job, const Unit& unit) {
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
    std::size_t file;
};

Sizes sizes_of(const Job& job, const Unit& unit) {
    const auto cells = static_cast<std::size_t>(job.block(unit).rows * job.k);
    return {cells, sizeof(Header) + cells * (sizeof(std::int64_t) + sizeof(double)) + sizeof(std::uint64_t)};
}

// Reads through the file, adding to the checksum.
class Reader {
public:
    explicit Reader(const std::string& path) : file_(path, std::ios::binary) {}
    bool read(void* to, std::size_t bytes) {
        if (!file_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes))) return false;
        sum_.add(to, bytes);
        return true;
    }
    bool is_open() const { return file_.is_open(); }
    std::uint32_t checksum() const { return sum_.value(); }

private:
    std::ifstream file_;
    Checksum sum_;
};

}  // namespace

void write_unit(const Job& job, const Unit& unit, const PartialNeighbors& found) {
    const std::string path = job.unit_path(unit);
    OutputSet outputs;
    outputs.add_bytes("the unit", path);
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

bool has_unit(const Job& job, const Unit& unit) {
    const std::string path = job.unit_path(unit);
    Header header;
    Reader reader(path);
    std::error_code failed;
    return reader.read(&header, sizeof header) && header == header_of(job, unit) &&
           std::filesystem::file_size(path, failed) == sizes_of(job, unit).file && !failed;
}

PartialNeighbors read_unit(const Job& job, const Unit& unit) {
    const std::string path = job.unit_path(unit);
    const auto refuse = [&](const std::string& why) { throw Error(ErrorCode::bad_file, path + ": " + why); };
    const Sizes sizes = sizes_of(job, unit);
    Reader reader(path);
    if (!reader.is_open()) refuse(fmt::format("expected a unit that is done: {}", std::strerror(errno)));
    if (const auto found = std::filesystem::file_size(path); found != sizes.file)
        refuse(fmt::format("damaged: expected {} bytes, found {}", sizes.file, found));
    Header header;
    PartialNeighbors partial{job.block(unit).rows, job.k, job.base.cols, {}, {}};
    partial.ids.resize(sizes.cells);
    partial.keys.resize(sizes.cells);
    const bool whole = reader.read(&header, sizeof header) &&
                       reader.read(partial.ids.data(), sizes.cells * sizeof(std::int64_t)) &&
                       reader.read(partial.keys.data(), sizes.cells * sizeof(double));
    const std::uint32_t checksum = reader.checksum();
    std::uint64_t expected = 0;
    if (!whole || !reader.read(&expected, sizeof expected)) refuse("cannot be read to its end");
    if (header != header_of(job, unit)) refuse("damaged: expected the header of this unit of this job, found another");
    if (checksum != expected)
        refuse(fmt::format("damaged: expected checksum {:08x}, found {:08x}", expected, checksum));
    return partial;
}

std::string set_aside(const Job& job, const Unit& unit) {
    const std::string path = job.unit_path(unit);
    const std::string name = job.unit_name(unit) + ".damaged";
    if (std::rename(path.c_str(), (path + ".damaged").c_str()) != 0)
        return fmt::format("cannot be renamed ({}); remove it", std::strerror(errno));
    return fmt::format("now {}", name);
}

void remove_leftovers(const Job& job, const Unit& unit) {
    const std::string prefix = job.unit_name(unit) + ".part-";
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(job.folder + "/units", failed)) {
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        std::error_code ignored;
        std::filesystem::remove(entry.path(), ignored);
    }
}

}  // namespace kith::cli::groundtruth
