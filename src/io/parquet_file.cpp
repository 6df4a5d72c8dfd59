// Reads a ByteInput for Apache Arrow.
#include "io/parquet_file.h"

#include <arrow/buffer.h>
#include <parquet/file_reader.h>

#include <algorithm>

namespace kith::io {
namespace {

// Read from the file at a time, for each column.
constexpr std::int64_t buffer_bytes = std::int64_t{1} << 16;

}  // namespace

arrow::Status ArrowFile::Close() {
    closed_ = true;
    return arrow::Status::OK();
}

arrow::Status ArrowFile::Seek(std::int64_t place) {
    place_ = place;
    return arrow::Status::OK();
}

arrow::Result<std::int64_t> ArrowFile::ReadAt(std::int64_t place, std::int64_t count, void* out) {
    if (place < 0 || count < 0)
        return arrow::Status::IOError("a place before the start of the file");
    try {
        const std::int64_t some = std::clamp<std::int64_t>(input_->size() - place, 0, count);
        input_->read_at(place, out, some);
        return some;
    } catch (...) {
        thrown_ = std::current_exception();
        return arrow::Status::IOError("cannot be read");
    }
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::ReadAt(std::int64_t place,
                                                                std::int64_t count) {
    // A footer may claim any place and any length.
    if (place < 0 || count < 0)
        return arrow::Status::IOError("a place before the start of the file");
    const std::int64_t some = std::clamp<std::int64_t>(input_->size() - place, 0, count);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer,
                          arrow::AllocateResizableBuffer(some));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(place, some, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return buffer;
}

arrow::Result<std::int64_t> ArrowFile::Read(std::int64_t count, void* out) {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(place_, count, out));
    place_ += got;
    return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::Read(std::int64_t count) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(place_, count));
    place_ += buffer->size();
    return buffer;
}

std::string in_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

ParquetFile open_parquet_file(std::unique_ptr<ByteInput> input) {
    ParquetFile opened;
    opened.file = std::make_shared<ArrowFile>(std::move(input));
    guarded(*opened.file, [&] {
        parquet::ReaderProperties properties;
        properties.enable_buffered_stream();
        properties.set_buffer_size(buffer_bytes);
        properties.set_page_checksum_verification(true);
        auto file = parquet::ParquetFileReader::Open(opened.file, properties);
        opened.metadata = file->metadata();
        parquet::ArrowReaderProperties how;
        how.set_use_threads(false);
        how.set_pre_buffer(false);
        opened.reader = value_of(
            parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(file), how));
        return 0;
    });
    return opened;
}

}  // namespace kith::io
