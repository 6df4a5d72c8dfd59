// HDF5 as h5py writes it: its types of elements, its filters, and what ann-benchmarks' attributes say of the data.
#include <hdf5.h>

#include "io/zip/lzf.h"
#include "io_scratch.h"

namespace kith::test {
namespace {

// Writes the file's data set "x" of 6 x 4 elements; closes what it opens.
class Written {
public:
    explicit Written(const std::string& file)
        : file_(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
          properties_(H5Pcreate(H5P_DATASET_CREATE)) {}
    ~Written() {
        H5Pclose(properties_);
        H5Fclose(file_);
    }
    Written(const Written&) = delete;
    Written& operator=(const Written&) = delete;

    hid_t properties() const { return properties_; }
    // In chunks of 3 x 4.
    void chunked() const {
        const hsize_t chunk[] = {3, 4};
        H5Pset_chunk(properties_, 2, chunk);
    }
    // `chunks`: raw ones, in place of `values`.
    void put(const char* name, hid_t type, hid_t memory, const void* values, const std::vector<hsize_t>& shape = {6, 4},
             const std::vector<std::string>& chunks = {}) const {
        const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
        const hid_t dataset = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, properties_, H5P_DEFAULT);
        if (values) H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            const hsize_t at[] = {3 * i, 0};
            H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, chunks[i].size(), chunks[i].data());
        }
        H5Dclose(dataset);
        H5Sclose(space);
    }
    void say(const char* name, const std::string& text) const {
        const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
        H5Tset_size(type, text.size());
        attribute(name, type, space, text.data());
        H5Tclose(type);
    }
    void say(const char* name, std::int64_t value) const {
        attribute(name, H5T_NATIVE_INT64, H5Screate(H5S_SCALAR), &value);
    }

private:
    void attribute(const char* name, hid_t type, hid_t space, const void* value) const {
        const hid_t made = H5Acreate2(file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(made, type, value);
        H5Aclose(made);
        H5Sclose(space);
    }

    hid_t file_, properties_;
};

class IoHdf5Kinds : public IoTest {
protected:
    void TearDown() override {
        // Nothing stays open, behind an error too.
        EXPECT_EQ(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL), 0);
        IoTest::TearDown();
    }
    std::string file() const { return path("a.hdf5"); }
    static std::vector<double> doubles(const Matrix& matrix) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < matrix.info.rows * matrix.info.cols; ++i) {
            if (matrix.info.type == ElementType::f32) values.push_back(at<float>(matrix, i));
            else if (matrix.info.type == ElementType::i64)
                values.push_back(static_cast<double>(at<std::int64_t>(matrix, i)));
            else if (matrix.info.type == ElementType::i32) values.push_back(at<std::int32_t>(matrix, i));
            else ADD_FAILURE() << name(matrix.info.type);
        }
        return values;
    }
    template <class T>
    static T at(const Matrix& matrix, std::int64_t i) {
        T value{};
        std::memcpy(&value, matrix.bytes.data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
        return value;
    }
};

// 24 numbers that each type holds, its ends among them.
std::vector<double> numbers(double least, double most) {
    std::vector<double> values{least, most, 0, 1};
    while (values.size() < 24) values.push_back(static_cast<double>(values.size() * values.size() % 100));
    return values;
}

TEST_F(IoHdf5Kinds, EveryInteger) {
    const struct {
        hid_t type;
        ElementType read;
        double least, most;
    } all[] = {
        {H5T_STD_I16LE, ElementType::f32, -32768, 32767},
        {H5T_STD_U16LE, ElementType::f32, 0, 65535},
        {H5T_STD_I32LE, ElementType::i32, -0x1p31, 0x1p31 - 1},
        {H5T_STD_U32LE, ElementType::i64, 0, 0x1p32 - 1},
        {H5T_STD_U64LE, ElementType::i64, 0, 0x1p53},
        {H5T_STD_I64LE, ElementType::i64, -0x1p53, 0x1p53},
        {H5T_STD_U16BE, ElementType::f32, 0, 65535},
        {H5T_STD_U64BE, ElementType::i64, 0, 0x1p53},
    };
    for (const bool chunked : {false, true}) {
        for (const auto& one : all) {
            const std::vector<double> values = numbers(one.least, one.most);
            {
                const Written made(file());
                if (chunked) {
                    made.chunked();
                    H5Pset_shuffle(made.properties());
                    H5Pset_deflate(made.properties(), 4);
                }
                made.put("x", one.type, H5T_NATIVE_DOUBLE, values.data());
            }
            const Matrix matrix = read_matrix(file());
            EXPECT_EQ(matrix.info.type, one.read);
            EXPECT_EQ(doubles(matrix), values);
            EXPECT_EQ(doubles(read_matrix(file() + ":1:2")),
                      (std::vector<double>(values.begin() + 4, values.begin() + 12)));
        }
    }
    std::vector<std::uint64_t> wide(24, 7);
    wide[5] = UINT64_MAX;
    Written(file()).put("x", H5T_STD_U64LE, H5T_NATIVE_UINT64, wide.data());
    expect_has(bad_file(file()), "row 1, column 1: expected a number below 2^63, found 18446744073709551615");
}

