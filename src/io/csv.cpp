// csv, csv64, csvi64: a table in text, a row a line; comma, semicolon, tab or blanks between the cells.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "io/errors.h"
#include "io/format.h"
#include "io/output.h"
#include "io/text_lines.h"
#include "io/text_numbers.h"

namespace kith::io {
namespace {

// The offset of a row is remembered for every so many rows, so that a range of rows is found without reading what is
// before.
constexpr std::int64_t rows_per_mark = 1024;

// Text is written in pieces of about this size.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

struct RowMark {
    std::int64_t offset;
    std::int64_t line;
};

struct Table {
    std::int64_t rows = 0, cols = 0;
    std::int64_t first_line = 0;  // which has `cols` cells
    Separator separator = Separator::comma;
    std::vector<RowMark> marks;
};

// What holds no row: nothing, or a comment as NumPy's savetxt writes it.
bool is_passed_over(std::string_view line) {
    const std::string_view text = trimmed(line);
    return text.empty() || text[0] == '#';
}

// Names of columns hardly do: a decimal comma, a sign of percent or a suffix makes no name of a number.
bool begins_as_number(std::string_view cell) {
    return !cell.empty() && std::string_view("0123456789+-.").find(cell[0]) != std::string_view::npos;
}

// A line without any number names the columns. One with some, or with what begins as one, is a row: a wrong cell in it
// must not hide the others.
bool is_header(std::string_view line, Separator separator) {
    Cells cells(line, separator);
    bool words = false;
    for (std::string_view cell; cells.next(cell);) {
        double value = 0;
        const bool number = parse_number(cell, value) != Parsed::other;
        if ((number && !cell.empty()) || begins_as_number(cell)) return false;
        words = words || !number;
    }
    return words;
}

// Reads all lines once: every row has as many cells as the first, so that the matrix is no larger than its text allows.
Table examine(ByteInput& input) {
    Table table;
    Lines lines(input);
    for (std::string_view line; lines.next(line);) {
        if (is_passed_over(line)) continue;
        const bool first = table.first_line == 0;
        if (first) table.separator = separator_of(trimmed(line));
        const std::int64_t cells = count_cells(line, table.separator);
        if (first) {
            table.first_line = lines.number();
            table.cols = cells;
            if (is_header(line, table.separator)) continue;
        }
        if (cells != table.cols) {
            bad_file(input.path(), fmt::format("line {}: expected {} cells as in line {}, found {}", lines.number(),
                                               table.cols, table.first_line, cells));
        }
        if (table.rows++ % rows_per_mark == 0) table.marks.push_back({lines.offset(), lines.number()});
    }
    if (table.rows == 0) bad_file(input.path(), "expected at least one row of numbers, found none");
    return table;
}

template <class T>
class CsvSource final : public Source {
public:
    CsvSource(std::unique_ptr<ByteInput> input, const char* format, ElementType type, Table table)
        : Source({format, table.rows, table.cols, type}),
          input_(std::move(input)),
          table_(std::move(table)),
          lines_(*input_, table_.marks[0].offset, table_.marks[0].line) {}

    void read(std::int64_t first, std::int64_t count, std::byte* out) override {
        if (first != next_row_) {
            const RowMark& mark = table_.marks[static_cast<std::size_t>(first / rows_per_mark)];
            lines_ = Lines(*input_, mark.offset, mark.line);
            next_row_ = first / rows_per_mark * rows_per_mark;
        }
        // Until it is done again, an error leaves no place to go on from.
        std::int64_t row = std::exchange(next_row_, -1);
        for (; row < first; ++row) next_line();
        for (; row < first + count; ++row) {
            parse_row(next_line(), out);
            out += table_.cols * static_cast<std::int64_t>(sizeof(T));
        }
        next_row_ = row;
    }

private:
    std::string_view next_line() {
        std::string_view line;
        do {
            if (!lines_.next(line)) bad_file(input_->path(), "expected more rows, found the end of the file");
        } while (is_passed_over(line));
        return line;
    }

    void parse_row(std::string_view line, std::byte* out) const {
        Cells cells(line, table_.separator);
        std::string_view cell;
        for (std::int64_t j = 0; j < table_.cols; ++j, out += sizeof(T)) {
            T value{};
            if (!cells.next(cell)) refuse(j, "a cell", "the end of the line");
            switch (parse_number(cell, value)) {
                case Parsed::number:
                    break;
                case Parsed::other:
                    refuse(j, std::is_integral_v<T> ? "an integer" : "a number", shown(cell));
                case Parsed::too_large:
                    refuse(j,
                           fmt::format("a value within the range of {}{}", name(info_.type),
                                       std::is_same_v<T, float> ? " (csv64 reads f64)" : ""),
                           shown(cell));
            }
            std::memcpy(out, &value, sizeof value);
        }
    }

    static std::string shown(std::string_view cell) {
        std::string text = "\"";
        for (const char c : cell.substr(0, 32)) text += c >= ' ' && c <= '~' ? c : '?';
        return text + '"';
    }

    [[noreturn]] void refuse(std::int64_t col, std::string_view expected, std::string_view found) const {
        bad_file(input_->path(),
                 fmt::format("line {}, column {}: expected {}, found {}", lines_.number(), col + 1, expected, found));
    }

    std::unique_ptr<ByteInput> input_;
    Table table_;
    Lines lines_;
    std::int64_t next_row_ = 0;
};

template <class T>
SourcePtr open_table(const Location& location, const char* format, ElementType type) {
    std::unique_ptr<ByteInput> input = open_input(location);
    Table table = examine(*input);
    return std::make_unique<CsvSource<T>>(std::move(input), format, type, std::move(table));
}

bool is_tabbed(std::string_view path) {
    if (is_gzip_name(path)) path.remove_suffix(3);
    return path.ends_with(".tsv");
}

class CsvSink final : public Sink {
public:
    CsvSink(const Target& target, const FileInfo& info)
        : output_(open_output(target)), info_(info), separator_(is_tabbed(target.file) ? '\t' : ',') {}

    void append(const std::byte* rows, std::int64_t count) override {
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j < info_.cols; ++j, rows += size_of(info_.type)) {
                if (j > 0) text_ += separator_;
                append_element(rows);
            }
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

    void flush() {
        output_->write(text_.data(), static_cast<std::int64_t>(text_.size()));
        text_.clear();
    }

    std::unique_ptr<Output> output_;
    FileInfo info_;
    char separator_;
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
