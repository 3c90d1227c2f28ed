#pragma once
// Rows of files as JSON whose keys keep the order of the file, because a chat template writes
// tools in that order.

#include <nlohmann/json_fwd.hpp>

namespace d9d {

using RowJson = nlohmann::ordered_json;

}  // namespace d9d
