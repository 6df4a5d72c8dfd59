// Headers that claim much, say it in 64 bits, or are of more than the file: read by rule, or refused by a bound.
#include <zlib.h>

#include "io_scratch.h"

namespace kith::test {
namespace {

class IoHeaders : public IoTest {
protected:
    // A file of so many bytes, of which only the first take any disk.
    std::string sparse(const std::string& name, const std::string& start, std::int64_t size) const {
        put(name, start);
        std::filesystem::resize_file(path(name), static_cast<std::uintmax_t>(size));
        return path(name);
    }
    template <class T>
    static std::vector<T> elements(const Matrix& matrix) {
        std::vector<T> values(matrix.bytes.size() / sizeof(T));
        std::memcpy(values.data(), matrix.bytes.data(), matrix.bytes.size());
        return values;
    }
};

TEST_F(IoHeaders, OfSixtyFourBits) {
    const std::string rows = bytes_of({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F});
    for (const char* name : {"a.fbin", "a.fbin.gz"}) {
        const std::string file = path(name);
        const std::string bytes = bytes_of<std::uint64_t>({3, 2}) + rows;
        if (std::string_view(name).ends_with(".gz")) {
            const gzFile packed = gzopen(file.c_str(), "wb");
            gzwrite(packed, bytes.data(), static_cast<unsigned>(bytes.size()));
            gzclose(packed);
        } else {
            put(name, bytes);
        }
        const Matrix matrix = read_matrix(file);
        EXPECT_EQ(matrix.info.rows, 3);
        EXPECT_EQ(matrix.info.cols, 2);
        EXPECT_EQ(elements<float>(matrix), (std::vector<float>{1, 2, 3, 4, 5, 6}));
        EXPECT_EQ(elements<float>(read_matrix(file + ":1:1")), (std::vector<float>{3, 4}));
    }
    EXPECT_EQ(read_matrix(put("a.u8bin", bytes_of<std::uint64_t>({2, 3}) + "abcdef")).info.cols, 3);
    // Rows that 32 bits do not hold.
    const std::int64_t many = (std::int64_t{1} << 32) + 5;
    MatrixReader reader(sparse("many.u8bin", bytes_of<std::int64_t>({many, 1}), 16 + many));
    EXPECT_EQ(reader.info().rows, many);
    expect_has(bad_file(put("b.fbin", bytes_of<std::uint64_t>({3, 2}) + rows + "x")),
               "offset 16: expected 24 bytes up to the end of the file (3 x 2 f32), found 25");
    expect_has(bad_file(put("b.fbin", bytes_of<std::uint64_t>({UINT64_MAX, 2}) + rows)), "offset 8: expected");
}

TEST_F(IoHeaders, OfTheWholeOnAPart) {
    // Five rows of a thousand, and a bit of the sixth.
    std::string bytes = bytes_of({1000U, 2U});
    for (int i = 0; i < 5; ++i) bytes += bytes_of({static_cast<float>(i), 0.5F});
    const std::string file = put("a.fbin", bytes + "xyz");
    const std::string message = bad_file(file);
    expect_has(message, "expected 8000 bytes up to the end of the file (1000 x 2 f32), found 43");
    expect_has(message, file + ":0:5 reads the rows that are there");
    EXPECT_EQ(elements<float>(read_matrix(file + ":0:5"))[8], 4);
    EXPECT_EQ(elements<float>(read_matrix(file + ":3:2")), (std::vector<float>{3, 0.5, 4, 0.5}));
    EXPECT_EQ(MatrixReader(file + ":0:5").info().remark, "a part: 5 of the 1000 rows that its header says are there");
    for (const char* range : {":0:6", ":0:", ":5:1"}) expect_has(bad_file(file + range), ":0:5 reads");
    // Headers of 64 bits, which are none of 32: these would say that there is nothing.
    for (const std::uint64_t rows : {std::uint64_t{1000}, std::uint64_t{1} << 33}) {
        const std::string wide = put("b.fbin", bytes_of<std::uint64_t>({rows, 2}) + bytes.substr(8));
        expect_has(bad_file(wide), "(" + std::to_string(rows) + " x 2 f32), found 40; where it is a part");
        EXPECT_EQ(elements<float>(read_matrix(wide + ":3:2")), (std::vector<float>{3, 0.5, 4, 0.5}));
    }
}

TEST_F(IoHeaders, TruthOfIdsAlone) {
    const std::string header = bytes_of({2U, 3U}), ids = bytes_of({5, 7, -1, 0, 1, 2});
    const std::string alone = put("a.truth", header + ids);
    EXPECT_EQ(data_sets(alone), std::vector<std::string>{"ids"});
    EXPECT_EQ(elements<std::int32_t>(read_matrix(alone + "/ids")), (std::vector<std::int32_t>{5, 7, -1, 0, 1, 2}));
    EXPECT_EQ(read_matrix(alone + "/ids").info.cols, 3);
    // A truth that was cut off looks the same, so they are to be asked for.
    expect_has(bad_file(alone), "found 24 (where these are ids alone, FILE/ids reads them)");
    expect_has(bad_file(alone + "/distances"), "expected distances, found ids alone");
    EXPECT_EQ(data_sets(put("b.truth", header + ids + ids)), (std::vector<std::string>{"ids", "distances"}));
    expect_has(bad_file(put("c.truth", header + ids + "x")),
               "expected 48 bytes up to the end of the file (2 x 3 ids and distances), found 25");
    // Ids are unsigned.
    const std::string wide = put("d.truth", bytes_of({1U, 2U, 0x80000005U, 0xffffffffU, 0U, 0U}));
    EXPECT_EQ(read_big_ann_truth(wide).ids, (std::vector<std::int64_t>{0x80000005, -1}));
    expect_has(bad_file(wide), "row 0, column 0: expected ids below 2^31, found 2147483653");
}

TEST_F(IoHeaders, HaveBounds) {
    constexpr std::int64_t giga = std::int64_t{1} << 30;
    const std::string npy = std::string("\x93NUMPY\2\0", 8) + bytes_of({UINT32_MAX - 100});
    expect_has(bad_file(sparse("a.npy", npy, 5 * giga)),
               "offset 8: expected a header of at most 65535 bytes, found 4294967195");
    // A directory of 6 GiB by the record at the end of a zip64 archive.
    std::string end = bytes_of({0x06064b50U}) + bytes_of<std::uint64_t>({44}) + std::string(12, '\0');
    end += bytes_of<std::uint64_t>({1, 1, 6 * std::uint64_t{giga}, 0});
    end += bytes_of({0x07064b50U, 0U}) + bytes_of<std::uint64_t>({6 * std::uint64_t{giga}}) + bytes_of({1U});
    end += bytes_of({0x06054b50U}) + std::string(18, '\xff');
    end.replace(end.size() - 2, 2, 2, '\0');
    const std::string zip = sparse("a.npz", "PK", 6 * giga);
    std::ofstream(zip, std::ios::binary | std::ios::app) << end;
    expect_has(bad_file(zip), "a directory of at most 16777216 bytes, found 6442450944");
    expect_has(message_of(ErrorCode::bad_file, [&] { data_sets(zip); }), "a directory of at most");
    // As many bytes as 63 bits hold, without those of the header.
    expect_has(bad_file(put("a.truth", bytes_of({0x3fffffffU, 0x40000001U}))),
               "offset 8: expected 9223372036854775800 bytes up to the end of the file");
}

// What is compressed and contradicts its header is not decompressed to its end: it is broken behind that.
TEST_F(IoHeaders, OfCompressedFiles) {
    const auto packed = [&](const std::string& name, const std::string& start) {
        const std::string file = path(name);
        const gzFile out = gzopen(file.c_str(), "wb1");
        gzwrite(out, start.data(), static_cast<unsigned>(start.size()));
        const std::string zeros(std::size_t{8} << 20, '\0');
        for (int i = 0; i < 32; ++i) gzwrite(out, zeros.data(), static_cast<unsigned>(zeros.size()));
        gzclose(out);
        std::string bytes = get(file);
        for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 64; ++i) bytes[i] = '\xff';
        return put(name, bytes);
    };
    expect_has(bad_file(packed("a.fvecs.gz", bytes_of({2, 0, 0}))),
               "offset 12: expected row 1: length 2 as of row 0, found 0");
    expect_has(bad_file(packed("a.truth.gz", bytes_of({3U, 2U}))), "expected 48 bytes up to the end of the file");
    expect_has(bad_file(packed("a.fbin.gz", bytes_of({3U, 2U}))), "expected 24 bytes up to the end of the file");
    // Lengths are found wherever the pieces of decompressing end.
    const FileInfo info{"fvecs", 70000, 3, ElementType::f32};
    write_matrix(path("b.fvecs.gz"), info, pattern(info));
    EXPECT_EQ(read_matrix(path("b.fvecs.gz")).bytes, pattern(info));
}

TEST_F(IoHeaders, FortranOrderOfThreeDimensions) {
    // numpy.asfortranarray(numpy.arange(24).reshape(2, 3, 4)): the first dimension varies fastest in the file.
    std::string dictionary = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }\n";
    std::string data(24, '\0');
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            for (int k = 0; k < 4; ++k)
                data[static_cast<std::size_t>(i + 2 * (j + 3 * k))] = static_cast<char>(12 * i + 4 * j + k);
        }
    }
    const auto npy = [&](const std::string& text) {
        return std::string("\x93NUMPY\1\0", 8) + bytes_of({static_cast<std::uint16_t>(text.size())}) + text + data;
    };
    const Matrix matrix = read_matrix(put("a.npy", npy(dictionary)));
    ASSERT_EQ(matrix.info.rows, 2);
    ASSERT_EQ(matrix.info.cols, 12);
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(static_cast<std::size_t>(matrix.bytes[i]), i);
    EXPECT_EQ(static_cast<int>(read_matrix(path("a.npy:1:1")).bytes[5]), 17);
    // One row of such is no less out of order.
    dictionary.replace(dictionary.find("(2, 3, 4)"), 9, "(1, 6, 4)");
    const Matrix row = read_matrix(put("b.npy", npy(dictionary)));
    ASSERT_EQ(row.info.cols, 24);
    for (std::size_t j = 0; j < 6; ++j) {
        for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(row.bytes[4 * j + k], static_cast<std::byte>(data[j + 6 * k]));
    }
}

}  // namespace
}  // namespace kith::test
