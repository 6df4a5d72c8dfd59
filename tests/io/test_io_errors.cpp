// Formats: files and arguments that are wrong are refused with the file, the offset and what was expected.
#include "io_scratch.h"

namespace kith::test {
namespace {

class IoErrors : public IoTest {};

TEST_F(IoErrors, NoSuchFile) {
    const std::string message = bad_file(path("none.fvecs"));
    expect_has(message, path("none.fvecs"));
    expect_has(message, "No such file");
    std::filesystem::create_directory(path("folder.npy"));
    expect_has(bad_file(path("folder.npy")), "found a directory");
    expect_has(bad_file("/dev/null", "npy"), "expected a regular file");
}

TEST_F(IoErrors, Arguments) {
    const auto refused = [](auto act) { return message_of(ErrorCode::invalid_argument, act); };
    const FileInfo info{"", 4, 2, ElementType::f32};
    const std::string file = path("a.fbin");
    write_matrix(file, info, pattern(info));

    expect_has(refused([&] { MatrixReader(path("a.dat")); }), "known suffix, or a format of fvecs ivecs");
    expect_has(refused([&] { MatrixReader(file, "nope"); }), "got \"nope\"");
    expect_has(refused([&] { MatrixReader(file + "/train"); }), "no named data sets");
    expect_has(refused([&] { MatrixReader(file + ":4:1"); }), "the file's 4 rows");
    expect_has(refused([&] { MatrixReader(file + ":1:0"); }), "at least one");
    expect_has(refused([&] { MatrixReader(file + ":9:"); }), "the file's 4 rows");
    expect_has(refused([&] { MatrixReader(file + ":1:9223372036854775807"); }), "the file's 4 rows");
    expect_has(refused([&] { MatrixReader(file + ":1:9223372036854775808"); }), "below 2^63");

    MatrixReader reader(file);
    std::vector<float> out(8);
    for (const auto& [first, count] : {std::pair(-1, 1), std::pair(0, 5), std::pair(4, 1), std::pair(2, -1)}) {
        expect_has(refused([&, first = first, count = count] { reader.read(first, count, out.data()); }),
                   "rows within [0, 4)");
    }

    expect_has(refused([&] {
                   MatrixWriter(path("b.fvecs"), {"", 4, 2, ElementType::f64});
               }),
               "fvecs files hold f32, got f64");
    expect_has(refused([&] { MatrixWriter(path("b.npy"), {"", 4, 2, ElementType::bf16}); }), "got bf16");
    expect_has(refused([&] { MatrixWriter(path("b.hdf5"), {"", 4, 2, ElementType::bf16}); }), "got bf16");
    expect_has(refused([&] { MatrixWriter(path("b.idx"), {"", 4, 2, ElementType::f16}); }), "got f16");
    expect_has(refused([&] { MatrixWriter(path("b.npy"), {"", 0, 2, ElementType::f32}); }), "at least one row");
    expect_has(refused([&] { MatrixWriter(path("b.npy"), {"", INT64_MAX, 2, ElementType::f32}); }), "2^63");
    expect_has(refused([&] { MatrixWriter(path("b.fbin"), {"", 1LL << 33, 2, ElementType::f32}); }), "4294967295");
    expect_has(refused([&] { MatrixWriter(path("b.fvecs"), {"", 1, 1LL << 31, ElementType::f32}); }), "2147483647");
    expect_has(refused([&] { MatrixWriter(path("b.truth"), {"", 4, 2, ElementType::i32}); }), "ids and distances");
    expect_has(refused([&] { MatrixWriter(path("b.npy/x"), info); }), "no named data sets");

    MatrixWriter writer(path("b.npy"), info);
    expect_has(refused([&] { writer.append(out.data(), 5); }), "at most 4 more rows");
    writer.append(out.data(), 3);
    expect_has(refused([&] { writer.commit(); }), "expected 4 rows before commit, got 3");
    writer.append(out.data(), 1);
    writer.commit();
    expect_has(refused([&] { writer.commit(); }), "committed already");
    EXPECT_EQ(files(), 2u);

    Neighbors neighbors;
    neighbors.queries = 1;
    neighbors.k = 1;
    expect_has(refused([&] { write_ann_benchmarks(path("c.hdf5"), neighbors, MetricId::euclidean, {}, {}); }),
               "1 x 1 ids");
    neighbors.ids = {1LL << 31};
    expect_has(refused([&] { write_big_ann_truth(path("c.truth"), neighbors); }), "ids and distances");
    neighbors.distances = {0};
    expect_has(refused([&] { write_big_ann_truth(path("c.truth"), neighbors); }), "got 2147483648");
    MatrixView device = view(out.data(), 4, 2);
    device.device = 0;
    expect_has(refused([&] { write_ann_benchmarks(path("c.hdf5"), neighbors, MetricId::euclidean, device, {}); }),
               "host memory");
    // Their product is 2^64: no id is not as many.
    Neighbors wrapped;
    wrapped.queries = wrapped.k = 1LL << 32;
    expect_has(refused([&] { write_csr(path("c.npz"), wrapped, 10); }), "4294967296 x 4294967296 ids");
    expect_has(refused([&] { write_big_ann_truth(path("c.truth"), wrapped); }), "4294967296 x 4294967296 ids");
    expect_has(refused([&] { write_ann_benchmarks(path("c.hdf5"), wrapped, MetricId::euclidean, {}, {}); }),
               "4294967296 x 4294967296 ids");
    EXPECT_EQ(files(), 2u);
}

TEST_F(IoErrors, Unwritable) {
    const FileInfo info{"", 4, 2, ElementType::f32};
    const auto refused = [&](const std::string& file) {
        return message_of(ErrorCode::bad_file, [&] { MatrixWriter(file, info); });
    };
    expect_has(refused(path("none/a.fbin")), "No such file");
    std::filesystem::create_directory(path("folder.npy"));
    expect_has(refused(path("folder.npy")), "found a directory");
    FileInfo named = info;
    named.format = "fbin";
    expect_has(message_of(ErrorCode::bad_file, [&] { MatrixWriter("/dev/null", named); }), "regular file");
}

TEST_F(IoErrors, Vecs) {
    expect_has(bad_file(put("a.fvecs", "")), "offset 0: expected 4 bytes, found the end of the file at 0");
    expect_has(bad_file(put("a.fvecs", bytes_of({0}))), "offset 0: expected a row length of at least 1, found 0");
    expect_has(bad_file(put("a.fvecs", bytes_of({-5, 1, 2}))), "found -5");
    expect_has(bad_file(put("a.fvecs", bytes_of({INT32_MAX, 1, 2}))), "offset 0: expected row 0: 8589934592 bytes");
    expect_has(bad_file(put("a.fvecs", bytes_of({2, 1, 2, 2, 1}))),
               "offset 12: expected row 1: 12 bytes (d = 2), found 8");
    const std::string uneven = put("a.ivecs", bytes_of({2, 1, 2, 3, 1, 2}));
    expect_has(bad_file(uneven), uneven + ": offset 12: expected row 1: length 2 as of row 0, found 3");
}

TEST_F(IoErrors, Bin) {
    expect_has(bad_file(put("a.fbin", "1234")), "offset 4: expected 4 bytes");
    expect_has(bad_file(put("a.fbin", bytes_of({0U, 4U}))),
               "offset 8: expected at least one row and one column, found 0 x 4");
    const std::string five = bytes_of({2U, 2U, 1U, 1U, 1U, 1U, 1U});
    expect_has(bad_file(put("a.fbin", five)),
               "offset 8: expected 16 bytes up to the end of the file (2 x 2 f32), found 20");
    expect_has(bad_file(put("a.hbin", five)), "expected 8 bytes");
    expect_has(bad_file(put("a.fbin", bytes_of({UINT32_MAX, UINT32_MAX, 1U}))), "expected more than 2^63 bytes");
    expect_has(bad_file(put("a.u8bin", bytes_of({0x80000000U, 0x7fffffffU, 1U}))),
               "expected 4611686016279904256 bytes");
}

TEST_F(IoErrors, Truth) {
    expect_has(bad_file(put("a.truth", bytes_of({2U, 1U, 7U, 8U, 0U}))), "expected 16 bytes");
    expect_has(bad_file(put("a.truth", bytes_of({UINT32_MAX, UINT32_MAX, 7U}))), "expected more than 2^63 bytes");
    expect_has(message_of(ErrorCode::bad_file,
                          [&] {
                              read_big_ann_truth(put("a.truth", bytes_of({0U, 1U})));
                          }),
               "0 x 1");
    expect_has(message_of(ErrorCode::invalid_argument, [&] { read_matrix(path("a.truth/id")); }), "got id");
}

TEST_F(IoErrors, Npy) {
    const auto npy = [&](const std::string& dictionary, const std::string& data = "12345678") {
        return bad_file(put("a.npy", std::string("\x93NUMPY\1\0", 8) +
                                         bytes_of({static_cast<std::uint16_t>(dictionary.size())}) + dictionary +
                                         data));
    };
    expect_has(bad_file(put("a.npy", "\x93NUM")), "offset 0: expected 8 bytes");
    expect_has(bad_file(put("a.npy", "not an npy file")), "the magic 93 'NUMPY'");
    expect_has(bad_file(put("a.npy", std::string("\x93NUMPY\4\0\0\0", 10))),
               "offset 6: expected version 1, 2 or 3, found 4");
    expect_has(bad_file(put("a.npy", std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14))),
               "at most 2 bytes, found 4294967295");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"), "expected 12 bytes up to the end");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"), "expected 4 bytes up to the end");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }"), "at least one row");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"), "at least one dimension");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"), "more than 2^63");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4294967296, 4294967296), }"),
               "fits in 64 bits");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "below 2^63");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), "expected a dimension");
    expect_has(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1, 1), 'shape': (2,)}"), "once");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False}"), "descr, fortran_order and shape");
    expect_has(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), "offset 20: expected a dtype of f2");
    expect_has(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), "expected a dtype");
    expect_has(npy("{'descr': '<f4"), "expected a closing quote");
    expect_has(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }"), "expected \"False\"");
    expect_has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x"), "only blanks");
}

