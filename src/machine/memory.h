// kith::free_memory (kith/memory.h) on the files of any root, so that a test can make up a machine.
#pragma once

#include <cstdint>
#include <string>

namespace kith::machine {

// From `root`/proc and the control groups mounted below `root`; "" is this machine.
std::int64_t free_memory(const std::string& root);

// kith::free_memory(), at most a tenth of a second old: for what is called thousands of times a
// second.
std::int64_t recently_free_memory();

// "1.5 GiB".
std::string in_words(std::int64_t bytes);

}  // namespace kith::machine
