// Parquet, by Apache Arrow: columns of numbers side by side, or one column of lists of one length.
// Read only here.
#include <arrow/api.h>
#include <arrow/util/float16.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/errors.h"
#include "io/format.h"
#include "io/input.h"
#include "io/parquet_file.h"

namespace kith::io {
namespace {

// Decoded at a time, over all columns; pages and dictionaries, which the writer of the file sized,
// come to it.
constexpr std::int64_t batch_bytes = std::int64_t{8} << 20;
bool is_number(const arrow::DataType& type) {
    return (arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
            type.id() == arrow::Type::BOOL);
}

bool is_list(const arrow::DataType& type) {
    return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
           type.id() == arrow::Type::FIXED_SIZE_LIST;
}

bool is_list_of_numbers(const arrow::DataType& type) {
    return is_list(type) && is_number(*type.field(0)->type());
}

// One column of the matrix, or, of lists, all of them.
struct Column {
    std::string name;
    std::shared_ptr<arrow::DataType> number;  // the lists' elements
    bool lists = false;
    int leaf = 0;  // its index in the file
};

// The type that holds every value of these columns: alone as of npy; together f32 or f64 where they
// hold all, else i64.
ElementType common_type(const std::vector<Column>& columns, const std::string& path) {
    bool same = true, in_f32 = true, in_f64 = true, integers = true;
    for (const Column& column : columns) {
        const auto id = column.number->id();
        const bool floating = arrow::is_floating(id);
        const int bits = arrow::bit_width(id);
        same = same && id == columns[0].number->id();
        in_f32 = in_f32 && (floating ? bits <= 32 : bits <= 16);
        in_f64 = in_f64 && (floating || bits <= 32);
        integers = integers && !floating;
    }
    if (same) {
        switch (columns[0].number->id()) {
            case arrow::Type::HALF_FLOAT:
                return ElementType::f16;
            case arrow::Type::INT8:
                return ElementType::i8;
            case arrow::Type::UINT8:
            case arrow::Type::BOOL:
                return ElementType::u8;
            case arrow::Type::INT32:
                return ElementType::i32;
            case arrow::Type::UINT32:
                return ElementType::i64;
            default:
                break;
        }
    }
    if (in_f32) return ElementType::f32;
    if (in_f64) return ElementType::f64;
    if (integers) return ElementType::i64;
    bad_file(path,
             "expected columns that one type holds, found floating-point numbers beside 64-bit "
             "integers; name one "
             "column");
}

std::vector<std::string> usable_names(const ParquetFile& opened) {
    std::vector<std::string> names;
    for (const auto& field : opened.reader->manifest().schema_fields) {
        const arrow::DataType& type = *field.field->type();
        if (is_number(type) || is_list_of_numbers(type)) names.push_back(field.field->name());
    }
    return names;
}

Column column_of(const parquet::arrow::SchemaField& field) {
    const auto& type = field.field->type();
    if (is_number(*type)) return {field.field->name(), type, false, field.column_index};
    return {field.field->name(), type->field(0)->type(), true, field.children.at(0).column_index};
}

// The column of that name, or where none is named all of them: numbers only, or a single one of
// lists.
std::vector<Column> choose(const ParquetFile& opened, const std::string& name) {
    const std::string& path = opened.file->path();
    const std::string usable = in_words(usable_names(opened));
    std::vector<Column> columns;
    for (const auto& field : opened.reader->manifest().schema_fields) {
        if (!name.empty() && field.field->name() != name) continue;
        const arrow::DataType& type = *field.field->type();
        const bool lists = is_list_of_numbers(type);
        if (!is_number(type) && !lists) {
            bad_file(
                path,
                fmt::format(
                    "column {}: expected numbers or lists of numbers, found {}; columns of these, "
                    "each to be named as in {}/NAME: {}",
                    field.field->name(), type.ToString(), path, usable));
        }
        columns.push_back(column_of(field));
    }
    if (columns.empty())
        bad_file(path, fmt::format("no column {}; expected one of: {}", name, usable));
    const auto lists = std::find_if(columns.begin(), columns.end(),
                                    [](const Column& column) { return column.lists; });
    if (columns.size() > 1 && lists != columns.end()) {
        bad_file(path, fmt::format("column {}: expected numbers in every column, or one column "
                                   "alone, found {} columns "
                                   "and lists; name one, as in {}/NAME: {}",
                                   lists->name, columns.size(), path, usable));
    }
    return columns;
}

class ParquetSource final : public Source {
public:
    ParquetSource(ParquetFile opened, std::vector<Column> columns, const Location& location)
        : Source({"parquet", opened.metadata->num_rows(), static_cast<std::int64_t>(columns.size()),
                  ElementType::f32}),
          opened_(std::move(opened)),
          columns_(std::move(columns)),
          proceed_(location.proceed) {
        const std::string& path = opened_.file->path();
        for (const Column& column : columns_) leaves_.push_back(column.leaf);
        info_.type = common_type(columns_, path);
        require_values();
        if (columns_[0].lists) info_.cols = first_length();
        if (matrix_bytes(info_.rows, info_.cols, info_.type) < 0) {
            bad_file(path,
                     "expected less than 2^63 bytes, found a product of rows and columns that is "
                     "larger");
        }
        opened_.reader->set_batch_size(std::max<std::int64_t>(1, batch_bytes / (info_.cols * 8)));
        if (columns_[0].lists) require_all_lengths();
    }

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        guarded(*opened_.file, [&] {
            const std::int64_t row_bytes =
                info_.cols * static_cast<std::int64_t>(size_of(info_.type));
            if (first < batch_first_ || batches_ == nullptr) start_at(first);
            while (count > 0) {
                require_proceed(proceed_);
                while (batch_ == nullptr || first >= batch_first_ + batch_->num_rows())
                    next_batch(first);
                const std::int64_t row = first - batch_first_;
                const std::int64_t some = std::min(count, batch_->num_rows() - row);
                for (std::size_t j = 0; j < columns_.size(); ++j) copy(j, row, some, out);
                first += some;
                count -= some;
                out += some * row_bytes;
            }
            return 0;
        });
    }

private:
    // The footer's numbers of rows and of values agree with each other, group by group.
    void require_values() const {
        const std::string& path = opened_.file->path();
        std::int64_t rows = 0;
        for (int g = 0; g < opened_.metadata->num_row_groups(); ++g) {
            const auto group = opened_.metadata->RowGroup(g);
            if (group->num_rows() < 0 || __builtin_add_overflow(rows, group->num_rows(), &rows)) {
                bad_file(path, fmt::format("row group {}: expected a number of rows, found {}", g,
                                           group->num_rows()));
            }
            for (const Column& column : columns_) {
                const std::int64_t values = group->ColumnChunk(column.leaf)->num_values();
                if (!column.lists && values != group->num_rows()) {
                    bad_file(path,
                             fmt::format("column {}: expected {} values in row group {}, found {}",
                                         column.name, group->num_rows(), g, values));
                }
            }
        }
        if (rows != info_.rows || rows < 1) {
            bad_file(path,
                     fmt::format("expected at least one row, and {} in the row groups, found {}",
                                 info_.rows, rows));
        }
    }

