// A libFuzzer target for formulas: every text is compiled, or refused by kith::Error; anything else, a hang too, is a
// finding. What compiles must be straight-line code within bounds.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "formula/program.h"
#include "kith/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kith::formula;
    try {
        const auto program = compile(std::string(reinterpret_cast<const char*>(data), size));
        const auto count = static_cast<std::int32_t>(program->values.size());
        if (program->result < 0 || program->result >= count) std::abort();
        for (std::int32_t i = 0; i < count; ++i) {
            const Value& value = program->values[static_cast<std::size_t>(i)];
            for (int j = 0; j < arity(value.op); ++j) {
                if (value.args[static_cast<std::size_t>(j)] < 0 || value.args[static_cast<std::size_t>(j)] >= i)
                    std::abort();
            }
            if (arity(value.op) > 0 &&
                (value.slot < 0 || value.slot >= program->slots[static_cast<std::size_t>(value.level)]))
                std::abort();
        }
    } catch (const kith::Error&) {
    }
    return 0;
}
