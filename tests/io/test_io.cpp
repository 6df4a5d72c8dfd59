// Formats: what is written is read, whole and in parts.

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <tuple>
#include <utility>

#include "io_scratch.h"

namespace kith::test {
namespace {

// A file and what is written to it.
struct Case {
    std::string file;
    std::string format;  // "": by the suffix
    ElementType type;
};

// Every format in every type that it takes, and each gzipped; then other suffixes and names of data sets.
std::vector<Case> cases() {
    std::vector<Case> all;
    for (const io::Format& format : io::formats()) {
        bool gzipped = false;
        for (const ElementType type : all_types) {
            if (!holds(format, type)) continue;
            all.push_back({file_of(format), format.name, type});
            if (!std::exchange(gzipped, true) && !format.names && *format.suffixes)
                all.push_back({file_of(format) + ".gz", "", type});
        }
    }
    for (const auto& [file, type] :
         {std::pair("b.hdf5/test", ElementType::f32), std::pair("c.h5/a/b/c", ElementType::f64),
          std::pair("a-idx3-ubyte.gz", ElementType::u8), std::pair("f.tsv", ElementType::f32)})
        all.push_back({file, "", type});
    return all;
}

// 0, 1, ... 99, 0, ...: numbers of every type.
std::vector<std::byte> whole_numbers(const FileInfo& info) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(info.rows * info.cols) * size_of(info.type));
    for (std::int64_t i = 0; i < info.rows * info.cols; ++i) {
        const auto put = [&](auto value) {
            std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
        };
        switch (info.type) {
            case ElementType::f32:
                put(static_cast<float>(i % 100));
                break;
            case ElementType::f64:
                put(static_cast<double>(i % 100));
                break;
            case ElementType::i8:
            case ElementType::u8:
                put(static_cast<std::uint8_t>(i % 100));
                break;
            case ElementType::i32:
                put(static_cast<std::int32_t>(i % 100));
                break;
            case ElementType::i64:
                put(i % 100);
                break;
            default:
                ADD_FAILURE() << name(info.type) << " is read as another type: its numbers are not known here";
        }
    }
    return bytes;
}

class RoundTrip : public IoTest, public ::testing::WithParamInterface<Case> {
protected:
    void SetUp() override {
        IoTest::SetUp();
        file_ = path(GetParam().file);
        write({GetParam().format, 1, 1, GetParam().type}, std::vector<std::byte>(size_of(GetParam().type)));
        read_as_ = MatrixReader(file_, GetParam().format).info().type;
        std::filesystem::remove_all(path(""));
        std::filesystem::create_directory(path(""));
    }
    void write(const FileInfo& info, const std::vector<std::byte>& bytes) const {
        MatrixWriter writer(file_, info, true);
        writer.append(bytes.data(), info.rows);
        writer.commit();
    }
    FileInfo info(std::int64_t rows, std::int64_t cols) const {
        return {GetParam().format, rows, cols, GetParam().type};
    }
    // What is written, and what must be read: where the format keeps the type, random bytes (of numbers, where they are
    // floats); where it reads another, numbers that both hold.
    std::vector<std::byte> written(const FileInfo& info) const {
        if (read_as_ != info.type) return whole_numbers(info);
        std::vector<std::byte> bytes = pattern(info);
        const std::size_t size = size_of(info.type);
        if (info.type == ElementType::f32 || info.type == ElementType::f64)
            for (std::size_t i = size - 1; i < bytes.size(); i += size) bytes[i] &= std::byte{0xbf};
        return bytes;
    }
    std::vector<std::byte> expected(FileInfo info) const {
        if (read_as_ == info.type) return written(info);
        info.type = read_as_;
        return whole_numbers(info);
    }

    std::string file_;
    ElementType read_as_ = ElementType::f32;
};

TEST_P(RoundTrip, WholeAndInBlocks) {
    const std::string& format = GetParam().format;
    for (const auto& [rows, cols] : {std::tuple(1, 1), std::tuple(17, 1), std::tuple(1, 33), std::tuple(101, 67)}) {
        write(info(rows, cols), written(info(rows, cols)));
        const std::vector<std::byte> bytes = expected(info(rows, cols));

        const Matrix whole = read_matrix(file_, format);
        EXPECT_EQ(whole.info.rows, rows);
        EXPECT_EQ(whole.info.cols, cols);
        EXPECT_EQ(whole.info.type, read_as_);
        EXPECT_EQ(whole.bytes, bytes);

        // Blocks from the last to the first: gzip has to rewind.
        MatrixReader reader(file_, format);
        const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(rows);
        std::vector<std::byte> block(7 * row_bytes);
        for (std::int64_t end = rows; end > 0; end -= 7) {
            const std::int64_t first = std::max<std::int64_t>(0, end - 7);
            reader.read(first, end - first, block.data());
            EXPECT_EQ(std::memcmp(block.data(), bytes.data() + static_cast<std::size_t>(first) * row_bytes,
                                  static_cast<std::size_t>(end - first) * row_bytes),
                      0);
        }
    }
}

