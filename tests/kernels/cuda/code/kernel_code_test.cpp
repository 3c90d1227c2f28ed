// What nvcc makes of the kernels, which the emulated grid does not see: how many registers they take, and how wide
// their stores to memory are. See the README of kernels/cuda.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "runtime/devices/cuda/kernel_name.hpp"

namespace d9d::test {
namespace {

const std::string folder = D9D_CUDA_CODE,
                  table_file = D9D_SOURCE_DIR "/tests/kernels/cuda/code/registers.txt";

struct Code {
  int registers = 0;
  int wide = 0, narrow = 0;  // stores of 8 bytes and more, and of less, as they are written down in PTX
};

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// f(match) for all of them.
template <class F>
void for_matches(const std::string& text, const std::string& pattern, F&& f) {
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex); it != std::sregex_iterator(); ++it) f(*it);
}

// "norm rms_norm_kernel<float, 4, 32, 1>": its file, and what it is called there.
std::string name_of(const std::filesystem::path& file, const std::string& symbol) {
  return file.stem().string() + ' ' +
         std::regex_replace(cuda::kernel_name(symbol.c_str()), std::regex("d9d::cuda::"), "");
}

// Of each kernel by its name, from what the build left in the folder.
std::map<std::string, Code> read_code() {
  std::map<std::string, Code> code;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".registers") {
      std::string symbol;
      for_matches(text_of(file), "entry function '(\\w+)'|Used (\\d+) registers",
                  [&](const std::smatch& found) {
                    if (found[1].matched)
                      symbol = found[1];
                    else
                      code[name_of(file, symbol)].registers = std::stoi(found[2]);
                  });
    } else if (file.path().extension() == ".ptx") {
      std::string symbol;
      for_matches(text_of(file), "[.]entry (\\w+)|\\bst(?:[.]global)?(?:[.]wb)?(?:[.]v(\\d))?[.][a-z](\\d+)",
                  [&](const std::smatch& found) {
                    if (found[1].matched) {
                      symbol = found[1];
                      return;
                    }
                    Code& kernel = code[name_of(file, symbol)];
                    const int bits = (found[2].matched ? std::stoi(found[2]) : 1) * std::stoi(found[3]);
                    ++(bits >= 64 ? kernel.wide : kernel.narrow);
                  });
    }
  }
  return code;
}

const std::map<std::string, Code>& code_of_kernels() {
  static const std::map<std::string, Code> code = read_code();
  return code;
}

// "Cuda compilation tools, release .., V.."
std::string compiler() {
  std::string name;
  for_matches(text_of(folder + "/norm.ptx"), "Cuda compilation tools, [^\n]*",
              [&](const std::smatch& found) { name = found.str(); });
  return name;
}

std::string table_of(const std::map<std::string, Code>& kernels) {
  std::ostringstream table;
  table << compiler() << ", sm_90a\nregisters, stores of 8 bytes and more, stores of less, kernel\n";
  for (const auto& [name, code] : kernels)
    table << code.registers << ' ' << code.wide << ' ' << code.narrow << ' ' << name << '\n';
  return table.str();
}

TEST(KernelCode, IsThatOfTheTable) {
  const std::string known = text_of(table_file), made = table_of(code_of_kernels());
  const std::string now = folder + "/registers.txt";
  std::ofstream(now) << made;
  ASSERT_FALSE(known.empty()) << table_file;
  const std::string known_compiler = known.substr(0, known.find(", sm_90a"));
  if (known_compiler != compiler())
    GTEST_SKIP() << "the table is of " << known_compiler << ", this is " << compiler();

  EXPECT_EQ(known, made) << "if that is what you want: cp " << now << ' ' << table_file;
}

// Else the kernel makes four times the accesses: nvcc splits assignments of a uint4 in row grids.
TEST(KernelCode, OfRowGridsWithPacksStoresWholePacks) {
  int with_packs = 0;
  for (const auto& [name, code] : code_of_kernels()) {
    if (!std::regex_match(name, std::regex("\\w+ row_grid_kernel<.*, [48]> ?>"))) continue;
    ++with_packs;
    EXPECT_EQ(code.narrow, 0) << name;
    EXPECT_GT(code.wide, 0) << name;
  }
  EXPECT_GT(with_packs, 0);
}

}  // namespace
}  // namespace d9d::test
