// What `run` refuses at its start `check` finds, with the
// same exit code and the same words, and writes nothing.
#include <gmock/gmock.h>

#include <set>

#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int row_length = 32;
const std::string tokenizer_file = D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json";  // 2048 tokens

// From the first error on; before it there may be warnings and news of the start.
std::string error_in(const std::string& err) {
  const std::size_t at = err.find("d9d-node: ");
  return at == std::string::npos ? "" : err.substr(at);
}

class Check : public testing::Test {
 protected:
  Check() {
    job_.folder().write("text.txt", "In the beginning God created the heaven and the earth.");
    job_.folder().write("good.npy", tokens_with(1));
  }

  static std::string tokens_with(int odd_one) {
    return npy_file(24, row_length,
                    [=](int row, int column) { return row == 10 && column == 5 ? odd_one : 1; });
  }
  static Words tokens(const std::string& file, const std::string& more = "") {
    return set("data", "{source: tokens, tokens: " + file + more + "}");
  }
  static Words text(const std::string& files, const std::string& tokenizer, const std::string& more = "") {
    return set("data", "{source: text, files: [" + files + "], tokenizer: " + tokenizer +
                           ", sequence_length: 4" + more + "}");
  }
  static Words plugin(const Words& more) {
    return set("plugins", "[" D9D_BINARY_DIR "/d9d_check_plugin.so]") + more;
  }
  static Words source(const std::string& folder) {
    return set("trainer.model_stage_factory.source_checkpoint", folder);
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(job_.folder().path())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("node")) names.insert(entry.path());  // the processes' output
    }
    return names;
  }

  void expect_refused_by_both(int code, const Words& words, const std::string& part) {
    SCOPED_TRACE(part);
    const auto before = files();

    const Outcome checked = job_.call(Words{"check", "job.yaml"} + words);
    EXPECT_EQ(files(), before);
    const Outcome run = job_.run(words);

    EXPECT_EQ(checked.code, code) << checked.err;
    EXPECT_THAT(error_in(checked.err), AllOf(StartsWith("d9d-node: error: "), HasSubstr(part)));
    EXPECT_EQ(run.code, checked.code);
    EXPECT_EQ(error_in(run.err), error_in(checked.err));
    EXPECT_TRUE(job_.losses("tiny").empty());
  }

  TinyJob job_;
};

TEST_F(Check, FindsDataThatARunCouldNotUse) {
  job_.folder().write("damaged.npy", tokens_with(1).substr(0, 1000));
  const std::string shape = "{'descr': '<i8', 'fortran_order': False, 'shape': (9999999999, 9999999999), }\n";
  job_.folder().write("huge.npy", std::string("\x93NUMPY\x01\x00", 8) + char(shape.size()) + '\0' + shape);
  job_.folder().write("large.npy", tokens_with(600));
  job_.folder().write("negative.npy", tokens_with(-3));
  job_.folder().write("long.npy", npy_file(24, 160, [](int, int) { return 1; }));
  job_.folder().write("few.npy", npy_file(4, row_length, [](int, int) { return 1; }));

  expect_refused_by_both(2, tokens("missing.npy"), "cannot open missing.npy: No such file");
  expect_refused_by_both(2, tokens("job.yaml"), "job.yaml: not a .npy file");
  expect_refused_by_both(2, tokens("damaged.npy"), "it is cut short or damaged");
  expect_refused_by_both(2, tokens("huge.npy"), "says more bytes of data than any file can have");
  expect_refused_by_both(2, tokens("large.npy"),
                         "large.npy: row 10 holds the token 600 at position 5, but "
                         "model_provider.model.vocab_size is 512");
  expect_refused_by_both(2, tokens("good.npy", ", labels: large.npy"), "row 10 holds the label 600");
  expect_refused_by_both(2, tokens("negative.npy"), "negative.npy: row 10 holds the token -3");
  expect_refused_by_both(2, tokens("long.npy"),
                         "data.tokens: 160 tokens, but the model has positions for 128");
  expect_refused_by_both(2, tokens("few.npy") + set("trainer.schedule.total_steps", "null"),
                         "the data has 4 samples, expected at least trainer.batching.global_batch_size = 8");
  expect_refused_by_both(2, set("data.sequence_length", "256"),
                         "256 tokens, but the model has positions for 128");
}

