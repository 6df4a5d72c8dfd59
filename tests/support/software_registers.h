// The matrix registers of AMX in software, after Intel's manual: eight of them for each thread. A fault of hardware
// ends the program. So does what the library avoids: to configure registers twice, to release them where they are not
// configured, reads that cross cache lines, sums that 32 bits do not hold.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace software_registers {

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "matrix registers: %s\n", what);
    std::abort();
}

inline void require(bool right, const char* what) {
    if (!right) fail(what);
}

constexpr int registers = 8, max_rows = 16, max_bytes = 64;

// Numbers below 2^-126 are zero, as operands and as results.
inline float flush(float x) {
    return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

inline float bf16(std::uint16_t half) {
    const std::uint32_t bits = std::uint32_t{half} << 16;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return flush(x);
}

inline float multiply_add(float a, float b, float c) {
    return flush(std::fma(a, b, flush(c)));
}

inline float add(float a, float b) {
    return flush(flush(a) + flush(b));
}

struct Register {
    int rows = 0, bytes = 0;
    std::uint8_t data[max_rows][max_bytes];

    template <class T>
    T at(int row, int i) const {
        T value;
        std::memcpy(&value, data[row] + sizeof(T) * static_cast<std::size_t>(i), sizeof value);
        return value;
    }
    template <class T>
    void set(int row, int i, T value) {
        std::memcpy(data[row] + sizeof(T) * static_cast<std::size_t>(i), &value, sizeof value);
    }
};

class State {
public:
    ~State() { require(!configured_, "a thread ends and has not released them"); }

    // 64 bytes: the palette, the row to start with, zeros; from byte 16 on the bytes of a row of each register, 16 bits
    // each; from byte 48 on its rows.
    void configure(const std::uint8_t* shapes) {
        require(!configured_, "configured twice");
        require(reinterpret_cast<std::uintptr_t>(shapes) % 64 == 0, "shapes that cross cache lines");
        require(shapes[0] == 1 && shapes[1] == 0, "another palette, or a load to go on with");
        for (int i = 2; i < 16; ++i) require(shapes[i] == 0, "reserved bytes");
        for (int r = 0; r < 16; ++r) {
            std::uint16_t bytes;
            std::memcpy(&bytes, shapes + 16 + 2 * r, sizeof bytes);
            const int rows = shapes[48 + r];
            require(r < registers ? bytes <= max_bytes && rows <= max_rows : bytes == 0 && rows == 0, "a shape");
            if (r >= registers) continue;
            registers_[r].rows = rows;
            registers_[r].bytes = bytes;
            std::memset(registers_[r].data, 0, sizeof registers_[r].data);
        }
        configured_ = true;
    }
    void release() {
        require(configured_, "released, and not configured");
        configured_ = false;
    }
    Register& use(int r) {
        require(configured_, "used, and not configured");
        require(r >= 0 && r < registers && registers_[r].rows > 0 && registers_[r].bytes > 0, "one that there is not");
        return registers_[r];
    }

private:
    bool configured_ = false;
    Register registers_[registers];
};

inline thread_local State state;

// `add_products(sum, a, b)` of words of 32 bits: the k-th of a row of `a` and of a column of `b`, in order of k.
template <class Sum, class AddProducts>
void multiply(int sums, int a, int b, const AddProducts& add_products) {
    require(sums != a && sums != b && a != b, "a product of fewer than three registers");
    Register &to = state.use(sums), &left = state.use(a), &right = state.use(b);
    require(left.rows == to.rows && left.bytes == 4 * right.rows && right.bytes == to.bytes,
            "shapes that do not match");
    for (int i = 0; i < to.rows; ++i) {
        for (int j = 0; j < to.bytes / 4; ++j) {
            Sum sum(to, i, j);
            for (int k = 0; k < right.rows; ++k) add_products(sum, left, i, right, j, k);
            sum.finish(to, i, j);
        }
    }
}

// As Registers of register_tiles-inl.h says.
struct Registers {
    template <class Shapes>
    static void configure(const Shapes& shapes) {
        static_assert(sizeof shapes == 64);
        state.configure(reinterpret_cast<const std::uint8_t*>(&shapes));
    }
    static void release() { state.release(); }
    template <int r>
    static void zero() {
        Register& to = state.use(r);
        std::memset(to.data, 0, sizeof to.data);
    }
    template <int r>
    static void load(const float* from, std::int64_t stride) {
        zero<r>();
        Register& to = state.use(r);
        for (int row = 0; row < to.rows; ++row) {
            const auto* const at = reinterpret_cast<const std::uint8_t*>(from) + row * stride;
            require(reinterpret_cast<std::uintptr_t>(at) % 64 == 0, "a row that crosses cache lines");
            std::memcpy(to.data[row], at, static_cast<std::size_t>(to.bytes));
        }
    }
    template <int r>
    static void load_streamed(const float* from, std::int64_t stride) {
        load<r>(from, stride);
    }
    template <int r>
    static void store(float* to, std::int64_t stride) {
        const Register& from = state.use(r);
        for (int row = 0; row < from.rows; ++row)
            std::memcpy(reinterpret_cast<std::uint8_t*>(to) + row * stride, from.data[row],
                        static_cast<std::size_t>(from.bytes));
    }

    // TDPBSSD.
    template <int sums, int queries, int points>
    static void multiply_bytes() {
        struct Sum {
            Sum(const Register& from, int i, int j) : whole(from.at<std::int32_t>(i, j)) {}
            void finish(Register& to, int i, int j) const { to.set(i, j, static_cast<std::int32_t>(whole)); }
            std::int64_t whole;
        };
        multiply<Sum>(sums, queries, points, [](Sum& sum, const Register& a, int i, const Register& b, int j, int k) {
            for (int byte = 0; byte < 4; ++byte) {
                const int x = a.at<std::int8_t>(i, 4 * k + byte), y = b.at<std::int8_t>(k, 4 * j + byte);
                sum.whole += x * y;
            }
            require(sum.whole == static_cast<std::int32_t>(sum.whole), "a sum that 32 bits do not hold");
        });
    }
    // TDPBF16PS: two chains, of the first and of the second of each pair, and their sum is added to what is there.
    template <int sums, int queries, int points>
    static void multiply_pairs() {
        struct Sum {
            Sum(const Register&, int, int) {}
            void finish(Register& to, int i, int j) const { to.set(i, j, add(to.at<float>(i, j), add(first, second))); }
            float first = 0, second = 0;
        };
        multiply<Sum>(sums, queries, points, [](Sum& sum, const Register& a, int i, const Register& b, int j, int k) {
            const auto x = [&](int half) { return bf16(a.at<std::uint16_t>(i, 2 * k + half)); };
            const auto y = [&](int half) { return bf16(b.at<std::uint16_t>(k, 2 * j + half)); };
            sum.first = multiply_add(x(0), y(0), sum.first);
            sum.second = multiply_add(x(1), y(1), sum.second);
        });
    }
};

}  // namespace software_registers
