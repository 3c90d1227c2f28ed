#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "actors/cli/cli_main.hpp"
#include "actors/cli/commands.hpp"
#include "actors/cli/running_commands.hpp"
#include "runtime/base/error.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

using test::Outcome;
using test::run;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Tells what it was given.
CommandLine echo() {
  Command command{
      "run", "JOB.yaml", "run a job",
      1,     1,          {{"--set", "K=V", "change", true}, {"--fast", "", "go"}, {"--ranks", "N", "ranks"}}};
  command.run = [](const Arguments& arguments, Console& console) {
    const auto ranks = arguments.integer("--ranks", 1, 8);
    console.out << arguments.positional().front();
    for (const std::string& value : arguments.values("--set")) console.out << " " << value;
    if (arguments.has("--fast")) console.out << " fast";
    if (ranks) console.out << " " << *ranks;
    return 0;
  };
  Command broken{"break", "", "throw"};
  broken.run = [](const Arguments&, Console&) -> int { throw Error(ErrorKind::environment, "disk full"); };
  return {"d9d-node", "0.1.0 (test)", {command, broken}};
}

CommandLine real() {
  return {"d9d-node", "0.1.0", {check_command(), lr_command(), schedule_command(), trace_command()}};
}

TEST(Cli, SchedulesTheProgramOfAFileAndNothingBesideIt) {
  const auto folder = std::filesystem::path(testing::TempDir());
  std::ofstream(folder / "empty.txt") << "\n";
  const std::string file = (folder / "empty.txt").string();

  EXPECT_THAT(run(real(), {"schedule", "--program", file, "--pp", "2"}),
              test::is_refused("--pp has no effect beside --program"));

  EXPECT_THAT(run(real(), {"schedule", "--program", file}),
              test::is_refused("--program: " + file + " is empty"));
}

