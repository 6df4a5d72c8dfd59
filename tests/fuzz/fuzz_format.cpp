// The libFuzzer targets of all formats, in one program: the name that it is called by says which, "fuzz_npy", or
// "fuzz_idx_gz" for gzipped files. KITH_FUZZ_SEEDS is the folder of seeds that the writer cannot make. Reads each input
// through the public reader; anything but kith::Error, and any allocation out of proportion, is a finding.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz_files.h"
#include "kith/error.h"
#include "kith/io.h"

using namespace kith_fuzz;

namespace {

// The format, and the end of a file's name.
std::string format, suffix;

void take_name(const fs::path& program) {
    constexpr std::string_view before = "fuzz_", gzipped = "_gz";
    format = program.filename().string();
    if (!format.starts_with(before)) std::abort();
    format.erase(0, before.size());
    if (!format.ends_with(gzipped)) return;
    format.resize(format.size() - gzipped.size());
    suffix = ".gz";
}

const Folder& folder() {
    static const Folder one;
    return one;
}

// Where an input lies, under a name that ends as the format wants it.
std::string file_of(const std::string& name) {
    return folder().file(name + suffix);
}

void read_everything(const std::string& path, const std::string& as = format) {
    tolerate_errors([&] { kith::read_matrix(path, as); });
    tolerate_errors([&] {
        kith::MatrixReader reader(path, as);
        const kith::FileInfo& info = reader.info();
        const auto row_bytes = static_cast<std::size_t>(info.cols) * kith::size_of(info.type);
        std::vector<std::byte> block(3 * row_bytes);
        // From the last block to the first, and no more than a hundred: rows may be many and short.
        std::int64_t end = info.rows;
        for (int i = 0; end > 0 && i < 100; ++i) {
            const std::int64_t count = std::min<std::int64_t>(3, end);
            reader.read(end -= count, count, block.data());
        }
    });
}

// Small honest files for the fuzzer to start from.
void make_seeds(const fs::path& corpus) {
    using kith::ElementType;
    int made = 0;
    const auto keep = [&](const std::string& path) {
        fs::copy_file(path, corpus / ("seed-" + std::to_string(made++)), fs::copy_options::overwrite_existing);
    };
    for (const ElementType type : {ElementType::f16, ElementType::f32, ElementType::f64, ElementType::u8,
                                   ElementType::i8, ElementType::i32, ElementType::i64}) {
        for (const auto& [rows, cols] : {std::pair(1, 1), std::pair(5, 3)}) {
            tolerate_errors([&, rows = rows, cols = cols] {
                const std::string path = file_of("seed");
                fs::remove(path);  // not to be added to
                kith::MatrixWriter writer(path, {format, rows, cols, type});
                const std::vector<std::byte> zeros(static_cast<std::size_t>(rows * cols) * kith::size_of(type));
                writer.append(zeros.data(), rows);
                writer.commit();
                keep(path);
            });
        }
    }
    const fs::path kept = fs::path(KITH_FUZZ_SEEDS) / format;
    if (fs::is_directory(kept)) {
        for (const auto& entry : fs::directory_iterator(kept)) keep(entry.path().string());
    }
    if (format == "truth") {
        kith::Neighbors neighbors;
        neighbors.queries = 3;
        neighbors.k = 2;
        neighbors.ids.resize(6);
        neighbors.distances.resize(6);
        kith::write_big_ann_truth(file_of("seed"), neighbors);
        keep(file_of("seed"));
    }
    if (format == "npy") {
        const std::string dictionary = "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 2), }\n";
        std::string file("\x93NUMPY\2\0", 8);
        file += static_cast<char>(dictionary.size());
        file += std::string("\0\0\0", 3) + dictionary + std::string(24, 'x');
        std::ofstream(file_of("seed"), std::ios::binary) << file;
        keep(file_of("seed"));
    }
}

}  // namespace

// On malformed files libhdf5 1.10 loses memory of its own.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libhdf5";
}

// Fills the folders of inputs that are still empty.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    take_name((*argv)[0]);
    (void)folder();
    for (int i = 1; i < *argc; ++i) {
        const fs::path path = (*argv)[i];
        if (fs::is_directory(path) && fs::is_empty(path)) make_seeds(path);
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const MemoryFile input(file_of("input"));
    input.store(data, size);
    const std::string& path = input.path();
    read_everything(path);
    if (format == "hdf5") read_everything(path + "/train");
    if (format.starts_with("csv")) {
        read_everything(path, kith::table_format(format, {.header = true, .columns = "2-,1"}));
        read_everything(path, kith::table_format(format, {.header = false, .skip = 1, .decimal_comma = true}));
        read_everything(path, kith::table_format(format, {.columns = "x,1-"}));
    }
    if (format == "truth") {
        read_everything(path + "/distances");
        tolerate_errors([&] { kith::read_big_ann_truth(path); });
    }
    return 0;
}
