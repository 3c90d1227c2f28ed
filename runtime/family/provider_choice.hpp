#pragma once
// The section `model_provider` of a built-in family, as the job knows it: without the type of its `model`.

#include <boost/describe/enum.hpp>

#include <optional>
#include <string>

#include "runtime/base/config/codec.hpp"

namespace d9d {

class Family;

enum class ModelDtype { float32, bfloat16, float16 };
BOOST_DESCRIBE_ENUM(ModelDtype, float32, bfloat16, float16)

struct FamilyProvider {
  const Family* family = nullptr;  // null only in a job that was not read from a file
  std::optional<std::string> from;
  config::Json model;  // every key of the family's section, null where it was not given
  ModelDtype dtype = ModelDtype::float32;
  bool enable_checkpointing = false;
};

}  // namespace d9d
