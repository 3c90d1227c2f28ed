#pragma once
// Options of commands that write model folders: how large files may be, how many threads write.

#include <cstdint>

#include "actors/cli/arguments.hpp"

namespace d9d {

OptionSpec shard_size_option();
std::uint64_t shard_size_given(const Arguments& arguments);  // bytes
OptionSpec threads_option();
// Left out: the cores that this process may use, but at most four, because then a disk is the limit.
int threads_given(const Arguments& arguments);

}  // namespace d9d
