// A segment that is run twice computes what it kept only once, and says so when both runs differ.
#include "kernels/graph/kept_results.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/error_of.hpp"

namespace d9d::kernels {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class KeptResultsTest : public testing::Test {
 protected:
  // An op that counts how often it is computed.
  at::Tensor run(const char* op, KeptKind kind, const at::Tensor& input, double plus = 1) {
    return run_once(op, {kind}, input, [&]() -> Results {
      ++computed_[op];
      return {input + plus};
    })[0];
  }
  void first(const std::function<void()>& segment) {
    const KeptResults::Scope scope(kept_, /*again=*/false);
    segment();
  }
  void second(const std::function<void()>& segment) {
    const KeptResults::Scope scope(kept_, /*again=*/true);
    segment();
    kept_.require_all_taken();
  }

  KeptResults kept_{{KeptKind::attention, KeptKind::exchange}};
  std::map<std::string, int> computed_;
  const at::Tensor x_ = at::ones({2, 3});
};

TEST_F(KeptResultsTest, AreTakenInTheOrderOfTheFirstRunAndTheRestIsComputedAgain) {
  std::vector<at::Tensor> of_first, of_second;
  const auto segment = [&](std::vector<at::Tensor>& results) {
    results.push_back(run("attend", KeptKind::attention, x_, 1));
    results.push_back(run("multiply", KeptKind::linear, x_, 2));
    results.push_back(run("attend", KeptKind::attention, x_, 3));
  };

  first([&] { segment(of_first); });
  second([&] { segment(of_second); });

  EXPECT_EQ(computed_, (std::map<std::string, int>{{"attend", 2}, {"multiply", 2}}));
  for (std::size_t i = 0; i < of_first.size(); ++i) EXPECT_TRUE(of_second[i].equal(of_first[i])) << i;
  EXPECT_EQ(of_second[0].data_ptr(), of_first[0].data_ptr());
  EXPECT_EQ(KeptResults::current(), nullptr);
}

TEST_F(KeptResultsTest, AreFreedWithTheTensorsOfTheSecondRun) {
  first([&] { run("attend", KeptKind::attention, x_); });
  at::Tensor taken;
  second([&] { taken = run("attend", KeptKind::attention, x_); });

  EXPECT_EQ(taken.storage().use_count(), 1U);
}

TEST_F(KeptResultsTest, OfAnotherOpOrAnotherShapeAreRefusedByName) {
  const at::Tensor wide = at::ones({4, 3});
  first([&] { run("attend", KeptKind::attention, x_); });

  EXPECT_THAT(
      test::error_of<c10::Error>([&] { second([&] { run("multiply", KeptKind::linear, x_); }); }),
      AllOf(HasSubstr("op 1 of a checkpointed layer was attend of [2, 3] in forward, and is multiply"),
            HasSubstr("model_provider.enable_checkpointing: false")));
  KeptResults other({KeptKind::attention});
  {
    const KeptResults::Scope scope(other, /*again=*/false);
    run("attend", KeptKind::attention, x_);
  }
  const KeptResults::Scope scope(other, /*again=*/true);
  EXPECT_THAT(test::error_of<c10::Error>([&] { run("attend", KeptKind::attention, wide); }),
              HasSubstr("was attend of [2, 3] in forward, and is attend of [4, 3]"));
}

// Even where nothing is kept.
TEST_F(KeptResultsTest, RefuseASecondRunOfMoreOrFewerOps) {
  const auto once = [&] { run("multiply", KeptKind::linear, x_); };
  const auto twice = [&] { once(), once(); };
  first(once);
  EXPECT_THAT(test::error_of<c10::Error>([&] { second(twice); }),
              HasSubstr("multiply of [2, 3] ran when a checkpointed layer was "
                        "computed again, after all 1 ops of its first run"));

  KeptResults more({});
  {
    const KeptResults::Scope scope(more, /*again=*/false);
    twice();
  }
  const KeptResults::Scope scope(more, /*again=*/true);
  once();
  EXPECT_THAT(test::error_of<c10::Error>([&] { more.require_all_taken(); }),
              HasSubstr("ran 2 ops in forward, and 1 when it was computed again: multiply is missing"));
}

// github.com/pytorch/pytorch/issues/119590: an op in place changed what was kept.
TEST_F(KeptResultsTest, ThatWereWrittenToAreRefused) {
  first([&] { run("attend", KeptKind::attention, x_).mul_(2); });

  EXPECT_THAT(
      test::error_of<c10::Error>([&] { second([&] { run("attend", KeptKind::attention, x_); }); }),
      HasSubstr("the result of attend [2, 3], which a checkpointed layer kept for backward, was written "
                "to in place"));
}

TEST_F(KeptResultsTest, ThatNobodyReadsAreNeitherKeptNorComputedAgain) {
  at::Tensor result;
  const auto segment = [&] {
    result = run("attend", KeptKind::attention, x_);
    result = run("multiply", KeptKind::linear, result);
    mark_unread(result.view({6}));
  };
  first(segment);
  EXPECT_EQ(result.storage().use_count(), 1U);
  second(segment);

  EXPECT_EQ(computed_, (std::map<std::string, int>{{"attend", 1}, {"multiply", 1}}));
  EXPECT_EQ(result.sizes(), at::IntArrayRef({2, 3}));
}

TEST_F(KeptResultsTest, ReadOnlyByTheNextOpAreUnreadIfThatIsNotComputedAgain) {
  const auto before = [&](const char* next, KeptKind kind, bool unread) {
    const at::Tensor summand = run("multiply", KeptKind::attention, x_);
    mark_read_by_next(summand);
    const at::Tensor sum = run(next, kind, summand);
    if (unread) mark_unread(sum);
  };
  const auto segment = [&] {
    before("kept", KeptKind::exchange, false);
    before("dropped", KeptKind::linear, false);
    before("unread", KeptKind::linear, true);
  };

  first(segment);
  second(segment);

  EXPECT_EQ(computed_,
            (std::map<std::string, int>{{"multiply", 3}, {"kept", 1}, {"dropped", 2}, {"unread", 1}}));
}

TEST_F(KeptResultsTest, OfATensorThatNoOpMadeAreNotUnread) {
  const auto segment = [&] {
    const at::Tensor read = run("multiply", KeptKind::linear, x_);
    mark_unread(read + 1);
    run("multiply", KeptKind::linear, x_);  // freed at once, so that the next tensor may get its memory
    mark_unread(x_ + 1);
  };
  first(segment);
  second(segment);

  EXPECT_EQ(computed_["multiply"], 4);
}

}  // namespace
}  // namespace d9d::kernels
