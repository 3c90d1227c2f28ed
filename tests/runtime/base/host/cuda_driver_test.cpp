#include "runtime/base/host/cuda_driver.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string fake_driver = D9D_BINARY_DIR "/fake_driver/libcuda.so.1";

std::string refusal(const std::optional<CudaDriver>& driver, int devices = 1) {
  return test::error_of([&] { require_gpus(driver, devices); }, ErrorKind::input);
}

TEST(CudaDriver, TellsOfEachGpu) {
  setenv("FAKE_GPUS", "2", 1);
  const auto driver = find_cuda_driver(fake_driver);
  unsetenv("FAKE_GPUS");

  ASSERT_TRUE(driver.has_value());
  EXPECT_EQ(cuda_version_text(driver->cuda_version), "13.0");
  ASSERT_EQ(driver->gpus.size(), 2U);
  EXPECT_EQ(driver->gpus[1].name, "Fake H101");
  EXPECT_EQ(driver->gpus[1].bytes, std::int64_t{81920} << 20);
}

TEST(CudaDriver, IsNotThereOnAHostWithoutOne) {
  const auto driver = find_cuda_driver("/nowhere/libcuda.so.1");

  EXPECT_FALSE(driver.has_value());
  EXPECT_THAT(refusal(driver),
              AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("R580 or newer"), HasSubstr("cpu")));
}

TEST(CudaDriver, SaysWhyItHasNoGpus) {
  setenv("FAKE_CUDA_INIT", "100", 1);
  const auto driver = find_cuda_driver(fake_driver);
  unsetenv("FAKE_CUDA_INIT");

  EXPECT_THAT(refusal(driver),
              AllOf(HasSubstr("finds no GPU (cuInit gives error 100)"), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(CudaDriver, ALibraryWithoutItsFunctionsIsAnOldDriver) {
  EXPECT_THAT(refusal(find_cuda_driver("libm.so.6")), HasSubstr("serves CUDA 0.0"));
}

TEST(CudaDriver, HasToBeNewEnough) {
  EXPECT_THAT(refusal(CudaDriver{12080, {{"A100", 1}}, ""}),
              AllOf(HasSubstr("serves CUDA 12.8, this build needs 13.0"), HasSubstr("R580")));
}

TEST(CudaDriver, HasTheGpusThatAreWantedOrNamesTheOneThatIsMissing) {
  const CudaDriver driver{13000, {{"H100", 1}, {"H100", 1}}, ""};

  require_gpus(driver, 2);
  EXPECT_THAT(refusal(driver, 4), AllOf(HasSubstr("node.devices is 4, but GPU 2 is not there"),
                                        HasSubstr("2 GPUs (H100)"), HasSubstr("set node.devices to 2")));
}

}  // namespace
}  // namespace d9d
