// Files for the tests of reading and writing: a folder that goes with the test, bytes, and patterned matrices.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/format.h"
#include "kith/error.h"
#include "kith/io.h"

namespace kith::test {

class IoTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "kith-io-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& file) const { return folder_ + "/" + file; }

    // The names in the folder: leftovers of temporary files would show here.
    std::size_t files() const {
        const std::filesystem::directory_iterator begin(folder_);
        return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
    }

    std::string put(const std::string& file, const std::string& bytes) const {
        std::ofstream(path(file), std::ios::binary) << bytes;
        return path(file);
    }

    static std::string get(const std::string& whole_path) {
        std::ifstream in(whole_path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

private:
    std::string folder_;
};

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
    std::string bytes;
    for (const T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return bytes;
}

// Every byte differs from its neighbours, and rows from each other.
inline std::vector<std::byte> pattern(const FileInfo& info) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(info.rows * info.cols) * size_of(info.type));
    std::uint32_t state = 12345;
    for (std::byte& byte : bytes) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<std::byte>(state >> 24);
    }
    return bytes;
}

inline void write_matrix(const std::string& path, const FileInfo& info, const std::vector<std::byte>& bytes) {
    MatrixWriter writer(path, info, true);
    writer.append(bytes.data(), info.rows);
    writer.commit();
}

// ---------------------------------------------------------------- every format of formats.def

inline constexpr ElementType all_types[] = {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16,
                                            ElementType::i8,  ElementType::u8,  ElementType::i32, ElementType::i64};

// "a" with the format's first suffix, if it has one.
inline std::string file_of(const io::Format& format) {
    std::string file = "a";
    const std::string suffixes = format.suffixes;
    return file.append(suffixes, 0, suffixes.find(' '));
}

// In a folder of its own.
inline bool holds(const io::Format& format, ElementType type) {
    std::string folder = (std::filesystem::temp_directory_path() / "kith-types-XXXXXX").string();
    if (!::mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
    bool accepted = true;
    try {
        MatrixWriter(folder + "/" + file_of(format), {format.name, 1, 1, type});
    } catch (const Error& error) {
        accepted = error.code() != ErrorCode::invalid_argument;
    }
    std::filesystem::remove_all(folder);
    return accepted;
}

// For gtest's names of parameterised tests.
inline std::string identifier(std::string text) {
    for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return text;
}

// The message of the error that `act` throws, with its code checked.
template <class Act>
std::string message_of(ErrorCode code, Act act) {
    try {
        act();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
}

inline std::string bad_file(const std::string& path, const std::string& format = "") {
    return message_of(ErrorCode::bad_file, [&] { read_matrix(path, format); });
}

inline void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "expected \"" << part << "\" in: " << text;
}

}  // namespace kith::test
