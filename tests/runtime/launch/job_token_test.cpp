#include "runtime/launch/job_token.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JobTokenTest : public testing::Test {
 protected:
  NodeConfig node_with_file(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(file_) << text;
    ::chmod(file_.c_str(), mode);
    NodeConfig node;
    node.job_token_file = file_;
    return node;
  }
  static std::string error_of(const NodeConfig& node, const Variables& variables = {}) {
    return test::error_of([&] { job_token(node, variables); }, ErrorKind::input);
  }
  const test::TemporaryFolder folder_;
  const std::string file_ = (folder_.path() / "token").string();
};

TEST_F(JobTokenTest, ComesFromTheJobFileAFileOrAVariable) {
  NodeConfig node;
  EXPECT_EQ(job_token(node, {}).secret.kind, net::SecretKind::none);
  EXPECT_EQ(job_token(node, {{"D9D_JOB_TOKEN", "of the variable"}}).secret.text, "of the variable");
  EXPECT_EQ(job_token(node_with_file("of the file\n"), {}).secret.text, "of the file");
  node.job_token = "of the job file";
  EXPECT_EQ(job_token(node, {}).secret.text, "of the job file");
  EXPECT_EQ(job_token(node, {}).secret.kind, net::SecretKind::token);
}

TEST_F(JobTokenTest, IsTheSameWithWhateverEndOfLine) {
  for (const char* text : {"open sesame", "open sesame\n", "open sesame\r\n"})
    EXPECT_EQ(job_token(node_with_file(text), {}).secret.text, "open sesame");
}

TEST_F(JobTokenTest, HasOnePlaceOnly) {
  NodeConfig node;
  node.job_token = "x";
  EXPECT_THAT(error_of(node, {{"D9D_JOB_TOKEN", "x"}}),
              HasSubstr("node.job_token and the variable D9D_JOB_TOKEN both give"));
  EXPECT_THAT(error_of(node_with_file("x"), {{"D9D_JOB_TOKEN", "x"}}),
              HasSubstr("node.job_token_file and the variable D9D_JOB_TOKEN both give"));
}

TEST_F(JobTokenTest, IsNamedWithItsRemedyWhereItIsNone) {
  EXPECT_THAT(error_of({}, {{"D9D_JOB_TOKEN", ""}}),
              AllOf(HasSubstr("D9D_JOB_TOKEN is empty"), HasSubstr("unset")));
  for (const char* text : {"", "\n", "\r\n\n"})
    EXPECT_THAT(error_of(node_with_file(text)),
                AllOf(HasSubstr(file_ + " is empty"), HasSubstr("openssl rand")));
  EXPECT_THAT(error_of(node_with_file("two\nlines\n")), HasSubstr(file_ + " has several lines"));
  EXPECT_THAT(error_of(node_with_file(std::string(100'000, 'x'))), HasSubstr("has 100000 bytes"));
}

TEST_F(JobTokenTest, IsNoFolderPipeOrFileThatIsNotThere) {
  NodeConfig node;
  node.job_token_file = folder_.path() / "nowhere";
  EXPECT_THAT(error_of(node), HasSubstr("nowhere (No such file or directory)"));
  node.job_token_file = folder_.path();
  EXPECT_THAT(error_of(node), HasSubstr("is no file"));
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  node.job_token_file = file_;
  EXPECT_THAT(error_of(node), HasSubstr("is no file"));
}

TEST_F(JobTokenTest, WarnsOfAFileThatOthersMayReadOrChange) {
  EXPECT_THAT(job_token(node_with_file("x", 0600), {}).warnings, IsEmpty());
  for (const auto& [mode, text] :
       {std::pair(0640, "0640"), std::pair(0604, "0604"), std::pair(0620, "0620")}) {
    EXPECT_THAT(job_token(node_with_file("x", static_cast<mode_t>(mode)), {}).warnings,
                ElementsAre(AllOf(HasSubstr(file_), HasSubstr(text), HasSubstr("chmod 600"))));
  }
}

TEST(JobTokenOnTheCommandLine, IsFoundInItsSpellings) {
  EXPECT_TRUE(says_token({"trainer.run.name=x", "node.job_token=x"}));
  EXPECT_TRUE(says_token({"node={listen: 127.0.0.1:0, job_token: x}"}));
  EXPECT_FALSE(
      says_token({"node.job_token_file=x", "node={job_token_file: x}", "trainer.run.name=node.job_token"}));
}

}  // namespace
}  // namespace d9d