TEST_P(RoundTrip, AppendedInBlocksAndRanges) {
    const std::string& format = GetParam().format;
    const std::vector<std::byte> given = written(info(50, 9)), bytes = expected(info(50, 9));
    const std::size_t given_row = given.size() / 50, row = bytes.size() / 50;
    {
        MatrixWriter writer(file_, info(50, 9));
        writer.append(given.data(), 20);
        writer.append(given.data() + 20 * given_row, 0);
        writer.append(given.data() + 20 * given_row, 30);
        writer.commit();
    }
    EXPECT_EQ(files(), 1u);
    const Matrix middle = read_matrix(file_ + ":10:5", format);
    EXPECT_EQ(middle.info.rows, 5);
    EXPECT_TRUE(std::equal(middle.bytes.begin(), middle.bytes.end(), bytes.data() + 10 * row));
    const Matrix rest = read_matrix(file_ + ":48:", format);
    EXPECT_EQ(rest.info.rows, 2);
    EXPECT_TRUE(std::equal(rest.bytes.begin(), rest.bytes.end(), bytes.data() + 48 * row));
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, ::testing::ValuesIn(cases()), [](const auto& tested) {
    return identifier(tested.param.format + "_" + tested.param.file + "_" + kith::name(tested.param.type));
});

class Io : public IoTest {};

TEST_F(Io, RowsLargerThanABuffer) {
    for (const char* file : {"a.fvecs", "a.npy", "a.idx", "a.idx.gz", "a.hdf5/train"}) {
        const FileInfo info{"", 5, 1'200'000, ElementType::f32};
        const std::vector<std::byte> bytes = pattern(info);
        write_matrix(path(file), info, bytes);
        EXPECT_EQ(read_matrix(path(file)).bytes, bytes) << file;
    }
}

// Beyond what the reader keeps in memory, blocks are decompressed as they are asked for.
TEST_F(Io, LargeGzip) {
    const FileInfo info{"", 70'000, 1'000, ElementType::u8};
    std::vector<std::byte> bytes(70'000'000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / 1000 + i % 7);
    write_matrix(path("a.idx.gz"), info, bytes);
    MatrixReader reader(path("a.idx.gz"));
    std::vector<std::byte> block(3'000);
    for (const std::int64_t first : {0, 69'997, 40'000, 40'003, 1}) {
        reader.read(first, 3, block.data());
        EXPECT_TRUE(std::equal(block.begin(), block.end(), bytes.begin() + first * 1000)) << first;
    }
}

std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
    std::string file = "\x93NUMPY";
    file += static_cast<char>(version);
    file += '\0';
    const auto length = static_cast<std::uint32_t>(dictionary.size());
    file += version == 1 ? bytes_of({static_cast<std::uint16_t>(length)}) : bytes_of({length});
    return file + dictionary + data;
}

TEST_F(Io, NpyFortranOrder) {
    // Element (i, j) is 1000 i + j, column after column; more columns than are transposed together.
    std::string data;
    for (int j = 0; j < 150; ++j) {
        for (int i = 0; i < 40; ++i) data += bytes_of({1000 * i + j});
    }
    const std::string file =
        put("a.npy", npy("{'descr': '<i4', 'fortran_order': True, 'shape': (40, 150), }\n", data, 2));
    MatrixReader reader(file);
    EXPECT_EQ(reader.info().rows, 40);
    EXPECT_EQ(reader.info().cols, 150);
    for (const std::int64_t count : {40, 7, 1}) {
        std::vector<std::int32_t> out(static_cast<std::size_t>(count) * 150);
        for (std::int64_t first = 0; first + count <= 40; first += count) {
            reader.read(first, count, out.data());
            for (std::int64_t i = 0; i < count; ++i) {
                for (std::int64_t j = 0; j < 150; ++j) {
                    ASSERT_EQ(out[static_cast<std::size_t>(i * 150 + j)], 1000 * (first + i) + j);
                }
            }
        }
    }
}

// The rows lie across the whole file: it is read once, not once for every 16 MiB of rows.
TEST_F(Io, NpyFortranOrderIsReadOnce) {
    constexpr std::int64_t rows = 1 << 20, cols = 70;
    std::string data;
    for (std::int64_t j = 0; j < cols; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) data += static_cast<char>(i * 7 + i / 251 + j);
    }
    const std::string file = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1048576, 70), }\n", data);
    put("a.npy", file);
    int asked = 0;
    const auto count = [&] { return ++asked > 0; };
    const Matrix matrix = read_matrix(path("a.npy"), ReadOptions{"", count});
    EXPECT_LE(asked, 20);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
            wrong +=
                matrix.bytes[static_cast<std::size_t>(i * cols + j)] != static_cast<std::byte>(i * 7 + i / 251 + j);
        }
    }
    EXPECT_EQ(wrong, 0);
}

