#include "runtime/base/host/cuda_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr int cuda_wanted = 13000;  // of the LibTorch wheel; R580 is the first driver that serves it

// Functions of the driver's API give 0 for success.
template <class... Arguments>
class DriverCall {
 public:
  DriverCall(void* library, const char* name)
      : function_(reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))) {}
  int operator()(Arguments... arguments) const {
    constexpr int not_found = 500;
    return function_ == nullptr ? not_found : function_(arguments...);
  }

 private:
  int (*function_)(Arguments...);
};

std::vector<Gpu> gpus_of(void* library) {
  const DriverCall<int*> count(library, "cuDeviceGetCount");
  const DriverCall<int*, int> get(library, "cuDeviceGet");
  const DriverCall<char*, int, int> name_of(library, "cuDeviceGetName");
  const DriverCall<std::size_t*, int> memory_of(library, "cuDeviceTotalMem_v2");
  int found = 0;
  if (count(&found) != 0) return {};
  std::vector<Gpu> gpus;
  for (int index = 0; index < found; ++index) {
    int device = 0;
    char name[256] = "a GPU";
    std::size_t bytes = 0;
    if (get(&device, index) != 0) break;
    name_of(name, sizeof(name) - 1, device);
    memory_of(&bytes, device);
    gpus.push_back({name, static_cast<std::int64_t>(bytes)});
  }
  return gpus;
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::optional<CudaDriver> find_cuda_driver(const std::string& library) {
  void* const driver = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return std::nullopt;
  CudaDriver found;
  DriverCall<int*>(driver, "cuDriverGetVersion")(&found.cuda_version);
  const int begun = DriverCall<unsigned>(driver, "cuInit")(0);
  if (begun == 0) found.gpus = gpus_of(driver);
  if (begun != 0) found.trouble = fmt::format("cuInit gives error {}", begun);
  return found;
}

void require_gpus(const std::optional<CudaDriver>& driver, int devices, const std::string& key) {
  const std::string or_cpu = "or set " + key + " cpu";
  D9D_REQUIRE(driver.has_value(),
              "{} cuda, and this host has no NVIDIA driver (no libcuda.so.1): install one, R580 or newer, {}",
              key, or_cpu);
  D9D_REQUIRE(driver->cuda_version >= cuda_wanted,
              "{} cuda, and this host's NVIDIA driver serves CUDA {}, this build needs {}: install a driver "
              "R580 or newer, {}",
              key, cuda_version_text(driver->cuda_version), cuda_version_text(cuda_wanted), or_cpu);
  D9D_REQUIRE(!driver->gpus.empty(),
              "{} cuda, and the NVIDIA driver finds no GPU{}: look at `nvidia-smi -L` and at "
              "CUDA_VISIBLE_DEVICES, {}",
              key, driver->trouble.empty() ? "" : " (" + driver->trouble + ")", or_cpu);
  const int gpus = static_cast<int>(driver->gpus.size());
  D9D_REQUIRE(devices <= gpus,
              "{} cuda, and node.devices is {}, but GPU {} is not there: the host has {} ({}); set "
              "node.devices to {}, {}",
              key, devices, gpus, counted(gpus, "GPU"), driver->gpus.front().name, gpus, or_cpu);
}

}  // namespace d9d
