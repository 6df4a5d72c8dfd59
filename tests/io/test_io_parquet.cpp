// Parquet: columns and lists of each type, row groups, nulls, and files and columns that are refused.
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <zlib.h>

#include <cmath>
#include <limits>
#include <memory>

#include "io_scratch.h"

namespace kith::test {
namespace {

using Arrays = std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>;

std::shared_ptr<arrow::Array> finished(arrow::ArrayBuilder& builder) {
    std::shared_ptr<arrow::Array> array;
    PARQUET_THROW_NOT_OK(builder.Finish(&array));
    return array;
}

// An array of `Builder`'s type: value i is i % 100, but null where i is in `nulls`.
template <class Builder>
std::shared_ptr<arrow::Array> numbers(std::int64_t count, const std::vector<std::int64_t>& nulls = {}) {
    Builder builder;
    for (std::int64_t i = 0; i < count; ++i) {
        if (std::find(nulls.begin(), nulls.end(), i) != nulls.end()) PARQUET_THROW_NOT_OK(builder.AppendNull());
        else PARQUET_THROW_NOT_OK(builder.Append(static_cast<typename Builder::value_type>(i % 100)));
    }
    return finished(builder);
}

// Lists of the given lengths (-1: null) of the floats 0, 1, ...
std::shared_ptr<arrow::Array> lists(const std::vector<int>& lengths) {
    const auto values = std::make_shared<arrow::FloatBuilder>();
    arrow::ListBuilder builder(arrow::default_memory_pool(), values);
    float next = 0;
    for (const int length : lengths) {
        if (length < 0) PARQUET_THROW_NOT_OK(builder.AppendNull());
        else PARQUET_THROW_NOT_OK(builder.Append());
        for (int i = 0; i < length; ++i) PARQUET_THROW_NOT_OK(values->Append(next++));
    }
    return finished(builder);
}

class IoParquet : public IoTest {
protected:
    std::string write(const std::string& name, const Arrays& arrays, std::int64_t rows_per_group = 1000) const {
        std::vector<std::shared_ptr<arrow::Field>> fields;
        std::vector<std::shared_ptr<arrow::Array>> columns;
        for (const auto& [field, array] : arrays) {
            fields.push_back(arrow::field(field, array->type()));
            columns.push_back(array);
        }
        const auto table = arrow::Table::Make(arrow::schema(fields), columns);
        const auto keep_schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
        const auto out = arrow::io::FileOutputStream::Open(path(name)).ValueOrDie();
        PARQUET_THROW_NOT_OK(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, rows_per_group,
                                                        parquet::default_writer_properties(), keep_schema));
        PARQUET_THROW_NOT_OK(out->Close());
        return path(name);
    }

    template <class T>
    static std::vector<T> values_of(const Matrix& matrix) {
        std::vector<T> values(matrix.bytes.size() / sizeof(T));
        std::memcpy(values.data(), matrix.bytes.data(), matrix.bytes.size());
        return values;
    }
};

TEST_F(IoParquet, EachTypeOfNumber) {
    const std::int64_t n = 250;
    const Arrays arrays = {
        {"f4", numbers<arrow::FloatBuilder>(n)},  {"f8", numbers<arrow::DoubleBuilder>(n)},
        {"i1", numbers<arrow::Int8Builder>(n)},   {"u1", numbers<arrow::UInt8Builder>(n)},
        {"i2", numbers<arrow::Int16Builder>(n)},  {"u2", numbers<arrow::UInt16Builder>(n)},
        {"i4", numbers<arrow::Int32Builder>(n)},  {"u4", numbers<arrow::UInt32Builder>(n)},
        {"i8", numbers<arrow::Int64Builder>(n)},  {"u8", numbers<arrow::UInt64Builder>(n)},
        {"b", numbers<arrow::BooleanBuilder>(n)},
    };
    const std::string file = write("a.parquet", arrays, 70);
    EXPECT_EQ(data_sets(file).size(), arrays.size());
    const std::vector<ElementType> types = {ElementType::f32, ElementType::f64, ElementType::i8,  ElementType::u8,
                                            ElementType::f32, ElementType::f32, ElementType::i32, ElementType::i64,
                                            ElementType::i64, ElementType::i64, ElementType::u8};
    for (std::size_t c = 0; c < arrays.size(); ++c) {
        const Matrix matrix = read_matrix(file + "/" + arrays[c].first);
        EXPECT_EQ(matrix.info.format, "parquet");
        EXPECT_EQ(matrix.info.rows, n);
        EXPECT_EQ(matrix.info.cols, 1);
        ASSERT_EQ(matrix.info.type, types[c]) << arrays[c].first;
        for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double want = arrays[c].first == "b" ? (i % 100 != 0) : static_cast<double>(i % 100);
            double got = -1;
            switch (matrix.info.type) {
                case ElementType::f32:
                    got = values_of<float>(matrix)[at];
                    break;
                case ElementType::f64:
                    got = values_of<double>(matrix)[at];
                    break;
                case ElementType::i32:
                    got = values_of<std::int32_t>(matrix)[at];
                    break;
                case ElementType::i64:
                    got = static_cast<double>(values_of<std::int64_t>(matrix)[at]);
                    break;
                default:
                    got = static_cast<double>(matrix.bytes[at]);
            }
            ASSERT_EQ(got, want) << arrays[c].first << " " << i;
        }
    }
}

