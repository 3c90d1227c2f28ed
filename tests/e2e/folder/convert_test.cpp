// The real d9d-node converts a folder and is killed meanwhile; a run's checkpoints are looked at.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int num_tensors = 24;
constexpr std::size_t tensor_bytes = 2 << 20;
constexpr int num_kills = 20;

// Shape and bytes of each, of a folder with one file.
std::map<std::string, std::string> tensors_in(const std::filesystem::path& folder) {
  const std::string file = text_of_file(folder / "model.safetensors");
  std::size_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(file[static_cast<std::size_t>(i)]);
  std::map<std::string, std::string> tensors;
  const auto header = nlohmann::json::parse(file.substr(8, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::size_t from = entry["data_offsets"][0], to = entry["data_offsets"][1];
    tensors[name] = entry["shape"].dump() + file.substr(8 + length + from, to - from);
  }
  return tensors;
}

// Names and contents; of folders in it the names.
std::map<std::string, std::string> contents_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    contents[entry.path().filename()] = entry.is_directory() ? "" : text_of_file(entry.path());
  return contents;
}

// With those in its folders; what vanishes meanwhile counts as nothing.
std::uintmax_t bytes_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::uintmax_t bytes = 0;
  for (std::filesystem::recursive_directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const auto size = at->is_regular_file(ignored) ? at->file_size(ignored) : 0;
    if (!ignored) bytes += size;
    ignored.clear();
  }
  return bytes;
}

// Of these a new run must not ask whether it may replace them.
bool is_published_in_part(const std::map<std::string, std::string>& contents) {
  return std::any_of(contents.begin(), contents.end(),
                     [](const auto& file) { return file.first.starts_with(".d9d-publish-"); });
}

// 48 MiB of random bytes as a folder of one file.
void write_model(const std::filesystem::path& folder) {
  nlohmann::ordered_json header;
  for (std::size_t i = 0; i < num_tensors; ++i)
    header["layers." + std::to_string(i) + ".weight"] = {
        {"dtype", "F32"},
        {"shape", {tensor_bytes / 4 / 1024, 1024}},
        {"data_offsets", {i * tensor_bytes, (i + 1) * tensor_bytes}}};
  std::string json = header.dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::filesystem::create_directories(folder);
  std::ofstream file(folder / "model.safetensors", std::ios::binary);
  for (int i = 0; i < 8; ++i) file.put(static_cast<char>(json.size() >> (8 * i) & 0xff));
  file << json;
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> values(tensor_bytes / 8);
  for (int i = 0; i < num_tensors; ++i) {
    std::generate(values.begin(), values.end(), random);
    file.write(reinterpret_cast<const char*>(values.data()), tensor_bytes);
  }
  std::ofstream(folder / "config.json") << "{\"model_type\": \"mine\"}";
  std::ofstream(folder / "tokenizer.json") << "{}";
}

TEST(Convert, KilledAtAnyMomentLeavesAWholeFolderOrNoModel) {
  TinyJob job;
  write_model(job.folder() / "from");
  std::ofstream(job.folder() / "rules.yaml")
      << "rules: [{do: stack, from: \"layers.{l}.weight\", to: all, dim: 0}, "
         "{do: unstack, from: all, to: \"part.{i}\", dim: 0}]\n";
  const Words words{"convert",  "--from",       "from",         "--to", "to",
                    "--mapper", "./rules.yaml", "--shard-size", "8MiB"};
  ASSERT_THAT(job.call(words), ends_well());
  const auto expected = contents_of(job.folder() / "to");
  ASSERT_EQ(expected.size(), 6U + 3U) << "six shards, index, config.json, tokenizer.json";

  const auto all_bytes = bytes_in(job.folder() / "to");

  std::mt19937 random(11);
  int unfinished = 0;
  for (int kill = 0; kill < num_kills; ++kill) {
    std::filesystem::remove_all(job.folder() / "to");
    const auto bytes = std::uniform_int_distribution<std::uintmax_t>(0, all_bytes)(random);
    const auto process = job.spawn(words);
    process->wait_until("so much to be written",
                        [&] { return bytes_in(job.folder() / "to") >= bytes || !process->running(); });
    process->kill();
    if (!std::filesystem::exists(job.folder() / "to")) continue;
    const auto left = contents_of(job.folder() / "to");
    if (left.contains("config.json")) {
      EXPECT_TRUE(std::includes(left.begin(), left.end(), expected.begin(), expected.end()))
          << "kill " << kill;
    } else {
      EXPECT_FALSE(left.contains("model.safetensors"));
      if (++unfinished % 4 != 0 && !is_published_in_part(left)) continue;
      ASSERT_THAT(job.call(words), ends_well());
      EXPECT_TRUE(contents_of(job.folder() / "to") == expected) << "leftovers are gone";
    }
  }
  EXPECT_GT(unfinished, num_kills / 2) << "kills have to hit the work";
}

TEST(Convert, TheExportOfARunBecomesFusedAndComesBackBitForBit) {
  TinyJob job;
  ASSERT_EQ(job.run(set("export_to", "model")).code, 0);

  const Outcome fused =
      job.call({"convert", "--from", "model", "--to", "fused", "--mapper", "experts_fused"});
  const Outcome back = job.call({"convert", "--from", "fused", "--to", "back", "--mapper", "hugging_face"});

  EXPECT_EQ(fused.code, 0) << fused.err;
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_TRUE(tensors_in(job.folder() / "model") == tensors_in(job.folder() / "back"));
  EXPECT_EQ(text_of_file(job.folder() / "model/config.json"),
            text_of_file(job.folder() / "back/config.json"));
  const auto kept = tensors_in(job.folder() / "fused");
  EXPECT_TRUE(kept.contains("model.layers.0.mlp.experts.gate_up_proj"));
  EXPECT_FALSE(kept.contains("model.layers.0.mlp.experts.0.up_proj.weight"));
  const Outcome inspected = job.call({"checkpoint", "inspect", "fused"});
  EXPECT_THAT(inspected.out,
              AllOf(HasSubstr("mlp.experts.gate_up_proj"), HasSubstr("model_type: qwen3_moe")));
}

TEST(Checkpoint, IsListedVerifiedAndInspectedAfterARun) {
  TinyJob job;
  job.rewrite("{period_steps: last_step}", "{period_steps: 10}");
  ASSERT_EQ(job.run(mesh(2, 1)).code, 0);

  const Outcome listed = job.call({"checkpoint", "list", "runs/tiny"});
  const Outcome good = job.call({"checkpoint", "verify", "runs/tiny"});
  const Outcome inspected = job.call({"checkpoint", "inspect", "runs/tiny/checkpoints/save-10"});

  EXPECT_THAT(listed, prints(AllOf(HasSubstr("save-20"), HasSubstr("save-10"), HasSubstr("complete"))));
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_THAT(inspected.out, AllOf(HasSubstr("exp_avg"), HasSubstr("run: tiny\n"), HasSubstr("ranks: 2\n"),
                                   HasSubstr("step: 10\n")));
}

}  // namespace
}  // namespace d9d::test
