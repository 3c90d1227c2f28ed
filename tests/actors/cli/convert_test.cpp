#include <gmock/gmock.h>

#include <filesystem>

#include "actors/cli/running_commands.hpp"
#include "runtime/state/model/model_files.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string moe_folder = D9D_SOURCE_DIR "/tests/golden/qwen3/moe";

class CliConvert : public testing::Test {
 protected:
  test::Outcome call(std::vector<std::string> more, const std::string& from = moe_folder) {
    std::vector<std::string> words{"--from", from, "--to", to_};
    words.insert(words.end(), more.begin(), more.end());
    return test::call(convert_command(), words);
  }

  const test::Scratch scratch_;
  const std::string to_ = scratch_ / "to";
};

TEST_F(CliConvert, ConvertsAFolderAndSaysWhatItDid) {
  const auto called = call({"--mapper", "experts_fused", "--dtype", "bfloat16", "--shard-size", "1MB"});

  EXPECT_THAT(called, test::prints(AllOf(HasSubstr("converted " + moe_folder + " to " + to_ + ": "),
                                         HasSubstr(" tensors, "), HasSubstr("kB in 1 file\n"))));
  EXPECT_THAT(called.err, HasSubstr("left out of the folder: expect.safetensors\n"));
  const ModelFiles files(PosixDisk(), to_);
  EXPECT_EQ(files.spec("model.layers.0.mlp.experts.gate_up_proj").dtype, Dtype::bfloat16);
  EXPECT_TRUE(std::filesystem::exists(to_ + "/config.json"));
}

TEST_F(CliConvert, CutsFilesAsLargeAsTold) {
  EXPECT_EQ(call({"--shard-size", "20000"}).code, 0);

  std::size_t shards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(to_)) {
    if (entry.path().extension() != ".safetensors") continue;
    ++shards;
    EXPECT_LE(entry.file_size(), 20'000U + 8'000U) << "with its header";
  }
  EXPECT_GE(shards, 4U);
  EXPECT_TRUE(std::filesystem::exists(to_ + "/model.safetensors.index.json"));
}

TEST_F(CliConvert, TakesSizesInEveryUnit) {
  for (const char* size : {"0.02MB", "20KB", "20kB", "20000B", "19.53125KiB", "2e4"}) {
    const bool is_taken = std::string(size) != "2e4";
    EXPECT_EQ(call({"--shard-size", size, "--replace"}).code, is_taken ? 0 : 2) << size;
    std::size_t shards = 0;
    for (const auto& entry : std::filesystem::directory_iterator(to_))
      shards += entry.path().extension() == ".safetensors" ? 1 : 0;
    EXPECT_GE(shards, 4U) << size;
  }
  // Each larger tensor has a file of its own.
  EXPECT_EQ(call({"--shard-size", "100", "--replace"}).code, 0);
  EXPECT_EQ(ModelFiles(PosixDisk(), to_).names(), ModelFiles(PosixDisk(), moe_folder).names());
}

// Logits of peft: tests/runtime/provider/folder_conversion_test.cpp.
TEST_F(CliConvert, MergesAnAdapter) {
  const std::string adapter = std::string(D9D_SOURCE_DIR) + "/tests/golden/peft/moe";

  EXPECT_THAT(call({"--base", moe_folder}, adapter), test::ends_well());
  EXPECT_EQ(ModelFiles(PosixDisk(), to_).names(), ModelFiles(PosixDisk(), moe_folder).names());
  EXPECT_THAT(call({"--replace"}, adapter).err, HasSubstr("does not say which model it belongs to"));
}

TEST_F(CliConvert, NamesWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> table{
      {{"--dtype", "int8"}, "--dtype int8: expected float32, bfloat16 or float16"},
      {{"--dtype", "half"}, "--dtype half: expected"},
      {{"--shard-size", "4 GB"}, "--shard-size 4 GB: expected a size such as 500MB"},
      {{"--shard-size", "0"}, "--shard-size 0: expected a size"},
      {{"--shard-size", "99999999999999GB"}, "expected a size"},
      {{"--shard-size", "1.2.3MB"}, "--shard-size 1.2.3MB: expected a size"},
      {{"--base", "."}, "--base is for the folder of an adapter"},
      {{"--mapper", "nothing"}, "no mapper for "},
      {{"--mapper", "./nowhere.yaml"}, "cannot read ./nowhere.yaml"},
      {{"--maper", "x"}, "unknown option --maper; did you mean \"--mapper\"?"},
      {{"--plugin", "./nowhere.so"}, "cannot load the plugin ./nowhere.so"},
      {{"word"}, "\"word\" is one word too many"},
  };
  for (const auto& [words, text] : table) {
    EXPECT_THAT(call(words), test::is_refused(text)) << text;
    EXPECT_FALSE(std::filesystem::exists(to_)) << text;
  }
  EXPECT_THAT(test::call(convert_command(), {"--to", "x"}).err, HasSubstr("convert: --from is missing"));
  EXPECT_THAT(call({"--weights"}).err, HasSubstr("--weights is for --from-dcp; leave it out"));
  EXPECT_THAT(call({"--from-dcp", "x"}).err,
              HasSubstr("--from is for folders of models; with --from-dcp leave it out"));
  EXPECT_THAT(test::call(convert_command(), {"--from-dcp", "x"}).err,
              HasSubstr("convert --from-dcp: --job is missing; give the job file that is to go on"));
  EXPECT_THAT(call({}, "nowhere").err, HasSubstr("nowhere is not there"));
  EXPECT_THAT(test::call(convert_command(), {"--help"}).out,
              HasSubstr("d9d-node convert --from model --to fused --mapper experts_fused"));
}

}  // namespace
}  // namespace d9d