TEST_F(Check, FindsTextAndTokenizerThatARunCouldNotUse) {
  job_.folder().write("latin1.txt", "caf\xe9 ol\xe9, four tokens and some more of them");
  const Words whole = set("model_provider.model.vocab_size", "2048");

  expect_refused_by_both(2, whole + text("missing.txt", tokenizer_file),
                         "cannot open missing.txt: No such file");
  expect_refused_by_both(2, whole + text("text.txt", "missing.json"),
                         "cannot read the tokenizer file missing.json");
  expect_refused_by_both(2, whole + text("text.txt", "job.yaml"), "job.yaml is not a JSON object");
  expect_refused_by_both(2, whole + text("latin1.txt", tokenizer_file), "is not UTF-8");
  expect_refused_by_both(2, whole + text("text.txt", tokenizer_file, ", eos_token: </s>"),
                         "\"</s>\" is not a token");
  expect_refused_by_both(
      2, text("text.txt", tokenizer_file),
      "has the id 1149, but the ids of the model's vocabulary are below 512; take it out of the text, or "
      "give the model rows for such tokens (model_provider.model.vocab_size: 2048)");
}

TEST_F(Check, FindsWhatPluginsDoNotKnow) {
  const std::string here = D9D_BINARY_DIR "/d9d_check_plugin.so";

  expect_refused_by_both(2, set("plugins", "[libmissing.so]"), "cannot load the plugin libmissing.so");
  expect_refused_by_both(2, plugin(set("task", "nope")),
                         "task: no task is called \"nope\"; there are: causal_lm");
  expect_refused_by_both(2, plugin(set("model_provider", "{name: nope}")),
                         "model_provider: no model is called");
  expect_refused_by_both(2, plugin(set("task", "{name: strict, limt: 2}")),
                         "task.limt: unknown key; did you mean \"limit\"?");
  expect_refused_by_both(2, plugin(set("task", "{name: strict, limit: -2}")), "task.limit");
  expect_refused_by_both(1, plugin(set("task", "impossible")),
                         "the factory of the task \"impossible\" threw: no table of words at /nowhere");
  expect_refused_by_both(2, plugin(set("actors", "[{name: loud}]")), "no actor is called \"loud\"");
  expect_refused_by_both(2, plugin(set("actors", "[{name: quiet, limt: 2}]")), "actors.0.limt: unknown key");
}

TEST_F(Check, FindsWeightsThatAreAnotherModels) {
  ASSERT_EQ(job_.run(named("source") + set("export_to", "source")).code, 0);
  std::filesystem::create_directory(job_.folder() / "empty");
  std::filesystem::create_directory(job_.folder() / "part");
  job_.folder().write("part/model.safetensors.index.json",
                      R"({"weight_map": {"lm_head.weight": "model-00001-of-00002.safetensors"}})");

  EXPECT_EQ(job_.call(Words{"check", "job.yaml"} + source("source")).code, 0);
  expect_refused_by_both(2, source("nowhere"),
                         "trainer.model_stage_factory.source_checkpoint: nowhere holds neither");
  expect_refused_by_both(2, source("empty"), "empty holds neither model.safetensors.index.json nor");
  expect_refused_by_both(2, source("part"), "model-00001-of-00002.safetensors");
  expect_refused_by_both(2, source("source") + set("model_provider.model.hidden_size", "128"), "has shape");
  expect_refused_by_both(2, source("source") + set("model_provider.model.num_hidden_layers", "1"),
                         "tensors that the model does not use: \"model.layers.1.");
  expect_refused_by_both(2, source("source") + set("model_provider.model.num_hidden_layers", "3"),
                         "the model has 3 layers (num_hidden_layers), the weights of source are of 2");
}

TEST_F(Check, SaysWhereTheConfigOfTheWeightsDiffers) {
  ASSERT_EQ(job_.run(named("source") + set("export_to", "source")).code, 0);

  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + source("source") +
                        set("model_provider.model.rms_norm_eps", "0.01")),
              says(AllOf(HasSubstr("warning: "), HasSubstr("source/config.json says rms_norm_eps = 1e-06, "
                                                           "the job's model 0.01"))));
}

// A trial of a part of the data keeps the schedule of the whole.
TEST_F(Check, WarnsOfAScheduleThatIsLongerThanTheData) {
  const Words words = tokens("good.npy") + set("trainer.schedule.total_steps", "null");

  const Outcome checked = job_.call(Words{"check", "job.yaml"} + words), run = job_.run(words);

  for (const Outcome* outcome : {&checked, &run}) {
    EXPECT_EQ(outcome->code, 0) << outcome->err;
    EXPECT_THAT(outcome->err, HasSubstr("ends at step 5, beyond the 3 steps of the job"));
  }
}

