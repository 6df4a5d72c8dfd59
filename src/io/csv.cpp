// csv, csv64, csvi64: a table in text, a row a line; comma, semicolon, tab or blanks between the
// cells.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "io/errors.h"
#include "io/format.h"
#include "io/output.h"
#include "io/table.h"
#include "io/text_numbers.h"

namespace kith::io {
namespace {

// Text is written in pieces of about this size.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

template <class T>
class CsvSource final : public Source {
public:
    CsvSource(std::unique_ptr<ByteInput> input, const char* format, ElementType type, Table table)
        : Source({format, table.rows, table.cols, type, std::move(table.remark)}),
          input_(std::move(input)),
          table_(std::move(table)),
          lines_(*input_) {}

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        // Lines count the header, where there is one.
        std::int64_t from = first + (table_.header ? 1 : 0);
        const std::int64_t to = from + count;
        if (from != next_) {
            const LineMark& mark = table_.marks[static_cast<std::size_t>(from / lines_per_mark)];
            lines_ = Lines(*input_, mark.offset, mark.line);
            next_ = from / lines_per_mark * lines_per_mark;
        }
        // Until it is done again, an error leaves no place to go on from.
        std::int64_t at = std::exchange(next_, -1);
        for (; at < from; ++at) next_line();
        for (; at < to; ++at) {
            parse_row(next_line(), out);
            out += table_.cols * static_cast<std::int64_t>(sizeof(T));
        }
        next_ = at;
    }

private:
    std::string_view next_line() {
        std::string_view line;
        do {
            if (!lines_.next(line))
                bad_file(input_->path(), "expected more rows, found the end of the file");
        } while (table_.passes_over(line));
        return line;
    }

    void parse_row(std::string_view line, std::byte* row) const {
        Cells cells(line, table_.separator);
        std::string_view cell;
        std::int64_t col = 0;
        for (const ColumnRange& range : table_.columns) {
            for (; col < range.first; ++col) cells.next(cell);
            std::byte* out = row + range.to * static_cast<std::int64_t>(sizeof(T));
            for (; col < range.first + range.count; ++col, out += sizeof(T)) {
                if (!cells.next(cell)) {
                    if (table_.empty_rows == 0) refuse(col, "a cell", "the end of the line");
                    cell = {};
                }
                const T value = parse_cell(col, cell);
                std::memcpy(out, &value, sizeof value);
            }
        }
    }

    T parse_cell(std::int64_t col, std::string_view cell) const {
        T value{};
        switch (parse_number(cell, table_.decimal_comma, value)) {
            case Parsed::number:
                return value;
            case Parsed::other:
                refuse(col, std::is_integral_v<T> ? "an integer" : "a number",
                       shown(cell) + advice(col, cell));
            case Parsed::too_large:
                break;
        }
        refuse(col,
               fmt::format("a value within the range of {}{}", name(info_.type),
                           std::is_same_v<T, float> ? " (csv64 reads f64)" : ""),
               shown(cell));
    }

    // What would read a table with such a cell.
    std::string advice(std::int64_t col, std::string_view cell) const {
        T value{};
        if (!table_.decimal_comma && parse_number(cell, true, value) == Parsed::number)
            return "; --decimal comma reads decimals behind a comma";
        std::string text;
        if (stands_for_nothing(cell)) text += "; a missing number is nan or an empty cell";
        if (lines_.number() == table_.marks[0].line)
            text += "; --header yes takes the line for names of columns";
        if (col > 0 || table_.cols > 1) text += "; --columns says which to read";
        return text;
    }

    [[noreturn]] void refuse(std::int64_t col, std::string_view expected,
                             std::string_view found) const {
        bad_file(input_->path(), fmt::format("line {}, column {}: expected {}, found {}",
                                             lines_.number(), col + 1, expected, found));
    }

    std::unique_ptr<ByteInput> input_;
    Table table_;
    Lines lines_;
    std::int64_t next_ = -1;  // the line that lines_ gives next
};

template <class T>
SourcePtr open_table(const Location& location, const char* format, ElementType type) {
    std::unique_ptr<ByteInput> input = open_input(location);
    Table table = examine_table(*input, location.table);
    return std::make_unique<CsvSource<T>>(std::move(input), format, type, std::move(table));
}

bool is_tabbed(std::string_view path) {
    if (is_gzip_name(path)) path.remove_suffix(3);
    return path.ends_with(".tsv");
}

class CsvSink final : public Sink {
public:
    CsvSink(const Target& target, const FileInfo& info)
        : output_(open_output(target)),
          info_(info),
          separator_(is_tabbed(target.file) ? '\t' : ',') {}

    void append(const std::byte* rows, std::int64_t count) override {
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j < info_.cols; ++j, rows += size_of(info_.type)) {
                if (j > 0) text_ += separator_;
                append_element(rows);
            }
            if (std::exchange(is_first_, false)) mark_as_row();
            text_ += '\n';
            if (text_.size() >= piece_bytes) flush();
        }
    }

    void finish() override {
        flush();
        output_->finish();
    }

private:
    template <class Stored, class Printed>
    void append_as(const std::byte* element) {
        Stored value{};
        std::memcpy(&value, element, sizeof value);
        append_number(text_, static_cast<Printed>(value));
    }

    void append_element(const std::byte* element) {
        switch (info_.type) {
            case ElementType::f32:
                return append_as<float, float>(element);
            case ElementType::f64:
                return append_as<double, double>(element);
            case ElementType::i8:
                return append_as<std::int8_t, std::int64_t>(element);
            case ElementType::u8:
                return append_as<std::uint8_t, std::int64_t>(element);
            case ElementType::i32:
                return append_as<std::int32_t, std::int64_t>(element);
            default:
                return append_as<std::int64_t, std::int64_t>(element);
        }
    }

    // No name of a column begins with a sign.
    void mark_as_row() {
        const bool whole = info_.type != ElementType::f32 && info_.type != ElementType::f64;
        const FirstLine line(text_, separator_ == '\t' ? Separator::tab : Separator::comma, false);
        if (line.may_be_names(whole)) text_.insert(0, 1, '+');
    }

    void flush() {
        output_->write(text_.data(), static_cast<std::int64_t>(text_.size()));
        text_.clear();
    }

    std::unique_ptr<Output> output_;
    FileInfo info_;
    char separator_;
    bool is_first_ = true;
    std::string text_;
};

SinkPtr create_table(const Target& target, const FileInfo& info) {
    require_type(target, info, "f32 f64 i8 u8 i32 i64");
    return std::make_unique<CsvSink>(target, info);
}

}  // namespace

SourcePtr open_csv(const Location& location) {
    return open_table<float>(location, "csv", ElementType::f32);
}
SourcePtr open_csv64(const Location& location) {
    return open_table<double>(location, "csv64", ElementType::f64);
}
SourcePtr open_csvi64(const Location& location) {
    return open_table<std::int64_t>(location, "csvi64", ElementType::i64);
}
SinkPtr create_csv(const Target& target, const FileInfo& info) {
    return create_table(target, info);
}
SinkPtr create_csv64(const Target& target, const FileInfo& info) {
    return create_table(target, info);
}
SinkPtr create_csvi64(const Target& target, const FileInfo& info) {
    return create_table(target, info);
}

}  // namespace kith::io
