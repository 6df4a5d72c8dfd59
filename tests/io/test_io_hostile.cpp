// Files that are cut off or damaged, of every format of formats.def: refused by name, or read as what they say.
#include <algorithm>

#include "io_scratch.h"

namespace kith::test {
namespace {

// Writes a small file of the format, one row where it is one of rows; returns what to read of it.
std::string write_honest(const io::Format& format, const std::string& path) {
    const FileInfo info{format.name, 1, 5, ElementType::f32};
    for (const ElementType type : all_types) {
        if (!holds(format, type)) continue;
        MatrixWriter writer(path, {format.name, info.rows, info.cols, type}, true);
        const std::vector<std::byte> zeros(static_cast<std::size_t>(info.cols) * size_of(type));
        writer.append(zeros.data(), info.rows);
        writer.commit();
        return path;
    }
    // What MatrixWriter does not write has a function of its own.
    Neighbors neighbors;
    neighbors.queries = info.rows;
    neighbors.k = info.cols;
    neighbors.ids = {3, 1, 4, 0, 2};
    neighbors.distances = {1, 2, 3, 4, 5};
    if (format.name == std::string("truth")) {
        write_big_ann_truth(path, neighbors);
        return path;
    }
    if (format.name == std::string("npz")) {
        write_csr(path, neighbors, 9);
        return path + "/data";
    }
    const std::string seeds = std::string(KITH_SEEDS) + "/" + format.name;
    if (std::filesystem::is_directory(seeds)) {
        const auto seed = std::filesystem::directory_iterator(seeds)->path();
        std::filesystem::copy_file(seed, path, std::filesystem::copy_options::overwrite_existing);
        return path;
    }
    ADD_FAILURE() << format.name << ": MatrixWriter takes no type of it; put a file of one row into " << seeds;
    return path;
}

class Hostile : public IoTest, public ::testing::WithParamInterface<const io::Format*> {
protected:
    const io::Format& format() const { return *GetParam(); }

    void SetUp() override {
        IoTest::SetUp();
        file_ = path(file_of(format()));
        const std::string to_read = write_honest(format(), file_);
        data_set_ = to_read.substr(file_.size());
        honest_ = get(file_);
        ASSERT_NO_THROW(read_matrix(to_read, format().name));
    }

    // Whether it is read. What is read is no larger than eight times the file (text as f64: "1,1"); what is not, is
    // refused as a bad file, by its name.
    bool reads(const std::string& bytes, const std::string& label) const {
        put(file_of(format()), bytes);
        try {
            const Matrix m = read_matrix(file_ + data_set_, format().name);
            EXPECT_GE(m.info.rows, 1) << label;
            EXPECT_GE(m.info.cols, 1) << label;
            EXPECT_EQ(m.bytes.size(), static_cast<std::size_t>(m.info.rows * m.info.cols) * size_of(m.info.type))
                << label;
            EXPECT_LE(m.bytes.size(), 8 * bytes.size()) << label;
            return true;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_file) << label << ": " << error.what();
            EXPECT_NE(std::string(error.what()).find(file_), std::string::npos) << label << ": " << error.what();
            return false;
        }
    }

    std::string file_, data_set_, honest_;
};

// One row, so that no part is a file of fewer. Text may end anywhere.
TEST_P(Hostile, CutOff) {
    const bool text = std::ranges::all_of(honest_, [](unsigned char c) { return std::isprint(c) || std::isspace(c); });
    EXPECT_FALSE(reads("", "empty"));
    const std::size_t step = honest_.size() / 400 + 1;
    for (std::size_t size = 1; size < honest_.size(); size += step) {
        const std::string label = std::to_string(size) + " of " + std::to_string(honest_.size()) + " bytes";
        EXPECT_FALSE(reads(honest_.substr(0, size), label) && !text) << label;
    }
}

TEST_P(Hostile, DamagedHeader) {
    constexpr std::size_t header = 96;
    for (std::size_t at = 0; at < std::min(header, honest_.size()); ++at) {
        for (const std::size_t width : {1, 4, 8}) {
            for (const char byte : {'\0', '\x7f', '\xff'}) {
                std::string damaged = honest_;
                for (std::size_t i = at; i < std::min(at + width, damaged.size()); ++i) damaged[i] = byte;
                reads(damaged, std::to_string(width) + " bytes of " + std::to_string(static_cast<unsigned char>(byte)) +
                                   " at " + std::to_string(at));
            }
        }
    }
}

std::vector<const io::Format*> pointers() {
    std::vector<const io::Format*> all;
    for (const io::Format& format : io::formats())
        if (has_format(format.name)) all.push_back(&format);
    return all;
}

INSTANTIATE_TEST_SUITE_P(Formats, Hostile, ::testing::ValuesIn(pointers()),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace kith::test
