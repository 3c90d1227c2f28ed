#include "actors/cli/use_device.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/host/cuda_driver.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "runtime/device/device.hpp"

namespace d9d {

OptionSpec device_option() {
  return {"--device", "cpu|cuda|delayed",
          "cuda: the first GPU; delayed: see runtime/devices/delayed; without it: cpu"};
}

std::shared_ptr<Device> device_given(const Arguments& arguments) {
  const std::string name = arguments.value("--device").value_or("cpu");
  D9D_REQUIRE(name == "cpu" || name == "cuda" || name == "delayed",
              "--device is {}; choose cpu, cuda or delayed", name);
  if (name == "cpu") return cpu_device();
  if (name == "delayed") return DevicePlugin(DeviceLibrary::delayed).device(0);
  require_gpus(find_cuda_driver(), 1, "--device");
  return DevicePlugin(DeviceLibrary::cuda).device(0);
}

}  // namespace d9d
