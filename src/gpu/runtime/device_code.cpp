// The CUDA runtime's rule. A binary runs on devices of its major version whose minor version is at
// least its own, PTX on every later device. With the suffix a, as 90a, either runs on its own
// alone; with the suffix f, on those of its major version.
#include "gpu/runtime/device_code.h"

#include <charconv>

namespace kith::gpu {

namespace {

// One entry of the list.
struct Architecture {
    int capability = 0;
    std::string_view name;  // "90a"
    bool binary = false;
    bool ptx = false;

    bool exact() const { return name.ends_with('a'); }
    bool serves(int device, bool as_binary) const {
        if (exact()) return capability == device;
        const bool of_family = capability / 10 == device / 10;
        return capability <= device && (of_family || !(as_binary || name.ends_with('f')));
    }
};

Architecture architecture(std::string_view entry) {
    const std::string_view name = entry.substr(0, entry.find('-'));
    Architecture a{
        .name = name, .binary = !entry.ends_with("-virtual"), .ptx = !entry.ends_with("-real")};
    std::from_chars(name.data(), name.data() + name.size(), a.capability);
    return a;
}

}  // namespace

std::string device_code(std::string_view architectures, int capability) {
    Architecture binary, ptx;
    for (std::string_view rest = architectures; !rest.empty();) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(entry.size() == rest.size() ? rest.size() : entry.size() + 1);
        const Architecture a = architecture(entry);
        if (a.capability == 0) continue;
        const auto better = [&](const Architecture& known, bool as_binary) {
            return a.serves(capability, as_binary) &&
                   (a.capability > known.capability ||
                    (a.capability == known.capability && a.exact()));
        };
        if (a.binary && better(binary, true)) binary = a;
        if (a.ptx && better(ptx, false)) ptx = a;
    }
    if (binary.capability != 0) return "sm_" + std::string(binary.name);
    if (ptx.capability != 0)
        return "PTX of compute_" + std::string(ptx.name) + ", compiled by the driver";
    return "no code of this build, which has " + std::string(architectures);
}

}  // namespace kith::gpu
