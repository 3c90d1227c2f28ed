#include "runtime/state/model/export_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/state/disk/lock_text.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/runtime/state/test_disks.hpp"

namespace d9d {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

class ExportFolder : public testing::Test {
 protected:
  std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : disk.list(folder)) names.push_back(entry.name);
    return names;
  }
  // A model of one file, or of several with an index.
  static void write_model(Disk& disk, const std::string& folder, const std::string& text) {
    for (const char* name : {"model.safetensors", "config.json"})
      write_text(disk, join_path(folder, name), text);
  }
  std::string text_of(const std::string& name) { return read_text(disk, join_path(target, name), 1000); }

  const test::Scratch scratch;
  const std::string target = scratch / "model";
  test::QuickDisk disk;
};

TEST_F(ExportFolder, HoldsTheNewModelAndNothingOfTheOldOne) {
  disk.make_directories(target);
  for (const char* old : {"config.json", "tokenizer.json", "tokenizer_config.json", "merges.txt",
                          "model-00001-of-00002.safetensors", "model.safetensors.index.json", "README.md"})
    write_text(disk, join_path(target, old), "old");

  write_model_folder(disk, target, [&](const std::string& folder) { write_model(disk, folder, "new"); });

  EXPECT_THAT(files_in(target), ElementsAre("README.md", "config.json", "model.safetensors"));
  EXPECT_EQ(text_of("config.json"), "new");
  EXPECT_EQ(text_of("README.md"), "old");
}

TEST_F(ExportFolder, LeavesAReadmeThatSomebodyWroteWhereItIsToldTo) {
  disk.make_directories(target);
  write_text(disk, join_path(target, "README.md"), "mine");
  const auto write = [&](const std::string& folder) {
    write_model(disk, folder, "new");
    for (const char* name : {"README.md", "LICENSE"}) write_text(disk, join_path(folder, name), "carried");
  };

  write_model_folder(disk, target, write, OtherFiles::kept);
  EXPECT_EQ(text_of("README.md"), "mine");
  EXPECT_EQ(text_of("LICENSE"), "carried");
  EXPECT_THAT(files_in(target), ElementsAre("LICENSE", "README.md", "config.json", "model.safetensors"));

  write_model_folder(disk, target, write);
  EXPECT_EQ(text_of("README.md"), "carried");
}

TEST_F(ExportFolder, AFullDiskLeavesNothingOfTheNewModelAndAllOfTheOldOne) {
  const auto fail = [](const std::string& folder) {
    test::FullDisk full(5);
    write_model(full, folder, "new");
  };
  EXPECT_THAT(error_of([&] { write_model_folder(disk, target, fail); }), HasSubstr("No space left"));
  EXPECT_FALSE(disk.exists(target));

  write_model_folder(disk, target, [&](const std::string& folder) { write_model(disk, folder, "old"); });
  EXPECT_THAT(error_of([&] { write_model_folder(disk, target, fail); }), HasSubstr("No space left"));

  EXPECT_THAT(files_in(target), ElementsAre("config.json", "model.safetensors"));
  EXPECT_EQ(text_of("config.json"), "old");
}

TEST_F(ExportFolder, KilledAtAnyMomentItIsNoMixtureOfTwoModels) {
  bool died = true;
  int kills = 0;
  for (int changes = 0; died; ++changes, ++kills) {
    disk.remove_all(target);
    write_model_folder(disk, target, [&](const std::string& folder) { write_model(disk, folder, "old"); });
    test::DyingDisk dying(changes);
    try {
      write_model_folder(dying, target,
                         [&](const std::string& folder) { write_model(dying, folder, "new"); });
    } catch (const Error&) {
    }
    died = dying.died();

    const bool loads = disk.exists(target + "/config.json") && disk.exists(target + "/model.safetensors");
    if (loads) {
      EXPECT_EQ(text_of("config.json"), text_of("model.safetensors")) << changes;
    }
  }
  EXPECT_GT(kills, 10);
  EXPECT_EQ(text_of("config.json"), "new");

  write_model_folder(disk, target, [&](const std::string& folder) { write_model(disk, folder, "again"); });
  EXPECT_THAT(files_in(target), ElementsAre("config.json", "model.safetensors"));
}

TEST_F(ExportFolder, KilledWhileItMovesItsFilesHalfAModelIsKnownAndTheNextExportClearsIt) {
  int halves = 0;
  bool died = true;
  for (int changes = 0; died; ++changes) {
    disk.remove_all(target);
    test::DyingDisk dying(changes);
    try {
      write_model_folder(dying, target, [&](const std::string& folder) {
        write_text(dying, join_path(folder, "tokenizer.json"), "new");
        write_model(dying, folder, "new");
      });
    } catch (const Error&) {
    }
    died = dying.died();
    if (!disk.exists(target) || !has_half_a_model(disk, target)) continue;
    ++halves;

    EXPECT_THAT(error_of([&] {
                  write_model_folder(disk, target, [](const std::string&) -> void {
                    throw Error(ErrorKind::input, "nothing to write");
                  });
                }),
                HasSubstr("nothing to write"));
    EXPECT_THAT(files_in(target), ElementsAre()) << changes;
  }
  EXPECT_GT(halves, 3);
}

TEST_F(ExportFolder, IsFilledFromElsewhereAndAppearsWhenItIsPublished) {
  {
    FolderExport lost(disk, target, "first");
    write_model(disk, lost.folder(), "new");
  }
  EXPECT_FALSE(disk.exists(target));

  FolderExport whole(disk, target, "second");
  write_model(disk, whole.folder(), "new");
  EXPECT_FALSE(disk.exists(target + "/config.json"));
  whole.publish();

  EXPECT_EQ(text_of("config.json"), "new");
}

TEST_F(ExportFolder, IsRefusedWhileAnotherExportIsAtWork) {
  disk.make_directories(target);
  LockHolder other = LockHolder::this_process("an export", "other");
  other.pid = 1;
  other.started = *start_of_process(1);
  write_text(disk, join_path(target, lock_name), to_text(other));

  EXPECT_THAT(error_of([&] { write_model_folder(disk, target, [](const std::string&) {}); }),
              HasSubstr("in use by another job: run an export, process 1 "));
}

}  // namespace
}  // namespace d9d
