// What people have in the place of weights: downloads that went wrong, other formats.
#include "runtime/state/weights/foreign_bytes.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "runtime/state/model/model_files.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

class ForeignFile : public testing::Test {
 protected:
  std::string error_for(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return error_of([&] { ModelFiles(disk_, scratch_.path()); });
  }

  const test::Scratch scratch_;
  const PosixDisk disk_;
  const std::string path_ = scratch_.path() + "/model.safetensors";
};

TEST_F(ForeignFile, OfGitLfsIsAPointerAndSaysWhatToRun) {
  const auto text = error_for(
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n");

  EXPECT_THAT(text, AllOf(HasSubstr(path_), HasSubstr("pointer of git LFS"), HasSubstr("12345 bytes"),
                          HasSubstr("git lfs pull")));
}

TEST_F(ForeignFile, OfAnotherKindIsNamed) {
  const std::string more(600, 'x');
  EXPECT_THAT(error_for("<!DOCTYPE html><html>" + more), HasSubstr("page of a web server"));
  EXPECT_THAT(error_for("\n <HTML>" + more), HasSubstr("page of a web server"));
  EXPECT_THAT(error_for("<?xml version=\"1.0\"?><Error>" + more), HasSubstr("page of a web server"));
  EXPECT_THAT(error_for("{\"error\": \"Entry not found\"}"), HasSubstr("is JSON"));
  EXPECT_THAT(error_for("PK\x03\x04" + more), HasSubstr("zip archive"));
  EXPECT_THAT(error_for("\x80\x02\x8a\x0al\xfc\x9c" + more), HasSubstr("pickle"));
  EXPECT_THAT(error_for("GGUF" + more), HasSubstr("GGUF"));
  EXPECT_THAT(error_for("\x1f\x8b\x08" + more), HasSubstr("gzip"));
  EXPECT_THAT(error_for(std::string(4096, '\0')), HasSubstr("begins with zeros"));
  EXPECT_THAT(error_for(""), HasSubstr("has 0 bytes"));
}

TEST_F(ForeignFile, CutShortSaysHowLongItIsAndShouldBe) {
  const std::string json =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  const std::string length{static_cast<char>(json.size()), 0, 0, 0, 0, 0, 0, 0};

  EXPECT_THAT(error_for(length + json + std::string(11, '\1')),
              AllOf(HasSubstr("need 16 bytes of data"), HasSubstr("11 bytes"), HasSubstr("cut short")));
}

// MLX packs eight numbers into each.
TEST_F(ForeignFile, WithPackedWeightsNamesTheQuantiser) {
  const std::string json = R"({"a":{"dtype":"U32","shape":[2],"data_offsets":[0,8]}})";
  const std::string length{static_cast<char>(json.size()), 0, 0, 0, 0, 0, 0, 0};

  EXPECT_THAT(error_for(length + json + std::string(8, '\1')), AllOf(HasSubstr("U32"), HasSubstr("MLX")));
}

TEST_F(ForeignFile, ThatIsAPipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);

  EXPECT_THAT(error_of([&] { ModelFiles(disk_, scratch_.path()); }), HasSubstr("is a named pipe"));
}

}  // namespace
}  // namespace d9d
