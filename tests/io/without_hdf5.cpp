// kith::io as a build without libhdf5 and Apache Arrow has it: its other formats work, and HDF5 and Parquet files are
// refused in plain words.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kith/io.h"
#include "kith/kith.h"

namespace {

template <class Call>
std::string refusal(Call call) {
    try {
        call();
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
        return error.what();
    }
    return "";
}

TEST(WithoutHdf5, OtherFormatsWork) {
    const std::string file = testing::TempDir() + "without_hdf5.fvecs";
    const float rows[] = {1, 2, 3, 4};
    kith::MatrixWriter writer(file, {"", 2, 2, kith::ElementType::f32});
    writer.append(rows, 2);
    writer.commit();
    EXPECT_EQ(2, kith::read_matrix(file).info.rows);
    std::filesystem::remove(file);
    EXPECT_TRUE(kith::has_format("fvecs"));
    EXPECT_FALSE(kith::has_format("hdf5"));
    EXPECT_NE(std::string::npos,
              kith::formats_help().find("not in this build; expected a build that finds libhdf5 (Debian: libhdf5-dev"));
}

TEST(WithoutHdf5, Hdf5IsRefused) {
    const std::string file = testing::TempDir() + "without_hdf5.hdf5",
                      want = file + ": this kith was built without HDF5";
    std::ofstream(file) << "HDF5";
    const kith::Neighbors none;
    kith::OutputSet outputs;
    for (const std::string& text : {
             refusal([&] { kith::read_matrix(file + "/train"); }),
             refusal([&] { kith::data_sets(file); }),
             refusal([&] {
                 kith::MatrixWriter(file, {"", 2, 2, kith::ElementType::f32});
             }),
             refusal([&] { kith::write_ann_benchmarks(file, none, kith::MetricId::cosine, {}, {}); }),
             refusal([&] { kith::read_ann_benchmarks_metric(file); }),
             refusal([&] { outputs.add_ann_benchmarks("--out", file, kith::MetricId::cosine, true, true); }),
         }) {
        EXPECT_EQ(0, text.find(want)) << text;
        EXPECT_NE(std::string::npos, text.find("expected another format, or a build that finds libhdf5 (Debian: "
                                               "libhdf5-dev; docs/install.md)"))
            << text;
    }
    EXPECT_EQ(4U, std::filesystem::file_size(file));
    std::filesystem::remove(file);
}

TEST(WithoutHdf5, ParquetIsRefused) {
    const std::string file = testing::TempDir() + "without_hdf5.parquet";
    std::ofstream(file) << "PAR1";
    EXPECT_FALSE(kith::has_format("parquet"));
    for (const std::string& text : {
             refusal([&] { kith::read_matrix(file + "/embedding"); }),
             refusal([&] { kith::data_sets(file); }),
             refusal([&] {
                 kith::MatrixWriter(file, {"", 2, 2, kith::ElementType::f32});
             }),
         }) {
        EXPECT_EQ(0, text.find(file + ": this kith was built without Parquet; expected another format, or a build that "
                                      "finds Apache Arrow's C++ library"))
            << text;
    }
    std::filesystem::remove(file);
}

}  // namespace
