// Decodes chunks of HDF5 data sets, as far as it takes to know that the library can.
#include "io/hdf5_filters.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "io/errors.h"
#include "io/lzf.h"

namespace kith::io {
namespace {

// Deflate cannot expand further than this (zlib's manual, "Maximum expansion factor"), nor does
// lzf.
constexpr std::int64_t largest_expansion = 1032;

constexpr std::int64_t checksum_bytes = 4;  // fletcher32 appends them

// Of scale-offset (H5Zscaleoffset.c): bits of an element as u32, the size of the least value and
// that value, up to here; then the elements. Of equal elements there are none: their chunk expands
// to any size, which is bounded here.
constexpr std::int64_t scaled_header = 21;
constexpr std::int64_t largest_scaled_chunk = std::int64_t{64} << 20;
// Its parameters, of which these say how many elements of how many bytes there are.
constexpr std::size_t scale_parameters = 20, scale_elements = 2, scale_size = 4;

// The library's contract of a filter: the new size, 0 for a failure; *buffer is the library's
// memory, replaced.
std::size_t run_lzf(unsigned flags, std::size_t, const unsigned*, std::size_t bytes,
                    std::size_t* room, void** buffer) {
    if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
    const std::span<const std::uint8_t> stream(static_cast<const std::uint8_t*>(*buffer), bytes);
    const std::int64_t size = lzf_decoded_size(stream);
    if (size <= 0) return 0;
    void* const decoded = H5allocate_memory(static_cast<std::size_t>(size), false);
    if (!decoded) return 0;
    lzf_decode(stream, static_cast<std::uint8_t*>(decoded));
    H5free_memory(*buffer);
    *buffer = decoded;
    *room = static_cast<std::size_t>(size);
    return *room;
}

// Up to `limit` bytes of a deflated stream; nothing where it is broken or longer.
std::optional<std::vector<std::uint8_t>> inflated(const std::vector<std::uint8_t>& deflated,
                                                  std::int64_t limit) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return {};
    stream.next_in = const_cast<Bytef*>(deflated.data());
    stream.avail_in = static_cast<uInt>(deflated.size());
    const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, inflateEnd);
    std::vector<std::uint8_t> out;
    constexpr std::size_t step = std::size_t{1} << 16;
    int code = Z_OK;
    while (code == Z_OK && static_cast<std::int64_t>(out.size()) <= limit) {
        const std::size_t before = out.size();
        out.resize(before + step);
        stream.next_out = out.data() + before;
        stream.avail_out = static_cast<uInt>(step);
        code = inflate(&stream, Z_NO_FLUSH);
        out.resize(out.size() - stream.avail_out);
    }
    if (code != Z_STREAM_END || static_cast<std::int64_t>(out.size()) > limit) return {};
    return out;
}

std::optional<std::vector<std::uint8_t>> unpacked(const std::vector<std::uint8_t>& packed,
                                                  std::int64_t limit) {
    const std::int64_t size = lzf_decoded_size(packed);
    if (size < 0 || size > limit) return {};
    std::vector<std::uint8_t> out(static_cast<std::size_t>(size));
    lzf_decode(packed, out.data());
    return out;
}

// The first bytes of all elements, then the second of all, and so on; what is no whole element is
// at the end.
std::vector<std::uint8_t> unshuffled(const std::vector<std::uint8_t>& shuffled, std::size_t size) {
    const std::size_t count = size > 0 ? shuffled.size() / size : 0;
    if (count < 2 || size < 2) return shuffled;
    std::vector<std::uint8_t> out(shuffled);
    for (std::size_t byte = 0; byte < size; ++byte) {
        for (std::size_t i = 0; i < count; ++i) out[i * size + byte] = shuffled[byte * count + i];
    }
    return out;
}

