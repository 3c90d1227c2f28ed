#include "runtime/resume/node_inputs.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "tests/runtime/resume/resume_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Two hosts with folders of their own.
class NodeInputs : public ::testing::Test {
 protected:
  NodeInputs() {
    for (const char* host : {"one", "two"}) {
      write(host, "a.txt", "first");
      write(host, "b.txt", "second");
      write(host, "plugin.so", "code");
      write(host, "model/model.safetensors", "weights");
    }
  }
  void write(const std::string& host, const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / host / name).parent_path());
    folder_.write(host + "/" + name, text);
  }
  std::string at(const std::string& host, const std::string& name) const {
    return (folder_ / host / name).string();
  }
  std::string inputs(const std::string& host, const std::string& files = "?.txt") const {
    JobConfig job = testing_job::of_data(4, {"data={source: text, files: [\"" + at(host, files) +
                                             "\"], tokenizer: t.json, sequence_length: 4}"});
    job.trainer.model_stage_factory.source_checkpoint = at(host, "model");
    job.plugins = {at(host, "plugin.so")};
    return node_inputs(disk_, job, tokenizer_);
  }
  std::string told() const { return told_other_inputs(inputs("one"), inputs("two")); }

  PosixDisk disk_;
  test::TemporaryFolder folder_;
  TokenizerFiles tokenizer_;
};

TEST_F(NodeInputs, AreEqualInOtherFoldersAndUnderOtherNamesOfData) {
  EXPECT_THAT(told(), IsEmpty());
  std::filesystem::rename(at("two", "b.txt"), at("two", "c.txt"));
  EXPECT_THAT(told(), IsEmpty()) << "the order and the contents decide";
}

TEST_F(NodeInputs, NameTheFileThatDiffersAndWhatToDo) {
  write("two", "b.txt", "other text");
  EXPECT_THAT(told(), AllOf(HasSubstr("data: b.txt has 6 bytes at node 0, 10 there"), HasSubstr("Copy it"),
                            Not(HasSubstr("weights"))));
  write("two", "b.txt", "sekond");
  EXPECT_THAT(told(), HasSubstr("data: b.txt has other bytes there"));
}

TEST_F(NodeInputs, TellAFileMoreOnOneSide) {
  write("two", "c.txt", "third");
  EXPECT_THAT(told(), HasSubstr(R"(it has 2 files at node 0, 3 there, and "c.txt" is only there)"));
  std::filesystem::remove(at("two", "c.txt"));
  write("one", "0.txt", "zeroth");
  EXPECT_THAT(told(), HasSubstr(R"("0.txt" is only at node 0)"));
}

TEST_F(NodeInputs, OfWeightsAndPluginsDiffer) {
  write("two", "model/model.safetensors", "Weights");
  EXPECT_THAT(told(), HasSubstr("source_checkpoint: model.safetensors has other bytes there"));
  write("two", "plugin.so", "other code");
  EXPECT_THAT(told(), HasSubstr("; trainer.model_stage_factory.source_checkpoint:"));
  EXPECT_THAT(told(), HasSubstr("plugins: plugin.so has 4 bytes at node 0, 10 there"));
}

TEST_F(NodeInputs, ThatOneNodeLacksAreNotCompared) {
  std::filesystem::remove_all(folder_ / "two" / "model");
  EXPECT_THAT(told(), IsEmpty());
  write("one", "model/more.safetensors", "more");
  write("two", "model/model.safetensors", "weights");
  EXPECT_THAT(told(), IsEmpty());
  write("two", "model/model.safetensors", "nothing");
  EXPECT_THAT(told(), HasSubstr("model.safetensors has other bytes"));
}

TEST_F(NodeInputs, HaveTheTokenizerWithoutFilesThatChangeNothing) {
  const TokenizerFiles of_one{{"tokenizer.json", "{}"}, {"carried.README.md", "one"}};
  tokenizer_ = of_one;
  const std::string one = inputs("one");
  tokenizer_["carried.README.md"] = "two";
  EXPECT_THAT(told_other_inputs(one, inputs("two")), IsEmpty());
  tokenizer_["tokenizer.json"] = "[]";
  EXPECT_THAT(told_other_inputs(one, inputs("two")),
              HasSubstr("tokenizer: tokenizer.json has other bytes there"));
}

TEST_F(NodeInputs, SeeABlockInTheMiddleOfALargeFileAndSizesOfVeryMany) {
  const std::size_t large = 8 << 20;
  std::string text(large, 'x');
  write("one", "a.txt", text);
  text.replace((large - (64 << 10)) / 15 * 7, 4, "yyyy");
  write("two", "a.txt", text);
  EXPECT_THAT(told(), HasSubstr("a.txt has other bytes there"));

  for (int i = 0; i < 501; ++i)
    for (const char* host : {"one", "two"}) write(host, "many/" + std::to_string(1000 + i), "text");
  const auto many = [&] { return told_other_inputs(inputs("one", "many/*"), inputs("two", "many/*")); };
  EXPECT_LT(inputs("one", "many/*").size(), 1000U);
  EXPECT_THAT(many(), IsEmpty());
  write("two", "many/1003", "longer");
  EXPECT_THAT(many(), HasSubstr("501 files has 2004 bytes at node 0, 2006 there"));
}

TEST_F(NodeInputs, OfAStrangerSayNothingWhereTheyAreNoPrints) {
  const std::string mine = inputs("one");
  for (const std::string& theirs : {std::string(), std::string(100'000, '['), std::string("{\"data\": 7}"),
                                    std::string(R"({"data": [{"name": 1}]})")})
    EXPECT_THAT(told_other_inputs(mine, theirs), IsEmpty());
  EXPECT_THAT(
      told_other_inputs(mine, R"({"data":[{"name":"\u001b[31m\n","bytes":1,"xxh3":"0000000000000001"}]})"),
      Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace d9d
