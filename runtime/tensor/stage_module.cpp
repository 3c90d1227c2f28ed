#include "runtime/tensor/stage_module.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void StageModule::set_parameters(std::vector<StageParameter> /*parameters*/) {
  throw Error(ErrorKind::input,
              "this model takes no adapters: its stage has no set_parameters; remove model_provider.peft");
}

}  // namespace d9d