// Whether the library, which looks at no size there, finds all that it reads.
bool is_scaled(const Hdf5Filter& filter, const std::vector<std::uint8_t>& bytes,
               std::int64_t element_bytes, std::int64_t expected) {
    if (filter.values.size() != scale_parameters || filter.values[scale_size] != element_bytes ||
        std::int64_t{filter.values[scale_elements]} * element_bytes != expected ||
        static_cast<std::int64_t>(bytes.size()) < scaled_header) {
        return false;
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data(), sizeof bits);
    if (bits > 8 * element_bytes) return false;
    if (bits == 0) return true;
    const std::int64_t content = bits == 8 * element_bytes
                                     ? expected
                                     : std::int64_t{filter.values[scale_elements]} * bits / 8 + 1;
    return static_cast<std::int64_t>(bytes.size()) - scaled_header >= content;
}

}  // namespace

void hdf5_register_filters() {
    const H5Z_class2_t lzf{H5Z_CLASS_T_VERS, hdf5_lzf, 0, 1, "lzf", nullptr, nullptr, run_lzf};
    H5Zregister(&lzf);
}

std::vector<Hdf5Filter> hdf5_filters(const std::string& name, hid_t properties) {
    std::vector<Hdf5Filter> filters;
    int last = -1;
    for (int i = 0; i < H5Pget_nfilters(properties); ++i) {
        unsigned flags = 0, config = 0;
        std::size_t count = scale_parameters;
        std::vector<unsigned> values(count);
        const H5Z_filter_t id = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &count,
                                               values.data(), 0, nullptr, &config);
        values.resize(std::min(count, values.size()));
        int place = last;
        if (id == H5Z_FILTER_SCALEOFFSET) place = 0;
        else if (id == H5Z_FILTER_SHUFFLE) place = 1;
        else if (id == H5Z_FILTER_DEFLATE || id == hdf5_lzf) place = 2;
        else if (id != H5Z_FILTER_FLETCHER32) {
            bad_file(name, fmt::format("expected scale-offset, shuffle, deflate, lzf and "
                                       "fletcher32 only, found filter {}",
                                       static_cast<int>(id)));
        }
        if (id != H5Z_FILTER_FLETCHER32 && place <= last) {
            bad_file(name,
                     "expected scale-offset, shuffle and one of deflate and lzf in this order, "
                     "found filters in "
                     "another order");
        }
        last = place;
        filters.push_back({id, std::move(values)});
    }
    return filters;
}

std::int64_t hdf5_largest_expansion(const std::vector<Hdf5Filter>& filters) {
    if (filters.empty()) return 1;
    const bool scaled = filters[0].id == H5Z_FILTER_SCALEOFFSET;
    return scaled ? largest_scaled_chunk / scaled_header : largest_expansion;
}

std::int64_t hdf5_decoded_size(const std::vector<Hdf5Filter>& filters, std::uint32_t skipped,
                               std::vector<std::uint8_t> stored, std::int64_t element_bytes,
                               std::int64_t expected) {
    const std::int64_t limit =
        expected + scaled_header + checksum_bytes * static_cast<std::int64_t>(filters.size());
    // Scale-offset alone looks at bytes: what undoes the others needs their number, and no order.
    const bool in_order = !filters.empty() && filters[0].id == H5Z_FILTER_SCALEOFFSET;
    for (std::size_t i = filters.size(); i-- > 0;) {
        if (i < 32 && (skipped >> i & 1U) != 0) continue;
        const Hdf5Filter& filter = filters[i];
        std::optional<std::vector<std::uint8_t>> decoded;
        switch (filter.id) {
            case H5Z_FILTER_FLETCHER32:
                if (stored.size() < static_cast<std::size_t>(checksum_bytes)) return -1;
                stored.resize(stored.size() - static_cast<std::size_t>(checksum_bytes));
                continue;
            case H5Z_FILTER_SHUFFLE:
                if (!in_order) continue;
                decoded = unshuffled(stored, filter.values.empty() ? 0 : filter.values[0]);
                break;
            case H5Z_FILTER_DEFLATE:
                decoded = inflated(stored, limit);
                break;
            case hdf5_lzf:
                decoded = unpacked(stored, limit);
                break;
            default:
                return is_scaled(filter, stored, element_bytes, expected) ? expected : -1;
        }
        if (!decoded) return -1;
        stored = std::move(*decoded);
    }
    return static_cast<std::int64_t>(stored.size());
}

}  // namespace kith::io
