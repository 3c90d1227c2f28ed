#pragma once
// The chat template that conversations were written with.

#include <optional>
#include <string>

#include "runtime/data/config/data_config.hpp"

namespace d9d {

// The text of the file that data.chat_template names; nothing where it names none, where it is the name of one beside
// the tokenizer, and for a mixture whose parts have several. Input error for a file that cannot be read.
std::optional<std::string> used_template(const DataConfig& data);

}  // namespace d9d
