// Tables in text as programs write them: read as the rows that were meant, with a word where that had to be found out,
// or refused with the options that decide.
#include <cmath>

#include "io_scratch.h"

namespace kith::test {
namespace {

using Rows = std::vector<std::vector<double>>;

const Rows three{{0.5, 0.25}, {2, 3}, {4, 5}};

class IoTables : public IoTest {
protected:
    // The rows of the text, as f64; its remark as the reader makes it.
    Rows read(const std::string& text, const TableOptions& options = {}) {
        MatrixReader reader(put("a.csv", text), table_format("csv64", options));
        remark_ = reader.info().remark;
        const Matrix matrix = read_matrix(reader);
        Rows rows;
        for (std::int64_t i = 0; i < matrix.info.rows; ++i) {
            std::vector<double> row(static_cast<std::size_t>(matrix.info.cols));
            std::memcpy(row.data(), matrix.bytes.data() + static_cast<std::size_t>(i) * row.size() * sizeof(double),
                        row.size() * sizeof(double));
            rows.push_back(row);
        }
        return rows;
    }

    std::string refused(const std::string& text, const TableOptions& options = {},
                        ErrorCode code = ErrorCode::bad_file) {
        const std::string message = message_of(code, [&] { read(text, options); });
        expect_has(message, path("a.csv"));
        return message;
    }

