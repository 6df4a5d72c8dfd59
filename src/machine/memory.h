// kith::free_memory (kith/memory.h) on the files of any root, so that tests can simulate a machine.
#pragma once

#include <cstdint>
#include <string>

namespace kith::machine {

// Reads `root`/proc and the control groups mounted below `root`; "" is this machine.
std::int64_t free_memory(const std::string& root);

// kith::free_memory(), at most a tenth of a second old: for code that calls it thousands of times a
// second.
std::int64_t recently_free_memory();

// Formats a size, such as "1.5 GiB".
std::string in_words(std::int64_t bytes);

}  // namespace kith::machine
