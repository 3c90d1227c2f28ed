#pragma once
// The `post_processor` of tokenizer.json, as far as it changes ids: special tokens before and after
// the text. Supports TemplateProcessing (its `single` form), BertProcessing, RobertaProcessing,
// ByteLevel (changes offsets only) and a Sequence of these.

#include <cstdint>
#include <vector>

#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

struct TemplateProcessor {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;

  static TemplateProcessor from_json(const JsonSection& section);
};

}  // namespace d9d
