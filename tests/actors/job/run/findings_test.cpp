#include "actors/job/run/findings.hpp"

#include <gmock/gmock.h>

#include <new>

namespace d9d {
namespace {

Caught caught_from(const Findings& findings) {
  try {
    findings.throw_if_any();
  } catch (...) {
    return describe_current_exception();
  }
  return {ErrorKind::environment, ""};
}

TEST(Findings, AreNoneWhereEveryStepWorks) {
  Findings findings;

  EXPECT_TRUE(findings.attempt("task", [] {}));

  EXPECT_NO_THROW(findings.throw_if_any());
}

TEST(Findings, ComeAsOneErrorWithALineForEach) {
  Findings findings;

  EXPECT_FALSE(findings.attempt("", [] { throw Error(ErrorKind::environment, "no room"); }));
  EXPECT_FALSE(findings.attempt("task", [] { throw Error(ErrorKind::input, "no task is called \"x\""); }));
  findings.attempt("task", [] { throw Error(ErrorKind::input, "unknown key", "job.yaml:3:5"); });

  const Caught caught = caught_from(findings);
  EXPECT_EQ(caught.kind, ErrorKind::input);
  EXPECT_EQ(caught.what, "no room\ntask: no task is called \"x\"\njob.yaml:3:5: unknown key");
}

TEST(Findings, SayOnceWhatSeveralStepsRunInto) {
  Findings findings;
  const auto no_model = [] { throw Error(ErrorKind::input, "no model is called \"x\""); };

  findings.attempt("model_provider", no_model);
  EXPECT_FALSE(findings.attempt("data", no_model));

  EXPECT_EQ(caught_from(findings).what, "model_provider: no model is called \"x\"");
}

TEST(Findings, TakeWhatAPluginThrowsForNoBugOfOursAndLeaveItsBacktraceOut) {
  Findings findings;

  findings.attempt("task",
                   [] { throw std::runtime_error("no such table\nException raised from f at g.cpp:1"); });
  findings.attempt("actors.0 (guard)", [] { throw 7; });

  const Caught caught = caught_from(findings);
  EXPECT_EQ(caught.kind, ErrorKind::environment);
  EXPECT_EQ(caught.what, "task: no such table\nactors.0 (guard): an exception of unknown type");
}

TEST(Findings, LetABugAndOutOfMemoryBeWhatTheyAre) {
  Findings findings;
  findings.attempt("", [] { throw Error(ErrorKind::input, "bad"); });
  findings.attempt("", [] { throw Error(ErrorKind::bug, "ours"); });

  EXPECT_EQ(caught_from(findings).kind, ErrorKind::bug);
  EXPECT_THROW(findings.attempt("", [] { throw std::bad_alloc(); }), std::bad_alloc);
}

}  // namespace
}  // namespace d9d
