#pragma once
// Options of commands that run without a job: the largest size of a file, the number of writing threads,
// the threads that compute.

#include <cstdint>
#include <initializer_list>
#include <string>

#include "actors/cli/arguments.hpp"

namespace d9d {

OptionSpec shard_size_option();
std::uint64_t shard_size_given(const Arguments& arguments);  // bytes
// --base: the model's folder to which an adapter is added.
OptionSpec base_option();
std::string base_given(const Arguments& arguments);  // empty: the one that the adapter names
// Input error when --out names a file that the command reads: that of one of those options, or one of MODEL_DIR.
void require_other_output(const Arguments& arguments, std::initializer_list<const char*> inputs);
// --plugin: libraries with families of models, for folders of them.
OptionSpec families_option();
void load_families_given(const Arguments& arguments);
OptionSpec threads_option();
// Default: the cores that this process may use, but at most four, because beyond that the disk is the limit.
int threads_given(const Arguments& arguments);

// Lets torch use all cores, unless OMP_NUM_THREADS is set. Environment error when there is no
// room for the threads.
void use_all_cores_unless_told();

}  // namespace d9d