    std::string remark_;
};

struct Written {
    const char* by;
    const char* text;
    const char* remark;
};

const char* const unnamed = "line 1 names the columns; column 1, without a name, is left out";
const char* const named = "line 1 names the columns";

TEST_F(IoTables, AsProgramsWriteThem) {
    const Written all[] = {
        {"pandas", ",0,1\n0,0.5,0.25\n1,2.0,3.0\n2,4.0,5.0\n", unnamed},
        {"pandas, names", ",x,y\n0,0.5,0.25\n1,2.0,3.0\n2,4.0,5.0\n", unnamed},
        {"pandas, a filtered frame", ",0,1\n7,0.5,0.25\n3,2.0,3.0\n12,4.0,5.0\n", unnamed},
        {"pandas, years", ",2019,2020\na,0.5,0.25\nb,2.0,3.0\nc,4.0,5.0\n",
         "line 1 names the columns; column 1, of names such as \"a\", is left out"},
        {"pandas, an index of names", ",x,y\na,0.5,0.25\nb,2,3\nc,4,5\n",
         "line 1 names the columns; column 1, of names such as \"a\", is left out"},
        {"pandas, a named index", "id,0,1\na,0.5,0.25\nb,2,3\nc,4,5\n",
         "line 1 names the columns; column 1, of names such as \"a\", is left out"},
        {"pandas, no index", "x,y\n0.5,0.25\n2.0,3.0\n4.0,5.0\n", named},
        {"pandas, tabs", "\t0\t1\n0\t0.5\t0.25\n1\t2.0\t3.0\n2\t4.0\t5.0\n", unnamed},
        {"pandas, all quoted",
         "\"\",\"0\",\"1\"\n\"0\",\"0.5\",\"0.25\"\n\"1\",\"2.0\",\"3.0\"\n\"2\",\"4.0\",\"5.0\"\n", unnamed},
        {"R, write.csv", "\"\",\"V1\",\"V2\"\n\"1\",0.5,0.25\n\"2\",2,3\n\"3\",4,5\n", unnamed},
        {"R, write.csv of names", "\"\",\"V1\",\"V2\"\n\"a 1\",0.5,0.25\n\"b\",2,3\n\"c\",4,5\n",
         "line 1 names the columns; column 1, of names such as \"a 1\", is left out"},
        {"R, write.csv, row.names=FALSE", "\"V1\",\"V2\"\n0.5,0.25\n2,3\n4,5\n", named},
        {"R, columns of numbers", "\"1\",\"2\"\n0.5,0.25\n2,3\n4,5\n", named},
        {"R, write.table", "\"V1\" \"V2\"\n\"1\" 0.5 0.25\n\"2\" 2 3\n\"3\" 4 5\n", unnamed},
        {"R, write.table, quote=FALSE", "V1 V2\n1 0.5 0.25\n2 2 3\n3 4 5\n", unnamed},
        {"R, write.table, col.names=FALSE", "\"1\" 0.5 0.25\n\"2\" 2 3\n\"3\" 4 5\n",
         "column 1, the only one in quotes, is left out"},
        {"R, fwrite", "V1,V2\n0.5,0.25\n2,3\n4,5\n", named},
        {"NumPy, savetxt", "5.0e-01 2.5e-01\n2.0e+00 3.0e+00\n4.0e+00 5.0e+00\n", ""},
        {"NumPy, savetxt, header", "# x y\n5.0e-01 2.5e-01\n2.0e+00 3.0e+00\n4.0e+00 5.0e+00\n", ""},
        {"Polars", "column_0,column_1\n0.5,0.25\n2.0,3.0\n4.0,5.0\n", named},
        {"Excel, UTF-8", "\xef\xbb\xbfx,y\r\n0.5,0.25\r\n2,3\r\n4,5\r\n", named},
        {"Excel, empty columns behind", "x,y,,\r\n0.5,0.25,,\r\n2,3,,\r\n4,5,,\r\n",
         "line 1 names the columns; empty cells at the end of each line are left out"},
        {"Excel, sep=", "sep=;\r\n0.5;0.25\r\n2;3\r\n4;5\r\n", named},
        {"MATLAB, writematrix", "0.5,0.25\n2,3\n4,5\n", ""},
        {"MATLAB, writetable", "Var1,Var2\n0.5,0.25\n2,3\n4,5\n", named},
        {"MATLAB, save -ascii", "   5.0000000e-01   2.5000000e-01\n   2.0e+00   3.0e+00\n   4.0e+00   5.0e+00\n", ""},
        {"Julia, writedlm", "0.5\t0.25\n2.0\t3.0\n4.0\t5.0\n", ""},
        {"Julia, CSV.jl", "Column1,Column2\n0.5,0.25\n2.0,3.0\n4.0,5.0\n", named},
        {"a comma at the end", "0.5,0.25,\n2,3,\n4,5,\n", "an empty cell at the end of each line is left out"},
        {"a comma at the end, not of the names", "x,y\n0.5,0.25,\n2,3,\n4,5,\n",
         "line 1 names the columns; an empty cell at the end of each line is left out"},
        {"a tab at the end", "0.5\t0.25\t\r\n2\t3\t\r\n4\t5\t\r\n",
         "an empty cell at the end of each line is left out"},
        {"names and no header", "a,0.5,0.25\nb,2,3\nc,4,5\n", "column 1, of names such as \"a\", is left out"},
        {"quoted numbers", "\"0.5\",\"0.25\"\n\"2\",\"3\"\n\"4\",\"5\"\n", ""},
        {"separators within quotes", "\"a;b\",\"c\td\"\n0.5,0.25\n2,3\n4,5\n", named},
    };
    for (const Written& one : all) {
        SCOPED_TRACE(one.by);
        EXPECT_EQ(read(one.text), three);
        EXPECT_EQ(remark_, one.remark);
    }
}

TEST_F(IoTables, WhatMayBeReadInTwoWays) {
    struct {
        const char* by;
        const char* text;
        const char* why;
        TableOptions options;  // read the three rows
    } all[] = {
        {"pandas, no index", "0,1\n0.5,0.25\n2,3\n4,5\n", "line 1: \"0,1\"", {.header = true}},
        {"years", "2019,2020\n0.5,0.25\n2.0,3.0\n4.0,5.0\n", "line 1: \"2019,2020\"", {.header = true}},
        {"an empty cell", ",7\n0.1,0.5\n0.9,2\n0.4,4\n", "line 1: \",7\"", {}},
        {"an index without a header",
         "0,0.5,0.25\n1,2.0,3.0\n2,4.0,5.0\n",
         "column 1 counts the rows",
         {.columns = "2-"}},
        {"a named index", "id,x,y\n1,0.5,0.25\n2,2,3\n3,4,5\n", "column 1 counts the rows", {.columns = "x,y"}},
        {"an index of time", ",x,y\n0.1,0.5,0.25\n0.2,2,3\n0.3,4,5\n", "column 1 has no name", {.columns = "2-"}},
        {"names of some columns", "x,y\n1,0.5,\n2,2,\n3,4,\n", "line 1 names 2 columns", {}},
        {"an index of two levels",
         ",,x,y\na,1,0.5,0.25\na,2,2,3\nb,1,4,5\n",
         "columns 1 to 2 have no names",
         {.columns = "3-"}},
        {"an index of two levels above numbers",
         ",,0,1\n0,0,0.5,0.25\n0,1,2,3\n1,0,4,5\n",
         "line 1: \",,0,1\", empty cells before numbers",
         {.header = true, .columns = "3-"}},
    };
    for (const auto& one : all) {
        SCOPED_TRACE(one.by);
        const std::string message = refused(one.text);
        expect_has(message, one.why);
        expect_has(message, std::string_view(one.why).starts_with("line 1:") ? "--header yes or --header no says which"
                                                                             : "--columns ");
        if (one.options.header || !one.options.columns.empty()) {
            EXPECT_EQ(read(one.text, one.options), three);
        }
    }
    // Of a quote that is never closed the separators end no cells.
    expect_has(refused("x;5;;npy;\";;;;;;;;;\n"), "column 4");
    // A single column: its 0 may be what pandas writes above it.
    expect_has(refused("0\n0.5\n2.0\n"), "--header");
    EXPECT_EQ(read("0\n0.5\n2.0\n", {.header = true}), (Rows{{0.5}, {2}}));
    EXPECT_EQ(read("0\n0.5\n2.0\n", {.header = false}), (Rows{{0}, {0.5}, {2}}));
    EXPECT_EQ(read("0\n5\n2\n"), (Rows{{0}, {5}, {2}}));
    EXPECT_EQ(remark_, "line 1, which is 0, is a row");
}

TEST_F(IoTables, OrdinaryNumbersNeedNoWord) {
    EXPECT_EQ(read("1,2\n3,4\n"), (Rows{{1, 2}, {3, 4}}));
    EXPECT_EQ(remark_, "");
    EXPECT_EQ(read("0,0\n1,1\n2,4\n"), (Rows{{0, 0}, {1, 1}, {2, 4}}));
    EXPECT_EQ(remark_, "column 1 counts the rows and is read as the others");
    EXPECT_EQ(read("0,1,2\n"), (Rows{{0, 1, 2}}));
    EXPECT_EQ(remark_, "");
    const Rows gaps = read("1,,3\n,5,\n7,8,9\n");
    EXPECT_TRUE(std::isnan(gaps[0][1]) && std::isnan(gaps[1][0]) && std::isnan(gaps[1][2]));
    EXPECT_EQ(remark_, "");
    // Nothing counts beyond the largest of 64 bits.
    EXPECT_EQ(read("0.5\n9223372036854775807\n9223372036854775807\n"), (Rows{{0.5}, {0x1p63}, {0x1p63}}));
}

TEST_F(IoTables, Options) {
    EXPECT_EQ(read("made by hand\nin June; x\n0.5,0.25\n2,3\n4,5\n", {.skip = 2}), three);
    EXPECT_EQ(read("x;y\n0,5;0,25\n2;3\n4;5\n", {.decimal_comma = true}), three);
    EXPECT_EQ(read("0,5\t0,25\n2\t3\n4\t5\n", {.decimal_comma = true}), three);
    EXPECT_EQ(read("\"\";\"V1\";\"V2\"\n\"1\";0,5;0,25\n\"2\";2;3\n\"3\";4;5\n", {.decimal_comma = true}), three);
    const std::string table = "id,x,name,y\n1,0.5,a,0.25\n2,2,b,3\n3,4,c,5\n";
    EXPECT_EQ(read(table, {.columns = "x,y"}), three);
    EXPECT_EQ(read(table, {.columns = "2,4"}), three);
    EXPECT_EQ(read(table, {.columns = "4,1-2"}), (Rows{{0.25, 1, 0.5}, {3, 2, 2}, {5, 3, 4}}));
    EXPECT_EQ(read("V1 V2\n1 0.5 0.25\n2 2 3\n3 4 5\n", {.columns = "V1,V2"}), three);
    EXPECT_EQ(read("0,1\n2,3\n", {.header = false}), (Rows{{0, 1}, {2, 3}}));
    EXPECT_EQ(read("id,x\n0,2\n1,3\n2,4\n", {.columns = "1-"}), (Rows{{0, 2}, {1, 3}, {2, 4}}));
    // In blocks and from the middle, too.
    MatrixReader reader(put("a.csv", table), table_format("csv64", {.columns = "y,x"}));
    double row[2];
    for (const int i : {2, 0, 1}) {
        reader.read(i, 1, row);
        EXPECT_EQ((std::vector<double>{row[1], row[0]}), three[static_cast<std::size_t>(i)]);
    }

    const auto argument = [&](const TableOptions& options) {
        return refused(table, options, ErrorCode::invalid_argument);
    };
    expect_has(argument({.columns = "5"}), "expected places from 1 to 4, got 5");
    expect_has(argument({.columns = "0-2"}), "expected places from 1 to 4, got 0-2");
    expect_has(argument({.columns = "3-2"}), "got 3-2");
    expect_has(argument({.columns = "z"}), "names of its 4 columns (id, x, name, y), got \"z\"");
    expect_has(argument({.columns = "x,"}), "got \"\"");
    expect_has(argument({.columns = "2-3,x"}), "got column 2 twice in 2-3,x");
    expect_has(refused("x,x\n1,2\n", {.columns = "x"}, ErrorCode::invalid_argument), "got \"x\" of several");
    expect_has(refused("1,2\n", {.columns = "x"}, ErrorCode::invalid_argument), "of which the table names none");
    expect_has(refused("1\n2\n", {.skip = 3}), "more than the 3 lines that are skipped, found 2");
    expect_has(refused("x,y\n", {.header = true}), "at least one row");
    expect_has(refused("1.5;2,5\n", {.decimal_comma = true}), "found \"1.5\"");
    expect_has(refused("1,5;2,5\n"), "found \"1,5\"; --decimal comma reads decimals behind a comma");
    expect_has(refused("1,oops\n2,3\n"), "found \"oops\"; --header yes takes the line for names of columns");
    expect_has(refused("1,2,a\n3,4,b\n", {.header = false}),
               "found \"a\"; --header yes takes the line for names of columns; --columns says which to read");

    const auto format = [&](const std::string& name) {
        return message_of(ErrorCode::invalid_argument, [&] { MatrixReader(path("a.csv"), name); });
    };
    expect_has(format("csv:header=maybe"), "expected :header=yes");
    expect_has(format("csv:columns="), "expected :header=yes");
    expect_has(format("csv:skip=2:header=no"), "in this order");
    expect_has(format("npy:skip=2"), "expected options of a table (skip=2) with text (csv, csv64, csvi64), got npy");
    expect_has(message_of(ErrorCode::invalid_argument, [] { table_format("csv", {.skip = -1}); }), "skip: -1");
}

// What is written is read as it was, whatever it looks like.
// Words for what is missing name neither columns nor rows.
TEST_F(IoTables, WordsForNothing) {
    for (const std::string word : {"NA", "N/A", "<NA>", "NULL", "null", "None"}) {
        SCOPED_TRACE(word);
        const std::string message = refused(word + "," + word + "\n2,3\n4,5\n");
        expect_has(message, "line 1, column 1: expected a number, found");
        expect_has(message, "a missing number is nan or an empty cell; --header yes");
        expect_has(refused("x,y,z\n" + word + ",2,3\n" + word + ",4,5\n"), "line 2, column 1: expected a number");
        expect_has(refused("\"\",\"V1\"\n\"1\"," + word + "\n\"2\",3\n"), "line 2, column 2: expected a number");
    }
}

// A line of which all cells are missing, or the only one, is a row: ids count it.
TEST_F(IoTables, RowsOfNothing) {
    const auto shape_of = [](const Rows& rows) {
        std::string shape;
        for (const std::vector<double>& row : rows) {
            for (const double value : row)
                shape += std::isnan(value) ? '-' : static_cast<char>('0' + std::lround(value));
            shape += ' ';
        }
        return shape;
    };
    const Written all[] = {
        {"12 -- 34 ", "x\ty\n1\t2\n\t\n3\t4\n", named},
        {"12 -- 34 ", "1\t2\r\n\t\r\n3\t4\r\n\r\n", ""},
        {"-- 12 34 ", "\t\n1\t2\n3\t4\n", ""},
        {"12 34 -- ", "1\t2\n3\t4\n\t\n", ""},
        {"12 34 ", "1\t2\n\n3\t4\n\n", ""},
        {"12 34 ", "1 2\n\t\n3 4\n", ""},
        {"12 -- 34 ", "1,2\n,\n3,4\n", ""},
        {"1 - 3 ", "a\n1.0\n\n3.0\n", "line 1 names the columns; an empty line is a row without a number"},
        {"- 1 - - 3 ", "\"a\"\n\n1\n\n \n3\n\n",
         "line 1 names the columns; 3 empty lines are rows without a number; an empty line at the end is left out"},
        {"1 3 ", "\n1\n3\n\n\n", "empty lines at the end are left out"},
        {"1 3 ", "\"V1\"\n\n\"1\" 1\n\"2\" 3\n\n", unnamed},
        {"12 34 ", "1,2\n#a,5\n#b,6\n3,4\n# end\n", "2 lines between the rows that begin with # are left out"},
    };
    for (const Written& one : all) {
        SCOPED_TRACE(one.text);
        EXPECT_EQ(shape_of(read(one.text)), one.by);
        EXPECT_EQ(remark_, one.remark);
    }
    // Across the places that are remembered, read in ranges.
    std::string text = "1\n";
    for (int i = 1; i < 5000; ++i) text += (i % 3 == 0 || i == 4999 ? std::to_string(i) : "") + "\n";
    MatrixReader reader(put("b.csv", text), "csv64");
    ASSERT_EQ(reader.info().rows, 5000);
    for (const std::int64_t row : {4998, 1023, 1024, 1025, 2048, 3, 3072, 4999}) {
        double value = 0;
        reader.read(row, 1, reinterpret_cast<std::byte*>(&value));
        if (row % 3 == 0 || row == 4999) EXPECT_EQ(value, row);
        else EXPECT_TRUE(std::isnan(value)) << row;
    }
    const std::string ids = put("c.csv", "1\n\n3\n");
    expect_has(message_of(ErrorCode::bad_file, [&] { read_matrix(ids, "csvi64"); }),
               "line 2, column 1: expected an integer");
}

TEST_F(IoTables, OwnTablesAreRows) {
    for (const Rows& rows : {Rows{{0, 1}, {0.5, 2}}, Rows{{0, 1}, {2, 3}}, Rows{{3, 4}, {0.5, 1.5}}, Rows{{0}, {0.5}},
                             Rows{{0, 0.5}, {1, 1.5}, {2, 2.5}}, Rows{{1, 0.5}, {2, 1.5}, {3, 2.5}},
                             Rows{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}}}) {
        const FileInfo info{"csv64", static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()),
                            ElementType::f64};
        std::vector<std::byte> bytes;
        for (const auto& row : rows) {
            const auto* from = reinterpret_cast<const std::byte*>(row.data());
            bytes.insert(bytes.end(), from, from + row.size() * sizeof(double));
        }
        write_matrix(path("b.csv"), info, bytes);
        EXPECT_EQ(read(get(path("b.csv"))), rows) << get(path("b.csv"));
    }
}

}  // namespace
}  // namespace kith::test
