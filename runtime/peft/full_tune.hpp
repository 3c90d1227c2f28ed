#pragma once
// Full tuning and freezing by pattern: the parameters of all matching modules train, or do not train.

#include <memory>

#include "runtime/peft/method.hpp"

namespace d9d {

std::unique_ptr<PeftMethod> make_full_tune(const FullTuneConfig& config);
std::unique_ptr<PeftMethod> make_freeze(const FreezeConfig& config);

}  // namespace d9d
