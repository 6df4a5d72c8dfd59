// A libFuzzer target for what the folder of a ground-truth job holds: KITH_FUZZ_PART is "manifest", "unit" or "claim".
// Each input is read as it is, and once more with the checksum that it should have. Anything but kith::Error is a
// finding, and so is a job, a unit or a claim with a number that leads anywhere else.
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz_files.h"
#include "jobs/files/checksum.h"
#include "jobs/files/claims.h"
#include "jobs/files/fields.h"
#include "jobs/files/manifest.h"
#include "jobs/files/unit_file.h"

using namespace kith;
using namespace kith::groundtruth;
using namespace kith_fuzz;

namespace {

constexpr std::string_view part = KITH_FUZZ_PART;
constexpr std::int64_t most_values = 1 << 16;

void require(bool holds) {
    if (!holds) std::abort();
}

std::uint32_t checksum_of(std::string_view bytes) {
    Checksum sum;
    sum.add(bytes.data(), bytes.size());
    return sum.value();
}

const Folder& folder() {
    static const Folder one;
    return one;
}

// Two shards, of two files, and two blocks.
Job small_job() {
    Job job;
    job.folder = folder().path();
    job.id = "0123456789abcdef";
    job.version = "1.0";
    job.k = 3;
    job.memory = 1 << 20;
    job.base.count = 7;
    job.base.cols = job.queries.cols = 2;
    job.base.files = {{job.folder + "/a.npy", 4}, {"/b.npy", 3}};
    job.base.pieces = {{0, 0, 0, 4, 1}, {1, 0, 4, 3, 2}};
    job.queries.count = 5;
    job.queries.files = {{"/q.npy", 5}};
    job.queries.pieces = {{0, 0, 0, 3, 3}, {0, 3, 3, 2, 4}};
    return job;
}

constexpr WorkUnit second_shard{1, 1};

PartialNeighbors small_result() {
    const double none = std::numeric_limits<double>::infinity();
    return {2, 3, 2, {4, 6, 5, 5, -1, -1}, {0, 1, 1.5, 2, none, none}};
}

// ---------------------------------------------------------------- manifests

void check_rows(const Rows& rows) {
    std::int64_t first = 0, of_files = 0;
    for (const RowFile& file : rows.files) of_files += file.rows;
    for (const RowPiece& piece : rows.pieces) {
        require(piece.file >= 0 && piece.file < static_cast<std::int64_t>(rows.files.size()));
        require(piece.rows >= 1 && piece.first == first && piece.file_row >= 0);
        require(piece.file_row <= rows.files[static_cast<std::size_t>(piece.file)].rows - piece.rows);
        first += piece.rows;
    }
    require(first == rows.count && of_files == rows.count && rows.cols >= 1);
}

void read_manifest(std::string_view text) {
    tolerate_errors([&] {
        const Manifest manifest = parse_manifest(text, folder().path(), "manifest");
        const Job& job = manifest.job;
        check_rows(job.base);
        check_rows(job.queries);
        require(job.units() >= 1 && job.units() <= most_units && job.k >= 1 && job.memory >= 1);
        require(job.unit(job.units() - 1) == WorkUnit{job.shards() - 1, job.blocks() - 1});
        files_outside(info_of(job));
    });
}

void fuzz_manifest(std::string_view text) {
    read_manifest(text);
    tolerate_errors([&] {
        Json json = parse_json(text, "input", most_values);
        if (!json.is_object()) return;
        json.erase("checksum");
        json["checksum"] = checksum_of(json.dump());
        read_manifest(json.dump());
    });
}

// ---------------------------------------------------------------- units

void check_unit(const Job& job) {
    tolerate_errors([&] {
        has_unit(job, second_shard);
        const std::optional<PartialNeighbors> found = read_unit(job, second_shard);
        if (!found) return;
        const RowPiece& shard = job.shard(second_shard);
        for (std::size_t i = 0; i < found->ids.size(); ++i) {
            const std::int64_t id = found->ids[i];
            require(id == -1 || (id >= shard.first && id < shard.first + shard.rows));
            require(!std::isnan(found->keys[i]));
        }
    });
}

void fuzz_unit(std::string_view bytes) {
    static const Job job = small_job();
    fs::create_directories(job.folder + "/units");
    static const MemoryFile input(job.unit_path(second_shard));
    input.store(bytes.data(), bytes.size());
    check_unit(job);
    if (bytes.size() < sizeof(std::uint64_t)) return;
    std::string whole(bytes);
    const std::size_t end = whole.size() - sizeof(std::uint64_t);
    const std::uint64_t checksum = checksum_of(std::string_view(whole).substr(0, end));
    std::memcpy(whole.data() + end, &checksum, sizeof checksum);
    input.store(whole.data(), whole.size());
    check_unit(job);
}

// ---------------------------------------------------------------- claims

void fuzz_claim(std::string_view text) {
    tolerate_errors([&] {
        const ClaimText claim = parse_claim(text);
        require(claim.lease >= shortest_lease && claim.lease <= longest_lease);
        require(claim.standing.share >= 0 && claim.standing.share <= 1);
        require(std::isfinite(claim.standing.pairs) && claim.standing.pairs >= 0);
        require(std::isfinite(claim.standing.seconds) && claim.standing.seconds >= 0);
        require(claim.process.pid >= 0 && claim.process.pid <= INT32_MAX);
        is_gone(claim.process);
    });
}

// ---------------------------------------------------------------- seeds

void make_seed(const fs::path& path) {
    if (part == "unit") {
        const Job job = small_job();
        fs::create_directories(job.folder + "/units");
        write_unit(job, second_shard, small_result());
        fs::rename(job.unit_path(second_shard), path);
        return;
    }
    std::ofstream file(path, std::ios::binary);
    if (part == "manifest") file << manifest_text(small_job());
    else
        file << R"({"host":"h","boot":"b","namespace":"n","pid":1,"started":2,"lease":60.0,"share":0.5,"pairs":1e9,)"
             << R"("seconds":2.5})";
}

}  // namespace

// Fills the folders of inputs that are still empty.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    (void)folder();
    for (int i = 1; i < *argc; ++i) {
        const fs::path path = (*argv)[i];
        if (fs::is_directory(path) && fs::is_empty(path)) make_seed(path / "seed");
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (part == "manifest") fuzz_manifest(input);
    else if (part == "unit") fuzz_unit(input);
    else fuzz_claim(input);
    return 0;
}
