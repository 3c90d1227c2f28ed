#include "runtime/resume/changed_inputs.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/resume/file_print.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "tests/runtime/resume/resume_job.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ChangedInputs : public ::testing::Test {
 protected:
  ChangedInputs() {
    write("a.txt", "first");
    write("b.txt", "second");
  }
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  JobConfig job(const std::string& files, const std::string& more = {}) const {
    return testing_job::of_data(4, {"data={source: text, files: [" + files +
                                    "], tokenizer: t.json, sequence_length: 4" + more + "}"});
  }
  JobConfig both(const std::string& more = {}) const { return job(at("a.txt") + ", " + at("b.txt"), more); }
  JobConfig frozen() const {
    JobConfig job = both();
    job.trainer.model_stage_factory = {.source_checkpoint = at("model"),
                                       .checkpoint_only_trainable_parameters = true};
    return job;
  }
  // Between now and what `change` makes of it.
  std::vector<ChangedInput> after(const JobConfig& before, const std::function<void()>& change,
                                  const std::optional<JobConfig>& job = std::nullopt) {
    const auto then = input_prints(disk_, before);
    change();
    return changed_inputs(disk_, then, input_prints(disk_, job.value_or(before)));
  }

  PosixDisk disk_;
  test::TemporaryFolder folder_;
};

TEST_F(ChangedInputs, AreNoneWhereTheFilesAreTheSameAlsoInAnotherFolder) {
  std::filesystem::create_directories(folder_ / "moved");
  write("moved/a.txt", "first");
  write("moved/b.txt", "second");

  EXPECT_THAT(after(both(), [] {}), IsEmpty());
  EXPECT_THAT(after(
                  both(), [] {}, job(at("moved/a.txt") + ", " + at("moved/b.txt"))),
              IsEmpty());
  EXPECT_THAT(changed_inputs(disk_, nlohmann::json(), input_prints(disk_, both())), IsEmpty())
      << "of a checkpoint that does not know";
}

TEST_F(ChangedInputs, OfDataNameTheFileAndWhatMovesBehindIt) {
  const auto other = after(both(), [&] { write("b.txt", "SECOND"); });
  const auto grown = after(both(), [&] { write("b.txt", "SECOND and more"); });
  const auto moved = after(both(), [&] { write("a.txt", "first and more"); });
  const auto fewer = after(
      both(), [] {}, job(at("a.txt")));
  const auto more = after(
      job(at("a.txt")), [] {}, both());

  ASSERT_EQ(other.size(), 1U);
  EXPECT_THAT(other[0].told, HasSubstr("b.txt has other bytes than then"));
  EXPECT_FALSE(other[0].grown);
  ASSERT_EQ(grown.size(), 1U);
  EXPECT_THAT(grown[0].told, HasSubstr("b.txt has 15 bytes and had 6 (which are as they were)"));
  EXPECT_TRUE(grown[0].grown);
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_FALSE(moved[0].grown) << "all of b.txt stands elsewhere now";
  EXPECT_FALSE(fewer.at(0).grown);
  EXPECT_TRUE(more.at(0).grown);
}

TEST_F(ChangedInputs, AtTheEndOfDataMoveRowsThatAreHeldOutOfIt) {
  EXPECT_FALSE(is_moved_by_growth(both().data));
  EXPECT_TRUE(is_moved_by_growth(both(", validation: {samples: 1}").data));
}

TEST_F(ChangedInputs, OfDataAreToldWithTheirMeaning) {
  const auto changes = after(both(), [&] { write("b.txt", "second and more"); });
  const auto told = told_changes(changes, {}, both(), "save-5", 20);
  const auto shuffled = told_changes(changes, {}, both(", shuffle: true"), "save-5", 20);

  EXPECT_THAT(told, ElementsAre(AllOf(HasSubstr("data changed since save-5 was written"),
                                      HasSubstr("are the same but for the last one"),
                                      HasSubstr("the run goes on with sample 20"))));
  EXPECT_THAT(told_changes(changes, {}, both(", document: line"), "save-5", 20),
              ElementsAre(HasSubstr("the same but for the last one")))
      << "\"second\" goes on";
  EXPECT_THAT(shuffled, ElementsAre(HasSubstr("may be read again and others never")));
}

// A chat template that has grown stands at the list's end, but all rows change with it.
TEST_F(ChangedInputs, OfAChatTemplateKeepNoSamples) {
  const JobConfig chat = testing_job::of_data(4, {"data={source: chat, files: [" + at("a.jsonl") +
                                                  "], tokenizer: t.json, sequence_length: 4, samples: " +
                                                  "document, chat_template: " + at("t.jinja") + "}"});
  write("a.jsonl", "{}\n");
  write("t.jinja", "{{ messages }}");

  const auto changes = after(chat, [&] { write("t.jinja", "{{ messages }} and more"); });

  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].grown);
  EXPECT_FALSE(keeps_samples(chat.data, changes[0]));
  EXPECT_THAT(told_changes(changes, {}, chat, "save-5", 20),
              ElementsAre(HasSubstr("may be read again and others never")));
}

