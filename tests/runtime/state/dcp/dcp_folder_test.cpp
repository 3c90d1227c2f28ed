#include "runtime/state/dcp/dcp_folder.hpp"

#include <gmock/gmock.h>

#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/runtime/state/dcp/golden_dcp.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ADcpFolder : public testing::Test {
 protected:
  // The folder of that checkpoint.
  const std::string& of(const std::string& name) {
    unpack_dcp(name, folder_);
    return folder_;
  }
  // That of a metadata file alone, beside 4096 bytes of nothing.
  std::string refusal_of(const std::string& bad) {
    std::filesystem::create_directories(folder_);
    set_bytes(folder_ + "/.metadata", bytes_of(golden_dcp("bad/" + bad)));
    set_bytes(folder_ + "/__0_0.distcp", std::string(4096, '\0'));
    return error_of([&] { DcpFolder(disk_, folder_); }, ErrorKind::input);
  }
  std::string metadata() const { return folder_ + "/.metadata"; }
  // Of all tensors.
  std::string refusal_of_reading() {
    return error_of([&] {
      const DcpFolder opened(disk_, folder_);
      for (const DcpValue& value : opened.values())
        if (value.tensor) opened.read(value);
    });
  }
  static const DcpValue& value_of(const DcpFolder& folder, const std::string& name) {
    for (const DcpValue& value : folder.values())
      if (value.name == name) return value;
    throw Error(ErrorKind::bug, "no " + name);
  }

  const Scratch scratch_;
  const std::string folder_ = scratch_ / "save-3";
  const PosixDisk disk_;
};

TEST_F(ADcpFolder, GivesTheTensorsThatFourRanksSavedInParts) {
  const DcpFolder folder(disk_, of("sparse"));
  const SafetensorsReader expected(disk_, golden_dcp("sparse.safetensors"));

  std::size_t parameters = 0, parts = 0;
  for (const DcpValue& value : folder.values()) {
    if (value.path.at(1) != "tracked_modules") continue;
    const at::Tensor read = folder.read(value);
    EXPECT_TRUE(same(read, expected.read("param/" + value.path.back()))) << value.name;
    ++parameters;
    parts += value.parts.size();
  }
  EXPECT_EQ(parameters, 29U);
  EXPECT_GT(parts, 50U);
  EXPECT_EQ(folder.read_integer(value_of(folder, "state.schedule.current_step")), 3);
  EXPECT_EQ(folder.read_integer(value_of(folder, "state.optimizer.pp_1_stage_0.state.0.step")), 3);
}

