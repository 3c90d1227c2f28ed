#include "runtime/state/checkpoint/checkpoint_verify.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/state/disk/checksum.hpp"
#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"

namespace d9d {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CheckpointVerify : public testing::Test {
 protected:
  CheckpointVerify() { test::save(disk_, scratch_.path(), 10); }

  std::string path(const std::string& file) const { return save_ + "/" + file; }
  VerifyReport report() const { return verify_checkpoint(disk_, save_); }
  // The manifest with a mistake in it and a good checksum of its own.
  void rewrite_manifest(const std::function<void(Manifest&)>& change) {
    Manifest manifest = read_manifest(disk_, save_);
    change(manifest);
    write_text(disk_, path(manifest_name), to_json(manifest));
  }
  // The stored checksum of the file is as if it had been written so.
  void restate(const std::string& name) {
    rewrite_manifest([&](Manifest& manifest) {
      for (auto& file : manifest.files) {
        if (file.name != name) continue;
        const auto opened = disk_.open(path(name));
        file.bytes = opened->size();
        file.checksum = checksum_of(*opened, 0, opened->size());
      }
    });
  }

  const test::Scratch scratch_;
  test::QuickDisk disk_;
  const std::string save_ = scratch_ / "save-10";
};

TEST_F(CheckpointVerify, FindsNothingInAGoodOneAndReadsEveryByteOnce) {
  std::uint64_t bytes = 0;
  for (const char* file : {"rank-0.safetensors", "rank-1.safetensors"})
    bytes += std::filesystem::file_size(path(file));
  std::uint64_t last = 0, all = 0;

  const auto report = verify_checkpoint(disk_, save_, [&](std::uint64_t done, std::uint64_t total) {
    last = done;
    all = total;
  });

  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.strangers, IsEmpty());
  EXPECT_EQ(report.num_files, 2U);
  EXPECT_EQ(report.num_slices, read_manifest(disk_, save_).entries.size());
  EXPECT_EQ(report.bytes, bytes);
  EXPECT_EQ(last, bytes);
  EXPECT_EQ(all, bytes);
}

TEST_F(CheckpointVerify, NamesTheTensorOfAFlippedBitAndOnlyThat) {
  test::flip_bit(path("rank-0.safetensors"), 1);

  const auto report = this->report();

  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].file, "rank-0.safetensors");
  EXPECT_EQ(report.findings[0].problem, "1 tensor with wrong bytes");
  EXPECT_THAT(report.findings[0].tensors, ElementsAre("exp_avg_sq/model.norm.weight@0:3"));
}

TEST_F(CheckpointVerify, TellsAMissingFileAShortOneAndABadHeaderApart) {
  std::filesystem::remove(path("rank-0.safetensors"));
  std::filesystem::resize_file(path("rank-1.safetensors"), 100);

  const auto report = this->report();

  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_EQ(report.findings[0].problem, "it is missing");
  EXPECT_THAT(report.findings[0].tensors, Contains("param/model.embed.weight@0:4,0:5"));
  EXPECT_THAT(report.findings[1].problem, HasSubstr("it has 100 bytes, the manifest says "));
  EXPECT_THAT(report.findings[1].tensors, Contains("param/model.embed.weight@4:7,0:5"));
}

TEST_F(CheckpointVerify, SeesWhenOnlyTheHeaderIsWrong) {
  std::fstream file(path("rank-0.safetensors"), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(20);
  file.put('?');
  file.close();

  const auto report = this->report();

  ASSERT_THAT(report.findings, testing::Not(IsEmpty()));
  EXPECT_EQ(report.findings[0].file, "rank-0.safetensors");
}

TEST_F(CheckpointVerify, ComparesNamesShapesAndDtypesWithTheManifest) {
  rewrite_manifest([](Manifest& manifest) {
    for (auto& entry : manifest.entries) {
      if (entry.kind == "param" && entry.name == "model.norm.weight") entry.dtype = Dtype::float16;
      if (entry.kind == "exp_avg" && entry.name == "model.scale") entry.name = "model.other";
    }
  });

  const auto report = this->report();

  std::vector<std::string> problems;
  for (const auto& finding : report.findings) problems.push_back(finding.problem);
  EXPECT_THAT(problems, Contains("a tensor is BF16 [3], the manifest says F16 [3]"));
  EXPECT_THAT(problems, Contains("a tensor of the manifest is not in it"));
  EXPECT_THAT(problems,
              Contains(HasSubstr("it holds \"exp_avg/model.scale@\", which the manifest does not")));
}

TEST_F(CheckpointVerify, FindsASliceThatNoRankWrote) {
  rewrite_manifest([](Manifest& manifest) {
    std::erase_if(manifest.entries, [](const ManifestEntry& entry) {
      return entry.kind == "param" && entry.name == "model.embed.weight" && entry.slice.begin[0] > 0;
    });
  });

  const auto report = this->report();

  ASSERT_THAT(report.findings, testing::Not(IsEmpty()));
  EXPECT_EQ(report.findings[0].file, manifest_name);
  EXPECT_THAT(report.findings[0].problem, HasSubstr("param/model.embed.weight"));
}

TEST_F(CheckpointVerify, ChecksFilesWithoutTensorsAndLeavesStrangersAlone) {
  write_text(disk_, path("tokenizer.json"), "{}");
  rewrite_manifest([](Manifest& manifest) { manifest.files.push_back({"tokenizer.json", 0, 0}); });
  restate("tokenizer.json");
  write_text(disk_, path("notes.txt"), "mine");
  EXPECT_THAT(report().findings, IsEmpty());
  EXPECT_THAT(report().strangers, ElementsAre("notes.txt"));

  write_text(disk_, path("tokenizer.json"), "[]");

  ASSERT_THAT(report().findings, SizeIs(1));
  EXPECT_THAT(report().findings[0].problem, HasSubstr("checksum mismatch (stated "));
}

TEST_F(CheckpointVerify, SaysWhatIsWrongWithAManifest) {
  test::flip_bit(path(manifest_name), 10);
  EXPECT_THAT(report().findings.at(0).problem, HasSubstr("checksum mismatch"));

  std::filesystem::rename(save_, scratch_ / "save-11");
  EXPECT_THAT(verify_checkpoint(disk_, scratch_ / "save-11").findings.at(0).file, manifest_name);
  test::save(disk_, scratch_.path(), 12);
  std::filesystem::rename(scratch_ / "save-12", scratch_ / "save-13");
  EXPECT_THAT(verify_checkpoint(disk_, scratch_ / "save-13").findings.at(0).problem,
              HasSubstr("it is the manifest of step 12, the folder is save-13"));
}

}  // namespace
}  // namespace d9d
