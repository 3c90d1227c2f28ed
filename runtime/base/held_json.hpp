#pragma once
// What a JSON value may be that is written as text and read again. nlohmann's writer makes null of infinity and NaN.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace d9d {

// For the state that a plugin's piece keeps in checkpoints: input error where a value is infinite, NaN, a text or a key
// that is not UTF-8, or bytes. Names `whose` (state() of the task) and the value's place as a JSON pointer (RFC 6901).
void require_json_holds(const nlohmann::json& state, std::string_view whose);

}  // namespace d9d