    std::int64_t first_length() {
        return guarded(*opened_.file, [&] {
            opened_.reader->set_batch_size(1);
            start_at(0);
            next_batch(0);
            const std::int64_t length = lists_in(*batch_->column(0), 0, 1, -1).second;
            if (length < 1) refuse(0, 0, "a list of at least one number", "an empty one");
            batches_.reset();
            batch_.reset();
            return length;
        });
    }

    // The values that the footer counts; where they are others, some list is of another length, or
    // null.
    void require_all_lengths() const {
        std::int64_t values = 0;
        bool fits = true;
        for (int g = 0; g < opened_.metadata->num_row_groups(); ++g) {
            const std::int64_t some =
                opened_.metadata->RowGroup(g)->ColumnChunk(columns_[0].leaf)->num_values();
            fits = fits && some >= 0 && !__builtin_add_overflow(values, some, &values);
        }
        if (fits && values == info_.rows * info_.cols) return;
        bad_file(
            opened_.file->path(),
            fmt::format(
                "column {}: expected {} lists of {} numbers, as the first, found {} numbers in all",
                columns_[0].name, info_.rows, info_.cols, values));
    }

    void start_at(std::int64_t first) {
        std::vector<int> groups;
        std::int64_t before = 0;
        for (int g = 0; g < opened_.metadata->num_row_groups(); ++g) {
            const std::int64_t rows = opened_.metadata->RowGroup(g)->num_rows();
            if (groups.empty() && before + rows <= first) before += rows;
            else groups.push_back(g);
        }
        batch_.reset();
        batch_first_ = before;
        batches_ = value_of(opened_.reader->GetRecordBatchReader(groups, leaves_));
    }