// A stream by hand: runs of literals, and a copy that runs into itself.
std::string packed(const std::vector<std::uint8_t>& bytes) {
    std::string stream;
    for (std::size_t i = 0; i < bytes.size();) {
        std::size_t same = 1;
        while (i + same < bytes.size() && bytes[i + same] == bytes[i] && same < 264) ++same;
        stream += '\0';
        stream += static_cast<char>(bytes[i++]);
        if (--same < 3) continue;
        const std::size_t length = same - 2;
        stream += static_cast<char>(length < 7 ? length << 5 : 7 << 5);
        if (length >= 7) stream += static_cast<char>(length - 7);
        stream += '\0';
        i += same;
    }
    return stream;
}

TEST_F(IoHdf5Kinds, LzfStreams) {
    const auto decoded = [](const std::string& stream) {
        const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(stream.data()), stream.size());
        const std::int64_t size = io::lzf_decoded_size(bytes);
        if (size < 0) return std::string("broken");
        std::string out(static_cast<std::size_t>(size), '?');
        io::lzf_decode(bytes, reinterpret_cast<std::uint8_t*>(out.data()));
        return out;
    };
    EXPECT_EQ(decoded(std::string("\2abc", 4)), "abc");
    EXPECT_EQ(decoded(std::string("\1ab\x20\1", 5)), "ababa");                // three from two back
    EXPECT_EQ(decoded(std::string("\0a\xe0\1\0", 5)), std::string(11, 'a'));  // ten of the one before
    EXPECT_EQ(decoded(""), "");
    for (const std::string& broken : {std::string("\2ab", 3), std::string("\x20", 1), std::string("\0a\xe0\1", 4),
                                      std::string("\0a\x20\1", 4), std::string("\x20\0", 2)})
        EXPECT_EQ(decoded(broken), "broken");
    // Three bytes of back reference go 8,192 back at most.
    std::string far = std::string("\0z", 2);
    for (int i = 0; i < 8191; ++i) far += std::string("\0a", 2);
    EXPECT_EQ(decoded(far + std::string("\x3f\xff", 2)).substr(8192), "zaa");
}

TEST_F(IoHdf5Kinds, Lzf) {
    std::vector<float> values(24, 1.5F);
    for (int i = 0; i < 5; ++i) values[static_cast<std::size_t>(i) * 3] = static_cast<float>(i);
    const auto chunk = [&](int i) {
        std::vector<std::uint8_t> bytes(12 * sizeof(float));
        std::memcpy(bytes.data(), values.data() + static_cast<std::size_t>(i) * 12, bytes.size());
        return packed(bytes);
    };
    const auto write = [&](const std::vector<std::string>& chunks) {
        // The library makes no data set of a filter that cannot encode; reading replaces this one.
        const H5Z_class2_t any{
            H5Z_CLASS_T_VERS,
            32000,
            1,
            1,
            "lzf",
            nullptr,
            nullptr,
            [](unsigned, std::size_t, const unsigned*, std::size_t, std::size_t*, void**) { return std::size_t{0}; }};
        H5Zregister(&any);
        const Written made(file());
        made.chunked();
        const unsigned parameters[] = {4, 0x105, 12 * sizeof(float)};
        H5Pset_filter(made.properties(), 32000, H5Z_FLAG_OPTIONAL, 3, parameters);
        made.put("x", H5T_IEEE_F32LE, 0, nullptr, {6, 4}, chunks);
    };
    write({chunk(0), chunk(1)});
    const Matrix matrix = read_matrix(file());
    EXPECT_EQ(std::memcmp(matrix.bytes.data(), values.data(), matrix.bytes.size()), 0);
    write({chunk(0), chunk(1).substr(0, chunk(1).size() - 1)});
    expect_has(bad_file(file()), "the chunk from row 3 holds what cannot be decoded; expected 48 bytes");
    write({chunk(0), chunk(1) + std::string("\0a", 2)});
    expect_has(bad_file(file()), "the chunk from row 3 holds 49 bytes; expected 48 bytes");
}

