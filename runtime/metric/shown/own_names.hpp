#pragma once
// The names of a job's own numbers. Numbers of a plugin's piece never replace them.

#include <string_view>

namespace d9d {

bool is_name_of_the_job(std::string_view name);

}  // namespace d9d