TEST_F(IoErrors, Idx) {
    const auto idx = [&](std::string bytes) { return bad_file(put("a.idx", bytes)); };
    expect_has(idx("ab"), "offset 0: expected 4 bytes");
    expect_has(idx(std::string("\x1f\x8b\x08\1", 4)), "offset 0: expected 00 00 (IDX), found 1f 8b");
    expect_has(idx(std::string("\0\0\x0b\1", 4)), "offset 2: expected a type of 08 (u8)");
    expect_has(idx(std::string("\0\0\x08\0", 4)), "offset 3: expected at least one dimension, found 0");
    expect_has(idx(std::string("\0\0\x08\3\0\0\0\1", 8)), "offset 8: expected 4 bytes");
    expect_has(idx(std::string("\0\0\x08\1\0\0\0\3ab", 10)),
               "offset 8: expected 3 bytes up to the end of the file (3 x 1 u8), found 2");
    const std::string huge("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);
    expect_has(idx(std::string("\0\0\x08\4", 4) + huge), "fits in 64 bits");
    expect_has(idx(std::string("\0\0\x08\2", 4) + huge), "expected more than 2^63 bytes");
}

TEST_F(IoErrors, Gzip) {
    const FileInfo info{"", 100, 50, ElementType::u8};
    const std::string file = path("a.idx.gz");
    write_matrix(file, info, pattern(info));
    const std::string whole = get(file);
    expect_has(bad_file(put("a.idx.gz", "plain data")), "expected gzip data");
    for (const std::size_t size : {5UL, 100UL, whole.size() / 2, whole.size() - 4}) {
        EXPECT_NE(bad_file(put("a.idx.gz", whole.substr(0, size))), "") << size;
    }
    expect_has(bad_file(put("a.idx.gz", whole.substr(0, whole.size() / 2))), "a complete gzip stream");
    std::string flipped = whole;
    flipped[whole.size() - 6] ^= 1;
    expect_has(bad_file(put("a.idx.gz", flipped)), "incorrect data check");

    // Zeros pad the last member, as on tapes; anything else may have been a member that was damaged.
    EXPECT_EQ(read_matrix(put("a.idx.gz", whole + std::string(300'000, '\0'))).info.rows, 100);
    expect_has(bad_file(put("a.idx.gz", whole + "x")), "a.idx.gz: offset " + std::to_string(whole.size()) +
                                                           ": expected the end of the file, zeros or more gzip data");
    expect_has(bad_file(put("a.idx.gz", whole + std::string(200'000, '\0') + "junk")),
               "offset " + std::to_string(whole.size() + 200'000) + ": expected the end");
    expect_has(bad_file(put("a.idx.gz", whole + "\x1f")), "expected the end of the file");
    expect_has(bad_file(put("a.idx.gz", whole + "\x1f\x8b")), "a complete gzip stream, found its end in the middle");

    // More than the header says is not decompressed to its end, which here is broken.
    write_matrix(file, info, pattern(info));
    std::filesystem::rename(file, path("b.u8bin.gz"));
    const FileInfo many{"", 3000, 1000, ElementType::u8};
    write_matrix(path("c.u8bin.gz"), many, pattern(many));
    const std::string head = get(path("c.u8bin.gz"));
    write_matrix(path("d.u8bin.gz"), info, pattern(info));
    expect_has(bad_file(put("e.u8bin.gz", get(path("d.u8bin.gz")) + head.substr(0, head.size() / 2))),
               "expected 5000 bytes up to the end of the file (100 x 50 u8), found");

    // A header that claims gigabytes: the IDX header read as another format's.
    write_matrix(file, info, pattern(info));
    std::filesystem::rename(file, path("a.u8bin.gz"));
    expect_has(bad_file(path("a.u8bin.gz")), "offset 8: expected 57174604644352000 bytes up to the end of the file");
}

}  // namespace
}  // namespace kith::test
