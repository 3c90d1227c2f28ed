#pragma once
// The names of a job's own numbers. Numbers of a plugin's piece never replace them.

#include <string>
#include <string_view>

namespace d9d {

bool is_name_of_the_job(std::string_view name);
// Returns the name, or "guard/loss" with the piece's name in front if it is one of the job's own.
std::string shown_name(const std::string& name, const std::string& piece);

}  // namespace d9d