TEST(Cli, DrawsThePictureOfTheReadme) {
  const std::string drawn = testing::TempDir() + "1f1b.svg";

  ASSERT_THAT(
      run(real(), {"schedule", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--svg", drawn}),
      test::ends_well());
  EXPECT_TRUE(test::text_of_file(drawn) == test::text_of_file(D9D_SOURCE_DIR "/examples/pictures/1f1b.svg"))
      << "draw it again: d9d-node schedule --schedule 1f1b --pp 4 --microbatches 8 --svg "
         "examples/pictures/1f1b.svg";
}

TEST(Cli, RunsTheFirstCommandWhenNoneIsNamed) {
  EXPECT_EQ(run(echo(), {"job.yaml", "--fast"}).out, "job.yaml fast");
  EXPECT_EQ(run(echo(), {"run", "job.yaml"}).out, "job.yaml");
  EXPECT_EQ(run(echo(), {"--fast", "job.yaml"}).out, "job.yaml fast");
}

TEST(Cli, TakesValuesInEitherForm) {
  EXPECT_EQ(run(echo(), {"job.yaml", "--set", "a=1", "--set=b=2", "--ranks=3"}).out, "job.yaml a=1 b=2 3");
  EXPECT_EQ(run(echo(), {"--", "--job.yaml"}).out, "--job.yaml");
}

// A shell leaves `--out=~/x` as it stands; values of other options are not paths.
TEST(Cli, HomeStandsInPaths) {
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(run(echo(), {"~/job.yaml", "--set=a=~/x"}).out, "/home/me/job.yaml a=~/x");
  EXPECT_THAT(run(echo(), {"$HOME/job.yaml"}), test::is_refused("variables are not replaced here"));
}

TEST(Cli, AnswersHelpAndVersionEverywhere) {
  EXPECT_EQ(run(echo(), {"--version"}).out, "d9d-node 0.1.0 (test)\n");
  EXPECT_EQ(run(echo(), {"run", "x.yaml", "--version"}).out, "d9d-node 0.1.0 (test)\n");
  EXPECT_THAT(run(echo(), {"--help"}).out, AllOf(HasSubstr("commands:"), HasSubstr("break  throw")));
  EXPECT_THAT(run(echo(), {"run", "--help"}).out,
              AllOf(HasSubstr("usage: d9d-node run JOB.yaml"), HasSubstr("--set K=V")));
  for (const Command& command : real().commands) {
    EXPECT_THAT(run(real(), {command.name, "--help"}), test::prints("usage: d9d-node " + command.name));
  }
}

TEST(Cli, ExitsWithTwoOnBadUsageAndNamesTheNearest) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> table = {
      {{}, "usage: d9d-node"},
      {{"rum", "job.yaml"}, "unknown command rum, and there is no file of that name; did you mean \"run\"?"},
      {{"job.yaml", "--rank", "2"}, "run: unknown option --rank; did you mean \"--ranks\"?"},
      {{"job.yaml", "--ranks"}, "run: --ranks needs a value: --ranks N"},
      {{"job.yaml", "--ranks", "two"}, "--ranks two: expected an integer from 1 to 8"},
      {{"job.yaml", "--ranks", "9"}, "--ranks 9: expected an integer from 1 to 8"},
      {{"job.yaml", "--fast=1"}, "run: --fast takes no value"},
      {{"job.yaml", "--fast", "--fast"}, "run: --fast is given twice"},
      {{"run"}, "run: JOB.yaml is missing"},
      {{"a.yaml", "b.yaml"}, "run: \"b.yaml\" is one word too many"},
  };
  for (const auto& [words, text] : table) {
    const Outcome outcome = run(echo(), words);
    EXPECT_THAT(outcome, test::is_refused(text)) << text;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Cli, ExitsWithOneOnAnyOtherFailure) {
  const Outcome outcome = run(echo(), {"break"});

  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "d9d-node: error: disk full\n");
}

const std::string job = std::string(D9D_SOURCE_DIR) + "/tests/actors/cli/job.yaml";

TEST(CliCheck, PrintsTheResolvedJob) {
  EXPECT_THAT(run(real(), {"check", job}),
              test::prints(AllOf(HasSubstr("8 samples a step = 2 replicas x 2 microbatches x 2 samples"),
                                 HasSubstr("qwen3_moe, 4 layers"), HasSubstr("drawn from seed 0"),
                                 HasSubstr("4 ranks on 1 node\n"), HasSubstr("0..1"), HasSubstr("2..3"))));
}

TEST(CliCheck, ShowsTheLayersOfEachStageAsTheJobSplitsThem) {
  const auto layers = [](const std::string& split) {
    const auto json = nlohmann::json::parse(
        run(real(), {"check", job, "--json", "--set", "model_provider.model.num_hidden_layers=6", "--set",
                     "trainer.pipelining.layer_split=" + split})
            .out);
    return std::vector<nlohmann::json>{json["stages"][0]["layers"], json["stages"][1]["layers"]};
  };

  EXPECT_THAT(layers("even"), ElementsAre(nlohmann::json{0, 3}, nlohmann::json{3, 6}));
  // The head costs more than a layer.
  EXPECT_THAT(layers("costs"), ElementsAre(nlohmann::json{0, 4}, nlohmann::json{4, 6}));
}

TEST(CliCheck, CountsActivationsThatAreOffloadedByWhatTheDeviceHas) {
  const auto bytes = [](int layers) {
    const auto json = nlohmann::json::parse(
        run(real(), {"check", job, "--json", "--ranks", "2", "--set", "node.device=delayed", "--set",
                     "model_provider.model.num_hidden_layers=12", "--set",
                     "model_provider.offload_layers=" + std::to_string(layers)})
            .out);
    return json["memory"][0]["activation_bytes"].get<std::int64_t>();
  };

  // Of six layers and two microbatches; two layers are on their way. What a layer works with comes to each number.
  const std::int64_t all = bytes(0), half = bytes(3), none = bytes(6);
  const std::int64_t layer = (all - none) / 10;
  EXPECT_EQ(all - half, 4 * layer);
  EXPECT_EQ(all - none, 10 * layer);
  EXPECT_GT(none, 2 * layer);
  EXPECT_LT(none, 4 * layer);
}

TEST(CliCheck, CountsActivationsOfLayersThatAreComputedAgainByWhatTheyKeep) {
  const auto bytes = [](const std::string& checkpointing, const std::string& keeps) {
    const auto json =
        nlohmann::json::parse(run(real(), {"check", job, "--json", "--ranks", "2", "--set",
                                           "model_provider.model.num_hidden_layers=24", "--set",
                                           "model_provider.enable_checkpointing=" + checkpointing, "--set",
                                           "model_provider.checkpoint_keeps=" + keeps})
                                  .out);
    return json["memory"][0]["activation_bytes"].get<std::int64_t>();
  };

  const std::int64_t inputs = bytes("true", "[]"), attention = bytes("true", "[attention]");
  const std::int64_t costly = bytes("true", "[attention, linear, experts, exchange]");
  EXPECT_LT(inputs, attention);
  EXPECT_LT(attention, costly);
  EXPECT_LT(costly, bytes("false", "[]"));
}

TEST(CliCheck, CountsParametersAndMemoryOfEachStage) {
  const auto json = nlohmann::json::parse(run(real(), {"check", job, "--json", "--ranks", "2"}).out);

  // Embedding or head 512 x 64, final norm 64; a layer: q and o 64 x 64, k and v 64 x 32, norms 2 x 64 + 2 x
  // 16, router 64 x 8, experts 8 x 3 x 64 x 32.
  const std::int64_t layer = 2 * 64 * 64 + 2 * 64 * 32 + 2 * 64 + 2 * 16 + 64 * 8 + 8 * 3 * 64 * 32;
  EXPECT_EQ(json["stages"][0]["parameters"], 2 * layer + 512 * 64);
  EXPECT_EQ(json["stages"][1]["parameters"], 2 * layer + 512 * 64 + 64);
  EXPECT_EQ(json["parameters"], 4 * layer + 2 * 512 * 64 + 64);
  EXPECT_EQ(json["memory"][0]["optimizer_bytes"], 8 * (2 * layer + 512 * 64));
  EXPECT_EQ(json["memory"][0]["live_microbatches"], 2);
  EXPECT_EQ(json["memory"][1]["live_microbatches"], 1);
  EXPECT_GT(json["memory"][0]["activation_bytes"], json["memory"][1]["activation_bytes"]);
  EXPECT_EQ(json["num_nodes"], 2);
  EXPECT_EQ(json["job"]["trainer"]["timeout"]["step_timeout"], 100);
}

TEST(CliCheck, CountsATiedTableOnBothItsStagesAndOnceInTheModel) {
  const auto check = [](const std::string& tied) {
    const std::string key = "model_provider.model.tie_word_embeddings=" + tied;
    return nlohmann::json::parse(run(real(), {"check", job, "--json", "--set", key}).out);
  };
  const auto apart = check("false"), together = check("true");

  for (const int stage : {0, 1})
    EXPECT_EQ(together["stages"][stage]["parameters"], apart["stages"][stage]["parameters"]);
  EXPECT_EQ(together["memory"], apart["memory"]);
  EXPECT_EQ(together["parameters"].get<int>(), apart["parameters"].get<int>() - 512 * 64);
}

TEST(CliCheck, CountsTheCopyThatACheckpointIsWrittenFrom) {
  const auto memory = [](const std::string& period) {
    const Outcome outcome =
        run(real(), {"check", job, "--json", "--set", "trainer.checkpointing.period_steps=" + period});
    return nlohmann::json::parse(outcome.out)["memory"][0];
  };
  const auto with = memory("5"), without = memory("disable");
  const auto copy = with["parameter_bytes"].get<std::int64_t>() + with["optimizer_bytes"].get<std::int64_t>();

  EXPECT_EQ(with["checkpoint_bytes"], copy);
  EXPECT_EQ(without["checkpoint_bytes"], 0);
  EXPECT_EQ(with["total_bytes"], without["total_bytes"].get<std::int64_t>() + copy);
  EXPECT_THAT(run(real(), {"check", job, "--set", "trainer.checkpointing.period_steps=5"}).out,
              HasSubstr("checkpoint: the copy of parameters and optimizer"));
}

TEST(CliCheck, CountsActivationsThatTheDynamicOrderMayHoldBeyondTheProgram) {
  const auto json = nlohmann::json::parse(
      run(real(), {"check", job, "--json", "--ranks", "2", "--set", "trainer.pipelining.order=dynamic",
                   "--set", "trainer.pipelining.extra_activations=1"})
          .out);

  EXPECT_EQ(json["memory"][0]["live_microbatches"], 2) << "there are no more than two";
  EXPECT_EQ(json["memory"][1]["live_microbatches"], 2);
}

TEST(CliCheck, CountsTheExpertsOfARankOnly) {
  const auto memory_of = [](int ranks) {
    const std::string degree = "mesh.expert_parallel=" + std::to_string(ranks);
    const Outcome outcome = run(real(), {"check", job, "--json", "--set", degree});
    return nlohmann::json::parse(outcome.out)["memory"][0]["parameter_bytes"].get<std::int64_t>();
  };
  const std::int64_t experts_of_two_layers = std::int64_t{4} * 2 * 8 * 3 * 64 * 32;

  EXPECT_EQ(memory_of(1) - memory_of(2), experts_of_two_layers / 2);
}

TEST(CliCheck, RefusesABadJobInOneError) {
  const Outcome outcome = run(real(), {"check", job, "--set", "trainer.run.nam=x"});

  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "d9d-node: error: --set trainer.run.nam=x: trainer.run.nam: unknown key; did you mean "
            "\"name\"?\n");
}

