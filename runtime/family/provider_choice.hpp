#pragma once
// The section `model_provider` of a built-in family, as the job knows it: without the type of its `model`.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/config/codec.hpp"
#include "runtime/family/head_keys.hpp"
#include "runtime/peft/peft_config.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

class Family;

struct FamilyProvider {
  const Family* family = nullptr;  // null only in a job that was not read from a file
  std::optional<std::string> from;
  config::Json model;  // every key of the family's section, null where it was not given
  Dtype dtype = Dtype::float32;
  bool enable_checkpointing = false;
  std::int64_t offload_layers = 0;
  std::optional<PeftConfig> peft;
  std::optional<HeadOptions> head;
  HeadMap heads;
  HiddenStateSummary hidden_states = HiddenStateSummary::no;
};

}  // namespace d9d
