#pragma once
// What commands beside jobs are told of their work: how large files may be, how many threads write; and the
// threads of those that compute.

#include <cstdint>
#include <string>

#include "actors/cli/arguments.hpp"

namespace d9d {

OptionSpec shard_size_option();
std::uint64_t shard_size_given(const Arguments& arguments);  // bytes
// The folder that an adapter's folder is added to.
OptionSpec base_option();
std::string base_given(const Arguments& arguments);  // empty: what the adapter says
OptionSpec threads_option();
// Left out: the cores that this process may use, but at most four, because then a disk is the limit.
int threads_given(const Arguments& arguments);

// Torch's threads on all cores, unless OMP_NUM_THREADS says how many. Environment error: there is no room.
void use_all_cores_unless_told();

}  // namespace d9d
