#include "runtime/rank/feed/device_inputs.hpp"

#include "runtime/device/upload.hpp"

namespace d9d {

MicrobatchTensors on_device(MicrobatchTensors given, const Device& device) {
  for (TensorMap* const tensors : {&given.inputs, &given.shared}) {
    for (auto& [name, tensor] : *tensors) tensor = upload(tensor, device);
  }
  return given;
}

}  // namespace d9d
