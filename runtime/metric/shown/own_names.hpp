#pragma once
// The names under which a job writes numbers of its own. What a plugin's piece shows never takes their place.

#include <string>
#include <string_view>

namespace d9d {

bool is_name_of_the_job(std::string_view name);
// The name itself; one of the job's is put beside, under the piece's: "guard/loss".
std::string shown_name(const std::string& name, const std::string& piece);

}  // namespace d9d