TEST_F(Check, FindsMoreStepsThanTheDataGives) {
  const Words constant = set("lr_scheduler", "null");
  expect_refused_by_both(
      2, tokens("good.npy") + constant,
      "trainer.schedule.total_steps = 20, but the data gives 3 steps in 1 epoch: it has 24 samples, "
      "a step takes 8. Set total_steps to 3, or data.epochs to 7 (or to as_needed)");
  expect_refused_by_both(2, tokens("good.npy", ", epochs: 0") + constant,
                         "data.epochs: expected a number of epochs");
}

TEST_F(Check, FindsAnAddressThatThisHostCannotListenOn) {
  const auto first = job_.start(named("first") + set("mesh.data_parallel_replicate", "2") +
                                Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
  const std::string taken = "127.0.0.1:" + port_of(*first);

  expect_refused_by_both(1, {"--listen", taken}, "--listen: cannot listen on " + taken);
  expect_refused_by_both(1, set("node.listen", taken), "node.listen: cannot listen on " + taken);
  expect_refused_by_both(2, set("node.listen", "203.0.113.7:29500") + set("node.insecure", "true"),
                         "203.0.113.7 is no address of this host");
  expect_refused_by_both(2, set("node.tls", "{ca: no.pem, certificate: no.pem, key: no.pem}"), "no.pem");
}

TEST_F(Check, FindsFoldersThatTheRunCouldNotWriteTo) {
  job_.folder().write("file", "not a folder");

  expect_refused_by_both(1, set("output_dir", "file/run"),
                         "output_dir is file/run, and nothing can be written there");
  expect_refused_by_both(1, set("trainer.checkpointing.save_dir", "file/checkpoints"),
                         "trainer.checkpointing.save_dir is file/checkpoints/tiny");
  expect_refused_by_both(1, set("export_to", "file"), "Not a directory");
}

TEST_F(Check, FindsTheOtherJobThatHasItsFolder) {
  const auto first =
      job_.start(set("mesh.data_parallel_replicate", "2") + Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
  port_of(*first);

  expect_refused_by_both(1, {}, "runs/tiny is in use by another job");
}

TEST_F(Check, SaysEverythingAtOnceAndShowsThePlanAllTheSame) {
  const Outcome outcome =
      job_.call(Words{"check", "job.yaml"} + plugin(set("task", "nope")) + tokens("missing.npy"));

  EXPECT_THAT(outcome, is_refused(AllOf(HasSubstr("no task is called \"nope\""),
                                        HasSubstr("\ncannot open missing.npy"))));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("estimated memory of a rank"), HasSubstr("rank 0")));
}

TEST_F(Check, CountsWhatASecondStreamKeepsWhereThereIsOne) {
  const Words in_a_v = set("trainer.pipelining.schedule", "dual_pipe_v") +
                       set("mesh.pipeline_parallel", "2") +
                       set("model_provider.model.num_hidden_layers", "4") + set("node.device", "delayed");
  const std::string of_streams = "streams: what each of two compute streams keeps for itself";

  const Outcome both =
      job_.call(Words{"check", "job.yaml"} + in_a_v + set("trainer.pipelining.overlap", "always"));
  const Outcome one = job_.call(Words{"check", "job.yaml"} + in_a_v);

  EXPECT_THAT(both, prints(of_streams));
  EXPECT_THAT(one.out, Not(HasSubstr("streams")));
  EXPECT_THAT(one.out + both.out, Not(HasSubstr("not counted")));
}

TEST_F(Check, PassesAJobThatRuns) {
  const Words words = plugin(set("task", "{name: strict, limit: 2}") + set("actors", "[{name: quiet}]")) +
                      tokens("good.npy") + set("trainer.schedule.total_steps", "2") +
                      set("lr_scheduler", "null");

  const Outcome checked = job_.call(Words{"check", "job.yaml"} + words);
  const Outcome run = job_.run(words);

  EXPECT_THAT(checked, prints("data      tokens, 24 samples, 3 steps an epoch"));
  EXPECT_THAT(checked.err, Not(HasSubstr("error")));
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST_F(Check, WarnsOfAKeyThatAnotherOneLeavesWithoutEffect) {
  job_.folder().write("lines.jsonl",
                      "{\"text\": \"In the beginning God created the heaven and the earth.\"}\n");

  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + set("model_provider.model.vocab_size", "2048") +
                        text("lines.jsonl", tokenizer_file,
                             ", format: jsonl, document: paragraph, epochs: as_needed")),
              says("data.document: has no effect: a line of a jsonl file is a document"));
}

}  // namespace
}  // namespace d9d::test
