// Judges the storage of HDF5 data sets.
#include "io/hdf5_storage.h"

#include <zlib.h>

#include <algorithm>

#include "io/errors.h"

namespace kith::io {
namespace {

// Deflate cannot expand further than this (zlib's manual, "Maximum expansion factor"), so no honest data set does.
constexpr std::int64_t largest_expansion = 1032;

constexpr std::int64_t checksum_bytes = 4;  // fletcher32 appends them

// Shuffle, at most one deflate after it, and checksums: what decodes without the bytes of one filter being needed to
// know the size that the next gives.
std::vector<H5Z_filter_t> filters_of(const Hdf5Data& data, hid_t properties) {
    std::vector<H5Z_filter_t> filters;
    for (int i = 0; i < H5Pget_nfilters(properties); ++i) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, &config);
        if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32) {
            bad_file(data.name, fmt::format("expected deflate, shuffle and fletcher32 only, found filter {}",
                                            static_cast<int>(id)));
        }
        const bool deflated = std::find(filters.begin(), filters.end(), H5Z_FILTER_DEFLATE) != filters.end();
        if (deflated && id != H5Z_FILTER_FLETCHER32) {
            bad_file(data.name, "expected one deflate, after shuffle, found filters in another order");
        }
        filters.push_back(id);
    }
    return filters;
}

void require_chunk_count(const Hdf5Data& data) {
    const Hdf5Handle space(H5Dget_space(data.dataset), H5Sclose);
    hsize_t written = 0, expected = 1;
    if (H5Dget_num_chunks(data.dataset, space, &written) < 0) {
        bad_file(data.name, hdf5_why("cannot read the list of chunks"));
    }
    for (std::size_t i = 0; i < data.shape.size(); ++i) {
        if (__builtin_mul_overflow(expected, (data.shape[i] - 1) / data.chunk[i] + 1, &expected)) {
            expected = static_cast<hsize_t>(-1);
            break;
        }
    }
    if (written < expected) {
        bad_file(data.name,
                 fmt::format("expected all of its {} chunks, found that {} were written: the data set is not "
                             "complete",
                             expected, written));
    }
}

// The size of a deflated stream's content, counted no further than beyond `limit`; -1 where it is broken.
std::int64_t inflated_size(const std::vector<Bytef>& deflated, std::size_t size, std::int64_t limit) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return -1;
    stream.next_in = const_cast<Bytef*>(deflated.data());
    stream.avail_in = static_cast<uInt>(size);
    std::vector<Bytef> scratch(std::size_t{1} << 16);
    std::int64_t total = 0;
    int code = Z_OK;
    while (code == Z_OK && total <= limit) {
        stream.next_out = scratch.data();
        stream.avail_out = static_cast<uInt>(scratch.size());
        code = inflate(&stream, Z_NO_FLUSH);
        total += static_cast<std::int64_t>(scratch.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    return code == Z_STREAM_END || total > limit ? total : -1;
}

// The bytes to which the chunk at `place` decodes; -1 where it does not.
std::int64_t decoded_size(const Hdf5Data& data, const std::vector<hsize_t>& place, std::int64_t stored,
                          std::vector<Bytef>& raw) {
    // A chunk is stored in less than 2^32 bytes, by the format.
    if (data.filters.empty()) return stored;
    if (stored > UINT32_MAX) return -1;
    raw.resize(static_cast<std::size_t>(stored));
    std::uint32_t skipped = 0;
    if (H5Dread_chunk(data.dataset, H5P_DEFAULT, place.data(), &skipped, raw.data()) < 0) return -1;
    std::int64_t size = stored;
    for (std::size_t i = data.filters.size(); i-- > 0;) {
        if (i < 32 && (skipped >> i & 1U) != 0) continue;
        if (data.filters[i] == H5Z_FILTER_FLETCHER32) size -= checksum_bytes;
        if (size < 0) return -1;
        if (data.filters[i] == H5Z_FILTER_DEFLATE) {
            const std::int64_t most = data.chunk_bytes + static_cast<std::int64_t>(i) * checksum_bytes;
            size = inflated_size(raw, static_cast<std::size_t>(size), most);
        }
    }
    return size;
}

}  // namespace

