// Arguments of the C interface, right ones and, now and then, one that has to be refused; in memory between pages that
// nobody may touch.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "adversarial.h"
#include "kith/c.h"

namespace c_misuse {

using Random = adversarial::Random;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

// Bytes at the end or at the beginning of their pages, others around which stay as they are.
class Guarded {
public:
    Guarded(std::size_t size, bool at_end) : size_(size) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        pages_ = (size + page - 1) / page * page + page;
        all_ = pages_ + 2 * page;
        memory_ = static_cast<unsigned char*>(
            mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        first_ = memory_ + page;
        std::memset(first_, untouched, pages_);
        mprotect(memory_, page, PROT_NONE);
        mprotect(first_ + pages_, page, PROT_NONE);
        // What is aligned to 8 bytes ends at the page all the same.
        data_ = at_end ? first_ + pages_ - (size + 7) / 8 * 8 : first_;
    }
    ~Guarded() { munmap(memory_, all_); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    unsigned char* data() const { return data_; }
    bool intact() const {
        for (const unsigned char* at = first_; at < first_ + pages_; ++at)
            if ((at < data_ || at >= data_ + size_) && *at != untouched) return false;
        return true;
    }

private:
    static constexpr unsigned char untouched = 0xa5;
    std::size_t size_, pages_ = 0, all_ = 0;
    unsigned char *memory_ = nullptr, *first_ = nullptr, *data_ = nullptr;
};

// The arguments of one call.
class Arguments {
public:
    explicit Arguments(std::uint64_t seed) : random(seed) {
        n = random.below(8) == 0 ? 0 : random.below(20);
        q = random.below(8) == 0 ? 0 : random.below(9);
        d = 1 + random.below(5);
        k = 1 + random.below(6);
    }

    Random random;
    std::int64_t n, q, d, k;
    int faults = 0;     // arguments that are wrong
    std::string wrong;  // which

    // Whether something is to be wrong here, which is then said.
    bool fault(const std::string& what) {
        if (random.below(16) != 0) return false;
        ++faults;
        wrong += wrong.empty() ? what : ", " + what;
        return true;
    }
    template <class T>
    T one_of(std::initializer_list<T> list) {
        return list.begin()[random.below(static_cast<std::int64_t>(list.size()))];
    }

    void* memory(std::size_t bytes) {
        guarded_.emplace_back(bytes, random.below(2) == 0);
        return guarded_.back().data();
    }
    template <class T>
    T* room(std::int64_t count) {
        return static_cast<T*>(memory(static_cast<std::size_t>(count) * sizeof(T)));
    }
    // Room that must be there, or null.
    template <class T>
    T* out(std::int64_t count, const char* what) {
        return count > 0 && fault(std::string(what) + " null") ? nullptr : room<T>(count);
    }
    bool intact() const {
        for (const Guarded& each : guarded_)
            if (!each.intact()) return false;
        return true;
    }

    std::int64_t bad_size() { return one_of<std::int64_t>({-1, -7, least}); }
    std::int64_t bad_k() { return one_of<std::int64_t>({0, -1, least, most, most / 4}); }
    std::int64_t neighbours(std::int64_t rows, const char* what = "k") { return rows > 0 && fault(what) ? bad_k() : k; }

    // rows x cols of that type; not null where that would be another call.
    const kith_matrix* matrix(const std::string& what, std::int64_t rows, std::int64_t cols, std::int32_t type,
                              bool never_null = false) {
        if (!never_null && fault(what + " null")) return nullptr;
        kith_matrix m{};
        m.rows = rows;
        m.cols = cols;
        m.type = type;
        m.layout = random.below(2) == 0 ? KITH_ROW_MAJOR : KITH_COLUMN_MAJOR;
        m.device = KITH_HOST;
        const bool row_major = m.layout == KITH_ROW_MAJOR;
        const std::int64_t inner = row_major ? cols : rows, outer = row_major ? rows : cols;
        const std::int64_t between = inner + random.below(3);
        m.stride = between == inner && random.below(2) == 0 ? 0 : between;
        const std::size_t element = kith_type_size(type);
        const std::int64_t elements = rows * cols == 0 ? 0 : (outer - 1) * between + inner;
        m.data = rows == 0 && random.below(2) == 0 ? nullptr : values(elements, type, element);
        break_one(what, m, inner, outer);
        matrices_.push_back(m);
        return &matrices_.back();
    }
    const kith_matrix* points(std::int64_t rows, const char* what = "points", bool never_null = false) {
        return matrix(what, rows, d, type(), never_null);
    }
    std::int32_t type() { return static_cast<std::int32_t>(random.below(KITH_U8 + 1)); }
    std::int32_t narrow() { return one_of<std::int32_t>({KITH_F32, KITH_F64, KITH_F16, KITH_BF16}); }