TEST_F(Io, NpyForeignFortranOrder) {
    std::string data;
    for (int j = 0; j < 150; ++j) {
        for (int i = 0; i < 40; ++i) data += bytes_of({static_cast<std::int16_t>(100 * i - j)});
    }
    const std::string file = put("a.npy", npy("{'descr': '<i2', 'fortran_order': True, 'shape': (40, 150), }\n", data));
    for (const std::int64_t first : {0, 3}) {
        const Matrix matrix = read_matrix(file + (first == 0 ? "" : ":3:"));
        ASSERT_EQ(matrix.info.type, ElementType::f32);
        for (std::int64_t cell = 0; cell < matrix.info.rows * 150; ++cell) {
            float value = 0;
            std::memcpy(&value, matrix.bytes.data() + cell * 4, sizeof value);
            ASSERT_EQ(value, static_cast<float>(100 * (first + cell / 150) - cell % 150));
        }
    }
}

TEST_F(Io, NpyVariants) {
    const std::string values = bytes_of({1.5F, -2.0F, 3.25F, 4.0F, 5.0F, 6.0F});
    const auto read = [&](const std::string& dictionary, int version = 1) {
        return read_matrix(put("a.npy", npy(dictionary, values, version)));
    };
    const Matrix plain = read("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }   \n");
    EXPECT_EQ(plain.info.rows, 3);
    EXPECT_EQ(plain.info.cols, 2);
    EXPECT_EQ(std::memcmp(plain.bytes.data(), values.data(), values.size()), 0);
    EXPECT_EQ(read("{\"shape\":(3L,2L),\"fortran_order\":False,\"descr\":\"<f4\"}", 3).bytes, plain.bytes);
    EXPECT_EQ(read("{'descr': '=f4', 'fortran_order': True, 'shape': (6,)}").info.cols, 1);
    const Matrix images = read("{'descr': 'f4', 'fortran_order': False, 'shape': (1, 3, 2)}");
    EXPECT_EQ(images.info.rows, 1);
    EXPECT_EQ(images.info.cols, 6);

    const Matrix big = read_matrix(put("b.npy", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
                                                    std::string("\x3f\xc0\0\0\xc0\0\0\0", 8))));
    EXPECT_EQ(std::memcmp(big.bytes.data(), values.data(), 8), 0);
}

TEST_F(Io, NpyHeaderIsNumpys) {
    write_matrix(path("a.npy"), {"", 2, 3, ElementType::u8}, std::vector<std::byte>(6));
    const std::string file = get(path("a.npy"));
    EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\1\0\x76\0", 10));
    EXPECT_EQ(file.substr(10, 59), "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }");
    EXPECT_EQ(file[127], '\n');
    EXPECT_EQ(file.size(), 128u + 6u);
}

TEST_F(Io, IdxIsBigEndianAndFlattens) {
    const Matrix images =
        read_matrix(put("a-idx3-ubyte", std::string("\0\0\x08\3\0\0\0\1\0\0\0\2\0\0\0\3", 16) + "abcdef"));
    EXPECT_EQ(images.info.rows, 1);
    EXPECT_EQ(images.info.cols, 6);
    const Matrix labels = read_matrix(put("b.idx", std::string("\0\0\x0c\1\0\0\0\2\0\0\1\2\xff\xff\xff\xff", 16)));
    EXPECT_EQ(labels.info.rows, 2);
    EXPECT_EQ(labels.info.cols, 1);
    const std::int32_t expected[] = {258, -1};
    EXPECT_EQ(std::memcmp(labels.bytes.data(), expected, sizeof expected), 0);

    write_matrix(path("c.idx"), labels.info.rows == 2 ? FileInfo{"", 2, 1, ElementType::i32} : FileInfo{},
                 labels.bytes);
    EXPECT_EQ(get(path("c.idx")), get(path("b.idx")));
}

