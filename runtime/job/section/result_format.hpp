#pragma once
// How an inference job writes its results: the key `results` of its task.

#include <boost/describe/enum.hpp>

#include "runtime/base/config/codec_enum.hpp"
#include "runtime/base/config/keys.hpp"

namespace d9d {

enum class ResultFormat { jsonl, safetensors };
BOOST_DESCRIBE_ENUM(ResultFormat, jsonl, safetensors)

inline constexpr config::Key results_key{"results", "",
                                         "of an inference job: jsonl: a line for each row; safetensors: "
                                         "files with a tensor of all rows for each key of such "
                                         "a line but `text`; source_file and source_row for file and row"};

}  // namespace d9d
