#pragma once
// Rows of files as JSON whose keys keep their order: a chat template writes tools as they stand there.

#include <nlohmann/json_fwd.hpp>

namespace d9d {

using RowJson = nlohmann::ordered_json;

}  // namespace d9d
