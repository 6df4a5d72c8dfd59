// HDF5: files that only the library itself can make, hostile and compressed ones.
#include <hdf5.h>
#include <zlib.h>

#include <set>

#include "io_scratch.h"
#include "metric_variants.h"

namespace kith::test {
namespace {

class IoHdf5 : public IoTest {};

// Makes a data set as `create` says, and returns the refusal of reading it.
template <class Create>
std::string hdf5(const std::string& file, Create create) {
    const hid_t handle = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    create(handle);
    H5Fclose(handle);
    return bad_file(file + "/x");
}

void create_dataset(hid_t file, hid_t type, std::vector<hsize_t> shape, hid_t properties = H5P_DEFAULT) {
    const hid_t space =
        shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    H5Dclose(H5Dcreate2(file, "x", type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Sclose(space);
}

TEST_F(IoHdf5, Refusals) {
    const std::string file = path("a.hdf5");
    const FileInfo info{"", 100, 50, ElementType::f32};
    write_matrix(file + "/group/points", info, pattern(info));
    const std::string whole = get(file);
    EXPECT_EQ(read_matrix(file).bytes, pattern(info));  // the only one needs no name
    EXPECT_EQ(data_sets(file), std::vector<std::string>{"group/points"});
    expect_has(bad_file(file + "/group"), "no data set group; expected one of: group/points");
    expect_has(bad_file(file + "/points"), "no data set points");
    expect_has(bad_file(put("b.hdf5", "not HDF5") + "/x"), "offset 0: expected an HDF5 file");
    expect_has(bad_file(put("b.hdf5.gz", "not HDF5")), "found a gzipped one");
    for (const std::size_t size : {0UL, 8UL, 100UL, whole.size() / 2, whole.size() - 1}) {
        put("b.hdf5", whole.substr(0, size));
        expect_has(bad_file(path("b.hdf5/group/points")),
                   size < whole.size() / 2 ? "b.hdf5" : "expected an HDF5 file, found a file that is cut short");
    }

    expect_has(hdf5(file, [](hid_t f) { create_dataset(f, H5T_C_S1, {2, 2}); }), "another type");
    expect_has(hdf5(file, [](hid_t f) { create_dataset(f, H5T_NATIVE_FLOAT, {}); }), "at least one dimension");
    expect_has(hdf5(file, [](hid_t f) { create_dataset(f, H5T_NATIVE_FLOAT, {0, 5}); }), "found 0 x 5");
    // Never written: the library would invent a terabyte of zeros.
    expect_has(hdf5(file,
                    [](hid_t f) {
                        create_dataset(f, H5T_NATIVE_FLOAT, {1U << 28, 1024});
                    }),
               "expected 1099511627776 bytes of data (268435456 x 1024 f32), found at most 0");
    expect_has(hdf5(file, [](hid_t f) { create_dataset(f, H5T_NATIVE_FLOAT, {1ULL << 40, 1ULL << 40}); }), "2^63");
    expect_has(hdf5(file,
                    [](hid_t f) {
                        const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                        const hsize_t chunk[] = {1U << 14, 1024};
                        H5Pset_chunk(properties, 2, chunk);
                        H5Pset_deflate(properties, 1);
                        create_dataset(f, H5T_NATIVE_FLOAT, {1U << 20, 1024}, properties);
                        H5Pclose(properties);
                    }),
               "found at most 0");
    expect_has(hdf5(file,
                    [](hid_t f) {
                        const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                        H5Pset_external(properties, "/etc/passwd", 0, 16);
                        create_dataset(f, H5T_NATIVE_FLOAT, {2, 2}, properties);
                        H5Pclose(properties);
                    }),
               "virtual or external");
    expect_has(hdf5(file, [](hid_t f) { H5Lcreate_external("b.hdf5", "/x", f, "x", H5P_DEFAULT, H5P_DEFAULT); }),
               "no data set x");
    // Nothing stays open behind an error.
    EXPECT_EQ(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL), 0);
}

// As h5py stores NumPy's bools, and so ann-benchmarks its points for hamming.
TEST_F(IoHdf5, Booleans) {
    const std::string file = path("a.hdf5");
    const std::vector<std::int8_t> bits = {0, 1, 1, 1, 0, 0};
    for (const std::int8_t largest : {1, 2}) {
        const hid_t type = H5Tenum_create(H5T_STD_I8LE);
        const std::int8_t no = 0;
        H5Tenum_insert(type, "FALSE", &no);
        H5Tenum_insert(type, "TRUE", &largest);
        const hid_t handle = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        create_dataset(handle, type, {3, 2});
        const hid_t dataset = H5Dopen2(handle, "x", H5P_DEFAULT);
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bits.data());
        H5Dclose(dataset);
        H5Fclose(handle);
        H5Tclose(type);
        if (largest == 1) {
            const Matrix matrix = read_matrix(file);
            EXPECT_EQ(matrix.info.type, ElementType::u8);
            ASSERT_EQ(matrix.bytes.size(), bits.size());
            EXPECT_EQ(std::memcmp(matrix.bytes.data(), bits.data(), bits.size()), 0);
        } else {
            expect_has(bad_file(file), "another type");
        }
    }
}

// A file of 40 x 8 f32 in chunks of 10 rows, deflated or not, of which `rows` are written.
void write_chunks(const std::string& file, bool deflated, hsize_t rows) {
    const hid_t handle = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {10, 8}, shape[] = {40, 8}, start[] = {0, 0}, some[] = {rows, 8};
    H5Pset_chunk(properties, 2, chunk);
    if (deflated) H5Pset_deflate(properties, 6);
    const hid_t space = H5Screate_simple(2, shape, nullptr), memory = H5Screate_simple(2, some, nullptr);
    const hid_t dataset = H5Dcreate2(handle, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    std::vector<float> values(320, 1.5F);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, some, nullptr);
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(handle);
}

// Newer libraries write layouts that older ones do not know: here one of version 99.
TEST_F(IoHdf5, UnknownLayout) {
    const std::string file = path("a.hdf5");
    const FileInfo info{"", 3, 2, ElementType::f32};
    write_chunks(file, true, 40);
    write_matrix(file + "/a", info, pattern(info));
    write_matrix(file + "/z", info, pattern(info));
    std::string bytes = get(file);
    int found = 0;
    for (std::size_t at = 8; at + 3 < bytes.size(); ++at) {
        // A message of type 8, of version 3, chunked, of one dimension more than the data set.
        if (bytes.substr(at - 8, 2) != std::string("\x08\0", 2) || bytes.substr(at, 3) != "\3\2\3") continue;
        bytes[at] = 99;
        ++found;
    }
    ASSERT_EQ(found, 1);
    put("a.hdf5", bytes);
    EXPECT_EQ(data_sets(file), (std::vector<std::string>{"a", "x", "z"}));
    EXPECT_EQ(read_matrix(file + "/z").bytes, pattern(info));
    expect_has(bad_file(file + "/x"),
               "the data set x is there, but of a layout that the HDF5 library here cannot read");
    expect_has(bad_file(file + "/y"), "no data set y; expected one of: a, x, z");
}

// The library takes a chunk that was not written for zeros, and the end of one that is too short for whatever lies in
// memory behind it.
TEST_F(IoHdf5, IncompleteChunks) {
    const std::string file = path("a.hdf5");
    for (const bool deflated : {false, true}) {
        write_chunks(file, deflated, 40);
        EXPECT_EQ(read_matrix(file).info.rows, 40);
        write_chunks(file, deflated, 20);
        expect_has(bad_file(file), deflated ? "a.hdf5/x: expected all of its 4 chunks, found that 2 were written"
                                            : "a.hdf5/x: expected 1280 bytes of data (40 x 8 f32), found at most 640");
    }

    // The second chunk holds 100 bytes; then the first half of its stream.
    for (const bool broken : {false, true}) {
        write_chunks(file, true, 40);
        const std::vector<Bytef> content(320, 7);
        std::vector<Bytef> stream(1000);
        uLongf size = stream.size();
        compress(stream.data(), &size, content.data(), broken ? 320 : 100);
        const hsize_t second[] = {10, 0};
        const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
        const hid_t dataset = H5Dopen2(handle, "x", H5P_DEFAULT);
        H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, second, broken ? size / 2 : size, stream.data());
        H5Dclose(dataset);
        H5Fclose(handle);
        expect_has(bad_file(file), broken ? "a.hdf5/x: the chunk from row 10 holds what cannot be decoded"
                                          : "a.hdf5/x: the chunk from row 10 holds 100 bytes; expected 320 bytes");
        EXPECT_EQ(read_matrix(file + ":20:20").info.rows, 20);
    }
}

// What is said of a damaged file has no words of the library, no addresses and no file descriptors.
TEST_F(IoHdf5, OwnWords) {
    const std::string file = path("a.hdf5");
    write_chunks(file, true, 40);
    const std::string whole = get(file);
    std::set<std::string> messages;
    for (std::size_t at = 0; at < whole.size(); at += 11) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
        put("b.hdf5", damaged);
        try {
            read_matrix(path("b.hdf5"));
        } catch (const Error& error) {
            messages.insert(error.what());
        }
    }
    for (const std::size_t size : {std::size_t{8}, std::size_t{100}, whole.size() - 1}) {
        messages.insert(bad_file(put("b.hdf5", whole.substr(0, size))));
    }
    EXPECT_GT(messages.size(), 3U);
    for (const std::string& message : messages) {
        for (const char* foreign : {"0x", "errno", "descriptor", "time =", "unable", "can't", "()"}) {
            EXPECT_EQ(message.find(foreign), std::string::npos) << message;
        }
    }
}