// By the unit of its documents and the end of the old text.
TEST_F(ChangedInputs, AtTheEndOfATextMayGoOnWithItsLastDocument) {
  const auto may = [&](const std::string& unit, const std::string& then) {
    write("b.txt", then);
    const JobConfig job = both(", document: " + unit);
    const auto changes = after(job, [&] { write("b.txt", then + "more\n"); });
    EXPECT_EQ(changes.size(), 1U);
    EXPECT_TRUE(keeps_samples(job.data, changes.at(0)));
    return goes_on(job.data, changes.at(0));
  };

  EXPECT_TRUE(may("line", "a lin"));
  EXPECT_FALSE(may("line", "a line\n"));
  EXPECT_TRUE(may("paragraph", "a line\n"));
  EXPECT_FALSE(may("paragraph", "a line\n\n"));
  EXPECT_FALSE(may("paragraph", "a line\r\n\r\n"));
  EXPECT_TRUE(may("file", "a line\n\n"));
  EXPECT_TRUE(may("line", "\x1f\x8b\x08 is packed\n"));
  const JobConfig fewer = job(at("a.txt"));
  EXPECT_FALSE(goes_on(both().data, after(
                                        fewer, [] {}, both())
                                        .at(0)))
      << "b.txt was added";
}

// The middle of a file of weights, whose head is a list of names.
TEST_F(ChangedInputs, OfFrozenWeightsAreAnError) {
  std::filesystem::create_directories(folder_ / "model");
  std::string weights(8 << 20, 'w');
  write("model/model.safetensors", weights);
  for (std::size_t i = 1 << 20; i < weights.size() - (1 << 20); ++i) weights[i] = 'v';

  const auto changes = after(frozen(), [&] { write("model/model.safetensors", weights); });
  const std::string text =
      test::error_of([&] { told_changes(changes, {}, frozen(), "save-5", 20); }, ErrorKind::input);

  ASSERT_EQ(changes.size(), 1U);
  EXPECT_THAT(text, AllOf(HasSubstr("the frozen weights changed since save-5"),
                          HasSubstr("model.safetensors"), HasSubstr("--fresh")));
}

// An export adds the checkpoint's adapters to weights that it reads from the folder once more.
TEST_F(ChangedInputs, OfFrozenWeightsRefuseAnExport) {
  std::filesystem::create_directories(folder_ / "model");
  write("model/model.safetensors", "weights");
  const std::string parts = at("tmp"), checkpoint = at("save-5");
  disk_.make_directories(parts);
  Manifest manifest;
  manifest.extra = nlohmann::json{{inputs_key, input_prints(disk_, frozen())}}.dump();
  commit_checkpoint(disk_, parts, checkpoint, manifest);

  EXPECT_NO_THROW(require_same_frozen_weights(disk_, frozen(), checkpoint));
  write("model/model.safetensors", "wEights");
  EXPECT_THAT(
      test::error_of([&] { require_same_frozen_weights(disk_, frozen(), checkpoint); }, ErrorKind::input),
      AllOf(HasSubstr("the frozen weights changed since"), HasSubstr("source_checkpoint=FOLDER")));
}

TEST_F(ChangedInputs, OfWeightsThatTheCheckpointHasDoNotMatter) {
  std::filesystem::create_directories(folder_ / "model");
  write("model/model.safetensors", "weights");
  JobConfig all = frozen();
  all.trainer.model_stage_factory.checkpoint_only_trainable_parameters = false;

  EXPECT_THAT(after(all, [&] { write("model/model.safetensors", "others!"); }), IsEmpty());
}

TEST_F(ChangedInputs, OfATokenizerAreThoseOfItsOwnFiles) {
  const std::vector<ManifestFile> files{{"tokenizer.json", 1, checksum_of("a")},
                                        {"generation_config.json", 1, checksum_of("a")}};

  EXPECT_THAT(changed_tokenizer(files, {{"tokenizer.json", "b"}, {"generation_config.json", "b"}}),
              ElementsAre("tokenizer.json"));
  EXPECT_THAT(changed_tokenizer(files, {{"tokenizer.json", "a"}}), IsEmpty());
  EXPECT_THAT(told_changes({}, {"tokenizer.json"}, both(), "save-5", 20),
              ElementsAre(HasSubstr("the tokenizer changed since save-5 was written (tokenizer.json)")));
}

TEST_F(ChangedInputs, OfVeryManyFilesAreOnePrint) {
  std::filesystem::create_directories(folder_ / "many");
  std::string names;
  for (int i = 0; i < 1001; ++i) {
    write("many/" + std::to_string(i), "x");
    names += (i == 0 ? "" : ", ") + at("many/" + std::to_string(i));
  }

  EXPECT_EQ(input_prints(disk_, job(names)).at("data").size(), 1U);
  EXPECT_EQ(after(job(names), [&] { write("many/500", "y"); }).size(), 1U);
}

}  // namespace
}  // namespace d9d