TEST_F(IoParquet, ColumnsSideBySide) {
    const std::int64_t n = 5000;
    const std::string file = write("a.pq",
                                   {{"x", numbers<arrow::FloatBuilder>(n)},
                                    {"y", numbers<arrow::Int16Builder>(n)},
                                    {"z", numbers<arrow::UInt8Builder>(n)}},
                                   700);
    const Matrix matrix = read_matrix(file);
    ASSERT_EQ(matrix.info.type, ElementType::f32);
    ASSERT_EQ(matrix.info.cols, 3);
    const std::vector<float> all = values_of<float>(matrix);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<float>(i / 3 % 100));
    // Blocks backwards and forwards, across the row groups.
    MatrixReader reader(file);
    std::vector<float> block(300);
    for (const std::int64_t first : {4900, 650, 0, 1399, 100, 4899}) {
        reader.read(first, 100, block.data());
        EXPECT_EQ(std::memcmp(block.data(), all.data() + first * 3, block.size() * sizeof(float)), 0) << first;
    }
    EXPECT_EQ(read_matrix(file + ":4990:").info.rows, 10);

    EXPECT_EQ(
        read_matrix(write("b.pq", {{"x", numbers<arrow::FloatBuilder>(9)}, {"y", numbers<arrow::Int32Builder>(9)}}))
            .info.type,
        ElementType::f64);
    expect_has(
        bad_file(write("c.pq", {{"x", numbers<arrow::FloatBuilder>(9)}, {"y", numbers<arrow::Int64Builder>(9)}})),
        "floating-point numbers beside 64-bit integers");
}

TEST_F(IoParquet, Lists) {
    const std::string file = write("a.parquet", {{"e", lists({3, 3, 3, 3, 3})}}, 2);
    const Matrix matrix = read_matrix(file);
    EXPECT_EQ(matrix.info.rows, 5);
    ASSERT_EQ(matrix.info.cols, 3);
    const std::vector<float> all = values_of<float>(matrix);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<float>(i));
    float last[3] = {};
    MatrixReader(file).read(4, 1, last);
    EXPECT_EQ(last[0], 12);

    // Of a declared length, beside what is no number.
    const auto halves = std::make_shared<arrow::HalfFloatBuilder>();
    arrow::FixedSizeListBuilder builder(arrow::default_memory_pool(), halves, 2);
    arrow::StringBuilder texts;
    for (std::uint16_t i = 0; i < 4; ++i) {
        PARQUET_THROW_NOT_OK(builder.Append());
        PARQUET_THROW_NOT_OK(halves->Append(i));
        PARQUET_THROW_NOT_OK(halves->Append(static_cast<std::uint16_t>(0x3c00 + i)));
        PARQUET_THROW_NOT_OK(texts.Append("text"));
    }
    const std::string mixed = write("b.parquet", {{"text", finished(texts)}, {"embedding", finished(builder)}});
    EXPECT_EQ(data_sets(mixed), std::vector<std::string>{"embedding"});
    const Matrix half = read_matrix(mixed + "/embedding");
    ASSERT_EQ(half.info.type, ElementType::f16);
    EXPECT_EQ(values_of<std::uint16_t>(half), (std::vector<std::uint16_t>{0, 0x3c00, 1, 0x3c01, 2, 0x3c02, 3, 0x3c03}));
    expect_has(bad_file(mixed), "b.parquet: column text: expected numbers or lists of numbers, found string; columns");
    expect_has(bad_file(mixed + "/text"), "column text: expected numbers");
    expect_has(bad_file(mixed + "/texts"), "no column texts; expected one of: embedding");
    expect_has(bad_file(write("c.parquet", {{"id", numbers<arrow::Int32Builder>(2)}, {"e", lists({1, 1})}})),
               "column e: expected numbers in every column, or one column alone, found 2 columns");
}