TEST_F(IoHdf5Kinds, ScaleOffset) {
    const std::vector<double> values = numbers(-300, 32000);
    for (const int more : {0, 1, 2}) {
        {
            const Written made(file());
            made.chunked();
            H5Pset_scaleoffset(made.properties(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
            if (more > 0) H5Pset_shuffle(made.properties());
            if (more > 0) H5Pset_deflate(made.properties(), 4);
            if (more > 1) H5Pset_fletcher32(made.properties());
            made.put("x", H5T_STD_I32LE, H5T_NATIVE_DOUBLE, values.data());
        }
        EXPECT_EQ(doubles(read_matrix(file())), values) << more;
    }
    // Equal numbers take no bits at all; floats keep the decimals that were asked for.
    const std::vector<double> same(24, 7);
    {
        const Written made(file());
        made.chunked();
        H5Pset_scaleoffset(made.properties(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
        made.put("x", H5T_STD_I32LE, H5T_NATIVE_DOUBLE, same.data());
    }
    EXPECT_EQ(doubles(read_matrix(file())), same);
    {
        const Written made(file());
        made.chunked();
        H5Pset_scaleoffset(made.properties(), H5Z_SO_FLOAT_DSCALE, 2);
        made.put("x", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, same.data());
    }
    EXPECT_EQ(doubles(read_matrix(file())), same);
    // The library would read beyond a chunk that is shorter than it says.
    std::string header(21, '\0');
    header[0] = 17;  // bits of each of 12 elements: 26 bytes
    for (const auto& [chunk, whole] :
         {std::pair(header + std::string(26, 'x'), true), std::pair(header + std::string(25, 'x'), false),
          std::pair("\x21" + header.substr(1) + std::string(99, 'x'), false), std::pair(header.substr(0, 20), false)}) {
        {
            const Written made(file());
            made.chunked();
            H5Pset_scaleoffset(made.properties(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
            made.put("x", H5T_STD_I32LE, 0, nullptr, {6, 4}, {chunk, chunk});
        }
        if (whole) EXPECT_EQ(read_matrix(file()).info.rows, 6);
        else expect_has(bad_file(file()), "the chunk from row 0 holds what cannot be decoded");
    }
    {
        const Written made(file());
        made.chunked();
        H5Pset_deflate(made.properties(), 4);
        H5Pset_scaleoffset(made.properties(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
        // Nothing is written: the library would write beyond its memory.
        made.put("x", H5T_STD_I32LE, 0, nullptr);
    }
    expect_has(bad_file(file()), "in another order");
}

TEST_F(IoHdf5Kinds, FilesOfH5py) {
    // arange(24) / 4 as f32 in chunks of 3 x 4, by h5py 3.
    for (const char* name : {"lzf", "lzf_shuffled", "scaled"}) {
        const Matrix matrix = read_matrix(std::string(KITH_SEEDS) + "/hdf5/" + name, "hdf5");
        ASSERT_EQ(matrix.info.rows * matrix.info.cols, 24) << name;
        for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ(at<float>(matrix, i), static_cast<float>(i) / 4) << name;
    }
}

TEST_F(IoHdf5Kinds, Descriptions) {
    const std::vector<double> values = numbers(0, 1);
    const auto with = [&](hid_t type, auto say) {
        const Written made(file());
        made.put("train", type, H5T_NATIVE_DOUBLE, values.data());
        say(made);
    };
    const auto remark = [&] { return read_matrix(file() + "/train").info.remark; };
    with(H5T_IEEE_F32LE, [](const Written& made) {
        made.say("type", "dense");
        made.say("dimension", 4);
        made.say("point_type", "float");
        made.say("distance", "angular");
    });
    EXPECT_EQ(remark(), "");
    with(H5T_IEEE_F32LE, [](const Written& made) { made.say("dimension", 5); });
    expect_has(bad_file(file() + "/train"), "its attribute dimension is 5; expected rows of so many columns, found 4");
    with(H5T_IEEE_F32LE, [](const Written& made) { made.say("type", "sparse"); });
    expect_has(bad_file(file() + "/train"), "holds sets of different sizes (ann-benchmarks' type sparse)");
    with(H5T_IEEE_F32LE, [](const Written& made) { made.say("type", "binary"); });
    expect_has(bad_file(file() + "/train"), "its attribute type is binary; expected dense");
    with(H5T_STD_I8LE, [](const Written& made) { made.say("point_type", "float"); });
    EXPECT_EQ(remark(), "its attribute point_type is float, and its elements are i8");
    with(H5T_IEEE_F32LE, [](const Written& made) { made.say("point_type", "bit"); });
    EXPECT_EQ(remark(), "its attribute point_type is bit, and its elements are f32");
    with(H5T_STD_U8LE, [](const Written& made) { made.say("dimension", 31); });
    EXPECT_EQ(remark(), "31 bits in 4 bytes, by its attribute dimension (--packed-bits)");
    // Sets without the attribute, by what lies beside them; other data sets are not described.
    {
        const Written made(file());
        const std::int64_t members[] = {0, 1, 2, 0, 1, 3, 7, 8}, sizes[] = {3, 3, 2};
        made.put("train", H5T_STD_I64LE, H5T_NATIVE_INT64, members, {8});
        made.put("size_train", H5T_STD_I64LE, H5T_NATIVE_INT64, sizes, {3});
        made.say("dimension", 9);
    }
    expect_has(bad_file(file() + "/train"), "holds sets of different sizes");
    EXPECT_EQ(doubles(read_matrix(file() + "/size_train")), (std::vector<double>{3, 3, 2}));
}

}  // namespace
}  // namespace kith::test