TEST(CliCheck, WarnsOfKeysWithoutEffect) {
  EXPECT_THAT(run(real(), {"check", job, "--set", "trainer.gc.period_steps=3"}),
              test::says("warning: --set trainer.gc.period_steps=3: trainer.gc.period_steps: has no effect"));
}

TEST(CliSchedule, PrintsAnOriginalProgram) {
  const auto json = nlohmann::json::parse(
      run(real(), {"schedule", "--schedule", "gpipe", "--pp", "2", "--microbatches", "2", "--json"}).out);

  EXPECT_THAT(json["programs"]["1"].get<std::vector<std::string>>(), ElementsAre("1F0", "1F1", "1B1", "1B0"));
  EXPECT_EQ(run(real(), {"schedule", "--pp", "2"}).code, 2);
  EXPECT_THAT(run(real(), {"schedule", "--schedule", "gpip", "--pp", "2", "--microbatches", "2"}).err,
              HasSubstr("gpipe"));
}

nlohmann::json scheduled(std::vector<std::string> options) {
  std::vector<std::string> words{"schedule", "--pp", "2", "--microbatches", "4", "--json", "--schedule"};
  words.insert(words.end(), options.begin(), options.end());
  const Outcome outcome = run(real(), words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

TEST(CliSchedule, SetsTheFieldsOfTheSchedule) {
  EXPECT_EQ(scheduled({"1f1b", "--stages-per-rank", "2", "--zero-bubble"})["stages_per_rank"], 2);
  EXPECT_THAT(scheduled({"1f1b", "--zero-bubble"})["programs"].dump(), HasSubstr("W"));
  EXPECT_GT(scheduled({"1f1b", "--warmup", "deep"})["peak_activations"][0],
            scheduled({"1f1b"})["peak_activations"][0]);
  EXPECT_EQ(scheduled({"zero_bubble_v", "--stages-per-rank", "2"})["stages_per_rank"], 2);
  EXPECT_EQ(scheduled({"auto", "--stages-per-rank", "2", "--topology", "v"})["stages_per_rank"], 2);
  EXPECT_EQ(scheduled({"auto"})["stages_per_rank"], 2) << "two stages on a V are faster";
  EXPECT_LE(scheduled({"auto", "--activations-max", "1"})["peak_held"][0], 1);
}

TEST(CliSchedule, RefusesOptionsOfAnotherSchedule) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"gpipe", "--stages-per-rank", "2"}, "gpipe always has 1 stage(s) per rank; --stages-per-rank is 2"},
      {{"gpipe", "--zero-bubble"}, "schedule gpipe has no --zero-bubble; only 1f1b has"},
      {{"auto", "--warmup", "deep"}, "schedule auto has no --warmup; only 1f1b has"},
      {{"gpipe", "--topology", "v"}, "schedule gpipe has no --topology; only auto has"},
      {{"1f1b", "--activations-max", "4"}, "schedule 1f1b has no --activations-max; only auto has"},
      {{"looped_bfs", "--stages-per-rank", "0"}, "--stages-per-rank"},
      {{"1f1b", "--warmup", "shallow"}, "--warmup \"shallow\" is not known; known: textbook, deep"},
      {{"auto", "--topology", "w"}, "--topology \"w\" is not known"},
      {{"1f2b"}, "there are: gpipe looped_bfs 1f1b"},
  };
  for (const auto& [options, text] : wrong) {
    std::vector<std::string> words{"schedule", "--pp", "2", "--microbatches", "4", "--schedule"};
    words.insert(words.end(), options.begin(), options.end());
    EXPECT_THAT(run(real(), words), test::is_refused(text)) << options[0];
  }
}

TEST(CliTrace, NamesAFileThatIsNoTrace) {
  EXPECT_THAT(run(real(), {"trace", job}), test::is_refused("job.yaml"));
}

TEST(CliTrace, SaysThatAFolderIsNoTracedRun) {
  const std::string folder = job.substr(0, job.rfind('/'));

  EXPECT_THAT(run(real(), {"trace", folder}),
              test::is_refused(folder + " is a folder without traces/trace.json.gz"));
}

}  // namespace
}  // namespace d9d