void require_storage(Hdf5Data& data, const FileInfo& info) {
    const Hdf5Handle properties(H5Dget_create_plist(data.dataset), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(properties);
    if ((layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT) ||
        H5Pget_external_count(properties) != 0) {
        bad_file(data.name, "expected the data in this file, found a virtual or external data set");
    }
    data.filters = filters_of(data, properties);
    const std::int64_t bytes = matrix_bytes(info.rows, info.cols, info.type);
    const hsize_t stored = H5Dget_storage_size(data.dataset);
    const auto limit = static_cast<hsize_t>(data.file.size());
    const haddr_t start = layout == H5D_CONTIGUOUS && stored > 0 ? H5Dget_offset(data.dataset) : 0;
    if (stored > limit || start > limit - stored) {
        bad_bytes(data.name, static_cast<std::int64_t>(std::min<haddr_t>(start, limit)),
                  fmt::format("{} bytes of data", stored), fmt::format("the end of the file at {}", limit));
    }
    const std::int64_t most = static_cast<std::int64_t>(stored) * (data.filters.empty() ? 1 : largest_expansion);
    if (bytes > most) {
        bad_file(data.name, fmt::format("expected {} bytes of data ({} x {} {}), found at most {}", bytes, info.rows,
                                        info.cols, name(info.type), most));
    }
    if (layout != H5D_CHUNKED) return;
    // The library allocates a whole chunk to read a part of it.
    data.chunk.resize(data.shape.size());
    H5Pget_chunk(properties, static_cast<int>(data.chunk.size()), data.chunk.data());
    data.chunk_bytes = static_cast<std::int64_t>(size_of(info.type));
    for (const hsize_t extent : data.chunk) {
        if (!__builtin_mul_overflow(data.chunk_bytes, extent, &data.chunk_bytes) && data.chunk_bytes <= most) continue;
        bad_file(data.name, fmt::format("expected chunks of at most {} bytes, found larger ones", most));
    }
    require_chunk_count(data);
}

void require_chunks(const Hdf5Data& data, std::int64_t first, std::int64_t count) {
    if (data.chunk.empty()) return;
    std::vector<Bytef> raw;
    std::vector<hsize_t> end = data.shape;
    end[0] = static_cast<hsize_t>(first) + static_cast<hsize_t>(count);
    std::vector<hsize_t> place(data.shape.size(), 0);
    const hsize_t first_of_all = static_cast<hsize_t>(first) / data.chunk[0] * data.chunk[0];
    place[0] = first_of_all;
    for (bool more = true; more;) {
        hsize_t stored = 0;
        unsigned skipped = 0;
        haddr_t address = HADDR_UNDEF;
        if (H5Dget_chunk_info_by_coord(data.dataset, place.data(), &skipped, &address, &stored) < 0 ||
            address == HADDR_UNDEF || stored == 0) {
            bad_file(data.name,
                     fmt::format("the chunk from row {} was not written: the data set is not complete", place[0]));
        }
        if (stored > static_cast<hsize_t>(data.file.size())) {
            bad_file(data.name, fmt::format("the chunk from row {} ends beyond the end of the file", place[0]));
        }
        const std::int64_t size = decoded_size(data, place, static_cast<std::int64_t>(stored), raw);
        if (size != data.chunk_bytes) {
            bad_file(data.name, fmt::format("the chunk from row {} holds {}; expected {} bytes", place[0],
                                            size < 0 ? "what cannot be decoded" : fmt::format("{} bytes", size),
                                            data.chunk_bytes));
        }
        // The next place, the last dimension first.
        more = false;
        for (std::size_t i = place.size(); i-- > 0 && !more;) {
            place[i] += data.chunk[i];
            more = place[i] < end[i];
            if (!more) place[i] = i == 0 ? first_of_all : 0;
        }
    }
}

}  // namespace kith::io
