// A Parquet file, as Apache Arrow opens it through a ByteInput.
#pragma once

#include <arrow/io/interfaces.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "io/errors.h"
#include "io/input.h"

namespace kith::io {

// A ByteInput, plain or gunzipped, as Arrow reads files. What it throws is kept while Arrow's
// frames lie between.
class ArrowFile final : public arrow::io::RandomAccessFile {
public:
    explicit ArrowFile(std::unique_ptr<ByteInput> input) : input_(std::move(input)) {}

    const std::string& path() const { return input_->path(); }
    void rethrow() {
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

    arrow::Status Close() override;
    bool closed() const override { return closed_; }
    arrow::Result<std::int64_t> Tell() const override { return place_; }
    arrow::Status Seek(std::int64_t place) override;
    arrow::Result<std::int64_t> GetSize() override { return input_->size(); }
    arrow::Result<std::int64_t> ReadAt(std::int64_t place, std::int64_t count, void* out) override;
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t place,
                                                         std::int64_t count) override;
    arrow::Result<std::int64_t> Read(std::int64_t count, void* out) override;
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t count) override;

private:
    std::unique_ptr<ByteInput> input_;
    std::exception_ptr thrown_;
    std::int64_t place_ = 0;
    bool closed_ = false;
};

std::string in_one_line(std::string text);

// Runs what calls Arrow: what that throws becomes bad_file or out_of_memory, unless the file threw
// before.
template <class Call>
auto guarded(ArrowFile& file, const Call& call) {
    std::string why;
    try {
        return call();
    } catch (const Error&) {
        throw;
    } catch (const parquet::ParquetStatusException& error) {
        why = error.status().message();
        if (error.status().IsOutOfMemory())
            throw Error(ErrorCode::out_of_memory, file.path() + ": " + in_one_line(why));
    } catch (const parquet::ParquetException& error) {
        why = error.what();
    }
    file.rethrow();
    bad_file(file.path(), fmt::format("expected a Parquet file: {}", in_one_line(why)));
}

template <class T>
T value_of(arrow::Result<T> result) {
    PARQUET_THROW_NOT_OK(result.status());
    return std::move(result).ValueUnsafe();
}

struct ParquetFile {
    std::shared_ptr<ArrowFile> file;
    std::shared_ptr<parquet::FileMetaData> metadata;
    std::unique_ptr<parquet::arrow::FileReader> reader;
};

// Throws bad_file.
ParquetFile open_parquet_file(std::unique_ptr<ByteInput> input);

}  // namespace kith::io
