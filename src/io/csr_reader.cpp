// Reads a sparse matrix: the arrays indptr, indices, data, shape and format of scipy's .npz.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "io/errors.h"
#include "io/npy_header.h"
#include "io/path.h"
#include "io/unzip.h"
#include "kith/csr.h"
#include "machine/float_state.h"

namespace kith {

namespace {

std::vector<io::ZipMember> members_of(const std::string& path,
                                      const std::function<bool()>& proceed) {
    return io::zip_members(*io::open_bytes({.file = path, .proceed = proceed}));
}

const io::ZipMember* find(const std::vector<io::ZipMember>& members, const std::string& name) {
    const auto found =
        std::find_if(members.begin(), members.end(),
                     [&](const io::ZipMember& member) { return member.name == name + ".npy"; });
    return found == members.end() ? nullptr : &*found;
}

// The array `name` of the file. One without elements, as those of a matrix without entries are, is
// no matrix that read_matrix() takes: it is found out here.
Matrix array_of(const std::string& path, const std::vector<io::ZipMember>& members,
                const std::string& name, const std::function<bool()>& proceed) {
    const std::string within = path + "/" + name;
    const io::ZipMember* const member = find(members, name);
    if (member) {
        const auto input = io::open_member(io::open_bytes({path}), *member, {within});
        const io::NpyHeader header = io::read_npy_header(*input);
        if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end()) {
            Matrix none;
            none.info.type = header.type;
            return none;
        }
    }
    return read_matrix(within, ReadOptions{"npz", proceed});
}

// The letters of the array `format`, which is of bytes or of text ("csr" as |S3 or <U3).
std::string format_of(const std::string& path, const io::ZipMember& member) {
    constexpr std::int64_t most = 4096;
    const auto input = io::open_member(io::open_bytes({path}), member, {path + "/format"});
    if (input->size_within(most) > most)
        io::bad_file(path, "format: expected the name of a sparse format");
    std::string all(static_cast<std::size_t>(input->size()), '\0');
    input->read_at(0, all.data(), static_cast<std::int64_t>(all.size()));
    std::string letters;
    const std::size_t end = all.find('\n');
    for (std::size_t i = end == std::string::npos ? all.size() : end + 1; i < all.size(); ++i)
        if (all[i] != '\0') letters += all[i];
    return letters;
}

std::int64_t integer_at(const Matrix& matrix, std::size_t i) {
    if (matrix.info.type == ElementType::i32) {
        std::int32_t value;
        std::memcpy(&value, matrix.bytes.data() + i * sizeof value, sizeof value);
        return value;
    }
    std::int64_t value;
    std::memcpy(&value, matrix.bytes.data() + i * sizeof value, sizeof value);
    return value;
}

std::vector<std::int64_t> integers(const Matrix& matrix, const std::string& path) {
    if (matrix.info.type != ElementType::i32 && matrix.info.type != ElementType::i64)
        io::bad_file(path, fmt::format("{}; expected i32 or i64", name(matrix.info.type)));
    std::vector<std::int64_t> out(static_cast<std::size_t>(matrix.info.rows * matrix.info.cols));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = integer_at(matrix, i);
    return out;
}

template <class T>
void widen(const Matrix& matrix, std::vector<double>& out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        T value;
        std::memcpy(&value, matrix.bytes.data() + i * sizeof value, sizeof value);
        out[i] = static_cast<double>(value);
    }
}

std::vector<double> numbers(const Matrix& matrix, const std::string& path) {
    std::vector<double> out(static_cast<std::size_t>(matrix.info.rows * matrix.info.cols));
    switch (matrix.info.type) {
        case ElementType::f32:
            widen<float>(matrix, out);
            break;
        case ElementType::f64:
            widen<double>(matrix, out);
            break;
        case ElementType::i8:
            widen<std::int8_t>(matrix, out);
            break;
        case ElementType::u8:
            widen<std::uint8_t>(matrix, out);
            break;
        case ElementType::i32:
            widen<std::int32_t>(matrix, out);
            break;
        case ElementType::i64:
            widen<std::int64_t>(matrix, out);
            break;
        default:
            io::bad_file(path,
                         fmt::format("{}; expected f32, f64 or integers", name(matrix.info.type)));
    }
    return out;
}