TEST_F(IoHdf5, Compressed) {
    const std::string file = path("a.hdf5");
    const hid_t handle = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {16, 8}, shape[] = {100, 20};
    H5Pset_chunk(properties, 2, chunk);
    H5Pset_shuffle(properties);
    H5Pset_deflate(properties, 9);
    H5Pset_fletcher32(properties);
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    // Big-endian in the file.
    const hid_t dataset = H5Dcreate2(handle, "x", H5T_IEEE_F64BE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    std::vector<double> values(2000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(handle);
    const Matrix matrix = read_matrix(file + ":50:50");
    EXPECT_EQ(matrix.info.type, ElementType::f64);
    EXPECT_EQ(std::memcmp(matrix.bytes.data(), values.data() + 1000, matrix.bytes.size()), 0);
}

std::string text_attribute(const std::string& file, const char* name) {
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t attribute = H5Aopen(handle, name, H5P_DEFAULT);
    const hid_t type = H5Aget_type(attribute);
    char* text = nullptr;
    H5Aread(attribute, type, &text);
    std::string copy = text ? text : "";
    H5free_memory(text);
    H5Tclose(type);
    H5Aclose(attribute);
    H5Fclose(handle);
    return copy;
}

// ann-benchmarks' word where it has one, kith's name and every parameter beside it: what is written is read.
TEST_F(IoHdf5, MetricOfAResult) {
    Neighbors neighbors;
    neighbors.queries = neighbors.k = 1;
    neighbors.ids = {0};
    neighbors.distances = {0};
    const std::string file = path("a.hdf5");
    const auto written = [&](const Metric& metric) {
        std::filesystem::remove(file);
        write_ann_benchmarks(file, neighbors, metric, {}, {});
        return read_ann_benchmarks_metric(file + "/neighbors");
    };
    for (const auto& [id, word] :
         {std::pair(MetricId::euclidean, "euclidean"), std::pair(MetricId::cosine, "angular"),
          std::pair(MetricId::hamming, "hamming"), std::pair(MetricId::sqeuclidean, "sqeuclidean")}) {
        EXPECT_EQ(written(id)->id, id);
        EXPECT_EQ(text_attribute(file, "distance"), word);
        EXPECT_EQ(text_attribute(file, "kith_metric"), name(id));
    }
    Metric metric = MetricId::minkowski;
    metric.p = 2.5;
    EXPECT_EQ(written(metric)->p, 2.5);
    for (const std::string& of_bits : metric_names()) {
        if (!oracle::definition(of_bits).packed_bits) continue;
        const MetricId id = metric_named(of_bits).id;
        EXPECT_FALSE(written(id)->packed_bits);
        metric = id;
        metric.packed_bits = true;
        EXPECT_TRUE(written(metric)->packed_bits);
    }
    metric = MetricId::formula;
    metric.formula = "a + fabs(q - x)";
    metric.start = -1.0 / 3;
    EXPECT_EQ(written(metric)->formula, metric.formula);
    EXPECT_EQ(written(metric)->start, metric.start);
    EXPECT_EQ(written(MetricId::mahalanobis)->id, MetricId::mahalanobis);
    const double one = 1;
    metric = MetricId::mahalanobis;
    metric.inverse_covariance = view(&one, 1, 1);
    expect_has(message_of(ErrorCode::bad_file, [&] { written(metric); }), "a matrix that it does not hold");
    EXPECT_EQ(written(MetricId::seuclidean)->id, MetricId::seuclidean);
    metric = MetricId::seuclidean;
    metric.variances = view(&one, 1, 1);
    expect_has(message_of(ErrorCode::bad_file, [&] { written(metric); }), "variances that it does not hold");

    // As others write: a word of fixed length, or none.
    hid_t handle = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(handle);
    EXPECT_FALSE(read_ann_benchmarks_metric(file).has_value());
    handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, 7);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(handle, "distance", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, "angular");
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(handle);
    EXPECT_EQ(read_ann_benchmarks_metric(file)->id, MetricId::cosine);
    expect_has(message_of(ErrorCode::bad_file, [&] { read_ann_benchmarks_metric(put("b.hdf5", "no")); }),
               "an HDF5 file");
    EXPECT_EQ(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL), 0);
}

}  // namespace
}  // namespace kith::test