    void next_batch(std::int64_t row) {
        require_proceed(proceed_);
        if (batch_ != nullptr) batch_first_ += batch_->num_rows();
        PARQUET_THROW_NOT_OK(batches_->ReadNext(&batch_));
        if (batch_ == nullptr) refuse(0, row, "a value", "the end");
    }

    [[noreturn]] void refuse(std::size_t column, std::int64_t row, std::string_view expected,
                             std::string_view found) const {
        bad_file(opened_.file->path(), fmt::format("column {}, row {}: expected {}, found {}",
                                                   columns_[column].name, row, expected, found));
    }

    // Where the numbers of `count` lists begin, and how many there are in each; `length` -1: that
    // of the first.
    std::pair<std::int64_t, std::int64_t> lists_in(const arrow::Array& array, std::int64_t row,
                                                   std::int64_t count, std::int64_t length) const {
        const auto each = [&](const auto& lists) {
            for (std::int64_t i = row; i < row + count; ++i) {
                const std::int64_t found = lists.IsNull(i) ? -1 : lists.value_length(i);
                if (length < 0 && found >= 0) length = found;
                if (found < 0 || found != length) {
                    refuse(0, batch_first_ + i,
                           length < 0 ? "a list" : fmt::format("a list of {} numbers", length),
                           found < 0 ? "null" : fmt::format("{}", found));
                }
            }
            return std::pair<std::int64_t, std::int64_t>(lists.value_offset(row), length);
        };
        switch (array.type_id()) {
            case arrow::Type::LIST:
                return each(static_cast<const arrow::ListArray&>(array));
            case arrow::Type::LARGE_LIST:
                return each(static_cast<const arrow::LargeListArray&>(array));
            default:
                return each(static_cast<const arrow::FixedSizeListArray&>(array));
        }
    }

    const arrow::Array& values_of(const arrow::Array& lists) const {
        switch (lists.type_id()) {
            case arrow::Type::LIST:
                return *static_cast<const arrow::ListArray&>(lists).values();
            case arrow::Type::LARGE_LIST:
                return *static_cast<const arrow::LargeListArray&>(lists).values();
            default:
                return *static_cast<const arrow::FixedSizeListArray&>(lists).values();
        }
    }

    // Rows [row, row + count) of the batch's column j into its place of the block.
    void copy(std::size_t j, std::int64_t row, std::int64_t count, std::byte* out) {
        const std::shared_ptr<arrow::Array> array = batch_->column(static_cast<int>(j));
        if (columns_[j].lists) {
            const std::int64_t begin = lists_in(*array, row, count, info_.cols).first;
            const arrow::Array& values = values_of(*array);
            if (begin < 0 || begin + count * info_.cols > values.length())
                refuse(j, batch_first_ + row, "a list", "none");
            convert(values, {j, begin, count * info_.cols, 1, info_.cols, batch_first_ + row}, out);
        } else {
            convert(*array, {j, row, count, info_.cols, 1, batch_first_ + row},
                    out + static_cast<std::int64_t>(j * size_of(info_.type)));
        }
    }

    struct Cells {
        std::size_t column;
        std::int64_t begin, count;  // in the array
        std::int64_t stride;        // elements of the output from one to the next
        std::int64_t per_row;       // for messages
        std::int64_t first_row;
    };

    void convert(const arrow::Array& from, const Cells& cells, std::byte* out) const {
        switch (info_.type) {
            case ElementType::f16:
                return convert_to<std::uint16_t>(from, cells, out);
            case ElementType::f32:
                return convert_to<float>(from, cells, out);
            case ElementType::f64:
                return convert_to<double>(from, cells, out);
            case ElementType::i8:
                return convert_to<std::int8_t>(from, cells, out);
            case ElementType::u8:
                return convert_to<std::uint8_t>(from, cells, out);
            case ElementType::i32:
                return convert_to<std::int32_t>(from, cells, out);
            default:
                return convert_to<std::int64_t>(from, cells, out);
        }
    }