// Columns of a row into order, those that repeat added up in the order of the file. Writes to `to`,
// which is not ahead of `first`.
std::size_t put_row(CsrMatrix& m, std::size_t first, std::size_t last, std::size_t to) {
    const auto less = [&](std::size_t a, std::size_t b) { return m.ids[a] < m.ids[b]; };
    bool ascending = true;
    for (std::size_t i = first + 1; i < last; ++i) ascending = ascending && m.ids[i - 1] < m.ids[i];
    std::vector<std::int64_t> ids;
    std::vector<double> values;
    if (!ascending) {
        std::vector<std::size_t> order(last - first);
        std::iota(order.begin(), order.end(), first);
        std::stable_sort(order.begin(), order.end(), less);
        for (const std::size_t i : order) {
            if (!ids.empty() && ids.back() == m.ids[i]) {
                values.back() += m.values[i];
                continue;
            }
            ids.push_back(m.ids[i]);
            values.push_back(m.values[i]);
        }
    } else {
        if (to == first) return last;
        ids.assign(m.ids.begin() + static_cast<std::ptrdiff_t>(first),
                   m.ids.begin() + static_cast<std::ptrdiff_t>(last));
        values.assign(m.values.begin() + static_cast<std::ptrdiff_t>(first),
                      m.values.begin() + static_cast<std::ptrdiff_t>(last));
    }
    std::copy(ids.begin(), ids.end(), m.ids.begin() + static_cast<std::ptrdiff_t>(to));
    std::copy(values.begin(), values.end(), m.values.begin() + static_cast<std::ptrdiff_t>(to));
    return to + ids.size();
}

}  // namespace

bool is_csr(const std::string& path, const ReadOptions& options) {
    const machine::FloatState state;
    io::SourcePath source = io::parse_source(path);
    if (!source.location.dataset.empty() || source.rows) return false;
    const io::Format& known = io::format_to_read(source.location, options.format);
    if (std::string_view(known.name) != "npz" || source.location.gzipped) return false;
    const std::vector<io::ZipMember> members = members_of(path, options.proceed);
    // In other formats than csr other arrays are beside these two.
    return find(members, "shape") &&
           (find(members, "format") ||
            (find(members, "indptr") && find(members, "indices") && find(members, "data")));
}

double csr_bytes(const std::string& path) {
    const machine::FloatState state;
    const std::vector<io::ZipMember> members = members_of(path, {});
    double elements = 0;
    for (const char* array : {"indptr", "indices", "data"}) {
        const io::ZipMember* const member = find(members, array);
        if (!member) continue;  // read_csr() says so
        const auto input = io::open_member(io::open_bytes({path}), *member, {path + "/" + array});
        const std::vector<std::int64_t> shape = io::read_npy_header(*input).shape;
        if (!shape.empty()) elements += static_cast<double>(shape[0]);
    }
    // As they lie in the file, and as they are given.
    return 2 * sizeof(std::int64_t) * elements;
}

CsrMatrix read_csr(const std::string& path, const std::function<bool()>& proceed) {
    const machine::FloatState state;
    const std::vector<io::ZipMember> members = members_of(path, proceed);
    const io::ZipMember* const format = find(members, "format");
    if (!format) io::bad_file(path, "no array format; expected scipy's .npz of a sparse matrix");
    if (const std::string letters = format_of(path, *format); letters != "csr")
        io::bad_file(path,
                     fmt::format("format '{}'; expected csr (scipy's tocsr() makes it)", letters));
    CsrMatrix out;
    const auto integers_of = [&](const char* array) {
        return integers(array_of(path, members, array, proceed), path + "/" + array);
    };
    const std::vector<std::int64_t> shape = integers_of("shape");
    if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0)
        io::bad_file(path, "shape: expected two sizes");
    out.rows = shape[0];
    out.cols = shape[1];
    const std::vector<std::int64_t> ends = integers_of("indptr");
    out.ids = integers_of("indices");
    out.values = numbers(array_of(path, members, "data", proceed), path + "/data");
    if (ends.empty() || static_cast<std::int64_t>(ends.size()) - 1 != out.rows ||
        ends.front() != 0 || ends.back() > static_cast<std::int64_t>(out.ids.size()) ||
        out.ids.size() != out.values.size() || !std::is_sorted(ends.begin(), ends.end()))
        io::bad_file(path, fmt::format("{} offsets, {} indices and {} values contradict {} rows",
                                       ends.size(), out.ids.size(), out.values.size(), out.rows));
    for (const std::int64_t id : out.ids)
        if (id < 0 || id >= out.cols)
            io::bad_file(path, fmt::format("column {} of {}", id, out.cols));
    out.offsets.push_back(0);
    std::size_t stored = 0;
    for (std::size_t row = 0; row + 1 < ends.size(); ++row) {
        stored = put_row(out, static_cast<std::size_t>(ends[row]),
                         static_cast<std::size_t>(ends[row + 1]), stored);
        out.offsets.push_back(static_cast<std::int64_t>(stored));
    }
    out.ids.resize(stored);
    out.values.resize(stored);
    return out;
}

}  // namespace kith
