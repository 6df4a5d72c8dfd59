// Writes and reads the results of units.
#include "jobs/unit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "jobs/checksum.h"
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
    std::size_t file;
};

Sizes sizes_of(const Job& job, const WorkUnit& unit) {
    const auto cells = static_cast<std::size_t>(job.block(unit).rows * job.k);
    return {cells, sizeof(Header) + cells * (sizeof(std::int64_t) + sizeof(double)) + sizeof(std::uint64_t)};
}

// Reads through the file, adding to the checksum.
class Reader {
public:
    explicit Reader(std::string path) : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0 && errno != ENOENT) fail("cannot be opened");
    }
    ~Reader() {
        if (file_ >= 0) ::close(file_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    bool is_there() const { return file_ >= 0; }

    std::size_t size() const {
        struct stat found {};
        if (::fstat(file_, &found) != 0) fail("cannot be read");
        if (!S_ISREG(found.st_mode))
            throw Error(ErrorCode::bad_file, fmt::format("{}: expected the file of a unit, found {}", path_,
                                                         S_ISDIR(found.st_mode) ? "a directory" : "no regular file"));
        return static_cast<std::size_t>(found.st_size);
    }

    void read(void* to, std::size_t bytes) {
        for (std::size_t done = 0; done < bytes;) {
            const ssize_t got = ::read(file_, static_cast<char*>(to) + done, bytes - done);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) fail("cannot be read");
            if (got == 0) throw DamagedUnit(path_ + ": damaged: cannot be read to its end");
            done += static_cast<std::size_t>(got);
        }
        sum_.add(to, bytes);
    }

    std::uint32_t checksum() const { return sum_.value(); }

private:
    [[noreturn]] void fail(const char* what) const {
        throw Error(ErrorCode::bad_file, fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
    }

    std::string path_;
    int file_;
    Checksum sum_;
};

}  // namespace

void write_unit(const Job& job, const WorkUnit& unit, const PartialNeighbors& found) {
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
    const auto damaged = [&](const std::string& why) { throw DamagedUnit(fmt::format("{}: damaged: {}", path, why)); };
    const Sizes sizes = sizes_of(job, unit);
    Reader reader(path);
    if (!reader.is_there()) return std::nullopt;
    if (const std::size_t found = reader.size(); found != sizes.file)
        damaged(fmt::format("expected {} bytes, found {}", sizes.file, found));
    Header header;
    PartialNeighbors partial{job.block(unit).rows, job.k, job.base.cols, {}, {}};
    partial.ids.resize(sizes.cells);
    partial.keys.resize(sizes.cells);
    reader.read(&header, sizeof header);
    reader.read(partial.ids.data(), sizes.cells * sizeof(std::int64_t));
    reader.read(partial.keys.data(), sizes.cells * sizeof(double));
    const std::uint32_t checksum = reader.checksum();
    std::uint64_t expected = 0;
    reader.read(&expected, sizeof expected);
    if (header != header_of(job, unit)) damaged("expected the header of this unit of this job, found another");
    if (checksum != expected) damaged(fmt::format("expected checksum {:08x}, found {:08x}", expected, checksum));
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
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(job.folder + "/units", failed)) {
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        std::error_code ignored;
        std::filesystem::remove(entry.path(), ignored);
    }
}

}  // namespace kith::groundtruth
