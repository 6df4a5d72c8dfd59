// Files that change between opening and reading: an error in every format, never rows of zeros or of two files.
#include <filesystem>

#include "io_scratch.h"

namespace kith::test {
namespace {

namespace fs = std::filesystem;

class IoChanges : public IoTest {
protected:
    // Large enough that no reader holds all of it after its header.
    const FileInfo info_{"", 20000, 32, ElementType::f32};

    std::vector<std::string> written() const {
        std::vector<std::string> files;
        for (const char* name : {"a.fvecs", "a.fbin", "a.npy", "a.idx", "a.hdf5"}) {
            write_matrix(path(name), info_, pattern(info_));
            files.push_back(path(name));
        }
        return files;
    }

    // The refusal of reading the rows from 10000 on, after `change`.
    template <class Change>
    std::string refusal(const std::string& file, Change change) const {
        MatrixReader reader(file);
        std::vector<std::byte> block(static_cast<std::size_t>(10000 * info_.cols) * sizeof(float));
        reader.read(0, 1, block.data());
        change();
        return message_of(ErrorCode::bad_file, [&] { reader.read(10000, 10000, block.data()); });
    }
};

TEST_F(IoChanges, CutShort) {
    for (const std::string& file : written()) {
        const auto size = fs::file_size(file);
        const std::string message = refusal(file, [&] { fs::resize_file(file, size / 4); });
        expect_has(message, file);
        expect_has(message, file.ends_with(".hdf5") ? "found " + std::to_string(size / 4) + " bytes where" : "found");
    }
}

TEST_F(IoChanges, WrittenTo) {
    for (const std::string& file : written()) {
        const std::string message =
            refusal(file, [&] { fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1)); });
        expect_has(message, file);
        expect_has(message, "written to while it was read");
    }
}

TEST_F(IoChanges, GzipCutShort) {
    // More than is kept from the counting pass.
    const FileInfo info{"", 70000, 256, ElementType::f32};
    const std::string file = path("a.fbin.gz");
    write_matrix(file, info, std::vector<std::byte>(static_cast<std::size_t>(info.rows * info.cols) * sizeof(float)));
    MatrixReader reader(file);
    std::vector<std::byte> row(static_cast<std::size_t>(info.cols) * sizeof(float));
    fs::resize_file(file, fs::file_size(file) / 2);
    expect_has(message_of(ErrorCode::bad_file, [&] { reader.read(info.rows - 1, 1, row.data()); }), file);
}

}  // namespace
}  // namespace kith::test