TEST_F(ADcpFolder, GivesTheOrderInWhichTheStateWasNamed) {
  const DcpFolder folder(disk_, of("dense"));

  std::vector<std::string> names;
  for (const DcpValue& value : folder.values())
    if (value.path.at(1) == "tracked_modules") names.push_back(value.path.back());
  EXPECT_EQ(names.front(), "model.embed_tokens.token_embedding.regular.weight");
  EXPECT_EQ(names.at(1), "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(names.back(), "lm_head.lm_head.regular.weight");
  const auto numbers =
      folder.read_integers(value_of(folder, "state.optimizer.pp_0_stage_0.param_groups.0.params"));
  EXPECT_EQ(numbers.size(), names.size());
}

TEST_F(ADcpFolder, GivesABfloat16TensorThatLiesTransposed) {
  const DcpFolder folder(disk_, of("dense"));
  const std::string name = "model.layers.0.mlp.down_proj.weight";

  const at::Tensor read = folder.read(value_of(folder, "state.tracked_modules.pp_0_stage_0." + name));

  EXPECT_TRUE(same(read, SafetensorsReader(disk_, golden_dcp("dense.safetensors")).read("param/" + name)));
  EXPECT_EQ(read.scalar_type(), at::kBFloat16);
}

TEST_F(ADcpFolder, WithoutItsMetadataIsRefused) {
  EXPECT_THAT(error_of([&] { DcpFolder(disk_, scratch_.path()); }, ErrorKind::input),
              HasSubstr("has no file .metadata: give a folder that torch.distributed.checkpoint wrote"));
}

TEST_F(ADcpFolder, NamesAFileThatIsMissingAndWhatIsInIt) {
  std::filesystem::remove(of("sparse") + "/__1_0.distcp");

  EXPECT_THAT(refusal_of_reading(),
              AllOf(HasSubstr("/.metadata: state."), HasSubstr(" is in __1_0.distcp, which is not"),
                    HasSubstr("copy the files of all ranks into this folder")));
}

TEST_F(ADcpFolder, NamesAFileThatIsCut) {
  std::filesystem::resize_file(of("sparse") + "/__2_0.distcp", 20000);

  EXPECT_THAT(refusal_of_reading(),
              AllOf(HasSubstr("of __2_0.distcp, which has only 20000"), HasSubstr("copy it again")));
}

TEST_F(ADcpFolder, RefusesAForeignClass) {
  of("sparse");
  replace_bytes(metadata(), "PosixPath", "PosixFish");

  EXPECT_THAT(refusal_of_reading(), HasSubstr("it names pathlib.PosixFish, which is not among the classes"));
}

TEST_F(ADcpFolder, RefusesPartsOfAnotherDtype) {
  of("sparse");
  replace_bytes(metadata(), "float32", "float16");

  EXPECT_THAT(refusal_of_reading(),
              AllOf(HasSubstr(" is float32 of the shape "), HasSubstr(".metadata says float16"),
                    HasSubstr("of different checkpoints")));
}

TEST_F(ADcpFolder, NoticesADamagedTensor) {
  const std::string file = of("dense") + "/__0_0.distcp";
  std::string bytes = bytes_of(file);
  const SafetensorsReader expected(disk_, golden_dcp("dense.safetensors"));
  const at::Tensor norm = expected.read("param/model.norm.weight");
  const std::size_t at = bytes.find(std::string(static_cast<const char*>(norm.data_ptr()), norm.nbytes()));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  set_bytes(file, bytes);

  EXPECT_THAT(refusal_of_reading(), AllOf(HasSubstr("model.norm.weight: the bytes of data/0 in "),
                                          HasSubstr("do not match their checksum")));
}

TEST_F(ADcpFolder, WithAnyByteOfAPartChangedIsReadOrRefused) {
  const std::string file = of("dense") + "/__0_0.distcp";
  const std::string bytes = bytes_of(file);
  for (std::size_t at = 0; at < 3000; at += 31) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    set_bytes(file, changed);
    const DcpFolder folder(disk_, folder_);
    for (std::size_t i = 0; i < 3; ++i) {
      const DcpValue& value = folder.values()[i];
      error_of([&] {
        value.tensor ? static_cast<void>(folder.read(value)) : static_cast<void>(folder.read_integer(value));
      });
    }
  }
  EXPECT_NE(bytes_of(file), bytes);
}

TEST_F(ADcpFolder, SaysWhatIsWrongWithTheParts) {
  EXPECT_EQ(refusal_of("good"), "no error");
  EXPECT_THAT(refusal_of("overlap"),
              AllOf(HasSubstr("/.metadata: t of the shape [4, 2]: "), HasSubstr("overlap")));
  EXPECT_THAT(refusal_of("gap"), HasSubstr("t of the shape [4, 2]: "));
  EXPECT_THAT(refusal_of("outside"),
              HasSubstr("t: a part of [3, 2] at [2, 0] is outside of the shape [4, 2]"));
  EXPECT_THAT(refusal_of("unplaced"), HasSubstr("t: it does not say where the part at [2, 0] is stored"));
  EXPECT_THAT(refusal_of("beyond"), HasSubstr("t: bytes 3000 to 5000 of __0_0.distcp, which has only 4096"));
  EXPECT_THAT(refusal_of("short"),
              HasSubstr("t: a part of [2, 2] has 15 bytes in __0_0.distcp, and needs 16"));
  EXPECT_THAT(refusal_of("extension"), HasSubstr("t is stored through an extension of torch"));
}

TEST_F(ADcpFolder, RefusesBytesThatTorchDidNotSave) {
  refusal_of("good");
  EXPECT_THAT(refusal_of_reading(),
              HasSubstr("t in " + folder_ + "/__0_0.distcp: it is no archive that torch.save wrote"));
}

}  // namespace
}  // namespace d9d::test
