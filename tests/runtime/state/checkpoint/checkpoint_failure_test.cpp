#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::same;
using test::save;
using test::state_at;
using testing::HasSubstr;

// The newest good checkpoint's step, or 0; it must be readable and hold exactly the values of that step.
std::uint64_t good_step(const Disk& disk, const std::string& folder) {
  const auto choice = newest_good_checkpoint(disk, folder, Check::contents);
  EXPECT_TRUE(choice.refused.empty()) << choice.refused.front();
  if (!choice.checkpoint) return 0;
  const auto reader = CheckpointReader::open(disk, choice.checkpoint->path);
  for (const auto& [kind, name, tensor] : state_at(reader->manifest().step))
    EXPECT_TRUE(same(reader->read(kind, name), tensor));
  return choice.checkpoint->step;
}

TEST(CheckpointFailure, AKillAtAnyMomentLeavesACompleteCheckpoint) {
  bool died = true;
  int kills = 0;
  for (int changes = 0; died; ++changes) {
    const test::Scratch scratch;
    test::QuickDisk disk;
    save(disk, scratch.path(), 1);
    test::DyingDisk dying(changes);
    try {
      save(dying, scratch.path(), 2);
      rotate_checkpoints(dying, scratch.path(), 1);
    } catch (const Error&) {
      ++kills;
    }
    died = dying.died();

    const auto step = good_step(disk, scratch.path());

    EXPECT_TRUE(step == 1 || step == 2) << "killed after " << changes << " changes";
    if (!died) {
      EXPECT_EQ(test::steps_in(disk, scratch.path()), (std::vector<std::uint64_t>{2}));
    }
    remove_stale(disk, scratch.path());
    save(disk, scratch.path(), 2);
    EXPECT_EQ(good_step(disk, scratch.path()), 2U);
  }
  EXPECT_GT(kills, 15);
}

TEST(CheckpointFailure, AKillWhileACheckpointIsReplacedLeavesOneOfThem) {
  bool died = true;
  for (int changes = 0; died; ++changes) {
    const test::Scratch scratch;
    test::QuickDisk disk;
    save(disk, scratch.path(), 1, 2, 1);
    test::DyingDisk dying(changes);
    try {
      save(dying, scratch.path(), 1, 1, 2);
    } catch (const Error&) {
    }
    died = dying.died();

    EXPECT_EQ(good_step(disk, scratch.path()), 1U) << "killed after " << changes << " changes";
  }
}

TEST(CheckpointFailure, AFullDiskIsAnEnvironmentErrorAndNothingIsVisible) {
  const test::Scratch scratch;
  for (std::uint64_t capacity = 0; capacity < 3000; capacity += 500) {
    test::FullDisk disk(capacity);
    EXPECT_THAT(test::error_of([&] { save(disk, scratch.path(), 3); }, ErrorKind::environment),
                HasSubstr("No space left"))
        << "a disk of " << capacity << " bytes took the checkpoint";
    EXPECT_TRUE(find_checkpoints(disk, scratch.path()).empty());
  }
}

TEST(CheckpointFailure, TheRealDiskNamesPathAndReason) {
  PosixDisk disk;

  const auto text = error_of([&] { ShardWriter(disk).write("/proc/nothing/save-1.tmp-x", "rank-0", {}); });

  EXPECT_THAT(text, HasSubstr("/proc/nothing/save-1.tmp-x"));
  EXPECT_THAT(error_of([&] { CheckpointReader::open(disk, "/nowhere/save-1"); }),
              testing::AllOf(HasSubstr("/nowhere/save-1/manifest.json"), HasSubstr("No such file")));
}

ManifestEntry entry(const std::string& name, const Slice& slice) {
  return {"param", name, {4, 4}, slice, Dtype::float32, "a.safetensors", 0};
}

TEST(CheckpointFailure, CommitRefusesSlicesThatDoNotCoverTheTensorOnce) {
  const ShardReport upper{{"a.safetensors", 0, 0}, {entry("w", {{0, 0}, {2, 4}})}};
  const ShardReport lower{{"b.safetensors", 0, 0}, {entry("w", {{2, 0}, {4, 4}})}};
  const ShardReport overlapping{{"c.safetensors", 0, 0}, {entry("w", {{1, 0}, {4, 4}})}};
  auto half = lower;
  half.entries[0].dtype = Dtype::bfloat16;

  EXPECT_NO_THROW(with_reports({}, {upper, lower}));
  EXPECT_THAT(error_of([&] { with_reports({}, {upper}); }),
              HasSubstr("\"param/w\": slices hold 8 of the 16"));
  EXPECT_THAT(error_of([&] { with_reports({}, {upper, overlapping}); }), HasSubstr("overlap"));
  EXPECT_THAT(error_of([&] { with_reports({}, {upper, half}); }), HasSubstr("BF16"));
  EXPECT_THAT(error_of([&] { with_reports({}, {upper, upper}); }), HasSubstr("a.safetensors"));
}