    template <class T>
    void convert_to(const arrow::Array& from, const Cells& cells, std::byte* out) const {
        switch (from.type_id()) {
            case arrow::Type::BOOL:
                return convert_from<arrow::BooleanArray, T>(from, cells, out);
            case arrow::Type::INT8:
                return convert_from<arrow::Int8Array, T>(from, cells, out);
            case arrow::Type::UINT8:
                return convert_from<arrow::UInt8Array, T>(from, cells, out);
            case arrow::Type::INT16:
                return convert_from<arrow::Int16Array, T>(from, cells, out);
            case arrow::Type::UINT16:
                return convert_from<arrow::UInt16Array, T>(from, cells, out);
            case arrow::Type::INT32:
                return convert_from<arrow::Int32Array, T>(from, cells, out);
            case arrow::Type::UINT32:
                return convert_from<arrow::UInt32Array, T>(from, cells, out);
            case arrow::Type::INT64:
                return convert_from<arrow::Int64Array, T>(from, cells, out);
            case arrow::Type::UINT64:
                return convert_from<arrow::UInt64Array, T>(from, cells, out);
            case arrow::Type::HALF_FLOAT:
                return convert_from<arrow::HalfFloatArray, T>(from, cells, out);
            case arrow::Type::FLOAT:
                return convert_from<arrow::FloatArray, T>(from, cells, out);
            default:
                return convert_from<arrow::DoubleArray, T>(from, cells, out);
        }
    }

    // A missing floating-point number is NaN.
    template <class Array, class T>
    void convert_from(const arrow::Array& from, const Cells& cells, std::byte* out) const {
        constexpr bool half = std::is_same_v<Array, arrow::HalfFloatArray>;
        constexpr bool floating = half || std::is_same_v<Array, arrow::FloatArray> ||
                                  std::is_same_v<Array, arrow::DoubleArray>;
        constexpr std::uint16_t half_nan = 0x7e00;
        const auto& array = static_cast<const Array&>(from);
        for (std::int64_t i = 0; i < cells.count;
             ++i, out += cells.stride * static_cast<std::int64_t>(sizeof(T))) {
            T value{};
            if (array.IsNull(cells.begin + i)) {
                if (!floating)
                    refuse(cells.column, cells.first_row + i / cells.per_row, "a number", "null");
                if constexpr (half && std::is_same_v<T, std::uint16_t>) value = half_nan;
                else value = std::numeric_limits<T>::quiet_NaN();
            } else {
                const auto stored = array.Value(cells.begin + i);
                if constexpr (std::is_same_v<Array, arrow::UInt64Array>) {
                    if (stored > INT64_MAX) {
                        refuse(cells.column, cells.first_row + i / cells.per_row,
                               "a number below 2^63", fmt::format("{}", stored));
                    }
                }
                if constexpr (half && !std::is_same_v<T, std::uint16_t>) {
                    value = static_cast<T>(arrow::util::Float16::FromBits(stored).ToFloat());
                } else {
                    value = static_cast<T>(stored);
                }
            }
            std::memcpy(out, &value, sizeof value);
        }
    }

    ParquetFile opened_;
    std::vector<Column> columns_;
    std::vector<int> leaves_;
    Proceed proceed_;
    std::shared_ptr<arrow::RecordBatchReader> batches_;
    std::shared_ptr<arrow::RecordBatch> batch_;  // null: none was read since start_at()
    std::int64_t batch_first_ = 0;               // the row of the file that `batch_` begins with
};

}  // namespace

bool has_parquet() {
    return true;
}

std::vector<std::string> names_parquet(const Location& location) {
    return usable_names(open_parquet_file(open_bytes(location)));
}

SourcePtr open_parquet(const Location& location) {
    ParquetFile opened = open_parquet_file(open_bytes(location));
    const std::shared_ptr<ArrowFile> file = opened.file;
    // A row group's columns are decoded when they are first asked for.
    return guarded(*file, [&]() -> SourcePtr {
        std::vector<Column> columns = choose(opened, location.dataset);
        return std::make_unique<ParquetSource>(std::move(opened), std::move(columns), location);
    });
}

SinkPtr create_parquet(const Target& target, const FileInfo&) {
    bad_argument(fmt::format(
        "{}: Parquet files are only read; expected a format that is written, as npy", target.file));
}

}  // namespace kith::io
