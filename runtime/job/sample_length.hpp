#pragma once
// How long the samples of a job are, where that is known before they are read.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/job/job_config.hpp"

namespace d9d {

// Tokens of a sample where the job file itself says it.
std::optional<std::int64_t> given_length(const DataConfig& data);
// The key that says it, or that names the file that does.
std::string length_key(const DataConfig& data);
// Tokens of a sample; none: only the data itself knows. Reads the header of `data.tokens` where that is the
// source, and fails as that does.
std::optional<std::int64_t> sample_length(const DataConfig& data);

}  // namespace d9d
