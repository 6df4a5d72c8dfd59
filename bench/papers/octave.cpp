// Files to and from Octave in a folder of their own, which goes with the call.
#include "papers/octave.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "kith/error.h"

namespace kith::bench::papers {

namespace {

namespace fs = std::filesystem;

class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "kith-bench-XXXXXX").string();
        if (!mkdtemp(name.data())) throw Error(ErrorCode::bad_file, name + ": cannot be made");
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string file(const char* name) const { return (path_ / name).string(); }

private:
    fs::path path_;
};

void write_values(const std::string& name, const float* values, std::int64_t count) {
    std::ofstream file(name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values), count * static_cast<std::streamsize>(sizeof(float)));
    if (!file.flush()) throw Error(ErrorCode::bad_file, name + ": cannot be written");
}

// The output of a command; its errors go to a file. Throws where it fails.
std::string output_of(const std::string& command, const std::string& errors) {
    std::FILE* const pipe = popen((command + " 2> '" + errors + "'").c_str(), "r");
    if (!pipe) throw Error(ErrorCode::device, command + ": cannot be started");
    std::string text;
    char part[256];
    while (std::fgets(part, sizeof part, pipe)) text += part;
    if (const int status = pclose(pipe)) {
        std::ifstream file(errors);
        const std::string said{std::istreambuf_iterator<char>(file), {}};
        throw Error(ErrorCode::device, fmt::format("{}: status {}: {}", command, status, said));
    }
    return text;
}

}  // namespace

std::string octave_missing() {
    static const bool found = std::system("command -v octave-cli > /dev/null 2>&1") == 0;
    return found ? "" : "octave-cli is not installed (Debian: octave)";
}

Clocks octave_search(const float* points, std::int64_t n, const float* queries, std::int64_t q, std::int64_t d,
                     std::int64_t k, const std::string& sort, std::int64_t* ids) {
    const Folder folder;
    const std::string of_points = folder.file("points"), of_queries = folder.file("queries"),
                      of_ids = folder.file("ids");
    write_values(of_points, points, n * d);
    write_values(of_queries, queries, q * d);
    const std::string text = output_of(
        fmt::format("OMP_NUM_THREADS=1 octave-cli --quiet --no-init-file '{}/brute_force.m' '{}' '{}' {} {} {} "
                    "{} {} '{}'",
                    KITH_BENCH_PAPERS, of_points, of_queries, n, q, d, k, sort, of_ids),
        folder.file("errors"));
    std::ifstream file(of_ids, std::ios::binary);
    const auto bytes = q * k * static_cast<std::streamsize>(sizeof(std::int64_t));
    if (!file.read(reinterpret_cast<char*>(ids), bytes))
        throw Error(ErrorCode::bad_file, of_ids + ": shorter than the result");
    char* end = nullptr;
    const double wall = std::strtod(text.c_str(), &end);
    return {wall, std::strtod(end, nullptr)};
}

}  // namespace kith::bench::papers