TEST(CheckpointFailure, CommitRefusesAShardThatIsNotThere) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const auto temporary = scratch / "save-1.tmp-x";
  const auto report = ShardWriter(disk).write(temporary, "rank-0", test::part_of_rank(state_at(1), 1, 1, 0));
  disk.remove_all(temporary + "/rank-0.safetensors");

  EXPECT_THAT(error_of([&] {
                commit_checkpoint(disk, temporary, scratch / "save-1", with_reports({.step = 1}, {report}));
              }),
              HasSubstr("rank-0.safetensors is missing"));
  EXPECT_FALSE(disk.exists(scratch / "save-1"));
}

TEST(CheckpointFailure, WriterRefusesWhatIsNotTheSlice) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const auto write = [&](NamedSlice slice) {
    ShardWriter(disk).write(scratch / "t", "rank-0", {std::move(slice)});
  };

  EXPECT_THAT(error_of([&] {
                write({"param", "w", {4}, {{0}, {2}}, counting({3})});
              }),
              HasSubstr("\"param/w@0:2\""));
  EXPECT_THAT(error_of([&] {
                write({"param", "w", {4}, {{2}, {5}}, counting({3})});
              }),
              HasSubstr("not inside"));
  EXPECT_THAT(error_of([&] {
                write({"a/b", "w", {4}, {{0}, {4}}, counting({4})});
              }),
              HasSubstr("without '/'"));
}

TEST(Manifest, AndShardReportSurviveTheirJson) {
  Manifest manifest{
      .step = 3, .data_cursor = ~0ULL, .seed = 9, .epoch = 2, .job_hash = "h\"\\", .extra = R"({"a":[1,2]})"};
  const ShardReport report{{"a.safetensors", 123, ~0ULL}, {entry("w", {{0, 0}, {4, 4}})}};
  manifest = with_reports(manifest, {report});

  EXPECT_EQ(manifest_from_json(to_json(manifest), "m"), manifest);
  EXPECT_EQ(shard_report_from_json(to_json(report)), report);
}

// A report is one message: the Coordinator's limit is 16 MiB.
TEST(Manifest, AShardReportOfTenThousandTensorsIsSmall) {
  ShardReport report{{"rank-00000.safetensors", 1, 2}, {}};
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "model.layers." + std::to_string(i / 30) + ".mlp.experts." +
                             std::to_string(i / 3) + ".gate_proj.weight";
    report.entries.push_back({i % 3 == 0   ? "param"
                              : i % 3 == 1 ? "exp_avg"
                                           : "exp_avg_sq",
                              name,
                              {4096, 1536},
                              {{2048, 0}, {4096, 1536}},
                              Dtype::float32,
                              report.file.name,
                              0x0123456789abcdefULL + i});
  }

  const std::string text = to_json(report);

  EXPECT_LT(text.size(), 1U << 20);
  EXPECT_EQ(shard_report_from_json(text), report);
}

TEST(Manifest, FromAHostileHandIsRefusedWithTheReason) {
  const auto sealed = [](const std::string& body) {
    Manifest manifest;
    const auto text = to_json(manifest);
    return text.substr(0, text.find('\n') + 1) + body;  // The seal of another body.
  };
  const ShardReport report{{"a.safetensors", 1, 2}, {entry("w", {{0, 0}, {4, 4}})}};
  const auto changed = [&](const std::string& from, const std::string& to) {
    auto text = to_json(report);
    return text.replace(text.find(from), from.size(), to);
  };

  EXPECT_THAT(error_of([&] { manifest_from_json("", "m.json"); }), HasSubstr("m.json"));
  EXPECT_THAT(error_of([&] { manifest_from_json(sealed("}"), "m.json"); }), HasSubstr("checksum mismatch"));
  EXPECT_THAT(error_of([&] { shard_report_from_json("[]"); }), HasSubstr("shard report"));
  EXPECT_THAT(error_of([&] { shard_report_from_json(changed("\"a.safetensors\"", "\"../../etc/x\"")); }),
              HasSubstr("not a file name"));
  EXPECT_THAT(error_of([&] { shard_report_from_json(changed("0:4,0:4", "0:4,0:5")); }),
              HasSubstr("not inside"));
  EXPECT_THAT(error_of([&] { shard_report_from_json(changed("0:4,0:4", "0:4,4")); }),
              HasSubstr("not a slice"));
  EXPECT_THAT(error_of([&] { shard_report_from_json(changed("[4,4]", "[4611686018427387904,4]")); }),
              HasSubstr("impossible"));
  EXPECT_THAT(error_of([&] { shard_report_from_json(changed("[4,4]", "[-4,4]")); }), HasSubstr("impossible"));
  EXPECT_THAT(error_of([&] { shard_report_from_json(changed("F32", "Q4")); }), HasSubstr("Q4"));
  EXPECT_THAT(error_of([&] { shard_report_from_json(changed("[\"param\",0,", "[\"param\",7,")); }),
              HasSubstr("shard report"));
  EXPECT_THAT(error_of([&] { to_json(Manifest{.extra = "[1]"}); }), HasSubstr("not a JSON object"));
}

}  // namespace
}  // namespace d9d
