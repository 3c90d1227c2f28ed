// An NVIDIA driver's libcuda.so.1 as far as cuda_driver.cpp asks it. The environment says what it has:
// FAKE_CUDA_VERSION (13000), FAKE_GPUS (1), FAKE_GPU_MIB (81920), FAKE_CUDA_INIT (0, the result of cuInit).
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

int given(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return given("FAKE_CUDA_INIT", 0);
}
int cuDriverGetVersion(int* version) {
  *version = given("FAKE_CUDA_VERSION", 13000);
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = given("FAKE_GPUS", 1);
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = 100 + index;
  return index < given("FAKE_GPUS", 1) ? 0 : 101;
}
int cuDeviceGetName(char* name, int size, int device) {
  return std::snprintf(name, static_cast<std::size_t>(size), "Fake H%d", device) > 0 ? 0 : 1;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = static_cast<std::size_t>(given("FAKE_GPU_MIB", 81920)) << 20;
  return 0;
}

}  // extern "C"