TEST_F(IoParquet, ListsOfOtherLengths) {
    expect_has(bad_file(write("a.parquet", {{"e", lists({3, 3, 2})}})),
               "a.parquet: column e: expected 3 lists of 3 numbers, as the first, found 8 numbers in all");
    expect_has(bad_file(write("a.parquet", {{"e", lists({0, 3})}})),
               "column e, row 0: expected a list of at least one");
    expect_has(bad_file(write("a.parquet", {{"e", lists({-1, 3})}})), "column e, row 0: expected a list, found null");
    // As many numbers as there would be.
    const std::string file = write("a.parquet", {{"e", lists({3, 3, 2, 4, 3})}}, 2);
    expect_has(bad_file(file), "column e, row 2: expected a list of 3 numbers, found 2");
    // A null counts as one number.
    expect_has(bad_file(write("a.parquet", {{"e", lists({1, 1, -1})}})),
               "column e, row 2: expected a list of 1 numbers, found null");
}

TEST_F(IoParquet, Nulls) {
    const std::vector<float> floats =
        values_of<float>(read_matrix(write("a.parquet", {{"x", numbers<arrow::FloatBuilder>(20, {3, 17})}})));
    for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(std::isnan(floats[i]), i == 3 || i == 17) << i;
    const Matrix halves = read_matrix(write("a.parquet", {{"x", numbers<arrow::HalfFloatBuilder>(2, {1})}}));
    EXPECT_EQ(values_of<std::uint16_t>(halves)[1] & 0x7e00, 0x7e00);
    expect_has(
        bad_file(write("a.parquet",
                       {{"x", numbers<arrow::FloatBuilder>(20)}, {"n", numbers<arrow::Int16Builder>(20, {12})}}, 5)),
        "a.parquet: column n, row 12: expected a number, found null");
    arrow::UInt64Builder large;
    PARQUET_THROW_NOT_OK(large.Append(std::uint64_t{1} << 63));
    expect_has(bad_file(write("a.parquet", {{"n", finished(large)}})),
               "column n, row 0: expected a number below 2^63, found 9223372036854775808");
}

TEST_F(IoParquet, BrokenFiles) {
    expect_has(bad_file(put("a.parquet", "")), "a.parquet: expected a Parquet file");
    expect_has(bad_file(put("a.parquet", "PAR1PAR1PAR1PAR1")), "a.parquet: expected a Parquet file");
    expect_has(bad_file(write("a.parquet", {{"x", numbers<arrow::FloatBuilder>(0)}})), "at least one row");
    const std::string whole = get(write("a.parquet", {{"x", numbers<arrow::DoubleBuilder>(3000)}}, 500));
    for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{4}}) {
        EXPECT_NE(bad_file(put("a.parquet", whole.substr(0, size))), "") << size;
    }
    // Bytes changed one at a time: a refusal or numbers, and never more rows than the file was written with.
    for (std::size_t at = 0; at < whole.size(); at += whole.size() / 400 + 1) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x55);
        try {
            EXPECT_LE(read_matrix(put("b.parquet", changed)).info.rows, 3000) << at;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("b.parquet"), std::string::npos) << error.what();
        }
    }
}

// Every byte of a footer, which says what columns the row groups have.
TEST_F(IoParquet, BrokenFooters) {
    for (const Arrays& arrays : {Arrays{{"x", numbers<arrow::FloatBuilder>(4)}, {"y", numbers<arrow::FloatBuilder>(4)}},
                                 Arrays{{"e", lists({2, 2, 2, 2})}}}) {
        const std::string whole = get(write("a.parquet", arrays, 2));
        std::uint32_t length = 0;
        std::memcpy(&length, whole.data() + whole.size() - 8, sizeof length);
        for (std::size_t at = whole.size() - 8 - length; at < whole.size() - 8; ++at) {
            for (const int change : {0x01, 0x55}) {
                std::string changed = whole;
                changed[at] = static_cast<char>(changed[at] ^ change);
                try {
                    read_matrix(put("b.parquet", changed));
                } catch (const Error& error) {
                    ASSERT_NE(std::string(error.what()).find("b.parquet"), std::string::npos) << error.what();
                } catch (const std::exception& error) {
                    FAIL() << at << " ^ " << change << ": " << error.what();
                }
            }
        }
    }
}

TEST_F(IoParquet, GzippedAndCancelled) {
    const std::string whole = get(write("a.parquet", {{"x", numbers<arrow::FloatBuilder>(50)}}));
    gzFile packed = gzopen(path("b.parquet.gz").c_str(), "wb");
    ASSERT_EQ(gzwrite(packed, whole.data(), static_cast<unsigned>(whole.size())), static_cast<int>(whole.size()));
    gzclose(packed);
    EXPECT_EQ(read_matrix(path("b.parquet.gz")).bytes, read_matrix(path("a.parquet")).bytes);
    ReadOptions options;
    options.proceed = [] { return false; };
    message_of(ErrorCode::cancelled, [&] { read_matrix(path("a.parquet"), options); });
    expect_has(message_of(ErrorCode::invalid_argument,
                          [&] {
                              MatrixWriter(path("c.parquet"), {"", 1, 1, ElementType::f32});
                          }),
               "Parquet files are only read");
}

}  // namespace
}  // namespace kith::test
