// The entry of libd9d.so for the program d9d-node: the whole command line.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "actors/cli/begin_process.hpp"
#include "actors/cli/cli_main.hpp"
#include "actors/cli/commands.hpp"
#include "actors/cli/manual.hpp"
#include "actors/cli/running_commands.hpp"
#include "actors/cli/start/init.hpp"
#include "actors/cli/start/tokenizer.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/library_folder.hpp"
#include "runtime/base/host/torch_library.hpp"
#include "runtime/base/version.hpp"
#include "runtime/comm/device_plugin.hpp"

namespace {

// PREFIX of PREFIX/lib/d9d/libd9d.so
std::string installed_prefix() {
  const std::filesystem::path prefix = d9d::path_beside_this_library("../..");
  D9D_REQUIRE(
      std::filesystem::exists(prefix / "lib/cmake/d9d/d9dConfig.cmake"),
      "this d9d-node is not installed, and only an installed one has a CMake package: `cmake --install BUILD "
      "--prefix PREFIX`, or the wheel");
  return std::filesystem::canonical(prefix).string();
}

std::string version_text() {
  using namespace d9d;
  std::error_code hidden;
  const bool cuda = std::filesystem::exists(device_plugin_path(DeviceLibrary::cuda), hidden);
  return build_id() + "\n" + torch_text(loaded_torch()) + "\n" + (cuda ? "with" : "without") +
         " the CUDA plugin of d9d";
}

}  // namespace

extern "C" int d9d_main(int argc, char** argv) {
  using namespace d9d;
  const TensorBytes tensor_bytes_max = begin_process();
  const std::string build = build_id();
  const std::vector<std::string> line(argv, argv + argc);
  CommandLine program{
      .name = "d9d-node",
      .version = version_text(),
      .commands = {run_command(build, line, tensor_bytes_max), init_command(this_host()), tokenizer_command(),
                   check_command(), schedule_command(), lr_command(), score_command(), generate_command(),
                   export_command(), checkpoint_command(), convert_command(), data_command(), trace_command(),
                   report_command(), sleep_command(), wake_command()},
      .cmake_prefix = installed_prefix};
  add_manual(program);
  Console console{std::cout, std::cerr};
  return cli_main(program, std::span(line).subspan(std::min<std::size_t>(1, line.size())), console);
}
