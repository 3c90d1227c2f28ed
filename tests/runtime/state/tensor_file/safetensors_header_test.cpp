#include <gtest/gtest.h>

#include <fstream>

#include "runtime/base/rng.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

using test::error_of;
using testing::HasSubstr;

std::string length_of(std::uint64_t bytes) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(bytes >> (8 * i) & 0xff);
  return text;
}

std::string file_of(const std::string& json, std::size_t data_bytes) {
  return length_of(json.size()) + json + std::string(data_bytes, '\1');
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

struct Hostile {
  const char* what;
  std::string bytes;
  const char* expected;
};

std::string hostile_entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"x":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

const std::string two =
    R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":)";

std::vector<Hostile> hostile_files() {
  const std::string good = hostile_entry(R"("F32")", "[2]", "[0,8]");
  return {
      {"no bytes", "", "at least 8"},
      {"half a length", "\1\2\3", "at least 8"},
      {"length beyond the file", length_of(1000) + "{}", "claims 1000 bytes"},
      {"length of 2^64-1", length_of(~0ULL) + "{}", "claims 18446744073709551615"},
      {"length above the bound", length_of(200'000'000) + "{}", "at most 100000000"},
      {"not JSON", file_of("{\"x\":", 0), "not JSON"},
      {"not UTF-8", file_of("{\"\xff\xfe\":1}", 0), "not JSON"},
      {"a list", file_of("[]", 0), "not a JSON object"},
      {"a number", file_of("1", 0), "not a JSON object"},
      {"deep nesting", file_of(std::string(100'000, '['), 0), "nested deeper"},
      {"deep objects", file_of(R"({"x":{"dtype":{"a":{"b":1}}}})", 0), "nested deeper"},
      {"a name twice", file_of(R"({"x":1,"x":2})", 0), "\"x\" twice"},
      {"a key twice", file_of(R"({"x":{"dtype":"F32","dtype":"F32"}})", 0), "\"dtype\" twice"},
      {"tensor is a number", file_of(R"({"x":1})", 0), "tensor \"x\""},
      {"no dtype", file_of(R"({"x":{"shape":[2],"data_offsets":[0,8]}})", 8),
       "expected an object with dtype"},
      {"one key more", file_of(R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0,1],"y":1}})", 1),
       "nothing else"},
      {"unknown dtype", file_of(hostile_entry(R"("F7")", "[2]", "[0,8]"), 8), "dtype \"F7\""},
      {"dtype a number", file_of(hostile_entry("7", "[2]", "[0,8]"), 8), "dtype 7"},
      {"shape a number", file_of(hostile_entry(R"("F32")", "2", "[0,8]"), 8), "shape is not a list"},
      {"negative size", file_of(hostile_entry(R"("F32")", "[-2]", "[0,8]"), 8), "shape holds -2"},
      {"broken size", file_of(hostile_entry(R"("F32")", "[2.5]", "[0,8]"), 8), "shape holds 2.5"},
      {"huge size", file_of(hostile_entry(R"("F32")", "[18446744073709551615]", "[0,8]"), 8), "too large"},
      {"overflowing shape", file_of(hostile_entry(R"("F32")", "[4294967296,4294967296]", "[0,8]"), 8),
       "too large"},
      {"overflow behind a zero", file_of(hostile_entry(R"("F32")", "[4294967296,4294967296,0]", "[0,0]"), 0),
       "too large"},
      {"three offsets", file_of(hostile_entry(R"("F32")", "[2]", "[0,8,9]"), 8), "not [begin, end]"},
      {"backward offsets", file_of(hostile_entry(R"("F32")", "[2]", "[8,0]"), 8), "offsets 8..0"},
      {"offsets beyond the file", file_of(hostile_entry(R"("F32")", "[2]", "[0,8]"), 4),
       "the 4 bytes of data"},
      {"negative offset", file_of(hostile_entry(R"("F32")", "[2]", "[-8,0]"), 8), "data_offsets holds -8"},
      {"shape and offsets differ", file_of(hostile_entry(R"("F32")", "[3]", "[0,8]"), 8), "needs 12"},
      {"overlap", file_of(two + "[1,3]}}", 3), "tensors overlap"},
      {"gap", file_of(two + "[3,5]}}", 5), "leave a gap"},
      {"bytes after the end", file_of(good, 9), "end at byte"},
      {"metadata a list", file_of(R"({"__metadata__":[]})", 0), "__metadata__ is not"},
      {"metadata of numbers", file_of(R"({"__metadata__":{"a":1}})", 0), "__metadata__.a"},
  };
}

TEST(HostileSafetensors, IsRefusedWithTheReasonAndTheFile) {
  const test::Scratch scratch;
  const auto path = scratch / "hostile.safetensors";

  for (const auto& hostile : hostile_files()) {
    put(path, hostile.bytes);
    const auto text = error_of([&] { SafetensorsReader(PosixDisk(), path); });
    EXPECT_THAT(text, HasSubstr(hostile.expected)) << hostile.what;
    EXPECT_THAT(text, HasSubstr("hostile.safetensors")) << hostile.what;
  }
}

TEST(HostileSafetensors, RandomDamageIsAnErrorOrAReadableFile) {
  const test::Scratch scratch;
  const auto path = scratch / "damaged.safetensors";
  const std::string good =
      test::text_of_file(D9D_SOURCE_DIR "/tests/golden/state_safetensors/expect.safetensors");
  const std::uint64_t header_bytes =
      8 + static_cast<unsigned char>(good[0]) + 256U * static_cast<unsigned char>(good[1]);
  const RandomStream random(7, "damage");
  int refused = 0;

  for (std::uint64_t round = 0; round < 400; ++round) {
    std::string bytes = good;
    const auto flips = 1 + random.below(8 * round, 4);
    for (std::uint64_t i = 0; i < flips; ++i)
      bytes[random.below(8 * round + 1 + i, header_bytes)] ^=
          static_cast<char>(1 << random.below(8 * round + 5, 8));
    if (round % 5 == 0) bytes.resize(random.below(8 * round + 6, bytes.size()));
    put(path, bytes);
    try {
      const SafetensorsReader reader(PosixDisk(), path);
      for (const auto& name : reader.names()) reader.read(name);
    } catch (const Error&) {
      ++refused;
    }
  }

  EXPECT_GT(refused, 300);
}

TEST(HostileSafetensors, AFileCutWhileItIsReadIsAnEnvironmentError) {
  const test::Scratch scratch;
  const auto path = scratch / "cut.safetensors";
  put(path, file_of(hostile_entry(R"("U8")", "[100000]", "[0,100000]"), 100000));
  const SafetensorsReader reader(PosixDisk(), path);
  std::filesystem::resize_file(path, 1000);

  EXPECT_THAT(error_of([&] { reader.read("x"); }), HasSubstr("cut short"));
}

}  // namespace
}  // namespace d9d