TEST_F(Io, FashionMnist) {
    const std::string folder = "/usr/share/datasets/fashion-mnist/";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "package dataset-fashion-mnist is not installed";
    MatrixReader train(folder + "train-images-idx3-ubyte.gz");
    EXPECT_EQ(train.info().format, "idx");
    EXPECT_EQ(train.info().rows, 60'000);
    EXPECT_EQ(train.info().cols, 784);
    EXPECT_EQ(train.info().type, ElementType::u8);
    const Matrix labels = read_matrix(folder + "t10k-labels-idx1-ubyte.gz");
    EXPECT_EQ(labels.info.rows, 10'000);
    EXPECT_EQ(labels.info.cols, 1);
    // A thousand of each of ten classes.
    for (int c = 0; c < 10; ++c) {
        EXPECT_EQ(std::count(labels.bytes.begin(), labels.bytes.end(), static_cast<std::byte>(c)), 1000);
    }
}

Neighbors some_neighbors(bool f64) {
    Neighbors neighbors;
    neighbors.queries = 3;
    neighbors.k = 2;
    neighbors.ids = {4, 1, 0, 2, 3, -1};
    if (f64) neighbors.distances64 = {0.0, 0.1, 0.2, 0.3, 0.4, std::numeric_limits<double>::infinity()};
    else neighbors.distances = {0.0F, 0.1F, 0.2F, 0.3F, 0.4F, std::numeric_limits<float>::infinity()};
    return neighbors;
}

TEST_F(Io, AnnBenchmarks) {
    const std::string file = path("a.hdf5");
    const std::vector<float> train{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const std::vector<bfloat16> test{{0x3f80}, {0x4000}, {0x4040}, {0xc000}, {0x0001}, {0x7f80}};
    // train is a strided column-major view of 3 x 2, test a row-major 3 x 2.
    write_ann_benchmarks(file, some_neighbors(false), MetricId::euclidean, view_column_major(train.data(), 3, 2, 5),
                         view(test.data(), 3, 2));
    EXPECT_EQ(files(), 1u);

    const Matrix ids = read_matrix(file + "/neighbors");
    EXPECT_EQ(ids.info.type, ElementType::i32);
    const std::int32_t expected_ids[] = {4, 1, 0, 2, 3, -1};
    EXPECT_EQ(std::memcmp(ids.bytes.data(), expected_ids, sizeof expected_ids), 0);
    EXPECT_EQ(read_matrix(file + "/distances").info.type, ElementType::f32);
    const float expected_train[] = {1, 6, 2, 7, 3, 8};
    EXPECT_EQ(std::memcmp(read_matrix(file + "/train").bytes.data(), expected_train, sizeof expected_train), 0);
    const Matrix widened = read_matrix(file + "/test:1:1");
    const float expected_test[] = {3.0F, -2.0F};
    EXPECT_EQ(std::memcmp(widened.bytes.data(), expected_test, sizeof expected_test), 0);

    Neighbors wide = some_neighbors(true);
    wide.ids[0] = std::int64_t{1} << 40;
    const std::string other = path("b.hdf5");
    write_ann_benchmarks(other, wide, MetricId::cosine, {}, {});
    EXPECT_EQ(read_matrix(other + "/neighbors").info.type, ElementType::i64);
    EXPECT_EQ(read_matrix(other + "/distances").info.type, ElementType::f64);
    expect_has(bad_file(other + "/train"), "expected one of: distances, neighbors");
}

TEST_F(Io, BigAnnTruth) {
    const Neighbors written = some_neighbors(false);
    for (const char* name : {"a.truth", "a.gt.gz"}) {
        const std::string file = path(name);
        write_big_ann_truth(file, written);
        const Neighbors read = read_big_ann_truth(file);
        EXPECT_EQ(read.queries, 3);
        EXPECT_EQ(read.k, 2);
        EXPECT_EQ(read.ids, written.ids);
        EXPECT_EQ(read.distances, written.distances);
        EXPECT_EQ(read_matrix(file).info.type, ElementType::i32);
        const std::vector<std::byte> all = read_matrix(file).bytes;
        EXPECT_EQ(read_matrix(file + "/ids:2:1").bytes, (std::vector<std::byte>(all.begin() + 16, all.end())));
        EXPECT_EQ(std::memcmp(read_matrix(file + "/distances").bytes.data(), written.distances.data(), 24), 0);
    }
    write_big_ann_truth(path("b.truth"), some_neighbors(true));
    EXPECT_EQ(read_big_ann_truth(path("b.truth")).distances, written.distances);
}

// The HDF5 library is not thread-safe; readers and writers of different files must be.
TEST_F(Io, Hdf5FromSeveralThreads) {
    const FileInfo info{"", 200, 30, ElementType::f32};
    const std::vector<std::byte> bytes = pattern(info);
    std::vector<std::thread> threads;
    std::atomic<int> equal{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            const std::string file = path(std::to_string(t) + ".hdf5/train");
            for (int i = 0; i < 20; ++i) {
                write_matrix(file, info, bytes);
                equal += read_matrix(file).bytes == bytes;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(equal, 80);
}

TEST_F(Io, NamesThatExistAreTakenAsTheyStand) {
    const FileInfo info{"fbin", 4, 2, ElementType::f32};
    write_matrix(path("odd.fbin"), info, pattern(info));
    std::filesystem::rename(path("odd.fbin"), path("odd:1:2"));
    EXPECT_EQ(read_matrix(path("odd:1:2"), "fbin").info.rows, 4);
    EXPECT_EQ(read_matrix(path("odd:1:2:1:2"), "fbin").info.rows, 2);
}

TEST_F(Io, TemporaryFilesGo) {
    const FileInfo info{"", 4, 2, ElementType::f32};
    write_matrix(path("old.hdf5"), info, pattern(info));
    const std::string old_hdf5 = get(path("old.hdf5"));
    std::filesystem::remove(path("old.hdf5"));
    for (const char* file : {"a.fbin", "a.fvecs", "a.npy", "a.idx.gz", "a.hdf5"}) {
        const std::string old = std::string(file) == "a.hdf5" ? old_hdf5 : "old";
        put(file, old);
        {
            MatrixWriter writer(path(file), info, true);
            writer.append(pattern(info).data(), 3);
        }
        EXPECT_EQ(get(path(file)), old);
        EXPECT_EQ(files(), 1u);
        std::filesystem::remove(path(file));
    }
}

TEST_F(Io, LinksStayLinks) {
    const FileInfo info{"", 4, 2, ElementType::f32};
    put("real.fbin", "old");
    std::filesystem::create_symlink(path("real.fbin"), path("link.fbin"));
    write_matrix(path("link.fbin"), info, pattern(info));
    EXPECT_TRUE(std::filesystem::is_symlink(path("link.fbin")));
    EXPECT_EQ(read_matrix(path("real.fbin")).bytes, pattern(info));
}

TEST_F(Io, HelpNamesEveryFormat) {
    for (const char* name :
         {"fvecs", "ivecs", "bvecs", "fbin", "ibin", "u8bin", "i8bin", "hbin", "truth", "npy", "hdf5", "idx"}) {
        expect_has(formats_help(), std::string(name) + " ");
    }
}

// Columns of a compressed file, by blocks of rows: decompressed once to count them and once to read them, not for each.
TEST_F(Io, CompressedFortranOrderByBlocks) {
    const std::int64_t rows = 1 << 17, cols = 140;  // beyond what is kept of a file that is counted
    const FileInfo transposed{"", cols, rows, ElementType::f32};
    std::vector<float> values(static_cast<std::size_t>(rows * cols));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1021 + i / 100'000);
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    write_matrix(path("c.npy"), transposed, bytes);
    std::string text = get(path("c.npy"));
    const std::string shape = "False, 'shape': (140, 131072), }", other = "True, 'shape': (131072, 140), } ";
    ASSERT_NE(text.find(shape), std::string::npos);
    text.replace(text.find(shape), shape.size(), other);
    gzFile packed = gzopen(path("f.npy.gz").c_str(), "wb1");
    ASSERT_EQ(gzwrite(packed, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    gzclose(packed);

    std::int64_t polls = 0;
    ReadOptions options;
    options.proceed = [&] { return ++polls > 0; };
    MatrixReader reader(path("f.npy.gz"), options);
    const std::int64_t counting = polls, step = rows / 8;
    std::vector<float> block(static_cast<std::size_t>(step * cols));
    for (std::int64_t first = 0; first < rows; first += step) {
        reader.read(first, step, block.data());
        for (std::int64_t i = 0; i < step; i += 1009) {
            for (std::int64_t j = 0; j < cols; ++j) {
                ASSERT_EQ(block[static_cast<std::size_t>(i * cols + j)],
                          values[static_cast<std::size_t>(j * rows + first + i)]);
            }
        }
    }
    EXPECT_LT(polls, 3 * counting);
}

}  // namespace
}  // namespace kith::test