    const kith_options* options() {
        if (random.below(3) == 0) return nullptr;
        options_.emplace_back();
        kith_options& o = options_.back();
        kith_options_init(&o, sizeof o);
        o.device = "cpu";
        o.threads = 1 + static_cast<std::int32_t>(random.below(2));
        o.f64 = static_cast<std::int32_t>(random.below(2));
        o.include_self = static_cast<std::int32_t>(random.below(2));
        // Of numbers below zero some metrics have no distance, and few points no covariance: those are refused as well.
        if (random.below(2) == 0) o.metric = static_cast<std::int32_t>(random.below(KITH_METRIC_mahalanobis));
        if (fault("struct_size")) o.struct_size = static_cast<std::size_t>(random.below(40));
        else if (fault("metric")) o.metric = one_of<std::int32_t>({-2, 500, 999, 1002, 2147483647});
        else if (fault("functor")) o.metric = KITH_METRIC_functor;
        else if (fault("formula")) {
            o.metric = KITH_METRIC_default;
            o.formula = "a + fabs(q - x)";
        } else if (fault("text")) {
            o.metric = KITH_METRIC_formula;
            o.formula = one_of({"", "a +", "1 / / 2", "b"});
        } else if (fault("p")) {
            o.metric = KITH_METRIC_minkowski;
            o.p = one_of({0.5, -1.0, std::numeric_limits<double>::quiet_NaN()});
        } else if (fault("p of another")) {
            o.metric = KITH_METRIC_cosine;
            o.p = 3;
        } else if (fault("threads")) o.threads = one_of<std::int32_t>({-1, 5000, 2147483647});
        else if (fault("memory")) o.memory = one_of<std::int64_t>({-1, least});
        else if (fault("isa")) o.isa = "mmx";
        else if (fault("device")) o.device = one_of({"gpu", "cuda:9999", "cuda:", "cpu,cuda:0", "\xff"});
        else if (fault("inverse_covariance")) {
            o.metric = KITH_METRIC_mahalanobis;
            o.inverse_covariance = broken_parameter(d, d);
        } else if (fault("variances")) {
            o.metric = KITH_METRIC_seuclidean;
            o.variances = broken_parameter(d, 1);
        }
        return &o;
    }
    bool f64(const kith_options* o) const { return o && o->f64; }
    bool default_metric(const kith_options* o) const { return !o || o->metric == KITH_METRIC_default; }

    kith_report* report() {
        if (random.below(2) == 0) return nullptr;
        const bool small = fault("report.struct_size");
        // As an older caller has it, too.
        const std::size_t size =
            small ? static_cast<std::size_t>(random.below(8))
                  : sizeof(std::size_t) +
                        static_cast<std::size_t>(random.below(sizeof(kith_report) - sizeof(std::size_t) + 1));
        auto* report = static_cast<kith_report*>(memory(std::max(size, sizeof(std::size_t))));
        report->struct_size = size;
        return report;
    }

    // Room for rows x k.
    const kith_neighbors* neighbors(std::int64_t rows, bool wide) {
        if (fault("out null")) return nullptr;
        kith_neighbors to{};
        to.ids = out<std::int64_t>(rows * k, "out.ids");
        if (random.below(4) != 0) to.distances = memory(static_cast<std::size_t>(rows * k) * (wide ? 8 : 4));
        to.device = fault("out.device") ? one_of<std::int32_t>({-2, 9999, 2147483647}) : KITH_HOST;
        // Of no rows nothing is written, and nothing looked at.
        if (to.device != KITH_HOST) to.ids = room<std::int64_t>(rows * k);
        neighbors_.push_back(to);
        return &neighbors_.back();
    }

private:
    void* values(std::int64_t elements, std::int32_t type, std::size_t element) {
        void* const data = memory(static_cast<std::size_t>(elements) * element);
        for (std::int64_t i = 0; i < elements; ++i) {
            if (type == KITH_F32) static_cast<float*>(data)[i] = static_cast<float>(random.below(9)) - 1;
            else if (type == KITH_F64) static_cast<double*>(data)[i] = static_cast<double>(random.below(9)) - 1;
            else if (element == 2) static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(random.bits());
            else static_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(random.bits());
        }
        return data;
    }

    void break_one(const std::string& what, kith_matrix& m, std::int64_t inner, std::int64_t outer) {
        if (m.rows > 0 && fault(what + ".data null")) m.data = nullptr;
        else if (fault(what + ".rows")) m.rows = bad_size();
        else if (m.rows > 0 && kith_type_size(m.type) > 1 && fault(what + ".rows huge")) m.rows = most;
        else if (fault(what + ".cols")) m.cols = bad_size();
        else if (m.rows > 1 && kith_type_size(m.type) > 1 && fault(what + ".cols huge")) m.cols = most;
        else if (inner > 1 && fault(what + ".stride short")) m.stride = one_of<std::int64_t>({inner - 1, -1, least});
        else if (outer > 1 && m.rows > 0 && fault(what + ".stride huge")) m.stride = most;
        else if (fault(what + ".type")) m.type = one_of<std::int32_t>({-1, KITH_I32, KITH_I64, 8, 99, 2147483647});
        else if (fault(what + ".layout")) m.layout = one_of<std::int32_t>({-1, 2, 2147483647});
        else if (fault(what + ".device")) m.device = one_of<std::int32_t>({-2, 9999, 2147483647});
    }

    // A parameter that is there and of no use.
    const kith_matrix* broken_parameter(std::int64_t rows, std::int64_t cols) {
        kith_matrix m{nullptr, rows, cols, 0, KITH_F64, KITH_ROW_MAJOR, KITH_HOST};
        const std::int64_t how = random.below(4);
        if (how == 0) m.rows = m.cols = 0;
        if (how == 1) m.type = KITH_F32;
        if (how == 2) m.data = room<double>(0);
        if (how == 2) m.rows = -1;
        matrices_.push_back(m);
        return &matrices_.back();
    }

    std::deque<Guarded> guarded_;
    std::deque<kith_matrix> matrices_;
    std::deque<kith_options> options_;
    std::deque<kith_neighbors> neighbors_;
};

}  // namespace c_misuse
